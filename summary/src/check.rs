//! What was read as a summary into the reason why it is none. A summary that says less than its pool has would rule out what is there.

use std::fmt;

use crate::limits::Limits;
use crate::numbers::Numbers;
use crate::summary::{Free, KindSummary, Summary};
use crate::texts::Texts;
use crate::values::Values;

/// Where a summary is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The names that lead there, as in the JSON.
    pub place: Vec<String>,
    /// What is wrong, and what to write instead.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place.join("."), self.text)
    }
}

impl Problem {
    fn new(text: impl Into<String>) -> Problem {
        Problem { place: Vec::new(), text: text.into() }
    }

    /// The same, found inside of something of this name.
    fn inside(mut self, name: &str) -> Problem {
        self.place.insert(0, name.to_owned());
        self
    }
}

impl Summary {
    /// Whether it could have been published within these limits: names are in small letters, no set is empty, no range is upside
    /// down, Bloom filters have the right size.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn check(&self, limits: &Limits) -> Result<(), Problem> {
        for (name, kind) in &self.kinds {
            let checked = check_name(name).and_then(|()| kind.check(limits));
            checked.map_err(|problem| problem.inside(name).inside("classes"))?;
        }
        Ok(())
    }
}

impl KindSummary {
    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        for (name, values) in &self.attributes {
            let checked = check_name(name).and_then(|()| values.check(limits));
            checked.map_err(|problem| problem.inside(name).inside("attributes"))?;
        }
        for (name, free) in &self.free {
            let checked = check_name(name).and_then(|()| free.check());
            checked.map_err(|problem| problem.inside(name).inside("free"))?;
        }
        Ok(())
    }
}

impl Values {
    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        if *self == Values::default() {
            return Err(Problem::new("no value is listed; leave out an attribute that is undefined in every offer"));
        }
        let numbers = self.numbers.iter().try_for_each(Numbers::check);
        numbers.map_err(|problem| problem.inside("numbers"))?;
        let texts = self.texts.iter().try_for_each(|texts| texts.check(limits));
        texts.map_err(|problem| problem.inside("texts"))
    }
}

impl Numbers {
    fn check(&self) -> Result<(), Problem> {
        let Numbers { min, max, values } = self;
        if min > max {
            return Err(Problem::new(format!("min is {}, which is more than max, {}", min.get(), max.get())));
        }
        let Some(values) = values else { return Ok(()) };
        if values.first() != Some(min) || values.last() != Some(max) {
            let text = format!("the smallest must be min, {}, and the largest max, {}", min.get(), max.get());
            return Err(Problem::new(text).inside("values"));
        }
        if values.iter().any(|number| !number.is_exact()) {
            return Err(Problem::new("numbers beyond 2^53 cannot be listed; leave out the list").inside("values"));
        }
        Ok(())
    }
}

impl Texts {
    fn check(&self, limits: &Limits) -> Result<(), Problem> {
        match self {
            Texts::Values(texts) if texts.is_empty() => Err(Problem::new("the list is empty").inside("values")),
            Texts::Values(texts) => {
                texts.iter().try_for_each(|text| check_name(text)).map_err(|problem| problem.inside("values"))
            }
            Texts::Bloom(filter) if filter.bits() != limits.bloom_bits => {
                let (bits, wanted) = (filter.bits(), limits.bloom_bits);
                let text = format!("it has {bits} bits; a Bloom filter has {wanted}, which is {} digits", wanted / 4);
                Err(Problem::new(text).inside("bloom"))
            }
            Texts::Bloom(filter) if filter.set_bits() == 0 => Err(Problem::new("no bit is set").inside("bloom")),
            Texts::Bloom(_) | Texts::Many => Ok(()),
        }
    }
}

impl Free {
    fn check(self) -> Result<(), Problem> {
        let Free { max, sum, .. } = self;
        if max < 0 {
            return Err(Problem::new(format!("max is {max}; write 0 if nothing is free")));
        }
        if sum < max {
            return Err(Problem::new(format!("sum is {sum}, which is less than max, {max}")));
        }
        if max == 0 && sum > 0 {
            return Err(Problem::new(format!("sum is {sum}, and max is 0; write what is free on one offer at most")));
        }
        Ok(())
    }
}

/// Names, and texts in lists, are in small letters: others would never be found.
fn check_name(name: &str) -> Result<(), Problem> {
    if name.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(Problem::new(format!("write {:?}, in lower case", name.to_ascii_lowercase())));
    }
    Ok(())
}
