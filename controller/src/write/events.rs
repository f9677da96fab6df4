//! What happened to jobs into Events, written beside everything else: a few at a time, round robin over namespaces.

use std::collections::BTreeMap;
use std::time::Duration;

use crds::Job;
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::runtime::events::EventType;
use kube::{Resource, ResourceExt};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::write::answer::Answer;
use crate::write::fair::FairQueue;
use crate::write::lane::until;
use crate::write::pacing::{Outcome, Pacing};
use crate::write::requests::{Cluster, MANAGER};

/// What was said is not said again for this long if only its words differ: Events are for people, not for counting.
const QUIET: Duration = Duration::from_secs(300);
/// Of so many what was said is remembered: of the others it may be said again.
const SAID_MAX: usize = 20_000;
/// The most Events of one namespace that wait to be written; of more, the oldest are lost.
const WAITING_OF_ONE: usize = 256;
/// The most writes under way at once; and of one namespace.
const WRITES_MAX: usize = 4;
const WRITES_OF_ONE: usize = 2;
/// The longest name of an object.
const NAME_MAX: usize = 253;
/// The longest note, and the longest name of a process that reports, in bytes.
const NOTE_MAX: usize = 1024;
const INSTANCE_MAX: usize = 128;

/// Takes Events in, and writes them when it is their turn.
pub(crate) struct Events {
    identity: String,
    clock: Clock,
    /// When something was said of an object last, by its uid and the reason.
    said: Mutex<Said>,
    waiting: Mutex<FairQueue<Event>>,
    more: Notify,
}

#[derive(Debug, Default)]
struct Said {
    at: BTreeMap<(String, String), Instant>,
    tidied: Option<Instant>,
}

impl Events {
    pub(crate) fn new(identity: &str, clock: Clock) -> Events {
        let (said, waiting, more) = (Mutex::default(), Mutex::default(), Notify::new());
        Events { identity: identity.to_owned(), clock, said, waiting, more }
    }

    /// Tells a job what became of its claim: a warning once in a while. An Event that cannot be written is lost: the conditions
    /// say the same.
    pub(crate) fn tell(&self, job: &Job, tone: EventType, reason: &str, note: &str) {
        if tone == EventType::Normal || self.is_new(&job.uid().unwrap_or_default(), reason) {
            self.tell_about(job.object_ref(&()), tone, reason, note);
        }
    }

    /// Tells it of any object.
    pub(crate) fn tell_about(&self, object: ObjectReference, tone: EventType, reason: &str, note: &str) {
        let event = event(object, tone, reason, note, &self.identity, self.clock.now());
        let namespace = event.metadata.namespace.clone().unwrap_or_default();
        let mut waiting = self.waiting.lock();
        if waiting.len_of(&namespace) >= WAITING_OF_ONE {
            waiting.drop_oldest(&namespace);
        }
        waiting.push(&namespace, event);
        drop(waiting);
        self.more.notify_one();
    }

    /// Whether this was not said of an object for a while. It is taken to be, from now on.
    pub(crate) fn is_new(&self, uid: &str, reason: &str) -> bool {
        !self.is_told(uid, reason, Instant::now())
    }

    fn is_told(&self, uid: &str, reason: &str, now: Instant) -> bool {
        let Said { at, tidied } = &mut *self.said.lock();
        let is_quiet = |since: &Instant| now.saturating_duration_since(*since) < QUIET;
        if !tidied.is_some_and(|tidied| is_quiet(&tidied)) {
            at.retain(|_, since| is_quiet(since));
            *tidied = Some(now);
        }
        if at.len() >= SAID_MAX {
            at.pop_first();
        }
        let before = at.insert((uid.to_owned(), reason.to_owned()), now);
        match before.filter(is_quiet) {
            Some(before) => {
                at.insert((uid.to_owned(), reason.to_owned()), before);
                true
            }
            None => false,
        }
    }

