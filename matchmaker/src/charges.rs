//! What accounts have to do with a cycle: who is charged for which root, and what a gang costs and counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Bill, Context, Env, Expr, Limits, Name, Value, eval_billed};
use foldhash::fast::RandomState;
use policy::{Amount, Amounts, Counter, LEAST_CHARGE, Tree, taken_by_gang};
use smallvec::SmallVec;

use crate::budget::{FAIR_FUEL, Owners};
use crate::by_ad::ByAd;
use crate::capacity::{Ask, Res};
use crate::gang::Gang;
use crate::model::{AdId, AdKey, Config, PoolAd, Snapshot};
use crate::score::FixedPoint;

/// The accounts of a pool in one cycle. Without it, the submitter with the fewest gangs is served first, and nothing is charged.
#[derive(Clone, Debug)]
pub struct Policy {
    /// The accounts, with what each has used and what it holds.
    pub tree: Tree,
    /// How much of each counter the pool has: what all accounts hold, and what is free. Absent: no limit.
    pub total: Amounts,
    /// The counters of offers, in the order of their numbers, each with the resource of which it counts amounts; without one, each claim is 1.
    pub counters: Vec<(Counter, Option<String>)>,
    /// The account of each root, by its ad; one that the tree has.
    pub account_of: BTreeMap<AdId, Arc<str>>,
    /// The offers that state what they cost, or that some counter counts.
    pub offers: ByAd<Arc<CountedOffer>>,
    /// The charge of one unit of each resource, in micros.
    pub weights: BTreeMap<String, Amount>,
    /// The shared seats that accounts hold.
    pub seats: Seats,
    /// Fuel that the constraints of counters took on new offers, beyond what is usual, by namespace of the offers.
    pub counting: BTreeMap<String, u64>,
}

/// What claims cost in one cycle: the `chargeWeight` of an offer is evaluated once for each allocation.
#[derive(Clone, Debug)]
pub struct Prices {
    context: Context,
    known: HashMap<(AdId, Res), Option<Amount>>,
    /// What allocations cost and count by the terms of the pool.
    allocations: Allocations,
    /// The offers that were evaluated since this was taken last, and the fuel that it took.
    used: Vec<(AdId, u64)>,
    /// Namespaces whose offers have cost others too much: for jobs of other namespaces, nothing more of them is evaluated.
    barred: BTreeSet<String>,
}

impl Prices {
    /// Those of a cycle with these settings, at this time.
    #[must_use]
    pub fn of(config: &Config, now: i64) -> Prices {
        Prices {
            context: own_context(FUEL, config, now),
            known: HashMap::new(),
            allocations: Allocations::default(),
            used: Vec::new(),
            barred: BTreeSet::new(),
        }
    }

    /// Evaluates nothing more of offers of these namespaces for jobs of others: what is not known by then costs as if they stated nothing.
    pub(crate) fn bar(&mut self, namespaces: &BTreeSet<String>) {
        if self.barred.len() != namespaces.len() {
            self.barred.clone_from(namespaces);
        }
    }

    /// Takes over what the members of a gang cost that the cycle has found: nothing of it is evaluated again.
    pub(crate) fn learn(&mut self, gang: &Gang, charges: &[Amount]) {
        for (member, micros) in gang.members.iter().zip(charges).filter(|(member, _)| member.edge.is_some()) {
            self.known.insert((member.ad, member.ask.allocation.clone()), Some(*micros));
        }
    }

    /// Charges what was evaluated for a root since this was called last: offers of other namespaces pay for what is beyond what is fair, and
    /// nothing more of those that have paid too much is evaluated. The rest, in fuel, is for the root.
    #[inline]
    pub(crate) fn settle(&mut self, snapshot: &Snapshot, root: AdId, owners: &mut Owners) -> u64 {
        let own = if self.used.is_empty() { 0 } else { self.pay_used(snapshot, root, owners) };
        self.bar(owners.barred());
        own
    }

