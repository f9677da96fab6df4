//! The order of roots in a pool with accounts: the account with the smallest normalized usage first, level by level down the tree, then priority,
//! age and name. And the quotas: which one forbids a root a gang.
//!
//! [`Order`] and [`Quotas`] of the crate `policy` decide both, from amounts; this file works out what a gang costs and counts (`charges.rs`), and
//! that counts at once. `line.rs` asks for the next root, and `within_quotas.rs` for the quotas. Without accounts, `queue.rs` takes its place.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use policy::{Amount, Bound, LEAST_CHARGE, Node, NumberedAmounts, Order, Pass, Quotas};

use crate::budget::Owners;
use crate::casts::{as_u32, as_usize};
use crate::charges::{Accounts, GangCharge, Priced, Prices, Seats, Sum};
use crate::finder::Turn;
use crate::gang::Gang;
use crate::model::{AdId, Config, Root, Snapshot};
use crate::why_not::QuotaExceeded;

/// What one gang costs and counts in this cycle, if that was worked out. Cycles use one for all gangs: its memory is used again.
#[derive(Default)]
pub(crate) struct NumberedCharge {
    /// What each member costs, in micros.
    pub(crate) members: Vec<Amount>,
    /// What its account holds more of with it, by the numbers of counters that something limits.
    takes: NumberedAmounts,
    /// Whether the gang has part of a seat that others may share.
    shares_seats: bool,
}

impl NumberedCharge {
    /// Whether it was worked out: every gang costs something.
    pub(crate) fn is_known(&self) -> bool {
        self.takes.charge() > 0
    }

    /// Forgets what one gang costs.
    pub(crate) fn forget(&mut self) {
        self.members.clear();
        self.takes.clear();
    }
}

/// The roots that wait, in the order of their accounts.
pub(crate) struct AccountQueue<'s> {
    snapshot: &'s Snapshot,
    accounts: &'s Accounts,
    /// The submitters, which have shares of the steps, by name.
    submitters: Vec<Arc<str>>,
    order: Order<'s>,
    /// By the number of a counter: its number in the quotas, if these limit it. None of the two that every gang takes of.
    counters: Vec<Option<usize>>,
    /// Whether a quota may forbid an account every gang.
    may_forbid_every_gang: bool,
    /// By root: the leaf of its account, if the tree has it, and the number of its submitter.
    placed: Vec<(Option<Node>, u32)>,
    /// The turn of the root that was served last.
    turn: Option<policy::AccountTurn>,
    /// The numbers of roots that come once more when all others are done.
    postponed: Vec<usize>,
    /// The shared seats that accounts hold by now.
    seats: Seats,
    /// What claims cost, as far as it was evaluated in this cycle.
    prices: RefCell<Option<Prices>>,
}

