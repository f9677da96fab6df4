//! What the server says of itself: its version, its groups, the kinds in them.

use std::collections::BTreeSet;

use http::HeaderMap;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::kinds::{Kind, Kinds};
use crate::reviews::REVIEWS;

/// The version whose answers the tests compare with those of this server.
const VERSION: (&str, &str) = ("1", "36");
/// The content type of both aggregated lists.
pub(crate) const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// What the server answers to a GET of this path; `None` if it is the path of objects.
pub(crate) fn answer(kinds: &Kinds, path: &str, headers: &HeaderMap) -> Option<Answer> {
    let is_aggregated = accepts(headers, "as=APIGroupDiscoveryList") && accepts(headers, "v=v2");
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let body = match (parts.as_slice(), is_aggregated) {
        (["healthz" | "livez" | "readyz"], _) => json!("ok"),
        (["version"], _) => version(),
        (["api"], true) => aggregated(kinds, |group| group.is_empty()),
        (["apis"], true) => aggregated(kinds, |group| !group.is_empty()),
        (["api"], false) => json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}),
        (["apis"], false) => {
            let groups: Vec<Value> = groups(kinds).iter().filter(|(name, _)| !name.is_empty()).map(group).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        (["apis", name], _) => {
            let found = groups(kinds).into_iter().find(|(group, _)| group == name)?;
            let mut said = group(&found);
            if let Some(fields) = said.as_object_mut() {
                fields.insert("kind".to_owned(), json!("APIGroup"));
                fields.insert("apiVersion".to_owned(), json!("v1"));
            }
            said
        }
        (["api", version], _) => resources(kinds, "", version)?,
        (["apis", group, version], _) => resources(kinds, group, version)?,
        _ => return None,
    };
    Some(Answer::done(200, body))
}

fn accepts(headers: &HeaderMap, part: &str) -> bool {
    let accept = headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains(part))
}

fn version() -> Value {
    let (major, minor) = VERSION;
    json!({"major": major, "minor": minor, "gitVersion": format!("v{major}.{minor}.0-gangmatch.embedded"),
        "gitCommit": "", "gitTreeState": "", "buildDate": "", "goVersion": "", "compiler": "",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH)})
}

/// All groups, each with its one version.
pub(crate) fn groups(kinds: &Kinds) -> BTreeSet<(String, String)> {
    let reviews = REVIEWS.iter().map(|(group, ..)| ((*group).to_owned(), "v1".to_owned()));
    kinds.all().map(|kind| (kind.group.clone(), kind.version.clone())).chain(reviews).collect()
}

fn group((name, version): &(String, String)) -> Value {
    let version = json!({"groupVersion": format!("{name}/{version}"), "version": version});
    json!({"name": name, "versions": [version], "preferredVersion": version})
}

fn verbs(kind: &Kind) -> Vec<&'static str> {
    let all = ["create", "delete", "get", "list", "patch", "update", "watch"];
    all.into_iter().filter(|verb| !kind.is_read_only || ["get", "list", "watch"].contains(verb)).collect()
}

fn resources(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let mut all = Vec::new();
    for kind in kinds.all().filter(|kind| kind.group == group && kind.version == version) {
        let mut resource = json!({"name": kind.plural, "singularName": kind.names.singular,
            "namespaced": kind.namespaced, "kind": kind.name, "verbs": verbs(kind)});
        add_names(&mut resource, kind);
        all.push(resource);
        if kind.has_status {
            all.push(json!({"name": format!("{}/status", kind.plural), "singularName": "",
                "namespaced": kind.namespaced, "kind": kind.name, "verbs": ["get", "patch", "update"]}));
        }
    }
    for (_, plural, name) in REVIEWS.iter().filter(|(own, ..)| *own == group && version == "v1") {
        all.push(json!({"name": plural, "singularName": name.to_lowercase(), "namespaced": false, "kind": name,
            "verbs": ["create"]}));
    }
    let group_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    (!all.is_empty()).then(
        || json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": all}),
    )
}

fn aggregated(kinds: &Kinds, takes: impl Fn(&str) -> bool) -> Value {
    let groups = groups(kinds);
    let items: Vec<Value> = groups
        .iter()
        .filter(|(group, _)| takes(group))
        .map(|(group, version)| {
            let own = kinds.all().filter(|kind| kind.group == *group);
            let reviews = REVIEWS.iter().filter(|(own, ..)| own == group).map(|(_, plural, name)| {
                json!({"resource": plural, "responseKind": {"group": "", "version": "", "kind": name},
                    "scope": "Cluster", "singularResource": name.to_lowercase(), "verbs": ["create"]})
            });
            let resources: Vec<Value> = own.map(resource).chain(reviews).collect();
            json!({"metadata": {"name": group, "creationTimestamp": null},
                "versions": [{"version": version, "resources": resources, "freshness": "Current"}]})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn resource(kind: &Kind) -> Value {
    let named = json!({"group": kind.group, "version": kind.version, "kind": kind.name});
    let mut resource = json!({"resource": kind.plural, "responseKind": named,
        "scope": if kind.namespaced { "Namespaced" } else { "Cluster" }, "singularResource": kind.names.singular,
        "verbs": verbs(kind)});
    add_names(&mut resource, kind);
    if let (Some(fields), true) = (resource.as_object_mut(), kind.has_status) {
        let status = json!({"subresource": "status", "responseKind": named, "verbs": ["get", "patch", "update"]});
        fields.insert("subresources".to_owned(), json!([status]));
    }
    resource
}

fn add_names(resource: &mut Value, kind: &Kind) {
    let Some(fields) = resource.as_object_mut() else { return };
    for (field, names) in [("shortNames", &kind.names.short), ("categories", &kind.names.categories)] {
        if !names.is_empty() {
            fields.insert(field.to_owned(), json!(names));
        }
    }
}
