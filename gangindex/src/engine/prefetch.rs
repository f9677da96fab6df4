//! Columns that plans will ask for, made all at once: a large pool is walked through once for many of them.

use std::collections::{BTreeSet, HashSet};

use classad::{Expr, Name};
use foldhash::fast::RandomState;
use matchmaker::{Port, Ports, Round};

use super::Indexed;
use super::run::{Example, Making};
use crate::table::{Reads, ReadsId, Table, as_usize};

/// The attributes that the cycle will read of possible partners.
struct Prefetch<'e> {
    table: &'e mut Table,
    names: BTreeSet<Name>,
    /// Most constraints read the same as others.
    seen: HashSet<(ReadsId, bool), RandomState>,
}

impl Indexed {
    /// Makes the columns of what constraints and ranks read of possible partners: those of roots that have no plan yet,
    /// and of the offer classes that admit them, as far as there is room for them. What stands in a part of a constraint that
    /// is never evaluated gets a column in vain.
    pub(super) fn prefetch_columns(&mut self, examples: &[(u32, Example)], making: &Making, round: &mut Round<'_>) {
        let mut ahead = Prefetch { table: &mut self.tables.table, names: BTreeSet::new(), seen: HashSet::default() };
        let is_new = |id: u32| self.plans.list.get(as_usize(id)).is_none_or(Option::is_none);
        for (_, example) in examples.iter().filter(|(id, _)| is_new(*id)) {
            let Some(root) = round.snapshot.ad(example.root).filter(|_| round.shares.left(example.submitter) > 0)
            else {
                continue;
            };
            let before = ahead.names.len();
            ahead.table.account.submitter = round.shares.name(example.submitter);
            root.ports.list.iter().for_each(|port| ahead.of_partners(&root.ports, port));
            round.shares.pay(example.submitter, ahead.table.steps_of_columns(ahead.names.len() - before));
        }
        if ahead.seen.is_empty() {
            return;
        }
        let lists = making.admitted_to.iter().flatten().flat_map(|admitted| admitted.offer_classes.iter().copied());
        for offer_class in lists.collect::<BTreeSet<usize>>() {
            ahead.table.account.offer_class = Some(offer_class);
            let example =
                ahead.table.offer_classes.list.get(offer_class).map(|offer_class| offer_class.example.clone());
            let Some((offer, via)) = example else { continue };
            offer.list.get(via).into_iter().for_each(|port| ahead.of_itself(&offer, port));
        }
        ahead.table.account.offer_class = None;
        let names = ahead.names;
        self.tables.table.add_columns(&names);
    }
}

impl Prefetch<'_> {
    /// What a port of a root reads of its partners.
    fn of_partners(&mut self, root: &Ports, port: &Port) {
        let is_partner = |base: &Name| match root.implicit {
            true => base == "other" || base == "target",
            false => root.list.iter().any(|port| port.label == *base),
        };
        for reads in self.fresh(port, false) {
            let selected = reads.selected.iter().filter(|(base, _)| is_partner(base)).map(|(_, name)| name);
            let bare = reads.bare.iter().filter(|name| root.implicit && root.body.place(name).is_none());
            selected.chain(bare).for_each(|name| self.add(name));
        }
    }

    /// What a port of an offer reads of the offer itself.
    fn of_itself(&mut self, offer: &Ports, port: &Port) {
        let own = |name: &&Name| offer.body.place(name).is_some() || port.attributes.place(name).is_some();
        for reads in self.fresh(port, true) {
            reads.bare.iter().filter(own).for_each(|name| self.add(name));
        }
    }

    /// One more name to make a column of, if there is none and there is room for it.
    fn add(&mut self, name: &Name) {
        if !self.names.contains(name) && self.table.has_room(name) {
            self.names.insert(name.clone());
        }
    }

    /// What a port's expressions read, as far as no other port on this side read the same.
    fn fresh(&mut self, port: &Port, offers: bool) -> Vec<std::sync::Arc<Reads>> {
        let rank = port.rank.iter();
        let mut id = |expr: &Expr| {
            let id = self.table.exprs.id(expr);
            self.table.exprs.reads_id(id).filter(|id| self.seen.insert((*id, offers)))
        };
        let ids: Vec<ReadsId> = port.constraint.iter().chain(rank).filter_map(&mut id).collect();
        ids.into_iter().map(|id| self.table.exprs.reads_of(id)).collect()
    }
}
