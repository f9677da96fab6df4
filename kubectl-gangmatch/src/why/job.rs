//! The answer about a job.

use std::sync::Arc;

use analysis::{Change, Inspected, Question, Suggestion, Unknown, Word, evidence, inspect, suggest, unknown};
use classad::Expr;
use crds::conditions::{find, reasons, types};
use crds::{Job, Match, MatchStatus, UnmatchedConjunct};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::ResourceExt;
use matchmaker::{AdId, Root, Snapshot, Unmatched, Verdict, negotiate, service_order, summary};
use pool::{Cached, Explanation, JobState, ObjectKey, Obstacle, Obstacles, explained, job_state, why_held_for_others};

use super::answer::{
    ChangeAnswer, Conflict, ConjunctAnswer, JobAnswer, Line, MatchingOffers, PortAnswer, PortRefusals, Refusals, Said,
    SearchAnswer, StatusAnswer, SuggestionAnswer, UnknownAnswer, of_ad,
};
use super::case::{Case, claimed_since};
use super::displaced::preemption_answer;
use super::if_free::if_free;
use super::pauses::{backs_off, refusals};
use super::ports::Asking;
use super::reserved::reserved_answer;
use crate::cluster::Kind;

/// Why a job waits, or where it runs. None if there is no such job.
pub(crate) fn job_answer(case: &mut Case<'_>, key: &ObjectKey) -> Option<JobAnswer> {
    let objects = &case.pool.objects;
    let held = objects.jobs.get(key)?;
    let state = job_state(held, objects);
    let mut answer = JobAnswer {
        kind: "Job",
        namespace: key.namespace.clone(),
        name: key.name.clone(),
        notes: case.pool.notes.clone(),
        ..JobAnswer::default()
    };
    match state {
        JobState::Held => runs(case, held, &mut answer),
        JobState::Finished => answer.status = told(&held.object, types::FINISHED, "Finished"),
        JobState::Suspended => {
            let message = "spec.suspend is true; it waits when that is false";
            answer.status = StatusAnswer::of("Suspended", reasons::SUSPENDED, message);
        }
        JobState::NotAccepted => {
            let Said { reason, message, .. } = of_ad(&held.ad).unwrap_or_else(|| Said::of(reasons::NOT_ACCEPTED, ""));
            answer.status = StatusAnswer::of("NotAccepted", reason, message);
        }
        JobState::Waits if is_refused_for_the_rest(&held.object) => {
            answer.status = told(&held.object, types::ACCEPTED, "NotAccepted");
        }
        JobState::Waits if [Kind::Machine, Kind::License].iter().any(|kind| case.pool.partly.contains(kind)) => {
            as_the_controller_says(&held.object, &mut answer);
        }
        JobState::Waits => {
            let object = Arc::clone(&held.object);
            waits(case, key, &object, &mut answer);
        }
    }
    answer.status.remarks = remarks(held, state);
    if state != JobState::Held {
        answer.status.last_claim =
            conditions(&held.object).and_then(|conditions| of_condition(conditions, types::CLAIMED));
    }
    Some(answer)
}

fn conditions(job: &Job) -> Option<&[Condition]> {
    job.status.as_ref().map(|status| status.conditions.as_slice())
}

/// What a condition says.
fn of_condition(conditions: &[Condition], type_: &str) -> Option<Said> {
    find(conditions, type_).map(|found| Said::of(&found.reason, found.message.clone()))
}

/// Whether the controller does not accept the job for something that is not in its manifest.
fn is_refused_for_the_rest(job: &Job) -> bool {
    let accepted = find(conditions(job).unwrap_or_default(), types::ACCEPTED);
    let rest = [reasons::WORKLOADS_DISABLED, reasons::NAMESPACE_OVER_BUDGET];
    accepted.is_some_and(|accepted| accepted.status == "False" && rest.contains(&accepted.reason.as_str()))
}

