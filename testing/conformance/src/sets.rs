//! A request for the gangs of a job with counted ports into its answer: all of them by the plain search.

use classad::Expr;
use matchmaker::{AdId, Gang, Shortage};
use serde_json::{Map, Value, json};

use crate::gangs::pool;

/// Answer to a request with `op` sets.
pub(crate) fn answer(request: &Value) -> Value {
    let (pool, ids) = match pool(request, Expr::clone) {
        Ok(pool) => pool,
        Err(problem) => return json!({"unsupported": problem}),
    };
    let Some(root) = ids.iter().position(|id| request["root"] == *id).map(AdId::at) else {
        return json!({"unsupported": "the root is none of the ads"});
    };
    let gangs = pool.gangs(root, usize::MAX);
    let mut answer = Map::from_iter([("count".to_owned(), json!(gangs.len()))]);
    let best = gangs.iter().reduce(|best, gang| if gang.beats(best) { gang } else { best });
    match best {
        Some(best) => _ = answer.insert("best".to_owned(), described(best, &ids)),
        None => {
            let short = pool.shortage(root);
            answer.extend(short.map(|short| ("short".to_owned(), missing(&short))));
        }
    }
    Value::Object(answer)
}

/// The rank of a gang, and the members at each of the root's ports.
fn described(gang: &Gang, ids: &[String]) -> Value {
    let mut members: Vec<Vec<&str>> = Vec::new();
    for member in &gang.members {
        let Some(edge) = member.edge.filter(|edge| edge.parent() == 0) else { continue };
        members.resize(members.len().max(edge.port() + 1), Vec::new());
        let id = ids.get(member.ad.place()).map_or("", String::as_str);
        members.get_mut(edge.port()).into_iter().for_each(|port| port.push(id));
    }
    // Ranks of the cases are integers.
    json!({"rank": i64::try_from(gang.score.own.bits() >> 64).ok(), "members": members})
}

fn missing(short: &Shortage) -> Value {
    let Shortage { port, need, acceptable, largest } = short;
    json!({"port": port, "need": need, "acceptable": acceptable, "largest": largest})
}