    fn pay_used(&mut self, snapshot: &Snapshot, root: AdId, owners: &mut Owners) -> u64 {
        let namespace = |ad: AdId| snapshot.ad(ad).map(|ad| ad.key.namespace.as_str());
        let mut own = 0_u64;
        for (offer, fuel) in self.used.drain(..) {
            let fair = if namespace(offer) == namespace(root) { fuel } else { fuel.min(FAIR_FUEL) };
            own = own.saturating_add(fair);
            namespace(offer).into_iter().for_each(|namespace| owners.pay(namespace, fuel - fair));
        }
        own
    }

    /// The offers that were evaluated since this was called last, and the fuel that it took.
    pub fn take_used(&mut self) -> Vec<(AdId, u64)> {
        std::mem::take(&mut self.used)
    }

    /// What a claim costs by the expression of its offer, in micros; none if that is no amount.
    fn stated(&mut self, (id, ad): (AdId, &PoolAd), weight: &Expr, ask: &Ask, namespace: &str) -> Option<Amount> {
        let Prices { context, known, used, barred, .. } = self;
        let (allocation, owner) = (&ask.allocation, &ad.key.namespace);
        let key = (id, allocation.clone());
        if owner != namespace && barred.contains(owner) {
            return known.get(&key).copied().flatten();
        }
        *known.entry(key).or_insert_with(|| {
            let (value, fuel) = own_value(ad, weight, Some(allocation), context);
            used.push((id, fuel));
            value.as_ref().and_then(micros)
        })
    }
}

/// What an offer costs, and what counts it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CountedOffer {
    /// What a claim on it costs: an expression over its own attributes and `Allocation`.
    pub charge_weight: Option<Expr>,
    /// The counters that count it, by their numbers in [`Policy::counters`].
    pub counters: Vec<usize>,
}

/// What allocations cost and count: most gangs are allocated one of a few, which are the same in memory.
#[derive(Clone, Debug, Default)]
struct Allocations {
    list: Vec<Allocated>,
    /// Their places in the list, by where they are in memory.
    places: HashMap<usize, usize, RandomState>,
    /// The place of the one that was asked for last.
    last: usize,
}

/// What one allocation costs and counts by the terms of a pool.
#[derive(Clone, Debug)]
struct Allocated {
    allocation: Res,
    /// What it costs by the weights of the pool.
    micros: Amount,
    /// By counter.
    counts: Vec<Option<Amount>>,
}

impl Allocations {
    /// What an allocation costs, and how much each counter counts of it. One cycle has one policy.
    #[inline]
    fn of(&mut self, policy: &Policy, allocation: &Res) -> (Amount, &[Option<Amount>]) {
        if !self.list.get(self.last).is_some_and(|known| known.allocation.is(allocation)) {
            self.last = self.place_of(policy, allocation);
        }
        self.list.get(self.last).map_or((CHARGE_OF_ONE, &[]), |known| (known.micros, &known.counts))
    }

    /// The place of an allocation that is not the one that was asked for last.
    #[inline(never)]
    fn place_of(&mut self, policy: &Policy, allocation: &Res) -> usize {
        let Allocations { list, places, .. } = self;
        if list.len() == ALLOCATIONS_MAX {
            list.clear();
            places.clear();
        }
        *places.entry(allocation.address()).or_insert_with(|| {
            list.push(policy.allocated(allocation));
            list.len() - 1
        })
    }
}

/// The charge of each member of a gang, in micros, in the order of the members; that of the root is 0.
pub type MemberCharges = SmallVec<[Amount; 3]>;

/// What one gang costs and counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GangCharge {
    /// The charge of each member.
    pub members: MemberCharges,
    /// What its account holds more of with it, by counter.
    pub takes: Amounts,
}

/// The shared seats that accounts hold: an account pays for a seat once, as much as the dearest of its claims on it costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Seats(BTreeMap<(Arc<str>, AdKey, String), Amounts>);

