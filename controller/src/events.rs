//! What happened to a claim into Events on its job.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crds::Job;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::{Resource, ResourceExt};
use tokio::time::Instant;

use crate::api::{Cluster, MANAGER};
use crate::clock::Clock;

/// A warning is not given again for this long if only its words differ: Events are for people, not for counting.
const QUIET: Duration = Duration::from_secs(300);
/// The longest name of an object.
const NAME_MAX: usize = 253;
/// The longest note, in bytes.
const NOTE_MAX: usize = 1024;

/// Writes Events.
pub(crate) struct Events {
    identity: String,
    clock: Clock,
    /// When a job was warned last, by its uid and the reason.
    warned: Mutex<BTreeMap<(String, String), Instant>>,
}

/// How serious it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it should be.
    Normal,
    /// Somebody should look at it.
    Warning,
}

impl Events {
    pub(crate) fn new(identity: &str, clock: Clock) -> Events {
        Events { identity: identity.to_owned(), clock, warned: Mutex::default() }
    }

    /// Tells a job what became of its claim. An Event that cannot be written is lost: the conditions say the same.
    pub(crate) async fn tell(&self, cluster: &Cluster, job: &Job, tone: Tone, reason: &str, note: &str) {
        if tone == Tone::Warning && self.is_told(&job.uid().unwrap_or_default(), reason, Instant::now()) {
            return;
        }
        self.tell_about(cluster, job.object_ref(&()), tone, reason, note).await;
    }

    /// Tells it of any object.
    pub(crate) async fn tell_about(
        &self,
        cluster: &Cluster,
        object: ObjectReference,
        tone: Tone,
        reason: &str,
        note: &str,
    ) {
        let event = event(object, tone, reason, note, &self.identity, self.clock.now());
        let answer = cluster.create_unread(&event).await;
        tracing::debug!(reason, ?answer, "event");
    }

    /// Whether an object was not warned of this for a while. It is taken to be, from now on.
    pub(crate) fn is_new(&self, uid: &str, reason: &str) -> bool {
        !self.is_told(uid, reason, Instant::now())
    }

    fn is_told(&self, job_uid: &str, reason: &str, now: Instant) -> bool {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        warned.retain(|_, at| now.saturating_duration_since(*at) < QUIET);
        let key = (job_uid.to_owned(), reason.to_owned());
        let told = warned.contains_key(&key);
        warned.entry(key).or_insert(now);
        told
    }
}

/// The Event. Its name is that of the object, as far as there is room, and the time.
fn event(object: ObjectReference, tone: Tone, reason: &str, note: &str, identity: &str, now: Timestamp) -> Event {
    let mark = format!(".{:x}", now.as_nanosecond());
    let mut name = cut(object.name.as_deref().unwrap_or(""), NAME_MAX.saturating_sub(mark.len())).to_owned();
    name.truncate(name.trim_end_matches(['.', '-']).len());
    Event {
        metadata: ObjectMeta { name: Some(name + &mark), namespace: object.namespace.clone(), ..ObjectMeta::default() },
        action: Some("Claiming".to_owned()),
        event_time: Some(MicroTime(now)),
        note: Some(cut(note, NOTE_MAX).to_owned()).filter(|note| !note.is_empty()),
        reason: Some(reason.to_owned()),
        regarding: Some(object),
        reporting_controller: Some(format!("{MANAGER}.dev/controller")),
        reporting_instance: Some(cut(identity, 128).to_owned()),
        type_: Some(if tone == Tone::Warning { "Warning" } else { "Normal" }.to_owned()),
        ..Event::default()
    }
}

/// The beginning of a text, at most so many bytes.
fn cut(text: &str, bytes_max: usize) -> &str {
    let mut end = text.len().min(bytes_max);
    while !text.is_char_boundary(end) {
        end = end.saturating_sub(1);
    }
    text.get(..end).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::job;
    use serde_json::json;

    #[test]
    fn a_job_with_the_longest_name_gets_its_events() {
        let now = Timestamp::from_second(1_795_000_000).unwrap();
        for (name, kept) in [("a".repeat(253), 236), (format!("{}.{}", "a".repeat(235), "b".repeat(17)), 235)] {
            let mut job = job(&json!({}), &json!({}));
            job.metadata.name = Some(name.clone());
            let event = event(job.object_ref(&()), Tone::Normal, "Claimed", &"ü".repeat(600), "pod_1", now);
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
