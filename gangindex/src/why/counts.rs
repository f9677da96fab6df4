//! Counts the rows of one port by the reason for which they are refused.

use classad::{BinaryOp, Expr, conjuncts};
use matchmaker::{
    AdId, CONJUNCTS_MAX, ConjunctCount, EXCERPT_MAX, Misfits, Nearest, OwnerCount, PoolAd, Port, PortCount,
};

use super::explainer::Step;
use super::parts::Answered;
use super::pool::Pool;
use super::view::View;
use crate::index::asks::misfit;
use crate::search::candidates::Known;
use crate::table::{Bits, Cell, as_u32, as_usize};
use crate::term::CompiledExpr;

/// A port that was not reached: its label and its parts.
pub(crate) fn unreached(port: &Port) -> PortCount {
    let texts = port.constraint.as_ref().map(conjuncts).unwrap_or_default();
    let kind = port.wanted_kind().map(|(part, _)| part);
    let part = |(number, text): (usize, &Expr)| ConjunctCount {
        text: text.excerpt(EXCERPT_MAX),
        is_kind: kind == Some(number),
        ..ConjunctCount::default()
    };
    let conjuncts = texts.iter().take(CONJUNCTS_MAX).enumerate().map(part).collect();
    PortCount { label: port.label.to_string(), conjuncts, ..PortCount::default() }
}

/// The counts of a port that was reached.
pub(crate) fn counted(
    port: &Port,
    (view, step): (&View, &mut Step),
    excluded: &Bits,
    namespace: &str,
    pool: &mut Pool,
    known: &mut Known<'_>,
) -> PortCount {
    let mut count = unreached(port);
    if let Some(part) = count.conjuncts.iter().position(|part| part.is_kind) {
        let others = fails(view, step, part);
        count.other_kinds = number(&others);
        step.candidates.and_not(&others);
    }
    let step = &*step;
    let of = |rows: &Bits, without: &Bits| {
        let mut rows = rows.clone();
        rows.and(&step.candidates);
        rows.and_not(without);
        rows
    };
    count.candidates = number(&step.candidates);
    count.refused_by_job = number(&of(&step.candidates, &step.wanted));
    count.refused_by_offer = number(&of(&step.wanted, &step.willing));
    let unfit = of(&step.willing, &step.fitting);
    count.too_small = number(&unfit);
    count.misfits = misfits(view, &unfit, pool, known);
    let mut fitting = step.fitting.clone();
    fitting.and(&step.candidates);
    let mut barred = fitting.clone();
    barred.and(excluded);
    count.excluded = number(&barred);
    fitting.and_not(excluded);
    let free = pool.free_now(view.ask, &fitting, known);
    count.busy = number(&fitting) - number(&free);
    let own: Vec<Bits> = (0..view.own.len()).map(|place| fails(view, step, place)).collect();
    let their = their_fails(view, step);
    let only = only(view, step, &own, &their);
    let disclosed = pool.disclosed(namespace, known);
    let mut left = step.candidates.clone();
    for (place, (part, fails)) in count.conjuncts.iter_mut().zip(&own).enumerate() {
        left.and_not(fails);
        let mut alone = only.clone();
        alone.and(fails);
        (part.rejects, part.left, part.only_failure) = (number(fails), number(&left), Some(number(&alone)));
        if let Some(Answered::Fails { term: Some(term), .. }) = view.own.get(place) {
            part.nearest = nearest(term, &alone, &disclosed, known);
        }
    }
    count.owners = owners(view, step, &own, &their, &pool.home(namespace, known), known);
    count
}

fn number(rows: &Bits) -> u64 {
    u64::from(as_u32(rows.count()))
}

/// The candidates of which a part of the root's is not true.
fn fails(view: &View, step: &Step, place: usize) -> Bits {
    let mut fails = match view.own.get(place) {
        Some(Answered::Fails { rows, .. }) => rows.clone(),
        _ => {
            let found = step.own_fails.iter().find(|(own, _)| *own == place);
            found.map_or_else(|| Bits::none(step.candidates.len()), |(_, fails)| fails.clone())
        }
    };
    fails.and(&step.candidates);
    fails
}

/// The rows that each part of the offers refuses.
fn their_fails(view: &View, step: &Step) -> Vec<(usize, usize, Bits)> {
    let mut all: Vec<(usize, usize, Bits)> = step.their_fails.clone();
    for (number, terms) in view.terms.iter().enumerate() {
        for (place, part) in terms.parts.iter().enumerate() {
            if let Answered::Fails { rows, .. } = part
                && rows.any()
            {
                all.push((number, place, rows.clone()));
            }
        }
        if terms.missing {
            all.push((number, 0, terms.rows.clone()));
        }
    }
    all.sort_by_key(|(number, place, _)| (*number, *place));
    all
}

/// The candidates that exactly one thing stands against: a part of the root's, the owners, or the request.
fn only(view: &View, step: &Step, own: &[Bits], their: &[(usize, usize, Bits)]) -> Bits {
    let mut owners = Bits::none(step.candidates.len());
    for (_, _, fails) in their {
        owners.or(fails);
    }
    let mut request = step.candidates.clone();
    request.and_not(&view.fits);
    let mut judged = step.candidates.clone();
    judged.and_not(&view.unsure);
    judged.and_not(&view.deep);
    exactly_one(own.iter().chain([&owners, &request]), judged)
}

