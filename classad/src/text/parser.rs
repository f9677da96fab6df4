//! The parser: builds the tree from tokens by recursive descent, with precedence climbing for the operators.

use crate::ad::Ad;
use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::expr::{BinaryOp, Call, Expr, Kind, UnaryOp};
use crate::name::Name;
use crate::text::cursor::Cursor;
use crate::text::report::{Report, Reported};
use crate::text::syntax::Attribute;
use crate::text::token::{Keyword, Token, TokenKind};
use crate::text::{mistake, syntax, time};
use crate::value::Value;

/// How many expressions, operands of a sign and operands of a suffix may be open at a time, as in HTCondor: about 165
/// parentheses.
pub(crate) const DEPTH_MAX: usize = 500;

/// How many attributes of one ad may be wrong before parsing stops.
const MISTAKES_MAX: usize = 20;

/// A part of the tree; its errors are in the report.
pub(crate) type Parsed<T> = Result<T, Reported>;

/// Makes the names and the ads of a tree, so that many trees can share them.
pub(crate) trait Interner {
    /// The name with exactly this spelling.
    fn name(&mut self, text: &str) -> Name;

    /// An ad with these attributes; of those with equal names the last counts.
    fn ad(&mut self, attributes: Vec<(Name, Expr)>) -> Ad;
}

/// Recursive-descent parser over the tokens of one text.
pub(crate) struct Parser<'p, 't> {
    cursor: Cursor<'p, 't>,
    interner: Option<&'p mut (dyn Interner + 'static)>,
    /// How many expressions, signs and suffixes are open.
    depth: usize,
    /// How many ads are open.
    ads: usize,
}

impl<'p, 't> Parser<'p, 't> {
    /// A parser for tokens that end with [`TokenKind::End`].
    pub(crate) fn new(tokens: &'p [Token], dialect: Dialect, report: &'p mut Report<'t>) -> Self {
        Self { cursor: Cursor::new(tokens, dialect, report), interner: None, depth: 0, ads: 0 }
    }

