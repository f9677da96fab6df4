//! Prints trees, with a work list instead of recursion.

use std::fmt::{self, Write};

use crate::ad::Ad;
use crate::expr::{Expr, Kind, UnaryOp};
use crate::name::Name;
use crate::text::time;
use crate::value::Value;

/// How text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    /// Readable; parses back to an equal tree.
    Readable,
    /// HTCondor's own one-line text, byte for byte, with its losses: quotes after a dot, digits of reals.
    Canonical,
    /// HTCondor's long form, in which a backslash stands for itself.
    Long,
}

/// Readable text on one line that parses back to an equal tree.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print(self, Style::Readable, f)
    }
}

impl Expr {
    /// The text as HTCondor prints it on one line, byte for byte.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = print(self, Style::Canonical, &mut text);
        text
    }

    /// The same, if it has at most so many bytes: no more of it is made.
    pub(crate) fn canonical_within(&self, most: usize) -> Option<String> {
        let mut text = Clipped { text: String::new(), most };
        print(self, Style::Canonical, &mut text).ok().map(|()| text.text)
    }

    /// The readable text, cut off after so many bytes: `...` stands for what is left out.
    #[must_use]
    pub fn excerpt(&self, most: usize) -> String {
        const MORE: &str = "...";
        let mut text = Clipped { text: String::new(), most };
        match print(self, Style::Readable, &mut text) {
            Ok(()) => text.text,
            Err(_) => {
                let cut = (0..=most.saturating_sub(MORE.len()).min(text.text.len())).rev();
                let end = cut.into_iter().find(|at| text.text.is_char_boundary(*at)).unwrap_or(0);
                text.text.truncate(end);
                text.text + MORE
            }
        }
    }

    /// The line of the long form in which `name` stands for this expression. Some texts it cannot hold.
    pub(crate) fn long_line(&self, name: &Name) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = write_name(&mut text, name, Style::Long);
        text.push_str(" = ");
        let _ = print(self, Style::Long, &mut text);
        text.push('\n');
        text
    }
}

/// Text of so many bytes at most: what does not fit is an error.
struct Clipped {
    text: String,
    most: usize,
}

impl Write for Clipped {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
        if more.len() <= room {
            self.text.push_str(more);
            return Ok(());
        }
        let end = (0..=room).rev().find(|at| more.is_char_boundary(*at)).unwrap_or(0);
        self.text.push_str(more.get(..end).unwrap_or_default());
        Err(fmt::Error)
    }
}