impl<'s> AccountQueue<'s> {
    /// The roots of a snapshot.
    pub(crate) fn of(snapshot: &'s Snapshot, accounts: &'s Accounts) -> AccountQueue<'s> {
        let (submitters, placed) = placed(snapshot, accounts);
        let quotas = Quotas::new(&accounts.tree, &accounts.total);
        let of_every_gang = [quotas.gangs_number(), quotas.charge_number()];
        let counts = |number: &usize| quotas.is_limited(*number) && !of_every_gang.contains(number);
        let number = |counter: &str| quotas.number(counter).filter(counts);
        AccountQueue {
            snapshot,
            accounts,
            submitters,
            counters: accounts.counters.iter().map(|(counter, _)| number(counter)).collect(),
            may_forbid_every_gang: of_every_gang.iter().any(|number| quotas.is_bounded(*number)),
            order: order(snapshot, &placed, quotas),
            placed,
            turn: None,
            postponed: Vec::new(),
            seats: accounts.seats.clone(),
            prices: RefCell::default(),
        }
    }

    /// The roots of a snapshot after these gangs, which count as held at these prices.
    pub(crate) fn after(
        snapshot: &'s Snapshot,
        accounts: &'s Accounts,
        gangs: &[Gang],
        prices: &mut Prices,
    ) -> AccountQueue<'s> {
        let mut queue = AccountQueue::of(snapshot, accounts);
        for gang in gangs {
            let account = gang.root().and_then(|root| accounts.account_of.get(root));
            let Some((account, node)) = account.and_then(|name| Some((name, accounts.tree.leaf(name)?))) else {
                continue;
            };
            let charge = accounts.charge_of((snapshot, gang), account, &mut queue.seats, prices);
            queue.order.take(node, &charge.takes);
        }
        queue.begin(0..snapshot.roots.len());
        queue
    }

    /// What is held, granted and available now.
    pub(crate) fn quotas(&self) -> &Quotas<'s> {
        self.order.quotas()
    }

    /// Puts roots in order, given what is held by now.
    fn begin(&mut self, numbers: impl IntoIterator<Item = usize>) {
        let waiting = in_line(self.snapshot, &self.placed, numbers);
        self.order.restart(jobs(&waiting));
    }

    /// The account of a root.
    pub(crate) fn account<'a>(&'a self, root: &'a Root) -> &'a Arc<str> {
        self.accounts.account_of.get(root.ad).unwrap_or(&root.submitter)
    }

    /// The submitters in the order of their numbers.
    pub(crate) fn names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.submitters.iter()
    }

    /// The root that is served next; the same one until something is reported of it.
    pub(crate) fn next(&mut self) -> Option<Turn<'s>> {
        let turn = self.order.next()?;
        self.turn = Some(turn);
        let number = turn.job;
        let root = self.snapshot.roots.get(number)?;
        let submitter = self.placed.get(number).map_or(usize::MAX, |(_, submitter)| as_usize(*submitter));
        Some(Turn { number, ad: root.ad, submitter, excludes: !root.exclusions.is_empty(), root })
    }

    /// Whether it is the pass of guarantees: accounts are served that do not hold what is guaranteed to them, and all others come later.
    pub(crate) fn is_guarantee_pass(&self) -> bool {
        self.turn.is_some_and(|turn| turn.pass == Pass::Guarantee)
    }

    /// The root that was served last has no gang in this cycle.
    pub(crate) fn not_found(&mut self) {
        self.turn.take().into_iter().for_each(|turn| self.order.not_found(turn));
    }

    /// Postpones the root that was served last: it comes once more when all others are done.
    pub(crate) fn postpone(&mut self) {
        self.postponed.extend(self.turn.map(|turn| turn.job));
        self.not_found();
    }

    /// Begins again with the postponed roots. Returns the numbers of their submitters.
    pub(crate) fn begin_postponed(&mut self) -> BTreeSet<usize> {
        let numbers = std::mem::take(&mut self.postponed);
        self.begin(numbers.iter().copied());
        let placed = numbers.iter().filter_map(|number| self.placed.get(*number));
        placed.map(|(_, submitter)| as_usize(*submitter)).collect()
    }

    /// Sets what claims cost, as far as that is known already.
    pub(crate) fn set_prices(&mut self, prices: Prices) {
        self.prices = RefCell::new(Some(prices));
    }

    /// What a gang of a root costs and counts at these prices. Its shared seats are not taken.
    pub(crate) fn charge_of(&self, root: &Root, gang: &Gang, prices: &mut Prices) -> GangCharge {
        let account = self.account(root);
        let mut seats = self.seats.of_gang((self.snapshot, gang), account);
        self.accounts.charge_of((self.snapshot, gang), account, &mut seats, prices)
    }

    /// The same by the numbers of counters, which is faster: it is asked for every gang that is found.
    pub(crate) fn numbered_charge_of(
        &self,
        root: &Root,
        gang: &Gang,
        (config, now): (&Config, i64),
        charge: &mut NumberedCharge,
    ) {
        let mut prices = self.prices.borrow_mut();
        self.count(root, gang, prices.get_or_insert_with(|| Prices::of(config, now)), charge);
    }

    /// The same, and charges owners for the costs of claims that were computed for the root. Returns what the root pays itself, in fuel.
    pub(crate) fn settled_charge_of(
        &self,
        (root, gang): (&Root, &Gang),
        (config, now): (&Config, i64),
        charge: &mut NumberedCharge,
        owners: &mut Owners,
    ) -> u64 {
        let mut prices = self.prices.borrow_mut();
        let prices = prices.get_or_insert_with(|| Prices::of(config, now));
        self.count(root, gang, prices, charge);
        prices.settle(self.snapshot, root.ad, owners)
    }

    #[inline(always)]
    fn count(&self, root: &Root, gang: &Gang, prices: &mut Prices, charge: &mut NumberedCharge) {
        charge.forget();
        let NumberedCharge { members, takes, shares_seats } = charge;
        let mut counts = |counter, amount| {
            self.number(counter).into_iter().for_each(|number| takes.add(number, amount));
        };
        let mut sum = Sum::default();
        // The root costs nothing.
        members.push(0);
        for member in gang.members.split_first().map_or(&[][..], |(_, others)| others) {
            let counted = self.accounts.offers.get(member.ad);
            let known = match counted {
                Some(counted) => prices.by_allocation(self.accounts, counted, &member.ask),
                None => None,
            };
            let (Some(counted), Some(known)) = (counted, known) else {
                let (gang, place) = ((self.snapshot, gang), members.len());
                let micros =
                    self.accounts.count_member(gang, place, &mut Priced::Evaluated(prices), &mut sum, &mut counts);
                members.push(micros);
                continue;
            };
            members.push(known.micros);
            sum.micros += known.micros;
            for counter in &counted.counters {
                if let Some(Some(amount)) = known.counts.get(*counter) {
                    counts(*counter, *amount);
                }
            }
        }
        if sum.shares_seats {
            sum.micros += self.count_shared(root, gang, members, &mut counts);
        }
        *shares_seats = sum.shares_seats;
        self.order.quotas().add_gang(sum.micros.max(LEAST_CHARGE), takes);
    }

    /// What the parts of shared seats cost that a gang has, beside what the account of its root holds of them. They are not taken.
    #[cold]
    fn count_shared(
        &self,
        root: &Root,
        gang: &Gang,
        members: &[Amount],
        counts: &mut impl FnMut(usize, Amount),
    ) -> Amount {
        let account = self.account(root);
        let mut seats = self.seats.of_gang((self.snapshot, gang), account);
        self.accounts.count_shared((self.snapshot, gang), members, (account, &mut seats), counts)
    }

    /// The number that a counter has in the quotas.
    fn number(&self, counter: usize) -> Option<usize> {
        self.counters.get(counter).copied().flatten()
    }

    /// The offers whose costs were computed since this was called last, and the fuel that it took.
    pub(crate) fn take_used(&self) -> Vec<(AdId, u64)> {
        self.prices.borrow_mut().as_mut().map(Prices::take_used).unwrap_or_default()
    }

    /// Charges the account of the root that was served last for its gang, and works out what that costs if it is not known. Returns whether the gang
    /// is served: in the pass of guarantees, only a gang that is guaranteed is.
    pub(crate) fn serve(
        &mut self,
        root: &Root,
        gang: &Gang,
        charge: &mut NumberedCharge,
        (config, now): (&Config, i64),
    ) -> bool {
        let Some(turn) = self.turn.take() else { return false };
        if !charge.is_known() {
            self.numbered_charge_of(root, gang, (config, now), charge);
        }
        let is_served = self.order.found_numbered(turn, &charge.takes);
        if is_served && charge.shares_seats {
            let account = Arc::clone(self.account(root));
            let prices = self.prices.get_mut().get_or_insert_with(|| Prices::of(config, now));
            self.accounts.charge_of((self.snapshot, gang), &account, &mut self.seats, prices);
        }
        is_served
    }

    /// Charges the account of the root that was served last for a gang of one charge; if the turn is one of guarantees, the gang has one of each
    /// counter of which something is still guaranteed. Returns whether it is served.
    pub(crate) fn serve_any(&mut self) -> bool {
        let Some(turn) = self.turn.take() else { return false };
        let (mut takes, quotas) = (NumberedAmounts::default(), self.order.quotas());
        quotas.add_gang(1_000_000, &mut takes);
        if turn.pass == Pass::Guarantee {
            let of_every_gang = [quotas.gangs_number(), quotas.charge_number()];
            let others = quotas.open_guarantees(turn.leaf).filter(|number| !of_every_gang.contains(number));
            others.for_each(|number| takes.add(number, 1));
        }
        self.order.found_numbered(turn, &takes)
    }

    /// The quota that forbids the root that was served last every gang, if one does.
    pub(crate) fn forbids_every_gang(&self) -> Option<Box<QuotaExceeded>> {
        if !self.may_forbid_every_gang {
            return None;
        }
        let quotas = self.order.quotas();
        // Gangs are named first.
        self.exceeded([(quotas.gangs_number(), 1)]).or_else(|| self.exceeded([(quotas.charge_number(), LEAST_CHARGE)]))
    }

    /// The quota that forbids it a gang that costs this, if one does.
    #[inline]
    pub(crate) fn exceeded_by(&self, charge: &NumberedCharge) -> Option<Box<QuotaExceeded>> {
        self.exceeded(charge.takes.iter())
    }

    /// The quota that forbids an account, given by its leaf, a gang that costs this, if one does.
    pub(crate) fn exceeded_by_charge(&self, leaf: Node, charge: &NumberedCharge) -> Option<Box<QuotaExceeded>> {
        self.exceeded_at(leaf, charge.takes.iter())
    }

    /// The leaf of the account of a root, if the tree has it.
    pub(crate) fn leaf(&self, root: &Root) -> Option<Node> {
        self.accounts.tree.leaf(self.account(root))
    }

    #[inline]
    fn exceeded(&self, takes: impl IntoIterator<Item = (usize, Amount)> + Clone) -> Option<Box<QuotaExceeded>> {
        self.exceeded_at(self.turn?.leaf, takes)
    }

    #[inline]
    fn exceeded_at(
        &self,
        leaf: Node,
        takes: impl IntoIterator<Item = (usize, Amount)> + Clone,
    ) -> Option<Box<QuotaExceeded>> {
        let is_allowed = self.order.quotas().allows_numbered(leaf, takes.clone());
        if is_allowed { None } else { self.first_exceeded(leaf, takes) }
    }

    #[cold]
    fn first_exceeded(
        &self,
        leaf: Node,
        takes: impl IntoIterator<Item = (usize, Amount)>,
    ) -> Option<Box<QuotaExceeded>> {
        let quotas = self.order.quotas();
        let mut takes: Vec<(usize, Amount)> = takes.into_iter().collect();
        takes.sort_unstable_by_key(|(number, _)| *number);
        takes.into_iter().find_map(|(number, amount)| {
            let bound = quotas.bound(leaf, number, amount)?;
            let of_root = |account: &str| self.accounts.tree.leaf(account) == Some(leaf);
            let counter = quotas.counter(number)?.to_string();
            Some(Box::new(match bound {
                Bound::Max { account, held, max } => {
                    let held = of_root(account).then_some(held);
                    QuotaExceeded::Max { counter, account: account.to_owned(), held, max, takes: amount }
                }
                Bound::Aside => QuotaExceeded::Aside { counter },
            }))
        })
    }

    /// Whether every claim on this offer takes of a counter of which nothing is left for the root that was served last.
    pub(crate) fn is_closed(&self, ad: AdId) -> bool {
        self.turn.is_some_and(|turn| self.is_closed_to(turn.leaf, ad, |_| true))
    }

    /// The same for an account, given by its leaf, where only some bounds count.
    pub(crate) fn is_closed_to(&self, leaf: Node, ad: AdId, counts: impl Fn(&Bound<'_>) -> bool) -> bool {
        let Some(counted) = self.accounts.offers.get(ad) else { return false };
        let Some(offer) = self.snapshot.ad(ad).and_then(|ad| ad.offer()) else { return false };
        // A shared seat that the account holds already takes nothing more.
        let is_shared = offer.shared_by.is_some();
        let quotas = self.order.quotas();
        let has_none = |number: usize| quotas.bound(leaf, number, 1).as_ref().is_some_and(&counts);
        let mut counters = self.accounts.always_count(counted, &offer.capacity);
        !is_shared && counters.any(|counter| self.number(counter).is_some_and(has_none))
    }

    /// The offers that some counter counts.
    pub(crate) fn counted(&self) -> impl Iterator<Item = AdId> + '_ {
        self.accounts.offers.iter().filter(|(_, counted)| !counted.counters.is_empty()).map(|(ad, _)| ad)
    }
}

