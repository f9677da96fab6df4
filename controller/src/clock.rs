//! What time it is. How much time has passed is asked of tokio's clock everywhere, which goes on with the machine's, or stands
//! still in tests until it is moved: so hours pass in no time where nothing is waited for.

use jiff::Timestamp;
use tokio::time::Instant;

/// The time of day.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Option<(Timestamp, Instant)>);

impl Clock {
    /// The machine's.
    #[must_use]
    pub fn system() -> Clock {
        Clock(None)
    }

    /// One that says `now` at this moment and goes on as tokio's clock does. To be made where that one runs.
    #[must_use]
    pub fn counted_from(now: Timestamp) -> Clock {
        Clock(Some((now, Instant::now())))
    }

    /// What time it is.
    pub(crate) fn now(self) -> Timestamp {
        match self.0 {
            None => Timestamp::now(),
            Some((begun, since)) => {
                let passed = jiff::SignedDuration::try_from(since.elapsed()).unwrap_or_default();
                begun.saturating_add(passed).unwrap_or(begun)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_counted_begins_where_it_is_told_to() {
        let begun = Timestamp::from_second(1_795_000_000).unwrap();
        let now = Clock::counted_from(begun).now();
        assert!(now >= begun && now < Timestamp::from_second(1_795_000_600).unwrap(), "{now}");
        assert!(Clock::system().now() > begun - jiff::SignedDuration::from_hours(24 * 365 * 5));
    }
}
