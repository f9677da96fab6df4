//! Counts the rows of one port by the reason for which they are refused.

use classad::{Expr, conjuncts};
use matchmaker::{AdId, EXCERPT_MAX, Lack, Misfits, Nearest, OwnerCount, PoolAd, Port, PortCount};

use super::explainer::Step;
use super::parts::Answered;
use super::pool::Pool;
use super::sorted::WithNumber;
use super::view::View;
use crate::index::asks::misfit;
use crate::search::candidates::Known;
use crate::table::{Bits, Cell, as_u32, as_usize};
use crate::term::{CompiledExpr, number};

/// The counts of a port that was reached.
pub(crate) fn counted(
    port: &Port,
    (view, step): (&View, &mut Step),
    excluded: &Bits,
    namespace: &str,
    pool: &mut Pool,
    known: &mut Known<'_>,
) -> PortCount {
    let mut count = PortCount::of(port);
    if let Some(part) = count.conjuncts.iter().position(|part| part.is_kind) {
        let others = fails(view, step, part);
        count.other_kinds = size(&others);
        step.candidates.and_not(&others);
    }
    let step = &*step;
    let of = |rows: &Bits, without: &Bits| {
        let mut rows = rows.clone();
        rows.and(&step.candidates);
        rows.and_not(without);
        rows
    };
    count.candidates = size(&step.candidates);
    count.refused_by_job = size(&of(&step.candidates, &step.wanted));
    count.refused_by_offer.ads = size(&of(&step.wanted, &step.willing));
    count.too_small = misfits((port, view), &of(&step.willing, &step.fitting), pool, known);
    let mut fitting = step.fitting.clone();
    fitting.and(&step.candidates);
    let mut barred = fitting.clone();
    barred.and(excluded);
    count.excluded = size(&barred);
    fitting.and_not(excluded);
    let free = pool.free_now(view.ask, &fitting, known);
    count.busy = size(&fitting) - size(&free);
    let own: Vec<Bits> = (0..view.own.len()).map(|place| fails(view, step, place)).collect();
    let their = their_fails(view, step);
    let only = only(view, step, &own, &their);
    let disclosed = pool.disclosed(namespace, known);
    let mut left = step.candidates.clone();
    for (place, (part, fails)) in count.conjuncts.iter_mut().zip(&own).enumerate() {
        left.and_not(fails);
        let mut alone = only.clone();
        alone.and(fails);
        (part.rejects, part.left, part.only_failure) = (size(fails), size(&left), Some(size(&alone)));
        if let Some(Answered::Fails { term: Some(term), .. }) = view.own.get(place) {
            part.nearest = nearest(term, &alone, &disclosed, pool, known);
        }
    }
    count.refused_by_offer.parts = owners(view, step, &own, &their, &pool.home(namespace, known), known);
    count
}

fn size(rows: &Bits) -> u64 {
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

/// The rows that a conjunct of offers' constraints refuses: the number of the offers' [`ClassTerms`](super::view::ClassTerms),
/// the conjunct, and the rows.
type Refusal<'s> = (usize, usize, &'s Bits);

/// The rows that each part of the offers refuses.
fn their_fails<'s>(view: &'s View, step: &'s Step) -> Vec<Refusal<'s>> {
    let mut all: Vec<Refusal<'_>> =
        step.their_fails.iter().map(|(number, place, fails)| (*number, *place, fails)).collect();
    for (number, terms) in view.terms.iter().enumerate() {
        for (place, part) in terms.parts.iter().enumerate() {
            if let Answered::Fails { rows, .. } = part
                && rows.any()
            {
                all.push((number, place, rows));
            }
        }
        if terms.missing {
            all.push((number, 0, &terms.rows));
        }
    }
    all.sort_by_key(|(number, place, _)| (*number, *place));
    all
}

/// The candidates that exactly one thing stands against: a part of the root's, the owners, or the request.
fn only(view: &View, step: &Step, own: &[Bits], their: &[Refusal<'_>]) -> Bits {
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
        set.note(&mut once, &mut twice);
    }
    once.and_not(&twice);
    once.and(&among);
    once
}

