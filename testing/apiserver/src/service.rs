//! The server as a tower service, which is what `kube::Client::new` takes.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::request::Parts;
use http::{Method, Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::{Call, Verb};
use crate::discovery::{self, AGGREGATED};
use crate::openapi;
use crate::reviews;
use crate::serve::Server;
use crate::watch::watch;

/// The body of an answer.
pub type Reply = UnsyncBoxBody<Bytes, Infallible>;

/// The user who asks, as an extension of a request.
#[derive(Clone, Debug)]
pub struct UserName(pub String);

/// The server, asked by HTTP.
#[derive(Clone)]
pub struct Service(Server);

impl Server {
    /// The server as a service for `kube::Client::new`.
    #[must_use]
    pub fn service(&self) -> Service {
        Service(self.clone())
    }

    /// Answers a call by HTTP; a watch by a stream that goes on.
    #[must_use]
    pub fn respond(&self, call: &Call) -> Response<Reply> {
        if call.verb != Verb::Watch {
            return self.answer(call).response();
        }
        match watch(self, call) {
            Ok(lines) => response(200, StreamBody::new(lines).boxed_unsync()),
            Err(answer) => answer.response(),
        }
    }
}

impl Answer {
    /// The answer as HTTP has it.
    #[must_use]
    pub fn response(&self) -> Response<Reply> {
        let text = self.body.as_str().map_or_else(|| self.body.to_string(), str::to_owned);
        let mut response = response(self.code, Full::new(Bytes::from(text)).boxed_unsync());
        let form = match (self.body.is_string(), self.body.get("kind").and_then(Value::as_str)) {
            (true, _) => "text/plain",
            (false, Some("APIGroupDiscoveryList")) => AGGREGATED,
            _ => "application/json",
        };
        response.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(form));
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
        }
        for warning in &self.warnings {
            let quoted = format!("299 - \"{}\"", warning.replace('\\', "\\\\").replace('"', "\\\""));
            if let Ok(header) = http::HeaderValue::from_str(&quoted) {
                response.headers_mut().append(http::header::WARNING, header);
            }
        }
        response
    }
}

fn response(code: u16, body: Reply) -> Response<Reply> {
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    response
}

impl Call {
    /// Reads a request to its end; `None` for what no API server would serve.
    pub async fn read<B>(request: Request<B>) -> Option<Call>
    where
        B: Body<Data = Bytes> + Send + 'static,
    {
        let (head, body) = request.into_parts();
        let body = body.collect().await.ok()?.to_bytes();
        Call::of_head(&head, body)
    }

    fn of_head(head: &Parts, body: Bytes) -> Option<Call> {
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let call = Call::of(&head.method, &head.uri, header(http::header::CONTENT_TYPE), body)?;
        let user = head.extensions.get::<UserName>().map(|user| user.0.clone()).unwrap_or_default();
        Some(Call { accept: header(http::header::ACCEPT).to_owned(), user, ..call })
    }
}

impl<B> tower::Service<Request<B>> for Service
where
    B: Body<Data = Bytes> + Send + 'static,
{
    type Response = Response<Reply>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Reply>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let Ok(body) = body.collect().await else { return Ok(Answer::unknown_path().response()) };
            let about = Some(head.uri.path()).filter(|_| head.method == Method::GET).and_then(|path| {
                discovery::answer(&server.kinds, path, &head.headers).or_else(|| openapi::answer(&server.kinds, path))
            });
            let answer =
                |call: &Call| reviews::answer(call).map_or_else(|| server.respond(call), |said| said.response());
            Ok(match (about, Call::of_head(&head, body.to_bytes())) {
                (Some(about), _) => about.response(),
                (None, Some(call)) => answer(&call),
                (None, None) => Answer::unknown_path().response(),
            })
        })
    }
}
