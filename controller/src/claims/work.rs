//! The workload of a claim: made, started and looked for, each by requests that test what was read before. Its end is in `stop.rs`.

use std::sync::{Arc, Mutex, PoisonError};

use claiming::{Action, Event, Reason, Work};
use crds::{Job, Machine, Match, WorkKind, Workload};
use pool::{Advertises, ObjectKey, Objects, WorkObject};

use crate::api::Answer;
use crate::backoff::retry_of;
use crate::claims::drive::{Driver, Notes, noted};
use crate::claims::reserve::No;
use crate::claims::view::View;
use crate::events::Tone;
use crate::holdoffs::Cause;
use crate::work_api::{Raw, Seen};
use crate::workloads::{self, Gang, batch_job, gang, state_of, work_of};

/// Which workload was read, and in which version: what is started is this one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    uid: String,
    version: String,
}

impl Read {
    /// The workload of a claim as it is seen.
    pub(super) fn of(view: &View, objects: &Objects) -> Read {
        work_of(view.whose(objects), objects).map(|work| Read::from(work.as_ref())).unwrap_or_default()
    }

    fn from(work: &WorkObject) -> Read {
        Read { uid: work.uid.clone(), version: work.version.clone() }
    }
}

impl Driver {
    /// An action about the workload.
    pub(super) async fn do_work(&self, view: &View, action: Action, notes: &Mutex<Notes>) -> Event {
        match action {
            Action::MakeWork => self.make_work(view, notes).await,
            Action::ClearWork => self.clear_work(view, notes).await,
            Action::StartWork => self.start_work(view, notes).await,
            Action::StopWork => self.stop_work(view, notes).await,
            Action::ListWork => self.look_for_work(view, notes).await,
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
            Workload { workload_ref: Some(reference), .. } => {
                let key = ObjectKey::new(&view.key.namespace, &reference.name);
                self.take_over(view, (reference.kind, &key), &gang, notes).await
            }
            _ => failed,
        }
    }

