//! Turns options, ports and a folder into the command line of each process of the control plane.

use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::binaries::Binaries;
use super::pki::Pki;
use super::processes::{Afterwards, Place};

/// What a control plane has beyond the API itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Which Kubernetes.
    pub release: Release,
    /// kwok plays kubelet for every Node that somebody creates: pods run there, and complete, without containers.
    pub kwok: bool,
    /// How long a node counts as alive after kwok's last sign of life, in seconds: it gives four in that time. With many nodes that is
    /// most of what etcd has to store.
    pub node_lease_seconds: u32,
    /// kube-scheduler places pods, as it always does with kwok: without nodes, there is nothing to place.
    pub scheduler: bool,
    /// The API server logs who did what (level `Metadata`), except for the control plane itself.
    pub audit: bool,
    /// As in a cluster of an operator: etcd waits for the disk, and memory is collected as often as Go does by itself. A killed process
    /// loses nothing without it either; a power cut does.
    pub fsync: bool,
    /// Users with a bearer token, known from the start; [`super::Access::user`] gives their kubeconfigs, and those of
    /// others.
    pub users: Vec<User>,
    /// Where the API server listens: an address of this machine. Other than loopback, it is also that of the Service `kubernetes`.
    pub address: Ipv4Addr,
    /// Further flags of kube-apiserver.
    pub apiserver_flags: Vec<String>,
    /// Where the processes live.
    pub place: Place,
    /// What becomes of that folder at the end.
    pub afterwards: Afterwards,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            release: Release::Newest,
            kwok: false,
            node_lease_seconds: 40,
            scheduler: false,
            audit: true,
            fsync: false,
            users: Vec::new(),
            address: Ipv4Addr::LOCALHOST,
            apiserver_flags: Vec::new(),
            place: Place::Temporary,
            afterwards: Afterwards::Remove,
        }
    }
}

impl Options {
    /// What the processes find in their environment. A control plane for a test is small: with rarer collections of its memory, the tests
    /// take a quarter less of the processor.
    pub(crate) fn environment(&self) -> &'static [(&'static str, &'static str)] {
        if self.fsync { &[] } else { &[("GOGC", "400"), ("GOMEMLIMIT", "1GiB")] }
    }

    /// The components that start when the API answers.
    pub(crate) fn clients(&self) -> Vec<Component> {
        let mut clients = vec![Component::ControllerManager];
        clients.extend((self.scheduler || self.kwok).then_some(Component::Scheduler));
        clients.extend(self.kwok.then_some(Component::Kwok));
        clients
    }
}

/// A release of Kubernetes, pinned below `testing/testbed/control-plane`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The one on which everything is tested.
    Newest,
    /// The oldest that is supported.
    Oldest,
}

/// Somebody who talks to the API server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct User {
    /// As `kubectl auth whoami` prints it.
    pub name: String,
    /// Without `system:authenticated`, which everybody gets.
    pub groups: Vec<String>,
}

/// One process of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// Keeps the objects.
    Etcd,
    /// The API.
    Apiserver,
    /// Garbage collection, ServiceAccounts, namespaces, batch Jobs and the other built-in controllers.
    ControllerManager,
    /// Places pods.
    Scheduler,
    /// Plays kubelet.
    Kwok,
}

impl Component {
    /// The name of its process, log and executable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Apiserver => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kwok => "kwok",
        }
    }

    /// The user and the groups it talks to the API server as; the API server itself has all rights.
    pub(crate) const fn identity(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Etcd | Self::Apiserver => ("system:apiserver", &["system:masters"]),
            Self::ControllerManager => ("system:kube-controller-manager", &[]),
            Self::Scheduler => ("system:kube-scheduler", &[]),
            Self::Kwok => ("system:kwok", &["system:masters"]),
        }
    }
}

/// The three ports of a control plane; they stay the same over restarts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) etcd: u16,
    pub(crate) etcd_peer: u16,
    pub(crate) apiserver: u16,
}

/// The addresses of Services. The first is that of the Service `kubernetes` ([`super::pki`] has it in the API server's certificate).
const SERVICES: &str = "10.96.0.0/16";
/// kwok's stages in the control plane's folder.
pub(crate) const STAGES: &str = "kwok-stages.yaml";

/// Everything the command lines are made of.
pub(crate) struct CommandInputs<'a> {
    pub(crate) options: &'a Options,
    pub(crate) binaries: &'a Binaries,
    /// The programs that are Kubernetes' own, of the release that is wanted.
    pub(crate) kubernetes: &'a Binaries,
    pub(crate) folder: &'a Path,
    pub(crate) pki: &'a Pki,
    pub(crate) ports: Ports,
}

