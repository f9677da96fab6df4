//! Turns a stage into four tenants who act by credentials of their own: `bob.apply(..)`, `bob.try_apply(..)`, `bob.refusal(..)`.

use testbed::Requests;
use testbed::tenants::{self, TenantNames};

use crate::paths::path_of;
use crate::stage::{Namespace, Stage, create_by};

/// Namespaces a, b, c, d of one test, and who has which rights there: see `testing/testbed/src/tenants.rs`.
pub(crate) struct Tenants {
    pub(crate) a: Namespace,
    pub(crate) b: Namespace,
    pub(crate) c: Namespace,
    pub(crate) d: Namespace,
    pub(crate) alice: Tenant,
    pub(crate) bob: Tenant,
    pub(crate) carol: Tenant,
    pub(crate) star: Tenant,
}

/// A user with ordinary rights and real credentials.
pub(crate) struct Tenant {
    stage: &'static Stage,
    pub(crate) name: &'static str,
    home: String,
    kubeconfig: String,
    /// By the same credentials; on a cluster that is not ours, the admin impersonates.
    requests: Requests,
}

impl Stage {
    /// New namespaces for the tenants of one test, `TEST-...-a` to `TEST-...-d`.
    pub(crate) fn tenants(&'static self, test: &str) -> Tenants {
        let prefix = format!("{}-", self.unused(test));
        let names = TenantNames::with_prefix(&prefix);
        let tenant = |one: tenants::Tenant| Tenant {
            stage: self,
            name: one.name,
            home: one.home,
            kubeconfig: one.kubeconfig.display().to_string(),
            requests: match self.cluster.control_plane() {
                Some(_) => Requests::of(&one.kubeconfig).unwrap(),
                None => self.cluster.requests().unwrap().acting_as(one.name),
            },
        };
        let [alice, bob, carol, star] = tenants::create(self.cluster, &names).unwrap().map(tenant);
        let namespace = |name: String| Namespace { stage: self, name };
        let TenantNames { a, b, c, d } = names;
        Tenants { a: namespace(a), b: namespace(b), c: namespace(c), d: namespace(d), alice, bob, carol, star }
    }
}

impl Tenant {
    /// kubectl in the tenant's own namespace, or where a further `-n` says; what it printed, or why it was refused.
    pub(crate) fn kubectl(&self, arguments: &[&str], stdin: Option<&str>) -> Result<String, String> {
        let all = [&["--kubeconfig", &self.kubeconfig, "-n", &self.home], arguments].concat();
        let output = self.stage.cluster.kubectl(&all, stdin).unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    pub(crate) fn try_apply(&self, manifest: &str) -> Result<String, String> {
        self.kubectl(&["apply", "-f", "-"], Some(manifest))
    }

    pub(crate) fn apply(&self, manifest: &str) {
        self.try_apply(manifest).unwrap_or_else(|refusal| panic!("{} may not apply {manifest}: {refusal}", self.name));
    }

    /// The server's words, of a command that has to be refused.
    pub(crate) fn refusal(&self, arguments: &[&str], stdin: Option<&str>) -> String {
        match self.kubectl(arguments, stdin) {
            Ok(printed) => panic!("{} was not refused kubectl {arguments:?}: {printed}", self.name),
            Err(refusal) => refusal,
        }
    }

    /// Creates the objects of a manifest, to which nothing is added; or why one was refused.
    pub(crate) fn create(&self, manifest: &str) -> Result<(), String> {
        create_by(&self.requests, &self.home, manifest)
    }

    /// A merge patch, of the object or with `--subresource=status`; or why it was refused.
    pub(crate) fn patch(&self, object: &str, patch: &str, flags: &[&str]) -> Result<(), String> {
        let below = match flags {
            [] => "",
            ["--subresource=status"] => "/status",
            _ => {
                return self
                    .kubectl(&[&["patch", object, "--type=merge", "-p", patch], flags].concat(), None)
                    .map(drop);
            }
        };
        let path = path_of(&self.home, object).unwrap_or_else(|| panic!("paths.rs does not know {object}"));
        let patch = serde_json::from_str(patch).unwrap();
        self.requests.merge(&format!("{path}{below}"), &patch).map(drop).map_err(|refusal| refusal.message)
    }
}
