//! What pages show into HTML. Everything is escaped: names, values and messages are those of tenants.

mod gang;
mod jobs;
mod layout;
mod meters;
mod offers;
mod overview;
#[cfg(test)]
mod tests;

use crds::ad::shows_as_written;
use maud::{Markup, html};
use pool::ObjectKey;

pub(crate) use gang::page as gang;
pub(crate) use jobs::{job, jobs};
pub(crate) use layout::{Frame, Here, notice, sign_in};
pub(crate) use offers::{licenses, machines, offer};
pub(crate) use overview::overview;

use crate::page::view::ConditionRow;

/// The style sheet, which is served by itself.
pub(crate) const STYLE: &str = include_str!("../style.css");

/// A text of others: what would hide, or turn the direction of what follows, is written as an escape, and it is isolated from the text
/// around it.
fn shown(text: &str) -> Markup {
    html! { bdi { (plain(text)) } }
}

/// The same inside an attribute, or in a drawing.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if character == '\n' || shows_as_written(character) {
            out.push(character);
        } else {
            out.extend(character.escape_default());
        }
    }
    out
}

/// A text in the language of ads.
fn code(text: &str) -> Markup {
    html! {
        @if text.contains('\n') || text.len() > 120 { pre { (shown(text)) } } @else { code { (shown(text)) } }
    }
}

/// The address of a page about an object: its page, then names and values of the query.
fn address(page: &str, query: &[(&str, &str)]) -> String {
    let mut all = form_urlencoded::Serializer::new(String::new());
    for (name, value) in query.iter().filter(|(_, value)| !value.is_empty()) {
        all.append_pair(name, value);
    }
    let query = all.finish();
    if query.is_empty() { page.to_owned() } else { format!("{page}?{query}") }
}

/// The name of an object, with a link to its page if there is one.
fn named(page: Option<&str>, kind: &str, key: &ObjectKey) -> Markup {
    let ObjectKey { namespace, name } = key;
    html! {
        @match page {
            Some(page) => a href=(address(page, &[("kind", kind), ("namespace", namespace), ("name", name)])) { (plain(namespace)) "/" (plain(name)) },
            None => (shown(&format!("{namespace}/{name}"))),
        }
    }
}

/// A state with its colour. The word says it without the colour, too.
fn state(word: &str) -> Markup {
    let class = match word {
        "Available" | "Succeeded" | "Committed" | "True" => "good",
        "Claimed" | "Running" | "Full" => "busy",
        "Pending" | "Reserving" | "New" | "Draining" | "Evicting" | "Suspended" => "warn",
        "Failed" | "Unavailable" | "Aborted" => "bad",
        _ => "plain",
    };
    html! { span class={ "state " (class) } { (shown(word)) } }
}

/// A time span in words: `45 s`, `12 min`, `3 h 20 min`, `5 d 2 h`.
fn span(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match seconds {
        ..60 => format!("{} s", seconds.max(0)),
        60..3600 => format!("{minutes} min"),
        3600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A number with thin spaces between thousands.
fn number(number: i64) -> String {
    let digits = number.unsigned_abs().to_string();
    let mut out = String::from(if number < 0 { "-" } else { "" });
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push('\u{202f}');
        }
        out.push(digit);
    }
    out
}

fn count(count: usize) -> String {
    number(i64::try_from(count).unwrap_or(i64::MAX))
}

/// The conditions of an object.
fn conditions(rows: &[ConditionRow]) -> Markup {
    html! {
        section aria-labelledby="conditions" {
            h2 id="conditions" { "Conditions" }
            @if rows.is_empty() { p class="soft" { "The controller has not written a status yet." } } @else {
                div class="scroll" tabindex="0" role="region" aria-labelledby="conditions" {
                    table {
                        thead { tr { th scope="col" { "Condition" } th scope="col" { "Status" } th scope="col" { "Reason" } th scope="col" { "Message" } th scope="col" class="n" { "Since" } } }
                        tbody {
                            @for row in rows {
                                tr {
                                    th scope="row" { (shown(&row.type_)) }
                                    td { (shown(&row.status)) }
                                    td { (shown(&row.reason)) }
                                    td class="wide" { (shown(&row.message)) }
                                    td class="n" { (span(row.since_seconds)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
