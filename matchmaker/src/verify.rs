//! Checks a gang again on the ads as they are now: does every edge still hold, with the same terms?

use std::collections::BTreeSet;
use std::fmt;

use classad::{Expr, Value};

use crate::assembly::{Assembly, EdgeOutcome};
use crate::budget::Owners;
use crate::gang::{Edge, Gang, Member};
use crate::model::{AdId, AdKey, Config, Snapshot};
use crate::score::FixedPoint;
use crate::sets::SetSizes;

/// Why a gang is none any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Disagreement {
    /// The parent's port no longer accepts this member.
    ParentRefuses(AdKey),
    /// This member no longer accepts its parent.
    ChildRefuses(AdKey),
    /// This member no longer has room for what is asked.
    NoRoom(AdKey),
    /// This member no longer lets in jobs of the root's namespace, or is closed.
    NotAllowed(AdKey),
    /// What would be taken of this member, or the seat that is shared, is not what it was.
    TermsChanged(AdKey),
    /// The set of partners at a port of this member is not one that the port accepts any more.
    SetRefused(AdKey),
    /// What was evaluated up to this member takes more steps than a cycle has.
    TooExpensive(AdKey),
    /// The gang does not fit the ads: a member or a port is missing, or a port is left unbound.
    Malformed,
}

impl fmt::Display for Disagreement {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Disagreement::ParentRefuses(key) => write!(out, "the constraint on {key} is no longer true of it"),
            Disagreement::ChildRefuses(key) => write!(out, "the constraint of {key} is no longer true of its partner"),
            Disagreement::NoRoom(key) => write!(out, "{key} has no room for the request any more"),
            Disagreement::NotAllowed(key) => write!(out, "{key} does not take jobs of this namespace now"),
            Disagreement::TermsChanged(key) => write!(out, "what would be taken of {key} has changed"),
            Disagreement::SetRefused(key) => write!(out, "{key} no longer accepts its partners at one port together"),
            Disagreement::TooExpensive(key) => {
                write!(out, "the constraints up to that of {key} take more steps than a negotiation cycle has")
            }
            Disagreement::Malformed => write!(out, "the gang does not fit the ads any more"),
        }
    }
}

/// Evaluates every edge of a gang again on a snapshot of its members as they are now. All of it may take as many steps as a cycle: what was
/// cheap when the gang was found may be expensive by now, if it reads the clock.
///
/// `gang` names its members by their places in `snapshot`. What the gang itself holds must not be counted as taken there.
///
/// # Errors
/// The first edge, in the order of the search, that does not hold.
pub fn verify(snapshot: &Snapshot, gang: &Gang, config: &Config, now: i64) -> Result<(), Disagreement> {
    verified(snapshot, gang, config, now).map(drop)
}

/// The same gang with its score as it is now, if [`verify`] has nothing against it.
///
/// # Errors
/// The first edge, in the order of the search, that does not hold.
pub fn verified(snapshot: &Snapshot, gang: &Gang, config: &Config, now: i64) -> Result<Gang, Disagreement> {
    let root = gang.root().ok_or(Disagreement::Malformed)?;
    if !is_tree(gang) {
        return Err(Disagreement::Malformed);
    }
    let mut assembly = Assembly::start(snapshot, root, config, now).ok_or(Disagreement::Malformed)?;
    for member in gang.members.iter().skip(1) {
        let ad = snapshot.ad(member.ad).ok_or(Disagreement::Malformed)?;
        if ad.ports.problem.is_some() {
            return Err(Disagreement::Malformed);
        }
        if !ad.offer().is_some_and(|offer| offer.admits(assembly.root_namespace())) {
            return Err(Disagreement::NotAllowed(ad.key.clone()));
        }
        assembly.seat(member.ad, ad, member.edge);
    }
    bind(&mut assembly, gang, 0, Look::Again(config.cycle_steps_max))?;
    let now_asked = assembly.gang();
    for (before, after) in gang.members.iter().zip(&now_asked.members) {
        if before.ask != after.ask {
            let key = snapshot.ad(after.ad).map(|ad| ad.key.clone());
            return Err(key.map_or(Disagreement::Malformed, Disagreement::TermsChanged));
        }
    }
    Ok(now_asked)
}

