//! The end of a claim's workload: stopped, taken away or given back.

use std::sync::{Arc, Mutex};

use claiming::{Action, Event, Work};
use crds::WorkKind;
use k8s_openapi::api::batch::v1::Job as Batch;
use pool::{ObjectKey, WorkObject};

use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::stalls::Wait;
use crate::claims::view::View;
use crate::workloads::{self, left_of};
use crate::write::answer::Answer;

impl Driver {
    /// Takes away what another Match of this name has left.
    pub(super) async fn clear_work(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::ClearWork);
        let seen = self.cache.lock().works.get(WorkKind::Job, &view.key).cloned();
        let Some(batch) = seen else { return Event::Work(Work::Absent) };
        if !batch.made || batch.match_uid.is_none() {
            return self.waits_for(view, Action::ClearWork, workloads::name_taken(&view.key.name), notes);
        }
        if !self.is_free(&batch).await {
            let why = format!("batch Job {} is in the way: it works for another Match", batch.key);
            noted(notes, |notes| notes.failed(Action::ClearWork, why));
            return failed;
        }
        if !self.stop(view, &batch, Action::ClearWork, notes).await {
            return failed;
        }
        match self.cluster.delete_work(&batch).await {
            Answer::Done(()) | Answer::Missing => self.is_gone_now(&batch),
            answer => self.lost(Action::ClearWork, &answer, notes),
        }
    }

    fn is_gone_now(&self, work: &WorkObject) -> Event {
        self.cache.update(|all| all.works.remove(work.kind, &work.key));
        Event::Work(Work::Absent)
    }

    /// Stops the work of a claim that is over. What can be suspended is suspended, and once its controller says so, deleted or
    /// given back. A Pod that was let go cannot be held again: it is deleted.
    pub(super) async fn stop_work(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let seen = {
            let objects = self.cache.lock();
            left_of(view.whose(&objects), &objects).cloned()
        };
        let Some(work) = seen else { return Event::Work(Work::Absent) };
        if let Some(well) = work.ended {
            return Event::Work(Work::Finished(well));
        }
        if !self.has_ended(view, notes).await || !self.stop(view, &work, Action::StopWork, notes).await {
            return Event::Failed(Action::StopWork);
        }
        let latest = self.cache.lock().works.get(work.kind, &work.key).cloned();
        let Some(latest) = latest.filter(|latest| latest.uid == work.uid) else { return Event::Work(Work::Absent) };
        if let Some(well) = latest.ended {
            return Event::Work(Work::Finished(well));
        }
        let is_let_go = latest.kind == WorkKind::Pod && !latest.suspended;
        let answer = if latest.kind == WorkKind::Job && latest.deleting {
            // It is deleted, and kept by finalizers: nothing more is made for it.
            self.cluster.patch_work(latest.kind, &latest.key, &workloads::let_go(&latest.uid)).await.map(drop)
        } else if latest.made || is_let_go {
            self.cluster.delete_work(&latest).await
        } else {
            match self.hand_back(&latest, &view.uid).await {
                // it cannot be made what it was, but it is not held for that
                Answer::Denied(_) if self.now_ms() >= self.stop_by_ms(&view.uid, &latest.uid) => {
                    let label = workloads::let_go(&latest.uid);
                    match self.cluster.patch_work(latest.kind, &latest.key, &label).await {
                        // nor can anything else of it be changed
                        Answer::Denied(_) => self.cluster.delete_work(&latest).await,
                        answer => answer.map(drop),
                    }
                }
                answer => answer,
            }
        };
        match answer {
            Answer::Done(()) | Answer::Missing => {
                tracing::info!(r#match = %view.key, work = %latest.key, "work stopped");
                self.is_gone_now(&latest)
            }
            answer => self.lost(Action::StopWork, &answer, notes),
        }
    }

    /// Suspends a batch Job or a JobSet. True once nothing more is made for it: its own controller says so; or it has ended or gone;
    /// or it was given its time, and the server shows no pod of it.
    async fn stop(&self, view: &View, work: &WorkObject, action: Action, notes: &Mutex<Notes>) -> bool {
        if work.kind == WorkKind::Pod {
            return true;
        }
        if !work.suspended {
            if work.kind == WorkKind::Job && self.is_resumed(view, work) {
                tracing::warn!(work = %work.key, "its claim is over, and it is resumed again and again: it is deleted");
                self.cluster.delete_work(work).await;
            }
            match self.cluster.patch_work(work.kind, &work.key, &workloads::suspend(&work.uid)).await {
                Answer::Done(suspended) => self.learn_work(suspended.work),
                Answer::Missing => return true,
                answer => {
                    self.lost(action, &answer, notes);
                    // the server refuses whatever would change it, or its author has made it so that it cannot be read back
                    if matches!(answer, Answer::Denied(_)) && self.now_ms() >= self.stop_by_ms(&view.uid, &work.uid) {
                        tracing::warn!(work = %work.key, "its claim is over, and it cannot be suspended: it is deleted");
                        self.cluster.delete_work(work).await;
                    }
                    return false;
                }
            }
        }
        let latest = {
            let objects = self.cache.lock();
            let latest = objects.works.get(work.kind, &work.key).cloned();
            noted(notes, |notes| notes.seen = self.seen(view, &objects));
            latest.filter(|latest| latest.uid == work.uid && latest.ended.is_none())
        };
        let Some(latest) = latest else { return true };
        if !latest.suspended {
            noted(notes, |notes| notes.failed(action, format!("{} {} is resumed by somebody", work.noun(), work.key)));
            return false;
        }
        if latest.rests && (work.kind == WorkKind::Job || self.children_rest(work).await) {
            return true;
        }
        let by_ms = self.stop_by_ms(&view.uid, &work.uid);
        if latest.deleting || self.now_ms() >= by_ms {
            return self.stop_by_force(&latest, by_ms, action, notes).await;
        }
        let why = format!("{} {} is suspended, but its own controller has not said so", work.noun(), work.key);
        noted(notes, |notes| notes.waits(action, why, Wait::Until(by_ms)));
        false
    }

    /// Whether something runs though it was suspended for this claim, and its time is over.
    fn is_resumed(&self, view: &View, work: &WorkObject) -> bool {
        let since = self.stalls().stopped_since(&view.uid, &work.uid);
        since.is_some_and(|since| self.now_ms() >= since.saturating_add(self.stop_timeout_ms))
    }

    /// Gives somebody else's work back as it was. As long as a batch Job has a start time, its template cannot be changed.
    async fn hand_back(&self, work: &WorkObject, uid: &str) -> Answer<()> {
        if work.kind == WorkKind::Job && work.started.is_some() {
            let answer = self.cluster.patch_status::<Batch>(&work.key, &workloads::never_started()).await;
            if !matches!(answer, Answer::Done(_)) {
                return answer.map(|_| ());
            }
        }
        match self.cluster.read_work(work.kind, &work.key).await {
            Answer::Done(current) => {
                let patch = workloads::hand_back(work.kind, &current.raw, uid);
                self.cluster.patch_work(work.kind, &work.key, &patch).await.map(|_| ())
            }
            answer => answer.map(|_| ()),
        }
    }

    /// Whether the work of a claim is not there any more, as the server says: deleted by somebody, not only not seen.
    pub(super) async fn is_work_gone(&self, view: &View) -> bool {
        let (seen, job) = (self.seen_work(view), self.job(view));
        let told = job.as_ref().and_then(|job| Some(job.status.as_ref()?.workload.as_ref()?.name.clone()));
        let (None, Some(name)) = (seen, told) else { return true };
        let reference = job.and_then(|job| job.spec.workload.as_ref()?.workload_ref.clone());
        let kind = reference.map(|reference| reference.kind).unwrap_or_default();
        match self.cluster.read_work(kind, &ObjectKey::new(&view.key.namespace, &name)).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                let ours = view.whose(&self.cache.lock()).has(&found.work);
                self.learn_work(found.work);
                !ours
            }
            _ => false,
        }
    }

    /// Deletes a batch Job that was made for a Match that is gone, with its pods: people have seen what came of it.
    pub(crate) async fn clean_up(self: Arc<Self>, batch: Arc<WorkObject>) {
        if self.is_free(&batch).await {
            self.cluster.delete_work(&batch).await;
        }
    }
}
