//! Who a viewer is and what the viewer may list: asked of the API server, and remembered for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, sleep_until, timeout};

use super::sight::{Allowed, Kind, Sight};
use super::viewers::{Digest, Viewer, Viewers};

/// The most namespaces of each kind about which is asked for a list.
const NAMESPACES_MAX: usize = 100;
/// How long one question may take, and how many are under way at once for a page.
const DEADLINE: Duration = Duration::from_secs(5);
const AT_ONCE: usize = 8;
/// Asking about all namespaces takes a multiple of this: the time says nothing of how many there are.
const LIST_TIME: Duration = Duration::from_millis(500);

/// Why nothing is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The token is not good.
    NotAuthenticated,
    /// Too many requests of this viewer, or too many tokens that are not known.
    TooMany,
    /// The API server did not answer the question.
    Unavailable(String),
}

/// A viewer, of whom this request is worked on.
#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) viewer: Arc<Viewer>,
    /// Ends with the request.
    _turn: OwnedSemaphorePermit,
}

/// Namespaces about which is asked, by kind.
pub(crate) type Namespaces = BTreeMap<Kind, BTreeSet<String>>;

/// The questions to the API server, and the answers of the last minute.
pub(crate) struct Access {
    client: Client,
    started: Instant,
    known: Mutex<Viewers>,
}

