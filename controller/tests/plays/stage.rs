//! Where a play is played: a server, controllers, and everybody else who takes part; one clock for all.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

use apiserver::{Answer, Call, Event, Kinds, Server};
use auditor::{Audit, Change, Invariant, Key, Object, Violation};
use bytes::Bytes;
use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::actors::{self, Agent};
use crate::faults::{Strike, Twist};
use crate::process::{Process, beginning};
use crate::weather::{Sky, Weather};
use crate::wire::{Keep, Late, Wire};
use crate::worker::Worker;

/// Where everything happens.
pub(crate) const HERE: &str = "play";
/// How far time goes in one step: what one participant does, the others see so much later at most.
const STEP_MS: i64 = 20;
/// The same in a history in which nothing was written for a while.
const IDLE_STEP_MS: i64 = 100;
/// How long nothing must have been written for that.
const IDLE_MS: i64 = 200;
/// How long after its death a controller is started again.
const AGAIN_MS: i64 = 500;
/// How long anything may take that is bound to happen: a lease has to run out, a frozen watch to be noticed.
const LIMIT_MS: i64 = 240_000;

/// The kinds with all rules, without any, and without the one of this message.
fn kinds(twist: Twist) -> Arc<Kinds> {
    static ALL: LazyLock<Mutex<BTreeMap<Option<&str>, Arc<Kinds>>>> = LazyLock::new(Mutex::default);
    let missing = match twist {
        Twist::NoRules => Some(""),
        Twist::Planted(mistake) => mistake.missing_rule(),
        _ => None,
    };
    let is_out = |said: &str| missing.is_some_and(|missing| said.contains(missing));
    ALL.lock().unwrap().entry(missing).or_insert_with(|| Arc::new(Kinds::without_rules(is_out))).clone()
}

/// What somebody does in the very moment after a write.
pub(crate) struct Meddle {
    pub(crate) after: fn(&Call) -> bool,
    pub(crate) calls: Vec<Call>,
}

/// The stage.
pub(crate) struct Stage {
    pub(crate) server: Server,
    pub(crate) processes: Vec<Process>,
    pub(crate) now_ms: i64,
    pub(crate) agents: BTreeMap<String, Agent>,
    /// Whether batch Jobs come to their end by themselves.
    pub(crate) work_ends: bool,
    /// Whether there are agents, a controller of batch Jobs, kubelets and a garbage collector.
    pub(crate) others: bool,
    /// Whether kubelets say nothing: pods stay, however often they are deleted.
    pub(crate) silent_kubelets: bool,
    /// How long a pod that is deleted takes to end.
    pub(crate) pods_end_seconds: i64,
    /// Whether time goes faster where nothing happens.
    pub(crate) skips: bool,
    /// Which promises are not kept in every revision of this play, but must hold at its end.
    pub(crate) only_at_rest: &'static [Invariant],
    audit: Audit,
    audited: i64,
    meddle: Arc<Mutex<Option<Meddle>>>,
    strike: Option<Strike>,
    twist: Twist,
    past: Arc<Mutex<Vec<(i64, i64)>>>,
    /// When a controller is started, and how.
    starts: Vec<(i64, Vec<&'static str>)>,
    /// Writes on their way.
    late: Vec<(i64, Late)>,
    /// What happens to requests by chance, and from which seed.
    pub(crate) weather: Option<(Weather, u64)>,
    /// How controllers are started again.
    pub(crate) flags: &'static [&'static str],
    /// Agents that really work.
    pub(crate) workers: Vec<Worker>,
    /// What is wrong with what they do.
    wronged: Vec<String>,
    started: usize,
    pub(crate) struck: bool,
    /// What all controllers wrote, one after the other.
    pub(crate) log: Vec<String>,
    reacted: i64,
    /// When anything was written last.
    written_ms: i64,
}

