//! Reservation and backfill in random pools, over time: a gang of many machines waits under a stream of small jobs. It is claimed within the
//! bound, whoever uses what is held for it meanwhile, and each mistake that is put in is found.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use classad::{Dialect, parse_ad, parse_expr};
use matchmaker::{
    Accounts, AdId, AdKey, ByAd, Config, CountedOffer, Cycle, CycleCosts, Gang, HeldGangs, HeldOffers, MemberCharges,
    Offer, Plain, PoolAd, Res, Reservation, Reserving, Role, Root, RootAccounts, Seats, SideSearches, Snapshot,
    StoredReservation, Usage, backfill, free_at, held_for_others, may_keep, negotiate, reserve, verify,
};
use policy::{Account, Amounts, Quota, Tree, taken_by_gang};
use proptest::prelude::*;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

/// When the big job comes: then the pool is full.
const COMES: i64 = 1;
/// How long it has to wait before anything is held for it.
const AFTER: i64 = 5;
/// The longest run of a claim.
const LONGEST: i64 = 12;
/// When everything is over.
const END: i64 = 100;

/// Mistakes that are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    /// Nothing is reserved.
    Nothing,
    /// What is reserved is given to others all the same.
    NotHeld,
    /// Jobs use what is reserved, however long they last.
    AnyLength,
}

/// A small job: when it comes, how long it runs, and whether it says so.
#[derive(Clone, Debug)]
struct Small {
    comes: i64,
    runs: i64,
    says: bool,
}

#[derive(Clone, Debug)]
struct World {
    machines: usize,
    /// How many machines the big job needs.
    big: usize,
    small: Vec<Small>,
}

/// A claim.
#[derive(Clone, Debug)]
struct Running {
    account: &'static str,
    machines: Vec<AdId>,
    ends: i64,
    says: bool,
}

fn key(kind: &str, name: &str) -> AdKey {
    AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_owned() }
}

fn one() -> Res {
    [("slots".to_owned(), 1)].into_iter().collect()
}

fn machine(number: usize) -> PoolAd {
    let text = "[Type = \"Machine\"; Constraint = true]";
    let name = format!("m{number}");
    let mut made = PoolAd::asking(key("Machine", &name), &name, &parse_ad(text, Dialect::Gangmatch).unwrap());
    made.role = Role::Offers(Box::new(Offer::of(one())));
    made
}

fn job(name: &str, machines: usize) -> PoolAd {
    let port = |number: usize| format!("[Label = p{number}; Constraint = p{number}.Type == \"Machine\"]");
    let ports: Vec<String> = (0..machines).map(port).collect();
    let ad = parse_ad(&format!("[Ports = {{{}}}]", ports.join(", ")), Dialect::Gangmatch).unwrap();
    PoolAd::asking(key("Job", name), name, &ad)
}

/// The pool at one time: the accounts `big` and `small`, and everybody who waits.
struct Now {
    pool: Snapshot,
    held: Vec<HeldOffers>,
    ends: BTreeMap<AdId, i64>,
    big: Option<AdId>,
    nominated: BTreeSet<AdKey>,
}

fn plain(view: &Snapshot, config: &Config, now: i64) -> Cycle {
    negotiate(view, config, now, &mut Plain::default())
}

/// The machines of a gang.
fn machines(gang: &Gang) -> Vec<AdId> {
    gang.members.iter().skip(1).map(|member| member.ad).collect()
}

/// The accounts, of which `big` has this quota of charge.
fn accounts(held: &BTreeMap<&str, Amounts>, quota: Option<Quota>, account_of: RootAccounts) -> Accounts {
    let account = |name: &'static str| Account {
        held: held.get(name).cloned().unwrap_or_default(),
        quotas: quota.filter(|_| name == "big").map(|quota| ("charge".into(), quota)).into_iter().collect(),
        ..Account::named(name)
    };
    Accounts {
        tree: Tree::new(["big", "small"].map(account)),
        total: Amounts::new(),
        account_of,
        offers: ByAd::default(),
        weights: [("slots".to_owned(), 1_000_000)].into(),
        seats: Seats::default(),
        counters: Vec::new(),
        counting: BTreeMap::new(),
    }
}

