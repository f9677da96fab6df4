//! YAML documents into the objects that an API server would hold, without one.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use crds::{Account, AdFields, Job, License, Machine, MachineClass, Match, POOL_POLICY, PoolPolicy};
use k8s_openapi::api::core::v1::{Namespace, Node};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{Resource, ResourceExt};
use pool::{
    AgentLiveness, NodeFacts, ObjectKey, Objects, Stored, account_problems, check_class, class_of_node,
    classes_in_order, machine_of_node,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::manifests::{Document, Place, Problem, Source};
use crate::schema::{Schemas, similar};

const API: &str = "gangmatch.dev/v1alpha1";
const KINDS: [&str; 7] = ["Job", "Machine", "License", "Match", "MachineClass", "Account", "PoolPolicy"];
/// Those of them that have no namespace.
const CLUSTER_SCOPED: [&str; 3] = ["MachineClass", "Account", "PoolPolicy"];

/// The owner of ads if no user is given.
pub(crate) const READER: &str = "you";

/// What an API server would add.
pub(crate) struct Stamp<'s> {
    /// The namespace of objects that name none.
    pub(crate) namespace: &'s str,
    /// Who creates them: `Owner` of their ads.
    pub(crate) owner: &'s str,
}

/// What came of a set of documents.
pub(crate) struct Loaded {
    pub(crate) objects: Objects,
    /// What is wrong, by place.
    pub(crate) problems: Vec<Problem>,
    /// What is right but probably not meant, by place.
    pub(crate) warnings: Vec<Problem>,
    /// Where each object was written.
    pub(crate) sources: Sources,
}

/// Where objects were written, by kind and key.
pub(crate) type Sources = BTreeMap<(&'static str, ObjectKey), Source>;

/// The objects of all documents that are well formed. Documents of other APIs are passed over.
pub(crate) fn load(documents: Vec<Document>, stamp: &Stamp<'_>) -> Loaded {
    let (problems, warnings) = (Vec::new(), Vec::new());
    let schemas = Schemas::load();
    let mut loader =
        Loader { stamp, schemas, objects: Objects::default(), sources: BTreeMap::new(), problems, warnings };
    for document in documents {
        loader.add(document);
    }
    loader.machines();
    loader.ads();
    loader.lending();
    let Loader { mut objects, mut problems, mut warnings, sources, .. } = loader;
    // Without a cluster, agents count as alive.
    let spoken_for = objects.offers().filter(|offer| offer.fields.agent.is_some());
    objects.agents = Arc::new(spoken_for.map(|offer| ((offer.kind, offer.key()), AgentLiveness::Renewed)).collect());
    problems.sort();
    warnings.sort();
    Loaded { objects, problems, warnings, sources }
}

struct Loader<'s> {
    stamp: &'s Stamp<'s>,
    schemas: Schemas,
    objects: Objects,
    sources: Sources,
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
}

/// Whether a Job has fields that only ours have: not every Job is a batch Job.
fn is_job_of_ours(kind: &str, object: &Value) -> bool {
    let has = |field: &str| object.pointer(&format!("/spec/{field}")).is_some();
    kind == "Job" && ["ports", "constraint", "classad"].into_iter().any(has)
}

