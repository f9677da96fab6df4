//! What preemption would do for a root that waits; or what stands against it, and from when on it does not.

use std::collections::BTreeSet;

use classad::{Expr, Value};
use matchmaker::{
    AdId, AdKey, Config, FindGangs, Gang, NotPreempted, Preempting, PreemptionTerms, Preemptions, Proposal,
    SideSearches, Snapshot, preempt,
};
use policy::{Mode, NoVictims};

/// What stands against preemption for a root. Each but the last four is what alone stands against it: this one thing apart, the gangs of the
/// proposal would be preempted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// Some gangs have not run for as long as they run undisturbed.
    TooYoung {
        /// From this time on they would be preempted, in seconds since 1970.
        from: i64,
        /// Which ones, and why.
        proposal: Box<Proposal>,
    },
    /// More gangs would have to be preempted than the administrator permits for one job.
    TooManyVictims(Box<Proposal>),
    /// What the administrator requires is not true of the gangs.
    Requirements(Box<Proposal>),
    /// The administrator does not permit the reason.
    Reasons(Box<Proposal>),
    /// A quota forbids the gang, whatever is preempted.
    QuotaExceeded,
    /// Gangs that are ending make room for it.
    Ending,
    /// The gangs that may be preempted do not make enough room.
    NotEnoughVictims,
    /// Other roots come first, and no more are looked at in one cycle.
    NotReached,
}

/// What preemption is asked on.
pub struct Displacing<'d> {
    /// The pool, and the gangs of its cycle.
    pub pool: (&'d Snapshot, &'d [Gang]),
    /// The roots that the cycle has left over because of capacity or quotas.
    pub waiting: &'d BTreeSet<AdId>,
    /// The terms and the gangs that are claimed.
    pub preempting: &'d Preempting<'d>,
    /// The settings.
    pub config: &'d Config,
    /// The time, in seconds since 1970.
    pub now: i64,
}

impl Displacing<'_> {
    /// Which gangs would end for a root.
    ///
    /// # Errors
    /// What stands against it.
    pub fn ask(&self, root: AdId, search: &mut FindGangs<'_>) -> Result<Proposal, Hindrance> {
        let mut own = |terms: &PreemptionTerms, now: i64, waiting: &BTreeSet<AdId>| {
            let preempting = Preempting { terms, ..*self.preempting };
            let mut search = SideSearches::new(search);
            let found: Preemptions = preempt(self.pool, waiting, &preempting, (self.config, now), &mut search);
            found.answers.into_iter().find(|(other, _)| *other == root).map(|(_, answer)| answer)
        };
        let terms = self.preempting.terms;
        match own(terms, self.now, self.waiting) {
            None => return Err(Hindrance::NotReached),
            Some(Ok(proposal)) => return Ok(proposal),
            Some(Err(NotPreempted::Ending)) => return Err(Hindrance::Ending),
            Some(Err(NotPreempted::Refused(NoVictims::QuotaExceeded))) => return Err(Hindrance::QuotaExceeded),
            Some(Err(
                NotPreempted::Refused(_)
                | NotPreempted::TooYoung(_)
                | NotPreempted::BudgetSpent
                | NotPreempted::CutShort,
            )) => {}
        }
        let alone = BTreeSet::from([root]);
        let from = match own(terms, self.now, &alone) {
            Some(Err(NotPreempted::TooYoung(from))) => Some(from),
            _ => None,
        };
        let mut with = |terms: &PreemptionTerms, now: i64| own(terms, now, &alone)?.ok();
        if let Some((from, proposal)) = from.and_then(|from| Some((from, with(terms, from)?))) {
            return Err(Hindrance::TooYoung { from, proposal: Box::new(proposal) });
        }
        let mut relaxed = terms.clone();
        relaxed.permitted.max_victims = usize::MAX;
        if let Some(proposal) = with(&relaxed, self.now) {
            return Err(Hindrance::TooManyVictims(Box::new(proposal)));
        }
        relaxed = PreemptionTerms { requirements: Expr::literal(Value::Boolean(true)), ..terms.clone() };
        if let Some(proposal) = with(&relaxed, self.now) {
            return Err(Hindrance::Requirements(Box::new(proposal)));
        }
        relaxed = terms.clone();
        relaxed.permitted.reasons = [Mode::Rank, Mode::Reclaim, Mode::Share, Mode::Priority].into();
        match with(&relaxed, self.now) {
            Some(proposal) => Err(Hindrance::Reasons(Box::new(proposal))),
            None => Err(Hindrance::NotEnoughVictims),
        }
    }
}

/// How many of these gangs are of jobs in a namespace, by the names of those; and how many others there are.
pub fn by_namespace(
    pool: &Snapshot,
    preempting: &Preempting<'_>,
    proposal: &Proposal,
    namespace: &str,
) -> (Vec<String>, usize) {
    let roots = proposal.victims.iter().filter_map(|place| preempting.held.get(*place)?.gang.root());
    let keys: Vec<&AdKey> = roots.filter_map(|root| pool.ad(root)).map(|ad| &ad.key).collect();
    let own = keys.iter().filter(|key| key.namespace == namespace);
    let mut names: Vec<String> = own.map(|key| format!("{}/{}", key.namespace, key.name)).collect();
    names.sort();
    let others = proposal.victims.len() - names.len();
    (names, others)
}
