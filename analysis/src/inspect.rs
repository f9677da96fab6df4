//! Looks at a root and every offer, pair by pair and port by port: what each side has against the other.
//!
//! A pair is judged alone: nothing else is bound. Conjuncts that may read partners at other ports are set apart as joint, because only
//! a search can say what becomes of them.

use std::collections::BTreeSet;

use classad::{BinaryOp, Expr, Kind, Name, Value, conjuncts, references};
use matchmaker::{AdId, Assembly, Config, Edge, EdgeOutcome, Misfit, Offer, PoolAd, Port, Ports, Res, Snapshot};

/// A port of a root, and what every offer of the pool is to it.
#[derive(Clone, Debug)]
pub struct Inspected {
    /// The port's label.
    pub label: String,
    /// The conjuncts of its constraint.
    pub conjuncts: Vec<Expr>,
    /// Those of them that may read other partners, by number.
    pub joint: BTreeSet<usize>,
    /// Every offer, in the order of keys.
    pub offers: Vec<Pair>,
    /// The constraint is too expensive: not all offers were looked at.
    pub cut: bool,
}

impl Inspected {
    /// The conjunct that asks for a kind of ads, such as `cpu.Type == "Machine"`, by number, and that kind.
    pub fn wanted_type(&self) -> Option<(usize, String)> {
        self.conjuncts.iter().enumerate().find_map(|(place, part)| Some((place, type_asked(part)?)))
    }
}

fn type_asked(part: &Expr) -> Option<String> {
    let Kind::Binary { op: BinaryOp::Equal, left, right } = part.unparenthesized().kind() else { return None };
    let is_type = |expr: &Expr| match expr.unparenthesized().kind() {
        Kind::Select { name, .. } => ["Type", "MyType"].iter().any(|own| name.as_str().eq_ignore_ascii_case(own)),
        _ => false,
    };
    let text = |expr: &Expr| match expr.as_literal() {
        Some(Value::String(text)) => Some(text.to_string()),
        _ => None,
    };
    if is_type(left) { text(right) } else { text(left).filter(|_| is_type(right)) }
}

/// A port of a root and one offer, through that port of the offer at which the least stands between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The offer.
    pub offer: AdId,
    /// The port of the offer.
    pub via: usize,
    /// The conjuncts of the root that are not true of the offer, by number; joint ones apart.
    pub own: Vec<usize>,
    /// The conjuncts of the offer that are not true of the root, by number; joint ones apart.
    pub theirs: Vec<usize>,
    /// The conjuncts of the offer that may read the root's other partners, by number.
    pub joint: Vec<usize>,
    /// Why what is asked can never be had.
    pub misfit: Option<Misfit>,
    /// What is asked, if the offer never has that much.
    pub asked: Option<Res>,
    /// It would be had if others had not taken it.
    pub busy: bool,
    /// The owner admits jobs of the root's namespace.
    pub admitted: bool,
    /// The offer accepts claims now.
    pub open: bool,
    /// It has ports of its own, whose partners must be found as well.
    pub deep: bool,
}

impl Pair {
    /// Whether nothing stands between both when nothing is taken and the offer is open.
    pub fn agrees(&self) -> bool {
        self.admitted && self.own.is_empty() && self.theirs.is_empty() && self.misfit.is_none()
    }

    /// Whether the offer could be bound now, as far as this pair alone tells.
    pub fn is_free(&self) -> bool {
        self.agrees() && self.open && !self.busy
    }

    fn obstacles(&self) -> (usize, usize, bool, bool) {
        (self.own.len(), self.theirs.len(), self.misfit.is_some(), self.busy)
    }
}

/// How often an evaluation may run out before the rest of the offers is left out.
const EXHAUSTED_MAX: u64 = 8;

/// Every port of a root against every offer of the pool. Nothing if the ad is no root.
pub fn inspect(snapshot: &Snapshot, root: AdId, config: &Config, now: i64) -> Vec<Inspected> {
    let Some(ad) = snapshot.ad(root).filter(|ad| ad.ports.problem.is_none()) else { return Vec::new() };
    let ports = ad.ports.list.iter().enumerate();
    ports.map(|(number, port)| inspect_port((snapshot, root), (number, port), None, config, now)).collect()
}

/// Every port of a root against one offer, by number.
pub fn inspect_offer(
    snapshot: &Snapshot,
    root: AdId,
    offer: AdId,
    config: &Config,
    now: i64,
) -> Vec<(Inspected, Pair)> {
    let Some(ad) = snapshot.ad(root).filter(|ad| ad.ports.problem.is_none()) else { return Vec::new() };
    let ports = ad.ports.list.iter().enumerate();
    let looks = ports.map(|port| inspect_port((snapshot, root), port, Some(offer), config, now));
    looks.filter_map(|mut found| Some((found.offers.pop()?, found)).map(|(pair, found)| (found, pair))).collect()
}

/// One port of a root.
pub(crate) fn inspect_one(
    snapshot: &Snapshot,
    root: AdId,
    port: usize,
    config: &Config,
    now: i64,
) -> Option<Inspected> {
    let ad = snapshot.ad(root).filter(|ad| ad.ports.problem.is_none())?;
    Some(inspect_port((snapshot, root), (port, ad.ports.list.get(port)?), None, config, now))
}

