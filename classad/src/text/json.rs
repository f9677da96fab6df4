//! HTCondor's JSON form into an ad and back: scalars as they are, other expressions as `"/Expr(...)/"`.

use serde_json::{Map, Number, Value as Json};

use crate::ad::Ad;
use crate::diagnostic::Span;
use crate::expr::{Expr, Kind};
use crate::name::Name;
use crate::text::report::{Report, Reported};
use crate::text::{Dialect, parse_expr};
use crate::value::Value;

/// The whole text as one ad.
pub(crate) fn ad(dialect: Dialect, report: &mut Report<'_>) -> Result<Ad, Reported> {
    let source = report.source();
    let object: Map<String, Json> = match serde_json::from_str(source) {
        Ok(object) => object,
        Err(fault) => {
            let at = offset(source, fault.line(), fault.column());
            let message = fault.to_string();
            let message = message.split(" at line ").next().unwrap_or_default().to_owned();
            return Err(report.error("json", Span::new(at, at), format!("this is no JSON object: {message}"), None));
        }
    };
    attributes(&object, dialect, report)
}

fn attributes(object: &Map<String, Json>, dialect: Dialect, report: &mut Report<'_>) -> Result<Ad, Reported> {
    let attribute =
        |(name, value): (&String, &Json)| Ok((Name::new(name.as_str()), expr(name, value, dialect, report)?));
    object.iter().map(attribute).collect()
}

fn expr(name: &str, value: &Json, dialect: Dialect, report: &mut Report<'_>) -> Result<Expr, Reported> {
    Ok(match value {
        Json::Null => Expr::literal(Value::Undefined),
        Json::Bool(truth) => Expr::literal(Value::Boolean(*truth)),
        Json::Number(number) => Expr::literal(self::number(name, number, report)?),
        Json::String(text) => match text.strip_prefix("/Expr(").and_then(|rest| rest.strip_suffix(")/")) {
            Some(text) => quoted_expr(name, text, dialect, report)?,
            None => Expr::literal(Value::string(text.as_str())),
        },
        Json::Array(items) => {
            Expr::list(items.iter().map(|item| expr(name, item, dialect, report)).collect::<Result<_, _>>()?)
        }
        Json::Object(object) => Expr::ad(attributes(object, dialect, report)?),
    })
}

fn number(name: &str, number: &Number, report: &mut Report<'_>) -> Result<Value, Reported> {
    if let Some(integer) = number.as_i64() {
        return Ok(Value::Integer(integer));
    }
    match number.as_f64() {
        Some(real) if !number.is_u64() => Ok(Value::Real(real)),
        _ => {
            let span = place(report.source(), name);
            let message = format!("attribute `{name}`: `{number}` does not fit an integer of 64 bits");
            Err(report.error("number-range", span, message, None))
        }
    }
}

fn quoted_expr(name: &str, text: &str, dialect: Dialect, report: &mut Report<'_>) -> Result<Expr, Reported> {
    parse_expr(text, dialect).map_err(|diagnostics| {
        let span = place(report.source(), name);
        report.adopt(span, &format!("attribute `{name}`"), diagnostics);
        Reported
    })
}

/// Where an attribute stands in the text: JSON values come without their places.
fn place(source: &str, name: &str) -> Span {
    let quoted = format!("\"{name}\"");
    source.find(&quoted).map_or(Span::default(), |start| Span::new(start, start + quoted.len()))
}

/// The byte at a line and a column, both counted from 1, columns in bytes as serde_json counts them.
fn offset(source: &str, line: usize, column: usize) -> usize {
    let start: usize = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let at = (start + column.saturating_sub(1)).min(source.len());
    (0..=at).rev().find(|at| source.is_char_boundary(*at)).unwrap_or(0)
}

/// The ad as JSON: literals, lists and ads as they are, any other expression as `/Expr(...)/`.
pub(crate) fn object(ad: &Ad) -> Map<String, Json> {
    ad.iter().map(|(name, expr)| (name.as_str().to_owned(), json(expr))).collect()
}

fn json(expr: &Expr) -> Json {
    let native = match expr.kind() {
        Kind::Literal(Value::Undefined) => Some(Json::Null),
        Kind::Literal(Value::Boolean(truth)) => Some(Json::Bool(*truth)),
        Kind::Literal(Value::Integer(number)) => Some(Json::from(*number)),
        Kind::Literal(Value::Real(number)) => Number::from_f64(*number).map(Json::Number),
        Kind::Literal(Value::String(text)) if !text.starts_with("/Expr(") => Some(Json::from(&**text)),
        Kind::List(items) => Some(items.iter().map(json).collect()),
        Kind::Ad(ad) => Some(Json::Object(object(ad))),
        _ => None,
    };
    native.unwrap_or_else(|| Json::from(format!("/Expr({expr})/")))
}

impl Ad {
    /// HTCondor's JSON form, on one line, attributes in source order.
    #[must_use]
    pub fn to_json(&self) -> String {
        Json::Object(object(self)).to_string()
    }
}
