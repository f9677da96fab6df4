//! Turns a control plane with the chart and the controller on it into a stage for one test: a namespace of its own, and
//! words for what is put there and awaited.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use testbed::cluster::Choice;
use testbed::control_plane::processes::{Signal, end_all};
use testbed::product::{self, Controller};
use testbed::{Access, Cluster, Options, Requests, repository, until};

use crate::paths::{collection_of, objects_of, path_of, place_of};

/// Long enough for a busy machine; a test that passes never waits for it.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

thread_local! {
    /// The stages that the test of this thread uses.
    static USED: RefCell<Vec<Used>> = const { RefCell::new(Vec::new()) };
}

/// The stages that tests have used last, the most recent one first.
static KEPT: Mutex<Vec<Used>> = Mutex::new(Vec::new());

/// How many of them are kept for the tests that follow: to keep one for two minutes costs less than to start it again, and half a gigabyte.
const KEPT_MAX: usize = 3;

/// A stage in use, with its name. The stage of a single test has none.
#[derive(Clone)]
struct Used {
    name: &'static str,
    stage: Arc<Ending>,
}

/// A stage that ends when the last test that uses it has ended: all its processes, or the controller on a cluster that is not ours.
struct Ending(&'static Stage);

impl Drop for Ending {
    fn drop(&mut self) {
        let Ending(stage) = self;
        match stage.cluster.control_plane() {
            Some(plane) => end_all(plane.processes().folder()).ok(),
            None => stage.controller.end(Signal::Terminate).ok(),
        };
    }
}

impl Used {
    /// Keeps it until the thread of this test ends.
    fn of_this_test(self) -> &'static Stage {
        let stage = self.stage.0;
        USED.with_borrow_mut(|used| used.push(self));
        stage
    }
}

/// A control plane with the product on it.
pub(crate) struct Stage {
    pub(crate) cluster: &'static Cluster,
    pub(crate) controller: Controller<'static>,
}

impl Stage {
    /// One for the tests of a program that do not disturb each other.
    pub(crate) fn shared() -> &'static Stage {
        Stage::of_many_tests("shared", &Choice::from_env().unwrap(), &Options::default(), &[])
    }

    /// One on which pods run: nodes are made by the tests, and kwok plays their kubelets.
    pub(crate) fn with_pods() -> &'static Stage {
        Stage::of_many_tests("with pods", &Choice::from_env().unwrap(), &with_pods(), &[])
    }

    /// The same for tenants who attack: what they leave behind is in the way of no other test.
    pub(crate) fn attacked() -> &'static Stage {
        Stage::of_many_tests("attacked", &Choice::Processes, &with_pods(), &[])
    }

    /// The same for a test that breaks it.
    pub(crate) fn own_with_pods() -> &'static Stage {
        Stage::on(Cluster::of(&Choice::Processes, &with_pods()).unwrap()).used("").of_this_test()
    }

    /// One for a test that breaks it. Always local processes: nobody's cluster is broken.
    pub(crate) fn own() -> &'static Stage {
        Stage::own_with(&[], &[])
    }

    /// One for tests that disturb others but not each other. Tests run in the order of their modules, and those that want the same one
    /// should be near each other: only the last few are kept.
    pub(crate) fn of_many_tests(
        name: &'static str,
        choice: &Choice,
        options: &Options,
        values: &[&str],
    ) -> &'static Stage {
        // A test stays on its stage, though others may have gone on to the next one.
        if let Some(used) = USED.with_borrow(|used| used.iter().find(|used| used.name == name).cloned()) {
            return used.stage.0;
        }
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let used = match kept.iter().position(|used| used.name == name) {
            Some(place) => kept.remove(place),
            None => Stage::with_values(Cluster::of(choice, options).unwrap(), values).used(name),
        };
        kept.insert(0, used.clone());
        kept.truncate(KEPT_MAX);
        used.of_this_test()
    }

    /// One of its own with these namespaces, then the chart with these values.
    pub(crate) fn own_with(namespaces: &[&str], values: &[&str]) -> &'static Stage {
        let cluster = Cluster::of(&Choice::Processes, &Options::default()).unwrap();
        for namespace in namespaces {
            cluster.kubectl_text(&["create", "namespace", namespace], None).unwrap();
        }
        Stage::with_values(cluster, values).used("").of_this_test()
    }

    fn used(self, name: &'static str) -> Used {
        Used { name, stage: Arc::new(Ending(Box::leak(Box::new(self)))) }
    }

    fn on(cluster: Cluster) -> Stage {
        Stage::with_values(cluster, &[])
    }

    fn with_values(cluster: Cluster, values: &[&str]) -> Stage {
        let cluster: &'static Cluster = Box::leak(Box::new(cluster));
        product::install_chart(cluster, values).unwrap();
        let kubeconfig = product::controller_kubeconfig(cluster).unwrap();
        let controller = product::start_controller(cluster, &kubeconfig, &[]).unwrap();
        Stage { cluster, controller }
    }

    /// A new namespace.
    pub(crate) fn namespace(&'static self, test: &str) -> Namespace {
        let name = self.unused(test);
        let object = serde_json::json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.cluster.requests().unwrap().create("/api/v1/namespaces", &object).unwrap();
        Namespace { stage: self, name }
    }

    /// A name that no namespace has: on a cluster that is not ours, a namespace of an earlier run may still be there.
    pub(crate) fn unused(&self, test: &str) -> String {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        format!("{test}-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
    }
}

