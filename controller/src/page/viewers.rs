//! What is remembered of tokens and viewers, and how much each may ask.
//!
//! Limits are those of a tenant: of one user, or of all ServiceAccounts of a namespace, since whoever may make a ServiceAccount or a token
//! can make many.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::limits::Bucket;
use super::sight::{Kind, Sight};

/// How long an answer is believed.
const BELIEVED_MS: u64 = 30_000;
/// The same of a no: a token that is not good, a right that is missing.
const REFUSED_MS: u64 = 10_000;
/// How long after that a token still counts as one that was good lately.
const LATELY_MS: u64 = 600_000;
/// How many tokens, addresses and tenants are remembered.
const TOKENS_MAX: usize = 1024;
const ADDRESSES_MAX: usize = 1024;
const TENANTS_MAX: usize = 256;
/// How many of one tenant: tokens, answers, viewers with what they may see of lists.
const TOKENS_OF_TENANT_MAX: usize = 16;
const ANSWERS_MAX: usize = 1024;
const LISTS_MAX: usize = 16;
/// How many requests of one tenant are worked on at once.
const AT_ONCE_MAX: usize = 8;
/// What it costs to be asked about all namespaces for a list: the same, however many there are.
const LIST_PRICE: u64 = 10;

/// The digest of a token.
pub(super) type Digest = [u8; 32];

/// A user, as the API server has authenticated it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Viewer {
    pub(crate) name: String,
    pub(super) uid: Option<String>,
    pub(super) groups: Vec<String>,
    /// For a ServiceAccount, this also names the token.
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

impl Viewer {
    /// Whose limits the viewer uses up: its own, or those of the namespace of a ServiceAccount.
    pub(crate) fn tenant(&self) -> &str {
        match self.name.rsplit_once(':') {
            Some((namespace, _)) if self.name.starts_with("system:serviceaccount:") => namespace,
            _ => &self.name,
        }
    }
}

/// What is remembered.
pub(super) struct Viewers {
    tokens: BTreeMap<Digest, Token>,
    tenants: BTreeMap<String, Tenant>,
    /// How often each address may present tokens that are not known.
    addresses: BTreeMap<IpAddr, Bucket>,
    /// How often, in all, tokens are reviewed that are not known, and those that were good lately.
    new_tokens: Bucket,
    renewals: Bucket,
    /// How often, in all, rights in a namespace that is named are asked about, and rights for lists.
    questions: Bucket,
    list_questions: Bucket,
}

/// A token, the viewer if it is good, and until when that is believed.
struct Token {
    viewer: Option<Arc<Viewer>>,
    until_ms: u64,
}

/// Whether this viewer may list a kind in a namespace, or everywhere.
type Question = (Arc<Viewer>, Kind, Option<String>);

/// What is remembered of a tenant.
struct Tenant {
    requests: Bucket,
    at_once: Arc<Semaphore>,
    renewals: Bucket,
    /// Questions that it may ask whatever others ask; and others.
    own_questions: Bucket,
    questions: Bucket,
    lists: Bucket,
    /// Answers, and until when they are believed.
    answers: BTreeMap<Question, (bool, u64)>,
    /// What a viewer sees on pages of all namespaces, and until when that is believed. It is kept apart: which namespaces were asked about
    /// depends on objects that the viewer may not see.
    sights: BTreeMap<Arc<Viewer>, (Sight, u64)>,
    used_ms: u64,
}

impl Viewers {
    pub(super) fn new() -> Viewers {
        Viewers {
            tokens: BTreeMap::new(),
            tenants: BTreeMap::new(),
            addresses: BTreeMap::new(),
            new_tokens: Bucket::full(40, 10, 0),
            renewals: Bucket::full(40, 10, 0),
            questions: Bucket::full(800, 100, 0),
            list_questions: Bucket::full(1600, 100, 0),
        }
    }

    /// The viewer with a token, if that is known; none of it if the token is not good.
    pub(super) fn viewer(&self, digest: &Digest, now: u64) -> Option<Option<Arc<Viewer>>> {
        self.tokens.get(digest).filter(|token| token.until_ms > now).map(|token| token.viewer.clone())
    }

    /// Whether the API server may be asked about a token. Those that were good lately have a share of their own, which nobody without such
    /// a token uses up.
    pub(super) fn may_review(&mut self, digest: &Digest, from: IpAddr, now: u64) -> bool {
        let lately = self.tokens.get(digest).filter(|token| now < token.until_ms.saturating_add(LATELY_MS));
        match lately.and_then(|token| token.viewer.clone()) {
            Some(viewer) => self.tenant(&viewer, now).renewals.take(now) && self.renewals.take(now),
            None => self.address(from, now).take(now) && self.new_tokens.take(now),
        }
    }

    fn address(&mut self, from: IpAddr, now: u64) -> &mut Bucket {
        if self.addresses.len() >= ADDRESSES_MAX && !self.addresses.contains_key(&from) {
            self.addresses.pop_first();
        }
        self.addresses.entry(from).or_insert_with(|| Bucket::full(10, 2, now))
    }

