//! A partial gang: the members bound so far, what each of their expressions can see, and whether an edge holds.

use std::cell::RefCell;

use classad::{Bill, Context, Env, Expr, FrameId, Limit, Mark, Value, eval_billed};

use crate::budget::{FUEL_OF_A_STEP, Owners};
use crate::capacity::{Ask, Misfit, Unfit};
use crate::casts::as_u64;
use crate::gang::{Edge, Gang, Member};
use crate::model::{AdId, AdKey, Config, PoolAd, Snapshot};
use crate::ports::Port;
use crate::score::{FixedPoint, Score};
use crate::sets::HASHED;
use costs::{Costly, EvaluationCosts};
use sets::BoundSet;

mod ask;
pub(crate) mod costs;
mod members;
mod sets;

/// Members bound so far, in pre-order, and the frames in which their expressions are evaluated.
///
/// An expression in port p of an ad sees, innermost first: the port's attributes; the labels of ports 0..=p that are
/// bound; the ad's attributes (Raman et al., section 4.1). A label names the partner's view: the attributes of the port
/// it is bound through, then its ad's. Labels are private to the ad that declares them.
pub struct Assembly<'s> {
    snapshot: &'s Snapshot,
    config: &'s Config,
    context: Context,
    env: Env<'s>,
    seats: Vec<BoundMember<'s>>,
    /// The sets of counted ports that are complete.
    sets: Vec<BoundSet>,
    bill: RefCell<Bill>,
    costs: EvaluationCosts,
}

/// What the identity of a member costs, in fuel, if it was hashed or not.
const HASH_FUEL: u64 = 100;
const IDENTITY_FUEL: u64 = 2;

/// One member and its frames.
pub struct BoundMember<'s> {
    /// The place of its ad.
    pub id: AdId,
    /// Its ad.
    pub ad: &'s PoolAd,
    /// How it is bound to its parent; the root has none.
    pub edge: Option<Edge>,
    /// How many edges there are between the root and it.
    pub(crate) depth: usize,
    ask: Ask,
    /// Why its capacity can never meet the request.
    pub(crate) misfit: Option<Misfit>,
    /// Its constraint ran out.
    pub(crate) ran_out: bool,
    ranks: EdgeRanks,
    frames: MemberFrames,
}

/// The frames of a member.
struct MemberFrames {
    /// The seed of `random()` in them; it also identifies them in bills.
    seed: u64,
    /// Where they begin.
    mark: Mark,
    body: FrameId,
    /// One frame a port; the implicit port is the body itself.
    ports: Vec<FrameId>,
    /// The frame of the parent's port for this member alone, if the port is counted: there the label is the member, and not the list.
    asker: Option<FrameId>,
}

/// The result of evaluating both ends of an edge.
#[derive(Clone, Copy, Default)]
struct EdgeRanks {
    parent: FixedPoint,
    child: FixedPoint,
}

/// The verdict on one edge, worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EdgeOutcome {
    /// The constraint of the parent's port is not true of the child.
    ParentRefuses,
    /// The constraint of the child's port is not true of the parent.
    ChildRefuses,
    /// The request is no amount, or more than the offer ever has.
    TooSmall,
    /// The request would fit if others had not taken the rest.
    Busy,
    /// The child refused this root before.
    Excluded,
    /// Everything holds.
    Holds,
}

