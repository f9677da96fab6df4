//! Candidates against a server that keeps one Lease: in every order of a small world, and in long histories by seed with clocks
//! that run apart, lost and late messages, pauses, crashes and stops. Never do two lead at once; always somebody does again.

mod histories;
mod orders;

use super::candidate::{Answer, Next};
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

    fn answer(&mut self, asked: &Next) -> Answer {
        match (asked, self.stored()) {
            (Next::Look, stored) => return Answer::Found(stored),
            (Next::Create(record), None) => self.record = Some(record.clone()),
            (Next::Replace(version, record), Some(stored)) if *version == stored.version => {
                if stored.record == *record {
                    return Answer::Written(stored);
                }
                self.record = Some(record.clone());
            }
            _ => return Answer::Conflict,
        }
        self.version += 1;
        self.stored().map_or(Answer::Conflict, Answer::Written)
    }
}
