//! Machines and Licenses: lists, and one offer with its terms in words.

use std::sync::Arc;

use crds::conditions::types;
use crds::{AdFields, ExprText, License, Offer, OfferStatus, conditions};
use jiff::Timestamp;
use pool::{ObjectKey, usage};

use super::{ConditionRow, Listing, Query, age_seconds, condition_rows, listing, visible};
use crate::page::history::SeatSample;
use crate::page::picture::{Picture, find};
use crate::page::policy::{Sentence, amounts, policy};
use crate::page::sight::{Kind, Sight};

/// An offer in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferRow {
    /// `machine` or `license`.
    pub(crate) kind: &'static str,
    pub(crate) key: ObjectKey,
    pub(crate) owner: String,
    pub(crate) state: String,
    /// The reason of its condition Ready, if that says more than the state.
    pub(crate) reason: String,
    pub(crate) amounts: Vec<Amount>,
    /// The seats of a License over the last hours, oldest first.
    pub(crate) history: Vec<SeatSample>,
    pub(crate) age_seconds: i64,
}

/// How much of a resource is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Amount {
    pub(crate) resource: String,
    pub(crate) all: i64,
    pub(crate) claimed: i64,
    pub(crate) external: i64,
}

/// One offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferDetail {
    pub(crate) row: OfferRow,
    pub(crate) policy: Vec<Sentence>,
    pub(crate) claims: Vec<ClaimRow>,
    pub(crate) conditions: Vec<ConditionRow>,
    pub(crate) node: Option<String>,
}

/// A claim on an offer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimRow {
    /// The Match.
    pub(crate) key: ObjectKey,
    /// Whether the viewer may list it.
    pub(crate) is_seen: bool,
    pub(crate) allocation: String,
    pub(crate) vote: String,
    pub(crate) activity: String,
}

/// All states of offers.
pub(crate) const STATES: [&str; 6] = ["Available", "Claimed", "Full", "Draining", "Evicting", "Unavailable"];
/// The state of an offer that has none yet.
const NEW: &str = "New";

/// The state of an offer.
pub(super) fn state<K: Offer>(offer: &K) -> String {
    offer.status().and_then(|status| status.state).map_or_else(|| NEW.to_owned(), |state| format!("{state:?}"))
}

/// The Machines that a viewer may list and that the query asks for.
pub(crate) fn machines(picture: &Picture, sight: &Sight, query: &Query) -> Listing<OfferRow> {
    let all = asked_for(&picture.machines, Kind::Machine, sight, query);
    listing(&all, query.page, |machine| row(machine, &machine.spec.ad, "machine", picture.taken_at))
}

/// The same of Licenses.
pub(crate) fn licenses(picture: &Picture, sight: &Sight, query: &Query) -> Listing<OfferRow> {
    let all = asked_for(&picture.licenses, Kind::License, sight, query);
    listing(&all, query.page, |license| license_row(license, picture))
}

fn asked_for<'p, K: Offer>(all: &'p [Arc<K>], kind: Kind, sight: &'p Sight, query: &'p Query) -> Vec<&'p K> {
    let here = visible(all, kind, sight, query.namespace.as_deref());
    here.filter(|offer| query.state.as_ref().is_none_or(|wanted| state(*offer) == *wanted)).collect()
}

/// The row of a License, with its seats over the last hours.
pub(super) fn license_row(license: &License, picture: &Picture) -> OfferRow {
    let history = picture.history.of(&ObjectKey::of(license));
    OfferRow { history, ..row(license, &license.spec.ad, "license", picture.taken_at) }
}

fn row<K: Offer>(offer: &K, ad: &AdFields, kind: &'static str, now: Timestamp) -> OfferRow {
    let state = state(offer);
    let ready = offer.status().and_then(|status| conditions::find(&status.conditions, types::READY));
    let reason = ready.map(|ready| ready.reason.clone()).filter(|reason| *reason != state);
    OfferRow {
        kind,
        key: ObjectKey::of(offer),
        owner: ad.owner.clone().unwrap_or_default(),
        reason: reason.unwrap_or_default(),
        state,
        amounts: taken(offer),
        history: Vec::new(),
        age_seconds: age_seconds(offer.meta(), now),
    }
}

/// How much of each resource of an offer is taken.
pub(super) fn taken<K: Offer>(offer: &K) -> Vec<Amount> {
    let used = usage(offer.status());
    let one = |(resource, all): (&String, &i64)| {
        let external = used.external.get(resource.as_str()).copied().unwrap_or(0);
        let claimed = used.used(resource).saturating_sub(external);
        Amount { resource: resource.clone(), all: *all, claimed, external }
    };
    offer.capacity().iter().map(one).collect()
}

/// One offer; none if there is none, or if the viewer may not list its kind there.
pub(crate) fn offer(picture: &Picture, sight: &Sight, kind: &str, namespace: &str, name: &str) -> Option<OfferDetail> {
    match kind {
        "machine" if sight.sees(Kind::Machine, namespace) => {
            let machine = find(&picture.machines, namespace, name)?;
            let node = machine.spec.node_name.clone();
            let row = row(machine, &machine.spec.ad, "machine", picture.taken_at);
            Some(OfferDetail { node, ..detail(machine, row, None, sight, picture.taken_at) })
        }
        "license" if sight.sees(Kind::License, namespace) => {
            let license = find(&picture.licenses, namespace, name)?;
            let (row, shared_by) = (license_row(license, picture), license.spec.shared_by.as_ref());
            Some(detail(license, row, shared_by, sight, picture.taken_at))
        }
        _ => None,
    }
}

fn detail<K: Offer>(
    offer: &K,
    row: OfferRow,
    shared_by: Option<&ExprText>,
    sight: &Sight,
    now: Timestamp,
) -> OfferDetail {
    let namespace = row.key.namespace.clone();
    OfferDetail {
        row,
        policy: policy(&namespace, offer.ad_fields(), offer.offer_fields(), shared_by),
        claims: offer.status().map(|status| claims(status, sight)).unwrap_or_default(),
        conditions: offer.status().map(|status| condition_rows(&status.conditions, now)).unwrap_or_default(),
        node: None,
    }
}

fn claims(status: &OfferStatus, sight: &Sight) -> Vec<ClaimRow> {
    let entries = status.claims.values().map(|entry| {
        let (namespace, name) = entry.match_key.split_once('/').unwrap_or_default();
        ClaimRow {
            key: ObjectKey::new(namespace, name),
            is_seen: sight.sees(Kind::Match, namespace),
            allocation: amounts(&entry.allocation),
            vote: format!("{:?}", entry.vote),
            activity: format!("{:?}", entry.activity),
        }
    });
    entries.collect()
}
