//! The read at the server that an offer needs before it is given away: whether claims on a former object of its name may still be at work.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crds::{Job, Match};
use futures::StreamExt;
use pool::{Changes, ObjectKey, Objects};

use crate::claims::shared::Claims;
use crate::write::answer::Answer;

/// The most jobs that are read at the same time.
const READS_MAX: usize = 8;

impl Claims {
    /// Begins the read, if one is due.
    pub(crate) fn verify_offers(self: &Arc<Self>, changes: &Changes, objects: &Objects) {
        let began_ms = self.context.now_ms();
        let due = {
            let mut verification = self.verification.lock();
            verification.note(changes, objects, began_ms);
            verification.begin(began_ms)
        };
        let Some(uids) = due else { return };
        let claims = self.clone();
        tokio::spawn(async move {
            let verified = claims.read_former(uids).await;
            {
                let objects = claims.context.cache.lock();
                let mut verification = claims.verification.lock();
                verification.end(verified, &objects, began_ms, claims.context.now_ms());
            }
            claims.context.cache.notify();
        });
    }

    /// Takes in all Matches as the server has them, and the jobs of those that have ended and were about a former object of one
    /// of these offers' names: the claim is over when its job is free. Those of which all was read.
    async fn read_former(&self, mut uids: BTreeSet<String>) -> Option<BTreeSet<String>> {
        let Answer::Done(all) = self.context.cluster.list::<Match>().await else { return None };
        let former = former(&all, &self.context.cache.lock(), &uids);
        self.context.cache.update(|objects| all.into_iter().for_each(|found| objects.matches.put(found)));
        let reads = former.into_iter().map(|(job, offers)| async move {
            let answer = self.context.read::<Job>(&job).await;
            if matches!(answer, Answer::Done(()) | Answer::Missing) { BTreeSet::new() } else { offers }
        });
        let unread: Vec<BTreeSet<String>> = futures::stream::iter(reads).buffer_unordered(READS_MAX).collect().await;
        let unread: BTreeSet<String> = unread.into_iter().flatten().collect();
        uids.retain(|uid| !unread.contains(uid));
        Some(uids)
    }
}

/// The jobs of ended Matches that name one of these offers under another uid, and the uids of those offers.
fn former(all: &[Match], objects: &Objects, uids: &BTreeSet<String>) -> BTreeMap<ObjectKey, BTreeSet<String>> {
    let ended = |found: &&Match| found.decision().is_terminal();
    let mut jobs: BTreeMap<ObjectKey, BTreeSet<String>> = BTreeMap::new();
    for found in all.iter().filter(ended) {
        let Some((root, members)) = found.spec.members.split_first() else { continue };
        let named = members.iter().filter_map(|member| {
            let offer = objects.offer(&member.kind, &ObjectKey::new(&member.namespace, &member.name))?;
            (offer.uid() != member.uid && uids.contains(offer.uid())).then(|| offer.uid().to_owned())
        });
        for uid in named {
            jobs.entry(ObjectKey::new(&root.namespace, &root.name)).or_default().insert(uid);
        }
    }
    jobs
}
