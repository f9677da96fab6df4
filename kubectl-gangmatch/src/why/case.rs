//! A pool after one negotiation cycle: what `why` and `simulate` read their answers from.

use std::collections::BTreeSet;

use crds::{ClaimEntry, Match, Member, Nomination, Res};
use gangindex::Indexed;
use jiff::Timestamp;
use kube::ResourceExt;
use matchmaker::{AdId, Config, Cycle, Gang, PoolAd, Root, Snapshot, Unmatched, Usage};
use pool::{CycleInputs, ObjectKey, OfferRef, SnapshotBuilder, Unavailable, nominated, usage, used_text};

use super::answer::{Holder, TakenOffer};
use super::pauses::{that_back_off, waiting_among};
use crate::amounts::in_words;
use crate::cluster::Pool;
use crate::command::accounts;
use crate::command::reserved::Reserved;
use crate::command::together::{self, Placement, Settings};
use crate::offline::READER;

/// How many holders of an offer are named.
const HOLDERS_MAX: usize = 8;

/// A pool, and what a cycle makes of it.
pub(crate) struct Case<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) snapshot: Snapshot,
    /// Jobs that wait, but back off, so that the cycle does not match them.
    pub(crate) backing_off: Vec<ObjectKey>,
    /// Its offers that accept no claims, or none from other namespaces.
    pub(crate) unavailable: Vec<Unavailable>,
    pub(crate) cycle: Cycle,
    /// What is held for jobs that have waited long.
    pub(crate) reserved: Reserved,
    /// How its jobs were placed, if they were placed together.
    pub(crate) placement: Option<Placement>,
    /// What the cycle leaves.
    pub(crate) left: Snapshot,
    pub(crate) config: Config,
    pub(crate) now: Timestamp,
    pub(crate) finder: Indexed,
}

