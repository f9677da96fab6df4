//! What the page asks of the API server, for whom, and when: played by one that counts.

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, State};
use axum::http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use kube::Client;
use parking_lot::Mutex;
use pool::{OwnerTrust, WorkloadScope};
use serde_json::{Value, json};
use tokio::time::Instant;
use tower::service_fn;

use super::server::{PageServer, Peer, Source, handle};
use crate::cache::Cache;
use crate::clock::Clock;
use crate::probes::Health;
use crate::testing::fixtures::{found, license, world};

/// How long the API server takes for an answer.
const ANSWERS_IN: Duration = Duration::from_millis(3);

/// What the API server was asked: users of tokens, and resources in namespaces.
#[derive(Default)]
struct Asked {
    tokens: usize,
    rights: Vec<(String, String)>,
}

/// An API server that knows the tokens `USER/ANYTHING`. Users may list what is said of them: user, resource, namespace.
#[derive(Clone, Default)]
struct Api {
    asked: Arc<Mutex<Asked>>,
    may: Vec<(&'static str, &'static str, &'static str)>,
}

impl Api {
    fn client(&self) -> Client {
        let api = self.clone();
        let answer = move |request: Request<kube::client::Body>| {
            let api = api.clone();
            async move {
                let body = request.into_body().collect().await.unwrap().to_bytes();
                let answer = api.answer(serde_json::from_slice(&body).unwrap());
                tokio::time::sleep(ANSWERS_IN).await;
                Ok::<_, Infallible>(Response::new(Full::new(serde_json::to_vec(&answer).unwrap().into())))
            }
        };
        Client::new(service_fn(answer), "ns")
    }

    fn answer(&self, mut review: Value) -> Value {
        let spec = review["spec"].clone();
        let mut asked = self.asked.lock();
        review["status"] = if let Some(token) = spec["token"].as_str() {
            asked.tokens += 1;
            let (user, rest) = token.split_once('/').unwrap_or_default();
            let user = json!({"username": user, "extra": {"authentication.kubernetes.io/credential-id": [rest]}});
            json!({"authenticated": user["username"] != "", "user": user})
        } else {
            let text = |field: &str| spec["resourceAttributes"][field].as_str().unwrap_or_default().to_owned();
            let (user, resource, namespace) = (spec["user"].as_str().unwrap(), text("resource"), text("namespace"));
            let allowed = self.may.contains(&(user, resource.as_str(), namespace.as_str()));
            asked.rights.push((resource, namespace));
            json!({"allowed": allowed})
        };
        review
    }

