//! The first page: the pool at a glance.

use maud::{Markup, html};

use super::layout::filter;
use super::meters::{bar, legend};
use super::{Frame, address, count, jobs, number, offers, shown, state};
use crate::page::view::Query;
use crate::page::view::overview::{JobsPart, LicensesPart, MachinesPart, Overview};

/// The overview.
pub(crate) fn overview(frame: &Frame, query: &Query, overview: &Overview) -> Markup {
    let Overview { jobs, licenses, machines } = overview;
    let content = html! {
        (filter("./", query, &[]))
        @if jobs.is_none() && licenses.is_none() && machines.is_none() {
            p class="note" { "You may not list jobs, machines or licenses in any namespace that was looked at. A role such as " code { "view" } " in a namespace lets you." }
        }
        ul class="tiles" aria-label="Totals" {
            @if let Some(jobs) = jobs {
                (tile("Jobs that wait", &count(of_phase(jobs, &["New", "Pending"])), &format!("of {}", count(jobs.total))))
                (tile("Jobs that hold a gang", &count(of_phase(jobs, &["Claimed", "Running"])), ""))
            }
            @if let Some(LicensesPart { seats, .. }) = licenses {
                (tile("Seats taken", &number(seats.claimed.saturating_add(seats.external)), &format!("of {}", number(seats.all))))
            }
            @if let Some(machines) = machines { (tile("Machines", &count(machines.total), "")) }
        }
        div class="grid" {
            @if let Some(jobs) = jobs { (reasons(jobs, query)) }
            @if let Some(machines) = machines { (machines_section(machines, query)) }
        }
        @if let Some(licenses) = licenses { (licenses_section(licenses)) }
        @if let Some(jobs) = jobs { (queue(jobs)) }
    };
    frame.page("Overview", &content)
}

fn tile(name: &str, number: &str, of: &str) -> Markup {
    html! { li { span class="number" { (number) @if !of.is_empty() { " " span class="of" { (of) } } } span class="name" { (name) } } }
}

fn of_phase(jobs: &JobsPart, phases: &[&str]) -> usize {
    jobs.phases.iter().filter(|(phase, _)| phases.contains(&phase.as_str())).map(|(_, count)| count).sum()
}

fn reasons(jobs: &JobsPart, query: &Query) -> Markup {
    let namespace = query.namespace.as_deref().unwrap_or_default();
    html! {
        section aria-labelledby="phases" {
            h2 id="phases" { "Jobs" }
            @if jobs.phases.is_empty() { p class="soft" { "There are none." } }
            table {
                tbody {
                    @for (phase, jobs) in &jobs.phases {
                        tr { th scope="row" { a href=(address("jobs", &[("namespace", namespace), ("state", phase)])) { (state(phase)) } } td class="n" { (count(*jobs)) } }
                    }
                }
            }
            @if !jobs.reasons.is_empty() {
                h3 { "Why they wait" }
                table { tbody { @for (reason, jobs) in &jobs.reasons { tr { th scope="row" { (shown(reason)) } td class="n" { (count(*jobs)) } } } } }
            }
        }
    }
}

fn machines_section(machines: &MachinesPart, query: &Query) -> Markup {
    let namespace = query.namespace.as_deref().unwrap_or_default();
    html! {
        section aria-labelledby="machines" {
            h2 id="machines" { "Machines" }
            table {
                tbody {
                    @for (name, machines) in &machines.states {
                        tr { th scope="row" { a href=(address("machines", &[("namespace", namespace), ("state", name)])) { (state(name)) } } td class="n" { (count(*machines)) } }
                    }
                }
            }
            @if !machines.amounts.is_empty() {
                h3 { "Capacity" }
                @for amount in &machines.amounts { div { (bar(amount)) } }
                (legend())
            }
        }
    }
}

fn licenses_section(licenses: &LicensesPart) -> Markup {
    html! {
        section aria-labelledby="licenses" {
            h2 id="licenses" { "Licenses" }
            @if licenses.fullest.is_empty() { p class="soft" { "There are none." } } @else {
                (offers::table(&licenses.fullest, &format!("{} of {} licenses: those of which most is taken", licenses.fullest.len(), count(licenses.total))))
                (legend())
            }
        }
    }
}

fn queue(jobs: &JobsPart) -> Markup {
    html! {
        section aria-labelledby="queue" {
            h2 id="queue" { "Head of the queue" }
            @if jobs.first.is_empty() { p class="soft" { "No job waits." } } @else {
                (jobs::table(&jobs.first, "Jobs that wait, in the order of priority and age. Namespaces take turns."))
            }
        }
    }
}
