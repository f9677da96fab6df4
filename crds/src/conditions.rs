//! Turns what the controller finds into conditions: their types and reasons, and how one is set.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// Types of conditions.
pub mod types {
    /// All ads: whether the controller understands the ad.
    pub const ACCEPTED: &str = "Accepted";
    /// Job: whether a gang was found.
    pub const MATCHED: &str = "Matched";
    /// Job and Match: whether all members of the gang are claimed.
    pub const CLAIMED: &str = "Claimed";
    /// Job: whether the workload has started.
    pub const STARTED: &str = "Started";
    /// Job: whether its last gang was preempted.
    pub const PREEMPTED: &str = "Preempted";
    /// Job: whether the job is finished.
    pub const FINISHED: &str = "Finished";
    /// Offers: whether the offer can be claimed.
    pub const READY: &str = "Ready";
    /// Offers with an agent: whether the agent renews its Lease in time.
    pub const ALIVE: &str = "Alive";
    /// Offers: whether more is claimed than the capacity.
    pub const OVERCOMMITTED: &str = "Overcommitted";
    /// Match: whether all its members are reserved.
    pub const RESERVED: &str = "Reserved";
    /// Match: whether its claim has ended.
    pub const RELEASED: &str = "Released";
}

/// Reasons of conditions: one word each, stable.
pub mod reasons {
    // Reasons of `Accepted`.

    /// The ad is accepted.
    pub const ACCEPTED: &str = "Accepted";
    /// The ad is accepted, but a part of it is ignored: the message names the part.
    pub const ACCEPTED_WITH_WARNINGS: &str = "AcceptedWithWarnings";
    /// A text in the ad is not valid ClassAd: the message names field, line and column.
    pub const PARSE_ERROR: &str = "ParseError";
    /// An attribute is defined twice; names ignore case. The message names both places.
    pub const DUPLICATE_ATTRIBUTE: &str = "DuplicateAttribute";
    /// A port is not well formed.
    pub const INVALID_PORT: &str = "InvalidPort";
    /// A regular expression is refused, or would be read differently from PCRE.
    pub const UNSUPPORTED_REGEX: &str = "UnsupportedRegex";
    /// A constraint is false for every possible partner.
    pub const NEVER_TRUE: &str = "NeverTrue";
    /// The API server would refuse the workload.
    pub const WORKLOAD_INVALID: &str = "WorkloadInvalid";
    /// Workloads are not started in this namespace: the controller has no rights there.
    pub const WORKLOADS_DISABLED: &str = "WorkloadsDisabled";
    /// The ad is too large: the message states its size and the limit.
    pub const AD_TOO_LARGE: &str = "AdTooLarge";
    /// The ad does not fit into the memory budget for large ads of its namespace, or of all namespaces. It is
    /// accepted when there is room.
    pub const NAMESPACE_OVER_BUDGET: &str = "NamespaceOverBudget";
    /// A MachineClass: its capacity has no resource.
    pub const INVALID_CAPACITY: &str = "InvalidCapacity";
    /// A MachineClass: the namespace in which it creates Machines does not exist.
    pub const NAMESPACE_MISSING: &str = "NamespaceMissing";

    /// The PoolPolicy: a counter is defined twice.
    pub const DUPLICATE_COUNTER: &str = "DuplicateCounter";
    /// An Account: an older one has the same submitter; no gang is charged to this one.
    pub const DUPLICATE_SUBMITTER: &str = "DuplicateSubmitter";
    /// An Account: its submitter is not of the form that `submitters` of the PoolPolicy says; no gang is charged to it.
    pub const SUBMITTER_NOT_CHARGED: &str = "SubmitterNotCharged";
    /// An Account: there is no account of its parent's name; it counts as below the pool.
    pub const PARENT_MISSING: &str = "ParentMissing";
    /// An Account: it is above itself; it counts as below the pool.
    pub const PARENT_LOOP: &str = "ParentLoop";
    /// An Account: it would be more than 8 levels below the pool; it counts as below the pool.
    pub const TOO_DEEP: &str = "TooDeep";
    /// An Account: a quota is of a counter that the PoolPolicy does not have; that quota does not count.
    pub const UNKNOWN_COUNTER: &str = "UnknownCounter";

