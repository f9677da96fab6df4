//! Expressions by their texts, as a prefix tree: a lookup walks along the source, so that the end of the expression need not be known first.

use crate::expr::Expr;
use crate::text::scan::Scan;

/// Texts that begin alike share the way to where they part.
#[derive(Debug)]
pub(crate) struct Texts(Vec<Step>);

/// A piece of text after certain others. The first step has none.
#[derive(Debug, Default)]
struct Step {
    piece: Box<[u8]>,
    /// The expression whose text ends here.
    expr: Option<Expr>,
    /// What may come next, by its first byte.
    next: Vec<(u8, usize)>,
}

/// About what a text takes beside its bytes: itself, and where it parts from others.
const TEXT_BYTES: usize = 160;

impl Default for Texts {
    fn default() -> Self {
        Self(vec![Step::default()])
    }
}

impl Texts {
    /// The expression that makes up the rest of the attribute, if its text is known.
    pub(crate) fn find(&self, scan: &mut Scan<'_>) -> Option<Expr> {
        // No expression goes on after a semicolon or a bracket that ends another one.
        let (expr, end) = self.along(*scan, |ahead| ahead.ends().is_some())?;
        *scan = end;
        Some(expr)
    }

    /// The expression with this text, if it is known.
    pub(crate) fn get(&self, text: &str) -> Option<Expr> {
        self.along(Scan::new(text), |ahead| ahead.is_at_end()).map(|(expr, _)| expr)
    }

    /// The first expression whose text stands here and ends where it may.
    fn along<'t>(&self, start: Scan<'t>, may_end: impl Fn(&mut Scan<'t>) -> bool) -> Option<(Expr, Scan<'t>)> {
        let (mut step, mut ahead) = (self.0.first()?, start);
        loop {
            let next = ahead.peek()?;
            let (_, number) = step.next.iter().find(|(first, _)| *first == next)?;
            step = self.0.get(*number)?;
            ahead.accept_bytes(&step.piece)?;
            if let Some(expr) = &step.expr
                && may_end(&mut ahead)
            {
                return Some((expr.clone(), ahead));
            }
        }
    }

    /// Remembers an expression; says about how many bytes that takes.
    pub(crate) fn remember(&mut self, text: &str, expr: Expr) -> usize {
        let (mut at, mut rest) = (0, text.as_bytes());
        while let Some(first) = rest.first() {
            let known = self.0.get(at).and_then(|step| step.next.iter().find(|(own, _)| own == first));
            let Some((_, next)) = known.copied() else {
                at = self.add(at, Step { piece: rest.into(), ..Step::default() });
                break;
            };
            let piece = self.0.get(next).map_or(&[][..], |step| &step.piece);
            let same = piece.iter().zip(rest).take_while(|(own, other)| own == other).count();
            if same < piece.len() {
                self.part(next, same);
            }
            (at, rest) = (next, rest.get(same..).unwrap_or_default());
        }
        if let Some(step) = self.0.get_mut(at) {
            step.expr = Some(expr);
        }
        text.len() + TEXT_BYTES
    }

    /// Parts a step after so many bytes of its piece.
    fn part(&mut self, at: usize, after: usize) {
        let Some(step) = self.0.get_mut(at) else { return };
        let whole = std::mem::take(step);
        let (before, behind) = whole.piece.split_at(after);
        step.piece = before.into();
        self.add(at, Step { piece: behind.into(), ..whole });
    }

    /// Adds a step behind another one and says which number it has.
    fn add(&mut self, before: usize, step: Step) -> usize {
        let number = self.0.len();
        if let (Some(first), Some(before)) = (step.piece.first(), self.0.get_mut(before)) {
            before.next.push((*first, number));
        }
        self.0.push(step);
        number
    }
}
