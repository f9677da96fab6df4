//! What is counted, and its text in the OpenMetrics format.
//!
//! Every label has few values, all of which are known here: none is the name of an object, of a namespace or of a user, except for the
//! Licenses of the namespaces that the cluster administrator names, and for accounts that the administrator has created.

pub(crate) mod census;
mod labelled;
pub(crate) mod shares;

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crds::NominationKind;
use metrics_table as table;
use metrics_table::{Metric as Described, PREFIX};
use prometheus_client::encoding::text;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

use self::census::Census;
use self::labelled::{Gone, Labelled, Levels};
use self::shares::{AccountLevels, ShareCensus};
use crate::cycle::placing::Placed;

/// The upper bounds of histograms, in seconds.
const BOUNDS: [f64; 12] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0];
/// Those of waits: seats are waited for hours and days.
const WAIT_BOUNDS: [f64; 14] =
    [0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 43_200.0, 86_400.0, 259_200.0, 604_800.0];

/// All metrics of the process.
#[derive(Debug)]
pub(crate) struct Metrics {
    /// 1 if this replica leads, else 0.
    pub(crate) leader: Gauge,
    pub(crate) requests: RequestMetrics,
    pub(crate) pool: PoolMetrics,
    pub(crate) claims: ClaimMetrics,
    pub(crate) cycles: CycleMetrics,
    pub(crate) accounts: AccountMetrics,
    registry: Registry,
}

/// Metrics of requests to the API server; what each counts is said in the table.
#[derive(Debug)]
pub(crate) struct RequestMetrics {
    ended: Labelled<2, Counter>,
    in_flight: Labelled<1, Gauge>,
    duration: Labelled<1, Histogram>,
    pub(crate) statuses_not_written: Counter,
}

/// Metrics of the objects in the cache.
#[derive(Debug)]
pub(crate) struct PoolMetrics {
    offers: Levels<2>,
    capacity: Levels<2>,
    capacity_claimed: Levels<2>,
    capacity_external: Levels<2>,
    license_seats: Levels<2, String>,
    license_seats_claimed: Levels<2, String>,
    license_seats_external: Levels<2, String>,
    jobs: Levels<1>,
    oldest_wait: Gauge,
    claims: Levels<1>,
    oldest_claim: Levels<1>,
}

/// Metrics of claims.
#[derive(Debug)]
pub(crate) struct ClaimMetrics {
    pub(crate) in_flight: Gauge,
    decisions: Labelled<2, Counter>,
    refusals: Labelled<1, Counter>,
    attempts: Labelled<1, Counter>,
    pub(crate) matches_not_taken: Counter,
    pub(crate) commit_duration: Histogram,
    pub(crate) wait_duration: Histogram,
    pub(crate) orphans_swept: Counter,
    pub(crate) entries_restored: Counter,
    gave_up: Labelled<1, Counter>,
}

/// Metrics of negotiation cycles and of the main loop.
#[derive(Debug)]
pub(crate) struct CycleMetrics {
    pub(crate) duration: Histogram,
    pub(crate) round_duration: Histogram,
    pub(crate) jobs_waiting: Gauge,
    jobs_unmatched: Levels<1>,
    pub(crate) gangs_backlog: Gauge,
    pub(crate) ended: Counter,
    over_budget: Labelled<1, Counter>,
    pub(crate) jobs_over_budget: Gauge,
    pub(crate) searches_cut_short: Counter,
    pub(crate) disagreements: Counter,
    pub(crate) placing: PlacingMetrics,
}

/// Metrics of cycles that place jobs together.
#[derive(Debug)]
pub(crate) struct PlacingMetrics {
    gangs: Levels<1>,
    pinned: Gauge,
    steps: Gauge,
    duration: Histogram,
}

/// Metrics of accounts.
#[derive(Debug)]
pub(crate) struct AccountMetrics {
    pub(crate) accounts: Gauge,
    pub(crate) charge_held: Gauge,
    pub(crate) charge_seconds: Counter,
    pub(crate) quota_blocked: Gauge,
    pub(crate) policy_time: Histogram,
    charge_capacity: Gauge,
    writes: Labelled<1, Counter>,
    pub(crate) lag_seconds: Gauge,
    pub(crate) nominations: NominationMetrics,
    share_gap: Gauge<f64, AtomicU64>,
    each: EachAccount,
}

