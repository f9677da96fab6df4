//! The same commands of kubectl on this server and on the real one: what is printed is the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use regex::Regex;
use testbed::cluster::in_path;
use testbed::{ControlPlane, EmbeddedServer, Options, product, repository};

/// A command, what it reads, and whether it succeeds. `{examples}` is the folder with the examples.
type Step = (&'static str, &'static str, bool);

const UNKNOWN: &str = "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: k}\nspec: {colour: red, capacity: {seats: 1}}\n";
const WRONG: &str =
    "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: k}\nspec: {capacity: {seats: two}}\n";
const CHANGED: &str =
    "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: sim-app}\nspec: {capacity: {seats: 3}}\n";
const OTHER: &str = "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: other}\nspec: {capacity: {seats: 1}, rank: '1'}\n";
const NODE: &str = "apiVersion: v1\nkind: Node\nmetadata: {name: n1, labels: {rack: a}}\nspec: {}\n";
const HELD: &str = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: held}\nspec: {suspend: true, template: {spec: {restartPolicy: \
                    Never, containers: [{name: c, image: i}]}}}\n";
const GATED: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: gated}\nspec: {terminationGracePeriodSeconds: 3000, schedulingGates: \
                     [{name: example.org/wait}], containers: [{name: c, image: i}]}\n";
/// What the conditions of a batch Job say.
const SUSPENDED: &str = "get jobs.batch held -o jsonpath={.status.conditions[*].type},{.status.conditions[*].status},\
                         {.status.conditions[*].reason},{.status.conditions[*].message}";

