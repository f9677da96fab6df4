//! Preemption: which gangs have to end so that a root that is left over can have one.
//!
//! The rules are those of the crate `policy`. What is added here is the gang: it is searched for in the pool as it would be without the gangs
//! that may be preempted, by the same search that finds all gangs.

mod claimed;
mod question;
mod terms;

use std::collections::BTreeSet;
use std::sync::Arc;

use policy::{Amount, Amounts, Evictions, Mode, NoVictims, Quotas};

use crate::account_queue::AccountQueue;
use crate::charges::MemberCharges;
use crate::gang::Gang;
use crate::left_over::{SideSearches, StepsLeft, TurnsLeft};
use crate::model::{AdId, Config, Snapshot};

use self::claimed::ClaimedGangs;
use self::question::PreemptionQuestion;
pub use self::terms::PreemptionTerms;

/// The most roots that are looked at in one cycle.
pub const PREEMPTION_ROOTS_MAX: usize = 16;

/// A claimed gang.
#[derive(Clone, Debug)]
pub struct HeldGang {
    /// Its name, unique.
    pub name: String,
    /// The account that it is charged to.
    pub account: Arc<str>,
    /// Of its job.
    pub priority: i64,
    /// When it was committed, in seconds since 1970.
    pub since: i64,
    /// How often its job was preempted before.
    pub preemptions: u32,
    /// What its account holds less of when it has ended, by counter.
    pub takes: Amounts,
    /// The gang, by the ads of the snapshot. What is asked of an offer is what the end of the gang gives back: nothing of a seat that
    /// another gang shares.
    pub gang: Gang,
}

/// What preemption is decided on, beside the pool.
#[derive(Debug)]
pub struct Preempting<'p> {
    /// The administrator's terms.
    pub terms: &'p PreemptionTerms,
    /// The committed gangs that are not ending.
    pub held: &'p [HeldGang],
    /// The gangs that are ending; what they hold counts as free, unless it is nominated.
    pub ending: &'p [HeldGang],
    /// Roots that nothing is preempted for now.
    pub spared: &'p BTreeSet<AdId>,
    /// How many gangs may be preempted in this cycle, and for whom.
    pub evictions: &'p Evictions,
}

/// A gang that a root has once some others have ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The root.
    pub root: AdId,
    /// Its gang.
    pub gang: Gang,
    /// The places of the victims in the list of held gangs.
    pub victims: Vec<usize>,
    /// The last of the modes that were needed, in their order.
    pub mode: Mode,
}

/// Why nothing is preempted for a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPreempted {
    /// The rules do not permit it.
    Refused(NoVictims),
    /// Gangs that would have to end are still in the time in which they run undisturbed. From this time on they are not, in seconds since 1970.
    TooYoung(i64),
    /// Gangs that are ending make room for it.
    Ending,
    /// Too many gangs were preempted of late, in the whole pool or for its account.
    BudgetSpent,
    /// The search for a gang, or for victims, takes more steps than its submitter has for that.
    CutShort,
}

/// What came of preemption in a cycle.
#[derive(Clone, Debug, Default)]
pub struct Preemptions {
    /// For each root that was looked at.
    pub answers: Vec<(AdId, Result<Proposal, NotPreempted>)>,
    /// What the members of proposed gangs cost, each with its root, in micros.
    pub charges: Vec<(AdId, MemberCharges)>,
    /// The steps that submitters have spent on roots for which nothing is preempted. Without submitters that have spent none.
    pub fruitless: Vec<(Arc<str>, u64)>,
}

