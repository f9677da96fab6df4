//! The entry of a built-in function: name, number of arguments, documentation, implementation.

use std::fmt;

use crate::eval::evaluator::{Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::eval::scope::ScopeId;
use crate::expr::Call;

/// A built-in function.
#[derive(Debug)]
pub struct Builtin {
    /// The name as the manual spells it; calls ignore case.
    pub name: &'static str,
    /// How many arguments it takes; any other number is ERROR.
    pub arity: Arity,
    /// The result, in one line.
    pub doc: &'static str,
    /// Whether the result depends on the values of the arguments alone: not on the context, on texts that are parsed at run time,
    /// or on expressions that are evaluated elsewhere.
    pub(crate) pure: bool,
    /// The implementation.
    pub(crate) body: Body,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// The minimum.
    pub min: usize,
    /// The maximum; `None` if there is none.
    pub max: Option<usize>,
}

impl Arity {
    /// Whether a call may have `count` arguments.
    #[must_use]
    pub fn allows(self, count: usize) -> bool {
        count >= self.min && self.max.is_none_or(|max| count <= max)
    }
}

/// As in "takes 1 to 2 arguments".
impl fmt::Display for Arity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count| if count == 1 { "" } else { "s" };
        match self.max {
            None if self.min == 0 => f.write_str("any number of arguments"),
            None => write!(f, "{} or more arguments", self.min),
            Some(max) if max == self.min => write!(f, "{max} argument{}", plural(max)),
            Some(max) => write!(f, "{} to {max} arguments", self.min),
        }
    }
}

/// See [`Body::Values`].
pub(crate) type OfValues = for<'e> fn(&mut Evaluator<'e>, &[Lazy<'e>]) -> Outcome<'e>;

/// See [`Body::Exprs`].
pub(crate) type OfExprs = for<'e> fn(&mut Evaluator<'e>, &'e Call, ScopeId) -> Outcome<'e>;

/// Implementation of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// A predicate on the value of the only argument.
    Test(fn(&Lazy<'_>) -> bool),
    /// A function of the values of the arguments.
    Values(OfValues),
    /// A function of the expressions of the arguments, in the scope of the call.
    Exprs(OfExprs),
}
