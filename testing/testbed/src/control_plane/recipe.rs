//! Turns the pinned versions of the `go.mod` files into the `go build` invocations that make all executables.

use anyhow::{Context, Result};

/// Kubernetes' own build variables are set to fixed values, so that the same sources give the same bytes.
const COMMIT: &str = "0000000000000000000000000000000000000000";
const DATE: &str = "1970-01-01T00:00:00Z";

/// The environment of every `go` command. `GOGC`: the compiler is a Go program itself; fewer collections cost memory
/// and save time.
pub(crate) const ENVIRONMENT: [(&str, &str); 4] =
    [("CGO_ENABLED", "0"), ("GOGC", "400"), ("GOFLAGS", "-trimpath -mod=readonly -buildvcs=false"), ("GOWORK", "off")];

/// kwok has no stages built in; these files of its module make nodes ready, keep their leases, and run and complete
/// pods.
pub(crate) const STAGES: [&str; 5] = [
    "node/fast/node-initialize.yaml",
    "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml",
    "pod/fast/pod-complete.yaml",
    "pod/fast/pod-delete.yaml",
];

/// One `go build`; all its packages in one invocation, so that what they share is compiled once.
pub(crate) struct Build {
    /// The folder of the module, below `testing/testbed/control-plane`.
    pub(crate) module: &'static str,
    /// The arguments before `-o`.
    pub(crate) arguments: Vec<String>,
    /// The packages after it.
    pub(crate) packages: &'static [&'static str],
}

/// The Kubernetes part: five programs and kwok.
pub(crate) fn control_plane(go_mod: &str) -> Result<Build> {
    let mut flags = kubernetes_flags(go_mod)?;
    flags.push_str(&format!(" -X sigs.k8s.io/kwok/pkg/consts.Version={}", version(go_mod, "sigs.k8s.io/kwok")?));
    Ok(Build {
        module: "",
        arguments: arguments(flags),
        packages: &[
            "k8s.io/kubernetes/cmd/kube-apiserver",
            "k8s.io/kubernetes/cmd/kube-controller-manager",
            "k8s.io/kubernetes/cmd/kube-scheduler",
            "k8s.io/kubernetes/cmd/kubectl",
            "sigs.k8s.io/kwok/cmd/kwok",
            "go.etcd.io/etcd/server/v3",
        ],
    })
}

/// What makes a machine a node, beside a container runtime.
pub(crate) fn node(go_mod: &str) -> Result<Build> {
    let packages = &["k8s.io/kubernetes/cmd/kubelet", "k8s.io/kubernetes/cmd/kube-proxy"];
    Ok(Build { module: "", arguments: arguments(kubernetes_flags(go_mod)?), packages })
}

/// The oldest release of Kubernetes on which the product is tested: what of a control plane depends on its version.
pub(crate) fn oldest(go_mod: &str) -> Result<Build> {
    let packages = &[
        "k8s.io/kubernetes/cmd/kube-apiserver",
        "k8s.io/kubernetes/cmd/kube-controller-manager",
        "k8s.io/kubernetes/cmd/kube-scheduler",
    ];
    Ok(Build { module: "oldest", arguments: arguments(kubernetes_flags(go_mod)?), packages })
}

/// The linker's flags for programs of Kubernetes: its version, which they report.
fn kubernetes_flags(go_mod: &str) -> Result<String> {
    let kubernetes = version(go_mod, "k8s.io/kubernetes")?;
    let mut parts = kubernetes.trim_start_matches('v').split('.');
    let (major, minor) = parts.next().zip(parts.next()).context("a version of Kubernetes has three parts")?;
    let mut flags = String::from("-s -w");
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        let values = [
            ("gitVersion", kubernetes),
            ("gitMajor", major),
            ("gitMinor", minor),
            ("gitTreeState", "clean"),
            ("gitCommit", COMMIT),
            ("buildDate", DATE),
        ];
        for (variable, value) in values {
            flags.push_str(&format!(" -X {package}.{variable}={value}"));
        }
    }
    Ok(flags)
}

/// Helm, a module of its own because it wants newer Kubernetes libraries than the control plane.
pub(crate) fn helm(go_mod: &str) -> Result<Build> {
    let flags = format!("-s -w -X helm.sh/helm/v4/internal/version.version={}", version(go_mod, "helm.sh/helm/v4")?);
    Ok(Build { module: "helm", arguments: arguments(flags), packages: &["helm.sh/helm/v4/cmd/helm"] })
}

/// promtool, which checks and tests the rules of Prometheus.
pub(crate) fn promtool() -> Build {
    let packages = &["github.com/prometheus/prometheus/cmd/promtool"];
    Build { module: "promtool", arguments: arguments("-s -w".to_owned()), packages }
}

/// `grpcnotrace` is what upstream releases with: it lets the linker drop a fifth.
fn arguments(flags: String) -> Vec<String> {
    ["build", "-tags", "grpcnotrace", "-ldflags"].map(String::from).into_iter().chain([flags]).collect()
}

/// The version that a `go.mod` requires of a module.
fn version<'a>(go_mod: &'a str, module: &str) -> Result<&'a str> {
    go_mod
        .lines()
        .map(|line| line.split_whitespace().filter(|&word| word != "require").collect::<Vec<_>>())
        .find_map(|words| match words.as_slice() {
            [name, version, ..] if *name == module && version.starts_with('v') => Some(*version),
            _ => None,
        })
        .with_context(|| format!("go.mod does not require {module}"))
}

#[cfg(test)]
mod tests {
    use super::version;

    #[test]
    fn a_version_is_read_from_a_requirement_and_from_nothing_else() {
        let text = "require (\n\ta.b/c v1.2.3 // indirect\n)\nrequire a.b/d v0.1.0\nreplace a.b/e => a.b/e v9.0.0\n";
        assert_eq!(version(text, "a.b/c").unwrap(), "v1.2.3");
        assert_eq!(version(text, "a.b/d").unwrap(), "v0.1.0");
        assert!(version(text, "a.b/e").is_err());
    }
}
