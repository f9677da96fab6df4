//! Diagnostics: what is wrong with a text, with line and column.

use std::fmt;
use std::ops::Deref;

/// A stretch of source text, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// The stretch from `start` up to, not including, `end`.
    #[must_use]
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The stretch that covers both.
    #[must_use]
    pub fn to(self, other: Span) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// Line and column of the first character in `source`.
    #[must_use]
    pub fn position(self, source: &str) -> Position {
        let before = source.get(..self.start).unwrap_or(source);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Position {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or_default().chars().count() + 1,
        }
    }
}

/// A place in a text as editors count: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The text has no meaning.
    Error,
    /// The text has a meaning, but probably not the intended one.
    Warning,
}

/// One remark on a text: what was found, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Whether the text is refused.
    pub severity: Severity,
    /// A stable word for the kind of mistake, as in `unexpected-token`.
    pub code: &'static str,
    /// Where in the text.
    pub span: Span,
    /// Line and column of the span's start.
    pub position: Position,
    /// What is wrong: lower case, no full stop, user text in backticks.
    pub message: String,
    /// What to write instead, if that can be said.
    pub hint: Option<String>,
    /// The other place that the remark is about, if there are two.
    pub related: Option<Related>,
}

/// A second place in the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Where in the text.
    pub span: Span,
    /// Line and column of the span's start.
    pub position: Position,
    /// What it has to do with the first place.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.position.line, self.position.column, self.message)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Why a text was refused: at least one error, in source order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostics(Vec<Diagnostic>);

impl Diagnostics {
    /// These diagnostics, in source order.
    // INVARIANT: the list is not empty; the callers have counted an error.
    pub(crate) fn new(list: Vec<Diagnostic>) -> Self {
        Self(list)
    }

    /// All remarks, in source order.
    #[must_use]
    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.0
    }
}

impl Deref for Diagnostics {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

/// One remark a line.
impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, diagnostic) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
