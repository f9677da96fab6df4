//! Values of arguments.

use crate::eval::lazy::Lazy;

/// The argument at `index`; a missing one counts as UNDEFINED.
pub(crate) fn argument<'a, 'e>(arguments: &'a [Lazy<'e>], index: usize) -> &'a Lazy<'e> {
    arguments.get(index).unwrap_or(&Lazy::Undefined)
}

/// ERROR if an argument is ERROR, else UNDEFINED if one is UNDEFINED.
pub(crate) fn strict(arguments: &[Lazy<'_>]) -> Option<Lazy<'static>> {
    if arguments.iter().any(|argument| matches!(argument, Lazy::Error)) {
        Some(Lazy::Error)
    } else if arguments.iter().any(|argument| matches!(argument, Lazy::Undefined)) {
        Some(Lazy::Undefined)
    } else {
        None
    }
}
