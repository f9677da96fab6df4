//! A summary into one that fits: what says least goes first, and what is left out may be anything.

use crate::limits::Limits;
use crate::summary::{KindSummary, Rest, Summary, json_bytes};
use crate::texts::Texts;
use crate::values::Values;

/// What of a summary is given up, in this order, until it fits.
const STAGES: [fn(&Values) -> Option<Values>; 2] = [without_filter, without_lists];

impl Summary {
    /// The same summary within the limits: the kinds with most offers; of each, the attributes that most say something about. Then,
    /// until it has few enough bytes, Bloom filters become any text, lists become ranges, and attributes go, each time the one that
    /// saves most first.
    #[must_use]
    pub fn bounded(mut self, limits: &Limits) -> Summary {
        while self.kinds.len() > limits.kinds {
            let fewest = self.kinds.iter().min_by_key(|(_, kind)| kind.ads).map(|(name, _)| name.clone());
            self.kinds.remove(&fewest.unwrap_or_default());
            self.rest = Some(Rest::Any);
        }
        for kind in self.kinds.values_mut() {
            kind.keep(limits.attributes);
            kind.keep_free(limits.resources);
        }
        let mut excess = self.bytes().saturating_sub(limits.bytes);
        for stage in STAGES {
            excess = self.reduce(stage, excess);
        }
        while self.bytes() > limits.bytes && (self.drop_longest() || self.halve_free()) {}
        self
    }

    /// Replaces values by what a stage makes of them, the longest first, until so many bytes are saved. Gives what is not yet.
    fn reduce(&mut self, stage: fn(&Values) -> Option<Values>, mut excess: usize) -> usize {
        if excess == 0 {
            return 0;
        }
        let mut shorter: Vec<(usize, &mut Values, Values)> = Vec::new();
        for values in self.kinds.values_mut().flat_map(|kind| kind.attributes.values_mut()) {
            if let Some(less) = stage(values) {
                let saved = json_bytes(values).saturating_sub(json_bytes(&less));
                shorter.push((saved, values, less));
            }
        }
        // A stable sort: of equal ones, the first by kind and name goes first.
        shorter.sort_by_key(|(saved, ..)| std::cmp::Reverse(*saved));
        for (saved, values, less) in shorter {
            if excess == 0 {
                break;
            }
            *values = less;
            excess = excess.saturating_sub(saved);
        }
        excess
    }

    /// Leaves out the attribute that takes most; of equal ones the first by kind and name.
    fn drop_longest(&mut self) -> bool {
        let length = |kind: &KindSummary, name: &str| name.len() + kind.attributes.get(name).map_or(0, json_bytes);
        let all = self.kinds.iter().flat_map(|(of, kind)| kind.attributes.keys().map(move |name| (of, kind, name)));
        let longest = all.rev().max_by_key(|(_, kind, name)| length(kind, name));
        let Some((kind, name)) = longest.map(|(of, _, name)| (of.clone(), name.clone())) else { return false };
        if let Some(kind) = self.kinds.get_mut(&kind) {
            kind.attributes.remove(&name);
            kind.rest = Some(Rest::Any);
        }
        true
    }
}

impl Summary {
    /// Leaves out half of the resources of the kind that has most.
    fn halve_free(&mut self) -> bool {
        let Some(kind) = self.kinds.values_mut().max_by_key(|kind| kind.free.len()) else { return false };
        let half = kind.free.len() / 2;
        kind.keep_free(half) > 0
    }
}

impl KindSummary {
    /// Keeps so many resources: those of which most is free. How many were left out.
    fn keep_free(&mut self, most: usize) -> usize {
        let over = self.free.len().saturating_sub(most);
        if over == 0 {
            return 0;
        }
        let mut ranked: Vec<(i64, String)> = self.free.iter().map(|(name, free)| (free.sum, name.clone())).collect();
        ranked.sort();
        for (_, name) in ranked.iter().take(over) {
            self.free.remove(name);
        }
        self.free_rest = Some(Rest::Any);
        over
    }

    /// Keeps so many attributes: those that every offer has before those that some lack, and last those that may be anything.
    fn keep(&mut self, most: usize) {
        let Some(over) = self.attributes.len().checked_sub(most).filter(|over| *over > 0) else { return };
        let mut ranked: Vec<(bool, bool, String)> =
            self.attributes.iter().map(|(name, values)| (values.any, values.undefined, name.clone())).collect();
        ranked.sort();
        for (.., name) in ranked.iter().rev().take(over) {
            self.attributes.remove(name);
        }
        self.rest = Some(Rest::Any);
    }
}

fn without_filter(values: &Values) -> Option<Values> {
    matches!(values.texts, Some(Texts::Bloom(_))).then(|| Values { texts: Some(Texts::Many), ..values.clone() })
}

