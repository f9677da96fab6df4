//! What is read prints as text that reads back as the same tree, in every form.
#![no_main]

use classad::{Ad, Dialect, Reader, parse_ad, parse_expr, parse_json, parse_long, read_ads};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for dialect in [Dialect::Htcondor, Dialect::Gangmatch] {
        if let Ok(expr) = parse_expr(text, dialect) {
            let printed = expr.to_string();
            let again = parse_expr(&printed, dialect);
            assert_eq!(again.as_ref().ok(), Some(&expr), "printed as {printed}");
            assert_eq!(again.map(|again| again.to_string()).ok(), Some(printed));
            // Canonical text loses quotes and digits, as HTCondor's does.
            let _ = expr.canonical();
        }
        if let Ok(ad) = parse_ad(text, dialect) {
            assert_eq!(Reader::new(dialect).ad(text).as_ref().ok(), Some(&ad), "as one of many");
        }
        for ad in read_ads(text, dialect).read.unwrap_or_default() {
            in_every_form(&ad, dialect);
        }
    }
});

fn in_every_form(ad: &Ad, dialect: Dialect) {
    let again = parse_ad(&ad.to_string(), dialect);
    assert_eq!(again.as_ref().ok(), Some(ad), "printed as {ad}");
    let json = ad.to_json();
    assert_eq!(parse_json(&json, dialect).as_ref().ok(), Some(ad), "as JSON {json}");
    if let Ok(long) = ad.to_long() {
        assert_eq!(parse_long(&long, dialect).as_ref().ok(), Some(ad), "as lines {long}");
    }
}
