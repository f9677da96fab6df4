//! Laws of preemption: V1 to V8.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use policy::{
    Account, Amount, Candidate, Choice, ClaimedGang, GangMember, Mode, NoVictims, Permitted, Preemption, Preemptor,
    Quota, Quotas, Tree, taken_by_gang,
};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::oracle::{Forest, Rooms, VictimMistake, choose};
use crate::worlds::{COUNTERS, Pool, amount, amounts, counterexample, pool};

/// Everything that decides about one preemptor.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) pool: Pool,
    pub(crate) permitted: Permitted,
    pub(crate) now: i64,
    pub(crate) free: BTreeMap<String, BTreeMap<String, Amount>>,
    pub(crate) gangs: Vec<ClaimedGang>,
    pub(crate) preemptor: Preemptor,
    pub(crate) candidates: Vec<Candidate>,
}

const OFFERS: [&str; 3] = ["o0", "o1", "o2"];
const MODES: [Mode; 4] = [Mode::Rank, Mode::Reclaim, Mode::Share, Mode::Priority];

fn resources(most: Amount) -> impl Strategy<Value = BTreeMap<String, Amount>> {
    (0..=most, prop_oneof![3 => Just(0), 1 => 0..=most])
        .prop_map(|(slots, memory)| [("slots".to_owned(), slots), ("memory".to_owned(), memory)].into())
}

fn members(most: Amount) -> impl Strategy<Value = Vec<GangMember>> {
    let member =
        move |offer: &'static str| {
            (resources(most), prop_oneof![2 => Just(0_i128), 1 => 0..3_i128])
                .prop_map(move |(amounts, rank)| GangMember { offer: offer.to_owned(), amounts, rank })
        };
    subsequence(OFFERS.to_vec(), 1..=3).prop_flat_map(move |offers| offers.into_iter().map(member).collect::<Vec<_>>())
}

fn gang(number: usize) -> impl Strategy<Value = (Index, ClaimedGang)> {
    let takes = (amount("charge", 4), amounts(3)).prop_map(|(charge, takes)| taken_by_gang(charge, takes));
    let age = select(vec![299, 300, 599, 600, 1_200, 90_000, 90_000, 90_000]);
    let job = (any::<Index>(), -1..3_i64, age, 0..3_u32, -1..2_i128, prop::bool::weighted(0.8));
    (job, takes, members(2)).prop_map(
        move |((account, priority, age, preemptions, rank, requirements), takes, members)| {
            let gang = ClaimedGang {
                name: format!("g{number}"),
                account: String::new(),
                priority,
                since: 100_000 - age,
                preemptions,
                takes,
                rank,
                requirements,
                members,
            };
            (account, gang)
        },
    )
}

fn candidate() -> impl Strategy<Value = Candidate> {
    (0..2_i128, amount("charge", 3), amounts(3), members(3)).prop_map(|(own, charge, takes, members)| Candidate {
        own,
        takes: taken_by_gang(charge, takes),
        members,
    })
}

fn world() -> impl Strategy<Value = World> {
    let gangs = (0..6_usize).prop_flat_map(|count| (0..count).map(gang).collect::<Vec<_>>());
    let reasons = subsequence(MODES.to_vec(), 1..=4).prop_map(|reasons| reasons.into_iter().collect::<BTreeSet<_>>());
    let free = OFFERS.map(|offer| resources(1).prop_map(move |free| (offer.to_owned(), free)));
    let preemptor = (any::<Index>(), 0..3_i64);
    let candidates = (prop::collection::vec(candidate(), 0..4), prop::bool::weighted(0.3));
    (pool(), gangs, reasons, 1..4_usize, free, preemptor, candidates).prop_map(
        |(mut pool, gangs, reasons, max_victims, free, (account, priority), (candidates, has_guarantee))| {
            let name = |index: &Index, pool: &Pool| index.get(&pool.accounts).name.clone();
            let gangs: Vec<ClaimedGang> = gangs
                .into_iter()
                .map(|(account, gang)| ClaimedGang { account: name(&account, &pool), ..gang })
                .collect();
            let preemptor = Preemptor { account: name(&account, &pool), priority };
            pool.accounts = holding(&pool.accounts, &gangs);
            let permitted = Permitted { reasons, min_runtime_seconds: 300, max_victims, leaves_above: false };
            let free = free.into_iter().collect();
            let world = World { pool, permitted, now: 100_000, free, gangs, preemptor, candidates };
            if has_guarantee { with_guarantee(world) } else { world }
        },
    )
}

