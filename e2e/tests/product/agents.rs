//! Offers for which an agent speaks, on a real API server: `gangmatch-agent`, agents that nobody wrote, and one made of the
//! commands that `docs/agents.md` shows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;
use testbed::control_plane::processes::Signal;
use testbed::repository;

use crate::stage::{Namespace, Stage, condition, machine, name, text};

/// How long the agents of these tests may be silent, in seconds: as long as they want, and as short as the API allows.
pub(crate) const LONG: u32 = 200;
const SHORT: u32 = 20;

/// Measured every second.
pub(crate) const OFTEN: &str = "--every=1";

/// A machine that asks its agent; jobs prefer it to others of lower `Speed`.
pub(crate) fn voting(here: &Namespace, name: &str, silence: u32) -> String {
    format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {{name: {name}}}, spec: {{attributes: {{Speed: 9}}, \
         claimPolicy: Agent, agent: {{username: 'system:serviceaccount:{}:agent-{name}', leaseDurationSeconds: {silence}}}, \
         dynamicAttributes: [{{name: Load, type: Real}}], constraint: 'Load < 0.5 && other.App == \"sim\"'}}}}\n---\n",
        here.name
    )
}

/// A job that needs a machine, the faster the better.
fn job(name: &str) -> String {
    format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {{name: {name}}}, spec: {{attributes: {{App: sim}}, \
         reserveTimeoutSeconds: 60, constraint: 'other.Type == \"Machine\"', rank: other.Speed}}}}\n---\n"
    )
}

/// The rights that the chart gives an agent, and a kubeconfig with them.
pub(crate) fn rights(here: &Namespace, kind: &str, name: &str) -> PathBuf {
    let chart = repository::root().join("charts/gangmatch").display().to_string();
    let agent = format!("agent-{name}");
    let agents = serde_json::json!([{"kind": kind, "namespace": here.name, "name": name, "serviceAccount": agent}]);
    let values = format!("agents={agents}");
    let template = ["template", "gangmatch", &chart, "--show-only", "templates/agents.yaml", "--set-json", &values];
    let manifest = here.access().helm(&template).unwrap();
    here.apply(&manifest);
    here.access().service_account(&here.name, &agent).unwrap()
}

/// The program, as a process of the control plane's.
pub(crate) struct Agent<'h> {
    here: &'h Namespace,
    process: String,
}

impl<'h> Agent<'h> {
    pub(crate) fn start(here: &'h Namespace, kind: &str, name: &str, flags: &[&str]) -> Agent<'h> {
        Agent::start_with(here, kind, name, &rights(here, kind, name), flags)
    }

    pub(crate) fn start_with(
        here: &'h Namespace,
        kind: &str,
        name: &str,
        kubeconfig: &Path,
        flags: &[&str],
    ) -> Agent<'h> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let process = format!("agent-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        static PROGRAM: LazyLock<PathBuf> = LazyLock::new(|| repository::program("gangmatch-agent").unwrap());
        let program = PROGRAM.display().to_string();
        let kind = format!("--kind={}", kind.to_lowercase());
        let own = [program, kind, format!("--namespace={}", here.name), format!("--name={name}")];
        let mut command: Vec<String> = own.into();
        command.push(format!("--kubeconfig={}", kubeconfig.display()));
        command.extend(flags.iter().map(|&flag| flag.to_owned()));
        here.access().processes().start(&process, &command, &[]).unwrap();
        Agent { here, process }
    }

    fn kill(&self) {
        self.here.access().processes().end(&self.process, Signal::Kill).unwrap();
    }

    fn restart(&self) {
        self.here.access().processes().restart(&self.process).unwrap();
    }
}

impl Drop for Agent<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the agent says:\n{}", self.here.access().processes().log_tail(&self.process));
        }
        self.here.access().processes().end(&self.process, Signal::Kill).ok();
    }
}

/// A file whose one line an agent publishes as `Load`.
struct Load(PathBuf);

impl Load {
    fn new(here: &Namespace) -> Load {
        let load = Load(here.access().processes().folder().join(format!("load-{}", here.name)));
        load.set("0.1");
        load
    }

    fn set(&self, value: &str) {
        std::fs::write(&self.0, value).unwrap();
    }

    fn flag(&self) -> String {
        format!("--attribute=Load=cat {}", self.0.display())
    }
}

