//! The answers of `why` in words. Counts that are 0 are not spoken of.

use std::collections::BTreeSet;
use std::fmt::Write;

use crds::conditions::reasons;

use super::answer::{
    Conflict, ConjunctAnswer, Holder, IfFree, JobAnswer, Line, MatchingOffers, PortAnswer, PortRefusals, Refusals,
    Said, SearchAnswer, StatusAnswer, TakenOffer, WaitingAnswer,
};
use super::offer::{JobCount, OfferAnswer};
use crate::amounts::{counted, in_words, listed, verb};
use crate::offline::READER;

/// The answer about a job.
pub(crate) fn job_text(answer: &JobAnswer) -> String {
    let mut text = String::new();
    let name = format!("job {}/{}", answer.namespace, answer.name);
    let members = answer.members.as_deref().unwrap_or("");
    let StatusAnswer { state, reason, message, controller, last_claim, remarks, since } = &answer.status;
    let first = match *state {
        "Held" => format!("{name} holds {members}"),
        "Matched" => format!("{name} does not have to wait: {message}: {members}"),
        "Finished" => format!("{name} has finished: {message}"),
        "Suspended" => format!("{name} is suspended: {message}"),
        "NotAccepted" => format!("{name} is not accepted: {message}"),
        "Unknown" => format!("what {name} would get cannot be told: {message}"),
        _ => format!("{name} waits: {message}"),
    };
    line(&mut text, 0, &first);
    if *state == "Held" && !message.is_empty() {
        line(&mut text, 0, message);
    }
    let since = since.as_ref().map(|since| format!(", since {since}")).unwrap_or_default();
    let by = answer.match_name.as_ref().map(|name| format!(", Match {name}")).unwrap_or_default();
    line(&mut text, 0, &format!("Reason: {reason}{since}{by}"));
    if let Some(said) = controller {
        if said.hint.is_none() || said.reason != *reason {
            line(&mut text, 0, &format!("The controller says: {}: {}", said.reason, said.message));
        }
        if let Some(hint) = &said.hint {
            line(&mut text, 0, &format!("Hint: {hint}"));
        }
    }
    remarks_text(&mut text, remarks);
    if let Some(last) = last_claim {
        let message = if last.message.is_empty() { String::new() } else { format!(": {}", last.message) };
        line(&mut text, 0, &format!("Its last claim ended: {}{message}", last.reason));
    }
    search_text(&mut text, &answer.search);
    waiting_text(&mut text, answer);
    text
}

/// What was found for a job, port by port, and what helps.
fn search_text(text: &mut String, search: &SearchAnswer) {
    for port in &search.ports {
        text.push('\n');
        port_text(text, port);
    }
    for conflict in &search.conflicts {
        text.push('\n');
        line(text, 0, &conflict_text(conflict));
    }
    helps(text, search);
}

/// What a job waits for. Taken offers that a port has named are not named again.
fn waiting_text(text: &mut String, JobAnswer { search, waiting, .. }: &JobAnswer) {
    let WaitingAnswer { refused_by, if_free, preemption, reserved, queue } = waiting;
    if !refused_by.is_empty() {
        text.push('\n');
        line(text, 0, "Offers that refused it:");
        refused_by.iter().for_each(|refusal| line(text, 2, refusal));
    }
    if let Some(free) = if_free {
        text.push('\n');
        line(text, 0, &if_free_text(free));
        let taken_offers = search.ports.iter().flat_map(|port| &port.matching.taken_offers);
        let told: BTreeSet<&str> = taken_offers.map(|taken| taken.offer.as_str()).collect();
        let others = free.taken.iter().filter(|taken| !told.contains(taken.offer.as_str()));
        others.for_each(|taken| taken_text(text, 2, taken));
    }
    let preemption = preemption.as_ref().map(|preemption| preemption.message.clone());
    let reserved = reserved.as_ref().map(|reserved| reserved.message.clone());
    for said in preemption.into_iter().chain(reserved).chain(queue.as_ref().map(line_text)) {
        text.push('\n');
        line(text, 0, &said);
    }
}

