//! The algorithms of the gangmatching paper, as it measured them: an asking ad into the first gang that an order of its
//! ports finds, and how often the index was asked on the way.
//!
//! A probe is one question to the index: which live ads can fill this port, given what is bound so far? Candidates are
//! tried in the order of their ads, the first gang found is taken, and its ads are used up whole; no rank counts.
//! The tables, conditions and joins are those of [`Indexed`](crate::Indexed), which itself asks far less.

mod backtracking;
mod ground;
mod joins;

use std::fmt;
use std::str::FromStr;

use matchmaker::{
    AdId, AdKey, Answer, Ask, Asked, Config, Edge, Explained, Finder, Found, Gang, Member, Members, Root, Round, Score,
    Snapshot, Turn, plain, verify,
};

use backtracking::Search;
use ground::Ground;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Only the evaluator can say whether these may be bound.
    NotIndexed {
        /// Who asks.
        root: Box<AdKey>,
        /// The number of its port, from 0.
        port: usize,
        /// Who may be a candidate there.
        candidate: Box<AdKey>,
    },
    /// The evaluator does not agree with the index: a defect.
    Disagreement {
        /// Who asked.
        root: Box<AdKey>,
        /// What the evaluator finds wrong.
        why: String,
    },
}

/// Gives every root the first gang that the order finds, in turn as [`matchmaker::negotiate`] does. Ranks must be left out of
/// the pool.
///
/// # Errors
/// Refuses pools in which a candidate has ports of its own to be filled, shares its seats, or is accepted by terms that
/// the index does not know.
pub fn negotiate(snapshot: &Snapshot, config: &Config, order: Order, now: i64) -> Result<Outcome, Refusal> {
    let mut finder = ByOrder { order, counts: [0; 2], refusal: None, explained: Explained::default() };
    let config = Config { explains: false, ..config.clone() };
    let cycle = matchmaker::negotiate(snapshot, &config, now, &mut finder);
    let [probes, backtracks] = finder.counts;
    finder.refusal.map_or(Ok(Outcome { gangs: cycle.gangs, probes, backtracks }), Err)
}

/// The gangs that the naive algorithm finds (section 5): without an index, one ad after the other, the first gang of each root.
pub fn naive(snapshot: &Snapshot, config: &Config, now: i64) -> Vec<Gang> {
    let config = Config { steps_max: u64::MAX, explains: false, ..config.clone() };
    matchmaker::negotiate(snapshot, &config, now, &mut FirstMet::default()).gangs
}

/// The first gang of a root that an order of its ports leads to, and what has been asked for it.
struct ByOrder {
    order: Order,
    /// Probes and backtracks.
    counts: [u64; 2],
    refusal: Option<Refusal>,
    explained: Explained,
}

impl Finder for ByOrder {
    type Run<'s> = Ground;

    fn begin(&mut self, round: &mut Round<'_>) -> Ground {
        Ground::new(round.snapshot, round.config)
    }

    fn best(&mut self, ground: &mut Ground, turn: &Turn<'_>, round: &mut Round<'_>) -> Found {
        let (snapshot, config, now, root) = (round.snapshot, round.config, round.now, turn.root);
        let ad = snapshot.ad(root.ad).filter(|ad| ad.ports.problem.is_none() && self.refusal.is_none());
        let Some(ad) = ad else { return Found::default() };
        let ports = ground.ports(ad);
        if ports.len() >= config.members_max || config.depth_max < 1 {
            return Found::default();
        }
        ground.meet(snapshot, root);
        let (bound, counts) = (vec![None; ports.len()], self.counts);
        let mut search = Search { ground, ports: &ports, order: self.order, bound, counts };
        let found = search.fill();
        self.counts = search.counts;
        let rows = match found {
            Ok(rows) => rows,
            Err(unknown) => {
                self.refusal = Some(refusal(snapshot, root, ground, unknown));
                return Found::default();
            }
        };
        ground.part();
        let Some(gang) = rows.map(|rows| gang(ground, root.ad, &rows, &ports)) else { return Found::default() };
        if let Err(why) = verify(round.pool(), &gang, config, now) {
            self.refusal = Some(Refusal::Disagreement { root: Box::new(ad.key.clone()), why: why.to_string() });
            return Found::default();
        }
        Found { gang: Some(gang), ..Found::default() }
    }

    fn took(&mut self, ground: &mut Ground, round: &mut Round<'_>) {
        for member in round.cycle.gangs.last().into_iter().flat_map(|gang| &gang.members) {
            ground.use_up(member.ad);
        }
    }

    fn end(&mut self, _: &mut Ground, _: &mut Round<'_>) {}

    fn why(&mut self, _: &mut Ground, asked: &Asked<'_>, _: &mut Round<'_>) -> Answer {
        Answer::for_nothing(asked)
    }

    fn explained(&mut self) -> &mut Explained {
        &mut self.explained
    }
}

/// The first gang that the plain search meets.
#[derive(Default)]
struct FirstMet(Explained);

impl Finder for FirstMet {
    type Run<'s> = ();

    fn begin(&mut self, _: &mut Round<'_>) {}

    fn best(&mut self, (): &mut (), turn: &Turn<'_>, round: &mut Round<'_>) -> Found {
        let (config, now) = (round.config, round.now);
        let gang = plain::gangs(round.pool(), turn.ad, 1, config, now).into_iter().next();
        Found { gang, ..Found::default() }
    }

    fn took(&mut self, (): &mut (), _: &mut Round<'_>) {}

    fn end(&mut self, (): &mut (), _: &mut Round<'_>) {}

    fn why(&mut self, (): &mut (), asked: &Asked<'_>, _: &mut Round<'_>) -> Answer {
        Answer::for_nothing(asked)
    }

    fn explained(&mut self) -> &mut Explained {
        &mut self.0
    }
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
    members.push(Member { ad: root, edge: None, ask: Ask::default() });
    for (port, (row, candidates)) in rows.iter().zip(ports).enumerate() {
        let (ad, via) = ground.who(*row);
        members.push(Member { ad, edge: Some(Edge::new(0, port, via)), ask: ground.ask(*candidates, ad) });
    }
    Gang { members, score: Score::default() }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NotIndexed { root, port, candidate } => {
                write!(
                    out,
                    "{root}, port {port}: whether {candidate} can be bound there is not for the index alone to say"
                )
            }
            Refusal::Disagreement { root, why } => {
                write!(out, "{root}: the evaluator does not agree to its gang: {why}")
            }
        }
    }
}

impl std::error::Error for Refusal {}

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