    // Reasons of a Job's `Matched`.

    /// A gang was found.
    pub const GANG_FOUND: &str = "GangFound";
    /// No negotiation cycle has evaluated the job yet.
    pub const PENDING_EVALUATION: &str = "PendingEvaluation";
    /// The ad is not accepted; also of an offer's `Ready`.
    pub const NOT_ACCEPTED: &str = "NotAccepted";
    /// The job is suspended; also why a Match was aborted or released.
    pub const SUSPENDED: &str = "Suspended";
    /// The job waits after a rejection, or because the API server refused its Match.
    pub const BACKING_OFF: &str = "BackingOff";
    /// No offer satisfies the job's own constraint at some port.
    pub const NO_CANDIDATES: &str = "NoCandidates";
    /// Offers that the job would accept refuse it.
    pub const REFUSED_BY_OFFERS: &str = "RefusedByOffers";
    /// Every port has candidates, but no combination of them forms a gang.
    pub const NO_CONSISTENT_GANG: &str = "NoConsistentGang";
    /// Offers that would match are not available now, for example because they are drained: the message names them.
    pub const OFFERS_UNAVAILABLE: &str = "OffersUnavailable";
    /// A quota does not let the job's account have more: the message names the counter.
    pub const QUOTA_EXCEEDED: &str = "QuotaExceeded";
    /// All offers that would match are claimed.
    pub const WAITING_FOR_CAPACITY: &str = "WaitingForCapacity";
    /// Gangs are being ended for the job, whose offers are held for it.
    pub const WAITING_FOR_PREEMPTED: &str = "WaitingForPreempted";
    /// The job has waited long: offers are held for it until all of its gang is free.
    pub const WAITING_FOR_RESERVED: &str = "WaitingForReserved";
    /// The job would have a gang, but offers are held for other jobs that have waited long.
    pub const HELD_FOR_OTHERS: &str = "HeldForOthers";
    /// The job has a gang if jobs are served in turn, but other jobs were placed without it. Only if jobs are placed together.
    pub const WAITING_FOR_TURN: &str = "WaitingForTurn";
    /// The job's own constraint exceeds the limits of an evaluation: the message names the port and the constraint.
    pub const EXPRESSION_TOO_EXPENSIVE: &str = "ExpressionTooExpensive";
    /// The search ran out of steps before it was complete.
    pub const SEARCH_BUDGET_EXHAUSTED: &str = "SearchBudgetExhausted";

    // Reasons of `Claimed` and `Reserved`.

    /// All members are claimed.
    pub const COMMITTED: &str = "Committed";
    /// Members are being reserved.
    pub const RESERVING: &str = "Reserving";
    /// All members are reserved; some agents have not voted yet.
    pub const AWAITING_VOTES: &str = "AwaitingVotes";
    /// All members are reserved.
    pub const ALL_RESERVED: &str = "AllReserved";

    // Reasons of a Job's `Started`.

    /// The workload was started.
    pub const WORKLOAD_STARTED: &str = "WorkloadStarted";
    /// The job has no workload; a program that watches the job starts its own.
    pub const NO_WORKLOAD: &str = "NoWorkload";
    /// The workload is being created or started.
    pub const WORKLOAD_PENDING: &str = "WorkloadPending";
    /// The API server refused the workload.
    pub const WORKLOAD_REFUSED: &str = "WorkloadRefused";
    /// No pod was ready or finished in time; also why a Match was released.
    pub const START_TIMED_OUT: &str = "StartTimedOut";

    // Reasons of a Job's `Finished`; the first two also of a Match's `Released`.