/// The same world, in which only the preemptor's account has a guarantee, of seats, and all gangs take seats: so that most of it was borrowed.
fn with_guarantee(mut world: World) -> World {
    world.pool.total.remove("seats");
    for account in &mut world.pool.accounts {
        account.quotas.remove("seats");
        if account.name == world.preemptor.account {
            account.quotas = [("seats".into(), Quota { min: Some(6), ..Quota::default() })].into();
        }
    }
    let all = world.gangs.iter_mut().map(|gang| &mut gang.takes);
    for takes in all.chain(world.candidates.iter_mut().map(|candidate| &mut candidate.takes)) {
        let seats = takes.entry("seats".into()).or_default();
        *seats = (*seats).max(1);
    }
    world.pool.accounts = holding(&world.pool.accounts, &world.gangs);
    world
}

/// The accounts with what these gangs hold.
fn holding(accounts: &[Account], gangs: &[ClaimedGang]) -> Vec<Account> {
    let empty = |account: &Account| Account { held: policy::Amounts::new(), ..account.clone() };
    let mut forest = Forest { accounts: accounts.iter().map(empty).collect() };
    for gang in gangs {
        forest.hold(&gang.account, &gang.takes, 1);
    }
    forest.accounts
}

fn product(world: &World) -> Result<Choice, NoVictims> {
    let tree = Tree::new(world.pool.accounts.clone());
    let quotas = Quotas::new(&tree, &world.pool.total);
    let view = Preemption {
        permitted: &world.permitted,
        now: world.now,
        quotas: &quotas,
        free: &world.free,
        gangs: &world.gangs,
    };
    view.choose(&world.preemptor, &world.candidates)
}