/// What is said beside the state: what of the ad is ignored, whether its last gang was preempted, and of a job that has finished whether its
/// workload did not start.
fn remarks(held: &Cached<Job>, state: JobState) -> Vec<Said> {
    let all = conditions(&held.object).unwrap_or_default();
    let says = |type_, status| find(all, type_).filter(|found| found.status == status).and(of_condition(all, type_));
    let warnings = held.ad.is_ok().then(|| of_ad(&held.ad)).flatten();
    let ended = find(all, types::FINISHED).map(|found| found.reason.as_str());
    let not_started = (state == JobState::Finished).then(|| says(types::STARTED, "False")).flatten();
    // A workload that started and has ended is not started any more either: that is said already.
    let not_started = not_started.filter(|said| Some(said.reason.as_str()) != ended);
    warnings.into_iter().chain(says(types::PREEMPTED, "True")).chain(not_started).collect()
}

/// A job that a Match holds.
fn runs(case: &Case<'_>, held: &Cached<Job>, answer: &mut JobAnswer) {
    let job = &held.object;
    let uid = job.uid().unwrap_or_default();
    let is_open = |found: &&Arc<Match>| !found.decision().is_terminal();
    let claimed_by = job.claim().and_then(|claim| case.pool.objects.matches.by_uid(&claim.uid));
    let found = claimed_by.or_else(|| case.pool.objects.matches.of_root(&uid).map(|(_, found)| found).find(is_open));
    let conditions = conditions(job).unwrap_or_default();
    let last = [types::STARTED, types::CLAIMED, types::MATCHED].into_iter().find_map(|type_| find(conditions, type_));
    let reason = last.map_or(reasons::GANG_FOUND, |last| last.reason.as_str());
    let message = last.map_or("", |last| last.message.as_str());
    let ended = found.filter(|found| found.decision().is_terminal()).and_then(|found| found.status.as_ref());
    answer.status = match ended {
        Some(ended) => StatusAnswer::of("Held", ended.reason.as_deref().unwrap_or(reason), claim_ended(ended)),
        None => StatusAnswer::of("Held", reason, message),
    };
    answer.status.since = found.and_then(|found| claimed_since(found)).map(|since| since.to_string());
    answer.match_name =
        found.map(|found| found.name_any()).or_else(|| job.claim().map(|claim| claim.match_name.clone()));
    let of_status = job.status.as_ref().and_then(|status| status.members.clone());
    answer.members = found.map(|found| found.spec.summary.clone()).or(of_status);
}

/// What is said of a claim that has ended, but whose work has not stopped yet.
fn claim_ended(status: &MatchStatus) -> String {
    let why = status.message.as_deref().filter(|message| !message.is_empty()).map(|message| format!(" ({message})"));
    format!("its claim has ended{}; what it holds becomes free when its work has stopped", why.unwrap_or_default())
}

/// A state for which one of the job's conditions says why.
fn told(job: &Job, type_: &str, state: &'static str) -> StatusAnswer {
    let Some(found) = find(conditions(job).unwrap_or_default(), type_) else {
        let is_done = type_ == types::FINISHED && job.spec.done;
        let (reason, message) = if is_done { (reasons::DONE, "spec.done is true") } else { ("", "") };
        return StatusAnswer::of(state, reason, message);
    };
    let since = Some(found.last_transition_time.0.to_string());
    StatusAnswer { since, ..StatusAnswer::of(state, &found.reason, &found.message) }
}

