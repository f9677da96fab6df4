//! The rights of this process at the API server: reviewed when a request was refused for lack of a right.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::{Api, ListParams, PostParams};
use kube::core::{Request, Status};
use kube::{Client, Error, Resource};
use parking_lot::Mutex;
use pool::WorkloadScope;
use serde::de::IgnoredAny;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

/// How often it is asked whether anything may be read at all; and, while something was refused, which rights are missing.
const EVERY: Duration = Duration::from_secs(5);
/// The least time between two such looks.
const LEAST: Duration = Duration::from_secs(1);
/// How long one question may take.
const DEADLINE: Duration = Duration::from_secs(5);
/// The most questions under way at once.
const QUESTIONS_MAX: usize = 8;

/// What is known of the rights of this process.
#[derive(Debug, Default)]
pub(crate) struct Rights {
    missing: Mutex<Option<String>>,
    /// Something was refused since that was looked at.
    doubted: Notify,
}

impl Rights {
    /// What it may not do that it has to; `None`: nothing, as far as is known.
    pub(crate) fn why_not(&self) -> Option<String> {
        self.missing.lock().clone()
    }

    /// The server has refused something: which rights are missing is looked at.
    pub(crate) fn doubt(&self) {
        self.doubted.notify_one();
    }

    /// The same, if that is what an answer says.
    pub(crate) fn note(&self, status: &Status) {
        if is_about_rights(status) {
            self.doubt();
        }
    }

    /// Looks for ever whether rights are missing, where workloads are started as far as `scope`.
    pub(crate) async fn look_after(self: Arc<Self>, client: Client, scope: WorkloadScope) {
        let needs = needs(&scope);
        loop {
            let is_doubted = tokio::select! {
                () = self.doubted.notified() => true,
                () = sleep(EVERY) => self.why_not().is_some() || is_refused(&client).await,
            };
            if is_doubted {
                let Some(found) = missing(&client, &needs).await else {
                    // Until the server answers, what was missing is still missing.
                    sleep(EVERY).await;
                    self.doubt();
                    continue;
                };
                let found = in_words(&found);
                let before = std::mem::replace(&mut *self.missing.lock(), found.clone());
                match found {
                    Some(missing) if before.as_ref() != Some(&missing) => {
                        tracing::error!(
                            missing,
                            "not ready: rights are missing; compare the roles with those of the chart"
                        );
                    }
                    None if before.is_some() => tracing::info!("all rights are available again"),
                    _ => {}
                }
                sleep(LEAST).await;
            }
        }
    }
}

/// Whether a request was refused because this process lacks a right, and not by a quota, a policy or a webhook.
///
/// The type of the answer does not tell: RBAC, quotas and admission all answer with code 403, reason Forbidden, and the same details
/// (name, group and kind of the object). Only the authorizer's sentence names the user and the verb.
fn is_about_rights(status: &Status) -> bool {
    let says = |text: &str| status.message.contains(text);
    match status.code {
        401 => true,
        // Admission that asks the authorizer itself may pass its sentence on under its own code.
        403 | 422 => says("User \"") && says("\" cannot "),
        _ => false,
    }
}

/// Whether the server refuses the cheapest of reads.
async fn is_refused(client: &Client) -> bool {
    let path = crds::Match::url_path(&(), None);
    let Ok(request) = Request::new(path).list(&ListParams::default().limit(1)) else { return false };
    let answer = timeout(DEADLINE, client.request::<IgnoredAny>(request)).await;
    // Quotas and admission do not apply to reads: only the authorizer refuses one.
    matches!(answer, Ok(Err(Error::Api(status))) if status.code == 401 || status.is_forbidden())
}

/// A right that is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Need {
    verb: &'static str,
    group: &'static str,
    resource: &'static str,
    subresource: Option<&'static str>,
    /// `None`: in all.
    namespace: Option<String>,
}

impl Need {
    fn text(&self) -> String {
        let group = if self.group.is_empty() { String::new() } else { format!(".{}", self.group) };
        let below = self.subresource.map(|name| format!("/{name}")).unwrap_or_default();
        let there = self.namespace.as_ref().map(|name| format!(" in namespace {name}")).unwrap_or_default();
        format!("{} {}{below}{group}{there}", self.verb, self.resource)
    }

