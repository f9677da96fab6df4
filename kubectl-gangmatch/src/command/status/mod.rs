//! `status`: the pool at a glance.

mod leader;
mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

use crds::conditions::{find, reasons, types};
use crds::{Decision, Job, JobPhase, OfferKind, OfferState, StopPolicy};
use jiff::Timestamp;
use pool::{Objects, OfferRef, usage};
use serde::Serialize;

use crate::cluster::{Held, Kind, NamespaceSource, without_job};
use crate::command::evaluated::evaluate;
use crate::output::{self, AnswerOptions};
pub(crate) use leader::Leader;
pub(crate) use text::text;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Prints whether a controller leads, the machines by state, the seats of each license, the jobs by phase and reason, and the
workloads that are held for a Job that does not exist, of all namespaces that you may read. Seats that are used outside the
cluster are EXTERNAL; FREE is what claims can still take, which is nothing of an offer that is draining or unavailable. With -f, a
negotiation cycle is computed here.

Examples:
  kubectl gangmatch status
  kubectl gangmatch status -o json

Exit status:
  0  the pool was printed
  1  no controller leads, so nothing is matched or released
  2  an option is wrong, or the cluster cannot be read";

/// What to read, and how to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct StatusArguments {
    /// The namespace of the controller and its Lease.
    #[arg(long, value_name = "NAME", default_value = "gangmatch-system")]
    controller_namespace: String,

    #[command(flatten)]
    output: AnswerOptions,

    #[command(flatten)]
    source: NamespaceSource,
}

/// The pool at a glance.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) controller: Option<Leader>,
    /// When the last negotiation cycle ran of which an object tells.
    pub(crate) last_cycle: Option<Timestamp>,
    pub(crate) claims: Claims,
    /// How many machines there are, by state.
    pub(crate) machines: BTreeMap<String, u64>,
    /// What all machines have together.
    pub(crate) machine_resources: Vec<Amounts>,
    pub(crate) licenses: Vec<License>,
    pub(crate) jobs: Vec<Jobs>,
    /// Workloads that are held for a Job that does not exist.
    pub(crate) held: Vec<Held>,
}

/// How many claims there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Claims {
    pub(crate) held: u64,
    /// They are being made.
    pub(crate) in_flight: u64,
}

/// How much of a resource there is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Amounts {
    pub(crate) resource: String,
    pub(crate) used: i64,
    pub(crate) external: i64,
    pub(crate) free: i64,
    pub(crate) total: i64,
}

/// One license.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct License {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) state: String,
    pub(crate) amounts: Vec<Amounts>,
}

/// Jobs of one phase that have the same reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Jobs {
    pub(crate) phase: String,
    pub(crate) reason: String,
    pub(crate) count: u64,
}