/// A job that backs off, or waits for offers which the reader may not list: what its status says.
fn as_the_controller_says(job: &Job, answer: &mut JobAnswer) {
    let said = said(job);
    let reason = said.as_ref().map_or(reasons::PENDING_EVALUATION, |said| said.reason.as_str());
    let message = said.as_ref().map(|said| said.message.as_str()).filter(|message| !message.is_empty());
    let message = message.unwrap_or("the controller has not said yet why");
    answer.status = StatusAnswer { since: waiting_since(job), ..StatusAnswer::of("Waits", reason, message) };
    if backs_off(job) {
        answer.waiting.refused_by = refusals(job);
    }
    let Some(unmatched) = job.status.as_ref().and_then(|status| status.unmatched.as_ref()) else { return };
    answer.notes.push("the counts are those that the controller has written to the status of the job".to_owned());
    let count = |number: i64| usize::try_from(number).unwrap_or(0);
    let conjunct = |part: &UnmatchedConjunct| ConjunctAnswer {
        text: part.text.clone(),
        rejects: count(part.rejects),
        ..ConjunctAnswer::default()
    };
    let by_offer = |offers: usize| Refusals { offers, ..Refusals::default() };
    // A port without offers of which the sentence does not speak was not looked at.
    let is_told_of = |label: &str| answer.status.message.contains(&format!("port `{label}`"));
    answer.search.ports = unmatched
        .ports
        .iter()
        .filter(|port| port.candidates > 0 || is_told_of(&port.label))
        .map(|port| {
            let parts = unmatched.conjuncts.iter().filter(|part| part.port == port.label);
            let refused = count(port.refused_by_offer);
            let told = count(port.refused_by_job) + refused + count(port.busy);
            PortAnswer {
                label: port.label.clone(),
                noun: "offer",
                offers: count(port.candidates),
                open: count(port.candidates),
                refused: PortRefusals {
                    refused_by_job: count(port.refused_by_job),
                    conjuncts: parts.map(conjunct).collect(),
                    not_admitted: Vec::new(),
                    refused_by_offer: (refused > 0).then(|| by_offer(refused)).into_iter().collect(),
                },
                matching: MatchingOffers {
                    taken: count(port.busy),
                    free: count(port.candidates).saturating_sub(told),
                    ..MatchingOffers::default()
                },
                ..PortAnswer::default()
            }
        })
        .collect();
    answer.status.controller = said.filter(|said| said.hint.is_some());
}

/// The condition Matched, and the hint beside it.
fn said(job: &Job) -> Option<Said> {
    let said = of_condition(conditions(job)?, types::MATCHED)?;
    let unmatched = job.status.as_ref().and_then(|status| status.unmatched.as_ref());
    Some(Said { hint: unmatched.and_then(|unmatched| unmatched.hint.clone()), ..said })
}

fn waiting_since(job: &Job) -> Option<String> {
    let status = job.status.as_ref().and_then(|status| status.waiting_since.clone());
    let time = status.or_else(|| job.creation_timestamp())?.0;
    Some(jiff::Timestamp::from_second(time.as_second()).unwrap_or(time).to_string())
}

/// A job that waits: what a cycle on the pool makes of it.
fn waits(case: &mut Case<'_>, key: &ObjectKey, job: &Job, answer: &mut JobAnswer) {
    let since = waiting_since(job);
    let status = |state, reason: &str, message: &str| StatusAnswer {
        since: since.clone(),
        ..StatusAnswer::of(state, reason, message)
    };
    let Some(root) = case.root(key).cloned() else {
        if backs_off(job) {
            as_the_controller_says(job, answer);
        } else {
            answer.status = status("Waits", "", "no cycle has looked at it");
        }
        return;
    };
    answer.waiting.queue = Some(line(case, &root));
    if let Some(gang) = case.gang(root.ad) {
        answer.members = Some(summary(&case.snapshot, gang));
        answer.status = status("Matched", reasons::GANG_FOUND, "there is a gang for it, which the next cycle finds");
        answer.status.controller = said(job).filter(|said| said.reason != reasons::GANG_FOUND);
        return;
    }
    if let Some(why) = case.placement.as_ref().and_then(|placement| placement.passed_over(&case.snapshot, root.ad)) {
        answer.status = status("Waits", reasons::WAITING_FOR_TURN, &why);
        return;
    }
    let Some(unmatched) = case.unmatched(root.ad).cloned() else {
        let message = "the cycle had no steps left to say why";
        answer.status = status("Waits", reasons::SEARCH_BUDGET_EXHAUSTED, message);
        return;
    };
    let obstacles =
        Obstacles::of(&case.left, &case.unavailable).naming_all().find(&unmatched, &case.config, case.now.as_second());
    let Explanation { reason, why, hint } = explained(&unmatched, obstacles.as_deref().unwrap_or_default());
    let reserved = reserved_answer(case, root.ad, key);
    answer.status = match &reserved {
        Some(reserved) => {
            let why = why_held_for_others(&why, reserved.own.len() + reserved.others);
            status("Waits", reasons::HELD_FOR_OTHERS, &why)
        }
        None => status("Waits", reason, &why),
    };
    answer.waiting.reserved = reserved;
    answer.waiting.preemption = preemption_answer(case, root.ad, key);
    let is_about_preemption = |job: &Job| {
        let unmatched = job.status.as_ref().and_then(|status| status.unmatched.as_ref());
        unmatched.is_some_and(|unmatched| unmatched.preemption.is_some())
    };
    let is_unknown = answer.waiting.preemption.is_none() && is_about_preemption(job);
    answer.status.controller = said(job).filter(|said| said.reason != answer.status.reason || is_unknown);
    explain(case, &root, &unmatched, (key, job), obstacles.as_deref().unwrap_or_default(), answer);
    if answer.search.suggestions.is_empty() && answer.search.unknown.is_empty() && !hint.is_empty() {
        let StatusAnswer { reason, message, controller, .. } = &mut answer.status;
        let said = Said { reason: reason.clone(), message: message.clone(), hint: Some(hint) };
        controller.get_or_insert(said);
    }
}

