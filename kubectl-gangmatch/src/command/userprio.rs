//! `userprio`: what accounts have used, hold and deserve.

use std::io::Write;
use std::process::ExitCode;

use policy::{CHARGE, shares};

use crate::cluster::{ClusterOptions, FileOptions, NowOption};
use crate::command::accounts::{self, Accounted, charges};
use crate::output;
use crate::screen::shown;
use crate::table::table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
USAGE is the decayed average of the charge that was held, HELD is the charge that is held now, and NORMALIZED is their sum divided by the
weight: the smaller, the sooner. SHARE is what the account deserves of the pool now, given who holds and who waits. Accounts below another
one are indented, and counted in it.

Exit status:
  0  all accounts were read
  1  there is a mistake in some object; the others count
  2  an option is wrong, a file does not exist, there is no PoolPolicy, or kubectl fails";

/// What to read.
#[derive(Debug, clap::Args)]
pub(crate) struct UserprioArguments {
    #[command(flatten)]
    files: FileOptions,

    #[command(flatten)]
    cluster: ClusterOptions,

    #[command(flatten)]
    now: NowOption,
}

/// Prints the accounts. 0: all was read; 1: some object is wrong.
pub(crate) fn run(arguments: &UserprioArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let now = arguments.now.time();
    let accounted = accounts::read(&arguments.files, &arguments.cluster, now)?;
    let total = accounted.pool_charge(now);
    let tree = &accounted.policy.tree;
    let (quotas, waiting) = (accounted.quotas(), accounted.waiting());
    let shares = shares(tree, total, &accounted.demands());
    let order = accounted.in_order();
    let row = |(level, account): &(usize, &policy::Account)| {
        let name = account.name.as_str();
        let Some(node) = tree.account(name) else { return Vec::new() };
        let (usage, held) = (tree.usage(node), quotas.held(node, CHARGE));
        let is_below =
            |other: &str| std::iter::successors(Some(other), |other| tree.parent_of(other)).any(|above| above == name);
        let waits: usize = waiting.iter().filter(|(other, _)| is_below(other)).map(|(_, count)| count).sum();
        vec![
            format!("{}{name}", "  ".repeat(*level)),
            account.weight.to_string(),
            charges(usage, 2),
            charges(held, 2),
            charges((usage + held) / i128::from(account.weight.max(1)), 4),
            charges(shares.get(name).copied().unwrap_or(0), 2),
            waits.to_string(),
        ]
    };
    let rows: Vec<Vec<String>> = order.iter().map(row).collect();
    let headings = ["ACCOUNT", "WEIGHT", "USAGE", "HELD", "NORMALIZED", "SHARE", "WAITING"];
    write!(out, "{}", table(&headings, &rows, 0))?;
    let held = quotas.held(policy::Node::POOL, CHARGE);
    let half_life = accounted.objects.pool_policy.as_ref().map_or(0, |known| known.terms.half_life);
    writeln!(out, "half-life {half_life} s; as of {now:.0}; pool {}, held {}", charges(total, 2), charges(held, 2))?;
    finish(&accounted)
}

/// Says what is wrong with some objects, and returns the exit status.
pub(crate) fn finish(accounted: &Accounted) -> anyhow::Result<ExitCode> {
    output::problems(&accounted.problems)?;
    for warning in &accounted.warnings {
        writeln!(std::io::stderr(), "warning: {}", shown(warning))?;
    }
    output::notes(&accounted.notes)?;
    Ok(if accounted.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
