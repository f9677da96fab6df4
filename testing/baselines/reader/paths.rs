//! A trie of attribute names: most ads have the names of an earlier one, in the same order, and so its shape.

use super::scan::Scan;
use super::sharing::Sharing;
use crate::ad::Shape;
use crate::name::{Name, is_reserved};
use crate::text::parser::Interner;

/// How many names may follow the same names before all of them are dropped: they are searched one by one.
const FOLLOWERS_MAX: usize = 32;

/// About how many bytes a node takes.
const STEP_BYTES: usize = 96;

/// A trie: lists of names that begin with the same names share their nodes.
#[derive(Debug)]
pub(crate) struct Paths(Vec<PathNode>);

/// A name after certain other names. The root has none.
#[derive(Debug, Default)]
struct PathNode {
    name: Option<Name>,
    /// The text of the name and of `=`, blanks included, as it was last.
    written: Box<[u8]>,
    /// The number of the parent.
    before: usize,
    /// The numbers of the children, the latest first.
    followers: Vec<usize>,
    /// The shape of ads that end at this name.
    shape: Option<Shape>,
}

impl Default for Paths {
    fn default() -> Self {
        Self(vec![PathNode::default()])
    }
}

impl Paths {
    /// The number of the root.
    pub(crate) const START: usize = 0;

    /// The child for the next name of the text, if its text is the same as last time.
    pub(crate) fn again(&mut self, step: usize, scan: &mut Scan<'_>) -> Option<usize> {
        self.latest(step, |follower| scan.accept_bytes(&follower.written))
    }

    /// The child for the next name of the text, added if there is none; `None` if no name and `=` follow.
    pub(crate) fn follow(&mut self, step: usize, scan: &mut Scan<'_>, sharing: &mut Sharing) -> Option<usize> {
        let start = *scan;
        scan.blanks();
        let known = self.latest(step, |follower| scan.accept_word(follower.name.as_ref()?.as_str()));
        let word = if known.is_some() { None } else { Some(scan.word()?) };
        scan.blanks();
        scan.accept(b'=')?;
        scan.blanks();
        // Only now is it known to be a name.
        let follower = known.or_else(|| self.add(step, word?, sharing))?;
        if let Some(own) = self.0.get_mut(follower) {
            own.written = scan.since(start).into();
        }
        Some(follower)
    }

    /// The first child that is accepted; it becomes the latest one.
    fn latest(&mut self, step: usize, mut accepts: impl FnMut(&PathNode) -> Option<()>) -> Option<usize> {
        let followers = &self.0.get(step)?.followers;
        let accepted = |follower: &usize| self.0.get(*follower).and_then(&mut accepts).is_some();
        let place = followers.iter().position(accepted)?;
        let followers = &mut self.0.get_mut(step)?.followers;
        if place > 0 {
            followers.swap(0, place);
        }
        followers.first().copied()
    }

    fn add(&mut self, before: usize, word: &str, sharing: &mut Sharing) -> Option<usize> {
        if is_reserved(word) {
            return None;
        }
        let step = self.0.len();
        self.0.push(PathNode { name: Some(sharing.name(word)), before, ..PathNode::default() });
        sharing.bytes += STEP_BYTES;
        let followers = &mut self.0.get_mut(before)?.followers;
        if followers.len() >= FOLLOWERS_MAX {
            followers.clear();
        }
        followers.insert(0, step);
        Some(step)
    }

    /// The shape of an ad with the names up to this node; `None` if two are equal.
    pub(crate) fn shape(&mut self, step: usize, sharing: &mut Sharing) -> Option<Shape> {
        if let Some(shape) = &self.0.get(step)?.shape {
            return Some(shape.clone());
        }
        let mut names = Vec::new();
        let mut at = self.0.get(step)?;
        while let Some(name) = &at.name {
            names.push(name.clone());
            at = self.0.get(at.before)?;
        }
        names.reverse();
        let shape = sharing.shape(names)?;
        self.0.get_mut(step)?.shape = Some(shape.clone());
        Some(shape)
    }
}