    /// What was asked about rights since the last time, in order.
    fn rights(&self) -> Vec<(String, String)> {
        let mut all = std::mem::take(&mut self.asked.lock().rights);
        all.sort();
        all
    }
}

/// A job in `ns`, claimed by a gang with its Machine in `a` and its License in `b`; and a License in each of so many other namespaces.
fn server(api: &Api, others: usize) -> Arc<PageServer> {
    let cache = Arc::new(Cache::new(OwnerTrust::Stamped, WorkloadScope::Everywhere));
    cache.update(|objects| {
        *objects = world(&json!({"decision": "Committed"}));
        let mut gang = found(&json!({"decision": "Committed"}));
        for (member, namespace) in gang.spec.members.iter_mut().zip(["ns", "a", "b"]) {
            namespace.clone_into(&mut member.namespace);
        }
        objects.matches.put(gang);
        for number in 0..others {
            let mut license = license(&json!({}), &json!({}));
            license.metadata.namespace = Some(format!("other-{number:03}"));
            objects.licenses.put(license);
        }
    });
    let health = Health::new();
    health.set_ready();
    let source = Source { cache, health, clock: Clock::system(), kubeconfig: None, identity: "page".to_owned() };
    Arc::new(PageServer::new(source, api.client()))
}

/// What the page answers to a token from an address: the status, and the text.
async fn get(server: &Arc<PageServer>, path: &str, token: &str, from: u32) -> (StatusCode, String) {
    let request = Request::builder().uri(path).header("Authorization", format!("Bearer {token}"));
    send(server, request.body(Body::empty()).unwrap(), from).await
}

async fn send(server: &Arc<PageServer>, request: Request<Body>, from: u32) -> (StatusCode, String) {
    let peer = Peer(IpAddr::V4(Ipv4Addr::from(from)));
    let response = handle(State(server.clone()), ConnectInfo(peer), request).await;
    let status = response.status();
    let text = to_bytes(response.into_body(), 1 << 22).await.unwrap();
    (status, String::from_utf8(text.to_vec()).unwrap())
}

/// What a request to a page that has just started is answered, what that asks about rights, and how long it takes.
async fn at_first(api: &Api, path: &str) -> ((StatusCode, String), Vec<(String, String)>, Duration) {
    let (server, begun) = (server(api, 0), Instant::now());
    let answer = get(&server, path, "carol/1", 1).await;
    (answer, api.rights(), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_job_that_one_may_not_see_is_asked_about_like_none() {
    let api = Api { may: vec![("carol", "jobs", "c"), ("carol", "matches", "ns")], ..Api::default() };
    let there = at_first(&api, "/job?namespace=ns&name=job").await;
    assert_eq!((there.0.0, there.1.len()), (StatusCode::NOT_FOUND, 8), "each kind in the cluster and in the namespace");
    assert_eq!(there, at_first(&api, "/job?namespace=ns&name=none").await);
    let api = Api { may: vec![("carol", "jobs", "ns")], ..Api::default() };
    let of_job = at_first(&api, "/job?namespace=ns&name=job").await;
    assert_eq!((of_job.0.0, of_job.1), (StatusCode::OK, there.1.clone()), "the gang is not asked about");
    let gang = at_first(&api, "/match?namespace=ns&name=match").await;
    assert_eq!((gang.0.0, &gang.1), (StatusCode::NOT_FOUND, &there.1));
    assert_eq!(gang, at_first(&api, "/match?namespace=ns&name=none").await);
}

#[tokio::test(start_paused = true)]
async fn who_may_see_a_gang_is_asked_about_the_namespaces_of_its_members() {
    let api = Api {
        may: vec![("carol", "jobs", "ns"), ("carol", "matches", "ns"), ("carol", "machines", "a")],
        ..Api::default()
    };
    for path in ["/job?namespace=ns&name=job", "/match?namespace=ns&name=match"] {
        let ((status, text), asked, _) = at_first(&api, path).await;
        assert_eq!((status, asked.len()), (StatusCode::OK, 10), "{asked:?}");
        for (resource, namespace) in [("machines", "a"), ("licenses", "b")] {
            assert!(asked.contains(&(resource.to_owned(), namespace.to_owned())), "{asked:?}");
        }
        assert!(text.contains("offer?kind=machine") && !text.contains("offer?kind=license"), "{text}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_tells_nothing_of_namespaces_that_one_may_not_see() {
    let mut seen = Vec::new();
    for others in [0, 60] {
        let api = Api { may: vec![("carol", "jobs", "ns")], ..Api::default() };
        let server = server(&api, others);
        let begun = Instant::now();
        let (status, list) = get(&server, "/jobs", "carol/1", 1).await;
        let took = begun.elapsed();
        assert_eq!((status, api.rights().len() > 60), (StatusCode::OK, others > 0));
        assert!(list.contains("name=job"), "{list}");
        // A namespace with objects, about which the list has asked, and one without.
        let mut named = Vec::new();
        for namespace in ["other-001", "absent"] {
            let begun = Instant::now();
            let (status, text) = get(&server, &format!("/licenses?namespace={namespace}"), "carol/1", 1).await;
            let asked: Vec<String> = api.rights().into_iter().map(|(resource, _)| resource).collect();
            named.push((status, text.replace(namespace, "N"), asked, begun.elapsed()));
        }
        assert_eq!(named[0].2, ["jobs", "licenses", "machines", "matches"], "asked anew");
        assert_eq!(named[0], named[1]);
        // How much may still be asked.
        let mut left = 0;
        while get(&server, &format!("/licenses?namespace=n{left}"), "carol/1", 1).await.0 == StatusCode::OK {
            left += 1;
        }
        // The list is believed as a whole.
        api.rights();
        seen.push((took, left));
    }
    assert_eq!(seen[0], seen[1]);
    assert!(seen[0].1 > 5);
}

#[tokio::test(start_paused = true)]
async fn many_tokens_of_one_service_account_are_one_viewer() {
    let api = Api::default();
    let server = server(&api, 0);
    let mut admitted = 0;
    for number in 0..12 {
        for request in 0..5 {
            let token = format!("system:serviceaccount:a:robot{}/{number}", number % 3);
            let (status, _) = get(&server, &format!("/jobs?namespace=n{number}-{request}"), &token, number).await;
            admitted += usize::from(status != StatusCode::TOO_MANY_REQUESTS);
        }
    }
    assert!((30..40).contains(&admitted), "{admitted}");
    let begun = Instant::now();
    let (status, text) = get(&server, "/jobs?namespace=mine", "alice/1", 99).await;
    assert_eq!(status, StatusCode::OK, "{text}");
    assert!(begun.elapsed() < Duration::from_millis(100), "nobody waits for others");
}

#[tokio::test(start_paused = true)]
async fn who_asks_too_much_is_refused_at_once_and_others_are_not() {
    let api = Api::default();
    let server = server(&api, 0);
    let mut refused = 0;
    for tenant in 0..40 {
        for request in 0..30 {
            let begun = Instant::now();
            let (path, token) = (format!("/jobs?namespace=n{request}"), format!("robot{tenant}/1"));
            let (status, _) = get(&server, &path, &token, tenant).await;
            refused += usize::from(status == StatusCode::SERVICE_UNAVAILABLE);
            assert!(begun.elapsed() < Duration::from_millis(100), "it waits for nothing but answers");
        }
    }
    assert!(refused > 0, "there is a limit");
    assert_eq!(get(&server, "/jobs?namespace=mine", "alice/1", 99).await.0, StatusCode::OK);
}

#[tokio::test(start_paused = true)]
async fn random_tokens_keep_nobody_out() {
    let api = Api::default();
    let server = server(&api, 0);
    assert_eq!(get(&server, "/jobs?namespace=mine", "alice/1", 1).await.0, StatusCode::OK);
    tokio::time::advance(Duration::from_secs(31)).await;
    let flood = |from: u32| {
        let server = server.clone();
        async move {
            for number in 0..100 {
                get(&server, "/jobs", &format!("random-{from}-{number}"), from).await;
            }
        }
    };
    flood(2).await;
    assert_eq!(get(&server, "/jobs?namespace=mine", "bob/1", 3).await.0, StatusCode::OK, "a new token from elsewhere");
    for from in 4..40 {
        flood(from).await;
    }
    assert_eq!(get(&server, "/jobs?namespace=mine", "dave/1", 50).await.0, StatusCode::TOO_MANY_REQUESTS);
    let asked = api.asked.lock().tokens;
    assert!(asked < 100, "{asked}");
    assert_eq!(get(&server, "/jobs?namespace=mine", "alice/1", 1).await.0, StatusCode::OK, "known, and reviewed again");
    assert_eq!(api.asked.lock().tokens, asked + 1);
}

#[tokio::test(start_paused = true)]
async fn forms_that_never_end_take_no_place() {
    let server = server(&Api::default(), 0);
    for _ in 0..200 {
        let body =
            StreamBody::new(futures::stream::pending::<Result<http_body::Frame<axum::body::Bytes>, Infallible>>());
        let request = Request::builder().method("POST").uri("/session").body(Body::new(body)).unwrap();
        let server = server.clone();
        tokio::spawn(async move { send(&server, request, 1).await });
    }
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(get(&server, "/jobs?namespace=mine", "alice/1", 2).await.0, StatusCode::OK);
}
