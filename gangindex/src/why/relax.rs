//! What could be left out for there to be a gang: for one port the smallest sets of things that stand against one offer,
//! for a gang their combinations, tried.

use matchmaker::{Relaxation, Relaxed};

use super::explainer::{Explainer, Scenario};
use super::parts::Answered;
use super::view::{Dropped, View};
use crate::search::candidates::Known;
use crate::table::{Bits, as_u32};

/// How many ways are looked for at one port, how many combinations are tried, and how many are reported.
const PORT_MAX: usize = 8;
const TRIED_MAX: usize = 16;
/// How many of them where partners must agree with each other, which costs more to look at.
const TRIED_JOINED_MAX: usize = 2;
const TOLD_MAX: usize = 8;
/// Parts of one constraint beyond this are never left out.
const PARTS_MAX: usize = 62;

/// One thing that stands against rows.
#[derive(Clone, Copy)]
enum Obstacle {
    Owners,
    Request,
    Own(usize),
}

/// Ways to a gang; of none of them anything can be kept.
pub(crate) fn relaxations(explainer: &Explainer<'_>, known: &mut Known<'_>) -> Vec<Relaxation> {
    let mut ways: Vec<Vec<Dropped>> = vec![Vec::new()];
    let mut only_port = None;
    for (view, refusing) in explainer.views.iter().zip(explainer.refusing) {
        let of_port = minimal(view, refusing, explainer);
        only_port = Some(of_port.clone()).filter(|_| explainer.views.len() == 1);
        let longer = |way: &Vec<Dropped>| -> Vec<Vec<Dropped>> {
            of_port.iter().map(|(dropped, _)| way.iter().copied().chain([*dropped]).collect()).collect()
        };
        ways = ways.iter().flat_map(longer).take(TRIED_MAX).collect();
    }
    let joined = explainer.views.iter().any(View::is_joined);
    ways.sort_by_cached_key(|way| parts(way).len());
    ways.truncate(if joined { TRIED_JOINED_MAX } else { TRIED_MAX });
    let mut found: Vec<Relaxation> = Vec::new();
    for way in ways {
        let Some(way) = working(way, joined, explainer, known) else { continue };
        let offers = only_port
            .as_ref()
            .filter(|_| !joined)
            .and_then(|port| port.iter().find(|(dropped, _)| way.first() == Some(dropped)).map(|(_, offers)| *offers));
        let relaxation = Relaxation { parts: parts(&way), offers };
        if !relaxation.parts.is_empty() && !found.contains(&relaxation) {
            found.push(relaxation);
        }
        if found.len() >= TOLD_MAX {
            break;
        }
    }
    found.sort_by_key(|way| (way.parts.len(), std::cmp::Reverse(way.offers), way.parts.clone()));
    found
}

/// A way that leads to a gang, as short as it can be made.
fn working(
    mut way: Vec<Dropped>,
    joined: bool,
    explainer: &Explainer<'_>,
    known: &mut Known<'_>,
) -> Option<Vec<Dropped>> {
    let mut exists = |way: &[Dropped]| explainer.exists(&Scenario { dropped: way, skipped: 0, excluded: None }, known);
    let added = !exists(&way)?;
    if added {
        if !joined {
            return None;
        }
        for (dropped, view) in way.iter_mut().zip(explainer.views) {
            let joins = view.own.iter().enumerate().filter(|(place, part)| *place < PARTS_MAX && part.join().is_some());
            dropped.own |= joins.fold(0, |bits, (place, _)| bits | 1u64 << place);
        }
        if !exists(&way)? {
            for (dropped, view) in way.iter_mut().zip(explainer.views) {
                dropped.owners |= view.terms.iter().flat_map(|terms| &terms.parts).any(|part| part.join().is_some());
            }
            if !exists(&way)? {
                return None;
            }
        }
    }
    // The smallest sets of single ports are the smallest for all of them, unless more was added.
    if added {
        for part in parts(&way) {
            let shorter = without(&way, part);
            // Where only the evaluator knows, nothing is claimed.
            if exists(&shorter)? {
                way = shorter;
            }
        }
    }
    Some(way)
}

fn parts(way: &[Dropped]) -> Vec<Relaxed> {
    let mut parts = Vec::new();
    for (port, dropped) in way.iter().enumerate() {
        let own = (0..64usize).filter(|place| dropped.drops(*place));
        parts.extend(own.map(|conjunct| Relaxed::Conjunct { port, conjunct }));
        parts.extend(dropped.request.then_some(Relaxed::Request { port }));
        parts.extend(dropped.owners.then_some(Relaxed::Owners { port }));
    }
    parts.sort_unstable();
    parts
}

fn without(way: &[Dropped], part: Relaxed) -> Vec<Dropped> {
    let mut way = way.to_vec();
    let (Relaxed::Conjunct { port, .. } | Relaxed::Request { port } | Relaxed::Owners { port }) = part;
    if let Some(dropped) = way.get_mut(port) {
        match part {
            Relaxed::Conjunct { conjunct, .. } => dropped.own &= !(1u64 << (conjunct & 63)),
            Relaxed::Request { .. } => dropped.request = false,
            Relaxed::Owners { .. } => dropped.owners = false,
        }
    }
    way
}

/// The smallest sets of things that stand against some row of a port, and against how many rows exactly those.
fn minimal(view: &View, refusing: &Bits, explainer: &Explainer<'_>) -> Vec<(Dropped, u64)> {
    let mut remaining = view.admitted.clone();
    remaining.and(&explainer.pool.rows.giving);
    remaining.and_not(&view.unsure);
    remaining.and_not(&view.deep);
    let mut unfit = remaining.clone();
    unfit.and_not(&view.fits);
    let mut obstacles = vec![(Obstacle::Owners, refusing), (Obstacle::Request, &unfit)];
    for (place, part) in view.own.iter().enumerate() {
        match part {
            Answered::Fails { rows, .. } if place < PARTS_MAX => obstacles.push((Obstacle::Own(place), rows)),
            Answered::Fails { rows, .. } => remaining.and_not(rows),
            _ => {}
        }
    }
    if view.own_missing {
        return Vec::new();
    }
    let mut found = Vec::new();
    while remaining.any() && found.len() < PORT_MAX {
        let mut rows = remaining.clone();
        let mut needed: Vec<(Obstacle, &Bits)> = Vec::new();
        for (obstacle, fails) in &obstacles {
            let mut rest = rows.clone();
            rest.and_not(fails);
            if rest.any() {
                rows = rest;
            } else {
                needed.push((*obstacle, fails));
            }
        }
        let mut dropped = Dropped::default();
        let mut same = remaining.clone();
        for (obstacle, fails) in &needed {
            same.and(fails);
            match obstacle {
                Obstacle::Owners => dropped.owners = true,
                Obstacle::Request => dropped.request = true,
                Obstacle::Own(place) => dropped.own |= 1u64 << place,
            }
        }
        found.push((dropped, u64::from(as_u32(rows.count()))));
        // What needs all of that and more is no smaller way.
        remaining.and_not(&same);
    }
    found
}
