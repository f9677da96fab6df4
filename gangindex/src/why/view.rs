//! A port of a root against all rows of a pool: which side refuses, and with which conjunct.

use matchmaker::Ports;

use super::parts::{Answered, Asking, Parts, RootPart};
use super::pool::{Answers, Pool};
use crate::index::asks::{Asks, asks};
use crate::search::candidates::Known;
use crate::table::Bits;
use crate::term::{CompiledExpr, ReadSet};

/// All that is known of a port before any partner is bound.
pub(crate) struct View {
    /// Rows that a root of this namespace may be bound to.
    pub(crate) admitted: Bits,
    /// The conjuncts of the root's constraint.
    pub(crate) own: Vec<Answered>,
    /// The root's constraint is missing, which is no match.
    pub(crate) own_missing: bool,
    /// The constraints of the offers.
    pub(crate) terms: Vec<ClassTerms>,
    /// What the port takes of its partner.
    pub(crate) asks: Asks,
    /// The number of what is asked.
    pub(crate) ask: u32,
    /// Rows that have what is asked, when nothing is taken.
    pub(crate) fits: Bits,
    /// Rows of which only the evaluator knows what becomes of them, once the root's constraint is true of them.
    pub(crate) unsure: Bits,
    /// Rows that have partners of their own to find.
    pub(crate) deep: Bits,
    /// Some of them are not looked at before those partners are found.
    late: bool,
}

/// The offers that ask the same of a root.
pub(crate) struct ClassTerms {
    pub(crate) offer_class: usize,
    /// The rows that have this constraint.
    pub(crate) rows: Bits,
    /// Its conjuncts.
    pub(crate) parts: Vec<Answered>,
    /// The port has no constraint, which is no match.
    pub(crate) missing: bool,
}

/// What is left out of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Dropped {
    /// The root's own parts, as bits.
    pub(crate) own: u64,
    /// The request is left out.
    pub(crate) request: bool,
    /// The offers' constraints are left out.
    pub(crate) owners: bool,
}

impl Dropped {
    /// Whether this conjunct of the root's constraint is left out.
    pub(crate) fn drops(self, part: usize) -> bool {
        part < 64 && self.own >> part & 1 == 1
    }
}

impl View {
    /// The port of a root, against the pool.
    pub(crate) fn of(
        root: &Ports,
        port: usize,
        namespace: &str,
        pool: &mut Pool,
        known: &mut Known<'_>,
    ) -> Option<View> {
        let admitted = pool.admitted(namespace, known);
        known.table.renew_work();
        let asking = Asking { root, port, partner: None };
        let Parts { list, missing: own_missing } = asking.parts(known.table);
        let answers = &mut pool.answers;
        let own: Vec<Answered> = list.into_iter().map(|part| answered(part, &admitted, answers, known)).collect();
        let mut unsure = pool.rows.shared.clone();
        let (mut terms, mut late) = (Vec::new(), false);
        for alike in &pool.alike {
            let mut rows = alike.rows.clone();
            rows.and(&admitted);
            if !rows.any() {
                continue;
            }
            let (offer_class, reads_all) = (alike.offer_class, alike.reflective);
            let Some(found) = known.table.offer_classes.list.get(offer_class) else { continue };
            let example = found.example.clone();
            late |= example.1 > 0 && example.0.is_seen_late(example.1, root, port);
            let asking = Asking { partner: Some((&*example.0, example.1)), ..Asking { root, port, partner: None } };
            let Parts { list, missing } = asking.parts(known.table);
            let parts: Vec<Answered> = list.into_iter().map(|part| answered(part, &rows, answers, known)).collect();
            for part in &parts {
                match part {
                    Answered::Fails { open: Some(open), .. } => unsure.or(open),
                    Answered::Opaque => unsure.or(&rows),
                    _ => {}
                }
            }
            if reads_all {
                unsure.or(&rows);
            }
            terms.push(ClassTerms { offer_class, rows, parts, missing });
        }
        let asks = asks(known.table, root, port, &pool.resources, &mut ReadSet::default());
        if asks == Asks::Opaque {
            unsure.or(&admitted);
        }
        let ask = known.availability.ask_id(&asks);
        let fits = pool.fits_when_free(ask, known);
        unsure.and(&admitted);
        let mut deep = pool.rows.deep.clone();
        deep.and(&admitted);
        Some(View { admitted, own, own_missing, terms, asks, ask, fits, unsure, deep, late })
    }

