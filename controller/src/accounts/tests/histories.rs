//! Histories of accounts by seed: leaders that crash, freeze, and lead at the same time, with clocks that are wrong, and with writes that are lost,
//! late or doubled. The ledgers are those of the controller. At the end, what is stored must be what was held.

use std::collections::{BTreeMap, BTreeSet};

use crds::{Account, AccountStatus, Match};
use kube::ResourceExt;
use policy::{Claim, MemberCharge, Usage};
use pool::{Objects, StoredUsage};
use sampling::Random;

use super::super::ledger::Ledger;
use super::super::plan::{AccountChange, change_of};
use super::{BEGIN, claim, pool};

/// How many. `GANGMATCH_HISTORIES` runs another number, and `GANGMATCH_SEED` begins elsewhere.
const HISTORIES: u64 = 150;

const HALF_LIFE: i64 = 600;
/// An account is stored at most so often.
const APART: i64 = 60;
const HOUR: i64 = 3600;

/// A mistake that is put in, to see that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    Nothing,
    /// The server keeps the former time of a usage, so that the time since then is folded once more.
    FoldedTwice,
    /// Leaders do not see some claims.
    NotCharged,
    /// The server loses the charge that is held.
    LosesCharge,
}

/// What goes wrong in a history.
#[derive(Clone, Debug)]
struct Plan {
    seed: u64,
    leaders: usize,
    /// By how much their clocks are wrong.
    skews: Vec<i64>,
    /// Watches lag behind, and leaders freeze.
    is_late: bool,
    /// Users delete Matches of claims that are held.
    deletes: bool,
    mistake: Mistake,
}

impl Plan {
    fn new(seed: u64, mistake: Mistake) -> Plan {
        let mut random = Random::new(seed);
        let leaders = if random.happens(400) { 2 } else { 1 };
        let is_wrong = random.happens(400);
        let skew = |random: &mut Random| if is_wrong { random.between(-1, 1) * HOUR } else { 0 };
        let skews = (0..2).map(|_| skew(&mut random)).collect();
        Plan { seed, leaders, skews, is_late: random.happens(500), deletes: random.happens(200), mistake }
    }

    /// Whether all that was held must be found in what is stored, but for rounding.
    fn is_exact(&self) -> bool {
        self.leaders == 1 && !self.is_late && !self.deletes && self.skews.iter().all(|skew| *skew == 0)
    }
}

/// A change that watches tell.
#[derive(Clone)]
enum Change {
    Match(Box<Match>),
    Deleted(Box<Match>),
    Account(Box<Account>),
}

/// A claim that was ever committed.
struct Known {
    tenant: &'static str,
    charge: u64,
    from: i64,
    to: Option<i64>,
    /// The claim's Match is there.
    is_there: bool,
}

struct Leader {
    objects: Objects,
    ledger: Ledger,
    due: BTreeSet<String>,
    written: BTreeMap<String, i64>,
    /// How much of the log it has seen.
    seen: usize,
    frozen_until: i64,
}

struct World {
    plan: Plan,
    random: Random,
    now: i64,
    accounts: BTreeMap<String, Account>,
    log: Vec<Change>,
    claims: Vec<Known>,
    leaders: Vec<Leader>,
    /// Writes under way: when they arrive, of which account, and the patch.
    writes: Vec<(i64, String, json_patch::Patch)>,
    stored: u64,
}

fn account_of(tenant: &str) -> String {
    format!("ns-{tenant}")
}

impl World {
    fn new(plan: &Plan) -> World {
        let mut world = World {
            plan: plan.clone(),
            random: Random::stream(plan.seed, "world"),
            now: 0,
            accounts: BTreeMap::new(),
            log: Vec::new(),
            claims: Vec::new(),
            leaders: Vec::new(),
            writes: Vec::new(),
            stored: 0,
        };
        world.leaders = (0..plan.leaders).map(|_| world.leader()).collect();
        world
    }

