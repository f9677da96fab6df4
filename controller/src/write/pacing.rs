//! The outcomes of the writes of one kind into which objects may be written next: a refusal pauses the object and its namespace, overload pauses
//! all.

use std::collections::{BTreeMap, BTreeSet};

use crate::cycle::backoff::{Backoff, Pause};
use crate::write::answer::Unknown;

/// The pauses after writes that were not taken.
const REFUSED: Backoff = Backoff::new(1_000, 60_000);
const OVERLOADED: Backoff = Backoff::new(1_000, 32_000);
/// How long after its end a pause is remembered, and how often those that are over are taken out.
const REMEMBERED_MS: u64 = 120_000;

/// What came of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was taken, or there is nothing to be written any more.
    Done,
    /// The object has changed in between: it is written anew at once.
    Again,
    /// The server said no: a quota, a policy, a webhook, a namespace that is being deleted.
    Refused(String),
    /// No answer, or an internal error: of the server, or of a webhook that only some namespaces have.
    Stalled(String),
    /// The server says that it is overloaded.
    Overloaded(String),
}

impl Outcome {
    /// Why it was not taken.
    pub(crate) fn why(&self) -> Option<&str> {
        match self {
            Outcome::Done | Outcome::Again => None,
            Outcome::Refused(why) | Outcome::Stalled(why) | Outcome::Overloaded(why) => Some(why),
        }
    }
}

impl From<Unknown> for Outcome {
    /// What an answer means that says nothing about the object.
    fn from(unknown: Unknown) -> Outcome {
        match unknown {
            Unknown::Conflict(_) => Outcome::Again,
            Unknown::Busy(why) => Outcome::Overloaded(why),
            Unknown::Rejected(why) | Unknown::TooLarge(why) => Outcome::Refused(why),
            unknown @ (Unknown::NotLeading | Unknown::Timeout(_) | Unknown::Other(_)) => {
                Outcome::Stalled(unknown.to_string())
            }
        }
    }
}

/// What is worth a line in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PacingNotice {
    /// Writes of a namespace are not taken, for another reason than before.
    Refused,
    /// They are taken again.
    Taken,
}

/// The pauses of one kind of write. Objects have the names `T`.
#[derive(Debug)]
pub(crate) struct Pacing<T> {
    all: Pause,
    namespaces: BTreeMap<String, PausedNamespace>,
    objects: BTreeMap<T, Pause>,
    /// Namespaces that had no answer since the last write that was taken.
    stalled: BTreeSet<String>,
    tidy_at_ms: u64,
}

#[derive(Debug, Default)]
struct PausedNamespace {
    pause: Pause,
    gist: String,
}

impl<T> Default for Pacing<T> {
    fn default() -> Self {
        Pacing {
            all: Pause::default(),
            namespaces: BTreeMap::new(),
            objects: BTreeMap::new(),
            stalled: BTreeSet::new(),
            tidy_at_ms: 0,
        }
    }
}

impl<T: Ord + Clone> Pacing<T> {
    /// Whether a namespace may be written to.
    pub(crate) fn may(&self, namespace: &str, now_ms: u64) -> bool {
        !self.all.lasts(now_ms) && self.namespaces.get(namespace).is_none_or(|held| !held.pause.lasts(now_ms))
    }

    /// Whether an object may be.
    pub(crate) fn may_object(&self, object: &T, now_ms: u64) -> bool {
        self.objects.get(object).is_none_or(|pause| !pause.lasts(now_ms))
    }

    /// How many writes to a namespace may be under way at once: one, to find out, as long as the last one was not taken.
    pub(crate) fn allowance(&self, namespace: &str, most: usize) -> usize {
        let is_failing = self.all.is_failing() || self.namespaces.contains_key(namespace);
        if is_failing { most.min(1) } else { most }
    }

    /// Takes in what came of a write. Of several that were under way together only the first lengthens a pause.
    pub(crate) fn note(&mut self, namespace: &str, object: &T, outcome: &Outcome, now_ms: u64) -> Option<PacingNotice> {
        self.tidy(now_ms);
        match outcome {
            Outcome::Done => {
                self.objects.remove(object);
                self.stalled.clear();
                self.all = Pause::default();
                return self.namespaces.remove(namespace).map(|_| PacingNotice::Taken);
            }
            Outcome::Again => return None,
            Outcome::Refused(_) => {}
            Outcome::Stalled(_) => {
                self.stalled.insert(namespace.to_owned());
                if self.stalled.len() > 1 {
                    lengthen(&mut self.all, OVERLOADED, "", now_ms);
                }
            }
            Outcome::Overloaded(_) => lengthen(&mut self.all, OVERLOADED, "", now_ms),
        }
        let pause = self.objects.entry(object.clone()).or_default();
        lengthen(pause, REFUSED, namespace, now_ms);
        let held = self.namespaces.entry(namespace.to_owned()).or_default();
        lengthen(&mut held.pause, REFUSED, namespace, now_ms);
        let gist = gist(outcome.why().unwrap_or(""));
        (std::mem::replace(&mut held.gist, gist) != held.gist).then_some(PacingNotice::Refused)
    }

