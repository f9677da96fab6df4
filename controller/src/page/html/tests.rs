//! What tenants write is text on every page, and never markup.

use jiff::Timestamp;

use super::*;
use crate::page::history::SeatSample;
use crate::page::policy::Sentence;
use crate::page::view::gang::{GangMember, GangView};
use crate::page::view::jobs::{JobDetail, JobRow, PortRow};
use crate::page::view::offers::{Amount, ClaimRow, OfferDetail, OfferRow};
use crate::page::view::overview::{JobsPart, LicensesPart, MachinesPart, Overview};
use crate::page::view::{Listing, Query};

/// Markup, quotes, a character that turns the direction of text, one that a terminal obeys, one that is not visible.
const HOSTILE: &str = "<script>alert(1)</script>\"'><img src=x onerror=y>&amp;\u{202e}drah\u{1b}[31m\u{200b}";

fn hostile() -> String {
    HOSTILE.to_owned()
}

fn key() -> ObjectKey {
    ObjectKey::new(HOSTILE, HOSTILE)
}

fn frame() -> Frame {
    Frame {
        here: Here::Overview,
        viewer: hostile(),
        has_session: true,
        is_partial: true,
        namespace: Some(hostile()),
        taken_at: Timestamp::UNIX_EPOCH,
    }
}

fn query() -> Query {
    Query { namespace: Some(hostile()), name: Some(hostile()), kind: Some(hostile()), state: Some(hostile()), page: 2 }
}

fn condition() -> ConditionRow {
    ConditionRow { type_: hostile(), status: hostile(), reason: hostile(), message: hostile(), since_seconds: 5 }
}

fn job_row() -> JobRow {
    let says = hostile();
    JobRow {
        key: key(),
        owner: hostile(),
        phase: "Pending",
        priority: 3,
        says,
        age_seconds: 90_000,
        waited_seconds: Some(61),
    }
}

fn offer_row(kind: &'static str) -> OfferRow {
    OfferRow {
        kind,
        key: key(),
        owner: hostile(),
        state: hostile(),
        reason: hostile(),
        amounts: vec![Amount { resource: hostile(), all: 10, claimed: 4, external: 2 }],
        history: vec![SeatSample { all: 10, claimed: 4, external: 2 }; 3],
        age_seconds: 5,
    }
}

fn found_gang() -> GangView {
    let member = |parent| GangMember {
        kind: hostile(),
        key: key(),
        parent,
        port: hostile(),
        allocation: hostile(),
        is_seen: true,
    };
    GangView {
        key: key(),
        decision: hostile(),
        reason: hostile(),
        message: hostile(),
        rank: hostile(),
        members: vec![member(None), member(Some(0)), member(Some(0))],
    }
}

fn list<R>(row: R) -> Listing<R> {
    Listing { rows: vec![row], total: 250, page: 2, pages: 3 }
}

/// Every page, full of hostile text.
fn all() -> Vec<(&'static str, String)> {
    let job_detail = JobDetail {
        row: job_row(),
        conditions: vec![condition()],
        ports: vec![PortRow { label: hostile(), candidates: 1, refused_by_job: 2, refused_by_offer: 3, busy: 4 }],
        conjuncts: vec![(hostile(), hostile(), 7)],
        hint: Some(hostile()),
        gang: Some(found_gang()),
    };
    let several = Sentence { words: hostile(), expressions: vec![hostile(), hostile().repeat(9)] };
    let offer_detail = OfferDetail {
        row: offer_row("license"),
        policy: vec![Sentence { words: hostile(), expressions: vec![hostile()] }, several],
        claims: vec![ClaimRow {
            key: key(),
            is_seen: true,
            allocation: hostile(),
            vote: hostile(),
            activity: hostile(),
        }],
        conditions: vec![condition()],
        node: Some(hostile()),
    };
    let amount = Amount { resource: hostile(), all: 1, claimed: 1, external: 0 };
    let seen = Overview {
        jobs: Some(JobsPart {
            total: 5000,
            phases: vec![(hostile(), 3)],
            reasons: vec![(hostile(), 3)],
            first: vec![job_row()],
        }),
        licenses: Some(LicensesPart { total: 1, seats: amount.clone(), fullest: vec![offer_row("license")] }),
        machines: Some(MachinesPart { total: 1, states: vec![(hostile(), 1)], amounts: vec![amount] }),
    };
    let pages = [
        ("overview", overview(&frame(), &query(), &seen)),
        ("jobs", jobs(&frame(), &query(), &list(job_row()))),
        ("job", job(&frame(), &job_detail)),
        ("machines", machines(&frame(), &query(), &list(offer_row("machine")))),
        ("licenses", licenses(&frame(), &query(), &list(offer_row("license")))),
        ("offer", offer(&frame(), &offer_detail)),
        ("match", gang(&frame(), &found_gang())),
        ("notice", notice(HOSTILE, HOSTILE)),
        ("sign in", sign_in(Some(HOSTILE))),
    ];
    pages.into_iter().map(|(name, page)| (name, page.into_string())).collect()
}

