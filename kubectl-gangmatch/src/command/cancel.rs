//! `cancel`: jobs that wait or run end, and their records stay.

use std::io::Write;
use std::process::ExitCode;

use crds::{Job, JobPhase};
use serde_json::{Value, json};

use crate::cluster::Kind;
use crate::command::change::{Action, JobsArguments, code, each_or};
use crate::command::status::phase;
use crate::subject::subjects;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Sets spec.done of the jobs. A job that waits is Cancelled at once. Of a job that holds machines or seats, the workload is stopped first;
they are free again after its last pod, and the job is Cancelled. The job and its Matches stay as a record: see history. To remove them,
too, write kubectl delete gmj JOB. In HTCondor: condor_rm.

A job without a workload that holds machines or seats has Succeeded: this is how its program says that its work is done.

Examples:
  kubectl gangmatch cancel sim
  kubectl gangmatch cancel a b -n eda --dry-run=server

Exit status:
  0  all jobs are being cancelled
  1  a job does not exist, has finished, or the API server refuses the change
  2  an option is wrong, or the cluster cannot be asked";

/// Cancels the jobs.
pub(crate) fn run(arguments: &JobsArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let jobs = subjects(&arguments.jobs, &[Kind::Job])?;
    Ok(code(each_or(&arguments.options, &jobs, out, &plan, &instead)?))
}

/// How the workload itself ends, given its job.
fn instead(job: &Value) -> Option<String> {
    let workload = job.pointer("/spec/workload/workloadRef")?;
    let name = workload.get("name")?.as_str()?;
    let resource = match workload.get("kind").and_then(Value::as_str) {
        Some("JobSet") => "jobsets.jobset.x-k8s.io",
        Some("Pod") => "pods",
        _ => "jobs.batch",
    };
    Some(format!("to end the workload, write kubectl delete {resource} {name}"))
}

fn plan(job: &Job) -> Action {
    let status = job.status.clone().unwrap_or_default();
    let members = status.members.as_deref().unwrap_or("its members");
    let done = match (phase(job).0, &status.claim) {
        (found @ (JobPhase::Succeeded | JobPhase::Failed | JobPhase::Cancelled), None) => {
            return Action::Refuse(format!("it has finished: it is {found:?}"));
        }
        _ if job.spec.done => return Action::Nothing("is ending already".to_owned()),
        (_, None) => "cancelled".to_owned(),
        (_, Some(_)) if job.spec.workload.is_some() => format!("cancelled; its claim ends: {members}"),
        (_, Some(_)) => format!("ended; its claim ends: {members}; it has no workload, so it has succeeded"),
    };
    Action::Patch { patch: json!({"spec": {"done": true}}), done }
}
