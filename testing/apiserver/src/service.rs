//! The server as a tower service, which is what `kube::Client::new` takes.

use std::convert::Infallible;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body::Body;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};

use crate::answer::Answer;
use crate::call::{Call, Verb};
use crate::serve::Server;
use crate::watch::watch;

/// The body of an answer.
pub type Reply = UnsyncBoxBody<Bytes, Infallible>;

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
        let mut response = response(self.code, Full::new(Bytes::from(self.body.to_string())).boxed_unsync());
        if let Some(seconds) = self.retry_after {
            response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
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
        let content_type = head.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        Call::of(&head.method, &head.uri, content_type.unwrap_or(""), body)
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
            Ok(match Call::read(request).await {
                Some(call) => server.respond(&call),
                None => Answer::unknown_path().response(),
            })
        })
    }
}
