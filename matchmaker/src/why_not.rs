//! Why a root has no gang, as data: verdict, counts, conflicts, and what could be left out. Worded elsewhere.
//!
//! Nothing in it is a value or a text of another ad, but for two things: how often owners said no, and the number
//! at which a comparison of the root's own would be true of some offer that accepts the root. That number is one of an offer of the
//! root's namespace, or of an offer whose owner discloses it.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::Arc;

use classad::{Expr, conjuncts};
use policy::Amount;

use crate::capacity::Misfit;
use crate::lack::Lack;
use crate::model::AdId;
use crate::ports::Port;

/// A root without a gang. Roots that no expression can tell apart share one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// The root's ad.
    pub root: AdId,
    /// The reason.
    pub why: Arc<WhyNot>,
}

impl Deref for Unmatched {
    type Target = WhyNot;

    fn deref(&self) -> &WhyNot {
        &self.why
    }
}

/// Why there is no gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WhyNot {
    /// The reason in one word.
    pub verdict: Verdict,
    /// The counts for each of the root's ports, in order.
    pub ports: Vec<PortCount>,
    /// Ports whose partners must agree with a partner at another port.
    pub joins: Vec<JoinWhy>,
    /// Ports that cannot be bound together, though they could without any one of them; empty if that is not known.
    pub core: Vec<usize>,
    /// What could be left out for there to be a gang with everything free; of each nothing can be kept.
    pub relaxations: Vec<Relaxation>,
    /// Evaluations, of whole constraints and of their parts, that ran out of depth or fuel: a no that no author wrote.
    pub exhausted: u64,
    /// It was computed for all offers at once; if not, by trying one after the other, and some of it is not known.
    pub indexed: bool,
}

impl WhyNot {
    /// A verdict of which no more is known.
    pub fn of(verdict: Verdict) -> WhyNot {
        let (ports, joins, core, relaxations) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        WhyNot { verdict, ports, joins, core, relaxations, exhausted: 0, indexed: false }
    }
}

/// The reason, most lasting first: busy is never said of what would be impossible with everything free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The root's own ad cannot take part; the text says why.
    Unusable(String),
    /// A gang for this root is larger or deeper than gangs may be.
    Limit(Limit),
    /// The root's own constraint on this port is true of no ad that could ever be.
    Never {
        /// The number of the port.
        port: usize,
        /// The conjuncts that cannot be true together, by number; they can without any one of them.
        core: Vec<usize>,
    },
    /// The root's own constraint on this port takes more than an evaluation may.
    TooExpensive {
        /// The number of the port.
        port: usize,
        /// What ran out.
        limit: classad::Limit,
        /// How much there was of it.
        most: u64,
        /// The constraint, cut off after 256 bytes.
        text: String,
    },
    /// No ad satisfies the root's constraint on this port.
    NoCandidates {
        /// The number of the port.
        port: usize,
    },
    /// Ads satisfy the root's constraint on this port, but all their owners refuse, or have too little in all.
    RefusedByOffers {
        /// The number of the port.
        port: usize,
    },
    /// Every port alone could be bound, but no combination of ads fits together.
    NoConsistentGang,
    /// There would be a gang, but a quota does not let the root's account have it.
    QuotaExceeded(QuotaExceeded),
    /// There would be a gang if others had not taken it.
    WaitingForCapacity,
    /// The only gangs use offers that refused this root a short while ago.
    BackingOff,
    /// The search ran out of steps before it found a gang.
    GaveUp,
}

impl Verdict {
    /// Whether there would be no gang either if everything were free: only another root or other offers can change that.
    pub fn is_lasting(&self) -> bool {
        match self {
            Verdict::Unusable(_)
            | Verdict::Limit(_)
            | Verdict::Never { .. }
            | Verdict::NoCandidates { .. }
            | Verdict::RefusedByOffers { .. }
            | Verdict::NoConsistentGang => true,
            Verdict::TooExpensive { .. }
            | Verdict::QuotaExceeded(_)
            | Verdict::WaitingForCapacity
            | Verdict::BackingOff
            | Verdict::GaveUp => false,
        }
    }
}