impl Seats {
    /// The seats that a gang of an account may share. Only these are copied: there may be thousands of others, and many gangs are looked at.
    pub(crate) fn of_gang(&self, (snapshot, gang): (&Snapshot, &Gang), account: &Arc<str>) -> Seats {
        let shared =
            gang.members.iter().filter_map(|member| Some((snapshot.ad(member.ad)?, member.ask.share.as_ref()?)));
        let keys = shared.map(|(ad, share)| (Arc::clone(account), ad.key.clone(), share.clone()));
        Seats(keys.filter_map(|key| Some((self.0.get(&key)?.clone(), key))).map(|(held, key)| (key, held)).collect())
    }

    /// Takes amounts of an offer for an account, perhaps as part of a shared seat. Returns how much more the account holds with them.
    pub fn take(&mut self, account: &Arc<str>, offer: &AdKey, share: Option<&str>, amounts: Amounts) -> Amounts {
        let Some(share) = share else { return amounts };
        let seat = self.0.entry((Arc::clone(account), offer.clone(), share.to_owned())).or_default();
        let mut more = Amounts::new();
        for (counter, amount) in amounts {
            let held = seat.entry(Arc::clone(&counter)).or_default();
            if amount > *held {
                more.insert(counter, amount - *held);
                *held = amount;
            }
        }
        more
    }
}

impl CountedOffer {
    /// How much of each counter an allocation counts, by the names of these counters. A claim has its own entry of a seat that is shared, but
    /// counters of a resource count the seat.
    pub fn counts<'c>(
        &self,
        counters: &'c [(Counter, Option<String>)],
        allocation: &Res,
    ) -> impl Iterator<Item = (&'c Counter, Amount)> {
        let counters = self.counters.iter().filter_map(move |number| counters.get(*number));
        counters.filter_map(move |(counter, resource)| Some((counter, counted_of(allocation, resource.as_ref())?)))
    }
}