/// The only entry in an offer's ledger: its claim's uid, and what it says.
fn entry(here: &Namespace, offer: &str) -> Option<(String, Value)> {
    let claims = here.get(offer).pointer("/status/claims")?.as_object()?.clone();
    claims.into_iter().next()
}

fn register(here: &Namespace, offer: &str, register: &str) -> String {
    entry(here, offer).map(|(_, entry)| text(&entry, &format!("/{register}"))).unwrap_or_default()
}

fn is_true(here: &Namespace, offer: &str, register: &str) -> bool {
    entry(here, offer).and_then(|(_, entry)| entry.get(register)?.as_bool()).unwrap_or(false)
}

/// The Match of a job's attempt.
fn attempt(here: &Namespace, number: i64) -> Option<Value> {
    let all = here.list("gmatch");
    all.into_iter().find(|found| found.pointer("/spec/attempt").and_then(Value::as_i64) == Some(number))
}

fn done(here: &Namespace, job: &str) {
    here.merge(&format!("gmj/{job}"), r#"{"spec": {"done": true}}"#);
    here.wait_reason(&format!("gmj/{job}"), "Finished", "Done");
}

#[test]
fn an_agent_publishes_votes_and_works_until_the_job_is_done() {
    let here = Stage::shared().namespace("accepts");
    here.apply(&voting(&here, "m", LONG));
    let why = here.wait_reason("gmm/m", "Ready", "AgentLost");
    assert_eq!(why, format!("there is no Lease {}/gangmatch-machine-m with a holder", here.name));
    let load = Load::new(&here);
    let _agent = Agent::start(&here, "Machine", "m", &[&load.flag(), OFTEN]);
    here.wait("gmm/m", "Ready");
    here.wait("gmm/m", "jsonpath={.status.attributes.Load}=0.1");
    here.apply(&job("j"));
    here.wait("gmj/j", "Claimed");
    here.until("the agent to work", || (register(&here, "gmm/m", "activity") == "Active").then_some(()));
    let (_, claim) = entry(&here, "gmm/m").unwrap();
    assert_eq!(claim.pointer("/requester"), Some(&serde_json::json!({"App": "sim"})), "what its ad reads, and no more");
    assert_eq!(text(&claim, "/members/0"), format!("Job {}/j", here.name));
    assert_eq!(text(&claim, "/ballot").len(), 36);
    let found = attempt(&here, 1).unwrap();
    assert_eq!(found.pointer("/status/members"), Some(&serde_json::json!([{"id": 1, "vote": "Accepted"}])));
    done(&here, "j");
    assert_eq!(here.entries("gmm/m"), 0, "given back, once its agent has said that the work has ended");
    here.wait("gmm/m", "jsonpath={.status.state}=Available");
}

#[test]
fn the_work_is_a_command_and_its_end_ends_the_job() {
    let here = Stage::shared().namespace("runs");
    here.apply(&voting(&here, "m", LONG));
    let load = Load::new(&here);
    let folder = here.access().processes().folder().join(format!("work-{}", here.name));
    std::fs::create_dir(&folder).unwrap();
    let run = format!(
        "--run=cd {} && echo $GANGMATCH_MATCH >begun && until test -e end; do sleep 0.1; done",
        folder.display()
    );
    let _agent = Agent::start(&here, "Machine", "m", &[&load.flag(), &run, OFTEN]);
    here.apply(&job("j"));
    let begun = here.until("the work to begin", || {
        std::fs::read_to_string(folder.join("begun")).ok().filter(|text| !text.is_empty())
    });
    assert_eq!(begun.trim(), format!("{}/{}", here.name, name(&attempt(&here, 1).unwrap())));
    std::fs::write(folder.join("end"), "").unwrap();
    here.wait_reason("gmj/j", "Finished", "Completed");
    here.wait("gmj/j", "jsonpath={.status.phase}=Succeeded");
    assert_eq!(here.entries("gmm/m"), 0);
}

#[test]
fn an_agent_that_says_no_sends_the_job_elsewhere() {
    let here = Stage::shared().namespace("rejects");
    here.apply(&voting(&here, "m", LONG));
    let load = Load::new(&here);
    // published once, and measured anew before each vote: what the controller sees is old
    let _agent = Agent::start(&here, "Machine", "m", &[&load.flag(), "--every=3600"]);
    here.wait("gmm/m", "Ready");
    here.wait("gmm/m", "jsonpath={.status.attributes.Load}=0.1");
    load.set("0.9");
    here.apply(&machine("slow"));
    here.wait("gmm/slow", "Ready");
    here.apply(&job("j"));
    here.wait("gmj/j", "Claimed");
    let first = attempt(&here, 1).unwrap();
    assert_eq!(
        (text(&first, "/status/decision"), text(&first, "/status/reason")),
        ("Aborted".into(), "Rejected".into())
    );
    assert_eq!(text(&first, "/status/members/0/message"), "`Load < 0.5` is false");
    let claimed = here.get("gmj/j");
    assert!(text(&claimed, "/status/members").ends_with("/slow"), "elsewhere: {claimed}");
    let refusal = claimed.pointer("/status/refusals/0").unwrap();
    assert_eq!(
        (text(refusal, "/name"), text(refusal, "/reason"), text(refusal, "/message")),
        ("m".into(), "Rejected".into(), "`Load < 0.5` is false".into())
    );
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
}

#[test]
fn an_agent_that_never_votes_is_not_waited_for_for_ever() {
    let here = Stage::shared().namespace("mute");
    here.apply(&[voting(&here, "m", LONG).replace("Load < 0.5 && ", ""), machine("slow")].concat());
    let mute = Shell::new(&here, "m");
    mute.run("create -f -");
    here.wait("gmm/m", "Ready");
    here.wait("gmm/slow", "Ready");
    here.apply(&job("j").replace("reserveTimeoutSeconds: 60", "reserveTimeoutSeconds: 5"));
    here.wait("gmj/j", "Claimed");
    let first = attempt(&here, 1).unwrap();
    assert_eq!(text(&first, "/status/reason"), "ReserveTimedOut");
    let claimed = here.get("gmj/j");
    assert!(text(&claimed, "/status/members").ends_with("/slow"), "elsewhere: {claimed}");
    assert_eq!(text(&claimed, "/status/refusals/0/message"), "its agent did not vote within reserveTimeoutSeconds");
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
}

#[test]
fn an_agent_that_was_killed_goes_on_from_what_it_finds() {
    let here = Stage::shared().namespace("restarts");
    here.apply(&voting(&here, "m", LONG));
    let load = Load::new(&here);
    let folder = here.access().processes().folder().join(format!("work-{}", here.name));
    std::fs::create_dir(&folder).unwrap();
    let run = format!("--run=cd {} && echo once >>begun && until test -e end; do sleep 0.1; done", folder.display());
    let agent = Agent::start(&here, "Machine", "m", &[&load.flag(), &run, OFTEN]);
    here.wait("gmm/m", "Ready");
    here.wait("gmm/m", "jsonpath={.status.attributes.Load}=0.1");
    // before it was asked
    agent.kill();
    here.apply(&job("j"));
    here.until("the vote to be awaited", || (register(&here, "gmm/m", "vote") == "Pending").then_some(()));
    here.wait_reason("gmj/j", "Claimed", "AwaitingVotes");
    agent.restart();
    here.wait("gmj/j", "Claimed");
    let begun = |times: usize| {
        let said = std::fs::read_to_string(folder.join("begun")).unwrap_or_default();
        (said.lines().count() == times).then_some(())
    };
    here.until("the work to begin", || begun(1));
    // and in the middle of its work
    agent.kill();
    agent.restart();
    here.until("the work to begin again", || begun(2));
    assert_eq!(register(&here, "gmm/m", "activity"), "Active");
    assert!(register(&here, "gmm/m", "voteReason").starts_with("continued at 20"));
    assert_eq!(here.list("gmatch").len(), 1, "one claim all the time");
    std::fs::write(folder.join("end"), "").unwrap();
    here.wait_reason("gmj/j", "Finished", "Completed");
}

#[test]
fn the_work_of_an_agent_that_died_is_lost_and_the_job_goes_elsewhere() {
    let here = Stage::shared().namespace("dies");
    here.apply(&voting(&here, "m", SHORT));
    let load = Load::new(&here);
    let agent = Agent::start(&here, "Machine", "m", &[&load.flag(), OFTEN]);
    here.apply(&job("j"));
    here.until("the agent to work", || (register(&here, "gmm/m", "activity") == "Active").then_some(()));
    agent.kill();
    here.apply(&machine("slow"));
    here.shows("gmm/m", "Alive", "LeaseExpired");
    here.until("its work to be lost", || {
        let first = attempt(&here, 1)?;
        (text(&first, "/status/reason") == "AgentLost").then_some(())
    });
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
    here.until("another machine", || text(&here.get("gmj/j"), "/status/members").ends_with("/slow").then_some(()));
    here.wait("gmj/j", "Claimed");
    assert_eq!(condition(&here.get("gmm/m"), "Ready").1, "AgentLost");
    // back again, it is offered again, and knows of no work
    agent.restart();
    here.shows("gmm/m", "Alive", "LeaseRenewed");
    here.shows("gmm/m", "Ready", "Available");
}

#[test]
fn an_agent_that_is_cut_off_stops_before_its_work_is_lost() {
    let here = Stage::shared().namespace("cut-off");
    here.apply(&voting(&here, "m", SHORT));
    let load = Load::new(&here);
    let folder = here.access().processes().folder().join(format!("work-{}", here.name));
    std::fs::create_dir(&folder).unwrap();
    let run = format!(
        "--run=cd {} && trap 'echo >stopped; exit' TERM && echo >begun && while :; do sleep 0.1; done",
        folder.display()
    );
    let _agent = Agent::start(&here, "Machine", "m", &[&load.flag(), &run, OFTEN]);
    here.apply(&job("j"));
    here.until("the work to begin", || folder.join("begun").exists().then_some(()));
    // it can do nothing any more: neither renew its Lease, nor see what becomes of its offer
    here.delete("rolebinding/gangmatch-agent-machine-m");
    let stopped = here.until("its work to be lost", || {
        let lost = here.entries("gmm/m") == 0 || register(&here, "gmm/m", "activity") == "Lost";
        lost.then(|| folder.join("stopped").exists())
    });
    assert!(stopped, "it has stopped by its own clock");
    here.until("the machine to be free", || (here.entries("gmm/m") == 0).then_some(()));
    assert_eq!(text(&attempt(&here, 1).unwrap(), "/status/reason"), "AgentLost");
    here.shows("gmj/j", "Claimed", "AgentLost");
    here.apply(&machine("other"));
    here.shows("gmj/j", "Claimed", "Committed");
}

#[test]
fn while_work_takes_long_to_stop_the_lease_is_renewed() {
    let here = Stage::shared().namespace("slow-stop");
    here.apply(&voting(&here, "m", SHORT));
    let load = Load::new(&here);
    let begun = here.access().processes().folder().join(format!("begun-{}", here.name));
    let run = format!("--run=trap '' TERM; echo >{}; while :; do sleep 0.1; done", begun.display());
    let _agent = Agent::start(&here, "Machine", "m", &[&load.flag(), &run, OFTEN, "--stop-seconds=50"]);
    here.apply(&job("j"));
    here.until("the work to begin", || begun.exists().then_some(()));
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    here.until("its release", || is_true(&here, "gmm/m", "release").then_some(()));
    let mut seen = BTreeSet::new();
    here.until("the Lease to be renewed twice", || {
        seen.insert(text(&here.get("lease/gangmatch-machine-m"), "/spec/renewTime"));
        (seen.len() > 2).then_some(())
    });
    assert_eq!(here.entries("gmm/m"), 1, "its work has not ended");
}

#[test]
fn a_machine_that_is_made_again_is_taken_again_once_its_agent_has_stopped() {
    let here = Stage::shared().namespace("again");
    let offered = voting(&here, "m", LONG);
    here.apply(&offered);
    let load = Load::new(&here);
    let folder = here.access().processes().folder().join(format!("work-{}", here.name));
    std::fs::create_dir(&folder).unwrap();
    let run = format!(
        "--run=cd {} && trap 'echo $GANGMATCH_MATCH_UID >>stopped; exit' TERM && echo $GANGMATCH_MATCH_UID >>begun && while :; do \
         sleep 0.1; done",
        folder.display()
    );
    let lines = |file: &str| -> Vec<String> {
        let text = std::fs::read_to_string(folder.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    };
    let _agent = Agent::start(&here, "Machine", "m", &[&load.flag(), &run, OFTEN]);
    here.apply(&job("j"));
    here.until("the work to begin", || (lines("begun").len() == 1).then_some(()));
    here.delete("gmm/m");
    here.apply(&offered);
    here.until("other work to begin", || (lines("begun").len() == 2).then_some(()));
    assert_eq!(lines("stopped"), lines("begun")[..1], "the work under the former one has stopped before");
    here.wait("gmj/j", "Claimed");
    assert_eq!(text(&attempt(&here, 1).unwrap(), "/status/reason"), "MemberLost");
    assert_eq!(here.list("gmatch").len(), 2);
}

#[test]
fn seats_that_others_use_are_taken_outside_as_lmstat_says() {
    let here = Stage::shared().namespace("lmstat");
    let said = here.access().processes().folder().join(format!("lmstat-{}", here.name));
    let says = |seats: u32| {
        let head = format!("Users of sim:  (Total of 10 licenses issued;  Total of {seats} licenses in use)");
        let holder = "    raman ws-a ws-a:0.0 (v24.1) (licserv/27000 1234), start Fri 11/20 13:02";
        std::fs::write(&said, format!("{head}\n\n  \"sim\" v2026.06, vendor: x\n\n{holder}, {seats} licenses\n"))
            .unwrap();
    };
    says(9);
    here.apply(&format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: License, metadata: {{name: sim}}, spec: {{capacity: {{seats: 10}}, \
         constraint: 'other.Type == \"Job\"', agent: {{username: 'system:serviceaccount:{}:agent-sim'}}}}}}\n---\n",
        here.name
    ));
    let lmstat = format!("--lmstat=cat {}", said.display());
    let _agent = Agent::start(&here, "License", "sim", &[&lmstat, "--feature=sim", "--inside-host=node-*", OFTEN]);
    here.wait("gml/sim", "jsonpath={.status.externalUsage.seats}=9");
    here.wait("gml/sim", "Alive");
    let wants = |name: &str| {
        format!(
            "{{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {{name: {name}}}, spec: {{constraint: \
             'other.Type == \"License\"', request: {{seats: 2}}}}}}\n---\n"
        )
    };
    here.apply(&wants("j"));
    here.wait_reason("gmj/j", "Matched", "WaitingForCapacity");
    says(8);
    here.wait("gmj/j", "Claimed");
    assert_eq!(here.get("gml/sim").pointer("/status/externalUsage/seats"), Some(&8.into()));
}

