//! What etcd has stored into an audit, from the first revision on and as it comes.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use auditor::{Audit, Change, Invariant, Key, Object, Violation};
use axum::http::Request;
use futures::StreamExt;
use http_body_util::BodyExt;
use k8s_openapi::ByteString;
use kube::{Client, Config};
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::watch;

/// What is read: everything of ours, and what works for claims. One range, since one watch tells all in one order; what lies between
/// `gangmatch.dev`, `jobs` and `pods` is passed over.
const PREFIX: &str = "/registry/gangmatch.dev/";
/// The end of that range, as etcd counts.
const PREFIX_END: &str = "/registry/pods0";
/// A key of nobody's in that range: when it comes by, everything before it has.
const MARK: &str = "/registry/gangmatch.dev/!";
/// The pause before etcd is asked again after it went away.
const PAUSE: Duration = Duration::from_millis(100);
/// How long etcd may take to show what it has stored.
const CATCH_UP_MAX: Duration = Duration::from_secs(30);

/// Reads along.
pub struct Follower {
    client: Client,
    audit: Arc<Mutex<Audit>>,
    seen: watch::Receiver<i64>,
}

impl Follower {
    /// Begins with revision 1. Nothing must have been compacted: API servers do that every five minutes unless they are told
    /// not to.
    ///
    /// # Errors
    /// When that is no address.
    pub fn start(etcd: &str) -> Result<Follower> {
        let mut config = Config::new(etcd.parse()?);
        config.default_retry = false;
        let client = Client::try_from(config)?;
        let audit = Arc::<Mutex<Audit>>::default();
        let (seen_by_us, seen) = watch::channel(0);
        tokio::spawn(follow(client.clone(), audit.clone(), seen_by_us));
        Ok(Follower { client, audit, seen })
    }

    /// The audit as it stands.
    pub fn audit(&self) -> MutexGuard<'_, Audit> {
        locked(&self.audit)
    }

    /// Waits until everything that is stored now has been looked at.
    ///
    /// # Errors
    /// When etcd does not answer for a long time.
    pub async fn catch_up(&self) -> Result<()> {
        self.catch_up_within(CATCH_UP_MAX).await
    }

    /// The same for long histories.
    ///
    /// # Errors
    /// When it takes longer.
    pub async fn catch_up_within(&self, limit: Duration) -> Result<()> {
        let mut seen = self.seen.clone();
        let caught = async {
            let mark = loop {
                match self.put_mark().await {
                    Ok(revision) => break revision,
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            };
            seen.wait_for(|seen| *seen >= mark).await.map(|_| ()).context("nobody reads etcd any more")
        };
        tokio::time::timeout(limit, caught).await.context("etcd does not show what it has stored")?
    }

    async fn put_mark(&self) -> Result<i64> {
        let body = json!({"key": coded(MARK), "value": coded("")});
        let request = Request::post("/v3/kv/put").body(kube::client::Body::from(body.to_string().into_bytes()))?;
        let answer = self.client.send(request).await?.into_body().collect_bytes().await?;
        number(&serde_json::from_slice(&answer)?, "/header/revision").context("etcd stored nothing")
    }
}

