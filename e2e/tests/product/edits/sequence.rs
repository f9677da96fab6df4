//! Turns a seed into a sequence of edits in a namespace, and into the first thing that is wrong with what comes of them.

use std::collections::{BTreeMap, BTreeSet};

use sampling::Random;
use serde_json::Value;
use testbed::until;

use super::edit::{self, Edit};
use super::world::{Id, State, World};
use super::{Run, compare, count, values};
use crate::stage::{LIMIT, condition};

/// One sequence, as far as it has come.
pub(super) struct Sequence<'r> {
    pub(super) run: &'r Run<'r>,
    random: Random,
    pub(super) lived: World<'r>,
    /// The specs, as the API server has them.
    pub(super) specs: BTreeMap<Id, Value>,
    /// Offers whose capacity was edited.
    lowered: BTreeSet<Id>,
    /// The edits, one on each line.
    pub(super) log: Vec<String>,
}

impl<'r> Sequence<'r> {
    /// One in a namespace of its own.
    pub(super) fn new(run: &'r Run<'r>, seed: u64) -> Sequence<'r> {
        let lived = World::new(run.requests, format!("{}-{seed}-lived", run.prefix));
        let (random, specs, lowered, log) =
            (Random::stream(seed, "edits"), BTreeMap::new(), BTreeSet::new(), Vec::new());
        Sequence { run, random, lived, specs, lowered, log }
    }

    fn create(&mut self, id: &Id, spec: &Value) -> Result<(), String> {
        self.lived.create(id, spec)?;
        self.specs.insert(id.clone(), self.lived.get(id)["spec"].clone());
        Ok(())
    }

    /// Creates the ads, makes the edits, and compares what comes of them.
    pub(super) fn play(&mut self) -> Result<(), String> {
        for (id, spec) in edit::first_ads(&mut self.random) {
            self.create(&id, &spec)?;
        }
        for _ in 0..self.random.between(3, 8) {
            let edit = edit::next(&self.specs, self.run.schemas, &mut self.random);
            let pause = self.random.index(3);
            self.log.push(format!("  {}: {}", ["at once", "once a claim has begun", "at rest"][pause], short(&edit)));
            self.pause(pause)?;
            self.make(edit)?;
        }
        let state = self.rest("the namespace to come to rest after the sequence")?;
        self.check_acceptance(&state)?;
        compare::with_twins(self, &state)?;
        compare::with_new_ads(self)
    }

    fn pause(&self, pause: usize) -> Result<(), String> {
        match pause {
            0 => Ok(()),
            1 => until("a claim that has begun, or rest", LIMIT, || {
                let state = self.lived.read();
                let is_claimed = edit::JOBS.iter().any(|job| state.is_claimed(job));
                Ok((is_claimed || self.unrest(&state).is_empty()).then_some(()))
            })
            .map_err(|error| error.to_string()),
            _ => self.rest("the namespace to come to rest before the edit").map(drop),
        }
    }

    pub(super) fn unrest(&self, state: &State) -> Vec<String> {
        state.unrest(&self.lowered)
    }

    /// Waits until nothing is under way in the namespace, and nothing is wrong.
    pub(super) fn rest(&self, what: &str) -> Result<State, String> {
        let mut unrest = Vec::new();
        let found = until(what, LIMIT, || {
            let state = self.lived.read();
            unrest = self.unrest(&state);
            Ok(unrest.is_empty().then_some(state))
        });
        found.map_err(|error| format!("{error}:\n{}", unrest.join("\n")))
    }

    fn make(&mut self, edit: Edit) -> Result<(), String> {
        match edit {
            Edit::Set { id, fields, must_refuse, why } => return self.set(&id, &fields, must_refuse, &why),
            Edit::Delete(id) => {
                self.lived.delete(&id);
                self.specs.remove(&id);
            }
            Edit::Create(id, spec) => self.create(&id, &spec)?,
            Edit::Replace(id, spec) => {
                self.lived.delete(&id);
                self.create(&id, &spec)?;
            }
            Edit::DeleteMatches(job) => self.lived.delete_matches(&job),
        }
        count(&self.run.figures.taken, 1);
        Ok(())
    }

    /// Changes fields. What is refused changes nothing at all; what is taken changes no other field.
    fn set(&mut self, id: &Id, fields: &[(String, Option<Value>)], must_refuse: bool, why: &str) -> Result<(), String> {
        let before = self.lived.get(id);
        let answer = self.lived.set(id, fields);
        let after = self.lived.get(id);
        // An owner stays, whatever is written.
        let is_edited = |name: &String| fields.iter().any(|(edited, _)| edited == name && edited != "owner");
        let names = |object: &Value| object["spec"].as_object().unwrap().keys().cloned().collect::<BTreeSet<String>>();
        for name in names(&before).union(&names(&after)).filter(|name| must_refuse || !is_edited(name)) {
            if before["spec"][name] != after["spec"][name] {
                return Err(format!("{name} of {} {} has changed: {}", id.0, id.1, after["spec"][name]));
            }
        }
        if must_refuse && before["metadata"]["generation"] != after["metadata"]["generation"] {
            return Err(format!("{} {} has another generation", id.0, id.1));
        }
        match (answer, must_refuse) {
            (Ok(_), true) => return Err(format!("not refused: {why}")),
            (Err(refusal), false) => return Err(format!("refused ({why}): {refusal:?}")),
            (Err(refusal), true) if !refusal.is_about_the_object() => return Err(format!("{refusal:?}")),
            (Err(_), true) => count(&self.run.figures.refused, 1),
            (Ok(_), false) => count(&self.run.figures.taken, 1),
        }
        if fields.iter().any(|(name, _)| name == "capacity") {
            self.lowered.insert(id.clone());
        }
        self.specs.insert(id.clone(), after["spec"].clone());
        Ok(())
    }

    /// What does not parse is told.
    fn check_acceptance(&self, state: &State) -> Result<(), String> {
        for (id, object) in state.ads.iter().filter(|(_, object)| values::has_flaw(&object["spec"])) {
            let (status, reason, message) = condition(object, "Accepted");
            if status != "False" || message.is_empty() {
                return Err(format!("{} {} is Accepted={status}, {reason}: {message}", id.0, id.1));
            }
            count(&self.run.figures.told, 1);
        }
        Ok(())
    }
}

/// An edit as a line of the log.
fn short(edit: &Edit) -> String {
    let all = format!("{edit:?}");
    if all.len() < 600 { all } else { format!("{}...", all.chars().take(600).collect::<String>()) }
}
