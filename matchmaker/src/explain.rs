//! A root without a gang into the reason, as counts: who refused whom, at which port, and what is merely taken now.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

use classad::{Expr, conjuncts};

use crate::assembly::{Assembly, Edge};
use crate::model::{AdId, Config, Root, Snapshot};
use crate::naive::{Visitor, search};

/// Why a root has no gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The root's ad.
    pub root: AdId,
    /// The reason in one word.
    pub verdict: Verdict,
    /// The counts for each of the root's ports, in order.
    pub ports: Vec<PortCount>,
    /// Evaluations, of whole constraints and of their parts, that ran out of depth or fuel: a no that no author wrote.
    pub exhausted: u64,
}

/// The reason, most lasting first: busy is never said of what would be impossible with everything free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The root's own ad cannot take part; the text says why.
    Unusable(String),
    /// No ad satisfies the root's constraint on this port.
    NoCandidates {
        /// The number of the port.
        port: usize,
    },
    /// Ads satisfy the root's constraint on this port, but all their owners refuse, or have too little in all.
    RefusedByOffers {
        /// The number of the port.
        port: usize,
    },
    /// Every port alone could be bound, but no combination of ads fits together.
    NoConsistentGang,
    /// There would be a gang if others had not taken it.
    WaitingForCapacity,
    /// The only gangs use offers that refused this root a short while ago.
    BackingOff,
    /// The search ran out of steps before it found a gang.
    GaveUp,
}

/// What became of the ads that were tried at one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCount {
    /// The port's label.
    pub label: String,
    /// Ads tried; 0 if no combination of the earlier ports reached this one.
    pub candidates: u64,
    /// Ads of which the root's constraint is not true.
    pub refused_by_job: u64,
    /// Ads whose constraint is not true of the root.
    pub refused_by_offer: u64,
    /// Ads that accept, but never have what is asked.
    pub too_small: u64,
    /// Ads that accept, but are taken.
    pub busy: u64,
    /// Ads that accept, but refused this root a short while ago.
    pub excluded: u64,
    /// Each part of the constraint, and of how many ads it is not true.
    pub conjuncts: Vec<ConjunctCount>,
}

/// One part of a constraint, between two `&&`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConjunctCount {
    /// Its text.
    pub text: String,
    /// The ads of which it is not true.
    pub rejects: u64,
}

/// The best that was seen of one ad at one port, over all combinations of the earlier ports.
struct Sight {
    edge: Edge,
    conjuncts: Vec<bool>,
}