const STEPS: &[Step] = &[
    ("get gmj", "", true),
    // Not in `default`: the real server may tell there of its own Service.
    ("get events -n kube-public", "", true),
    ("apply -f {examples}/quickstart", "", true),
    ("apply -f {examples}/quickstart", "", true),
    ("get gmj,gmm,gml", "", true),
    ("get gmj -A", "", true),
    ("get gmj -o wide", "", true),
    ("get gmj sim --no-headers", "", true),
    ("get gangmatch", "", true),
    ("get gmj sim -o yaml", "", true),
    ("get gmj -o name", "", true),
    ("get gmj sim -o jsonpath={.spec.ports[0].label}", "", true),
    ("get gmm -o custom-columns=NAME:.metadata.name,ARCH:.spec.attributes.Arch --sort-by=.metadata.name", "", true),
    ("get gmj --sort-by=.metadata.name", "", true),
    ("get gmj -l team=eda", "", true),
    ("get gmj none", "", false),
    ("get machines.gangmatch.dev/foo gml/sim-app", "", true),
    ("describe gmj sim", "", true),
    ("explain gmj", "", true),
    ("explain gmj.spec", "", true),
    ("explain gmj.metadata", "", true),
    ("explain license.spec.capacity", "", true),
    ("explain gmm.spec.ports --recursive", "", true),
    ("explain gmj.spec.nothing", "", false),
    ("api-resources --api-group=gangmatch.dev --no-headers", "", true),
    ("create -f -", UNKNOWN, false),
    ("apply -f -", UNKNOWN, false),
    ("create --validate=warn --dry-run=server -f -", UNKNOWN, true),
    ("create --validate=ignore --dry-run=server -f -", UNKNOWN, true),
    ("apply -f -", WRONG, false),
    ("create -f -", CHANGED, false),
    ("diff -f -", CHANGED, false),
    ("apply --dry-run=server -f -", CHANGED, true),
    ("apply -f -", CHANGED, true),
    ("diff -f -", CHANGED, true),
    ("get gml sim-app -o jsonpath={.spec.capacity}{.metadata.generation}", "", true),
    ("apply --server-side -f -", OTHER, true),
    ("apply --server-side -f -", OTHER, true),
    ("label gmj sim team=eda", "", true),
    ("get gmj -l team=eda -o name", "", true),
    ("get gmj -l team!=eda -o name", "", true),
    ("get gmj -l team -o name", "", true),
    ("annotate gmj sim note=one", "", true),
    (r#"patch gmj sim --type merge -p {"spec":{"priority":7}}"#, "", true),
    (r#"patch gmj sim --type json -p [{"op":"add","path":"/spec/suspend","value":true}]"#, "", true),
    (r#"patch gmj sim --type merge -p {"spec":{"priority":"high"}}"#, "", false),
    (r#"patch gmj sim -p {"spec":{"priority":8}}"#, "", false),
    ("edit gmj sim", "", true),
    ("get gmj sim -o jsonpath={.spec.priority}", "", true),
    ("wait gmj/sim --for=jsonpath={.spec.priority}=9 --timeout=20s", "", true),
    ("wait gmj/sim --for=condition=Claimed --timeout=1s", "", false),
    ("auth can-i create gmj", "", true),
    ("auth whoami -o jsonpath={.status.userInfo.username}", "", true),
    ("auth whoami --as zoe -o jsonpath={.status.userInfo.username}", "", true),
    ("create namespace campus", "", true),
    ("get namespace campus", "", true),
    ("label namespace campus gangmatch.dev/offers=cluster", "", true),
    ("get gmj -n campus", "", true),
    ("apply -n nowhere -f -", OTHER, false),
    ("apply -f -", NODE, true),
    ("cordon n1", "", true),
    ("uncordon n1", "", true),
    ("delete node n1", "", true),
    ("delete namespace campus", "", true),
    ("get namespace campus", "", false),
    // what the controllers of Kubernetes do
    ("apply -f -", HELD, true),
    ("wait jobs.batch/held --for=condition=Suspended --timeout=60s", "", true),
    (SUSPENDED, "", true),
    (r#"patch jobs.batch held --type merge -p {"spec":{"suspend":false}}"#, "", true),
    ("wait jobs.batch/held --for=condition=Suspended=False --timeout=60s", "", true),
    ("wait jobs.batch/held --for=jsonpath={.status.startTime} --timeout=60s", "", true),
    (SUSPENDED, "", true),
    (r#"patch jobs.batch held --type merge -p {"spec":{"suspend":true}}"#, "", true),
    ("wait jobs.batch/held --for=condition=Suspended --timeout=60s", "", true),
    (SUSPENDED, "", true),
    ("delete jobs.batch held", "", true),
    ("apply -f -", GATED, true),
    ("delete pod gated --timeout=60s", "", true),
    (
        "replace -f -",
        "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: other}\nspec: {capacity: {seats: 2}}\n",
        true,
    ),
    ("delete gmj sim", "", true),
    ("delete gmj sim", "", false),
    ("delete -f {examples}/quickstart --ignore-not-found", "", true),
    ("delete gml --all", "", true),
    ("get gml", "", true),
];

/// What a step printed, with its exit code, and without what differs from cluster to cluster and from time to time.
fn printed(kubectl: &Path, kubeconfig: &Path, cache: &Path, step: &Step) -> String {
    let (line, stdin, _) = step;
    let examples = repository::root().join("examples").display().to_string();
    let words = line.split(' ').map(|word| word.replace("{examples}", &examples));
    let mut command = Command::new(kubectl);
    command.args(words).env("KUBECONFIG", kubeconfig).env("KUBECACHEDIR", cache).env("KUBERC", "off");
    command.env("KUBE_EDITOR", "sed -i 's/priority: 7/priority: 9/'").env("KUBECTL_EXTERNAL_DIFF", "diff -u0");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), stdin.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = format!(
        "{}{}exit {}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
        output.status.code().unwrap()
    );
    plain(&text)
}

/// Ages, times, uids and versions into words; runs of spaces into one, for they depend on the length of an age.
fn plain(text: &str) -> String {
    const SAME: [(&str, &str); 8] = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
        (r"(?m)(resourceVersion: |Resource Version: +).*$", "VERSION"),
        (r"/tmp/(LIVE|MERGED)-\d+", "$1"),
        (r"(?m)^(---|\+\+\+) .*$", "$1 FILE"),
        (r"(?m)\b\d+m?\d*s$", "AGE"),
        (r"(?m) +$", ""),
        (r" {2,}", "  "),
    ];
    SAME.iter().fold(text.to_owned(), |text, (pattern, word)| {
        Regex::new(pattern).unwrap().replace_all(&text, *word).into_owned()
    })
}

fn embedded() -> EmbeddedServer {
    EmbeddedServer::start(&repository::program("embedded-apiserver").unwrap()).unwrap()
}

fn cache(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kubectl-{name}-{}", std::process::id()))
}

#[test]
fn kubectl_prints_the_same_of_both() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let embedded = embedded();
    let kubectl = plane.tools().kubectl.clone();
    let mut differences = Vec::new();
    for step in STEPS {
        let theirs = printed(&kubectl, plane.kubeconfig(), &cache("real"), step);
        let ours = printed(&kubectl, &embedded.kubeconfig(), &cache("here"), step);
        assert_eq!(theirs.ends_with("exit 0"), step.2, "{}: {theirs}", step.0);
        if theirs != ours {
            differences.push(format!("kubectl {}\n--- real\n{theirs}\n--- here\n{ours}\n", step.0));
        }
    }
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), STEPS.len(), differences.join("\n"));
    println!("{} commands of kubectl printed the same of the real API server and of this one", STEPS.len());
}

/// kubectl of any version, on a machine without a control plane.
#[test]
fn the_kubectl_of_this_machine_gets_on_with_this_server() {
    let Some(kubectl) = in_path("kubectl") else {
        println!("SKIPPED, NOTHING WAS TESTED: kubectl is not on PATH");
        return;
    };
    let embedded = embedded();
    for step in STEPS {
        let ours = printed(&kubectl, &embedded.kubeconfig(), &cache("path"), step);
        assert_eq!(ours.ends_with("exit 0"), step.2, "kubectl {}\n{ours}", step.0);
    }
}
