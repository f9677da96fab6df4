//! Errors and warnings, collected while a text is parsed.

use crate::builtins::regex_check;
use crate::diagnostic::{Diagnostic, Diagnostics, Severity, Span};
use crate::dialect::Dialect;

/// How many errors, and how many warnings, are kept: users do not read more, and the position of each costs a pass over the text.
const REMARKS_MAX: usize = 40;

/// How long a remark may be, in bytes: it quotes the text.
const REMARK_MAX: usize = 4096;

/// The result of parsing a text: the tree unless there are errors, and every remark, warnings too.
#[derive(Clone, Debug)]
pub struct Reading<T> {
    /// The tree, if no remark is an error.
    pub read: Option<T>,
    /// All remarks in source order, warnings such as "attribute `a` is given twice" among them.
    pub diagnostics: Vec<Diagnostic>,
}

impl<T> Reading<T> {
    /// The tree without the warnings, or why there is none.
    ///
    /// # Errors
    /// If a remark is an error.
    pub fn into_result(self) -> Result<T, Diagnostics> {
        self.read.ok_or(Diagnostics::new(self.diagnostics))
    }
}

/// A remark, cut off where it is too long.
fn short(mut text: String) -> String {
    if text.len() > REMARK_MAX {
        let end = (0..=REMARK_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The remarks on one text.
pub(crate) struct Report<'t> {
    source: &'t str,
    dialect: Dialect,
    list: Vec<Diagnostic>,
    /// Steps that may still be taken to compile patterns.
    pub(crate) patterns: usize,
}

/// An error has been reported, and there is no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported;

impl<'t> Report<'t> {
    /// No remarks yet on a text in `dialect`.
    pub(crate) fn new(source: &'t str, dialect: Dialect) -> Self {
        Self { source, dialect, list: Vec::new(), patterns: regex_check::work_for(source.len()) }
    }

    /// The dialect of the text.
    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The text.
    pub(crate) fn source(&self) -> &'t str {
        self.source
    }

    /// Adds an error.
    pub(crate) fn error(&mut self, code: &'static str, span: Span, message: String, hint: Option<String>) -> Reported {
        self.add(Severity::Error, code, span, message, hint);
        Reported
    }

    /// Adds a warning.
    pub(crate) fn warning(&mut self, code: &'static str, span: Span, message: String, hint: Option<String>) {
        self.add(Severity::Warning, code, span, message, hint);
    }

    /// Whether more remarks of this severity are accepted.
    pub(crate) fn takes(&self, severity: Severity) -> bool {
        self.list.iter().filter(|remark| remark.severity == severity).count() < REMARKS_MAX
    }

    fn add(&mut self, severity: Severity, code: &'static str, span: Span, message: String, hint: Option<String>) {
        if !self.takes(severity) {
            return;
        }
        let position = span.position(self.source);
        let (message, hint) = (short(message), hint.map(short));
        self.list.push(Diagnostic { severity, code, span, position, message, hint, related: None });
    }

    /// Adds remarks on a text that is contained in this one; `place` maps their spans.
    pub(crate) fn adopt(&mut self, context: &str, remarks: Vec<Diagnostic>, place: impl Fn(Span) -> Span) {
        for inner in remarks {
            let message = format!("{context}: {}", inner.message);
            self.add(inner.severity, inner.code, place(inner.span), message, inner.hint);
        }
    }

    /// How many remarks there are.
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Prepends the context to the messages of all remarks but the first `count`.
    pub(crate) fn name_context(&mut self, count: usize, context: &str) {
        for remark in self.list.iter_mut().skip(count) {
            remark.message = format!("{context}: {}", remark.message);
        }
    }

    fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// The result, unless there was an error.
    pub(crate) fn finish<T>(mut self, read: Result<T, Reported>) -> Reading<T> {
        let read = read.ok().filter(|_| !self.has_errors());
        self.list.sort_by_key(|diagnostic| diagnostic.span);
        Reading { read, diagnostics: self.list }
    }
}
