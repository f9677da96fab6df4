//! `userprio`: what accounts have used, hold and deserve.

use std::io::Write;
use std::process::ExitCode;

use policy::{CHARGE, shares};
use serde::Serialize;
use serde_json::json;

use crate::cluster::Kind;
use crate::command::accounts::{self, AccountsArguments, charges};
use crate::output::{self, Listing};
use crate::table::Table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
USAGE is the decayed average of the charge that was held, HELD is the charge that is held now, and NORMALIZED is their sum divided by the
weight: the smaller, the sooner. SHARE is what the account deserves of the pool now, given which accounts hold something and which wait.
Accounts below another one are indented, and counted in it. A warning says which accounts nothing is charged to, and what to write.

Exit status:
  0  all accounts were read
  1  there is a mistake in some object; the others count
  2  an option is wrong, a file or an account does not exist, there is no PoolPolicy, or kubectl fails";

/// What is said of an account; amounts are charges, as decimal numbers.
#[derive(Serialize)]
struct AccountRow {
    account: String,
    /// How many accounts it is below.
    level: usize,
    weight: i64,
    usage: String,
    held: String,
    normalized: String,
    share: String,
    waiting: usize,
}

/// Prints the accounts. 0: all was read; 1: some object is wrong.
pub(crate) fn run(arguments: &AccountsArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let now = arguments.source.time();
    let accounted = accounts::read(arguments)?;
    let total = accounted.pool_charge(now);
    let tree = &accounted.charged.tree;
    let (quotas, waiting) = (accounted.quotas(), accounted.waiting());
    let shares = shares(tree, total, &accounted.demands());
    let row = |(level, account): (usize, &policy::Account)| {
        let name = account.name.as_str();
        let node = tree.account(name)?;
        let (usage, held) = (tree.usage(node), quotas.held(node, CHARGE));
        let is_below =
            |other: &str| std::iter::successors(Some(other), |other| tree.parent_of(other)).any(|above| above == name);
        Some(AccountRow {
            account: name.to_owned(),
            level,
            weight: account.weight,
            usage: charges(usage, 2),
            held: charges(held, 2),
            normalized: charges((usage + held) / i128::from(account.weight.max(1)), 4),
            share: charges(shares.get(name).copied().unwrap_or(0), 2),
            waiting: waiting.iter().filter(|(other, _)| is_below(other)).map(|(_, count)| count).sum(),
        })
    };
    let rows: Vec<AccountRow> = accounted.in_order().into_iter().filter_map(row).collect();
    arguments.output.print(out, &listing(&rows))?;
    if arguments.output.is_table() {
        let held = quotas.held(policy::Node::POOL, CHARGE);
        let half_life = accounted.pool.objects.accounts.policy().map_or(0, |known| known.terms.half_life);
        writeln!(
            out,
            "half-life {half_life} s; as of {now:.0}; pool {}, held {}",
            charges(total, 2),
            charges(held, 2)
        )?;
    }
    Ok(output::remarks(&accounted.pool)?)
}

fn listing(rows: &[AccountRow]) -> Listing {
    let cells = |row: &AccountRow| {
        let AccountRow { account, level, weight, usage, held, normalized, share, waiting } = row;
        let [usage, held, normalized, share] = [usage, held, normalized, share].map(Clone::clone);
        vec![indented(*level, account), weight.to_string(), usage, held, normalized, share, waiting.to_string()]
    };
    let headings = ["ACCOUNT", "WEIGHT", "USAGE", "HELD", "NORMALIZED", "SHARE", "WAITING"];
    Listing {
        table: Table::of(headings, rows.iter().map(cells).collect()),
        names: rows.iter().map(|row| Kind::Account.full_name(&row.account)).collect(),
        data: json!({"items": rows}),
        nothing: "There is no account.".to_owned(),
    }
}

/// The name of an account under those that it is below.
pub(crate) fn indented(level: usize, account: &str) -> String {
    format!("{}{account}", "  ".repeat(level))
}