    /// One that begins with all that is there.
    fn leader(&self) -> Leader {
        let mut leader = Leader {
            objects: pool(HALF_LIFE),
            ledger: Ledger::default(),
            due: BTreeSet::new(),
            written: BTreeMap::new(),
            seen: 0,
            frozen_until: 0,
        };
        self.sees(&mut leader, self.log.len());
        leader
    }

    fn sees(&self, leader: &mut Leader, until: usize) {
        for change in &self.log[leader.seen..until] {
            let is_hidden = |found: &Match| {
                let number: u64 = found.name_any().trim_start_matches('m').parse().unwrap();
                self.plan.mistake == Mistake::NotCharged && number % 7 == 3
            };
            match change {
                Change::Match(found) if !is_hidden(found) => drop(leader.objects.matches.apply((**found).clone())),
                Change::Deleted(found) => leader.objects.matches.delete(found),
                Change::Account(account) => drop(leader.objects.accounts.apply((**account).clone())),
                Change::Match(_) => {}
            }
        }
        leader.seen = leader.seen.max(until);
    }

    fn tells(&mut self, change: Change) {
        self.log.push(change);
    }

    /// The Match of a claim, as it is now.
    fn found(&self, number: usize) -> Match {
        let Known { tenant, charge, from, to, .. } = &self.claims[number];
        let mut found = claim(u64::try_from(number).unwrap(), tenant, *charge, (*from, *to));
        found.metadata.resource_version = Some((self.log.len() + 1).to_string());
        found
    }

    /// A claim begins or ends, by the clock of a leader, which knows it at once.
    fn claims_change(&mut self) {
        let leader = self.random.index(self.leaders.len());
        let at = self.now + self.plan.skews[leader];
        let live: Vec<usize> = (0..self.claims.len()).filter(|number| self.claims[*number].to.is_none()).collect();
        let number = if live.is_empty() || self.random.happens(600) {
            let tenant = self.random.pick(&["a", "b", "c"]).copied().unwrap();
            let charge = self.random.below(5) + 1;
            self.claims.push(Known { tenant, charge, from: at, to: None, is_there: true });
            self.claims.len() - 1
        } else {
            let number = *self.random.pick(&live).unwrap();
            self.claims[number].to = Some(at.max(self.claims[number].from));
            number
        };
        if !self.claims[number].is_there {
            return;
        }
        let found = self.found(number);
        self.tells(Change::Match(Box::new(found)));
        let mut own = self.leaders.swap_remove(leader);
        self.sees(&mut own, self.log.len());
        self.leaders.push(own);
        let last = self.leaders.len() - 1;
        self.leaders.swap(leader, last);
    }

    /// A Match is deleted: of a claim that has ended and is in what is stored, or by a user.
    fn match_goes(&mut self) {
        let is_stored = |known: &Known| {
            let stored = self.accounts.get(&account_of(known.tenant)).and_then(StoredUsage::of);
            known.to.is_some_and(|to| stored.is_some_and(|stored| stored.at > BEGIN + to))
        };
        let goes = |known: &&Known| known.is_there && (self.plan.deletes || is_stored(known));
        let numbers: Vec<usize> = (0..self.claims.len()).filter(|number| goes(&&self.claims[*number])).collect();
        if let Some(number) = self.random.pick(&numbers).copied() {
            let found = self.found(number);
            self.claims[number].is_there = false;
            // Nothing is held without a Match.
            let now = self.now;
            self.claims[number].to.get_or_insert(now);
            self.tells(Change::Deleted(Box::new(found)));
        }
    }

