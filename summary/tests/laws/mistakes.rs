//! Mistakes that were made on purpose, each found by the law that is there to find it: a check that cannot fail proves nothing.

use serde_json::Value;
use summary::{Limits, Pool, Summary, may};

use crate::random::{World, world};

/// Whether law S fails of some world if each summary is changed in this way before it is read.
fn law_s_fails_of(change: impl Fn(&mut Value)) -> bool {
    let fails = |world: &World| {
        let mut json = serde_json::to_value(world.summary()).unwrap();
        change(&mut json);
        let summary: Summary = serde_json::from_value(json).unwrap();
        let ruled_out = |constraint| !may(constraint, &world.own, &World::labels(), &summary);
        world.constraints.iter().any(|constraint| world.is_true_of_some(constraint, 0) && ruled_out(constraint))
    };
    (0..3_000).any(|seed| fails(&world(seed)))
}

fn values(summary: &mut Value, change: impl Fn(&mut serde_json::Map<String, Value>)) {
    for (_, kind) in summary["classes"].as_object_mut().unwrap() {
        kind["attributes"].as_object_mut().into_iter().for_each(&change);
    }
}

#[test]
fn without_a_mistake_the_law_holds() {
    assert!(!law_s_fails_of(|_| {}));
}

#[test]
fn a_summary_that_forgets_an_attribute_is_found() {
    assert!(law_s_fails_of(|summary| values(summary, |attributes| drop(attributes.remove("memory")))));
}

#[test]
fn a_filter_read_in_the_wrong_bit_order_is_found() {
    let reversed = |digits: &str| -> String {
        let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap().reverse_bits();
        digits.as_bytes().chunks(2).map(|pair| format!("{:02x}", byte(pair))).collect()
    };
    let change = |attributes: &mut serde_json::Map<String, Value>| {
        for (_, values) in attributes {
            if let Some(digits) = values["texts"]["bloom"].as_str().map(reversed) {
                values["texts"]["bloom"] = digits.into();
            }
        }
    };
    assert!(law_s_fails_of(|summary| values(summary, change)));
}

#[test]
fn a_removal_that_is_not_subtracted_is_found() {
    let offers = (0..).map(world).find(|world| world.offers.len() > 4).unwrap().offers;
    let (mut right, mut wrong, mut anew) = (Pool::new(), Pool::new(), Pool::new());
    for (place, offer) in offers.iter().enumerate() {
        right.put(place, offer.facts());
        wrong.put(place, offer.facts());
    }
    right.remove(&0);
    offers.iter().enumerate().skip(1).for_each(|(place, offer)| anew.put(place, offer.facts()));
    let limits = Limits::default();
    assert_eq!(right.summary(&limits), anew.summary(&limits));
    assert_ne!(wrong.summary(&limits), anew.summary(&limits));
}
