//! Checks `why`, `simulate` and `snapshot` where they read a cluster: with the rights of their user, and without writing anything.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use serde_json::Value;
use testbed::tenants::{self, TenantNames};
use testbed::{ControlPlane, Options, polling::until, product, repository};

/// How long the controller may take, on a busy machine.
const WAIT_MAX: Duration = Duration::from_secs(120);

fn gangmatch(plane: &ControlPlane, kubeconfig: &Path, arguments: &[&str]) -> Output {
    product::plugin(plane, kubeconfig, arguments).unwrap()
}

/// Everything that it prints; it has to succeed.
fn printed(plane: &ControlPlane, kubeconfig: &Path, arguments: &[&str]) -> String {
    let output = gangmatch(plane, kubeconfig, arguments);
    let [out, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{arguments:?}: {out}{said}");
    format!("{out}{said}")
}

fn json(plane: &ControlPlane, kubeconfig: &Path, arguments: &[&str]) -> Value {
    let output = gangmatch(plane, kubeconfig, &[arguments, &["-o", "json"]].concat());
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)))
}

fn controller(plane: &ControlPlane) -> product::Controller<'_> {
    let kubeconfig = product::controller_kubeconfig(plane).unwrap();
    product::start_controller(plane, &kubeconfig, &[]).unwrap()
}

/// A machine of alice, which admits every namespace, and whose ad says more than others may know.
const SECRETS: &str = r#"
apiVersion: gangmatch.dev/v1alpha1
kind: Machine
metadata: {name: vault-host}
spec:
  attributes: {Memory: 4711, Rack: cellar-9}
  allowedNamespaces: {from: All}
  constraint: other.Type == "Job" && other.Project == "hushhush"
"#;

fn job(name: &str, spec: &str) -> String {
    format!("{{apiVersion: gangmatch.dev/v1alpha1, kind: Job, metadata: {{name: {name}}}, spec: {{{spec}}}}}")
}

