//! One request to the API server into one of four answers, within a deadline.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use crds::MachineClass;
use crds::rules::message::EPOCH;
use http_body::Body;
use http_body_util::BodyExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{NamespaceResourceScope, Request};
use kube::{Client, Config, Error, Resource};
use pool::{Heartbeat, Lean, ObjectKey, Page, Sent};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tokio::time::{Instant, timeout};
use tower_http::map_response_body::MapResponseBodyLayer;

use crate::gate::{Gate, Limits};
use crate::leader::Leadership;
use crate::metrics::{self, Metrics};
use crate::rights::Rights;
use crate::shallow::Shallow;

/// Who writes, in managed fields and events.
pub(crate) const MANAGER: &str = "gangmatch";
/// A request that takes longer is taken for lost; what it would have done is found out by looking.
const DEADLINE: Duration = Duration::from_secs(5);
/// The most requests under way at once; about one namespace; and about one that the server did not answer about lately: a
/// webhook that only some namespaces have may hang.
const REQUESTS: Limits = Limits { all: 32, each: 24, slow: 4 };

/// How many objects are listed with one request: a page is held in memory as a whole, and an object may have more than a megabyte.
pub(crate) const PAGE: u32 = 50;

/// The API server.
pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// Nothing is written but by the leader.
    pub(crate) leadership: Leadership,
    /// What is counted.
    pub(crate) metrics: Arc<Metrics>,
    rights: Arc<Rights>,
    requests: Gate,
}

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Answer<K> {
    /// Done; the object as it is now.
    Done(K),
    /// The server said no for good: a rule, or a `test` of the patch.
    Refused(Refused),
    /// There is no such object.
    Missing,
    /// There is an object of that name already.
    Exists,
    /// Nobody knows whether it was done: no answer, or an answer that says nothing about the request.
    Lost(String),
}

impl<K> Answer<K> {
    /// The same answer about what is made of the object.
    pub(crate) fn map<T>(self, make: impl FnOnce(K) -> T) -> Answer<T> {
        match self {
            Answer::Done(object) => Answer::Done(make(object)),
            Answer::Refused(refused) => Answer::Refused(refused),
            Answer::Missing => Answer::Missing,
            Answer::Exists => Answer::Exists,
            Answer::Lost(why) => Answer::Lost(why),
        }
    }
}

/// A no of the server.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Refused {
    /// The messages of the rules that said no; none if it was a `test` operation or a missing path.
    pub(crate) rules: Vec<String>,
    /// The whole message.
    pub(crate) message: String,
}

impl Refused {
    /// Whether the rule with this message said no.
    pub(crate) fn says(&self, text: &str) -> bool {
        self.rules.iter().any(|rule| rule.contains(text))
    }
}

/// What an answer of the server comes in.
type Answered = Box<dyn Body<Data = Bytes, Error = Box<dyn std::error::Error + Send + Sync>> + Send + Unpin>;

/// Connects with a kubeconfig file, or with what the surroundings offer. The library's own retries are off: each write here is
/// followed up by a look at what it did.
pub(crate) async fn connect(kubeconfig: Option<&Path>, identity: &str) -> anyhow::Result<Client> {
    let mut config = match kubeconfig {
        Some(file) => {
            Config::from_custom_kubeconfig(Kubeconfig::read_from(file)?, &KubeConfigOptions::default()).await?
        }
        None => Config::infer().await?,
    };
    config.default_retry = false;
    // Which of several replicas it was, in the server's audit log.
    let agent = format!("gangmatch-controller/{} ({identity})", env!("CARGO_PKG_VERSION"));
    config.headers.push((axum::http::header::USER_AGENT, agent.parse()?));
    let shallow = |body: Answered| {
        let mut shallow = Shallow::default();
        body.map_frame(move |frame| frame.map_data(|piece| shallow.pass(piece)))
    };
    Ok(ClientBuilder::try_from(config)?.with_layer(&MapResponseBodyLayer::new(shallow)).build())
}

impl Cluster {
    /// The API server that a client leads to.
    pub(crate) fn new(client: Client, leadership: Leadership, metrics: Arc<Metrics>, rights: Arc<Rights>) -> Cluster {
        Cluster { client, leadership, metrics, rights, requests: Gate::new(REQUESTS) }
    }

