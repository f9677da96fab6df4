//! Turns what must hold of an object into the CEL rules that the API server enforces.
//!
//! Every rule has a message of its own and, where one field is to blame, its path. Programs recognize a rule by its message
//! (with "contains", because the server writes `Invalid value: ...:` before it).

use classad::{RESERVED_WORDS, SCOPE_WORDS};
use kube::core::Rule;

/// Messages of the rules that programs tell apart.
pub mod message {
    /// C1: an offer's claims, shared seats and outside use would exceed its capacity.
    pub const OVER_CAPACITY: &str = "over capacity";
    /// C2: a new claim takes a resource that is missing in `spec.capacity`.
    pub const CLAIM_NOT_OFFERED: &str = "a claim takes a resource that is not offered";
    /// C3: a new shared seat takes a resource that is missing in `spec.capacity`.
    pub const SEAT_NOT_OFFERED: &str = "a shared seat takes a resource that is not offered";
    /// C4: a claim with a share key has no shared seat under that key, or a smaller one.
    pub const NEEDS_ITS_SEAT: &str = "a claim with a share key needs its seat in status.shared";
    /// C5: an entry whose work is going on was to be removed.
    pub const ACTIVE: &str = "an active claim is not removable";
    /// C6: an entry on an offer with an agent was born with a vote.
    pub const NO_VOTE_AT_BIRTH: &str = "no vote at birth: the agent has not been asked";
    /// An offer's epoch was to be set back: another replica has become the leader since.
    pub const EPOCH: &str = "an epoch never goes back";
    /// E1: match, allocation or share of an entry were to be changed.
    pub const TERMS: &str = "terms are immutable: match, allocation, share";
    /// E2: an Accepted or Rejected vote was to be changed.
    pub const VOTE_ONCE: &str = "a vote is cast once";
    /// E3: activity was to go back.
    pub const ACTIVITY_FORWARD: &str = "activity goes forward: Idle, Active, then Ended or Lost";
    /// E4: activity Active without commit.
    pub const COMMIT_FIRST: &str = "nothing starts before the commit";
    /// E5: committed was to become false.
    pub const COMMIT_FINAL: &str = "a commit is final";
    /// E6: release was to become false.
    pub const RELEASE_FINAL: &str = "a release is final";
    /// E7: activity Active after release.
    pub const RELEASED: &str = "nothing starts after the release";
    /// E8: a ballot was to be replaced.
    pub const BALLOT_ONCE: &str = "a ballot is cast once";
    /// E9: committed without an Accepted vote.
    pub const COMMIT_NEEDS_VOTE: &str = "a commit needs the vote Accepted";
    /// J1: the job's claim was to be replaced by another.
    pub const HELD: &str = "the job is held by another match";
    /// J2: a finished job was to be claimed.
    pub const FINISHED: &str = "a finished job is not claimed";
    /// J4: what is held for a job was to be replaced.
    pub const NOMINATED: &str = "a nomination is set or removed, and not replaced";
    /// M3: a decision was to be changed that is final.
    pub const DECISION: &str = "a decision goes from Pending to Committed or Aborted, and from Committed to Released";
}

const SPEC_OWNER: &str = "has(self.owner) == has(oldSelf.owner) && (!has(self.owner) || self.owner == oldSelf.owner)";
const SPEC_FORM: &str = "!has(self.classad) || !(has(self.attributes) || has(self.expressions) || has(self.ports) \
    || has(self.constraint) || has(self.rank) || has(self.request))";
const SPEC_PORTS: &str = "!has(self.ports) || !(has(self.constraint) || has(self.rank) || has(self.request))";
const SPEC_AGENT: &str = "self.claimPolicy == 'Auto' || has(self.agent)";
const SPEC_NODE: &str =
    "has(self.nodeName) == has(oldSelf.nodeName) && (!has(self.nodeName) || self.nodeName == oldSelf.nodeName)";
const PORT_LABELS: &str = "self.all(p, self.exists_one(q, q.label.lowerAscii() == p.label.lowerAscii()))";

