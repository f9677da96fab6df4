//! What is counted, and its text in the OpenMetrics format.
//!
//! Every label has few values, all of which are known here: none is the name of an object, of a namespace or of a user.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

/// The upper bounds of histograms, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];

/// All metrics of the process.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// 1 if this replica leads, else 0.
    pub(crate) leader: Gauge,
    pub(crate) requests: RequestMetrics,
    pub(crate) claims: ClaimMetrics,
    pub(crate) cycles: CycleMetrics,
    pub(crate) accounts: AccountMetrics,
    registry: Registry,
}

/// Metrics of requests to the API server; what each counts is said where it is registered.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    ended: Family<Labels<2>, Counter>,
    in_flight: Family<Labels<1>, Gauge>,
    duration: Family<Labels<1>, Histogram, fn() -> Histogram>,
    pub(crate) statuses_not_written: Counter,
}

/// Metrics of claims.
#[derive(Debug)]
pub(crate) struct ClaimMetrics {
    pub(crate) in_flight: Gauge,
    decisions: Family<Labels<2>, Counter>,
    refusals: Family<Labels<1>, Counter>,
    attempts: Family<Labels<1>, Counter>,
    pub(crate) matches_not_taken: Counter,
    pub(crate) commit_duration: Histogram,
    pub(crate) wait_duration: Histogram,
    pub(crate) orphans_swept: Counter,
    pub(crate) entries_restored: Counter,
    gave_up: Family<Labels<1>, Counter>,
}

/// Metrics of negotiation cycles and of the main loop.
#[derive(Debug)]
pub(crate) struct CycleMetrics {
    pub(crate) duration: Histogram,
    pub(crate) round_duration: Histogram,
    pub(crate) jobs_waiting: Gauge,
    jobs_unmatched: Family<Labels<1>, Gauge>,
    /// The reasons of `jobs_unmatched` that had a value before.
    reasons: Mutex<BTreeSet<&'static str>>,
    pub(crate) gangs_backlog: Gauge,
    pub(crate) ended: Counter,
    over_budget: Family<Labels<1>, Counter>,
    pub(crate) jobs_over_budget: Gauge,
    pub(crate) searches_cut_short: Counter,
    pub(crate) disagreements: Counter,
}

/// Metrics of accounts.
#[derive(Debug)]
pub(crate) struct AccountMetrics {
    pub(crate) accounts: Gauge,
    writes: Family<Labels<1>, Counter>,
    pub(crate) lag_seconds: Gauge,
    pub(crate) charge_held: Gauge,
}

/// So many labels with their values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix("gangmatch");
        let all = &mut registry;
        Metrics {
            leader: add(all, "leader", "1 if this replica leads, else 0"),
            requests: RequestMetrics::new(all),
            claims: ClaimMetrics::new(all),
            cycles: CycleMetrics::new(all),
            accounts: AccountMetrics::new(all),
            registry,
        }
    }
}

impl RequestMetrics {
    fn new(all: &mut Registry) -> RequestMetrics {
        let outcomes =
            "Requests to the API server by outcome; fenced: not sent, or refused, since another replica leads";
        let duration = Family::new_with_constructor(histogram as fn() -> Histogram);
        let help = "How long a request took, its wait for its turn included";
        all.register("request_duration_seconds", help, duration.clone());
        RequestMetrics {
            ended: add(all, "requests", outcomes),
            in_flight: add(all, "requests_in_flight", "Requests under way now"),
            duration,
            statuses_not_written: add(
                all,
                "statuses_not_written",
                "Statuses that could not be written, and are tried again",
            ),
        }
    }
}

impl RequestMetrics {
    /// A request begins; it is under way until what this returns is dropped.
    pub(crate) fn begin(&self, kind: &'static str) -> RequestUnderWay {
        let in_flight = self.in_flight.get_or_create_owned(&[("kind", kind)]);
        in_flight.inc();
        RequestUnderWay(in_flight)
    }

    /// A request has ended.
    pub(crate) fn ended(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.duration.get_or_create(&[("kind", kind)]).observe(took.as_secs_f64());
        self.ended.get_or_create(&[("kind", kind), ("outcome", outcome)]).inc();
    }
}

/// A request under way; it is not any more when this is dropped, whatever happened.
pub(crate) struct RequestUnderWay(Gauge);

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl ClaimMetrics {
    fn new(all: &mut Registry) -> ClaimMetrics {
        ClaimMetrics {
            in_flight: add(all, "claims_in_flight", "Claims that are driven now"),
            decisions: add(all, "decisions", "Gangs committed, aborted and released, by reason"),
            refusals: add(all, "refusals", "Offers that said no to a claim, by reason"),
            attempts: add(all, "attempts", "Matches written for a job for the first time, and again"),
            matches_not_taken: add(
                all,
                "matches_not_taken",
                "Matches that the API server would not take: a quota, a policy",
            ),
            commit_duration: add_histogram(
                all,
                "commit_duration_seconds",
                "From when a gang was handed on to its commit",
            ),
            wait_duration: add_histogram(
                all,
                "wait_duration_seconds",
                "From when a job was created to the commit of its first gang",
            ),
            orphans_swept: add(all, "orphans_swept", "Entries taken out of ledgers whose Match was gone"),
            entries_restored: add(all, "entries_restored", "Entries that ledgers had lost, written back"),
            gave_up: add(all, "gave_up", "Jobs that were finished since they could not be claimed"),
        }
    }
}

impl ClaimMetrics {
    /// A gang was committed, aborted or released.
    pub(crate) fn decided(&self, decision: &'static str, reason: &'static str) {
        self.decisions.get_or_create(&[("decision", decision), ("reason", reason)]).inc();
    }

