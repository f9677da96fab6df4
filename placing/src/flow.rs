//! Windows that are a flow, in which the most that can be placed is found exactly.
//!
//! They are those in which each column takes one unit of a *first* resource and perhaps one of a *second* one, and which second resources go
//! with a first one does not depend on the root: a machine, and a seat that is valid there for everybody. Then every path from a root over
//! one of its first resources and one of the second resources that go with that is one of its columns, so that placements are the integral
//! flows of a network. From the result in turn on, flow is added along the shortest paths that are left (E. Dinic, *Algorithm for solution
//! of a problem of maximum flow in networks with power estimation*, 1970). Adding flow never takes a
//! root's flow away, so a root that has a gang in turn keeps one.

use std::collections::{BTreeMap, BTreeSet};

use crate::best::Steps;
use crate::model::{Choice, Column, Lists, Take, Window};

/// So many edges are looked at in the time in which a walk looks at a column.
const EDGES_AT_ONCE: usize = 8;
const SOURCE: usize = 0;
const SINK: usize = 1;

/// The choices with the most roots placed, and whether no more are possible, which is not known if there are too few steps. Every root that
/// has a column in turn has one. `None` if the window is no flow.
pub(crate) fn most(window: &Window, steps: &mut Steps) -> Option<(Vec<Choice>, bool)> {
    let paths = Paths::of(window)?;
    let mut network = Network::of(&paths);
    for (root, list) in window.roots.iter().zip(&paths.lists.of) {
        let Some(column) = root.in_turn.and_then(|number| root.columns.get(number)) else { continue };
        network.send(*list, paths.path(column)?);
    }
    let is_most = network.fill(steps);
    Some((paths.choices(window, &mut network), is_most))
}

/// The way of a column: the first resource, and the second one, if there is one.
type Path = (usize, Option<usize>);

/// The paths of a window that is a flow.
struct Paths<'w> {
    window: &'w Window,
    lists: Lists,
    /// By resource: it is a first one where it is taken with another one.
    is_first: Vec<bool>,
    /// By first resource: the second ones that go with it, `None` for a column without a second one.
    seconds: BTreeMap<usize, BTreeSet<Option<usize>>>,
}

