//! Checks the demonstration on the embedded API server: a job is claimed, every command that it suggests works and does what it says,
//! and nothing is left behind when it is killed.
#![cfg(test)]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use testbed::cluster::in_path;
use testbed::{repository, until};

const LIMIT: Duration = Duration::from_secs(60);

/// The running demonstration, and what it has printed until it waits.
struct Demo {
    child: Child,
    printed: Vec<String>,
}

impl Demo {
    fn start() -> Demo {
        let xtask = repository::program("xtask").unwrap();
        let mut command = Command::new(xtask);
        command.args(["demo", "--keep"]).current_dir(repository::root()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut printed = Vec::new();
        for line in lines {
            let is_last = line.starts_with("Ctrl-C");
            printed.push(line);
            if is_last {
                break;
            }
        }
        Demo { child, printed }
    }

    fn kubeconfig(&self) -> PathBuf {
        let line = self.printed.iter().find_map(|line| line.strip_prefix("export KUBECONFIG="));
        line.unwrap_or_else(|| panic!("it did not stay:\n{}", self.printed.join("\n"))).into()
    }

    fn run(&self, line: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", line]).env("KUBECONFIG", self.kubeconfig()).current_dir(repository::root());
        let folder = self.printed.iter().find_map(|line| line.strip_prefix("export PATH=")?.strip_suffix(":$PATH"));
        let folder = folder.unwrap_or_else(|| panic!("it names no folder of the plugin:\n{}", self.printed.join("\n")));
        command.env("PATH", format!("{folder}:{}", std::env::var("PATH").unwrap()));
        command.env("KUBECACHEDIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo-kubectl"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn wait_for(&self, line: &str, what: &str) {
        until(&format!("{what} of `{line}`"), LIMIT, || Ok(self.run(line).contains(what).then_some(()))).unwrap();
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

#[test]
fn what_the_demonstration_suggests_works_and_nothing_is_left() {
    if in_path("kubectl").is_none() {
        println!("SKIPPED, NOTHING WAS TESTED: kubectl is not on PATH");
        return;
    }
    let demo = Demo::start();
    let text = demo.printed.join("\n");
    assert!(text.contains("claimed 0") && text.contains("cpu=default/foo license=default/sim-app"), "{text}");
    assert!(text.contains("This is not Kubernetes"), "{text}");

    let commands: Vec<&String> =
        demo.printed.iter().filter(|line| line.starts_with("kubectl ") && !line.contains(" ... ")).collect();
    assert!(commands.len() >= 6, "{text}");
    assert!(commands.iter().any(|command| command.starts_with("kubectl gangmatch ")), "{text}");
    let phase = |name: &str| format!("kubectl get gmj {name} -o jsonpath={{.status.phase}}");
    for command in commands {
        let printed = demo.run(command);
        match command.as_str() {
            "kubectl describe gmj sim" => {
                assert!(printed.contains("Claimed") && printed.contains("Events:"), "{printed}")
            }
            "kubectl apply -f examples/counted" => {
                demo.wait_for("kubectl get gmj run-3 -o jsonpath={.status.why}", "port `license`");
            }
            other if other.contains("run-1") => demo.wait_for(&phase("run-3"), "Claimed"),
            "kubectl get gmj long intruder" => demo.wait_for(command, "owner's constraint"),
            other if other.contains("HoldAndDrain") => demo.wait_for(&phase("sim"), "Pending"),
            _ => assert!(!printed.is_empty(), "{command}"),
        }
    }
    assert_eq!(demo.run("kubectl get gmj sim -o jsonpath={.spec.owner}"), "admin");

    let folder = demo.kubeconfig().parent().unwrap().to_path_buf();
    assert!(folder.exists());
    drop(demo);
    let marks = format!("{}/", folder.display());
    until("the end of all processes", LIMIT, || Ok((!folder.exists() && !runs(&marks)).then_some(()))).unwrap();
}

/// A seat, what needs it, and three workloads: with a label, with a reference, and from a template.
const WORKLOADS: &str = r#"
apiVersion: gangmatch.dev/v1alpha1
kind: License
metadata: {name: vcs}
spec: {attributes: {App: vcs}, capacity: {seats: 3}}
---
apiVersion: gangmatch.dev/v1alpha1
kind: Job
metadata: {name: needs-vcs}
spec: {suspend: true, constraint: other.App == "vcs"}
---
apiVersion: batch/v1
kind: Job
metadata: {name: labelled, labels: {gangmatch.dev/ad: needs-vcs}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: nightly}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
---
apiVersion: gangmatch.dev/v1alpha1
kind: Job
metadata: {name: refers}
spec: {constraint: other.App == "vcs", workload: {workloadRef: {name: nightly}}}
---
apiVersion: gangmatch.dev/v1alpha1
kind: Job
metadata: {name: makes}
spec:
  constraint: other.App == "vcs"
  workload: {jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}}}
"#;

/// Nothing runs pods there, but what is suspended says so, as Kubernetes' own controller of batch Jobs does.
#[test]
fn a_claimed_workload_is_cancelled_in_the_demonstration() {
    if in_path("kubectl").is_none() {
        println!("SKIPPED, NOTHING WAS TESTED: kubectl is not on PATH");
        return;
    }
    let demo = Demo::start();
    demo.run(&format!("kubectl apply -f - <<'END'\n{WORKLOADS}\nEND"));
    let jobs = "kubectl get gmj -o custom-columns=N:.metadata.name --no-headers";
    demo.wait_for(jobs, "labelled");
    let printed = demo.run(jobs);
    let labelled = printed.lines().find(|name| name.starts_with("labelled")).unwrap().trim();
    for name in [labelled, "refers", "makes"] {
        let phase = format!("kubectl get gmj {name} -o jsonpath={{.status.phase}}");
        demo.wait_for(&phase, "Claimed");
        demo.wait_for(
            &format!("kubectl get gmj {name} -o jsonpath={{.status.conditions[*].reason}}"),
            "WorkloadPending",
        );
        demo.run(&format!(r#"kubectl patch gmj {name} --type merge -p '{{"spec":{{"done":true}}}}'"#));
        demo.wait_for(&phase, "Cancelled");
    }
    let is_held = "kubectl get jobs.batch labelled nightly -o jsonpath={.items[*].spec.suspend}";
    demo.wait_for(is_held, "true true");
    demo.wait_for("kubectl get gml vcs -o jsonpath={.status.used}", "0/3 seats");
}

/// Whether a process has this in its command line.
fn runs(marks: &str) -> bool {
    let all = Command::new("ps").args(["-A", "-o", "command="]).output().unwrap();
    String::from_utf8_lossy(&all.stdout).contains(marks)
}
