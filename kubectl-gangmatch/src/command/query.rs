//! `query`: the ads of a kind for which a constraint is true, with chosen attributes as columns. One-way matching: the ads say nothing
//! about who asks.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::bail;
use classad::{
    Ad, Context, Dialect, Env, Expr, Name, Value, eval, is_scope_word, read_expr, references, render, similar,
};
use pool::{AdStore, Advertises, Cached, ObjectKey, Objects, OfferRef};
use serde_json::json;

use crate::cluster::{Kind, NamespacesSource, Shown};
use crate::command::eval::colour;
use crate::command::evaluated::evaluate;
use crate::command::status::{phase, state};
use crate::output::{self, Listing, OutputOptions};
use crate::subject::AdKindArgument;
use crate::table::Table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
An expression can name an attribute with or without `other.`: `Memory` and `other.Memory` are the same. Besides the attributes of its
ad, every object has these, unless its ad defines them: Phase and Why of a Job; State and Used of a Machine or License. Private
attributes are undefined. Objects whose ad is not accepted are left out.

Examples:
  kubectl gangmatch query machines -c 'Memory >= 64 && State == \"Available\"' --sort -Memory -a Name,Memory,Arch
  kubectl gangmatch query licenses -c 'regexp(\"^sim\", App)' -A
  kubectl gangmatch query jobs -c 'Phase == \"Pending\"' -a Owner,Why -o wide
  kubectl gangmatch query machines -f examples/quickstart -a Memory

Exit status:
  0  the objects were printed, even if there are none
  1  an expression cannot be parsed
  2  an option is wrong, the cluster cannot be read, or a file does not exist";

/// What to look for, and how to print it.
#[derive(Debug, clap::Args)]
pub(crate) struct QueryArguments {
    /// The kind: job, machine or license, also in the plural or as the short name.
    #[arg(value_name = "KIND")]
    kind: AdKindArgument,

    /// The constraint, an expression: only objects for which it is true are printed. Default: all.
    #[arg(short, long, value_name = "EXPR", allow_hyphen_values = true)]
    constraint: Option<String>,

    /// An expression by whose value the objects are sorted, smallest first; for largest first, write -EXPR.
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    sort: Option<String>,

    /// Attributes or other expressions, each a column. Can be repeated.
    #[arg(short, long = "attributes", value_name = "ATTR,...")]
    attributes: Vec<String>,

    /// Print at most so many objects.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    #[command(flatten)]
    output: OutputOptions,

    #[command(flatten)]
    source: NamespacesSource,
}

/// The expressions of a query.
struct Query {
    constraint: Option<Expr>,
    sort: Option<Expr>,
    columns: Vec<(String, Expr)>,
}

/// An object that is asked: its key, its ad, and what else is known of it.
struct Entry {
    key: ObjectKey,
    ad: Ad,
    facts: Ad,
}

/// An answer: the object, the value to sort by, and one value for each column.
struct Found {
    key: ObjectKey,
    order: Value,
    values: Vec<Value>,
}

/// Prints the objects.
pub(crate) fn run(arguments: &QueryArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let QueryArguments { kind: AdKindArgument(kind), output, source, .. } = arguments;
    let Some(query) = query(arguments)? else { return Ok(ExitCode::FAILURE) };
    let (mut pool, shown) = source.read(&[*kind])?;
    if source.kubectl().is_none() {
        evaluate(&mut pool, source.time());
    }
    let mut entries = entries(&pool.objects, *kind);
    entries.retain(|entry| shown.has(&entry.key.namespace));
    let mut rows = answers(&query, &entries, source.time().as_second());
    rows.truncate(arguments.limit.unwrap_or(usize::MAX));
    let there_are = if entries.len() == 1 { "there is" } else { "there are" };
    let mut nothing = format!("No {} matches{}; {there_are} {}.", kind.word(), shown.place(), entries.len());
    query.constraint.iter().for_each(|constraint| nothing.extend(unknown(constraint, &entries, *kind)));
    output.print(out, &listing(*kind, &query, &rows, &shown, nothing))?;
    output::remarks(&pool)?;
    Ok(ExitCode::SUCCESS)
}