impl<'w> Paths<'w> {
    fn of(window: &'w Window) -> Option<Paths<'w>> {
        let mut likeness = window.roots.iter().map(|root| (root.has_more, root.counts(), root.band));
        let first = likeness.next()?;
        if first.0 || likeness.any(|other| other != first) {
            return None;
        }
        let lists = window.lists();
        let sides = sides(window, &lists)?;
        let seconds = seconds(window, &lists);
        // by component: whether its first resources may be those of one side, and of the other
        let components = sides.iter().flatten().map(|side| side.component).max().map_or(0, |last| last + 1);
        let mut may_be_first = vec![[true; 2]; components];
        for (of, seconds) in sides.iter().zip(&seconds) {
            let Some(own) = of.and_then(|of| may_be_first.get_mut(of.component)?.get_mut(usize::from(of.side))) else {
                continue;
            };
            *own &= !matches!(seconds, Seconds::Differ);
        }
        if may_be_first.contains(&[false; 2]) {
            return None;
        }
        let is_first = |side: Side| may_be_first.get(side.component).is_some_and(|[one, _]| side.side != *one);
        let is_first: Vec<bool> = sides.iter().map(|side| side.is_some_and(is_first)).collect();
        let of_firsts = seconds.into_iter().enumerate().filter(|(resource, _)| is_first.get(*resource) == Some(&true));
        let seconds = of_firsts.filter_map(|(resource, seconds)| match seconds {
            Seconds::Are(seconds) => Some((resource, seconds)),
            Seconds::Unknown | Seconds::Differ => None,
        });
        Some(Paths { window, lists, seconds: seconds.collect(), is_first })
    }

    fn is_first(&self, resource: usize) -> bool {
        self.is_first.get(resource).copied().unwrap_or(false)
    }

    fn path(&self, column: &Column) -> Option<Path> {
        let (one, other) = taken(column)?;
        Some(match other {
            Some(other) if !self.is_first(one) => (other, Some(one)),
            _ => (one, other),
        })
    }

    /// The columns of a flow. Roots keep the columns that they have in turn where the flow allows it.
    fn choices(&self, window: &Window, network: &mut Network) -> Vec<Choice> {
        let mut numbers: Vec<BTreeMap<Path, usize>> = Vec::new();
        for columns in self.lists.all.iter() {
            let mut of_list = BTreeMap::new();
            for (number, column) in columns.iter().enumerate() {
                let Some(path) = self.path(column) else { continue };
                of_list.entry(path).or_insert(number);
            }
            numbers.push(of_list);
        }
        let mut choices = vec![None; window.roots.len()];
        let roots = || window.roots.iter().zip(&self.lists.of).enumerate();
        for (number, (root, list)) in roots() {
            let Some(column) = root.in_turn.and_then(|number| root.columns.get(number)) else { continue };
            let is_kept = self.path(column).is_some_and(|path| network.take_back(*list, path));
            choices.get_mut(number).into_iter().filter(|_| is_kept).for_each(|choice| *choice = root.in_turn);
        }
        // those that have one in turn, then the others
        for in_turn in [true, false] {
            for (number, (_, list)) in roots().filter(|(_, (root, _))| root.in_turn.is_some() == in_turn) {
                let Some(choice) = choices.get_mut(number).filter(|choice| choice.is_none()) else { continue };
                let of_list = numbers.get(*list);
                *choice = network.take_any(*list).and_then(|path| of_list?.get(&path).copied());
            }
        }
        choices
    }
}

/// What goes with a resource that is a first one.
#[derive(Clone, Debug)]
enum Seconds {
    /// It is taken by no column.
    Unknown,
    /// These, `None` for a column without a second one.
    Are(BTreeSet<Option<usize>>),
    /// That depends on the root.
    Differ,
}

/// By resource: what would go with it if it were a first one. Each column is looked at once, whatever the number of resources.
fn seconds(window: &Window, lists: &Lists) -> Vec<Seconds> {
    let mut known = vec![Seconds::Unknown; window.free.len()];
    for columns in lists.all.iter() {
        let mut own: BTreeMap<usize, BTreeSet<Option<usize>>> = BTreeMap::new();
        for (one, other) in columns.iter().filter_map(taken) {
            own.entry(one).or_default().insert(other);
            other.into_iter().for_each(|other| _ = own.entry(other).or_default().insert(Some(one)));
        }
        for (first, seconds) in own {
            let Some(known) = known.get_mut(first) else { continue };
            *known = match std::mem::replace(known, Seconds::Differ) {
                Seconds::Unknown => Seconds::Are(seconds),
                Seconds::Are(before) if before == seconds => Seconds::Are(before),
                Seconds::Are(_) | Seconds::Differ => Seconds::Differ,
            };
        }
    }
    known
}

/// What a column takes, if it is one unit of each of one or two resources.
fn taken(column: &Column) -> Option<Path> {
    match *column.takes.as_slice() {
        [Take::Units { resource, amount: 1 }] => Some((resource, None)),
        [Take::Units { resource, amount: 1 }, Take::Units { resource: other, amount: 1 }] => {
            Some((resource, Some(other)))
        }
        _ => None,
    }
}

/// Where a resource is among those that are taken together.
#[derive(Clone, Copy)]
struct Side {
    component: usize,
    side: bool,
}

/// Divides the resources so that those that are taken together are on different sides; none of a resource that is not taken. `None` if that
/// is impossible, or a column takes something else.
fn sides(window: &Window, lists: &Lists) -> Option<Vec<Option<Side>>> {
    let mut with: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); window.free.len()];
    let mut is_taken = vec![false; window.free.len()];
    for column in lists.all.iter().flat_map(|columns| columns.iter()) {
        let (one, other) = taken(column)?;
        *is_taken.get_mut(one)? = true;
        if let Some(other) = other {
            *is_taken.get_mut(other)? = true;
            with.get_mut(one)?.insert(other);
            with.get_mut(other)?.insert(one);
        }
    }
    let mut sides: Vec<Option<Side>> = vec![None; window.free.len()];
    let mut component = 0;
    for start in is_taken.iter().enumerate().filter(|(_, is_taken)| **is_taken).map(|(resource, _)| resource) {
        if sides.get(start)?.is_some() {
            continue;
        }
        *sides.get_mut(start)? = Some(Side { component, side: false });
        let mut open = vec![start];
        while let Some(resource) = open.pop() {
            let side = !sides.get(resource).copied().flatten()?.side;
            for other in with.get(resource)? {
                match sides.get_mut(*other)? {
                    Some(known) if known.side != side => return None,
                    Some(_) => {}
                    unknown => {
                        *unknown = Some(Side { component, side });
                        open.push(*other);
                    }
                }
            }
        }
        component += 1;
    }
    Some(sides)
}