async fn follow(client: Client, audit: Arc<Mutex<Audit>>, seen: watch::Sender<i64>) {
    loop {
        let next = *seen.borrow() + 1;
        if let Err(error) = read_from(&client, next, &audit, &seen).await
            && error.is::<Compacted>()
        {
            locked(&audit).unreadable(unreadable(
                next,
                Key::new(auditor::ObjectKind::Match, "", ""),
                &error.to_string(),
            ));
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Reads from a revision on, until the connection breaks.
async fn read_from(client: &Client, from: i64, audit: &Mutex<Audit>, seen: &watch::Sender<i64>) -> Result<()> {
    let wish = json!({"create_request":
        {"key": coded(PREFIX), "range_end": coded(PREFIX_END), "start_revision": from.to_string()}});
    let request = Request::post("/v3/watch").body(kube::client::Body::from(wish.to_string().into_bytes()))?;
    let mut chunks = client.send(request).await?.into_body().into_data_stream();
    let mut lines = Lines::default();
    while let Some(chunk) = chunks.next().await {
        lines.feed(&chunk?, |line| take(&serde_json::from_slice(line)?, audit, seen))?;
    }
    Ok(())
}

/// Chunks of a stream into its lines. Each byte is looked at once: a line may be many chunks long, and a chunk many lines.
#[derive(Default)]
struct Lines {
    begun: Vec<u8>,
}

impl Lines {
    fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        for part in chunk.split_inclusive(|byte| *byte == b'\n') {
            match (part.ends_with(b"\n"), self.begun.is_empty()) {
                (true, true) => each(part)?,
                (true, false) => {
                    self.begun.extend_from_slice(part);
                    each(&std::mem::take(&mut self.begun))?;
                }
                (false, _) => self.begun.extend_from_slice(part),
            }
        }
        Ok(())
    }
}

fn take(line: &Value, audit: &Mutex<Audit>, seen: &watch::Sender<i64>) -> Result<()> {
    if let Some(revision) = number(line, "/result/compact_revision") {
        bail!(Compacted(revision));
    }
    for event in line.pointer("/result/events").and_then(Value::as_array).into_iter().flatten() {
        let revision = number(event, "/kv/mod_revision").context("an event without a revision")?;
        if let Some(key) = Key::of_path(&text(event, "/kv/key")?) {
            match changed(event, key.clone(), revision) {
                Ok(change) => locked(audit).take(&change),
                Err(why) => locked(audit).unreadable(unreadable(revision, key, &why)),
            }
        }
        seen.send_replace(revision);
    }
    Ok(())
}

fn changed(event: &Value, key: Key, revision: i64) -> Result<Change, String> {
    if event.pointer("/type").and_then(Value::as_str) == Some("DELETE") {
        return Ok(Change::delete(revision, key));
    }
    let stored = decoded(event, "/kv/value").map_err(|error| error.to_string())?;
    Ok(Change::put(revision, key.clone(), Object::read(key.kind, &stored, revision)?))
}

fn unreadable(revision: i64, key: Key, why: &str) -> Violation {
    Violation { invariant: Invariant::Readable, revision, key, what: why.to_owned() }
}

/// Revisions before this one are gone.
#[derive(Debug)]
struct Compacted(i64);

impl std::fmt::Display for Compacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "etcd was compacted at revision {}: what was before cannot be audited", self.0)
    }
}

impl std::error::Error for Compacted {}

fn coded(plain: &str) -> Value {
    json!(ByteString(plain.as_bytes().to_vec()))
}

fn decoded(value: &Value, path: &str) -> Result<Vec<u8>> {
    let coded = value.pointer(path).with_context(|| format!("an event without {path}"))?;
    Ok(serde_json::from_value::<ByteString>(coded.clone())?.0)
}

fn text(value: &Value, path: &str) -> Result<String> {
    Ok(String::from_utf8(decoded(value, path)?)?)
}

fn number(value: &Value, path: &str) -> Option<i64> {
    value.pointer(path)?.as_str()?.parse().ok()
}

fn locked(audit: &Mutex<Audit>) -> MutexGuard<'_, Audit> {
    audit.lock()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_become_lines_wherever_they_are_cut() {
        let text = b"one\ntwo\n\nthree and more\nnot yet";
        for length in 1..=text.len() {
            let (mut lines, mut all) = (Lines::default(), Vec::new());
            for chunk in text.chunks(length) {
                let taken = lines.feed(chunk, |line| {
                    all.push(String::from_utf8_lossy(line).into_owned());
                    Ok(())
                });
                taken.unwrap();
            }
            assert_eq!(all, ["one\n", "two\n", "\n", "three and more\n"], "{length}");
            assert_eq!(lines.begun, b"not yet");
        }
    }
}
