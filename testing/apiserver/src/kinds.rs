//! The kinds that are served: ours with their schemas, and of Kubernetes' own those that the controller uses.

use serde_json::{Value, json};

use crate::schema::Schema;

/// A kind of objects.
#[derive(Debug)]
pub struct Kind {
    /// Its API group; empty for the core.
    pub group: String,
    /// Its version.
    pub version: String,
    /// What it is called in a path.
    pub plural: String,
    /// What it is called in `kind:`.
    pub name: String,
    /// Whether its objects are in namespaces.
    pub namespaced: bool,
    /// Whether the status is written by requests of its own.
    pub has_status: bool,
    /// Whether changes of the spec are counted.
    pub has_generation: bool,
    /// Whether a PUT has to name what it replaces.
    pub needs_version: bool,
    /// What an object has to look like; `None`: it is taken as it comes.
    pub schema: Option<Schema>,
}

impl Kind {
    /// `jobs.gangmatch.dev`, or `pods`.
    #[must_use]
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// As in `apiVersion:`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// All kinds.
#[derive(Debug)]
pub struct Kinds(Vec<Kind>);

impl Default for Kinds {
    fn default() -> Kinds {
        Kinds::new()
    }
}

impl Kinds {
    /// Ours, as the generated CRDs define them, and Kubernetes' own.
    #[must_use]
    pub fn new() -> Kinds {
        Kinds::without_rules(|_| false)
    }

    /// The same without those rules of the CRDs of whose messages this holds: to see what they are good for.
    #[must_use]
    pub fn without_rules(is_out: impl Fn(&str) -> bool) -> Kinds {
        let definitions = crds::definitions().into_iter().map(|definition| json!(definition));
        Kinds::of(definitions.map(|mut definition| {
            take_out(&mut definition, &is_out);
            definition
        }))
    }

    fn of(definitions: impl Iterator<Item = Value>) -> Kinds {
        let ours = definitions.filter_map(|definition| own(&definition));
        let builtin = [
            builtin("", "v1", "namespaces", "Namespace"),
            Kind { has_status: true, ..builtin("", "v1", "nodes", "Node") },
            Kind { has_status: true, has_generation: true, namespaced: true, ..builtin("", "v1", "pods", "Pod") },
            Kind { has_status: true, has_generation: true, namespaced: true, ..builtin("batch", "v1", "jobs", "Job") },
            Kind { namespaced: true, needs_version: true, ..builtin("coordination.k8s.io", "v1", "leases", "Lease") },
            Kind { namespaced: true, ..builtin("events.k8s.io", "v1", "events", "Event") },
        ];
        Kinds(ours.chain(builtin).collect())
    }

    /// The kind that a path names.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Kind> {
        self.0.iter().find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Kind> {
        self.0.iter()
    }
}

fn builtin(group: &str, version: &str, plural: &str, name: &str) -> Kind {
    Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        name: name.to_owned(),
        namespaced: false,
        has_status: false,
        has_generation: false,
        needs_version: false,
        schema: None,
    }
}

/// Takes rules out of a schema, by their messages.
fn take_out(value: &mut Value, is_out: &impl Fn(&str) -> bool) {
    match value {
        Value::Object(fields) => {
            if let Some(rules) = fields.get_mut("x-kubernetes-validations").and_then(Value::as_array_mut) {
                rules.retain(|rule| !is_out(rule.get("message").and_then(Value::as_str).unwrap_or_default()));
            }
            fields.values_mut().for_each(|field| take_out(field, is_out));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| take_out(item, is_out)),
        _ => {}
    }
}

/// A kind of ours from its definition.
fn own(definition: &Value) -> Option<Kind> {
    let text = |path: &str| definition.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let version = definition.pointer("/spec/versions/0")?;
    Some(Kind {
        group: text("/spec/group")?,
        version: version.get("name")?.as_str()?.to_owned(),
        plural: text("/spec/names/plural")?,
        name: text("/spec/names/kind")?,
        namespaced: text("/spec/scope")? == "Namespaced",
        has_status: version.pointer("/subresources/status").is_some(),
        has_generation: true,
        needs_version: true,
        schema: Some(Schema::new(version.pointer("/schema/openAPIV3Schema")?)),
    })
}
