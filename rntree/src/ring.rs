//! The ring of Chord: which node answers for which key, and which node is the parent of which in the tree.

/// The number of a node or of a job on the ring, below 2^[`ID_BITS`].
pub type Id = u64;

/// How many bits an id has: as many as in the paper's figure 2. (Chord itself has 160.)
pub const ID_BITS: u32 = 48;

/// The ids of the nodes that are present. They are kept as a sorted list: a lookup is a binary search, and to insert one of some thousand
/// nodes moves less memory than a tree would touch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ring {
    /// Ascending, distinct.
    ids: Vec<Id>,
    /// See [`Ring::lookup_hops`].
    lookup_hops: f64,
}

impl Ring {
    /// Takes ids in any order; each counts once.
    #[must_use]
    pub fn new(ids: impl IntoIterator<Item = Id>) -> Ring {
        let mut ids: Vec<Id> = ids.into_iter().collect();
        ids.sort_unstable();
        ids.dedup();
        let lookup_hops = hops(ids.len());
        Ring { ids, lookup_hops }
    }

    /// All ids, ascending.
    #[must_use]
    pub fn ids(&self) -> &[Id] {
        &self.ids
    }

    /// Adds a node; nothing changes if it is there.
    pub fn insert(&mut self, node: Id) {
        if let Err(place) = self.ids.binary_search(&node) {
            self.ids.insert(place, node);
            self.lookup_hops = hops(self.ids.len());
        }
    }

    /// Takes a node out; nothing changes if it is not there.
    pub fn remove(&mut self, node: Id) {
        if let Ok(place) = self.ids.binary_search(&node) {
            self.ids.remove(place);
            self.lookup_hops = hops(self.ids.len());
        }
    }

    /// The node that answers for a key: the first one at or after it, on a ring that wraps. None only of an empty ring.
    #[must_use]
    pub fn successor(&self, key: Id) -> Option<Id> {
        let place = self.ids.partition_point(|id| *id < key);
        self.ids.get(place).or(self.ids.first()).copied()
    }

    /// The node before a node (or a key) on the ring; a node that is alone is its own. None only of an empty ring.
    #[must_use]
    pub fn predecessor(&self, node: Id) -> Option<Id> {
        let place = self.ids.partition_point(|id| *id < node);
        place.checked_sub(1).and_then(|place| self.ids.get(place)).or(self.ids.last()).copied()
    }

    /// How many messages a lookup takes: half of the logarithm of the number of nodes, the mean that the paper on Chord measures.
    #[must_use]
    pub fn lookup_hops(&self) -> f64 {
        self.lookup_hops
    }

    /// The root of the tree: the node that answers for key 0, which is the smallest id.
    #[must_use]
    pub fn root(&self) -> Option<Id> {
        self.ids.first().copied()
    }

    /// The parent of a node that is present, by what the node can learn alone (the paper's equation 1); none of the root.
    #[must_use]
    pub fn parent(&self, node: Id) -> Option<Id> {
        if self.root() == Some(node) {
            return None;
        }
        self.successor(parent_key(self.predecessor(node)?))
    }
}

fn hops(nodes: usize) -> f64 {
    0.5 * libm::log2(crate::real(nodes.max(1)))
}

/// The key whose successor is the parent of a node with this predecessor: half of the first key that the node answers for, rounded down
/// (the paper does not say how it rounds).
pub(crate) fn parent_key(predecessor: Id) -> Id {
    predecessor.div_ceil(2)
}
