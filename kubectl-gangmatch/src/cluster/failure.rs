//! What kubectl says when it fails, into what is wrong and who can mend it.

use std::fmt;

/// The server that kubectl asks if no kubeconfig names a cluster.
const DEFAULT_SERVER: &str = "localhost:8080";

/// Why the cluster could not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no program kubectl.
    NoKubectl,
    /// The API server does not answer. What kubectl says of it.
    Unreachable(String),
    /// There is no kubeconfig, and nothing answers at the address that kubectl asks then.
    NoCluster,
    /// The API server does not know this resource.
    NotInstalled(String),
    /// The user lacks a right.
    Forbidden(Right),
    /// Anything else, in the words of kubectl.
    Other(String),
}

/// A right that a user lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Right {
    pub(crate) user: String,
    pub(crate) verb: String,
    pub(crate) resource: String,
    /// Empty for the core group.
    pub(crate) group: String,
    /// `None`: in all namespaces, or for objects without one.
    pub(crate) namespace: Option<String>,
}

impl std::error::Error for Failure {}

impl Failure {
    /// The resource with its group for which a right is missing, if it is that.
    pub(crate) fn refused_resource(&self) -> Option<String> {
        match self {
            Failure::Forbidden(right) => Some(right.full_resource()),
            _ => None,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoKubectl => write!(
                out,
                "kubectl is not on the PATH: a cluster is read with it; install it, or read files with -f where the verb has it"
            ),
            Failure::Unreachable(said) => write!(
                out,
                "the API server does not answer: {said}; check the cluster, or choose another with --context or --kubeconfig"
            ),
            Failure::NoCluster => write!(
                out,
                "kubectl knows no cluster: without a kubeconfig it asks {DEFAULT_SERVER}, which does not answer; name a cluster with \
                 --kubeconfig, --context or KUBECONFIG"
            ),
            Failure::NotInstalled(resource) => write!(
                out,
                "gangmatch is not installed in this cluster: it does not know `{resource}`; install the chart, or choose another cluster \
                 with --context"
            ),
            Failure::Forbidden(right) => write!(out, "{right}"),
            Failure::Other(said) => write!(out, "{said}"),
        }
    }
}

impl Right {
    /// The resource with its group, as kubectl writes it.
    pub(crate) fn full_resource(&self) -> String {
        if self.group.is_empty() { self.resource.clone() } else { format!("{}.{}", self.resource, self.group) }
    }

    /// The role of the chart that contains the right.
    fn role(&self) -> Option<&'static str> {
        let reads = ["get", "list", "watch"].contains(&self.verb.as_str());
        match (self.group.as_str(), self.resource.as_str(), reads) {
            ("gangmatch.dev", "jobs" | "machines" | "licenses" | "matches" | "machineclasses", true) => {
                Some("gangmatch-viewer")
            }
            ("gangmatch.dev", "jobs", false) => Some("gangmatch-submitter"),
            ("gangmatch.dev", "matches", false) if self.verb == "delete" => Some("gangmatch-submitter"),
            ("gangmatch.dev", "machines" | "licenses", false) => Some("gangmatch-owner"),
            _ => None,
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Right { user, verb, namespace, .. } = self;
        let resource = self.full_resource();
        let place = namespace.as_ref().map_or("in all namespaces".to_owned(), |name| format!("in namespace {name}"));
        write!(out, "{user} may not {verb} {resource} {place}")?;
        match (self.role(), namespace) {
            (Some(role), Some(name)) => write!(
                out,
                "; an administrator of the namespace can grant it: kubectl create rolebinding {role} -n {name} --clusterrole={role} --user={user}"
            ),
            (Some(role), None) => write!(
                out,
                "; a cluster administrator can grant it: kubectl create clusterrolebinding {role} --clusterrole={role} --user={user}"
            ),
            (None, _) => write!(out, "; ask an administrator for the right `{verb}` on `{resource}`"),
        }
    }
}

/// Everything that kubectl says on standard error, one failure for each line that tells one; each once.
pub(crate) fn failures(said: &str) -> Vec<Failure> {
    let mut all: Vec<Failure> = Vec::new();
    for line in with_causes(said) {
        let failure = failure(&line);
        if !all.contains(&failure) {
            all.push(failure);
        }
    }
    all
}

/// The lines that tell a failure. A refusal with several causes has them in the lines below it, each after a star.
fn with_causes(said: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in said.lines().map(str::trim).filter(|line| !line.is_empty() && !is_log(line)) {
        match (line.strip_prefix("* "), all.last_mut()) {
            (Some(cause), Some(refusal)) => {
                refusal.push_str(if refusal.ends_with(':') { " " } else { "; " });
                refusal.push_str(cause);
            }
            _ => all.push(line.to_owned()),
        }
    }
    all
}

/// Whether a line is one of the client library's log, such as `E1125 09:21:24.788813 9562 memcache.go:265] ...`, or a warning of the
/// API server.
fn is_log(line: &str) -> bool {
    let (first, rest) = line.split_at_checked(1).unwrap_or(("", ""));
    let is_record = ["E", "W", "I"].contains(&first) && rest.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
    is_record || line.starts_with("Warning: ")
}

