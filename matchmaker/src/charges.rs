//! What accounts have to do with a cycle: who is charged for which root, and what a gang costs and counts.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use classad::{Bill, Context, Env, Expr, Limits, Name, Value, eval_billed};
use foldhash::fast::RandomState;
use policy::{Amount, Amounts, Counter, Tree, rounded_micros, taken_by_gang};
use smallvec::SmallVec;

use crate::budget::{FAIR_FUEL, Owners};
use crate::by_ad::ByAd;
use crate::capacity::{Ask, Res};
use crate::gang::{Gang, Member};
use crate::model::{AdId, AdKey, Config, PoolAd, SMALL_FUEL, SMALL_MEMORY, Snapshot};
use crate::root_accounts::RootAccounts;
use crate::score::FixedPoint;

/// What the PoolPolicy and the Accounts of a pool say in one cycle. Without it, the submitter with the fewest gangs is served first, and nothing is charged.
#[derive(Clone, Debug)]
pub struct Accounts {
    /// The accounts, with what each has used and what it holds.
    pub tree: Tree,
    /// How much of each counter the pool has: what all accounts hold, and what is free. Absent: no limit.
    pub total: Amounts,
    /// The counters of offers, in the order of their numbers, each with the resource of which it counts amounts; without one, each claim is 1.
    pub counters: Vec<(Counter, Option<String>)>,
    /// The account of each root, by its ad; one that the tree has.
    pub account_of: RootAccounts,
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
            context: own_context(SMALL_FUEL, config, now),
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

    /// What a claim costs and counts, if the allocation alone decides that: the offer states no price, and the seat is not shared.
    #[inline]
    pub(crate) fn by_allocation(
        &mut self,
        accounts: &Accounts,
        counted: &CountedOffer,
        ask: &Ask,
    ) -> Option<&Allocated> {
        if counted.charge_weight.is_some() || ask.share.is_some() {
            return None;
        }
        self.allocations.of(accounts, &ask.allocation)
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
    /// The place of the one that was asked for last. Without it, a cycle over `gang --n 4000 --density 1 --selectivity 8` with accounts takes 51.9 instead of
    /// 51.6 million instructions.
    last: usize,
}

/// What one allocation costs and counts by the terms of a pool.
#[derive(Clone, Debug)]
pub(crate) struct Allocated {
    allocation: Res,
    /// What it costs by the weights of the pool.
    pub(crate) micros: Amount,
    /// By counter.
    pub(crate) counts: Vec<Option<Amount>>,
}

impl Allocations {
    /// What an allocation costs and counts. One cycle has one set of terms.
    #[inline]
    fn of(&mut self, accounts: &Accounts, allocation: &Res) -> Option<&Allocated> {
        if !self.list.get(self.last).is_some_and(|known| known.allocation.is(allocation)) {
            self.last = self.place_of(accounts, allocation);
        }
        self.list.get(self.last)
    }

