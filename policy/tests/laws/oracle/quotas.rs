//! Quotas, computed anew for each question.

use policy::{Amount, Amounts, Quota};

use crate::oracle::Forest;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QuotaMistake {
    /// Grants are what is wanted, however little there is.
    NotScaled,
    /// A room may be below 0.
    Negative,
    /// Only the maximum of the account itself counts.
    OwnMaximumOnly,
    /// What others hold of the pool does not count.
    PoolUnlimited,
    /// A grant of which something is held is not set aside any more.
    AsideUntilUsed,
    /// Only what is set aside at siblings of the account itself counts, not beside accounts above it.
    NearestSiblingsOnly,
    /// What is set aside for the account itself is not its own either.
    OwnAsideToo,
}

/// One counter of a pool.
pub(crate) struct Rooms<'w> {
    pub(crate) forest: &'w Forest,
    /// What is granted is decided on what is held at the beginning, which does not matter: only `min` and `max` do.
    pub(crate) total: Option<Amount>,
    pub(crate) counter: &'w str,
    pub(crate) mistake: Option<QuotaMistake>,
}

impl<'w> Rooms<'w> {
    pub(crate) fn of(forest: &'w Forest, total: &Amounts, counter: &'w str) -> Rooms<'w> {
        Rooms { forest, total: total.get(counter).copied(), counter, mistake: None }
    }

    fn makes(&self, mistake: QuotaMistake) -> bool {
        self.mistake == Some(mistake)
    }

    pub(crate) fn quota(&self, name: &str) -> Quota {
        self.forest.get(name).and_then(|account| account.quotas.get(self.counter)).copied().unwrap_or_default()
    }

    pub(crate) fn min(&self, name: &str) -> Amount {
        self.quota(name).min.unwrap_or(0)
    }

    pub(crate) fn held(&self, name: &str) -> Amount {
        self.forest.held(name, self.counter)
    }

    fn wanted(&self, name: &str) -> Amount {
        let below: Amount = self.forest.children(Some(name)).iter().map(|child| self.wanted(child)).sum();
        let wanted = self.min(name).max(below);
        self.quota(name).max.map_or(wanted, |max| wanted.min(max))
    }

    pub(crate) fn grant(&self, name: &str) -> Amount {
        let parent = self.forest.parent(name);
        let siblings = self.forest.children(parent);
        let sum: Amount = siblings.iter().map(|child| self.wanted(child)).sum();
        let there_is = parent.map_or_else(|| self.total.unwrap_or(sum), |parent| self.grant(parent));
        if sum <= there_is || self.makes(QuotaMistake::NotScaled) {
            return self.wanted(name);
        }
        let floor = |child: &str| self.wanted(child) * there_is / sum;
        let remainder = |child: &str| self.wanted(child) * there_is % sum;
        let rest = there_is - siblings.iter().map(|child| floor(child)).sum::<Amount>();
        // Siblings before it: those with a larger remainder, and those with the same one and a smaller name.
        let own = remainder(name);
        let before =
            siblings.iter().filter(|child| remainder(child) > own || (remainder(child) == own && **child < name));
        floor(name) + Amount::from((before.count() as Amount) < rest)
    }

    pub(crate) fn aside(&self, name: &str) -> Amount {
        let kept = self.quota(name).lend.map_or(0, |lend| (self.grant(name) - lend - self.held(name)).max(0));
        if self.makes(QuotaMistake::AsideUntilUsed) && self.held(name) > 0 {
            return 0;
        }
        kept.max(self.asides(Some(name)))
    }

    /// The sum of what is set aside directly below a node.
    pub(crate) fn asides(&self, parent: Option<&str>) -> Amount {
        self.forest.children(parent).iter().map(|child| self.aside(child)).sum()
    }

    /// How much more an account may take itself.
    pub(crate) fn available(&self, name: &str) -> Option<Amount> {
        let path = self.forest.path(name);
        let checked = if self.makes(QuotaMistake::OwnMaximumOnly) { &path[..1] } else { &path[..] };
        let caps = checked.iter().filter_map(|node| Some(self.quota(node).max? - self.held(node)));
        let beside = |node: &&str| self.asides(self.forest.parent(node)) - self.aside(node);
        let nearest = if self.makes(QuotaMistake::NearestSiblingsOnly) { 1 } else { path.len() };
        let mut aside = self.asides(Some(name)) + path.iter().take(nearest).map(beside).sum::<Amount>();
        if self.makes(QuotaMistake::OwnAsideToo) {
            aside += self.aside(name);
        }
        let held = if self.makes(QuotaMistake::PoolUnlimited) { 0 } else { self.forest.held_by_all(self.counter) };
        let free = self.total.map(|total| total - held - aside);
        let least = caps.chain(free).min()?;
        Some(if self.makes(QuotaMistake::Negative) { least } else { least.max(0) })
    }
}