impl Stage {
    pub(crate) fn new(strike: Option<Strike>, twist: Twist) -> Stage {
        let mut stage = Stage {
            server: Server::new(kinds(twist), beginning()),
            processes: Vec::new(),
            now_ms: 0,
            agents: BTreeMap::new(),
            work_ends: true,
            others: true,
            silent_kubelets: false,
            pods_end_seconds: 0,
            skips: false,
            only_at_rest: &[],
            audit: Audit::default(),
            audited: 0,
            meddle: Arc::default(),
            strike,
            twist,
            past: Arc::default(),
            starts: Vec::new(),
            late: Vec::new(),
            weather: None,
            flags: &[],
            workers: Vec::new(),
            wronged: Vec::new(),
            started: 0,
            struck: false,
            log: Vec::new(),
            reacted: -1,
            written_ms: 0,
        };
        for name in [HERE, "gangmatch-system"] {
            stage.post(
                "/api/v1/namespaces",
                &json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}),
            );
        }
        stage
    }

    // who is there

    /// Starts a controller. The first one meets what is planned.
    pub(crate) fn start(&mut self, flags: &[&'static str]) {
        self.started += 1;
        let strike = self.strike.filter(|_| self.started == 1);
        let wire = Wire::new(self.server.clone(), strike, self.meddle.clone(), self.twist);
        wire.line().past = self.past.clone();
        let sky = |(weather, seed): &(Weather, u64)| Sky::new(weather, seed.wrapping_add(self.started as u64));
        wire.line().sky = self.weather.as_ref().map(sky);
        let name = format!("controller-{}", self.started);
        self.processes.push(Process::start(&name, wire, self.now_ms, flags));
    }

    /// Somebody will do this in the very moment after a write.
    pub(crate) fn meddle(&mut self, after: fn(&Call) -> bool, calls: Vec<Call>) {
        *self.meddle.lock().unwrap() = Some(Meddle { after, calls });
    }

    /// The next writes of this kind of the first controller are kept back.
    pub(crate) fn keep_back(&mut self, which: fn(&Call) -> bool, count: usize) {
        for process in self.processes.iter().take(1) {
            process.wire.line().keeps = Some(Keep { which, left: count });
        }
    }

    /// How many writes are kept back.
    pub(crate) fn kept_back(&self) -> usize {
        self.processes.iter().map(|process| process.wire.line().held.len()).sum()
    }

    /// Delivers the writes of a controller that were kept back. It hears of it when it runs again.
    pub(crate) fn release(&mut self, place: usize) {
        let Some(process) = self.processes.get(place) else { return };
        let held = std::mem::take(&mut process.wire.line().held);
        for (call, answer) in held {
            self.log.push(format!("{:>7} released {call}", self.now_ms));
            let answered = process.wire.line().deliver(&call);
            // Whoever asked may have given up.
            drop(answer.send(answered));
        }
    }

    /// Which write is struck; 0 if none is.
    pub(crate) fn strike_ordinal(&self) -> usize {
        self.strike.map_or(0, |strike| strike.ordinal)
    }

    /// Whether a controller's write is kept back.
    pub(crate) fn holds(&self, place: usize) -> bool {
        self.processes.get(place).is_some_and(|process| !process.wire.line().held.is_empty())
    }

    // what people do

    pub(crate) fn ask(&mut self, method: &Method, path: &str, body: &Value) -> Answer {
        self.server.answer(&call(method, path, body))
    }

    pub(crate) fn post(&mut self, path: &str, object: &Value) {
        let answer = self.ask(&Method::POST, path, object);
        assert!(answer.code < 300, "{path}: {}", answer.body);
    }

    /// Creates an object of ours.
    pub(crate) fn create(&mut self, object: &Value) {
        self.server.answer(&creation(object)).body["metadata"]["uid"].as_str().expect("it is well formed");
    }

    pub(crate) fn merge(&mut self, plural: &str, name: &str, spec: &Value) {
        let answer = self.ask(&Method::PATCH, &at(plural, name), &json!({"spec": spec}));
        assert!(answer.code < 300, "{plural} {name}: {}", answer.body);
    }

    pub(crate) fn delete(&mut self, plural: &str, name: &str) {
        let answer = self.ask(&Method::DELETE, &at(plural, name), &Value::Null);
        assert!(answer.code < 300, "{plural} {name}: {}", answer.body);
    }

    // what is to be seen

    pub(crate) fn list(&self, path: &str) -> Vec<Value> {
        let answer = self.server.answer(&call(&Method::GET, path, &Value::Null));
        answer.body["items"].as_array().cloned().unwrap_or_default()
    }

    pub(crate) fn ours(&self, plural: &str) -> Vec<Value> {
        self.list(&at(plural, ""))
    }

    pub(crate) fn get(&self, plural: &str, name: &str) -> Option<Value> {
        let answer = self.server.answer(&call(&Method::GET, &at(plural, name), &Value::Null));
        (answer.code == 200).then_some(answer.body)
    }

    pub(crate) fn phase(&self, job: &str) -> String {
        let found = self.get("jobs", job);
        found.and_then(|job| Some(job["status"]["phase"].as_str()?.to_owned())).unwrap_or_default()
    }

    /// How many entries there are in an offer's ledger.
    pub(crate) fn entries(&self, plural: &str, name: &str) -> usize {
        self.get(plural, name).and_then(|offer| Some(offer["status"]["claims"].as_object()?.len())).unwrap_or(0)
    }

    /// How many requests all controllers have made so far, watches not counted.
    pub(crate) fn requests(&self) -> usize {
        self.processes.iter().map(|process| process.wire.line().asked).sum()
    }

    /// What of the end has to be the same, whatever happened on the way.
    pub(crate) fn summary(&self) -> Vec<String> {
        let mut all = Vec::new();
        for job in self.ours("jobs") {
            let claimed = if job["status"]["claim"].is_null() { "free" } else { "claimed" };
            // Which of the two a job that is done becomes depends on whether a fault had ended its claim just before.
            let phase = job["status"]["phase"].to_string().replace("Cancelled", "Succeeded");
            all.push(format!("job {}: {phase} {claimed}", job["metadata"]["name"]));
        }
        let entries: usize = ["machines", "licenses"]
            .iter()
            .flat_map(|plural| self.ours(plural))
            .map(|offer| offer["status"]["claims"].as_object().map_or(0, serde_json::Map::len))
            .sum();
        all.push(format!("{entries} entries"));
        all
    }

    // time

    /// Everybody does what there is to do, and time goes on by a step.
    pub(crate) fn step(&mut self) {
        let is_idle = self.skips && self.now_ms % IDLE_STEP_MS == 0 && self.now_ms - self.written_ms > IDLE_MS;
        let until = self.now_ms + if is_idle { IDLE_STEP_MS } else { STEP_MS };
        for process in &mut self.processes {
            process.run_until(until);
        }
        self.now_ms = until;
        self.server.set_time(beginning() + SignedDuration::from_millis(until));
        self.restart_killed();
        self.due();
        let revision = self.server.revision();
        if self.others && (revision != self.reacted || until % 1000 == 0) {
            let is_news = until % 1000 == 0 || self.server.changes_since(self.reacted).iter().any(concerns_workloads);
            self.reacted = revision;
            actors::react(self, is_news);
        }
        self.work();
        let revision = self.server.revision();
        if revision != self.audited {
            self.written_ms = until;
        }
        self.past.lock().unwrap().push((until, revision));
        self.read_along();
    }

    /// Agents work. What is wrong is looked for before they notice it themselves.
    fn work(&mut self) {
        let mut workers = std::mem::take(&mut self.workers);
        if self.server.revision() != self.audited {
            let wronged: Vec<String> = workers.iter().filter_map(|worker| worker.wronged(self)).collect();
            self.wronged.extend(wronged);
        }
        workers.iter_mut().for_each(|worker| worker.act(self));
        self.workers = workers;
    }

    /// Takes away who was killed; somebody starts it again.
    fn restart_killed(&mut self) {
        for process in &self.processes {
            let mut line = process.wire.line();
            self.struck |= line.struck;
            let log = std::mem::take(&mut line.log);
            self.log.extend(log.into_iter().map(|write| format!("{:>7} {} {write}", self.now_ms, process.name)));
            self.late.extend(line.late.drain(..).map(|late| (self.now_ms + late.after_ms, late)));
        }
        let (now_ms, before) = (self.now_ms, self.processes.len());
        self.processes.retain(|process| process.wire.line().dead.is_none());
        for _ in self.processes.len()..before {
            self.starts.push((now_ms + AGAIN_MS, self.flags.to_vec()));
        }
    }

    /// What comes at its time.
    fn due(&mut self) {
        let now_ms = self.now_ms;
        for (_, late) in self.late.extract_if(.., |(at, _)| *at <= now_ms).collect::<Vec<_>>() {
            self.log.push(format!("{now_ms:>7} late {}", late.call));
            let answer = self.server.answer(&late.call);
            // Whoever asked may have given up.
            late.answer.map(|waits| waits.send(answer));
        }
        for (_, flags) in self.starts.extract_if(.., |(at, _)| *at <= now_ms).collect::<Vec<_>>() {
            self.start(&flags);
        }
    }

    /// Looks at every change.
    fn read_along(&mut self) {
        for event in self.server.changes_since(self.audited) {
            self.audited = event.revision;
            let Some(key) = Key::of_path(&event.path()) else { continue };
            let change = match &event.after {
                None => Change::delete(event.revision, key),
                Some(object) => {
                    let stored = serde_json::to_vec(object.as_ref()).unwrap();
                    Change::put(event.revision, key.clone(), Object::read(key.kind, &stored, event.revision).unwrap())
                }
            };
            self.audit.take(&change);
        }
    }

    /// Lets time pass until something holds; not within the limit is a mistake.
    pub(crate) fn until(&mut self, what: &str, holds: impl Fn(&Stage) -> bool) -> Result<(), String> {
        let begun = self.now_ms;
        let mut seen = -1;
        loop {
            let revision = self.server.revision();
            if revision != seen && holds(self) {
                return Ok(());
            }
            seen = revision;
            self.verdict()?;
            if self.now_ms - begun > LIMIT_MS {
                return Err(format!("not within {LIMIT_MS} ms: {what}; {:?}", self.summary()));
            }
            self.step();
        }
    }

    /// Lets so much time pass.
    pub(crate) fn pass(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        while self.now_ms < until {
            self.step();
        }
    }

    /// Lets everything come to rest. What has to hold of all revisions, and of the end.
    pub(crate) fn rest(&mut self) -> Result<(), String> {
        let begun = self.now_ms;
        loop {
            self.verdict()?;
            let left = self.left_to_do();
            if left.is_empty() {
                return Ok(());
            }
            if self.now_ms - begun > LIMIT_MS {
                return Err(format!("not at rest within {LIMIT_MS} ms: {}", left.join("; ")));
            }
            let revision = self.server.revision();
            self.step();
            while self.now_ms % 200 != 0 || self.server.revision() == revision && self.now_ms % 1000 != 0 {
                self.step();
            }
        }
    }

    /// What is still wrong, or still works, if this is to be the end.
    fn left_to_do(&self) -> Vec<String> {
        if !self.late.is_empty() || !self.starts.is_empty() {
            return vec!["requests are on their way, or a controller is to start".to_owned()];
        }
        let now = beginning().as_second() + self.now_ms / 1000;
        let broken = auditor::at_rest(self.audit.world(), self.audited, now);
        let runs = |job: &Value| job["spec"]["suspend"] == false && job["status"]["conditions"].is_null();
        let works = self.list("/apis/batch/v1/jobs").into_iter().filter(runs);
        let works = works.map(|job| format!("batch Job {} runs", job["metadata"]["name"]));
        broken.iter().map(ToString::to_string).chain(works).chain(self.untruthful()).collect()
    }

    /// The jobs whose conditions do not say what holds, where a play looks at that only at its end.
    fn untruthful(&self) -> Vec<String> {
        if self.only_at_rest.is_empty() {
            return Vec::new();
        }
        let says = |job: &Value| {
            let claimed = job["status"]["conditions"].as_array()?.iter().find(|found| found["type"] == "Claimed")?;
            Some(claimed["status"] == "True")
        };
        let lies = |job: &Value| says(job).unwrap_or(false) == job["status"]["claim"].is_null();
        let all = self.ours("jobs").into_iter().filter(lies);
        all.map(|job| format!("job {}: its condition Claimed is not true", job["metadata"]["name"])).collect()
    }

    /// What was broken in any revision.
    pub(crate) fn verdict(&self) -> Result<(), String> {
        let counts = |found: &&Violation| !self.only_at_rest.contains(&found.invariant);
        let broken = self.audit.violations().iter().filter(counts).map(ToString::to_string);
        let broken: Vec<String> = broken.chain(self.wronged.iter().cloned()).collect();
        if broken.is_empty() { Ok(()) } else { Err(broken.join("\n  ")) }
    }
}