    /// Makes it share names and ads with other trees.
    pub(crate) fn interned(self, interner: Option<&'p mut (dyn Interner + 'static)>) -> Self {
        Self { interner, ..self }
    }

    /// Makes it count `depth` constructs as open, for a text that is contained in others.
    pub(crate) fn below(self, depth: usize) -> Self {
        Self { depth, ..self }
    }

    /// The whole text as one expression.
    pub(crate) fn whole_expr(mut self) -> Parsed<Expr> {
        let expr = self.expr()?;
        self.end()?;
        Ok(expr)
    }

    /// The whole text as one ad.
    pub(crate) fn whole_ad(mut self) -> Parsed<Ad> {
        let open = self.cursor.peek().clone();
        if open.kind != TokenKind::OpenBracket {
            return Err(syntax::no_ad(&mut self.cursor));
        }
        let (ad, _) = self.ad()?;
        let next = self.cursor.peek();
        if next.kind == TokenKind::OpenBracket {
            return Err(syntax::second_ad(self.cursor.report, next.span));
        }
        self.end()?;
        Ok(ad)
    }

    /// The whole text as ads, one after the other, or as a list of ads in braces.
    pub(crate) fn whole_ads(mut self) -> Parsed<Vec<Ad>> {
        if self.cursor.peek().kind == TokenKind::OpenBrace {
            let list = self.expr()?;
            self.end()?;
            let items = list.as_list().unwrap_or_default();
            let no_ad = items.iter().find(|item| item.as_ad().is_none());
            return match no_ad {
                Some(item) => Err(syntax::no_ad_in_list(self.cursor.report, item.span())),
                None => Ok(items.iter().filter_map(Expr::as_ad).cloned().collect()),
            };
        }
        let mut ads = Vec::new();
        while self.cursor.peek().kind != TokenKind::End {
            if self.cursor.peek().kind != TokenKind::OpenBracket {
                return Err(syntax::no_ad(&mut self.cursor));
            }
            ads.push(self.ad()?.0);
        }
        Ok(ads)
    }

    fn end(&mut self) -> Parsed<()> {
        match self.cursor.peek().kind {
            TokenKind::End => Ok(()),
            _ => Err(syntax::unexpected(&mut self.cursor, "an operator or the end")),
        }
    }

    /// Counts an open construct. Too many are refused before they use up the stack.
    fn enter(&mut self) -> Parsed<()> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(syntax::too_deep(&mut self.cursor));
        }
        Ok(())
    }

    /// Parses one expression, conditionals included.
    fn expr(&mut self) -> Parsed<Expr> {
        self.enter()?;
        let condition = self.binary(0)?;
        let expr = if self.cursor.accept(&TokenKind::Question).is_some() {
            let then = self.expr()?;
            if self.cursor.accept(&TokenKind::Colon).is_none() {
                return Err(syntax::unexpected(&mut self.cursor, "`:` and the value otherwise"));
            }
            let otherwise = self.expr()?;
            let span = condition.span().to(otherwise.span());
            Expr::new(Kind::Conditional { condition, then, otherwise }, span)
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    /// Operands joined by operators that bind tighter than `floor`.
    fn binary(&mut self, floor: u8) -> Parsed<Expr> {
        let mut left = self.unary()?;
        while let TokenKind::Operator(op) = self.cursor.peek().kind {
            if op.precedence() <= floor {
                break;
            }
            self.cursor.advance();
            let right = self.binary(op.precedence())?;
            let span = left.span().to(right.span());
            left = Expr::new(Kind::Binary { op, left, right }, span);
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        self.enter()?;
        let op = match self.cursor.peek().kind {
            TokenKind::Operator(BinaryOp::Subtract) => Some(UnaryOp::Minus),
            TokenKind::Operator(BinaryOp::Add) => Some(UnaryOp::Plus),
            TokenKind::Tilde => Some(UnaryOp::BitNot),
            TokenKind::Not => Some(UnaryOp::Not),
            _ => None,
        };
        let expr = match op {
            Some(op) => {
                let start = self.cursor.advance().span;
                let operand = self.unary()?;
                let span = start.to(operand.span());
                Expr::new(Kind::Unary { op, operand }, span)
            }
            None => self.postfix()?,
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        self.enter()?;
        let mut expr = self.primary()?;
        loop {
            let start = expr.span();
            match self.cursor.peek().kind {
                TokenKind::Dot => {
                    self.cursor.advance();
                    let (name, end) = self.name("an attribute name after `.`")?;
                    expr = Expr::new(Kind::Select { base: expr, name }, start.to(end));
                }
                TokenKind::OpenBracket => {
                    let open = self.cursor.advance().span;
                    let index = self.expr()?;
                    let end = self.close(&TokenKind::CloseBracket, open)?;
                    expr = Expr::new(Kind::Subscript { base: expr, index }, start.to(end));
                }
                TokenKind::Elvis => {
                    self.cursor.advance();
                    let fallback = self.postfix()?;
                    let span = start.to(fallback.span());
                    expr = Expr::new(Kind::Elvis { value: expr, fallback }, span);
                }
                _ => break,
            }
        }
        self.depth -= 1;
        Ok(expr)
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let token = self.cursor.peek();
        let literal = match &token.kind {
            TokenKind::Integer(number) => Value::Integer(*number),
            TokenKind::Real(number) => Value::Real(*number),
            TokenKind::String(text) => Value::String(text.clone()),
            TokenKind::Keyword(Keyword::True) => Value::Boolean(true),
            TokenKind::Keyword(Keyword::False) => Value::Boolean(false),
            TokenKind::Keyword(Keyword::Undefined) => Value::Undefined,
            TokenKind::Keyword(Keyword::Error) => Value::Error,
            TokenKind::Name(_) | TokenKind::QuotedName(_) => return self.named(),
            TokenKind::Dot => {
                let start = self.cursor.advance().span;
                let (name, end) = self.name("an attribute name after `.`")?;
                return Ok(Expr::new(Kind::Attribute { name, absolute: true }, start.to(end)));
            }
            TokenKind::OpenParen => {
                let open = self.cursor.advance().span;
                let inner = self.expr()?;
                let end = self.close(&TokenKind::CloseParen, open)?;
                return Ok(Expr::new(Kind::Parenthesized(inner), open.to(end)));
            }
            TokenKind::OpenBrace => {
                let open = self.cursor.advance().span;
                let (items, end) = self.items(open, &TokenKind::CloseBrace)?;
                return Ok(Expr::new(Kind::List(items.into()), open.to(end)));
            }
            TokenKind::OpenBracket => {
                let (ad, span) = self.ad()?;
                return Ok(Expr::new(Kind::Ad(ad), span));
            }
            _ => return Err(syntax::unexpected(&mut self.cursor, "an expression")),
        };
        self.cursor.advance();
        Ok(Expr::new(Kind::Literal(literal), token.span))
    }

    /// An attribute reference or a call.
    fn named(&mut self) -> Parsed<Expr> {
        let quoted = matches!(self.cursor.peek().kind, TokenKind::QuotedName(_));
        let (name, start) = self.name("a name")?;
        let Some(open) = self.cursor.accept(&TokenKind::OpenParen) else {
            if quoted && name.is_plain() && self.cursor.dialect == Dialect::Gangmatch {
                syntax::needless_quotes(self.cursor.report, start, &name);
            }
            return Ok(Expr::new(Kind::Attribute { name, absolute: false }, start));
        };
        let (arguments, end) = self.items(open, &TokenKind::CloseParen)?;
        let span = start.to(end);
        if let Some(literal) = self.literal_call(&name, &arguments, span)? {
            let relative = matches!(literal, Value::RelTime(_));
            let literal = Expr::new(Kind::Literal(literal), span);
            return Ok(match self.cursor.dialect {
                Dialect::Htcondor if relative => Expr::new(Kind::Call(Box::new(Call::of_literal(literal))), span),
                _ => literal,
            });
        }
        let call = Call::new(name, arguments);
        syntax::check_call(self.cursor.report, start, &call);
        Ok(Expr::new(Kind::Call(Box::new(call)), span))
    }

    /// Calls that are how a literal is written: `absTime("...")`, `relTime("...")`, `real("INF")`.
    fn literal_call(&mut self, function: &Name, arguments: &[Expr], span: Span) -> Parsed<Option<Value>> {
        let [argument] = arguments else { return Ok(None) };
        let Kind::Literal(Value::String(text)) = argument.kind() else { return Ok(None) };
        if function == "absTime" {
            let time =
                time::parse_absolute(text).ok_or_else(|| syntax::bad_time(self.cursor.report, span, function, text))?;
            Ok(Some(Value::AbsTime { seconds: time.seconds, offset: time.offset }))
        } else if function == "relTime" {
            let seconds =
                time::parse_relative(text).ok_or_else(|| syntax::bad_time(self.cursor.report, span, function, text))?;
            Ok(Some(Value::RelTime(seconds)))
        } else if function == "real" {
            Ok(match &**text {
                "INF" => Some(Value::Real(f64::INFINITY)),
                "-INF" => Some(Value::Real(f64::NEG_INFINITY)),
                "NaN" => Some(Value::Real(f64::NAN)),
                _ => None,
            })
        } else {
            Ok(None)
        }
    }

    fn name(&mut self, expected: &'static str) -> Parsed<(Name, Span)> {
        let token = self.cursor.peek();
        match &token.kind {
            TokenKind::Name(text) | TokenKind::QuotedName(text) => {
                self.cursor.advance();
                let name = match &mut self.interner {
                    Some(interner) => interner.name(text),
                    None => Name::new(text.clone()),
                };
                Ok((name, token.span))
            }
            _ => Err(syntax::reserved_name(&mut self.cursor, token)
                .unwrap_or_else(|| syntax::unexpected(&mut self.cursor, expected))),
        }
    }

    /// Expressions up to the closing bracket, after the opening one.
    fn items(&mut self, open: Span, close: &TokenKind) -> Parsed<(Vec<Expr>, Span)> {
        let mut items = Vec::new();
        if let Some(end) = self.cursor.accept(close) {
            return Ok((items, end));
        }
        loop {
            items.push(self.expr()?);
            let separated = match self.cursor.peek().kind {
                TokenKind::Comma => true,
                TokenKind::Semicolon => self.cursor.dialect == Dialect::Htcondor && *close == TokenKind::CloseParen,
                _ => false,
            };
            if !separated {
                return Ok((items, self.close(close, open)?));
            }
            self.cursor.advance();
        }
    }

    fn close(&mut self, close: &TokenKind, open: Span) -> Parsed<Span> {
        match self.cursor.accept(close) {
            Some(span) => Ok(span),
            None => Err(syntax::not_closed(&mut self.cursor, close, open)),
        }
    }

    /// An ad from its opening bracket on. The outermost ad is parsed to its end even if attributes are wrong.
    fn ad(&mut self) -> Parsed<(Ad, Span)> {
        let open = self.cursor.advance().span;
        self.ads += 1;
        let mut attributes = Vec::new();
        let read = self.attributes(open, &mut attributes);
        self.ads -= 1;
        // Remarks first: they come even if the ad is refused.
        syntax::duplicates(self.cursor.report, &attributes);
        let end = read?;
        let attributes: Vec<(Name, Expr)> = attributes.into_iter().map(|(name, _, expr)| (name, expr)).collect();
        let ad = match &mut self.interner {
            Some(interner) => interner.ad(attributes),
            None => attributes.into_iter().collect(),
        };
        Ok((ad, open.to(end)))
    }

    /// The attributes of an ad and its closing bracket.
    fn attributes(&mut self, open: Span, attributes: &mut Vec<Attribute>) -> Parsed<Span> {
        let mut first_semicolon = None;
        let mut mistakes = 0;
        loop {
            while let Some(span) = self.cursor.accept(&TokenKind::Semicolon) {
                first_semicolon.get_or_insert(span);
            }
            if self.cursor.peek().kind == TokenKind::CloseBracket {
                break;
            }
            let depth = self.depth;
            match self.attribute(open) {
                Ok(attribute) => attributes.push(attribute),
                Err(Reported) if self.ads == 1 && mistakes < MISTAKES_MAX && self.cursor.recover(open) => {
                    mistakes += 1;
                    self.depth = depth;
                }
                Err(Reported) => return Err(Reported),
            }
        }
        let end = self.cursor.advance().span;
        match first_semicolon {
            Some(span) if attributes.is_empty() && mistakes == 0 => {
                Err(syntax::lone_semicolon(self.cursor.report, span))
            }
            _ if mistakes > 0 => Err(Reported),
            _ => Ok(end),
        }
    }

    /// `Name = expression`, up to the semicolon or bracket that follows it.
    fn attribute(&mut self, open: Span) -> Parsed<Attribute> {
        let (name, span) = match self.cursor.peek().kind {
            TokenKind::End => return Err(syntax::not_closed(&mut self.cursor, &TokenKind::CloseBracket, open)),
            _ => self.name("an attribute name")?,
        };
        if name.as_str().is_empty() {
            return Err(mistake::empty_name(self.cursor.report, span));
        }
        if self.cursor.accept(&TokenKind::Assign).is_none() {
            return Err(syntax::unexpected(&mut self.cursor, "`=` after the attribute name"));
        }
        let expr = self.expr()?;
        if !matches!(self.cursor.peek().kind, TokenKind::Semicolon | TokenKind::CloseBracket) {
            return Err(syntax::not_closed(&mut self.cursor, &TokenKind::CloseBracket, open));
        }
        Ok((name, span, expr))
    }
}
