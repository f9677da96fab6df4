//! Remarks made while reading into what the caller gets: a result, or a reading with warnings.

use crate::builtins::regex_check;
use crate::diagnostic::{Diagnostic, Severity, Span};
use crate::dialect::Dialect;
use crate::text::Reading;

/// How many errors, and how many warnings, are kept: more are not read, and the position of each costs a pass over the whole text.
const REMARKS_MAX: usize = 40;

/// How long a remark may be, in bytes: texts of the author's stand in it.
const REMARK_MAX: usize = 4096;

/// A remark that is no longer than it may be.
fn short(mut text: String) -> String {
    if text.len() > REMARK_MAX {
        let end = (0..=REMARK_MAX).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
        text.push_str("...");
    }
    text
}

/// The remarks on one text so far.
pub(crate) struct Report<'t> {
    source: &'t str,
    dialect: Dialect,
    list: Vec<Diagnostic>,
    /// Steps that may still be taken to compile patterns.
    pub(crate) patterns: usize,
}

/// A mistake has been reported; there is nothing to hand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported;

impl<'t> Report<'t> {
    pub(crate) fn new(source: &'t str) -> Self {
        let patterns = regex_check::work_for(source.len());
        Self { source, dialect: Dialect::Htcondor, list: Vec::new(), patterns }
    }

    /// The same for a text in `dialect`.
    pub(crate) fn in_dialect(self, dialect: Dialect) -> Self {
        Self { dialect, ..self }
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

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

    /// Whether there are not yet too many remarks of this kind.
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

    /// Takes over remarks made on a text that stands in this one, each where `place` says.
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

    /// Puts the context before the messages of all remarks but the first `count`.
    pub(crate) fn name_context(&mut self, count: usize, context: &str) {
        for remark in self.list.iter_mut().skip(count) {
            remark.message = format!("{context}: {}", remark.message);
        }
    }

    fn has_errors(&self) -> bool {
        self.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
    }

    /// What was read, unless there was an error.
    pub(crate) fn finish<T>(mut self, read: Result<T, Reported>) -> Reading<T> {
        let read = read.ok().filter(|_| !self.has_errors());
        self.list.sort_by_key(|diagnostic| diagnostic.span);
        Reading { read, diagnostics: self.list }
    }
}