impl Access {
    pub(crate) fn new(client: Client) -> Access {
        Access { client, started: Instant::now(), known: Mutex::new(Viewers::new()) }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The viewer with this token, whose requests are counted.
    ///
    /// # Errors
    /// The token is not good, there were too many requests, or the API server does not say.
    pub(crate) async fn viewer(&self, token: &str, from: IpAddr) -> Result<Admitted, Denied> {
        let digest: Digest = Sha256::digest(token).into();
        let known = self.known.lock().viewer(&digest, self.now_ms());
        let viewer = match known {
            Some(viewer) => viewer,
            None => self.review_token(token, digest, from).await?,
        };
        let viewer = viewer.ok_or(Denied::NotAuthenticated)?;
        let turn = self.known.lock().admit(&viewer, self.now_ms());
        turn.map(|turn| Admitted { viewer, _turn: turn }).ok_or(Denied::TooMany)
    }

    async fn review_token(&self, token: &str, digest: Digest, from: IpAddr) -> Result<Option<Arc<Viewer>>, Denied> {
        if !self.known.lock().may_review(&digest, from, self.now_ms()) {
            return Err(Denied::TooMany);
        }
        let spec = TokenReviewSpec { token: Some(token.to_owned()), audiences: None };
        let review = TokenReview { spec, ..TokenReview::default() };
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let answer = ask(api.create(&PostParams::default(), &review)).await?;
        let status = answer.status.unwrap_or_default();
        let user = status.user.filter(|_| status.authenticated == Some(true));
        let viewer = user.filter(|user| user.username.is_some()).map(|user| {
            Arc::new(Viewer {
                name: user.username.unwrap_or_default(),
                uid: user.uid,
                groups: user.groups.unwrap_or_default(),
                extra: user.extra.unwrap_or_default(),
            })
        });
        self.known.lock().remember_token(digest, viewer.clone(), self.now_ms());
        Ok(viewer)
    }

    /// What a viewer may list of namespaces that the viewer has named, or knows.
    ///
    /// # Errors
    /// The API server does not say, or there are too many questions.
    pub(crate) async fn sight_of_named(&self, viewer: &Arc<Viewer>, named: &Namespaces) -> Result<Sight, Denied> {
        let mut sight = Sight::default();
        for (kind, namespaces) in named {
            let allowed = if self.may_list(viewer, *kind, None).await? {
                Allowed::Everywhere
            } else {
                let asked: Vec<&String> = namespaces.iter().collect();
                Allowed::In(those(&asked, |namespace| self.may_list(viewer, *kind, Some(namespace))).await?)
            };
            sight.allowed.insert(*kind, allowed);
        }
        Ok(sight)
    }

    /// What a viewer may list of all namespaces that have objects. The viewer may not know these: the answers are used for lists only,
    /// and neither the time nor what is left of the viewer's questions depends on them.
    ///
    /// # Errors
    /// The API server does not say, or there are too many questions.
    pub(crate) async fn sight_of_lists(&self, viewer: &Arc<Viewer>, all: &Namespaces) -> Result<Sight, Denied> {
        let mut sight =
            self.sight_of_named(viewer, &Kind::ALL.into_iter().map(|kind| (kind, BTreeSet::new())).collect()).await?;
        if sight.allowed.values().all(|allowed| *allowed == Allowed::Everywhere) {
            return Ok(sight);
        }
        let known = self.known.lock().sight(viewer, self.now_ms());
        if let Some(known) = known {
            return Ok(known);
        }
        if !self.known.lock().may_ask_for_list(viewer, self.now_ms()) {
            return Err(Denied::TooMany);
        }
        let begun = Instant::now();
        let asked = self.ask_for_lists(viewer, &mut sight, all).await;
        sleep_until(begun + rounded_up(begun.elapsed())).await;
        asked?;
        self.known.lock().remember_sight(viewer, sight.clone(), self.now_ms());
        Ok(sight)
    }

    async fn ask_for_lists(&self, viewer: &Arc<Viewer>, sight: &mut Sight, all: &Namespaces) -> Result<(), Denied> {
        for (kind, namespaces) in all {
            if let Some(Allowed::In(allowed)) = sight.allowed.get_mut(kind) {
                sight.is_partial |= namespaces.len() > NAMESPACES_MAX;
                let asked: Vec<&String> = namespaces.iter().take(NAMESPACES_MAX).collect();
                *allowed = those(&asked, |namespace| async move {
                    if self.known.lock().may_ask_of_list(self.now_ms()) {
                        self.review(viewer, *kind, Some(namespace)).await
                    } else {
                        Err(too_many_questions())
                    }
                })
                .await?;
            }
        }
        Ok(())
    }

    async fn may_list(&self, viewer: &Arc<Viewer>, kind: Kind, namespace: Option<&str>) -> Result<bool, Denied> {
        let known = self.known.lock().answer(viewer, kind, namespace, self.now_ms());
        if let Some(may) = known {
            return Ok(may);
        }
        // Who has asked too much is told so at once: a request that waits would take the place of another viewer's.
        if !self.known.lock().may_ask(viewer, self.now_ms()) {
            return Err(too_many_questions());
        }
        let may = self.review(viewer, kind, namespace).await?;
        self.known.lock().remember(viewer, kind, namespace, may, self.now_ms());
        Ok(may)
    }

    async fn review(&self, viewer: &Viewer, kind: Kind, namespace: Option<&str>) -> Result<bool, Denied> {
        let review = review(viewer, kind, namespace);
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = ask(api.create(&PostParams::default(), &review)).await?;
        Ok(answer.status.is_some_and(|status| status.allowed && status.denied != Some(true)))
    }
}

/// Those of these namespaces for which the answer is yes.
async fn those<'n, A: Future<Output = Result<bool, Denied>>>(
    namespaces: &[&'n String],
    question: impl Fn(&'n str) -> A,
) -> Result<BTreeSet<String>, Denied> {
    let mut allowed = BTreeSet::new();
    for some in namespaces.chunks(AT_ONCE) {
        let answers = join_all(some.iter().map(|namespace| question(namespace.as_str()))).await;
        for (namespace, answer) in some.iter().zip(answers) {
            if answer? {
                allowed.insert((*namespace).clone());
            }
        }
    }
    Ok(allowed)
}

/// A time into the next multiple of [`LIST_TIME`].
fn rounded_up(time: Duration) -> Duration {
    let parts = time.as_millis() / LIST_TIME.as_millis() + 1;
    LIST_TIME.saturating_mul(u32::try_from(parts).unwrap_or(u32::MAX))
}

fn too_many_questions() -> Denied {
    Denied::Unavailable("There are too many questions about rights at once. Try again in a few seconds.".to_owned())
}

/// The question whether a viewer may list a kind.
fn review(viewer: &Viewer, kind: Kind, namespace: Option<&str>) -> SubjectAccessReview {
    let text = |text: &str| Some(text.to_owned());
    let attributes = ResourceAttributes {
        verb: text("list"),
        group: text("gangmatch.dev"),
        resource: text(kind.plural()),
        namespace: namespace.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(viewer.name.clone()),
        uid: viewer.uid.clone(),
        groups: Some(viewer.groups.clone()),
        extra: Some(viewer.extra.clone()),
        resource_attributes: Some(attributes),
        non_resource_attributes: None,
    };
    SubjectAccessReview { spec, ..SubjectAccessReview::default() }
}

async fn ask<T>(question: impl Future<Output = kube::Result<T>>) -> Result<T, Denied> {
    match timeout(DEADLINE, question).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(error)) => {
            tracing::warn!(%error, "the API server did not review a viewer of the page");
            Err(Denied::Unavailable("the API server did not say what you may see".to_owned()))
        }
        Err(_) => Err(Denied::Unavailable("the API server did not answer in time".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_about_the_viewer_with_all_groups() {
        let viewer = Viewer { name: "alice".to_owned(), groups: vec!["g".to_owned()], ..Viewer::default() };
        let spec = review(&viewer, Kind::Match, Some("ns")).spec;
        assert_eq!((spec.user.as_deref(), spec.groups), (Some("alice"), Some(vec!["g".to_owned()])));
        let asked = spec.resource_attributes.unwrap();
        let asked = [asked.verb, asked.group, asked.resource, asked.namespace].map(Option::unwrap_or_default);
        assert_eq!(asked, ["list", "gangmatch.dev", "matches", "ns"]);
    }

    #[test]
    fn times_are_rounded_up() {
        let rounded = [0, 499, 500, 1700].map(|millis| rounded_up(Duration::from_millis(millis)).as_millis());
        assert_eq!(rounded, [500, 500, 1000, 2000]);
    }
}
