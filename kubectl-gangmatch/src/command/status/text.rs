//! The status of a pool as text for people.

use jiff::Timestamp;

use pool::noun;

use super::{Amounts, Jobs, License, Status};
use crate::ages::age;
use crate::cluster::Held;
use crate::table::table;

/// How many held workloads are printed.
const HELD_MAX: usize = 20;

/// The status as text.
pub(crate) fn text(status: &Status, now: Timestamp) -> String {
    let mut text = String::new();
    let mut fact = |name: &str, said: &str| text.push_str(&format!("{name:<12}{said}\n"));
    if let Some(leader) = &status.controller {
        fact("Controller:", &leader.said);
    }
    let last = status.last_cycle.map(|time| format!("{} ago, as far as jobs and Matches tell", age(time, now)));
    fact("Last cycle:", &last.unwrap_or_else(|| "none that a job or a Match tells of".to_owned()));
    fact("Claims:", &format!("{} held, {} in flight", status.claims.held, status.claims.in_flight));
    let number = |count: &u64| count.to_string();
    let total: u64 = status.machines.values().sum();
    let mut headings = vec!["MACHINES"];
    headings.extend(status.machines.keys().map(String::as_str));
    let headings: Vec<String> = headings.iter().map(|heading| heading.to_uppercase()).collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let row: Vec<String> = std::iter::once(total.to_string()).chain(status.machines.values().map(number)).collect();
    text.push_str(&format!("\n{}", table(&headings, &[row], 0)));
    if !status.machine_resources.is_empty() {
        let row = |amounts: &Amounts| {
            vec![
                amounts.resource.clone(),
                amounts.used.to_string(),
                amounts.free.to_string(),
                amounts.total.to_string(),
            ]
        };
        let rows: Vec<Vec<String>> = status.machine_resources.iter().map(row).collect();
        text.push_str(&format!("\n{}", table(&["RESOURCE", "USED", "FREE", "TOTAL"], &rows, 0)));
    }
    if !status.licenses.is_empty() {
        let rows: Vec<Vec<String>> = status.licenses.iter().flat_map(license_rows).collect();
        let headings = ["LICENSE", "STATE", "RESOURCE", "USED", "EXTERNAL", "FREE", "TOTAL"];
        text.push_str(&format!("\n{}", table(&headings, &rows, 0)));
    }
    if status.jobs.is_empty() {
        text.push_str("\nThere are no jobs.\n");
    } else {
        let reason = |jobs: &Jobs| if jobs.reason.is_empty() { "-".to_owned() } else { jobs.reason.clone() };
        let rows: Vec<Vec<String>> =
            status.jobs.iter().map(|jobs| vec![jobs.phase.clone(), jobs.count.to_string(), reason(jobs)]).collect();
        text.push_str(&format!("\n{}", table(&["PHASE", "JOBS", "REASON"], &rows, 0)));
    }
    if !status.held.is_empty() {
        let row = |held: &Held| {
            let name = format!("{}/{}", held.namespace, held.name);
            vec![noun(held.kind).to_owned(), name, held.missing_job.clone()]
        };
        let rows: Vec<Vec<String>> = status.held.iter().take(HELD_MAX).map(row).collect();
        text.push_str(&format!("\n{}", table(&["HELD", "NAME", "MISSING JOB"], &rows, 0)));
        let more = status.held.len().saturating_sub(HELD_MAX);
        if more > 0 {
            text.push_str(&format!("{more} more are held for a Job that does not exist; -o json prints them all.\n"));
        }
    }
    text
}

fn license_rows(license: &License) -> Vec<Vec<String>> {
    let row = |amounts: &Amounts| {
        let numbers = [amounts.used, amounts.external, amounts.free, amounts.total];
        let name = format!("{}/{}", license.namespace, license.name);
        let mut row = vec![name, license.state.clone(), amounts.resource.clone()];
        row.extend(numbers.map(|number| number.to_string()));
        row
    };
    license.amounts.iter().map(row).collect()
}
