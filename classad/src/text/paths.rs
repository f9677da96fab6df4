//! The names of one ad after the other into shapes: the next ad mostly has the names of the one before.

use crate::ad::Shape;
use crate::expr::Expr;
use crate::name::{Name, is_reserved};
use crate::text::scan::Scan;
use crate::text::sharing::Sharing;
use std::sync::Arc;

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
    /// The step before.
    before: usize,
    /// What came next, the latest first.
    followers: Vec<usize>,
    /// The shape of ads that end here.
    shape: Option<Shape>,
    /// The expression that stood here last, if it was no plain literal, and its text.
    latest: Option<(Arc<str>, Expr)>,
}

impl Default for Paths {
    fn default() -> Self {
        Self(vec![Step::default()])
    }
}

impl Paths {
    /// The start of every way.
    pub(crate) const START: usize = 0;

    /// The step for the name that stands in the text after the names up to this step; none for what cannot be a name.
    pub(crate) fn follow(&mut self, step: usize, scan: &mut Scan<'_>, sharing: &mut Sharing) -> Option<usize> {
        let followers = &self.0.get(step)?.followers;
        let mut accepts = |follower: usize| {
            let name = self.0.get(follower)?.name.as_ref()?;
            scan.accept_word(name.as_str())
        };
        match followers.iter().copied().position(|follower| accepts(follower).is_some()) {
            Some(0) => followers.first().copied(),
            Some(place) => {
                let followers = &mut self.0.get_mut(step)?.followers;
                followers.swap(0, place);
                followers.first().copied()
            }
            None => self.add(step, scan.word()?, sharing),
        }
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

    /// The expression that stood at this step last, if the text goes on with it.
    pub(crate) fn again(&self, step: usize, scan: &mut Scan<'_>) -> Option<Expr> {
        let (text, expr) = self.0.get(step)?.latest.as_ref()?;
        scan.accept_expression(text)?;
        Some(expr.clone())
    }

    /// Remembers the expression that stood at this step.
    pub(crate) fn remember(&mut self, step: usize, text: Arc<str>, expr: Expr) {
        if let Some(step) = self.0.get_mut(step) {
            step.latest = Some((text, expr));
        }
    }
}
