//! The batch Job of a claim: made, started, stopped and looked for, each by requests that test what was read before.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use claiming::{Action, Event, Reason, Work};
use crds::{Job, LABEL_MATCH_UID, Machine, Match, Workload};
use k8s_openapi::api::batch::v1::Job as Batch;
use k8s_openapi::api::core::v1::Pod;
use pool::{Advertises, BatchJob, ObjectKey, Objects, has_finished};

use crate::api::{Answer, Raw};
use crate::backoff::retry_of;
use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::reserve::No;
use crate::claims::view::View;
use crate::workloads::{self, Gang, Whose, batch_job, batch_of, gang, state_of};

/// How long a batch Job that was suspended is waited for until its own controller says that it is.
const STOP_MAX: Duration = Duration::from_secs(5);
/// How often that is looked at, in what the watch shows.
const STOP_EVERY: Duration = Duration::from_millis(20);

/// Which batch Job was read, and in which version: what is started is this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    uid: String,
    version: String,
}

impl Read {
    /// The batch Job of a claim as it is seen.
    pub(super) fn of(view: &View, objects: &Objects) -> Read {
        batch_of(&view.uid, objects).map(|batch| Read::from(batch.as_ref())).unwrap_or_default()
    }

    fn from(batch: &BatchJob) -> Read {
        Read { uid: batch.uid.clone(), version: batch.version.clone() }
    }
}

/// What is known of the batch Job that works for a claim.
pub(super) fn work(view: &View, objects: &Objects) -> Work {
    workloads::work(&Whose::of(&view.uid, &view.key, (&view.root.key, &view.root.uid), objects), objects)
}

impl Driver {
    /// An action about the batch Job.
    pub(super) async fn do_work(&self, view: &View, action: Action, notes: &Mutex<Notes>) -> Event {
        match action {
            Action::MakeWork => self.make_work(view, notes).await,
            Action::ClearWork => self.clear_work(view).await,
            Action::StartWork => self.start_work(view, notes).await,
            Action::StopWork => self.stop_work(view).await,
            Action::LookForWork => self.look_for_work(view).await,
            _ => Event::Failed(action),
        }
    }

    fn gang(&self, view: &View, job: &Job) -> Option<Gang> {
        let found = view.found.as_ref()?;
        Some(gang(found, job, &self.world.look(), &self.engine, self.clock.now()))
    }