/// What members of gangs cost.
pub(crate) enum Priced<'p> {
    /// What the offers state now.
    Evaluated(&'p mut Prices),
    /// By place in the gang: what was recorded when it was found.
    Recorded(&'p [Amount]),
}

/// How much of a resource an allocation has; of no resource, 1.
fn counted_of(allocation: &Res, resource: Option<&String>) -> Option<Amount> {
    resource.map_or(Some(1), |resource| allocation.get(resource).map(|amount| Amount::from(*amount)))
}

impl Policy {
    /// What a gang of this account costs and counts, beside the shared seats that the account holds.
    pub fn charge_of(
        &self,
        (snapshot, gang): (&Snapshot, &Gang),
        account: &Arc<str>,
        seats: &mut Seats,
        prices: &mut Prices,
    ) -> GangCharge {
        self.charge_at((snapshot, gang), account, seats, &mut Priced::Evaluated(prices))
    }

    /// The same of a gang whose members cost so much, as was recorded when it was found; nothing is evaluated.
    pub fn charge_as_recorded(
        &self,
        (snapshot, gang): (&Snapshot, &Gang),
        account: &Arc<str>,
        seats: &mut Seats,
        charges: &[Amount],
    ) -> GangCharge {
        self.charge_at((snapshot, gang), account, seats, &mut Priced::Recorded(charges))
    }

    fn charge_at(
        &self,
        (snapshot, gang): (&Snapshot, &Gang),
        account: &Arc<str>,
        seats: &mut Seats,
        priced: &mut Priced<'_>,
    ) -> GangCharge {
        let (mut members, mut takes) = (Vec::new(), Amounts::new());
        let counts = |number: usize, amount| {
            let counter = self.counters.get(number);
            counter.into_iter().for_each(|(counter, _)| *takes.entry(Arc::clone(counter)).or_default() += amount);
        };
        let sum = self.count((snapshot, gang), Some((account, seats)), priced, &mut members, counts);
        GangCharge { members: MemberCharges::from_slice(&members), takes: taken_by_gang(sum, takes) }
    }

    /// What a gang costs at some prices beside the shared seats that its account holds; without these, nothing is shared. Adds what each member
    /// costs to `members`, and reports how much each offer counts, by the numbers of counters.
    pub(crate) fn count(
        &self,
        (snapshot, gang): (&Snapshot, &Gang),
        mut shared: Option<(&Arc<str>, &mut Seats)>,
        priced: &mut Priced<'_>,
        members: &mut Vec<Amount>,
        mut counts: impl FnMut(usize, Amount),
    ) -> Amount {
        let namespace =
            || gang.root().and_then(|root| snapshot.ad(root)).map_or("", |root| root.key.namespace.as_str());
        let mut sum = 0;
        for (place, member) in gang.members.iter().enumerate() {
            let ad = member.edge.and_then(|_| snapshot.ad(member.ad)).filter(|ad| ad.offer().is_some());
            let Some(ad) = ad else {
                members.push(0);
                continue;
            };
            let counted = self.offers.get(member.ad).map(|counted| &**counted);
            let allocation = &member.ask.allocation;
            let (micros, amounts) = match priced {
                Priced::Evaluated(prices) => self.charge((member.ad, ad), counted, &member.ask, namespace, prices),
                Priced::Recorded(charges) => (charges.get(place).copied().unwrap_or(0), &[][..]),
            };
            members.push(micros);
            if let (Some(_), Some(shared)) = (&member.ask.share, &mut shared) {
                sum += self.count_shared((ad, &member.ask), counted, micros, shared, &mut counts);
                continue;
            }
            sum += micros;
            for number in counted.map_or(&[][..], |counted| &counted.counters) {
                let amount = amounts.get(*number).copied().unwrap_or_else(|| self.counted_by(*number, allocation));
                amount.into_iter().for_each(|amount| counts(*number, amount));
            }
        }
        sum.max(LEAST_CHARGE)
    }

    /// Takes part of a shared seat for an account, and reports what it counts beside what the account holds of the seat. Returns what it costs.
    #[cold]
    fn count_shared(
        &self,
        (ad, ask): (&PoolAd, &Ask),
        counted: Option<&CountedOffer>,
        micros: Amount,
        (account, seats): &mut (&Arc<str>, &mut Seats),
        counts: &mut impl FnMut(usize, Amount),
    ) -> Amount {
        let amounts = counted.into_iter().flat_map(|counted| counted.counts(&self.counters, &ask.allocation));
        let amounts = amounts.map(|(counter, amount)| (Arc::clone(counter), amount));
        let amounts = amounts.chain([(policy::CHARGE.into(), micros)]).collect();
        let mut sum = 0;
        for (counter, amount) in seats.take(account, &ad.key, ask.share.as_deref(), amounts) {
            match self.counters.iter().position(|(own, _)| *own == counter) {
                Some(number) => counts(number, amount),
                None => sum += amount,
            }
        }
        sum
    }

    /// What a claim on all of an offer costs, in micros.
    pub fn charge_of_all(&self, snapshot: &Snapshot, id: AdId, prices: &mut Prices) -> Amount {
        let Some((ad, offer)) = snapshot.ad(id).and_then(|ad| Some((ad, ad.offer()?))) else { return 0 };
        let ask = Ask { allocation: offer.capacity.clone(), share: None };
        let counted = self.offers.get(id).map(|counted| &**counted);
        self.charge((id, ad), counted, &ask, || &ad.key.namespace, prices).0
    }

    /// What a claim on an offer costs a job of a namespace, in micros, and how much each counter of the pool counts of such a claim.
    fn charge<'n, 'p>(
        &self,
        (id, ad): (AdId, &PoolAd),
        counted: Option<&CountedOffer>,
        ask: &Ask,
        namespace: impl Fn() -> &'n str,
        prices: &'p mut Prices,
    ) -> (Amount, &'p [Option<Amount>]) {
        if let Some(weight) = counted.and_then(|counted| counted.charge_weight.as_ref())
            && let Some(micros) = prices.stated((id, ad), weight, ask, namespace())
        {
            return (micros, prices.allocations.of(self, &ask.allocation).1);
        }
        prices.allocations.of(self, &ask.allocation)
    }

    /// How much the counter with a number counts of an allocation.
    fn counted_by(&self, number: usize, allocation: &Res) -> Option<Amount> {
        counted_of(allocation, self.counters.get(number)?.1.as_ref())
    }

    /// The numbers of the counters of which any claim on an offer with this capacity counts at least 1.
    pub(crate) fn always_count(&self, counted: &CountedOffer, capacity: &Res) -> impl Iterator<Item = usize> {
        counted.counters.iter().copied().filter(move |number| {
            self.counters.get(*number).is_some_and(|(_, resource)| counted_of(capacity, resource.as_ref()).is_some())
        })
    }

    fn allocated(&self, allocation: &Res) -> Allocated {
        Allocated {
            allocation: allocation.clone(),
            micros: charge_by_weights(&self.weights, allocation.iter()),
            counts: self.counters.iter().map(|(_, resource)| counted_of(allocation, resource.as_ref())).collect(),
        }
    }
}

/// What amounts of resources cost by the weights of a pool, in micros; 1 charge, if none of them has a weight.
pub fn charge_by_weights<'r>(
    weights: &BTreeMap<String, Amount>,
    allocation: impl Iterator<Item = (&'r String, &'r i64)>,
) -> Amount {
    let weighted = |(name, amount): (&String, &i64)| Some(weights.get(name)? * Amount::from(*amount));
    let mut costs = allocation.filter_map(weighted).peekable();
    match costs.peek() {
        Some(_) => costs.sum::<Amount>().min(WEIGHTED_MAX),
        None => CHARGE_OF_ONE,
    }
}

