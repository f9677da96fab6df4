//! Turns a developer's verb into builds, a control plane, tests or generated files.

mod alerts;
mod bench;
mod book;
mod cargo;
mod chart_values;
mod check;
mod conformance;
mod demo;
mod generate;
mod image;
mod licenses;
mod manifests;
mod notice;
mod output;
mod page;
mod plane;
mod real_node;
mod reference;
mod rn_tree;
mod run;
mod test;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{ArgAction, Parser, Subcommand, ValueEnum};

/// The verbs of this repository. Everything they need is built from source; nothing needs Docker.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    verb: DevCommand,
}

#[derive(Subcommand)]
enum DevCommand {
    /// Start a control plane that stays until `down`, and print how to use it.
    Up {
        /// What the control plane is made of.
        #[arg(long, value_enum, default_value_t = Kind::Process, conflicts_with = "kubeconfig")]
        cluster: Kind,
        /// What runs the pods of a control plane of local processes.
        #[arg(long, value_enum, default_value_t = Nodes::Simulated, conflicts_with_all = ["kubeconfig", "cluster"])]
        nodes: Nodes,
        /// Check an existing cluster instead of starting one.
        #[arg(long, value_name = "FILE")]
        kubeconfig: Option<PathBuf>,
    },
    /// Take down what `up` started.
    Down,
    /// Show a job that claims a machine and a license: API server, controller, examples/quickstart; then take all down.
    Demo(demo::Demo),
    /// Run every test and print `N passed, N failed`.
    Test {
        /// Leave out the tests that need a control plane.
        #[arg(long)]
        skip_e2e: bool,
        /// Play every fault, and the long random histories: hours instead of minutes.
        #[arg(long, conflicts_with = "skip_e2e")]
        thorough: bool,
        /// What the product is tested on; tests that break things use local processes all the same.
        #[arg(long, value_enum, default_value_t = Kind::Process, conflicts_with = "kubeconfig")]
        cluster: Kind,
        /// Test the product on an existing cluster, as its admin.
        #[arg(long, value_name = "FILE")]
        kubeconfig: Option<PathBuf>,
    },
    /// Build the program that answers the conformance cases; the last line of standard output is its path.
    Conformance,
    /// Check format, lints, house rules and generated files.
    Check,
    /// Write the generated files.
    Generate {
        /// Compare instead of writing.
        #[arg(long)]
        check: bool,
    },
    /// Check the alerts of the chart with promtool, and run their unit tests.
    Alerts,
    /// Write the texts of the licences of all crates that a release contains into one file.
    Licenses {
        /// The file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Build the container image of the controller and the agent for this machine's architecture, without Docker: an OCI image layout, and an
    /// archive of it for `ctr images import` and `docker load`.
    Image {
        /// The folder that is written, instead of .work/image.
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Write deploy/install.yaml, the chart as one plain manifest.
    Manifests(manifests::Manifests),
    /// Measure the engine on generated workloads, and print a table of it beside what is wanted.
    Bench {
        /// Leave out the workloads of 100,000 jobs.
        #[arg(long)]
        quick: bool,
        /// Measure jobs that are placed together instead.
        #[arg(long, conflicts_with = "quick")]
        placing: bool,
        /// Put the table into docs/performance.md.
        #[arg(long)]
        write: bool,
    },
    /// Let everything go wrong between two controllers and the API server, and audit what etcd has stored.
    Chaos {
        /// How long.
        #[arg(long, default_value_t = 2)]
        minutes: u64,
        /// What happens when; without it another one each time.
        #[arg(long)]
        seed: Option<u64>,
        /// Whether one of the two controllers is elected to write; else both do, all the time.
        #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
        elect: bool,
        /// Add a tenant who attacks in each round: costly and large ads, forged labels, workloads beyond a quota, evictions.
        #[arg(long)]
        attacks: bool,
    },
    /// Attack the controller as one tenant on a control plane of its own, and print what the others notice as a table.
    Attack {
        /// Only these attacks, for example b4,b7.
        #[arg(long, value_name = "ROWS")]
        only: Option<String>,
        /// How many latencies are measured without each attack and with it.
        #[arg(long, default_value_t = 200)]
        samples: usize,
        /// How many objects an attack is made of, in percent.
        #[arg(long, default_value_t = 100)]
        scale: usize,
    },
    /// Measure gangs a second on a control plane of its own, beside what its API server can do at all.
    Load {
        /// How many jobs.
        #[arg(long, default_value_t = 1000)]
        jobs: usize,
        /// How many machines.
        #[arg(long, default_value_t = 100)]
        machines: usize,
        /// How many licenses.
        #[arg(long, default_value_t = 20)]
        licenses: usize,
        /// How the jobs arrive: at-once, steady, bursts.
        #[arg(long, default_value = "at-once")]
        pattern: String,
        /// Jobs a second of a steady arrival, or in each second's burst.
        #[arg(long, default_value_t = 10)]
        rate: usize,
        /// Measure how fast queues of these lengths drain instead, for example 1000,20000.
        #[arg(long)]
        drain: Option<String>,
        /// Measure so many gangs of 32 machines and one license instead, one after the other.
        #[arg(long, conflicts_with_all = ["drain", "work"])]
        sets: Option<usize>,
        /// Give each job a pod, on as many nodes as there are machines, and measure how well the seats are used.
        #[arg(long)]
        work: bool,
        /// How many seats each license has, with `--work`.
        #[arg(long, default_value_t = 4)]
        seats: usize,
        /// The shortest and the longest work of a pod in seconds, with `--work`.
        #[arg(long, default_value = "5-60")]
        seconds: String,
    },
    /// Count the probes of the paper's algorithms, and draw its figures into docs/figures.
    Figures,
    /// Repeat the experiments of the paper on the RN-Tree, and print them beside what the paper states.
    RnTree {
        /// Which experiment.
        #[arg(value_enum)]
        experiment: rn_tree::Experiment,
        /// How many seeds, from 1; printed is their mean.
        #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
        seeds: u32,
        /// Only a network of so many nodes, with `shape` and `scale`.
        #[arg(long, conflicts_with = "write")]
        nodes: Option<usize>,
        /// With `figures`: so many steps at random come before each search.
        #[arg(long, default_value_t = 0, conflicts_with = "write")]
        walk: usize,
        /// Print the tables as JSON, a line each.
        #[arg(long)]
        json: bool,
        /// Put the tables into docs/rn-tree.md and the figures into docs/figures.
        #[arg(long)]
        write: bool,
    },
    /// Build the documentation as a book of HTML pages in target/book/html. Needs mdbook: `cargo install mdbook`.
    Book,
    /// Check the house rules alone: imports, file sizes, names, words, links.
    Tidy {
        /// Take exceptions that are no longer needed out of their list; it cannot grow.
        #[arg(long)]
        shrink: bool,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    /// Local processes, built from Go modules.
    Process,
    /// Containers, by Docker and kind.
    Kind,
}

#[derive(Clone, Copy, ValueEnum)]
enum Nodes {
    /// kwok takes the part of kubelet: pods run without containers, on any number of nodes.
    Simulated,
    /// One node with kubelet and containerd, on which the image of this checkout runs. Needs root on Linux, and packages of the system.
    Real,
}

fn main() -> ExitCode {
    run(Arguments::parse().verb).unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

fn run(verb: DevCommand) -> Result<ExitCode> {
    match verb {
        DevCommand::Up { kubeconfig: Some(file), .. } => plane::use_existing(&file)?,
        DevCommand::Up { nodes: Nodes::Real, .. } => real_node::up()?,
        DevCommand::Up { cluster: Kind::Process, .. } => plane::up_processes()?,
        DevCommand::Up { cluster: Kind::Kind, .. } => plane::up_kind()?,
        DevCommand::Down => plane::down()?,
        DevCommand::Demo(demo) => demo::run(&demo)?,
        DevCommand::Test { skip_e2e: true, .. } => return test::run(&test::Scope::WithoutControlPlane, false),
        DevCommand::Test { kubeconfig: Some(file), thorough, .. } => {
            return test::run(&test::Scope::On("GANGMATCH_KUBECONFIG", file.into()), thorough);
        }
        DevCommand::Test { cluster: Kind::Kind, thorough, .. } => {
            return test::run(&test::Scope::On("GANGMATCH_CLUSTER", "kind".into()), thorough);
        }
        DevCommand::Test { cluster: Kind::Process, thorough, .. } => {
            return test::run(&test::Scope::Everything, thorough);
        }
        DevCommand::Conformance => conformance::run()?,
        DevCommand::Check => check::run()?,
        DevCommand::Generate { check: true } => generate::check()?,
        DevCommand::Generate { check: false } => generate::write()?,
        DevCommand::Alerts => alerts::run()?,
        DevCommand::Licenses { file } => licenses::write(&file)?,
        DevCommand::Image { out } => image::run(out)?,
        DevCommand::Manifests(arguments) => manifests::run(&arguments)?,
        DevCommand::Bench { placing: true, write, .. } => bench::placing(write)?,
        DevCommand::Bench { quick, write, .. } => bench::run(quick, write)?,
        DevCommand::Chaos { minutes, seed, elect, attacks } => return run::chaos(minutes, seed, elect, attacks),
        DevCommand::Attack { only, samples, scale } => return run::attack(only.as_deref(), samples, scale),
        DevCommand::Load { sets: Some(samples), .. } => return run::load(&[("sets", samples)], &[], None, false),
        DevCommand::Load { jobs, machines, licenses, pattern, rate, drain, work, seats, seconds, .. } => {
            let sizes =
                [("jobs", jobs), ("machines", machines), ("licenses", licenses), ("rate", rate), ("seats", seats)];
            let words = [("pattern", pattern), ("seconds", seconds)];
            return run::load(&sizes, &words, drain.as_deref(), work);
        }
        DevCommand::Figures => bench::draw()?,
        DevCommand::RnTree { experiment, seeds, nodes, walk, json, write } => {
            rn_tree::run(experiment, &rn_tree::Wish { seeds, nodes, walk, json, write })?;
        }
        DevCommand::Book => book::run()?,
        DevCommand::Tidy { shrink: true } => check::shrink()?,
        DevCommand::Tidy { shrink: false } => check::tidy()?,
    }
    Ok(ExitCode::SUCCESS)
}