/// The tags of a page: what is between `<` and `>`. Text has no `<`, and attributes have neither.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()).collect()
}

#[test]
fn what_tenants_write_is_text_and_never_markup() {
    for (name, page) in all() {
        assert!(page.contains("&lt;script&gt;"), "{name} shows what it is given");
        for tag in tags(&page) {
            let element = tag.trim_start_matches('/').split([' ', '\n']).next().unwrap_or_default();
            assert!(!["script", "img", "iframe", "object", "style", "base"].contains(&element), "{name}: <{tag}>");
            let quotes = tag.matches('"').count();
            assert_eq!(quotes % 2, 0, "{name}: a quote ends an attribute: <{tag}>");
            let attributes = tag.split('"').step_by(2).collect::<String>();
            assert!(!attributes.contains("onerror") && !attributes.contains(" on"), "{name}: <{tag}>");
            assert!(!attributes.contains("style="), "{name}: the policy forbids styles here: <{tag}>");
        }
        for odd in ['\u{202e}', '\u{1b}', '\u{200b}'] {
            assert!(!page.contains(odd), "{name} has {odd:?}");
        }
        assert!(page.contains("\\u{202e}"), "{name} says what was there");
    }
}

#[test]
fn links_lead_to_where_they_say() {
    let all = all();
    let (_, list) = all.iter().find(|(name, _)| *name == "jobs").unwrap();
    let encoded = "namespace=%3Cscript%3Ealert%281%29%3C%2Fscript%3E%22%27%3E%3Cimg+src%3Dx+onerror%3Dy%3E%26amp%3B%E2%80%AEdrah%1B%5B31m%E2%80%8B";
    assert!(list.contains(&format!("href=\"job?{encoded}&amp;name=")), "{list}");
    assert!(list.contains("page=1\" rel=\"prev\"") && list.contains("page=3\" rel=\"next\""), "{list}");
}

#[test]
fn every_page_has_a_language_landmarks_and_names_for_those_who_do_not_see_it() {
    for (name, page) in all() {
        for part in
            ["<html lang=\"en\">", "<title>", "<main id=\"main\">", "<h1>", "class=\"skip\"", "name=\"viewport\""]
        {
            assert!(page.contains(part), "{name} lacks {part}");
        }
        assert_eq!(page.matches("<h1>").count(), 1, "{name}");
        for tag in tags(&page) {
            let has = |attribute: &str| tag.contains(attribute);
            let is = |element: &str| tag.split(' ').next() == Some(element);
            assert!(!is("th") || has("scope="), "{name}: <{tag}>");
            assert!(!is("svg") || has("aria-hidden") || (has("role=\"img\"") && has("aria-label=")), "{name}: <{tag}>");
            assert!(!is("section") || has("aria-label") || name == "sign in", "{name}: <{tag}>");
            assert!(!has("tabindex") || (has("role=\"region\"") && has("aria-label")), "{name}: <{tag}>");
        }
    }
}

#[test]
fn spans_and_numbers_are_for_people() {
    assert_eq!([-1, 59, 60, 3_660, 180_000].map(span), ["0 s", "59 s", "1 min", "1 h 1 min", "2 d 2 h"]);
    assert_eq!([7, 1_000, -1_234_567].map(number), ["7", "1\u{202f}000", "-1\u{202f}234\u{202f}567"]);
    assert_eq!(plain("a\u{2066}b\tc"), "a\\u{2066}b\\tc");
    assert_eq!(code("x").into_string(), "<code><bdi>x</bdi></code>");
}