    /// An offer said no to a claim.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.get_or_create(&[("reason", reason)]).inc();
    }

    /// A Match was written: the `first` of its job, or one `again`.
    pub(crate) fn attempted(&self, attempt: &'static str) {
        self.attempts.get_or_create(&[("attempt", attempt)]).inc();
    }

    /// A job was finished since it could not be claimed.
    pub(crate) fn gave_up(&self, reason: &'static str) {
        self.gave_up.get_or_create(&[("reason", reason)]).inc();
    }
}

impl CycleMetrics {
    fn new(all: &mut Registry) -> CycleMetrics {
        CycleMetrics {
            duration: add_histogram(all, "cycle_duration_seconds", "How long a negotiation cycle took"),
            round_duration: add_histogram(
                all,
                "round_duration_seconds",
                "How long the main loop took to look at what had changed",
            ),
            jobs_waiting: add(all, "jobs_waiting", "Jobs that the last cycle looked at"),
            jobs_unmatched: add(all, "jobs_unmatched", "Jobs for which the last cycle found no gang, by reason"),
            reasons: Mutex::default(),
            gangs_backlog: add(all, "gangs_backlog", "Gangs that were found and wait until fewer claims are in flight"),
            ended: add(
                all,
                "cycles_ended",
                "Negotiation cycles that took too long and were ended with what they had found",
            ),
            over_budget: add(
                all,
                "over_budget",
                "Namespaces whose jobs, or whose offers, exceeded their budget in a cycle, by side",
            ),
            jobs_over_budget: add(
                all,
                "jobs_over_budget",
                "Jobs without a gang in the last cycle whose search exceeded the budget of their namespace",
            ),
            searches_cut_short: add(all, "searches_cut_short", "Searches that ran out of steps"),
            disagreements: add(
                all,
                "disagreements",
                "Gangs of the index that the evaluator did not agree with: a mistake in this program",
            ),
        }
    }

    /// Namespaces of whose jobs, or whose offers, so many exceeded their budget.
    pub(crate) fn over_budget(&self, side: &'static str, namespaces: usize) {
        self.over_budget.get_or_create(&[("side", side)]).inc_by(count(namespaces));
    }

    /// Only these reasons are there, and so many jobs of each: a reason that was there before has no job any more.
    pub(crate) fn set_unmatched(&self, jobs: &BTreeMap<&'static str, usize>) {
        let mut reasons = self.reasons.lock();
        reasons.extend(jobs.keys());
        for reason in &*reasons {
            let level = level(jobs.get(reason).copied().unwrap_or(0));
            self.jobs_unmatched.get_or_create(&[("reason", reason)]).set(level);
        }
    }
}

impl AccountMetrics {
    fn new(all: &mut Registry) -> AccountMetrics {
        AccountMetrics {
            accounts: add(all, "accounts", "Accounts"),
            writes: add(all, "account_writes", "Writes of Accounts and of the PoolPolicy by outcome"),
            lag_seconds: add(
                all,
                "accounting_lag_seconds",
                "By how much the clock of this replica is behind the newest time that an Account stores",
            ),
            charge_held: add(all, "charge_held", "The charge of all claims that are held, in whole charges"),
        }
    }

    /// An Account or the PoolPolicy was written.
    pub(crate) fn wrote(&self, outcome: &'static str) {
        self.writes.get_or_create(&[("outcome", outcome)]).inc();
    }
}

impl Metrics {
    /// What the endpoint answers.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing into a String does not fail.
        let _ = text::encode(&mut text, &self.registry);
        text
    }
}

/// A number as a gauge takes it.
pub(crate) fn level(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A number as a counter takes it.
pub(crate) fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// A new metric. A counter's name goes without `_total`, which the text adds; so does the full stop of the help.
fn add<M: Metric + Clone + Default>(all: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    all.register(name, help, metric.clone());
    metric
}

fn add_histogram(all: &mut Registry, name: &str, help: &str) -> Histogram {
    let metric = histogram();
    all.register(name, help, metric.clone());
    metric
}

fn histogram() -> Histogram {
    Histogram::new(BOUNDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_have_lines_as_prometheus_reads_them() {
        let metrics = Metrics::default();
        (0..2).for_each(|_| metrics.claims.decided("Aborted", "StaleAd"));
        metrics.claims.commit_duration.observe(0.03);
        metrics.claims.commit_duration.observe(100.0);
        let text = metrics.text();
        for line in [
            "# TYPE gangmatch_decisions counter",
            "gangmatch_decisions_total{decision=\"Aborted\",reason=\"StaleAd\"} 2",
            "gangmatch_commit_duration_seconds_bucket{le=\"0.025\"} 0",
            "gangmatch_commit_duration_seconds_bucket{le=\"0.05\"} 1",
            "gangmatch_commit_duration_seconds_bucket{le=\"+Inf\"} 2",
            "gangmatch_commit_duration_seconds_count 2",
            "gangmatch_commit_duration_seconds_sum 100.03",
            "gangmatch_leader 0",
        ] {
            assert!(text.lines().any(|told| told == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_reason_without_jobs_is_nought() {
        let metrics = Metrics::default();
        metrics.cycles.set_unmatched(&BTreeMap::from([("NoCandidates", 3)]));
        metrics.cycles.set_unmatched(&BTreeMap::from([("WaitingForCapacity", 2)]));
        let text = metrics.text();
        assert!(
            text.contains("{reason=\"NoCandidates\"} 0") && text.contains("{reason=\"WaitingForCapacity\"} 2"),
            "{text}"
        );
    }
}
