//! Codes of values met lately, by identity: ads read together share the nodes of equal values.

use classad::Expr;

/// A few expressions and what they stand for; another one with the same place replaces it.
#[derive(Debug, Default)]
pub(crate) struct Recent {
    /// The expression is kept so that its identity is not taken by another.
    slots: Vec<Option<(Expr, u32)>>,
}

const SLOTS: usize = 16;

impl Recent {
    /// What an expression stands for, if it was met lately.
    pub(crate) fn get(&self, expr: &Expr) -> Option<u32> {
        let (known, code) = self.slots.get(slot(expr))?.as_ref()?;
        (known.id() == expr.id()).then_some(*code)
    }

    /// Remembers what an expression stands for.
    pub(crate) fn put(&mut self, expr: &Expr, code: u32) {
        if self.slots.is_empty() {
            self.slots.resize(SLOTS, None);
        }
        if let Some(own) = self.slots.get_mut(slot(expr)) {
            *own = Some((expr.clone(), code));
        }
    }
}

/// Nodes stand at multiples of 16, most of them 64 apart.
fn slot(expr: &Expr) -> usize {
    let id = expr.id();
    (id >> 4 ^ id >> 8 ^ id >> 12) % SLOTS
}
