//! Parser for many ads: the trees share names, lists of names and expressions that are equal.

mod literals;
mod paths;
mod scan;
mod sharing;
mod texts;

use crate::ad::Ad;
use crate::diagnostic::{Diagnostics, Span};
use crate::dialect::Dialect;
use crate::expr::{BinaryOp, Expr, Kind};
use crate::text::tree;
use literals::Literals;
use paths::Paths;
use scan::Scan;
use sharing::Sharing;
use texts::Texts;

/// About how many bytes are cached before the cache is dropped.
const REMEMBERED_BYTES_MAX: usize = 16 << 20;

/// Parses many ads in brackets, faster than one by one and into less memory, because most expressions of a pool occur in many ads. The trees are equal to those of [`parse_ad`](crate::parse_ad), and evaluate to the same
/// values; only their spans may count from the start of the attribute's expression, or of a condition in it.
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
    sharing: Sharing,
    paths: Paths,
    literals: Literals,
    exprs: Texts,
    /// The expressions of the ad that is being parsed; reused for its memory.
    values: Vec<Expr>,
}

impl Reader {
    /// A reader that has read nothing yet.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            sharing: Sharing::default(),
            paths: Paths::default(),
            literals: Literals::default(),
            exprs: Texts::default(),
            values: Vec::new(),
        }
    }

    /// Reads the whole text as one ad in brackets.
    ///
    /// # Errors
    /// If the text is not exactly one ad.
    pub fn ad(&mut self, text: &str) -> Result<Ad, Diagnostics> {
        if self.sharing.bytes > REMEMBERED_BYTES_MAX {
            *self = Self::new(self.dialect);
        }
        self.values.clear();
        match self.usual(text) {
            Some(ad) => Ok(ad),
            // The parser handles what is not usual (comments, quoted names) and reports errors.
            None => tree(text, self.dialect, Some(&mut self.sharing), |parser| parser.whole_ad()).into_result(),
        }
    }

    /// The ad if its text is as most are; `None` decides nothing.
    fn usual(&mut self, text: &str) -> Option<Ad> {
        let mut scan = Scan::new(text);
        scan.blanks();
        scan.accept(b'[')?;
        let mut step = Paths::START;
        loop {
            step = match self.paths.again(step, &mut scan) {
                Some(step) => step,
                None => {
                    let mut end = scan;
                    end.blanks();
                    if end.accept(b']').is_some() {
                        scan = end;
                        break;
                    }
                    self.paths.follow(step, &mut scan, &mut self.sharing)?
                }
            };
            let value = self.value(&mut scan)?;
            self.values.push(value);
            // The closing bracket stays for the next round.
            scan.accept(b';');
        }
        scan.blanks();
        if !scan.is_at_end() {
            return None;
        }
        Some(Ad::of_shape(self.paths.shape(step, &mut self.sharing)?, self.values.drain(..)))
    }

    fn value(&mut self, scan: &mut Scan<'_>) -> Option<Expr> {
        match scan.peek()? {
            b'"' => {
                if let Some(inside) = scan.plain_string() {
                    return Some(self.literals.string(inside));
                }
            }
            b'0'..=b'9' => {
                if let Some((number, length)) = scan.plain_number() {
                    return Some(self.literals.number(number, length));
                }
            }
            _ => {}
        }
        if let Some(expr) = self.exprs.find(scan) {
            return Some(expr);
        }
        let text = scan.expression()?;
        // The value of `random()` depends on its place in the text of the ad.
        if mentions_random(text) {
            return None;
        }
        let expr = self.joined(text).or_else(|| self.parsed(text))?;
        Some(self.remembered(text, expr))
    }

    fn parsed(&mut self, text: &str) -> Option<Expr> {
        tree(text, self.dialect, Some(&mut self.sharing), |parser| parser.whole_expr()).read
    }

    fn remembered(&mut self, text: &str, expr: Expr) -> Expr {
        // The tree takes several times the room of its text.
        self.sharing.bytes += text.len() + self.exprs.remember(text, expr.clone());
        expr
    }

    /// The expression if it is a conjunction: most conjuncts of a new expression are known.
    fn joined(&mut self, text: &str) -> Option<Expr> {
        let mut scan = Scan::new(text);
        let (first, _) = scan.condition().filter(|_| !scan.is_at_end())?;
        let mut whole = self.condition(first)?;
        while scan.accept_bytes(b"&&").is_some() {
            let (next, end) = scan.condition()?;
            let right = self.condition(next)?;
            whole = Expr::new(Kind::Binary { op: BinaryOp::And, left: whole, right }, Span::new(0, end));
        }
        Some(whole)
    }

    /// One conjunct; `None` if `&&` would bind tighter than its own operator.
    fn condition(&mut self, text: &str) -> Option<Expr> {
        let expr = match self.exprs.get(text) {
            Some(expr) => expr,
            None => {
                let expr = self.parsed(text)?;
                self.remembered(text, expr)
            }
        };
        let looser = matches!(expr.kind(), Kind::Binary { op: BinaryOp::Or, .. } | Kind::Conditional { .. });
        (!looser).then_some(expr)
    }
}

fn mentions_random(text: &str) -> bool {
    text.as_bytes().windows(6).any(|word| word.eq_ignore_ascii_case(b"random"))
}
