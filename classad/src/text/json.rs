//! Reads HTCondor's JSON form of an ad: scalars as they are, other expressions as `"/Expr(...)/"`.
//!
//! Parsed here and not by a library, so that every attribute knows its place in the text, and so that an attribute that is
//! given twice is reported.

use crate::ad::Ad;
use crate::diagnostic::Span;
use crate::dialect::Dialect;
use crate::expr::{Expr, Kind};
use crate::name::Name;
use crate::text::jsonstring::{self, Decoded};
use crate::text::lexer::{self, Escapes};
use crate::text::parser::{DEPTH_MAX, Parser};
use crate::text::report::{Report, Reported};
use crate::text::{mistake, syntax};
use crate::value::Value;

/// How many open constructs an element of a list counts as, which is as many as in brackets.
const ELEMENT_DEPTH: usize = 3;

/// The whole text as one ad.
pub(crate) fn ad(dialect: Dialect, report: &mut Report<'_>) -> Result<Ad, Reported> {
    let mut reader = JsonReader { at: 0, dialect, report };
    let ad = reader.object(0)?;
    reader.blanks();
    match reader.peek() {
        None => Ok(ad),
        Some(_) => Err(reader.unexpected("the end of the text")),
    }
}

/// The whole text as ads: objects and lists of objects, one after the other.
pub(crate) fn ads(dialect: Dialect, report: &mut Report<'_>) -> Result<Vec<Ad>, Reported> {
    let mut reader = JsonReader { at: 0, dialect, report };
    let mut ads = Vec::new();
    loop {
        reader.blanks();
        match reader.peek() {
            None => return Ok(ads),
            Some(b'[') => reader.separated(b'[', b']', |reader| {
                ads.push(reader.object(0)?);
                Ok(())
            })?,
            Some(_) => ads.push(reader.object(0)?),
        }
    }
}

/// Recursive-descent parser of JSON.
struct JsonReader<'r, 't> {
    at: usize,
    dialect: Dialect,
    report: &'r mut Report<'t>,
}

