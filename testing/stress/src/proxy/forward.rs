//! One request through the proxy: judged, passed on or not, answered or not.

use std::sync::Arc;
use std::time::Instant;

use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderName, Response, StatusCode, header, request};
use http_body_util::BodyExt;

use super::flow::{Flow, broken, through};
use super::plan::{Fault, RequestFacts};
use super::{Logged, Shared};

/// Headers of one connection, not of what is said on it.
const OF_THE_CONNECTION: [HeaderName; 4] =
    [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH];

/// What came of a request.
type Forwarded = Response<Body>;

pub(super) async fn forward(State(shared): State<Arc<Shared>>, request: Request) -> Forwarded {
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut asked = RequestFacts::new(request.method().as_str(), &path);
    if *shared.severed.borrow() {
        return cut();
    }
    let fault = shared.plan.lock().judge(&mut asked);
    let at = Instant::now();
    let (parts, body) = request.into_parts();
    let Ok(body) = body.collect().await.map(http_body_util::Collected::to_bytes) else { return cut() };
    if asked.is_watch() && *shared.flow.borrow() == Flow::Expired && path.contains("resourceVersion=") {
        return refused(410);
    }
    // On a task of its own: what has left the controller arrives, even if the controller dies meanwhile.
    let passing = async move {
        let answer = pass(&shared, &asked, fault, parts, body).await;
        let status = if answer.status() == NO_ANSWER { 0 } else { answer.status().as_u16() };
        let line = Logged { at, asked, fault, status };
        shared.log.lock().push(line);
        answer
    };
    tokio::spawn(passing).await.unwrap_or_else(|_| cut())
}

async fn pass(
    shared: &Shared,
    asked: &RequestFacts,
    fault: Option<Fault>,
    parts: request::Parts,
    body: Bytes,
) -> Forwarded {
    let kill = || {
        shared.severed.send_replace(true);
        shared.deaths.send_modify(|deaths| *deaths += 1);
        cut()
    };
    match fault {
        Some(Fault::Lost) => return cut(),
        Some(Fault::KilledBefore) => return kill(),
        Some(Fault::Refused(status)) => return refused(status),
        Some(Fault::Held) => drop(shared.let_go.subscribe().wait_for(|may_go| *may_go).await),
        Some(Fault::AnswerLost | Fault::KilledAfter | Fault::DoneAndRefused(_)) | None => {}
    }
    let answer = upstream(shared, asked, parts, body).await;
    match fault {
        Some(Fault::AnswerLost) => cut(),
        Some(Fault::KilledAfter) => kill(),
        Some(Fault::DoneAndRefused(status)) => refused(status),
        _ => answer,
    }
}

/// Asks the API server itself; a cut where it does not answer.
async fn upstream(shared: &Shared, asked: &RequestFacts, parts: request::Parts, body: Bytes) -> Forwarded {
    let reads = parts.method == axum::http::Method::GET;
    let server = shared.readers.as_ref().filter(|_| reads).unwrap_or(&shared.upstream);
    let mut request = axum::http::Request::builder().method(parts.method).uri(asked.path.as_str());
    for (name, value) in parts.headers.iter().filter(|(name, _)| !OF_THE_CONNECTION.contains(name)) {
        request = request.header(name, value);
    }
    let Ok(request) = request.body(kube::client::Body::from(body)) else { return cut() };
    let Ok(answer) = server.send(request).await else { return cut() };
    let (parts, body) = answer.into_parts();
    let mut answer = Response::builder().status(parts.status);
    for (name, value) in parts.headers.iter().filter(|(name, _)| !OF_THE_CONNECTION.contains(name)) {
        answer = answer.header(name, value);
    }
    let body = if asked.is_watch() {
        through(body, shared.flow.subscribe(), shared.severed.subscribe())
    } else {
        match body.collect_bytes().await {
            Ok(whole) => Body::from(whole),
            Err(_) => return cut(),
        }
    };
    answer.body(body).unwrap_or_else(|_| cut())
}

/// Marks an answer that is none.
const NO_ANSWER: StatusCode = StatusCode::BAD_GATEWAY;

/// The connection breaks before an answer is there.
fn cut() -> Forwarded {
    let mut answer = Response::new(broken());
    *answer.status_mut() = NO_ANSWER;
    answer
}

/// What the API server says when it does not want to.
fn refused(status: u16) -> Forwarded {
    let reason = match status {
        409 => "Conflict",
        410 => "Expired",
        429 => "TooManyRequests",
        500 => "InternalError",
        504 => "Timeout",
        _ => "ServiceUnavailable",
    };
    let body = serde_json::json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "reason": reason, "message": format!("{status} by the proxy"), "code": status});
    let answer = Response::builder().status(status).header(header::CONTENT_TYPE, "application/json");
    let answer = if status == 429 { answer.header(header::RETRY_AFTER, "1") } else { answer };
    answer.body(Body::from(body.to_string())).unwrap_or_else(|_| cut())
}
