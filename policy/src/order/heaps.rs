//! Binary heaps of siblings: a cycle makes a heap for each node, and changes the tops of a few with each gang.

use crate::tree::{Node, Tree};

/// A node among its siblings: the smaller the sooner. Nodes are in the order of their names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The charge that was used and is held in its subtree, over its weight; exact, see [`normalized`](crate::amounts::normalized).
    pub(super) usage: i128,
    pub(super) node: Node,
}

impl Place {
    fn is_before(&self, other: &Place) -> bool {
        #[cfg(test)]
        super::tests::count_comparison();
        self.usage < other.usage || self.usage == other.usage && self.node < other.node
    }
}

/// For each node a heap of children, the smallest at the top. Within a cycle a child only moves backwards, and only the first one does.
#[derive(Clone, Debug)]
pub(super) struct Heaps(Vec<Vec<Place>>);

impl Heaps {
    /// Empty heaps for the nodes of a tree, with room for all children.
    pub(super) fn of(tree: &Tree) -> Heaps {
        let heap = |node| Vec::with_capacity(tree.children(node).len());
        Heaps((0..tree.len()).map(Node::at).map(heap).collect())
    }

    /// Takes all places away.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// The child at the top of the heap of a node.
    #[inline]
    pub(super) fn first(&self, parent: Node) -> Option<Node> {
        self.0.get(parent.place())?.first().map(|place| place.node)
    }

    /// Adds a child that is not in the heap; [`put_in_order`](Heaps::put_in_order) is called after the last one.
    pub(super) fn push(&mut self, parent: Node, place: Place) {
        self.0.get_mut(parent.place()).into_iter().for_each(|heap| heap.push(place));
    }

    /// Makes heaps of what was pushed.
    pub(super) fn put_in_order(&mut self) {
        self.0.iter_mut().for_each(|heap| make_heap(heap));
    }

    /// Puts a child where it now belongs, by what it has used and holds. For the child at the top, that takes the logarithm of the number of its
    /// siblings. The usage of an only child is not asked for: siblings leave, and none comes back.
    #[inline]
    pub(super) fn replace(&mut self, parent: Node, node: Node, usage: impl FnOnce() -> i128) {
        let Some(heap) = self.0.get_mut(parent.place()) else { return };
        match heap.as_slice() {
            [only] if only.node == node => {}
            [first, ..] if first.node == node => sift_down(heap, 0, Place { usage: usage(), node }),
            _ => insert_anew(heap, Place { usage: usage(), node }),
        }
    }

    /// Takes a child away, if it is in the heap.
    pub(super) fn remove(&mut self, parent: Node, child: Node) {
        self.0.get_mut(parent.place()).into_iter().for_each(|heap| remove(heap, child));
    }
}

/// Puts a child where it belongs that is not at the top: it is not its turn.
#[cold]
fn insert_anew(heap: &mut Vec<Place>, place: Place) {
    remove(heap, place.node);
    heap.push(place);
    make_heap(heap);
}

fn remove(heap: &mut Vec<Place>, child: Node) {
    let Some(place) = heap.iter().position(|place| place.node == child) else { return };
    heap.swap_remove(place);
    match heap.first().copied() {
        Some(moved) if place == 0 => sift_down(heap, 0, moved),
        _ => make_heap(heap),
    }
}

/// Makes a heap of places in any order.
fn make_heap(heap: &mut [Place]) {
    for top in (0..heap.len() / 2).rev() {
        heap.get(top).copied().into_iter().for_each(|place| sift_down(heap, top, place));
    }
}

/// Puts a place where another one was, and moves it down until no child of it is before it.
#[inline]
fn sift_down(heap: &mut [Place], mut top: usize, own: Place) {
    loop {
        let left = (top << 1) | 1;
        let (next, first) = match heap.get(left..) {
            Some([one, other, ..]) if other.is_before(one) => (left + 1, *other),
            Some([one, ..]) => (left, *one),
            _ => break,
        };
        if !first.is_before(&own) {
            break;
        }
        heap.get_mut(top).into_iter().for_each(|place| *place = first);
        top = next;
    }
    heap.get_mut(top).into_iter().for_each(|place| *place = own);
}
