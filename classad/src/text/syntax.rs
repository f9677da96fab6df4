//! Errors and warnings of the parser, with what to write instead.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::ad::Ad;
use crate::builtins::{BUILTINS, regex_check};
use crate::diagnostic::{Severity, Span};
use crate::dialect::Dialect;
use crate::expr::{BinaryOp, Call, Expr};
use crate::name::{Name, is_reserved};
use crate::spelling::closest;
use crate::text::cursor::Cursor;
use crate::text::report::{Report, Reported};
use crate::text::token::{Token, TokenKind};

/// An attribute of an ad, with the place of its name.
pub(crate) type Attribute = (Name, Span, Expr);

/// The next token is not what the grammar allows. Silent if the lexer has reported it already.
pub(crate) fn unexpected(cursor: &mut Cursor<'_, '_>, expected: &str) -> Reported {
    let token = cursor.peek();
    if token.kind == TokenKind::Bad {
        return Reported;
    }
    if let Some(reported) = familiar(cursor, token) {
        return reported;
    }
    let found = found(cursor.report.source(), token);
    let closing = closes_nothing(&token.kind).filter(|_| expected.contains("the end"));
    let hint = closing.or_else(|| instead(cursor, expected, &token.kind)).map(str::to_owned);
    cursor.report.error("unexpected-token", token.span, format!("expected {expected}, found {found}"), hint)
}

/// What to write where something else was expected.
fn instead(cursor: &Cursor<'_, '_>, expected: &str, found: &TokenKind) -> Option<&'static str> {
    let is_value = matches!(found, TokenKind::String(_) | TokenKind::Integer(_) | TokenKind::Real(_));
    let before = cursor.previous().map(|before| &before.kind);
    match (expected, before) {
        ("an expression", None) => Some("write one, such as `true`"),
        ("an expression", Some(TokenKind::Assign)) => Some("write a value after `=`, or remove the attribute"),
        ("an expression", Some(TokenKind::Operator(BinaryOp::Remainder))) => {
            Some("`%` is the remainder of a division; write 30 percent as `0.3`")
        }
        ("an expression", Some(TokenKind::Operator(_))) => Some("an operator needs an expression on either side"),
        ("an attribute name", Some(TokenKind::OpenBracket)) if is_value => {
            Some("write a list in braces: `{ 1, 2 }`; brackets are for ads: `[ Name = value; ]`")
        }
        ("an attribute name", _) => Some("write `Name = value;`"),
        ("`=` after the attribute name", _) => Some("write `Name = value;`"),
        ("`:` and the value otherwise", _) => Some("write `condition ? a : b`"),
        _ => None,
    }
}

/// A closing bracket was wanted for the one at `open`.
pub(crate) fn not_closed(cursor: &mut Cursor<'_, '_>, close: &TokenKind, open: Span) -> Reported {
    let token = cursor.peek();
    if token.kind == TokenKind::Bad {
        return Reported;
    }
    if let Some(reported) = familiar(cursor, token) {
        return reported;
    }
    let position = open.position(cursor.report.source());
    let (opening, closing) = match close {
        TokenKind::CloseParen => ("(", ")"),
        TokenKind::CloseBrace => ("{", "}"),
        _ => ("[", "]"),
    };
    let found = found(cursor.report.source(), token);
    let hint = match (close, &token.kind) {
        (TokenKind::CloseParen | TokenKind::CloseBrace, TokenKind::Semicolon) => {
            Some(format!("write `{closing}` before it, or `,` to go on"))
        }
        (TokenKind::CloseBracket, TokenKind::Comma) => Some("separate attributes with `;`".to_owned()),
        (_, TokenKind::CloseParen | TokenKind::CloseBracket | TokenKind::CloseBrace) => {
            Some(format!("write `{closing}` instead"))
        }
        _ => Some(format!("write `{closing}` where it should end")),
    };
    cursor.report.error(
        "not-closed",
        token.span,
        format!(
            "expected `{closing}` to close the `{opening}` of line {}, column {}, found {found}",
            position.line, position.column
        ),
        hint,
    )
}