    /// Writes them, for ever. One that is refused is lost, and its namespace pauses.
    pub(crate) async fn write(&self, cluster: &Cluster) {
        let begun = Instant::now();
        let now_ms = || u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let (mut pacing, mut running) = (Pacing::<String>::default(), FuturesUnordered::new());
        let mut by_namespace: BTreeMap<String, usize> = BTreeMap::new();
        loop {
            while running.len() < WRITES_MAX
                && let Some(event) = self.next(&pacing, &by_namespace, now_ms())
            {
                let namespace = event.metadata.namespace.clone().unwrap_or_default();
                *by_namespace.entry(namespace.clone()).or_default() += 1;
                running.push(async move { (namespace, outcome(cluster.create_unread(&event).await)) });
            }
            let pause = pacing.next_ms(now_ms()).map(|until| begun + Duration::from_millis(until));
            tokio::select! {
                Some((namespace, outcome)) = running.next() => {
                    pacing.note(&namespace, &namespace, &outcome, now_ms());
                    by_namespace.retain(|name, count| {
                        *count = count.saturating_sub(usize::from(*name == namespace));
                        *count > 0
                    });
                }
                () = self.more.notified() => {}
                () = until(pause) => {}
            }
        }
    }

    fn next(&self, pacing: &Pacing<String>, under_way: &BTreeMap<String, usize>, now_ms: u64) -> Option<Event> {
        self.waiting.lock().pop(|namespace| {
            let most = pacing.allowance(namespace, WRITES_OF_ONE);
            pacing.may(namespace, now_ms) && under_way.get(namespace).is_none_or(|count| *count < most)
        })
    }
}

fn outcome(answer: Answer<()>) -> Outcome {
    match answer {
        Answer::Done(()) | Answer::Exists => Outcome::Done,
        Answer::Denied(refused) => Outcome::Refused(refused.message),
        Answer::Missing => Outcome::Refused("no such namespace".to_owned()),
        Answer::Unknown(unknown) => unknown.into(),
    }
}

fn event(object: ObjectReference, tone: EventType, reason: &str, note: &str, identity: &str, now: Timestamp) -> Event {
    let mark = format!(".{:x}", now.as_nanosecond());
    let mut name = object.name.clone().unwrap_or_default();
    name.truncate(name.floor_char_boundary(NAME_MAX.saturating_sub(mark.len())));
    name.truncate(name.trim_end_matches(['.', '-']).len());
    // A note is never empty.
    let (mut note, mut instance) = (if note.is_empty() { reason } else { note }.to_owned(), identity.to_owned());
    note.truncate(note.floor_char_boundary(NOTE_MAX));
    instance.truncate(instance.floor_char_boundary(INSTANCE_MAX));
    Event {
        metadata: ObjectMeta { name: Some(name + &mark), namespace: object.namespace.clone(), ..ObjectMeta::default() },
        action: Some("Claiming".to_owned()),
        event_time: Some(MicroTime(now)),
        note: Some(note),
        reason: Some(reason.to_owned()),
        regarding: Some(object),
        reporting_controller: Some(format!("{MANAGER}.dev/controller")),
        reporting_instance: Some(instance),
        type_: Some(if tone == EventType::Warning { "Warning" } else { "Normal" }.to_owned()),
        ..Event::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::fixtures::job;
    use serde_json::json;

    #[test]
    fn a_job_with_the_longest_name_gets_its_events() {
        let now = Timestamp::from_second(1_795_000_000).unwrap();
        for (name, kept) in [("a".repeat(253), 236), (format!("{}.{}", "a".repeat(235), "b".repeat(17)), 235)] {
            let mut job = job(&json!({}), &json!({}));
            job.metadata.name = Some(name.clone());
            let event = event(job.object_ref(&()), EventType::Normal, "Claimed", &"ü".repeat(600), "pod_1", now);
            let made = event.metadata.name.unwrap();
            assert_eq!(made, format!("{}.18e91efd5bd38000", "a".repeat(kept)), "{}", made.len());
            assert!(made.len() <= 253);
            assert_eq!(event.regarding.unwrap().name, Some(name), "it is about the job all the same");
            assert_eq!(event.note.unwrap().len(), 1024);
        }
    }

    #[test]
    fn a_warning_is_not_repeated_for_a_while() {
        let (events, now) = (Events::new("pod_1", Clock::system()), Instant::now());
        assert!(!events.is_told("u", "CapacityTaken", now));
        assert!(events.is_told("u", "CapacityTaken", now + QUIET / 2));
        assert!(!events.is_told("u", "StaleAd", now + QUIET / 2));
        assert!(!events.is_told("another", "CapacityTaken", now + QUIET / 2));
        assert!(!events.is_told("u", "CapacityTaken", now + QUIET));
    }
}