type Choose<'c> = &'c dyn Fn(&World) -> Result<Choice, NoVictims>;
type Law = fn(&World, Choose<'_>) -> bool;

/// Whether a candidate fits once these gangs are gone.
fn fits(world: &World, candidate: &Candidate, gone: &[usize]) -> bool {
    candidate.members.iter().all(|member| {
        member.amounts.iter().all(|(resource, takes)| {
            let of = |member: &GangMember| member.amounts.get(resource).copied().unwrap_or(0);
            let ended =
                gone.iter().flat_map(|gang| &world.gangs[*gang].members).filter(|other| other.offer == member.offer);
            let free = world.free.get(&member.offer).and_then(|free| free.get(resource)).copied().unwrap_or(0);
            *takes <= (free + ended.map(of).sum::<Amount>()).max(0)
        })
    })
}

fn the_whole_gang_then_fits(world: &World, choose: Choose<'_>) -> bool {
    choose(world).is_ok_and(|choice| fits(world, &world.candidates[choice.candidate], &choice.victims))
        || choose(world).is_err()
}

fn no_victim_could_be_spared(world: &World, choose: Choose<'_>) -> bool {
    let Ok(choice) = choose(world) else { return true };
    choice.victims.iter().all(|spared| {
        let others: Vec<usize> = choice.victims.iter().copied().filter(|victim| victim != spared).collect();
        !fits(world, &world.candidates[choice.candidate], &others)
    })
}

fn no_victim_is_too_young(world: &World, choose: Choose<'_>) -> bool {
    let Ok(choice) = choose(world) else { return true };
    choice.victims.iter().all(|victim| {
        let gang = &world.gangs[*victim];
        world.now - gang.since >= world.permitted.min_runtime_seconds * (1 << gang.preemptions.min(20))
    })
}

/// With Rank and Priority alone: if the candidate fits once all that may be preempted are gone, victims are found.
fn victims_are_found_if_there_are_any(world: &World, choose: Choose<'_>) -> bool {
    let mut world = world.clone();
    world.permitted.reasons.retain(|mode| matches!(mode, Mode::Rank | Mode::Priority));
    world.candidates.truncate(1);
    let (refusal, Some(candidate)) = (choose(&world).err(), world.candidates.first()) else { return true };
    let may_end = |gang: &ClaimedGang| {
        let offered = |held: &GangMember| candidate.members.iter().find(|wanted| wanted.offer == held.offer);
        let is_contested = |held: &GangMember| {
            let free = |resource: &String| {
                world.free.get(&held.offer).and_then(|free| free.get(resource)).copied().unwrap_or(0)
            };
            let short = |(resource, amount): (&String, &Amount)| {
                *amount > 0
                    && offered(held)
                        .is_some_and(|wanted| wanted.amounts.get(resource).is_some_and(|takes| *takes > free(resource)))
            };
            held.amounts.iter().any(short)
        };
        let contested = || gang.members.iter().filter(|held| is_contested(held));
        let all = |holds: fn(Amount, Amount) -> bool| {
            contested().all(|held| offered(held).is_some_and(|wanted| holds(wanted.rank, held.rank)))
        };
        let is_old = world.now - gang.since >= world.permitted.min_runtime_seconds * (1 << gang.preemptions.min(20));
        let by_rank = world.permitted.reasons.contains(&Mode::Rank) && all(|ours, theirs| ours > theirs);
        let by_priority = world.permitted.reasons.contains(&Mode::Priority)
            && gang.requirements
            && gang.account == world.preemptor.account
            && gang.priority < world.preemptor.priority
            && all(|ours, theirs| ours >= theirs);
        is_old && contested().next().is_some() && (by_rank || by_priority)
    };
    let all: Vec<usize> = (0..world.gangs.len()).filter(|gang| may_end(&world.gangs[*gang])).collect();
    refusal != Some(NoVictims::NotEnoughVictims) || !fits(&world, candidate, &all)
}

/// What the pool and the maximum of each account above the preemptor allow is not exceeded by the gang, once the victims are gone.
fn no_maximum_is_exceeded(world: &World, choose: Choose<'_>) -> bool {
    let Ok(choice) = choose(world) else { return true };
    let left: Vec<ClaimedGang> = (0..world.gangs.len())
        .filter(|gang| !choice.victims.contains(gang))
        .map(|gang| world.gangs[gang].clone())
        .collect();
    let forest = Forest::of(&holding(&world.pool.accounts, &left));
    let takes = &world.candidates[choice.candidate].takes;
    COUNTERS.iter().all(|counter| {
        let takes = takes.get(*counter).copied().unwrap_or(0);
        let rooms = Rooms::of(&forest, &world.pool.total, counter);
        let caps = forest
            .path(&world.preemptor.account)
            .into_iter()
            .filter_map(|node| Some(rooms.quota(node).max? - rooms.held(node)));
        let free = rooms.total.map(|total| total - forest.held_by_all(counter));
        takes == 0 || caps.chain(free).all(|room| takes <= room)
    })
}

/// The world after a choice, in which a victim asks for what it held.
fn turned(world: &World, choice: &Choice, victim: usize) -> World {
    let (candidate, gone) = (&world.candidates[choice.candidate], &world.gangs[victim]);
    let newcomer = ClaimedGang {
        name: "newcomer".to_owned(),
        account: world.preemptor.account.clone(),
        priority: world.preemptor.priority,
        since: 0,
        preemptions: 0,
        takes: candidate.takes.clone(),
        rank: 0,
        requirements: true,
        members: candidate.members.clone(),
    };
    let stay =
        (0..world.gangs.len()).filter(|gang| !choice.victims.contains(gang)).map(|gang| world.gangs[gang].clone());
    let gangs: Vec<ClaimedGang> = stay.chain([newcomer]).collect();
    let mut free = world.free.clone();
    let mut change = |members: &[GangMember], sign: Amount| {
        for member in members {
            for (resource, amount) in &member.amounts {
                *free.entry(member.offer.clone()).or_default().entry(resource.clone()).or_default() += sign * amount;
            }
        }
    };
    choice.victims.iter().for_each(|victim| change(&world.gangs[*victim].members, 1));
    change(&candidate.members, -1);
    World {
        pool: Pool { accounts: holding(&world.pool.accounts, &gangs), ..world.pool.clone() },
        free,
        gangs,
        preemptor: Preemptor { account: gone.account.clone(), priority: gone.priority },
        candidates: vec![Candidate { own: 0, takes: gone.takes.clone(), members: gone.members.clone() }],
        ..world.clone()
    }
}

fn share_only(world: &World) -> World {
    let permitted = Permitted { reasons: [Mode::Share].into(), ..world.permitted.clone() };
    World { permitted, ..world.clone() }
}

/// By share, no victim can preempt the gang that it was preempted for.
fn no_ping_pong_by_share(world: &World, choose: Choose<'_>) -> bool {
    let world = share_only(world);
    let Ok(choice) = choose(&world) else { return true };
    choice.victims.iter().all(|victim| {
        let turned = turned(&world, &choice, *victim);
        choose(&turned).map_or(true, |back| !back.victims.contains(&(turned.gangs.len() - 1)))
    })
}

/// By share alone, with each victim waiting for what it held, preemption ends: every preemption lowers the sorted list of what accounts hold.
fn preemption_by_share_ends(world: &World, choose: Choose<'_>) -> bool {
    let mut world = share_only(world);
    world.candidates.truncate(1);
    let mut waiting: Vec<World> = Vec::new();
    for _ in 0..200 {
        let Ok(choice) = choose(&world) else {
            let Some(next) = waiting.pop() else { return true };
            // Another one asks, with the pool as it is now.
            world = World { preemptor: next.preemptor, candidates: next.candidates, ..world };
            continue;
        };
        let asking: Vec<World> = choice.victims.iter().map(|victim| turned(&world, &choice, *victim)).collect();
        let Some(next) = asking.first() else {
            // It fits without victims, and nothing else changes.
            let Some(next) = waiting.pop() else { return true };
            world = World { preemptor: next.preemptor, candidates: next.candidates, ..world };
            continue;
        };
        world = next.clone();
        waiting.extend(asking.into_iter().skip(1));
    }
    false
}

/// Two jobs that each offer prefers when it comes: how often one of them is preempted before it has run for a week.
fn the_doubling_is_a_bound(_: &World, choose: Choose<'_>) -> bool {
    let (week, min) = (7 * 86_400, 300);
    let names = ["a", "b"];
    let member = |rank| GangMember { offer: "o0".into(), amounts: [("slots".into(), 1)].into(), rank };
    let (mut holder, mut since, mut now, mut preemptions) = (0, 0, 0, [0_u32; 2]);
    while now - since < week {
        now += min;
        let gang = ClaimedGang {
            name: names[holder].into(),
            account: names[holder].into(),
            priority: 0,
            since,
            preemptions: preemptions[holder],
            takes: taken_by_gang(1_000_000, policy::Amounts::new()),
            rank: 0,
            requirements: true,
            members: vec![member(0)],
        };
        let candidate = Candidate { own: 0, takes: gang.takes.clone(), members: vec![member(1)] };
        let gangs = vec![gang];
        let world = World {
            pool: Pool { accounts: holding(&names.map(Account::named), &gangs), total: policy::Amounts::new() },
            permitted: Permitted {
                reasons: [Mode::Rank].into(),
                min_runtime_seconds: min,
                max_victims: 1,
                leaves_above: false,
            },
            now,
            free: BTreeMap::new(),
            gangs,
            preemptor: Preemptor { account: names[1 - holder].into(), priority: 0 },
            candidates: vec![candidate],
        };
        if choose(&world).is_ok() {
            preemptions[holder] += 1;
            (holder, since) = (1 - holder, now);
        }
        // ceil(log2(week / min)) is 11.
        if preemptions.iter().any(|times| *times > 11) {
            return false;
        }
    }
    preemptions.iter().any(|times| *times > 1)
}

const LAWS: [(&str, Law, VictimMistake); 8] = [
    ("V1", the_whole_gang_then_fits, VictimMistake::OneResource),
    ("V2", no_victim_could_be_spared, VictimMistake::NobodySpared),
    ("V3", no_victim_is_too_young, VictimMistake::NoDoubling),
    ("V4", victims_are_found_if_there_are_any, VictimMistake::FirstOnly),
    ("V5", no_maximum_is_exceeded, VictimMistake::NoQuotas),
    ("V6", no_ping_pong_by_share, VictimMistake::WithoutCandidate),
    ("V7", preemption_by_share_ends, VictimMistake::WithoutCandidate),
    ("V8", the_doubling_is_a_bound, VictimMistake::NoDoubling),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn victims_are_those_of_the_definition(world in world()) {
        prop_assert_eq!(product(&world), choose(&world, None));
    }

    #[test]
    fn the_laws_hold(world in world()) {
        for (name, law, _) in LAWS.iter().filter(|(name, ..)| *name != "V8") {
            prop_assert!(law(&world, &product), "{}", name);
        }
    }
}

#[test]
fn a_job_is_preempted_eleven_times_at_most_before_it_has_run_for_a_week() {
    let any = counterexample(&world(), 1, |_| false).unwrap();
    assert!(the_doubling_is_a_bound(&any, &product));
}

#[test]
fn each_law_finds_its_mistake() {
    for (name, law, mistake) in LAWS {
        let holds = |world: &World| law(world, &|world| choose(world, Some(mistake)));
        assert!(counterexample(&world(), 5_000, holds).is_some(), "{name} does not find {mistake:?}");
    }
}

#[test]
fn every_mode_and_every_refusal_occurs() {
    let seen = RefCell::new(BTreeSet::new());
    let see = |world: &World| {
        seen.borrow_mut().insert(match product(world) {
            Ok(choice) => format!("{:?}, {} victims", choice.mode, choice.victims.len().min(2)),
            Err(refusal) => format!("{refusal:?}"),
        });
        true
    };
    assert!(counterexample(&world(), 5_000, see).is_none());
    let modes = MODES.iter().flat_map(|mode| [1, 2].map(|victims| format!("{mode:?}, {victims} victims")));
    let refusals = ["NoCandidate", "NotEnoughVictims", "TooManyVictims", "QuotaExceeded", "None, 0 victims"];
    let expected: BTreeSet<String> = modes.chain(refusals.map(str::to_owned)).collect();
    assert_eq!(seen.into_inner(), expected);
}

/// Claimed gangs that each hold one unit of some resources of all of these offers, and what takes all that there is.
fn wide(gangs: usize, offers: usize, resources: usize) -> (Vec<ClaimedGang>, Candidate) {
    let members = |amount: usize, rank: Amount| -> Vec<GangMember> {
        let amount = Amount::try_from(amount).unwrap();
        let amounts: BTreeMap<String, Amount> = (0..resources).map(|number| (format!("r{number}"), amount)).collect();
        let member = |number| GangMember { offer: format!("o{number:02}"), amounts: amounts.clone(), rank };
        (0..offers).map(member).collect()
    };
    let claimed = (0..gangs).map(|number| ClaimedGang {
        name: format!("g{number:03}"),
        account: "a".to_owned(),
        priority: 0,
        since: 0,
        preemptions: 0,
        takes: taken_by_gang(1, BTreeMap::new()),
        rank: 0,
        requirements: true,
        members: members(1, 0),
    });
    let candidate = Candidate { own: 0, takes: taken_by_gang(1, BTreeMap::new()), members: members(gangs, 1) };
    (claimed.collect(), candidate)
}

/// Each of them has to end, so that the last one is found only when all others are chosen. In time that grows with the square of their number, this
/// would take hours.
#[test]
fn p4_choosing_victims_takes_time_in_proportion_to_what_they_hold() {
    let begun = std::time::Instant::now();
    for gangs in [4, 500] {
        let (claimed, candidate) = wide(gangs, 63, 8);
        let tree = Tree::new([Account::named("a")]);
        let quotas = Quotas::new(&tree, &BTreeMap::new());
        let reasons = [Mode::Rank].into();
        let permitted = Permitted { reasons, min_runtime_seconds: 10, max_victims: 4, leaves_above: true };
        let view =
            Preemption { permitted: &permitted, now: 1000, quotas: &quotas, free: &BTreeMap::new(), gangs: &claimed };
        let preemptor = Preemptor { account: "a".to_owned(), priority: 0 };
        let found = view.choose(&preemptor, std::slice::from_ref(&candidate)).map(|choice| choice.victims.len());
        assert_eq!(found, if gangs == 4 { Ok(4) } else { Err(NoVictims::TooManyVictims) });
    }
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
}