/// How many allocations are remembered with what they cost and count.
const ALLOCATIONS_MAX: usize = 4096;

/// One charge, in micros.
const CHARGE_OF_ONE: Amount = 1_000_000;
/// The most that one claim on an offer costs by its `chargeWeight`, and by the weights of the pool, in micros.
const CHARGE_MAX: Amount = 1_000_000 * CHARGE_OF_ONE;
const WEIGHTED_MAX: Amount = 1_000 * CHARGE_MAX;

/// What the evaluation of a `chargeWeight` may take, in fuel: what takes more has no value.
const FUEL: u64 = 20_000;
const MEMORY: usize = 256 * 1024;
/// What the evaluation of a counter's constraint may take: it is evaluated for each offer that changes, by the thread on which all else waits.
pub const COUNTER_FUEL: u64 = FAIR_FUEL;

/// The context in which an offer's own expressions are evaluated with so much fuel.
#[must_use]
pub fn own_context(fuel: u64, config: &Config, now: i64) -> Context {
    let limits = Limits { fuel, memory: MEMORY, ..config.limits };
    Context { now, seed: config.seed, limits, ..Context::default() }
}

/// The value of an expression in an offer's own ad, without a partner, and the fuel that it took; of `chargeWeight`, with the amounts that
/// are claimed as `Allocation`.
pub fn own_value(ad: &PoolAd, expr: &Expr, allocation: Option<&Res>, context: &Context) -> (Option<Value>, u64) {
    let mut env = Env::new();
    let frame = env.frame(&ad.ports.body, None);
    if let Some(allocation) = allocation {
        let amounts = allocation.iter().map(|(name, amount)| (Name::new(name.as_str()), Value::Integer(*amount)));
        env.define(frame, Name::new("Allocation"), Value::Ad(amounts.collect()));
    }
    let mut bill = Bill::default();
    let value = eval_billed(expr, &env, frame, context, &mut bill).ok();
    let fuel = bill.drain().map(|(_, fuel)| fuel).sum();
    (value, fuel)
}

