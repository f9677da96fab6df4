//! The table of built-in functions: name, arity, what it does, how.

mod aggregate;
mod convert;
mod environment;
mod list;
pub(crate) mod number;
mod page;
pub(crate) mod pattern;
mod reflect;
pub(crate) mod regex_check;
mod regex_engine;
#[cfg(feature = "pcre")]
mod regex_engine_pcre;
mod regexp;
mod strftime;
mod string;
mod stringlist;
mod table;
mod text_test;
mod time;
mod version;

use std::fmt;

use crate::diagnostic::Span;
use crate::eval::evaluator::{Evaluator, Outcome};
use crate::eval::lazy::Lazy;
use crate::eval::scope::ScopeId;
use crate::expr::{Call, Expr, Kind};
use crate::name::Name;

pub use page::builtins_page;
pub use table::BUILTINS;
use table::REL_TIME_LITERAL;
pub use text_test::TextTest;

/// A built-in function.
#[derive(Debug)]
pub struct Builtin {
    /// The name as the manual spells it; calls ignore case.
    pub name: &'static str,
    /// How many arguments it takes; any other number is ERROR.
    pub arity: Arity,
    /// What it gives, in one line.
    pub doc: &'static str,
    pub(crate) body: Body,
}

/// How many arguments a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arity {
    /// At least so many.
    pub min: usize,
    /// At most so many; none: any number.
    pub max: Option<usize>,
}

impl Arity {
    /// Whether so many arguments are allowed.
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

/// How a function works.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// On the values of its arguments.
    Values(for<'e> fn(&mut Evaluator<'e>, &[Lazy<'e>]) -> Outcome<'e>),
    /// On the arguments as they are written.
    Lazy(for<'e> fn(&mut Evaluator<'e>, &'e Expr, &'e Call, ScopeId) -> Outcome<'e>),
}

impl Call {
    /// A call of the function that has this name in any case; the tree holds where it stands in the table.
    pub(crate) fn new(function: Name, arguments: Vec<Expr>) -> Self {
        Self {
            builtin: BUILTINS.iter().position(|builtin| builtin.name.eq_ignore_ascii_case(function.as_str())),
            is_literal: false,
            cache: pattern::cache_for(function.as_str(), &arguments),
            function,
            arguments: arguments.into(),
        }
    }

    /// The table entry of the function, if there is such a function.
    #[must_use]
    pub fn builtin(&self) -> Option<&'static Builtin> {
        if self.is_literal { Some(&REL_TIME_LITERAL) } else { BUILTINS.get(self.builtin?) }
    }
}

impl Expr {
    /// `function(arguments)`.
    #[must_use]
    pub fn call(function: Name, arguments: Vec<Expr>) -> Self {
        Self::new(Kind::Call(Box::new(Call::new(function, arguments))), Span::default())
    }
}

/// The function whose name is most like `name`, if one is nearly the same.
pub(crate) fn similar(name: &str) -> Option<&'static str> {
    const DISTANCE_MAX: usize = 2;
    const LENGTH_MAX: usize = 40;
    if name.len() > LENGTH_MAX {
        return None;
    }
    let wanted = name.to_ascii_lowercase();
    BUILTINS
        .iter()
        .map(|builtin| (distance(&wanted, &builtin.name.to_ascii_lowercase()), builtin.name))
        .filter(|(distance, name)| *distance <= DISTANCE_MAX && *distance * 2 < name.len())
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be changed, added or removed to turn one word into the other.
pub(crate) fn distance(left: &str, right: &str) -> usize {
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (line, a) in left.bytes().enumerate() {
        let mut diagonal = line;
        let mut before = line + 1;
        let mut next = vec![before];
        for (b, above) in right.bytes().zip(row.iter().skip(1)) {
            before = (above + 1).min(before + 1).min(diagonal + usize::from(a != b));
            diagonal = *above;
            next.push(before);
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

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
