//! Time, memory, and what a pair costs the evaluator.

use std::error::Error;

use classad::{Context, Env, eval};
use matchmaker::{Config, PoolAd, Snapshot};
use rustix::time::{ClockId, clock_gettime};

/// Milliseconds this thread has run. What `/proc` says of it is as old as the last tick of the clock.
fn thread_ms() -> f64 {
    let ran = clock_gettime(ClockId::ThreadCPUTime);
    ran.tv_sec as f64 * 1e3 + ran.tv_nsec as f64 / 1e6
}

/// Times of the same work, round by round.
#[derive(Debug, Default)]
pub(crate) struct Times(Vec<f64>);

impl Times {
    /// One more round. What comes of it is the caller's: taking it down is no part of the work.
    pub(crate) fn round<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let before = thread_ms();
        let done = work();
        self.0.push(thread_ms() - before);
        done
    }

    /// The median in milliseconds.
    pub(crate) fn median_ms(mut self) -> f64 {
        self.0.sort_by(f64::total_cmp);
        let median = self.0.get(self.0.len() / 2).copied().unwrap_or(f64::NAN);
        (median * 1000.0).round() / 1000.0
    }
}

/// The median time of some rounds of `work`.
pub(crate) fn median_ms(
    rounds: usize,
    mut work: impl FnMut() -> Result<(), Box<dyn Error>>,
) -> Result<f64, Box<dyn Error>> {
    let mut times = Times::default();
    for _ in 0..rounds {
        times.round(&mut work)?;
    }
    Ok(times.median_ms())
}

/// The most memory that the process has used so far.
pub(crate) fn peak_rss_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.map_or(f64::NAN, |kib| (kib / 102.4).round() / 10.0)
}

/// What it costs the evaluator to look at one edge from both sides, over some of the jobs and all kinds of offers.
pub(crate) fn scalar_pair_ns(snapshot: &Snapshot, config: &Config) -> Result<f64, Box<dyn Error>> {
    const JOBS: usize = 100;
    const OFFERS: usize = 400;
    let step = |count: usize, most: usize| (count / most).max(1);
    let jobs: Vec<&PoolAd> = snapshot.ads().map(|(_, ad)| ad).filter(|ad| ad.offer().is_none()).collect();
    let machines: Vec<&PoolAd> = snapshot.ads().map(|(_, ad)| ad).filter(|ad| ad.key.kind == "Machine").collect();
    let jobs: Vec<_> = jobs.iter().step_by(step(jobs.len(), JOBS)).take(JOBS).collect();
    let machines: Vec<_> = machines.iter().step_by(step(machines.len(), OFFERS)).take(OFFERS).collect();
    let context = Context { limits: config.limits, ..Context::default() };
    let mut pairs = 0u32;
    let ms = median_ms(5, || {
        pairs = 0;
        for job in &jobs {
            for machine in &machines {
                pairs += 1;
                std::hint::black_box(agree(job, machine, &context));
            }
        }
        Ok(())
    })?;
    Ok((ms * 1e6 / f64::from(pairs.max(1))).round())
}

fn agree(job: &PoolAd, machine: &PoolAd, context: &Context) -> bool {
    let mut env = Env::new();
    let mut frames = [job, machine].map(|ad| {
        let body = env.frame(&ad.ports.body, None);
        match ad.ports.list.first().filter(|_| !ad.ports.implicit) {
            Some(port) => env.frame(&port.attributes, Some(body)),
            None => body,
        }
    });
    for ad in [job, machine] {
        let [own, other] = frames;
        match ad.ports.list.first().filter(|_| !ad.ports.implicit) {
            Some(port) => env.bind(own, &port.label, other),
            None => env.partner(own, other),
        }
        frames.reverse();
    }
    let [own, other] = frames;
    [(job, own), (machine, other)].iter().all(|(ad, frame)| {
        let constraint = ad.ports.list.first().and_then(|port| port.constraint.as_ref());
        constraint.is_none_or(|constraint| eval(constraint, &env, *frame, context).is_ok_and(|value| value.is_true()))
    })
}