    async fn post(&self, view: &View, raw: &Raw, notes: &Mutex<Notes>) -> Event {
        match self.cluster.make(raw).await {
            Answer::Done(made) => {
                tracing::info!(r#match = %view.key, "batch Job made");
                self.learned(&made, notes)
            }
            // it is another Match's, or this one's and only now seen: the next look tells
            Answer::Exists => match self.cluster.read_work(WorkKind::Job, &view.key).await {
                Answer::Done(found) if self.is_its(view, &found) => self.learned(&found, notes),
                Answer::Done(found) => {
                    self.learned(&found, notes);
                    Event::Work(Work::Foreign)
                }
                answer => self.lost(Action::MakeWork, &answer, notes),
            },
            Answer::Refused(refused) => {
                tracing::warn!(r#match = %view.key, message = refused.message, "batch Job refused");
                noted(notes, |notes| notes.message = format!("the batch Job was refused: {}", refused.message));
                Event::Work(Work::Finished(false))
            }
            answer => self.lost(Action::MakeWork, &answer, notes),
        }
    }

    fn is_its(&self, view: &View, seen: &Seen) -> bool {
        view.whose(&self.world.look()).has(&seen.work)
    }

    /// What works for a claim, as it is seen.
    pub(super) fn seen_work(&self, view: &View) -> Option<Arc<WorkObject>> {
        let objects = self.world.look();
        work_of(view.whose(&objects), &objects).cloned()
    }

    /// What a workload is now; of this claim's own it is remembered which one was read.
    fn learned(&self, seen: &Seen, notes: &Mutex<Notes>) -> Event {
        noted(notes, |notes| notes.work = Read::from(&seen.work));
        self.learn_work(seen.work.clone());
        Event::Work(state_of(&seen.work))
    }

    pub(super) fn learn_work(&self, work: WorkObject) {
        self.world.learn(|all| {
            all.works.put(work);
        });
    }

    /// Puts the claim's label on something that somebody else has made. Another claim's label is replaced only once that
    /// claim is over.
    async fn take_over(&self, view: &View, named: (WorkKind, &ObjectKey), gang: &Gang, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::MakeWork);
        let (kind, key) = named;
        let seen = match self.cluster.read_work(kind, key).await {
            Answer::Done(seen) => seen,
            Answer::Missing => {
                return self.waits_for(view, Action::MakeWork, workloads::not_there(kind, &key.name), notes);
            }
            answer => return self.lost(Action::MakeWork, &answer, notes),
        };
        if let Some(well) = seen.work.ended {
            return Event::Work(Work::Finished(well));
        }
        if self.is_its(view, &seen) {
            return self.learned(&seen, notes);
        }
        if !seen.work.suspended || seen.work.active > 0 {
            if !seen.work.suspended {
                return self.waits_for(view, Action::MakeWork, workloads::not_held(kind, &key.name), notes);
            }
            // what was suspended a moment ago is still coming to rest
            noted(notes, |notes| notes.failed(Action::MakeWork, "its workload is still coming to rest"));
            return failed;
        }
        if !self.is_free(&seen.work).await {
            noted(notes, |notes| notes.failed(Action::MakeWork, "its workload still works for another Match"));
            return failed;
        }
        let patch = workloads::take_over(kind, &seen.raw.metadata, gang);
        match self.cluster.patch_work(kind, key, &patch).await {
            Answer::Done(seen) => self.learned(&seen, notes),
            answer => self.lost(Action::MakeWork, &answer, notes),
        }
    }

    /// Tells the job why its workload cannot be let go: reason and note of an Event. That it can be is seen; where no watch shows it,
    /// it is asked for now and then.
    pub(super) fn waits_for(
        &self,
        view: &View,
        action: Action,
        (reason, note): (&'static str, String),
        notes: &Mutex<Notes>,
    ) -> Event {
        if let Some(job) = self.job(view) {
            self.events.tell(&job, Tone::Warning, reason, &note);
        }
        noted(notes, |notes| notes.failed(action, note));
        Event::Failed(action)
    }

    /// Whether the Match that something worked for is over or gone, as the server says.
    pub(super) async fn is_free(&self, work: &WorkObject) -> bool {
        let (Some(uid), Some(name)) = (&work.match_uid, &work.match_name) else { return work.match_uid.is_none() };
        match self.cluster.get::<Match>(&ObjectKey::new(&work.key.namespace, name)).await {
            Answer::Missing => true,
            Answer::Done(found) => {
                found.metadata.uid.as_ref() != Some(uid)
                    || found.status.is_some_and(|status| status.decision.is_terminal())
            }
            _ => false,
        }
    }

    /// Starts what was read before the claim was seen to stand, and nothing else.
    async fn start_work(&self, view: &View, notes: &Mutex<Notes>) -> Event {
        let failed = Event::Failed(Action::StartWork);
        let read = noted(notes, |notes| notes.work.clone());
        let seen = self.seen_work(view);
        let (Some(work), Some(job)) = (seen.filter(|work| work.uid == read.uid), self.job(view)) else {
            return failed;
        };
        let patch = match work.made {
            true => workloads::start_made(&read.uid),
            false => {
                let current = match self.cluster.read_work(work.kind, &work.key).await {
                    Answer::Done(current) => current.raw,
                    answer => return self.lost(Action::StartWork, &answer, notes),
                };
                let Some(gang) = self.gang(view, &job) else { return failed };
                workloads::start_taken(work.kind, &current, (&read.uid, &read.version), &gang)
            }
        };
        match self.cluster.patch_work(work.kind, &work.key, &patch).await {
            Answer::Done(started) => {
                tracing::info!(r#match = %view.key, work = %work.key, "work started");
                self.learned(&started, notes)
            }
            answer => {
                if let Answer::Done(found) = self.cluster.read_work(work.kind, &work.key).await {
                    self.learn_work(found.work);
                }
                self.lost(Action::StartWork, &answer, notes)
            }
        }
    }

    /// Remembers the machines on which no pod came up in time, so that the job is matched elsewhere; without any, the job
    /// itself pauses.
    pub(super) fn start_timed_out(&self, view: &View, notes: &Mutex<Notes>) {
        let Some(job) = self.job(view) else { return };
        let limit = job.spec.workload.as_ref().map_or(0, |workload| workload.start_timeout_seconds);
        let message = format!("no pod was ready or finished within spec.workload.startTimeoutSeconds ({limit} s)");
        let machines = || view.legs.iter().filter(|leg| leg.kind == <Machine as Advertises>::KIND);
        for leg in machines() {
            self.refused(view, &No { leg, message: message.clone(), for_good: false }, Reason::StartTimedOut, notes);
        }
        if noted(notes, |notes| notes.refusals.is_empty()) {
            let mut holdoffs = self.holdoffs.lock().unwrap_or_else(PoisonError::into_inner);
            let about = (view.root.uid.as_str(), job.metadata.generation.unwrap_or(0));
            holdoffs.remember(about, Cause::Start, &message, &retry_of(&job), self.now_ms());
        }
        let names: Vec<String> = machines().map(|leg| format!("{} {}", leg.kind, leg.key)).collect();
        let there = if names.is_empty() { String::new() } else { format!(" on {}", names.join(", ")) };
        noted(notes, |notes| notes.message = message + &there);
    }
}
