//! One look at the Lease, or one answer to a write of it, into what this candidate does next: pure, no clock, no client.
//!
//! A Lease is no lock, and no claim is safe because of it: it only keeps two controllers from doing the same work. Still it is
//! held as strictly as it can be. Every write names the version that it replaces; whether another's lease has run out is told by
//! how long *this* candidate has seen it unchanged, never by comparing clocks; and a term is counted from the moment in which
//! its write was sent, and ends before another candidate may take over.

use crate::leader::record::{Record, Stored, Timing};

/// A candidate of the election. All times are milliseconds of its own monotonic clock, but for `wall_us`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LeaseState {
    me: String,
    timing: Timing,
    /// The record last seen, whether it is still there, and since when it has not changed.
    seen: Option<SeenRecord>,
    /// The version of the Lease that a write would replace; `None`: there is no Lease.
    version: Option<String>,
    /// Nothing has happened since `version` was read that could have changed it.
    fresh: bool,
    term: Option<Term>,
    rest_until_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct SeenRecord {
    record: Record,
    since_ms: u64,
}

/// A time in which this candidate leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Term {
    /// The resourceVersion of the write that won it: every later term has a higher one.
    pub(crate) epoch: i64,
    /// When nothing may be written any more, unless the Lease is renewed before.
    pub(crate) until_ms: u64,
}

/// What a candidate does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LeaseAction {
    /// Read the Lease.
    Look,
    /// Create it.
    Create(Record),
    /// Replace the version named.
    Replace(String, Record),
    /// Do nothing until then.
    Rest(u64),
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum LeaseAnswer {
    /// The Lease as it was read; `None`: there is none.
    Found(Option<Stored>),
    /// It was written, and is this now.
    Written(Stored),
    /// It is not what the write was to replace.
    Conflict,
    /// The outcome is not known.
    Unknown,
}

impl LeaseState {
    pub(crate) fn new(me: &str, timing: Timing) -> LeaseState {
        LeaseState { me: me.to_owned(), timing, seen: None, version: None, fresh: false, term: None, rest_until_ms: 0 }
    }

    /// The term that this candidate is in, if it leads at `now_ms`.
    pub(crate) fn term(&self, now_ms: u64) -> Option<Term> {
        self.term.filter(|term| now_ms < term.until_ms)
    }

    /// What to do at `now_ms`. `wall_us` is written for people only.
    pub(crate) fn next(&self, now_ms: u64, wall_us: i64) -> LeaseAction {
        if now_ms < self.rest_until_ms {
            return LeaseAction::Rest(self.rest_until_ms);
        }
        if !self.fresh {
            return LeaseAction::Look;
        }
        if self.term(now_ms).is_none()
            && let Some(until_ms) = self.others_until_ms().filter(|until_ms| now_ms < *until_ms)
        {
            return LeaseAction::Rest(until_ms.min(now_ms.saturating_add(self.timing.look_ms())));
        }
        self.write(&self.me, wall_us)
    }

    /// Gives the Lease back; `None` if it is not known to be this candidate's. The term ends with this call.
    pub(crate) fn release(&mut self, wall_us: i64) -> Option<LeaseAction> {
        self.term = None;
        let mine = self.seen.as_ref().is_some_and(|sight| sight.record.holder == self.me);
        (mine && self.fresh && self.version.is_some()).then(|| self.write("", wall_us))
    }

    /// The term is given up. If the Lease is still this candidate's, its next write wins another one.
    pub(crate) fn resign(&mut self) {
        self.term = None;
    }

    /// Takes in what came of the last thing done, sent at `sent_ms`.
    pub(crate) fn answered(&mut self, answer: LeaseAnswer, sent_ms: u64, now_ms: u64) {
        match answer {
            LeaseAnswer::Found(found) => self.found(found, now_ms),
            LeaseAnswer::Written(stored) => self.written(stored, sent_ms, now_ms),
            LeaseAnswer::Conflict => self.fresh = false,
            LeaseAnswer::Unknown => {
                self.fresh = false;
                self.rest_until_ms = now_ms.saturating_add(self.timing.look_ms());
            }
        }
        let leads = self.term(now_ms).is_some();
        if !leads {
            self.term = None;
        }
    }

    /// The rest is over, and what was read before it may have changed.
    pub(crate) fn woke(&mut self, now_ms: u64) {
        // A leader's own last write is what it replaces next: if it was changed, the server says so.
        self.fresh &= self.term(now_ms).is_some();
    }

    fn found(&mut self, found: Option<Stored>, now_ms: u64) {
        self.fresh = true;
        self.version = found.as_ref().map(|stored| stored.version.clone());
        match found {
            Some(stored) => {
                if stored.record.holder != self.me {
                    self.term = None;
                }
                self.see(stored.record, now_ms);
            }
            None => self.term = None,
        }
    }

    /// A write that changed nothing renews nothing: no other candidate can have seen it.
    fn written(&mut self, stored: Stored, sent_ms: u64, now_ms: u64) {
        let changed = self.version.as_ref() != Some(&stored.version);
        let until_ms = sent_ms.saturating_add(self.timing.deadline_ms());
        let epoch = match self.term(now_ms) {
            Some(term) => Some(term.epoch),
            None => stored.version.parse().ok(),
        };
        if stored.record.holder == self.me && changed {
            self.term = epoch.map(|epoch| Term { epoch, until_ms });
        }
        self.rest_until_ms = sent_ms.saturating_add(self.timing.renew_ms()).max(self.rest_until_ms);
        self.fresh = true;
        self.version = Some(stored.version);
        self.see(stored.record, now_ms);
    }

    fn see(&mut self, record: Record, now_ms: u64) {
        if self.seen.as_ref().is_none_or(|sight| sight.record != record) {
            self.seen = Some(SeenRecord { record, since_ms: now_ms });
        }
    }

    /// Until when the Lease may be another's: a full duration from when it was last seen to change. If the Lease itself is gone
    /// by then, its holder may not know yet.
    fn others_until_ms(&self) -> Option<u64> {
        let sight = self.seen.as_ref()?;
        let another = !sight.record.holder.is_empty() && sight.record.holder != self.me;
        another.then(|| sight.since_ms.saturating_add(sight.record.duration_ms))
    }

    fn write(&self, holder: &str, wall_us: i64) -> LeaseAction {
        let last = self.seen.as_ref().map(|sight| &sight.record);
        let mut record = Record {
            holder: holder.to_owned(),
            duration_ms: self.timing.lease_ms,
            acquired_us: wall_us,
            renewed_us: wall_us,
            transitions: last.map_or(0, |last| last.transitions),
        };
        if let Some(last) = last {
            // What is written differs from what was there, whatever the wall clock says: otherwise no other candidate would see it.
            record.renewed_us = wall_us.max(last.renewed_us.saturating_add(1));
            if last.holder == holder || holder.is_empty() {
                record.acquired_us = last.acquired_us;
            } else {
                record.transitions = last.transitions.saturating_add(1);
            }
        }
        match &self.version {
            Some(version) => LeaseAction::Replace(version.clone(), record),
            None => LeaseAction::Create(record),
        }
    }
}
