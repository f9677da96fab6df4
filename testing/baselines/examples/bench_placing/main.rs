//! What collective placing gains over serving jobs in turn, and what it costs: a table with a line for each size of the workload.
//!
//! `cargo run -q --release -p baselines --example bench_placing -- [--seeds 3] [--steps 200000] [--jobs-max 1000]`. Everything but the last column
//! is counted and the same on every machine; the last column is a ratio of processor times of one thread.

mod workload;

use std::error::Error;
use std::io::Write;

use gangindex::Indexed;
use matchmaker::{Collective, Config, Reached, Together, negotiate_together};
use rustix::time::{ClockId, clock_gettime};

use workload::{Size, snapshot};

/// Jobs, products and submitters of each line.
const SIZES: [Size; 7] = [
    Size { jobs: 50, products: 4, submitters: 1 },
    Size { jobs: 100, products: 5, submitters: 1 },
    Size { jobs: 200, products: 10, submitters: 1 },
    Size { jobs: 200, products: 10, submitters: 20 },
    Size { jobs: 500, products: 20, submitters: 1 },
    Size { jobs: 1000, products: 20, submitters: 1 },
    Size { jobs: 1000, products: 40, submitters: 1 },
];

const HEADS: &str = "| jobs | products | submitters | in turn | together | bound | optimal in | ranks, together / in turn | \
    gangs listed a job | candidates evaluated a job | steps | time / in turn |\n|---|---|---|---|---|---|---|---|---|---|---|---|";

struct Options {
    seeds: u64,
    steps: u64,
    jobs_max: usize,
}

fn options() -> Result<Options, Box<dyn Error>> {
    let mut options = Options { seeds: 3, steps: Collective::default().steps, jobs_max: usize::MAX };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--seeds" => options.seeds = value.parse()?,
            "--steps" => options.steps = value.parse()?,
            "--jobs-max" => options.jobs_max = value.parse()?,
            _ => return Err(format!("there is no {argument}; there are --seeds, --steps and --jobs-max").into()),
        }
    }
    Ok(options)
}

fn main() -> Result<(), Box<dyn Error>> {
    let options = options()?;
    let mut out = std::io::stdout();
    writeln!(out, "{HEADS}")?;
    for size in SIZES.into_iter().filter(|size| size.jobs <= options.jobs_max) {
        let measured = (1..=options.seeds).map(|seed| measure(size, seed, &options)).collect::<Result<Vec<_>, _>>()?;
        writeln!(out, "{}", row(size, &measured))?;
    }
    Ok(())
}

/// One window, and the time that it took.
struct Measured {
    together: Together,
    /// In milliseconds.
    time: f64,
    /// Of a cycle in turn.
    time_in_turn: f64,
}

fn measure(size: Size, seed: u64, options: &Options) -> Result<Measured, Box<dyn Error>> {
    let pool = snapshot(size, seed)?;
    let config = Config { explains: false, ..Config::product() };
    let collective = Collective { steps: options.steps, ..Collective::default() };
    let before = thread_ms();
    let in_turn = Indexed::new().negotiate(&pool, &config, 0);
    let between = thread_ms();
    let together = negotiate_together(&pool, &config, 0, &mut Indexed::new(), &collective);
    let after = thread_ms();
    if together.in_turn.gangs != in_turn.gangs.len() {
        return Err(format!("in turn {}, and {}", together.in_turn.gangs, in_turn.gangs.len()).into());
    }
    Ok(Measured { together, time: after - between, time_in_turn: between - before })
}

/// A line of the table: means over the seeds.
fn row(size: Size, measured: &[Measured]) -> String {
    let mean = |of: &dyn Fn(&Measured) -> f64| measured.iter().map(of).sum::<f64>() / measured.len().max(1) as f64;
    let ranks = |reached: &Reached| reached.score.own.to_real();
    let each = size.jobs as f64;
    let best =
        measured.iter().filter(|one| one.together.proven || one.together.bound == one.together.placed.gangs).count();
    format!(
        "| {} | {} | {} | {:.1} | {:.1} | {:.1} | {best} of {} | {:.3} | {:.0} | {:.0} | {:.0} | {:.0} |",
        size.jobs,
        size.products,
        size.submitters,
        mean(&|one| one.together.in_turn.gangs as f64),
        mean(&|one| one.together.placed.gangs as f64),
        mean(&|one| one.together.bound as f64),
        measured.len(),
        mean(&|one| ranks(&one.together.placed) / ranks(&one.together.in_turn)),
        mean(&|one| one.together.effort.gangs as f64 / each),
        mean(&|one| one.together.effort.candidates as f64 / each),
        mean(&|one| one.together.effort.steps as f64),
        mean(&|one| one.time / one.time_in_turn),
    )
}

/// Milliseconds that this thread has run.
fn thread_ms() -> f64 {
    let ran = clock_gettime(ClockId::ThreadCPUTime);
    ran.tv_sec as f64 * 1e3 + ran.tv_nsec as f64 / 1e6
}