/// Lists of columns, resources, and what flows between them. An edge and the one back have the numbers 2 n and 2 n + 1.
struct Network {
    /// By node: its edges.
    edges: Vec<Vec<usize>>,
    /// By edge: where it leads to.
    to: Vec<usize>,
    /// By edge: how much more may flow. Of an edge back that is what flows.
    room: Vec<u64>,
    /// By list: the edge from the source.
    entries: Vec<usize>,
    /// By list: the edges to first resources.
    firsts: Vec<BTreeMap<usize, usize>>,
    /// By resource: the edge through it, which has room for what is free.
    through: Vec<usize>,
    /// By first resource: the edges to what goes with it.
    seconds: BTreeMap<usize, BTreeMap<Option<usize>, usize>>,
}

impl Network {
    fn of(paths: &Paths<'_>) -> Network {
        let Paths { window, lists, .. } = paths;
        let mut network = Network {
            edges: vec![Vec::new(); 2],
            to: Vec::new(),
            room: Vec::new(),
            entries: Vec::new(),
            firsts: Vec::new(),
            through: Vec::new(),
            seconds: BTreeMap::new(),
        };
        let mut gates = Vec::new();
        for free in &window.free {
            let (from, to) = (network.node(), network.node());
            gates.push((from, to));
            let edge = network.edge(from, to, *free);
            network.through.push(edge);
        }
        let gate = |resource: usize| gates.get(resource).copied().unwrap_or((SINK, SINK));
        for (first, seconds) in &paths.seconds {
            for second in seconds {
                let edge = network.edge(gate(*first).1, second.map_or(SINK, |second| gate(second).0), u64::MAX / 4);
                network.seconds.entry(*first).or_default().insert(*second, edge);
            }
        }
        // whatever goes to a second resource, or to it alone, ends there
        for (resource, (_, to)) in gates.iter().enumerate().filter(|(resource, _)| !paths.is_first(*resource)) {
            let edge = network.edge(*to, SINK, u64::MAX / 4);
            network.seconds.entry(resource).or_default().insert(None, edge);
        }
        for columns in lists.all.iter() {
            let node = network.node();
            let entry = network.edge(SOURCE, node, 0);
            network.entries.push(entry);
            let firsts: BTreeSet<usize> = columns.iter().filter_map(|column| Some(paths.path(column)?.0)).collect();
            let edges = firsts.into_iter().map(|first| (first, network.edge(node, gate(first).0, u64::MAX / 4)));
            let edges = edges.collect();
            network.firsts.push(edges);
        }
        for list in &lists.of {
            let entry = network.entries.get(*list).copied().and_then(|entry| network.room.get_mut(entry));
            entry.into_iter().for_each(|room| *room += 1);
        }
        network
    }

    fn node(&mut self) -> usize {
        self.edges.push(Vec::new());
        self.edges.len() - 1
    }

    fn edge(&mut self, from: usize, to: usize, room: u64) -> usize {
        let number = self.to.len();
        self.to.extend([to, from]);
        self.room.extend([room, 0]);
        for (node, edge) in [(from, number), (to, number + 1)] {
            self.edges.get_mut(node).into_iter().for_each(|edges| edges.push(edge));
        }
        number
    }

    fn room(&self, edge: usize) -> u64 {
        self.room.get(edge).copied().unwrap_or(0)
    }

    /// Lets more flow through an edge, for which there is room.
    fn push(&mut self, edge: usize, amount: u64) {
        if let [Some(room), Some(back)] = [edge, edge ^ 1].map(|edge| self.room.get(edge).copied()) {
            self.room.get_mut(edge).into_iter().for_each(|left| *left = room.saturating_sub(amount));
            self.room.get_mut(edge ^ 1).into_iter().for_each(|left| *left = back.saturating_add(amount));
        }
    }