/// A quota that stands against a gang. It tells nothing of accounts that are not the root's or above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuotaExceeded {
    /// An account would exceed its maximum: the root's, or one above it.
    Max {
        /// The counter.
        counter: String,
        /// The account.
        account: String,
        /// How much the account holds, if it is the root's.
        held: Option<Amount>,
        /// The most that it may hold.
        max: Amount,
        /// How much more the gang takes, or any gang.
        takes: Amount,
    },
    /// What is left is guaranteed to other accounts.
    Aside {
        /// The counter.
        counter: String,
    },
}

/// How much of an expression is reported, in bytes.
pub const EXCERPT_MAX: usize = 256;

/// How many parts of a constraint are reported.
pub const CONJUNCTS_MAX: usize = 128;

/// A bound of gangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The most members of a gang.
    Members,
    /// The most edges between the root and a member.
    Depth,
    /// The count of this port, by number, is no integer from 1 to 63, or its least is more than its most.
    Count(usize),
}

/// What became of the ads that were tried at one port.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PortCount {
    /// The port's label.
    pub label: String,
    /// Ads tried that are of the kind that the root asks for; 0 if no combination of the earlier ports reached this one.
    pub candidates: u64,
    /// Ads tried that are of another kind. They are counted nowhere else.
    pub other_kinds: u64,
    /// Ads of which the root's constraint is not true.
    pub refused_by_job: u64,
    /// Ads whose constraint is not true of the root.
    pub refused_by_offer: OfferRefusals,
    /// Ads that accept, but never have what is asked.
    pub too_small: Misfits,
    /// Ads that accept, but are taken.
    pub busy: u64,
    /// Ads that accept, but refused this root a short while ago.
    pub excluded: u64,
    /// Ads with ports of their own that accept, but whose own partners are missing.
    pub incomplete: u64,
    /// Where none of these fits: the ads that would, and that every gang up to here has at a port before this one. They are not among the candidates.
    pub needed_before: u64,
    /// Each part of the constraint, and of how many ads it is not true.
    pub conjuncts: Vec<ConjunctCount>,
    /// Of a counted port: what it needs.
    pub set: Option<SetCount>,
}

/// How many ads a counted port needs, and how many it could have at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SetCount {
    /// The fewest members of its set.
    pub need: u64,
    /// The most ads that fit one by one and that `Same` and `Distinct` leave together.
    pub largest: u64,
    /// The names of the attributes in `Same`.
    pub same: Vec<String>,
    /// The names of the attributes in `Distinct`.
    pub distinct: Vec<String>,
    /// The text of `GroupConstraint`, cut off; empty if there is none.
    pub constraint: String,
}

/// The parts of a port's constraint that are reported.
pub(crate) fn reported_parts(port: &Port) -> Vec<Expr> {
    let mut parts = port.constraint.as_ref().map(conjuncts).unwrap_or_default();
    parts.truncate(CONJUNCTS_MAX);
    parts
}

impl PortCount {
    /// The counts of a port at which no ad was tried: its label and the parts of its constraint.
    #[must_use]
    pub fn of(port: &Port) -> PortCount {
        let kind = port.wanted_kind().map(|(part, _)| part);
        let part = |(number, text): (usize, &Expr)| ConjunctCount {
            text: text.excerpt(EXCERPT_MAX),
            is_kind: kind == Some(number),
            ..ConjunctCount::default()
        };
        let conjuncts = reported_parts(port).iter().enumerate().map(part).collect();
        PortCount { label: port.label.to_string(), conjuncts, ..PortCount::default() }
    }

    /// Ads that both sides accept and that have what is asked, when nothing of them is taken.
    pub fn fits_when_free(&self) -> u64 {
        let told = self.refused_by_job + self.refused_by_offer.ads + self.too_small.ads + self.incomplete;
        self.candidates.saturating_sub(told)
    }

    /// The part of the constraint that says the kind, `.Type == "Machine"`, without the label.
    pub(crate) fn kind(&self) -> Option<&str> {
        self.conjuncts.iter().find(|part| part.is_kind)?.text.strip_prefix(self.label.as_str())
    }

    /// Whether no ad that fits one of these ports fits the other, as each names a kind.
    pub(crate) fn is_of_another_kind(&self, other: &PortCount) -> bool {
        self.kind().zip(other.kind()).is_some_and(|(own, other)| !own.eq_ignore_ascii_case(other))
    }

    /// Whether any ad was tried.
    pub fn is_reached(&self) -> bool {
        self.candidates + self.other_kinds > 0
    }

    /// How many ads it needs: 1 without a count.
    pub fn need(&self) -> u64 {
        self.set.as_ref().map_or(1, |set| set.need)
    }