    /// One round of a leader.
    fn leads(&mut self, number: usize, disturbed: bool) {
        if self.leaders[number].frozen_until > self.now {
            return;
        }
        let mut leader = self.leaders.swap_remove(number);
        let behind = self.log.len() - leader.seen;
        let until =
            if disturbed && self.plan.is_late { leader.seen + self.random.index(behind + 1) } else { self.log.len() };
        self.sees(&mut leader, until);
        let now = BEGIN + self.now + self.plan.skews[number];
        let changes = leader.objects.take_changes();
        let touched = leader.ledger.note(&changes, &leader.objects, now);
        leader.due.extend(touched);
        for name in leader.due.clone() {
            if leader.written.get(&name).is_some_and(|at| at + APART > self.now) {
                continue;
            }
            match change_of(&name, &leader.objects, &leader.ledger, None, false, now) {
                None => drop(leader.due.remove(&name)),
                Some(AccountChange::Create(accounts)) => accounts.into_iter().for_each(|account| self.creates(account)),
                Some(AccountChange::Delete(_)) => {}
                Some(AccountChange::Store { name, at, ops }) => {
                    at.iter().for_each(|at| leader.ledger.is_written(&name, *at));
                    leader.written.insert(name.clone(), self.now);
                    self.sends(name, ops.build(), disturbed);
                }
            }
        }
        self.leaders.push(leader);
        let last = self.leaders.len() - 1;
        self.leaders.swap(number, last);
    }

    fn creates(&mut self, mut account: Account) {
        if !self.accounts.contains_key(&account.name_any()) {
            account.metadata.uid = Some(format!("uid-{}", account.name_any()));
            // By default, the server stores an empty status.
            account.status = Some(AccountStatus::default());
            account.metadata.resource_version = Some((self.log.len() + 1).to_string());
            self.accounts.insert(account.name_any(), account.clone());
            self.tells(Change::Account(Box::new(account)));
        }
    }

    /// A write is lost, late, or arrives twice.
    fn sends(&mut self, name: String, patch: json_patch::Patch, disturbed: bool) {
        let (lost, twice, late) = (self.random.happens(100), self.random.happens(100), self.random.happens(200));
        if disturbed && lost {
            return;
        }
        let late = if disturbed && late { self.random.between(1, 200) } else { 0 };
        if disturbed && twice {
            let again = self.now + self.random.between(1, 200);
            self.writes.push((again, name.clone(), patch.clone()));
        }
        self.writes.push((self.now + late, name, patch));
        self.arrive();
    }

    fn arrive(&mut self) {
        let now = self.now;
        for (_, name, patch) in self.writes.extract_if(.., |(at, ..)| *at <= now).collect::<Vec<_>>() {
            let Some(known) = self.accounts.get(&name) else { continue };
            let mut value = serde_json::to_value(known).unwrap();
            if json_patch::patch(&mut value, &patch).is_err() {
                continue;
            }
            let mut account: Account = serde_json::from_value(value).unwrap();
            let before = known.status.as_ref().and_then(|status| status.usage_time.clone());
            if let (Mistake::FoldedTwice, Some(before), Some(status)) = (self.plan.mistake, before, &mut account.status)
            {
                status.usage_time = Some(before);
            }
            if let (Mistake::LosesCharge, Some(status)) = (self.plan.mistake, &mut account.status) {
                status.charge = Some("0.000000".to_owned());
            }
            account.metadata.resource_version = Some((self.log.len() + 1).to_string());
            self.accounts.insert(name, account.clone());
            self.stored += 1;
            self.tells(Change::Account(Box::new(account)));
        }
    }

    fn run(&mut self) {
        for _ in 0..80 {
            self.now += self.random.between(1, 20);
            self.arrive();
            match self.random.below(100) {
                0..60 => self.claims_change(),
                60..70 => self.match_goes(),
                70..80 => {
                    // It crashes, and begins again.
                    let number = self.random.index(self.leaders.len());
                    self.leaders[number] = self.leader();
                }
                80..85 if self.plan.is_late => {
                    let number = self.random.index(self.leaders.len());
                    self.leaders[number].frozen_until = self.now + self.random.between(1, 100);
                }
                _ => {}
            }
            (0..self.leaders.len()).for_each(|number| self.leads(number, true));
        }
        // Nothing goes wrong any more, and one leads.
        self.leaders.truncate(1);
        self.rests();
    }

