//! What was ever true, as far as later revisions do not show it any more.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::conditions::find;
use crds::{Decision, JobStatus, Member};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::checks::preemption::nomination;
use crate::world::decision;
use crate::{Change, Key, Object};

/// What was ever true.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// The uids of Matches that were ever committed.
    committed: BTreeSet<String>,
    /// The members of every Match that was ever there, by its uid.
    members: BTreeMap<String, Vec<Member>>,
    /// Each member as it was when it was reserved: by uid of the Match, then by member.
    reserved: BTreeMap<String, BTreeMap<Key, Arc<Object>>>,
    /// The uids of Matches that a nomination of some job has named.
    named: BTreeSet<String>,
    /// Conditions of jobs that were true in an attempt, and then were not: uid, type, attempt.
    over: BTreeSet<(String, String, i32)>,
}

impl Past {
    /// Whether this Match was ever committed.
    #[must_use]
    pub fn was_committed(&self, uid: &str) -> bool {
        self.committed.contains(uid)
    }

    /// Whether a nomination has ever named this Match.
    #[must_use]
    pub fn was_named(&self, uid: &str) -> bool {
        self.named.contains(uid)
    }

    /// The members of a Match, which may be gone.
    #[must_use]
    pub fn members(&self, uid: &str) -> &[Member] {
        self.members.get(uid).map_or(&[], Vec::as_slice)
    }

    /// The members of a Match as their reserves left them.
    pub fn reserved(&self, uid: &str) -> impl Iterator<Item = (&Key, &Arc<Object>)> {
        self.reserved.get(uid).into_iter().flatten()
    }

    /// Whether this condition of the job with this uid was true in this attempt, and then was not.
    #[must_use]
    pub fn is_over(&self, uid: &str, type_: &str, attempt: i32) -> bool {
        self.over.contains(&(uid.to_owned(), type_.to_owned(), attempt))
    }

    /// Remembers what this change made true.
    pub(crate) fn remember(&mut self, before: Option<&Object>, change: &Change) {
        let Some(after) = &change.object else { return };
        if let Some(found) = after.found() {
            self.members.entry(after.uid().to_owned()).or_insert_with(|| found.spec.members.clone());
            if decision(found) == Decision::Committed {
                self.committed.insert(after.uid().to_owned());
            }
        }
        self.named.extend(nomination(after).into_iter().flat_map(|nomination| nomination.victims.iter().cloned()));
        let before = before.filter(|before| before.uid() == after.uid());
        let had = |uid: &str| before.and_then(Object::ledger).is_some_and(|ledger| ledger.claims.contains_key(uid));
        let new = after.ledger().into_iter().flat_map(|ledger| ledger.claims.keys()).filter(|uid| !had(uid));
        let claim = after.claimed_by().filter(|uid| before.and_then(Object::claimed_by) != Some(uid));
        for uid in new.map(String::as_str).chain(claim) {
            self.reserved.entry(uid.to_owned()).or_default().insert(change.key.clone(), after.clone());
        }
        if let (Some(Object::Job(was)), Object::Job(is)) = (before, after.as_ref()) {
            let (Some(was), Some(is)) = (&was.status, &is.status) else { return };
            let holds = |status: &JobStatus, type_: &str| find(&status.conditions, type_).is_some_and(is_true);
            let ended = was.conditions.iter().filter(|found| is_true(found) && !holds(is, &found.type_));
            let attempt = was.attempts.unwrap_or(0);
            self.over.extend(ended.map(|found| (after.uid().to_owned(), found.type_.clone(), attempt)));
        }
    }
}

fn is_true(condition: &Condition) -> bool {
    condition.status == "True"
}
