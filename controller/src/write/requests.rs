//! Requests to the API server, each into one of five answers.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{NamespaceResourceScope, Request};
use kube::{Client, Config, Error, Resource};
use pool::{AgentLease, ObjectKey, Page, ReadTrimmed, Trimmed};
use serde::Serialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tower_http::map_response_body::MapResponseBodyLayer;

use crate::leader::Leadership;
use crate::metrics::Metrics;
use crate::rights::Rights;
use crate::watch::shallow::Shallow;
use crate::watch::watched::Scope;
use crate::write::answer::Answer;
use crate::write::layers::guarded;

/// The name of the writer in managed fields and events.
pub(crate) const MANAGER: &str = "gangmatch";
/// How many objects are listed with one request: a page is held in memory as a whole, and an object may have more than a megabyte.
pub(crate) const PAGE: u32 = 50;

/// The API server.
pub(crate) struct Cluster {
    /// All its requests go through the layers.
    pub(crate) client: Client,
    /// Nothing is written but by the leader.
    pub(crate) leadership: Leadership,
}

/// What an answer of the server comes in.
type AnswerBody = Box<dyn Body<Data = Bytes, Error = Box<dyn std::error::Error + Send + Sync>> + Send + Unpin>;

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
    let shallow = |body: AnswerBody| {
        let mut shallow = Shallow::default();
        body.map_frame(move |frame| frame.map_data(|piece| shallow.pass(piece)))
    };
    Ok(ClientBuilder::try_from(config)?.with_layer(&MapResponseBodyLayer::new(shallow)).build())
}

impl Cluster {
    /// The API server that a client leads to.
    pub(crate) fn new(client: &Client, leadership: Leadership, metrics: Arc<Metrics>, rights: Arc<Rights>) -> Cluster {
        Cluster { client: guarded(client, leadership.clone(), metrics, rights), leadership }
    }

    /// The requests about a kind, in a namespace if it has any.
    fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope: Scope>,
    {
        <K::Scope as Scope>::requests(&self.client, &Some(namespace.to_owned()))
    }

    /// Patches the status of an object.
    pub(crate) async fn patch_status<K>(&self, key: &ObjectKey, patch: &ObjectPatch) -> Answer<K>
    where
        K: ReadTrimmed<Scope: Scope>,
    {
        let api = self.api::<Trimmed<K>>(&key.namespace);
        let params = patch_params().validation_strict();
        Answer::of(api.patch_status(&key.name, &params, &patch.body()).await).map(|sent| sent.0)
    }

    /// Creates an object. Nothing is tested before, so whatever forbids it, a quota or a policy, has refused it.
    pub(crate) async fn create<K>(&self, object: &K) -> Answer<K>
    where
        K: ReadTrimmed + Serialize,
    {
        self.post::<K, Trimmed<K>>(object).await.map(|sent| sent.0)
    }

    /// Creates an object that is not cached.
    pub(crate) async fn create_unread<K>(&self, object: &K) -> Answer<()>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Serialize,
    {
        self.post::<K, IgnoredAny>(object).await.map(drop)
    }

    async fn post<K, T: DeserializeOwned>(&self, object: &K) -> Answer<T>
    where
        K: Resource<DynamicType = ()> + Serialize,
    {
        let params = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let namespace = object.meta().namespace.as_deref();
        let path = K::url_path(&(), namespace);
        let created = async {
            let body = serde_json::to_vec(object).map_err(Error::SerdeError)?;
            let request = Request::new(path).create(&params, body).map_err(Error::BuildRequest)?;
            self.client.request::<T>(request).await
        };
        Answer::of_create(created.await)
    }

