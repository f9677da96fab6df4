//! The same requests to this server and to the real one: what counts of the answers is the same.
#![cfg(test)]

mod kubectl;
mod plain;
mod script;

use std::sync::Arc;
use std::time::Duration;

use apiserver::{Kinds, Server};
use kube::client::Body;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use plain::Plain;
use script::{STEPS, Step, TOO_LATE};
use serde_json::Value;
use testbed::{ControlPlane, Options, repository, until};

/// One who is asked.
struct Asked {
    client: Client,
    plain: Plain,
}

impl Asked {
    fn new(client: Client) -> Asked {
        Asked { client, plain: Plain::default() }
    }

    /// One step's answer, with everything taken out that has to differ.
    async fn ask(&mut self, step: &Step) -> (u16, Value) {
        let body = self.plain.filled(step.body);
        let request = http::Request::builder()
            .method(step.method)
            .uri(self.plain.filled(step.path))
            .header("content-type", step.content_type())
            .header("accept", step.accept)
            .body(Body::from(body.into_bytes()))
            .unwrap();
        let response = self.client.send(request).await.unwrap();
        let code = response.status().as_u16();
        let text = response.into_body().collect_bytes().await.unwrap();
        let text = String::from_utf8_lossy(&text).into_owned();
        let answer = match step.path.contains("watch=true") {
            true => text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect(),
            false => serde_json::from_str(&text).unwrap(),
        };
        (code, self.plain.of(step, &answer))
    }
}

fn own() -> Server {
    Server::new(Arc::new(Kinds::new()), jiff::Timestamp::now())
}

/// Where two answers to the same request differ.
fn difference(step: &Step, theirs: &(u16, Value), ours: &(u16, Value)) -> Option<String> {
    let said = |(code, body): &(u16, Value)| format!("{code} {body}");
    (theirs != ours).then(|| format!("{}\n  real: {}\n  here: {}", step.what, said(theirs), said(ours)))
}

const KINDS: [&str; 7] = ["accounts", "jobs", "licenses", "machines", "machineclasses", "matches", "poolpolicies"];

fn define_kinds(plane: &ControlPlane) {
    for kind in KINDS {
        let file = repository::root().join(format!("crds/yaml/{kind}.yaml"));
        plane.apply(&std::fs::read_to_string(file).unwrap()).unwrap();
    }
    let arguments = ["wait", "--for=condition=Established", "crd", "--all", "--timeout=60s"];
    until("the kinds", Duration::from_secs(60), || Ok(plane.kubectl_text(&arguments, None).ok())).unwrap();
}

async fn real(plane: &ControlPlane) -> Client {
    define_kinds(plane);
    let file = Kubeconfig::read_from(plane.kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    let client = Client::try_from(config).unwrap();
    // The first requests for a new kind may find that it is not served yet.
    let deadline = std::time::Instant::now() + Duration::from_secs(60);
    for kind in KINDS {
        let path = format!("/apis/gangmatch.dev/v1alpha1/{kind}");
        while client.request_text(http::Request::get(&path).body(Vec::new()).unwrap()).await.is_err() {
            assert!(std::time::Instant::now() < deadline, "{kind} are not served");
        }
    }
    client
}

#[test]
fn this_server_and_the_real_one_answer_alike() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let plane = ControlPlane::start(&Options::default()).unwrap();
    let differences = runtime.block_on(async {
        let server = own();
        let (mut real, mut own) =
            (Asked::new(real(&plane).await), Asked::new(Client::new(server.service(), "default")));
        let mut differences = Vec::new();
        for step in STEPS {
            let (theirs, ours) = (real.ask(step).await, own.ask(step).await);
            differences.extend(difference(step, &theirs, &ours));
        }
        // The real one has never kept what was before its kinds were there.
        server.compact();
        let (theirs, ours) = (real.ask(&TOO_LATE).await, own.ask(&TOO_LATE).await);
        differences.extend(difference(&TOO_LATE, &theirs, &ours));
        differences
    });
    assert!(differences.is_empty(), "{} of {}:\n{}", differences.len(), STEPS.len() + 1, differences.join("\n"));
    println!("{} requests answered alike by the real API server and by this one", STEPS.len() + 1);
}

#[test]
fn every_rule_of_our_kinds_can_be_evaluated_here() {
    /// Rules that kube-cel cannot read, by their text: of these this server knows nothing.
    const UNKNOWN: &[&str] = &[];
    let kinds = Kinds::new();
    let all: Vec<String> =
        kinds.all().filter_map(|kind| kind.schema.as_ref()).flat_map(|one| one.unreadable()).collect();
    assert_eq!(all, UNKNOWN);
    let ours = kinds.all().filter(|kind| kind.schema.is_some()).count();
    assert_eq!(ours, KINDS.len(), "all kinds of ours are served");
}