fn owners(
    view: &View,
    step: &Step,
    own: &[Bits],
    their: &[Refusal<'_>],
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
    let refusals: Vec<&Refusal<'_>> = their.iter().filter(|(_, _, fails)| fails.meets(&wanted)).collect();
    let mut fitting = wanted.clone();
    fitting.and(&view.fits);
    let only = exactly_one(refusals.iter().map(|(_, _, fails)| *fails), fitting);
    let mut owners = Vec::with_capacity(refusals.len());
    for (number_of_terms, place, fails) in refusals {
        let Some(terms) = view.terms.get(*number_of_terms) else { continue };
        let is_of_home = terms.rows.is_within(home);
        let text = if is_of_home { text(terms.offer_class, *place, known) } else { None };
        let both = |rows: &Bits| u64::from(as_u32(fails.count_in(rows)));
        let (refuses, only_failure) = (both(&wanted), both(&only));
        owners.push(OwnerCount { terms: *number_of_terms, conjunct: *place, text, refuses, only_failure });
    }
    owners
}

fn text(offer_class: usize, place: usize, known: &Known<'_>) -> Option<String> {
    let (ports, via) = &known.table.offer_classes.list.get(offer_class)?.example;
    let constraint = ports.list.get(*via)?.constraint.as_ref()?;
    conjuncts(constraint).get(place).map(|part| part.excerpt(EXCERPT_MAX))
}

/// Counts the rows that do not have what the port asks, by why.
fn misfits((port, view): (&Port, &View), unfit: &Bits, pool: &Pool, known: &Known<'_>) -> Misfits {
    let mut misfits = Misfits::default();
    for row in unfit.iter() {
        let place = known.table.rows.get(as_usize(row)).map_or(usize::MAX, |row| row.place());
        let offer = pool.snapshot.ad(AdId::at(place)).and_then(PoolAd::offer);
        let found = offer.map(|offer| (misfit(&view.asks, offer), &offer.capacity));
        let lack = found.and_then(|(misfit, capacity)| Lack::of(misfit, port, capacity));
        misfits.note(found.map(|(misfit, _)| misfit), lack);
    }
    misfits
}

/// One row in so many is found sooner without the order of a column.
const FEW: usize = 16;

/// The number nearest to the one that a comparison asks for, among what those of these rows have that are disclosed; and of how many of
/// all these rows the comparison with it is true. It is true of none of them as it is.
fn nearest(term: &CompiledExpr, rows: &Bits, disclosed: &Bits, pool: &Pool, known: &Known<'_>) -> Option<Nearest> {
    let (column, comparison) = WithNumber::of(term)?;
    let more = comparison.is_greater()?;
    let mut told = rows.clone();
    told.and(disclosed);
    if !told.any() {
        return None;
    }
    let is_few = rows.count() < rows.len() / FEW;
    let (cell, offers) = match pool.answers.known_order(column).filter(|_| !is_few) {
        Some(order) => order.nearest(comparison, rows, &told)?,
        None => nearest_of_rows(column, more, rows, &told, known)?,
    };
    let value = match cell {
        cell if !comparison.is_strict() => cell,
        Cell::Int(number) => Cell::Int(number.checked_add(if more { -1 } else { 1 })?),
        _ => return None,
    };
    let value = Expr::literal(known.table.words.value(value)?).to_string();
    Some(Nearest { value, offers: u64::from(as_u32(offers)) })
}

/// The same of the rows one by one: the number, and of how many rows it or a nearer one is.
fn nearest_of_rows(column: u32, more: bool, rows: &Bits, told: &Bits, known: &Known<'_>) -> Option<(Cell, usize)> {
    let column = known.table.columns.get(column)?;
    let number = |row: u32| match column.cell(as_usize(row)) {
        cell @ (Cell::Int(_) | Cell::Real(_)) => Some((number(cell)?, cell)).filter(|(value, _)| value.is_finite()),
        _ => None,
    };
    let is_nearer = |one: f64, other: f64| if more { one > other } else { one < other };
    let mut best: Option<(f64, Cell)> = None;
    for (value, cell) in told.iter().filter_map(number) {
        // An integer rather than the same number written as a real.
        let is_better = |(most, _)| is_nearer(value, most) || !is_nearer(most, value) && matches!(cell, Cell::Int(_));
        if best.is_none_or(is_better) {
            best = Some((value, cell));
        }
    }
    let (nearest, cell) = best?;
    Some((cell, rows.iter().filter_map(number).filter(|(value, _)| !is_nearer(nearest, *value)).count()))
}
