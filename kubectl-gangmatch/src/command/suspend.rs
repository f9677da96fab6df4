//! `suspend` and `resume`: jobs are taken out of the queue, and put back.

use std::io::Write;
use std::process::ExitCode;

use crds::{Job, JobPhase};
use serde_json::json;

use crate::cluster::Kind;
use crate::command::change::{Action, JobsArguments, code, each};
use crate::command::status::phase;
use crate::subject::subjects;

/// What `suspend --help` says below the options.
pub(crate) const AFTER_SUSPEND: &str = "\
Sets spec.suspend of the jobs. A suspended job is not matched; a claim that it holds is released, and its workload is stopped first.
It keeps its place by age, and is matched again after `resume`. In HTCondor: condor_hold.

Examples:
  kubectl gangmatch suspend sim
  kubectl gangmatch suspend a b -n eda --dry-run=server

Exit status:
  0  all jobs are suspended
  1  a job does not exist, has finished, or the API server refuses the change
  2  an option is wrong, or the cluster cannot be asked";

/// What `resume --help` says below the options.
pub(crate) const AFTER_RESUME: &str = "\
Clears spec.suspend of the jobs, so that they are matched again. In HTCondor: condor_release.

Examples:
  kubectl gangmatch resume sim

Exit status:
  0  no job is suspended any more
  1  a job does not exist, or the API server refuses the change
  2  an option is wrong, or the cluster cannot be asked";

/// Suspends the jobs.
pub(crate) fn suspend(arguments: &JobsArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let jobs = subjects(&arguments.jobs, &[Kind::Job])?;
    Ok(code(each(&arguments.options, &jobs, out, &suspended)?))
}

/// Resumes the jobs.
pub(crate) fn resume(arguments: &JobsArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let jobs = subjects(&arguments.jobs, &[Kind::Job])?;
    Ok(code(each(&arguments.options, &jobs, out, &resumed)?))
}

fn suspended(job: &Job) -> Action {
    match phase(job).0 {
        JobPhase::Succeeded | JobPhase::Failed | JobPhase::Cancelled => {
            Action::Refuse("it has finished, so it cannot be suspended".to_owned())
        }
        _ if job.spec.suspend => Action::Nothing("is suspended already".to_owned()),
        _ => {
            let held = job.status.as_ref().and_then(|status| status.members.as_ref());
            let ends = held.map(|members| format!("; its claim ends: {members}")).unwrap_or_default();
            Action::Patch { patch: json!({"spec": {"suspend": true}}), done: format!("suspended{ends}") }
        }
    }
}

fn resumed(job: &Job) -> Action {
    match job.spec.suspend {
        true => Action::Patch { patch: json!({"spec": {"suspend": false}}), done: "resumed".to_owned() },
        false => Action::Nothing("is not suspended".to_owned()),
    }
}
