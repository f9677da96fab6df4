//! Plans a root's port: splits its constraint into conditions on one partner, and joins of the partners of two ports.

use std::collections::HashMap;
use std::sync::Arc;

use classad::{Expr, conjuncts};
use foldhash::fast::RandomState;
use matchmaker::{FixedPoint, Ports};

use super::asks::{Asks, Resources, asks};
use super::memo::{Interned, Interner, JobView, Memo, Whose};
use super::preds::{PredId, Preds};
use super::ranks::{Rank, Ranks};
use crate::table::{Cell, Table, as_usize};
use crate::term::{CompiledExpr, Compiler, ReadSet, Side, is_true};

/// What one port of a root comes to. Roots with equal plans at a port have the same candidates there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PortPlan {
    /// The number of the port.
    pub(crate) port: usize,
    /// The root's namespace, as a number: it decides which offers admit the root.
    pub(crate) namespace: u32,
    /// What the root demands of the partner alone.
    pub(crate) own: Interned<Predicates>,
    /// How the port ranks its partner.
    pub(crate) rank: Rank,
    /// What each offer class demands of the root and of the partner itself, of those that admit the root's namespace.
    pub(crate) theirs: Interned<Vec<OfferSide>>,
    /// What the port takes of its partner.
    pub(crate) asks: Interned<Asks>,
}

/// A constraint, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Predicates {
    /// It is true of no row.
    pub(crate) never: bool,
    /// Conditions on the partner at the port.
    pub(crate) preds: Vec<PredId>,
    /// Conditions that read earlier ports too.
    pub(crate) joins: Vec<CompiledExpr>,
    /// There is more, which only the evaluator knows.
    pub(crate) opaque: bool,
}

/// What the rows of one offer class demand of a root at a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct OfferSide {
    pub(crate) offer_class: usize,
    /// The constraint of the offers, taken apart for the root.
    pub(crate) demand: Interned<Predicates>,
    /// How the offers rank the root.
    pub(crate) rank: Rank,
}

/// What plans are made with.
pub(crate) struct Planner<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) preds: &'a mut Preds,
    pub(crate) ranks: &'a mut Ranks,
    /// Parts of plans made before.
    pub(crate) made: &'a mut PlanCache,
    /// All resources that some offer has.
    pub(crate) resources: &'a Resources,
    /// The offer classes with rows that admit the root's namespace.
    pub(crate) offer_classes: &'a [usize],
    /// The root among others, if it is in columns.
    pub(crate) seen: Option<JobView<'a>>,
    /// How many roots the plan is for.
    pub(crate) roots: usize,
}

/// What was made for earlier plans.
#[derive(Debug, Default)]
pub(crate) struct PlanCache {
    demands: Interner<Predicates>,
    theirs: Interner<Vec<OfferSide>>,
    offer_classes: Interner<Vec<usize>>,
    asks: Interner<Asks>,
    parts: Memo<PlannedPart>,
    ranks: Memo<Rank>,
    asked: Memo<Interned<Asks>>,
    /// Constraints taken apart, by identity; each is kept so that its identity is not taken by another.
    conjuncts: HashMap<usize, (Expr, Arc<[Expr]>), RandomState>,
}

impl PlanCache {
    /// What is remembered takes in memory, about.
    pub(crate) fn bytes(&self) -> usize {
        let kept = self.demands.bytes() + self.theirs.bytes() + self.offer_classes.bytes() + self.asks.bytes();
        let memos = self.parts.bytes() + self.ranks.bytes() + self.asked.bytes();
        kept + memos + CONJUNCTS_BYTES * self.conjuncts.len()
    }

    /// A list of offer classes, kept once.
    pub(crate) fn offer_classes(&mut self, list: Vec<usize>) -> Interned<Vec<usize>> {
        let bytes = size_of_val(list.as_slice());
        self.offer_classes.keep(list, bytes)
    }

    fn keep(&mut self, demand: Predicates) -> Interned<Predicates> {
        let bytes = size_of_val(demand.preds.as_slice()) + JOIN_BYTES * demand.joins.len();
        self.demands.keep(demand, bytes)
    }
}

