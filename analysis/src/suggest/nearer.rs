//! What a conjunct or a request could ask for instead, so that some offer meets it.

use std::collections::BTreeMap;
use std::sync::Arc;

use classad::{BinaryOp, Expr, Kind, Name, Value, is_reflective, references};
use matchmaker::{Assembly, Edge, PoolAd, Ports, Snapshot};

use super::{Change, Obstacle, Question, own_obstacles};
use crate::inspect::{Inspected, Pair};

/// The conjunct with another number or another text in it: the one that takes the least change and that offers meet against which
/// nothing else stands.
pub(super) fn nearer(question: &Question<'_>, free: &Snapshot, port: usize, conjunct: usize) -> Option<Expr> {
    let inspected = question.inspected.get(port)?;
    let part = inspected.conjuncts.get(conjunct)?.unparenthesized();
    let Kind::Binary { op, left, right } = part.kind() else { return None };
    let ad = free.ad(question.root.ad)?;
    let label = &ad.ports.list.get(port)?.label;
    let sides = [left, right].map(|side| reads_partner(side, &ad.ports, label));
    let (partner, mirrored) = match sides {
        [Some(true), Some(false)] => (left, false),
        [Some(false), Some(true)] => (right, true),
        _ => return None,
    };
    let offers = nearest_offers(question, port, &Obstacle::Conjunct(port, conjunct)).into_iter();
    let values: Vec<Value> = offers.filter_map(|pair| value(question, free, port, pair, partner)).collect();
    let value = match op {
        BinaryOp::Equal if [left, right].iter().any(|side| side.as_literal().is_some()) => most_frequent(&values)?,
        BinaryOp::Less | BinaryOp::LessEqual => nearest(&values, mirrored, *op == BinaryOp::Less)?,
        BinaryOp::Greater | BinaryOp::GreaterEqual => nearest(&values, !mirrored, *op == BinaryOp::Greater)?,
        _ => return None,
    };
    let [left, right] = match mirrored {
        false => [left.clone(), Expr::literal(value)],
        true => [Expr::literal(value), right.clone()],
    };
    Some(Expr::binary(*op, left, right))
}

/// The offers that an obstacle keeps from a port and that may be told, those against which the least stands.
fn nearest_offers<'q>(question: &Question<'q>, port: usize, obstacle: &Obstacle) -> Vec<&'q Pair> {
    let offers = question.inspected.get(port).map(|port| port.offers.as_slice()).unwrap_or_default();
    let is_kept = |pair: &&Pair| {
        let obstacles = own_obstacles(port, pair).unwrap_or_default();
        obstacles.contains(obstacle) && (question.may_tell)(pair.offer)
    };
    let kept: Vec<&Pair> = offers.iter().filter(is_kept).collect();
    let least = kept.iter().map(|pair| pair.own.len()).min();
    kept.into_iter().filter(|pair| Some(pair.own.len()) == least).collect()
}

/// Whether an expression of a port reads the partner at it. None if it may read what is not written in it, or another partner.
fn reads_partner(expr: &Expr, ports: &Ports, label: &Name) -> Option<bool> {
    if is_reflective(expr) {
        return None;
    }
    let mut reads = false;
    for path in references(expr) {
        let first = path.first()?;
        let is_word = |word: &str| first.as_str().eq_ignore_ascii_case(word);
        let partner = first == label || (ports.implicit && (is_word("other") || is_word("target")));
        if !partner && ports.list.iter().any(|port| port.label == *first) {
            return None;
        }
        reads |= partner || (ports.implicit && ports.body.place(first).is_none());
    }
    Some(reads)
}

/// The largest number, or the smallest.
fn nearest(values: &[Value], largest: bool, strict: bool) -> Option<Value> {
    let real = |value: &Value| match value {
        #[expect(clippy::cast_precision_loss, reason = "only to compare")]
        Value::Integer(number) => Some(*number as f64),
        Value::Real(number) if number.is_finite() => Some(*number),
        _ => None,
    };
    let numbers = values.iter().filter_map(|value| Some((real(value)?, value)));
    let best = numbers.reduce(|best, next| {
        let is_nearer = if largest { next.0 > best.0 } else { next.0 < best.0 };
        if is_nearer { next } else { best }
    });
    match best?.1 {
        Value::Integer(number) if strict => Some(Value::Integer(number.checked_add(if largest { -1 } else { 1 })?)),
        value if !strict => Some(value.clone()),
        _ => None,
    }
}

/// The value that most offers have; of several the smallest.
fn most_frequent(values: &[Value]) -> Option<Value> {
    let mut counts: BTreeMap<String, (usize, &Value)> = BTreeMap::new();
    for value in values {
        if let Value::String(_) | Value::Integer(_) | Value::Boolean(_) = value {
            counts.entry(Expr::literal(value.clone()).to_string()).or_insert((0, value)).0 += 1;
        }
    }
    let best = counts.into_values().rev().max_by_key(|(count, _)| *count)?;
    Some(best.1.clone())
}

/// A smaller amount of a resource of which every offer has too little: the most that one has.
pub(super) fn less(question: &Question<'_>, port: usize) -> Option<Change> {
    let mut best: BTreeMap<&str, i64> = BTreeMap::new();
    for pair in nearest_offers(question, port, &Obstacle::Request(port)) {
        let capacity = &question.pool.ad(pair.offer).and_then(PoolAd::offer)?.capacity;
        let asked = pair.asked.iter().flatten();
        let over: Vec<(&str, i64)> = asked
            .filter_map(|(name, amount)| Some((name.as_str(), *capacity.get(name)?)).filter(|(_, all)| amount > all))
            .collect();
        if let [(name, all)] = over.as_slice() {
            let most = best.entry(name).or_insert(*all);
            *most = (*most).max(*all);
        }
    }
    let (resource, amount) = best.into_iter().next()?;
    (amount > 0).then(|| Change::Request { port, resource: resource.to_owned(), amount })
}

/// The value of an expression of a port of the root's, with one offer bound there.
fn value(question: &Question<'_>, pool: &Snapshot, port: usize, pair: &Pair, expr: &Expr) -> Option<Value> {
    bound(question, pool, port, pair)?.value_at_parent(1, expr)
}

fn bound<'s>(question: &'s Question<'_>, pool: &'s Snapshot, port: usize, pair: &Pair) -> Option<Assembly<'s>> {
    let mut assembly = Assembly::start(pool, question.root.ad, question.config, question.now)?;
    assembly.seat(pair.offer, pool.ad(pair.offer)?, Some(Edge::new(0, port, pair.via)));
    assembly.connect(1);
    Some(assembly)
}

/// How many open offers agree at the port of the first change once the root has these ports. None if other partners have a say.
pub(super) fn agreeing(
    question: &Question<'_>,
    free: &Snapshot,
    ports: &Arc<Ports>,
    changes: &[Change],
) -> Option<u64> {
    let port = changes.first()?.port();
    let is_joint = |found: &Inspected| {
        !found.joint.is_empty() || found.offers.iter().any(|pair| !pair.joint.is_empty() && pair.agrees())
    };
    question.inspected.get(port).filter(|found| !is_joint(found))?;
    let varied = free.with_ports(question.root.ad, ports);
    let found = crate::inspect::inspect_one(&varied, question.root.ad, port, question.config, question.now)?;
    let agree = found.offers.iter().filter(|pair| pair.agrees() && pair.open && pair.joint.is_empty());
    u64::try_from(agree.count()).ok().filter(|count| *count > 0)
}
