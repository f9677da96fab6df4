//! Session numbers into the tokens of viewers who have signed in with the form. The browser has only the number: cookies of `localhost`
//! go to every port, and a token would be good for the API server.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// How long a session lasts.
pub(crate) const LASTS_SECONDS: u64 = 3600;
/// How many there are at once, in all and of one viewer.
const SESSIONS_MAX: usize = 256;
const OF_VIEWER_MAX: usize = 4;

/// The sessions, by the digest of their number: a comparison of digests tells nothing by the time that it takes.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    all: BTreeMap<[u8; 32], Session>,
}

struct Session {
    token: String,
    viewer: String,
    begun_ms: u64,
}

// The token is in no log.
impl std::fmt::Debug for Session {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Session").field("viewer", &self.viewer).finish_non_exhaustive()
    }
}

impl Session {
    fn lasts(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.begun_ms) < LASTS_SECONDS * 1000
    }
}

impl Sessions {
    /// Begins a session; of too many, the oldest of the viewer ends, or the oldest of all.
    pub(crate) fn begin(&mut self, number: &str, token: &str, viewer: &str, now_ms: u64) {
        self.all.retain(|_, session| session.lasts(now_ms));
        if self.all.values().filter(|session| session.viewer == viewer).count() >= OF_VIEWER_MAX {
            self.end_oldest(|session| session.viewer == viewer);
        }
        if self.all.len() >= SESSIONS_MAX {
            self.end_oldest(|_| true);
        }
        let session = Session { token: token.to_owned(), viewer: viewer.to_owned(), begun_ms: now_ms };
        self.all.insert(digest(number), session);
    }

    fn end_oldest(&mut self, of: impl Fn(&Session) -> bool) {
        let oldest = self.all.iter().filter(|(_, session)| of(session)).min_by_key(|(_, session)| session.begun_ms);
        if let Some(number) = oldest.map(|(number, _)| *number) {
            self.all.remove(&number);
        }
    }

    /// The token of a session.
    pub(crate) fn token(&self, number: &str, now_ms: u64) -> Option<String> {
        self.all.get(&digest(number)).filter(|session| session.lasts(now_ms)).map(|session| session.token.clone())
    }

    /// Ends a session.
    pub(crate) fn end(&mut self, number: &str) {
        self.all.remove(&digest(number));
    }
}

fn digest(number: &str) -> [u8; 32] {
    Sha256::digest(number).into()
}

/// A new session number: 128 random bits.
///
/// # Errors
/// The system has no random numbers.
pub(crate) fn new_number() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_by_time_and_by_wish() {
        let mut sessions = Sessions::default();
        sessions.begin("one", "token", "alice", 1_000);
        assert_eq!(sessions.token("one", 2_000).as_deref(), Some("token"));
        assert_eq!((sessions.token("two", 2_000), sessions.token("one", 1_000 + LASTS_SECONDS * 1000)), (None, None));
        sessions.end("one");
        assert_eq!(sessions.token("one", 2_000), None);
        assert!(!format!("{sessions:?}").contains("token"));
    }

    #[test]
    fn a_viewer_ends_no_session_of_others() {
        let mut sessions = Sessions::default();
        sessions.begin("alice", "token", "alice", 0);
        (0..1000).for_each(|number| sessions.begin(&format!("b{number}"), "token", "bob", number + 1));
        assert_eq!((sessions.all.len(), sessions.token("alice", 2_000).is_some()), (1 + OF_VIEWER_MAX, true));
        (0..1000).for_each(|number| sessions.begin(&format!("c{number}"), "t", &format!("c{number}"), number + 2_000));
        assert_eq!(sessions.all.len(), SESSIONS_MAX);
        assert_ne!(new_number().unwrap(), new_number().unwrap());
    }
}