    /// Remembers the answer about a token. Of too many tokens of a tenant its oldest is forgotten; of too many in all, first those that are
    /// not good.
    pub(super) fn remember_token(&mut self, digest: Digest, viewer: Option<Arc<Viewer>>, now: u64) {
        self.tokens.remove(&digest);
        if let Some(tenant) = viewer.as_ref().map(|viewer| viewer.tenant()) {
            let of_tenant = |token: &Token| token.viewer.as_ref().is_some_and(|viewer| viewer.tenant() == tenant);
            if self.tokens.values().filter(|token| of_tenant(token)).count() >= TOKENS_OF_TENANT_MAX {
                self.forget_token(of_tenant);
            }
        }
        if self.tokens.len() >= TOKENS_MAX {
            self.forget_token(|_| true);
        }
        let believed = if viewer.is_some() { BELIEVED_MS } else { REFUSED_MS };
        self.tokens.insert(digest, Token { viewer, until_ms: now.saturating_add(believed) });
    }

    fn forget_token(&mut self, of: impl Fn(&Token) -> bool) {
        let all = self.tokens.iter().filter(|(_, token)| of(token));
        let oldest = all.min_by_key(|(_, token)| (token.viewer.is_some(), token.until_ms)).map(|(digest, _)| *digest);
        if let Some(oldest) = oldest {
            self.tokens.remove(&oldest);
        }
    }

    /// Whether another request of a viewer may be worked on: if so, what ends with the request.
    pub(super) fn admit(&mut self, viewer: &Viewer, now: u64) -> Option<OwnedSemaphorePermit> {
        let tenant = self.tenant(viewer, now);
        let turn = tenant.at_once.clone().try_acquire_owned().ok()?;
        tenant.requests.take(now).then_some(turn)
    }

    /// Whether a viewer may list a kind, if that is known.
    pub(super) fn answer(
        &mut self,
        viewer: &Arc<Viewer>,
        kind: Kind,
        namespace: Option<&str>,
        now: u64,
    ) -> Option<bool> {
        let question = (viewer.clone(), kind, namespace.map(str::to_owned));
        let known = self.tenant(viewer, now).answers.get(&question).filter(|(_, until)| *until > now);
        known.map(|(may, _)| *may)
    }

    /// Remembers whether a viewer may list a kind.
    pub(super) fn remember(&mut self, viewer: &Arc<Viewer>, kind: Kind, namespace: Option<&str>, may: bool, now: u64) {
        let answers = &mut self.tenant(viewer, now).answers;
        if answers.len() >= ANSWERS_MAX {
            answers.retain(|_, (_, until)| *until > now);
        }
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        let until = now.saturating_add(if may { BELIEVED_MS } else { REFUSED_MS });
        answers.insert((viewer.clone(), kind, namespace.map(str::to_owned)), (may, until));
    }

    /// Whether another question about a viewer may be asked.
    pub(super) fn may_ask(&mut self, viewer: &Viewer, now: u64) -> bool {
        let tenant = self.tenant(viewer, now);
        tenant.own_questions.take(now) || tenant.questions.take(now) && self.questions.take(now)
    }

    /// What a viewer sees on pages of all namespaces, if that is known.
    pub(super) fn sight(&mut self, viewer: &Arc<Viewer>, now: u64) -> Option<Sight> {
        let known = self.tenant(viewer, now).sights.get(viewer).filter(|(_, until)| *until > now);
        known.map(|(sight, _)| sight.clone())
    }

    /// Remembers what a viewer sees on pages of all namespaces.
    pub(super) fn remember_sight(&mut self, viewer: &Arc<Viewer>, sight: Sight, now: u64) {
        let sights = &mut self.tenant(viewer, now).sights;
        sights.retain(|_, (_, until)| *until > now);
        if sights.len() >= LISTS_MAX {
            sights.pop_first();
        }
        sights.insert(viewer.clone(), (sight, now.saturating_add(BELIEVED_MS)));
    }

    /// Whether all namespaces may be asked about for a list.
    pub(super) fn may_ask_for_list(&mut self, viewer: &Viewer, now: u64) -> bool {
        self.tenant(viewer, now).lists.take_many(LIST_PRICE, now)
    }

    /// Whether one of these namespaces may be asked about.
    pub(super) fn may_ask_of_list(&mut self, now: u64) -> bool {
        self.list_questions.take(now)
    }

    /// What is remembered of the tenant of a viewer; of too many, the one that has asked nothing for longest is forgotten.
    fn tenant(&mut self, viewer: &Viewer, now: u64) -> &mut Tenant {
        let name = viewer.tenant();
        if !self.tenants.contains_key(name) && self.tenants.len() >= TENANTS_MAX {
            let oldest = self.tenants.iter().min_by_key(|(_, tenant)| tenant.used_ms).map(|(name, _)| name.clone());
            oldest.map(|oldest| self.tenants.remove(&oldest));
        }
        let tenant = self.tenants.entry(name.to_owned()).or_insert_with(|| Tenant::new(now));
        tenant.used_ms = now;
        tenant
    }
}

