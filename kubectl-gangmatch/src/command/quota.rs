//! `quota`: what is guaranteed to accounts, what they hold, and how much more they can have.

use std::io::Write;
use std::process::ExitCode;

use policy::{Amount, CHARGE};

use crate::cluster::{ClusterOptions, FileOptions, NowOption};
use crate::command::accounts::{self, charges};
use crate::command::userprio::finish;
use crate::table::table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
One line for each quota. GRANT is what is guaranteed: MIN, or its part if there is too little. ASIDE is kept from all other accounts. AVAIL is how
much more the account can take now, with everything below it. What is held beyond the grant of an account with a MIN is marked as borrowed.

Exit status:
  0  all accounts were read
  1  there is a mistake in some object; the others count
  2  an option is wrong, a file does not exist, there is no PoolPolicy, or kubectl fails";

/// What to read.
#[derive(Debug, clap::Args)]
pub(crate) struct QuotaArguments {
    #[command(flatten)]
    files: FileOptions,

    #[command(flatten)]
    cluster: ClusterOptions,

    #[command(flatten)]
    now: NowOption,
}

/// Prints the quotas. 0: all was read; 1: some object is wrong.
pub(crate) fn run(arguments: &QuotaArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let accounted = accounts::read(&arguments.files, &arguments.cluster, arguments.now.time())?;
    let (tree, quotas) = (&accounted.policy.tree, accounted.quotas());
    let mut rows = Vec::new();
    for (level, account) in accounted.in_order() {
        let (Some(node), Some(own_roots)) = (tree.account(&account.name), tree.own_roots(&account.name)) else {
            continue;
        };
        for (counter, quota) in &account.quotas {
            let text = |amount: Amount| if **counter == *CHARGE { charges(amount, 2) } else { amount.to_string() };
            let or_none = |amount: Option<Amount>| amount.map_or_else(|| "-".to_owned(), text);
            let (held, grant) = (quotas.held(node, counter), quotas.grant(node, counter));
            let is_borrowed = quota.min.is_some_and(|min| min > 0) && held > grant;
            let borrowed = if is_borrowed { format!(" ({} borrowed)", text(held - grant)) } else { String::new() };
            rows.push(vec![
                format!("{}{}", "  ".repeat(level), account.name),
                counter.to_string(),
                or_none(quota.min),
                text(grant),
                or_none(quota.lend),
                or_none(quota.max),
                format!("{}{borrowed}", text(held)),
                text(quotas.aside(node, counter)),
                or_none(quotas.available(own_roots, counter)),
            ]);
        }
    }
    if rows.is_empty() {
        writeln!(out, "No account has a quota.")?;
    } else {
        let headings = ["ACCOUNT", "COUNTER", "MIN", "GRANT", "LEND", "MAX", "HELD", "ASIDE", "AVAIL"];
        write!(out, "{}", table(&headings, &rows, 0))?;
    }
    finish(&accounted)
}
