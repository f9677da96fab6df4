//! The names of one ad after the other into shapes: the next ad mostly has the names of the one before.

use crate::ad::Shape;
use crate::name::{Name, is_reserved};
use crate::text::scan::Scan;
use crate::text::sharing::Sharing;

/// How many names may follow the same names before all of them are forgotten: they are looked through one by one.
const FOLLOWERS_MAX: usize = 32;

/// About what a step takes.
const STEP_BYTES: usize = 96;

/// A tree of lists of names: ads whose first names are the same share the way to there.
#[derive(Debug)]
pub(crate) struct Paths(Vec<Step>);

/// A name after certain other names. The first step has none.
#[derive(Debug, Default)]
struct Step {
    name: Option<Name>,
    /// The name and the sign after it, blanks included, as they were written last.
    written: Box<[u8]>,
    /// The step before.
    before: usize,
    /// What came next, the latest first.
    followers: Vec<usize>,
    /// The shape of ads that end here.
    shape: Option<Shape>,
}

impl Default for Paths {
    fn default() -> Self {
        Self(vec![Step::default()])
    }
}

impl Paths {
    /// The start of every way.
    pub(crate) const START: usize = 0;

    /// The step for the name that stands in the text after the names up to this step, if it is written as it was last.
    pub(crate) fn again(&mut self, step: usize, scan: &mut Scan<'_>) -> Option<usize> {
        self.latest(step, |follower| scan.accept_bytes(&follower.written))
    }

    /// The same however it is written; none for what cannot be a name with its sign.
    pub(crate) fn follow(&mut self, step: usize, scan: &mut Scan<'_>, sharing: &mut Sharing) -> Option<usize> {
        let start = *scan;
        scan.blanks();
        let known = self.latest(step, |follower| scan.accept_word(follower.name.as_ref()?.as_str()));
        let word = if known.is_some() { None } else { Some(scan.word()?) };
        scan.blanks();
        scan.accept(b'=')?;
        scan.blanks();
        // Only now is it a name: what has no sign must not be known again.
        let follower = known.or_else(|| self.add(step, word?, sharing))?;
        if let Some(own) = self.0.get_mut(follower) {
            own.written = scan.since(start).into();
        }
        Some(follower)
    }

    /// The follower of a step that is accepted; it is the latest one now.
    fn latest(&mut self, step: usize, mut accepts: impl FnMut(&Step) -> Option<()>) -> Option<usize> {
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
        self.0.push(Step { name: Some(sharing.name(word)), before, ..Step::default() });
        sharing.bytes += STEP_BYTES;
        let followers = &mut self.0.get_mut(before)?.followers;
        if followers.len() >= FOLLOWERS_MAX {
            followers.clear();
        }
        followers.insert(0, step);
        Some(step)
    }

    /// The shape of an ad with the names up to this step; none if two are equal.
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
