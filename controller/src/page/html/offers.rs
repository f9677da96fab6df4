//! The pages about Machines and Licenses: lists, and one offer with its terms in words.

use maud::{Markup, html};

use super::layout::{filter, pages};
use super::meters::{bar, curve, legend};
use super::{Frame, code, conditions, count, named, shown, span, state};
use crate::page::view::offers::{ClaimRow, OfferDetail, OfferRow, STATES};
use crate::page::view::{Listing, Query};

/// The list of Machines.
pub(crate) fn machines(frame: &Frame, query: &Query, list: &Listing<OfferRow>) -> Markup {
    frame.page("Machines", &offers("machines", query, list, "machines"))
}

/// The list of Licenses.
pub(crate) fn licenses(frame: &Frame, query: &Query, list: &Listing<OfferRow>) -> Markup {
    frame.page("Licenses", &offers("licenses", query, list, "licenses"))
}

fn offers(page: &str, query: &Query, list: &Listing<OfferRow>, noun: &str) -> Markup {
    html! {
        (filter(page, query, &STATES))
        section aria-label={ "List of " (noun) } {
            @if list.rows.is_empty() { p class="soft" { "There are no such " (noun) " that you may list." } } @else {
                (table(&list.rows, &format!("{} {noun}, by namespace and name", count(list.total))))
                (legend())
                (pages(page, query, list))
            }
        }
    }
}

/// Offers as a table.
pub(super) fn table(rows: &[OfferRow], caption: &str) -> Markup {
    let has_curves = rows.iter().any(|row| row.kind == "license");
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(caption) {
            table class="rows" {
                caption { (caption) }
                thead {
                    tr {
                        th scope="col" { @if has_curves { "License" } @else { "Machine" } } th scope="col" { "State" } th scope="col" { "Taken" }
                        @if has_curves { th scope="col" { "Last 4 hours" } }
                        th scope="col" class="less" { "Owner" }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" class="key" { (named(Some("offer"), row.kind, &row.key)) }
                            td { (state(&row.state)) @if !row.reason.is_empty() { " " span class="soft" { (shown(&row.reason)) } } }
                            td class="whole" { @for amount in &row.amounts { div { (bar(amount)) } } }
                            @if has_curves { td { (curve(&row.history)) } }
                            td class="less" { (shown(&row.owner)) }
                        }
                    }
                }
            }
        }
    }
}

/// One offer.
pub(crate) fn offer(frame: &Frame, offer: &OfferDetail) -> Markup {
    let row = &offer.row;
    let kind = if row.kind == "license" { "License" } else { "Machine" };
    let content = html! {
        section aria-label="Summary" {
            dl {
                dt { "State" } dd { (state(&row.state)) @if !row.reason.is_empty() { " " (shown(&row.reason)) } }
                dt { "Owner" } dd { (shown(&row.owner)) }
                @if let Some(node) = &offer.node { dt { "Node" } dd { (shown(node)) } }
                dt { "Taken" } dd { @for amount in &row.amounts { div { (bar(amount)) } } (legend()) }
                @if row.kind == "license" { dt { "Last 4 hours" } dd { (curve(&row.history)) } }
                dt { "Age" } dd { (span(row.age_seconds)) }
            }
        }
        section aria-labelledby="policy" {
            h2 id="policy" { "Its owner's terms" }
            ul class="policy" {
                @for sentence in &offer.policy {
                    li {
                        (shown(&sentence.words))
                        @match sentence.expressions.as_slice() {
                            [] => {},
                            [one] => { " " (code(one)) },
                            several => ul { @for one in several { li { (code(one)) } } },
                        }
                    }
                }
            }
        }
        (claims(&offer.claims))
        (conditions(&offer.conditions))
    };
    frame.page(&format!("{kind} {}", row.key), &content)
}

fn claims(rows: &[ClaimRow]) -> Markup {
    html! {
        section aria-labelledby="claims" {
            h2 id="claims" { "Claims" }
            @if rows.is_empty() { p class="soft" { "Nothing of it is claimed." } } @else {
                div class="scroll" tabindex="0" role="region" aria-labelledby="claims" {
                    table {
                        thead { tr { th scope="col" { "Match" } th scope="col" { "Holds" } th scope="col" { "Vote" } th scope="col" { "Activity" } } }
                        tbody {
                            @for row in rows {
                                tr {
                                    th scope="row" class="key" { (named(row.is_seen.then_some("match"), "", &row.key)) }
                                    td { (shown(&row.allocation)) } td { (shown(&row.vote)) } td { (shown(&row.activity)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
