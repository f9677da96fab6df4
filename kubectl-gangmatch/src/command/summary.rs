//! `summary`: a pool into what it would publish of itself, and how large that is.

use std::io::Write;
use std::process::ExitCode;

use pool::{CycleInputs, published, snapshot};
use summary::{Limits, Numbers, Summary, Texts, Values};

use crate::cluster::{self, ClusterOptions, Kind, ManifestOptions, NamespaceOption};
use crate::output::{self, AnswerOptions};
use crate::table::table;

/// What `--help` says below the options.
pub(crate) const AFTER_HELP: &str = "\
Without files, the cluster of kubectl is read, in all namespaces; if you may not list all of them, in one.
With files, an offer with an agent counts as if its agent were alive. Attributes in `private` are left out.

Exit status:
  0  all offers were read
  1  there is a mistake in some of them; the others were summarized
  2  an option is wrong, a file does not exist, or kubectl fails

The summary is printed to standard output; errors are printed to standard error.";

/// What to read and how to print.
#[derive(Debug, clap::Args)]
pub(crate) struct SummaryArguments {
    #[command(flatten)]
    manifests: ManifestOptions,

    #[command(flatten)]
    cluster: ClusterOptions,

    #[command(flatten)]
    namespace: NamespaceOption,

    #[command(flatten)]
    output: AnswerOptions,
}

/// Prints the summary. 0: all was read; 1: some object is wrong.
pub(crate) fn run(arguments: &SummaryArguments, out: &mut impl Write) -> anyhow::Result<ExitCode> {
    let SummaryArguments { manifests, cluster, namespace, output } = arguments;
    let kinds = [Kind::Machine, Kind::License, Kind::Namespace];
    let pool = cluster::read(&manifests.files(), cluster, namespace.namespace.as_deref(), &kinds)?;
    let limits = Limits::default();
    let summary = published(&snapshot(&pool.objects, &CycleInputs::of(&pool.objects))).summary(&limits);
    output.print(out, &text(&summary, &limits), &summary)?;
    Ok(output::remarks_on(&pool, |_| false)?)
}

fn text(summary: &Summary, limits: &Limits) -> String {
    let (mut free, mut attributes) = (Vec::new(), Vec::new());
    for (name, kind) in &summary.kinds {
        let ads = kind.ads.to_string();
        for (resource, amount) in &kind.free {
            free.push(vec![
                name.clone(),
                ads.clone(),
                resource.clone(),
                amount.max.to_string(),
                amount.sum.to_string(),
            ]);
        }
        if kind.free.is_empty() {
            free.push(vec![name.clone(), ads, "-".to_owned(), "0".to_owned(), "0".to_owned()]);
        }
        let row = |(attribute, values): (&String, &Values)| vec![name.clone(), attribute.clone(), described(values)];
        attributes.extend(kind.attributes.iter().map(row));
        if kind.rest.is_some() {
            attributes.push(vec![name.clone(), "(others)".to_owned(), "anything".to_owned()]);
        }
    }
    let mut text = String::new();
    if !summary.kinds.is_empty() {
        let free = table(&["KIND", "OFFERS", "RESOURCE", "MOST FREE", "ALL FREE"], &free, 0);
        text = format!("{free}\n{}\n", table(&["KIND", "ATTRIBUTE", "VALUES"], &attributes, 0));
    }
    let offers: u64 = summary.kinds.values().map(|kind| kind.ads).sum();
    let plural = if offers == 1 { "" } else { "s" };
    let (bytes, most) = (summary.bytes(), limits.bytes);
    format!("{text}{offers} offer{plural} in {bytes} bytes of JSON; the limit is {most}.\n")
}

/// How many values of a list are shown.
const SHOWN_MAX: usize = 8;

/// A set of values in a few words.
fn described(values: &Values) -> String {
    if values.any {
        return "anything".to_owned();
    }
    let mut words: Vec<String> = Vec::new();
    words.extend(values.undefined.then(|| "undefined".to_owned()));
    words.extend(values.error.then(|| "error".to_owned()));
    words.extend(values.bools.iter().map(bool::to_string));
    match &values.numbers {
        Some(Numbers { values: Some(list), .. }) => {
            words.extend(listed(list.iter().map(|number| number.get().to_string())))
        }
        Some(Numbers { min, max, .. }) => words.push(format!("{} to {}", min.get(), max.get())),
        None => {}
    }
    match &values.texts {
        Some(Texts::Values(list)) => words.extend(listed(list.iter().map(|text| format!("{text:?}")))),
        Some(Texts::Bloom(filter)) => words.push(format!("a Bloom filter with {} bits set", filter.set_bits())),
        Some(Texts::Many) => words.push("any text".to_owned()),
        None => {}
    }
    words.join(", ")
}

/// The first of a list, and how many more there are.
fn listed(list: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    let more = list.len().saturating_sub(SHOWN_MAX);
    let mut words: Vec<String> = list.take(SHOWN_MAX).collect();
    words.extend((more > 0).then(|| format!("{more} more")));
    words
}
