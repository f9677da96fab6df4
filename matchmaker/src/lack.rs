//! What of a request an offer lacks, in the words of the request's author: never what the offer has.

use classad::{Expr, Name, Value};

use crate::capacity::Misfit;
use crate::ports::Port;

/// What of a port's `Request` an offer lacks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lack {
    /// It does not have this resource at all.
    Absent(String),
    /// It never has so much of this resource.
    Short(String, i64),
}

impl Lack {
    /// What an offer with this capacity lacks; none if the request does not say it in plain names and numbers.
    pub fn of<'c>(
        misfit: Misfit,
        port: &Port,
        capacity: impl IntoIterator<Item = (&'c String, &'c i64)> + Copy,
    ) -> Option<Lack> {
        let request = port.request.as_ref()?.as_ad()?;
        let had = |name: &Name| {
            let mut all = capacity.into_iter();
            all.find(|(own, _)| name.as_str().eq_ignore_ascii_case(own)).map(|(_, amount)| *amount)
        };
        let mut told = request.iter().filter(|(name, _)| !name.is_hidden());
        match misfit {
            Misfit::NotOffered => {
                told.find(|(name, _)| had(name).is_none()).map(|(name, _)| Lack::Absent(resource(name)))
            }
            Misfit::TooMuch => told.find_map(|(name, amount)| {
                let amount = whole(amount)?;
                had(name).filter(|had| amount > *had).map(|_| Lack::Short(resource(name), amount))
            }),
            Misfit::NoAmount | Misfit::NoSeat => None,
        }
    }
}

fn resource(name: &Name) -> String {
    name.as_str().to_ascii_lowercase()
}

fn whole(expr: &Expr) -> Option<i64> {
    match expr.as_literal() {
        Some(Value::Integer(amount)) => Some(*amount),
        _ => None,
    }
}