/// Metrics of nominations, and of preemption.
#[derive(Debug)]
pub(crate) struct NominationMetrics {
    stand: Labelled<1, Gauge>,
    ended: Labelled<2, Counter>,
    preemptions: Labelled<1, Counter>,
    pub(crate) overdue: Gauge,
    preempted_charge: Counter,
}

/// Metrics of single accounts, by name.
#[derive(Debug)]
struct EachAccount {
    charge_held: Levels<1, String>,
    share: Levels<1, String>,
    usage: Levels<1, String>,
    waiting: Levels<1, String>,
}

impl Default for Metrics {
    fn default() -> Metrics {
        let mut registry = Registry::with_prefix(PREFIX);
        let all = &mut registry;
        let build: Labelled<1, Gauge> = Labelled::new(all, &table::BUILD_INFO);
        build.with([env!("CARGO_PKG_VERSION")]).set(1);
        Metrics {
            leader: add(all, &table::LEADER),
            requests: RequestMetrics::new(all),
            pool: PoolMetrics::new(all),
            claims: ClaimMetrics::new(all),
            cycles: CycleMetrics::new(all),
            accounts: AccountMetrics::new(all),
            registry,
        }
    }
}

impl RequestMetrics {
    fn new(all: &mut Registry) -> RequestMetrics {
        RequestMetrics {
            ended: Labelled::new(all, &table::REQUESTS),
            in_flight: Labelled::new(all, &table::REQUESTS_IN_FLIGHT),
            duration: Labelled::histogram(all, &table::REQUEST_DURATION),
            statuses_not_written: add(all, &table::STATUSES_NOT_WRITTEN),
        }
    }

    /// A request begins; it is under way until what this returns is dropped.
    pub(crate) fn begin(&self, kind: &'static str) -> RequestUnderWay {
        let in_flight = self.in_flight.with([kind]);
        in_flight.inc();
        RequestUnderWay(in_flight)
    }

    /// A request has ended.
    pub(crate) fn ended(&self, kind: &'static str, outcome: &'static str, took: Duration) {
        self.duration.with([kind]).observe(took.as_secs_f64());
        self.ended.with([kind, outcome]).inc();
    }
}

/// A request under way; it is not any more when this is dropped, whatever happened.
pub(crate) struct RequestUnderWay(Gauge);

impl Drop for RequestUnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl PoolMetrics {
    fn new(all: &mut Registry) -> PoolMetrics {
        PoolMetrics {
            offers: Levels::new(all, &table::OFFERS),
            capacity: Levels::new(all, &table::CAPACITY),
            capacity_claimed: Levels::new(all, &table::CAPACITY_CLAIMED),
            capacity_external: Levels::new(all, &table::CAPACITY_EXTERNAL),
            license_seats: Levels::new(all, &table::LICENSE_SEATS),
            license_seats_claimed: Levels::new(all, &table::LICENSE_SEATS_CLAIMED),
            license_seats_external: Levels::new(all, &table::LICENSE_SEATS_EXTERNAL),
            jobs: Levels::new(all, &table::JOBS),
            oldest_wait: add(all, &table::OLDEST_WAIT),
            claims: Levels::new(all, &table::CLAIMS),
            oldest_claim: Levels::new(all, &table::OLDEST_CLAIM),
        }
    }

    /// Takes in what was counted last.
    pub(crate) fn set(&self, census: &Census) {
        self.offers.set(&census.offers, Gone::Nought);
        self.capacity.set(&census.capacity, Gone::Nought);
        self.capacity_claimed.set(&census.claimed, Gone::Nought);
        self.capacity_external.set(&census.external, Gone::Nought);
        self.license_seats.set(&census.license_seats, Gone::Removed);
        self.license_seats_claimed.set(&census.license_seats_claimed, Gone::Removed);
        self.license_seats_external.set(&census.license_seats_external, Gone::Removed);
        self.jobs.set(&census.jobs, Gone::Nought);
        self.oldest_wait.set(census.oldest_wait_seconds);
        self.claims.set(&census.claims, Gone::Nought);
        self.oldest_claim.set(&census.oldest_claim_seconds, Gone::Nought);
    }
}

impl ClaimMetrics {
    fn new(all: &mut Registry) -> ClaimMetrics {
        ClaimMetrics {
            in_flight: add(all, &table::CLAIMS_IN_FLIGHT),
            decisions: Labelled::new(all, &table::DECISIONS),
            refusals: Labelled::new(all, &table::REFUSALS),
            attempts: Labelled::new(all, &table::ATTEMPTS),
            matches_not_taken: add(all, &table::MATCHES_NOT_TAKEN),
            commit_duration: add_histogram(all, &table::COMMIT_DURATION, &BOUNDS),
            wait_duration: add_histogram(all, &table::WAIT_DURATION, &WAIT_BOUNDS),
            orphans_swept: add(all, &table::ORPHANS_SWEPT),
            entries_restored: add(all, &table::ENTRIES_RESTORED),
            gave_up: Labelled::new(all, &table::GAVE_UP),
        }
    }