    /// Those of them that have it now.
    pub fn free_now(&self) -> u64 {
        self.fits_when_free().saturating_sub(self.busy + self.excluded)
    }
}

/// Ads whose constraint is not true of a root, and what in it refuses the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OfferRefusals {
    /// How many ads.
    pub ads: u64,
    /// Those of them whose constraint takes more than an evaluation may.
    pub too_expensive: u64,
    /// The parts of their constraints that refuse although the root wants the offer, by the terms they stand in; empty if that is not known.
    pub parts: Vec<OwnerCount>,
}

/// Ads that accept, but never have what is asked, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Misfits {
    /// How many ads.
    pub ads: u64,
    /// Those of them for which the request is no amount: no integer of at least 1.
    pub no_amount: u64,
    /// Those that do not have what the request names.
    pub not_offered: u64,
    /// Those whose `sharedBy` is an error.
    pub no_seat: u64,
    /// What of the request the ads lack, as far as it is told in plain names and numbers.
    pub lacks: BTreeSet<Lack>,
}

impl Misfits {
    /// Counts one more ad, with why and what it lacks, if that is known.
    pub fn note(&mut self, misfit: Option<Misfit>, lack: Option<Lack>) {
        self.ads += 1;
        match misfit {
            Some(Misfit::NoAmount) => self.no_amount += 1,
            Some(Misfit::NotOffered) => self.not_offered += 1,
            Some(Misfit::NoSeat) => self.no_seat += 1,
            Some(Misfit::TooMuch) | None => {}
        }
        self.lacks.extend(lack);
    }

    /// How many ads merely have too little.
    pub(crate) fn too_little(&self) -> u64 {
        self.ads.saturating_sub(self.no_amount + self.not_offered + self.no_seat)
    }
}

/// One part of a constraint, between two `&&`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConjunctCount {
    /// Its text.
    pub text: String,
    /// It names the kind of ad that is asked for; ads of other kinds are not counted.
    pub is_kind: bool,
    /// The ads of which it is not true.
    pub rejects: u64,
    /// The ads of which it and all parts before it are true.
    pub left: u64,
    /// The ads that nothing else stands against: not another part, not their owners, not the request. None if not known.
    pub only_failure: Option<u64>,
    /// For a comparison with a number: what it would have to be compared with instead.
    pub nearest: Option<Nearest>,
}

/// The nearest number, among those that may be told, with which a comparison would be true of an ad that nothing else stands against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// The number, as it is written in an ad: that of an offer whose values may be told to the root's author.
    pub value: String,
    /// Of how many such ads the comparison would then be true, all offers counted.
    pub offers: u64,
}

/// One part of the constraint of offers that ask the same, and how often it is the owners' no.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerCount {
    /// Which offers: equal numbers stand for the same terms, the first offer's are 0.
    pub terms: usize,
    /// The place of the part in their constraint.
    pub conjunct: usize,
    /// Its text, if all these offers are of the root's own namespace.
    pub text: Option<String>,
    /// Ads that the root wants and that refuse it with this part.
    pub refuses: u64,
    /// Those of them that nothing else stands against.
    pub only_failure: u64,
}

/// A port whose partner must agree with the partner at another port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinWhy {
    /// The number of the port.
    pub port: usize,
    /// The number of the earlier port.
    pub with: usize,
    /// The conjuncts of the root that read both, by number.
    pub conjuncts: Vec<usize>,
    /// Owners ask for agreement as well.
    pub owners: bool,
    /// Ads that are fine at the earlier port, and at this port but for the agreement.
    pub before: (u64, u64),
    /// Those of them that agree with one of the others.
    pub after: (u64, u64),
}

/// What is enough to leave out. With any part of it kept there is no gang.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Relaxation {
    /// The parts.
    pub parts: Vec<Relaxed>,
    /// How many ads that gives at the port, where it is one port only.
    pub offers: Option<u64>,
}

/// One thing to leave out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relaxed {
    /// A part of the root's constraint on a port.
    Conjunct {
        /// The number of the port.
        port: usize,
        /// The number of the part.
        conjunct: usize,
    },
    /// What a port asks for: less of it.
    Request {
        /// The number of the port.
        port: usize,
    },
    /// What owners ask of the root at a port; that is up to them.
    Owners {
        /// The number of the port.
        port: usize,
    },
}
