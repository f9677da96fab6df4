//! A stream of watch events into one that freezes, breaks off, or goes on.

use axum::body::{Body, Bytes};
use futures::StreamExt;
use http_body_util::BodyExt;
use tokio::sync::watch;

/// What becomes of watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Events come through.
    Open,
    /// Connections stay, and nothing comes through any more.
    Frozen,
    /// Connections break; new ones are taken.
    Cut,
    /// Connections break, and whoever wants to go on where he was is told that this is too long ago.
    Expired,
}

/// The same bytes, as far as the flow lets them.
pub(super) fn through(body: kube::client::Body, flow: watch::Receiver<Flow>, severed: watch::Receiver<bool>) -> Body {
    let chunks = body.into_data_stream().map(|chunk| chunk.map_err(std::io::Error::other));
    let stream =
        futures::stream::unfold((Box::pin(chunks), flow, severed), |(mut chunks, mut flow, mut severed)| async move {
            loop {
                let now = *flow.borrow_and_update();
                if *severed.borrow_and_update() || matches!(now, Flow::Cut | Flow::Expired) {
                    return Some((Err(std::io::Error::other("cut")), (chunks, flow, severed)));
                }
                tokio::select! {
                    chunk = chunks.next(), if now == Flow::Open => return Some((chunk?, (chunks, flow, severed))),
                    changed = flow.changed() => changed.ok()?,
                    changed = severed.changed() => changed.ok()?,
                }
            }
        });
    Body::from_stream(stream)
}

/// A body that breaks off at once: the connection with it.
pub(super) fn broken() -> Body {
    let breaks = futures::stream::once(std::future::ready(Err::<Bytes, _>(std::io::Error::other("cut"))));
    Body::from_stream(breaks)
}