    fn review(&self) -> SelfSubjectAccessReview {
        let text = |text: &str| Some(text.to_owned());
        let attributes = ResourceAttributes {
            verb: text(self.verb),
            group: text(self.group),
            resource: text(self.resource),
            subresource: self.subresource.map(str::to_owned),
            namespace: self.namespace.clone(),
            ..ResourceAttributes::default()
        };
        let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), non_resource_attributes: None };
        SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() }
    }
}

const OURS: &str = "gangmatch.dev";
const READ: &[&str] = &["list", "watch"];

/// Verbs, group, resource, subresource: what is needed everywhere.
const EVERYWHERE: &[(&[&str], &str, &str, Option<&str>)] = &[
    (&["list", "watch", "get", "delete"], OURS, "jobs", None),
    (&["list", "watch", "get"], OURS, "licenses", None),
    (&["list", "watch", "get", "create", "patch", "delete"], OURS, "machines", None),
    (&["get", "list", "watch", "create", "delete"], OURS, "matches", None),
    (READ, OURS, "machineclasses", None),
    (&["list", "watch", "create", "delete"], OURS, "accounts", None),
    (READ, OURS, "poolpolicies", None),
    (READ, "", "namespaces", None),
    (&["list", "watch", "advertise"], "", "nodes", None),
    (READ, "coordination.k8s.io", "leases", None),
    (&["create"], "events.k8s.io", "events", None),
    (&["impersonate"], OURS, "machines", Some("owner")),
    (&["patch"], OURS, "jobs", Some("status")),
    (&["patch"], OURS, "machines", Some("status")),
    (&["patch"], OURS, "licenses", Some("status")),
    (&["patch"], OURS, "matches", Some("status")),
    (&["patch"], OURS, "accounts", Some("status")),
    (&["patch"], OURS, "poolpolicies", Some("status")),
    (&["patch"], OURS, "machineclasses", Some("status")),
    (&["update"], OURS, "jobs", Some("claims")),
    (&["update"], OURS, "machines", Some("claims")),
    (&["update"], OURS, "licenses", Some("claims")),
    (&["update"], OURS, "matches", Some("claims")),
    (&["update"], OURS, "accounts", Some("claims")),
    (&["update"], OURS, "poolpolicies", Some("claims")),
    (&["update"], OURS, "machineclasses", Some("claims")),
];

/// The same where workloads are started.
const OF_WORK: &[(&[&str], &str, &str, Option<&str>)] = &[
    (&["create"], OURS, "jobs", None),
    (&["impersonate"], OURS, "jobs", Some("owner")),
    (&["get", "list", "watch", "create", "patch", "delete"], "batch", "jobs", None),
    (&["patch"], "batch", "jobs", Some("status")),
    (&["get", "list", "watch", "patch", "delete"], "jobset.x-k8s.io", "jobsets", None),
    (&["get", "list", "watch", "patch", "delete"], "", "pods", None),
];

fn needs(scope: &WorkloadScope) -> Vec<Need> {
    let areas: Vec<Option<String>> = match scope {
        WorkloadScope::Everywhere => vec![None],
        WorkloadScope::In(namespaces) => namespaces.iter().cloned().map(Some).collect(),
    };
    let everywhere = EVERYWHERE.iter().map(|need| (need, None));
    let of_work = areas.iter().flat_map(|area| OF_WORK.iter().map(move |need| (need, area.clone())));
    let all = everywhere.chain(of_work);
    let each = all.flat_map(|((verbs, group, resource, subresource), namespace)| {
        verbs.iter().map(move |&verb| Need {
            verb,
            group,
            resource,
            subresource: *subresource,
            namespace: namespace.clone(),
        })
    });
    each.collect()
}

/// What the server says of a right.
enum Right {
    Granted,
    /// In words.
    Missing(String),
    /// It has not answered.
    Unknown,
}

