//! Turns random sequences of edits, made while the product works, into a comparison with ads that never were anything else
//! (Gu et al., Acto: Automatic End-to-End Testing for Operation Correctness, SOSP 2023).
//!
//! A sequence begins with three jobs that want more than two machines and two licenses have. Three to eight edits follow, each at once or when
//! the one before has had its effect: valid and forbidden values by the schema that the API server has, and values that mean something to a
//! gang. A forbidden edit must be refused and change nothing; a text that does not parse must be told in `Accepted`.
//!
//! Then the namespace comes to rest, and three comparisons follow:
//!
//! 1. While the claims of the sequence stand, a job that waits is compared with a twin of the same spec that is created beside it. The twin
//!    has no history and the same offers, so it must wait for the same reason; if it is claimed, the job was forgotten.
//! 2. All jobs are suspended, which ends all claims. What a user sees must be what is seen of new ads of the same specs in another namespace.
//!    That is necessary because a claim stays when specs change: which jobs hold something depends on when it was edited.
//! 3. The jobs that are not to be suspended go on, one after the other in both namespaces, so that the order in which they are served is no matter of
//!    chance. After each of them both namespaces must come to look the same: phase, members, conditions, and of every offer the
//!    number of entries and what is free.
//!
//! Not compared: that an earlier claim ended and why, counters of attempts, and texts that depend on counts, which are told with a delay.

mod edit;
mod values;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use sampling::Random;
use serde_json::{Value, json};
use testbed::until;

use crate::requests::Requests;
use crate::schema::Schemas;
use crate::stage::{LIMIT, Stage, condition};
use edit::Edit;
use world::{Id, State, World};

/// How many sequences the suite runs, and how many at a time.
const SEQUENCES: u64 = 40;
const AT_A_TIME: usize = 4;

/// What all sequences of a run share.
struct Run<'r> {
    requests: &'r Requests,
    schemas: &'r Schemas,
    prefix: String,
    taken: AtomicUsize,
    refused: AtomicUsize,
    told: AtomicUsize,
    claimed: AtomicUsize,
    twins: AtomicUsize,
}

/// One sequence, as far as it has come.
struct Sequence<'r> {
    run: &'r Run<'r>,
    random: Random,
    lived: World<'r>,
    /// The specs, as the API server has them.
    specs: BTreeMap<Id, Value>,
    /// Offers whose capacity was edited.
    lowered: BTreeSet<Id>,
    log: Vec<String>,
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().unwrap())
}

