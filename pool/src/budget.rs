//! The memory budget of large ads: a limit for each namespace, and one for all. Older ads come first. If the limit for all is reached,
//! ads of the namespace with the most memory are evicted for ads of namespaces with less.

use std::collections::BTreeMap;

use crds::ad::{NotAccepted, Size};
use crds::conditions::reasons;

use crate::key::ObjectKey;

/// Ads up to this weight do not count: ads of ordinary size, and Machines of nodes with a hundred labels.
const FREE: u64 = 64 * 1024;
/// The memory for one element of an ad, in bytes: in the object, in the ad, and in the tables of the engine.
const ELEMENT: u64 = 160;
/// How many copies of the text of an ad are kept.
const COPIES: u64 = 3;

/// The memory limits of the large ads of one kind, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limit for one namespace.
    pub each: u64,
    /// The limit for all namespaces.
    pub all: u64,
}

impl Limits {
    /// The limits of the product.
    pub const PRODUCT: Limits = Limits { each: 24 << 20, all: 96 << 20 };
}

/// About how much memory a large ad takes, in bytes; 0 for an ad of ordinary size.
pub(crate) fn weight(size: Size) -> u64 {
    let [bytes, elements] = [size.bytes, size.elements].map(|count| u64::try_from(count).unwrap_or(u64::MAX));
    bytes.saturating_mul(COPIES).saturating_add(elements.saturating_mul(ELEMENT)).saturating_sub(FREE)
}

/// The large ads of one kind, and how much memory they take.
#[derive(Clone, Debug, Default)]
pub(crate) struct Budget {
    /// None: no limits.
    limits: Option<Limits>,
    accounts: BTreeMap<String, Account>,
    used: u64,
    /// Memory was released since [`Budget::fitting`] found nothing.
    freed: bool,
}

#[derive(Clone, Debug, Default)]
struct Account {
    /// The ads that are kept, by name: time of creation and weight.
    held: BTreeMap<String, (i64, u64)>,
    /// The ads that wait for memory.
    waiting: BTreeMap<String, (i64, u64)>,
    used: u64,
}

/// The result of a request for memory.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Granted {
    /// The ads that were evicted for it.
    pub(crate) evicted: Vec<ObjectKey>,
    /// Why there is no memory for it, if there is none.
    pub(crate) refusal: Option<NotAccepted>,
}

impl Budget {
    /// A budget with these limits.
    pub(crate) fn within(limits: Limits) -> Budget {
        Budget { limits: Some(limits), ..Budget::default() }
    }

    /// Requests memory for an ad that was created at `born` (seconds since 1970), instead of what it had.
    pub(crate) fn request(&mut self, key: &ObjectKey, born: i64, weight: u64) -> Granted {
        self.release(key);
        let Some(limits) = self.limits.filter(|_| weight > 0) else { return Granted::default() };
        let evicted = match self.room(key, born, weight, limits) {
            Ok(evicted) => evicted,
            Err(message) => {
                let account = self.accounts.entry(key.namespace.clone()).or_default();
                account.waiting.insert(key.name.clone(), (born, weight));
                let refusal = Some(NotAccepted::new(reasons::NAMESPACE_OVER_BUDGET, &message));
                return Granted { evicted: Vec::new(), refusal };
            }
        };
        for key in &evicted {
            self.evict(key);
        }
        let account = self.accounts.entry(key.namespace.clone()).or_default();
        account.held.insert(key.name.clone(), (born, weight));
        account.used = account.used.saturating_add(weight);
        self.used = self.used.saturating_add(weight);
        Granted { evicted, refusal: None }
    }