    /// The workload succeeded.
    pub const COMPLETED: &str = "Completed";
    /// The workload failed.
    pub const WORKLOAD_FAILED: &str = "WorkloadFailed";
    /// The owner set spec.done before the job was claimed, or before its workload had ended.
    pub const CANCELLED: &str = "Cancelled";
    /// The owner set spec.done; also of a Match's `Released`.
    pub const DONE: &str = "Done";
    /// The claim was held for activeDeadlineSeconds; also of a Match's `Released`.
    pub const CLAIM_EXPIRED: &str = "ClaimExpired";
    /// The job waited for matchTimeoutSeconds without a claim.
    pub const MATCH_TIMED_OUT: &str = "MatchTimedOut";
    /// The job was rejected more than retry.limit times.
    pub const RETRY_LIMIT_REACHED: &str = "RetryLimitReached";

    // Reasons of an offer's `Ready`.

    /// Nothing of it is taken.
    pub const AVAILABLE: &str = "Available";
    /// Some of it is taken.
    pub const CLAIMED: &str = "Claimed";
    /// All of it is taken.
    pub const FULL: &str = "Full";
    /// It allows jobs of other namespaces, but its namespace lacks the label gangmatch.dev/offers=cluster.
    pub const NAMESPACE_NOT_TRUSTED: &str = "NamespaceNotTrusted";
    /// The owner set stopPolicy Hold.
    pub const DRAINING: &str = "Draining";
    /// The owner set stopPolicy HoldAndDrain.
    pub const EVICTING: &str = "Evicting";
    /// Its agent is silent; also why a Match was released.
    pub const AGENT_LOST: &str = "AgentLost";
    /// Its node is not ready.
    pub const NODE_NOT_READY: &str = "NodeNotReady";
    /// Its node is not schedulable.
    pub const NODE_CORDONED: &str = "NodeCordoned";
    /// Its node does not exist.
    pub const NODE_MISSING: &str = "NodeMissing";
    /// An older Machine stands for the same node.
    pub const DUPLICATE_NODE: &str = "DuplicateNode";

    // Reasons of a Job's `Preempted`.

    /// Also why a Match was released: its gang was ended for another job.
    pub const PREEMPTED: &str = "Preempted";
    /// All offers in question rank the other job higher.
    pub const PREEMPTED_BY_RANK: &str = "PreemptedByRank";
    /// Another account took back what is guaranteed to it.
    pub const PREEMPTED_BY_RECLAIM: &str = "PreemptedByReclaim";
    /// Another account held less for its weight.
    pub const PREEMPTED_BY_SHARE: &str = "PreemptedByShare";
    /// A job of the same account has the higher priority.
    pub const PREEMPTED_BY_PRIORITY: &str = "PreemptedByPriority";
    /// The job is claimed again.
    pub const CLAIMED_AGAIN: &str = "ClaimedAgain";

    // Reasons of an offer's `Alive`.

    /// The agent renews its lease.
    pub const LEASE_RENEWED: &str = "LeaseRenewed";
    /// The agent has not renewed its lease in time.
    pub const LEASE_EXPIRED: &str = "LeaseExpired";
    /// The agent has no Lease yet (Unknown).
    pub const NO_LEASE: &str = "NoLease";

    // Reasons of an offer's `Overcommitted`.

    /// More is claimed than the capacity: the capacity was lowered, or the external usage has grown.
    pub const CLAIMS_EXCEED_CAPACITY: &str = "ClaimsExceedCapacity";
    /// The claims fit the capacity.
    pub const WITHIN_CAPACITY: &str = "WithinCapacity";

    // Reasons of a Match's `Released`.

    /// The claim is active.
    pub const ACTIVE: &str = "Active";
    /// The job was deleted; also why a Match was aborted.
    pub const JOB_DELETED: &str = "JobDeleted";
    /// The Match was deleted.
    pub const MATCH_DELETED: &str = "MatchDeleted";
    /// An offer was deleted, or one with an agent has lost the claim's entry.
    pub const MEMBER_LOST: &str = "MemberLost";
    /// An owner set stopPolicy HoldAndDrain.
    pub const EVICTED: &str = "Evicted";