    async fn make_work(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::MakeWork);
        let Some(job) = self.job(view) else { return failed };
        let (Some(workload), Some(gang)) = (&job.spec.workload, self.gang(view, &job)) else { return failed };
        match workload {
            Workload { job_template: Some(template), .. } => {
                let Ok(raw) = serde_json::from_value::<Raw>(batch_job(template, &gang)) else { return failed };
                self.post(view, &raw, notes).await
            }
            Workload { job_ref: Some(reference), .. } => {
                self.take_over(view, &ObjectKey::new(&view.key.namespace, &reference.name), notes).await
            }
            _ => failed,
        }
    }

    async fn post(&self, view: &View, raw: &Raw, notes: &Mutex<Notes>) -> Event {
        match self.cluster.make(raw).await {
            Answer::Done(made) => match made.read::<Batch>() {
                Some(batch) => {
                    tracing::info!(r#match = %view.key, "batch Job made");
                    self.learned(&batch, notes)
                }
                None => Event::Failed(Action::MakeWork),
            },
            // it is another Match's, or this one's and only now seen: the next look tells
            Answer::Exists => match self.cluster.get::<Batch>(&view.key).await {
                Answer::Done(batch) if BatchJob::of(&batch).match_uid.as_deref() == Some(&view.uid) => {
                    self.learned(&batch, notes)
                }
                Answer::Done(batch) => {
                    self.learned(&batch, notes);
                    Event::Work(Work::Foreign)
                }
                answer => self.lost(view, Action::MakeWork, &answer),
            },
            Answer::Refused(refused) => {
                tracing::warn!(r#match = %view.key, message = refused.message, "batch Job refused");
                noted(notes, |notes| notes.message = format!("the batch Job was refused: {}", refused.message));
                Event::Work(Work::Finished(false))
            }
            answer => self.lost(view, Action::MakeWork, &answer),
        }
    }

    /// What a batch Job is now; of this claim's own it is remembered which one was read.
    fn learned(&self, batch: &Batch, notes: &Mutex<Notes>) -> Event {
        let read = BatchJob::of(batch);
        let state = state_of(&read);
        noted(notes, |notes| notes.work = Read::from(&read));
        self.world.learn(|all| {
            all.works.put(read);
        });
        Event::Work(state)
    }

    /// Puts the claim's label on a batch Job that somebody else has made. Another claim's label is replaced only once that
    /// claim is over.
    async fn take_over(&self, view: &View, key: &ObjectKey, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::MakeWork);
        let batch = match self.cluster.get::<Batch>(key).await {
            Answer::Done(batch) => batch,
            answer => return self.lost(view, Action::MakeWork, &answer),
        };
        let read = BatchJob::of(&batch);
        if let Some(well) = read.ended {
            return Event::Work(Work::Finished(well));
        }
        if read.match_uid.as_deref() == Some(&view.uid) {
            return self.learned(&batch, notes);
        }
        if !read.suspended || read.active > 0 {
            tracing::warn!(r#match = %view.key, batch = %key, "the batch Job is not suspended; it is waited for");
            return failed;
        }
        if !self.is_free(&read).await {
            return failed;
        }
        let patch = workloads::take_over(&batch.metadata, &view.uid, &view.key.name);
        match self.cluster.patch::<Batch>(key, patch).await {
            Answer::Done(batch) => self.learned(&batch, notes),
            answer => self.lost(view, Action::MakeWork, &answer),
        }
    }

    /// Whether the Match that a batch Job worked for is over or gone, as the server says.
    async fn is_free(&self, batch: &BatchJob) -> bool {
        let (Some(uid), Some(name)) = (&batch.match_uid, &batch.match_name) else { return batch.match_uid.is_none() };
        match self.cluster.get::<Match>(&ObjectKey::new(&batch.key.namespace, name)).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                found.metadata.uid.as_ref() != Some(uid)
                    || found.status.is_some_and(|status| status.decision.is_terminal())
            }
            _ => false,
        }
    }

    /// Takes away what another Match of this name has left.
    async fn clear_work(&self, view: &View) -> Event {
        let failed = Event::Failed(Action::ClearWork);
        let seen = self.world.look().works.get(&view.key).cloned();
        let Some(batch) = seen else { return Event::Work(Work::Absent) };
        if batch.match_uid.is_none() {
            tracing::warn!(r#match = %view.key, "a batch Job of this name is there that no Match has made; delete it");
            return failed;
        }
        if !self.is_free(&batch).await || !self.stop(&batch).await {
            return failed;
        }
        match self.cluster.delete::<Batch>(&batch.key, &batch.uid).await {
            Answer::Done(()) | Answer::Missing => {
                self.world.learn(|all| all.works.remove(&batch.key));
                Event::Work(Work::Absent)
            }
            answer => self.lost(view, Action::ClearWork, &answer),
        }
    }

    /// Starts the batch Job that was read before the claim was seen to stand, and no other.
    async fn start_work(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::StartWork);
        let read = noted(notes, |notes| notes.work.clone());
        let seen = batch_of(&view.uid, &self.world.look()).cloned();
        let (Some(batch), Some(job)) = (seen.filter(|batch| batch.uid == read.uid), self.job(view)) else {
            return failed;
        };
        let patch = match batch.made {
            true => workloads::start_made(&read.uid),
            false => {
                let current = match self.cluster.get::<Raw>(&batch.key).await {
                    Answer::Done(current) => current,
                    answer => return self.lost(view, Action::StartWork, &answer),
                };
                let Some(gang) = self.gang(view, &job) else { return failed };
                workloads::start_taken(&current, (&read.uid, &read.version), &gang)
            }
        };
        match self.cluster.patch::<Batch>(&batch.key, patch).await {
            Answer::Done(started) => {
                tracing::info!(r#match = %view.key, batch = %batch.key, "work started");
                self.learned(&started, notes)
            }
            answer => {
                if let Answer::Done(found) = self.cluster.get::<Batch>(&batch.key).await {
                    self.learned(&found, &Mutex::default());
                }
                self.lost(view, Action::StartWork, &answer)
            }
        }
    }

    /// Stops the work of a claim that is over: suspended, and once its controller says so, deleted or given back.
    async fn stop_work(&self, view: &View) -> Event {
        let seen = batch_of(&view.uid, &self.world.look()).cloned();
        let Some(batch) = seen else { return Event::Work(Work::Absent) };
        if let Some(well) = batch.ended {
            return Event::Work(Work::Finished(well));
        }
        if !self.has_ended(view).await || !self.stop(&batch).await {
            return Event::Failed(Action::StopWork);
        }
        let latest = self.world.look().works.get(&batch.key).cloned();
        let Some(latest) = latest.filter(|latest| latest.uid == batch.uid) else { return Event::Work(Work::Absent) };
        if let Some(well) = latest.ended {
            return Event::Work(Work::Finished(well));
        }
        let answer = match latest.made {
            true => self.cluster.delete::<Batch>(&latest.key, &latest.uid).await,
            false => self.hand_back(&latest, &view.uid).await,
        };
        match answer {
            Answer::Done(()) | Answer::Missing => {
                tracing::info!(r#match = %view.key, batch = %latest.key, "work stopped");
                self.world.learn(|all| all.works.remove(&latest.key));
                Event::Work(Work::Absent)
            }
            answer => self.lost(view, Action::StopWork, &answer),
        }
    }

    /// Suspends a batch Job and waits until its own controller says that it is, so that no pod is made any more. True also if
    /// it has ended or gone meanwhile.
    async fn stop(&self, batch: &BatchJob) -> bool {
        if !batch.suspended {
            match self.cluster.patch::<Batch>(&batch.key, workloads::suspend(&batch.uid)).await {
                Answer::Done(suspended) => self.world.learn(|all| {
                    all.works.put(BatchJob::of(&suspended));
                }),
                Answer::Missing => return true,
                _ => return false,
            }
        }
        let begun = tokio::time::Instant::now();
        while begun.elapsed() < STOP_MAX {
            let seen = self.world.look().works.get(&batch.key).cloned();
            match seen {
                Some(seen) if seen.uid == batch.uid && seen.ended.is_none() && !(seen.suspended && seen.rests) => {}
                _ => return true,
            }
            tokio::time::sleep(STOP_EVERY).await;
        }
        tracing::warn!(batch = %batch.key, "suspended, but its own controller has not said so; it is asked again");
        false
    }

    /// Gives somebody else's batch Job back as it was. As long as it has a start time, its template cannot be changed.
    async fn hand_back(&self, batch: &BatchJob, uid: &str) -> Answer<()> {
        if batch.started.is_some() {
            let answer = self.cluster.patch_status::<Batch>(&batch.key, &workloads::never_started()).await;
            if !matches!(answer, Answer::Done(_)) {
                return answer.map(|_| ());
            }
        }
        match self.cluster.get::<Raw>(&batch.key).await {
            Answer::Done(current) => {
                self.cluster.patch::<Batch>(&batch.key, workloads::hand_back(&current, uid)).await.map(|_| ())
            }
            answer => answer.map(|_| ()),
        }
    }

    /// Asks the server for batch Jobs and pods of the claim that have not finished.
    async fn look_for_work(&self, view: &View) -> Event {
        let selector = format!("{LABEL_MATCH_UID}={}", view.uid);
        let batches = match self.cluster.list_in::<Batch>(&view.key.namespace, &selector).await {
            Answer::Done(batches) => batches,
            answer => return self.lost(view, Action::LookForWork, &answer),
        };
        let unfinished: Vec<BatchJob> =
            batches.iter().map(BatchJob::of).filter(|batch| batch.ended.is_none()).collect();
        if let Some(state) = unfinished.first().map(state_of) {
            self.world.learn(|all| {
                unfinished.into_iter().for_each(|batch| {
                    all.works.put(batch);
                });
            });
            return Event::Work(state);
        }
        match self.cluster.list_in::<Pod>(&view.key.namespace, &selector).await {
            Answer::Done(pods) if pods.iter().all(has_finished) => Event::NoWork,
            Answer::Done(pods) => {
                tracing::debug!(r#match = %view.key, pods = pods.len(), "its last pods are still ending");
                Event::Failed(Action::LookForWork)
            }
            answer => self.lost(view, Action::LookForWork, &answer),
        }
    }

    /// Remembers the machines on which no pod came up in time, so that the job is matched elsewhere; without any, the job
    /// itself pauses.
    pub(super) fn start_timed_out(&self, view: &View, notes: &Mutex<Notes>) {
        let Some(job) = self.job(view) else { return };
        let limit = job.spec.workload.as_ref().map_or(0, |workload| workload.start_timeout_seconds);
        let message = format!("no pod was ready or finished within spec.workload.startTimeoutSeconds ({limit} s)");
        for leg in view.legs.iter().filter(|leg| leg.kind == <Machine as Advertises>::KIND) {
            self.refused(view, &No { leg, message: message.clone(), for_good: false }, Reason::StartTimedOut, notes);
        }
        if noted(notes, |notes| notes.refusals.is_empty()) {
            let mut holdoffs = self.holdoffs.lock().unwrap_or_else(PoisonError::into_inner);
            let about = (view.root.uid.as_str(), job.metadata.generation.unwrap_or(0));
            holdoffs.remember(about, &message, &retry_of(&job), self.now_ms());
        }
        noted(notes, |notes| notes.message = message);
    }

    /// Whether the work of a claim is not there any more, as the server says: deleted by somebody, not only not seen.
    pub(super) async fn is_work_gone(&self, view: &View) -> bool {
        let seen = batch_of(&view.uid, &self.world.look()).cloned();
        let told = self.job(view).and_then(|job| Some(job.status.as_ref()?.workload.as_ref()?.name.clone()));
        let (None, Some(name)) = (seen, told) else { return true };
        match self.cluster.get::<Batch>(&ObjectKey::new(&view.key.namespace, &name)).await {
            Answer::Missing => true,
            Answer::Done(batch) => {
                let found = BatchJob::of(&batch);
                let ours = found.match_uid.as_deref() == Some(&view.uid);
                self.world.learn(|all| {
                    all.works.put(found);
                });
                !ours
            }
            _ => false,
        }
    }

    /// Deletes a batch Job that was made for a Match that is gone, with its pods: people have seen what came of it.
    pub(crate) async fn clean_up(self: Arc<Self>, batch: Arc<BatchJob>) {
        if self.is_free(&batch).await {
            self.cluster.delete::<Batch>(&batch.key, &batch.uid).await;
        }
    }
}