/// The leaf of a root's account, if the tree has it, and the number of its submitter.
type RootPlace = (Option<Node>, u32);

/// A root that waits: its priority, its age, its ad, its number and the leaf of its account.
type InLine = (Reverse<i32>, i64, AdId, usize, Node);

/// The order of all roots of a snapshot.
fn order<'s>(snapshot: &'s Snapshot, placed: &[RootPlace], quotas: Quotas<'s>) -> Order<'s> {
    // They mostly come in line.
    let is_before = |one: &Root, other: &Root| {
        one.priority > other.priority
            || one.priority == other.priority && (one.since, one.ad) <= (other.since, other.ad)
    };
    if snapshot.roots.is_sorted_by(is_before) {
        return Order::of(quotas, placed.iter().enumerate().filter_map(|(number, (leaf, _))| Some(((*leaf)?, number))));
    }
    Order::of(quotas, jobs(&in_line(snapshot, placed, 0..snapshot.roots.len())))
}

/// Roots, in the order in which those of one account are served; the accounts are mixed.
fn in_line(snapshot: &Snapshot, placed: &[RootPlace], numbers: impl IntoIterator<Item = usize>) -> Vec<InLine> {
    let numbers = numbers.into_iter();
    let mut waiting = Vec::with_capacity(numbers.size_hint().0);
    waiting.extend(numbers.filter_map(|number| {
        let (root, leaf) = (snapshot.roots.get(number)?, placed.get(number)?.0?);
        Some((Reverse(root.priority), root.since, root.ad, number, leaf))
    }));
    // They mostly come by age.
    waiting.sort_unstable();
    waiting
}