impl World {
    fn ads(&self) -> Vec<PoolAd> {
        let small = (0..self.small.len()).map(|number| job(&format!("s{number:03}"), 1));
        small.chain((0..self.machines).map(machine)).chain([job("big", self.big)]).collect()
    }

    fn at(
        &self,
        now: i64,
        running: &[Running],
        waiting: &BTreeSet<usize>,
        nomination: Option<&Gang>,
        quota: Option<Quota>,
    ) -> Now {
        let mut pool = Snapshot::new(self.ads());
        let id = |pool: &Snapshot, name: &str| pool.find(&key("Job", name)).unwrap();
        let mut held_by: BTreeMap<&str, Amounts> = BTreeMap::new();
        let mut hold = |account: &'static str, count: usize| {
            let charge = i128::try_from(count).unwrap() * 1_000_000;
            for (counter, amount) in taken_by_gang(charge, Amounts::new()) {
                *held_by.entry(account).or_default().entry(counter).or_default() += amount;
            }
        };
        let ask = || matchmaker::Ask { allocation: one(), share: None };
        let held: Vec<HeldOffers> = running
            .iter()
            .map(|claim| HeldOffers {
                account: claim.account.into(),
                takes: taken_by_gang(i128::try_from(claim.machines.len()).unwrap() * 1_000_000, Amounts::new()),
                ends: claim.says.then_some(claim.ends),
                holds: claim.machines.iter().map(|ad| (*ad, ask())).collect(),
            })
            .collect();
        running.iter().for_each(|claim| hold(claim.account, claim.machines.len()));
        let mut usage: BTreeMap<AdId, Usage> = BTreeMap::new();
        for (ad, ask) in held.iter().flat_map(|claim| &claim.holds) {
            usage.entry(*ad).or_default().take(ask);
        }
        let mut nominated = BTreeSet::new();
        for member in nomination.into_iter().flat_map(|gang| gang.members.iter().skip(1)) {
            usage.entry(member.ad).or_default().take(&member.ask);
            nominated.insert(pool.ad(member.ad).unwrap().key.clone());
        }
        nomination.into_iter().for_each(|gang| hold("big", gang.members.len() - 1));
        let mut ads: Vec<PoolAd> = pool.ads().map(|(_, ad)| ad.clone()).collect();
        for (ad, usage) in usage {
            let Role::Offers(offer) = &mut ads[ad.place()].role else { panic!("a machine") };
            offer.usage = usage;
        }
        pool = Snapshot::new(ads);
        let mut account_of: BTreeMap<AdId, Arc<str>> = BTreeMap::new();
        let mut ends = BTreeMap::new();
        let mut roots = Vec::new();
        for number in waiting {
            let small = &self.small[*number];
            let ad = id(&pool, &format!("s{number:03}"));
            account_of.insert(ad, "small".into());
            ends.extend(small.says.then_some((ad, now + small.runs)));
            roots.push(Root {
                ad,
                submitter: "small".into(),
                priority: 0,
                since: small.comes,
                exclusions: BTreeSet::new(),
            });
        }
        let ad = id(&pool, "big");
        account_of.insert(ad, "big".into());
        roots.push(Root { ad, submitter: "big".into(), priority: 0, since: 0, exclusions: BTreeSet::new() });
        pool.roots = roots;
        pool.accounts = Some(Arc::new(accounts(&held_by, quota, account_of.into_iter().collect())));
        Now { pool, held, ends, big: Some(ad), nominated }
    }

    /// When the big job is claimed; or what is wrong.
    fn play(&self, mistake: Option<Mistake>) -> Result<i64, String> {
        let config = Config { explains: true, ..Config::product() };
        let (mut running, mut waiting) = (Vec::<Running>::new(), BTreeSet::new());
        let mut nomination: Option<Gang> = None;
        for now in 0..END {
            running.retain(|claim| claim.ends > now);
            waiting.extend((0..self.small.len()).filter(|number| self.small[*number].comes == now));
            let seen = nomination.as_ref().filter(|_| mistake != Some(Mistake::NotHeld));
            let mut here = self.at(now, &running, &waiting, seen, None);
            let big = here.big.unwrap();
            here.pool.roots.retain(|root| root.ad != big || now >= COMES);
            if let Some(gang) = &nomination
                && machines(gang).iter().all(|ad| running.iter().all(|claim| !claim.machines.contains(ad)))
            {
                return Ok(now);
            }
            let cycle = negotiate(&here.pool, &config, now, &mut Plain::default());
            if cycle.gangs.iter().any(|gang| gang.root() == Some(big)) {
                return Ok(now);
            }
            let unmatched: BTreeSet<AdId> = cycle.unmatched.iter().map(|unmatched| unmatched.root).collect();
            let mut gangs = cycle.gangs.clone();
            if let Some(gang) = seen {
                let free_at = free_at(&here.pool, gang, &here.held);
                let reserved =
                    [StoredReservation { root: big, gang: gang.clone(), charges: charges_of(gang), free_at }];
                let all: BTreeMap<AdId, i64> = unmatched.iter().map(|root| (*root, now)).collect();
                let ends = if mistake == Some(Mistake::AnyLength) { &all } else { &here.ends };
                let held = HeldGangs { reserved: &reserved, waiting: &unmatched, ends };
                let used = backfill((&here.pool, &gangs), held, (&config, now), &mut SideSearches::new(&mut plain));
                for gang in &used.gangs {
                    let (root, until) = (gang.root().unwrap(), free_at.ok_or("it is not known when it is free")?);
                    if mistake.is_none() && here.ends.get(&root).is_none_or(|ends| *ends > until) {
                        return Err("a job uses what is held, and ends too late".to_owned());
                    }
                }
                gangs.extend(used.gangs);
            } else if now >= COMES + AFTER && mistake != Some(Mistake::Nothing) && nomination.is_none() {
                let candidates = unmatched.intersection(&BTreeSet::from([big])).copied().collect();
                let reserving = Reserving {
                    held: &here.held,
                    ends: &here.ends,
                    candidates: &candidates,
                    nominated: &here.nominated,
                    room: 1,
                };
                let made =
                    reserve((&here.pool, &gangs), &reserving, (&config, now), &mut SideSearches::new(&mut plain));
                nomination = made.made.into_iter().next().map(|made| made.gang);
            }
            for gang in &gangs {
                let name = here.pool.ad(gang.root().unwrap()).unwrap().key.name.clone();
                let number: usize = name.get(1..).unwrap().parse().unwrap();
                let small = &self.small[number];
                waiting.remove(&number);
                let ends = now + small.runs;
                if machines(gang).iter().any(|ad| running.iter().any(|claim| claim.machines.contains(ad))) {
                    return Err("a machine is given twice".to_owned());
                }
                running.push(Running { account: "small", machines: machines(gang), ends, says: small.says });
            }
        }
        Err("it is not claimed".to_owned())
    }
}

