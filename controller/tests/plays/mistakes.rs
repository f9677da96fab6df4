//! Mistakes that can be planted between a controller and the server, to see that they are found: a check that cannot fail proves nothing. A
//! controller that makes a mistake and one whose requests and answers are falsified accordingly do the same.

use std::collections::BTreeMap;

use apiserver::{Answer, Call, Server, Verb};
use bytes::Bytes;
use crds::rules::message;
use serde_json::{Value, json};

/// One mistake, of the server or of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mistake {
    /// The server does not refuse what goes over the capacity.
    NoCapacityRule,
    /// The server lets entries be removed whose work goes on, and controllers take all work for ended.
    RemovesActive,
    /// The server lets a register be turned twice, and controllers do not test it.
    DecidesTwice,
    /// Controllers write by name, whatever object is there.
    NoUidTest,
    /// Controllers take what they have seen of a Match for what stands.
    ConfirmsFromCache,
    /// Controllers take a Match for gone that they have not seen.
    BelievesAbsence,
    /// Controllers do not look for work before they give back.
    LooksForNoWork,
    /// Controllers do not look for entries before they give the job back.
    LooksForNoEntries,
    /// Controllers take an agent for silent that is not.
    LosesAlive,
    /// Batch Jobs are started as they are made.
    StartsAtOnce,
    /// Entries of deleted Matches stay.
    NoSweeper,
    /// What was deleted stays in a controller's cache.
    Resurrects,
}

impl Mistake {
    pub(crate) const ALL: [Mistake; 12] = [
        Mistake::NoCapacityRule,
        Mistake::RemovesActive,
        Mistake::DecidesTwice,
        Mistake::NoUidTest,
        Mistake::ConfirmsFromCache,
        Mistake::BelievesAbsence,
        Mistake::LooksForNoWork,
        Mistake::LooksForNoEntries,
        Mistake::LosesAlive,
        Mistake::StartsAtOnce,
        Mistake::NoSweeper,
        Mistake::Resurrects,
    ];

    /// The message of the rule that the server does not have.
    pub(crate) fn missing_rule(self) -> Option<&'static str> {
        match self {
            Mistake::NoCapacityRule => Some(message::OVER_CAPACITY),
            Mistake::RemovesActive => Some(message::ACTIVE),
            Mistake::DecidesTwice => Some(message::DECISION),
            _ => None,
        }
    }

    /// What the controller sends instead.
    pub(crate) fn request(self, call: &mut Call) {
        match (self, call.json()) {
            (Mistake::NoUidTest, Some(Value::Array(ops))) => {
                let tests = ["/metadata/uid", "/metadata/generation", "/metadata/resourceVersion"];
                without_tests(call, ops, |path| tests.contains(&path));
            }
            (Mistake::DecidesTwice, Some(Value::Array(ops))) if call.plural == "matches" => {
                without_tests(call, ops, |_| true);
            }
            (Mistake::StartsAtOnce, Some(mut made)) if call.verb == Verb::Create && is_batch(call) => {
                made["spec"]["suspend"] = json!(false);
                call.body = made.to_string().into();
            }
            _ => {}
        }
    }
}

fn without_tests(call: &mut Call, mut ops: Vec<Value>, is_out: impl Fn(&str) -> bool) {
    ops.retain(|op| op["op"] != "test" || !is_out(op["path"].as_str().unwrap_or_default()));
    call.body = Value::Array(ops).to_string().into();
}

fn is_batch(call: &Call) -> bool {
    call.group == "batch" && call.plural == "jobs"
}

fn is_of_an_agent(lease: &str) -> bool {
    lease.starts_with("gangmatch-machine-")
}

/// What one controller has seen, as far as its mistake needs it.
#[derive(Default)]
pub(crate) struct Seen {
    /// The newest revision, by resource.
    revisions: BTreeMap<String, i64>,
    /// The revision in which an agent's Lease was seen first.
    leases: BTreeMap<String, i64>,
}