    /// Reads an object as it is now, not as a cache has it.
    pub(crate) async fn get<K>(&self, key: &ObjectKey) -> Answer<K>
    where
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        Answer::of(self.api::<Trimmed<K>>(&key.namespace).get(&key.name).await).map(|sent| sent.0)
    }

    /// Patches an object itself, not its status.
    pub(crate) async fn patch<K>(&self, key: &ObjectKey, patch: ObjectPatch) -> Answer<K>
    where
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        let api = self.api::<Trimmed<K>>(&key.namespace);
        Answer::of(api.patch(&key.name, &patch_params(), &patch.body()).await).map(|sent| sent.0)
    }

    /// Lists the objects of a kind in a namespace that are selected, as they are now; of each only what is made of it is kept.
    pub(crate) async fn list_of<K, T>(&self, namespace: &str, only: ListParams, keep: impl Fn(K) -> T) -> Answer<Vec<T>>
    where
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        let mut all = Vec::new();
        self.pages(namespace, only, |object| all.push(keep(object))).await.map(|()| all)
    }

    /// Lists page by page, so that not all of it is in memory at once. An object that cannot be read is left out, as by the watches.
    async fn pages<K>(&self, namespace: &str, only: ListParams, mut take: impl FnMut(K)) -> Answer<()>
    where
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        let path = K::url_path(&(), Some(namespace).filter(|namespace| !namespace.is_empty()));
        let mut next = only.limit(PAGE);
        loop {
            let request = async {
                let request = Request::new(&path).list(&next).map_err(Error::BuildRequest)?;
                let text = self.client.request_text(request).await?;
                Page::<K>::read(&text).map_err(Error::SerdeError)
            };
            let page = match Answer::of(request.await) {
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
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        let api = self.api::<Trimmed<K>>(&key.namespace);
        Answer::of(api.delete(&key.name, &only(uid)).await).map(|_| ())
    }

    /// Deletes an object if nothing of it has changed since it was seen.
    pub(crate) async fn delete_as_seen<K>(&self, object: &K) -> Answer<()>
    where
        K: ReadTrimmed<Scope: Scope>,
    {
        let ObjectKey { namespace, name } = ObjectKey::of(object);
        let preconditions =
            Preconditions { uid: object.meta().uid.clone(), resource_version: object.meta().resource_version.clone() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        Answer::of(self.api::<Trimmed<K>>(&namespace).delete(&name, &params).await).map(|_| ())
    }

    /// Takes in all objects of a kind as they are now, not as a cache has them, one after the other.
    pub(crate) async fn each<K>(&self, take: impl FnMut(K)) -> Answer<()>
    where
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        self.pages("", ListParams::default(), take).await
    }

    /// Lists them.
    pub(crate) async fn list<K>(&self) -> Answer<Vec<K>>
    where
        K: ReadTrimmed<Scope = NamespaceResourceScope>,
    {
        let mut all = Vec::new();
        self.each(|object| all.push(object)).await.map(|()| all)
    }

    /// Reads the Lease of an agent as it is now, into a digest of what it says; none if it has no holder. By its name from the list: no
    /// other right is needed.
    pub(crate) async fn lease(&self, key: &ObjectKey) -> Answer<Option<u64>> {
        let only = ListParams::default().fields(&format!("metadata.name={}", key.name));
        let list = Answer::of(self.api::<AgentLease>(&key.namespace).list(&only).await);
        list.map(|list| list.items.into_iter().next().and_then(|lease| lease.held))
    }
}

/// The two forms of patch that the protocol uses.
#[derive(Debug)]
pub(crate) enum ObjectPatch {
    /// Guarded, operation by operation.
    Json(json_patch::Patch),
    /// Unguarded: for what may be done any number of times.
    Merge(serde_json::Value),
}

impl ObjectPatch {
    /// The patch as the client sends it.
    pub(crate) fn body(&self) -> Patch<serde_json::Value> {
        match self {
            ObjectPatch::Json(patch) => Patch::Json(patch.clone()),
            ObjectPatch::Merge(patch) => Patch::Merge(patch.clone()),
        }
    }
}

/// The parameters of a patch.
pub(crate) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// A delete of the object with this uid, and of no namesake.
pub(crate) fn only(uid: &str) -> DeleteParams {
    let preconditions = Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
    DeleteParams::background().preconditions(preconditions)
}