#[test]
fn after_any_edits_ads_are_what_new_ones_of_the_same_specs_are() {
    let (count, first) = (number("EDITS").unwrap_or(SEQUENCES), number("EDITS_SEED").unwrap_or(1));
    let stage = Stage::own();
    let requests = Requests::of(stage.cluster);
    let schemas = Schemas::read(&requests);
    let zero = AtomicUsize::default;
    let run = Run {
        requests: &requests,
        schemas: &schemas,
        prefix: stage.unused("edits"),
        taken: zero(),
        refused: zero(),
        told: zero(),
        claimed: zero(),
        twins: zero(),
    };
    let (next, failures, begun) = (AtomicU64::new(first), Mutex::new(Vec::new()), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= first + count {
                        return;
                    }
                    let mut sequence = Sequence::begin(&run, seed);
                    if let Err(why) = sequence.play() {
                        let failure = format!("EDITS_SEED={seed} EDITS=1\n{}\n{why}", sequence.log.join("\n"));
                        eprintln!("{failure}");
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    let figure = |figure: &AtomicUsize| figure.load(Ordering::Relaxed);
    println!(
        "edits: {count} sequences from seed {first}: {} edits taken, {} refused; {} ads told what does not parse, {} claims compared, {} twins; \
         {} failed; {:.0} s",
        figure(&run.taken),
        figure(&run.refused),
        figure(&run.told),
        figure(&run.claimed),
        figure(&run.twins),
        failures.lock().unwrap().len(),
        begun.elapsed().as_secs_f32()
    );
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}\nthe controller says:\n{}", failures.join("\n\n"), stage.controller.log_tail());
    assert!(count < SEQUENCES || [&run.taken, &run.refused, &run.told, &run.claimed, &run.twins].map(figure).iter().all(|&one| one > 5));
}

impl<'r> Sequence<'r> {
    fn begin(run: &'r Run<'r>, seed: u64) -> Sequence<'r> {
        let mut random = Random::stream(seed, "edits");
        let lived = World::new(run.requests, format!("{}-{seed}-lived", run.prefix));
        let mut sequence =
            Sequence { run, lived, specs: BTreeMap::new(), lowered: BTreeSet::new(), log: Vec::new(), random: random.clone() };
        for (id, spec) in edit::first_ads(&mut random) {
            sequence.create(&id, &spec);
        }
        sequence.random = random;
        sequence
    }

    fn create(&mut self, id: &Id, spec: &Value) {
        self.lived.create(id, spec);
        self.specs.insert(id.clone(), self.lived.get(id)["spec"].clone());
    }

    fn play(&mut self) -> Result<(), String> {
        for _ in 0..self.random.between(3, 8) {
            let edit = edit::next(&self.specs, self.run.schemas, &mut self.random);
            let pause = self.random.below(3);
            self.pause(pause)?;
            self.log.push(format!("  {}, then {}", ["at once", "a claim begun", "at rest"][pause as usize], short(&edit)));
            self.make(edit)?;
        }
        let state = self.rest("the end of the sequence")?;
        self.check_acceptance(&state)?;
        self.compare_with_twins(&state)?;
        self.compare_with_new_ads()
    }

    fn pause(&self, pause: u64) -> Result<(), String> {
        match pause {
            0 => Ok(()),
            1 => until("a claim that has begun, or rest", LIMIT, || {
                let state = self.lived.read();
                let is_claimed = ["a", "b", "c"].iter().any(|job| state.is_claimed(job));
                Ok((is_claimed || state.unrest(&self.lowered).is_empty()).then_some(()))
            })
            .map_err(|error| error.to_string()),
            _ => self.rest("rest before an edit").map(drop),
        }
    }

    /// Waits until nothing is under way in the namespace, and nothing is wrong.
    fn rest(&self, what: &str) -> Result<State, String> {
        rest(&self.lived, &self.lowered, what)
    }

    fn make(&mut self, edit: Edit) -> Result<(), String> {
        match edit {
            Edit::Set { id, fields, must_refuse, why } => return self.set(&id, &fields, must_refuse, &why),
            Edit::Delete(id) => {
                self.lived.delete(&id);
                self.specs.remove(&id);
            }
            Edit::Create(id, spec) => self.create(&id, &spec),
            Edit::Replace(id, spec) => {
                self.lived.delete(&id);
                self.create(&id, &spec);
            }
            Edit::DeleteMatches(job) => self.lived.delete_matches(&job),
        }
        self.run.taken.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Changes fields. What is refused changes nothing at all; what is taken changes no other field.
    fn set(&mut self, id: &Id, fields: &[(String, Option<Value>)], must_refuse: bool, why: &str) -> Result<(), String> {
        let before = self.lived.get(id);
        let answer = self.lived.set(id, fields);
        let after = self.lived.get(id);
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
            (Err(refusal), true) if ![400, 422].contains(&refusal.code) => return Err(format!("{refusal:?}")),
            (Err(_), true) => self.run.refused.fetch_add(1, Ordering::Relaxed),
            (Ok(_), false) => self.run.taken.fetch_add(1, Ordering::Relaxed),
        };
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
            self.run.told.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The first comparison.
    fn compare_with_twins(&mut self, state: &State) -> Result<(), String> {
        let waiting = ["a", "b", "c"].into_iter().filter(|job| state.phase(job) == "Pending");
        for job in waiting {
            let twin: Id = ("Job", format!("{job}-twin"));
            self.lived.create(&twin, &self.specs[&("Job", job.to_owned())]);
            let mut seen = (Value::Null, Value::Null);
            let same = until("a job that waits to be like its twin", LIMIT, || {
                let state = self.lived.read();
                let mut view = state.view(&self.lived.namespace);
                let mut take = |job: &str| view.remove(&format!("Job {job}")).unwrap_or_default();
                seen = (take(job), take(&twin.1));
                let is_claimed = state.phase(job) == "Claimed";
                Ok(((is_claimed || seen.0 == seen.1) && state.unrest(&self.lowered).is_empty()).then_some(()))
            });
            same.map_err(|_| format!("Job {job} waits, and a twin of it does not do the same:\n{}\n{}", seen.0, seen.1))?;
            self.lived.delete(&twin);
            self.rest("rest without the twin")?;
            self.run.twins.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The second comparison and the third.
    fn compare_with_new_ads(&self) -> Result<(), String> {
        let suspend = |value: bool| vec![("suspend".to_owned(), Some(json!(value)))];
        let fresh = World::new(self.run.requests, self.lived.namespace.replace("-lived", "-fresh"));
        let jobs: Vec<&Id> = self.specs.keys().filter(|id| id.0 == "Job").collect();
        for id in &jobs {
            self.lived.set(id, &suspend(true)).map_err(|refusal| format!("suspend: {refusal:?}"))?;
        }
        // The claims of the sequence have to end before its capacities count for new ones.
        until("all claims to end", LIMIT, || Ok(jobs.iter().all(|id| !self.lived.read().is_claimed(&id.1)).then_some(())))
            .map_err(|error| error.to_string())?;
        for (id, spec) in world::KINDS.iter().flat_map(|kind| self.specs.iter().filter(|(id, _)| id.0 == kind.0)) {
            let mut spec = spec.clone();
            if id.0 == "Job" {
                spec["suspend"] = json!(true);
            }
            fresh.create(id, &spec);
        }
        compare(&self.lived, &fresh, "everything suspended")?;
        for id in jobs.into_iter().filter(|id| self.specs[*id]["suspend"] != true) {
            for world in [&self.lived, &fresh] {
                world.set(id, &suspend(false)).map_err(|refusal| format!("{refusal:?}"))?;
            }
            compare(&self.lived, &fresh, &format!("job {} goes on", id.1))?;
        }
        let state = fresh.read();
        self.run.claimed.fetch_add(["a", "b", "c"].iter().filter(|job| state.is_claimed(job)).count(), Ordering::Relaxed);
        for world in [&self.lived, &fresh] {
            world.delete_everything();
            until("everything that was deleted to be gone", LIMIT, || {
                let state = world.read();
                Ok((state.ads.is_empty() && state.matches.is_empty()).then_some(()))
            })
            .map_err(|error| error.to_string())?;
        }
        Ok(())
    }
}

fn rest(world: &World<'_>, lowered: &BTreeSet<Id>, what: &str) -> Result<State, String> {
    let mut unrest = Vec::new();
    let found = until(what, LIMIT, || {
        let state = world.read();
        unrest = state.unrest(lowered);
        Ok(unrest.is_empty().then_some(state))
    });
    found.map_err(|error| format!("{error}:\n{}", unrest.join("\n")))
}

/// Waits until both are at rest and look the same.
fn compare(lived: &World<'_>, fresh: &World<'_>, when: &str) -> Result<(), String> {
    let mut different = Vec::new();
    let same = until("both namespaces to look the same", LIMIT, || {
        let states = [lived, fresh].map(World::read);
        let unrest = states.each_ref().map(|state| state.unrest(&BTreeSet::new()));
        let [one, other] = [(&states[0], lived), (&states[1], fresh)].map(|(state, world)| state.view(&world.namespace));
        let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
        let differs = names.into_iter().filter(|name| one.get(*name) != other.get(*name));
        let text = |view: &BTreeMap<String, Value>, name: &String| view.get(name).map(Value::to_string).unwrap_or_default();
        different = differs.map(|name| format!("{name}\n  edited: {}\n  new:    {}", text(&one, name), text(&other, name))).collect();
        different.extend(unrest.concat());
        Ok(different.is_empty().then_some(()))
    });
    same.map_err(|_| format!("{when}:\n{}", different.join("\n")))
}

/// An edit as a line of the log.
fn short(edit: &Edit) -> String {
    let all = format!("{edit:?}");
    if all.len() < 600 { all } else { format!("{}...", all.chars().take(600).collect::<String>()) }
}