/// The rows that are in exactly one of these sets.
fn exactly_one<'b>(sets: impl Iterator<Item = &'b Bits>, among: Bits) -> Bits {
    let (mut once, mut twice) = (Bits::none(among.len()), Bits::none(among.len()));
    for set in sets {
        let mut again = once.clone();
        again.and(set);
        twice.or(&again);
        once.or(set);
    }
    once.and_not(&twice);
    once.and(&among);
    once
}

fn owners(
    view: &View,
    step: &Step,
    own: &[Bits],
    their: &[(usize, usize, Bits)],
    home: &Bits,
    known: &Known<'_>,
) -> Vec<OwnerCount> {
    let mut wanted = step.candidates.clone();
    for fails in own {
        wanted.and_not(fails);
    }
    if !wanted.any() {
        return Vec::new();
    }
    let mut fitting = wanted.clone();
    fitting.and(&view.fits);
    let only = exactly_one(their.iter().map(|(_, _, fails)| fails), fitting);
    let mut owners = Vec::new();
    for (number_of_terms, place, fails) in their {
        let mut refusing = fails.clone();
        refusing.and(&wanted);
        if !refusing.any() {
            continue;
        }
        let refuses = number(&refusing);
        refusing.and(&only);
        let Some(terms) = view.terms.get(*number_of_terms) else { continue };
        let mut strangers = terms.rows.clone();
        strangers.and_not(home);
        let text = if strangers.any() { None } else { text(terms.offer_class, *place, known) };
        let only_failure = number(&refusing);
        owners.push(OwnerCount { terms: *number_of_terms, conjunct: *place, text, refuses, only_failure });
    }
    owners
}

fn text(offer_class: usize, place: usize, known: &Known<'_>) -> Option<String> {
    let (ports, via) = &known.table.offer_classes.list.get(offer_class)?.example;
    let constraint = ports.list.get(*via)?.constraint.as_ref()?;
    conjuncts(constraint).get(place).map(|part| part.excerpt(EXCERPT_MAX))
}

fn misfits(view: &View, unfit: &Bits, pool: &Pool, known: &Known<'_>) -> Misfits {
    let mut misfits = Misfits::default();
    for row in unfit.iter() {
        let place = known.table.rows.get(as_usize(row)).map_or(usize::MAX, |row| row.place());
        let Some(offer) = pool.snapshot.ad(AdId::at(place)).and_then(PoolAd::offer) else { continue };
        misfits.note(misfit(&view.asks, offer));
    }
    misfits
}

/// The number nearest to the one that a comparison asks for, among what those of these rows have that are disclosed; and of how many of
/// all these rows the comparison with it is true.
fn nearest(term: &CompiledExpr, rows: &Bits, disclosed: &Bits, known: &Known<'_>) -> Option<Nearest> {
    let CompiledExpr::Binary(op, sides) = term else { return None };
    let (column, mirrored) = match &**sides {
        [CompiledExpr::Column(_, column), CompiledExpr::Known(Cell::Int(_) | Cell::Real(_))] => (*column, false),
        [CompiledExpr::Known(Cell::Int(_) | Cell::Real(_)), CompiledExpr::Column(_, column)] => (*column, true),
        _ => return None,
    };
    let (more, strict) = match op {
        BinaryOp::Less | BinaryOp::LessEqual => (mirrored, *op == BinaryOp::Less),
        BinaryOp::Greater | BinaryOp::GreaterEqual => (!mirrored, *op == BinaryOp::Greater),
        _ => return None,
    };
    let column = known.table.columns.get(column)?;
    // By the code of a cell: how many rows have it, and how many of them are disclosed.
    let mut counts = vec![(0u64, 0u64); column.cells().len()];
    for row in rows.iter() {
        let code = column.codes().get(as_usize(row)).copied().unwrap_or(u32::MAX);
        if let Some((all, told)) = counts.get_mut(as_usize(code)) {
            *all += 1;
            *told += u64::from(disclosed.get(as_usize(row)));
        }
    }
    let number = |cell: &Cell| match cell {
        Cell::Int(_) | Cell::Real(_) => crate::term::number(*cell).filter(|value| value.is_finite()),
        _ => None,
    };
    let is_nearer = |one: f64, other: f64| if more { one > other } else { one < other };
    let mut best: Option<(f64, Cell)> = None;
    for (cell, _) in column.cells().iter().zip(&counts).filter(|(_, (_, told))| *told > 0) {
        if let Some(value) = number(cell).filter(|value| best.is_none_or(|(most, _)| is_nearer(*value, most))) {
            best = Some((value, *cell));
        }
    }
    let (nearest, cell) = best?;
    let value = match cell {
        cell if !strict => cell,
        Cell::Int(number) => Cell::Int(number.checked_add(if more { -1 } else { 1 })?),
        _ => return None,
    };
    let value = Expr::literal(known.table.words.value(value)?).to_string();
    let has_it = |cell: &Cell| number(cell).is_some_and(|value| !is_nearer(nearest, value));
    let offers = column.cells().iter().zip(&counts).filter(|(cell, _)| has_it(cell)).map(|(_, (all, _))| all).sum();
    Some(Nearest { value, offers })
}
