//! Ledgers that somebody has wiped: the entries of claims that stand, written back from their Matches.
//!
//! Until that is done nothing of such an offer is given away (`pool::forgotten`).

use std::sync::{Arc, Mutex};

use claiming::{Action, Event, Reason};
use crds::{ClaimPolicy, Decision, Match};
use matchmaker::{Disagreement, verify};
use pool::{Objects, forgotten, gang_of, is_foreign};

use crate::claims::drive::{Driver, Notes};
use crate::claims::group::Wish;
use crate::claims::stalls::Setback;
use crate::claims::view::View;
use crate::cycle::in_flight::ClaimGuard;
use crate::write::answer::Answer;

/// The claims that stand and have lost entries, with the numbers of the offers that have lost them. Where an agent votes, an
/// entry cannot be born with its vote: those are not restored.
pub(crate) fn wiped(objects: &Objects) -> Vec<(View, Vec<usize>)> {
    let mut all: Vec<(View, Vec<usize>)> = Vec::new();
    for (found, member) in forgotten(objects) {
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

impl Driver {
    /// Writes the entries back, if the server says that the claim still stands; `seen` is what the objects showed of it.
    pub(crate) async fn restore(self: Arc<Self>, view: View, numbers: Vec<usize>, seen: u64, under_way: ClaimGuard) {
        let view = Arc::new(view);
        let came_to = match (self.stands(&view).await, self.disproof(&view)) {
            (false, _) => Err("the server does not say that its claim stands".to_owned()),
            (true, Some(why)) => self.give_up(&view, &why).await,
            (true, None) => self.write_back(&view, &numbers).await,
        };
        match came_to {
            Ok(()) => self.stalls().went_on(&view.uid),
            Err(why) => {
                let setback = Setback { action: Action::Reserve(0), why, waits: None };
                if self.stalls().stalled(&view.uid, &setback, seen, self.now_ms()) {
                    let why = setback.why;
                    tracing::warn!(r#match = %view.key, why, "entry lost by an offer, and not written back; it is tried again");
                }
            }
        }
        drop(under_way);
        self.cache.notify();
    }

    /// Whether the server says that the claim stands.
    pub(super) async fn stands(&self, view: &View) -> bool {
        let Answer::Done(found) = self.cluster.get::<Match>(&view.key).await else { return false };
        let same = found.metadata.uid.as_deref() == Some(view.uid.as_str());
        let committed = found.status.as_ref().is_some_and(|status| status.decision == Decision::Committed);
        self.cache.update(|all| all.put_match(found));
        same && committed
    }

    /// Why the ledgers cannot have had these entries, if they cannot: the Match was not recorded here, or one of the gang does not
    /// accept another any more. What is written back was once agreed to.
    fn disproof(&self, view: &View) -> Option<String> {
        let found = view.found.as_ref()?;
        if let Some(why) = is_foreign(found) {
            return Some(why);
        }
        let objects = self.cache.lock();
        let recalled = gang_of(found, &objects)?;
        match verify(&recalled.snapshot, &recalled.gang, &self.engine_of(found), self.clock.now().as_second()) {
            Err(refusal @ (Disagreement::ParentRefuses(_) | Disagreement::ChildRefuses(_))) => {
                Some(refusal.to_string())
            }
            _ => None,
        }
    }

    /// Ends a claim of which an entry is lost that cannot be written back.
    async fn give_up(&self, view: &View, why: &str) -> Result<(), String> {
        let message = format!("an offer has no entry of this claim, and none is written: {why}");
        tracing::warn!(r#match = %view.key, message, "released");
        let notes = Mutex::new(Notes { message, ..Notes::default() });
        match self.release(view, Reason::NotAllowed, &notes).await {
            Event::Decided(_) => Ok(()),
            _ => Err("its end could not be written".to_owned()),
        }
    }

    async fn write_back(&self, view: &Arc<View>, numbers: &[usize]) -> Result<(), String> {
        for number in numbers {
            let Some(leg) = view.legs.get(*number) else { continue };
            match self.together(view, *number, Wish::Return).await {
                Answer::Done(_) => {
                    self.cluster.metrics.claims.entries_restored.inc();
                    tracing::warn!(r#match = %view.key, offer = %leg.key, kind = leg.kind, "entry lost by the offer; written back");
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
