//! What one evaluation may use, and what it means to run out.

use crate::diagnostic::Span;
use crate::dialect::Dialect;

/// The bounds of one evaluation. The same inputs always use the same amount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How many operators, references and calls may be open at a time.
    pub depth: usize,
    /// How many steps: one for each node and each element, more for long strings, calls and patterns.
    pub fuel: u64,
    /// How many bytes one string, or all strings of the result, may have.
    pub result_bytes: usize,
    /// How deep lists and ads in a result, and lists made on the way, may nest.
    pub result_depth: usize,
    /// How many elements and attributes a result may have in all, shared parts counted as often as they are printed.
    pub result_elements: usize,
    /// How many bytes all strings, lists and ads that one evaluation makes may take together.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            depth: 400,
            fuel: 1_000_000,
            result_bytes: 1 << 20,
            result_depth: 32,
            result_elements: 100_000,
            memory: 16 << 20,
        }
    }
}

/// Everything an evaluation depends on besides the ads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Context {
    /// The time, in seconds since 1970-01-01T00:00:00Z.
    pub now: i64,
    /// By how many seconds the local zone is ahead of UTC.
    pub local_offset: i32,
    /// What `random()` draws from.
    pub seed: u64,
    /// The bounds.
    pub limits: Limits,
    /// How far to follow HTCondor where the language leaves it: in its own dialect a shift by 64 places or by a negative
    /// number does what its machine does, `eval` reads its dialect, and patterns are those of PCRE if that is built in.
    pub dialect: Dialect,
}

/// A limit was reached. This is no value: no expression can catch it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("evaluation exceeds {limit}")]
pub struct Exhausted {
    /// Which one.
    pub limit: Limit,
    /// The expression that was being evaluated, in the text it came from.
    pub span: Span,
}

/// What can run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::depth`]
    Depth,
    /// [`Limits::fuel`]
    Fuel,
    /// [`Limits::result_bytes`]
    ResultBytes,
    /// [`Limits::result_depth`]
    ResultDepth,
    /// [`Limits::result_elements`]
    ResultElements,
    /// [`Limits::memory`]
    Memory,
}

impl std::fmt::Display for Limit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Depth => "the depth of evaluation",
            Self::Fuel => "the number of steps",
            Self::ResultBytes => "the size of a result",
            Self::ResultDepth => "the nesting of a result",
            Self::ResultElements => "the number of elements of a result",
            Self::Memory => "the memory of one evaluation",
        })
    }
}