/// The rank that each member of a gang gives to its parent, 0 at the root, and what that has cost the namespace of the root, in steps; `owners`
/// pay for expressions of other namespaces. `None` if the gang does not fit the ads. No edge is looked at.
pub(crate) fn partner_ranks(
    snapshot: &Snapshot,
    gang: &Gang,
    config: &Config,
    now: i64,
    owners: &mut Owners,
) -> Option<(Vec<FixedPoint>, u64)> {
    let assembly = assembled(snapshot, gang, config, now)?;
    assembly.charge_owners(std::mem::replace(owners, Owners::new(0)));
    let rank = |(place, member): (usize, &Member)| {
        let via = member.edge?.child_port();
        let rank = assembly.port(place, via)?.rank.as_ref()?;
        Some(FixedPoint::of(&assembly.value_at(place, via, rank)?))
    };
    let ranks = gang.members.iter().enumerate().map(|member| rank(member).unwrap_or_default()).collect();
    let steps = assembly.cost();
    *owners = assembly.into_owners()?;
    Some((ranks, steps))
}

/// The values of expressions that see all labels of a gang's root, as its `GangRank` does; `None` for one that ran out, or if
/// the gang does not fit the ads. No edge is looked at.
pub fn evaluate(snapshot: &Snapshot, gang: &Gang, exprs: &[&Expr], config: &Config, now: i64) -> Vec<Option<Value>> {
    match assembled(snapshot, gang, config, now) {
        Some(mut assembly) => exprs.iter().map(|expr| assembly.over_all_labels(expr).flatten()).collect(),
        None => vec![None; exprs.len()],
    }
}

/// A gang with all its edges connected, whether they hold or not; none if it does not fit the ads.
pub(crate) fn assembled<'s>(snapshot: &'s Snapshot, gang: &Gang, config: &'s Config, now: i64) -> Option<Assembly<'s>> {
    let mut assembly = Assembly::start(snapshot, gang.root().filter(|_| is_tree(gang))?, config, now)?;
    for member in gang.members.iter().skip(1) {
        assembly.seat(member.ad, snapshot.ad(member.ad)?, member.edge);
    }
    bind(&mut assembly, gang, 0, Look::Away).ok()?;
    Some(assembly)
}

/// Whether edges are looked at while they are bound.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// All of them may take so many steps together.
    Again(u64),
    Away,
}

/// Whether every member but the root is bound to an earlier one, and no ad occurs twice.
fn is_tree(gang: &Gang) -> bool {
    let mut ads = BTreeSet::new();
    gang.members.iter().enumerate().all(|(place, member)| {
        let hangs = member.edge.map_or(place == 0, |edge| edge.parent() < place);
        hangs && ads.insert(member.ad)
    })
}

/// Binds all ports of a member except the one that binds it to its parent, which is checked in between, as the search does.
fn bind(assembly: &mut Assembly<'_>, gang: &Gang, member: usize, look: Look) -> Result<(), Disagreement> {
    let seat = assembly.seats().get(member).ok_or(Disagreement::Malformed)?;
    let (list, via, key) = (&seat.ad.ports.list, seat.edge.map(|edge| edge.child_port()), seat.ad.key.clone());
    if via.is_some_and(|via| list.get(via).is_none_or(|port| port.set.is_some())) {
        return Err(Disagreement::Malformed);
    }
    for port in 0..list.len() {
        if Some(port) != via {
            bind_port(assembly, gang, (member, port), look)?;
            continue;
        }
        assembly.connect(member);
        let Look::Again(steps) = look else { continue };
        assembly.allow_in_all(steps);
        let outcome = assembly.check(member);
        if assembly.is_cut() {
            return Err(Disagreement::TooExpensive(key));
        }
        match outcome {
            EdgeOutcome::Holds | EdgeOutcome::Excluded => {}
            EdgeOutcome::ParentRefuses => return Err(Disagreement::ParentRefuses(key)),
            EdgeOutcome::ChildRefuses => return Err(Disagreement::ChildRefuses(key)),
            EdgeOutcome::TooSmall | EdgeOutcome::Busy => return Err(Disagreement::NoRoom(key)),
        }
    }
    Ok(())
}

