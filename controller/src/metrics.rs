//! What happens, counted, and told as text in Prometheus's format.
//!
//! Every label has few values, all of which are known here: none is the name of an object, of a namespace or of a user.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A name, what it means, and its labels.
pub(crate) struct Metric {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

macro_rules! metrics {
    ($($id:ident: $kind:ident $name:literal $labels:expr, $help:literal;)*) => {
        $(pub(crate) const $id: Metric = Metric { name: $name, help: $help, labels: &$labels, kind: Kind::$kind };)*
        const ALL: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    LEADER: Gauge "gangmatch_leader" [], "1 if this replica leads, else 0.";
    REQUESTS: Counter "gangmatch_requests_total" ["kind", "outcome"],
        "Requests to the API server, by what came of them. Conflict: somebody else was faster. Fenced: not sent, or refused, since another one leads.";
    REQUESTS_UNDER_WAY: Gauge "gangmatch_requests_in_flight" ["kind"], "Requests under way now.";
    REQUEST_SECONDS: Histogram "gangmatch_request_seconds" ["kind"], "How long a request took, its wait for its turn included.";
    CLAIMS_UNDER_WAY: Gauge "gangmatch_claims_in_flight" [], "Claims that are driven now.";
    DECISIONS: Counter "gangmatch_decisions_total" ["decision", "reason"], "Gangs committed, called off and released, by reason.";
    REFUSALS: Counter "gangmatch_refusals_total" ["reason"], "Offers that said no to a claim, by reason.";
    ATTEMPTS: Counter "gangmatch_attempts_total" ["attempt"], "Matches written for a job for the first time, and again.";
    UNWRITTEN: Counter "gangmatch_matches_not_taken_total" [], "Matches that the API server would not take: a quota, a policy.";
    COMMIT_SECONDS: Histogram "gangmatch_commit_seconds" [], "From when a gang was handed on to its commit.";
    WAIT_SECONDS: Histogram "gangmatch_wait_seconds" [], "From when a job was created to the commit of its first gang.";
    ORPHANS: Counter "gangmatch_orphans_swept_total" [], "Entries taken out of ledgers whose Match was gone.";
    RESTORED: Counter "gangmatch_entries_restored_total" [], "Entries that ledgers had lost, written back.";
    GAVE_UP: Counter "gangmatch_gave_up_total" ["reason"], "Jobs that were finished since they could not be claimed.";
    STATUSES_LOST: Counter "gangmatch_statuses_not_written_total" [], "Statuses that could not be written, and are tried again.";
    CYCLE_SECONDS: Histogram "gangmatch_cycle_seconds" [], "How long a negotiation cycle took.";
    ROUND_SECONDS: Histogram "gangmatch_round_seconds" [], "How long the main loop took to look at what had changed.";
    QUEUE: Gauge "gangmatch_jobs_waiting" [], "Jobs that the last cycle looked at.";
    UNMATCHED: Gauge "gangmatch_jobs_unmatched" ["reason"], "Jobs for which the last cycle found no gang, by reason.";
    BACKLOG: Gauge "gangmatch_gangs_backlog" [], "Gangs that were found and wait until fewer claims are in flight.";
    CYCLES_ENDED: Counter "gangmatch_cycles_ended_total" [], "Negotiation cycles that took too long and were ended with what they had found.";
    OVER_BUDGET: Counter "gangmatch_over_budget_total" ["side"], "Namespaces whose jobs, or whose offers, exceeded their budget in a cycle, by side.";
    SEARCHES_HELD: Gauge "gangmatch_jobs_over_budget" [], "Jobs without a gang in the last cycle whose search exceeded the budget of their namespace.";
    CUT_SHORT: Counter "gangmatch_searches_cut_short_total" [], "Searches that ran out of steps.";
    DISAGREEMENTS: Counter "gangmatch_disagreements_total" [], "Gangs of the index that the evaluator did not agree with: a mistake in this program.";
}

/// The upper bounds of histograms, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// The values of a metric's labels, in their order.
type Labels = Vec<&'static str>;

#[derive(Debug, Default)]
struct Samples {
    numbers: BTreeMap<(&'static str, Labels), i64>,
    histograms: BTreeMap<(&'static str, Labels), Histogram>,
}

#[derive(Clone, Debug, Default)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Samples>);

impl Metrics {
    fn samples(&self) -> MutexGuard<'_, Samples> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// It happened once more.
    pub(crate) fn count(&self, metric: &Metric, labels: &[&'static str]) {
        self.add(metric, labels, 1);
    }

    /// It is so much more, or less.
    pub(crate) fn add(&self, metric: &Metric, labels: &[&'static str], more: i64) {
        let mut samples = self.samples();
        let value = samples.numbers.entry((metric.name, labels.to_vec())).or_default();
        *value = value.saturating_add(more);
    }

    /// It is so much.
    pub(crate) fn set(&self, metric: &Metric, labels: &[&'static str], value: usize) {
        self.samples().numbers.insert((metric.name, labels.to_vec()), i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// Only these label values are there, and so much of each.
    pub(crate) fn set_all(&self, metric: &Metric, values: &BTreeMap<&'static str, usize>) {
        self.samples()
            .numbers
            .iter_mut()
            .filter(|((name, _), _)| *name == metric.name)
            .for_each(|(_, value)| *value = 0);
        values.iter().for_each(|(label, value)| self.set(metric, &[label], *value));
    }

    /// It took so long.
    pub(crate) fn took(&self, metric: &Metric, labels: &[&'static str], time: Duration) {
        let seconds = time.as_secs_f64();
        let mut samples = self.samples();
        let histogram = samples.histograms.entry((metric.name, labels.to_vec())).or_default();
        for (bound, count) in BOUNDS.iter().zip(&mut histogram.counts) {
            *count += u64::from(seconds <= *bound);
        }
        histogram.count += 1;
        histogram.sum += seconds;
    }

    /// What the endpoint answers.
    pub(crate) fn text(&self) -> String {
        let samples = self.samples();
        let mut text = String::new();
        for metric in ALL {
            let kind = match metric.kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Histogram => "histogram",
            };
            // Writing into a String does not fail.
            let _ = writeln!(text, "# HELP {0} {1}\n# TYPE {0} {kind}", metric.name, metric.help);
            for ((_, labels), value) in samples.numbers.iter().filter(|((name, _), _)| *name == metric.name) {
                let _ = writeln!(text, "{}{} {value}", metric.name, pairs(metric, labels, None));
            }
            if metric.labels.is_empty() && metric.kind != Kind::Histogram {
                let known = samples.numbers.contains_key(&(metric.name, Vec::new()));
                let _ = if known { Ok(()) } else { writeln!(text, "{} 0", metric.name) };
            }
            for ((_, labels), histogram) in samples.histograms.iter().filter(|((name, _), _)| *name == metric.name) {
                write_histogram(&mut text, metric, labels, histogram);
            }
        }
        text
    }
}

fn write_histogram(text: &mut String, metric: &Metric, labels: &Labels, histogram: &Histogram) {
    for (bound, count) in BOUNDS.iter().zip(&histogram.counts) {
        let _ = writeln!(text, "{}_bucket{} {count}", metric.name, pairs(metric, labels, Some(&bound.to_string())));
    }
    let _ = writeln!(text, "{}_bucket{} {}", metric.name, pairs(metric, labels, Some("+Inf")), histogram.count);
    let _ = writeln!(text, "{}_sum{} {}", metric.name, pairs(metric, labels, None), histogram.sum);
    let _ = writeln!(text, "{}_count{} {}", metric.name, pairs(metric, labels, None), histogram.count);
}

/// `{reason="StaleAd"}`; nothing, if there are no labels.
fn pairs(metric: &Metric, labels: &Labels, bound: Option<&str>) -> String {
    let own = metric.labels.iter().zip(labels).map(|(name, value)| format!("{name}=\"{value}\""));
    let all: Vec<String> = own.chain(bound.map(|bound| format!("le=\"{bound}\""))).collect();
    if all.is_empty() { String::new() } else { format!("{{{}}}", all.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_are_told_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        metrics.count(&DECISIONS, &["Aborted", "StaleAd"]);
        metrics.count(&DECISIONS, &["Aborted", "StaleAd"]);
        metrics.took(&COMMIT_SECONDS, &[], Duration::from_millis(30));
        metrics.took(&COMMIT_SECONDS, &[], Duration::from_secs(100));
        let text = metrics.text();
        for line in [
            "# TYPE gangmatch_decisions_total counter",
            "gangmatch_decisions_total{decision=\"Aborted\",reason=\"StaleAd\"} 2",
            "gangmatch_commit_seconds_bucket{le=\"0.025\"} 0",
            "gangmatch_commit_seconds_bucket{le=\"0.05\"} 1",
            "gangmatch_commit_seconds_bucket{le=\"+Inf\"} 2",
            "gangmatch_commit_seconds_count 2",
            "gangmatch_leader 0",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}\n{text}");
        }
        assert!(text.contains("gangmatch_commit_seconds_sum 100.03"), "{text}");
    }

    #[test]
    fn what_is_not_so_any_more_is_nought() {
        let metrics = Metrics::default();
        metrics.set_all(&UNMATCHED, &BTreeMap::from([("NoCandidates", 3)]));
        metrics.set_all(&UNMATCHED, &BTreeMap::from([("WaitingForCapacity", 2)]));
        let text = metrics.text();
        assert!(
            text.contains("{reason=\"NoCandidates\"} 0") && text.contains("{reason=\"WaitingForCapacity\"} 2"),
            "{text}"
        );
    }

    #[test]
    fn every_metric_says_what_it_means_under_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
        for metric in ALL {
            assert!(metric.name.starts_with("gangmatch_") && metric.help.ends_with('.'), "{}", metric.name);
            assert_eq!(metric.name.ends_with("_total"), metric.kind == Kind::Counter, "{}", metric.name);
        }
    }
}
