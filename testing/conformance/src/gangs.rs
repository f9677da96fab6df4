//! A request for gangs into its answer: the plain search under the rules of the paper.

use baselines::PaperPool;
use classad::{Dialect, Expr, parse_expr};
use matchmaker::{AdId, Gang};
use serde_json::{Map, Value, json};

/// The pool of a request: ads in their order, each under its id; the paper's semantics have no other name for them. `rank_of` says what
/// stands for a rank.
pub(crate) fn pool(request: &Value, rank_of: fn(&Expr) -> Expr) -> Result<(PaperPool, Vec<String>), String> {
    let ads = || request["ads"].as_array().into_iter().flatten();
    let ids = ads().map(|ad| ad["id"].as_str().unwrap_or("").to_owned()).collect();
    Ok((PaperPool::of(ads().map(|ad| ad["text"].as_str().unwrap_or("")), rank_of)?, ids))
}

/// Answer to a request with `op` gang, in either mode.
pub(crate) fn answer(request: &Value) -> Value {
    let (pool, ids) = match pool(request, rank_of) {
        Ok(pool) => pool,
        Err(problem) => return json!({"unsupported": problem}),
    };
    let place = |root: &Value| ids.iter().position(|id| root == id).map(AdId::at);
    let roots: Vec<AdId> = request["roots"].as_array().into_iter().flatten().filter_map(place).collect();
    let names = AdNames { ids: &ids };
    if request["mode"] == "sequence" {
        return sequence(pool, &names, &roots);
    }
    let cap = request["cap"].as_u64().and_then(|cap| usize::try_from(cap).ok()).unwrap_or(usize::MAX);
    let list = request["list"].as_u64().and_then(|list| usize::try_from(list).ok()).unwrap_or(0);
    json!({"each": roots.iter().map(|root| each(&pool, &names, *root, cap, list)).collect::<Vec<_>>()})
}

/// The cases say that an undefined rank counts 0 and an error 0, but their numbers were made by a program that counted 2 and 1
/// (`docs/decisions/0003-undefined-ranks.md`); the product counts 0.
pub(crate) fn rank_of(rank: &Expr) -> Expr {
    if rank.as_literal().is_some_and(|value| value.as_number().is_some()) {
        return rank.clone();
    }
    let text = format!("({rank}) =?= undefined ? 2 : (({rank}) =?= error ? 1 : ({rank}))");
    parse_expr(&text, Dialect::Htcondor).unwrap_or_else(|_| rank.clone())
}

fn each(pool: &PaperPool, names: &AdNames<'_>, root: AdId, cap: usize, list: usize) -> Value {
    let all = pool.gangs(root, cap);
    let mut answer =
        Map::from_iter([("root".to_owned(), json!(names.ad(root))), ("count".to_owned(), json!(all.len()))]);
    if all.len() <= list {
        answer.insert("gangs".to_owned(), all.iter().map(|gang| names.line(gang, 0)).collect());
    }
    if let Some(best) = all.iter().map(|gang| gang.score.own).max() {
        let ties: Vec<String> =
            all.iter().filter(|gang| gang.score.own == best).map(|gang| names.line(gang, 0)).collect();
        answer.insert("best".to_owned(), json!({"rank": best.to_real(), "gangs": ties}));
    }
    Value::Object(answer)
}

/// Roots in order, each gets its best gang of what is left; the members, the root included, are consumed.
fn sequence(mut pool: PaperPool, names: &AdNames<'_>, roots: &[AdId]) -> Value {
    let mut one =
        |root: &AdId| json!({"root": names.ad(*root), "gang": pool.take(*root).map(|gang| names.line(&gang, 0))});
    json!({"sequence": roots.iter().map(&mut one).collect::<Vec<_>>()})
}

struct AdNames<'r> {
    ids: &'r [String],
}

impl AdNames<'_> {
    fn ad(&self, id: AdId) -> &str {
        self.ids.get(id.place()).map_or("", String::as_str)
    }

    /// A gang on one line: `J(0>M.0,1>L.0(1>S.0))`.
    fn line(&self, gang: &Gang, member: usize) -> String {
        let Some(this) = gang.members.get(member) else { return String::new() };
        let children = gang.members.iter().enumerate().filter_map(|(place, child)| {
            let edge = child.edge.filter(|edge| edge.parent() == member)?;
            Some((edge.port(), format!("{}>{}", edge.port(), self.line(gang, place))))
        });
        let mut children: Vec<(usize, String)> = children.collect();
        children.sort();
        let via = this.edge.map(|edge| format!(".{}", edge.child_port())).unwrap_or_default();
        let id = self.ad(this.ad);
        match children.is_empty() {
            true => format!("{id}{via}"),
            false => format!("{id}{via}({})", children.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")),
        }
    }
}
