//! Ledgers that were overwritten: the entries of committed claims, written back from their Matches.
//!
//! Until that is done nothing of such an offer is given away (`pool::missing_entries`).

use std::sync::Arc;

use claiming::{Action, Event, Reason};
use crds::ClaimPolicy;
use matchmaker::{Disagreement, verify};
use pool::{Objects, gang_of, is_foreign, missing_entries};

use crate::claims::batcher::LedgerOp;
use crate::claims::shared::Claims;
use crate::claims::stalls::{Retry, Setback};
use crate::claims::step::{Facts, Step};
use crate::claims::view::View;
use crate::cycle::in_flight::ClaimGuard;
use crate::write::answer::Answer;

/// The committed claims that have lost entries, with the numbers of the offers that have lost them. Where an agent votes, no
/// entry can be written with its vote: those are not restored.
pub(crate) fn lost_entries(objects: &Objects) -> Vec<(View, Vec<usize>)> {
    let mut all: Vec<(View, Vec<usize>)> = Vec::new();
    for (found, member) in missing_entries(objects) {
        if member.claim_policy == Some(ClaimPolicy::Agent) {
            continue;
        }
        let number = found.spec.members.iter().skip(1).position(|other| other.uid == member.uid);
        let known = all.iter_mut().find(|(view, _)| Some(&view.uid) == found.metadata.uid.as_ref());
        match (known, number) {
            (Some((_, numbers)), Some(number)) => numbers.push(number),
            (None, Some(number)) => all.push((View::of(found.clone()), vec![number])),
            (_, None) => {}
        }
    }
    all
}

impl Claims {
    /// Writes the entries back, if the server says that the claim is still committed; `seen` is what the objects showed of it.
    pub(crate) async fn restore(self: Arc<Self>, view: View, numbers: Vec<usize>, seen: u64, under_way: ClaimGuard) {
        let view = Arc::new(view);
        let came_to = match (self.context.is_committed(&view).await, self.disproof(&view)) {
            (false, _) => Err("the server does not say that its claim is committed".to_owned()),
            (true, Some(why)) => self.give_up(&view, &why).await,
            (true, None) => self.write_back(&view, &numbers).await,
        };
        match came_to {
            Ok(()) => self.stalls().went_on(&view.uid),
            Err(why) => {
                let setback = Setback { action: Action::Reserve(0), why, retry: Retry::BackOff };
                if self.stalls().stalled(&view.uid, &setback, seen, self.context.now_ms()) {
                    let why = setback.why;
                    tracing::warn!(r#match = %view.key, why, "entry lost by an offer, and not written back; it is tried again");
                }
            }
        }
        drop(under_way);
        self.context.cache.notify();
    }

    /// Why the ledgers cannot have had these entries, if they cannot: the Match was not recorded here, or a member does not
    /// accept another one any more. What is written back was once agreed to.
    fn disproof(&self, view: &View) -> Option<String> {
        let found = view.found.as_ref()?;
        if let Some(why) = is_foreign(found) {
            return Some(why);
        }
        let recalled = gang_of(found, &self.context.cache.lock())?;
        let (engine, now) = (self.engine_of(found), self.context.clock.now().as_second());
        match verify(&recalled.snapshot, &recalled.gang, &engine, now) {
            Err(refusal @ (Disagreement::ParentRefuses(_) | Disagreement::ChildRefuses(_))) => {
                Some(refusal.to_string())
            }
            _ => None,
        }
    }

    /// Ends a claim of which an entry is lost that cannot be written back.
    async fn give_up(&self, view: &Arc<View>, why: &str) -> Result<(), String> {
        let message = format!("an offer has no entry of this claim, and none is written: {why}");
        tracing::warn!(r#match = %view.key, message, "released");
        let claim = self.observe(view, &self.context.cache.lock()).claim;
        let facts = Facts { message, ..Facts::default() };
        let reason = Reason::NotAllowed;
        let mut step = Step::new(self, view.clone(), Action::Release(reason), claim, Arc::new(facts));
        match step.release(reason).await {
            Ok(Event::Decided(_)) => Ok(()),
            _ => Err("its end could not be written".to_owned()),
        }
    }

    async fn write_back(&self, view: &Arc<View>, numbers: &[usize]) -> Result<(), String> {
        for number in numbers {
            let Some(leg) = view.legs.get(*number) else { continue };
            match self.batcher.submit(view, *number, LedgerOp::Restore).await {
                Answer::Done(_) => {
                    self.context.metrics.claims.entries_restored.inc();
                    tracing::warn!(r#match = %view.key, offer = %leg.key, kind = leg.kind.as_str(), "entry lost by the offer; written back");
                }
                Answer::Missing => {}
                Answer::Denied(refused) => return Err(refused.message),
                Answer::Exists => return Err("exists already".to_owned()),
                Answer::Unknown(unknown) => return Err(unknown.to_string()),
            }
        }
        Ok(())
    }
}