/// Why `root` has no gang in `snapshot`: searches once more as if nothing were taken and nobody had refused.
pub fn explain(snapshot: &Snapshot, root: &Root, gave_up: bool, config: &Config, now: i64) -> Unmatched {
    let none = |verdict| Unmatched { root: root.ad, verdict, ports: Vec::new(), exhausted: 0 };
    let Some(ad) = snapshot.ad(root.ad) else { return none(Verdict::Unusable("no such ad".to_owned())) };
    if let Some(problem) = &ad.ports.problem {
        return none(Verdict::Unusable(problem.clone()));
    }
    let parts: Vec<Vec<Expr>> =
        ad.ports.list.iter().map(|port| port.constraint.as_ref().map(conjuncts).unwrap_or_default()).collect();
    let seen: RefCell<BTreeMap<(usize, AdId), Sight>> = RefCell::default();
    // What became of each member's edge: what the gang at hand would still need. An edge below a member can be looked at
    // before the member's own; what stands beyond the members of a complete gang is of earlier ones.
    let path: RefCell<Vec<Edge>> = RefCell::default();
    let exhausted = Cell::new(0);
    let look = |assembly: &Assembly<'_>, member: usize, edge: Edge| {
        if let Some(seat) = assembly.seats().get(member)
            && let Some(bond) = seat.bond.filter(|bond| bond.parent == 0)
        {
            let parts = parts.get(bond.port).map(Vec::as_slice).unwrap_or_default();
            let truths = assembly.conjuncts_true(member, parts);
            note(&mut seen.borrow_mut(), (bond.port, seat.id), edge, truths);
        }
        exhausted.set(assembly.exhausted());
        let mut path = path.borrow_mut();
        if path.len() <= member {
            path.resize(member + 1, Edge::Holds);
        }
        if let Some(own) = path.get_mut(member) {
            *own = edge;
        }
        edge >= Edge::Busy
    };
    let (mut only_busy, mut complete) = (false, false);
    let mut gang = |assembly: &mut Assembly<'_>| {
        let path = path.borrow();
        let needs = |edge| path.iter().take(assembly.seats().len()).any(|seen| *seen == edge);
        complete = true;
        only_busy |= needs(Edge::Busy) && !needs(Edge::Excluded);
        ControlFlow::Continue(())
    };
    let budget = Config { steps_max: config.steps_max / 4, ..config.clone() };
    let mut visitor = Visitor { edge: &look, gang: &mut gang };
    // A search that was cut short proves nothing but what it found.
    let cut = search(snapshot, root.ad, &root.exclusions, &budget, now, &mut visitor);
    let gave_up = gave_up || (cut && !only_busy);
    let ports = count(&ad.ports.list, &parts, &seen.into_inner());
    let verdict = match (gave_up, complete, only_busy) {
        (true, _, _) => Verdict::GaveUp,
        (false, true, true) => Verdict::WaitingForCapacity,
        (false, true, false) => Verdict::BackingOff,
        (false, false, _) => structural(&ports),
    };
    Unmatched { root: root.ad, verdict, ports, exhausted: exhausted.get() }
}

fn note(seen: &mut BTreeMap<(usize, AdId), Sight>, place: (usize, AdId), edge: Edge, truths: Vec<bool>) {
    match seen.get_mut(&place) {
        Some(sight) => {
            sight.edge = sight.edge.max(edge);
            for (known, new) in sight.conjuncts.iter_mut().zip(truths) {
                *known |= new;
            }
        }
        None => {
            seen.insert(place, Sight { edge, conjuncts: truths });
        }
    }
}

fn count(ports: &[crate::ports::Port], parts: &[Vec<Expr>], seen: &BTreeMap<(usize, AdId), Sight>) -> Vec<PortCount> {
    let mut counts = Vec::new();
    for (number, (port, parts)) in ports.iter().zip(parts).enumerate() {
        let rejects = |text: &Expr| ConjunctCount { text: text.to_string(), rejects: 0 };
        let mut count = PortCount {
            label: port.label.to_string(),
            conjuncts: parts.iter().map(rejects).collect(),
            ..PortCount::default()
        };
        for (_, sight) in seen.range((number, AdId(0))..=(number, AdId(usize::MAX))) {
            count.candidates += 1;
            match sight.edge {
                Edge::ParentRefuses => count.refused_by_job += 1,
                Edge::ChildRefuses => count.refused_by_offer += 1,
                Edge::TooSmall => count.too_small += 1,
                Edge::Busy => count.busy += 1,
                Edge::Excluded => count.excluded += 1,
                Edge::Holds => {}
            }
            for (conjunct, _) in count.conjuncts.iter_mut().zip(&sight.conjuncts).filter(|(_, held)| !**held) {
                conjunct.rejects += 1;
            }
        }
        counts.push(count);
    }
    counts
}

/// The first port that nothing could be bound to, and whose no it was. A later port to which no ad was left, or which was
/// never reached, is no such port.
fn structural(ports: &[PortCount]) -> Verdict {
    for (port, count) in ports.iter().enumerate() {
        if port > 0 && count.candidates == 0 {
            break;
        }
        let refused = count.refused_by_offer + count.too_small;
        if count.refused_by_job == count.candidates {
            return Verdict::NoCandidates { port };
        }
        if count.refused_by_job + refused == count.candidates {
            return Verdict::RefusedByOffers { port };
        }
    }
    Verdict::NoConsistentGang
}