impl<'p> Case<'p> {
    /// Runs a cycle on the pool, in which no job backs off.
    pub(crate) fn of(pool: &'p Pool, now: Timestamp) -> Case<'p> {
        Case::with_placing(pool, now, None)
    }

    /// Runs the next cycle, as far as it can be known: jobs that back off are not matched in it.
    pub(crate) fn next(pool: &'p Pool, now: Timestamp) -> Case<'p> {
        let held_back = that_back_off(&pool.objects);
        Case::run(pool, now, None, CycleInputs { held_back, ..CycleInputs::of(&pool.objects) })
    }

    /// Runs a cycle on the pool, in which no job backs off; with settings, one whose jobs are placed together.
    pub(crate) fn with_placing(pool: &'p Pool, now: Timestamp, together: Option<Settings>) -> Case<'p> {
        Case::run(pool, now, together, CycleInputs::of(&pool.objects))
    }

    fn run(pool: &'p Pool, now: Timestamp, together: Option<Settings>, inputs: CycleInputs) -> Case<'p> {
        let (config, mut finder) = (Config::product(), Indexed::new());
        let mut builder = SnapshotBuilder::default();
        let mut snapshot = builder.build(&pool.objects, &inputs);
        accounts::add(&mut snapshot, &pool.objects, now);
        let unavailable = builder.unavailable(&pool.objects);
        let placement = together.map(|settings| together::place(&snapshot, settings, &config, now.as_second()));
        let mut cycle = match &placement {
            Some(placement) => placement.together.cycle.clone(),
            None => finder.negotiate(&snapshot, &config, now.as_second()),
        };
        let reserved = Reserved::of(&pool.objects, &snapshot, (&config, now.as_second()));
        reserved.backfill(&snapshot, &mut cycle, (&config, now.as_second()), &mut finder);
        let left = snapshot.after(&cycle.gangs);
        let backing_off = waiting_among(&pool.objects, &inputs.held_back);
        Case { pool, snapshot, backing_off, unavailable, cycle, reserved, placement, left, config, now, finder }
    }

    /// The root of a job, if it waits.
    pub(crate) fn root(&self, job: &ObjectKey) -> Option<&Root> {
        let is_it = |root: &&Root| self.snapshot.ad(root.ad).is_some_and(|ad| is_at(ad, job));
        self.snapshot.roots.iter().find(is_it)
    }

    /// The gang that a root gets.
    pub(crate) fn gang(&self, root: AdId) -> Option<&Gang> {
        self.cycle.gangs.iter().find(|gang| gang.root() == Some(root))
    }

    /// Why a root gets none.
    pub(crate) fn unmatched(&self, root: AdId) -> Option<&Unmatched> {
        self.cycle.unmatched.iter().find(|unmatched| unmatched.root == root)
    }

    /// The object of an offer.
    pub(crate) fn offer(&self, id: AdId) -> Option<OfferRef<'p>> {
        self.pool.objects.offer_at(&self.snapshot.ad(id)?.key)
    }

    /// The name of an offer, as `machine grid/foo`.
    pub(crate) fn offer_name(&self, id: AdId) -> String {
        let key = self.snapshot.ad(id).map(|ad| &ad.key);
        key.map(|key| format!("{} {}/{}", key.kind.to_ascii_lowercase(), key.namespace, key.name)).unwrap_or_default()
    }

    /// Who holds what of an offer: claims in its ledger, and jobs that get something of it in this cycle.
    pub(crate) fn taken(&self, id: AdId) -> TakenOffer {
        let (mut holders, mut more, mut others) = (Vec::new(), 0, 0);
        let Some(offer) = self.offer(id) else {
            let (used, external) = (String::new(), Res::new());
            return TakenOffer { offer: self.offer_name(id), used, external, holders, more, others, nominated_jobs: 0 };
        };
        let ledger = offer.status.map(|status| &status.claims);
        for (uid, entry) in ledger.into_iter().flatten() {
            match self.pool.objects.matches.by_uid(uid).and_then(|found| self.holder(found, entry)) {
                Some(holder) if holders.len() < HOLDERS_MAX => holders.push(holder),
                Some(_) => more += 1,
                None => others += 1,
            }
        }
        for gang in &self.cycle.gangs {
            let member = gang.members.iter().find(|member| member.ad == id);
            let Some((member, job)) = member.zip(gang.root().and_then(|root| self.snapshot.ad(root))) else { continue };
            if holders.len() < HOLDERS_MAX {
                let (amounts, shared) = (in_words(&member.ask.allocation), member.ask.share.is_some());
                let owner = self.owner(&ObjectKey::new(&job.key.namespace, &job.key.name));
                let job = format!("{}/{}", job.key.namespace, job.key.name);
                holders.push(Holder { job, owner, amounts, shared, since: None, until: None });
            } else {
                more += 1;
            }
        }
        let left = self.left.ad(id).and_then(PoolAd::offer);
        let now = left.map_or_else(|| usage(offer.status), |left| left.usage.clone());
        let (used, external) = (used_text(offer.capacity, &now), outside(&now));
        let key = self.snapshot.ad(id).map(|ad| &ad.key);
        let is_it = |own: &Member| {
            key.is_some_and(|key| (&own.kind, &own.namespace, &own.name) == (&key.kind, &key.namespace, &key.name))
        };
        let holds = |nomination: &Nomination| nomination.gang.iter().skip(1).any(is_it);
        let nominated_jobs = nominated(&self.pool.objects).filter(|(_, _, nomination)| holds(nomination)).count();
        TakenOffer { offer: self.offer_name(id), used, external, holders, more, others, nominated_jobs }
    }

    /// The user who created a job, if that is known.
    fn owner(&self, job: &ObjectKey) -> Option<String> {
        self.pool.objects.jobs.get(job)?.object.spec.ad.owner.clone().filter(|owner| owner != READER)
    }

    fn holder(&self, found: &Match, entry: &ClaimEntry) -> Option<Holder> {
        let root = found.spec.members.first()?;
        let key = ObjectKey::new(&root.namespace, &root.name);
        let job = self.pool.objects.jobs.get(&key);
        let until = found.expires_at(job.map(|held| held.object.as_ref()));
        let until = until.and_then(|at| Timestamp::from_second(at).ok());
        Some(Holder {
            job: format!("{}/{}", root.namespace, root.name),
            owner: self.owner(&key),
            amounts: in_words(&entry.allocation),
            shared: entry.share.is_some(),
            since: claimed_since(found).map(|since| since.to_string()),
            until: until.map(|until| until.to_string()),
        })
    }

    /// The roots that get a gang.
    pub(crate) fn placed(&self) -> BTreeSet<AdId> {
        self.cycle.gangs.iter().filter_map(Gang::root).collect()
    }
}

fn is_at(ad: &PoolAd, job: &ObjectKey) -> bool {
    ad.offer().is_none() && ad.key.namespace == job.namespace && ad.key.name == job.name
}

/// Since when a Match holds its members: since it was committed, or else since it was created.
pub(crate) fn claimed_since(found: &Match) -> Option<Timestamp> {
    let committed = found.status.as_ref().and_then(|status| status.committed_at.clone());
    committed.or_else(|| found.creation_timestamp()).map(|time| time.0)
}

/// What is used outside the cluster.
pub(crate) fn outside(usage: &Usage) -> Res {
    (&usage.external).into_iter().map(|(name, amount)| (name.clone(), *amount)).collect()
}