    /// The place of an allocation that is not the one that was asked for last.
    #[inline(never)]
    fn place_of(&mut self, accounts: &Accounts, allocation: &Res) -> usize {
        let Allocations { list, places, .. } = self;
        if list.len() == ALLOCATIONS_MAX {
            list.clear();
            places.clear();
        }
        *places.entry(allocation.address()).or_insert_with(|| {
            list.push(accounts.allocated(allocation));
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

/// What members of a gang cost together.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sum {
    /// In micros, without those that have part of a seat that others may share.
    pub(crate) micros: Amount,
    /// Whether there are such.
    pub(crate) shares_seats: bool,
}

/// What members of gangs cost.
pub(crate) enum Priced<'p> {
    /// What the offers state now.
    Evaluated(&'p mut Prices),
    /// By place in the gang: what was recorded when it was found.
    Recorded(&'p [Amount]),
}

/// The offer that a member is; none if it is the root, or offers nothing.
fn offer_of<'s>(snapshot: &'s Snapshot, member: &Member) -> Option<&'s PoolAd> {
    member.edge.and_then(|_| snapshot.ad(member.ad)).filter(|ad| ad.offer().is_some())
}

/// How much of a resource an allocation has; of no resource, 1.
fn counted_of(allocation: &Res, resource: Option<&String>) -> Option<Amount> {
    resource.map_or(Some(1), |resource| allocation.get(resource).map(|amount| Amount::from(*amount)))
}

impl Accounts {
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
        let (mut members, mut takes, mut sum) = (Vec::new(), Amounts::new(), Sum::default());
        let mut counts = |number: usize, amount| {
            let counter = self.counters.get(number);
            counter.into_iter().for_each(|(counter, _)| *takes.entry(Arc::clone(counter)).or_default() += amount);
        };
        for place in 0..gang.members.len() {
            members.push(self.count_member((snapshot, gang), place, priced, &mut sum, &mut counts));
        }
        if sum.shares_seats {
            sum.micros += self.count_shared((snapshot, gang), &members, (account, seats), &mut counts);
        }
        GangCharge { members: MemberCharges::from_slice(&members), takes: taken_by_gang(sum.micros, takes) }
    }

    /// What the member of a gang with this place costs at some prices, nothing if it offers nothing. Adds that to the sum, and reports how much it
    /// counts, by the numbers of counters, unless it is part of a shared seat.
    #[inline(never)]
    pub(crate) fn count_member(
        &self,
        (snapshot, gang): (&Snapshot, &Gang),
        place: usize,
        priced: &mut Priced<'_>,
        sum: &mut Sum,
        counts: &mut impl FnMut(usize, Amount),
    ) -> Amount {
        let Some((member, ad)) = gang.members.get(place).and_then(|member| Some((member, offer_of(snapshot, member)?)))
        else {
            return 0;
        };
        let counted = self.offers.get(member.ad).map(|counted| &**counted);
        let micros = match priced {
            Priced::Evaluated(prices) => {
                let namespace =
                    || gang.root().and_then(|root| snapshot.ad(root)).map_or("", |root| root.key.namespace.as_str());
                self.charge((member.ad, ad), counted, &member.ask, namespace, prices)
            }
            Priced::Recorded(charges) => charges.get(place).copied().unwrap_or(0),
        };
        if member.ask.share.is_some() {
            sum.shares_seats = true;
            return micros;
        }
        sum.micros += micros;
        for number in counted.map_or(&[][..], |counted| &counted.counters) {
            let counter = self.counters.get(*number);
            let amount = counter.and_then(|(_, resource)| counted_of(&member.ask.allocation, resource.as_ref()));
            amount.into_iter().for_each(|amount| counts(*number, amount));
        }
        micros
    }

    /// What the parts of shared seats cost that a gang has, given what each of its members costs, beside what its account holds of these seats.
    /// Takes them for the account, and reports how much they count.
    #[cold]
    pub(crate) fn count_shared(
        &self,
        (snapshot, gang): (&Snapshot, &Gang),
        members: &[Amount],
        (account, seats): (&Arc<str>, &mut Seats),
        counts: &mut impl FnMut(usize, Amount),
    ) -> Amount {
        let mut sum = 0;
        for (member, micros) in gang.members.iter().zip(members) {
            let (Some(ad), Some(share)) = (offer_of(snapshot, member), &member.ask.share) else { continue };
            let counted = self.offers.get(member.ad).into_iter();
            let amounts = counted.flat_map(|counted| counted.counts(&self.counters, &member.ask.allocation));
            let amounts = amounts.map(|(counter, amount)| (Arc::clone(counter), amount));
            let amounts = amounts.chain([(policy::CHARGE.into(), *micros)]).collect();
            for (counter, amount) in seats.take(account, &ad.key, Some(share), amounts) {
                match self.counters.iter().position(|(own, _)| *own == counter) {
                    Some(number) => counts(number, amount),
                    None => sum += amount,
                }
            }
        }
        sum
    }

    /// What a claim on all of an offer costs, in micros.
    pub fn charge_of_all(&self, snapshot: &Snapshot, id: AdId, prices: &mut Prices) -> Amount {
        let Some((ad, offer)) = snapshot.ad(id).and_then(|ad| Some((ad, ad.offer()?))) else { return 0 };
        let ask = Ask { allocation: offer.capacity.clone(), share: None };
        let counted = self.offers.get(id).map(|counted| &**counted);
        self.charge((id, ad), counted, &ask, || &ad.key.namespace, prices)
    }

    /// What a claim on an offer costs a job of a namespace, in micros.
    fn charge<'n>(
        &self,
        (id, ad): (AdId, &PoolAd),
        counted: Option<&CountedOffer>,
        ask: &Ask,
        namespace: impl Fn() -> &'n str,
        prices: &mut Prices,
    ) -> Amount {
        let weight = counted.and_then(|counted| counted.charge_weight.as_ref());
        if let Some(stated) = weight.and_then(|weight| prices.stated((id, ad), weight, ask, namespace())) {
            return stated;
        }
        prices.allocations.of(self, &ask.allocation).map_or(CHARGE_OF_ONE, |known| known.micros)
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

/// What the evaluation of a counter's constraint may take: it is evaluated for each offer that changes, by the thread on which all else waits.
pub const COUNTER_FUEL: u64 = FAIR_FUEL;

/// The context in which an offer's own expressions are evaluated with so much fuel.
#[must_use]
pub fn own_context(fuel: u64, config: &Config, now: i64) -> Context {
    let limits = Limits { fuel, memory: SMALL_MEMORY, ..config.limits };
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
    Some(rounded_micros(bits).min(CHARGE_MAX))
}

#[cfg(test)]
mod tests {
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