impl Loader<'_> {
    fn add(&mut self, document: Document) {
        let text = |name: &str| document.value.get(name).and_then(Value::as_str).unwrap_or("");
        let (api, kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
        let known = KINDS.into_iter().find(|known| *known == kind);
        if api == API {
            self.warnings.extend(document.otherwise.iter().cloned());
        }
        match (api.as_str(), known) {
            (API, Some("Job")) => self.ad::<Job>(&document),
            (API, Some("Machine")) => self.ad::<Machine>(&document),
            (API, Some("License")) => self.ad::<License>(&document),
            (API, Some("MachineClass")) => {
                if let Some(class) =
                    self.object::<MachineClass>("MachineClass", &document, |class| Some(&mut class.spec.ad))
                {
                    self.objects.classes.insert(class.name_any(), Arc::new(class));
                }
            }
            (API, Some("Account")) => {
                if let Some(account) = self.object::<Account>("Account", &document, |_| None) {
                    self.objects.accounts.apply(account);
                }
            }
            (API, Some("PoolPolicy")) => self.pool_policy(&document),
            (API, Some(_)) => {
                if let Some(found) = self.object::<Match>("Match", &document, |_| None) {
                    self.objects.matches.put(found);
                }
            }
            ("v1", _) if kind == "Namespace" => self.namespace(&document),
            ("v1", _) if kind == "Node" => self.node(&document),
            _ => self.foreign(&document, &api, &kind),
        }
    }

    fn ad<K: Stored + DeserializeOwned>(&mut self, document: &Document) {
        if let Some(object) = self.object::<K>(K::KIND.as_str(), document, |object| Some(object.ad_fields_mut())) {
            self.objects.put(object);
        }
    }

    fn pool_policy(&mut self, document: &Document) {
        let Some(policy) = self.object::<PoolPolicy>("PoolPolicy", document, |_| None) else { return };
        if policy.name_any() != POOL_POLICY {
            let text = format!(
                "PoolPolicy {}: metadata.name: there is one PoolPolicy, named {POOL_POLICY}",
                policy.name_any()
            );
            self.problem(&document.source, "metadata.name", text);
            return;
        }
        self.objects.accounts.apply_policy(policy);
        let problem = self.objects.accounts.policy().and_then(|known| known.problem.clone());
        if let Some(why) = problem {
            let place = place(&document.source, &why.message, None);
            self.problems.push(Problem { place, text: format!("PoolPolicy {POOL_POLICY}: {}", why.message) });
        }
    }

    fn problem(&mut self, source: &Source, path: &str, text: String) {
        self.problems.push(Problem { place: source.field(path, 1), text });
    }

    fn namespace(&mut self, document: &Document) {
        match serde_json::from_value::<Namespace>(document.value.clone()) {
            Ok(namespace) => {
                self.objects.namespaces.apply(&namespace.name_any(), namespace.labels().clone());
            }
            Err(error) => self.problem(&document.source, "metadata", format!("Namespace: {error}")),
        }
    }

    fn node(&mut self, document: &Document) {
        match serde_json::from_value::<Node>(document.value.clone()) {
            Ok(node) => {
                let mut facts = NodeFacts::of(&node);
                // A node that an author has written down, and no kubelet.
                facts.ready |= node.status.and_then(|status| status.conditions).is_none_or(|known| known.is_empty());
                self.objects.put_node(facts);
            }
            Err(error) => self.problem(&document.source, "metadata", format!("Node: {error}")),
        }
    }

    /// The Machines that classes make of nodes, as the controller would create them. A class that the controller would not accept makes
    /// none.
    fn machines(&mut self) {
        let classes: Vec<Arc<MachineClass>> = self.objects.classes.values().cloned().collect();
        let in_order = classes_in_order(classes.iter());
        let of_class = |class: &MachineClass| self.sources.get(&("MachineClass", self.key_of_class(class))).cloned();
        let mut problems = Vec::new();
        let mut note = |class: &MachineClass, message: &str| {
            let text = format!("MachineClass {}: {message}", class.name_any());
            problems.extend(of_class(class).map(|source| Problem { place: place(&source, message, None), text }));
        };
        let mut refused = BTreeSet::new();
        for class in &classes {
            if let Err(problem) = check_class(class) {
                note(class, &problem.message);
                refused.insert(class.name_any());
            }
        }
        let nodes = self.objects.nodes.clone();
        let mut made = Vec::new();
        for node in nodes.iter().flat_map(|nodes| nodes.values()) {
            let Some(class) = class_of_node(&in_order, node) else { continue };
            match machine_of_node(class, node) {
                _ if refused.contains(&class.name_any()) => {}
                Ok(machine) => made.push(machine),
                Err(problem) => note(class, &problem.message),
            }
        }
        problems.dedup_by(|one, other| one.text == other.text);
        self.problems.extend(problems);
        if nodes.is_none() {
            return;
        }
        for mut machine in made {
            let key = ObjectKey::of(&machine);
            if self.objects.machines.get(&key).is_some() {
                // A dump of a cluster has the Machines of its nodes already.
                continue;
            }
            machine.metadata.uid = Some(uid("Machine", &key));
            machine.metadata.generation = Some(1);
            self.objects.put(machine);
        }
        self.assume_nodes();
    }

    /// Nodes of which nothing is known but that a Machine names them are taken for usable.
    fn assume_nodes(&mut self) {
        let named = self.objects.machines.iter().filter_map(|(_, held)| held.object.spec.node_name.clone());
        let known = |name: &String| self.objects.nodes.as_ref().is_some_and(|nodes| nodes.contains_key(name));
        let unknown: Vec<String> = named.filter(|name| !known(name)).collect();
        for name in unknown {
            self.objects.put_node(NodeFacts { name, ready: true, schedulable: true, ..NodeFacts::default() });
        }
    }

    fn key_of_class(&self, class: &MachineClass) -> ObjectKey {
        ObjectKey::new(class.metadata.namespace.as_deref().unwrap_or(self.stamp.namespace), &class.name_any())
    }

    /// Something that is no ad: passed over, unless it looks as if it should have been one.
    fn foreign(&mut self, document: &Document, api: &str, kind: &str) {
        let source = &document.source;
        if api.is_empty() || kind.is_empty() {
            let missing = if api.is_empty() { "apiVersion" } else { "kind" };
            let write = if api.is_empty() { API } else { "Job, Machine or License" };
            let place = source.start();
            self.problems.push(Problem { place, text: format!("{missing} is missing; write {missing}: {write}") });
        } else if api == API {
            let hint = similar(kind, KINDS.into_iter()).map(|kind| format!("; did you mean {kind}?"));
            let hint = hint.unwrap_or_else(|| format!("; there are {}", KINDS.join(", ")));
            self.problem(source, "kind", format!("kind: there is no `{kind}` in {API}{hint}"));
        } else if api.starts_with("gangmatch.dev/") || similar(api, [API].into_iter()).is_some() {
            self.problem(source, "apiVersion", format!("apiVersion: found `{api}`; write {API}"));
        } else if ["Machine", "License", "Match"].contains(&kind) || is_job_of_ours(kind, &document.value) {
            let text = format!("{kind}: ignored, because its apiVersion is `{api}` and not {API}");
            self.warnings.push(Problem { place: source.field("apiVersion", 1), text });
        }
    }

    /// The object, with what the API server would add; `None` if something is wrong with it.
    fn object<K>(
        &mut self,
        kind: &'static str,
        document: &Document,
        ad: impl Fn(&mut K) -> Option<&mut AdFields>,
    ) -> Option<K>
    where
        K: Resource<DynamicType = ()> + DeserializeOwned,
    {
        let source = &document.source;
        let key = self.key(document);
        let who = match key.name.as_str() {
            "" => kind.to_owned(),
            name if CLUSTER_SCOPED.contains(&kind) => format!("{kind} {name}"),
            _ => format!("{kind} {key}"),
        };
        let before = self.problems.len();
        for found in self.schemas.check(kind, document.value.as_object()?) {
            self.problem(source, &found.path, format!("{who}: {}: {}", found.path, found.text));
        }
        if let Some(wrong) = wrong_name(&document.value) {
            self.problem(source, "metadata.name", format!("{who}: metadata.name: {wrong}"));
        }
        if self.problems.len() > before {
            return None;
        }
        let mut object: K = match serde_json::from_value(document.value.clone()) {
            Ok(object) => object,
            Err(error) => {
                self.problem(source, "", format!("{who}: {error}"));
                return None;
            }
        };
        if let Some(first) = self.sources.get(&(kind, key.clone())) {
            let text = format!(
                "{who} is already defined at {}; the first definition is used, so remove one of them",
                first.start()
            );
            self.problems.push(Problem { place: source.start(), text });
            return None;
        }
        let meta: &mut ObjectMeta = object.meta_mut();
        meta.namespace = Some(key.namespace.clone());
        meta.uid.get_or_insert_with(|| uid(kind, &key));
        meta.generation.get_or_insert(1);
        if let Some(ad) = ad(&mut object) {
            ad.owner.get_or_insert_with(|| self.stamp.owner.to_owned());
        }
        self.sources.insert((kind, key), source.clone());
        Some(object)
    }

    fn key(&self, document: &Document) -> ObjectKey {
        let text = |path: &str| document.value.pointer(path).and_then(Value::as_str).unwrap_or("");
        let namespace = match text("/metadata/namespace") {
            "" => self.stamp.namespace,
            namespace => namespace,
        };
        ObjectKey::new(namespace, text("/metadata/name"))
    }

    /// Quotas that lend more than is guaranteed to an account that is above no other: what is guaranteed below it, it can lend, too.
    fn lending(&mut self) {
        let parents: BTreeSet<&str> =
            self.objects.accounts.values().filter_map(|account| account.spec.parent.as_deref()).collect();
        let own = self.objects.accounts.iter().filter(|(name, _)| !parents.contains(name.as_str()));
        for (name, account) in own {
            let Some((_, source)) =
                self.sources.iter().find(|((kind, key), _)| *kind == "Account" && key.name == *name)
            else {
                continue;
            };
            for (place, quota) in account.spec.quotas.iter().enumerate() {
                let path = format!("spec.quotas[{place}].lend");
                let why = match (quota.lend, quota.min) {
                    (Some(lend), Some(min)) if lend > min => format!(
                        "found {lend}, more than min, which is {min}: only what is guaranteed can be lent; write at most {min}"
                    ),
                    (Some(lend), None) if lend > 0 => format!(
                        "found {lend} without min: nothing is guaranteed, so nothing is lent; write min, or remove lend"
                    ),
                    _ => continue,
                };
                let text = format!("Account {name}: {path}: {why}");
                self.warnings.push(Problem { place: source.field(&path, 1), text });
            }
        }
    }

    /// What is wrong with ads, or should be known of them, at the places where they were written.
    fn ads(&mut self) {
        let Objects { jobs, machines, licenses, .. } = &self.objects;
        let jobs = jobs.iter().map(|(key, held)| ("Job", key, &held.ad, &held.object.spec.ad));
        let machines = machines.iter().map(|(key, held)| ("Machine", key, &held.ad, &held.object.spec.ad));
        let licenses = licenses.iter().map(|(key, held)| ("License", key, &held.ad, &held.object.spec.ad));
        let terms = self.objects.accounts.policy().map(|known| Arc::clone(&known.terms));
        let accounts = terms.map(|terms| account_problems(&self.objects, &terms)).unwrap_or_default();
        for (name, why) in accounts {
            let found = self.sources.iter().find(|((kind, key), _)| *kind == "Account" && key.name == name);
            let Some((_, source)) = found else { continue };
            let place = place(source, &why.message, None);
            self.warnings.push(Problem { place, text: format!("Account {name}: {}", why.message) });
        }
        for (kind, key, ad, fields) in jobs.chain(machines).chain(licenses) {
            let Some(source) = self.sources.get(&(kind, key.clone())) else { continue };
            let problem = |text: &String| Problem {
                place: place(source, text, Some(fields)),
                text: format!("{kind} {key}: {text}"),
            };
            match ad {
                Ok(ad) => self.warnings.extend(ad.warnings.iter().map(problem)),
                Err(why) => self.problems.push(problem(&why.message)),
            }
        }
    }
}

