//! A world at rest into what is wrong with it: leaks, jobs that wait in vain, too many writes.

use crate::invariants::leaks;
use crate::planted::Planted;
use crate::world::ModelCluster;

impl ModelCluster {
    /// The world has come to rest, or should have.
    pub(super) fn end(&mut self, rested: bool) {
        if !rested {
            self.outcome.wrong = Some("I12: the world never comes to rest".to_owned());
            return;
        }
        let waits = || {
            let mut fresh = self.coordinator(u8::MAX, self.server.objects.clone());
            fresh.ignores_lease = true;
            fresh.could_match(self.now_ms).map(|job| format!("I10: job {job} waits, and there is a gang for it"))
        };
        let ended = || self.nomination_at_rest().or_else(|| self.waits_for_preemption());
        self.outcome.wrong = leaks(&self.server).or_else(ended).or_else(waits).or_else(|| self.over_budget());
    }

    /// At rest, nothing is held for any job.
    fn nomination_at_rest(&self) -> Option<String> {
        let mut jobs = self.server.objects.values();
        let held = jobs.find(|stored| stored.job().is_some_and(|job| job.nomination.is_some()))?;
        Some(format!("K3: the nomination of {:?} does not end", held.key))
    }

    /// At rest, nothing is left to be preempted; where things have gone wrong, it may be that leaders try again later.
    fn waits_for_preemption(&self) -> Option<String> {
        let mut fresh = self.coordinator(u8::MAX, self.server.objects.clone());
        (fresh.planted, fresh.leads) = (Planted::Nothing, Some(0));
        let key = fresh.could_nominate(self.now_ms).filter(|_| !self.plan.is_disturbed())?;
        Some(format!("K5: {key:?} waits, and gangs would be preempted for it"))
    }

    /// Nobody disturbed: three writes and one for each offer to the commit, and one to tell the job.
    fn over_budget(&self) -> Option<String> {
        let plan = &self.plan;
        let agents = plan.offers.iter().any(|(agent, _)| *agent) || plan.jobs.contains(&true);
        let made = 1 + plan.offers.len() + plan.jobs.len();
        let stood = self.chronicle.matches.values().filter(|(_, stood)| *stood);
        let most: u64 = stood.map(|(found, _)| 4 + found.members.len() as u64).sum();
        let writes = self.outcome.writes.saturating_sub(made as u64 - 1);
        (!agents && !plan.is_disturbed() && plan.scheme.is_none() && writes > most)
            .then(|| format!("I13: {writes} writes for {} claims that stand", self.outcome.committed))
    }
}
