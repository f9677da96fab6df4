//! An offer's ad into what a summary takes of it: the values that a partner would see, and what is free.

use std::collections::BTreeMap;

use classad::{Ad, Name};

use crate::closed::{Closedness, Side};
use crate::fact::Fact;

/// A port of an offer, through which a partner sees it.
#[derive(Clone, Debug)]
pub struct OfferPort<'a> {
    /// The partner's name in the offer's own expressions.
    pub label: &'a Name,
    /// The attributes of the port, which a partner sees before those of the ad.
    pub attributes: &'a Ad,
}

/// One offer of a pool, as it is given to a summary.
#[derive(Clone, Debug)]
pub struct Offer<'a> {
    /// `Machine` or `License`.
    pub kind: &'a str,
    /// Its ad.
    pub body: &'a Ad,
    /// Its ports; empty if it lists none.
    pub ports: &'a [OfferPort<'a>],
    /// Attributes of which nothing is published but that they may have any value.
    pub opaque: &'a [&'a str],
    /// How much of each resource can be had of it now; empty if nothing of it can be claimed.
    pub free: BTreeMap<String, i64>,
    /// Whether claims may hold one seat of it together.
    pub shared: bool,
}

/// What a summary takes of one offer.
#[derive(Clone, Debug, PartialEq)]
pub struct OfferFacts {
    /// In small letters.
    pub(crate) kind: String,
    /// What a partner sees through each port.
    pub(crate) rows: Vec<Vec<(Name, Fact)>>,
    /// By resource in small letters; of resources that differ in case only, the amounts of each.
    pub(crate) free: Vec<(String, i64)>,
    pub(crate) shared: bool,
}

impl OfferFacts {
    /// What a summary takes of this offer.
    #[must_use]
    pub fn of(offer: &Offer<'_>) -> OfferFacts {
        let labels: Vec<Name> = offer.ports.iter().map(|port| port.label.clone()).collect();
        let closedness = Closedness { functions: false, falls_through: true };
        let side = |port| Side { body: offer.body, port, labels: &labels, closedness };
        let body = facts(offer, offer.body, &side(None));
        let rows = match offer.ports {
            [] => vec![body],
            ports => ports.iter().map(|port| seen_through(offer, port, &side(Some(port.attributes)), &body)).collect(),
        };
        let free = offer.free.iter().map(|(name, amount)| (name.to_ascii_lowercase(), *amount)).collect();
        OfferFacts { kind: offer.kind.to_ascii_lowercase(), rows, free, shared: offer.shared }
    }
}

/// The attributes of a port, then those of the ad that it does not hide.
fn seen_through(offer: &Offer<'_>, port: &OfferPort<'_>, side: &Side<'_>, body: &[(Name, Fact)]) -> Vec<(Name, Fact)> {
    let mut row = facts(offer, port.attributes, side);
    let hidden = |name: &Name| port.attributes.place(name).is_some() || row.iter().any(|(own, _)| own == name);
    let rest: Vec<(Name, Fact)> = body.iter().filter(|(name, _)| !hidden(name)).cloned().collect();
    row.extend(rest);
    row
}

/// The facts of one list of attributes; hidden attributes, which partners cannot read, are not among them.
fn facts(offer: &Offer<'_>, ad: &Ad, side: &Side<'_>) -> Vec<(Name, Fact)> {
    let is_opaque = |name: &Name| offer.opaque.iter().any(|opaque| name == opaque);
    let told = ad.shown().filter(|(name, _)| !is_opaque(name));
    let fact = |expr| side.value(expr).as_ref().map_or(Fact::Any, Fact::of);
    let mut facts: Vec<(Name, Fact)> = told.map(|(name, expr)| (name.clone(), fact(expr))).collect();
    facts.extend(offer.opaque.iter().map(|name| (Name::new(*name), Fact::Any)));
    facts
}
