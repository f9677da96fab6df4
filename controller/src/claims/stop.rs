//! The end of a claim's workload: stopped, taken away or given back.

use std::sync::Arc;

use claiming::{Event, Work};
use crds::WorkKind;
use k8s_openapi::api::batch::v1::Job as Batch;
use pool::{ObjectKey, WorkloadObject};

use crate::claims::shared::Claims;
use crate::claims::stalls::{Retry, Setback};
use crate::claims::step::{Step, StepResult};
use crate::workloads::{self, left_of};
use crate::write::answer::Answer;

impl Step<'_> {
    /// Takes away what another Match of this name has left.
    pub(super) async fn clear_work(&mut self) -> StepResult {
        let seen = self.context.cache.lock().workloads.get(WorkKind::Job, &self.view.key).cloned();
        let Some(batch) = seen else { return Ok(Event::Work(Work::Absent)) };
        if !batch.marks.made || batch.marks.match_uid.is_none() {
            return Err(self.waits_for_owner(workloads::name_taken(&self.view.key.name)));
        }
        if !self.claims.is_free(&batch).await {
            return Err(self.failed(format!("batch Job {} is in the way: it works for another Match", batch.key)));
        }
        self.stop(&batch).await?;
        self.found(self.context.cluster.delete_work(&batch).await)?;
        Ok(self.is_gone_now(&batch))
    }

    fn is_gone_now(&self, work: &WorkloadObject) -> Event {
        self.context.cache.update(|all| all.workloads.remove(work.kind, &work.key));
        Event::Work(Work::Absent)
    }

    /// Stops the work of a claim that is over. What can be suspended is suspended, and once its controller says so, deleted or
    /// given back. A Pod that was started cannot be held again: it is deleted.
    pub(super) async fn stop_work(&mut self) -> StepResult {
        let seen = {
            let objects = self.context.cache.lock();
            left_of(self.view.whose(&objects), &objects).cloned()
        };
        let Some(work) = seen else { return Ok(Event::Work(Work::Absent)) };
        if let Some(well) = work.ended {
            return Ok(Event::Work(Work::Finished(well)));
        }
        self.stop(&work).await?;
        let Some(latest) = self.latest(&work) else { return Ok(Event::Work(Work::Absent)) };
        if let Some(well) = latest.ended {
            return Ok(Event::Work(Work::Finished(well)));
        }
        self.found(self.take_away(&latest).await)?;
        tracing::info!(r#match = %self.view.key, work = %latest.key, "workload stopped");
        Ok(self.is_gone_now(&latest))
    }

    /// The workload as it is seen now, if it is still the same one.
    fn latest(&self, work: &WorkloadObject) -> Option<Arc<WorkloadObject>> {
        let latest = self.context.cache.lock().workloads.get(work.kind, &work.key).cloned();
        latest.filter(|latest| latest.uid == work.uid)
    }

    /// Deletes a workload that is stopped, or gives it back.
    async fn take_away(&self, work: &WorkloadObject) -> Answer<()> {
        let cluster = &self.context.cluster;
        let without_label = workloads::let_go(&work.uid);
        let is_started_pod = work.kind == WorkKind::Pod && !work.run.suspended;
        if work.kind == WorkKind::Job && work.deleting {
            // It is deleted, and kept by finalizers: nothing more is made for it.
            return match cluster.patch_work(work.kind, &work.key, &without_label).await {
                answer if answer.is_refused() && self.is_time_over(work) => Answer::Done(()),
                answer => answer.map(drop),
            };
        }
        if work.marks.made || is_started_pod {
            return cluster.delete_work(work).await;
        }
        match self.hand_back(work, &self.view.uid).await {
            // it cannot be made what it was, but it is not held for that
            answer if answer.is_refused() && self.is_time_over(work) => {
                match cluster.patch_work(work.kind, &work.key, &without_label).await {
                    // nor can anything else of it be changed
                    answer if answer.is_refused() => cluster.delete_work(work).await,
                    answer => answer.map(drop),
                }
            }
            answer => answer,
        }
    }

    /// Whether a workload was given its time to stop for this claim; that begins now, if it has not begun.
    pub(super) fn is_time_over(&self, work: &WorkloadObject) -> bool {
        self.context.now_ms() >= self.claims.stop_by_ms(&self.view.uid, &work.uid)
    }

    /// Suspends a batch Job or a JobSet. Done once nothing more is made for it: its own controller says so; or it has ended or gone;
    /// or it was given its time, and the server shows no pod of it.
    async fn stop(&mut self, work: &WorkloadObject) -> Result<(), Setback> {
        if work.kind == WorkKind::Pod {
            return Ok(());
        }
        let suspended = if work.run.suspended { Suspended::Done } else { self.suspend(work).await? };
        match suspended {
            Suspended::Done => {}
            Suspended::Gone => return Ok(()),
            Suspended::MakesNoMore => {
                return self.stop_by_force(work, self.claims.stop_by_ms(&self.view.uid, &work.uid)).await;
            }
        }
        let latest = {
            let objects = self.context.cache.lock();
            self.note_seen(&objects);
            let latest = objects.workloads.get(work.kind, &work.key).cloned();
            latest.filter(|latest| latest.uid == work.uid && latest.ended.is_none())
        };
        let Some(latest) = latest else { return Ok(()) };
        if !latest.run.suspended {
            return Err(self.failed(format!("{} {} is resumed again and again", work.noun(), work.key)));
        }
        if latest.run.rests && (work.kind == WorkKind::Job || self.children_rest(work).await) {
            return Ok(());
        }
        let by_ms = self.claims.stop_by_ms(&self.view.uid, &work.uid);
        if latest.deleting || self.context.now_ms() >= by_ms {
            return self.stop_by_force(&latest, by_ms).await;
        }
        let why = format!("{} {} is suspended, but its own controller has not said so", work.noun(), work.key);
        Err(self.waits(why, Retry::By(by_ms)))
    }

    async fn suspend(&self, work: &WorkloadObject) -> Result<Suspended, Setback> {
        let cluster = &self.context.cluster;
        if self.is_resumed(work) {
            tracing::warn!(work = %work.key, "its claim is over, and it is resumed again and again: it is deleted");
            cluster.delete_work(work).await;
        }
        match cluster.patch_work(work.kind, &work.key, &workloads::suspend(&work.uid)).await {
            Answer::Done(suspended) => {
                self.context.learn_work(suspended.work);
                Ok(Suspended::Done)
            }
            Answer::Missing => Ok(Suspended::Gone),
            answer => {
                // the server refuses whatever would change it, or its author has made it so that it cannot be read back
                if answer.is_refused() && self.is_time_over(work) {
                    if work.kind == WorkKind::Job && work.deleting {
                        return Ok(Suspended::MakesNoMore);
                    }
                    tracing::warn!(work = %work.key, "its claim is over, and it cannot be suspended: it is deleted");
                    cluster.delete_work(work).await;
                }
                Err(self.lost(&answer))
            }
        }
    }

    /// Whether something runs though it was suspended for this claim, and its time is over.
    fn is_resumed(&self, work: &WorkloadObject) -> bool {
        let since = self.claims.stalls().stopped_since(&self.view.uid, &work.uid);
        since.is_some_and(|since| self.context.now_ms() >= since.saturating_add(self.claims.stop_timeout_ms))
    }

    /// Gives a workload that was there before back as it was. As long as a batch Job has a start time, its template cannot be changed.
    async fn hand_back(&self, work: &WorkloadObject, uid: &str) -> Answer<()> {
        if work.kind == WorkKind::Job && work.run.started.is_some() {
            let answer = self.context.cluster.patch_status::<Batch>(&work.key, &workloads::never_started()).await;
            if !matches!(answer, Answer::Done(_)) {
                return answer.map(|_| ());
            }
        }
        match self.context.cluster.read_work(work.kind, &work.key).await {
            Answer::Done(current) => {
                let patch = workloads::hand_back(work.kind, &current.raw, uid);
                self.context.cluster.patch_work(work.kind, &work.key, &patch).await.map(|_| ())
            }
            answer => answer.map(|_| ()),
        }
    }

    /// Whether the work of a claim is not there any more, as the server says: deleted, not only not seen.
    pub(super) async fn is_work_gone(&self) -> bool {
        let (seen, job) = (self.seen_work(), self.job());
        let reported = job.as_ref().and_then(|job| Some(job.status.as_ref()?.workload.as_ref()?.name.clone()));
        let (None, Some(name)) = (seen, reported) else { return true };
        let reference = job.and_then(|job| job.spec.workload.as_ref()?.workload_ref.clone());
        let kind = reference.map(|reference| reference.kind).unwrap_or_default();
        match self.context.cluster.read_work(kind, &ObjectKey::new(&self.view.key.namespace, &name)).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                // Another one of its name may have been created since, with its marks.
                let is_its = {
                    let objects = self.context.cache.lock();
                    let whose = self.view.whose(&objects);
                    whose.owns(&found.work) && whose.recorded().is_none_or(|uid| found.work.uid == uid)
                };
                self.context.learn_work(found.work);
                !is_its
            }
            _ => false,
        }
    }
}

/// What came of suspending a workload.
#[derive(PartialEq, Eq)]
enum Suspended {
    Done,
    /// It is not there any more.
    Gone,
    /// A batch Job that cannot be suspended, but is deleted and kept by finalizers: nothing more is made for it.
    MakesNoMore,
}

impl Claims {
    /// Deletes a batch Job that was made for a Match that is gone, with its pods: people have seen what came of it.
    pub(crate) async fn clean_up(self: Arc<Self>, batch: Arc<WorkloadObject>) {
        if self.is_free(&batch).await {
            self.context.cluster.delete_work(&batch).await;
        }
    }
}