    /// The rows that the root's own parts let pass, except those that read other partners, too.
    pub(crate) fn wanted(&self, dropped: Dropped) -> Bits {
        let mut rows = self.admitted.clone();
        if self.own_missing {
            return Bits::none(rows.len());
        }
        for (place, part) in self.own.iter().enumerate() {
            if let Answered::Fails { rows: fails, .. } = part
                && !dropped.drops(place)
            {
                rows.and_not(fails);
            }
        }
        rows
    }

    /// The rows that refuse the root, whatever is bound at other ports.
    pub(crate) fn refusing(&self) -> Bits {
        let mut refusing = Bits::none(self.admitted.len());
        for terms in &self.terms {
            if terms.missing {
                refusing.or(&terms.rows);
            }
            for part in &terms.parts {
                if let Answered::Fails { rows, .. } = part {
                    refusing.or(rows);
                }
            }
        }
        refusing
    }

    /// The rows that both sides accept and that have what is asked, agreement with other partners apart; none if only the
    /// evaluator knows.
    pub(crate) fn accepted(&self, refusing: &Bits, dropped: Dropped) -> Option<Bits> {
        let unknown = |(place, part): (usize, &Answered)| match part {
            Answered::Opaque => !dropped.drops(place),
            Answered::Fails { open: Some(_), .. } => !dropped.drops(place),
            _ => false,
        };
        if self.late || self.own.iter().enumerate().any(unknown) {
            return None;
        }
        let mut rows = self.wanted(dropped);
        if rows.meets(&self.deep) {
            return None;
        }
        if !dropped.owners {
            rows.and_not(refusing);
        }
        if rows.meets(&self.unsure) {
            return None;
        }
        if !dropped.request {
            rows.and(&self.fits);
        }
        Some(rows)
    }

    /// The root's own conditions on this partner and others together, with their places.
    pub(crate) fn joins(&self, dropped: Dropped) -> Vec<CompiledExpr> {
        let joins = self.own.iter().enumerate().filter(|(place, _)| !dropped.drops(*place));
        joins.filter_map(|(_, part)| part.join().cloned()).collect()
    }

    /// Whether some conjunct joins this port to another.
    pub(crate) fn is_joined(&self) -> bool {
        let theirs = self.terms.iter().flat_map(|terms| &terms.parts);
        self.own.iter().chain(theirs).any(|part| part.join().is_some())
    }
}

impl Answered {
    /// The condition, if it joins this port to another.
    pub(crate) fn join(&self) -> Option<&CompiledExpr> {
        match self {
            Answered::Join(term) => Some(term),
            _ => None,
        }
    }
}

/// The answer of a part for these rows.
fn answered(part: RootPart, among: &Bits, answers: &mut Answers, known: &mut Known<'_>) -> Answered {
    match part {
        RootPart::Always => Answered::Fails { rows: Bits::none(among.len()), open: None, term: None },
        RootPart::Never => Answered::Fails { rows: among.clone(), open: None, term: None },
        RootPart::Join(term) => Answered::Join(term),
        RootPart::Opaque => Answered::Opaque,
        // Nothing is told of a root whose steps have ended.
        RootPart::Alone(_) if !known.table.words.meter.has_fuel() => Answered::Opaque,
        RootPart::Alone(term) => {
            let answer = answers.of(&term, known);
            let mut rows = among.clone();
            rows.and_not(&answer.yes);
            let open = answer.open.and_then(|mut open| {
                open.and(among);
                open.any().then_some(open)
            });
            if let Some(open) = &open {
                rows.and_not(open);
            }
            Answered::Fails { rows, open, term: Some(term) }
        }
    }
}