    /// The ads to evict so that there is room, or why there cannot be any.
    fn room(&self, key: &ObjectKey, born: i64, weight: u64, limits: Limits) -> Result<Vec<ObjectKey>, String> {
        let nothing = Account::default();
        let own = self.accounts.get(&key.namespace).unwrap_or(&nothing);
        let over = own.used.saturating_add(weight).saturating_sub(limits.each);
        // In its own namespace, younger ads make room.
        let younger = |at: i64, name: &str| (at, name) > (born, key.name.as_str());
        let mut freed: BTreeMap<&str, u64> = BTreeMap::new();
        let mut evicted = Vec::new();
        for (name, (_, size)) in own.youngest_first().filter(|(name, (at, _))| younger(*at, name)) {
            if freed.get(key.namespace.as_str()).copied().unwrap_or(0) >= over {
                break;
            }
            *freed.entry(&key.namespace).or_default() += size;
            evicted.push(ObjectKey::new(&key.namespace, name));
        }
        let own_freed = freed.get(key.namespace.as_str()).copied().unwrap_or(0);
        if own_freed < over {
            return Err(namespace_full(&key.namespace, weight, own.used, limits.each));
        }
        let mut left: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
        let mine = own.used.saturating_sub(own_freed).saturating_add(weight);
        let sum = |freed: &BTreeMap<&str, u64>| freed.values().sum::<u64>();
        while self.used.saturating_sub(sum(&freed)).saturating_add(weight) > limits.all {
            let now = |(name, account): (&'_ String, &Account)| {
                account.used.saturating_sub(freed.get(name.as_str()).copied().unwrap_or(0))
            };
            let others = self.accounts.iter().filter(|(name, _)| **name != key.namespace);
            let Some(largest) = others.max_by_key(|entry| now(*entry)).filter(|entry| now(*entry) > mine) else {
                return Err(all_full(weight, limits.all));
            };
            let (namespace, account) = largest;
            // Oldest first, so that the youngest is popped first.
            let line = left.entry(namespace).or_insert_with(|| {
                let mut line: Vec<_> = account.youngest_first().map(|(name, (_, size))| (name, size)).collect();
                line.reverse();
                line
            });
            let Some((name, size)) = line.pop() else { return Err(all_full(weight, limits.all)) };
            *freed.entry(namespace).or_default() += size;
            evicted.push(ObjectKey::new(namespace, name));
        }
        Ok(evicted)
    }

    fn evict(&mut self, key: &ObjectKey) {
        let Some(account) = self.accounts.get_mut(&key.namespace) else { return };
        let Some((born, weight)) = account.held.remove(&key.name) else { return };
        account.used = account.used.saturating_sub(weight);
        account.waiting.insert(key.name.clone(), (born, weight));
        self.used = self.used.saturating_sub(weight);
    }

    /// Releases the memory of an ad.
    pub(crate) fn release(&mut self, key: &ObjectKey) {
        let Some(account) = self.accounts.get_mut(&key.namespace) else { return };
        account.waiting.remove(&key.name);
        if let Some((_, weight)) = account.held.remove(&key.name) {
            account.used = account.used.saturating_sub(weight);
            self.used = self.used.saturating_sub(weight);
            self.freed = true;
        }
        if account.held.is_empty() && account.waiting.is_empty() {
            self.accounts.remove(&key.namespace);
        }
    }

    /// The waiting ads that fit by now, at most so many: of each namespace the oldest first. If none fits, the search is repeated only
    /// after memory was released.
    pub(crate) fn fitting(&mut self, most: usize) -> Vec<ObjectKey> {
        if !self.freed {
            return Vec::new();
        }
        let Some(limits) = self.limits else { return Vec::new() };
        let (mut all, mut used) = (Vec::new(), self.used);
        for (namespace, account) in &self.accounts {
            let mut own = account.used;
            let mut waiting: Vec<_> = account.waiting.iter().collect();
            waiting.sort_by_key(|(name, (born, _))| (*born, *name));
            for (name, (_, weight)) in waiting {
                let fits = own.saturating_add(*weight) <= limits.each && used.saturating_add(*weight) <= limits.all;
                if fits && all.len() < most {
                    (own, used) = (own.saturating_add(*weight), used.saturating_add(*weight));
                    all.push(ObjectKey::new(namespace, name));
                }
            }
        }
        self.freed = !all.is_empty();
        all
    }

    /// How much memory is taken, in bytes.
    #[cfg(test)]
    pub(crate) fn used(&self) -> u64 {
        self.used
    }
}

impl Account {
    fn youngest_first(&self) -> impl Iterator<Item = (&str, (i64, u64))> {
        let mut all: Vec<(&str, (i64, u64))> = self.held.iter().map(|(name, held)| (name.as_str(), *held)).collect();
        all.sort_by_key(|(name, (born, _))| std::cmp::Reverse((*born, *name)));
        all.into_iter()
    }
}

fn kib(bytes: u64) -> u64 {
    bytes.div_ceil(1024)
}

