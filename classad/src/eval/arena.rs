//! Trees made during an evaluation, kept until its end.

use std::cell::OnceCell;

use crate::expr::Expr;

/// A list of trees that can grow while its elements are borrowed.
#[derive(Default)]
pub(crate) struct Arena {
    first: Place,
}

/// Where the next tree goes.
pub(crate) type Place = OnceCell<Box<Made>>;

/// A tree, and where the next one goes.
pub(crate) struct Made {
    pub(crate) expr: Expr,
    pub(crate) next: Place,
}

impl Arena {
    /// Where the first tree goes.
    pub(crate) fn start(&self) -> &Place {
        &self.first
    }
}

/// One after the other: as many trees as there are steps of fuel would not fit on the stack.
impl Drop for Arena {
    fn drop(&mut self) {
        let mut next = self.first.take();
        while let Some(mut made) = next {
            next = made.next.take();
        }
    }
}
