//! What an offer has, what claims hold of it, and whether a request still fits.

use std::collections::BTreeMap;

mod res;

pub use res::Res;

/// What is taken of one offer now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Held by claims that share nothing, summed.
    pub own: Res,
    /// Held once for all claims with the same share key.
    pub shared: BTreeMap<String, Res>,
    /// Used outside the cluster, as the offer's agent reports it.
    pub external: Res,
}

/// One claim's demand on one offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The amounts.
    pub allocation: Res,
    /// The seat it shares, if the offer's `sharedBy` names one.
    pub share: Option<String>,
}

/// Why a request can never be met by an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// It is no amount: no integer of at least 1.
    NoAmount,
    /// It names what the offer does not have.
    NotOffered,
    /// The offer's `sharedBy` is an error.
    NoSeat,
    /// The offer never has that much.
    TooMuch,
}

/// Why a demand does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// The offer never has that much, or does not have that resource at all.
    TooSmall,
    /// It would fit if others had not taken it.
    Busy,
}

impl Usage {
    /// Whether `ask` fits into `capacity` beside what is taken.
    ///
    /// # Errors
    /// [`Unfit`] says whether it ever could.
    pub fn fits(&self, capacity: &Res, ask: &Ask) -> Result<(), Unfit> {
        if ask.allocation.iter().any(|(name, amount)| capacity.get(name).is_none_or(|all| amount > all)) {
            return Err(Unfit::TooSmall);
        }
        if let Some(held) = ask.share.as_ref().and_then(|key| self.shared.get(key)) {
            let covered = ask.allocation.iter().all(|(name, amount)| held.get(name).is_some_and(|have| amount <= have));
            return if covered { Ok(()) } else { Err(Unfit::Busy) };
        }
        let free = |name: &str| capacity.get(name).copied().unwrap_or(0).saturating_sub(self.used(name));
        let fits = ask.allocation.iter().all(|(name, amount)| *amount <= free(name));
        if fits { Ok(()) } else { Err(Unfit::Busy) }
    }

    /// Counts one more claim as taken.
    pub fn take(&mut self, ask: &Ask) {
        match &ask.share {
            Some(key) => {
                self.shared.entry(key.clone()).or_insert_with(|| ask.allocation.clone());
            }
            None => self.own.add(&ask.allocation),
        }
    }

    /// The end of a claim: what it has taken is free again, a shared seat as well.
    pub(crate) fn give_back(&mut self, ask: &Ask) {
        match &ask.share {
            Some(key) => drop(self.shared.remove(key)),
            None => self.own.sub(&ask.allocation),
        }
    }

    /// How much of one resource is taken, inside and outside the cluster.
    pub fn used(&self, name: &str) -> i64 {
        self.held(name).saturating_add(self.external.get(name).copied().unwrap_or(0))
    }

    /// How much of one resource claims hold.
    pub fn held(&self, name: &str) -> i64 {
        let shared = self.shared.values().filter_map(|held| held.get(name));
        let all = self.own.get(name).into_iter().chain(shared);
        all.fold(0i64, |sum, amount| sum.saturating_add(*amount))
    }
}

/// How much is taken of a resource that no request names: what the offer states as its default, else 1 of `seats` and `slots` and all of
/// everything else.
#[must_use]
pub fn default_amount(stated: &Res, name: &str, all: i64) -> i64 {
    match (stated.get(name), name) {
        (Some(default), _) => *default,
        (None, "seats" | "slots") => 1,
        (None, _) => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn res(amounts: &[(&str, i64)]) -> Res {
        amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
    }

    fn ask(amounts: &[(&str, i64)], share: Option<&str>) -> Ask {
        Ask { allocation: res(amounts), share: share.map(str::to_owned) }
    }

    #[test]
    fn counts_down_to_zero_and_no_further() {
        let (capacity, mut usage) = (res(&[("seats", 2)]), Usage::default());
        for _ in 0..2 {
            assert_eq!(usage.fits(&capacity, &ask(&[("seats", 1)], None)), Ok(()));
            usage.take(&ask(&[("seats", 1)], None));
        }
        assert_eq!(usage.fits(&capacity, &ask(&[("seats", 1)], None)), Err(Unfit::Busy));
        assert_eq!(usage.used("seats"), 2);
    }

    #[test]
    fn too_small_is_not_busy() {
        let (capacity, usage) = (res(&[("cpus", 8)]), Usage::default());
        assert_eq!(usage.fits(&capacity, &ask(&[("cpus", 9)], None)), Err(Unfit::TooSmall));
        assert_eq!(usage.fits(&capacity, &ask(&[("gpus", 1)], None)), Err(Unfit::TooSmall));
    }

    #[test]
    fn sharers_hold_one_seat_together() {
        let (capacity, mut usage) = (res(&[("seats", 1)]), Usage::default());
        usage.take(&ask(&[("seats", 1)], Some("foo")));
        assert_eq!(usage.fits(&capacity, &ask(&[("seats", 1)], Some("foo"))), Ok(()));
        assert_eq!(usage.fits(&capacity, &ask(&[("seats", 1)], Some("bar"))), Err(Unfit::Busy));
        usage.take(&ask(&[("seats", 1)], Some("foo")));
        assert_eq!(usage.used("seats"), 1);
    }

    #[test]
    fn what_is_used_outside_is_not_free() {
        let usage = Usage { external: res(&[("seats", 3)]), ..Usage::default() };
        assert_eq!(usage.fits(&res(&[("seats", 3)]), &ask(&[("seats", 1)], None)), Err(Unfit::Busy));
    }
}
