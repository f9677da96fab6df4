//! The look at the server that an offer needs before it is given away.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

use crds::{Decision, Job, Match};
use pool::{Changes, ObjectKey, Objects};

use crate::api::Answer;
use crate::claims::drive::Driver;

impl Driver {
    /// Begins the look, if one is due.
    pub(crate) fn prove(self: &Arc<Self>, changes: &Changes, objects: &Objects) {
        let began_ms = self.now_ms();
        let due = {
            let mut proofs = self.proofs.lock().unwrap_or_else(PoisonError::into_inner);
            proofs.note(changes, objects);
            proofs.begin(began_ms)
        };
        let Some(uids) = due else { return };
        let driver = self.clone();
        tokio::spawn(async move {
            let proven = driver.look_for_former(&uids).await.then_some(uids);
            {
                let objects = driver.world.look();
                let mut proofs = driver.proofs.lock().unwrap_or_else(PoisonError::into_inner);
                proofs.end(proven, &objects, began_ms, driver.now_ms());
            }
            driver.world.ring();
        });
    }

    /// Takes in all Matches as the server has them, and the jobs of those that have ended and were about a former object of one
    /// of these offers' names: the claim is over when its job is free. Whether all was read.
    async fn look_for_former(&self, uids: &BTreeSet<String>) -> bool {
        let Answer::Done(all) = self.cluster.list::<Match>().await else { return false };
        let jobs = former(&all, &self.world.look(), uids);
        self.world.learn(|objects| all.into_iter().for_each(|found| objects.put_match(found)));
        for job in jobs {
            if !matches!(self.read::<Job>(&job, |all, job| all.jobs.put(job)).await, Answer::Done(()) | Answer::Missing)
            {
                return false;
            }
        }
        true
    }
}

/// The jobs of ended Matches that name one of these offers under another uid.
fn former(all: &[Match], objects: &Objects, uids: &BTreeSet<String>) -> BTreeSet<ObjectKey> {
    let ended =
        |found: &&Match| found.status.as_ref().map_or(Decision::Pending, |status| status.decision).is_terminal();
    let names_former = |found: &&Match| {
        found.spec.members.iter().skip(1).any(|member| {
            let offer = objects.offer(&member.kind, &ObjectKey::new(&member.namespace, &member.name));
            offer.is_some_and(|offer| offer.uid() != member.uid && uids.contains(offer.uid()))
        })
    };
    let root = |found: &Match| found.spec.members.first().map(|root| ObjectKey::new(&root.namespace, &root.name));
    all.iter().filter(ended).filter(names_former).filter_map(root).collect()
}