fn with_pods() -> Options {
    Options { kwok: true, ..Options::default() }
}

/// Where one test plays.
pub(crate) struct Namespace {
    pub(crate) stage: &'static Stage,
    pub(crate) name: String,
}

impl Namespace {
    pub(crate) fn access(&self) -> &'static Access {
        self.stage.cluster
    }

    /// kubectl in this namespace; what it printed.
    pub(crate) fn kubectl(&self, arguments: &[&str], stdin: Option<&str>) -> String {
        let here = [&["-n", self.name.as_str()], arguments].concat();
        self.access().kubectl_text(&here, stdin).unwrap()
    }

    /// What `kubectl apply` does; without it, if the paths of all objects are known.
    pub(crate) fn apply(&self, manifest: &str) {
        let to_apply: Option<Vec<(String, Value)>> =
            objects_of(manifest).into_iter().map(|object| Some((place_of(&self.name, &object)?, object))).collect();
        let Some(to_apply) = to_apply.filter(|all| !all.is_empty()) else {
            self.kubectl(&["apply", "-f", "-"], Some(manifest));
            return;
        };
        for (path, object) in to_apply {
            let applied = self.access().requests().unwrap().apply(&path, &object);
            applied.unwrap_or_else(|refusal| panic!("{path}: {}", refusal.message));
        }
    }

    /// Creates the objects of a manifest, to which nothing is added.
    pub(crate) fn create(&self, manifest: &str) {
        let created = create_by(self.access().requests().unwrap(), &self.name, manifest);
        created.unwrap_or_else(|refusal| panic!("{refusal}: {manifest}"));
    }

    /// The same as a user; or why one was refused.
    pub(crate) fn create_as(&self, user: &str, manifest: &str) -> Result<(), String> {
        create_by(&self.access().requests().unwrap().acting_as(user), &self.name, manifest)
    }

    /// A folder below `examples/`.
    pub(crate) fn apply_example(&self, folder: &str) {
        let path = repository::root().join("examples").join(folder).display().to_string();
        self.kubectl(&["apply", "-f", &path], None);
    }

    /// What `kubectl get -o json` prints of an object such as `gmj/j`, or of all of a kind. Tests ask often while they wait: not by a
    /// process for each question, if the path is known.
    pub(crate) fn get(&self, object: &str) -> Value {
        match path_of(&self.name, object) {
            Some(path) => {
                let found = self.access().requests().unwrap().get(&path);
                without_managed_fields(found.unwrap_or_else(|refusal| panic!("{object}: {}", refusal.message)))
            }
            None => serde_json::from_str(&self.kubectl(&["get", object, "-o", "json"], None)).unwrap(),
        }
    }

    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        self.get(kind).get("items").and_then(Value::as_array).cloned().unwrap_or_default()
    }

    /// What `kubectl delete` does: it waits until the object is gone.
    pub(crate) fn delete(&self, object: &str) {
        let Some(path) = path_of(&self.name, object) else {
            self.kubectl(&["delete", object], None);
            return;
        };
        let requests = self.access().requests().unwrap();
        let uid = text(&requests.get(&path).unwrap(), "/metadata/uid");
        requests.delete(&path).unwrap();
        self.until(&format!("{object} to be gone"), || match requests.get(&path) {
            Ok(found) => (text(&found, "/metadata/uid") != uid).then_some(()),
            Err(refusal) => (refusal.code == 404).then_some(()),
        });
    }

    pub(crate) fn merge(&self, object: &str, patch: &str) {
        match path_of(&self.name, object) {
            Some(path) => {
                let patch = serde_json::from_str(patch).unwrap();
                self.access().requests().unwrap().merge(&path, &patch).unwrap();
            }
            None => drop(self.kubectl(&["patch", object, "--type=merge", "-p", patch], None)),
        }
    }

    /// Waits for `True` of a condition, or for `condition=value`, or for a `jsonpath`, as `kubectl wait` does.
    pub(crate) fn wait(&self, object: &str, what: &str) {
        let field = what.strip_prefix("jsonpath={").and_then(|rest| rest.split_once("}="));
        if path_of(&self.name, object).is_none() || field.is_some_and(|(field, _)| field.contains(['[', '\\'])) {
            return self.wait_by_kubectl(object, what);
        }
        let is = |value: &Value, wanted: &str| {
            value.as_str() == Some(wanted) || serde_json::from_str(wanted).is_ok_and(|wanted: Value| wanted == *value)
        };
        let (type_, status) = what.split_once('=').unwrap_or((what, "True"));
        self.until_it(object, what, |found| match field {
            Some((field, wanted)) => found.pointer(&field.replace('.', "/")).is_some_and(|value| is(value, wanted)),
            None => is_current(found, type_) && condition(found, type_).0 == status,
        });
    }

    fn wait_by_kubectl(&self, object: &str, what: &str) {
        let what = if what.starts_with("jsonpath") { what.to_owned() } else { format!("condition={what}") };
        let timeout = format!("--timeout={}s", LIMIT.as_secs());
        let arguments = ["-n", &self.name, "wait", object, &format!("--for={what}"), &timeout];
        if let Err(error) = self.access().kubectl_text(&arguments, None) {
            panic!("{error:#}\n{}", self.state_of(object));
        }
    }

    /// Waits until a condition has this reason; returns its message.
    pub(crate) fn wait_reason(&self, object: &str, type_: &str, reason: &str) -> String {
        if path_of(&self.name, object).is_some() {
            let found =
                self.until_it(object, &format!("{type_}: {reason}"), |found| condition(found, type_).1 == reason);
            return condition(&found, type_).2;
        }
        self.wait(object, &format!("jsonpath={{.status.conditions[?(@.type==\"{type_}\")].reason}}={reason}"));
        condition(&self.get(object), type_).2
    }

    /// Waits until this holds of an object whose path is known; returns the object.
    fn until_it(&self, object: &str, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let path = path_of(&self.name, object).unwrap();
        let requests = self.access().requests().unwrap();
        let found = until(&format!("{what} of {object}"), LIMIT, || Ok(requests.get(&path).ok().filter(&holds)));
        found.unwrap_or_else(|error| panic!("{error:#}\n{}", self.state_of(object)))
    }

    /// What an object is now, and what the controller has said last.
    fn state_of(&self, object: &str) -> String {
        let now = self.access().kubectl_text(&["-n", &self.name, "get", object, "-o", "yaml"], None);
        let log = self.stage.controller.log_tail();
        format!("it is now:\n{}\nthe controller says:\n{log}", now.unwrap_or_default())
    }

    /// Waits until a policy of `hold_up` has taken effect: this write, which it is to refuse, is refused to another writer than the admin.
    pub(crate) fn until_held_up(&self, write: &[&str]) {
        let as_other = ["-n", &self.name, "--as=other", "--as-group=system:masters"];
        self.until("the policy to take effect", || {
            let output = self.access().kubectl(&[&as_other, write].concat(), None).unwrap();
            String::from_utf8_lossy(&output.stderr).contains("held up").then_some(())
        });
    }

    /// What `kubectl gangmatch why -o json` says of a job or an offer, such as `machine/m`.
    pub(crate) fn why(&self, subject: &str) -> Value {
        self.plugin(&["why", subject, "-n", &self.name, "-o", "json"])
    }

    /// The workloads of which `kubectl gangmatch status` says that they are held for a Job that does not exist.
    pub(crate) fn held_for_nothing(&self) -> Vec<Value> {
        self.plugin(&["status", "-o", "json"])["held"].as_array().unwrap().clone()
    }

    fn plugin(&self, arguments: &[&str]) -> Value {
        let output = product::plugin_alone(self.access(), arguments).unwrap();
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
    }

    /// Waits until a condition of a job or an offer has this reason, and `why` gives the same; returns the message of the condition.
    pub(crate) fn shows(&self, object: &str, type_: &str, reason: &str) -> String {
        let message = self.wait_reason(object, type_, reason);
        let (kind, name) = object.split_once('/').unwrap();
        let subject = match kind {
            "gmm" => format!("machine/{name}"),
            "gml" => format!("license/{name}"),
            _ => name.to_owned(),
        };
        let mut answer = Value::Null;
        let said = until(&format!("why to say {reason}"), LIMIT, || {
            answer = self.why(&subject);
            Ok(says(&answer, type_, reason).then_some(()))
        });
        said.unwrap_or_else(|error| panic!("{error:#}: {answer:#}"));
        message
    }

    /// Waits until an answer about this namespace is `Some`.
    pub(crate) fn until<T>(&self, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
        until(what, LIMIT, || Ok(ask())).unwrap()
    }

    /// The objects of a kind whose condition has this reason.
    pub(crate) fn with_reason(&self, kind: &str, type_: &str, reason: &str) -> Vec<String> {
        let all = self.list(kind);
        all.iter().filter(|object| condition(object, type_).1 == reason).map(name).collect()
    }

    /// How many entries an offer's ledger has.
    pub(crate) fn entries(&self, offer: &str) -> usize {
        let claims = self.get(offer).pointer("/status/claims").and_then(Value::as_object).cloned();
        claims.unwrap_or_default().len()
    }
}

