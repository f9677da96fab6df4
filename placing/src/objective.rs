//! What a placement is worth, compared level by level.

use crate::model::{Choice, Window};

/// Levels of a score, the first of which counts most.
pub type Score = [i128; 3];

/// Scores are cut at this size on every level, so that the sum over a window of 20,000 roots is exact.
pub const SCORE_MAX: i128 = 1 << 111;

/// What a placement is worth: the weights of the placed roots by band, the highest first, then the sum of the scores.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Worth {
    /// By band, the highest first.
    pub(crate) weights: Vec<i128>,
    /// The sum.
    pub(crate) score: Score,
}

/// What each root counts in the objective.
#[derive(Debug)]
pub(crate) struct Objective {
    /// By root: the place of its band, the highest is 0, and its weight.
    counts: Vec<(usize, i128)>,
    bands: usize,
}

impl Objective {
    /// The objective of a window.
    pub(crate) fn of(window: &Window) -> Objective {
        let mut bands: Vec<i64> = window.roots.iter().map(|root| root.band).collect();
        bands.sort_unstable_by(|one, other| other.cmp(one));
        bands.dedup();
        let place = |band: i64| bands.iter().position(|known| *known == band).unwrap_or(0);
        let counts = window.roots.iter().map(|root| (place(root.band), i128::from(root.counts()))).collect();
        Objective { counts, bands: bands.len() }
    }

    /// What nothing is worth.
    pub(crate) fn nothing(&self) -> Worth {
        Worth { weights: vec![0; self.bands], score: Score::default() }
    }

    /// The place of a root's band, the highest is 0, and its weight.
    pub(crate) fn count(&self, root: usize) -> (usize, i128) {
        self.counts.get(root).copied().unwrap_or_default()
    }

    /// How many bands there are.
    pub(crate) fn bands(&self) -> usize {
        self.bands
    }

    /// Adds a root with a score; `sign` -1 takes it away.
    pub(crate) fn add(&self, worth: &mut Worth, root: usize, score: &Score, sign: i128) {
        let (band, weight) = self.count(root);
        if let Some(sum) = worth.weights.get_mut(band) {
            *sum += sign * weight;
        }
        for (sum, level) in worth.score.iter_mut().zip(score) {
            *sum += sign * cut(*level);
        }
    }
}

/// A level within its bounds.
pub(crate) fn cut(level: i128) -> i128 {
    level.clamp(-SCORE_MAX, SCORE_MAX)
}

/// The sum of the weights of the roots that have a column.
pub(crate) fn weight(window: &Window, choices: &[Choice]) -> u128 {
    let placed = window.roots.iter().zip(choices).filter(|(_, choice)| choice.is_some());
    placed.map(|(root, _)| u128::from(root.counts())).sum()
}
