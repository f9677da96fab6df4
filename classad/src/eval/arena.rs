//! Trees made during an evaluation, kept until its end.

use std::cell::OnceCell;

use crate::expr::Expr;

/// A list of trees that can grow while its elements are borrowed.
#[derive(Default)]
pub(crate) struct Arena {
    first: NextMade,
}

/// The cell for the next tree.
pub(crate) type NextMade = OnceCell<Box<Made>>;

/// A tree, and the cell for the next one.
pub(crate) struct Made {
    /// The tree.
    pub(crate) expr: Expr,
    /// Empty until another tree is made.
    pub(crate) next: NextMade,
}

impl Arena {
    /// The cell for the first tree.
    pub(crate) fn start(&self) -> &NextMade {
        &self.first
    }
}

/// Drops one tree after the other: as many trees as there are steps of fuel would not fit on the stack.
impl Drop for Arena {
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut made) = next {
            next = made.next.take();
        }
    }
}