/// Creates the objects of a manifest, in this namespace if they name none; or why one was refused.
pub(crate) fn create_by(requests: &Requests, namespace: &str, manifest: &str) -> Result<(), String> {
    let objects = objects_of(manifest);
    assert!(!objects.is_empty(), "no manifest: {manifest}");
    for object in objects {
        let path =
            collection_of(namespace, &object).unwrap_or_else(|| panic!("paths.rs does not know the kind: {object}"));
        let path = format!("{path}?fieldManager=kubectl-create&fieldValidation=Strict");
        requests.create(&path, &object).map_err(|refusal| refusal.message)?;
    }
    Ok(())
}

/// Whether a condition is about the object as it is now; it is if it does not say what it is about.
fn is_current(object: &Value, type_: &str) -> bool {
    let all = object.pointer("/status/conditions").and_then(Value::as_array);
    let about =
        all.into_iter().flatten().find(|one| one["type"] == type_).and_then(|one| one["observedGeneration"].as_i64());
    let generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
    about.zip(generation).is_none_or(|(about, generation)| about >= generation)
}

/// kubectl shows who has written which field only if it is asked to.
fn without_managed_fields(mut found: Value) -> Value {
    let strip = |object: &mut Value| {
        object.pointer_mut("/metadata").and_then(Value::as_object_mut).and_then(|meta| meta.remove("managedFields"));
    };
    match found.get_mut("items").and_then(Value::as_array_mut) {
        Some(items) => items.iter_mut().for_each(strip),
        None => strip(&mut found),
    }
    found
}