/// Adds what was found in the pool for a job without a gang, what it waits for, and a few offers that suffice for the reason.
fn explain(
    case: &mut Case<'_>,
    root: &Root,
    unmatched: &Unmatched,
    (key, job): (&ObjectKey, &Job),
    obstacles: &[Obstacle],
    answer: &mut JobAnswer,
) {
    let now = case.now.as_second();
    let inspected = inspect(&case.left, root.ad, &case.config, now);
    // Whatever was read, the reader may see.
    let may_tell = |_| true;
    let suggestions = if unmatched.verdict.is_lasting() {
        let question =
            Question { pool: &case.left, root, inspected: &inspected, may_tell: &may_tell, config: &case.config, now };
        suggest(&question, &mut case.finder)
    } else {
        Vec::new()
    };
    let cited = cited(case, (root, &inspected), (&unmatched.verdict, &answer.status.reason), obstacles);
    let waits = unmatched.verdict == Verdict::WaitingForCapacity;
    answer.waiting.if_free = waits.then(|| if_free(case, root, &inspected)).flatten();
    let Some(ad) = case.snapshot.ad(root.ad) else { return };
    let asking = Asking { case, key, job, ad };
    let ports: Vec<PortAnswer> =
        inspected.iter().enumerate().map(|(number, found)| asking.port(number, found)).collect();
    let mut unknown = unknown(&case.left, root.ad, &may_tell);
    // Where there are no offers, every attribute is one that no offer has.
    unknown.retain(|one| one.word == Word::Label || ports.get(one.port).is_none_or(|port| port.offers > 0));
    answer.search = SearchAnswer {
        conflicts: conflicts(unmatched, &inspected, &ports),
        ports,
        unknown: unknown.iter().map(|one| unknown_answer(one, &inspected, &asking)).collect(),
        suggestions: suggestions.iter().map(|one| suggestion_answer(one, &inspected, &asking)).collect(),
    };
    answer.evidence = cited.unwrap_or_default().into_iter().map(|id| case.offer_name(id)).collect();
}

/// A few offers that suffice for the reason that is told, those that are not available among them; none if it takes more than these.
fn cited(
    case: &mut Case<'_>,
    (root, inspected): (&Root, &[Inspected]),
    (verdict, reason): (&Verdict, &str),
    obstacles: &[Obstacle],
) -> Option<Vec<AdId>> {
    let now = case.now.as_second();
    let mut ids = evidence((&case.left, root), inspected, verdict, (&case.config, now), &mut case.finder)?;
    let in_the_way = obstacles.iter().flat_map(|obstacle| &obstacle.offers).filter_map(|(key, _)| key.as_ref());
    ids.extend(in_the_way.filter_map(|key| case.left.find(key)));
    ids.sort_unstable();
    ids.dedup();
    (told_of(case, root, &ids)? == reason).then_some(ids)
}