fn inspect_port(
    (snapshot, root): (&Snapshot, AdId),
    (number, port): (usize, &Port),
    only: Option<AdId>,
    config: &Config,
    now: i64,
) -> Inspected {
    let parts = port.constraint.as_ref().map(conjuncts).unwrap_or_default();
    let mut found = Inspected {
        label: port.label.to_string(),
        conjuncts: parts,
        joint: BTreeSet::new(),
        offers: Vec::new(),
        cut: false,
    };
    let Some(mut assembly) = Assembly::start(snapshot, root, config, now) else { return found };
    let namespace = assembly.root_namespace().to_owned();
    let Some(asking) = snapshot.ad(root).map(|ad| &ad.ports) else { return found };
    found.joint = numbers(&found.conjuncts, |part| asking.may_read_late(number, part));
    let one = only.and_then(|id| Some((id, snapshot.ad(id)?)));
    let all = only.is_none().then(|| snapshot.ads());
    for (id, ad) in all.into_iter().flatten().chain(one) {
        let Some(offer) = ad.offer().filter(|_| ad.ports.problem.is_none()) else { continue };
        if assembly.exhausted() > EXHAUSTED_MAX {
            found.cut = true;
            break;
        }
        let looks = ad.ports.entries().map(|via| {
            assembly.seat(id, ad, Some(Edge::new(0, number, via)));
            assembly.connect(1);
            let pair = look(&mut assembly, &found, (asking, number), (id, ad, via));
            assembly.disconnect(1);
            assembly.unseat();
            pair
        });
        let best = looks.min_by_key(Pair::obstacles);
        found.offers.extend(best.map(|pair| Pair {
            admitted: offer.consent.admits(&namespace),
            open: offer.open,
            ..pair
        }));
    }
    found
}

/// Both ends of the connected edge to the only member.
fn look(
    assembly: &mut Assembly<'_>,
    port: &Inspected,
    (asking, number): (&Ports, usize),
    (offer, ad, via): (AdId, &PoolAd, usize),
) -> Pair {
    let echoes = echoes((&ad.ports, via), (asking, number));
    let own = match port.conjuncts.as_slice() {
        // An implicit port without a constraint accepts nothing.
        [] if !assembly.accepts_without_constraint(0) => vec![0],
        parts => {
            let is_joint = |place: &usize| echoes || port.joint.contains(place);
            let truths = assembly.conjuncts_true(1, parts).into_iter().enumerate();
            truths.filter(|(place, holds)| !holds && !is_joint(place)).map(|(place, _)| place).collect()
        }
    };
    let constraint = ad.ports.list.get(via).and_then(|port| port.constraint.as_ref());
    let theirs = constraint.map(conjuncts).unwrap_or_default();
    let joint = numbers(&theirs, |part| asking.may_read_late(number, part) || ad.ports.may_read_late(via, part));
    let refused = match theirs.as_slice() {
        [] if !assembly.accepts_without_constraint(1) => vec![0],
        parts => {
            let is_false =
                |(place, part): &(usize, &Expr)| !joint.contains(place) && !assembly.is_true_at(1, via, part);
            parts.iter().enumerate().filter(is_false).map(|(place, _)| place).collect()
        }
    };
    let (ask, fit) = assembly.asked(1);
    let fit = match (fit, ad.offer()) {
        // Members at other ports are not bound here, so which seat it shares is unknown: at worst it takes one of its own.
        (Err(Misfit::NoSeat), Some(offer)) if shares_by_members(offer) => {
            Ok(if is_full(offer) { EdgeOutcome::Busy } else { EdgeOutcome::Holds })
        }
        (fit, _) => fit,
    };
    let misfit = fit.err();
    Pair {
        offer,
        via,
        own,
        theirs: refused,
        joint: joint.into_iter().collect(),
        misfit,
        asked: (misfit == Some(Misfit::TooMuch)).then_some(ask.allocation),
        busy: fit == Ok(EdgeOutcome::Busy),
        admitted: false,
        open: false,
        deep: ad.ports.list.len() > 1,
    }
}

/// Whether the seat of an offer depends on the other members of the gang.
fn shares_by_members(offer: &Offer) -> bool {
    let paths = offer.shared_by.as_ref().map(references).unwrap_or_default();
    paths.iter().flatten().any(|name| name.as_str().eq_ignore_ascii_case("Members"))
}

fn is_full(offer: &Offer) -> bool {
    offer.capacity.iter().any(|(name, all)| offer.usage.used(name) >= *all)
}

fn numbers(parts: &[Expr], is: impl Fn(&Expr) -> bool) -> BTreeSet<usize> {
    parts.iter().enumerate().filter(|(_, part)| is(part)).map(|(place, _)| place).collect()
}

/// Attributes that no partner's expression has a reason to read.
const POLICY: [&str; 5] = ["Constraint", "Requirements", "Rank", "Ports", "Label"];

/// Whether attributes of an ad, seen through a port, may repeat what another ad shows only when its earlier ports are bound.
fn echoes((ports, via): (&Ports, usize), (asking, number): (&Ports, usize)) -> bool {
    if !asking.has_late(number) {
        return false;
    }
    let of_port = ports.list.get(via).into_iter().flat_map(|port| port.attributes.iter());
    let is_read = |name: &Name| !POLICY.iter().any(|policy| name.as_str().eq_ignore_ascii_case(policy));
    // A literal reads nothing, even if a label stands in its text, as `machine` does in "Machine".
    let mut all = of_port.chain(ports.body.iter()).filter(|(name, expr)| is_read(name) && expr.as_literal().is_none());
    all.any(|(_, expr)| asking.may_read_late(number, expr))
}