/// Whether an answer of `why` agrees with a condition.
fn says(answer: &Value, type_: &str, reason: &str) -> bool {
    let has = |path: &str, reason: &str| text(answer, path) == reason;
    let remarks: Vec<String> =
        answer["remarks"].as_array().into_iter().flatten().map(|one| text(one, "/reason")).collect();
    match (type_, reason) {
        // What follows the claim is said instead.
        ("Matched", "GangFound") | ("Claimed", "Committed") | ("Preempted", "ClaimedAgain") => has("/state", "Held"),
        ("Matched", "NotAccepted") => has("/state", "NotAccepted"),
        ("Accepted", "Accepted") => !has("/state", "NotAccepted") && !has("/reason", "NotAccepted"),
        ("Alive", "LeaseRenewed") | ("Overcommitted", "WithinCapacity") => remarks.is_empty(),
        ("Claimed", _) => has("/reason", reason) || has("/lastClaim/reason", reason),
        _ => has("/reason", reason) || has("/controller/reason", reason) || remarks.iter().any(|one| one == reason),
    }
}

pub(crate) fn name(object: &Value) -> String {
    text(object, "/metadata/name")
}

pub(crate) fn text(object: &Value, path: &str) -> String {
    object.pointer(path).and_then(Value::as_str).unwrap_or("").to_owned()
}