#[test]
fn seats_that_are_in_use_are_counted_once_and_written_once() {
    let here = Stage::shared().namespace("counted-once");
    let calls = here.access().processes().folder().join(format!("calls-{}", here.name));
    let script = calls.with_extension("sh");
    let said = "Users of sim:  (Total of 4 licenses issued;  Total of 3 licenses in use)";
    std::fs::write(&script, format!("echo called >>{}\necho '{said}'\n", calls.display())).unwrap();
    here.apply(&format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: License, metadata: {{name: sim}}, spec: {{capacity: {{seats: 4}}, \
         constraint: 'other.Type == \"Job\"', agent: {{username: 'system:serviceaccount:{}:agent-sim'}}}}}}\n---\n",
        here.name
    ));
    let lmstat = format!("--lmstat=sh {}", script.display());
    let _agent = Agent::start(&here, "License", "sim", &[&lmstat, "--feature=sim", OFTEN]);
    here.wait("gml/sim", "jsonpath={.status.externalUsage.seats}=3");
    here.wait("gml/sim", "Alive");
    let called = || std::fs::read_to_string(&calls).unwrap().lines().count();
    let asked_again = |times: usize| {
        let before = called();
        here.until("the server to be asked again", || (called() >= before + times).then_some(()));
    };
    asked_again(2);
    let version = text(&here.get("gml/sim"), "/metadata/resourceVersion");
    asked_again(3);
    assert_eq!(
        text(&here.get("gml/sim"), "/metadata/resourceVersion"),
        version,
        "nothing changed, so nothing is written"
    );
    // One of the three may be that of the claim.
    here.apply(
        "{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {name: j}, spec: {constraint: 'other.Type == \"License\"'}}",
    );
    here.wait("gmj/j", "Claimed");
    here.wait("gml/sim", "jsonpath={.status.externalUsage.seats}=2");
}