/// The names in a constraint that no object has, and what was probably meant, as sentences.
fn unknown(constraint: &Expr, entries: &[Entry], kind: Kind) -> Vec<String> {
    let is = |name: &Name, word: &str| name.as_str().eq_ignore_ascii_case(word);
    let has = |name: &Name| {
        entries.iter().any(|entry| [&entry.ad, &entry.facts].iter().any(|ad| ad.get(name.as_str()).is_some()))
    };
    let named = |path: Vec<Name>| match path.as_slice() {
        [name] => Some(name.clone()),
        [first, name, ..] if is(first, "other") || is(first, "target") => Some(name.clone()),
        _ => None,
    };
    let is_wrong = |name: &Name| {
        !name.is_hidden()
            && !is_scope_word(name.as_str())
            && !is(name, "CurrentTime")
            && !entries.is_empty()
            && !has(name)
    };
    let known: BTreeSet<&Name> = entries
        .iter()
        .flat_map(|entry| entry.ad.iter().chain(entry.facts.iter()))
        .map(|(name, _)| name)
        .filter(|name| !name.is_hidden())
        .collect();
    let sentence = |name: Name| {
        let meant = similar(name.as_str(), known.iter().copied()).map(Name::as_str);
        // The attribute of HTCondor that people know by heart.
        let meant = if kind == Kind::Job && is(&name, "JobStatus") { Some("Phase") } else { meant };
        let meant = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_else(|| ".".to_owned());
        format!(" No {} has an attribute `{name}`{meant}", kind.word())
    };
    references(constraint).into_iter().filter_map(named).filter(is_wrong).map(sentence).collect()
}

/// The expressions of the command line; `None` if one cannot be parsed, which has been said.
fn query(arguments: &QueryArguments) -> anyhow::Result<Option<Query>> {
    let mut fine = true;
    let mut parse = |text: &str, name: &str| -> anyhow::Result<Option<Expr>> {
        let reading = read_expr(text, Dialect::Gangmatch);
        write!(std::io::stderr(), "{}", render(&reading.diagnostics, text, name, colour()))?;
        fine &= reading.read.is_some();
        Ok(reading.read)
    };
    let constraint = arguments.constraint.as_deref().map(|text| parse(text, "--constraint")).transpose()?.flatten();
    let sort = arguments.sort.as_deref().map(|text| parse(text, "--sort")).transpose()?.flatten();
    let mut columns = Vec::new();
    for text in arguments.attributes.iter().flat_map(|list| split(list)) {
        if text.is_empty() {
            bail!("--attributes has an empty name; write names with commas between them, such as Name,Memory");
        }
        columns.extend(parse(&text, "--attributes")?.map(|expr| (text, expr)));
    }
    Ok(fine.then_some(Query { constraint, sort, columns }))
}