    pub(crate) fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Patches the status of an object.
    pub(crate) async fn patch_status<K>(&self, key: &ObjectKey, patch: &Change) -> Answer<K>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        let params =
            PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }.validation_strict();
        let api = self.api::<Sent<K>>(&key.namespace);
        let answer = match patch {
            Change::Json(patch) => {
                let patch = Patch::<serde_json::Value>::Json(patch.clone());
                self.write(&key.namespace, api.patch_status(&key.name, &params, &patch)).await
            }
            Change::Merge(patch) => {
                self.write(&key.namespace, api.patch_status(&key.name, &params, &Patch::Merge(patch))).await
            }
        };
        answer.map(|sent| sent.0)
    }

    /// Patches the status of a class, which is in no namespace.
    pub(crate) async fn patch_class_status(&self, name: &str, patch: &Change) -> Answer<MachineClass> {
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let api: Api<Sent<MachineClass>> = Api::all(self.client.clone());
        let answer = match patch {
            Change::Json(patch) => {
                let patch = Patch::<serde_json::Value>::Json(patch.clone());
                self.write("", api.patch_status(name, &params, &patch)).await
            }
            Change::Merge(patch) => self.write("", api.patch_status(name, &params, &Patch::Merge(patch))).await,
        };
        answer.map(|sent| sent.0)
    }

    /// Creates an object. Nothing is tested before, so whatever forbids it, a quota or a policy, has refused it.
    pub(crate) async fn create<K>(&self, object: &K) -> Answer<K>
    where
        K: Lean<Scope = NamespaceResourceScope> + Serialize,
    {
        self.post::<K, Sent<K>>(object).await.map(|sent| sent.0)
    }

    /// Creates an object that nobody here looks at again.
    pub(crate) async fn create_unread<K>(&self, object: &K) -> Answer<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
    {
        self.post::<K, IgnoredAny>(object).await.map(drop)
    }

    async fn post<K, T: DeserializeOwned>(&self, object: &K) -> Answer<T>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
    {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let namespace = object.meta().namespace.as_deref();
        let path = K::url_path(&(), namespace);
        let request = async {
            let body = serde_json::to_vec(object).map_err(Error::SerdeError)?;
            let request = Request::new(path).create(&params, body).map_err(Error::BuildRequest)?;
            self.client.request::<T>(request).await.map_err(definite)
        };
        self.write(namespace.unwrap_or(""), request).await
    }

    /// Reads an object as it is now, not as a cache has it.
    pub(crate) async fn get<K>(&self, key: &ObjectKey) -> Answer<K>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        self.ask(&key.namespace, self.api::<Sent<K>>(&key.namespace).get(&key.name)).await.map(|sent| sent.0)
    }

    /// Patches an object itself, not its status.
    pub(crate) async fn patch<K>(&self, key: &ObjectKey, patch: Change) -> Answer<K>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
        let api = self.api::<Sent<K>>(&key.namespace);
        let answer = match patch {
            Change::Json(patch) => {
                let patch = Patch::<serde_json::Value>::Json(patch);
                self.write(&key.namespace, api.patch(&key.name, &params, &patch)).await
            }
            Change::Merge(patch) => {
                self.write(&key.namespace, api.patch(&key.name, &params, &Patch::Merge(patch))).await
            }
        };
        answer.map(|sent| sent.0)
    }

    /// Lists the objects of a kind in a namespace that are selected, as they are now; of each only what is made of it is kept.
    pub(crate) async fn list_of<K, T>(&self, namespace: &str, only: ListParams, keep: impl Fn(K) -> T) -> Answer<Vec<T>>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        let mut all = Vec::new();
        self.pages(namespace, only, |object| all.push(keep(object))).await.map(|()| all)
    }

    /// Lists page by page, so that not all of it is in memory at once. An object that cannot be read is left out, as by the watches.
    async fn pages<K>(&self, namespace: &str, only: ListParams, mut take: impl FnMut(K)) -> Answer<()>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        let path = K::url_path(&(), Some(namespace).filter(|namespace| !namespace.is_empty()));
        let mut next = only.limit(PAGE);
        loop {
            let request = async {
                let request = Request::new(&path).list(&next).map_err(Error::BuildRequest)?;
                let text = self.client.request_text(request).await?;
                Page::<K>::read(&text).map_err(Error::SerdeError)
            };
            let page = match self.ask(namespace, request).await {
                Answer::Done(page) => page,
                answer => return answer.map(drop),
            };
            for found in &page.unreadable {
                let name = found.metadata.name.as_deref().unwrap_or("");
                let namespace = found.metadata.namespace.as_deref().unwrap_or("");
                tracing::error!(kind = %K::kind(&()), namespace, name, error = found.error, "object cannot be parsed; ignoring it");
            }
            page.items.into_iter().for_each(&mut take);
            match page.next {
                Some(token) => next = next.continue_token(&token),
                None => return Answer::Done(()),
            }
        }
    }

    /// Deletes an object if it is still the one with this uid.
    pub(crate) async fn delete<K>(&self, key: &ObjectKey, uid: &str) -> Answer<()>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        let api = self.api::<Sent<K>>(&key.namespace);
        self.write(&key.namespace, api.delete(&key.name, &only(uid))).await.map(|_| ())
    }

    /// Takes in all objects of a kind as they are now, not as a cache has them, one after the other.
    pub(crate) async fn each<K>(&self, take: impl FnMut(K)) -> Answer<()>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        self.pages("", ListParams::default(), take).await
    }

    /// Lists them.
    pub(crate) async fn list<K>(&self) -> Answer<Vec<K>>
    where
        K: Lean<Scope = NamespaceResourceScope>,
    {
        let mut all = Vec::new();
        self.each(|object| all.push(object)).await.map(|()| all)
    }

    /// Reads the Lease of an agent as it is now, into a digest of what it says; none if nobody holds it. By its name from the list: no
    /// other right is needed.
    pub(crate) async fn lease(&self, key: &ObjectKey) -> Answer<Option<u64>> {
        let only = ListParams::default().fields(&format!("metadata.name={}", key.name));
        let list = self.ask(&key.namespace, self.api::<Heartbeat>(&key.namespace).list(&only)).await;
        list.map(|list| list.items.into_iter().next().and_then(|lease| lease.held))
    }

    /// Reads about a namespace, or about none: "".
    pub(crate) async fn ask<K>(&self, namespace: &str, request: impl Future<Output = Result<K, Error>>) -> Answer<K> {
        self.counted("read", namespace, request, |_| Some(DEADLINE)).await
    }

    /// Only the leader writes, and only as long as it is sure to be it: whether it is, is asked when the request's turn has
    /// come, and the request ends with the term.
    pub(crate) async fn write<K>(&self, namespace: &str, request: impl Future<Output = Result<K, Error>>) -> Answer<K> {
        let limit = |leadership: &Leadership| leadership.current().map(|(_, left)| left.min(DEADLINE));
        self.counted("write", namespace, request, limit).await
    }

    async fn counted<K>(
        &self,
        kind: &'static str,
        namespace: &str,
        request: impl Future<Output = Result<K, Error>>,
        limit: impl FnOnce(&Leadership) -> Option<Duration>,
    ) -> Answer<K> {
        let begun = Instant::now();
        let under_way = UnderWay::of(&self.metrics, kind);
        let answer = self.within(namespace, request, limit).await;
        drop(under_way);
        self.metrics.took(&metrics::REQUEST_SECONDS, &[kind], begun.elapsed());
        self.metrics.count(&metrics::REQUESTS, &[kind, outcome(&answer)]);
        answer
    }

    async fn within<K>(
        &self,
        namespace: &str,
        request: impl Future<Output = Result<K, Error>>,
        limit: impl FnOnce(&Leadership) -> Option<Duration>,
    ) -> Answer<K> {
        let Some(_turn) = self.requests.turn(namespace).await else {
            return Answer::Lost("shutting down".to_owned());
        };
        let Some(limit) = limit(&self.leadership) else {
            return Answer::Lost(NOT_LEADING.to_owned());
        };
        let answered = timeout(limit, request).await;
        self.requests.answered(namespace, answered.is_ok());
        match answered {
            Err(_) => Answer::Lost(format!("no answer within {} ms", limit.as_millis())),
            Ok(Ok(object)) => Answer::Done(object),
            Ok(Err(Error::Api(status))) => {
                self.rights.note(&status);
                answer(*status)
            }
            Ok(Err(error)) => Answer::Lost(error.to_string()),
        }
    }
}

