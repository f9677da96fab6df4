//! Preemption in random pools: whatever is proposed, the whole gang then exists, and no victim could be spared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use classad::{Dialect, parse_ad, parse_expr};
use matchmaker::{
    Accounts, AdId, AdKey, ByAd, Config, Cycle, Gang, HeldGang, NotPreempted, Offer, Plain, PoolAd, Preempting,
    PreemptionTerms, Preemptions, Res, Role, Root, RootAccounts, Seats, Snapshot, is_still_right, preempt, verify,
};
use policy::{Account, Amounts, Evictions, Mode, NoVictims, Permitted, Tree};
use proptest::prelude::*;

const NOW: i64 = 10_000;

fn key(kind: &str, name: &str) -> AdKey {
    AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_owned() }
}

fn offer(kind: &str, name: &str, amounts: &[(&str, i64)]) -> PoolAd {
    let text = format!("[Type = \"{kind}\"; Constraint = true; Rank = other.Value]");
    let mut made = PoolAd::asking(key(kind, name), name, &parse_ad(&text, Dialect::Gangmatch).unwrap());
    let (resource, _) = amounts[0];
    made.role = Role::Offers(Box::new(Offer {
        default_request: [(resource.to_owned(), 1)].into_iter().collect::<Res>(),
        ..Offer::of(amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
    }));
    made
}

/// A job: its account, its priority, its value to offers, and whether it needs a seat.
#[derive(Clone, Debug)]
struct Job {
    account: &'static str,
    priority: i32,
    value: i64,
    needs_seat: bool,
}

/// A pool that jobs have filled in their order, and jobs that came later.
#[derive(Debug)]
struct Pool {
    machines: usize,
    seats: i64,
    held: Vec<Job>,
    waiting: Vec<Job>,
}

/// A pool as preemption sees it.
struct Scene {
    snapshot: Snapshot,
    held: Vec<HeldGang>,
    waiting: BTreeSet<AdId>,
}

fn find(view: &Snapshot, config: &Config, now: i64) -> Cycle {
    matchmaker::negotiate(view, config, now, &mut Plain::default())
}

impl Pool {
    fn scene(&self) -> Scene {
        let mut ads: Vec<PoolAd> =
            (0..self.machines).map(|number| offer("Machine", &format!("m{number}"), &[("slots", 1)])).collect();
        ads.push(offer("License", "l", &[("seats", self.seats)]));
        let all = || self.held.iter().chain(&self.waiting).enumerate();
        for (number, job) in all() {
            let seat = "[Label = l; Constraint = l.Type == \"License\"; Value = Worth]";
            let machine = "[Label = cpu; Constraint = cpu.Type == \"Machine\"; Value = Worth]";
            let ports = if job.needs_seat { format!("{machine}, {seat}") } else { machine.to_owned() };
            let text = format!("[Worth = {}; Ports = {{{ports}}}]", job.value);
            let ad = parse_ad(&text, Dialect::Gangmatch).unwrap();
            ads.push(PoolAd::asking(key("Job", &format!("j{number:02}")), &format!("u{number}"), &ad));
        }
        let mut pool = Snapshot::new(ads);
        let id = |pool: &Snapshot, number: usize| pool.find(&key("Job", &format!("j{number:02}"))).unwrap();
        let root = |pool: &Snapshot, number: usize, job: &Job| Root {
            ad: id(pool, number),
            submitter: job.account.into(),
            priority: job.priority,
            since: i64::try_from(number).unwrap(),
            exclusions: BTreeSet::new(),
        };
        let account_of: RootAccounts = all().map(|(number, job)| (id(&pool, number), job.account.into())).collect();
        let tree = Tree::new(["a", "b", "c"].map(Account::named));
        let accounts = Accounts {
            counters: Vec::new(),
            tree,
            total: Amounts::new(),
            account_of,
            offers: ByAd::default(),
            weights: [("slots".to_owned(), 1_000_000), ("seats".to_owned(), 1_000_000)].into(),
            seats: Seats::default(),
            counting: Default::default(),
        };
        let (mut held, mut gangs, mut takes) = (Vec::new(), Vec::new(), BTreeMap::<&str, Amounts>::new());
        for (number, job) in self.held.iter().enumerate() {
            let mut view = pool.after(&gangs);
            view.roots = vec![root(&pool, number, job)];
            let Some(gang) = find(&view, &Config::product(), NOW).gangs.pop() else { continue };
            let mut seats = Seats::default();
            let charge = accounts.charge_of(
                (&pool, &gang),
                &job.account.into(),
                &mut seats,
                &mut matchmaker::Prices::of(&Config::product(), NOW),
            );
            for (counter, amount) in &charge.takes {
                *takes.entry(job.account).or_default().entry(counter.clone()).or_default() += amount;
            }
            held.push(HeldGang {
                name: format!("g{number:02}"),
                account: job.account.into(),
                priority: i64::from(job.priority),
                since: i64::try_from(number).unwrap(),
                preemptions: 0,
                takes: charge.takes,
                gang: gang.clone(),
            });
            gangs.push(gang);
        }
        pool = pool.after(&gangs);
        let named = |name: &str| Account { held: takes.get(name).cloned().unwrap_or_default(), ..Account::named(name) };
        pool.accounts = Some(Arc::new(Accounts { tree: Tree::new(["a", "b", "c"].map(named)), ..accounts }));
        let first = self.held.len();
        pool.roots = self.waiting.iter().enumerate().map(|(number, job)| root(&pool, first + number, job)).collect();
        let waiting = pool.roots.iter().map(|root| root.ad).collect();
        Scene { snapshot: pool, held, waiting }
    }
}

fn terms(reasons: &[Mode], max_victims: usize, requirements: &str, rank: &str) -> PreemptionTerms {
    let expr = |text: &str| parse_expr(text, Dialect::Gangmatch).unwrap();
    PreemptionTerms {
        permitted: Permitted {
            reasons: reasons.iter().copied().collect(),
            min_runtime_seconds: 300,
            max_victims,
            leaves_above: true,
        },
        requirements: expr(requirements),
        rank: expr(rank),
    }
}

impl Scene {
    fn preempt(&self, terms: &PreemptionTerms, victims_max: usize) -> (Snapshot, Vec<Gang>, Preemptions) {
        self.preempt_with(&Config::product(), terms, victims_max)
    }

    fn preempt_with(
        &self,
        config: &Config,
        terms: &PreemptionTerms,
        victims_max: usize,
    ) -> (Snapshot, Vec<Gang>, Preemptions) {
        let cycle = matchmaker::negotiate(&self.snapshot, &Config::product(), NOW, &mut Plain::default());
        let found: BTreeSet<AdId> = cycle.gangs.iter().filter_map(Gang::root).collect();
        let waiting = self.waiting.difference(&found).copied().collect();
        let spared = BTreeSet::new();
        let evictions = Evictions::up_to(victims_max);
        let preempting = Preempting { terms, held: &self.held, ending: &[], spared: &spared, evictions: &evictions };
        let found = preempt(
            (&self.snapshot, &cycle.gangs),
            &waiting,
            &preempting,
            (config, NOW),
            &mut matchmaker::SideSearches::new(&mut find),
        );
        let after = self.snapshot.after(&cycle.gangs);
        (after, cycle.gangs, found)
    }

    /// The pool without these gangs.
    fn without(&self, pool: &Snapshot, victims: &[usize]) -> Snapshot {
        let members = victims.iter().flat_map(|place| &self.held[*place].gang.members);
        pool.freed(members.map(|member| (member.ad, &member.ask)))
    }
}

fn job(account: &'static str) -> Job {
    Job { account, priority: 0, value: 0, needs_seat: false }
}

fn any_job() -> impl Strategy<Value = Job> {
    let account = prop::sample::select(vec!["a", "b", "c"]);
    (account, 0..3i32, 0..3i64, any::<bool>()).prop_map(|(account, priority, value, needs_seat)| Job {
        account,
        priority,
        value,
        needs_seat,
    })
}

fn any_pool() -> impl Strategy<Value = Pool> {
    let (held, waiting) = (prop::collection::vec(any_job(), 1..6), prop::collection::vec(any_job(), 1..5));
    (1..5usize, 1..4i64, held, waiting).prop_map(|(machines, seats, held, waiting)| Pool {
        machines,
        seats,
        held,
        waiting,
    })
}

proptest! {
    #[test]
    fn whatever_is_proposed_the_whole_gang_then_exists_and_no_victim_could_be_spared(pool in any_pool(), max in 1..4usize) {
        let scene = pool.scene();
        let terms = terms(&[Mode::Rank, Mode::Share, Mode::Priority], max, "true", "0");
        let (mut left, _, found) = scene.preempt(&terms, 100);
        let mut ended = BTreeSet::new();
        for proposal in found.answers.iter().filter_map(|(_, answer)| answer.as_ref().ok()) {
            prop_assert!(!proposal.victims.is_empty() && proposal.victims.len() <= max);
            prop_assert!(proposal.victims.iter().all(|victim| ended.insert(*victim)), "each ends once");
            let freed = scene.without(&left, &proposal.victims);
            prop_assert_eq!(verify(&freed, &proposal.gang, &Config::product(), NOW), Ok(()));
            for spared in &proposal.victims {
                let others: Vec<usize> = proposal.victims.iter().copied().filter(|other| other != spared).collect();
                let freed = scene.without(&left, &others);
                prop_assert!(verify(&freed, &proposal.gang, &Config::product(), NOW).is_err(), "one could be spared");
            }
            left = freed.after(std::slice::from_ref(&proposal.gang));
        }
    }
}

fn victims(found: &Preemptions) -> Vec<Vec<usize>> {
    found
        .answers
        .iter()
        .map(|(_, answer)| answer.as_ref().map_or(Vec::new(), |proposal| proposal.victims.clone()))
        .collect()
}

#[test]
fn shares_are_met_and_no_further() {
    let pool = Pool { machines: 4, seats: 1, held: vec![job("a"); 4], waiting: vec![job("b"); 4] };
    let scene = pool.scene();
    let (_, _, found) = scene.preempt(&terms(&[Mode::Share], 4, "true", "0"), 100);
    let ended: usize = victims(&found).iter().map(Vec::len).sum();
    assert_eq!((found.answers.len(), ended), (4, 2), "{found:?}");
    // The budget of the pool is a limit for all together.
    let (_, _, found) = scene.preempt(&terms(&[Mode::Share], 4, "true", "0"), 1);
    assert_eq!(victims(&found).iter().map(Vec::len).sum::<usize>(), 1);
}

/// The earliest time is told, whatever gang is chosen then.
#[test]
fn from_when_on_gangs_are_old_enough_is_told() {
    let pool = Pool { machines: 3, seats: 1, held: vec![job("a"); 3], waiting: vec![job("b")] };
    let answer = |ages: [(i64, u32); 3], requirements: &str| {
        let mut scene = pool.scene();
        for (gang, (age, preemptions)) in scene.held.iter_mut().zip(ages) {
            (gang.since, gang.preemptions) = (NOW - age, preemptions);
        }
        scene.preempt(&terms(&[Mode::Share], 4, requirements, "0"), 100).2.answers[0].1.clone()
    };
    let ages = [(100, 0), (200, 0), (50, 0)];
    assert_eq!(answer(ages, "true"), Err(NotPreempted::TooYoung(NOW + 100)));
    // One that was preempted before runs undisturbed for twice as long.
    assert_eq!(answer([(100, 0), (200, 1), (50, 0)], "true"), Err(NotPreempted::TooYoung(NOW + 200)));
    assert!(answer([(100, 0), (300, 0), (50, 0)], "true").is_ok(), "one is old enough");
    // The administrator's requirements are those of that time.
    assert_eq!(answer(ages, "TotalJobRuntime >= 350"), Err(NotPreempted::TooYoung(NOW + 200)));
    for never in ["TotalJobRuntime >= 10000", "false"] {
        assert_eq!(answer(ages, never), Err(NotPreempted::Refused(NoVictims::NoCandidate)));
    }
}

#[test]
fn x5_a_look_at_all_claims_takes_steps_and_who_has_too_few_is_told_so() {
    let found = |count: usize, config: &Config| {
        let pool = Pool { machines: count, seats: 1, held: vec![job("a"); count], waiting: vec![job("b")] };
        let mut scene = pool.scene();
        scene.held.iter_mut().for_each(|gang| gang.since = NOW - 100);
        let (_, _, found) = scene.preempt_with(config, &terms(&[Mode::Priority], 4, "true", "0"), 100);
        (found.answers[0].1.clone(), found.fruitless.iter().map(|(_, steps)| steps).sum::<u64>())
    };
    let refused = Err(NotPreempted::Refused(NoVictims::NoCandidate));
    let (few, many) = (found(20, &Config::product()), found(400, &Config::product()));
    assert_eq!((&few.0, &many.0), (&refused, &refused));
    println!("{} and {} steps", few.1, many.1);
    // It looks once at what may be preempted now, and once at what may be later.
    assert!(many.1 >= few.1 + 2 * 380 / 20, "{} and {} steps", few.1, many.1);
    let poor = Config { cycle_steps_max: 8 * matchmaker::SIDE_SHARE, ..Config::product() };
    assert_eq!(found(400, &poor).0, Err(NotPreempted::CutShort));
}

#[test]
fn x6_what_ends_makes_room_for_one_job_and_gangs_are_preempted_for_the_next() {
    let pool = Pool { machines: 4, seats: 1, held: vec![job("a"); 4], waiting: vec![job("b"); 2] };
    let scene = pool.scene();
    let (terms, spared, evictions) = (terms(&[Mode::Share], 4, "true", "0"), BTreeSet::new(), Evictions::up_to(9));
    let (ending, held) = scene.held.split_at(1);
    let preempting = Preempting { terms: &terms, held, ending, spared: &spared, evictions: &evictions };
    let (config, mut finds) = (Config::product(), find);
    let mut search = matchmaker::SideSearches::new(&mut finds);
    let found = preempt((&scene.snapshot, &[]), &scene.waiting, &preempting, (&config, NOW), &mut search);
    let answers: Vec<_> =
        found.answers.iter().map(|(_, answer)| answer.as_ref().map(|found| found.victims.len())).collect();
    assert_eq!(answers, [Err(&NotPreempted::Ending), Ok(1)]);
}

#[test]
fn the_administrator_says_who_may_be_preempted_and_who_first() {
    let pool = Pool { machines: 3, seats: 1, held: vec![job("a"); 3], waiting: vec![job("b")] };
    let scene = pool.scene();
    let of =
        |requirements: &str, rank: &str| victims(&scene.preempt(&terms(&[Mode::Share], 4, requirements, rank), 100).2);
    assert_eq!(of("true", "0"), [vec![2]], "the least work is lost with the youngest");
    assert_eq!(of("true", "TotalJobRuntime"), [vec![0]]);
    assert_eq!(of("TotalJobRuntime > 1000000", "0"), [Vec::<usize>::new()]);
    assert_eq!(of("RemoteUserResourcesInUse == 3.0 && SubmitterUserResourcesInUse == 0.0", "0"), [vec![2]]);
    assert_eq!(of("RemoteGroup == \"a\" && SubmitterGroup == \"b\" && VictimMembers == 1", "0"), [vec![2]]);
    assert_eq!(of("TotalJobRuntime > 9999", "0"), [vec![0]], "only the oldest");
    assert_eq!(of("NumPreemptions > 0", "0"), [Vec::<usize>::new()]);
}

#[test]
fn a_stored_nomination_is_right_as_long_as_its_victims_may_be_preempted() {
    let pool = Pool { machines: 2, seats: 1, held: vec![job("a"); 2], waiting: vec![job("b")] };
    let scene = pool.scene();
    let strict = terms(&[Mode::Share], 4, "true", "0");
    let (_, _, found) = scene.preempt(&strict, 100);
    let proposal = found.answers[0].1.clone().unwrap();
    // It counts as taken now, and as held by its account.
    let mut nominated = scene.snapshot.after(std::slice::from_ref(&proposal.gang));
    nominated.roots.clone_from(&scene.snapshot.roots);
    let spared = BTreeSet::new();
    let victims = proposal.victims.iter().copied().collect();
    let ask = |terms: &PreemptionTerms| {
        let evictions = Evictions::up_to(9);
        let preempting = Preempting { terms, held: &scene.held, ending: &[], spared: &spared, evictions: &evictions };
        let charges = found.charges.iter().find(|(root, _)| *root == proposal.root).unwrap();
        let gang = (proposal.root, &proposal.gang, charges.1.as_slice());
        is_still_right(&nominated, gang, &victims, &preempting, (&Config::product(), NOW))
    };
    assert!(ask(&strict));
    assert!(!ask(&terms(&[Mode::Share], 4, "false", "0")));
    assert!(!ask(&terms(&[Mode::Priority], 4, "true", "0")));
}
