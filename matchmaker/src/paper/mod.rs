//! The algorithms of the gangmatching paper, as it measured them: an asking ad into the first gang that an order of its
//! ports finds, and how often the index was asked on the way.
//!
//! A probe is one question to the index: which live ads can fill this port, given what is bound so far? Candidates are
//! tried in the order of their ads, the first gang found is taken, and its ads are used up whole; nobody's rank counts.
//! The tables, conditions and joins are those of [`Engine`](crate::Engine), which itself asks far less.

mod ground;
mod joins;
mod search;

use std::fmt;
use std::str::FromStr;

use crate::capacity::Ask;
use crate::cycle::{Queue, Turn};
use crate::gang::{Bond, Gang, Member, Members};
use crate::model::{AdId, AdKey, Config, Prefer, Root, Snapshot};
use crate::ports::Rules;
use crate::score::Score;
use crate::verify::verify;
use ground::Ground;
use search::Search;

/// In which order the ports of an asking ad are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// As they are written.
    LeftToRight,
    /// The last one first.
    RightToLeft,
    /// The one with the fewest candidates first, of equal ones the first. Each estimate is a probe.
    Dynamic,
}

/// What a cycle by one of the paper's algorithms came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The gangs found, in the order in which their roots were served.
    pub gangs: Vec<Gang>,
    /// How often the index was asked.
    pub probes: u64,
    /// How often a candidate was bound and given up again.
    pub backtracks: u64,
}

/// Why a pool is none for the paper's algorithms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Only the evaluator can say whether these may be bound.
    #[error("{root}, port {port}: whether {candidate} can be bound there is not for the index alone to say")]
    NotIndexed {
        /// Who asks.
        root: Box<AdKey>,
        /// The number of its port, from 0.
        port: usize,
        /// Who may be a candidate there.
        candidate: Box<AdKey>,
    },
    /// The evaluator does not agree with the index: a defect.
    #[error("{root}: the evaluator does not agree to its gang: {why}")]
    Disagreement {
        /// Who asked.
        root: Box<AdKey>,
        /// What the evaluator finds wrong.
        why: String,
    },
}

/// Gives every root the first gang that the order finds, in turn as [`negotiate`](crate::negotiate) does.
///
/// # Errors
/// Refuses pools in which a candidate has ports of its own to be filled, shares its seats, or is accepted by terms that
/// the index does not know.
pub fn negotiate(snapshot: &Snapshot, config: &Config, order: Order, now: i64) -> Result<Outcome, Refusal> {
    let config = Config { prefer: Prefer::FirstFit, ..config.clone() };
    let mut ground = Ground::new(snapshot, &config);
    let mut pool = snapshot.clone();
    let mut outcome = Outcome::default();
    let mut queue = Queue::of(snapshot);
    while let Some(Turn { root, .. }) = queue.next() {
        let Some(ad) = snapshot.ad(root.ad).filter(|ad| ad.ports.problem.is_none()) else { continue };
        let ports = ground.ports(ad, &config);
        if pool.consumed.contains(&root.ad) || ports.len() >= config.members_max || config.depth_max < 1 {
            continue;
        }
        ground.meet(snapshot, root);
        let mut search =
            Search { ground: &mut ground, ports: &ports, order, bound: vec![None; ports.len()], counts: [0; 2] };
        let found = search.fill();
        let [probes, backtracks] = search.counts;
        outcome.probes += probes;
        outcome.backtracks += backtracks;
        let rows = found.map_err(|unknown| refusal(snapshot, root, &ground, unknown))?;
        ground.part();
        let Some(rows) = rows else { continue };
        let gang = gang(&mut ground, root.ad, &rows, &ports);
        if let Err(why) = verify(&pool, &gang, &config, now) {
            return Err(Refusal::Disagreement { root: Box::new(ad.key.clone()), why: why.to_string() });
        }
        for member in &gang.members {
            pool.take(member.ad, &member.ask);
            if config.rules == Rules::Paper {
                pool.consumed.insert(member.ad);
            }
            ground.use_up(member.ad);
        }
        queue.charge();
        outcome.gangs.push(gang);
    }
    Ok(outcome)
}

/// The gangs that the naive algorithm finds (section 5): without an index, one ad after the other, the first gang of each root.
pub fn naive(snapshot: &Snapshot, config: &Config, now: i64) -> Vec<Gang> {
    let config = Config { steps_max: u64::MAX, ..config.clone() };
    let (mut pool, mut found) = (snapshot.clone(), Vec::new());
    let mut queue = Queue::of(snapshot);
    while let Some(Turn { root, .. }) = queue.next() {
        if pool.consumed.contains(&root.ad) {
            continue;
        }
        let Some(gang) = crate::naive::gangs(&pool, root.ad, 1, &config, now).into_iter().next() else { continue };
        for member in &gang.members {
            pool.take(member.ad, &member.ask);
            if config.rules == Rules::Paper {
                pool.consumed.insert(member.ad);
            }
        }
        queue.charge();
        found.push(gang);
    }
    found
}

/// A candidate that only the evaluator knows: its row, and the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unknown {
    row: u32,
    port: usize,
}

fn refusal(snapshot: &Snapshot, root: &Root, ground: &Ground, unknown: Unknown) -> Refusal {
    let key = |id: AdId| {
        let nobody = || AdKey { kind: String::new(), namespace: String::new(), name: String::new() };
        snapshot.ad(id).map_or_else(nobody, |ad| ad.key.clone())
    };
    let (candidate, _) = ground.who(unknown.row);
    Refusal::NotIndexed { root: Box::new(key(root.ad)), port: unknown.port, candidate: Box::new(key(candidate)) }
}

fn gang(ground: &mut Ground, root: AdId, rows: &[u32], ports: &[usize]) -> Gang {
    let mut members = Members::new();
    members.push(Member { ad: root, bond: None, ask: Ask::default() });
    for (port, (row, domain)) in rows.iter().zip(ports).enumerate() {
        let (ad, via) = ground.who(*row);
        members.push(Member { ad, bond: Some(Bond::new(0, port, via)), ask: ground.ask(*domain, ad) });
    }
    Gang { members, score: Score::default() }
}

impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Order::LeftToRight => "left to right",
            Order::RightToLeft => "right to left",
            Order::Dynamic => "dynamic",
        })
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(name: &str) -> Result<Order, String> {
        match name {
            "ltr" => Ok(Order::LeftToRight),
            "rtl" => Ok(Order::RightToLeft),
            "dynamic" => Ok(Order::Dynamic),
            _ => Err(format!("an order is ltr, rtl or dynamic, not {name}")),
        }
    }
}