/// What a job would get, and what of it has to become free.
fn if_free_text(free: &IfFree) -> String {
    let offers: Vec<&str> = free.taken.iter().map(|taken| taken.offer.as_str()).collect();
    let of_these = format!("{} {} free", listed(&offers), if offers.len() < 3 { "were" } else { "were all" });
    let when = if free.only_needed && !offers.is_empty() { of_these } else { "nothing were taken".to_owned() };
    match &free.quota {
        Some(quota) => format!("Even if {when}, a quota would not let it have {}: {quota}.", free.members),
        None => format!("If {when}, it would get {}.", free.members),
    }
}

fn remarks_text(text: &mut String, remarks: &[Said]) {
    for Said { reason, message, .. } in remarks {
        line(text, 0, &if message.is_empty() { reason.clone() } else { format!("{reason}: {message}") });
    }
}

fn conflict_text(conflict: &Conflict) -> String {
    let fits = conflict.ports.iter().zip(&conflict.fit).map(|(port, fit)| format!("{fit} for {port}"));
    let parts: Vec<String> = conflict.conjuncts.iter().map(|part| format!("`{part}`")).collect();
    let on = if parts.is_empty() { String::new() } else { format!(" on {}", parts.join(" and ")) };
    format!(
        "The ports {} exclude each other: {} would do, but none of them agree{on}.",
        conflict.ports.join(" and "),
        fits.collect::<Vec<_>>().join(" and ")
    )
}

fn helps(text: &mut String, search: &SearchAnswer) {
    if !search.unknown.is_empty() {
        text.push('\n');
        line(text, 0, "Names that mean nothing here:");
        for one in &search.unknown {
            line(text, 2, &format!("{}{}", one.message, placed(&one.place)));
        }
    }
    if !search.suggestions.is_empty() {
        text.push('\n');
        line(text, 0, "Each of these changes was tried and helps:");
        for one in &search.suggestions {
            let place = one.changes.iter().map(|change| change.place.as_str()).find(|place| !place.is_empty());
            line(text, 2, &format!("{}{}", one.message, placed(place.unwrap_or(""))));
        }
    }
}

fn placed(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("  ({place})") }
}

fn port_text(text: &mut String, port: &PortAnswer) {
    let PortRefusals { refused_by_job, conjuncts, not_admitted, refused_by_offer } = &port.refused;
    line(text, 0, &format!("Port {}: {}{}", port.label, counted(port.offers, port.noun), open_text(port)));
    if *refused_by_job > 0 {
        let end = if conjuncts.is_empty() { ", which has none" } else { ":" };
        line(text, 2, &format!("{} not satisfy the constraint of the job{end}", verb(*refused_by_job, "does", "do")));
        let rejecting = conjuncts.iter().filter(|part| part.rejects > 0);
        rejecting.for_each(|part| conjunct_text(text, part));
    }
    for group in not_admitted {
        let which = format!("{} in namespace {}", counted(group.offers, port.noun), group.namespace);
        line(text, 2, &format!("{which} {} not open to the job: {}", is(group.offers), group.because));
    }
    for group in refused_by_offer {
        line(text, 2, &refusals_text(group, port.noun));
        group.facts.iter().for_each(|fact| line(text, 4, fact));
    }
    port.too_small_because.iter().for_each(|group| line(text, 2, &group.message));
    matching_text(text, &port.matching);
    for group in &port.looks_at_other_ports {
        let looks = verb(group.offers, "also looks", "also look");
        let part = group.conjunct.as_deref().unwrap_or("");
        let example = group.example.as_deref().unwrap_or("");
        line(text, 2, &format!("{looks} at the partners at other ports: `{part}`  ({example})"));
    }
    for part in conjuncts.iter().filter(|part| part.reads_other_ports) {
        line(text, 2, &format!("the job looks at several ports: `{}`{}", part.text, placed(&part.place)));
    }
    if port.cut {
        line(text, 2, "not all were looked at: the constraint is too expensive");
    }
}