/// The rules on every ad's spec: A1 (owner) and that there is one form of the ad.
pub(crate) fn ad_spec() -> Vec<Rule> {
    vec![
        Rule::new(SPEC_OWNER).message("owner is immutable").field_path(".owner"),
        Rule::new(SPEC_FORM).message("use either classad or the fields, not both").field_path(".classad"),
        Rule::new(SPEC_PORTS)
            .message("constraint, rank and request are not allowed beside ports: write them in the ports")
            .field_path(".ports"),
    ]
}

/// The rules on a License's spec: those of an ad, and that claimPolicy Agent names an agent.
pub(crate) fn offer_spec() -> Vec<Rule> {
    let mut rules = ad_spec();
    rules.push(Rule::new(SPEC_AGENT).message("agent is required with claimPolicy Agent").field_path(".agent"));
    rules
}

/// The rules on a Machine's spec: those of an offer, and that the node stays.
pub(crate) fn machine_spec() -> Vec<Rule> {
    let mut rules = offer_spec();
    rules.push(Rule::new(SPEC_NODE).message("nodeName is immutable").field_path(".nodeName"));
    rules
}

/// The rules on a MachineClass's spec: those of an offer, that the ad is not text, and that the namespace stays.
pub(crate) fn machine_class_spec() -> Vec<Rule> {
    let mut rules = offer_spec();
    rules.push(
        Rule::new("!has(self.classad)")
            .message("classad is not allowed in a class: use the fields")
            .field_path(".classad"),
    );
    rules.push(
        Rule::new("self.__namespace__ == oldSelf.__namespace__")
            .message("namespace is immutable")
            .field_path(".namespace"),
    );
    rules
}

/// The rule on the list of ports.
pub(crate) fn ports() -> Vec<Rule> {
    vec![Rule::new(PORT_LABELS).message("port labels must be unique; case is ignored")]
}

/// The rules on a port: how many partners it binds.
pub(crate) fn port() -> Vec<Rule> {
    let is_counted = "has(self.count) || has(self.minCount)";
    let of_a_set = "has(self.same) || has(self.distinct) || has(self.groupConstraint) || has(self.groupRank)";
    vec![
        Rule::new("!has(self.count) || !has(self.minCount)")
            .message("use either count, or minCount and maxCount")
            .field_path(".count"),
        Rule::new("has(self.minCount) == has(self.maxCount)").message("minCount and maxCount are written together"),
        Rule::new(format!("{is_counted} || !({of_a_set})"))
            .message("same, distinct, groupConstraint and groupRank need a count, or minCount and maxCount"),
    ]
}

/// The rule on a port's label.
pub(crate) fn label() -> Vec<Rule> {
    let words: Vec<String> = SCOPE_WORDS.iter().chain(&RESERVED_WORDS).map(|word| format!("'{word}'")).collect();
    let rule = format!("!(self.lowerAscii() in [{}])", words.join(", "));
    vec![Rule::new(rule).message("this name is reserved: choose another label")]
}

/// The rule on `allowedNamespaces`.
pub(crate) fn allowed_namespaces() -> Vec<Rule> {
    vec![
        Rule::new("(self.from == 'Selector') == has(self.selector)")
            .message("selector is required with from: Selector, and not allowed otherwise")
            .field_path(".selector"),
    ]
}

/// The rule on the reference to a workload: the name of a batch Job becomes a label.
pub(crate) fn workload_ref() -> Vec<Rule> {
    vec![
        Rule::new("self.kind == 'Pod' || size(self.name) <= 63")
            .message("name is too long: at most 63 characters")
            .field_path(".name"),
    ]
}

/// The rule on a Job's workload.
pub(crate) fn workload() -> Vec<Rule> {
    vec![Rule::new("has(self.jobTemplate) != has(self.workloadRef)").message("use either jobTemplate or workloadRef")]
}

/// The rule on a Job's `done`.
pub(crate) fn done() -> Vec<Rule> {
    vec![Rule::new("!oldSelf || self").message("done is final")]
}

/// The rule on an offer's `status.epoch`.
pub(crate) fn epoch() -> Vec<Rule> {
    vec![Rule::new("self >= oldSelf").message(message::EPOCH)]
}

