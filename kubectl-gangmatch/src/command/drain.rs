//! `drain` and `undrain`: an offer accepts no new claims, and accepts them again.

use std::io::Write;
use std::process::ExitCode;

use crds::{License, Machine, OfferFields, OfferStatus, StopPolicy};
use serde_json::json;

use crate::cluster::Kind;
use crate::command::change::{Action, ChangeOptions, code, each};
use crate::subject::{Subject, subjects};

/// What `drain --help` says below the options.
pub(crate) const AFTER_DRAIN: &str = "\
Sets spec.stopPolicy: Hold means no new claims, and existing claims continue; with --evict it is HoldAndDrain, and existing claims
are ended, too. Their jobs are matched again, with other offers. In HTCondor: condor_drain, condor_vacate.

Examples:
  kubectl gangmatch drain machine/lab-3
  kubectl gangmatch drain license/vcs --evict -n eda
  kubectl gangmatch drain machine/a machine/b --dry-run=client

Exit status:
  0  all offers are draining
  1  an offer does not exist, or the API server refuses the change
  2  an option is wrong, or the cluster cannot be asked";

/// What `undrain --help` says below the options.
pub(crate) const AFTER_UNDRAIN: &str = "\
Sets spec.stopPolicy to None, so that the offers accept claims again.

Examples:
  kubectl gangmatch undrain machine/lab-3

Exit status:
  0  all offers accept claims
  1  an offer does not exist, or the API server refuses the change
  2  an option is wrong, or the cluster cannot be asked";

/// Which offers to drain.
#[derive(Debug, clap::Args)]
pub(crate) struct DrainArguments {
    #[command(flatten)]
    offers: OffersArguments,

    /// Also end the existing claims.
    #[arg(long)]
    evict: bool,
}

/// Which offers.
#[derive(Debug, clap::Args)]
pub(crate) struct OffersArguments {
    /// The offers: machine/NAME or license/NAME.
    #[arg(value_name = "OFFER", required = true)]
    offers: Vec<String>,

    #[command(flatten)]
    options: ChangeOptions,
}

/// Drains the offers.
pub(crate) fn drain(arguments: &DrainArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let policy = if arguments.evict { StopPolicy::HoldAndDrain } else { StopPolicy::Hold };
    run(&arguments.offers, policy, out)
}

/// Lets the offers accept claims again.
pub(crate) fn undrain(arguments: &OffersArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    run(arguments, StopPolicy::None, out)
}

fn run(arguments: &OffersArguments, policy: StopPolicy, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let offers = subjects(&arguments.offers, &[Kind::Machine, Kind::License])?;
    let mut fine = true;
    for offer in &offers {
        let one: &[Subject] = std::slice::from_ref(offer);
        fine &= match offer.kind {
            Kind::Machine => each(&arguments.options, one, out, &|machine: &Machine| {
                plan(policy, &machine.spec.offer, machine.status.as_ref())
            })?,
            _ => each(&arguments.options, one, out, &|license: &License| {
                plan(policy, &license.spec.offer, license.status.as_ref())
            })?,
        };
    }
    Ok(code(fine))
}

fn plan(policy: StopPolicy, fields: &OfferFields, status: Option<&OfferStatus>) -> Action {
    if fields.stop_policy == policy {
        return Action::Nothing(match policy {
            StopPolicy::None => "accepts claims already".to_owned(),
            _ => format!("is drained already (stopPolicy: {policy:?})"),
        });
    }
    let claims = status.map_or(0, |status| status.claims.len());
    let of_them = match (policy, claims) {
        (StopPolicy::None, _) | (_, 0) => String::new(),
        (StopPolicy::Hold, 1) => "; 1 claim continues".to_owned(),
        (StopPolicy::Hold, count) => format!("; {count} claims continue"),
        (StopPolicy::HoldAndDrain, 1) => "; 1 claim is ended".to_owned(),
        (StopPolicy::HoldAndDrain, count) => format!("; {count} claims are ended"),
    };
    let verb = if policy == StopPolicy::None { "undrained" } else { "drained" };
    let done = format!("{verb} (stopPolicy: {policy:?}){of_them}");
    Action::Patch { patch: json!({"spec": {"stopPolicy": policy}}), done }
}