/// What a request takes in memory, about.
const ASKS_BYTES: usize = 256;

/// What a condition that reads several partners takes in memory, about.
const JOIN_BYTES: usize = 256;

/// What a constraint taken apart takes in memory, about.
const CONJUNCTS_BYTES: usize = 512;

/// A part of a constraint.
#[derive(Clone, Debug)]
enum PlannedPart {
    /// Only the evaluator knows.
    Opaque,
    Always,
    Never,
    Alone(PredId),
    Join(CompiledExpr),
}

/// What a root wants at a port, whatever the partner.
type Own = (Interned<Predicates>, Rank, Interned<Asks>);

/// The place of the root's own side in a memo.
const NO_PARTNER: usize = usize::MAX;

impl Planner<'_> {
    /// The plan of a port of a root.
    pub(crate) fn port(&mut self, root: &Ports, port: usize, namespace: u32) -> PortPlan {
        self.table.renew_work();
        let (own, rank, asks) = self.own(root, port);
        let mut theirs = Vec::new();
        if !own.never {
            for offer_class in self.offer_classes {
                self.table.account.offer_class = Some(*offer_class);
                theirs.extend(self.theirs(root, port, *offer_class));
            }
            self.table.account.offer_class = None;
        }
        let bytes = size_of_val(theirs.as_slice());
        let theirs = self.made.theirs.keep(theirs, bytes);
        PortPlan { port, namespace, own, rank, theirs, asks }
    }

    fn own(&mut self, root: &Ports, port: usize) -> Own {
        let Some(own) = root.list.get(port) else { return self.without_partners() };
        let demand = self.demand(root, port, None, own.constraint.as_ref(), root.implicit);
        let rank = self.rank(root, port, None, own.rank.as_ref());
        (self.made.keep(demand), rank, self.asks(root, port))
    }

    fn asks(&mut self, root: &Ports, port: usize) -> Interned<Asks> {
        let request = root.list.get(port).and_then(|port| port.request.as_ref());
        let place = (NO_PARTNER, request.map_or(NO_PARTNER, |request| as_usize(self.table.exprs.id(request).0)));
        if let Some(asks) = self.seen.as_ref().and_then(|seen| self.made.asked.recall(seen, port, place)) {
            return asks;
        }
        let mut trace = ReadSet::default();
        let asks = asks(self.table, root, port, self.resources, &mut trace);
        let asks = self.made.asks.keep(asks, ASKS_BYTES);
        if let Some(seen) = &mut self.seen {
            self.made.asked.note(seen, (port, place), trace, self.table, asks.clone());
        }
        asks
    }

    /// A port that does not exist has no partners.
    fn without_partners(&mut self) -> Own {
        let demand = Predicates { never: true, preds: Vec::new(), joins: Vec::new(), opaque: false };
        (self.made.keep(demand), Rank::Opaque, self.made.asks.keep(Asks::Nothing, 0))
    }

    fn theirs(&mut self, root: &Ports, port: usize, offer_class: usize) -> Option<OfferSide> {
        let (example, via) = self.table.offer_classes.list.get(offer_class)?.example.clone();
        let partner = example.list.get(via).filter(|partner| partner.set.is_none())?;
        let of = Some(Partner { offer_class, ports: &example, via });
        let demand = self.demand(root, port, of, partner.constraint.as_ref(), example.implicit);
        let rank = if demand.never { Rank::Opaque } else { self.rank(root, port, of, partner.rank.as_ref()) };
        let met = !demand.never;
        met.then(|| OfferSide { offer_class, demand: self.made.keep(demand), rank })
    }

    fn demand(
        &mut self,
        root: &Ports,
        port: usize,
        partner: Option<Partner<'_>>,
        constraint: Option<&Expr>,
        implicit: bool,
    ) -> Predicates {
        let mut demand = Predicates { never: false, preds: Vec::new(), joins: Vec::new(), opaque: false };
        let Some(constraint) = constraint else {
            demand.never = implicit;
            return demand;
        };
        let taken_apart = || (constraint.clone(), Arc::from(conjuncts(constraint)));
        let parts = Arc::clone(&self.made.conjuncts.entry(constraint.id()).or_insert_with(taken_apart).1);
        // So long a chain may be deeper than an evaluation may go.
        if parts.len() > self.table.context.limits.depth {
            demand.opaque = true;
            return demand;
        }
        for (number, text) in parts.iter().enumerate() {
            match self.part(root, port, partner, (number, text)) {
                PlannedPart::Opaque => demand.opaque = true,
                PlannedPart::Always => {}
                PlannedPart::Never => demand.never = true,
                PlannedPart::Alone(pred) => demand.preds.push(pred),
                PlannedPart::Join(term) => demand.joins.push(term),
            }
        }
        if demand.never {
            return Predicates { never: true, preds: Vec::new(), joins: Vec::new(), opaque: false };
        }
        demand.preds.sort_unstable();
        demand.preds.dedup();
        demand
    }

    /// A part of a constraint, with its number among all.
    fn part(
        &mut self,
        root: &Ports,
        port: usize,
        partner: Option<Partner<'_>>,
        (number, text): (usize, &Expr),
    ) -> PlannedPart {
        let place = self.whose(partner, text, number + 1);
        if let Some(part) = self.seen.as_ref().and_then(|seen| self.made.parts.recall(seen, port, place)) {
            if let PlannedPart::Alone(pred) = part {
                self.preds.used(pred, self.roots);
            }
            return part;
        }
        let (term, trace) = self.term(root, port, partner, text);
        let part = match term {
            None | Some(CompiledExpr::Known(Cell::Unknown)) => PlannedPart::Opaque,
            Some(CompiledExpr::Known(cell)) if is_true(cell, &self.table.words) => PlannedPart::Always,
            Some(CompiledExpr::Known(_)) => PlannedPart::Never,
            Some(term) if alone(&term, port) => PlannedPart::Alone(self.preds.id(term, self.roots)),
            Some(term) => PlannedPart::Join(term),
        };
        if let Some(seen) = &mut self.seen {
            self.made.parts.note(seen, (port, place), trace, self.table, part.clone());
        }
        part
    }

    fn rank(&mut self, root: &Ports, port: usize, partner: Option<Partner<'_>>, rank: Option<&Expr>) -> Rank {
        let Some(rank) = rank else { return Rank::Same(FixedPoint::default()) };
        let place = self.whose(partner, rank, 0);
        if let Some(rank) = self.seen.as_ref().and_then(|seen| self.made.ranks.recall(seen, port, place)) {
            return rank;
        }
        let (term, trace) = self.term(root, port, partner, rank);
        let rank = match term {
            Some(term) if alone(&term, port) => self.ranks.rank(term, self.table),
            _ => Rank::Opaque,
        };
        if let Some(seen) = &mut self.seen {
            self.made.ranks.note(seen, (port, place), trace, self.table, rank);
        }
        rank
    }

    fn whose(&mut self, partner: Option<Partner<'_>>, expr: &Expr, number: usize) -> Whose {
        match partner {
            Some(partner) => (partner.offer_class, number),
            None => (NO_PARTNER, as_usize(self.table.exprs.id(expr).0)),
        }
    }

    /// The term of an expression of either side, and what of the root's own attributes it was made of.
    fn term(
        &mut self,
        root: &Ports,
        port: usize,
        partner: Option<Partner<'_>>,
        expr: &Expr,
    ) -> (Option<CompiledExpr>, ReadSet) {
        let mut compiler = Compiler::new(self.table, root, port);
        compiler.partner = partner.map(|partner| (partner.ports, partner.via));
        let side = if partner.is_some() { Side::Partner } else { Side::Root };
        let term = compiler.term(expr, side);
        (term, compiler.trace)
    }
}

/// A possible partner at a port.
#[derive(Clone, Copy)]
struct Partner<'p> {
    offer_class: usize,
    ports: &'p Ports,
    via: usize,
}

/// Whether a term reads only the partner at a port.
fn alone(term: &CompiledExpr, port: usize) -> bool {
    term.vars() & !(1u64 << (port & 63)) == 0
}