impl<'t> JsonReader<'_, 't> {
    fn rest(&self) -> &'t str {
        self.report.source().get(self.at..).unwrap_or_default()
    }

    fn peek(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// `{ "Name": value, ... }`
    fn object(&mut self, depth: usize) -> Result<Ad, Reported> {
        self.blanks();
        if self.peek() != Some(b'{') {
            return Err(self.unexpected("`{` and an ad"));
        }
        let mut attributes = Vec::new();
        self.separated(b'{', b'}', |reader| {
            let start = reader.at;
            if reader.peek() != Some(b'"') {
                return Err(reader.unexpected("an attribute name in double quotes"));
            }
            let name = reader.string()?.text;
            let span = Span::new(start, reader.at);
            let name = reader.name(span, name)?;
            reader.blanks();
            if reader.peek() != Some(b':') {
                return Err(reader.unexpected("`:` after the attribute name"));
            }
            reader.at += 1;
            let expr = reader.value(name.as_str(), depth)?;
            attributes.push((name, span, expr));
            Ok(())
        })?;
        Ok(syntax::ad(self.report, attributes))
    }

    /// The name of an attribute, if it is valid in brackets.
    fn name(&mut self, span: Span, text: String) -> Result<Name, Reported> {
        if text.is_empty() {
            return Err(self.report.error("empty-name", span, "the attribute has no name".into(), None));
        }
        if self.dialect == Dialect::Gangmatch && mistake::looks_like_time(&text) {
            let message = format!("`{text}` looks like a time, which cannot be an attribute name");
            return Err(self.report.error("quoted-time", span, message, None));
        }
        Ok(Name::new(text))
    }

    /// What stands between two brackets, separated by commas.
    fn separated(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Result<(), Reported>,
    ) -> Result<(), Reported> {
        let start = Span::new(self.at, self.at + 1);
        self.at += 1;
        self.blanks();
        if self.peek() == Some(close) {
            self.at += 1;
            return Ok(());
        }
        loop {
            self.blanks();
            item(self)?;
            self.blanks();
            match self.peek() {
                Some(b',') => {
                    let comma = Span::new(self.at, self.at + 1);
                    self.at += 1;
                    self.blanks();
                    if self.peek() == Some(close) {
                        let hint = Some("remove the comma".to_owned());
                        return Err(self.report.error("trailing-comma", comma, "comma before the end".into(), hint));
                    }
                }
                Some(byte) if byte == close => {
                    self.at += 1;
                    return Ok(());
                }
                _ => {
                    let position = start.position(self.report.source());
                    let (open, close) = (char::from(open), char::from(close));
                    let expected = format!(
                        "`,` or the `{close}` for `{open}` of line {}, column {}",
                        position.line, position.column
                    );
                    return Err(self.unexpected(&expected));
                }
            }
        }
    }

    /// The value of an attribute, or an element of a list in it; `depth` lists and ads are open.
    fn value(&mut self, name: &str, depth: usize) -> Result<Expr, Reported> {
        self.blanks();
        let start = self.at;
        if (depth + 1) * ELEMENT_DEPTH > DEPTH_MAX {
            return Err(syntax::nested_too_deeply(self.report, Span::new(start, start + 1)));
        }
        let kind = match self.peek() {
            Some(b'"') => {
                let decoded = self.string()?;
                match decoded.text.strip_prefix("/Expr(").and_then(|rest| rest.strip_suffix(")/")) {
                    Some(text) => return self.quoted_expr(name, text, &decoded, depth),
                    None => Kind::Literal(Value::string(decoded.text)),
                }
            }
            Some(b'{') => Kind::Ad(self.object(depth + 1)?),
            Some(b'[') => {
                let mut items = Vec::new();
                self.separated(b'[', b']', |reader| {
                    items.push(reader.value(name, depth + 1)?);
                    Ok(())
                })?;
                Kind::List(items.into())
            }
            _ => Kind::Literal(self.plain(name)?),
        };
        Ok(Expr::new(kind, Span::new(start, self.at)))
    }

    /// A number or a word.
    fn plain(&mut self, name: &str) -> Result<Value, Reported> {
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b'_');
        let length = self.rest().bytes().take_while(part).count();
        let text = self.rest().get(..length).unwrap_or_default();
        let span = Span::new(self.at, self.at + length);
        let value = match text {
            "null" => Value::Undefined,
            "true" => Value::Boolean(true),
            "false" => Value::Boolean(false),
            _ if is_number(text) => match (text.parse(), text.parse()) {
                (Ok(integer), _) => Value::Integer(integer),
                (_, Ok(real)) if text.contains(['.', 'e', 'E']) => Value::Real(real),
                _ => {
                    let message = format!("attribute `{name}`: `{text}` does not fit an integer of 64 bits");
                    return Err(self.report.error("number-range", span, message, Some(format!("write `{text}.0`"))));
                }
            },
            _ => return Err(self.unexpected("a value")),
        };
        self.at = span.end;
        Ok(value)
    }

    fn string(&mut self) -> Result<Decoded, Reported> {
        let decoded = jsonstring::decode(self.report, self.at)?;
        self.at = decoded.end;
        Ok(decoded)
    }

    /// An expression in a string. Its spans are those of the text that contains it.
    fn quoted_expr(&mut self, name: &str, text: &str, decoded: &Decoded, depth: usize) -> Result<Expr, Reported> {
        let mut inner = Report::new(text, self.dialect);
        let mut tokens = lexer::tokens(Span::new(0, text.len()), self.dialect, Escapes::All, &mut inner);
        let prefix = decoded.text.len() - text.len() - ")/".len();
        let place = |span: Span| decoded.place(Span::new(span.start + prefix, span.end + prefix));
        for token in &mut tokens {
            token.span = place(token.span);
        }
        let context = format!("attribute `{name}`");
        self.report.adopt(&context, inner.finish(Ok(())).diagnostics, place);
        let before = self.report.len();
        let expr = Parser::new(&tokens, self.dialect, self.report).below(depth * ELEMENT_DEPTH).whole_expr();
        self.report.name_context(before, &context);
        expr
    }

    /// The error for something that JSON does not allow here.
    fn unexpected(&mut self, expected: &str) -> Reported {
        let rest = self.rest();
        let word = |character: char| character.is_ascii_alphanumeric() || matches!(character, '_' | '.' | '+' | '-');
        let length = match rest.chars().next() {
            Some(first) if word(first) => rest.find(|character| !word(character)).unwrap_or(rest.len()),
            first => first.map_or(0, char::len_utf8),
        };
        let found: String = rest.get(..length).unwrap_or_default().chars().take(40).collect();
        let hint = match rest.bytes().next() {
            Some(b'\'') => Some("write `\"` around strings"),
            Some(b'/' | b'#') => Some("JSON has no comments"),
            Some(b'=') => Some("JSON has `:` between name and value"),
            Some(b';') => Some("JSON has `,` between attributes"),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.') if expected == "a value" => {
                Some("write numbers as `1`, `-0.5` or `1e3`")
            }
            Some(b'A'..=b'Z' | b'a'..=b'z' | b'_' | b'(' | b'!') if expected == "a value" => {
                Some("write an expression as `\"/Expr(...)/\"`, a string with `\"` around it")
            }
            Some(b'A'..=b'Z' | b'a'..=b'z' | b'_') => Some("write `\"` around names"),
            _ => None,
        };
        let found = if found.is_empty() {
            "the end of the text".to_owned()
        } else {
            format!("`{}`", jsonstring::printable(&found))
        };
        let span = Span::new(self.at, self.at + length);
        self.report.error("json", span, format!("expected {expected}, found {found}"), hint.map(str::to_owned))
    }
}

/// Whether JSON takes the text for a number.
fn is_number(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) =
        text.split_once(['e', 'E']).map_or((text, None), |(before, after)| (before, Some(after)));
    let (whole, fraction) = mantissa.split_once('.').map_or((mantissa, None), |(before, after)| (before, Some(after)));
    let whole = whole.strip_prefix('-').unwrap_or(whole);
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}