/// A request under way; it is not any more when this is dropped, whatever happened.
struct UnderWay<'m> {
    metrics: &'m Metrics,
    kind: &'static str,
}

impl UnderWay<'_> {
    fn of<'m>(metrics: &'m Metrics, kind: &'static str) -> UnderWay<'m> {
        metrics.add(&metrics::REQUESTS_UNDER_WAY, &[kind], 1);
        UnderWay { metrics, kind }
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.metrics.add(&metrics::REQUESTS_UNDER_WAY, &[self.kind], -1);
    }
}

/// Why a write was not even sent.
const NOT_LEADING: &str = "this process does not lead";

/// What came of a request, in a word.
fn outcome<K>(answer: &Answer<K>) -> &'static str {
    match answer {
        Answer::Done(_) => "done",
        Answer::Refused(refused) if refused.says(EPOCH) => "fenced",
        Answer::Refused(refused) if refused.rules.is_empty() => "conflict",
        Answer::Refused(_) => "refused",
        Answer::Missing => "missing",
        Answer::Exists => "exists",
        Answer::Lost(why) if why == NOT_LEADING => "fenced",
        Answer::Lost(why) if why.starts_with("409 ") => "conflict",
        Answer::Lost(why) if why.starts_with("429 ") => "busy",
        Answer::Lost(_) => "lost",
    }
}

/// The two forms of patch that the protocol uses.
#[derive(Debug)]
pub(crate) enum Change {
    /// Guarded, operation by operation.
    Json(json_patch::Patch),
    /// Unguarded: for what may be done any number of times.
    Merge(serde_json::Value),
}

/// A delete of the object with this uid, and of no namesake.
pub(crate) fn only(uid: &str) -> DeleteParams {
    let preconditions = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
    DeleteParams::background().preconditions(preconditions)
}

fn definite(error: Error) -> Error {
    match error {
        Error::Api(mut status) if matches!(status.code, 400 | 403 | 413) => {
            status.code = 422;
            Error::Api(status)
        }
        other => other,
    }
}

fn answer<K>(status: kube::core::Status) -> Answer<K> {
    match (status.code, status.reason.as_str()) {
        (404, _) => Answer::Missing,
        (409, "AlreadyExists") => Answer::Exists,
        (422, _) => {
            let causes = status.details.map(|details| details.causes).unwrap_or_default();
            let rules = causes.into_iter().map(|cause| cause.message).collect();
            Answer::Refused(Refused { rules, message: status.message })
        }
        (code, reason) => Answer::Lost(format!("{code} {reason}: {}", status.message)),
    }
}