/// Which gangs have to end for the roots that a cycle has left over and that wait for capacity, in the order in which roots are served. What is
/// decided for one root counts for the next: its gang is taken, and its victims hold nothing any more.
///
/// If more roots wait than are looked at, all accounts have as many turns as each other, as far as they have roots. Searches take steps of the
/// submitters of their roots.
pub fn preempt(
    (snapshot, gangs): (&Snapshot, &[Gang]),
    waiting: &BTreeSet<AdId>,
    preempting: &Preempting<'_>,
    (config, now): (&Config, i64),
    search: &mut SideSearches<'_>,
) -> Preemptions {
    let mut all = Preemptions::default();
    let Some(accounts) = snapshot.accounts.clone() else { return all };
    let mut left = snapshot.after(gangs);
    left.accounts = None;
    left.roots.retain(|root| waiting.contains(&root.ad) && !preempting.spared.contains(&root.ad));
    if left.roots.is_empty() || preempting.held.is_empty() {
        return all;
    }
    let mut prices = search.take_prices(config, now);
    let mut queue = AccountQueue::after(&left, &accounts, gangs, &mut prices);
    let mut quotas: Quotas<'_> = queue.quotas().clone();
    preempting.ending.iter().for_each(|gang| quotas.give_back_of(&gang.account, &gang.takes));
    let ending = preempting.ending.iter().flat_map(|gang| gang.gang.asks());
    let mut pool = left.freed(ending);
    let mut claimed = ClaimedGangs::of(&pool, preempting.held, config);
    let mut steps = StepsLeft::of(queue.names(), PREEMPTION_ROOTS_MAX, &snapshot.frugal, config);
    let (mut ended, mut evictions) = (BTreeSet::new(), preempting.evictions.clone());
    let waiting = left.roots.iter().map(|root| queue.account(root));
    let mut turns = TurnsLeft::of(waiting, queue.names().len(), PREEMPTION_ROOTS_MAX, config.seed);
    while let Some(turn) = queue.next() {
        if config.stop.is_set() || !turns.take(queue.account(turn.root), turn.submitter) {
            queue.not_found();
            continue;
        }
        let question = PreemptionQuestion {
            pool: &pool,
            accounts: &accounts,
            preempting,
            root: turn.root,
            account: queue.account(turn.root),
            quotas: &quotas,
            ended: &ended,
            config,
            now,
        };
        let mut of_root = steps.for_root(turn.submitter);
        let mut answer = question.answer(&mut claimed, &mut of_root, (search, &mut prices));
        let account = Arc::clone(queue.account(turn.root));
        if let Ok(proposal) = &answer
            && !is_permitted(&evictions, proposal, &account, preempting)
        {
            answer = Err(NotPreempted::BudgetSpent);
        }
        let is_fruitless = !answer.as_ref().is_ok_and(|proposal| !proposal.victims.is_empty());
        steps.pay(turn.submitter, of_root, is_fruitless);
        if let Ok(proposal) = &answer {
            let charge = queue.charge_of(turn.root, &proposal.gang, &mut prices);
            let victims = || proposal.victims.iter().filter_map(|place| preempting.held.get(*place));
            victims().for_each(|gang| quotas.give_back_of(&gang.account, &gang.takes));
            quotas.take_of(&account, &charge.takes);
            pool = pool.freed(victims().flat_map(|gang| gang.gang.asks())).after(std::slice::from_ref(&proposal.gang));
            if proposal.victims.is_empty() {
                // What ends makes room for one root, and not for all that come after it.
                answer = Err(NotPreempted::Ending);
            } else {
                ended.extend(proposal.victims.iter().copied());
                evictions.spend(&account, proposal.victims.len());
                all.charges.push((turn.ad, charge.members));
            }
        }
        queue.not_found();
        all.answers.push((turn.ad, answer));
    }
    search.keep_prices(prices);
    all.fruitless = steps.fruitless();
    all
}

/// Whether so many gangs may be preempted for a job of an account now.
fn is_permitted(evictions: &Evictions, proposal: &Proposal, account: &str, preempting: &Preempting<'_>) -> bool {
    let mut victims = proposal.victims.iter().filter_map(|place| preempting.held.get(*place));
    let is_internal = victims.all(|victim| *victim.account == *account);
    let count = proposal.victims.len();
    count == 0 || evictions.permits(account, count, is_internal, &preempting.terms.permitted)
}

/// Whether a nomination that was stored is still right, by the same question as before: the gangs that it names, as far as they have not ended,
/// may be preempted for its gang, and make room for it. `charges`: what the members of the gang cost, as was recorded when it was found.
pub fn is_still_right(
    snapshot: &Snapshot,
    (root, gang, charges): (AdId, &Gang, &[Amount]),
    victims: &BTreeSet<usize>,
    preempting: &Preempting<'_>,
    (config, now): (&Config, i64),
) -> bool {
    let Some(accounts) = snapshot.accounts.clone() else { return false };
    let Some(root) = snapshot.roots.iter().find(|own| own.ad == root) else { return false };
    let Some(account) = accounts.account_of.get(root.ad) else { return false };
    let mut quotas = Quotas::new(&accounts.tree, &accounts.total);
    let ended: BTreeSet<usize> = (0..preempting.held.len()).filter(|place| !victims.contains(place)).collect();
    preempting.ending.iter().for_each(|gang| quotas.give_back_of(&gang.account, &gang.takes));
    let ending = preempting.ending.iter().flat_map(|gang| gang.gang.asks());
    let pool = snapshot.freed(ending.chain(gang.asks()));
    let mut seats = accounts.seats.of_gang((&pool, gang), account);
    let charge = accounts.charge_as_recorded((&pool, gang), account, &mut seats, charges);
    // What is nominated counts as held already.
    quotas.give_back_of(account, &charge.takes);
    let (quotas, ended) = (&quotas, &ended);
    let question =
        PreemptionQuestion { pool: &pool, accounts: &accounts, preempting, root, account, quotas, ended, config, now };
    question.is_answered_by(&mut ClaimedGangs::of(&pool, preempting.held, config), gang, charge.takes)
}
