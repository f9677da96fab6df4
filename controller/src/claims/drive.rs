//! One claim driven as far as it goes: observed, then each action of its state executed, each answer applied, until no action is under
//! way.

use std::collections::BTreeMap;
use std::sync::Arc;

use claiming::{Action, Claim, Decision, Event, Reason, step};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use pool::is_foreign;
use tokio::time::Instant;

use crate::claims::exit_reason::exit_reason;
use crate::claims::observation::Observation;
use crate::claims::shared::Claims;
use crate::claims::stalls::{Retry, Setback};
use crate::claims::step::{Facts, Step, StepResult};
use crate::claims::view::View;
use crate::cycle::in_flight::ClaimGuard;

/// How often one run takes the same action: if something undoes it each time, it is tried again later.
const SAME_MAX: usize = 8;

/// A claim that is being driven. One task owns it; steps read it as it is when they begin.
struct ClaimRun<'c> {
    claims: &'c Claims,
    view: Arc<View>,
    claim: Claim,
    facts: Arc<Facts>,
    /// How often each action was taken.
    taken: BTreeMap<Action, usize>,
    /// Why it came to nothing, if it did; of several reasons the one whose action is first in order.
    setback: Option<Setback>,
}

impl Claims {
    /// Drives a claim as far as it goes. It is under way until this returns; nothing is waited for but answers.
    pub(crate) async fn drive(self: Arc<Self>, view: View, under_way: ClaimGuard) {
        let begun = Instant::now();
        let mut steps = FuturesUnordered::new();
        let (mut run, mut actions) = ClaimRun::begin(&self, view);
        loop {
            steps.extend(actions.into_iter().map(|action| run.take(action)));
            let Some((outcome, learned)) = steps.next().await else { break };
            let event = run.learn(outcome, learned);
            if let Event::Decided(decision) = event {
                under_way.decided();
                if decision == Decision::Committed {
                    self.context.metrics.claims.commit_duration.observe(begun.elapsed().as_secs_f64());
                }
            }
            actions = run.apply(event);
        }
        run.end();
        drop(under_way);
        self.context.cache.notify();
    }
}

impl<'c> ClaimRun<'c> {
    /// The claim as the objects show it, and its first actions. The claim of a Match that no controller has written is ended.
    fn begin(claims: &'c Claims, view: View) -> (ClaimRun<'c>, Vec<Action>) {
        let Observation { mut claim, seen, .. } = claims.observe(&view, &claims.context.cache.lock());
        let refusals = claims.stalls().refusals(&view.uid);
        let mut facts = Facts { refusals, seen, ..Facts::default() };
        if let Some(why) = view.found.as_ref().and_then(|found| is_foreign(found)) {
            tracing::warn!(r#match = %view.key, why, "a Match that was not recorded by gangmatch; its claim is ended");
            facts.message = format!("this Match was not recorded by gangmatch: {why}");
            claim.exit.get_or_insert(Reason::NotAllowed);
        }
        let (view, facts) = (Arc::new(view), Arc::new(facts));
        let mut run = ClaimRun { claims, view, claim, facts, taken: BTreeMap::new(), setback: None };
        let actions = run.step(Event::Tick);
        (run, actions)
    }

    /// Begins an action.
    fn take(&mut self, action: Action) -> impl Future<Output = (StepResult, Facts)> + use<'c> {
        let taken = self.taken.entry(action).or_default();
        *taken = taken.saturating_add(1);
        let is_undone = *taken > SAME_MAX;
        let mut step = Step::new(self.claims, self.view.clone(), action, self.claim.clone(), self.facts.clone());
        async move {
            let outcome = match is_undone {
                true => Err(step.failed("it was done again and again, and something undoes it")),
                false => execute(&mut step).await,
            };
            (outcome, step.learned)
        }
    }