/// Where the field stands that a message is about, such as `spec.rank: line 1, column 3: ...`. `fields` are those of its ad.
fn place(source: &Source, message: &str, fields: Option<&AdFields>) -> Place {
    let path = match fields.and_then(|fields| of_port(message, fields)) {
        Some(path) => path,
        None => message.split([' ', ':']).next().unwrap_or("").to_owned(),
    };
    let line = message.split_once(": line ").and_then(|(_, rest)| rest.split(',').next()?.parse().ok()).unwrap_or(1);
    source.field(&path, line)
}

/// The path that a message means which begins with a port, by number or label: ``port `cpu`: the constraint can never be true``.
fn of_port(message: &str, fields: &AdFields) -> Option<String> {
    let (port, what) = message.strip_prefix("port ")?.split_once(": ")?;
    if fields.classad.is_some() {
        return Some("spec.classad".to_owned());
    }
    let ports = fields.ports.as_deref().unwrap_or_default();
    let is_meant = |label: &str| label.eq_ignore_ascii_case(port.trim_matches('`'));
    let number = port.parse().ok().or_else(|| ports.iter().position(|port| is_meant(&port.label)));
    if let Some(number) = number.filter(|number| *number < ports.len()) {
        let field = match what {
            _ if what.starts_with("the constraint") => ".constraint",
            _ if what.starts_with("the group constraint") => ".groupConstraint",
            _ => "",
        };
        return Some(format!("spec.ports[{number}]{field}"));
    }
    let named = |name: &&String| name.eq_ignore_ascii_case("Requirements");
    let expression = || fields.expressions.iter().flat_map(BTreeMap::keys).find(named);
    let attribute = || fields.attributes.iter().flat_map(BTreeMap::keys).find(named);
    Some(match (expression(), attribute()) {
        (Some(name), _) => format!("spec.expressions.{name}"),
        (None, Some(name)) => format!("spec.attributes.{name}"),
        (None, None) => "spec.constraint".to_owned(),
    })
}

