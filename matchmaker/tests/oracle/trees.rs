//! A root into all complete trees that the number of ports allows, whatever the constraints say.

use matchmaker::{AdId, Config, Snapshot};

/// An ad's place, and (parent, the parent's port, its own port) for all but the root.
pub(crate) type Node = (usize, Option<(usize, usize, usize)>);

/// A tree of ads: for every node its ad's place and (parent, the parent's port, its own port); pre-order, ports ascending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
}

/// All trees; `None` if there are more than `most`.
pub(crate) fn trees(pool: &Snapshot, root: AdId, config: &Config, most: usize) -> Option<Vec<Tree>> {
    let ads: Vec<_> = pool.ads().map(|(_, ad)| ad).collect();
    let open = |node: usize, place: usize, via: Option<usize>| {
        let ports = (0..ads[place].ports.list.len()).filter(move |port| Some(*port) != via);
        ports.map(move |port| Open { node, port, last: None })
    };
    if ads[root.place()].ports.problem.is_some() {
        return Some(Vec::new());
    }
    let candidate = |place: usize| ads[place].ports.problem.is_none() && ads[place].offer().is_some();
    // Level by level: each partial tree with the ports that nobody is bound to yet, oldest first.
    let first = Growing { nodes: vec![(root.place(), None)], open: open(0, root.place(), None).collect() };
    let (mut growing, mut whole) = (vec![first], Vec::new());
    while let Some(tree) = growing.pop() {
        let Some(Open { node: parent, port, last }) = tree.open.first().copied() else {
            whole.push(in_pre_order(&tree.nodes));
            continue;
        };
        if whole.len() + growing.len() > most {
            return None;
        }
        let is_counted = ads[tree.nodes[parent].0].ports.list[port].set.is_some();
        if last.is_some() {
            // The set may be complete as it is.
            growing.push(Growing { nodes: tree.nodes.clone(), open: tree.open[1..].to_vec() });
        }
        if tree.nodes.len() >= config.members_max || tree.depth(parent) >= config.depth_max {
            continue;
        }
        let later = |place: &usize| last.is_none_or(|last| *place > last);
        for place in (0..ads.len()).filter(|place| candidate(*place) && !tree.has(*place)).filter(later) {
            for via in (0..ads[place].ports.list.len()).filter(|via| ads[place].ports.list[*via].set.is_none()) {
                let mut grown = Growing { nodes: tree.nodes.clone(), open: tree.open[1..].to_vec() };
                if is_counted {
                    grown.open.insert(0, Open { node: parent, port, last: Some(place) });
                }
                let node = grown.nodes.len();
                grown.nodes.push((place, Some((parent, port, via))));
                grown.open.extend(open(node, place, Some(via)));
                growing.push(grown);
            }
        }
    }
    Some(whole)
}

/// A port that is not bound yet, or a counted one whose set may grow by ads after the last one.
#[derive(Clone, Copy)]
struct Open {
    node: usize,
    port: usize,
    last: Option<usize>,
}

struct Growing {
    nodes: Vec<Node>,
    open: Vec<Open>,
}

impl Growing {
    fn has(&self, place: usize) -> bool {
        self.nodes.iter().any(|(ad, _)| *ad == place)
    }

    fn depth(&self, node: usize) -> usize {
        self.nodes[node].1.map_or(0, |(parent, _, _)| self.depth(parent) + 1)
    }
}

fn in_pre_order(nodes: &[Node]) -> Tree {
    let mut out = Vec::new();
    // (node, its parent in the new numbering), last first
    let mut pending = vec![(0, None)];
    while let Some((node, parent)) = pending.pop() {
        let (ad, edge) = nodes[node];
        let number = out.len();
        out.push((ad, edge.map(|(_, port, via)| (parent.unwrap(), port, via))));
        let mut children: Vec<(usize, usize)> = nodes
            .iter()
            .enumerate()
            .filter_map(|(child, (_, edge))| edge.filter(|edge| edge.0 == node).map(|edge| (edge.1, child)))
            .collect();
        children.sort_unstable_by(|a, b| b.cmp(a));
        pending.extend(children.into_iter().map(|(_, child)| (child, Some(number))));
    }
    Tree { nodes: out }
}
