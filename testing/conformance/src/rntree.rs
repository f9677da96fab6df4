//! Requests of the cases for `rntree` into answers: the tree of some nodes at rest, and one search in it.

use rntree::{Aggregate, Id, RESOURCES, Settled, Sizes, Spec, Visited as _, Want};
use serde_json::{Map, Value, json};

/// Answer to one request. Of several children that may hold a candidate, the search takes the one with the smallest id.
pub(crate) fn answer(request: &Value) -> Value {
    let nodes = request["nodes"].as_array().into_iter().flatten();
    let network = Settled::new(nodes.filter_map(node));
    let ids = network.ring().ids();
    let parents = ids.iter().filter_map(|id| network.node(*id)).map(|node| json!([node.id(), node.parent()]));
    let aggregates = ids.iter().zip(network.aggregates()).map(|(id, most)| json!([id, aggregate(most)]));
    let mut answer = json!({
        "root": network.ring().root(),
        "parents": parents.collect::<Vec<_>>(),
        "aggregates": aggregates.collect::<Vec<_>>(),
    });
    if let (Some(found), Some(fields)) = (search(&network, &request["job"]), answer.as_object_mut()) {
        fields.extend(found);
    }
    answer
}

/// What the search for a job has found; none if there is no job.
fn search(network: &Settled, job: &Value) -> Option<Map<String, Value>> {
    let (key, enough) = (job["guid"].as_u64()?, job["k"].as_u64().unwrap_or(1));
    let want = Want { sizes: sizes(&job["want"]), system: system(&job["want"]) };
    let walk = network.search(key, want, usize::try_from(enough).ok()?, |_| 0)?;
    let candidates: Vec<Id> = walk.search.found().iter().map(|candidate| candidate.node).collect();
    let found = json!({
        "owner": walk.path.first(),
        "hops": walk.search.messages(),
        "candidates": candidates,
        "run": walk.search.best(|_| true).map(|best| best.node),
        "path": walk.path,
    });
    found.as_object().cloned()
}

fn node(node: &Value) -> Option<(Id, Spec, usize)> {
    let queue = node["queue"].as_u64().and_then(|queue| usize::try_from(queue).ok());
    Some((node["id"].as_u64()?, Spec { sizes: sizes(node), system: system(node) }, queue.unwrap_or(0)))
}

fn sizes(of: &Value) -> Sizes {
    RESOURCES.map(|name| of[name].as_f64().unwrap_or(0.0))
}

fn system(of: &Value) -> Option<Box<str>> {
    of["os"].as_str().map(Box::from)
}

fn aggregate(most: &Aggregate) -> Value {
    let sizes = RESOURCES.iter().zip(most.sizes).map(|(name, size)| ((*name).to_owned(), json!(size)));
    let mut fields: Map<String, Value> = sizes.collect();
    fields.insert("os".to_owned(), most.systems.iter().map(|system| json!(system)).collect());
    Value::Object(fields)
}
