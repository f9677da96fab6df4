//! Expressions by their texts, as a radix trie: a lookup follows the source, so the end of the expression need not be known first.

use super::scan::Scan;
use crate::expr::Expr;

/// A radix trie: texts with a common prefix share its nodes.
#[derive(Debug)]
pub(crate) struct Texts(Vec<TrieNode>);

/// A piece of text after certain others. The root has none.
#[derive(Debug, Default)]
struct TrieNode {
    piece: Box<[u8]>,
    /// The expression whose text ends here.
    expr: Option<Expr>,
    /// The numbers of the children, by their first byte.
    next: Vec<(u8, usize)>,
}

/// About how many bytes a text takes beside its own: for its node, and for the node where it branches off.
const TEXT_BYTES: usize = 160;

impl Default for Texts {
    fn default() -> Self {
        Self(vec![TrieNode::default()])
    }
}

impl Texts {
    /// The expression that makes up the rest of the attribute, if its text is known.
    pub(crate) fn find(&self, scan: &mut Scan<'_>) -> Option<Expr> {
        // No expression continues after a semicolon or a bracket that ends another one.
        let (expr, end) = self.along(*scan, |ahead| ahead.ends().is_some())?;
        *scan = end;
        Some(expr)
    }

    /// The expression with this text, if it is known.
    pub(crate) fn get(&self, text: &str) -> Option<Expr> {
        self.along(Scan::new(text), |ahead| ahead.is_at_end()).map(|(expr, _)| expr)
    }

    /// The first expression whose text is a prefix of the rest and ends where `may_end` allows it.
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

    /// Adds an expression; returns about how many bytes that takes.
    pub(crate) fn remember(&mut self, text: &str, expr: Expr) -> usize {
        let (mut at, mut rest) = (0, text.as_bytes());
        while let Some(first) = rest.first() {
            let known = self.0.get(at).and_then(|step| step.next.iter().find(|(own, _)| own == first));
            let Some((_, next)) = known.copied() else {
                at = self.add(at, TrieNode { piece: rest.into(), ..TrieNode::default() });
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

    /// Splits a node after so many bytes of its piece.
    fn part(&mut self, at: usize, after: usize) {
        let Some(step) = self.0.get_mut(at) else { return };
        let whole = std::mem::take(step);
        let (before, behind) = whole.piece.split_at(after);
        step.piece = before.into();
        self.add(at, TrieNode { piece: behind.into(), ..whole });
    }

    /// Adds a child to a node; returns its number.
    fn add(&mut self, before: usize, step: TrieNode) -> usize {
        let number = self.0.len();
        if let (Some(first), Some(before)) = (step.piece.first(), self.0.get_mut(before)) {
            before.next.push((*first, number));
        }
        self.0.push(step);
        number
    }
}
