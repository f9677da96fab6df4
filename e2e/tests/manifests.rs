//! Turns the plain manifest into checks: it is what the chart renders now, and an API server accepts it.
#![cfg(test)]

use std::process::Command;
use std::time::Duration;

use testbed::control_plane::binaries::Binaries;
use testbed::{ControlPlane, Options, repository, until};

const LIMIT: Duration = Duration::from_secs(60);

#[test]
fn the_plain_manifest_is_what_the_chart_renders() {
    let xtask = repository::program("xtask").unwrap();
    let output = Command::new(xtask).args(["manifests", "--check"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn the_plain_manifest_installs_everything_at_once_and_again_without_a_change() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    let folder = repository::root().join("deploy").display().to_string();
    // An object of a kind that the same manifest defines would need a second attempt; there is none.
    plane.kubectl_text(&["apply", "-k", &folder], None).unwrap();
    plane
        .kubectl_text(&["wait", "crd/jobs.gangmatch.dev", "--for=condition=Established", "--timeout=60s"], None)
        .unwrap();
    let machine =
        r#"{"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "m"}, "spec": {}}"#;
    let owner = until("the policy that records owners", LIMIT, || {
        let create = ["create", "--dry-run=server", "-f", "-", "-o", "jsonpath={.spec.owner}"];
        let answer = plane.kubectl(&create, Some(machine))?;
        let owner = String::from_utf8_lossy(&answer.stdout).into_owned();
        Ok((answer.status.success() && !owner.is_empty()).then_some(owner))
    });
    assert_eq!(
        owner.unwrap(),
        plane.kubectl_text(&["auth", "whoami", "-o", "jsonpath={.status.userInfo.username}"], None).unwrap()
    );
    let generations = || {
        let each = r#"jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.generation}{"\n"}{end}"#;
        plane.kubectl_text(&["get", "-k", &folder, "-o", each], None).unwrap()
    };
    let before = generations();
    assert!(before.contains("CustomResourceDefinition jobs.gangmatch.dev 1\n"), "{before}");
    plane.kubectl_text(&["apply", "-k", &folder], None).unwrap();
    assert_eq!(generations(), before);
}

/// What `helm template` prints for the chart with these arguments, or its message.
fn rendered(arguments: &[&str]) -> Result<String, String> {
    let helm = Binaries::ready().unwrap().path("helm");
    let chart = repository::root().join("charts/gangmatch");
    let output = Command::new(helm).args(["template", "gangmatch"]).arg(chart).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

#[test]
fn optional_objects_are_rendered_when_they_are_asked_for() {
    let plain = rendered(&[]).unwrap();
    assert!(!plain.contains("ServiceMonitor") && !plain.contains("gangmatch-metrics"), "off by default");
    let monitored =
        rendered(&["--set", "serviceMonitor.enabled=true,serviceMonitor.labels.release=prometheus"]).unwrap();
    assert!(
        monitored.contains("kind: ServiceMonitor") && monitored.contains("    release: prometheus\n"),
        "{monitored}"
    );
    for off in
        ["PrometheusRule", "gangmatch-dashboard", "gangmatch-page", "tokenreviews", "--page", "--license-metrics"]
    {
        assert!(!plain.contains(off), "{off} is off by default");
    }
    let rules = "prometheusRule.enabled=true,prometheusRule.labels.release=prometheus,prometheusRule.runbookUrl=https://docs.example/runbooks";
    let ruled = rendered(&["--set", rules]).unwrap();
    let url = "runbook_url: https://docs.example/runbooks#gangmatchnoleader\n";
    assert!(ruled.contains("kind: PrometheusRule") && ruled.contains(url) && !ruled.contains("RUNBOOKS#"), "{ruled}");
    assert!(ruled.contains("{{ $value | humanizePercentage }}"), "templates of Prometheus stay as they are");
    let dashboard = rendered(&["--set", "dashboard.enabled=true,dashboard.annotations.grafana_folder=Batch"]).unwrap();
    assert!(
        dashboard.contains("grafana_dashboard: \"1\"\n") && dashboard.contains("gangmatch.json: |-\n"),
        "{dashboard}"
    );
    assert!(dashboard.contains("grafana_folder: Batch\n") && dashboard.contains("\"title\": \"Seats taken\""));
    let from = r#"page.from=[{"podSelector": {}}]"#;
    let page = rendered(&["--set", "page.enabled=true,metrics.licenseNamespaces={eda}", "--set-json", from]).unwrap();
    for part in [
        "--page=0.0.0.0:8081\n",
        "--license-metrics=eda\n",
        "resources: [tokenreviews]",
        "name: gangmatch-page\n",
        "- port: page\n",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let object =
        r#"extraObjects=[{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"of-{{ .Release.Name }}"}}]"#;
    assert!(rendered(&["--set-json", object]).unwrap().contains("  name: of-gangmatch\n"));
    let digest = format!("sha256:{}", "ab".repeat(32));
    let image = format!("image: gangmatch/controller@{digest}\n");
    assert!(rendered(&["--set", &format!("image.digest={digest},image.tag=other")]).unwrap().contains(&image));
}

#[test]
fn values_that_the_schema_does_not_know_are_refused() {
    let objects = r#"extraObjects=[{"kind":"ConfigMap"}]"#;
    for value in [
        "serviceMonitor.enable=true",
        "serviceMonitor.interval=often",
        "image.digest=sha256:1",
        "replica=2",
        "page.on=true",
        "prometheusRule.runbookUrl=",
    ] {
        let message = rendered(&["--set", value]).unwrap_err();
        assert!(message.contains("values don't meet the specifications of the schema"), "{value}: {message}");
    }
    assert!(rendered(&["--set-json", objects]).unwrap_err().contains("apiVersion"));
}