impl Tenant {
    fn new(now: u64) -> Tenant {
        Tenant {
            requests: Bucket::full(30, 5, now),
            at_once: Arc::new(Semaphore::new(AT_ONCE_MAX)),
            renewals: Bucket::full(8, 2, now),
            own_questions: Bucket::full(40, 4, now),
            questions: Bucket::full(200, 16, now),
            lists: Bucket::full(4 * LIST_PRICE, 1, now),
            answers: BTreeMap::new(),
            sights: BTreeMap::new(),
            used_ms: now,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn viewer(name: &str) -> Arc<Viewer> {
        Arc::new(Viewer { name: name.to_owned(), ..Viewer::default() })
    }

    fn digest(number: u64) -> Digest {
        let mut digest = [0; 32];
        digest[..8].copy_from_slice(&number.to_be_bytes());
        digest
    }

    fn address(number: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from(number))
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut known = Viewers::new();
        for number in 0..1100_u32 {
            known.remember_token(digest(number.into()), None, 0);
            known.address(address(number), 0);
            known.remember(&viewer(&number.to_string()), Kind::Job, None, true, 0);
        }
        assert_eq!((known.tokens.len(), known.tenants.len()), (TOKENS_MAX, TENANTS_MAX));
        assert_eq!(known.addresses.len(), ADDRESSES_MAX);
        let one = viewer("one");
        for number in 0..1500 {
            known.remember(&one, Kind::Job, Some(&number.to_string()), true, 0);
            known.remember_sight(
                &Arc::new(Viewer { uid: Some(number.to_string()), ..Viewer::clone(&one) }),
                Sight::default(),
                0,
            );
        }
        let of_one = known.tenant(&one, 0);
        assert!(of_one.answers.len() <= ANSWERS_MAX && of_one.sights.len() <= LISTS_MAX);
    }

    #[test]
    fn all_service_accounts_of_a_namespace_are_one_tenant() {
        let names =
            ["system:serviceaccount:a:x", "system:serviceaccount:a:y", "system:serviceaccount:b:x", "oidc:alice"];
        let tenants = names.map(|name| viewer(name).tenant().to_owned());
        assert_eq!(
            tenants,
            ["system:serviceaccount:a", "system:serviceaccount:a", "system:serviceaccount:b", "oidc:alice"]
        );
    }

    #[test]
    fn many_tokens_make_no_token_of_others_forgotten() {
        let mut known = Viewers::new();
        known.remember_token(digest(0), Some(viewer("alice")), 0);
        for number in 1..3000 {
            let bob = Viewer { uid: Some(number.to_string()), ..Viewer::clone(&viewer("bob")) };
            known.remember_token(digest(number), Some(Arc::new(bob)), number);
            known.remember_token(digest(number + 10_000), None, number);
        }
        assert!(known.viewer(&digest(0), 4_000).is_some());
        let of_bob = known.tokens.values().filter_map(|token| token.viewer.as_ref()).filter(|of| of.name == "bob");
        assert_eq!(of_bob.count(), TOKENS_OF_TENANT_MAX);
    }

    #[test]
    fn bad_tokens_keep_out_neither_known_tokens_nor_other_addresses() {
        let mut known = Viewers::new();
        known.remember_token(digest(0), Some(viewer("alice")), 0);
        let now = BELIEVED_MS + 1;
        assert_eq!(known.viewer(&digest(0), now), None);
        let of_one_address = (1..200).filter(|number| known.may_review(&digest(*number), address(1), now)).count();
        assert_eq!(of_one_address, 10);
        assert!(known.may_review(&digest(200), address(2), now), "a new token of somebody else");
        for number in 1000..2000 {
            known.may_review(&digest(number.into()), address(number), now);
        }
        assert!(!known.may_review(&digest(201), address(3), now), "too many addresses");
        assert!(known.may_review(&digest(0), address(1), now), "a token that was good lately");
    }

    #[test]
    fn a_tenant_that_asks_much_leaves_others_their_questions() {
        let mut known = Viewers::new();
        for tenant in 0..20 {
            for _ in 0..1000 {
                known.may_ask(&viewer(&tenant.to_string()), 0);
            }
        }
        let alice = viewer("alice");
        assert_eq!((0..100).filter(|_| known.may_ask(&alice, 0)).count(), 40);
        assert_eq!((0..100).filter(|_| known.may_ask_for_list(&alice, 0)).count(), 4);
    }

    #[test]
    fn one_tenant_has_some_requests_at_once_whatever_its_tokens_are() {
        let mut known = Viewers::new();
        let account = |number: usize| Viewer {
            name: format!("system:serviceaccount:a:{}", number % 3),
            extra: BTreeMap::from([("credential-id".to_owned(), vec![number.to_string()])]),
            ..Viewer::default()
        };
        let turns: Vec<_> = (0..50).filter_map(|number| known.admit(&account(number), 0)).collect();
        assert_eq!(turns.len(), AT_ONCE_MAX);
        assert!(known.admit(&viewer("alice"), 0).is_some(), "others are admitted");
        drop(turns);
        assert_eq!((0..50).filter(|number| known.admit(&account(*number), 0).is_some()).count(), 30 - AT_ONCE_MAX);
    }
}
