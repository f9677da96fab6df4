//! Tournaments of siblings: a cycle plays one for each node, and plays a few matches of some of them again with each gang. With heaps, a cycle over
//! `gang --n 4000 --density 1 --selectivity 8` with accounts takes 51.8 instead of 51.6 million instructions; see [`Quotas`](crate::Quotas) for the limit.
//!
//! They are loser trees (Knuth, *The Art of Computer Programming*, volume 3, section 5.4.1): place 0 has the winner of all, and each other place `n`
//! the loser of one match. The winner of that match has gone on to the match at place `n / 2`. So to put the winner of all back, it is compared once
//! at each level, where a heap compares twice.

use crate::tree::{Node, Tree};

/// A node among its siblings: the smaller the sooner. Nodes are in the order of their names.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// The charge that was used and is held in its subtree, over its weight; exact, see [`normalized`](crate::amounts::normalized).
    usage: i128,
    node: Node,
    /// Where its first match is; 0 if it has no sibling.
    enters: usize,
}

/// The place of a child that has left: it comes after all others.
const GONE: Place = Place { usage: i128::MAX, node: Node::at(usize::MAX), enters: 0 };

impl Place {
    fn is_before(&self, other: &Place) -> bool {
        #[cfg(test)]
        super::tests::count_comparison();
        self.usage < other.usage || self.usage == other.usage && self.node < other.node
    }
}

/// For each node a tournament of children, which the smallest wins. Within a cycle a child only moves backwards, and only the winner does: it plays
/// again against those that have lost to it. A child that leaves loses all its matches.
#[derive(Clone, Debug)]
pub(super) struct Tournaments(Vec<Vec<Place>>);

impl Tournaments {
    /// Tournaments without players for the nodes of a tree, with room for all children.
    pub(super) fn of(tree: &Tree) -> Tournaments {
        let places = |node| Vec::with_capacity(tree.children(node).len());
        Tournaments((0..tree.len()).map(Node::at).map(places).collect())
    }

    /// Takes all players away.
    pub(super) fn clear(&mut self) {
        self.0.iter_mut().for_each(Vec::clear);
    }

    /// The child that is first below a node.
    #[inline]
    pub(super) fn first(&self, parent: Node) -> Option<Node> {
        self.0.get(parent.place())?.first().map(|winner| winner.node)
    }

    /// Adds a child that is not there; [`play`](Tournaments::play) is called after the last one.
    pub(super) fn push(&mut self, parent: Node, node: Node, usage: i128) {
        self.0.get_mut(parent.place()).into_iter().for_each(|places| places.push(Place { usage, node, enters: 0 }));
    }

    /// Plays all matches.
    pub(super) fn play(&mut self) {
        self.0.iter_mut().filter(|places| places.len() > 1).for_each(|places| play_all(places));
    }

    /// Puts a child where it now belongs, by what it has used and holds. For the first child, that takes the logarithm of the number of its siblings.
    #[inline]
    pub(super) fn replace(&mut self, parent: Node, node: Node, usage: i128) {
        let Some(places) = self.0.get_mut(parent.place()) else { return };
        match places.first() {
            Some(&Place { node: first, enters, .. }) if first == node => play_on(places, Place { usage, node, enters }),
            _ => replace_other(places, node, usage),
        }
    }

    /// Takes a child away, if it is there.
    pub(super) fn remove(&mut self, parent: Node, child: Node) {
        let Some(places) = self.0.get_mut(parent.place()) else { return };
        match places.first() {
            Some(&Place { node, enters, .. }) if node == child => play_on(places, Place { enters, ..GONE }),
            _ if places.iter().any(|place| place.node == child) => {
                places.retain(|place| place.node != child);
                play_all(places);
            }
            _ => {}
        }
        // Where the first one has left, all have.
        if places.first().is_some_and(|winner| winner.node == GONE.node) {
            places.clear();
        }
    }
}

/// Puts a child where it belongs that is not the first: it is not its turn.
#[cold]
fn replace_other(places: &mut [Place], node: Node, usage: i128) {
    places.iter_mut().filter(|place| place.node == node).for_each(|place| place.usage = usage);
    play_all(places);
}

/// Plays all matches between children in any order.
fn play_all(places: &mut [Place]) {
    let count = places.len();
    // By place of a match: the child that goes on from there. Behind these, all children.
    let mut winners = vec![GONE; count];
    winners.extend(places.iter().enumerate().map(|(number, place)| Place { enters: (count + number) / 2, ..*place }));
    for (at, place) in places.iter_mut().enumerate().skip(1).rev() {
        let Some(&[one, other]) = winners.get(2 * at..2 * at + 2) else { continue };
        let (winner, loser) = if other.is_before(&one) { (other, one) } else { (one, other) };
        *place = loser;
        winners.get_mut(at).into_iter().for_each(|place| *place = winner);
    }
    places.first_mut().zip(winners.get(1)).into_iter().for_each(|(place, winner)| *place = *winner);
}

/// A child plays its matches, from the first one on; the winner of each goes on to the next.
#[inline]
fn play_on(places: &mut [Place], mut player: Place) {
    let mut at = player.enters;
    while at > 0 {
        let Some(loser) = places.get_mut(at) else { return };
        if loser.is_before(&player) {
            std::mem::swap(loser, &mut player);
        }
        at /= 2;
    }
    places.first_mut().into_iter().for_each(|winner| *winner = player);
}