/// The offers that match: closed, taken and free ones.
fn matching_text(text: &mut String, matching: &MatchingOffers) {
    if matching.closed > 0 {
        line(
            text,
            2,
            &format!(
                "{} match, but no claims on {} are accepted now:",
                verb(matching.closed, "would", "would"),
                it(matching.closed)
            ),
        );
        for closed in &matching.closed_offers {
            line(text, 4, &format!("{}: {}: {}", closed.offer, closed.reason, closed.message));
        }
        more(text, matching.closed, matching.closed_offers.len());
    }
    if matching.taken > 0 {
        let colon = if matching.taken_offers.is_empty() { "" } else { ":" };
        line(
            text,
            2,
            &format!("{} match, but {} taken{colon}", verb(matching.taken, "would", "would"), is(matching.taken)),
        );
        matching.taken_offers.iter().for_each(|taken| taken_text(text, 4, taken));
        more(text, matching.taken, matching.taken_offers.len());
    }
    if matching.free > 0 {
        line(text, 2, &format!("{} match and {} free", verb(matching.free, "would", "would"), is(matching.free)));
    }
}

/// How many of the offers of a port accept claims of the job's namespace, if that is not all: the first line counts only these.
fn open_text(port: &PortAnswer) -> String {
    match (port.offers, port.open) {
        (offers, open) if offers == open => String::new(),
        (1, _) => ", which is not open to the job now".to_owned(),
        (_, 0) => ", none of which is open to the job now".to_owned(),
        (_, open) => format!(", {} open to the job now", verb(open, "of which is", "of which are")),
    }
}

fn conjunct_text(text: &mut String, part: &ConjunctAnswer) {
    line(text, 4, &format!("`{}` is not true of {}{}", part.text, part.rejects, placed(&part.place)));
}

fn refusals_text(group: &Refusals, noun: &str) -> String {
    let place = group.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}")).unwrap_or_default();
    let owner = match group.owner.as_deref() {
        Some(READER) => " of yours".to_owned(),
        Some(owner) => format!(" of {owner}"),
        None => String::new(),
    };
    let part = group.conjunct.as_ref().map(|part| format!(": `{part}`")).unwrap_or_default();
    let example = group.example.as_ref().filter(|_| group.offers > 1).map(|one| format!("  (such as {one})"));
    let example = example.or_else(|| group.example.as_ref().map(|one| format!("  ({one})"))).unwrap_or_default();
    let refuses = if group.offers == 1 { "refuses" } else { "refuse" };
    format!("{}{owner}{place} {refuses} the job{part}{example}", counted(group.offers, noun))
}

fn taken_text(text: &mut String, indent: usize, taken: &TakenOffer) {
    let used = if taken.used.is_empty() { String::new() } else { format!(" ({})", used_text(taken)) };
    let mut holders: Vec<String> = taken.holders.iter().map(holder_text).collect();
    match taken.more + taken.others {
        0 => {}
        others => holders.push(counted(others, "other claim")),
    }
    holders.extend(held_for(taken));
    let held = if holders.is_empty() { String::new() } else { format!(": {}", holders.join("; ")) };
    line(text, indent, &format!("{}{used}{held}", taken.offer));
}

/// How many jobs wait for which some of it is held.
fn held_for(taken: &TakenOffer) -> Option<String> {
    match taken.nominated_jobs {
        0 => None,
        1 => Some("held for 1 job that waits".to_owned()),
        jobs => Some(format!("held for {jobs} jobs that wait")),
    }
}

/// What is used of an offer, in the cluster and outside.
fn used_text(taken: &TakenOffer) -> String {
    let outside = in_words(&taken.external);
    if outside.is_empty() { taken.used.clone() } else { format!("{}, and {outside} outside the cluster", taken.used) }
}

fn holder_text(holder: &Holder) -> String {
    let when = match (&holder.since, &holder.until) {
        (None, _) => ", as it comes first in this cycle".to_owned(),
        (Some(since), None) => format!(" since {since}"),
        (Some(since), Some(until)) => format!(" since {since}, until {until} at the latest"),
    };
    let amounts = if holder.amounts.is_empty() { "it" } else { &holder.amounts };
    let owner = holder.owner.as_ref().map(|owner| format!(" of {owner}")).unwrap_or_default();
    let shared = if holder.shared { " (shared)" } else { "" };
    format!("{}{owner} holds {amounts}{shared}{when}", holder.job)
}