/// The rights that are missing, in words; empty: none. `None`: none was found missing, but some questions were not answered.
async fn missing(client: &Client, needs: &[Need]) -> Option<Vec<String>> {
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let asked = needs.iter().cloned().map(|need| {
        let api = api.clone();
        async move {
            let (params, review) = (PostParams::default(), need.review());
            match timeout(DEADLINE, api.create(&params, &review)).await {
                Ok(Ok(review)) if review.status.as_ref().is_some_and(|status| status.allowed) => Right::Granted,
                Ok(Ok(_)) => Right::Missing(need.text()),
                Ok(Err(Error::Api(status))) => Right::Missing(format!("{} ({})", need.text(), status.message)),
                Ok(Err(_)) | Err(_) => Right::Unknown,
            }
        }
    });
    let all: Vec<Right> = futures::stream::iter(asked).buffered(QUESTIONS_MAX).collect().await;
    let is_complete = !all.iter().any(|right| matches!(right, Right::Unknown));
    let missing = all.into_iter().filter_map(|right| match right {
        Right::Missing(right) => Some(right),
        Right::Granted | Right::Unknown => None,
    });
    let missing: Vec<String> = missing.collect();
    (is_complete || !missing.is_empty()).then_some(missing)
}

/// What is said where rights are missing; `None`: none is.
fn in_words(missing: &[String]) -> Option<String> {
    let (first, more) = missing.split_first()?;
    let others = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    Some(format!("this controller has no right to {first}{others}"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn a_missing_right_is_told_from_a_quota_and_a_policy() {
        let status = |code: u16, message: &str| Status { code, message: message.to_owned(), ..Status::default() };
        let of_rights = "matches.gangmatch.dev is forbidden: User \"system:serviceaccount:gangmatch-system:gangmatch\" \
                         cannot create resource \"matches\" in API group \"gangmatch.dev\" in the namespace \"b\"";
        let of_quota = "matches.gangmatch.dev \"j-1\" is forbidden: exceeded quota: few, requested: count/matches=1";
        assert!(is_about_rights(&status(403, of_rights)));
        assert!(is_about_rights(&status(422, of_rights)), "what forbids a creation is taken for a refusal");
        assert!(!is_about_rights(&status(403, of_quota)));
    }

    #[test]
    fn where_workloads_are_started_in_two_namespaces_rights_are_needed_there() {
        let everywhere = needs(&WorkloadScope::Everywhere);
        let two = needs(&WorkloadScope::In(["eda".to_owned(), "web".to_owned()].into()));
        let of_work: usize = OF_WORK.iter().map(|(verbs, ..)| verbs.len()).sum();
        assert_eq!(two.len(), everywhere.len() + of_work);
        let words: Vec<String> = two.iter().map(Need::text).collect();
        assert!(words.contains(&"patch jobs.batch in namespace eda".to_owned()), "{words:?}");
        assert!(words.contains(&"patch matches/status.gangmatch.dev".to_owned()), "{words:?}");
    }

    #[test]
    fn the_rights_that_are_needed_are_those_of_the_chart() {
        let manifest =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/install.yaml")).unwrap();
        let role = "kind: ClusterRole\nmetadata:\n  name: gangmatch\n";
        let rules = manifest.split("\n---\n").find(|object| object.contains(role)).unwrap();
        let rules = rules.split_once("\nrules:\n").unwrap().1;
        let list = |rule: &str, key: &str| -> Vec<String> {
            let line = rule.lines().find_map(|line| line.trim_start().strip_prefix(key)).unwrap();
            line.trim_matches(['[', ']']).split(", ").map(|word| word.trim_matches('"').to_owned()).collect()
        };
        let mut granted = BTreeSet::new();
        for rule in rules.split("- apiGroups: ").skip(1) {
            let group = rule.lines().next().unwrap().trim_matches(['[', ']', '"']);
            for resource in list(rule, "resources: ") {
                let group = if group.is_empty() { String::new() } else { format!(".{group}") };
                granted.extend(list(rule, "verbs: ").iter().map(|verb| format!("{verb} {resource}{group}")));
            }
        }
        let needed: BTreeSet<String> = needs(&WorkloadScope::Everywhere).iter().map(Need::text).collect();
        assert_eq!(needed, granted);
    }
}
