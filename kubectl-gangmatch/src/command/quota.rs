//! `quota`: what is guaranteed to accounts, what they hold, and how much more they can have.

use std::io::Write;
use std::process::ExitCode;

use policy::{Amount, CHARGE};
use serde::Serialize;
use serde_json::json;

use crate::cluster::Kind;
use crate::command::accounts::{self, AccountsArguments, charges};
use crate::command::userprio::indented;
use crate::output::{self, Listing};
use crate::table::Table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
One line for each quota. GRANT is what is guaranteed: MIN, or its part if there is too little. ASIDE is kept from all other accounts. AVAIL is how
much more the account can take now, with everything below it. What is held beyond the grant of an account with a MIN is marked as borrowed.

Exit status:
  0  all accounts were read
  1  there is a mistake in some object; the others count
  2  an option is wrong, a file or an account does not exist, there is no PoolPolicy, or kubectl fails";

/// One quota of an account; what has no limit is left out.
#[derive(Serialize)]
struct QuotaRow {
    account: String,
    /// How many accounts it is below.
    level: usize,
    counter: String,
    min: Option<String>,
    grant: String,
    lend: Option<String>,
    max: Option<String>,
    held: String,
    borrowed: Option<String>,
    aside: String,
    available: Option<String>,
}

/// Prints the quotas. 0: all was read; 1: some object is wrong.
pub(crate) fn run(arguments: &AccountsArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let accounted = accounts::read(arguments)?;
    let (tree, quotas) = (&accounted.charged.tree, accounted.quotas());
    let mut rows = Vec::new();
    for (level, account) in accounted.in_order() {
        let (Some(node), Some(leaf)) = (tree.account(&account.name), tree.leaf(&account.name)) else {
            continue;
        };
        rows.extend(account.quotas.iter().map(|(counter, quota)| {
            let text = |amount: Amount| if **counter == *CHARGE { charges(amount, 2) } else { amount.to_string() };
            let (held, grant) = (quotas.held(node, counter), quotas.grant(node, counter));
            let is_borrowed = quota.min.is_some_and(|min| min > 0) && held > grant;
            QuotaRow {
                account: account.name.clone(),
                level,
                counter: counter.to_string(),
                min: quota.min.map(text),
                grant: text(grant),
                lend: quota.lend.map(text),
                max: quota.max.map(text),
                held: text(held),
                borrowed: is_borrowed.then(|| text(held - grant)),
                aside: text(quotas.aside(node, counter)),
                available: quotas.available(leaf, counter).map(text),
            }
        }));
    }
    let is_ignored = accounted.pool.objects.accounts.values().any(|account| !account.spec.quotas.is_empty());
    arguments.output.print(out, &listing(&rows, is_ignored))?;
    Ok(output::remarks(&accounted.pool)?)
}

/// The lines. `is_ignored`: some account has a quota, though maybe none that counts.
fn listing(rows: &[QuotaRow], is_ignored: bool) -> Listing {
    let or_none = |amount: &Option<String>| amount.clone().unwrap_or_else(|| "-".to_owned());
    let cells = |row: &QuotaRow| {
        let borrowed = row.borrowed.as_ref().map(|amount| format!(" ({amount} borrowed)")).unwrap_or_default();
        vec![
            indented(row.level, &row.account),
            row.counter.clone(),
            or_none(&row.min),
            row.grant.clone(),
            or_none(&row.lend),
            or_none(&row.max),
            format!("{}{borrowed}", row.held),
            row.aside.clone(),
            or_none(&row.available),
        ]
    };
    let headings = ["ACCOUNT", "COUNTER", "MIN", "GRANT", "LEND", "MAX", "HELD", "ASIDE", "AVAIL"];
    let mut names: Vec<String> = rows.iter().map(|row| Kind::Account.full_name(&row.account)).collect();
    names.dedup();
    Listing {
        table: Table::of(headings, rows.iter().map(cells).collect()),
        names,
        data: json!({"items": rows}),
        nothing: match is_ignored {
            true => "No quota is in force.".to_owned(),
            false => "No account has a quota.".to_owned(),
        },
    }
}
