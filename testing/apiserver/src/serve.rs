//! A request into an answer.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use kube_cel::Validator;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::answer::Answer;
use crate::call::{Call, Verb};
use crate::kinds::{Kind, Kinds};
use crate::object::meta;
use crate::select::Selector;
use crate::store::{Event, Store, StoredKey};
use crate::table::Wish;
use crate::write::Writer;

/// The server. Clones are the same server.
#[derive(Clone)]
pub struct Server {
    pub(crate) kinds: Arc<Kinds>,
    inner: Arc<Mutex<Inner>>,
    /// The newest revision, for those who watch.
    pub(crate) newest: Arc<watch::Sender<i64>>,
}

struct Inner {
    store: Store,
    validator: Validator,
    now: Timestamp,
}

impl Server {
    /// An empty one, at this time.
    #[must_use]
    pub fn new(kinds: Arc<Kinds>, now: Timestamp) -> Server {
        let inner = Inner { store: Store::default(), validator: Validator::new(), now };
        Server { kinds, inner: Arc::new(Mutex::new(inner)), newest: Arc::new(watch::Sender::new(0)) }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    pub(crate) fn look<T>(&self, look: impl FnOnce(&Store) -> T) -> T {
        look(&self.inner().store)
    }

    /// It is later now. By this clock objects are created and deleted, nothing else.
    pub fn set_time(&self, now: Timestamp) {
        self.inner().now = now;
    }

    /// The number of the last change.
    #[must_use]
    pub fn revision(&self) -> i64 {
        self.inner().store.revision()
    }

    /// All changes after a revision.
    #[must_use]
    pub fn changes_since(&self, revision: i64) -> Vec<Event> {
        self.inner().store.since(revision).to_vec()
    }

    /// Forgets what was before now: watches that would resume there are told that it is too late.
    pub fn compact(&self) {
        self.inner().store.compact();
    }

    /// Another server that has everything this one has. What is written to one of them the other does not see.
    #[must_use]
    pub fn copy(&self) -> Server {
        let inner = self.inner();
        let copied = Inner { store: inner.store.clone(), validator: Validator::new(), now: inner.now };
        let newest = watch::Sender::new(inner.store.revision());
        Server { kinds: self.kinds.clone(), inner: Arc::new(Mutex::new(copied)), newest: Arc::new(newest) }
    }

    /// The kind that a call is about.
    #[must_use]
    pub fn kind_of(&self, call: &Call) -> Option<&Arc<Kind>> {
        self.kinds.find(&call.group, &call.version, &call.plural)
    }

    /// What the server answers. A watch is not answered at once: for that there is [`Server::service`].
    #[must_use]
    pub fn answer(&self, call: &Call) -> Answer {
        let Some(kind) = self.kind_of(call) else { return Answer::unknown_path() };
        if !call.verb.writes() {
            let inner = self.inner();
            return read(kind, call, &inner.store, inner.now);
        }
        if kind.is_read_only {
            return Answer::read_only(kind);
        }
        if call.asks("dryRun") == "All" {
            let inner = self.inner();
            let mut store = inner.store.clone();
            let mut writer = Writer { store: &mut store, validator: &inner.validator, now: inner.now };
            let mut answer = writer.write(kind, key(kind, call), call);
            let version = inner.store.get(&key(kind, call)).map(|before| meta(before, "resourceVersion").to_owned());
            with_version(&mut answer.body, version.as_deref());
            return answer;
        }
        self.change(|store, validator, now| Writer { store, validator, now }.write(kind, key(kind, call), call))
    }

    /// Changes what is stored, and notifies those who watch.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut Store, &Validator, Timestamp) -> T) -> T {
        let outcome = {
            let mut inner = self.inner();
            let Inner { store, validator, now } = &mut *inner;
            change(store, validator, *now)
        };
        let revision = self.revision();
        self.newest.send_if_modified(|newest| std::mem::replace(newest, revision) != revision);
        outcome
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner().now
    }

    /// What a server would answer that has seen nothing after a revision. Only of reads.
    #[must_use]
    pub fn answer_as_of(&self, call: &Call, revision: i64) -> Answer {
        let Some(kind) = self.kind_of(call) else { return Answer::unknown_path() };
        let inner = self.inner();
        read(kind, call, &inner.store.as_of(revision), inner.now)
    }
}

/// A dry run makes no version.
fn with_version(object: &mut Value, version: Option<&str>) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    match version {
        Some(version) => drop(metadata.insert("resourceVersion".to_owned(), json!(version))),
        None => drop(metadata.shift_remove("resourceVersion")),
    }
}

fn key(kind: &Kind, call: &Call) -> StoredKey {
    let namespace = if kind.namespaced { call.namespace.clone() } else { String::new() };
    StoredKey { resource: kind.storage(), namespace, name: call.name.clone() }
}

fn read(kind: &Kind, call: &Call, store: &Store, now: Timestamp) -> Answer {
    let answer = match call.verb {
        Verb::Get => match store.get(&key(kind, call)) {
            Some(object) => Answer::done(200, kind.shown(object).into_owned()),
            None => Answer::not_found(kind, &call.name),
        },
        Verb::List => list(kind, call, store),
        _ => Answer::bad_request("a watch is a stream"),
    };
    match Wish::of(call).filter(|_| answer.code == 200) {
        Some(wish) => Answer { body: wish.table(kind, &answer.body, now), ..answer },
        None => answer,
    }
}

/// One page of a list, as of the revision in which its first page was read.
fn list(kind: &Kind, call: &Call, store: &Store) -> Answer {
    let Some(selector) = Selector::of(call) else {
        return Answer::bad_request("this selector is not served here");
    };
    let token: Vec<&str> = call.asks("continue").splitn(3, '|').collect();
    let begun = token.first().and_then(|revision| revision.parse::<i64>().ok());
    if let Some(revision) = begun.filter(|revision| *revision < store.compacted()) {
        return Answer::expired(revision, store.compacted());
    }
    let past = begun.map(|revision| store.as_of(revision));
    let store = past.as_ref().unwrap_or(store);
    let after = match token.as_slice() {
        [_, namespace, name] => (*namespace, *name),
        _ => ("", ""),
    };
    let all = store.list(&kind.storage(), if kind.namespaced { &call.namespace } else { "" });
    let mut rest = all
        .into_iter()
        .filter(|(key, _)| (key.namespace.as_str(), key.name.as_str()) > after)
        .map(|(_, object)| kind.shown(object))
        .filter(|object| selector.takes(object));
    let limit = call.asks("limit").parse().ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX);
    let page: Vec<Value> = rest.by_ref().take(limit).map(Cow::into_owned).collect();
    let mut metadata = json!({"resourceVersion": store.revision().to_string()});
    let left = rest.count();
    if let (Some(last), Some(fields), true) = (page.last(), metadata.as_object_mut(), left > 0) {
        let token = format!("{}|{}|{}", store.revision(), meta(last, "namespace"), meta(last, "name"));
        fields.insert("continue".to_owned(), json!(token));
        fields.insert("remainingItemCount".to_owned(), json!(left));
    }
    let list = format!("{}List", kind.name);
    Answer::done(200, json!({"kind": list, "apiVersion": kind.api_version(), "metadata": metadata, "items": page}))
}