/// A number as micros, rounded half to even, and cut to what a claim may cost; none if it is no number, or negative.
fn micros(value: &Value) -> Option<Amount> {
    let is_number = match value {
        Value::Integer(number) => *number >= 0,
        Value::Real(number) => *number >= 0.0 && number.is_finite(),
        _ => false,
    };
    let bits = is_number.then(|| FixedPoint::of(value).bits())?.min(1_000_000 << 64);
    let (whole, part) = ((bits >> 64) * CHARGE_OF_ONE, (bits & ((1 << 64) - 1)) * CHARGE_OF_ONE);
    let (floor, rest) = (part >> 64, part & ((1 << 64) - 1));
    let up = rest > 1 << 63 || (rest == 1 << 63 && floor & 1 == 1);
    Some((whole + floor + Amount::from(up)).min(CHARGE_MAX))
}

#[cfg(test)]
mod tests {
    use crate::gang::Member;
    use crate::score::Score;

    use super::*;

    #[test]
    fn numbers_are_rounded_half_to_even_and_cut() {
        for (value, expected) in [
            (Value::Integer(3), Some(3_000_000)),
            (Value::Integer(i64::MAX), Some(CHARGE_MAX)),
            (Value::Integer(-1), None),
            (Value::Real(0.5), Some(500_000)),
            (Value::Real(0.0), Some(0)),
            // 2^-7 charges are 7812.5 micros.
            (Value::Real(2f64.powi(-7)), Some(7812)),
            (Value::Real(3.0 * 2f64.powi(-7)), Some(23_438)),
            (Value::Real(f64::INFINITY), None),
            (Value::Real(-0.5), None),
            (Value::Undefined, None),
            (Value::String("1".into()), None),
        ] {
            assert_eq!(micros(&value), expected, "{value:?}");
        }
    }

    #[test]
    fn q1_of_thousands_of_seats_a_gang_is_counted_beside_its_own() {
        let ad = classad::parse_ad("[]", classad::Dialect::Gangmatch).unwrap();
        let key = |name: &str| AdKey { kind: "License".into(), namespace: "n".into(), name: name.into() };
        let snapshot = Snapshot::new(["l", "m"].map(|name| PoolAd::asking(key(name), name, &ad)).into());
        let [licence, other] = ["l", "m"].map(|name| snapshot.find(&key(name)).unwrap());
        let member = |ad: AdId, share: Option<&str>| Member {
            ad,
            edge: None,
            ask: Ask { allocation: Res::default(), share: share.map(str::to_owned) },
        };
        let members = [member(licence, Some("x")), member(other, None)].into_iter().collect();
        let gang = Gang { members, score: Score::default() };
        let (mut seats, amounts) = (Seats::default(), || Amounts::from([(policy::CHARGE.into(), 2)]));
        for account in ["a", "b"].map(Arc::from) {
            for name in ["l", "m"] {
                for share in ["x", "y", "z"] {
                    seats.take(&account, &key(name), Some(share), amounts());
                }
            }
        }
        let own = seats.of_gang((&snapshot, &gang), &Arc::from("a"));
        assert_eq!(own, Seats([((Arc::from("a"), key("l"), "x".to_owned()), amounts())].into()));
    }

    #[test]
    fn a_shared_seat_is_paid_once_with_the_largest_charge() {
        let (account, offer) =
            (Arc::from("a"), AdKey { kind: "License".into(), namespace: "n".into(), name: "l".into() });
        let mut seats = Seats::default();
        let mut take = |share: Option<&str>, micros: Amount| {
            let more = seats.take(&account, &offer, share, [(policy::CHARGE.into(), micros)].into());
            more.values().sum::<Amount>()
        };
        assert_eq!([take(Some("x"), 2), take(Some("x"), 1), take(Some("x"), 5), take(Some("y"), 1)], [2, 0, 3, 1]);
        assert_eq!([take(None, 2), take(None, 2)], [2, 2]);
    }
}
