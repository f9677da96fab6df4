//! Ads into the forms that they are read from.

use std::fmt;

use serde_json::{Map, Number, Value as Json};

use crate::ad::Ad;
use crate::dialect::Dialect;
use crate::expr::{Expr, Kind};
use crate::name::Name;
use crate::text::{Form, parse_long};
use crate::value::Value;

/// What a form has no way to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unwritable {
    /// The number of the ad, from 0.
    pub ad: usize,
    /// The attribute; none if the ad as a whole cannot be written.
    pub attribute: Option<Name>,
}

impl fmt::Display for Unwritable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.attribute {
            Some(name) => write!(
                f,
                "ad {}: attribute `{name}` has a line break, or a backslash at the end of a text, which the long form cannot \
                 write",
                self.ad + 1
            ),
            None => write!(f, "ad {}: it has no attributes, and so no lines in the long form", self.ad + 1),
        }
    }
}

impl std::error::Error for Unwritable {}

/// Ads in one of the forms, with a newline at the end; several of them so that [`read_ads`](crate::read_ads) reads as many
/// in the same order. [`Form::Any`] is brackets.
///
/// # Errors
/// If an ad cannot be written in the long form.
pub fn write_ads(ads: &[Ad], form: Form) -> Result<String, Unwritable> {
    match form {
        Form::Brackets | Form::Any => {
            let text = |ad: &Ad| {
                let line = ad.to_string();
                crate::format(&line, Dialect::Gangmatch).unwrap_or(line + "\n")
            };
            Ok(ads.iter().map(text).collect::<Vec<_>>().join("\n"))
        }
        Form::Long => {
            let text =
                |(number, ad): (usize, &Ad)| ad.to_long().map_err(|attribute| Unwritable { ad: number, attribute });
            Ok(ads.iter().enumerate().map(text).collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        Form::Json => {
            let json = match ads {
                [only] => Json::Object(object(only)),
                _ => ads.iter().map(|ad| Json::Object(object(ad))).collect(),
            };
            Ok(format!("{json:#}\n"))
        }
    }
}

/// The ad as JSON: literals, lists and ads as they are, any other expression as `/Expr(...)/`.
fn object(ad: &Ad) -> Map<String, Json> {
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

    /// HTCondor's long form, one attribute a line, in source order.
    ///
    /// # Errors
    /// The attribute that it cannot write, such as a string with a line break; none if there is no attribute.
    pub fn to_long(&self) -> Result<String, Option<Name>> {
        if self.is_empty() {
            return Err(None);
        }
        let mut text = String::new();
        for (name, expr) in self.iter() {
            let line = expr.long_line(name);
            // The form has too few escapes for some texts; what reads back is right. A literal can mean a thing of its own
            // in HTCondor's dialect, a name can be refused in the other.
            let reads_back = |dialect| {
                let again = parse_long(&line, dialect).unwrap_or_default();
                again.len() == 1 && again.get_name(name) == Some(expr)
            };
            if !reads_back(Dialect::Gangmatch) && !reads_back(Dialect::Htcondor) {
                return Err(Some(name.clone()));
            }
            text.push_str(&line);
        }
        Ok(text)
    }
}