impl Seen {
    /// What the controller takes for the server's answer.
    pub(crate) fn answer(&mut self, mistake: Mistake, server: &Server, call: &Call) -> Answer {
        let past = |seen: &Seen| Some(server.answer_as_of(call, *seen.revisions.get(&resource(call))?));
        let offers = ["machines", "licenses"].contains(&call.plural.as_str());
        let false_answer = match (mistake, call.verb) {
            (Mistake::ConfirmsFromCache, Verb::Get) if call.plural == "matches" => {
                past(self).filter(|past| past.code == 200)
            }
            (Mistake::BelievesAbsence, Verb::Get) if call.plural == "matches" => {
                past(self).filter(|past| past.code == 404)
            }
            (Mistake::LooksForNoEntries, Verb::Get | Verb::List) if offers => past(self),
            (Mistake::LooksForNoWork, Verb::List) if call.group == "batch" || call.plural == "pods" => {
                let selected = !call.asks("labelSelector").is_empty();
                selected.then(|| nothing(server.answer(call)))
            }
            (Mistake::LosesAlive, Verb::Get) if is_of_an_agent(&call.name) => {
                let first = *self.leases.entry(call.name.clone()).or_insert(server.revision());
                Some(server.answer_as_of(call, first))
            }
            (Mistake::NoSweeper, Verb::Patch) if offers && sweeps(server, call) => Some(server.copy().answer(call)),
            _ => None,
        };
        let mut answer = false_answer.unwrap_or_else(|| server.answer(call));
        if answer.code < 300 && (call.verb.writes() || call.verb == Verb::List) {
            self.has_seen(&resource(call), &answer.body);
        }
        if mistake == Mistake::RemovesActive {
            answer.body = serde_json::from_str(&ended(&answer.body.to_string())).unwrap();
        }
        answer
    }

    /// What the controller takes for news on a watch of these objects.
    pub(crate) fn news(&mut self, mistake: Mistake, server: &Server, watched: &Call, line: Bytes) -> Option<Bytes> {
        let Ok(event) = serde_json::from_slice::<Value>(&line) else { return Some(line) };
        let (type_, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        match mistake {
            Mistake::Resurrects if type_ == "DELETED" && watched.group == "gangmatch.dev" => return None,
            Mistake::LosesAlive if is_of_an_agent(name) => {
                self.leases.entry(name.to_owned()).or_insert(server.revision());
                return (type_ == "ADDED").then_some(line);
            }
            Mistake::RemovesActive => return Some(ended(&String::from_utf8_lossy(&line)).into()),
            _ => self.has_seen(&resource(watched), object),
        }
        Some(line)
    }

    fn has_seen(&mut self, resource: &str, object: &Value) {
        let revision = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
        let seen = self.revisions.entry(resource.to_owned()).or_default();
        *seen = revision.unwrap_or(0).max(*seen);
    }
}

fn resource(call: &Call) -> String {
    format!("{}.{}", call.plural, call.group)
}

/// Work that goes on, shown as ended.
fn ended(text: &str) -> String {
    text.replace(r#""activity":"Active""#, r#""activity":"Ended""#)
}

/// The same list without its items.
fn nothing(mut list: Answer) -> Answer {
    list.body["items"] = json!([]);
    list
}

/// Whether a patch takes an entry out whose Match is gone.
fn sweeps(server: &Server, call: &Call) -> bool {
    let ops = call.json().and_then(|ops| ops.as_array().cloned()).unwrap_or_default();
    let taken = ops.iter().filter(|op| op["op"] == "remove").filter_map(|op| op["path"].as_str());
    let uids: Vec<&str> = taken.filter_map(|path| path.strip_prefix("/status/claims/")).collect();
    let all = Call {
        verb: Verb::List,
        plural: "matches".to_owned(),
        name: String::new(),
        subresource: String::new(),
        ..call.clone()
    };
    let matches = server.answer(&all).body["items"].as_array().cloned().unwrap_or_default();
    uids.iter().any(|uid| !matches.iter().any(|found| found["metadata"]["uid"] == **uid))
}