/// J3: what works for a claim is known by the name in `workloadRef`, and is looked for before its seats are given back because the job has a
/// workload.
const WORKLOAD: &str = "!has(oldSelf.status) || !has(oldSelf.status.claim) || !has(oldSelf.spec.workload) \
     || (has(self.spec.workload) && has(self.spec.workload.workloadRef) == has(oldSelf.spec.workload.workloadRef) \
     && (!has(oldSelf.spec.workload.workloadRef) \
     || self.spec.workload.workloadRef == oldSelf.spec.workload.workloadRef))";

/// J4: one nomination is one decision.
const NOMINATED: &str = "!has(oldSelf.status) || !has(oldSelf.status.nomination) || !has(self.status) \
     || !has(self.status.nomination) || (self.status.nomination.time == oldSelf.status.nomination.time \
     && self.status.nomination.victims == oldSelf.status.nomination.victims)";

/// J1 to J4: the rules on a whole Job.
pub(crate) fn job() -> Vec<Rule> {
    let held = "!has(oldSelf.status.claim) || !has(self.status.claim) \
        || (self.status.claim.uid == oldSelf.status.claim.uid && self.status.claim.match == oldSelf.status.claim.match)";
    let finished = "!has(self.status.finishedAt) || !has(self.status.claim) || has(oldSelf.status.claim)";
    vec![
        Rule::new(held).message(message::HELD).field_path(".status.claim"),
        Rule::new(finished).message(message::FINISHED).field_path(".status.claim"),
        Rule::new(WORKLOAD)
            .message("workload is not removed, and workloadRef is immutable, while the job is claimed")
            .field_path(".spec.workload"),
        Rule::new(NOMINATED).message(message::NOMINATED).field_path(".status.nomination"),
    ]
}

/// What the claims and the shared seats of an object hold of resource `r`.
fn used(object: &str) -> String {
    format!(
        "({o}.status.claims.map(k, has({o}.status.claims[k].share) || !(r in {o}.status.claims[k].allocation) ? 0 \
         : {o}.status.claims[k].allocation[r]).sum() \
         + {o}.status.shared.map(s, r in {o}.status.shared[s] ? {o}.status.shared[s][r] : 0).sum())",
        o = object
    )
}

/// C1 to C6: the rules on a whole offer.
pub(crate) fn offer() -> Vec<Rule> {
    let capacity = format!(
        "(oldSelf.status.claims.all(k, k in self.status.claims) \
         && size(self.status.claims) == size(oldSelf.status.claims) && self.status.shared == oldSelf.status.shared) \
         || self.spec.capacity.all(r, {used} + (r in self.status.externalUsage ? self.status.externalUsage[r] : 0) \
         <= self.spec.capacity[r] || {used} <= {old})",
        used = used("self"),
        old = used("oldSelf")
    );
    let claim_offered = "self.status.claims.all(k, k in oldSelf.status.claims \
        || self.status.claims[k].allocation.all(r, r in self.spec.capacity))";
    let seat_offered = "self.status.shared.all(s, s in oldSelf.status.shared \
        || self.status.shared[s].all(r, r in self.spec.capacity))";
    let seat = "!has(self.status) || self.status.claims.all(k, !has(self.status.claims[k].share) \
        || (self.status.claims[k].share in self.status.shared \
        && self.status.claims[k].allocation.all(r, r in self.status.shared[self.status.claims[k].share] \
        && self.status.claims[k].allocation[r] <= self.status.shared[self.status.claims[k].share][r])))";
    let active = "oldSelf.status.claims.all(k, k in self.status.claims \
        || oldSelf.status.claims[k].activity != 'Active')";
    let birth = "self.status.claims.all(k, k in oldSelf.status.claims || self.spec.claimPolicy == 'Auto' \
        || self.status.claims[k].vote == 'Pending')";
    let claims = ".status.claims";
    let shared = ".status.shared";
    vec![
        Rule::new(capacity).message(message::OVER_CAPACITY).field_path(claims),
        Rule::new(claim_offered).message(message::CLAIM_NOT_OFFERED).field_path(claims),
        Rule::new(seat_offered).message(message::SEAT_NOT_OFFERED).field_path(shared),
        Rule::new(seat).message(message::NEEDS_ITS_SEAT).field_path(shared),
        Rule::new(active).message(message::ACTIVE).field_path(claims),
        Rule::new(birth).message(message::NO_VOTE_AT_BIRTH).field_path(claims),
    ]
}

