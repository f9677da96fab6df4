//! The end of a claim's workload: stopped, taken away or given back.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use claiming::{Action, Event, Work};
use crds::WorkKind;
use k8s_openapi::api::batch::v1::Job as Batch;
use pool::{ObjectKey, WorkObject};

use crate::api::Answer;
use crate::claims::drive::{Driver, Notes};
use crate::claims::view::View;
use crate::workloads::{self, work_of};

/// How long something that was suspended is waited for until its own controller says that it is.
const STOP_MAX: Duration = Duration::from_secs(5);
/// How often that is looked at, in what the watch shows.
const STOP_EVERY: Duration = Duration::from_millis(20);
/// The label by which the batch Jobs of a JobSet are known.
const LABEL_JOB_SET: &str = "jobset.sigs.k8s.io/jobset-name";

impl Driver {
    /// Takes away what another Match of this name has left.
    pub(super) async fn clear_work(&self, view: &View) -> Event {
        let failed = Event::Failed(Action::ClearWork);
        let seen = self.world.look().works.get(WorkKind::Job, &view.key).cloned();
        let Some(batch) = seen else { return Event::Work(Work::Absent) };
        if batch.match_uid.is_none() {
            tracing::warn!(r#match = %view.key, "a batch Job of this name is there that no Match has made; delete it");
            return failed;
        }
        if !self.is_free(&batch).await || !self.stop(&batch).await {
            return failed;
        }
        match self.cluster.delete_work(&batch).await {
            Answer::Done(()) | Answer::Missing => self.is_gone_now(&batch),
            answer => self.lost(view, Action::ClearWork, &answer),
        }
    }

    fn is_gone_now(&self, work: &WorkObject) -> Event {
        self.world.learn(|all| all.works.remove(work.kind, &work.key));
        Event::Work(Work::Absent)
    }

    /// Stops the work of a claim that is over. What can be suspended is suspended, and once its controller says so, deleted or
    /// given back. A Pod that was let go cannot be held again: it is deleted.
    pub(super) async fn stop_work(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let seen = work_of(&view.uid, &self.world.look()).cloned();
        let Some(work) = seen else { return Event::Work(Work::Absent) };
        if let Some(well) = work.ended {
            return Event::Work(Work::Finished(well));
        }
        if !self.has_ended(view, notes).await || !self.stop(&work).await {
            return Event::Failed(Action::StopWork);
        }
        let latest = self.world.look().works.get(work.kind, &work.key).cloned();
        let Some(latest) = latest.filter(|latest| latest.uid == work.uid) else { return Event::Work(Work::Absent) };
        if let Some(well) = latest.ended {
            return Event::Work(Work::Finished(well));
        }
        let is_let_go = latest.kind == WorkKind::Pod && !latest.suspended;
        let answer = match latest.made || is_let_go {
            true => self.cluster.delete_work(&latest).await,
            false => self.hand_back(&latest, &view.uid).await,
        };
        match answer {
            Answer::Done(()) | Answer::Missing => {
                tracing::info!(r#match = %view.key, work = %latest.key, "work stopped");
                self.is_gone_now(&latest)
            }
            answer => self.lost(view, Action::StopWork, &answer),
        }
    }

    /// Suspends a batch Job or a JobSet and waits until its own controller says that it is, so that no pod is made any more. True
    /// also if it has ended or gone meanwhile.
    async fn stop(&self, work: &WorkObject) -> bool {
        if work.kind == WorkKind::Pod {
            return true;
        }
        if !work.suspended {
            match self.cluster.patch_work(work.kind, &work.key, &workloads::suspend(&work.uid)).await {
                Answer::Done(suspended) => self.learn_work(suspended.work),
                Answer::Missing => return true,
                _ => return false,
            }
        }
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < STOP_MAX {
            let seen = self.world.look().works.get(work.kind, &work.key).cloned();
            match seen {
                Some(seen) if seen.uid == work.uid && seen.ended.is_none() && !(seen.suspended && seen.rests) => {}
                _ => return work.kind == WorkKind::Job || self.children_rest(work).await,
            }
            tokio::time::sleep(STOP_EVERY).await;
        }
        tracing::warn!(work = %work.key, "suspended, but its own controller has not said so; it is asked again");
        false
    }

    /// Whether none of the batch Jobs of a JobSet makes pods any more.
    async fn children_rest(&self, set: &WorkObject) -> bool {
        let selector = format!("{LABEL_JOB_SET}={}", set.key.name);
        match self.cluster.list_works(WorkKind::Job, &set.key.namespace, &selector).await {
            Answer::Done(jobs) => jobs.iter().all(|job| job.ended.is_some() || (job.suspended && job.rests)),
            _ => false,
        }
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
        let seen = work_of(&view.uid, &self.world.look()).cloned();
        let job = self.job(view);
        let told = job.as_ref().and_then(|job| Some(job.status.as_ref()?.workload.as_ref()?.name.clone()));
        let (None, Some(name)) = (seen, told) else { return true };
        let reference = job.and_then(|job| job.spec.workload.as_ref()?.job_ref.clone());
        let kind = reference.map(|reference| reference.kind).unwrap_or_default();
        match self.cluster.read_work(kind, &ObjectKey::new(&view.key.namespace, &name)).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                let ours = found.work.match_uid.as_deref() == Some(&view.uid);
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