/// The reason that would be told in a pool of these offers alone.
fn told_of(case: &mut Case<'_>, root: &Root, ids: &[AdId]) -> Option<&'static str> {
    let ads = ids.iter().chain([&root.ad]).filter_map(|id| case.left.shared(*id).cloned());
    let mut some = Snapshot::of(ads.collect());
    let ad = some.find(&case.left.ad(root.ad)?.key)?;
    some.roots = vec![Root { ad, ..root.clone() }];
    let now = case.now.as_second();
    let cycle = negotiate(&some, &case.config, now, &mut case.finder);
    let unmatched = cycle.unmatched.first()?;
    let found = Obstacles::of(&some, &case.unavailable).naming_all().find(unmatched, &case.config, now);
    Some(explained(unmatched, found.as_deref().unwrap_or_default()).reason)
}

fn line(case: &Case<'_>, root: &Root) -> Line {
    let order = service_order(&case.snapshot);
    let place = order.iter().position(|id| *id == root.ad).unwrap_or(0);
    let placed = case.placed();
    let namespace = |id| case.snapshot.ad(id).map(|ad| ad.key.namespace.clone());
    let own = namespace(root.ad);
    let ahead = || order.iter().take(place).copied();
    let ahead_own = ahead().filter(|id| namespace(*id) == own).count();
    Line {
        place: place + 1,
        of: order.len(),
        ahead_own,
        ahead_others: place - ahead_own,
        ahead_matched: ahead().filter(|id| placed.contains(id)).count(),
        held: case.snapshot.held.get(&*root.submitter).copied().unwrap_or(0),
        priority: root.priority,
    }
}

/// The ports that exclude each other.
fn conflicts(unmatched: &Unmatched, inspected: &[Inspected], ports: &[PortAnswer]) -> Vec<Conflict> {
    let label = |port: usize| unmatched.ports.get(port).map(|port| port.label.clone()).unwrap_or_default();
    let none = unmatched.joins.iter().filter(|join| join.before.1 > 0 && join.after.0 == 0);
    let of_join = |join: &matchmaker::JoinWhy| {
        let parts = unmatched.ports.get(join.port).map(|port| port.conjuncts.as_slice()).unwrap_or_default();
        let own = join.conjuncts.iter().filter_map(|part| parts.get(*part)).map(|part| part.text.clone());
        let theirs = ports.get(join.port).filter(|_| join.owners).into_iter().flat_map(looking);
        Conflict {
            ports: vec![label(join.with), label(join.port)],
            fit: vec![join.before.0, join.before.1],
            conjuncts: own.chain(theirs).collect(),
        }
    };
    let known: Vec<Conflict> = none.map(of_join).collect();
    let agree = |found: &Inspected| found.offers.iter().filter(|pair| pair.agrees() && pair.open).count();
    let fit: Vec<u64> = inspected.iter().map(|found| u64::try_from(agree(found)).unwrap_or(u64::MAX)).collect();
    if !known.is_empty() || !unmatched.verdict.is_lasting() || inspected.len() < 2 || fit.contains(&0) {
        return known;
    }
    // The index could not tell; every port has offers, and no gang.
    let own = inspected.iter().flat_map(|found| {
        found
            .joint
            .iter()
            .filter_map(|place| found.conjuncts.get(*place))
            .map(|part| part.excerpt(matchmaker::EXCERPT_MAX))
    });
    let conjuncts: Vec<String> = own.chain(ports.iter().flat_map(looking)).collect();
    vec![Conflict { ports: inspected.iter().map(|found| found.label.clone()).collect(), fit, conjuncts }]
}

/// The parts of the constraints of offers at a port that look at other ports.
fn looking(port: &PortAnswer) -> impl Iterator<Item = String> + '_ {
    port.looks_at_other_ports.iter().filter_map(|group| group.conjunct.clone())
}

