//! Changed offers into the namespaces whose hopeless jobs come back to be searched for: at once, unless the offers of one namespace change all
//! the time.

use std::collections::{BTreeMap, BTreeSet};

use matchmaker::PoolAd;

/// So often in a row the changes of one namespace's offers bring jobs back at once; then once in so many milliseconds.
const AT_ONCE: u64 = 8;
const EVERY_MS: u64 = 2_000;

/// What has changed and was not heeded yet, and what may be. Agents publish values all the time, and whoever owns an offer can change it as
/// often: thousands of jobs of others would be searched for in every cycle.
#[derive(Debug, Default)]
pub(crate) struct Returns {
    /// By the namespace of offers that have changed: the namespaces of jobs that they admit.
    due: BTreeMap<String, BTreeSet<String>>,
    /// By the namespace of offers: until when its changes have used what they may, in milliseconds.
    used: BTreeMap<String, u64>,
}

impl Returns {
    /// Some offers have changed, as they were and as they are. `waiting`: the namespaces of jobs that might come back.
    pub(crate) fn note(&mut self, changed: &[&PoolAd], waiting: &BTreeSet<&str>) {
        if waiting.is_empty() {
            return;
        }
        let mut by_owner: BTreeMap<&str, Vec<&PoolAd>> = BTreeMap::new();
        changed.iter().for_each(|ad| by_owner.entry(&ad.key.namespace).or_default().push(ad));
        for (owner, offers) in by_owner {
            let mut admitted = Admitted::to(offers.into_iter());
            let mut concerned = waiting.iter().filter(|namespace| admitted.has(namespace)).peekable();
            if concerned.peek().is_some() {
                self.due.entry(owner.to_owned()).or_default().extend(concerned.map(|name| (*name).to_owned()));
            }
        }
    }

    /// The namespaces whose jobs come back now.
    pub(crate) fn take(&mut self, now_ms: u64) -> BTreeSet<String> {
        self.used.retain(|_, until_ms| *until_ms > now_ms);
        let mut all = BTreeSet::new();
        for (owner, concerned) in std::mem::take(&mut self.due) {
            let until_ms = self.used.get(&owner).copied().unwrap_or(now_ms);
            if until_ms <= now_ms + (AT_ONCE - 1) * EVERY_MS {
                self.used.insert(owner, until_ms + EVERY_MS);
                all.extend(concerned);
            } else {
                self.due.insert(owner, concerned);
            }
        }
        all
    }

    /// When the next ones come back, in milliseconds.
    pub(crate) fn next_ms(&self) -> Option<u64> {
        let free_ms = |owner: &String| {
            self.used.get(owner).map_or(0, |until_ms| until_ms.saturating_sub((AT_ONCE - 1) * EVERY_MS))
        };
        self.due.keys().map(free_ms).min()
    }
}

/// The namespaces whose jobs some offers admit, as far as it was asked.
pub(crate) struct Admitted<'b> {
    offers: Vec<&'b PoolAd>,
    known: BTreeMap<String, bool>,
}

impl<'b> Admitted<'b> {
    /// The namespaces that one of these offers admits.
    pub(crate) fn to(offers: impl Iterator<Item = &'b PoolAd>) -> Admitted<'b> {
        Admitted { offers: offers.collect(), known: BTreeMap::new() }
    }

    /// Whether jobs of a namespace are admitted to one of the offers.
    pub(crate) fn has(&mut self, namespace: &str) -> bool {
        if let Some(known) = self.known.get(namespace) {
            return *known;
        }
        let admits = |ad: &&PoolAd| ad.offer().is_some_and(|offer| offer.admits(namespace));
        let admits = self.offers.iter().any(admits);
        self.known.insert(namespace.to_owned(), admits);
        admits
    }
}

#[cfg(test)]
mod tests {
    use classad::{Dialect, parse_ad};
    use matchmaker::{AdKey, Consent, Offer, Res, Role};

    use super::*;

    fn offer(namespace: &str, consent: Consent) -> PoolAd {
        let key = AdKey { kind: "Machine".into(), namespace: namespace.into(), name: "m".into() };
        let slots: Res = [("slots".to_owned(), 1)].into_iter().collect();
        let ad = PoolAd::asking(key, "m", &parse_ad("[]", Dialect::Gangmatch).unwrap());
        PoolAd { role: Role::Offers(Box::new(Offer { consent, ..Offer::of(slots) })), ..ad }
    }

    #[test]
    fn u4_offers_that_change_all_the_time_bring_jobs_back_now_and_then_and_those_of_others_at_once() {
        let [noisy, quiet] = [offer("eve", Consent::Everybody), offer("grid", Consent::same("bob"))];
        let (mut returns, waiting) = (Returns::default(), BTreeSet::from(["ann", "bob"]));
        let mut back = 0;
        for now_ms in (0..60_000).step_by(50) {
            returns.note(&[&noisy], &waiting);
            back += usize::from(returns.take(now_ms).len() == 2);
        }
        assert!((30..=40).contains(&back), "{back} times in a minute");
        assert!(
            returns.next_ms().is_some_and(|at_ms| (60_000..62_000).contains(&at_ms)),
            "a change is never forgotten"
        );
        returns.note(&[&quiet], &waiting);
        assert_eq!(returns.take(59_990), BTreeSet::from(["bob".to_owned()]));
        assert_eq!(returns.take(60_000).len(), 2);
        assert_eq!((returns.next_ms(), returns.take(80_000).len()), (None, 0));
    }
}