/// Whether a change is about what the controller of batch Jobs and the garbage collector look at.
fn concerns_workloads(event: &Event) -> bool {
    !["machines.gangmatch.dev", "licenses.gangmatch.dev", "leases.coordination.k8s.io", "events.events.k8s.io"]
        .contains(&event.key.resource.as_str())
}

/// The path of an object of ours, or of all of a kind.
pub(crate) fn at(plural: &str, name: &str) -> String {
    let all = format!("/apis/gangmatch.dev/v1alpha1/namespaces/{HERE}/{plural}");
    if name.is_empty() { all } else { format!("{all}/{name}") }
}

/// A request as a person makes it: patches are merge patches, unless they are lists.
pub(crate) fn call(method: &Method, path: &str, body: &Value) -> Call {
    let kind = match (method == Method::PATCH, body.is_array()) {
        (true, true) => "application/json-patch+json",
        (true, false) => "application/merge-patch+json",
        _ => "application/json",
    };
    let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
    Call::of(method, &path.parse().unwrap(), kind, body).unwrap()
}

/// The request that creates an object of ours.
pub(crate) fn creation(object: &Value) -> Call {
    let plural = match object["kind"].as_str().unwrap() {
        "Match" => "matches".to_owned(),
        kind => format!("{}s", kind.to_lowercase()),
    };
    call(&Method::POST, &at(&plural, ""), object)
}
