//! Turns attributes, one after the other, into an ad, remembering where each was written.

use std::collections::BTreeMap;

use classad::{Ad, Expr, Name};

use super::{Advertised, NotAccepted, WARNINGS_MAX, message};
use crate::conditions::reasons;

/// An ad in the making.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    /// What there is so far, but for what was written since it was looked at last: an ad is copied as a whole.
    ad: Ad,
    written: Vec<(Name, Expr)>,
    /// What does not count or looks wrong; raw, cut into shape by [`Draft::finish`].
    pub(crate) warnings: Vec<String>,
    /// Field path by name in lower case.
    places: BTreeMap<String, String>,
}

impl Draft {
    /// A draft of an ad that was read from `spec.classad`.
    pub(crate) fn of_text(ad: Ad, warnings: Vec<String>) -> Self {
        let places = ad.iter().map(|(name, _)| (name.as_str().to_ascii_lowercase(), format!("spec.classad: {name}")));
        Self { places: places.collect(), ad, warnings, ..Self::default() }
    }

    /// Writes an attribute that stands at `place`.
    ///
    /// # Errors
    /// If it is there already, in whatever case, or is no name.
    pub(crate) fn set(&mut self, name: &str, place: String, expr: Expr) -> Result<(), NotAccepted> {
        if name.is_empty() || name.contains('\0') {
            let message = format!(
                "{place}: the name of an attribute must not be empty or contain the character NUL; write a name such as `Memory`"
            );
            return Err(NotAccepted::new(reasons::PARSE_ERROR, &message));
        }
        if let Some(first) = self.place(name) {
            let message = format!(
                "{place}: {} is already defined at {first}; case is ignored in names, so remove one of them",
                message::quote(name)
            );
            return Err(NotAccepted::new(reasons::DUPLICATE_ATTRIBUTE, &message));
        }
        let name_ = Name::new(name);
        if !name_.is_plain() {
            self.warnings.push(format!(
                "{place}: in expressions this name needs single quotes: {}",
                message::quote(&format!("'{name}'"))
            ));
        }
        self.places.insert(name.to_ascii_lowercase(), place);
        self.written.push((name_, expr));
        Ok(())
    }

    /// What there is so far.
    pub(crate) fn ad(&mut self) -> &mut Ad {
        if !self.written.is_empty() {
            let before = std::mem::take(&mut self.ad);
            let before = before.iter().map(|(name, expr)| (name.clone(), expr.clone()));
            self.ad = before.chain(self.written.drain(..)).collect();
        }
        &mut self.ad
    }

    /// Where a name was written.
    pub(crate) fn place(&self, name: &str) -> Option<&str> {
        self.places.get(&name.to_ascii_lowercase()).map(String::as_str)
    }

    /// The ad, and the warnings as lines.
    pub(crate) fn finish(mut self) -> Advertised {
        let ad = std::mem::take(self.ad());
        let mut warnings: Vec<String> =
            self.warnings.iter().take(WARNINGS_MAX).map(|text| message::line(text)).collect();
        let more = self.warnings.len().saturating_sub(WARNINGS_MAX);
        if let (Some(last), 1..) = (warnings.last_mut(), more) {
            *last = format!("and {} more warnings", more + 1);
        }
        Advertised { ad, warnings, shared_by: None, charge_weight: None }
    }
}
