//! Experiments with accounts, and what they print.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::Result;
use clap::Subcommand;
use policy::Mode;
use simulator::fairness::{FairnessReport, PriorUse, ReservationRules, Rules, Setting, Workload, run};
use simulator::scheme::Write as Step;
use simulator::{HistoryPlan, Planted};

/// The weights of the accounts.
const WEIGHTS: [i64; 3] = [1000, 2000, 4000];
/// How many slots the pool has.
const SLOTS: usize = 100;

/// A full pool with accounts of the weights 1, 2 and 4.
#[derive(Subcommand)]
pub(crate) enum Experiment {
    /// How far accounts are from what they deserve, in each half-life.
    Shares {
        /// How many seeds are run; the largest distance is printed.
        #[arg(long, default_value_t = 5)]
        seeds: u64,
        /// How many half-lives.
        #[arg(long, default_value_t = 8)]
        half_lives: i64,
        /// How many machines a gang has: one of these, each equally often.
        #[arg(long, value_delimiter = ',', default_value = "1")]
        sizes: Vec<usize>,
    },
    /// How much work is lost to preemption by share, with runs of an hour.
    Preemption {
        /// How many seeds are run.
        #[arg(long, default_value_t = 2)]
        seeds: u64,
        /// How many half-lives, of a day.
        #[arg(long, default_value_t = 8)]
        half_lives: i64,
        /// `requirements` of the PoolPolicy.
        #[arg(long, default_value = "true")]
        requirements: String,
        /// An account had everything before: 0, 1 or 2.
        #[arg(long)]
        monopoly: Option<usize>,
        /// Accounts may be left below the account of the job.
        #[arg(long)]
        below: bool,
    },
    /// How long a gang of half the pool waits under a stream of small jobs, with reservation and without.
    Reservation {
        /// How many seeds are run.
        #[arg(long, default_value_t = 3)]
        seeds: u64,
        /// How many slots the pool has; at most 126, as a gang has at most 64 members.
        #[arg(long, default_value_t = SLOTS)]
        slots: usize,
        /// The work of the stream, in percent of what the pool can do.
        #[arg(long, value_delimiter = ',', default_value = "70,85,150")]
        loads: Vec<i64>,
    },
    /// How often three gangs preempt each other whose machines always prefer another one.
    Circle,
    /// Histories with accounts and preemption: what goes wrong in them, and which mistakes that are put in they find.
    Preemptions {
        /// The first seed.
        #[arg(long, default_value_t = 0)]
        seed: u64,
        /// How many histories.
        #[arg(long, default_value_t = 1_000)]
        count: u64,
        /// Print this one history in full, with a mistake that is put in, or without.
        #[arg(long)]
        only: Option<u64>,
        /// The mistake.
        #[arg(long, value_enum, default_value_t)]
        planted: Planted,
    },
}

impl Experiment {
    pub(crate) fn run(&self, out: &mut impl Write) -> Result<()> {
        match self {
            Experiment::Shares { seeds, half_lives, sizes } => shares(out, *seeds, *half_lives, sizes),
            Experiment::Preemption { seeds, half_lives, requirements, monopoly, below } => {
                let rules =
                    Rules { leaves_above: !below, requirements: requirements.clone(), ..Rules::of(&[Mode::Share]) };
                let past = monopoly.map_or(PriorUse::Fresh, PriorUse::Monopoly);
                preemption(out, *seeds, &Setting { past, rules: Some(rules), ..hours(*half_lives) })
            }
            Experiment::Reservation { seeds, slots, loads } => reservation(out, *seeds, *slots, loads),
            Experiment::Circle => circle(out),
            Experiment::Preemptions { only: Some(seed), planted, .. } => one_history(out, *seed, *planted),
            Experiment::Preemptions { seed, count, .. } => preemptions(out, *seed, *count),
        }
    }
}

fn shares(out: &mut impl Write, seeds: u64, half_lives: i64, sizes: &[usize]) -> Result<()> {
    let pasts = [PriorUse::Fresh, PriorUse::Monopoly(0), PriorUse::Monopoly(1), PriorUse::Monopoly(2)];
    for past in pasts {
        let mut largest: Vec<f64> = Vec::new();
        for seed in 0..seeds {
            let mut setting = Setting { past, ..Setting::saturated(seed, SLOTS, &WEIGHTS, half_lives) };
            if let Workload::Saturated { sizes: own, .. } = &mut setting.workload {
                *own = sizes.to_vec();
            }
            let report = run(&setting)?;
            let distances = report.distances(&WEIGHTS);
            largest.resize(distances.len(), 0.0);
            largest.iter_mut().zip(distances).for_each(|(most, distance)| *most = most.max(distance));
        }
        let line: Vec<String> = largest.iter().map(|distance| format!("{distance:5.2}")).collect();
        let name = match past {
            PriorUse::Fresh => "nothing was used".to_owned(),
            PriorUse::Monopoly(account) => {
                format!("weight {} had everything", WEIGHTS.get(account).copied().unwrap_or(0) / 1000)
            }
        };
        writeln!(out, "{name:24} {}", line.join(" "))?;
    }
    Ok(())
}

