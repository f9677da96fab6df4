//! Who a viewer is and what the viewer may list: asked of the API server, and remembered for a while.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use kube::Client;
use kube::api::{Api, PostParams};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep, timeout};

use super::limits::Bucket;
use super::sight::{Allowed, Kind, Sight};

/// How long an answer is believed.
const BELIEVED_MS: u64 = 30_000;
/// The same of a no: a token that is not good, a right that is missing.
const REFUSED_MS: u64 = 10_000;
/// How many tokens and viewers are remembered.
const TOKENS_MAX: usize = 1024;
const VIEWERS_MAX: usize = 256;
/// The most namespaces of each kind about which is asked for one page.
const NAMESPACES_MAX: usize = 100;
/// The most answers that are remembered about one viewer.
const ANSWERS_MAX: usize = 1024;
/// How long one question may take, and how many are under way at once for a page.
const DEADLINE: Duration = Duration::from_secs(5);
const AT_ONCE: usize = 8;

/// A user, as the API server has authenticated it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Viewer {
    pub(crate) name: String,
    uid: Option<String>,
    groups: Vec<String>,
    extra: BTreeMap<String, Vec<String>>,
}

/// Why nothing is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The token is not good.
    NotAuthenticated,
    /// Too many requests of this viewer, or too many bad tokens.
    TooMany,
    /// The API server did not answer the question.
    Unavailable(String),
}

/// The questions to the API server, and the answers of the last minute.
pub(crate) struct Access {
    client: Client,
    started: Instant,
    known: Mutex<Answers>,
}

/// What is remembered.
struct Answers {
    /// By the digest of the token; none: it is not good. With the end of the time for which that is believed.
    tokens: BTreeMap<[u8; 32], (Option<Arc<Viewer>>, u64)>,
    viewers: BTreeMap<Arc<Viewer>, OfViewer>,
    /// How often tokens, and rights, are asked about.
    token_reviews: Bucket,
    access_reviews: Bucket,
}

/// What is remembered about a viewer.
struct OfViewer {
    requests: Bucket,
    /// How often rights of this viewer are asked about.
    questions: Bucket,
    /// Whether the viewer may list a kind in a namespace, or everywhere, and until when that is believed.
    answers: BTreeMap<(Kind, Option<String>), (bool, u64)>,
}

impl Access {
    pub(crate) fn new(client: Client) -> Access {
        let known = Answers {
            tokens: BTreeMap::new(),
            viewers: BTreeMap::new(),
            token_reviews: Bucket::full(40, 10, 0),
            access_reviews: Bucket::full(800, 100, 0),
        };
        Access { client, started: Instant::now(), known: Mutex::new(known) }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The viewer with this token, whose requests are counted.
    ///
    /// # Errors
    /// The token is not good, there were too many requests, or the API server does not say.
    pub(crate) async fn viewer(&self, token: &str) -> Result<Arc<Viewer>, Denied> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        let now = self.now_ms();
        let known = self.known.lock().tokens.get(&digest).filter(|(_, until)| *until > now).cloned();
        let viewer = match known {
            Some((viewer, _)) => viewer,
            None => self.review_token(token, digest).await?,
        };
        let viewer = viewer.ok_or(Denied::NotAuthenticated)?;
        let admitted = self.known.lock().of_viewer(&viewer, now).requests.take(now);
        if admitted { Ok(viewer) } else { Err(Denied::TooMany) }
    }