/// Mistakes with a message of their own.
fn familiar(cursor: &mut Cursor<'_, '_>, token: &Token) -> Option<Reported> {
    let after = &cursor.look(1).kind;
    let adjacent = cursor.look(1).span.start == token.span.end;
    let before = cursor.previous();
    let touches = before.is_some_and(|before| before.span.end == token.span.start);
    let before = before.map(|before| &before.kind);
    let operand_before = before.is_some_and(TokenKind::ends_operand);
    let (code, message, hint) = match &token.kind {
        TokenKind::Name(_) if word_before(cursor).is_some() => return word_before_operand(cursor),
        TokenKind::Name(word) if operand_before => return word_operator(cursor, token.span, word, after),
        TokenKind::Assign if operand_before && adjacent && *after == TokenKind::Operator(BinaryOp::Greater) => {
            ("operator", "there is no operator `=>`".to_owned(), "write `>=`".to_owned())
        }
        TokenKind::Assign if operand_before && adjacent && *after == TokenKind::Operator(BinaryOp::Less) => {
            ("operator", "there is no operator `=<`".to_owned(), "write `<=`".to_owned())
        }
        TokenKind::Assign if operand_before && adjacent && *after == TokenKind::Not => {
            ("operator", "there is no operator `=!`".to_owned(), "write `!=` or `=!=`".to_owned())
        }
        TokenKind::Assign if operand_before => (
            "assignment",
            "`=` names an attribute and does not compare".to_owned(),
            "write `==` to compare, `=?=` to compare without `undefined`".to_owned(),
        ),
        TokenKind::Assign if touches && before == Some(&TokenKind::Operator(BinaryOp::Equal)) => {
            ("operator", "there is no operator `===`".to_owned(), "write `==`, or `=?=` for identity".to_owned())
        }
        TokenKind::Assign if touches && before == Some(&TokenKind::Operator(BinaryOp::NotEqual)) => {
            ("operator", "there is no operator `!==`".to_owned(), "write `!=`, or `=!=` for identity".to_owned())
        }
        TokenKind::Colon if *after == TokenKind::Assign => {
            ("operator", "there is no `:=`".to_owned(), "write `=` after the attribute name".to_owned())
        }
        TokenKind::Operator(BinaryOp::Greater) if touches && before == Some(&TokenKind::Operator(BinaryOp::Less)) => {
            ("operator", "there is no operator `<>`".to_owned(), "write `!=`".to_owned())
        }
        TokenKind::CloseParen | TokenKind::CloseBrace if before == Some(&TokenKind::Comma) => (
            "trailing-comma",
            "trailing comma: an expression must follow `,`".to_owned(),
            "remove the comma before the bracket".to_owned(),
        ),
        TokenKind::Comma if before == Some(&TokenKind::Comma) => {
            ("trailing-comma", "there is nothing between two commas".to_owned(), "remove one comma".to_owned())
        }
        TokenKind::Operator(BinaryOp::BitAnd) if touches && before == Some(&TokenKind::Operator(BinaryOp::And)) => {
            ("operator", "there is no operator `&&&`".to_owned(), "write `&&`".to_owned())
        }
        TokenKind::Operator(BinaryOp::BitOr) if touches && before == Some(&TokenKind::Operator(BinaryOp::Or)) => {
            ("operator", "there is no operator `|||`".to_owned(), "write `||`".to_owned())
        }
        _ if matches!(before, Some(TokenKind::Name(_))) && word_before(cursor).is_some() => {
            return word_before_operand(cursor);
        }
        kind if operand_before && kind.starts_operand() => {
            ("missing-operator", adjacent_operands(cursor, token), adjacent_hint(kind))
        }
        _ => return None,
    };
    Some(cursor.report.error(code, token.span, message, Some(hint).filter(|hint| !hint.is_empty())))
}

fn adjacent_operands(cursor: &Cursor<'_, '_>, token: &Token) -> String {
    let before = cursor.previous().map(|before| snippet(cursor.report.source(), before.span)).unwrap_or_default();
    format!("there is no operator between `{before}` and {}", found(cursor.report.source(), token))
}

fn adjacent_hint(kind: &TokenKind) -> String {
    match kind {
        TokenKind::OpenParen => "only a name can be called".to_owned(),
        TokenKind::QuotedName(_) => "strings stand in double quotes".to_owned(),
        _ => "write an operator between them, such as `==` or `&&`".to_owned(),
    }
}

/// A word where an operator should be: `a and b`, or the next attribute without a semicolon.
fn word_operator(cursor: &mut Cursor<'_, '_>, span: Span, word: &str, after: &TokenKind) -> Option<Reported> {
    if *after == TokenKind::Assign {
        let message = format!("missing `;` before the attribute `{word}`");
        let hint = Some("end each attribute with `;`".to_owned());
        return Some(cursor.report.error("missing-semicolon", span, message, hint));
    }
    let hint = match word.to_ascii_lowercase().as_str() {
        "and" => "write `&&`",
        "or" => "write `||`",
        "not" => "write `isnt` or `!=`",
        "eq" | "equals" => "write `==`",
        "ne" => "write `!=`",
        "lt" => "write `<`",
        "le" => "write `<=`",
        "gt" => "write `>`",
        "ge" => "write `>=`",
        "mod" => "write `%`",
        "in" => "write `member(x, list)`",
        "if" | "then" | "else" | "elif" | "elsif" | "elseif" => {
            "write `condition ? a : b`; a chain is `c1 ? a : c2 ? b : c`"
        }
        "like" | "matches" => "write `regexp(\"pattern\", x)`",
        _ => {
            let message = adjacent_operands(cursor, cursor.peek());
            let hint = unit_apart(cursor, word)
                .unwrap_or_else(|| "write an operator between them, such as `==` or `&&`".to_owned());
            return Some(cursor.report.error("missing-operator", span, message, Some(hint)));
        }
    };
    let message = format!("`{word}` is not an operator");
    Some(cursor.report.error("word-operator", span, message, Some(hint.to_owned())))
}

