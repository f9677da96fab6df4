//! A world at rest into what is wrong with it: leaks, jobs that wait in vain, too many writes.

use crate::coordinator::Coordinator;
use crate::invariants::leaks;
use crate::world::World;

impl World {
    /// The world has come to rest, or should have.
    pub(super) fn end(&mut self, rested: bool) {
        if !rested {
            self.outcome.wrong = Some("I12: the world never comes to rest".to_owned());
            return;
        }
        let waits = || {
            let mut fresh = Coordinator::new(u8::MAX, self.server.objects.clone(), true, self.plan.planted);
            fresh.could_match(self.now_ms).map(|job| format!("I10: job {job} waits, and there is a gang for it"))
        };
        self.outcome.wrong = leaks(&self.server).or_else(waits).or_else(|| self.over_budget());
    }

    /// Nobody disturbed: three writes and one for each offer to the commit, and one to tell the job.
    fn over_budget(&self) -> Option<String> {
        let plan = &self.plan;
        let agents = plan.offers.iter().any(|(agent, _)| *agent) || plan.jobs.contains(&true);
        let disturbed = plan.lost + plan.twice + plan.late > 0 || plan.lag_ms > 5 || !plan.happenings.is_empty();
        let made = 1 + plan.offers.len() + plan.jobs.len();
        let stood = self.chronicle.matches.values().filter(|(_, stood)| *stood);
        let most: u64 = stood.map(|(found, _)| 4 + found.members.len() as u64).sum();
        let writes = self.outcome.writes.saturating_sub(made as u64 - 1);
        (!agents && !disturbed && writes > most)
            .then(|| format!("I13: {writes} writes for {} claims that stand", self.outcome.committed))
    }
}