/// An agent made of the commands of `docs/agents.md`, under a shell.
pub(crate) struct Shell<'h> {
    here: &'h Namespace,
    offer: String,
    kubeconfig: PathBuf,
}

impl<'h> Shell<'h> {
    pub(crate) fn new(here: &'h Namespace, offer: &str) -> Shell<'h> {
        Shell { here, offer: offer.to_owned(), kubeconfig: rights(here, "Machine", offer) }
    }

    /// Runs the document's command in which this stands, for this offer; what it printed. `CLAIM` is the uid of the entry.
    pub(crate) fn run(&self, mark: &str) -> String {
        let claim = entry(self.here, &format!("gmm/{}", self.offer)).map(|(claim, _)| claim).unwrap_or_default();
        let output = self.shell(&block(mark), &claim);
        assert!(output.status.success(), "{mark}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn shell(&self, script: &str, claim: &str) -> std::process::Output {
        let script = script
            .replace("-n grid", &format!("-n {}", self.here.name))
            .replace("namespaces/grid/machines/foo", &format!("namespaces/{}/machines/{}", self.here.name, self.offer))
            .replace("machine-foo", &format!("machine-{}", self.offer))
            .replace("gmm foo", &format!("gmm {}", self.offer))
            .replace("gmm/foo", &format!("gmm/{}", self.offer));
        let tools = self.here.access().tools().kubectl.parent().unwrap().display().to_string();
        let path = format!("{tools}:{}", std::env::var("PATH").unwrap());
        let mut shell = Command::new("sh");
        shell.args(["-ec", &script]).env("PATH", path).env("KUBECONFIG", &self.kubeconfig).env("CLAIM", claim);
        shell.output().unwrap()
    }
}

/// The one command of the document in which this stands.
fn block(mark: &str) -> String {
    let document = std::fs::read_to_string(repository::root().join("docs/agents.md")).unwrap();
    let blocks = document.split("```shell\n").skip(1).filter_map(|rest| Some(rest.split_once("\n```")?.0.to_owned()));
    let mut found = blocks.filter(|block| block.contains(mark));
    let first = found.next().unwrap_or_else(|| panic!("docs/agents.md shows no command with `{mark}`"));
    assert!(found.next().is_none(), "docs/agents.md shows two commands with `{mark}`");
    first
}

#[test]
fn an_agent_can_be_written_from_the_document_alone() {
    let here = Stage::shared().namespace("shell");
    let reads = voting(&here, "m", LONG)
        .replace("name: Load, type: Real}", "name: LoadAvg, type: Real}, {name: LastInput, type: Time}");
    here.apply(&reads.replace("Load < 0.5", "LoadAvg < 0.5 && LastInput > 0"));
    let agent = Shell::new(&here, "m");
    agent.run("create -f -");
    agent.run("renewTime");
    agent.run("LoadAvg");
    here.wait("gmm/m", "Ready");
    here.apply(&job("j"));
    let asking = format!("{}\necho $CLAIM", block("CLAIM=$("));
    here.until("somebody to ask", || {
        let printed = String::from_utf8(agent.shell(&asking, "").stdout).unwrap();
        (!printed.trim().is_empty()).then_some(())
    });
    assert_eq!(agent.run("requester"), r#"{"App":"sim"}"#);
    agent.run("\"Accepted\"");
    agent.run("committed}\"=true");
    here.wait("gmj/j", "Claimed");
    agent.run("\"Active\"}]");
    here.merge("gmj/j", r#"{"spec": {"done": true}}"#);
    agent.run("release}\"=true");
    assert_eq!(here.entries("gmm/m"), 1, "held until it says that it has stopped");
    assert_eq!(condition(&here.get("gmj/j"), "Finished").0, "");
    agent.run("\"Ended\"");
    here.wait_reason("gmj/j", "Finished", "Done");
    assert_eq!(here.entries("gmm/m"), 0);
}

#[test]
fn an_agent_may_vote_over_http() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("SKIPPED: there is no curl");
        return;
    }
    let here = Stage::shared().namespace("http");
    here.apply(&[voting(&here, "m", LONG).replace("Load < 0.5 && ", ""), machine("other")].concat());
    let agent = Shell::new(&here, "m");
    agent.run("create -f -");
    here.wait("gmm/m", "Ready");
    here.apply(&job("j"));
    let claim = here.until("somebody to ask", || entry(&here, "gmm/m").map(|(claim, _)| claim));
    let folder = agent.kubeconfig.with_extension("http");
    std::fs::create_dir_all(&folder).unwrap();
    let script = format!("cd '{}'\n{}\n{}", folder.display(), block("TOKEN=$("), block("curl"));
    let output = agent.shell(&script, &claim);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    here.wait("gmj/j", "Claimed");
    let told = here.get("gmj/j");
    assert_eq!(text(&told, "/status/refusals/0/message"), "somebody sits there");
    assert!(text(&told, "/status/members").contains("/other"), "{}", text(&told, "/status/members"));
}

#[test]
fn an_agent_writes_nothing_but_what_is_its_own() {
    let here = Stage::shared().namespace("rights");
    here.apply(&[voting(&here, "m", LONG).replace("Load < 0.5 && ", ""), machine("other")].concat());
    let agent = Shell::new(&here, "m");
    let refused = |script: &str, words: &str| {
        let output = agent.shell(script, "");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{script}: {said}");
    };
    let status = |patch: &str| {
        format!("kubectl -n grid patch gmm foo --subresource=status --type=merge -p '{{\"status\": {patch}}}'")
    };
    refused(&status(r#"{"epoch": 9}"#), "an agent can write only votes");
    refused(
        &status(r#"{"claims": {"u": {"match": "n/m", "allocation": {"slots": 1}, "vote": "Pending"}}}"#),
        "cannot add or remove",
    );
    refused("kubectl -n grid get gmm", "forbidden");
    refused("kubectl -n grid get gmatch", "forbidden");
    refused("kubectl -n grid get lease gangmatch-machine-other", "forbidden");
    refused("kubectl -n grid patch gmm other --subresource=status --type=merge -p '{}'", "forbidden");
    refused("kubectl -n grid patch gmm foo --type=merge -p '{\"spec\": {\"stopPolicy\": \"Hold\"}}'", "forbidden");
}

#[test]
fn inner_agents_are_asked_after_those_below_them() {
    let here = Stage::shared().namespace("levels");
    // a station needs a tool machine of its own, and each has an agent
    let station = voting(&here, "station", LONG).replace(
        "constraint: 'Load < 0.5 && other.App == \"sim\"'",
        "ports: [{label: user, constraint: 'user.App == \"sim\"'}, {label: tool, constraint: 'tool.Speed == 9 && tool.Name == \"tool\"'}]",
    );
    let tool = voting(&here, "tool", LONG).replace("Load < 0.5 && other.App == \"sim\"", "other.Name == \"station\"");
    here.apply(&[station, tool].concat());
    let (above, below) = (Shell::new(&here, "station"), Shell::new(&here, "tool"));
    for agent in [&above, &below] {
        agent.run("create -f -");
    }
    here.wait("gmm/station", "Ready");
    here.wait("gmm/tool", "Ready");
    here.apply(&job("j"));
    let both = || here.entries("gmm/station") == 1 && here.entries("gmm/tool") == 1;
    here.until("both to be reserved", || both().then_some(()));
    assert_eq!(register(&here, "gmm/tool", "askWhen"), "Now");
    assert_eq!(register(&here, "gmm/station", "askWhen"), "ChildrenAccepted");
    assert_eq!(below.run("requester"), r#"{"Name":"station"}"#);
    let asking = format!("{}\necho $CLAIM", block("CLAIM=$("));
    assert_eq!(String::from_utf8(above.shell(&asking, "").stdout).unwrap().trim(), "", "it is not its turn");
    below.run("\"Accepted\"");
    here.until("the yes to pass up", || (register(&here, "gmm/station", "askWhen") == "Now").then_some(()));
    assert_eq!(condition(&here.get("gmj/j"), "Claimed").1, "AwaitingVotes");
    above.run("\"Accepted\"");
    here.wait("gmj/j", "Claimed");
    here.until("both to be told", || {
        let told = |offer: &str| is_true(&here, offer, "committed");
        (told("gmm/station") && told("gmm/tool")).then_some(())
    });
    done(&here, "j");
    assert!(here.entries("gmm/station") == 0 && here.entries("gmm/tool") == 0);
}