fn namespace_full(namespace: &str, weight: u64, used: u64, limit: u64) -> String {
    format!(
        "spec: this large ad takes about {} KiB of memory; older large ads of the namespace {namespace} take {} KiB, and together \
         they may take {} KiB: make it smaller, or delete some of the others; it is looked at again when there is room",
        kib(weight),
        kib(used),
        kib(limit)
    )
}

fn all_full(weight: u64, limit: u64) -> String {
    format!(
        "spec: this large ad takes about {} KiB of memory, and the {} KiB that large ads of all namespaces may take are taken: make \
         it smaller; it is looked at again when there is room",
        kib(weight),
        kib(limit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { each: 100, all: 250 };

    fn key(namespace: &str, name: &str) -> ObjectKey {
        ObjectKey::new(namespace, name)
    }

    fn names(keys: &[ObjectKey]) -> Vec<String> {
        keys.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn b13_the_newest_of_a_namespace_wait_whatever_the_order_in_which_they_are_seen() {
        let mut budget = Budget::within(LIMITS);
        for (name, born) in [("c", 3), ("d", 4)] {
            assert_eq!(budget.request(&key("b", name), born, 50), Granted::default());
        }
        let late = budget.request(&key("b", "e"), 5, 50);
        assert_eq!(late.refusal.unwrap().reason, "NamespaceOverBudget");
        let older = budget.request(&key("b", "a"), 1, 50);
        assert_eq!((names(&older.evicted), older.refusal), (vec!["b/d".to_owned()], None));
        assert!(budget.fitting(9).is_empty(), "nothing has become free");
        budget.release(&key("b", "a"));
        assert_eq!(names(&budget.fitting(9)), ["b/d"], "the oldest of those that wait");
    }

    #[test]
    fn b13_where_all_is_taken_the_largest_make_room_for_those_that_have_less() {
        let mut budget = Budget::within(LIMITS);
        for namespace in ["x", "y"] {
            for born in 0..2 {
                assert_eq!(budget.request(&key(namespace, &born.to_string()), born, 50), Granted::default());
            }
        }
        assert_eq!(budget.request(&key("z", "0"), 9, 50), Granted::default());
        let small = budget.request(&key("w", "0"), 10, 40);
        assert_eq!((small.evicted.len(), small.refusal), (1, None));
        assert!(budget.used() <= LIMITS.all);
        // and a share is a share: no one is put below those that take from it
        let mut refused = 0;
        for number in 1..20 {
            refused += usize::from(budget.request(&key("w", &number.to_string()), 10 + number, 40).refusal.is_some());
            assert!(budget.used() <= LIMITS.all);
        }
        assert_eq!(refused, 18, "as much as others have, and no more");
    }

    #[test]
    fn b13_what_is_used_is_never_more_than_the_limits() {
        let mut chance = 0x9E37_79B9_7F4A_7C15_u64;
        let mut one_of = |many: u64| {
            chance ^= chance << 13;
            chance ^= chance >> 7;
            chance ^= chance << 17;
            chance % many
        };
        let mut budget = Budget::within(LIMITS);
        let mut known: BTreeMap<String, u64> = BTreeMap::new();
        for _ in 0..4000 {
            let key = key(&format!("n{}", one_of(4)), &format!("{}", one_of(12)));
            if one_of(3) == 0 {
                budget.release(&key);
                known.remove(&key.to_string());
            } else {
                let weight = one_of(70);
                let granted = budget.request(&key, i64::try_from(one_of(9)).unwrap(), weight);
                for gone in names(&granted.evicted) {
                    assert!(known.remove(&gone).is_some(), "{gone} had a place");
                }
                known.remove(&key.to_string());
                if granted.refusal.is_none() {
                    known.insert(key.to_string(), weight);
                }
            }
            assert_eq!(known.values().sum::<u64>(), budget.used());
            assert!(budget.used() <= LIMITS.all);
            assert!(budget.accounts.values().all(|account| account.used <= LIMITS.each));
        }
    }

    #[test]
    fn b13_ads_of_ordinary_size_do_not_count() {
        for size in [Size { bytes: 1200, elements: 60 }, Size { bytes: 4000, elements: 320 }] {
            assert_eq!(weight(size), 0);
        }
        assert!(weight(Size { bytes: 262_144, elements: 32_768 }) > 5 << 20);
        let mut budget = Budget::within(LIMITS);
        assert!((0..100_000).all(|n| budget.request(&key("b", &n.to_string()), 0, 0) == Granted::default()));
        assert!(budget.accounts.is_empty());
    }
}
