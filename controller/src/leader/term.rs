//! The term of this process, for everything in it that writes: whether it leads, since which write, and until when.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

/// Whether this process leads: asked before each write.
#[derive(Clone, Debug)]
pub(crate) struct Leadership {
    lead: Arc<watch::Sender<Option<Lead>>>,
    /// The highest epoch that was found on an offer when a term began.
    floor: Arc<AtomicI64>,
    /// The term is to be given up, though the lease is held: the next one is won by another write.
    resigned: Arc<AtomicBool>,
}

/// A time of leading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lead {
    /// Marks what is written in this term: higher than in any term before. 0 without an election.
    pub(crate) epoch: i64,
    /// After this nothing is written. `None`: there is no election, and it never ends.
    until: Option<Instant>,
}

impl Lead {
    /// How long it is good for, as things stand; `None` if it is over.
    fn left(self, now: Instant) -> Option<Duration> {
        match self.until {
            None => Some(Duration::MAX),
            Some(until) => until.checked_duration_since(now).filter(|left| !left.is_zero()),
        }
    }
}

impl Leadership {
    /// This process does not lead yet.
    pub(crate) fn standby() -> Leadership {
        Leadership { lead: Arc::new(watch::Sender::new(None)), floor: Arc::default(), resigned: Arc::default() }
    }

    /// There is no election: this process leads as long as it runs.
    pub(crate) fn alone() -> Leadership {
        let lead = Some(Lead { epoch: 0, until: None });
        Leadership { lead: Arc::new(watch::Sender::new(lead)), floor: Arc::default(), resigned: Arc::default() }
    }

    /// Begins or prolongs a term.
    pub(crate) fn set(&self, epoch: i64, until: Instant) {
        self.lead.send_replace(Some(Lead { epoch, until: Some(until) }));
    }

    /// Ends it: nothing is written from now on.
    pub(crate) fn end(&self) {
        self.lead.send_if_modified(|lead| lead.take().is_some());
    }

    /// Gives the term up: another replica has led since it began. To go on under its epoch would be refused for ever.
    pub(crate) fn resign(&self) {
        self.resigned.store(true, Ordering::Relaxed);
        self.end();
    }

    /// Whether the term was given up since this was asked last.
    pub(crate) fn has_resigned(&self) -> bool {
        self.resigned.swap(false, Ordering::Relaxed)
    }

    /// The term as of now, and how long it is good for; `None` if this process does not lead.
    pub(crate) fn current(&self) -> Option<(Lead, Duration)> {
        let lead = (*self.lead.borrow())?;
        Some((lead, lead.left(Instant::now())?))
    }

    /// The epoch to write under; `None` if this process does not lead, or there is no election.
    pub(crate) fn epoch(&self) -> Option<i64> {
        let (lead, _) = self.current().filter(|(lead, _)| lead.epoch > 0)?;
        Some(lead.epoch.max(self.floor.load(Ordering::Relaxed)))
    }

    /// Offers have been found with this epoch: a lower one would be refused by them. Versions begin anew when objects are
    /// carried over to another cluster with their statuses.
    pub(crate) fn at_least(&self, epoch: i64) {
        self.floor.fetch_max(epoch, Ordering::Relaxed);
    }

    /// Waits for a term to begin.
    pub(crate) async fn gained(&self) -> Lead {
        let mut changes = self.lead.subscribe();
        loop {
            if let Some((lead, _)) = self.current() {
                return lead;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits until this term is over: ended, not renewed in time, or followed by another.
    pub(crate) async fn over(&self, term: Lead) {
        let mut changes = self.lead.subscribe();
        loop {
            let left = match self.current() {
                Some((lead, left)) if lead.epoch == term.epoch => left,
                _ => return,
            };
            tokio::select! {
                _ = changes.changed() => {}
                () = tokio::time::sleep(left.min(Duration::from_secs(3600))) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_that_is_not_renewed_ends_by_itself() {
        let leadership = Leadership::standby();
        assert_eq!(leadership.epoch(), None);
        let now = Instant::now();
        leadership.set(7, now + Duration::from_secs(3600));
        assert_eq!(leadership.epoch(), Some(7));
        leadership.set(7, now);
        assert_eq!(leadership.epoch(), None, "its time is over, though nobody said so");
        leadership.set(9, now + Duration::from_secs(3600));
        leadership.end();
        assert_eq!(leadership.epoch(), None);
        assert_eq!(Leadership::alone().epoch(), None, "nobody is elected");
    }

    #[test]
    fn an_epoch_is_not_lower_than_what_offers_have_seen() {
        let leadership = Leadership::standby();
        leadership.set(7, Instant::now() + Duration::from_secs(3600));
        leadership.at_least(5);
        assert_eq!(leadership.epoch(), Some(7));
        leadership.at_least(900);
        assert_eq!(leadership.epoch(), Some(900), "they come from another cluster");
    }

    #[test]
    fn whoever_resigns_does_not_lead_and_says_so_once() {
        let leadership = Leadership::standby();
        leadership.set(7, Instant::now() + Duration::from_secs(3600));
        leadership.resign();
        assert_eq!(leadership.epoch(), None);
        assert!(leadership.has_resigned() && !leadership.has_resigned());
    }

    #[test]
    fn whoever_waits_hears_of_the_beginning_and_of_the_end() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let leadership = Leadership::standby();
            let early = tokio::time::timeout(Duration::from_millis(1), leadership.gained()).await;
            assert!(early.is_err(), "nobody leads yet");
            leadership.set(7, Instant::now() + Duration::from_millis(1));
            let lead = leadership.gained();
            let lead = lead.await;
            assert_eq!(lead.epoch, 7);
            leadership.over(lead).await;
            assert_eq!(leadership.epoch(), None);
        });
    }
}