impl<'s> Assembly<'s> {
    /// A gang of the root alone; `None` if the root cannot be part of one.
    pub fn start(snapshot: &'s Snapshot, root: AdId, config: &'s Config, now: i64) -> Option<Assembly<'s>> {
        let context = Context { now, seed: config.seed, limits: config.limits, ..Context::default() };
        let mut assembly = Assembly {
            snapshot,
            config,
            context,
            env: Env::new(),
            seats: Vec::new(),
            sets: Vec::new(),
            bill: RefCell::default(),
            costs: EvaluationCosts::default(),
        };
        let ad = snapshot.ad(root)?;
        if ad.ports.problem.is_some() {
            return None;
        }
        assembly.seat(root, ad, None);
        Some(assembly)
    }

    /// The members bound so far; the root is the first.
    pub fn seats(&self) -> &[BoundMember<'s>] {
        &self.seats
    }

    /// The namespace of the root's ad.
    pub fn root_namespace(&self) -> &str {
        self.seats.first().map_or("", |seat| seat.ad.key.namespace.as_str())
    }

    /// The port of a member.
    pub(crate) fn port(&self, member: usize, port: usize) -> Option<&'s Port> {
        self.seats.get(member)?.ad.ports.list.get(port)
    }

    /// Whether an ad may be tried below a member at all: gangs have bounds, no ad is in one twice, and only offers are taken that
    /// are open to the root's namespace.
    pub fn admits(&self, id: AdId, ad: &PoolAd, parent: usize) -> bool {
        let room = self.seats.len() < self.config.members_max
            && self.seats.get(parent).is_some_and(|parent| parent.depth < self.config.depth_max);
        let fresh = || self.seats.iter().all(|seat| seat.id != id);
        let allowed = || ad.offer().is_some_and(|offer| offer.admits(self.root_namespace())) && !self.bars(ad);
        room && ad.ports.problem.is_none() && fresh() && allowed()
    }

    /// Adds a member; its labels and its partner's come with [`Self::connect`].
    pub fn seat(&mut self, id: AdId, ad: &'s PoolAd, edge: Option<Edge>) {
        let mark = self.env.mark();
        let body = self.env.frame(&ad.ports.body, None);
        let ports = match ad.ports.implicit {
            true => vec![body],
            false => ad.ports.list.iter().map(|port| self.env.frame(&port.attributes, Some(body))).collect(),
        };
        // random() differs from ad to ad, and is the same for one ad all through a cycle.
        let seed = seed_of(&ad.key);
        for frame in ports.iter().chain([&body]) {
            self.env.seed(*frame, seed);
        }
        let asker = edge.and_then(|edge| self.asker(edge));
        let depth = edge.and_then(|edge| self.seats.get(edge.parent())).map_or(0, |parent| parent.depth + 1);
        let (ask, ranks) = (Ask::default(), EdgeRanks::default());
        let frames = MemberFrames { seed, mark, body, ports, asker };
        self.seats.push(BoundMember { id, ad, edge, depth, ask, misfit: None, ran_out: false, ranks, frames });
    }

    /// Takes the last member off again. Its edge must be disconnected.
    pub fn unseat(&mut self) {
        if let Some(seat) = self.seats.pop() {
            self.env.reset(seat.frames.mark);
        }
    }

    /// Makes the two ends of the member's edge visible to each other, from their ports on.
    ///
    /// To be called when all earlier ports of both ends are bound: then every name that an expression of the edge can
    /// reach is bound already, and labels come in the order of their ports.
    pub fn connect(&mut self, member: usize) {
        let Some((parent_port, child_port, edge)) = self.edge(member) else { return };
        self.tell_members(edge.parent(), edge.port(), parent_port);
        self.tell_members(member, edge.child_port(), child_port);
        match self.has_asker(member) {
            true => self.bind_asker(edge, parent_port, child_port),
            false => self.bind(edge.parent(), edge.port(), child_port),
        }
        self.bind(member, edge.child_port(), parent_port);
    }

    /// Undoes [`Self::connect`].
    pub fn disconnect(&mut self, member: usize) {
        let Some((_, _, edge)) = self.edge(member) else { return };
        if !self.has_asker(member) {
            self.unbind(edge.parent(), edge.port());
        }
        self.unbind(member, edge.child_port());
    }

    fn edge(&self, member: usize) -> Option<(FrameId, FrameId, Edge)> {
        let child = self.seats.get(member)?;
        let edge = child.edge?;
        let parent = self.seats.get(edge.parent())?;
        let parent_port = child.frames.asker.or(parent.frames.ports.get(edge.port()).copied())?;
        Some((parent_port, *child.frames.ports.get(edge.child_port())?, edge))
    }

    fn bind(&mut self, member: usize, port: usize, view: FrameId) {
        let Some(seat) = self.seats.get(member) else { return };
        if seat.ad.ports.implicit {
            self.env.partner(seat.frames.body, view);
            return;
        }
        let Some(declared) = seat.ad.ports.list.get(port) else { return };
        for frame in seat.frames.ports.iter().skip(port) {
            self.env.bind(*frame, &declared.label, view);
        }
    }

    fn unbind(&mut self, member: usize, port: usize) {
        // The partner of an implicit port stays until the next one takes its place: nothing is evaluated in between.
        let Some(seat) = self.seats.get(member).filter(|seat| !seat.ad.ports.implicit) else { return };
        for frame in seat.frames.ports.iter().skip(port) {
            let bound = self.env.labels(*frame);
            self.env.truncate_labels(*frame, bound.saturating_sub(1));
        }
    }

    /// Looks at a connected edge from both sides, and remembers its ranks and what is taken if it holds.
    pub fn check(&mut self, member: usize) -> EdgeOutcome {
        let Some((parent_port, child_port, edge)) = self.edge(member) else { return EdgeOutcome::ParentRefuses };
        let (Some(asked), Some(offered)) =
            (self.port(edge.parent(), edge.port()), self.port(member, edge.child_port()))
        else {
            return EdgeOutcome::ParentRefuses;
        };
        if !self.asks_for(edge, asked, parent_port) {
            return EdgeOutcome::ParentRefuses;
        }
        let before = self.exhausted();
        let accepts = self.accepts(member, offered, child_port);
        if let Some(seat) = self.seats.get_mut(member) {
            seat.ran_out = self.costs.exhausted() > before;
        }
        if !accepts {
            return EdgeOutcome::ChildRefuses;
        }
        let ranks = EdgeRanks { parent: self.rank(asked, parent_port), child: self.rank(offered, child_port) };
        let (ask, fit) = self.fit(edge, member, parent_port, child_port);
        if let Some(seat) = self.seats.get_mut(member) {
            seat.ranks = ranks;
            seat.ask = ask;
            seat.misfit = fit.err();
        }
        fit.unwrap_or(EdgeOutcome::TooSmall)
    }

    /// Whether one end of a member's edge refuses the other already now, though the member's earlier ports are not bound:
    /// only expressions that cannot read them are asked.
    pub fn refuses_early(&mut self, member: usize) -> bool {
        let Some((parent_port, child_port, edge)) = self.edge(member) else { return false };
        let (Some(asked), Some(offered)) =
            (self.port(edge.parent(), edge.port()), self.port(member, edge.child_port()))
        else {
            return false;
        };
        let early = |member: usize, port: usize| self.seats.get(member)?.ad.ports.early(port);
        let (Some(asking), Some(offering)) = (early(edge.parent(), edge.port()), early(member, edge.child_port()))
        else {
            return false;
        };
        self.connect(member);
        let parent = offering.seen_from(asking) && !self.asks_for(edge, asked, parent_port);
        let refuses = parent || (offering.own(asking) && !self.accepts(member, offered, child_port));
        self.disconnect(member);
        refuses
    }

    /// Whether the parent's port accepts the child. The root's own constraints are not asked again and again if they run out.
    fn asks_for(&self, edge: Edge, port: &Port, frame: FrameId) -> bool {
        if edge.parent() > 0 {
            return self.accepts(edge.parent(), port, frame);
        }
        if self.is_too_costly() {
            return false;
        }
        let before = self.exhausted();
        let accepts = self.accepts(0, port, frame);
        if self.exhausted() > before {
            self.costs.root_ran_out(edge.port());
        }
        accepts
    }

    /// Whether the root's own constraints have run out so often that they are not asked any more.
    pub fn is_too_costly(&self) -> bool {
        self.costs.is_too_costly()
    }

    /// The first of the root's own constraints that ran out.
    pub(crate) fn costly(&self) -> Option<Costly> {
        self.costs.first_costly()
    }

    fn accepts(&self, member: usize, port: &Port, frame: FrameId) -> bool {
        match &port.constraint {
            Some(constraint) => self.truth(constraint, frame),
            None => self.accepts_without_constraint(member),
        }
    }

    /// Whether an expression is true here: a running-out evaluation is not.
    pub(crate) fn truth(&self, expr: &Expr, frame: FrameId) -> bool {
        self.value(expr, frame).is_some_and(|value| value.is_true())
    }

    /// What an expression says at a port of a member; `None` if it runs out, or there is no such port.
    pub(crate) fn value_at(&self, member: usize, port: usize, expr: &Expr) -> Option<Value> {
        self.value(expr, *self.seats.get(member)?.frames.ports.get(port)?)
    }

    /// The same at the port of its parent that a member is bound at; of a counted port, the label is that member alone.
    pub fn value_at_parent(&self, member: usize, expr: &Expr) -> Option<Value> {
        let (parent_port, _, _) = self.edge(member)?;
        self.value(expr, parent_port)
    }

    fn value(&self, expr: &Expr, frame: FrameId) -> Option<Value> {
        let mut bill = self.bill.borrow_mut();
        let outcome = eval_billed(expr, &self.env, frame, &self.context, &mut bill);
        bill.drain().for_each(|(seed, fuel)| self.pay(seed, fuel));
        if let Err(exhausted) = &outcome {
            if exhausted.limit == Limit::Fuel && self.context.limits.fuel < self.config.limits.fuel {
                self.costs.was_cut();
                return None;
            }
            self.costs.ran_out(exhausted.limit);
        }
        outcome.ok()
    }

    /// Charges fuel that expressions of the ad with this seed have used: up to what is fair, to the root.
    fn pay(&self, seed: u64, fuel: u64) {
        let other = || {
            let seat = self.seats.iter().find(|seat| seat.frames.seed == seed)?;
            Some(&*seat.ad.key.namespace).filter(|namespace| *namespace != self.root_namespace())
        };
        self.costs.pay_for(fuel, other);
    }

    /// Charges fuel that was used beside the assembly: so much for each of these offers of the gang.
    pub(crate) fn pay_for(&self, offers: &[(AdId, u64)]) {
        for (offer, fuel) in offers {
            let seat = self.seats.iter().find(|seat| seat.id == *offer);
            seat.into_iter().for_each(|seat| self.pay(seat.frames.seed, *fuel));
        }
    }

    /// Charges the root for telling a member apart: the text of its identity is made and compared, and a long text was hashed for it.
    fn pay_identity(&self, identity: &str) {
        let fuel = if identity.starts_with(HASHED) { HASH_FUEL } else { IDENTITY_FUEL };
        self.costs.pay(fuel);
    }

    /// Charges the root for this many steps.
    pub(crate) fn pay_steps(&self, steps: usize) {
        let fuel = as_u64(steps).saturating_mul(FUEL_OF_A_STEP);
        self.costs.pay(fuel);
    }

    /// Lets offers of other namespaces pay for what their expressions cost.
    pub fn charge_owners(&self, owners: Owners) {
        self.costs.charge_owners(owners);
    }

    /// What they have paid.
    pub fn into_owners(self) -> Option<Owners> {
        self.costs.into_owners()
    }

    /// Whether an offer is left out because of what its expressions cost others.
    pub(crate) fn bars(&self, ad: &PoolAd) -> bool {
        self.costs.bars(&ad.key.namespace) && ad.key.namespace != self.root_namespace()
    }

    /// The fuel that the root has paid for all evaluations so far.
    pub(crate) fn fuel_used(&self) -> u64 {
        self.costs.fuel()
    }

    /// The same in steps of a search.
    pub fn cost(&self) -> u64 {
        self.costs.fuel() / FUEL_OF_A_STEP
    }

    /// Lets the next evaluations take so many steps, but never more than the limits of an evaluation allow.
    pub fn allow(&mut self, steps: u64) {
        self.context.limits.fuel = self.config.limits.fuel.min(steps.saturating_mul(FUEL_OF_A_STEP));
    }

    /// Lets the next evaluations take what is left of so many steps that all of them may take together.
    pub(crate) fn allow_in_all(&mut self, steps: u64) {
        self.allow(steps.saturating_sub(self.cost()));
    }

    /// Whether an evaluation was not finished because it was allowed fewer steps than it may take: with more of them it could say
    /// something else.
    pub fn is_cut(&self) -> bool {
        self.costs.is_cut()
    }

    /// How many evaluations have run out of depth or fuel so far: each counts as no match, or as no rank.
    pub fn exhausted(&self) -> u64 {
        self.costs.exhausted()
    }

    fn rank(&self, port: &Port, frame: FrameId) -> FixedPoint {
        self.number(port.rank.as_ref(), frame)
    }

    /// The number that a rank stands for here: 0 if there is none, or it runs out.
    fn number(&self, rank: Option<&Expr>, frame: FrameId) -> FixedPoint {
        let value = rank.and_then(|rank| self.value(rank, frame));
        value.as_ref().map_or(FixedPoint::default(), FixedPoint::of)
    }

    /// The amounts an edge takes of its child, and whether they are there.
    fn fit(
        &mut self,
        edge: Edge,
        member: usize,
        parent_port: FrameId,
        child_port: FrameId,
    ) -> (Ask, Result<EdgeOutcome, Misfit>) {
        let nothing = Ask::default();
        let Some((id, offer)) = self.seats.get(member).and_then(|seat| Some((seat.id, seat.ad.offer()?))) else {
            return (nothing, Ok(EdgeOutcome::Holds));
        };
        let ask = match self.ask(edge, offer, parent_port, child_port) {
            Ok(ask) => ask,
            Err(misfit) => return (nothing, Err(misfit)),
        };
        let outcome = match self.snapshot.usage(id, offer).fits(&offer.capacity, &ask) {
            Ok(()) => Ok(EdgeOutcome::Holds),
            Err(Unfit::Busy) => Ok(EdgeOutcome::Busy),
            Err(Unfit::TooSmall) => Err(Misfit::TooMuch),
        };
        (ask, outcome)
    }

    /// Which of these conjuncts of the parent's constraint are true on a connected edge.
    pub fn conjuncts_true(&self, member: usize, conjuncts: &[Expr]) -> Vec<bool> {
        match self.edge(member) {
            // What runs out as a whole would be looked at once more, part by part.
            Some((_, _, edge)) if edge.parent() == 0 && (self.costs.first_costly().is_some() || self.is_cut()) => {
                vec![false; conjuncts.len()]
            }
            Some((parent_port, _, _)) => conjuncts.iter().map(|part| self.truth(part, parent_port)).collect(),
            None => vec![false; conjuncts.len()],
        }
    }

    /// Whether a conjunct of a member's own constraint is true at this port of it.
    pub fn is_true_at(&self, member: usize, port: usize, conjunct: &Expr) -> bool {
        self.value_at(member, port, conjunct).is_some_and(|value| value.is_true())
    }

    /// Whether a port of a member that has no constraint accepts everything: an implicit one accepts nothing.
    pub fn accepts_without_constraint(&self, member: usize) -> bool {
        self.seats.get(member).is_some_and(|seat| !seat.ad.ports.implicit)
    }

    /// What a connected edge takes of the child, and whether it is there.
    pub fn asked(&mut self, member: usize) -> (Ask, Result<EdgeOutcome, Misfit>) {
        match self.edge(member) {
            Some((parent_port, child_port, edge)) => self.fit(edge, member, parent_port, child_port),
            None => (Ask::default(), Ok(EdgeOutcome::Holds)),
        }
    }

    /// The gang that the members make; every port must be bound.
    pub fn gang(&mut self) -> Gang {
        let mut score = Score::default();
        let gang_rank = self.gang_rank();
        for (edge, ranks) in self.seats.iter().filter_map(|seat| Some((seat.edge?, self.edge_ranks(seat)))) {
            if edge.parent() > 0 {
                score.deeper += ranks.parent;
                score.deeper += ranks.child;
                continue;
            }
            if gang_rank.is_none() {
                score.own += ranks.parent;
            }
            score.partners += ranks.child;
        }
        self.score_sets(gang_rank.is_some(), &mut score);
        score.own += gang_rank.unwrap_or_default();
        let member = |seat: &BoundMember<'_>| Member { ad: seat.id, edge: seat.edge, ask: seat.ask.clone() };
        Gang { members: self.seats.iter().map(member).collect(), score }
    }

    /// The root's `GangRank`, which sees all its labels and replaces the sum of its ports' ranks.
    fn gang_rank(&mut self) -> Option<FixedPoint> {
        let rank = self.seats.first()?.ad.ports.body.get("GangRank")?;
        let value = self.over_all_labels(rank)?;
        Some(value.as_ref().map_or(FixedPoint::default(), FixedPoint::of))
    }

    /// The value of an expression that sees all labels of the root; the inner `None`: the evaluation ran out.
    #[expect(clippy::option_option, reason = "no root at all is not the same as no value")]
    pub(crate) fn over_all_labels(&mut self, expr: &Expr) -> Option<Option<Value>> {
        let root = self.seats.first()?;
        let (ad, body) = (root.ad, root.frames.body);
        let mark = self.env.mark();
        let frame = self.env.frame(&self.snapshot.blank, Some(body));
        for (place, port) in ad.ports.list.iter().enumerate() {
            let views = self.views(0, place);
            match views.as_slice() {
                _ if port.set.is_some() => self.env.bind_each(frame, &port.label, views),
                [view, ..] => self.env.bind(frame, &port.label, *view),
                [] => {}
            }
        }
        let value = self.value(expr, frame);
        self.env.reset(mark);
        Some(value)
    }
}

/// FNV-1a over an ad's name.
fn seed_of(key: &AdKey) -> u64 {
    let parts = [&key.kind, &key.namespace, &key.name];
    let bytes = parts.into_iter().flat_map(|part| part.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
