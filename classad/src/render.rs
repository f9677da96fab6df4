//! Renders diagnostics with the lines of source they are about, as compilers do.

use std::ffi::OsStr;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use crate::diagnostic::{Diagnostic, Severity, Span};

/// Whether the text is for a terminal that shows colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colour {
    /// With escape sequences.
    Always,
    /// Plain text.
    Never,
}

impl Colour {
    /// Colours on terminals only, and never if `NO_COLOR` has a value that is not empty: <https://no-color.org>.
    #[must_use]
    pub fn wanted(no_color: Option<&OsStr>, output: Output) -> Self {
        match output {
            Output::Terminal if no_color.is_none_or(OsStr::is_empty) => Self::Always,
            _ => Self::Never,
        }
    }
}

/// Where the text goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// To a terminal.
    Terminal,
    /// To a file or another program.
    File,
}

/// How many bytes of source are shown whole.
const SHOWN_MAX: usize = 4000;

/// How many bytes of longer lines are shown.
const NEAR_MAX: usize = 60;

/// The remarks on a text that is called `name`, each with its lines of `source`, its code and what to write instead.
///
/// ```
/// use classad::{Colour, Dialect, read_expr, render};
///
/// let source = "a and b";
/// let remarks = read_expr(source, Dialect::Gangmatch).diagnostics;
/// let text = render(&remarks, source, "job.ad", Colour::Never);
/// assert!(text.starts_with("error[word-operator]: `and` is not an operator\n --> job.ad:1:3\n"));
/// assert!(text.ends_with("= help: write `&&`\n"));
/// ```
#[must_use]
pub fn render(diagnostics: &[Diagnostic], source: &str, name: &str, colour: Colour) -> String {
    let renderer = match colour {
        Colour::Always => Renderer::styled(),
        Colour::Never => Renderer::plain(),
    };
    let mut text = String::new();
    for diagnostic in diagnostics {
        text.push_str(&renderer.render(&[group(diagnostic, source, name)]));
        text.push('\n');
    }
    text
}

fn group<'d>(diagnostic: &'d Diagnostic, source: &'d str, name: &'d str) -> Group<'d> {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let floor = |at: usize| (0..=at.min(source.len())).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0);
    let spans = std::iter::once(diagnostic.span).chain(diagnostic.related.iter().map(|related| related.span));
    let (mut first, mut last) = (source.len(), 0);
    for span in spans {
        (first, last) = (first.min(floor(span.start)), last.max(floor(span.end)));
    }
    // The lines that are shown, and no others: looking through all the rest takes its time.
    let before = source.get(..first).unwrap_or_default();
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let end = source.get(last..).and_then(|rest| rest.find('\n')).map_or(source.len(), |length| last + length);
    let range = |span: Span| {
        let within = |at: usize| floor(at).clamp(start, end) - start;
        within(span.start)..within(span.end).max(within(span.start))
    };
    let line = before.matches('\n').count() + 1;
    let text = source.get(start..end).unwrap_or_default();
    let mut snippet = Snippet::source(text).path(name).line_start(line);
    snippet = snippet.annotation(AnnotationKind::Primary.span(range(diagnostic.span)));
    if let Some(related) = &diagnostic.related {
        let other = AnnotationKind::Context.span(range(related.span)).label(related.message.as_str());
        snippet = snippet.annotation(other);
    }
    let group = level.primary_title(diagnostic.message.as_str()).id(diagnostic.code);
    let group = if end - start > SHOWN_MAX {
        let place = Origin::path(name).line(diagnostic.position.line).char_column(diagnostic.position.column);
        let at = floor(diagnostic.span.start);
        let near = source.get(at..floor(at + NEAR_MAX).min(end)).unwrap_or_default();
        group
            .element(place)
            .element(Level::NOTE.message(format!("the line is long; there it goes on `{}`", near.trim())))
    } else {
        group.element(snippet)
    };
    match &diagnostic.hint {
        Some(hint) => group.element(Level::HELP.message(hint.as_str())),
        None => group,
    }
}
