//! The layers between the controller and the API server, through which every request goes: it is counted, waits for its turn, is
//! sent only if it may be, and ends in time.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{Method, Request, Response};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use kube::Client;
use kube::client::Body;
use kube::core::Status;
use tokio::time::{Instant, timeout};
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Layer, Service, ServiceBuilder, ServiceExt, service_fn};

use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::rights::Rights;
use crate::write::answer::{Answer, Unknown};
use crate::write::gate::{Gate, Limits};

/// A request that takes longer is given up; what it would have done is found out by looking.
const DEADLINE: Duration = Duration::from_secs(5);
/// The same for a page of a list before a watch, and for the beginning of a watch. The watch is then tried again after a pause.
pub(crate) const LIST_DEADLINE: Duration = Duration::from_secs(30);
/// The most requests under way at once; about one namespace; and about one that the server did not answer about lately: a
/// webhook that only some namespaces have may hang.
const REQUESTS: Limits = Limits { all: 32, each: 24, slow: 4 };

/// A client for all requests but watches: it writes only while this process leads.
pub(crate) fn guarded(client: &Client, leadership: Leadership, metrics: Arc<Metrics>, rights: Arc<Rights>) -> Client {
    let sends = client.clone();
    let service = ServiceBuilder::new()
        .map_response(|response: Response<Bytes>| response.map(Full::new))
        .layer(Around(Counted { metrics, rights }))
        .layer(Around(InTurn { gate: Gate::new(REQUESTS) }))
        .layer(Around(WithinTerm { leadership }))
        .service(service_fn(move |request| send(sends.clone(), request)));
    Client::new(service, client.default_namespace())
}

/// A client for watches and the lists before them: nothing is counted, and nothing but a read is sent. The answer has to begin in time,
/// and to end in time unless it is a watch. Otherwise a connection that went silent would keep a kind unlisted, and a new leader from
/// starting, until the operating system gives the connection up.
pub(crate) fn read_only(client: &Client) -> Client {
    let sends = client.clone();
    let service = service_fn(move |request: Request<Body>| {
        let sends = sends.clone();
        async move {
            if is_write(&request) {
                return Err(BoxError::from(Unknown::NotLeading));
            }
            let answered = async {
                match is_watch(&request) {
                    true => Ok(sends.send(request).await?),
                    false => Ok(send(sends, request).await?.map(Body::from)),
                }
            };
            timeout(LIST_DEADLINE, answered).await.map_err(|_| Unknown::Timeout(LIST_DEADLINE))?
        }
    });
    Client::new(service, client.default_namespace())
}

/// An answer of the server, read to its end.
type Answered = Result<Response<Bytes>, BoxError>;
/// What comes after a layer.
type InnerService = BoxCloneSyncService<Request<Body>, Response<Bytes>, BoxError>;

/// Sends a request, and reads the answer to its end.
async fn send(client: Client, request: Request<Body>) -> Answered {
    let (head, body) = client.send(request).await?.into_parts();
    Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
}

/// What a layer does with a request.
trait Pass: Clone + Send + Sync + 'static {
    fn pass(self, request: Request<Body>, next: InnerService) -> impl Future<Output = Answered> + Send;
}

/// A layer.
struct Around<P>(P);

impl<P, S> Layer<S> for Around<P>
where
    P: Pass,
    S: Service<Request<Body>, Response = Response<Bytes>, Error = BoxError> + Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
{
    type Service = InnerService;

    fn layer(&self, inner: S) -> InnerService {
        let (passes, next) = (self.0.clone(), InnerService::new(inner));
        InnerService::new(service_fn(move |request| passes.clone().pass(request, next.clone())))
    }
}

/// Counts requests by outcome, and takes in which rights are missing.
#[derive(Clone)]
struct Counted {
    metrics: Arc<Metrics>,
    rights: Arc<Rights>,
}

impl Pass for Counted {
    async fn pass(self, request: Request<Body>, next: InnerService) -> Answered {
        let (begun, kind) = (Instant::now(), if is_write(&request) { "write" } else { "read" });
        let is_create = request.method() == Method::POST;
        let under_way = self.metrics.requests.begin(kind);
        let answered = next.oneshot(request).await;
        drop(under_way);
        self.metrics.requests.ended(kind, self.outcome(&answered, is_create), begun.elapsed());
        answered
    }
}

impl Counted {
    fn outcome(&self, answered: &Answered, is_create: bool) -> &'static str {
        match answered {
            Ok(response) if response.status().is_success() => Answer::Done(()).label(),
            Ok(response) => {
                let code = response.status().as_u16();
                let status = serde_json::from_slice(response.body());
                let status = Status { code, ..status.unwrap_or_default() };
                self.rights.note(&status);
                Answer::<()>::of_status(status, is_create).label()
            }
            Err(error) => {
                let unknown = error.downcast_ref::<Unknown>().cloned();
                Answer::<()>::Unknown(unknown.unwrap_or(Unknown::Other(String::new()))).label()
            }
        }
    }
}

/// Limits how many requests are under way at once, with turns round robin over namespaces.
#[derive(Clone)]
struct InTurn {
    gate: Gate,
}