/// Binds what a gang has at one port of a member: one child, or the set of a counted port.
fn bind_port(
    assembly: &mut Assembly<'_>,
    gang: &Gang,
    (member, port): (usize, usize),
    look: Look,
) -> Result<(), Disagreement> {
    let hangs_here = |edge: Edge| edge.parent() == member && edge.port() == port;
    let children = gang.members.iter().enumerate().filter(|(_, other)| other.edge.is_some_and(hangs_here));
    let (places, ads): (Vec<usize>, Vec<AdId>) = children.map(|(place, child)| (place, child.ad)).unzip();
    let seat = assembly.seats().get(member).ok_or(Disagreement::Malformed)?;
    let key = seat.ad.key.clone();
    let is_counted = seat.ad.ports.list.get(port).is_some_and(|port| port.set.is_some());
    if !is_counted {
        let [child] = places.as_slice() else { return Err(Disagreement::Malformed) };
        return bind(assembly, gang, *child, look);
    }
    if !ads.is_sorted() {
        return Err(Disagreement::Malformed);
    }
    let fits = |sizes: SetSizes| (sizes.least..=sizes.most).contains(&ads.len());
    let sizes = match look {
        Look::Again(steps) => {
            assembly.allow_in_all(steps);
            assembly.sizes(member, port).is_some_and(fits)
        }
        Look::Away => true,
    };
    if !sizes {
        return Err(Disagreement::SetRefused(key));
    }
    for child in places {
        bind(assembly, gang, child, look)?;
    }
    assembly.bind_set(member, port);
    let Look::Again(steps) = look else { return Ok(()) };
    assembly.allow_in_all(steps);
    if assembly.check_set() { Ok(()) } else { Err(Disagreement::SetRefused(key)) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use classad::{Dialect, parse_ad};

    use super::*;
    use crate::capacity::Res;
    use crate::model::{Offer, PoolAd, Role};

    fn ad(kind: &str, name: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.into(), namespace: "eve".into(), name: name.into() };
        PoolAd::asking(key, name, &parse_ad(text, Dialect::Gangmatch).unwrap())
    }

    fn machine(name: &str, text: &str) -> PoolAd {
        let slots: Res = [("slots".to_owned(), 1)].into_iter().collect();
        let offer = Offer::of(slots);
        PoolAd { role: Role::Offers(Box::new(offer)), ..ad("Machine", name, text) }
    }

    #[test]
    fn v1_a_gang_whose_expressions_became_expensive_takes_no_more_than_a_cycle() {
        let list = vec!["1 + 1"; 10_000].join(",");
        let costly = format!("[Type = \"Machine\"; Constraint = time() < 50 || !member(-1, {{{list}}})]");
        let mut ads: Vec<PoolAd> = (0..12).map(|number| machine(&format!("m{number:02}"), &costly)).collect();
        ads.push(ad("Job", "j", "[Ports = {[Label = m; Count = 12; Constraint = m.Type == \"Machine\"]}]"));
        let snapshot = Snapshot::new(ads);
        let root = snapshot.ads().find(|(_, ad)| ad.key.kind == "Job").map(|(id, _)| id).unwrap();
        let config = Config { cycle_steps_max: 2_000, ..Config::product() };
        let gang = crate::plain::best(&snapshot, root, &BTreeSet::new(), &config, 0).gang.unwrap();
        assert_eq!(verify(&snapshot, &gang, &config, 0), Ok(()));
        let found = verify(&snapshot, &gang, &config, 100);
        assert!(matches!(found, Err(Disagreement::TooExpensive(_))), "{found:?}");
        // With enough steps nothing is against it.
        let config = Config { cycle_steps_max: 1_000_000, ..config };
        assert_eq!(verify(&snapshot, &gang, &config, 100), Ok(()));
    }
}