fn jobs(waiting: &[InLine]) -> impl Iterator<Item = (Node, usize)> + Clone {
    waiting.iter().map(|(.., number, leaf)| (*leaf, *number))
}

/// The submitters of roots, by name; and the place of each root.
fn placed(snapshot: &Snapshot, accounts: &Accounts) -> (Vec<Arc<str>>, Vec<RootPlace>) {
    let mut numbers: HashMap<&str, u32, RandomState> = HashMap::default();
    let mut names: Vec<&Arc<str>> = Vec::new();
    let leaves: Vec<Option<Node>> = accounts.account_of.names().iter().map(|name| accounts.tree.leaf(name)).collect();
    let mut last: Option<(&Arc<str>, u32)> = None;
    let mut placed = Vec::with_capacity(snapshot.roots.len());
    for root in &snapshot.roots {
        let known = last.filter(|(name, _)| Arc::ptr_eq(name, &root.submitter)).map(|(_, number)| number);
        let submitter = known.unwrap_or_else(|| {
            *numbers.entry(&root.submitter).or_insert_with(|| {
                names.push(&root.submitter);
                as_u32(names.len() - 1)
            })
        });
        last = Some((&root.submitter, submitter));
        let leaf = match accounts.account_of.number(root.ad) {
            Some(account) => leaves.get(account).copied().flatten(),
            None => accounts.tree.leaf(&root.submitter),
        };
        placed.push((leaf, submitter));
    }
    let mut by_name: Vec<usize> = (0..names.len()).collect();
    by_name.sort_unstable_by_key(|number| names.get(*number));
    let mut places = vec![0; names.len()];
    for (place, number) in by_name.iter().enumerate() {
        places.get_mut(*number).into_iter().for_each(|known| *known = as_u32(place));
    }
    // They mostly come in the order of their names.
    if !by_name.is_sorted() {
        for (_, submitter) in &mut placed {
            *submitter = places.get(as_usize(*submitter)).copied().unwrap_or(u32::MAX);
        }
    }
    let names = by_name.iter().filter_map(|number| names.get(*number).map(|name| Arc::clone(name)));
    (names.collect(), placed)
}
