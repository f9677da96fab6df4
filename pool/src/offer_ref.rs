//! A Machine or a License in the cache, as one type: what both kinds have.

use std::sync::Arc;

use crds::ad::NotAccepted;
use crds::{ClaimEntry, Member, Offer, OfferFields, OfferKind, OfferStatus, Res};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::ads::Prepared;
use crate::key::ObjectKey;
use crate::store::Cached;

/// A cached offer of either kind.
#[derive(Clone, Copy)]
pub struct OfferRef<'o> {
    /// Its kind.
    pub kind: OfferKind,
    /// Its metadata.
    pub metadata: &'o ObjectMeta,
    /// The terms on which it can be claimed.
    pub fields: &'o OfferFields,
    /// Its capacity.
    pub capacity: &'o Res,
    /// Its status, with the ledger.
    pub status: Option<&'o OfferStatus>,
    /// The name of the node that it stands for, if any.
    pub node_name: Option<&'o str>,
    /// Its ad, or why it has none.
    pub ad: &'o Result<Arc<Prepared>, NotAccepted>,
}

impl<'o, K: Offer> From<&'o Cached<K>> for OfferRef<'o> {
    fn from(cached: &'o Cached<K>) -> OfferRef<'o> {
        let object = cached.object.as_ref();
        OfferRef {
            kind: K::KIND,
            metadata: object.meta(),
            fields: object.offer_fields(),
            capacity: object.capacity(),
            status: object.status(),
            node_name: object.node_name(),
            ad: &cached.ad,
        }
    }
}

impl<'o> OfferRef<'o> {
    /// Its key.
    pub fn key(self) -> ObjectKey {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        ObjectKey { namespace: text(&self.metadata.namespace), name: text(&self.metadata.name) }
    }

    /// The uid of the object.
    pub fn uid(self) -> &'o str {
        self.metadata.uid.as_deref().unwrap_or("")
    }

    /// The entry of the claim of the Match with this uid in its ledger.
    pub fn entry(self, match_uid: &str) -> Option<&'o ClaimEntry> {
        self.status?.claims.get(match_uid)
    }

    /// Whether it is the very object that a member of a Match names, and not another one of its name.
    pub fn is(self, member: &Member) -> bool {
        self.uid() == member.uid
    }

    /// How long its agent may be silent, in seconds; `None` if it has no agent.
    pub fn silence_seconds(self) -> Option<u64> {
        let agent = self.fields.agent.as_ref()?;
        Some(u64::try_from(agent.lease_duration_seconds).unwrap_or(0))
    }
}
