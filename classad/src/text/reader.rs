//! The texts of many ads into trees that share what is equal: names, lists of names, expressions.

use std::collections::HashMap;

use crate::ad::{Ad, Shape};
use crate::diagnostic::{Diagnostics, Span};
use crate::expr::{Expr, Kind};
use crate::name::{Name, is_reserved};
use crate::text::{Dialect, parse_ad, parse_expr};
use crate::value::Value;

/// How many bytes of text are remembered before everything is forgotten.
const REMEMBERED_BYTES_MAX: usize = 16 << 20;

/// Reads many ads in brackets, several times as fast as one by one and into less memory, because the ads of a pool hold the
/// same expressions over and over. The trees are equal to those of [`parse_ad`], and evaluate to the same values; only
/// their spans may count from the start of the attribute's expression.
///
/// ```
/// use classad::{Dialect, Reader, parse_ad};
///
/// let mut reader = Reader::new(Dialect::Gangmatch);
/// let text = r#"[ Type = "Machine"; Memory = 64Mi; Constraint = other.Type == "Job" ]"#;
/// assert_eq!(reader.ad(text)?, parse_ad(text, Dialect::Gangmatch)?);
/// # Ok::<(), classad::Diagnostics>(())
/// ```
#[derive(Debug)]
pub struct Reader {
    dialect: Dialect,
    names: HashMap<Box<str>, Name>,
    exprs: HashMap<Box<str>, Expr>,
    /// By the hash of the names; one that is forgotten for another of the same hash is only not shared.
    shapes: HashMap<u64, Shape>,
    remembered_bytes: usize,
}

impl Reader {
    /// A reader that has read nothing yet.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self { dialect, names: HashMap::new(), exprs: HashMap::new(), shapes: HashMap::new(), remembered_bytes: 0 }
    }

    /// Reads the whole text as one ad in brackets.
    ///
    /// # Errors
    /// If the text is not exactly one ad.
    pub fn ad(&mut self, text: &str) -> Result<Ad, Diagnostics> {
        if self.remembered_bytes > REMEMBERED_BYTES_MAX {
            *self = Self::new(self.dialect);
        }
        match self.usual(text) {
            Some(ad) => Ok(ad),
            // Comments, quoted names, mistakes: whatever is not usual is for the parser, which also says what is wrong.
            None => parse_ad(text, self.dialect),
        }
    }

    /// The ad if its text is as most are; none is no verdict.
    fn usual(&mut self, text: &str) -> Option<Ad> {
        let mut scan = Scan { text, at: 0 };
        scan.blanks();
        scan.accept(b'[')?;
        let (mut names, mut values) = (Vec::with_capacity(16), Vec::with_capacity(16));
        loop {
            scan.blanks();
            if scan.accept(b']').is_some() {
                break;
            }
            names.push(self.name(scan.word()?)?);
            scan.blanks();
            scan.accept(b'=')?;
            values.push(self.expr(scan.expression()?)?);
            // The closing bracket stays for the next round.
            scan.accept(b';');
        }
        scan.blanks();
        if scan.at < text.len() {
            return None;
        }
        Some(Ad::of_shape(self.shape(names)?, values))
    }

    fn name(&mut self, text: &str) -> Option<Name> {
        if let Some(name) = self.names.get(text) {
            return Some(name.clone());
        }
        if is_reserved(text) {
            return None;
        }
        let name = Name::new(text);
        self.remembered_bytes += text.len();
        self.names.insert(text.into(), name.clone());
        Some(name)
    }

    fn expr(&mut self, text: &str) -> Option<Expr> {
        if let Some(expr) = self.exprs.get(text) {
            return Some(expr.clone());
        }
        let expr = match plain_literal(text) {
            Some(value) => Expr::new(Kind::Literal(value), Span::new(0, text.len())),
            // What `random()` draws depends on its place in the text of the ad.
            None if mentions_random(text) => return None,
            None => parse_expr(text, self.dialect).ok()?,
        };
        self.remembered_bytes += text.len();
        self.exprs.insert(text.into(), expr.clone());
        Some(expr)
    }

    /// The shape of an ad with these names; none if two are equal.
    fn shape(&mut self, names: Vec<Name>) -> Option<Shape> {
        let key = names.iter().fold(0, |key: u64, name| key.rotate_left(7) ^ name.folded());
        if let Some(shape) = self.shapes.get(&key).filter(|shape| shape.is(&names)) {
            return Some(shape.clone());
        }
        let shape = Shape::new(names)?;
        self.shapes.insert(key, shape.clone());
        Some(shape)
    }
}

/// A string without escapes, or a number of digits only: what most attributes are.
fn plain_literal(text: &str) -> Option<Value> {
    if let Some(inside) = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        return (!inside.bytes().any(|byte| matches!(byte, b'"' | b'\\' | 0))).then(|| Value::string(inside));
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && !(text.len() > 1 && text.starts_with('0'));
    if digits { text.parse().ok().map(Value::Integer) } else { None }
}

fn mentions_random(text: &str) -> bool {
    text.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"random"))
}

/// A place in the text of an ad.
struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn accept(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn blanks(&mut self) {
        while self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// An identifier.
    fn word(&mut self) -> Option<&'t str> {
        let start = self.at;
        if self.peek()?.is_ascii_digit() {
            return None;
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            self.at += 1;
        }
        self.text.get(start..self.at).filter(|word| !word.is_empty())
    }

    /// The text up to the semicolon or the bracket that ends it, without blanks around it.
    fn expression(&mut self) -> Option<&'t str> {
        self.blanks();
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.string()?,
                b'(' | b'[' | b'{' => open += 1,
                b';' | b']' if open == 0 => break,
                b')' | b']' | b'}' => open = open.checked_sub(1)?,
                // A quoted name, or maybe a comment.
                b'\'' => return None,
                b'/' if matches!(self.text.as_bytes().get(self.at + 1), Some(b'/' | b'*')) => return None,
                _ => {}
            }
            self.at += 1;
        }
        let text = self.text.get(start..self.at)?.trim_end_matches([' ', '\t', '\n', '\r']);
        // `=` and this must not have been `==`, `=?=` or `=!=`.
        if text.is_empty() || text.starts_with(['=', '?', '!']) { None } else { Some(text) }
    }

    /// Moves on to the quote that ends a string.
    fn string(&mut self) -> Option<()> {
        loop {
            self.at += 1;
            match self.peek()? {
                b'"' => return Some(()),
                b'\\' => self.at += 1,
                _ => {}
            }
        }
    }
}