/// A full pool with runs of an hour.
fn hours(half_lives: i64) -> Setting {
    let workload = Workload::Saturated { mean_run: 3_600, sizes: vec![1] };
    Setting { workload, ..Setting::saturated(0, SLOTS, &WEIGHTS, half_lives) }
}

fn preemption(out: &mut impl Write, seeds: u64, setting: &Setting) -> Result<()> {
    writeln!(
        out,
        "{:>4} {:>12} {:>8} {:>8} {:>11} {:>6} {:>7}",
        "SEED", "CHARGE-HOURS", "LOST %", "CLAIMS", "PREEMPTIONS", "WORST", "DROPPED"
    )?;
    for seed in 0..seeds {
        let report = run(&Setting { seed, ..setting.clone() })?;
        let FairnessReport { charged, claims, preemptions, worst, nominations, .. } = &report;
        let (hours, lost) = (*charged as f64 / 3.6e9, report.lost_percent());
        let (worst, dropped) = (format!("{}/{}", worst.times, worst.most), nominations.dropped);
        writeln!(out, "{seed:>4} {hours:>12.0} {lost:>8.2} {claims:>8} {preemptions:>11} {worst:>6} {dropped:>7}")?;
    }
    Ok(())
}

fn reservation(out: &mut impl Write, seeds: u64, slots: usize, loads: &[i64]) -> Result<()> {
    const RULES: ReservationRules = ReservationRules { after_seconds: 1_800, for_seconds: 14_400 };
    writeln!(
        out,
        "{:>6} {:>4} {:>8} {:>8} {:>16} {:>10}",
        "LOAD %", "SEED", "BOUND s", "WITH s", "IDLE slot-hours", "WITHOUT s"
    )?;
    for (load, seed) in loads.iter().flat_map(|load| (0..seeds).map(move |seed| (*load, seed))) {
        let setting = Setting::half_of_the_pool(seed, slots, load, RULES.for_seconds);
        let without = run(&setting)?;
        let with = run(&Setting { reservation: Some(RULES), ..setting.clone() })?;
        let comes = setting.big.map_or(0, |big| big.comes);
        let waited = |report: &FairnessReport| {
            report.big_waited.map_or_else(|| format!("> {}", setting.until - comes), |waited| waited.to_string())
        };
        let (bound, idle) = (RULES.after_seconds + RULES.for_seconds, with.kept_idle as f64 / 3_600.0);
        writeln!(out, "{load:>6} {seed:>4} {bound:>8} {:>8} {idle:>16.0} {:>10}", waited(&with), waited(&without))?;
    }
    Ok(())
}

fn circle(out: &mut impl Write) -> Result<()> {
    let FairnessReport { preemptions, finished, worst, .. } = run(&Setting::circle())?;
    writeln!(
        out,
        "{preemptions} preemptions, {finished} jobs have ended; the worst was preempted {} times of at most {}",
        worst.times, worst.most
    )?;
    Ok(())
}

fn one_history(out: &mut impl Write, seed: u64, planted: Planted) -> Result<()> {
    let plan = HistoryPlan::with_preemption(seed, planted);
    let plan = if simulator::run(&plan, false).wrong.is_some() { simulator::shrink(&plan) } else { plan };
    let outcome = simulator::run(&plan, true);
    for line in &outcome.log {
        writeln!(out, "{line}")?;
    }
    writeln!(out, "{plan:#?}\nseed {seed}: {}", outcome.wrong.unwrap_or_else(|| "everything holds".to_owned()))?;
    Ok(())
}

fn preemptions(out: &mut impl Write, first: u64, count: u64) -> Result<()> {
    let (mut events, mut claims, mut preempted, mut violations) = (0, 0, 0, 0);
    let mut crashes: BTreeMap<Step, u64> = Step::ALL.into_iter().map(|step| (step, 0)).collect();
    for seed in first..first + count {
        let outcome = simulator::run(&HistoryPlan::with_preemption(seed, Planted::Nothing), false);
        events += outcome.events;
        claims += outcome.committed;
        preempted += outcome.preempted;
        for step in outcome.crashes {
            *crashes.entry(step).or_default() += 1;
        }
        if let Some(wrong) = outcome.wrong {
            violations += 1;
            writeln!(out, "seed {seed}: {wrong}")?;
        }
    }
    writeln!(
        out,
        "seeds {first} to {}: {events} events, {claims} claims, {preempted} preemptions, {violations} violations",
        first + count - 1
    )?;
    let crashes: Vec<String> = crashes.iter().map(|(step, count)| format!("{step:?} {count}")).collect();
    writeln!(out, "crashes at {}", crashes.join(", "))?;
    for (planted, law) in Planted::OF_PREEMPTION {
        let mut found = (first..first + count)
            .filter_map(|seed| Some((seed, simulator::run(&HistoryPlan::with_preemption(seed, planted), false).wrong?)))
            .filter(|(_, wrong)| wrong.starts_with(law));
        match found.next() {
            Some((seed, wrong)) => writeln!(out, "{planted:?}: found by seed {seed}: {wrong}")?,
            None => writeln!(out, "{planted:?}: not found")?,
        }
    }
    Ok(())
}