/// `4 GB`: what to write for a number and its unit.
fn unit_apart(cursor: &Cursor<'_, '_>, word: &str) -> Option<String> {
    let before = cursor.previous().filter(|_| cursor.dialect == Dialect::Gangmatch)?;
    let number = matches!(before.kind, TokenKind::Integer(_) | TokenKind::Real(_));
    let letter = word.get(..1)?.to_ascii_uppercase();
    let rest = word.get(1..)?.to_ascii_lowercase();
    let unit = matches!(letter.as_str(), "K" | "M" | "G" | "T") && matches!(rest.as_str(), "" | "b" | "i" | "ib");
    let text = cursor.report.source().get(before.span.start..before.span.end)?;
    (number && unit).then(|| format!("write `{text}{letter}i`, in powers of 1024"))
}

/// `not a`, `if a then b`: the previous word, read as a name, and what to write instead.
fn word_before(cursor: &Cursor<'_, '_>) -> Option<(Span, String, &'static str)> {
    let token = cursor.previous()?;
    let TokenKind::Name(word) = &token.kind else { return None };
    let hint = match word.to_ascii_lowercase().as_str() {
        "not" => "write `!`",
        "if" => "write `condition ? a : b`",
        _ => return None,
    };
    Some((token.span, word.to_string(), hint))
}

fn word_before_operand(cursor: &mut Cursor<'_, '_>) -> Option<Reported> {
    let (span, word, hint) = word_before(cursor)?;
    let operand = cursor.peek().kind.starts_operand();
    operand.then(|| {
        cursor.report.error("word-operator", span, format!("`{word}` is not an operator"), Some(hint.to_owned()))
    })
}

/// The text is an ad only if it begins with a bracket.
pub(crate) fn no_ad(cursor: &mut Cursor<'_, '_>) -> Reported {
    let token = cursor.peek();
    if token.kind == TokenKind::Bad {
        return Reported;
    }
    let found = found(cursor.report.source(), token);
    cursor.report.error(
        "no-ad",
        token.span,
        format!("expected an ad in brackets, found {found}"),
        Some("write `[ Name = value; ... ]`".into()),
    )
}

/// `[ a = 1 ] [ b = 2 ]` where one ad is wanted.
pub(crate) fn second_ad(report: &mut Report<'_>, span: Span) -> Reported {
    let hint = "keep one of the ads here".to_owned();
    report.error("second-ad", span, "a second ad begins here, after the end of the first".into(), Some(hint))
}

/// `{ [ a = 1 ], 2 }` where ads are wanted.
pub(crate) fn no_ad_in_list(report: &mut Report<'_>, span: Span) -> Reported {
    let text = report.source().get(span.start..span.end).unwrap_or_default().to_owned();
    report.error(
        "no-ad",
        span,
        format!("expected an ad in brackets, found `{}`", shortened(&text)),
        Some("write `{ [ Name = value; ... ], [ ... ] }`".into()),
    )
}

/// Deeper than the parser goes.
pub(crate) fn too_deep(cursor: &mut Cursor<'_, '_>) -> Reported {
    let span = cursor.peek().span;
    nested_too_deeply(cursor.report, span)
}

/// Deeper than any reader goes.
pub(crate) fn nested_too_deeply(report: &mut Report<'_>, span: Span) -> Reported {
    report.error(
        "too-deep",
        span,
        "expression is nested too deeply".into(),
        Some("at most 165 brackets may be open".into()),
    )
}

/// `[;]`
pub(crate) fn lone_semicolon(report: &mut Report<'_>, span: Span) -> Reported {
    report.error("unexpected-token", span, "found `;` in an ad without attributes".into(), Some("write `[]`".into()))
}

/// `absTime("noon")`
pub(crate) fn bad_time(report: &mut Report<'_>, span: Span, function: &Name, text: &str) -> Reported {
    let hint = if *function == "absTime" {
        "write `absTime(\"2004-01-31T12:34:56Z\")`"
    } else {
        "write `relTime(\"1+02:03:04\")`: days, hours, minutes, seconds"
    };
    report.error("bad-time", span, format!("`{text}` is not a valid time for `{function}`"), Some(hint.to_owned()))
}