/// E1 to E9: the rules on one entry of an offer's claims. The registers have defaults, so `has()` is needed for the share only.
pub(crate) fn entry() -> Vec<Rule> {
    let terms = "self.match == oldSelf.match && self.allocation == oldSelf.allocation && has(self.share) == has(oldSelf.share) \
        && (!has(self.share) || self.share == oldSelf.share)";
    let forward = "self.activity == oldSelf.activity || (oldSelf.activity == 'Idle' && self.activity != 'Idle') \
        || (oldSelf.activity == 'Active' && self.activity in ['Ended', 'Lost'])";
    let released = "self.activity == oldSelf.activity || self.activity != 'Active' || !oldSelf.release";
    vec![
        Rule::new(terms).message(message::TERMS).field_path(".allocation"),
        Rule::new("self.vote == oldSelf.vote || oldSelf.vote == 'Pending'")
            .message(message::VOTE_ONCE)
            .field_path(".vote"),
        Rule::new(forward).message(message::ACTIVITY_FORWARD).field_path(".activity"),
        Rule::new("self.activity != 'Active' || self.committed").message(message::COMMIT_FIRST).field_path(".activity"),
        Rule::new("!oldSelf.committed || self.committed").message(message::COMMIT_FINAL).field_path(".committed"),
        Rule::new("!oldSelf.release || self.release").message(message::RELEASE_FINAL).field_path(".release"),
        Rule::new(released).message(message::RELEASED).field_path(".activity"),
        Rule::new("oldSelf.ballot == '' || self.ballot == oldSelf.ballot")
            .message(message::BALLOT_ONCE)
            .field_path(".ballot"),
        Rule::new("!self.committed || self.vote == 'Accepted'")
            .message(message::COMMIT_NEEDS_VOTE)
            .field_path(".committed"),
    ]
}

/// M1 and M2: the rules on a Match's spec.
pub(crate) fn match_spec() -> Vec<Rule> {
    // That no member appears twice is said by the key of the list.
    let tree = "self.members.all(m, !has(m.parent) || m.parent < m.id) \
        && self.members.filter(m, !has(m.parent)).size() == 1";
    vec![
        Rule::new("self == oldSelf").message("a match's spec is immutable"),
        Rule::new(tree)
            .message("members must form one tree: there is one root, and parents come first")
            .field_path(".members"),
    ]
}

/// AC1: the submitter of an account stays the same.
const SUBMITTER: &str =
    "has(self.submitter) == has(oldSelf.submitter) && (!has(self.submitter) || self.submitter == oldSelf.submitter)";

/// AC1: the rule on an Account's spec.
pub(crate) fn account_spec() -> Vec<Rule> {
    vec![
        Rule::new(SUBMITTER)
            .message("submitter is immutable: create another Account, and delete this one")
            .field_path(".submitter"),
    ]
}

/// AC2: the rule on the submitter of an Account.
pub(crate) fn submitter() -> Vec<Rule> {
    vec![
        Rule::new("has(self.__namespace__) || has(self.owner)")
            .message("a submitter needs a namespace or an owner; leave it out for an account that groups others"),
    ]
}

/// AC3: the rule on a quota.
pub(crate) fn quota() -> Vec<Rule> {
    vec![
        Rule::new("!has(self.min) || !has(self.max) || self.min <= self.max")
            .message("min must not be larger than max")
            .field_path(".min"),
    ]
}

/// The rule on a counter of the PoolPolicy: two names are taken.
pub(crate) fn counter() -> Vec<Rule> {
    vec![
        Rule::new("!(self.name in ['charge', 'gangs'])")
            .message("the counters charge and gangs are always there: choose another name")
            .field_path(".name"),
    ]
}

/// PP1: the rule on a whole PoolPolicy.
pub(crate) fn pool_policy() -> Vec<Rule> {
    vec![Rule::new("self.metadata.name == 'pool'").message("there is one PoolPolicy, named pool")]
}

/// M3: the rule on a Match's decision.
pub(crate) fn decision() -> Vec<Rule> {
    let rule = "self == oldSelf || (oldSelf == 'Pending' && self in ['Committed', 'Aborted']) \
        || (oldSelf == 'Committed' && self == 'Released')";
    vec![Rule::new(rule).message(message::DECISION)]
}
