//! A root's port into conditions: on one partner each, or on the partners of two ports together.

use classad::{Expr, conjuncts};

use super::asks::{Asks, Resources, asks};
use super::memo::{Keeper, Kept, Memo, Seen, Trace};
use super::preds::{PredId, Preds};
use super::ranks::{Rank, Ranks};
use crate::model::{Config, Prefer};
use crate::ports::{Ports, Rules};
use crate::score::Fx;
use crate::table::{Cell, Table};
use crate::term::{Flattener, Side, Term, is_true};

/// What one port of a root comes to. Roots with equal plans at a port have the same candidates there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct PortPlan {
    /// The number of the port.
    pub(crate) port: usize,
    /// The root's namespace, as a number: it decides who is admitted.
    pub(crate) namespace: u32,
    /// What the root demands of the partner alone.
    pub(crate) own: Kept<Demand>,
    pub(crate) rank: Rank,
    /// What each template demands of the root and of the partner itself.
    pub(crate) theirs: Vec<Theirs>,
    pub(crate) asks: Kept<Asks>,
}

/// A constraint, taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Demand {
    /// It is not true of anybody.
    pub(crate) never: bool,
    /// Conditions on the partner at the port.
    pub(crate) preds: Vec<PredId>,
    /// Conditions that read earlier ports too.
    pub(crate) joins: Vec<Term>,
    /// There is more, which only the evaluator knows.
    pub(crate) opaque: bool,
}

/// What the rows of one template demand of a root at a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Theirs {
    pub(crate) template: usize,
    pub(crate) demand: Kept<Demand>,
    pub(crate) rank: Rank,
}

/// What plans are made with.
pub(crate) struct Planner<'a> {
    pub(crate) table: &'a mut Table,
    pub(crate) preds: &'a mut Preds,
    pub(crate) ranks: &'a mut Ranks,
    pub(crate) made: &'a mut Made,
    pub(crate) config: &'a Config,
    pub(crate) resources: &'a Resources,
    /// The templates that have rows.
    pub(crate) templates: &'a [usize],
    /// The root among others, if it is in columns.
    pub(crate) seen: Option<Seen<'a>>,
    /// How many roots the plan is for.
    pub(crate) roots: usize,
}

/// What was made for earlier plans.
#[derive(Debug, Default)]
pub(crate) struct Made {
    demands: Keeper<Demand>,
    asks: Keeper<Asks>,
    own: Memo<Own>,
    theirs: Memo<Option<Theirs>>,
}

/// What a root wants at a port, whoever comes.
type Own = (Kept<Demand>, Rank, Kept<Asks>);

/// The place of the root's own side in a memo.
const NOBODY: usize = usize::MAX;