/// Why `metadata.name` is none that an API server takes.
fn wrong_name(value: &Value) -> Option<String> {
    let name = match value.pointer("/metadata/name") {
        None | Some(Value::Null) => return Some("missing; write a name such as `sim`".to_owned()),
        Some(Value::String(name)) => name,
        Some(other) => return Some(format!("found {other}; quote it: \"{other}\"")),
    };
    let part = |part: &str| {
        let inner = part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        inner && !part.is_empty() && !part.starts_with('-') && !part.ends_with('-')
    };
    if name.len() <= 253 && name.split('.').all(part) {
        return None;
    }
    let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
    Some(format!("found `{shown}`; write lower-case letters, digits, `-` and `.`, at most 253, such as `sim-1`"))
}

/// A stand-in for the uid that an API server would give: the same for the same kind, namespace and name, whatever else is read.
fn uid(kind: &str, key: &ObjectKey) -> String {
    let digest = Sha256::digest(format!("{kind} {key}").as_bytes());
    let mut text = String::new();
    for (place, byte) in digest.iter().take(16).enumerate() {
        if [4, 6, 8, 10].contains(&place) {
            text.push('-');
        }
        // version 8 of RFC 9562: made by a rule of one's own
        let byte = match place {
            6 => byte & 0x0f | 0x80,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        let _ = write!(text, "{byte:02x}");
    }
    text
}