    /// A gang was committed, aborted or released.
    pub(crate) fn decided(&self, decision: &'static str, reason: &'static str) {
        self.decisions.with([decision, reason]).inc();
    }

    /// An offer said no to a claim.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refusals.with([reason]).inc();
    }

    /// A Match was written: the `first` of its job, or one `again`.
    pub(crate) fn attempted(&self, attempt: &'static str) {
        self.attempts.with([attempt]).inc();
    }

    /// A job was finished since it could not be claimed.
    pub(crate) fn gave_up(&self, reason: &'static str) {
        self.gave_up.with([reason]).inc();
    }
}

impl CycleMetrics {
    fn new(all: &mut Registry) -> CycleMetrics {
        CycleMetrics {
            duration: add_histogram(all, &table::CYCLE_DURATION, &BOUNDS),
            round_duration: add_histogram(all, &table::ROUND_DURATION, &BOUNDS),
            jobs_waiting: add(all, &table::JOBS_WAITING),
            jobs_unmatched: Levels::new(all, &table::JOBS_UNMATCHED),
            gangs_backlog: add(all, &table::GANGS_BACKLOG),
            ended: add(all, &table::CYCLES_ENDED),
            over_budget: Labelled::new(all, &table::OVER_BUDGET),
            jobs_over_budget: add(all, &table::JOBS_OVER_BUDGET),
            searches_cut_short: add(all, &table::SEARCHES_CUT_SHORT),
            disagreements: add(all, &table::DISAGREEMENTS),
            placing: PlacingMetrics::new(all),
        }
    }

    /// Namespaces of whose jobs, or whose offers, so many exceeded their budget.
    pub(crate) fn over_budget(&self, side: &'static str, namespaces: usize) {
        self.over_budget.with([side]).inc_by(count(namespaces));
    }

    /// Only these reasons are there, and so many jobs of each: a reason that was there before has no job any more.
    pub(crate) fn set_unmatched(&self, jobs: &BTreeMap<&'static str, usize>) {
        let levels = jobs.iter().map(|(reason, jobs)| ([*reason], level(*jobs))).collect();
        self.jobs_unmatched.set(&levels, Gone::Nought);
    }
}

impl PlacingMetrics {
    fn new(all: &mut Registry) -> PlacingMetrics {
        PlacingMetrics {
            gangs: Levels::new(all, &table::PLACING_GANGS),
            pinned: add(all, &table::PLACING_PINNED),
            steps: add(all, &table::PLACING_STEPS),
            duration: add_histogram(all, &table::PLACING_DURATION, &BOUNDS),
        }
    }

    /// The jobs of a cycle were placed together.
    pub(crate) fn placed(&self, placed: &Placed) {
        let Placed { in_turn, gangs, bound, pinned, steps, took, passed_over: _ } = placed;
        let levels = [("in_turn", in_turn), ("placed", gangs), ("bound", bound)];
        self.gangs.set(&levels.iter().map(|(by, gangs)| ([*by], level(**gangs))).collect(), Gone::Removed);
        self.pinned.set(level(*pinned));
        self.steps.set(i64::try_from(*steps).unwrap_or(i64::MAX));
        self.duration.observe(took.as_secs_f64());
    }

    /// This replica does not lead: it places nothing.
    fn stand_by(&self) {
        self.gangs.set(&BTreeMap::new(), Gone::Removed);
        self.pinned.set(0);
    }
}

impl AccountMetrics {
    fn new(all: &mut Registry) -> AccountMetrics {
        AccountMetrics {
            accounts: add(all, &table::ACCOUNTS),
            charge_held: add(all, &table::CHARGE_HELD),
            charge_capacity: add(all, &table::CHARGE_CAPACITY),
            charge_seconds: add(all, &table::CHARGE_SECONDS),
            quota_blocked: add(all, &table::QUOTA_BLOCKED),
            policy_time: add_histogram(all, &table::POLICY_TIME, &BOUNDS),
            writes: Labelled::new(all, &table::ACCOUNT_WRITES),
            lag_seconds: add(all, &table::ACCOUNTING_LAG),
            nominations: NominationMetrics::new(all),
            share_gap: add(all, &table::SHARE_GAP),
            each: EachAccount::new(all),
        }
    }