    async fn review_token(&self, token: &str, digest: [u8; 32]) -> Result<Option<Arc<Viewer>>, Denied> {
        if !self.known.lock().token_reviews.take(self.now_ms()) {
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
        let believed = if viewer.is_some() { BELIEVED_MS } else { REFUSED_MS };
        let until = self.now_ms().saturating_add(believed);
        self.known.lock().remember_token(digest, viewer.clone(), until, self.now_ms());
        Ok(viewer)
    }

    /// What a viewer may list of these namespaces.
    ///
    /// # Errors
    /// The API server does not say.
    pub(crate) async fn sight(
        &self,
        viewer: &Arc<Viewer>,
        namespaces: &BTreeMap<Kind, BTreeSet<String>>,
    ) -> Result<Sight, Denied> {
        let mut sight = Sight::default();
        for (kind, namespaces) in namespaces {
            let allowed = if self.may_list(viewer, *kind, None).await? {
                Allowed::Everywhere
            } else {
                sight.is_partial |= namespaces.len() > NAMESPACES_MAX;
                let asked: Vec<&String> = namespaces.iter().take(NAMESPACES_MAX).collect();
                Allowed::In(self.may_list_in(viewer, *kind, &asked).await?)
            };
            sight.allowed.insert(*kind, allowed);
        }
        Ok(sight)
    }

    /// Those of these namespaces in which a viewer may list a kind.
    async fn may_list_in(
        &self,
        viewer: &Arc<Viewer>,
        kind: Kind,
        namespaces: &[&String],
    ) -> Result<BTreeSet<String>, Denied> {
        let mut allowed = BTreeSet::new();
        for some in namespaces.chunks(AT_ONCE) {
            let answers = join_all(some.iter().map(|namespace| self.may_list(viewer, kind, Some(*namespace)))).await;
            for (namespace, answer) in some.iter().zip(answers) {
                if answer? {
                    allowed.insert((*namespace).clone());
                }
            }
        }
        Ok(allowed)
    }

    async fn may_list(&self, viewer: &Arc<Viewer>, kind: Kind, namespace: Option<&String>) -> Result<bool, Denied> {
        let (question, now) = ((kind, namespace.cloned()), self.now_ms());
        let known = self.known.lock().of_viewer(viewer, now).answers.get(&question).copied();
        if let Some((may, _)) = known.filter(|(_, until)| *until > now) {
            return Ok(may);
        }
        self.turn(viewer).await?;
        let review = review(viewer, kind, namespace);
        let api: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let answer = ask(api.create(&PostParams::default(), &review)).await?;
        let may = answer.status.is_some_and(|status| status.allowed && status.denied != Some(true));
        let now = self.now_ms();
        self.known.lock().of_viewer(viewer, now).remember(question, may, now);
        Ok(may)
    }

    /// Waits until another question about a viewer may be asked.
    async fn turn(&self, viewer: &Arc<Viewer>) -> Result<(), Denied> {
        let begun = Instant::now();
        while !self.known.lock().may_ask(viewer, self.now_ms()) {
            if begun.elapsed() > DEADLINE {
                return Err(Denied::Unavailable("too many questions about rights at once".to_owned()));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }
}

impl Answers {
    /// Whether another question about a viewer may be asked now.
    fn may_ask(&mut self, viewer: &Arc<Viewer>, now: u64) -> bool {
        self.of_viewer(viewer, now).questions.take(now) && self.access_reviews.take(now)
    }

    fn remember_token(&mut self, digest: [u8; 32], viewer: Option<Arc<Viewer>>, until: u64, now: u64) {
        if self.tokens.len() >= TOKENS_MAX {
            self.tokens.retain(|_, (_, until)| *until > now);
        }
        if self.tokens.len() >= TOKENS_MAX {
            self.tokens.pop_first();
        }
        self.tokens.insert(digest, (viewer, until));
    }

    /// What is remembered about a viewer; of too many, those with no answer that is still valid are forgotten first.
    fn of_viewer(&mut self, viewer: &Arc<Viewer>, now: u64) -> &mut OfViewer {
        if !self.viewers.contains_key(viewer) {
            if self.viewers.len() >= VIEWERS_MAX {
                self.viewers.retain(|_, known| known.answers.values().any(|(_, until)| *until > now));
            }
            if self.viewers.len() >= VIEWERS_MAX {
                self.viewers.pop_first();
            }
        }
        let new = || OfViewer {
            requests: Bucket::full(30, 5, now),
            questions: Bucket::full(450, 20, now),
            answers: BTreeMap::new(),
        };
        self.viewers.entry(viewer.clone()).or_insert_with(new)
    }
}

impl OfViewer {
    fn remember(&mut self, question: (Kind, Option<String>), may: bool, now: u64) {
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.retain(|_, (_, until)| *until > now);
        }
        if self.answers.len() >= ANSWERS_MAX {
            self.answers.clear();
        }
        self.answers.insert(question, (may, now.saturating_add(if may { BELIEVED_MS } else { REFUSED_MS })));
    }
}

/// The question whether a viewer may list a kind.
fn review(viewer: &Viewer, kind: Kind, namespace: Option<&String>) -> SubjectAccessReview {
    let text = |text: &str| Some(text.to_owned());
    let attributes = ResourceAttributes {
        verb: text("list"),
        group: text("gangmatch.dev"),
        resource: text(kind.plural()),
        namespace: namespace.cloned(),
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

    fn viewer(name: &str) -> Arc<Viewer> {
        Arc::new(Viewer { name: name.to_owned(), ..Viewer::default() })
    }

    fn known() -> Answers {
        let bucket = Bucket::full(1, 1, 0);
        Answers { tokens: BTreeMap::new(), viewers: BTreeMap::new(), token_reviews: bucket, access_reviews: bucket }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = known();
        for number in 0..1100_u32 {
            let digest: [u8; 32] = Sha256::digest(number.to_be_bytes()).into();
            known.remember_token(digest, None, 10, 0);
            known.of_viewer(&viewer(&number.to_string()), 0).remember((Kind::Job, None), true, 0);
        }
        assert_eq!((known.tokens.len(), known.viewers.len()), (TOKENS_MAX, VIEWERS_MAX));
        let one = viewer("one");
        for number in 0..1500 {
            known.of_viewer(&one, 0).remember((Kind::Job, Some(number.to_string())), true, 0);
        }
        assert!(known.of_viewer(&one, 0).answers.len() <= ANSWERS_MAX);
    }

    #[test]
    fn a_review_is_about_the_viewer_with_all_groups() {
        let viewer = Viewer { groups: vec!["g".to_owned()], ..Viewer::clone(&viewer("alice")) };
        let spec = review(&viewer, Kind::Match, Some(&"ns".to_owned())).spec;
        assert_eq!((spec.user.as_deref(), spec.groups), (Some("alice"), Some(vec!["g".to_owned()])));
        let asked = spec.resource_attributes.unwrap();
        let asked = [asked.verb, asked.group, asked.resource, asked.namespace].map(Option::unwrap_or_default);
        assert_eq!(asked, ["list", "gangmatch.dev", "matches", "ns"]);
    }
}