enum Piece<'e> {
    Expr(&'e Expr),
    /// The elements that are left of a list, with a comma before each.
    Items(&'e [Expr]),
    Text(&'static str),
    Name(&'e Name),
    /// A name where HTCondor forgets the quotes.
    LooseName(&'e Name),
}

fn print(expr: &Expr, style: Style, out: &mut dyn Write) -> fmt::Result {
    let mut pending = vec![Piece::Expr(expr)];
    while let Some(piece) = pending.pop() {
        match piece {
            Piece::Text(text) => out.write_str(text)?,
            Piece::Name(name) => write_name(out, name, style)?,
            Piece::LooseName(name) if style == Style::Canonical => out.write_str(name.printed())?,
            Piece::LooseName(name) => write_name(out, name, style)?,
            Piece::Items([]) => {}
            Piece::Items([item, rest @ ..]) => {
                out.write_str(",")?;
                pending.extend([Piece::Items(rest), Piece::Expr(item)]);
            }
            Piece::Expr(expr) => {
                if let Kind::Literal(value) = expr.kind() {
                    write_scalar(out, value, style)?;
                } else {
                    let start = pending.len();
                    spread(expr, style, &mut pending);
                    // The list is taken from its end.
                    if let Some(added) = pending.get_mut(start..) {
                        added.reverse();
                    }
                }
            }
        }
    }
    Ok(())
}

/// The pieces of an expression in reading order.
fn spread<'e>(expr: &'e Expr, style: Style, into: &mut Vec<Piece<'e>>) {
    use Piece::{LooseName, Text};
    match expr.kind() {
        Kind::Literal(_) => {}
        Kind::Attribute { name, absolute: false } => into.push(Piece::Name(name)),
        Kind::Attribute { name, absolute: true } => into.extend([Text("."), LooseName(name)]),
        Kind::Select { base, name } => {
            // `21.x` would be read as a number.
            let number = matches!(base.kind(), Kind::Literal(Value::Integer(_) | Value::Real(_)));
            let dot = if number && style != Style::Canonical { Text(" .") } else { Text(".") };
            into.extend([Piece::Expr(base), dot, LooseName(name)]);
        }
        Kind::Subscript { base, index } => into.extend([Piece::Expr(base), Text("["), Piece::Expr(index), Text("]")]),
        Kind::Unary { op, operand } => {
            into.extend([Text(" "), Text(op.symbol())]);
            // `-1` would be read as one literal.
            if *op == UnaryOp::Minus && style != Style::Canonical && starts_with_digit(operand) {
                into.push(Text(" "));
            }
            into.push(Piece::Expr(operand));
        }
        Kind::Binary { op, left, right } => {
            into.extend([Piece::Expr(left), Text(" "), Text(op.symbol()), Text(" "), Piece::Expr(right)]);
        }
        Kind::Conditional { condition, then, otherwise } => {
            into.extend([Piece::Expr(condition), Text(" ? "), Piece::Expr(then), Text(" : "), Piece::Expr(otherwise)]);
        }
        Kind::Elvis { value, fallback } => into.extend([Piece::Expr(value), Text(" ?: "), Piece::Expr(fallback)]),
        Kind::Call(call) if call.as_literal().is_some() => into.extend(call.as_literal().map(Piece::Expr)),
        Kind::Call(call) => {
            into.extend([LooseName(&call.function), Text("(")]);
            spread_items(&call.arguments, into);
            into.push(Text(")"));
        }
        Kind::List(items) => {
            into.push(Text("{ "));
            spread_items(items, into);
            into.push(Text(" }"));
        }
        Kind::Ad(ad) => spread_ad(ad, style, into),
        Kind::Parenthesized(inner) => into.extend([Text("("), Piece::Expr(inner), Text(")")]),
    }
}

/// Whether the text of the expression begins with a number without a sign.
fn starts_with_digit(expr: &Expr) -> bool {
    let mut first = expr;
    loop {
        first = match first.kind() {
            Kind::Select { base, .. } | Kind::Subscript { base, .. } => base,
            Kind::Elvis { value, .. } => value,
            Kind::Literal(Value::Integer(number)) => return *number >= 0,
            Kind::Literal(Value::Real(number)) => return number.is_sign_positive() && number.is_finite(),
            _ => return false,
        }
    }
}

fn spread_items<'e>(items: &'e [Expr], into: &mut Vec<Piece<'e>>) {
    if let [first, rest @ ..] = items {
        into.extend([Piece::Expr(first), Piece::Items(rest)]);
    }
}

fn spread_ad<'e>(ad: &'e Ad, style: Style, into: &mut Vec<Piece<'e>>) {
    let mut attributes: Vec<(&Name, &Expr)> = ad.shown().collect();
    if style == Style::Canonical {
        attributes.sort_by(|(left, _), (right, _)| {
            left.as_str().len().cmp(&right.as_str().len()).then_with(|| left.cmp(right))
        });
    }
    into.push(Piece::Text("[ "));
    for (index, (name, expr)) in attributes.into_iter().enumerate() {
        if index > 0 {
            into.push(Piece::Text("; "));
        }
        into.extend([Piece::Name(name), Piece::Text(" = "), Piece::Expr(expr)]);
    }
    into.push(Piece::Text(" ]"));
}

fn write_name(out: &mut dyn Write, name: &Name, style: Style) -> fmt::Result {
    // `parent` is no reserved word, but HTCondor quotes it; read back it is the same name.
    if name.is_hidden() || (name.is_plain() && *name != "parent") {
        out.write_str(name.printed())
    } else if style == Style::Long {
        write!(out, "'{name}'")
    } else {
        write_quoted(out, name.as_str(), '\'', Style::Canonical)
    }
}

fn write_scalar(out: &mut dyn Write, value: &Value, style: Style) -> fmt::Result {
    match value {
        Value::Undefined | Value::List(_) | Value::Ad(_) => out.write_str("undefined"),
        Value::Error => out.write_str("error"),
        Value::Boolean(truth) => write!(out, "{truth}"),
        Value::Integer(number) => write!(out, "{number}"),
        Value::Real(number) => write_real(out, *number, style),
        Value::String(text) if style == Style::Long => write!(out, "\"{}\"", text.replace('"', "\\\"")),
        Value::String(text) => write_quoted(out, text, '"', style),
        Value::AbsTime { seconds, offset } => {
            write!(out, "absTime(\"{}\")", time::absolute_text(*seconds, *offset))
        }
        // No field of a clock can say it.
        Value::RelTime(seconds) if !seconds.is_finite() => {
            out.write_str("relTime(")?;
            write_real(out, *seconds, style)?;
            out.write_char(')')
        }
        Value::RelTime(seconds) => {
            let digits = if style == Style::Canonical { time::Digits::Six } else { time::Digits::All };
            write!(out, "relTime(\"{}\")", time::relative_text(*seconds, digits))
        }
    }
}

fn write_real(out: &mut dyn Write, number: f64, style: Style) -> fmt::Result {
    if number.is_nan() {
        out.write_str("real(\"NaN\")")
    } else if number.is_infinite() {
        out.write_str(if number > 0.0 { "real(\"INF\")" } else { "real(\"-INF\")" })
    } else if number == 0.0 || style != Style::Canonical {
        // The shortest digits that read back to the same number: `1.5`, `-0.0`, `1e-7`.
        write!(out, "{number:?}")
    } else {
        let scientific = format!("{number:.15E}");
        let (digits, exponent) = scientific.split_once('E').unwrap_or((&scientific, "0"));
        let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |exponent| ('-', exponent));
        write!(out, "{digits}E{sign}{exponent:0>2}")
    }
}

/// True for what moves a terminal's cursor, has no width, or turns the direction of the text around it.
fn misleads(character: char) -> bool {
    let hides =
        matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    character.is_control() || hides
}

fn write_quoted(out: &mut dyn Write, text: &str, quote: char, style: Style) -> fmt::Result {
    out.write_char(quote)?;
    for character in text.chars() {
        match character {
            '\x07' => out.write_str("\\a")?,
            '\x08' => out.write_str("\\b")?,
            '\x0c' => out.write_str("\\f")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            '\x0b' => out.write_str("\\v")?,
            '\\' => out.write_str("\\\\")?,
            _ if character == quote => write!(out, "\\{quote}")?,
            ' '..='~' => out.write_char(character)?,
            _ if style != Style::Canonical && !misleads(character) => out.write_char(character)?,
            _ => {
                let mut buffer = [0; 4];
                for byte in character.encode_utf8(&mut buffer).bytes() {
                    write!(out, "\\{byte:03o}")?;
                }
            }
        }
    }
    out.write_char(quote)
}
