//! Breaks documents into lines: a group that fits on a line stays on it, any other is broken at its outermost
//! places (P. Wadler, *A Prettier Printer*).

/// How long a line may be, in characters.
const WIDTH: usize = 100;

/// How far the next level is moved to the right.
const INDENT: usize = 4;

/// A text that can be broken in places.
#[derive(Clone, Debug)]
pub(super) enum Doc {
    /// A word.
    Text(String),
    /// Written only where the group is broken.
    IfBroken(&'static str),
    /// A space, unless a line begins here.
    Space,
    /// A space, or the end of a line, with an empty line after it if there is a gap.
    Line { gap: bool },
    /// Nothing, or the end of a line.
    Break,
    /// A comment after a word, on its line.
    After(String),
    /// A comment on a line of its own.
    Alone(String),
    /// Moved to the right if broken.
    Nest(Vec<Doc>),
    /// Broken everywhere or nowhere.
    Group(Vec<Doc>),
}

impl Doc {
    /// A word.
    pub(super) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// How long the document is on one line; none if it cannot be on one.
    fn width(&self) -> Option<usize> {
        match self {
            Self::Text(text) if text.contains('\n') => None,
            Self::Text(text) => Some(text.chars().count()),
            Self::Space | Self::Line { .. } => Some(1),
            Self::Break | Self::IfBroken(_) => Some(0),
            Self::After(text) if !text.starts_with("//") && !text.contains('\n') => Some(text.chars().count() + 2),
            Self::After(_) | Self::Alone(_) => None,
            Self::Nest(parts) | Self::Group(parts) => {
                // No further than to where it is too long for any line: documents inside it are measured again.
                parts.iter().try_fold(0_usize, |sum, part| Some(sum + part.width()?).filter(|sum| *sum <= WIDTH))
            }
        }
    }
}

/// The text of a document.
pub(super) fn print(parts: &[Doc]) -> String {
    let mut printer = Printer { out: String::new(), column: 0, indent: 0, must: Must::Nothing };
    printer.all(parts, Mode::Broken);
    printer.out.push('\n');
    printer.out
}

/// Whether the lines of a group are broken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Flat,
    Broken,
}

/// What must come before the next word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    Nothing,
    Space,
    Line,
}

struct Printer {
    out: String,
    column: usize,
    indent: usize,
    must: Must,
}

impl Printer {
    fn all(&mut self, parts: &[Doc], mode: Mode) {
        for part in parts {
            self.one(part, mode);
        }
    }

    fn one(&mut self, doc: &Doc, mode: Mode) {
        match doc {
            Doc::Text(text) => {
                self.settle();
                self.write(text);
            }
            Doc::IfBroken(_) | Doc::Break if mode == Mode::Flat => {}
            Doc::IfBroken(text) => {
                self.settle();
                self.write(text);
            }
            Doc::Space => self.space(),
            Doc::Line { .. } if mode == Mode::Flat => self.space(),
            Doc::Line { gap: true } => {
                self.line();
                self.must = Must::Line;
            }
            Doc::Line { gap: false } | Doc::Break => self.must = Must::Line,
            Doc::After(text) => {
                if self.must != Must::Line && self.column > self.indent {
                    self.must = Must::Space;
                }
                self.settle();
                self.write(text);
                self.must = if text.starts_with("//") { Must::Line } else { Must::Space };
            }
            Doc::Alone(text) => {
                if !self.out.is_empty() {
                    self.must = Must::Line;
                }
                self.settle();
                self.write(text);
                self.must = Must::Line;
            }
            Doc::Nest(parts) => {
                self.indent += INDENT;
                self.all(parts, mode);
                self.indent -= INDENT;
            }
            Doc::Group(parts) => {
                let room = WIDTH.saturating_sub(self.column);
                let fits = mode == Mode::Flat || doc.width().is_some_and(|width| width <= room);
                self.all(parts, if fits { Mode::Flat } else { Mode::Broken });
            }
        }
    }

    fn space(&mut self) {
        if self.must == Must::Nothing {
            self.must = Must::Space;
        }
    }

    /// Ends the line if something is on it.
    fn line(&mut self) {
        self.out.push('\n');
        self.column = 0;
    }

    fn settle(&mut self) {
        match std::mem::replace(&mut self.must, Must::Nothing) {
            Must::Nothing => {}
            Must::Space => self.write(" "),
            Must::Line => {
                self.line();
                let indent = " ".repeat(self.indent);
                self.write(&indent);
            }
        }
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => last.chars().count(),
            None => self.column + text.chars().count(),
        };
    }
}