fn without_lists(values: &Values) -> Option<Values> {
    let mut less = values.clone();
    less.texts = less.texts.map(|_| Texts::Many);
    less.numbers = less.numbers.map(|numbers| crate::numbers::Numbers::range(numbers.min, numbers.max));
    (less != *values).then_some(less)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bloom::Bloom;
    use crate::summary::Free;
    use std::collections::BTreeMap;

    fn summary(attributes: usize, values: &Values) -> Summary {
        let attributes = (0..attributes).map(|number| (format!("a{number:03}"), values.clone())).collect();
        let kind = KindSummary { ads: 1, attributes, ..KindSummary::default() };
        Summary { kinds: BTreeMap::from([("machine".to_owned(), kind)]), rest: None }
    }

    #[test]
    fn a_summary_that_fits_stays_as_it_is() {
        let filters = Values { texts: Some(Texts::Bloom(Bloom::new(8192))), ..Values::default() };
        let small = summary(20, &filters);
        assert_eq!(small.clone().bounded(&Limits::default()), small);
    }

    #[test]
    fn filters_go_before_lists_and_lists_before_attributes() {
        let limits = Limits::default();
        let filters = Values { texts: Some(Texts::Bloom(Bloom::new(8192))), ..Values::default() };
        let bounded = summary(100, &filters).bounded(&limits);
        let kind = &bounded.kinds["machine"];
        assert!(bounded.bytes() <= limits.bytes && kind.attributes.len() == 100 && kind.rest.is_none());
        let kept = kind.attributes.values().filter(|values| **values == filters).count();
        assert!((25..=32).contains(&kept), "{kept} filters of 2 KiB");
        let texts = (0..64).map(|number| format!("{number:020}").into()).collect();
        let lists = Values { texts: Some(Texts::Values(texts)), ..Values::default() };
        let bounded = summary(100, &lists).bounded(&limits);
        assert!(bounded.bytes() <= limits.bytes && bounded.kinds["machine"].rest.is_none());
        let least = Limits { bytes: 500, ..limits };
        let bounded = summary(100, &lists).bounded(&least);
        let kind = &bounded.kinds["machine"];
        assert!(bounded.bytes() <= 500 && kind.rest.is_some() && !kind.attributes.is_empty());
    }

    #[test]
    fn of_many_attributes_those_that_say_most_are_kept() {
        let mut many = summary(200, &Values::of(&classad::Value::Integer(1), &Limits::default()));
        let kind = many.kinds.get_mut("machine").unwrap();
        kind.attributes.insert("a000".to_owned(), Values::any());
        kind.attributes.get_mut("a001").unwrap().undefined = true;
        let kept = many.bounded(&Limits { attributes: 198, ..Limits::default() });
        let kind = &kept.kinds["machine"];
        assert!(!kind.attributes.contains_key("a000") && !kind.attributes.contains_key("a001"));
        assert!(kind.rest.is_some() && kind.values("a000") == Values::any());
    }

    #[test]
    fn of_many_resources_those_of_which_most_is_free_are_kept_and_the_rest_may_be_free() {
        let free = |number: i64| (format!("resource-{number:04}"), Free { max: 1, sum: number, shared: false });
        let kind = KindSummary { ads: 1, free: (1..=2500).map(free).collect(), ..KindSummary::default() };
        let whole = Summary { kinds: BTreeMap::from([("machine".to_owned(), kind)]), rest: None };
        assert!(whole.bytes() > 65536);
        let limits = Limits::default();
        let kind = &whole.clone().bounded(&limits).kinds["machine"];
        assert_eq!((kind.free.len(), kind.free_rest), (limits.resources, Some(Rest::Any)));
        assert!(kind.may_have("resource-2500", 1) && !kind.may_have("resource-2500", 2), "it is known");
        assert!(kind.may_have("resource-0001", 2), "it is not known");
        let least = whole.clone().bounded(&Limits { bytes: 500, ..limits });
        assert!(least.bytes() <= 500);
        let (one, other) = (least.merge(&whole, &limits), whole.merge(&least, &limits));
        assert_eq!(one, other);
        assert!(one.kinds["machine"].may_have("resource-0001", 2), "one side does not know");
    }

    #[test]
    fn of_many_kinds_those_with_most_offers_are_kept() {
        let kind = |ads| KindSummary { ads, ..KindSummary::default() };
        let kinds = (1..=20).map(|ads| (format!("kind{ads:02}"), kind(ads))).collect();
        let bounded = Summary { kinds, rest: None }.bounded(&Limits::default());
        assert_eq!(bounded.kinds.len(), 16);
        assert!(bounded.rest.is_some() && bounded.kinds.values().all(|kind| kind.ads > 4));
    }
}