fn line_text(queue: &Line) -> String {
    let mut text = format!("Place in line: {} of {}", queue.place, queue.of);
    if queue.place > 1 {
        let _ = write!(text, ". Ahead of it: {} of its namespace", counted(queue.ahead_own, "job"));
        if queue.ahead_others > 0 {
            let _ = write!(text, " and {} of others", queue.ahead_others);
        }
        let _ = match (queue.ahead_own + queue.ahead_others, queue.ahead_matched) {
            (1, 0) => write!(text, "; it has no gang now"),
            (1, _) => write!(text, "; it has a gang now"),
            (_, 0) => write!(text, "; none of them has a gang now"),
            (_, 1) => write!(text, "; 1 of them has a gang now"),
            (_, matched) => write!(text, "; {matched} of them have a gang now"),
        };
    }
    let held = counted(usize::try_from(queue.held).unwrap_or(usize::MAX), "gang");
    let _ = write!(text, ". Its priority is {}; its namespace holds {held}.", queue.priority);
    text
}

/// The answer about an offer.
pub(crate) fn offer_text(answer: &OfferAnswer) -> String {
    let mut text = String::new();
    let first = match answer.ready {
        true if answer.reason == reasons::FULL => {
            format!("{} is full: {} in use", answer.taken.offer, used_text(&answer.taken))
        }
        true => format!("{} accepts claims: {} in use", answer.taken.offer, used_text(&answer.taken)),
        false => format!("{} accepts no claims: {}: {}", answer.taken.offer, answer.reason, answer.message),
    };
    line(&mut text, 0, &first);
    if answer.ready && !answer.message.is_empty() {
        line(&mut text, 0, &answer.message);
    }
    remarks_text(&mut text, &answer.remarks);
    for holder in &answer.taken.holders {
        line(&mut text, 2, &holder_text(holder));
    }
    if answer.taken.more > 0 {
        line(&mut text, 2, &format!("and {} more, which `kubectl gangmatch describe` lists", answer.taken.more));
    }
    if answer.taken.others > 0 {
        line(&mut text, 2, &format!("{} of jobs that you may not see", counted(answer.taken.others, "claim")));
    }
    if let Some(said) = held_for(&answer.taken) {
        line(&mut text, 2, &said);
    }
    text.push('\n');
    line(&mut text, 0, &format!("{} waiting.", verb(answer.jobs.waiting, "job is", "jobs are")));
    jobs_text(&mut text, ["could use it"; 2], "", &answer.jobs.could_use);
    jobs_text(&mut text, ["is held back by a quota", "are held back by a quota"], "", &answer.jobs.held_back);
    for group in &answer.jobs.refuses {
        jobs_text(&mut text, ["is refused by it", "are refused by it"], &group.conjunct, &group.jobs);
    }
    jobs_text(&mut text, ["requests more than it has", "request more than it has"], "", &answer.jobs.too_small_for);
    let others = ["is of a namespace that it is not open to", "are of namespaces that it is not open to"];
    jobs_text(&mut text, others, "", &answer.jobs.not_admitted);
    jobs_text(&mut text, ["backs off after a refusal", "back off after refusals"], "", &answer.jobs.backs_off);
    for group in &answer.jobs.not_wanted {
        jobs_text(&mut text, ["does not want it", "do not want it"], &group.conjunct, &group.jobs);
    }
    text
}

fn jobs_text(text: &mut String, [one, many]: [&str; 2], conjunct: &str, jobs: &JobCount) {
    if jobs.count > 0 {
        let rest = jobs.count - jobs.names.len();
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        let part = if conjunct.is_empty() { String::new() } else { format!(": `{conjunct}`") };
        line(text, 2, &format!("{}{part}  ({}{more})", verb(jobs.count, one, many), jobs.names.join(", ")));
    }
}

fn more(text: &mut String, all: usize, named: usize) {
    if named > 0 && all > named {
        line(text, 4, &format!("and {} more", all - named));
    }
}

fn line(text: &mut String, indent: usize, line: &str) {
    let _ = writeln!(text, "{:indent$}{line}", "");
}

fn is(count: usize) -> &'static str {
    if count == 1 { "is" } else { "are" }
}

fn it(count: usize) -> &'static str {
    if count == 1 { "it" } else { "them" }
}