impl CommandInputs<'_> {
    /// The whole command line of one component.
    pub(crate) fn command(&self, component: Component) -> Vec<String> {
        let of = match component {
            Component::Etcd | Component::Kwok => self.binaries,
            Component::Apiserver | Component::ControllerManager | Component::Scheduler => self.kubernetes,
        };
        let mut command = vec![of.path(component.name()).display().to_string()];
        command.extend(match component {
            Component::Etcd => self.etcd(),
            Component::Apiserver => self.apiserver(),
            Component::ControllerManager => self.controller_manager(),
            // A lease would keep a restarted one waiting for the dead one.
            Component::Scheduler => {
                vec![
                    self.kubeconfig(component),
                    flag("leader-elect", "false"),
                    flag("secure-port", "0"),
                    flag("kube-api-qps", "200"),
                    flag("kube-api-burst", "400"),
                ]
            }
            Component::Kwok => vec![
                self.kubeconfig(component),
                flag("config", self.folder.join(STAGES).display()),
                flag("manage-all-nodes", "true"),
                flag("node-lease-duration-seconds", self.options.node_lease_seconds),
                flag("server-address", ""),
            ],
        });
        command
    }

    fn etcd(&self) -> Vec<String> {
        let client = format!("http://127.0.0.1:{}", self.ports.etcd);
        let peer = format!("http://127.0.0.1:{}", self.ports.etcd_peer);
        let mut flags = vec![
            flag("name", "default"),
            flag("data-dir", self.folder.join("etcd").display()),
            flag("log-level", "warn"),
            flag("listen-client-urls", &client),
            flag("advertise-client-urls", &client),
            flag("listen-peer-urls", &peer),
            flag("initial-advertise-peer-urls", &peer),
            flag("initial-cluster", format!("default={peer}")),
        ];
        if !self.options.fsync {
            flags.push("--unsafe-no-fsync".to_owned());
        }
        flags
    }

    fn apiserver(&self) -> Vec<String> {
        let mut flags = vec![
            flag("etcd-servers", format!("http://127.0.0.1:{}", self.ports.etcd)),
            flag("bind-address", self.options.address),
            flag("advertise-address", self.options.address),
            flag("secure-port", self.ports.apiserver),
            // The Service `kubernetes` may not point to loopback; then nothing goes through it.
            flag("endpoint-reconciler-type", if self.options.address.is_loopback() { "none" } else { "lease" }),
            // To kubelets, for logs and commands in containers.
            flag("kubelet-preferred-address-types", "InternalIP"),
            flag("kubelet-client-certificate", self.pki.file("kubelet-client.crt").display()),
            flag("kubelet-client-key", self.pki.file("kubelet-client.key").display()),
            flag("cert-dir", self.folder.join("pki").display()),
            flag("tls-cert-file", self.pki.file("apiserver.crt").display()),
            flag("tls-private-key-file", self.pki.file("apiserver.key").display()),
            flag("client-ca-file", self.pki.file("ca.crt").display()),
            flag("authorization-mode", "Node,RBAC"),
            flag("service-account-issuer", "https://kubernetes.default.svc"),
            flag("service-account-key-file", self.pki.file("sa.pub").display()),
            flag("service-account-signing-key-file", self.pki.file("sa.key").display()),
            flag("service-cluster-ip-range", SERVICES),
        ];
        if !self.options.users.is_empty() {
            flags.push(flag("token-auth-file", self.folder.join("tokens.csv").display()));
        }
        if self.options.audit {
            flags.push(flag("audit-policy-file", self.folder.join("audit-policy.json").display()));
            flags.push(flag("audit-log-path", self.folder.join("log/audit.log").display()));
        }
        flags.extend(self.options.apiserver_flags.iter().cloned());
        flags
    }

    fn controller_manager(&self) -> Vec<String> {
        vec![
            self.kubeconfig(Component::ControllerManager),
            "--use-service-account-credentials".to_owned(),
            flag("service-account-private-key-file", self.pki.file("sa.key").display()),
            flag("root-ca-file", self.pki.file("ca.crt").display()),
            flag("cluster-signing-cert-file", self.pki.file("ca.crt").display()),
            flag("cluster-signing-key-file", self.pki.file("ca.key").display()),
            flag("leader-elect", "false"),
            flag("secure-port", "0"),
            // Its own limits (20 and 30) make the garbage collection of a test's objects slow.
            flag("kube-api-qps", "200"),
            flag("kube-api-burst", "400"),
            flag("node-monitor-grace-period", format!("{}s", self.options.node_lease_seconds.saturating_add(10))),
        ]
    }

    fn kubeconfig(&self, component: Component) -> String {
        flag("kubeconfig", self.folder.join(format!("{}.kubeconfig", component.name())).display())
    }
}

/// The audit policy: what anybody does is recorded, what the control plane does by itself is not.
pub(crate) fn audit_policy() -> Result<String> {
    let own = [
        "system:kube-controller-manager",
        "system:kube-scheduler",
        "system:apiserver",
        "system:kwok",
        "system:kube-proxy",
    ];
    let policy = json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [
            {"level": "None", "users": own},
            {"level": "None", "userGroups": ["system:serviceaccounts:kube-system", "system:nodes"]},
            {"level": "None", "nonResourceURLs": ["/readyz*", "/livez*", "/healthz*", "/version*", "/openapi*", "/api*"]},
            {"level": "Metadata"},
        ],
    });
    Ok(serde_json::to_string_pretty(&policy)?)
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}