#[test]
fn a_tenant_is_told_why_without_a_value_of_others_ads() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let names = TenantNames::with_prefix("why-");
    let [alice, _, carol, _] = tenants::create(&plane, &names).unwrap();
    let _controller = controller(&plane);
    let apply = |tenant: &tenants::Tenant, text: &str| {
        let kubeconfig = tenant.kubeconfig.display().to_string();
        plane.kubectl_text(&["--kubeconfig", &kubeconfig, "-n", &tenant.home, "apply", "-f", "-"], Some(text)).unwrap();
    };
    apply(&alice, SECRETS);
    apply(&carol, &job("wish", r#"constraint: 'other.Type == "Machine" && other.Memory >= 9000'"#));
    apply(&carol, &job("refused", r#"constraint: 'other.Type == "Machine" && other.Memory >= 1000'"#));
    let reason = |name: &str| {
        let path = r#"jsonpath={.status.conditions[?(@.type=="Matched")].reason}"#;
        plane.kubectl_text(&["-n", &carol.home, "get", "gmj", name, "-o", path], None)
    };
    for (name, wanted) in [("wish", "NoCandidates"), ("refused", "RefusedByOffers")] {
        until(&format!("{name} to be {wanted}"), WAIT_MAX, || Ok((reason(name)? == wanted).then_some(()))).unwrap();
        let text = printed(&plane, &carol.kubeconfig, &["why", name, "-n", &carol.home]);
        let data = json(&plane, &carol.kubeconfig, &["why", name, "-n", &carol.home]);
        assert_eq!((data["state"].as_str(), data["reason"].as_str()), (Some("Waits"), Some(wanted)), "{data}");
        assert_eq!(data["ports"][0]["offers"], 1, "the offer is counted: {data}");
        for secret in ["4711", "cellar", "hushhush", "vault", "alice", names.a.as_str()] {
            assert!(!text.contains(secret) && !data.to_string().contains(secret), "{secret} is in {text}\n{data}");
        }
        assert!(text.contains("you may not list those of other namespaces"), "{text}");
        // The same sentence as in the condition.
        let condition = plane.kubectl_text(
            &[
                "-n",
                &carol.home,
                "get",
                "gmj",
                name,
                "-o",
                r#"jsonpath={.status.conditions[?(@.type=="Matched")].message}"#,
            ],
            None,
        );
        assert_eq!(data["message"].as_str(), Some(condition.unwrap().as_str()));
    }
    // Who may read everything is told everything: the conjunct that refuses, and the number that would do.
    let all = printed(&plane, plane.kubeconfig(), &["why", "refused", "-n", &carol.home]);
    assert!(all.contains(r#"`other.Project == "hushhush"`"#) && all.contains("vault-host"), "{all}");
    let all = printed(&plane, plane.kubeconfig(), &["why", "wish", "-n", &carol.home]);
    assert!(all.contains("`other.Memory >= 9000` is not true of 1"), "{all}");

    // Alice sees her machine, and not the jobs that she may not read.
    let own = printed(&plane, &alice.kubeconfig, &["why", "machine/vault-host", "-n", &alice.home]);
    assert!(own.contains("accepts claims") && !own.contains("wish"), "{own}");
    apply(&carol, &job("taker", r#"attributes: {Project: hushhush}, constraint: 'other.Type == "Machine"'"#));
    let claimed = ["-n", &carol.home, "wait", "gmj/taker", "--for=condition=Claimed", "--timeout=120s"];
    plane.kubectl_text(&claimed, None).unwrap();
    let own = printed(&plane, &alice.kubeconfig, &["why", "machine/vault-host", "-n", &alice.home]);
    assert!(own.contains("1 claim of jobs that you may not see") && !own.contains("taker"), "{own}");
    let runs = json(&plane, &carol.kubeconfig, &["why", "taker", "-n", &carol.home]);
    assert_eq!(runs["state"], "Held", "{runs}");
    assert_eq!(runs["members"].as_str(), Some(format!("other={}/vault-host", names.a).as_str()), "{runs}");
}

/// The resourceVersions of everything of gangmatch, Events and workloads included.
fn versions(plane: &ControlPlane) -> String {
    let kinds =
        "jobs.gangmatch.dev,machines.gangmatch.dev,licenses.gangmatch.dev,matches.gangmatch.dev,jobs.batch,pods,events";
    let path = "jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {.metadata.resourceVersion}{\"\\n\"}{end}";
    plane.kubectl_text(&["get", kinds, "-A", "-o", path], None).unwrap()
}

#[test]
fn a_simulation_writes_nothing_and_a_snapshot_replays_the_cycle() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let root = repository::root();
    let example = root.join("examples/counted").display().to_string();
    plane.kubectl_text(&["apply", "-f", &example], None).unwrap();

    // What a cycle makes of the objects, before any controller has seen them.
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join("pool.json").display().to_string();
    let now = "2026-11-21T14:00:00Z";
    printed(&plane, plane.kubeconfig(), &["snapshot", "save", &file, "--now", now]);
    let first = std::fs::read(&file).unwrap();
    printed(&plane, plane.kubeconfig(), &["snapshot", "save", &file, "--now", now]);
    assert_eq!(first, std::fs::read(&file).unwrap(), "the same objects give the same bytes");
    let dump = folder.join("dump.json").display().to_string();
    let kinds = "jobs.gangmatch.dev,machines.gangmatch.dev,licenses.gangmatch.dev,matches.gangmatch.dev";
    std::fs::write(&dump, plane.kubectl_text(&["get", kinds, "-A", "-o", "json"], None).unwrap()).unwrap();
    for form in ["table", "json", "yaml"] {
        let of_snapshot = printed(&plane, plane.kubeconfig(), &["match", "--snapshot", &file, "-o", form]);
        let of_objects = printed(&plane, plane.kubeconfig(), &["match", "-f", &dump, "--now", now, "-o", form]);
        assert_eq!(of_snapshot, of_objects, "{form}");
    }
    let expected = json(&plane, plane.kubeconfig(), &["match", "--snapshot", &file]);

    let _controller = controller(&plane);
    let list = || plane.kubectl_json(&["get", "matches.gangmatch.dev", "-n", "default"]);
    let two = || Ok(Some(list()?).filter(|list| list["items"].as_array().is_some_and(|items| items.len() == 2)));
    let made = until("two Matches", WAIT_MAX, two).unwrap();
    let gangs = |list: &Value| {
        let gang = |item: &Value| {
            [&item["metadata"]["name"], &item["spec"]["summary"], &item["spec"]["rank"]].map(Value::to_string)
        };
        let mut all: Vec<_> = list["items"].as_array().unwrap().iter().map(gang).collect();
        all.sort();
        all
    };
    assert_eq!(gangs(&expected), gangs(&made), "what the controller makes of them");
    let waits = "jsonpath={.items[?(@.status.conditions[1].reason==\"WaitingForCapacity\")].metadata.name}";
    let waiting = until("the third job to wait", WAIT_MAX, || {
        let name = plane.kubectl_text(&["get", "jobs.gangmatch.dev", "-n", "default", "-o", waits], None)?;
        Ok(Some(name).filter(|name| !name.is_empty()))
    })
    .unwrap();
    let answer = json(&plane, plane.kubeconfig(), &["why", &waiting]);
    assert_eq!(answer["reason"], "WaitingForCapacity", "{answer}");
    let holders = answer["ports"][1]["takenOffers"][0]["holders"].as_array().unwrap();
    assert!(!holders.is_empty() && holders.iter().all(|holder| holder["since"].is_string()), "{answer}");

    // What if: one job that would run, and one that would not.
    let mut wanted = String::new();
    for (name, memory) in [("would", 1024), ("would-not", 999_999)] {
        wanted.push_str(&job(name, &format!("constraint: 'other.Type == \"Machine\" && other.Memory >= {memory}'")));
        wanted.push_str("\n---\n");
    }
    let machine = "{apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {name: extra}, spec: {attributes: {Memory: 2048}, constraint: true}}\n";
    let try_out = folder.join("try.yaml").display().to_string();
    std::fs::write(&try_out, wanted + &machine.replace("constraint: true", "constraint: 'true'")).unwrap();
    let settled = until("nothing to change", WAIT_MAX, || {
        let before = versions(&plane);
        std::thread::yield_now();
        Ok(Some(before.clone()).filter(|before| *before == versions(&plane)))
    })
    .unwrap();
    let found = json(&plane, plane.kubeconfig(), &["simulate", "-f", &try_out]);
    let states: Vec<_> =
        found["items"].as_array().unwrap().iter().map(|one| (&one["name"], &one["state"], &one["reason"])).collect();
    assert_eq!(
        states,
        [
            (&"would".into(), &"Matched".into(), &"GangFound".into()),
            (&"would-not".into(), &"Waits".into(), &"NoCandidates".into())
        ]
    );
    assert_eq!(found["items"][0]["members"], "other=default/extra", "{found}");
    assert_eq!(settled, versions(&plane), "nothing is written");
}