fn any_world() -> impl Strategy<Value = World> {
    let small = || (0..END, 1..=LONGEST, any::<bool>()).prop_map(|(comes, runs, says)| Small { comes, runs, says });
    // The pool is full when the big job comes, and more come than there is room for.
    let first = || (1..=LONGEST, any::<bool>()).prop_map(|(runs, says)| Small { comes: 0, runs, says });
    (2..6usize)
        .prop_flat_map(move |machines| {
            let all = (
                prop::collection::vec(first(), machines..=machines + 2),
                prop::collection::vec(small(), machines * 20),
            );
            (Just(machines), 1.max(machines / 2)..=machines, all)
        })
        .prop_map(|(machines, big, (first, later))| World {
            machines,
            big,
            small: first.into_iter().chain(later).collect(),
        })
}

/// W1: it is claimed at most as long after it may be reserved for as the longest run, and two cycles.
fn is_in_time(world: &World, mistake: Option<Mistake>) -> Result<(), TestCaseError> {
    let claimed = world.play(mistake).map_err(TestCaseError::fail)?;
    prop_assert!(claimed <= COMES + AFTER + LONGEST + 2, "claimed at {claimed}");
    Ok(())
}

/// How many worlds are played: each takes a hundred cycles of the plain search.
const CASES: u32 = 64;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(CASES))]
    #[test]
    fn w1_a_big_gang_is_claimed_within_the_bound(world in any_world()) {
        is_in_time(&world, None)?;
    }
}

