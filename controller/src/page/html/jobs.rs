//! The pages about jobs: the queue, and one job.

use maud::{Markup, html};

use super::layout::{filter, pages};
use super::{Frame, code, conditions, count, gang, named, number, shown, span, state};
use crate::page::view::jobs::{JobDetail, JobRow, PHASES};
use crate::page::view::{Listing, Query};

/// The list of jobs.
pub(crate) fn jobs(frame: &Frame, query: &Query, list: &Listing<JobRow>) -> Markup {
    let content = html! {
        (filter("jobs", query, &PHASES))
        section aria-label="List of jobs" {
            @if list.rows.is_empty() { p class="soft" { "There is no such job that you may list." } } @else {
                (table(&list.rows, &format!("{} jobs: those that wait first, in the order of priority and age", count(list.total))))
                (pages("jobs", query, list))
            }
        }
    };
    frame.page("Jobs", &content)
}

/// Jobs as a table.
pub(super) fn table(rows: &[JobRow], caption: &str) -> Markup {
    html! {
        div class="scroll" tabindex="0" role="region" aria-label=(caption) {
            table class="rows" {
                caption { (caption) }
                thead {
                    tr {
                        th scope="col" { "Job" } th scope="col" { "Phase" } th scope="col" { "Why, or the members" }
                        th scope="col" class="n less" { "Priority" } th scope="col" class="n" { "Waits for" } th scope="col" class="n less" { "Age" }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            th scope="row" class="key" { (named(Some("job"), "", &row.key)) }
                            td { (state(row.phase)) }
                            td class="wide" { (shown(&row.says)) }
                            td class="n less" { (row.priority) }
                            td class="n waits" { @if let Some(waited) = row.waited_seconds { (span(waited)) } }
                            td class="n less" { (span(row.age_seconds)) }
                        }
                    }
                }
            }
        }
    }
}

/// One job.
pub(crate) fn job(frame: &Frame, job: &JobDetail) -> Markup {
    let row = &job.row;
    let content = html! {
        section aria-label="Summary" {
            dl {
                dt { "Phase" } dd { (state(row.phase)) }
                dt { "Owner" } dd { (shown(&row.owner)) }
                dt { "Priority" } dd { (row.priority) }
                dt { "Age" } dd { (span(row.age_seconds)) }
                @if let Some(waited) = row.waited_seconds { dt { "Waits for" } dd { (span(waited)) } }
                @if !row.says.is_empty() { dt { @if row.waited_seconds.is_some() { "Why" } @else { "Members" } } dd { (shown(&row.says)) } }
                @if let Some(hint) = &job.hint { dt { "Hint" } dd { (shown(hint)) } }
            }
        }
        @if !job.ports.is_empty() { (search(job)) }
        @if let Some(found) = &job.gang { (gang::section(found)) }
        (conditions(&job.conditions))
    };
    frame.page(&format!("Job {}", row.key), &content)
}

/// What the last search found.
fn search(job: &JobDetail) -> Markup {
    html! {
        section aria-labelledby="search" {
            h2 id="search" { "What the last search found" }
            div class="scroll" tabindex="0" role="region" aria-labelledby="search" {
                table {
                    thead {
                        tr {
                            th scope="col" { "Port" } th scope="col" class="n" { "Offers" } th scope="col" class="n" { "Refused by the job" }
                            th scope="col" class="n" { "Refuse the job" } th scope="col" class="n" { "Taken" }
                        }
                    }
                    tbody {
                        @for port in &job.ports {
                            tr {
                                th scope="row" { (shown(&port.label)) }
                                td class="n" { (number(port.candidates)) } td class="n" { (number(port.refused_by_job)) }
                                td class="n" { (number(port.refused_by_offer)) } td class="n" { (number(port.busy)) }
                            }
                        }
                    }
                }
            }
            @if !job.conjuncts.is_empty() {
                h3 { "Offers that each condition of the job refuses" }
                ul class="policy" {
                    @for (port, text, rejects) in &job.conjuncts { li { (shown(port)) ": " (code(text)) " refuses " (number(*rejects)) } }
                }
            }
        }
    }
}