/// A list at its commas, but for those in parentheses, braces, brackets or quotes.
fn split(list: &str) -> Vec<String> {
    let (mut parts, mut part, mut depth, mut quoted) = (Vec::new(), String::new(), 0_usize, false);
    for character in list.chars() {
        match character {
            '"' => quoted = !quoted,
            '(' | '{' | '[' if !quoted => depth += 1,
            ')' | '}' | ']' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        if character == ',' && depth == 0 && !quoted {
            parts.push(std::mem::take(&mut part).trim().to_owned());
        } else {
            part.push(character);
        }
    }
    parts.push(part.trim().to_owned());
    parts
}

fn entries(objects: &Objects, kind: Kind) -> Vec<Entry> {
    match kind {
        Kind::Job => of_store(&objects.jobs, |held| {
            let (phase, _) = phase(&held.object);
            let why = held.object.status.as_ref().and_then(|status| status.why.clone());
            vec![("Phase", Some(format!("{phase:?}"))), ("Why", why)]
        }),
        Kind::Machine => of_store(&objects.machines, |held| offer_facts(OfferRef::from(held))),
        _ => of_store(&objects.licenses, |held| offer_facts(OfferRef::from(held))),
    }
}

fn offer_facts(offer: OfferRef<'_>) -> Vec<(&'static str, Option<String>)> {
    vec![("State", Some(state(offer))), ("Used", offer.status.and_then(|status| status.used.clone()))]
}

/// All objects whose ads are accepted.
fn of_store<K: Advertises>(
    store: &AdStore<K>,
    facts: impl Fn(&Cached<K>) -> Vec<(&'static str, Option<String>)>,
) -> Vec<Entry> {
    let entry = |(key, held): (&ObjectKey, &Cached<K>)| {
        let ad = held.ad.as_ref().ok()?.ports.body.clone();
        let facts = facts(held).into_iter().filter(|(name, _)| ad.get(name).is_none());
        let facts =
            facts.filter_map(|(name, text)| Some((name.into(), Expr::literal(Value::String(Arc::from(text?))))));
        Some(Entry { key: key.clone(), facts: facts.collect(), ad })
    };
    store.iter().filter_map(entry).collect()
}

/// The objects for which the constraint is true, in their order. An expression that exceeds its limits has the value ERROR.
fn answers(query: &Query, entries: &[Entry], now: i64) -> Vec<Found> {
    let context = Context { now, ..Context::default() };
    let mut found = Vec::new();
    for entry in entries {
        // The one who asks: an ad without attributes of its own, whose partner is the object.
        let mut env = Env::new();
        let asking = env.frame(&entry.facts, None);
        let object = env.frame(&entry.ad, None);
        env.partner(asking, object);
        let value = |expr: &Expr| eval(expr, &env, asking, &context).unwrap_or(Value::Error);
        if query.constraint.as_ref().is_some_and(|expr| !value(expr).is_true()) {
            continue;
        }
        found.push(Found {
            key: entry.key.clone(),
            order: query.sort.as_ref().map_or(Value::Undefined, value),
            values: query.columns.iter().map(|(_, expr)| value(expr)).collect(),
        });
    }
    found.sort_by(|one, other| order(&one.order, &other.order));
    found
}

/// Numbers by size, then texts by their letters, then the rest.
fn order(one: &Value, other: &Value) -> Ordering {
    let class = |value: &Value| match (value.as_number(), value.as_str()) {
        (Some(_), _) => 0,
        (None, Some(_)) => 1,
        (None, None) => 2,
    };
    let by_class = class(one).cmp(&class(other));
    let by_number = || match (one.as_number(), other.as_number()) {
        (Some(one), Some(other)) => one.total_cmp(&other),
        _ => Ordering::Equal,
    };
    by_class.then_with(by_number).then_with(|| one.as_str().cmp(&other.as_str()))
}

fn listing(kind: Kind, query: &Query, rows: &[Found], shown: &Shown, nothing: String) -> Listing {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let cells = |row: &Found| {
        let mut cells: Vec<String> = shown.column(&row.key.namespace).into_iter().collect();
        cells.push(row.key.name.clone());
        cells.extend(row.values.iter().map(text));
        cells
    };
    let item = |row: &Found| {
        let names = query.columns.iter().map(|(name, _)| name.clone());
        let values: Ad =
            names.zip(&row.values).map(|(name, value)| (name.as_str().into(), Expr::literal(value.clone()))).collect();
        let values: serde_json::Value = serde_json::from_str(&values.to_json()).unwrap_or_default();
        json!({"kind": kind.name(), "namespace": row.key.namespace, "name": row.key.name, "attributes": values})
    };
    let mut headings: Vec<String> = shown.column("NAMESPACE").into_iter().collect();
    headings.push("NAME".to_owned());
    headings.extend(query.columns.iter().map(|(name, _)| name.to_uppercase()));
    Listing {
        table: Table::plain(headings, rows.iter().map(cells).collect()),
        names: rows.iter().map(|row| kind.full_name(&row.key.name)).collect(),
        data: json!({"items": rows.iter().map(item).collect::<Vec<serde_json::Value>>()}),
        nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_split_outside_of_expressions() {
        assert_eq!(split("Name, Memory/1024"), ["Name", "Memory/1024"]);
        assert_eq!(split("max({A,B}),strcat(\"a,b\", C)"), ["max({A,B})", "strcat(\"a,b\", C)"]);
    }

    #[test]
    fn numbers_come_before_texts_and_texts_before_the_rest() {
        let mut values =
            [Value::Undefined, Value::string("b"), Value::Integer(3), Value::string("a"), Value::Real(2.5)];
        values.sort_by(order);
        let texts: Vec<String> = values.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["2.5", "3", "\"a\"", "\"b\"", "undefined"]);
    }
}