#[test]
fn each_mistake_is_found() {
    for mistake in [Mistake::Nothing, Mistake::NotHeld, Mistake::AnyLength] {
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let quick = ProptestConfig {
            cases: CASES,
            max_shrink_iters: 0,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let found = TestRunner::new_with_rng(quick, rng).run(&any_world(), |world| is_in_time(&world, Some(mistake)));
        assert!(found.is_err(), "{mistake:?}");
    }
}

fn full(says: &[bool], ends: &[i64], more: &[Small]) -> (World, Vec<Running>) {
    let small = ends.iter().zip(says).map(|(ends, says)| Small { comes: 0, runs: *ends, says: *says });
    let world = World { machines: ends.len(), big: 2, small: small.chain(more.iter().cloned()).collect() };
    let pool = Snapshot::new(world.ads());
    let running = ends.iter().zip(says).enumerate().map(|(number, (ends, says))| Running {
        account: "small",
        machines: vec![pool.find(&key("Machine", &format!("m{number}"))).unwrap()],
        ends: *ends,
        says: *says,
    });
    (world, running.collect())
}

fn reserved(here: &Now, room: usize) -> Vec<Reservation> {
    let candidates = BTreeSet::from([here.big.unwrap()]);
    let reserving =
        Reserving { held: &here.held, ends: &here.ends, candidates: &candidates, nominated: &here.nominated, room };
    reserve((&here.pool, &[]), &reserving, (&Config::product(), 0), &mut SideSearches::new(&mut plain)).made
}

#[test]
fn the_gang_that_is_free_soonest_is_held_and_unknown_ends_come_last() {
    let (world, running) = full(&[true, false, true, true], &[9, 1, 5, 3], &[]);
    let here = world.at(0, &running, &BTreeSet::new(), None, None);
    let made = reserved(&here, 1).remove(0);
    let name = |ad: &AdId| here.pool.ad(*ad).unwrap().key.name.clone();
    let names: BTreeSet<String> = machines(&made.gang).iter().map(name).collect();
    assert_eq!((names, made.free_at, made.in_the_way), (["m2", "m3"].map(str::to_owned).into(), Some(5), 2));
    // When these have ended it is free, and not before.
    for now in 0..7 {
        let left: Vec<Running> = running.iter().filter(|claim| claim.ends > now).cloned().collect();
        let then = world.at(now, &left, &BTreeSet::new(), None, None);
        assert_eq!(verify(&then.pool, &made.gang, &Config::product(), now).is_ok(), now >= 5, "{now}");
    }
}

#[test]
fn offers_that_are_free_last_are_left_out_first() {
    // Of four machines two are known to be free in time: any two.
    for known in [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]] {
        let says: Vec<bool> = (0..4).map(|machine| known.contains(&machine)).collect();
        let (world, running) = full(&says, &[5, 6, 7, 8], &[]);
        let here = world.at(0, &running, &BTreeSet::new(), None, None);
        let made = reserved(&here, 1).remove(0);
        let name = |ad: &AdId| here.pool.ad(*ad).unwrap().key.name.clone();
        let names: BTreeSet<String> = machines(&made.gang).iter().map(name).collect();
        assert_eq!(names, known.iter().map(|machine| format!("m{machine}")).collect(), "{known:?}");
    }
}

#[test]
fn nothing_is_held_beyond_the_number_that_is_permitted_twice_or_against_a_quota() {
    let (world, running) = full(&[true; 3], &[9, 5, 3], &[]);
    let here = world.at(0, &running, &BTreeSet::new(), None, None);
    assert!(reserved(&here, 0).is_empty());
    let gang = reserved(&here, 1).remove(0).gang;
    // With two of three held, there is no second gang of two.
    let taken = world.at(0, &running, &BTreeSet::new(), Some(&gang), None);
    assert!(reserved(&taken, 1).is_empty());
    assert_eq!(free_at(&taken.pool, &gang, &taken.held), Some(5));
    let keeps = |max: Option<i128>| {
        let quota = max.map(|max| Quota { max: Some(max), ..Quota::default() });
        let taken = world.at(0, &running, &BTreeSet::new(), Some(&gang), quota);
        may_keep(&taken.pool, (taken.big.unwrap(), &gang), &charges_of(&gang), &taken.held)
    };
    assert_eq!([None, Some(2_000_000), Some(1_999_999)].map(keeps), [true, true, false]);
    let quota = Some(Quota { max: Some(1_000_000), ..Quota::default() });
    assert!(reserved(&world.at(0, &running, &BTreeSet::new(), None, quota), 1).is_empty());
}

