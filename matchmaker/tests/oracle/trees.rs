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
    let ports = |place: usize| ads[place].ports.list.len();
    if ads[root.place()].ports.problem.is_some() {
        return Some(Vec::new());
    }
    let candidate = |place: usize| ads[place].ports.problem.is_none() && ads[place].offer().is_some();
    // Level by level: each partial tree with the ports that nobody is bound to yet, oldest first.
    let first =
        Growing { nodes: vec![(root.place(), None)], open: (0..ports(root.place())).map(|port| (0, port)).collect() };
    let (mut growing, mut whole) = (vec![first], Vec::new());
    while let Some(tree) = growing.pop() {
        let Some((parent, port)) = tree.open.first().copied() else {
            whole.push(in_pre_order(&tree.nodes));
            continue;
        };
        if whole.len() + growing.len() > most {
            return None;
        }
        if tree.nodes.len() >= config.members_max || tree.depth(parent) >= config.depth_max {
            continue;
        }
        for place in (0..ads.len()).filter(|place| candidate(*place) && !tree.has(*place)) {
            for via in 0..ports(place) {
                let mut grown = Growing { nodes: tree.nodes.clone(), open: tree.open[1..].to_vec() };
                let node = grown.nodes.len();
                grown.nodes.push((place, Some((parent, port, via))));
                grown.open.extend((0..ports(place)).filter(|port| *port != via).map(|port| (node, port)));
                growing.push(grown);
            }
        }
    }
    Some(whole)
}

struct Growing {
    nodes: Vec<Node>,
    open: Vec<(usize, usize)>,
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
