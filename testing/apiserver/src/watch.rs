//! A watch into a stream of lines: what has changed since a revision, then what changes.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http_body::Frame;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::answer::Answer;
use crate::call::Call;
use crate::kinds::Kind;
use crate::object::meta;
use crate::select::Selector;
use crate::serve::Server;
use crate::store::{Event, stamp};
use crate::table::{Wish, without_header};

/// How often those who watch are told how far they are, though nothing has changed for them; and how long before the end.
const BOOKMARKS: Duration = Duration::from_secs(60);
const BEFORE_END: Duration = Duration::from_secs(2);
/// How long a watch lasts for which nobody says how long.
const LONG: u64 = 1800;

struct Watching {
    server: Server,
    newest: watch::Receiver<i64>,
    /// What is watched: kind, namespace or all, selected objects.
    kind: Arc<Kind>,
    namespace: String,
    selector: Selector,
    /// Whether each object comes as a table of one row, and whether a table with a header was sent.
    table: Option<(Wish, bool)>,
    /// Everything up to here has been told.
    told: i64,
    bookmark_at: Option<Instant>,
    end: Instant,
    lines: VecDeque<Bytes>,
}

/// The lines, or why there are none.
pub(crate) fn watch(
    server: &Server,
    call: &Call,
) -> Result<impl Stream<Item = Result<Frame<Bytes>, Infallible>> + Send + use<>, Answer> {
    let kind = server.kind_of(call).ok_or_else(Answer::unknown_path)?;
    let selector = Selector::of(call).ok_or_else(|| Answer::bad_request("this selector is not served here"))?;
    let now = Instant::now();
    let seconds = call.asks("timeoutSeconds").parse().unwrap_or(LONG);
    let mut watching = Watching {
        server: server.clone(),
        newest: server.newest.subscribe(),
        kind: kind.clone(),
        namespace: if kind.namespaced { call.namespace.clone() } else { String::new() },
        selector,
        table: Wish::of(call).map(|wish| (wish, false)),
        told: server.revision(),
        bookmark_at: (call.asks("allowWatchBookmarks") == "true").then(|| now + BOOKMARKS),
        end: now + Duration::from_secs(seconds),
        lines: VecDeque::new(),
    };
    match call.asks("resourceVersion") {
        _ if call.asks("sendInitialEvents") == "true" => {
            watching.begin();
            let end = watching.bookmark(&json!({"k8s.io/initial-events-end": "true"}));
            watching.lines.push_back(end);
        }
        "" | "0" => watching.begin(),
        version => match version.parse::<i64>() {
            Ok(from) => watching.resume(from),
            Err(_) => return Err(Answer::bad_request("invalid resource version")),
        },
    }
    Ok(futures::stream::unfold(watching, async |mut watching| {
        let line = watching.next().await?;
        Some((Ok(Frame::data(line)), watching))
    }))
}

impl Watching {
    /// Everything that is there comes as if it were new.
    fn begin(&mut self) {
        let all: Vec<Value> = self.server.look(|store| {
            let stored = store.list(&self.kind.storage(), &self.namespace);
            let shown = stored.into_iter().map(|(_, object)| self.kind.shown(object));
            shown.filter(|object| self.selector.takes(object)).map(Cow::into_owned).collect()
        });
        for object in all {
            let line = self.line("ADDED", &object);
            self.lines.push_back(line);
        }
    }

    /// Goes on where another watch or a list has ended.
    fn resume(&mut self, from: i64) {
        let compacted = self.server.look(|store| store.compacted());
        if from < compacted {
            self.lines.push_back(line("ERROR", &Answer::expired(from, compacted).body));
            self.end = Instant::now();
        }
        self.told = from;
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if Instant::now() >= self.end {
                return None;
            }
            self.newest.borrow_and_update();
            self.gather();
            if !self.lines.is_empty() {
                continue;
            }
            let bookmark_at = self.bookmark_at.unwrap_or(self.end).min(self.end - BEFORE_END).max(Instant::now());
            let wakes_at = if self.bookmark_at.is_some() { bookmark_at } else { self.end };
            tokio::select! {
                changed = self.newest.changed() => changed.ok()?,
                () = sleep_until(wakes_at) => self.remind(),
            }
        }
    }

    /// Says how far those who watch are.
    fn remind(&mut self) {
        if self.bookmark_at.is_none() {
            return;
        }
        let now = Instant::now();
        self.bookmark_at = (now + BEFORE_END < self.end).then(|| now + BOOKMARKS);
        let bookmark = self.bookmark(&Value::Null);
        self.lines.push_back(bookmark);
    }

    /// The revision up to which everything was sent.
    fn bookmark(&self, annotations: &Value) -> Bytes {
        let mut metadata = json!({"resourceVersion": self.told.to_string(), "creationTimestamp": null});
        if let (Some(fields), false) = (metadata.as_object_mut(), annotations.is_null()) {
            fields.insert("annotations".to_owned(), annotations.clone());
        }
        let object = json!({"kind": self.kind.name, "apiVersion": self.kind.api_version(), "metadata": metadata});
        line("BOOKMARK", &object)
    }

    fn gather(&mut self) {
        for event in self.server.changes_since(self.told) {
            self.told = event.revision;
            let here = self.namespace.is_empty() || event.key.namespace == self.namespace;
            if event.key.resource == self.kind.storage() && here {
                let told = self.tell(&event);
                self.lines.extend(told);
            }
        }
    }

    /// A change, as it is to whoever sees only what is selected.
    fn tell(&mut self, event: &Event) -> Option<Bytes> {
        let selected = |object: &Option<Arc<Value>>| {
            let shown = self.kind.shown(object.as_ref()?).into_owned();
            Some(shown).filter(|object| self.selector.takes(object) && !meta(object, "name").is_empty())
        };
        match (selected(&event.before), selected(&event.after)) {
            (None, Some(after)) => Some(self.line("ADDED", &after)),
            (Some(_), Some(after)) => Some(self.line("MODIFIED", &after)),
            (Some(mut last), None) => {
                stamp(&mut last, event.revision);
                Some(self.line("DELETED", &last))
            }
            (None, None) => None,
        }
    }

    /// A change of an object, in the form that was asked for.
    fn line(&mut self, change: &str, object: &Value) -> Bytes {
        let Some((wish, has_header)) = &mut self.table else { return line(change, object) };
        let table = wish.single(&self.kind, object, self.server.now());
        line(change, &if std::mem::replace(has_header, true) { without_header(table) } else { table })
    }
}

fn line(kind: &str, object: &Value) -> Bytes {
    let mut text = json!({"type": kind, "object": object}).to_string();
    text.push('\n');
    Bytes::from(text)
}
