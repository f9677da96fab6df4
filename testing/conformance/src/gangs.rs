//! A request for gangs into its answer: the plain search under the rules of the paper.

use matchmaker::{AdId, AdKey, Config, Fx, Gang, PoolAd, Root, Rules, Snapshot, naive, negotiate};
use serde_json::{Map, Value, json};

/// The pool of a request: ads in their order, each under its id; the paper's semantics have no other name for them.
fn pool(request: &Value) -> Result<(Snapshot, Vec<String>), String> {
    let (mut ads, mut ids) = (Vec::new(), Vec::new());
    for ad in request["ads"].as_array().into_iter().flatten() {
        let id = ad["id"].as_str().unwrap_or("").to_owned();
        let text = ad["text"].as_str().unwrap_or("");
        let parsed =
            classad::parse_ad(text, classad::Dialect::Htcondor).map_err(|found| format!("ad {id}: {found}"))?;
        let key = AdKey { kind: String::new(), namespace: String::new(), name: id.clone() };
        ads.push(PoolAd::asking(key, &id, &parsed, Rules::Paper));
        ids.push(id);
    }
    Ok((Snapshot::in_order(ads), ids))
}

/// Answer to a request with `op` gang, in either mode.
pub(crate) fn answer(request: &Value) -> Value {
    let (mut pool, ids) = match pool(request) {
        Ok(pool) => pool,
        Err(problem) => return json!({"unsupported": problem}),
    };
    let place = |root: &Value| pool.ads().find(|(_, ad)| root == &ad.key.name).map(|(id, _)| id);
    let roots: Vec<AdId> = request["roots"].as_array().into_iter().flatten().filter_map(place).collect();
    let names = Names { ids: &ids };
    if request["mode"] == "sequence" {
        pool.roots = roots.iter().enumerate().map(|(turn, ad)| root(*ad, turn)).collect();
        return sequence(&pool, &names, &roots);
    }
    let cap = request["cap"].as_u64().and_then(|cap| usize::try_from(cap).ok()).unwrap_or(usize::MAX);
    let list = request["list"].as_u64().and_then(|list| usize::try_from(list).ok()).unwrap_or(0);
    json!({"each": roots.iter().map(|root| each(&pool, &names, *root, cap, list)).collect::<Vec<_>>()})
}

/// The settings of the cases. They say that an undefined rank counts 0 and an error 0, but their numbers were made by a
/// program that counted 2 and 1 (`docs/decisions/0003-undefined-ranks.md`); the product counts 0.
fn paper() -> Config {
    let rank_of = |value: &classad::Value| match value {
        classad::Value::Undefined => Fx::of(&classad::Value::Integer(2)),
        classad::Value::Error => Fx::of(&classad::Value::Integer(1)),
        other => Fx::of(other),
    };
    Config { rank_of, ..Config::paper() }
}

fn root(ad: AdId, turn: usize) -> Root {
    let since = i64::try_from(turn).unwrap_or(i64::MAX);
    Root { ad, submitter: Default::default(), priority: 0, since, exclusions: Default::default() }
}

fn each(pool: &Snapshot, names: &Names<'_>, root: AdId, cap: usize, list: usize) -> Value {
    let all = naive::gangs(pool, root, cap, &paper(), 0);
    let mut answer =
        Map::from_iter([("root".to_owned(), json!(names.ad(pool, root))), ("count".to_owned(), json!(all.len()))]);
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
fn sequence(pool: &Snapshot, names: &Names<'_>, roots: &[AdId]) -> Value {
    let cycle = negotiate(pool, &paper(), 0);
    let gang_of = |root: AdId| cycle.gangs.iter().find(|gang| gang.root() == Some(root));
    let one =
        |root: &AdId| json!({"root": names.ad(pool, *root), "gang": gang_of(*root).map(|gang| names.line(gang, 0))});
    json!({"sequence": roots.iter().map(one).collect::<Vec<_>>()})
}

struct Names<'r> {
    ids: &'r [String],
}

impl Names<'_> {
    fn ad(&self, pool: &Snapshot, id: AdId) -> String {
        pool.ad(id).map(|ad| ad.key.name.clone()).unwrap_or_default()
    }

    /// A gang on one line: `J(0>M.0,1>L.0(1>S.0))`.
    fn line(&self, gang: &Gang, member: usize) -> String {
        let Some(this) = gang.members.get(member) else { return String::new() };
        let children = gang.members.iter().enumerate().filter_map(|(place, child)| {
            let bond = child.bond.filter(|bond| bond.parent() == member)?;
            Some((bond.port(), format!("{}>{}", bond.port(), self.line(gang, place))))
        });
        let mut children: Vec<(usize, String)> = children.collect();
        children.sort();
        let via = this.bond.map(|bond| format!(".{}", bond.via())).unwrap_or_default();
        let id = self.ids.get(this.ad.place()).map_or("", String::as_str);
        match children.is_empty() {
            true => format!("{id}{via}"),
            false => format!("{id}{via}({})", children.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")),
        }
    }
}
