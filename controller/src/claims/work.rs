//! The workload of a claim: made and started, each by requests that test what was read before. Its end is in `stop.rs`.

use std::sync::Arc;

use claiming::{Digest, Event, Reason, Work};
use crds::{Job, LABEL_MATCH_UID, Match, WorkKind, Workload};
use pool::{ObjectKey, WorkloadObject};

use crate::claims::refusal::OfferRefusal;
use crate::claims::stalls::Setback;
use crate::claims::step::{Step, StepResult};
use crate::claims::view::Leg;
use crate::cycle::backoff::retry_of;
use crate::cycle::job_backoff::Cause;
use crate::status::cut;
use crate::workloads::{self, Gang, batch_job, gang, state_of, version_of, work_of};
use crate::write::answer::Answer;
use crate::write::work_requests::{Raw, Seen};
use kube::runtime::events::EventType;

/// How many characters of what keeps a pod from starting are in the message: of statuses that others write.
const WHY_MAX: usize = 500;

impl Step<'_> {
    fn gang(&self, job: &Job) -> Option<Gang> {
        let found = self.view.found.as_ref()?;
        Some(gang(found, job, &self.context.cache.lock(), &self.claims.engine, self.context.clock.now()))
    }

    /// Makes the workload, suspended, or marks the one that the job names.
    pub(super) async fn make_work(&mut self) -> StepResult {
        let Some(job) = self.job() else { return Err(self.failed("the job is not seen any more")) };
        let (Some(workload), Some(gang)) = (&job.spec.workload, self.gang(&job)) else {
            return Err(self.failed("the job wants no workload any more"));
        };
        match workload {
            Workload { job_template: Some(template), .. } => {
                match serde_json::from_value::<Raw>(batch_job(template, &gang)) {
                    Ok(raw) => self.post(&raw).await,
                    Err(error) => Err(self.failed(format!("the batch Job cannot be written: {error}"))),
                }
            }
            Workload { workload_ref: Some(reference), .. } => {
                let key = ObjectKey::new(&self.view.key.namespace, &reference.name);
                self.take_over(reference.kind, &key, &gang).await
            }
            _ => Err(self.failed("the job wants no workload any more")),
        }
    }

    async fn post(&mut self, raw: &Raw) -> StepResult {
        match self.context.cluster.make(raw).await {
            Answer::Done(made) => {
                tracing::info!(r#match = %self.view.key, "batch Job created");
                Ok(self.learned_work(&made))
            }
            // it is another Match's, or this one's and only now seen: it is read
            Answer::Exists => match self.context.cluster.read_work(WorkKind::Job, &self.view.key).await {
                Answer::Done(found) if self.is_its(&found) => Ok(self.learned_work(&found)),
                Answer::Done(found) => {
                    self.learned_work(&found);
                    Ok(Event::Work(Work::Foreign))
                }
                answer => Err(self.lost(&answer)),
            },
            Answer::Denied(refused) => {
                tracing::warn!(r#match = %self.view.key, message = refused.message, "batch Job refused");
                self.learned.message = format!("the batch Job was refused: {}", refused.message);
                Ok(Event::Work(Work::Finished(false)))
            }
            answer => Err(self.lost(&answer)),
        }
    }

    fn is_its(&self, seen: &Seen) -> bool {
        self.view.whose(&self.context.cache.lock()).owns(&seen.work)
    }

    /// The workload of the claim, as it is seen.
    pub(super) fn seen_work(&self) -> Option<Arc<WorkloadObject>> {
        let objects = self.context.cache.lock();
        work_of(self.view.whose(&objects), &objects).cloned()
    }

    fn learned_work(&self, seen: &Seen) -> Event {
        self.context.learn_work(seen.work.clone());
        Event::Work(state_of(&seen.work))
    }

    /// Puts the claim's label on a workload that was there before. The label of another claim is replaced only once that claim is
    /// over.
    async fn take_over(&mut self, kind: WorkKind, key: &ObjectKey, gang: &Gang) -> StepResult {
        let seen = match self.context.cluster.read_work(kind, key).await {
            Answer::Done(seen) => seen,
            Answer::Missing => return Err(self.waits_for_owner(workloads::not_there(kind, &key.name))),
            answer => return Err(self.lost(&answer)),
        };
        if let Some(well) = seen.work.ended {
            return Ok(Event::Work(Work::Finished(well)));
        }
        if self.is_its(&seen) {
            return Ok(self.learned_work(&seen));
        }
        if !seen.work.run.suspended {
            return Err(self.waits_for_owner(workloads::not_held(kind, &key.name)));
        }
        if seen.work.run.active > 0 {
            // it was suspended a moment ago
            return Err(self.failed("its workload still has active pods"));
        }
        if !self.claims.is_free(&seen.work).await {
            return Err(self.failed("its workload still works for another Match"));
        }
        let patch = workloads::take_over(kind, &seen.raw.metadata, gang);
        match self.context.cluster.patch_work(kind, key, &patch).await {
            Answer::Done(seen) => Ok(self.learned_work(&seen)),
            answer => Err(self.lost(&answer)),
        }
    }

    /// The workload cannot be used before its owner changes it: reason and note of the Event that says so. The change is seen; where no
    /// watch shows it, the workload is read once in a while.
    pub(super) fn waits_for_owner(&self, (reason, note): (&'static str, String)) -> Setback {
        if let Some(job) = self.job() {
            self.context.events.tell(&job, EventType::Warning, reason, &note);
        }
        self.failed(note)
    }

    /// Starts the workload, if it is this one in this version.
    pub(super) async fn start_work(&mut self, version: Digest) -> StepResult {
        let seen = self.seen_work().filter(|work| version_of(work) == version);
        let (Some(work), Some(job)) = (seen, self.job()) else {
            return Err(self.failed("the workload has changed since it was read"));
        };
        let patch = match work.marks.made {
            true => workloads::start_made(&work.uid),
            false => {
                let current = self.done(self.context.cluster.read_work(work.kind, &work.key).await)?.raw;
                let Some(gang) = self.gang(&job) else { return Err(self.failed("the Match is not seen any more")) };
                workloads::start_taken(work.kind, &current, (&work.uid, &work.version), &gang)
            }
        };
        match self.context.cluster.patch_work(work.kind, &work.key, &patch).await {
            Answer::Done(started) => {
                tracing::info!(r#match = %self.view.key, work = %work.key, "workload started");
                Ok(self.learned_work(&started))
            }
            answer => {
                if let Answer::Done(found) = self.context.cluster.read_work(work.kind, &work.key).await {
                    self.context.learn_work(found.work);
                }
                Err(self.lost(&answer))
            }
        }
    }

    /// Remembers the machines on which no pod came up in time, so that the job is matched elsewhere; without any, the job
    /// itself pauses. The message says why a pod has not started, if the API server tells.
    pub(super) async fn start_timed_out(&mut self) {
        let Some(job) = self.job() else { return };
        let view = self.view.clone();
        let limit = job.spec.workload.as_ref().map_or(0, |workload| workload.start_timeout_seconds);
        let message = format!("no pod was ready or finished within spec.workload.startTimeoutSeconds ({limit} s)");
        let selector = format!("{LABEL_MATCH_UID}={}", view.uid);
        let why = match self.context.cluster.whole_pods(&view.key.namespace, &selector).await {
            Answer::Done(pods) => workloads::why_not_started(&pods),
            _ => None,
        };
        let why = why.map(|why| format!("; {}", cut(&why, WHY_MAX))).unwrap_or_default();
        let is_machine = |leg: &&Leg| leg.kind == crds::OfferKind::Machine;
        let machines: Vec<&Leg> = view.legs.iter().filter(is_machine).collect();
        for leg in &machines {
            self.note_refusal(&OfferRefusal { leg, message: message.clone(), for_good: false }, Reason::StartTimedOut);
        }
        if self.facts.refusals.is_empty() && self.learned.refusals.is_empty() {
            let mut job_backoff = self.claims.job_backoff.lock();
            let about = (view.root.uid.as_str(), job.metadata.generation.unwrap_or(0));
            job_backoff.remember(about, Cause::Start, &message, &retry_of(&job), self.context.now_ms());
        }
        let names: Vec<String> = machines.iter().map(|leg| format!("{} {}", leg.kind, leg.key)).collect();
        let there = if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) };
        self.learned.message = message + &there + &why;
    }
}

impl crate::claims::shared::Claims {
    /// Whether the Match that something worked for is over or gone, as the server says.
    pub(super) async fn is_free(&self, work: &WorkloadObject) -> bool {
        let (Some(uid), Some(name)) = (&work.marks.match_uid, &work.marks.match_name) else {
            return work.marks.match_uid.is_none();
        };
        match self.context.cluster.get::<Match>(&ObjectKey::new(&work.key.namespace, name)).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                found.metadata.uid.as_ref() != Some(uid)
                    || found.status.is_some_and(|status| status.decision.is_terminal())
            }
            _ => false,
        }
    }
}
