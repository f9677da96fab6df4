//! The built-in functions, by subject, and their table.

mod aggregate;
mod arguments;
mod convert;
mod environment;
mod list;
mod number;
mod page;
mod pattern;
mod reflect;
pub(crate) mod regex_check;
mod regex_engine;
mod regexp;
mod strftime;
mod string;
mod stringlist;
mod table;
mod text_test;
mod time;
mod version;

use crate::diagnostic::Span;
use crate::eval::builtin::Builtin;
use crate::expr::{Call, Expr, Kind};
use crate::name::Name;

pub use page::builtins_page;
pub use table::BUILTINS;
use table::REL_TIME_LITERAL;
pub use text_test::TextTest;

impl Call {
    /// A call of the function with this name in any case.
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

    /// The name of the function as the manual spells it; empty if there is no such function.
    pub(crate) fn builtin_name(&self) -> &'static str {
        self.builtin().map_or("", |builtin| builtin.name)
    }
}

impl Expr {
    /// `function(arguments)`.
    #[must_use]
    pub fn call(function: Name, arguments: Vec<Expr>) -> Self {
        Self::new(Kind::Call(Box::new(Call::new(function, arguments))), Span::default())
    }
}
