//! Binary heaps of siblings, all in one list: a cycle makes a heap for each node, and changes the tops of a few with each gang.

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
pub(super) struct Heaps {
    places: Vec<Place>,
    /// By node: where its heap begins, and how many places it has. There is room for all children.
    spans: Vec<Span>,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    begin: usize,
    len: usize,
}

impl Heaps {
    /// Empty heaps for the nodes of a tree.
    pub(super) fn of(tree: &Tree) -> Heaps {
        let mut spans = Vec::with_capacity(tree.len());
        let mut begin = 0;
        for node in (0..tree.len()).map(Node::at) {
            spans.push(Span { begin, len: 0 });
            begin += tree.children(node).len();
        }
        Heaps { places: vec![Place { usage: 0, node: Node::POOL }; begin], spans }
    }

    /// Takes all places away.
    pub(super) fn clear(&mut self) {
        self.spans.iter_mut().for_each(|span| span.len = 0);
    }

    /// The child at the top of the heap of a node.
    pub(super) fn first(&self, parent: Node) -> Option<Node> {
        let span = self.spans.get(parent.place()).filter(|span| span.len > 0)?;
        self.places.get(span.begin).map(|place| place.node)
    }

    /// Whether there is a child in the heap of a node.
    pub(super) fn has_any(&self, parent: Node) -> bool {
        self.spans.get(parent.place()).is_some_and(|span| span.len > 0)
    }

    /// Adds a child that is not in the heap; [`put_in_order`](Heaps::put_in_order) is called after the last one.
    pub(super) fn push(&mut self, parent: Node, place: Place) {
        let Some(span) = self.spans.get_mut(parent.place()) else { return };
        self.places.get_mut(span.begin + span.len).into_iter().for_each(|own| *own = place);
        span.len += 1;
    }

    /// Makes heaps of what was pushed.
    pub(super) fn put_in_order(&mut self) {
        for node in (0..self.spans.len()).map(Node::at) {
            let heap = self.heap(node);
            make_heap(heap);
        }
    }

    /// Puts a child where it now belongs, by what it has used and holds. For the child at the top, that takes the logarithm of the number of its
    /// siblings. The usage of an only child is not asked for: siblings leave, and none comes back.
    pub(super) fn replace(&mut self, parent: Node, node: Node, usage: impl FnOnce() -> i128) {
        let heap = self.heap(parent);
        match heap {
            [only] if only.node == node => {}
            [first, ..] if first.node == node => sift_down(heap, 0, Place { usage: usage(), node }),
            _ => self.insert_anew(parent, Place { usage: usage(), node }),
        }
    }

    /// Puts a child where it belongs that is not at the top: it is not its turn.
    #[cold]
    fn insert_anew(&mut self, parent: Node, place: Place) {
        self.remove(parent, place.node);
        self.push(parent, place);
        make_heap(self.heap(parent));
    }

    /// Takes a child away, if it is in the heap.
    pub(super) fn remove(&mut self, parent: Node, child: Node) {
        let heap = self.heap(parent);
        let Some(place) = heap.iter().position(|place| place.node == child) else { return };
        let last = heap.len() - 1;
        heap.swap(place, last);
        if let Some(span) = self.spans.get_mut(parent.place()) {
            span.len = last;
        }
        let heap = self.heap(parent);
        match heap.first().copied() {
            Some(moved) if place == 0 => sift_down(heap, 0, moved),
            _ => make_heap(heap),
        }
    }

    fn heap(&mut self, parent: Node) -> &mut [Place] {
        let Some(Span { begin, len }) = self.spans.get(parent.place()).copied() else { return &mut [] };
        self.places.get_mut(begin..begin + len).unwrap_or_default()
    }
}

/// Makes a heap of places in any order.
fn make_heap(heap: &mut [Place]) {
    for top in (0..heap.len() / 2).rev() {
        heap.get(top).copied().into_iter().for_each(|place| sift_down(heap, top, place));
    }
}

/// Puts a place where another one was, and moves it down until no child of it is before it.
fn sift_down(heap: &mut [Place], mut top: usize, own: Place) {
    loop {
        let left = (top << 1) | 1;
        let (next, first) = match heap.get(left..) {
            Some([one, other, ..]) if other.is_before(one) => (left + 1, *other),
            Some([one, ..]) => (left, *one),
            _ => break,
        };
        if own.is_before(&first) {
            break;
        }
        heap.get_mut(top).into_iter().for_each(|place| *place = first);
        top = next;
    }
    heap.get_mut(top).into_iter().for_each(|place| *place = own);
}