    /// When the next pause ends.
    pub(crate) fn next_ms(&self, now_ms: u64) -> Option<u64> {
        let namespaces = self.namespaces.values().map(|held| held.pause.until_ms().max(self.all.until_ms()));
        let objects = self.objects.values().map(Pause::until_ms);
        namespaces.chain(objects).chain([self.all.until_ms()]).filter(|until| *until > now_ms).min()
    }

    /// Forgets what has not gone wrong for long: objects that are gone, above all.
    fn tidy(&mut self, now_ms: u64) {
        if now_ms < self.tidy_at_ms {
            return;
        }
        self.tidy_at_ms = now_ms.saturating_add(REMEMBERED_MS);
        let counts = |pause: &Pause| pause.until_ms().saturating_add(REMEMBERED_MS) > now_ms;
        self.objects.retain(|_, pause| counts(pause));
        self.namespaces.retain(|_, held| counts(&held.pause));
    }
}

fn lengthen(pause: &mut Pause, backoff: Backoff, name: &str, now_ms: u64) {
    if !pause.lasts(now_ms) {
        pause.lengthen(backoff, name, now_ms);
    }
}

/// What two refusals have in common that differ in names and numbers only.
fn gist(why: &str) -> String {
    let unquoted = why.split('"').step_by(2);
    unquoted.flat_map(|part| part.chars().filter(|character| !character.is_ascii_digit())).take(256).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn quota(job: u32) -> Outcome {
        Outcome::Refused(format!("jobs \"j-{job}\" is forbidden: exceeded quota: q, used: {job}, limited: 1"))
    }

    #[test]
    fn b1_a_refusal_pauses_its_object_and_its_namespace_and_no_other() {
        let mut pacing = Pacing::default();
        assert_eq!(pacing.note("b", &"b/1", &quota(1), 0), Some(PacingNotice::Refused));
        assert!(!pacing.may("b", 500) && !pacing.may_object(&"b/1", 500));
        assert!(pacing.may("c", 500) && pacing.may_object(&"b/2", 500));
        assert_eq!((pacing.allowance("b", 16), pacing.allowance("c", 16)), (1, 16));
        let next = pacing.next_ms(500).unwrap();
        assert!(next <= 1_000 && pacing.may("b", next));
    }

    #[test]
    fn b1_refusals_come_less_and_less_often_and_are_said_once() {
        let (mut pacing, mut now, mut said, mut tries) = (Pacing::default(), 0, 0, 0);
        while now < 600_000 {
            tries += 1;
            said += usize::from(pacing.note("b", &tries, &quota(tries), now).is_some());
            while !pacing.may("b", now) {
                now = pacing.next_ms(now).unwrap();
            }
        }
        assert!(tries < 25, "{tries} tries in ten minutes");
        assert_eq!(said, 1);
        let terminating = Outcome::Refused("forbidden: it is being terminated".to_owned());
        assert_eq!(pacing.note("b", &0, &terminating, now), Some(PacingNotice::Refused));
        assert_eq!(pacing.note("b", &0, &Outcome::Done, now + 1), Some(PacingNotice::Taken));
        assert_eq!(pacing.note("b", &0, &Outcome::Done, now + 2), None);
        assert_eq!(pacing.allowance("b", 16), 16);
    }

    #[test]
    fn those_that_were_under_way_together_count_once() {
        let mut pacing = Pacing::default();
        (0..12).for_each(|job| assert!(pacing.note("b", &job, &quota(job), 10).is_some() == (job == 0)));
        assert!(pacing.may("b", 1_010), "one second, not twelve times as long");
    }

    #[test]
    fn only_overload_pauses_all() {
        let mut pacing = Pacing::default();
        let hangs = Outcome::from(Unknown::Timeout(Duration::from_secs(5)));
        pacing.note("b", &1, &hangs, 0);
        pacing.note("b", &2, &hangs, 1);
        assert!(pacing.may("c", 2), "one namespace's webhook hangs");
        pacing.note("c", &3, &hangs, 2);
        assert!(!pacing.may("d", 3), "two of them, and nothing is taken: it is the server");
        pacing.note("d", &4, &Outcome::Done, 4);
        assert!(pacing.may("e", 5) && !pacing.may("b", 5));
        pacing.note("b", &1, &Outcome::from(Unknown::Busy("429 TooManyRequests: later".to_owned())), 6);
        assert!(!pacing.may("e", 7));
    }

    #[test]
    fn what_is_long_over_is_forgotten() {
        let mut pacing = Pacing::default();
        (0..1000).for_each(|job| assert!(pacing.note("b", &job, &quota(job), 0).is_some() == (job == 0)));
        pacing.note("c", &0, &Outcome::Done, REMEMBERED_MS * 3);
        assert_eq!((pacing.objects.len(), pacing.namespaces.len()), (0, 0));
    }
}