/// What the members of a gang cost.
fn charges_of(gang: &Gang) -> MemberCharges {
    (0..gang.members.len()).map(|place| if place == 0 { 0 } else { 1_000_000 }).collect()
}

/// The same pool, in which each machine states what it costs.
fn with_price(pool: &Snapshot, price: &str) -> Snapshot {
    let counted = CountedOffer { charge_weight: parse_expr(price, Dialect::Gangmatch).ok(), counters: Vec::new() };
    let offers = pool.ads().filter(|(_, ad)| ad.offer().is_some()).map(|(id, _)| (id, Arc::new(counted.clone())));
    let accounts = Accounts { offers: offers.collect(), ..Accounts::clone(pool.accounts.as_ref().unwrap()) };
    let mut pool = pool.clone();
    pool.accounts = Some(Arc::new(accounts));
    pool
}

#[test]
fn q3_what_is_reserved_costs_what_was_recorded_and_no_price_is_evaluated_for_it() {
    let (world, running) = full(&[true; 3], &[9, 5, 3], &[]);
    let gang = reserved(&world.at(0, &running, &BTreeSet::new(), None, None), 1).remove(0).gang;
    // It is given no time and no settings, so it cannot evaluate anything.
    let keeps = |max: i128| {
        let quota = Some(Quota { max: Some(max), ..Quota::default() });
        let taken = world.at(0, &running, &BTreeSet::new(), Some(&gang), quota);
        let pool = with_price(&taken.pool, "1000");
        may_keep(&pool, (taken.big.unwrap(), &gang), &charges_of(&gang), &taken.held)
    };
    assert_eq!([2_000_000, 1_999_999].map(keeps), [true, false]);
}

#[test]
fn q3_what_gangs_of_a_cycle_cost_is_not_evaluated_again_for_reservation() {
    // Two of three machines are free, and a small job gets one of them in this cycle; the quota of its account is full with it.
    let (world, running) = full(&[true; 3], &[9, 5, 3], &[Small { comes: 0, runs: 2, says: true }]);
    let waiting = BTreeSet::from([3]);
    let mut here = world.at(4, &running[..2], &waiting, None, None);
    here.pool = with_price(&here.pool, "1000");
    let cycle = plain(&here.pool, &Config::product(), 4);
    let small: Vec<Gang> = cycle.gangs.iter().filter(|gang| gang.root() != here.big).cloned().collect();
    assert_eq!(small.len(), 1);
    let held = |charges: MemberCharges| {
        let root = small[0].root().unwrap();
        let cycle = Cycle { gangs: small.clone(), charges: vec![(root, charges)], ..Cycle::default() };
        let candidates = BTreeSet::from([here.big.unwrap()]);
        let (ends, nominated) = (&here.ends, &here.nominated);
        let reserving = Reserving { held: &here.held, ends, candidates: &candidates, nominated, room: 1 };
        let mut plain = plain;
        let mut search = SideSearches::after(&cycle, &mut plain);
        reserve((&here.pool, &small), &reserving, (&Config::product(), 4), &mut search).charges
    };
    // A machine that the cycle has priced costs the same here; the others cost what they state.
    let made = held(MemberCharges::from_slice(&[0, 7]));
    assert_eq!(made.len(), 1);
    let all: BTreeSet<i128> = made[0].1.iter().copied().collect();
    assert_eq!(all, BTreeSet::from([0, 7, 1_000_000_000]));
}

