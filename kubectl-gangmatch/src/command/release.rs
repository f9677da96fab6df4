//! `release`: a claim ends. The job is finished, or it is matched again.

use std::io::Write;
use std::process::ExitCode;

use crds::{Job, JobPhase};
use serde_json::json;

use crate::cluster::Kind;
use crate::command::change::{Action, JobsArguments, code, each};
use crate::command::status::phase;
use crate::subject::subjects;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Sets spec.done of the jobs: the workload is stopped, the machines and seats are free again, and the job is finished: Cancelled, if
its workload had not ended. This is how a job without a workload says that its work is done, and has Succeeded. With --requeue, the
Match is deleted instead: the claim ends in the same way, and the job is matched again.

  to                                        write                                     in HTCondor
  end a claim, and finish the job           kubectl gangmatch release JOB             none
  end a claim, and match the job again      kubectl gangmatch release JOB --requeue   condor_vacate_job
  take a job out of the queue for a while   kubectl gangmatch suspend JOB             condor_hold
  put it back                               kubectl gangmatch resume JOB              condor_release
  end a job that waits or runs              kubectl gangmatch cancel JOB              condor_rm
  remove a job and its record               kubectl delete gmj JOB                    none

Examples:
  kubectl gangmatch release sim
  kubectl gangmatch release sim --requeue --dry-run=client

Exit status:
  0  all claims are being released
  1  a job does not exist, holds nothing, or the API server refuses the change
  2  an option is wrong, or the cluster cannot be asked";

/// Which jobs.
#[derive(Debug, clap::Args)]
pub(crate) struct ReleaseArguments {
    #[command(flatten)]
    jobs: JobsArguments,

    /// Match the jobs again.
    #[arg(long)]
    requeue: bool,
}

/// Releases the claims of the jobs.
pub(crate) fn run(arguments: &ReleaseArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let jobs = subjects(&arguments.jobs.jobs, &[Kind::Job])?;
    Ok(code(each(&arguments.jobs.options, &jobs, out, &|job| plan(job, arguments.requeue))?))
}

fn plan(job: &Job, requeue: bool) -> Action {
    let status = job.status.clone().unwrap_or_default();
    let members = status.members.as_deref().unwrap_or("its members");
    let name = job.metadata.name.as_deref().unwrap_or("NAME");
    match (phase(job).0, &status.claim) {
        (JobPhase::Succeeded | JobPhase::Failed | JobPhase::Cancelled, None) => {
            Action::Refuse("it has finished, so it holds nothing".to_owned())
        }
        (JobPhase::Suspended, None) => Action::Refuse(format!(
            "it is suspended, so it holds nothing; to put it back into the queue, write kubectl gangmatch resume {name}"
        )),
        (phase, None) => Action::Refuse(format!(
            "it holds nothing: it is {phase:?}; to take it out of the queue, write kubectl gangmatch suspend {name} or cancel {name}"
        )),
        (_, Some(_)) if job.spec.done => Action::Nothing("is being released already".to_owned()),
        (_, Some(claim)) if requeue => {
            let done = format!("released: {members}; the job is matched again");
            Action::DeleteMatch { name: claim.match_name.clone(), done }
        }
        (_, Some(_)) => {
            let done = format!("released: {members}; the job is finished");
            Action::Patch { patch: json!({"spec": {"done": true}}), done }
        }
    }
}
