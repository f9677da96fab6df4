//! Writes ads in the forms that they are read from.

use std::fmt;

use crate::ad::Ad;
use crate::dialect::Dialect;
use crate::format::format;
use crate::name::Name;
use crate::text::{Form, write};

/// An ad, or an attribute of it, that a form cannot represent.
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
                format(&line, Dialect::Gangmatch).unwrap_or(line + "\n")
            };
            Ok(ads.iter().map(text).collect::<Vec<_>>().join("\n"))
        }
        Form::Long => {
            let text =
                |(number, ad): (usize, &Ad)| ad.to_long().map_err(|attribute| Unwritable { ad: number, attribute });
            Ok(ads.iter().enumerate().map(text).collect::<Result<Vec<_>, _>>()?.join("\n"))
        }
        Form::Json => Ok(write::json_text(ads)),
    }
}