    /// What came of an action, as an event of the claim.
    fn learn(&mut self, outcome: StepResult, learned: Facts) -> Event {
        if let Some(written) = &learned.written {
            self.view = written.clone();
        }
        Arc::make_mut(&mut self.facts).extend(learned);
        outcome.unwrap_or_else(|setback| {
            let event = Event::Failed(setback.action);
            if self.setback.as_ref().is_none_or(|known| setback.action < known.action) {
                self.setback = Some(setback);
            }
            event
        })
    }

    /// Applies an event, and before it what the objects show by now: no further offer is reserved for a claim that is to exit.
    fn apply(&mut self, event: Event) -> Vec<Action> {
        let (newest_epoch, exit) = {
            let objects = self.claims.context.cache.lock();
            let now = self.claims.context.clock.now().as_second();
            let exit = exit_reason(&self.view, self.claim.decision, &objects, now);
            (self.view.newest_epoch(&objects), exit)
        };
        let is_newer = self.claim.epochs.own > 0 && newest_epoch > self.claim.epochs.newest;
        let epoch = is_newer.then_some(Event::Epoch(newest_epoch));
        let exit = exit.filter(|_| self.claim.exit.is_none()).map(Event::Exit);
        epoch.into_iter().chain(exit).chain([event]).flat_map(|event| self.step(event)).collect()
    }

    fn step(&mut self, event: Event) -> Vec<Action> {
        let (claim, actions) = step(self.claim.clone(), event, self.claims.context.now_ms());
        self.claim = claim;
        actions
    }

    /// Remembers that the claim cannot go on, and logs that once; or that it has gone on.
    fn end(self) {
        let (view, now_ms) = (&self.view, self.claims.context.now_ms());
        let mut stalls = self.claims.stalls();
        if self.taken.keys().any(|action| matches!(action, Action::StartWork(_))) {
            stalls.started(&view.uid, now_ms);
        }
        stalls.keep_refusals(&view.uid, self.facts.refusals.clone());
        let Some(setback) = self.setback else { return stalls.went_on(&view.uid) };
        if setback.retry == Retry::OfJob {
            return;
        }
        if view.uid.is_empty() {
            tracing::warn!(r#match = %view.key, why = setback.why, "the Match could not be written; it is tried again");
            return stalls.unwritten(&view.root.uid, now_ms);
        }
        let is_new = stalls.stalled(&view.uid, &setback, self.facts.seen, now_ms);
        let Setback { action, why, retry } = setback;
        match (is_new, retry) {
            (true, Retry::BackOff | Retry::OfJob) => {
                tracing::warn!(r#match = %view.key, ?action, why, "the claim cannot go on; it is tried again");
            }
            (true, _) => tracing::info!(r#match = %view.key, ?action, why, "the claim waits"),
            (false, _) => tracing::debug!(r#match = %view.key, ?action, why, "the claim still cannot go on"),
        }
    }
}

/// Does what an action asks for.
async fn execute(step: &mut Step<'_>) -> StepResult {
    match step.action {
        Action::CreateMatch => step.create_match().await,
        Action::ReserveRoot => step.reserve_root().await,
        Action::Reserve(number) => step.reserve(number).await,
        Action::RequestVote(number) => step.request_vote(number).await,
        Action::Verify => step.verify().await,
        Action::ConfirmExit(reason) => step.confirm_exit(reason).await,
        Action::Commit => step.commit().await,
        Action::Abort(reason) => step.abort(reason).await,
        Action::NotifyJob => step.notify_job().await,
        Action::ReadDecision => step.read_decision().await,
        Action::NotifyAgent(number, ballot) => step.notify_agent(number, ballot).await,
        Action::MakeWork => step.make_work().await,
        Action::ClearWork => step.clear_work().await,
        Action::StartWork(version) => step.start_work(version).await,
        Action::Release(reason) => step.release(reason).await,
        Action::StopAgent(number) => step.stop_agent(number).await,
        Action::MarkLost(number) => step.mark_lost(number).await,
        Action::StopWork => step.stop_work().await,
        Action::ListWork => step.list_work().await,
        Action::Free(number) => step.free(number).await,
        Action::ListEntries => step.list_entries().await,
        Action::FreeRoot => step.free_root().await,
    }
}
