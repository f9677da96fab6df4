//! The ClassAd language: text into trees, trees into values.
//!
//! ```
//! use classad::{Context, Dialect, Value, bilateral, parse_ad};
//!
//! let job = parse_ad(
//!     r#"[ Type = "Job"; ImageSize = 28M;
//!          Requirements = other.Type == "Machine" && other.Memory >= ImageSize;
//!          Rank = other.KFlops / 1E3 ]"#,
//!     Dialect::Gangmatch,
//! )?;
//! let machine = parse_ad(
//!     r#"[ Type = "Machine"; Memory = 64Mi; KFlops = 21893; LoadAvg = 0.04;
//!          Requirements = LoadAvg < 0.3 && other.Type == "Job" ]"#,
//!     Dialect::Gangmatch,
//! )?;
//! let both = bilateral(&job, &machine, &Context::default());
//! assert!(both.is_match());
//! assert_eq!(both.left_rank, Ok(Value::Real(21.893)));
//! # Ok::<(), classad::Diagnostics>(())
//! ```
//!
//! UNDEFINED and ERROR are values. Evaluation is total and bounded: an evaluation that runs out of depth or fuel is
//! [`Exhausted`], which no expression can catch. Time and random numbers come from the [`Context`] alone.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod ad;
mod analysis;
mod bilateral;
mod builtins;
mod cache;
mod calendar;
mod diagnostic;
mod dialect;
mod eval;
mod expr;
mod format;
mod hide;
mod name;
mod render;
mod spelling;
mod text;
mod value;
mod write;

/// A parser for the many ads of a benchmark: part of the crate `baselines`, and compiled for it and for tests only.
#[cfg(feature = "reader")]
#[path = "../../testing/baselines/reader/mod.rs"]
mod reader;

pub use ad::Ad;
pub use analysis::{
    Never, NumberRange, conjuncts, constant, contradictions, depth, equated, is_condition, is_pure, is_reflective,
    lint, lint_ad, never_true,
};
pub use bilateral::{Bilateral, bilateral};
pub use builtins::{BUILTINS, TextTest, builtins_page};
pub use diagnostic::{Diagnostic, Diagnostics, Position, Related, Severity, Span};
pub use dialect::Dialect;
pub use eval::bill::Bill;
pub use eval::builtin::{Arity, Builtin};
pub use eval::limits::{Context, Exhausted, Limit, Limits};
pub use eval::scope::{Env, FrameId, Mark};
pub use eval::{eval, eval_attribute, eval_billed};
pub use expr::paths::references;
pub use expr::{BinaryOp, Call, Children, Expr, Kind, UnaryOp};
pub use format::{format, has_comments};
pub use name::{Name, RESERVED_WORDS, SCOPE_WORDS, is_identifier, is_language_word, is_scope_word};
#[cfg(feature = "reader")]
pub use reader::Reader;
pub use render::{Colour, Output, render};
pub use spelling::similar;
pub use text::{Form, Reading, parse_ad, parse_expr, parse_json, parse_long, read_ad, read_ads, read_expr};
pub use value::Value;
pub use write::{Unwritable, write_ads};
