//! Candidates against a server that keeps one Lease: in every order of a small world, and in long histories by seed with clocks
//! that run apart, lost and late messages, pauses, crashes and stops. Never do two lead at once; always somebody does again.

mod histories;
mod orders;

use super::lease_state::{LeaseAction, LeaseAnswer};
use super::record::{Record, Stored};

/// What the API server does with a Lease: versions grow, a write names the version that it replaces, and one that changes
/// nothing is no write.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Server {
    version: u64,
    record: Option<Record>,
}

impl Server {
    fn stored(&self) -> Option<Stored> {
        self.record.clone().map(|record| Stored { version: self.version.to_string(), record })
    }

    fn answer(&mut self, asked: &LeaseAction) -> LeaseAnswer {
        match (asked, self.stored()) {
            (LeaseAction::Look, stored) => return LeaseAnswer::Found(stored),
            (LeaseAction::Create(record), None) => self.record = Some(record.clone()),
            (LeaseAction::Replace(version, record), Some(stored)) if *version == stored.version => {
                if stored.record == *record {
                    return LeaseAnswer::Written(stored);
                }
                self.record = Some(record.clone());
            }
            _ => return LeaseAnswer::Conflict,
        }
        self.version += 1;
        self.stored().map_or(LeaseAnswer::Conflict, LeaseAnswer::Written)
    }
}

#[test]
fn whoever_resigns_wins_a_later_term_while_the_lease_is_its_own() {
    let timing = super::record::Timing { lease_ms: 15_000 };
    let (mut server, mut candidate) = (Server::default(), super::lease_state::LeaseState::new("a", timing));
    // looks and writes until it leads
    let lead = |candidate: &mut super::lease_state::LeaseState, server: &mut Server, from_ms: u64| {
        let mut now_ms = from_ms;
        loop {
            match candidate.next(now_ms, 0) {
                LeaseAction::Rest(until_ms) => {
                    now_ms = until_ms;
                    candidate.woke(now_ms);
                }
                next => candidate.answered(server.answer(&next), now_ms, now_ms),
            }
            if let Some(term) = candidate.term(now_ms) {
                return (term.epoch, now_ms);
            }
        }
    };
    let (first, now_ms) = lead(&mut candidate, &mut server, 0);
    candidate.resign();
    assert_eq!(candidate.term(now_ms), None);
    let (second, _) = lead(&mut candidate, &mut server, now_ms);
    assert!(second > first, "its epoch is that of another write");
}