#[test]
fn a_job_that_ends_in_time_uses_what_is_held_and_others_are_told() {
    let small = |runs: i64, says: bool| Small { comes: 0, runs, says };
    let more = [small(8, true), small(9, true), small(1, false)];
    let (world, mut running) = full(&[true, true], &[9, 1], &more);
    let gang = reserved(&world.at(0, &running, &BTreeSet::new(), None, None), 1).remove(0).gang;
    running.retain(|claim| claim.ends > 1);
    let config = Config::product();
    let mut using = |number: usize| {
        let here = world.at(1, &running, &BTreeSet::from([number]), Some(&gang), None);
        let waiting: BTreeSet<AdId> = here.pool.roots.iter().map(|root| root.ad).collect();
        let free_at = free_at(&here.pool, &gang, &here.held);
        assert_eq!(free_at, Some(9));
        let reserved =
            [StoredReservation { root: here.big.unwrap(), gang: gang.clone(), charges: charges_of(&gang), free_at }];
        let held = HeldGangs { reserved: &reserved, waiting: &waiting, ends: &here.ends };
        let used = backfill((&here.pool, &[]), held, (&config, 1), &mut SideSearches::new(&mut plain)).gangs.len();
        (used, held_for_others((&here.pool, &[]), held, (&config, 1), &mut SideSearches::new(&mut plain)).len())
    };
    assert_eq!([2, 3, 4].map(&mut using), [(1, 1), (0, 1), (0, 1)], "one ends at 9, one later, and one does not say");
}

#[test]
fn all_searches_together_take_a_part_of_the_steps_of_a_cycle_and_every_account_has_its_turns() {
    let more: Vec<Small> = (0..40).map(|_| Small { comes: 0, runs: 9, says: true }).collect();
    let (world, running) = full(&[true, true], &[9, 5], &more);
    let here = world.at(0, &running, &(2..42).collect(), None, None);
    let candidates: BTreeSet<AdId> = here.pool.roots.iter().map(|root| root.ad).collect();
    let Now { held, ends, nominated, .. } = &here;
    let reserving = Reserving { held, ends, candidates: &candidates, nominated, room: 3 };
    let config = Config { cycle_steps_max: 40_000, ..Config::product() };
    for finds in [false, true] {
        let (mut searched, mut given) = (BTreeSet::new(), 0);
        let mut costly = |view: &Snapshot, config: &Config, now: i64| {
            searched.extend(view.roots.iter().map(|root| root.ad));
            given += config.cycle_steps_max;
            let found = if finds { plain(view, &Config::product(), now) } else { Cycle::default() };
            let costs = CycleCosts { spent: config.cycle_steps_max, ..found.costs };
            Cycle { costs, ..found }
        };
        let found = reserve((&here.pool, &[]), &reserving, (&config, 0), &mut SideSearches::new(&mut costly));
        assert!(given <= config.cycle_steps_max / 4, "{given}");
        assert!(searched.contains(&here.big.unwrap()), "the account that has one job has a turn");
        let fruitless: u64 = found.fruitless.iter().map(|(_, steps)| steps).sum();
        if finds {
            assert!(!found.made.is_empty() && fruitless < given, "{fruitless} of {given}");
        } else {
            // Each takes half of what its namespace has left, until there is nothing to halve.
            assert!(searched.len() > 8 && searched.len() <= 16, "{}", searched.len());
            assert_eq!((found.made.len(), fruitless), (0, given));
            // More wait than have a turn: the next time it is the turn of others.
            assert_eq!(found.hopeless.len(), 16);
        }
    }
    let reserved: Vec<StoredReservation> = reserved(&world.at(0, &running, &BTreeSet::new(), None, None), 1)
        .into_iter()
        .map(|made| StoredReservation {
            root: here.big.unwrap(),
            charges: charges_of(&made.gang),
            gang: made.gang,
            free_at: made.free_at,
        })
        .collect();
    let mut given = 0;
    let mut costly = |_: &Snapshot, config: &Config, _: i64| {
        given += config.cycle_steps_max;
        Cycle::default()
    };
    let all = HeldGangs { reserved: &reserved, waiting: &candidates, ends };
    backfill((&here.pool, &[]), all, (&config, 0), &mut SideSearches::new(&mut costly));
    held_for_others((&here.pool, &[]), all, (&config, 0), &mut SideSearches::new(&mut costly));
    assert!(0 < given && given <= config.cycle_steps_max / 2, "{given}");
}
