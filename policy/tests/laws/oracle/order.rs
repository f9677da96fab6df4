//! The order of a cycle, decided anew for each gang.

use std::collections::{BTreeMap, BTreeSet};

use policy::{Amount, Amounts, Pass, Unserved};

use crate::oracle::{Forest, Rooms};
use crate::worlds::Cycle;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderMistake {
    /// Of equal jobs the one that was listed first is sooner.
    AsListed,
    /// Nothing is said of jobs behind one that has no gang.
    SilentBehind,
    /// Quotas do not count.
    NoQuotas,
    /// An account ends with its first job that has no gang.
    StopsAtFirst,
    /// The youngest job is first.
    YoungestFirst,
    /// What was found does not count for the normalized usage.
    Forgets,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) served: Vec<(usize, Pass)>,
    pub(crate) unserved: BTreeMap<usize, Unserved>,
}

pub(crate) fn fits(forest: &Forest, total: &Amounts, takes: &Amounts) -> bool {
    takes.iter().all(|(counter, amount)| {
        *amount == 0 || total.get(counter).is_none_or(|total| forest.held_by_all(counter) + amount <= *total)
    })
}

pub(crate) fn allows(forest: &Forest, total: &Amounts, account: &str, takes: &Amounts) -> bool {
    takes.iter().all(|(counter, amount)| {
        *amount == 0 || Rooms::of(forest, total, counter).available(account).is_none_or(|most| *amount <= most)
    })
}

/// The counters that guarantee a gang at one account.
pub(crate) fn guaranteeing(forest: &Forest, total: &Amounts, node: &str, takes: &Amounts) -> Vec<String> {
    let mut guaranteeing = Vec::new();
    for (counter, amount) in takes {
        let rooms = Rooms::of(forest, total, counter);
        if *amount > 0 && rooms.min(node) > 0 {
            if rooms.held(node) + amount > rooms.grant(node) {
                return Vec::new();
            }
            guaranteeing.push(counter.to_string());
        }
    }
    guaranteeing
}

struct Run<'w> {
    forest: Forest,
    /// With what is held at the beginning.
    usage: Forest,
    cycle: &'w Cycle,
    waiting: Vec<usize>,
    mistake: Option<OrderMistake>,
}

pub(crate) fn outcome(cycle: &Cycle, mistake: Option<OrderMistake>) -> Outcome {
    let forest = Forest::of(&cycle.pool.accounts);
    let waiting = (0..cycle.jobs.len()).collect();
    let mut run = Run { usage: forest.clone(), forest, cycle, waiting, mistake };
    let mut outcome = Outcome::default();
    for pass in [Pass::Guarantee, Pass::Fair] {
        let mut ended = BTreeSet::new();
        while let Some(account) = run.next(pass, &ended) {
            let job = run.first_job(&account);
            let (takes, total) = (&cycle.takes[job], &cycle.pool.total);
            let allowed = mistake == Some(OrderMistake::NoQuotas) || allows(&run.forest, total, &account, takes);
            let is_there = fits(&run.forest, total, takes);
            let is_found = is_there && allowed;
            let path = run.forest.path(&account);
            let is_guaranteed = path.iter().any(|node| !guaranteeing(&run.forest, total, node, takes).is_empty());
            if is_found && pass == Pass::Guarantee && !is_guaranteed {
                ended.insert(account);
                continue;
            }
            run.waiting.retain(|other| *other != job);
            if !is_found {
                let why = if is_there { Unserved::QuotaExceeded } else { Unserved::WaitingForCapacity };
                outcome.unserved.insert(job, why);
            }
            if is_found {
                run.forest.hold(&account, takes, 1);
                outcome.served.push((job, pass));
            } else if mistake == Some(OrderMistake::SilentBehind) {
                run.waiting.retain(|other| cycle.jobs[*other].account != account);
            } else if mistake == Some(OrderMistake::StopsAtFirst) {
                let others = run.waiting.iter().filter(|other| cycle.jobs[**other].account == account);
                outcome.unserved.extend(others.map(|other| (*other, Unserved::WaitingForCapacity)));
                run.waiting.retain(|other| cycle.jobs[*other].account != account);
            }
        }
    }
    outcome
}

impl Run<'_> {
    /// The account that is next.
    fn next(&self, pass: Pass, ended: &BTreeSet<String>) -> Option<String> {
        let waits = |account: &str| {
            let has_job = self.waiting.iter().any(|job| self.cycle.jobs[*job].account == account);
            has_job && (pass == Pass::Fair || (!ended.contains(account) && self.has_open_guarantee(account)))
        };
        let mut node: Option<&str> = None;
        loop {
            // The leaf is the child without a name.
            let own = node.filter(|name| waits(name)).map(|_| "");
            let below = self.forest.children(node).into_iter();
            let below = below.filter(|child| self.forest.subtree(child).iter().any(|account| waits(&account.name)));
            let first = own.into_iter().chain(below).min_by(|one, other| {
                let ((used, weight), (others, other_weight)) = (self.used(node, one), self.used(node, other));
                (used * other_weight).cmp(&(others * weight)).then(one.cmp(other))
            })?;
            if first.is_empty() {
                return node.map(str::to_owned);
            }
            node = Some(first);
        }
    }

    /// What was used and is held by a child, and its weight.
    fn used(&self, parent: Option<&str>, child: &str) -> (Amount, Amount) {
        let held = if self.mistake == Some(OrderMistake::Forgets) { &self.usage } else { &self.forest };
        if child.is_empty() {
            let own = held.get(parent.unwrap()).unwrap();
            return (own.usage + own.held.get("charge").copied().unwrap_or(0), 1000);
        }
        let usage: Amount = held.subtree(child).iter().map(|account| account.usage).sum();
        (usage + held.held(child, "charge"), held.get(child).unwrap().weight.into())
    }

    fn has_open_guarantee(&self, account: &str) -> bool {
        self.forest.path(account).into_iter().any(|node| {
            let counters = self.forest.get(node).unwrap().quotas.keys();
            counters.into_iter().any(|counter| {
                let rooms = Rooms::of(&self.forest, &self.cycle.pool.total, counter);
                rooms.min(node) > 0 && rooms.held(node) < rooms.grant(node)
            })
        })
    }

    fn first_job(&self, account: &str) -> usize {
        let jobs = self.waiting.iter().copied().filter(|job| self.cycle.jobs[*job].account == account);
        let first = jobs.min_by_key(|job| {
            let waiting = &self.cycle.jobs[*job];
            let since = if self.mistake == Some(OrderMistake::YoungestFirst) { -waiting.since } else { waiting.since };
            let key =
                if self.mistake == Some(OrderMistake::AsListed) { format!("{job:02}") } else { waiting.key.clone() };
            (-waiting.priority, since, key)
        });
        first.unwrap()
    }
}
