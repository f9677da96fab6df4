//! Offers that never have what a job requests, by what they lack.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Pair;
use classad::{Name, similar};
use matchmaker::{AdId, Lack, Misfit, Port};

use super::answer::TooSmall;
use super::case::Case;
use crate::amounts::{amount, verb};

/// Why an offer never has what is requested.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Cause {
    /// It has too little of one resource.
    TooMuch(Option<(String, i64)>),
    /// It does not have a resource.
    NotOffered(Option<String>),
    NoAmount,
    NoSeat,
}

/// The offers of these pairs, which are all too small for this port of the job, by what they lack; most offers first.
pub(crate) fn too_small(case: &Case<'_>, port: Option<&Port>, pairs: &[&Pair]) -> Vec<TooSmall> {
    let mut groups: BTreeMap<Cause, Vec<AdId>> = BTreeMap::new();
    for pair in pairs {
        let Some(cause) = cause(case, port, pair) else { continue };
        groups.entry(cause).or_default().push(pair.offer);
    }
    let one = |(cause, offers): (Cause, Vec<AdId>)| TooSmall {
        offers: offers.len(),
        message: sentence(case, &cause, &offers),
    };
    let mut all: Vec<TooSmall> = groups.into_iter().map(one).collect();
    all.sort_by_key(|group| std::cmp::Reverse(group.offers));
    all
}

fn cause(case: &Case<'_>, port: Option<&Port>, pair: &Pair) -> Option<Cause> {
    let misfit = pair.misfit?;
    let capacity = case.offer(pair.offer)?.capacity;
    let is_over = |(name, amount): &(&String, &i64)| capacity.get(*name).is_none_or(|all| *amount > all);
    Some(match misfit {
        Misfit::NoAmount => Cause::NoAmount,
        Misfit::NoSeat => Cause::NoSeat,
        Misfit::TooMuch => {
            let over = pair.asked.iter().flatten().find(is_over);
            Cause::TooMuch(over.map(|(name, amount)| (name.clone(), *amount)))
        }
        Misfit::NotOffered => Cause::NotOffered(match port.and_then(|port| Lack::of(misfit, port, capacity)) {
            Some(Lack::Absent(name)) => Some(name),
            _ => None,
        }),
    })
}

fn sentence(case: &Case<'_>, cause: &Cause, offers: &[AdId]) -> String {
    let count = offers.len();
    let capacity = |id: &AdId| case.offer(*id).map(|offer| offer.capacity);
    match cause {
        Cause::TooMuch(None) => format!("{} too small for the request", verb(count, "is", "are")),
        Cause::TooMuch(Some((name, asked))) => {
            let has = |id: &AdId| capacity(id).and_then(|capacity| capacity.get(name).copied()).unwrap_or(0);
            let most = offers.iter().rev().max_by_key(|id| has(id));
            let told = most.map_or_else(String::new, |id| {
                let most = if count == 1 { "has" } else { "has the most:" };
                format!("; {} {most} {}", case.offer_name(*id), amount(name, has(id)))
            });
            let requested = if *asked == 1 { "is requested" } else { "are requested" };
            let are = verb(count, "is", "are");
            format!("{are} too small for the request: {} {requested}{told}", amount(name, *asked))
        }
        Cause::NotOffered(None) => format!("{} not have a requested resource", verb(count, "does", "do")),
        Cause::NotOffered(Some(name)) => {
            let had: BTreeSet<Name> =
                offers.iter().filter_map(capacity).flat_map(BTreeMap::keys).map(|own| own.as_str().into()).collect();
            let meant = similar(name, &had).map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
            format!("{} not have `{name}`, which is requested{meant}", verb(count, "does", "do"))
        }
        Cause::NoAmount => {
            format!("{count} cannot be used: a requested amount is no whole number of at least 1")
        }
        Cause::NoSeat => {
            format!("{count} cannot be used: sharedBy of the offer is an error for this job")
        }
    }
}
