//! The rows of the table.

use crate::MetricType::{Counter, Gauge, Histogram};
use crate::{Metric, Row};

/// Declares metrics, and the list of all of them.
macro_rules! metrics {
    ($($constant:ident: $name:literal, $kind:ident, [$($label:literal),*], $unit:literal, $meaning:literal;)*) => {
        $(
            #[doc = $meaning]
            pub const $constant: Metric<{ <[&str]>::len(&[$($label),*]) }> =
                Metric { name: $name, kind: $kind, labels: [$($label),*], unit: $unit, meaning: $meaning };
        )*

        /// All of them, in the order of the documentation.
        pub const ROWS: &[Row] = &[$((&$constant).row()),*];
    };
}

metrics! {
    // The process.
    LEADER: "leader", Gauge, [], "0 or 1",
        "1 if this replica leads; at most one replica of a cluster does";
    BUILD_INFO: "build_info", Gauge, ["version"], "1",
        "Always 1; the label is the version of this replica";

    // Requests to the API server.
    REQUESTS: "requests", Counter, ["kind", "outcome"], "requests",
        "Reads and writes by outcome: `done`, `denied` (by a rule; for creations also by a quota or a policy), `conflict` (another writer \
         was faster), `fenced` (not sent, or refused, because another replica leads), `busy` (429, 503), `missing`, `exists`, `unknown` (no \
         answer, or one that says nothing about the object)";
    REQUESTS_IN_FLIGHT: "requests_in_flight", Gauge, ["kind"], "requests",
        "Requests that are running; `read` or `write`";
    REQUEST_DURATION: "request_duration_seconds", Histogram, ["kind"], "seconds",
        "The duration of requests (`read` or `write`), including the time in the queue";
    STATUSES_NOT_WRITTEN: "statuses_not_written", Counter, [], "statuses",
        "Status writes that failed and are retried";

    // The pool.
    OFFERS: "offers", Gauge, ["kind", "ready"], "offers",
        "Machines and Licenses by the reason of their condition Ready: `Available`, `Claimed`, `Full`, `AgentLost`, `NodeNotReady` and so on; \
         `Unknown` if they have none yet";
    CAPACITY: "capacity", Gauge, ["kind", "resource"], "units of the resource",
        "The capacity of all accepted Machines or Licenses: `seats`, `slots`, `cpus`, `memory` (MiB). Other resources are not counted";
    CAPACITY_CLAIMED: "capacity_claimed", Gauge, ["kind", "resource"], "units of the resource",
        "How much of it is claimed";
    CAPACITY_EXTERNAL: "capacity_external", Gauge, ["kind", "resource"], "units of the resource",
        "How much of it is used outside the cluster, as agents report";
    LICENSE_SEATS: "license_seats", Gauge, ["namespace", "license"], "seats",
        "The seats of each License in the namespaces of `--license-metrics`, at most 256 Licenses in each; by default there are none";
    LICENSE_SEATS_CLAIMED: "license_seats_claimed", Gauge, ["namespace", "license"], "seats",
        "How many of them are claimed";
    LICENSE_SEATS_EXTERNAL: "license_seats_external", Gauge, ["namespace", "license"], "seats",
        "How many of them are used outside the cluster";

    // Jobs.
    JOBS: "jobs", Gauge, ["phase"], "jobs",
        "Jobs by phase; `New` if the job has no phase yet";
    JOBS_WAITING: "jobs_waiting", Gauge, [], "jobs",
        "Jobs that waited for a gang in the last negotiation cycle";
    JOBS_UNMATCHED: "jobs_unmatched", Gauge, ["reason"], "jobs",
        "Jobs for which the last cycles found no gang, by the reason of their condition Matched";
    OLDEST_WAIT: "oldest_wait_seconds", Gauge, [], "seconds",
        "How long the job that has waited longest has waited, without the time in which it was suspended; 0 if no job waits";
    WAIT_DURATION: "wait_duration_seconds", Histogram, [], "seconds",
        "The time from the creation of a job to its first commit; buckets from 0.1 seconds to 7 days";
    GAVE_UP: "gave_up", Counter, ["reason"], "jobs",
        "Jobs that finished without a claim: `RetryLimitReached`, `MatchTimedOut`";

    // Claims.
    CLAIMS: "claims", Gauge, ["state"], "claims",
        "Matches by state: `Pending` (not decided), `Committed`, `Ending` (aborted or released, and not yet cleaned up)";
    OLDEST_CLAIM: "oldest_claim_seconds", Gauge, ["state"], "seconds",
        "The age of the oldest `Pending` claim, and how long the oldest `Ending` claim has been ending; 0 if there is none";
    CLAIMS_IN_FLIGHT: "claims_in_flight", Gauge, [], "claims",
        "Claims that are being made or released at this moment";
    GANGS_BACKLOG: "gangs_backlog", Gauge, [], "gangs",
        "Gangs that were found and wait until fewer claims are in flight";
    ATTEMPTS: "attempts", Counter, ["attempt"], "Matches",
        "Matches for the `first` attempt of a job, and for later attempts (`again`)";
    DECISIONS: "decisions", Counter, ["decision", "reason"], "claims",
        "Claims that were Committed, Aborted or Released, by reason";
    REFUSALS: "refusals", Counter, ["reason"], "refusals",
        "Refusals by offers";
    MATCHES_NOT_TAKEN: "matches_not_taken", Counter, [], "Matches",
        "Matches that the API server refused because of a quota or a policy";
    COMMIT_DURATION: "commit_duration_seconds", Histogram, [], "seconds",
        "The time from when a gang was found to its commit";
    ORPHANS_SWEPT: "orphans_swept", Counter, [], "entries",
        "Entries of deleted Matches that were removed from ledgers";
    ENTRIES_RESTORED: "entries_restored", Counter, [], "entries",
        "Entries that had disappeared from ledgers and were restored";

    // Negotiation cycles and the main loop.
    CYCLE_DURATION: "cycle_duration_seconds", Histogram, [], "seconds",
        "The duration of a negotiation cycle";
    ROUND_DURATION: "round_duration_seconds", Histogram, [], "seconds",
        "The duration of one pass of the main loop over what has changed";
    CYCLES_ENDED: "cycles_ended", Counter, [], "cycles",
        "Cycles that exceeded `--cycle-limit-seconds` and were ended with the gangs found so far";
    OVER_BUDGET: "over_budget", Counter, ["side"], "namespaces",
        "Namespaces whose `Jobs` or `Offers` exceeded their budget in a cycle";
    JOBS_OVER_BUDGET: "jobs_over_budget", Gauge, [], "jobs",
        "Jobs whose search was cut short by the budget of their namespace in the last cycle";
    PLACING_GANGS: "placing_gangs", Gauge, ["by"], "gangs",
        "Of the last window of jobs that were placed together: gangs in turn (`in_turn`), gangs together (`placed`), and how many are possible at most (`bound`); only with `--placing=Collective`";
    PLACING_PINNED: "placing_pinned", Gauge, [], "jobs",
        "Jobs of the last window that are not passed over, because they have waited for too long or their gang is guaranteed";
    PLACING_STEPS: "placing_steps", Gauge, [], "steps",
        "Steps that placing the last window took";
    PLACING_DURATION: "placing_duration_seconds", Histogram, [], "seconds",
        "The duration of a cycle whose jobs are placed together";
    SEARCHES_CUT_SHORT: "searches_cut_short", Counter, [], "searches",
        "Searches that ran out of steps";
    DISAGREEMENTS: "disagreements", Counter, [], "gangs",
        "Gangs of the index that the evaluator did not accept. A value other than 0 is a bug in gangmatch: report it";

    // Accounts, if there is a PoolPolicy.
    ACCOUNTS: "accounts", Gauge, [], "accounts",
        "Accounts";
    CHARGE_HELD: "charge_held", Gauge, [], "charges",
        "The charge of all claims that are held, in whole charges";
    CHARGE_CAPACITY: "charge_capacity", Gauge, [], "charges",
        "What all open offers together would cost, in whole charges: the charge of the pool, of which shares are parts";
    CHARGE_SECONDS: "charge_seconds", Counter, [], "charge-seconds",
        "The charge of all claims, multiplied by the seconds for which it was held: all work";
    QUOTA_BLOCKED: "quota_blocked_jobs", Gauge, [], "jobs",
        "Jobs for which the last cycles found no gang because of a quota";
    POLICY_TIME: "policy_seconds", Histogram, [], "seconds",
        "The part of a negotiation cycle that accounts, nominations, preemption and reservation take, without the order in which jobs are served; only with a PoolPolicy";
    ACCOUNT_WRITES: "account_writes", Counter, ["outcome"], "requests",
        "Writes of Accounts and of the PoolPolicy by outcome";
    ACCOUNTING_LAG: "accounting_lag_seconds", Gauge, [], "seconds",
        "By how much the clock of this replica is behind the newest time that an Account stores";
    SHARE_GAP: "share_gap", Gauge, [], "parts of the pool",
        "The largest distance between the charge that an account with waiting jobs holds and its share, as a part of the charge of the pool, from 0 to 1";
    ACCOUNT_CHARGE_HELD: "account_charge_held", Gauge, ["account"], "charges",
        "The charge that an account holds, with all below it, in whole charges; of at most 100 accounts that the administrator has created";
    ACCOUNT_SHARE: "account_share", Gauge, ["account"], "charges",
        "The charge that an account deserves of the pool, given which accounts hold something and which wait; of the same accounts";
    ACCOUNT_USAGE: "account_usage", Gauge, ["account"], "charges",
        "What an account has used, with all below it, in whole charges; of the same accounts";
    ACCOUNT_WAITING: "account_waiting", Gauge, ["account"], "jobs",
        "Jobs of an account, and of those below it, that waited in the last cycle; of the same accounts";
    NOMINATIONS: "nominations", Gauge, ["kind"], "jobs",
        "Jobs for which offers are held, while gangs are preempted for them (`Preemption`) or end by themselves (`Reservation`)";
    NOMINATIONS_ENDED: "nominations_ended", Counter, ["kind", "outcome"], "nominations",
        "Nominations that have ended, by kind and outcome (`Claimed`, `Elsewhere`, `Withdrawn`, `Expired`, `Changed`, `Taken`); with `mode: DryRun`, decisions to preempt that were only told (`DryRun`)";
    NOMINATIONS_OVERDUE: "nominations_overdue", Gauge, [], "jobs",
        "Jobs for which offers are held for a minute longer than the PoolPolicy permits: the nomination could not be taken out";
    PREEMPTIONS: "preemptions", Counter, ["mode"], "gangs",
        "Gangs that were preempted, by the reason";
    PREEMPTED_CHARGE: "preempted_charge_seconds", Counter, [], "charge-seconds",
        "The charge of preempted gangs, multiplied by the seconds for which they had run: the work that is lost";
}