    /// What accounts hold and deserve.
    pub(crate) fn set_shares(&self, shares: &ShareCensus) {
        let ShareCensus { gap, total, accounts } = shares;
        self.share_gap.set(*gap);
        self.charge_capacity.set(*total);
        let levels = |of: fn(&AccountLevels) -> i64| {
            accounts.iter().map(|(name, levels)| ([name.clone()], of(levels))).collect::<BTreeMap<_, _>>()
        };
        self.each.charge_held.set(&levels(|own| own.held), Gone::Removed);
        self.each.share.set(&levels(|own| own.share), Gone::Removed);
        self.each.usage.set(&levels(|own| own.usage), Gone::Removed);
        self.each.waiting.set(&levels(|own| own.waiting), Gone::Removed);
    }

    /// This replica does not lead: it holds no accounts.
    fn stand_by(&self) {
        self.set_shares(&ShareCensus::default());
        for gauge in [&self.accounts, &self.charge_held, &self.quota_blocked, &self.lag_seconds] {
            gauge.set(0);
        }
        self.nominations.stand_by();
    }

    /// An Account or the PoolPolicy was written.
    pub(crate) fn wrote(&self, outcome: &'static str) {
        self.writes.with([outcome]).inc();
    }
}

impl NominationMetrics {
    fn new(all: &mut Registry) -> NominationMetrics {
        NominationMetrics {
            stand: Labelled::new(all, &table::NOMINATIONS),
            ended: Labelled::new(all, &table::NOMINATIONS_ENDED),
            preemptions: Labelled::new(all, &table::PREEMPTIONS),
            overdue: add(all, &table::NOMINATIONS_OVERDUE),
            preempted_charge: add(all, &table::PREEMPTED_CHARGE),
        }
    }

    /// So many nominations of a kind stand.
    pub(crate) fn nominated(&self, kind: &'static str, count: i64) {
        self.stand.with([kind]).set(count);
    }

    /// A nomination has ended.
    pub(crate) fn ended(&self, kind: &'static str, outcome: &'static str) {
        self.ended.with([kind, outcome]).inc();
    }

    /// A gang was preempted that has taken so much charge for so many seconds.
    pub(crate) fn preempted(&self, mode: &'static str, charge_seconds: u64) {
        self.preemptions.with([mode]).inc();
        self.preempted_charge.inc_by(charge_seconds);
    }

    /// This replica does not lead: no nominations are its own.
    fn stand_by(&self) {
        self.overdue.set(0);
        for kind in [NominationKind::Preemption, NominationKind::Reservation] {
            self.nominated(kind.as_str(), 0);
        }
    }
}

impl EachAccount {
    fn new(all: &mut Registry) -> EachAccount {
        EachAccount {
            charge_held: Levels::new(all, &table::ACCOUNT_CHARGE_HELD),
            share: Levels::new(all, &table::ACCOUNT_SHARE),
            usage: Levels::new(all, &table::ACCOUNT_USAGE),
            waiting: Levels::new(all, &table::ACCOUNT_WAITING),
        }
    }
}

impl Metrics {
    /// This replica does not lead: what it knew of the pool as the leader is not true any more.
    pub(crate) fn stand_by(&self) {
        self.leader.set(0);
        self.pool.set(&Census::default());
        let ClaimMetrics { in_flight, .. } = &self.claims;
        let CycleMetrics { jobs_waiting, gangs_backlog, jobs_over_budget, .. } = &self.cycles;
        for gauge in [in_flight, jobs_waiting, gangs_backlog, jobs_over_budget] {
            gauge.set(0);
        }
        self.cycles.set_unmatched(&BTreeMap::new());
        self.cycles.placing.stand_by();
        self.accounts.stand_by();
    }

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

/// A new metric without labels, as the table describes it.
fn add<M: Metric + Clone + Default>(all: &mut Registry, described: &Described<0>) -> M {
    let metric = M::default();
    all.register(described.name, described.meaning, metric.clone());
    metric
}

fn add_histogram(all: &mut Registry, described: &Described<0>, bounds: &[f64]) -> Histogram {
    let metric = Histogram::new(bounds.iter().copied());
    all.register(described.name, described.meaning, metric.clone());
    metric
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
    fn m20_waits_of_a_week_are_told_apart_and_the_version_is_a_metric() {
        let metrics = Metrics::default();
        let (hour, week) = (3_600.0, 604_800.0);
        metrics.claims.wait_duration.observe(2.0 * hour);
        metrics.claims.wait_duration.observe(5.0 * 24.0 * hour);
        metrics.claims.wait_duration.observe(2.0 * week);
        let text = metrics.text();
        let below = |bound: f64| -> Option<u64> {
            let buckets =
                text.lines().filter_map(|line| line.strip_prefix("gangmatch_wait_duration_seconds_bucket{le=\""));
            let mut buckets = buckets.filter_map(|line| line.split_once("\"} "));
            let (_, count) = buckets.find(|(le, _)| le.parse::<f64>().is_ok_and(|le| le >= bound))?;
            count.parse().ok()
        };
        assert_eq!([below(60.0), below(4.0 * hour), below(week)], [Some(0), Some(1), Some(2)], "{text}");
        assert!(
            text.contains(&format!("gangmatch_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"))),
            "{text}"
        );
    }