    // Reasons for which a Match is aborted, and then reasons of the job's `Claimed`.

    /// Another claim took the capacity.
    pub const CAPACITY_TAKEN: &str = "CapacityTaken";
    /// An ad had changed since it was matched.
    pub const STALE_AD: &str = "StaleAd";
    /// On the reserved objects the constraints no longer hold.
    pub const REQUIREMENTS_CHANGED: &str = "RequirementsChanged";
    /// An offer was deleted before the commit.
    pub const MEMBER_GONE: &str = "MemberGone";
    /// An offer may not be taken from this namespace.
    pub const NOT_ALLOWED: &str = "NotAllowed";
    /// A member voted no.
    pub const REJECTED: &str = "Rejected";
    /// Not all members had voted in time.
    pub const RESERVE_TIMED_OUT: &str = "ReserveTimedOut";
    /// Another Match holds the job.
    pub const JOB_TAKEN: &str = "JobTaken";
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Holds {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It was not evaluated yet.
    Unknown,
}

impl Holds {
    /// The word that the API uses.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// What was found about an object, to be set as a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// One of [`types`].
    pub type_: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// One of [`reasons`].
    pub reason: &'static str,
    /// A sentence for people.
    pub message: String,
}

/// Sets the condition of the finding's type, in place or at the end; true if anything but `observedGeneration` changed. The time
/// of the last transition moves only when the status does.
pub fn set(conditions: &mut Vec<Condition>, finding: Finding, generation: Option<i64>, now: Time) -> bool {
    let Finding { type_, holds, reason, message } = finding;
    match conditions.iter_mut().find(|condition| condition.type_ == type_) {
        Some(condition) => {
            let flipped = condition.status != holds.text();
            let changed = flipped || condition.reason != reason || condition.message != message;
            if flipped {
                condition.last_transition_time = now;
            }
            condition.status = holds.text().to_owned();
            condition.reason = reason.to_owned();
            condition.message = message;
            condition.observed_generation = generation;
            changed
        }
        None => {
            conditions.push(Condition {
                type_: type_.to_owned(),
                status: holds.text().to_owned(),
                reason: reason.to_owned(),
                message,
                last_transition_time: now,
                observed_generation: generation,
            });
            true
        }
    }
}

/// Whether the condition of this type is True.
#[must_use]
pub fn is_true(conditions: &[Condition], type_: &str) -> bool {
    find(conditions, type_).is_some_and(|found| found.status == "True")
}

/// The condition of this type, if it was ever set.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

#[cfg(test)]
mod tests {
    use super::{Finding, Holds, find, reasons, set, types};
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

    fn at(second: i64) -> Time {
        Time(jiff::Timestamp::from_second(second).unwrap())
    }

    fn matched(holds: Holds, reason: &'static str) -> Finding {
        Finding { type_: types::MATCHED, holds, reason, message: String::new() }
    }

    #[test]
    fn transition_time_moves_with_the_status_only() {
        let mut all = Vec::new();
        assert!(set(&mut all, matched(Holds::False, reasons::NO_CANDIDATES), Some(1), at(10)));
        assert!(set(&mut all, matched(Holds::False, reasons::WAITING_FOR_TURN), Some(1), at(20)));
        assert_eq!(find(&all, types::MATCHED).unwrap().last_transition_time, at(10));
        assert!(!set(&mut all, matched(Holds::False, reasons::WAITING_FOR_TURN), Some(2), at(30)));
        assert_eq!(find(&all, types::MATCHED).unwrap().observed_generation, Some(2));
        assert!(set(&mut all, matched(Holds::True, reasons::GANG_FOUND), Some(2), at(40)));
        assert_eq!(find(&all, types::MATCHED).unwrap().last_transition_time, at(40));
        assert_eq!(all.len(), 1);
    }
}
