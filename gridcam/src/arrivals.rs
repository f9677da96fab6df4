//! Distributions and a seed into the jobs of a run.

use std::collections::BTreeSet;

use sampling::Random;

use crate::distribution::Distribution;
use crate::model::Amounts;

/// The processors that a job asks for that never fits.
const NEVER_FITS: u64 = 1_000_000;

/// What jobs are drawn from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laws {
    /// The time since the job before, in seconds; below 0 it is 0.
    pub arrival: Distribution,
    /// How long a job runs, in seconds.
    pub service: Distribution,
    /// How many processors it asks for.
    pub cpus: Distribution,
    /// How much disk space; `None`: it asks for none.
    pub disk: Option<Distribution>,
    /// How much memory; `None`: it asks for none.
    pub memory: Option<Distribution>,
    /// The share of jobs, from 0 to 1, that ask for a million processors instead.
    pub never_fits: f64,
}

/// A job that arrives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// When it arrives, in milliseconds from the start.
    pub at: u64,
    /// How long it runs once it is placed, in milliseconds.
    pub service: u64,
    /// What it asks for.
    pub amounts: Amounts,
    /// Its priority when it arrives.
    pub priority: i64,
    /// The only clusters it accepts, by number; `None`: all.
    pub accepts: Option<BTreeSet<usize>>,
}

/// The jobs that arrive before `until` (in milliseconds), and at most `most`. Each quantity has a stream of random numbers of its own, so
/// that another law for one of them leaves the others as they were.
#[must_use]
pub fn arrivals(laws: &Laws, seed: u64, until: u64, most: usize) -> Vec<Arrival> {
    let [mut arrival, mut service, mut cpus, mut disk, mut memory, mut never] =
        ["arrival", "service", "cpus", "disk", "memory", "never"].map(|name| Random::stream(seed, name));
    let mut jobs = Vec::new();
    let mut seconds = 0.0;
    while jobs.len() < most {
        seconds += laws.arrival.draw(&mut arrival).max(0.0);
        let at = milliseconds(seconds);
        if at >= until {
            break;
        }
        let drawn = Amounts {
            cpus: amount(laws.cpus.draw(&mut cpus)),
            disk: laws.disk.map_or(0, |law| amount(law.draw(&mut disk))),
            memory: laws.memory.map_or(0, |law| amount(law.draw(&mut memory))),
        };
        let amounts = if never.unit() < laws.never_fits { Amounts { cpus: NEVER_FITS, ..drawn } } else { drawn };
        let service = milliseconds(laws.service.draw(&mut service)).max(1);
        jobs.push(Arrival { at, service, amounts, ..Arrival::default() });
    }
    jobs
}

/// Seconds in whole milliseconds, rounded down; 0 of what is negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates: negative and enormous values stay in range"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1000.0) as u64
}

/// The nearest whole amount, a half rounded up, and at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates: negative and enormous values stay in range"
)]
fn amount(value: f64) -> u64 {
    ((value + 0.5).floor() as u64).max(1)
}