    /// Metrics of which each has a value.
    fn filled() -> Metrics {
        let metrics = Metrics::default();
        drop(metrics.requests.begin("read"));
        metrics.requests.ended("read", "done", Duration::from_millis(3));
        metrics.claims.decided("Committed", "AllReserved");
        metrics.claims.refused("CapacityTaken");
        metrics.claims.attempted("first");
        metrics.claims.gave_up("MatchTimedOut");
        metrics.cycles.over_budget("Jobs", 1);
        metrics.cycles.set_unmatched(&BTreeMap::from([("NoCandidates", 3)]));
        let (took, passed_over) = (Duration::from_millis(3), Vec::new());
        metrics.cycles.placing.placed(&Placed {
            in_turn: 1,
            gangs: 2,
            bound: 3,
            pinned: 1,
            steps: 9,
            took,
            passed_over,
        });
        metrics.pool.set(&census::tests::full());
        metrics.accounts.wrote("done");
        metrics.accounts.nominations.nominated("Preemption", 1);
        metrics.accounts.nominations.ended("Preemption", "Claimed");
        metrics.accounts.nominations.preempted("Share", 60);
        let levels = AccountLevels { held: 3, share: 4, usage: 5, waiting: 6 };
        let accounts = BTreeMap::from([("eda".to_owned(), levels)]);
        metrics.accounts.set_shares(&ShareCensus { gap: 0.25, total: 7, accounts });
        for gauge in [&metrics.accounts.charge_held, &metrics.accounts.quota_blocked, &metrics.accounts.accounts] {
            gauge.set(8);
        }
        metrics.accounts.nominations.overdue.set(1);
        metrics
    }

    #[test]
    fn what_is_served_is_what_the_table_says() {
        let text = filled().text();
        let types = |line: &str| line.strip_prefix("# TYPE ").map(str::to_owned);
        let served: Vec<String> = text.lines().filter_map(types).collect();
        for row in table::ROWS {
            let (name, kind) = (format!("{PREFIX}_{}", row.name), row.kind.as_str());
            assert!(served.contains(&format!("{name} {kind}")), "{name} {kind}: {served:?}");
            assert!(text.contains(&format!("# HELP {name} {}.\n", row.meaning)), "{name}: {text}");
            for label in row.labels {
                let has = |line: &str| line.starts_with(&name) && line.contains(&format!("{label}=\""));
                assert!(text.lines().any(has), "{name} has no {label}: {text}");
            }
        }
        assert_eq!(served.len(), table::ROWS.len(), "{served:?}");
    }

    #[test]
    fn a_standby_knows_nothing_of_the_pool() {
        let metrics = filled();
        metrics.stand_by();
        let text = metrics.text();
        let of_pool = |line: &&str| {
            let of = [
                "gangmatch_jobs",
                "gangmatch_offers",
                "gangmatch_share_gap",
                "gangmatch_accounts ",
                "gangmatch_account_",
            ];
            let of_charge = ["gangmatch_charge_held", "gangmatch_charge_capacity", "gangmatch_quota_blocked"];
            let of_nominations = ["gangmatch_nominations{", "gangmatch_nominations_overdue"];
            let begins = [&of[..], &of_charge, &of_nominations].concat();
            !line.contains("_total") && (line.contains("_seats") || begins.iter().any(|own| line.starts_with(own)))
        };
        for line in text.lines().filter(|line| !line.starts_with('#')).filter(of_pool) {
            assert!(line.ends_with(" 0") || line.ends_with(" 0.0"), "{line}");
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