fn unknown_answer(one: &Unknown, inspected: &[Inspected], asking: &Asking<'_>) -> UnknownAnswer {
    let port = inspected.get(one.port);
    let part = port.and_then(|port| port.conjuncts.get(one.conjunct));
    let labels: Vec<&str> = inspected.iter().map(|port| port.label.as_str()).collect();
    let written = &one.written;
    let label = written.split_once('.').map_or(written.as_str(), |(label, _)| label);
    let is_later = matches!(one.word, Word::Label) && labels.iter().any(|own| own.eq_ignore_ascii_case(label));
    let what = match (one.word, written.split_once('.')) {
        (Word::Attribute, Some((_, name))) => format!("no offer has an attribute `{name}`"),
        (Word::Attribute, None) => format!("no offer has an attribute `{written}`, and neither has the job"),
        (Word::Label, _) if is_later => format!("port `{label}` comes later; move this port after it"),
        (Word::Label, _) => {
            let ports = if labels.len() == 1 { "the only port is" } else { "the ports are" };
            format!("there is no port called `{label}`; {ports} {}", labels.join(", "))
        }
    };
    let meant_name = one.meant.clone().filter(|_| !is_later);
    let meant = meant_name.as_ref().map(|meant| match one.offers {
        0 => format!("; did you mean `{meant}`?"),
        1 => format!("; did you mean `{meant}`, which 1 offer has?"),
        offers => format!("; did you mean `{meant}`, which {offers} offers have?"),
    });
    UnknownAnswer {
        port: port.map(|port| port.label.clone()).unwrap_or_default(),
        written: written.clone(),
        place: part.map(|part| asking.place(one.port, part)).unwrap_or_default(),
        message: format!("`{written}`: {what}{}", meant.unwrap_or_default()),
        meant: meant_name,
        offers: one.offers,
    }
}

fn suggestion_answer(one: &Suggestion, inspected: &[Inspected], asking: &Asking<'_>) -> SuggestionAnswer {
    let text = |expr: &Expr| expr.excerpt(matchmaker::EXCERPT_MAX);
    let change = |change: &Change| {
        let port = inspected.get(change.port());
        let label = port.map(|port| port.label.clone()).unwrap_or_default();
        match change {
            Change::Drop { conjunct, .. } | Change::Replace { conjunct, .. } => {
                let part = port.and_then(|port| port.conjuncts.get(*conjunct));
                ChangeAnswer {
                    port: label,
                    place: part.map(|part| asking.place(change.port(), part)).unwrap_or_default(),
                    from: part.map(text).unwrap_or_default(),
                    to: if let Change::Replace { with, .. } = change { Some(text(with)) } else { None },
                }
            }
            Change::Request { resource, amount, .. } => ChangeAnswer {
                port: label,
                place: String::new(),
                from: format!("the request of {resource}"),
                to: Some(format!("{resource}: {amount}")),
            },
        }
    };
    let changes: Vec<ChangeAnswer> = one.changes.iter().map(change).collect();
    let parts: Vec<String> = changes
        .iter()
        .map(|change| match &change.to {
            Some(to) => format!("with `{to}`"),
            None => format!("without `{}`", change.from),
        })
        .collect();
    let members: Vec<String> = one.gang.iter().map(|id| asking.case.offer_name(*id)).collect();
    let noun = one.changes.first().and_then(|change| inspected.get(change.port()));
    let noun = noun.map_or("offer", |port| asking.port_noun(port));
    let gives = match one.offers {
        Some(1) => format!("1 {noun} matches"),
        Some(offers) => format!("{offers} {noun}s match"),
        None => format!("there is a gang: {}", members.join(", ")),
    };
    let when = match (one.now, one.offers) {
        (true, _) => "",
        (false, Some(0..=1)) => ", when it is free",
        (false, _) => ", when they are free",
    };
    SuggestionAnswer {
        message: format!("{}, {gives}{when}", parts.join(" and ")),
        changes,
        offers: one.offers,
        members: members.join(", "),
        now: one.now,
    }
}