impl Planner<'_> {
    /// The plan of a port of a root.
    pub(crate) fn port(&mut self, root: &Ports, port: usize, namespace: u32) -> PortPlan {
        let (own, rank, asks) = self.own(root, port);
        let mut theirs = Vec::new();
        if !own.never {
            for template in self.templates {
                theirs.extend(self.theirs(root, port, *template));
            }
        }
        PortPlan { port, namespace, own, rank, theirs, asks }
    }

    fn own(&mut self, root: &Ports, port: usize) -> Own {
        if let Some(own) = self.seen.as_ref().and_then(|seen| self.made.own.recall(seen, port, NOBODY)) {
            self.preds.used(&own.0.preds, self.roots);
            return own;
        }
        let Some(own) = root.list.get(port) else { return self.nobody() };
        let mut trace = Trace::default();
        let demand = self.demand(root, port, None, own.constraint.as_ref(), root.implicit, &mut trace);
        let rank = self.rank(root, port, None, own.rank.as_ref(), &mut trace);
        let asks = asks(self.table, root, port, self.resources, self.config.rules, &mut trace);
        let own = (self.made.demands.keep(demand), rank, self.made.asks.keep(asks));
        if let Some(seen) = &mut self.seen {
            self.made.own.note(seen, port, NOBODY, trace, self.table, own.clone());
        }
        own
    }

    /// A port that does not exist has no partners.
    fn nobody(&mut self) -> Own {
        let demand = Demand { never: true, preds: Vec::new(), joins: Vec::new(), opaque: false };
        (self.made.demands.keep(demand), Rank::Opaque, self.made.asks.keep(Asks::Nothing))
    }

    fn theirs(&mut self, root: &Ports, port: usize, template: usize) -> Option<Theirs> {
        if let Some(theirs) = self.seen.as_ref().and_then(|seen| self.made.theirs.recall(seen, port, template)) {
            if let Some(theirs) = &theirs {
                self.preds.used(&theirs.demand.preds, self.roots);
            }
            return theirs;
        }
        let (example, via) = self.table.templates.list.get(template)?.example.clone();
        let partner = example.list.get(via)?;
        let of = Some((&*example, via));
        let mut trace = Trace::default();
        let demand = self.demand(root, port, of, partner.constraint.as_ref(), example.implicit, &mut trace);
        let rank = self.rank(root, port, of, partner.rank.as_ref(), &mut trace);
        let met = !demand.never;
        let theirs = met.then(|| Theirs { template, demand: self.made.demands.keep(demand), rank });
        if let Some(seen) = &mut self.seen {
            self.made.theirs.note(seen, port, template, trace, self.table, theirs.clone());
        }
        theirs
    }

    fn demand(
        &mut self,
        root: &Ports,
        port: usize,
        partner: Option<(&Ports, usize)>,
        constraint: Option<&Expr>,
        implicit: bool,
        trace: &mut Trace,
    ) -> Demand {
        let told = self.config.rules == Rules::Product;
        let mut demand = Demand { never: false, preds: Vec::new(), joins: Vec::new(), opaque: false };
        let Some(constraint) = constraint else {
            demand.never = implicit;
            return demand;
        };
        let parts = conjuncts(constraint);
        // So long a chain may be deeper than an evaluation may go.
        if parts.len() > self.table.context.limits.depth {
            demand.opaque = true;
            return demand;
        }
        let side = if partner.is_some() { Side::Partner } else { Side::Root };
        for part in &parts {
            let mut flattener = Flattener::new(self.table, root, port, told);
            flattener.partner = partner;
            let term = flattener.term(part, side);
            trace.add(flattener.trace);
            match term {
                None | Some(Term::Known(Cell::Open)) => demand.opaque = true,
                Some(Term::Known(cell)) => demand.never |= !is_true(cell, &self.table.words),
                Some(term) => self.sort(term, port, &mut demand),
            }
        }
        if demand.never {
            return Demand { never: true, preds: Vec::new(), joins: Vec::new(), opaque: false };
        }
        demand.preds.sort_unstable();
        demand.preds.dedup();
        demand
    }

    /// A part of a constraint to where it belongs.
    fn sort(&mut self, term: Term, port: usize, demand: &mut Demand) {
        if term.vars() & !(1u64 << (port & 63)) == 0 {
            demand.preds.push(self.preds.id(term, self.roots));
        } else {
            demand.joins.push(term);
        }
    }

    fn rank(
        &mut self,
        root: &Ports,
        port: usize,
        partner: Option<(&Ports, usize)>,
        rank: Option<&Expr>,
        trace: &mut Trace,
    ) -> Rank {
        let told = self.config.rules == Rules::Product;
        let Some(rank) = rank.filter(|_| self.config.prefer == Prefer::Best) else { return Rank::Same(Fx::default()) };
        let mut flattener = Flattener::new(self.table, root, port, told);
        flattener.partner = partner;
        let side = if partner.is_some() { Side::Partner } else { Side::Root };
        let term = flattener.term(rank, side);
        trace.add(flattener.trace);
        match term {
            None => Rank::Opaque,
            Some(term) if term.vars() & !(1u64 << (port & 63)) == 0 => {
                let rank = self.ranks.rank(term, self.config.rank_of, &self.table.words);
                if let Rank::By(id) = rank {
                    self.ranks.compute(id, self.config.rank_of, self.table);
                }
                rank
            }
            Some(_) => Rank::Opaque,
        }
    }
}