fn failure(line: &str) -> Failure {
    let text = line.strip_prefix("error: ").unwrap_or(line);
    if let Some(resource) = text.strip_prefix("the server doesn't have a resource type ") {
        return Failure::NotInstalled(resource.trim_matches('"').to_owned());
    }
    if text.contains("no matches for kind") || text.contains("could not find the requested resource") {
        return Failure::NotInstalled("gangmatch.dev".to_owned());
    }
    let unreachable = ["The connection to the server", "Unable to connect to the server", "net/http: request canceled"];
    if unreachable.iter().any(|begin| text.contains(begin)) {
        let said = text.split(" - did you specify").next().unwrap_or(text);
        return if said.contains(DEFAULT_SERVER) { Failure::NoCluster } else { Failure::Unreachable(said.to_owned()) };
    }
    if let Some(right) = missing_right(text) {
        return Failure::Forbidden(right);
    }
    Failure::Other(text.strip_prefix("Error from server ").unwrap_or(text).to_owned())
}

/// The right of `User "x" cannot list resource "jobs" in API group "gangmatch.dev" in the namespace "eda"`.
fn missing_right(text: &str) -> Option<Right> {
    let after = |begin: &str| Some(text.split_once(begin)?.1.split_once('"')?.0.to_owned());
    let user = after("User \"")?;
    let (_, cannot) = text.split_once(" cannot ")?;
    let (verb, _) = cannot.split_once(" resource ")?;
    let resource = after(" resource \"")?;
    let group = after(" in API group \"").unwrap_or_default();
    Some(Right { user, verb: verb.to_owned(), resource, group, namespace: after(" in the namespace \"") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kubectl_says_is_what_is_wrong() {
        let said = "E1125 09:21:24.788813    9562 memcache.go:265] \"Unhandled Error\" err=\"couldn't get\"
The connection to the server 127.0.0.1:1 was refused - did you specify the right host or port?
";
        let text = failures(said).first().unwrap().to_string();
        assert_eq!(
            text,
            "the API server does not answer: The connection to the server 127.0.0.1:1 was refused; check the cluster, or choose \
             another with --context or --kubeconfig"
        );
        let said = "error: the server doesn't have a resource type \"jobs\"";
        assert_eq!(failures(said), [Failure::NotInstalled("jobs".to_owned())]);
        let said = "error: context \"x\" does not exist";
        assert_eq!(failures(said), [Failure::Other("context \"x\" does not exist".to_owned())]);
    }

    #[test]
    fn without_a_kubeconfig_it_is_said_that_kubectl_knows_no_cluster() {
        let said = "The connection to the server localhost:8080 was refused - did you specify the right host or port?";
        assert_eq!(
            failures(said).first().unwrap().to_string(),
            "kubectl knows no cluster: without a kubeconfig it asks localhost:8080, which does not answer; name a cluster with \
             --kubeconfig, --context or KUBECONFIG"
        );
    }

    #[test]
    fn a_refusal_is_told_with_all_of_its_causes() {
        let said = "The Job \"sim\" is invalid: \n* spec.priority: Invalid value: 5000\n* spec.done: Invalid value: \"boolean\": it stays true\n";
        let text = "The Job \"sim\" is invalid: spec.priority: Invalid value: 5000; spec.done: Invalid value: \"boolean\": it stays true";
        assert_eq!(failures(said), [Failure::Other(text.to_owned())]);
    }

    #[test]
    fn a_missing_right_is_named_with_the_command_that_grants_it() {
        let said = "Error from server (Forbidden): jobs.gangmatch.dev is forbidden: User \"carol\" cannot list resource \"jobs\" in API \
                    group \"gangmatch.dev\" in the namespace \"eda\"";
        assert_eq!(
            failures(said).first().unwrap().to_string(),
            "carol may not list jobs.gangmatch.dev in namespace eda; an administrator of the namespace can grant it: kubectl create \
             rolebinding gangmatch-viewer -n eda --clusterrole=gangmatch-viewer --user=carol"
        );
        let said = "Error from server (Forbidden): machines.gangmatch.dev \"foo\" is forbidden: User \"carol\" cannot patch resource \
                    \"machines\" in API group \"gangmatch.dev\" at the cluster scope";
        let Some(Failure::Forbidden(right)) = failures(said).into_iter().next() else { panic!("{said}") };
        assert_eq!((right.namespace.as_deref(), right.role()), (None, Some("gangmatch-owner")));
        let said = "Error from server (Forbidden): namespaces is forbidden: User \"carol\" cannot list resource \"namespaces\" in API group \
                    \"\" at the cluster scope";
        assert_eq!(
            failures(said).first().unwrap().to_string(),
            "carol may not list namespaces in all namespaces; ask an administrator for the right `list` on `namespaces`"
        );
    }
}