/// Prints the status.
pub(crate) fn run(arguments: &StatusArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let StatusArguments { controller_namespace, output, source } = arguments;
    let (mut pool, now) = (source.read(&KINDS)?, source.time());
    if source.kubectl().is_none() {
        evaluate(&mut pool, now);
    }
    let mut status = status(&pool.objects);
    status.controller = source.kubectl().map(|kubectl| Leader::read(&kubectl, controller_namespace, now));
    if let Some(kubectl) = source.kubectl() {
        status.held = without_job(&kubectl, &source.namespace(), &pool)?;
    }
    output.print(out, &text(&status, now), &status)?;
    output::remarks(&pool)?;
    let is_led = status.controller.is_none_or(|leader| leader.leads != Some(false));
    Ok(if is_led { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What is read of a cluster.
pub(crate) const KINDS: [Kind; 6] =
    [Kind::Job, Kind::Machine, Kind::License, Kind::Match, Kind::Account, Kind::PoolPolicy];

/// The status of a pool.
pub(crate) fn status(objects: &Objects) -> Status {
    let mut status = Status { last_cycle: last_cycle(objects), ..Status::default() };
    for found in objects.matches.values() {
        match found.decision() {
            Decision::Committed => status.claims.held += 1,
            Decision::Pending => status.claims.in_flight += 1,
            Decision::Aborted | Decision::Released => {}
        }
    }
    let mut resources = BTreeMap::new();
    for offer in objects.offers() {
        match offer.kind {
            OfferKind::Machine => {
                *status.machines.entry(state(offer)).or_default() += 1;
                for amounts in amounts(offer) {
                    let sum: &mut Amounts = resources.entry(amounts.resource.clone()).or_default();
                    sum.resource.clone_from(&amounts.resource);
                    sum.used = sum.used.saturating_add(amounts.used);
                    sum.external = sum.external.saturating_add(amounts.external);
                    sum.free = sum.free.saturating_add(amounts.free);
                    sum.total = sum.total.saturating_add(amounts.total);
                }
            }
            OfferKind::License => {
                let key = offer.key();
                let (namespace, name) = (key.namespace, key.name);
                status.licenses.push(License { namespace, name, state: state(offer), amounts: amounts(offer) });
            }
        }
    }
    status.machine_resources = resources.into_values().collect();
    status.jobs = jobs(objects);
    status
}

/// The state of an offer in one word.
pub(crate) fn state(offer: OfferRef<'_>) -> String {
    let state = offer.status.and_then(|status| status.state);
    state.map_or("Unknown".to_owned(), |state| format!("{state:?}"))
}

/// What an offer has of each resource.
pub(crate) fn amounts(offer: OfferRef<'_>) -> Vec<Amounts> {
    let taken = usage(offer.status);
    let one = |(resource, total): (&String, &i64)| {
        let external = offer.status.and_then(|status| status.external_usage.get(resource)).copied().unwrap_or(0);
        let all = taken.used(resource);
        let used = all.saturating_sub(external);
        let free = if is_closed(offer) { 0 } else { total.saturating_sub(all).max(0) };
        Amounts { resource: resource.clone(), used, external, free, total: *total }
    };
    offer.capacity.iter().map(one).collect()
}

/// Whether an offer accepts no new claims.
fn is_closed(offer: OfferRef<'_>) -> bool {
    let state = offer.status.and_then(|status| status.state);
    let closed = [OfferState::Draining, OfferState::Evicting, OfferState::Unavailable];
    offer.fields.stop_policy != StopPolicy::None || state.is_some_and(|state| closed.contains(&state))
}

/// The last time at which a cycle ran, as far as jobs and Matches tell.
fn last_cycle(objects: &Objects) -> Option<Timestamp> {
    let of_jobs =
        objects.jobs.iter().filter_map(|(_, held)| held.object.status.as_ref()?.unmatched.as_ref()?.at.clone());
    let of_matches = objects.matches.values().map(|found| found.spec.cycle.time.clone());
    of_jobs.chain(of_matches).map(|time| time.0).max()
}

fn jobs(objects: &Objects) -> Vec<Jobs> {
    let mut counts: BTreeMap<(JobPhase, String), u64> = BTreeMap::new();
    for (_, held) in objects.jobs.iter() {
        *counts.entry(phase(&held.object)).or_default() += 1;
    }
    let row = |((phase, reason), count): ((JobPhase, String), u64)| Jobs { phase: format!("{phase:?}"), reason, count };
    counts.into_iter().map(row).collect()
}

/// The phase of a job, and the reason for it if the phase alone does not tell.
pub(crate) fn phase(job: &Job) -> (JobPhase, String) {
    let status = job.status.as_ref();
    let phase = status.and_then(|status| status.phase).unwrap_or(JobPhase::Pending);
    let reason = |type_: &str| Some(find(&status?.conditions, type_)?.reason.clone());
    let not_accepted =
        status.and_then(|status| find(&status.conditions, types::ACCEPTED)).filter(|found| found.status == "False");
    let reason = match phase {
        JobPhase::Pending if not_accepted.is_some() => not_accepted.map(|found| found.reason.clone()),
        JobPhase::Pending => Some(reason(types::MATCHED).unwrap_or_else(|| reasons::PENDING_EVALUATION.to_owned())),
        JobPhase::Reserving => reason(types::CLAIMED),
        JobPhase::Succeeded | JobPhase::Failed | JobPhase::Cancelled => reason(types::FINISHED),
        JobPhase::Claimed | JobPhase::Running | JobPhase::Suspended => None,
    };
    (phase, reason.unwrap_or_default())
}