    /// Ten minutes in which nothing changes. How many writes there were.
    fn rests(&mut self) -> u64 {
        let before = self.stored;
        for _ in 0..60 {
            self.now += 10;
            self.arrive();
            self.leads(0, false);
        }
        self.stored - before
    }

    /// What is wrong at the end.
    fn wrong(&mut self) -> Option<String> {
        let writes = self.rests();
        if writes > 0 {
            return Some(format!("A2: nothing changes, and there are {writes} writes"));
        }
        ["a", "b", "c"].into_iter().find_map(|tenant| self.wrong_of(tenant))
    }

    fn wrong_of(&self, tenant: &str) -> Option<String> {
        let own: Vec<&Known> = self.claims.iter().filter(|known| known.tenant == tenant).collect();
        let name = account_of(tenant);
        let micros = |known: &Known| i128::from(known.charge) * 1_000_000;
        let live: i128 = own.iter().filter(|known| known.to.is_none()).map(|known| micros(known)).sum();
        let Some(stored) = self.accounts.get(&name).and_then(StoredUsage::of) else {
            return (live > 0).then(|| format!("A1: {name} holds {live}, and nothing is stored of it"));
        };
        let folded = self.leaders[0].ledger.tallies().get(&name).map_or(0, |tally| tally.usage.held());
        if (stored.held, folded) != (live, live) {
            return Some(format!("A1: {name} holds {live}; {} is stored, and the leader knows {folded}", stored.held));
        }
        let most: i128 = own.iter().map(|known| micros(known)).sum();
        if !(0..=most + 1).contains(&stored.usage) {
            return Some(format!("D2: {name} has used {}, and never held more than {most}", stored.usage));
        }
        let claims = own.iter().map(|known| Claim {
            from: BEGIN + known.from,
            to: known.to.map(|to| BEGIN + to),
            members: vec![MemberCharge { offer: String::new(), charge: micros(known), share: None }],
        });
        let claims: Vec<Claim> = claims.collect();
        let first = claims.iter().map(|claim| claim.from).min().unwrap_or(stored.at);
        let all = Usage::stored(0, first, 0).with_half_life(HALF_LIFE).taken_over(&claims, stored.at).at(stored.at);
        // Each time that it is stored, it is rounded.
        let error = (all - stored.usage).abs();
        (self.plan.is_exact() && error > i128::from(self.stored) + 2)
            .then(|| format!("A3: {name} has used {all}, and {} is stored", stored.usage))
    }
}

fn history(plan: &Plan) -> (u64, Option<String>) {
    let mut world = World::new(plan);
    world.run();
    (world.stored, world.wrong())
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn a1_a2_a3_whatever_happens_what_is_stored_is_what_was_held() {
    let (first, count) = (number("GANGMATCH_SEED", 0), number("GANGMATCH_HISTORIES", HISTORIES));
    let (mut stored, mut exact) = (0, 0);
    for seed in first..first + count {
        let plan = Plan::new(seed, Mistake::Nothing);
        let (writes, wrong) = history(&plan);
        assert_eq!(wrong, None, "{plan:?}");
        stored += writes;
        exact += u64::from(plan.is_exact());
    }
    println!("{count} histories from seed {first}, {exact} of them exact: {stored} writes, nothing is wrong");
    assert!(stored > count * 5 && exact > count / 10, "hardly anything was tried: {stored} writes, {exact} exact");
}

#[test]
fn every_mistake_is_found() {
    for (mistake, law) in [(Mistake::FoldedTwice, "A3"), (Mistake::NotCharged, "A1"), (Mistake::LosesCharge, "A2")] {
        let found = |seed: u64| history(&Plan::new(seed, mistake)).1.map(|wrong| (seed, wrong));
        let (seed, wrong) = (0..500).find_map(found).unwrap_or_else(|| panic!("{mistake:?} was not found"));
        println!("{mistake:?}: seed {seed}: {wrong}");
        assert!(wrong.starts_with(law), "{mistake:?}: {wrong}");
    }
}
