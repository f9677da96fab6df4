//! Codes of recently met values, by identity; without this, a first cycle takes 13 % more instructions. Ads that are read together share the
//! nodes of equal values.

use classad::Expr;

/// A few expressions and what they stand for; another one with the same place replaces it.
#[derive(Debug, Default)]
pub(crate) struct LookupCache {
    /// The expression is kept so that its identity is not taken by another.
    slots: Vec<Option<(Expr, u32)>>,
    /// Since there were so many places: how often an expression was found, and how often another had its place.
    found: u32,
    replaced: u32,
}

/// There are so many places at first, and four times as many each time that they are too few.
const SLOTS_MIN: usize = 16;
const SLOTS_MAX: usize = 1024;
/// Places are too few if so many have been replaced for each, and one in so many was found all the same: where all values are
/// different, none ever is.
const REPLACED: u32 = 8;
const FOUND: u32 = 64;

impl LookupCache {
    /// What an expression stands for, if it was met lately.
    pub(crate) fn get(&mut self, expr: &Expr) -> Option<u32> {
        let (known, code) = self.slots.get(self.slot(expr))?.as_ref()?;
        if known.id() != expr.id() {
            return None;
        }
        self.found = self.found.saturating_add(1);
        Some(*code)
    }

    /// Remembers what an expression stands for.
    pub(crate) fn put(&mut self, expr: &Expr, code: u32) {
        if self.slots.is_empty() || self.too_few() {
            let more = (self.slots.len() * 4).max(SLOTS_MIN);
            self.slots = vec![None; more];
            (self.found, self.replaced) = (0, 0);
        }
        let slot = self.slot(expr);
        if let Some(own) = self.slots.get_mut(slot) {
            self.replaced = self.replaced.saturating_add(u32::from(own.is_some()));
            *own = Some((expr.clone(), code));
        }
    }

    fn too_few(&self) -> bool {
        let slots = u32::try_from(self.slots.len()).unwrap_or(u32::MAX);
        self.slots.len() < SLOTS_MAX
            && self.replaced > REPLACED * slots
            && self.found.saturating_mul(FOUND) > self.replaced
    }

    /// Nodes stand at multiples of 16, most of them 64 apart.
    fn slot(&self, expr: &Expr) -> usize {
        let id = expr.id();
        (id >> 4 ^ id >> 8 ^ id >> 12) & self.slots.len().saturating_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use classad::Value;

    fn literals(count: i64) -> Vec<Expr> {
        (0..count).map(|number| Expr::literal(Value::Integer(number))).collect()
    }

    #[test]
    fn makes_room_for_what_comes_again() {
        let (some, mut recent) = (literals(200), LookupCache::default());
        // A mixed order, the same each time.
        let order =
            (0..20_000u64).map(|step| usize::try_from((step * step * 2_654_435_761) >> 7).unwrap() % some.len());
        let mut misses = 0;
        for (step, code) in order.enumerate() {
            let expr = &some[code];
            match recent.get(expr) {
                Some(known) => assert_eq!(usize::try_from(known).unwrap(), code, "at step {step}"),
                None => {
                    misses += usize::from(step >= 10_000);
                    recent.put(expr, u32::try_from(code).unwrap());
                }
            }
        }
        assert!(misses < 3_000, "{misses} of 10000 are forgotten");
    }

    #[test]
    fn makes_none_for_what_never_does() {
        let mut recent = LookupCache::default();
        for (code, expr) in (0..).zip(&literals(10_000)) {
            assert_eq!(recent.get(expr), None);
            recent.put(expr, code);
        }
        assert_eq!(recent.slots.len(), SLOTS_MIN);
    }
}
