//! Prints ads as JSON and in the long form.

use serde_json::{Map, Number, Value as Json};

use crate::ad::Ad;
use crate::dialect::Dialect;
use crate::expr::{Expr, Kind};
use crate::hide::as_printed;
use crate::name::Name;
use crate::text::parse_long;
use crate::value::Value;

/// Ads as JSON with indentation: one object, or a list of them.
pub(crate) fn json_text(ads: &[Ad]) -> String {
    let json = match ads {
        [only] => Json::Object(object(only)),
        _ => ads.iter().map(|ad| Json::Object(object(ad))).collect(),
    };
    format!("{json:#}\n")
}

/// The ad as JSON: literals, lists and ads as they are, any other expression as `/Expr(...)/`.
fn object(ad: &Ad) -> Map<String, Json> {
    ad.shown().map(|(name, expr)| (name.as_str().to_owned(), json(expr))).collect()
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
        if self.shown_len() == 0 {
            return Err(None);
        }
        let mut text = String::new();
        for (name, expr) in self.shown() {
            let line = expr.long_line(name);
            let printed = as_printed(expr);
            // The form has too few escapes for some texts; what reads back is right. A literal can mean a thing of its own
            // in HTCondor's dialect, a name can be refused in the other.
            let reads_back = |dialect| {
                let again = parse_long(&line, dialect).unwrap_or_default();
                again.len() == 1 && again.get_name(name) == Some(&printed)
            };
            if !reads_back(Dialect::Gangmatch) && !reads_back(Dialect::Htcondor) {
                return Err(Some(name.clone()));
            }
            text.push_str(&line);
        }
        Ok(text)
    }
}