/// `[a = 1; A = 2]`
pub(crate) fn duplicates(report: &mut Report<'_>, attributes: &[Attribute]) {
    let mut firsts: HashMap<&Name, &Name, RandomState> = HashMap::default();
    for (name, span, _) in attributes {
        let first = *firsts.entry(name).or_insert(name);
        if !std::ptr::eq(first, name) {
            duplicate(report, *span, name, first);
        }
    }
}

/// Attributes into an ad, with a warning for each that replaces an earlier one.
pub(crate) fn ad(report: &mut Report<'_>, attributes: Vec<Attribute>) -> Ad {
    duplicates(report, &attributes);
    attributes.into_iter().map(|(name, _, expr)| (name, expr)).collect()
}

/// The warning for an attribute that replaces an earlier one.
fn duplicate(report: &mut Report<'_>, span: Span, name: &Name, first: &Name) {
    report.warning(
        "duplicate-attribute",
        span,
        format!("attribute `{name}` is given twice; this value replaces that of `{first}`"),
        Some("remove one of them".into()),
    );
}

/// `Arch == 'INTEL'`
pub(crate) fn needless_quotes(report: &mut Report<'_>, span: Span, name: &Name) {
    report.warning(
        "needless-quotes",
        span,
        format!("`'{name}'` is the attribute `{name}`, not a string"),
        Some(format!("write `\"{name}\"` for a string, `{name}` for the attribute")),
    );
}

/// The built-in function that was probably meant by an unknown name.
fn similar(name: &str) -> Option<&'static str> {
    closest(name, BUILTINS.iter().map(|builtin| (builtin.name, builtin.name)))
}

/// `sise({1})`, `size()`: legal, but always an error.
pub(crate) fn check_call(report: &mut Report<'_>, span: Span, call: &Call) {
    let name = &call.function;
    match call.builtin() {
        None if !report.takes(Severity::Warning) => {}
        None => {
            let hint = similar(name.as_str()).map(|similar| format!("did you mean `{similar}`?"));
            report.warning("unknown-function", span, format!("there is no function `{name}`"), hint);
        }
        Some(builtin) if !builtin.arity.allows(call.arguments.len()) => {
            let given = call.arguments.len();
            let message = format!("`{}` takes {}, not {given}", builtin.name, builtin.arity);
            report.warning("argument-count", span, message, None);
        }
        Some(_) if report.dialect() == Dialect::Gangmatch => check_pattern(report, call),
        Some(_) => {}
    }
}

/// `regexp("a(?=b)", x)`: a pattern that PCRE reads and this engine does not must not silently match nothing.
fn check_pattern(report: &mut Report<'_>, call: &Call) {
    let Some((span, refusal)) = regex_check::of_call(call, &mut report.patterns) else { return };
    let hint = Some(refusal.hint.to_owned());
    if refusal.code == "unsupported-regex" {
        report.error(refusal.code, span, refusal.message, hint);
    } else {
        report.warning(refusal.code, span, refusal.message, hint);
    }
}

fn closes_nothing(kind: &TokenKind) -> Option<&'static str> {
    match kind {
        TokenKind::CloseParen => Some("no `(` is open here"),
        TokenKind::CloseBracket => Some("no `[` is open here"),
        TokenKind::CloseBrace => Some("no `{` is open here"),
        _ => None,
    }
}

/// A token in the words of a message.
fn found(source: &str, token: &Token) -> String {
    let text = snippet(source, token.span);
    match &token.kind {
        TokenKind::End => "the end of the text".to_owned(),
        TokenKind::Keyword(_) | TokenKind::Operator(BinaryOp::Is | BinaryOp::Isnt)
            if text.starts_with(|c: char| c.is_alphabetic()) =>
        {
            format!("the reserved word `{text}`")
        }
        TokenKind::String(_) => format!("the string `{text}`"),
        TokenKind::Integer(_) | TokenKind::Real(_) => format!("the number `{text}`"),
        _ => format!("`{text}`"),
    }
}

/// The source text, cut where it is long.
fn snippet(source: &str, span: Span) -> String {
    shortened(source.get(span.start..span.end).unwrap_or_default())
}

fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 40;
    let mut short: String = text.chars().take(LENGTH_MAX).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short.replace('\n', " ")
}

/// A reserved word as the name of an attribute.
pub(crate) fn reserved_name(cursor: &mut Cursor<'_, '_>, token: &Token) -> Option<Reported> {
    let text = snippet(cursor.report.source(), token.span);
    let reserved = is_reserved(&text);
    reserved.then(|| {
        cursor.report.error(
            "reserved-word",
            token.span,
            format!("`{text}` is a reserved word, not an attribute name"),
            Some(format!("write `'{text}'`")),
        )
    })
}