    /// The edges of a path, as they are named.
    fn named(&self, list: usize, (first, second): Path) -> Option<[usize; 2]> {
        Some([*self.firsts.get(list)?.get(&first)?, *self.seconds.get(&first)?.get(&second)?])
    }

    /// Sends the flow of a root along a path.
    fn send(&mut self, list: usize, path: Path) {
        let Some(named) = self.named(list, path) else { return };
        let through = |resource: usize| self.through.get(resource).copied();
        let entry = self.entries.get(list).copied();
        let last = path.1.and_then(|second| self.seconds.get(&second)?.get(&None).copied());
        let gates = [through(path.0), path.1.and_then(through)];
        let edges: Vec<usize> = entry.into_iter().chain(named).chain(gates.into_iter().flatten()).chain(last).collect();
        edges.into_iter().for_each(|edge| self.push(edge, 1));
    }

    /// Takes the flow of a root along a path out of what is to be given to roots, if it flows there.
    fn take_back(&mut self, list: usize, path: Path) -> bool {
        let Some(named) = self.named(list, path).filter(|named| named.iter().all(|edge| self.room(edge ^ 1) > 0))
        else {
            return false;
        };
        named.into_iter().for_each(|edge| self.push(edge ^ 1, 1));
        true
    }

    /// A path on which something flows, which is taken out.
    fn take_any(&mut self, list: usize) -> Option<Path> {
        let flows = |edge: &usize| self.room(edge ^ 1) > 0;
        let first = *self.firsts.get(list)?.iter().find(|(_, edge)| flows(edge))?.0;
        let second = *self.seconds.get(&first)?.iter().find(|(_, edge)| flows(edge))?.0;
        self.take_back(list, (first, second)).then_some((first, second))
    }

    /// Adds as much flow as there can be, or as the steps suffice for: whether there cannot be more.
    fn fill(&mut self, steps: &mut Steps) -> bool {
        loop {
            if !steps.spend(self.to.len().div_ceil(EDGES_AT_ONCE)) {
                return false;
            }
            let mut levels = self.levels();
            if levels.get(SINK).copied().flatten().is_none() {
                return true;
            }
            self.fill_shortest(&mut levels);
        }
    }

    /// How far nodes are from the source, over edges with room.
    fn levels(&self) -> Vec<Option<usize>> {
        let mut levels = vec![None; self.edges.len()];
        let mut open = vec![SOURCE];
        levels.get_mut(SOURCE).into_iter().for_each(|level| *level = Some(0));
        let mut level = 0;
        while !open.is_empty() {
            level += 1;
            let mut next = Vec::new();
            for edge in
                open.iter().filter_map(|node| self.edges.get(*node)).flatten().filter(|edge| self.room(**edge) > 0)
            {
                let Some(to) = self.to.get(*edge) else { continue };
                if let Some(unknown @ None) = levels.get_mut(*to) {
                    *unknown = Some(level);
                    next.push(*to);
                }
            }
            open = next;
        }
        levels
    }

    /// Adds flow along shortest paths until there are none; nodes from which there are none lose their levels.
    fn fill_shortest(&mut self, levels: &mut [Option<usize>]) {
        let mut tried = vec![0; self.edges.len()];
        let (mut path, mut node): (Vec<usize>, usize) = (Vec::new(), SOURCE);
        loop {
            if node == SINK {
                let amount = path.iter().map(|edge| self.room(*edge)).min().unwrap_or(0);
                path.drain(..).for_each(|edge| self.push(edge, amount));
                node = SOURCE;
                continue;
            }
            let level = levels.get(node).copied().flatten();
            let Some(next) = tried.get_mut(node) else { return };
            let edge = self.edges.get(node).and_then(|edges| edges.get(*next)).copied();
            match edge {
                Some(edge) => {
                    let to = self.to.get(edge).copied().unwrap_or(SOURCE);
                    let leads = level.is_some() && levels.get(to).copied().flatten() == level.map(|level| level + 1);
                    if leads && self.room(edge) > 0 {
                        path.push(edge);
                        node = to;
                    } else {
                        *next += 1;
                    }
                }
                None => {
                    levels.get_mut(node).into_iter().for_each(|level| *level = None);
                    let Some(edge) = path.pop() else { return };
                    node = self.to.get(edge ^ 1).copied().unwrap_or(SOURCE);
                }
            }
        }
    }
}
