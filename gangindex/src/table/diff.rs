//! Which ads of a snapshot were in the one before: what is known of them is taken over, run by run.

use super::{as_u32, as_usize};

/// The places of ads that were there before, in runs; both snapshots are walked through in one direction.
#[derive(Debug, Default)]
pub(crate) struct SnapshotDiff(Vec<DiffRun>);

/// Ads that stand side by side in both snapshots.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiffRun {
    before: u32,
    now: u32,
    count: u32,
    /// They are the same in everything, not in their texts alone.
    pub(crate) whole: bool,
}

impl DiffRun {
    /// Their places before.
    pub(crate) fn before(self) -> std::ops::Range<usize> {
        as_usize(self.before)..as_usize(self.before) + as_usize(self.count)
    }

    /// Their places now.
    pub(crate) fn now(self) -> std::ops::Range<usize> {
        as_usize(self.now)..as_usize(self.now) + as_usize(self.count)
    }
}

impl SnapshotDiff {
    /// So many ads, all as they were.
    pub(crate) fn all(ads: usize) -> SnapshotDiff {
        let mut kept = SnapshotDiff::default();
        kept.note(0, 0, ads, true);
        kept
    }

    /// Some more, behind those that are noted.
    pub(crate) fn note(&mut self, before: usize, now: usize, count: usize, whole: bool) {
        if let Some(last) = self.0.last_mut().filter(|last| last.whole == whole)
            && (last.before().end, last.now().end) == (before, now)
        {
            last.count += as_u32(count);
            return;
        }
        self.0.push(DiffRun { before: as_u32(before), now: as_u32(now), count: as_u32(count), whole });
    }

    /// All of them, in order.
    pub(crate) fn runs(&self) -> impl Iterator<Item = DiffRun> {
        self.0.iter().copied()
    }

    /// What is known by place, for so many places now; nothing of ads that are new.
    pub(crate) fn carry<T: Copy>(&self, known: &[Option<T>], places: usize) -> Vec<Option<T>> {
        let mut carried = vec![None; places];
        for run in self.runs() {
            let known = known.get(run.before().start..run.before().end.min(known.len())).unwrap_or_default();
            let own = carried.get_mut(run.now()).unwrap_or_default();
            own.iter_mut().zip(known).for_each(|(own, known)| *own = *known);
        }
        carried
    }

    /// What was known of ads that are gone, or are others now.
    pub(crate) fn dropped<'k, T: Copy>(&'k self, known: &'k [Option<T>]) -> impl Iterator<Item = T> + 'k {
        let ends = std::iter::once(0).chain(self.runs().map(|run| run.before().end));
        let starts = self.runs().map(|run| run.before().start).chain([known.len()]);
        let between = ends.zip(starts).filter_map(|(from, to)| known.get(from..to.min(known.len())));
        between.flatten().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(all: &[(usize, usize, usize)]) -> SnapshotDiff {
        let mut kept = SnapshotDiff::default();
        all.iter().for_each(|(before, now, count)| kept.note(*before, *now, *count, true));
        kept
    }

    #[test]
    fn what_is_known_moves_with_its_ad() {
        // Two come in front, the third is gone, the fifth is another.
        let kept = kept(&[(0, 2, 1), (1, 3, 1), (3, 4, 1), (5, 6, 2)]);
        assert_eq!(kept.runs().count(), 3, "neighbours are one run");
        let known: Vec<Option<char>> = "abcdefg".chars().map(Some).collect();
        assert_eq!(kept.carry(&known, 8), [None, None, Some('a'), Some('b'), Some('d'), None, Some('f'), Some('g')]);
        assert_eq!(kept.dropped(&known).collect::<String>(), "ce");
    }

    #[test]
    fn less_may_be_known_than_there_was() {
        let kept = kept(&[(0, 0, 3), (4, 3, 2)]);
        assert_eq!(kept.carry(&[Some(1), Some(2)], 5), [Some(1), Some(2), None, None, None]);
        assert_eq!(kept.dropped(&[Some(1), Some(2)]).count(), 0);
        assert_eq!(SnapshotDiff::default().dropped(&[Some(1), None]).collect::<Vec<_>>(), [1]);
    }
}