/// Status, reason and message of a condition.
pub(crate) fn condition(object: &Value, type_: &str) -> (String, String, String) {
    let all = object.pointer("/status/conditions").and_then(Value::as_array).cloned().unwrap_or_default();
    let found = all.iter().find(|condition| text(condition, "/type") == type_).cloned().unwrap_or_default();
    (text(&found, "/status"), text(&found, "/reason"), text(&found, "/message"))
}

/// An object of our API group.
pub(crate) fn object(kind: &str, name: &str, spec: &Value) -> Value {
    serde_json::json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// A manifest of several objects.
pub(crate) fn list(items: &[Value]) -> String {
    serde_json::json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// A machine that takes any job.
pub(crate) fn machine(name: &str) -> String {
    format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {{name: {name}}}, \
         spec: {{attributes: {{Arch: INTEL, Memory: 4096}}, constraint: 'other.Type == \"Job\"'}}}}\n---\n"
    )
}

/// A license of an application, valid anywhere.
pub(crate) fn license(name: &str, app: &str, seats: u32, price: u32) -> String {
    format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: License, metadata: {{name: {name}}}, spec: {{attributes: {{App: {app}, \
         Price: {price}}}, constraint: 'other.Type == \"Job\"', capacity: {{seats: {seats}}}}}}}\n---\n"
    )
}

/// A job that needs a machine and a license of an application, the cheaper the better.
pub(crate) fn job(name: &str, app: &str) -> String {
    format!(
        "{{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {{name: {name}}}, spec: {{attributes: {{App: {app}}}, ports: [\
         {{label: cpu, constraint: 'cpu.Type == \"Machine\"'}}, {{label: license, constraint: 'license.Type == \"License\" && \
         license.App == App', rank: '-license.Price'}}]}}}}\n---\n"
    )
}
