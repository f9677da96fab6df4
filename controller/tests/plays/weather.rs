//! Chance into what happens to each request and each watch of one controller, until it is calm.

use std::collections::BTreeMap;
use std::time::Duration;

use apiserver::Call;
use sampling::Random;
use tokio::time::Instant;

use crate::faults::Fault;

/// How reads are refused, and writes.
const READS: [Fault; 3] = [Fault::Refused(429), Fault::Refused(500), Fault::Refused(503)];
const WRITES: [Fault; 5] =
    [Fault::Refused(409), Fault::Refused(429), Fault::Refused(500), Fault::Refused(503), Fault::DoneAndTimedOut];
/// How a controller is killed at a write.
const KILLS: [Fault; 3] = [Fault::KilledBefore, Fault::KilledAfter, Fault::Late];

/// Of a thousand controllers, how many are behind with the watches of a kind: what two kinds say together is seen in any order.
const LAGGING: u64 = 600;

/// How often things go wrong, of a thousand requests; none of it by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weather {
    /// Lost on the way there or back.
    pub(crate) lost: u64,
    /// Done twice.
    pub(crate) twice: u64,
    /// Slow, some so slow that the answer is not waited for.
    pub(crate) late: u64,
    /// Refused, or done and answered with an error.
    pub(crate) refused: u64,
    /// The controller is killed at a write.
    pub(crate) killed: u64,
    /// How far a watch lags behind, at most; no watch waits for another.
    pub(crate) lag_ms: u64,
}

/// The weather of one controller. What a request meets depends on what it is and how often it was made before, not on what was asked for in
/// between: what happens at the same moment, a controller may do in either order.
pub(crate) struct Sky {
    weather: Weather,
    seed: u64,
    /// How often each request was made, and how often there was news of each kind.
    times: BTreeMap<String, u64>,
    /// Until when the watches of a kind are held up.
    held_up: BTreeMap<String, Instant>,
}

impl Weather {
    pub(crate) fn by(chance: &mut Random) -> Weather {
        Weather {
            lost: chance.below(80),
            twice: chance.below(60),
            late: chance.below(150),
            refused: chance.below(80),
            killed: chance.below(8),
            lag_ms: chance.below(3_000),
        }
    }

    /// The same with one thing less.
    pub(crate) fn better(&self) -> Vec<Weather> {
        let less = [
            Weather { lost: 0, ..self.clone() },
            Weather { twice: 0, ..self.clone() },
            Weather { late: 0, ..self.clone() },
            Weather { refused: 0, ..self.clone() },
            Weather { killed: 0, ..self.clone() },
            Weather { lag_ms: 0, ..self.clone() },
        ];
        less.into_iter().filter(|less| less != self).collect()
    }
}

impl Sky {
    pub(crate) fn new(weather: &Weather, seed: u64) -> Sky {
        Sky { weather: weather.clone(), seed, times: BTreeMap::new(), held_up: BTreeMap::new() }
    }

    /// The chance of this request, or of this news.
    fn chance(&mut self, what: String) -> Random {
        let times = self.times.entry(what.clone()).or_default();
        *times += 1;
        Random::stream(self.seed, &format!("{what} {times}"))
    }

    /// What the next request meets.
    pub(crate) fn meets(&mut self, call: &Call) -> Option<Fault> {
        let (mut chance, weather, writes) = (self.chance(call.to_string()), self.weather.clone(), call.verb.writes());
        if chance.happens(weather.late) {
            let answered = chance.happens(600);
            let (slow, astray) =
                (Fault::Slow(chance.between(100, 4_500)), Fault::Astray(chance.between(5_000, 20_000)));
            return Some(if answered { slow } else { astray });
        }
        if chance.happens(weather.lost) {
            return Some(if chance.happens(500) { Fault::Lost } else { Fault::AnswerLost });
        }
        if writes && chance.happens(weather.twice) {
            return Some(Fault::Twice(chance.between(20, 15_000)));
        }
        if writes && chance.happens(weather.killed) {
            return Some(KILLS[chance.index(KILLS.len())]);
        }
        let refused = chance.happens(weather.refused);
        refused.then(|| if writes { WRITES[chance.index(WRITES.len())] } else { READS[chance.index(READS.len())] })
    }

    /// Until when news of a kind is held up.
    pub(crate) fn holds_up(&mut self, plural: &str) -> Instant {
        let (now, mut chance) = (Instant::now(), self.chance(plural.to_owned()));
        let lags = Random::stream(self.seed, plural).happens(LAGGING);
        let until = self.held_up.entry(plural.to_owned()).or_insert(now);
        if lags && *until <= now && chance.happens(300) {
            *until = now + Duration::from_millis(chance.below(self.weather.lag_ms));
        }
        *until
    }
}
