//! The kinds that are served: ours with their schemas, and of Kubernetes' own those that the controller uses.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::columns::{self, Column};
use crate::core_event::core_event;
use crate::schema::Schema;

/// How the objects of a kind are listed.
#[derive(Debug)]
pub(crate) struct Listing {
    /// The columns of tables.
    pub(crate) columns: Vec<Column>,
    /// Fields by which objects can be selected, beside their names, such as `status.phase`.
    pub(crate) selectable: Vec<String>,
}

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
    /// Whether objects can only be read.
    pub is_read_only: bool,
    /// What it is called besides.
    pub names: Names,
    /// How its objects are listed.
    pub(crate) listing: Listing,
}

/// Further names of a kind.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// The kind, in the singular.
    pub singular: String,
    /// Abbreviations.
    pub short: Vec<String>,
    /// The groups of kinds to which it belongs, such as `all`.
    pub categories: Vec<String>,
}

impl Kind {
    /// `jobs.gangmatch.dev`, or `pods`.
    #[must_use]
    pub fn resource(&self) -> String {
        if self.group.is_empty() { self.plural.clone() } else { format!("{}.{}", self.plural, self.group) }
    }

    /// The resource under which its objects are stored. Events have two API groups, and are stored once.
    #[must_use]
    pub fn storage(&self) -> String {
        if self.is_core_event() { "events.events.k8s.io".to_owned() } else { self.resource() }
    }

    /// A stored object as a reader of this kind sees it.
    pub(crate) fn shown<'o>(&self, object: &'o Value) -> Cow<'o, Value> {
        if self.is_core_event() { Cow::Owned(core_event(object)) } else { Cow::Borrowed(object) }
    }

    pub(crate) fn is_core_event(&self) -> bool {
        self.group.is_empty() && self.plural == "events"
    }

    /// As in `apiVersion:`.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

/// Group, plural and kind of the definitions of kinds.
pub(crate) const DEFINITIONS: (&str, &str, &str) =
    ("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition");

/// All kinds.
#[derive(Debug)]
pub struct Kinds(Vec<Arc<Kind>>);

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
        let mut ours: Vec<Kind> = definitions.filter_map(|definition| own(&definition)).collect();
        // discovery lists the kinds of a group in this order
        ours.sort_by(|one, other| one.plural.cmp(&other.plural));
        let builtin = [
            builtin("", "v1", "namespaces", "Namespace").called("ns"),
            Kind { has_status: true, ..builtin("", "v1", "nodes", "Node").called("no") },
            Kind {
                has_status: true,
                has_generation: true,
                namespaced: true,
                ..builtin("", "v1", "pods", "Pod").called("po")
            },
            Kind { namespaced: true, is_read_only: true, ..builtin("", "v1", "events", "Event").called("ev") },
            Kind { has_status: true, has_generation: true, namespaced: true, ..builtin("batch", "v1", "jobs", "Job") },
            Kind { namespaced: true, needs_version: true, ..builtin("coordination.k8s.io", "v1", "leases", "Lease") },
            Kind { namespaced: true, ..builtin("events.k8s.io", "v1", "events", "Event").called("ev") },
            Kind { is_read_only: true, ..builtin(DEFINITIONS.0, "v1", DEFINITIONS.1, DEFINITIONS.2).called("crd") },
        ];
        Kinds(ours.into_iter().chain(builtin).map(Arc::new).collect())
    }

    /// The kind that a path names.
    #[must_use]
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Kind>> {
        self.0.iter().find(|kind| kind.group == group && kind.version == version && kind.plural == plural)
    }

    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Kind> {
        self.0.iter().map(AsRef::as_ref)
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
        is_read_only: false,
        names: Names {
            singular: name.to_lowercase(),
            short: Vec::new(),
            categories: ["pods", "jobs"].iter().filter(|all| **all == plural).map(|_| "all".to_owned()).collect(),
        },
        listing: Listing { columns: columns::builtin(plural), selectable: Vec::new() },
    }
}

impl Kind {
    fn called(mut self, short: &str) -> Kind {
        self.names.short.push(short.to_owned());
        self.names.categories.extend((short == "crd").then(|| "api-extensions".to_owned()));
        self
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
    let texts = |path: &str| -> Vec<String> {
        let all = definition.pointer(path).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).map(str::to_owned).collect()
    };
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
        is_read_only: false,
        names: Names {
            singular: text("/spec/names/singular")?,
            short: texts("/spec/names/shortNames"),
            categories: texts("/spec/names/categories"),
        },
        listing: Listing { columns: columns::of_definition(version), selectable: selectable(version) },
    })
}

/// The fields by which objects can be selected, as a version of a CRD defines them.
fn selectable(version: &Value) -> Vec<String> {
    let fields = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
    let paths = fields.filter_map(|field| field.get("jsonPath")?.as_str()?.strip_prefix('.'));
    paths.map(str::to_owned).collect()
}