impl Pass for InTurn {
    async fn pass(self, request: Request<Body>, next: InnerService) -> Answered {
        let namespace = namespace(request.uri().path()).to_owned();
        let Some(_turn) = self.gate.turn(&namespace).await else {
            return Err(Unknown::Other("shutting down".to_owned()).into());
        };
        let answered = next.oneshot(request).await;
        match answered.as_ref().err().and_then(|error| error.downcast_ref::<Unknown>()) {
            Some(Unknown::NotLeading) => {}
            Some(Unknown::Timeout(_)) => self.gate.answered(&namespace, false),
            _ => self.gate.answered(&namespace, true),
        }
        answered
    }
}

/// Only the leader writes, and only as long as it is sure to be it: whether it is, is asked when the request's turn has come, and
/// the request ends with the term.
#[derive(Clone)]
struct WithinTerm {
    leadership: Leadership,
}

impl Pass for WithinTerm {
    async fn pass(self, request: Request<Body>, next: InnerService) -> Answered {
        let limit = match is_write(&request) {
            false => DEADLINE,
            true => self.leadership.current().ok_or(Unknown::NotLeading)?.1.min(DEADLINE),
        };
        timeout(limit, next.oneshot(request)).await.map_err(|_| Unknown::Timeout(limit))?
    }
}

/// Whether a request begins a watch.
pub(crate) fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"))
}

fn is_write(request: &Request<Body>) -> bool {
    request.method() != Method::GET
}

/// The namespace that a path is about; "" if it is about none.
fn namespace(path: &str) -> &str {
    let mut segments = path.split('/').skip_while(|segment| *segment != "namespaces");
    segments.nth(1).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server answers through the layers, as a client sees it, and what was counted.
    fn client(leadership: &Leadership, code: u16) -> (Client, Arc<Metrics>) {
        let answers = service_fn(move |_: Request<Body>| async move {
            let body = format!(r#"{{"code": {code}, "message": "m", "reason": "r"}}"#);
            Response::builder().status(code).body(Full::new(Bytes::from(body)))
        });
        let metrics = Arc::<Metrics>::default();
        let client = guarded(&Client::new(answers, "ns"), leadership.clone(), metrics.clone(), Arc::default());
        (client, metrics)
    }

    fn request(method: Method) -> Request<Vec<u8>> {
        Request::builder().method(method).uri("/api/v1/namespaces/ns/pods").body(Vec::new()).unwrap()
    }

    async fn answer(client: &Client, method: Method) -> Answer<String> {
        Answer::of(client.request_text(request(method)).await)
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_written_but_by_the_leader() {
        let leadership = Leadership::standby();
        let (client, metrics) = client(&leadership, 200);
        assert!(matches!(answer(&client, Method::GET).await, Answer::Done(_)));
        for method in [Method::POST, Method::PATCH, Method::PUT, Method::DELETE] {
            assert!(matches!(answer(&client, method).await, Answer::Unknown(Unknown::NotLeading)));
        }
        leadership.set(7, Instant::now() + Duration::from_secs(1));
        assert!(matches!(answer(&client, Method::PATCH).await, Answer::Done(_)));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(matches!(answer(&client, Method::PATCH).await, Answer::Unknown(Unknown::NotLeading)));
        let text = metrics.text();
        for line in [
            "gangmatch_requests_total{kind=\"read\",outcome=\"done\"} 1",
            "gangmatch_requests_total{kind=\"write\",outcome=\"fenced\"} 5",
            "gangmatch_requests_total{kind=\"write\",outcome=\"done\"} 1",
            "gangmatch_requests_in_flight{kind=\"write\"} 0",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}\n{text}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_ends_with_its_deadline_or_with_the_term() {
        let hangs = service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Full<Bytes>>, BoxError>>());
        let leadership = Leadership::standby();
        let client = guarded(&Client::new(hangs, "ns"), leadership.clone(), Arc::default(), Arc::default());
        let begun = Instant::now();
        assert!(matches!(answer(&client, Method::GET).await, Answer::Unknown(Unknown::Timeout(DEADLINE))));
        assert_eq!(begun.elapsed().as_secs(), DEADLINE.as_secs());
        leadership.set(7, Instant::now() + Duration::from_secs(2));
        let begun = Instant::now();
        assert!(matches!(answer(&client, Method::POST).await, Answer::Unknown(Unknown::Timeout(_))));
        assert_eq!(begun.elapsed().as_secs(), 2);
    }

    #[tokio::test]
    async fn refusals_are_counted_and_passed_on() {
        let (client, metrics) = client(&Leadership::alone(), 403);
        assert!(matches!(answer(&client, Method::PATCH).await, Answer::Unknown(Unknown::Rejected(_))));
        let text = metrics.text();
        assert!(text.contains("outcome=\"unknown\"} 1"), "{text}");
    }

    #[tokio::test]
    async fn watches_do_not_write() {
        let answers =
            service_fn(|_: Request<Body>| async { Ok::<_, BoxError>(Response::new(Full::new(Bytes::new()))) });
        let client = read_only(&Client::new(answers, "ns"));
        assert!(matches!(answer(&client, Method::GET).await, Answer::Done(_)));
        assert!(matches!(answer(&client, Method::POST).await, Answer::Unknown(Unknown::NotLeading)));
    }

    #[test]
    fn a_path_names_its_namespace() {
        assert_eq!(namespace("/apis/gangmatch.dev/v1alpha1/namespaces/a/jobs/j/status"), "a");
        assert_eq!(namespace("/apis/gangmatch.dev/v1alpha1/machineclasses/namespaces2"), "");
        assert_eq!(namespace("/api/v1/pods"), "");
    }
}
