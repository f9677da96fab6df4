//! Turns four namespaces into tenants: users with the rights that Kubernetes' own roles give, and one with every right in one namespace.
//!
//! | user | rights |
//! |---|---|
//! | alice | ClusterRole `admin` in a |
//! | bob | ClusterRole `edit` in b, `view` in a |
//! | carol | ClusterRole `admin` in c |
//! | star | Role `*` on `*` in d |
//!
//! `edit`, `view` and `admin` contain the chart's roles by aggregation.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use serde_json::{Value, json};

use crate::control_plane::Access;
use crate::polling::until;

/// How long RBAC may take until a new binding holds, on a busy machine.
const RIGHTS_MAX: Duration = Duration::from_secs(60);

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The names of the four namespaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantNames {
    /// alice's.
    pub a: String,
    /// bob's.
    pub b: String,
    /// carol's.
    pub c: String,
    /// star's.
    pub d: String,
}

impl TenantNames {
    /// `PREFIXa` to `PREFIXd`.
    #[must_use]
    pub fn with_prefix(prefix: &str) -> TenantNames {
        let name = |letter: &str| format!("{prefix}{letter}");
        TenantNames { a: name("a"), b: name("b"), c: name("c"), d: name("d") }
    }
}

/// Credentials of one user: the name in RBAC, the namespace that is the user's own, the kubeconfig.
#[derive(Debug, Clone)]
pub struct Tenant {
    /// As `kubectl auth whoami` prints it.
    pub name: &'static str,
    /// Where commands without `-n` go.
    pub home: String,
    /// A client certificate signed by the control plane's authority; on a cluster of another's, impersonation by the admin.
    pub kubeconfig: PathBuf,
}

/// Creates the namespaces and the bindings, waits until they hold, and returns alice, bob, carol and star.
///
/// # Errors
/// When the API server refuses it, or a right does not come to hold.
pub fn create(access: &Access, names: &TenantNames) -> Result<[Tenant; 4]> {
    for (path, object) in objects(names) {
        access.requests()?.create(&path, &object)?;
    }
    let tenant = |name: &'static str, home: &String| {
        anyhow::Ok(Tenant { name, home: home.clone(), kubeconfig: access.user(name, &[])? })
    };
    let all =
        [tenant("alice", &names.a)?, tenant("bob", &names.b)?, tenant("carol", &names.c)?, tenant("star", &names.d)?];
    // The last binding of each kind: what was written before it holds by then.
    let [_, bob, carol, star] = &all;
    wait_for(access, star.name, &star.home, ("create", "jobs"))?;
    wait_for(access, carol.name, &carol.home, ("create", "machines"))?;
    wait_for(access, bob.name, &bob.home, ("create", "jobs"))?;
    Ok(all)
}

/// Makes a user admin of one namespace, which has to be there; returns the user's kubeconfig.
///
/// # Errors
/// When the API server refuses it, or the right does not come to hold.
pub fn admin_of(access: &Access, name: &str, namespace: &str) -> Result<PathBuf> {
    bind(access, name, namespace, "admin")?;
    access.user(name, &[])
}

/// Gives a user the rights of a ClusterRole in a namespace, which has to be there, and waits until the user may read Jobs.
///
/// # Errors
/// When the API server refuses it, or the right does not come to hold.
pub fn bind(access: &Access, user: &str, namespace: &str, role: &str) -> Result<()> {
    let (path, object) = binding(user, namespace, "ClusterRole", role);
    access.requests()?.create(&path, &object)?;
    wait_for(access, user, namespace, ("get", "jobs"))
}

fn wait_for(access: &Access, user: &str, namespace: &str, (verb, resource): (&str, &str)) -> Result<()> {
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {"resourceAttributes":
        {"namespace": namespace, "verb": verb, "group": "gangmatch.dev", "resource": resource}}});
    let as_user = access.requests()?.acting_as(user);
    until(&format!("the right of {user} to {verb} {resource}"), RIGHTS_MAX, || {
        let answer = as_user.create("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &review)?;
        Ok((answer.pointer("/status/allowed") == Some(&Value::Bool(true))).then_some(()))
    })
}

/// Namespaces, one Role and all bindings, each with the path at which it is created. The namespace a may offer to all namespaces.
fn objects(names: &TenantNames) -> Vec<(String, Value)> {
    let namespace = |name: &str, labels: Value| {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        ("/api/v1/namespaces".to_owned(), object)
    };
    let star = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "star"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]});
    vec![
        namespace(&names.a, json!({"gangmatch.dev/offers": "cluster"})),
        namespace(&names.b, json!({})),
        namespace(&names.c, json!({})),
        namespace(&names.d, json!({})),
        (format!("{RBAC}/namespaces/{}/roles", names.d), star),
        binding("alice", &names.a, "ClusterRole", "admin"),
        binding("bob", &names.b, "ClusterRole", "edit"),
        binding("bob", &names.a, "ClusterRole", "view"),
        binding("carol", &names.c, "ClusterRole", "admin"),
        binding("star", &names.d, "Role", "star"),
    ]
}

fn binding(user: &str, namespace: &str, kind: &str, role: &str) -> (String, Value) {
    let group = "rbac.authorization.k8s.io";
    let object = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": format!("{user}-{role}")},
        "roleRef": {"apiGroup": group, "kind": kind, "name": role},
        "subjects": [{"apiGroup": group, "kind": "User", "name": user}]});
    (format!("{RBAC}/namespaces/{namespace}/rolebindings"), object)
}
