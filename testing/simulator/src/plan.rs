//! A seed into a plan: who there is, what people do and what goes wrong, and when. A plan can be made smaller.

use std::rc::Rc;

use crate::chance::Chance;
use crate::planted::Planted;
use crate::scheme::Scheme;

/// When people and faults leave the world alone.
pub const CALM_MS: u64 = 25_000;

/// One history, but for the chances of single messages.
#[derive(Clone, Debug)]
pub struct HistoryPlan {
    /// Where it comes from.
    pub seed: u64,
    /// How many coordinators.
    pub coordinators: u8,
    /// All lead at once.
    pub lease_ignorer: bool,
    /// The offers: whether an agent speaks for it, and its capacity.
    pub offers: Vec<(bool, i64)>,
    /// The jobs: whether it has a batch Job.
    pub jobs: Vec<bool>,
    /// Of a thousand messages, how many are lost, come twice, come late.
    pub lost: u64,
    /// See `lost`.
    pub twice: u64,
    /// See `lost`.
    pub late: u64,
    /// How far watches lag behind, at most.
    pub lag_ms: u64,
    /// What happens.
    pub happenings: Vec<(u64, Happening)>,
    /// A mistake that is put in.
    pub planted: Planted,
    /// Accounts and preemption, if there are any.
    pub scheme: Option<Rc<Scheme>>,
}

/// What people do, and what goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "each is what its name says; numbers name coordinators, jobs and offers; times in milliseconds"
)]
pub enum Happening {
    Crash(u8),
    Pause(u8, u64),
    AgentDies(u8, u64),
    Suspend(u8),
    Resume(u8),
    Done(u8),
    DeleteJob(u8),
    MakeJob(u8),
    DeleteMatch(u8),
    DeleteBatch(u8),
    DeleteOffer(u8),
    MakeOffer(u8),
    Evict(u8),
    Drain(u8),
    Open(u8),
    Capacity(u8, i64),
}

impl Happening {
    fn is_about_processes(self) -> bool {
        matches!(self, Happening::Crash(_) | Happening::Pause(..) | Happening::AgentDies(..))
    }
}

impl HistoryPlan {
    /// The plan of a seed.
    pub fn new(seed: u64, planted: Planted) -> HistoryPlan {
        let mut chance = Chance::new(seed);
        let faults = !chance.permille(100);
        let often = |chance: &mut Chance, most: u64| if faults { chance.below(most) } else { 0 };
        let coordinators = if faults { 1 + chance.below(3) as u8 } else { 1 };
        let lease_ignorer = faults && chance.permille(400);
        let offers = (0..chance.between(2, 4)).map(|_| (chance.permille(400), 1 + chance.below(2) as i64)).collect();
        let jobs: Vec<bool> = (0..chance.between(1, 3)).map(|_| chance.permille(500)).collect();
        let mut plan = HistoryPlan {
            seed,
            coordinators,
            lease_ignorer,
            offers,
            jobs,
            lost: often(&mut chance, 80),
            twice: often(&mut chance, 60),
            late: often(&mut chance, 150),
            lag_ms: 5 + often(&mut chance, 1_500),
            happenings: Vec::new(),
            planted,
            scheme: None,
        };
        if faults {
            let count = chance.between(1, 10);
            // much of it while the first claims are made
            let when = |chance: &mut Chance| {
                if chance.permille(600) { chance.between(100, 4_000) } else { chance.between(500, CALM_MS - 2_000) }
            };
            plan.happenings = (0..count).map(|_| (when(&mut chance), plan.happening(&mut chance))).collect();
            plan.complete(&mut chance);
            plan.happenings.sort_by_key(|(time, _)| *time);
        }
        plan
    }

    /// The plan of a seed with accounts and preemption: more jobs than there is room for, most of which run until they are preempted.
    pub fn with_preemption(seed: u64, planted: Planted) -> HistoryPlan {
        let mut plan = HistoryPlan::new(seed, planted);
        let mut chance = Chance::new(seed ^ 0xacc0);
        for (agent, capacity) in &mut plan.offers {
            (*agent, *capacity) = (*agent && chance.permille(300), 1 + i64::from(chance.permille(300)));
        }
        plan.jobs = (0..chance.between(3, 5)).map(|_| chance.permille(150)).collect();
        plan.happenings.retain(|(_, happening)| happening.is_about_processes() || chance.permille(500));
        plan.scheme = Some(Rc::new(Scheme::new(&mut chance, plan.coordinators, plan.is_disturbed())));
        plan
    }

    /// Whether messages, processes or users do what they should not.
    pub fn is_disturbed(&self) -> bool {
        self.lost + self.twice + self.late > 0 || self.lag_ms > 5 || !self.happenings.is_empty()
    }

    fn happening(&self, chance: &mut Chance) -> Happening {
        let coordinator = chance.below(u64::from(self.coordinators)) as u8;
        let job = chance.below(self.jobs.len() as u64) as u8;
        let offer = chance.below(self.offers.len() as u64) as u8;
        match chance.below(24) {
            0..=3 => Happening::Crash(coordinator),
            4..=6 => Happening::Pause(coordinator, chance.between(500, 12_000)),
            7 | 8 => Happening::AgentDies(offer, chance.between(500, 12_000)),
            9 | 10 => Happening::Suspend(job),
            11 => Happening::Done(job),
            12 => Happening::DeleteJob(job),
            13..=17 => Happening::DeleteMatch(job),
            18 => Happening::DeleteBatch(job),
            19 | 20 => Happening::DeleteOffer(offer),
            21 => Happening::Evict(offer),
            22 => Happening::Drain(offer),
            _ => Happening::Capacity(offer, chance.below(3) as i64),
        }
    }

    /// What was taken away comes back, mostly.
    fn complete(&mut self, chance: &mut Chance) {
        let mut more = Vec::new();
        for (time, happening) in &self.happenings {
            let back = match happening {
                Happening::Suspend(job) => Happening::Resume(*job),
                Happening::DeleteJob(job) => Happening::MakeJob(*job),
                Happening::DeleteOffer(offer) => Happening::MakeOffer(*offer),
                Happening::Evict(offer) | Happening::Drain(offer) => Happening::Open(*offer),
                _ => continue,
            };
            if chance.permille(800) {
                more.push((time.saturating_add(chance.between(10, 4_000)).min(CALM_MS - 1_000), back));
            }
        }
        self.happenings.extend(more);
    }

    /// Plans that are this one, with one thing less.
    pub fn smaller(&self) -> Vec<HistoryPlan> {
        let mut all = Vec::new();
        for place in 0..self.happenings.len() {
            let mut plan = self.clone();
            plan.happenings.remove(place);
            all.push(plan);
        }
        let mut change = |change: &dyn Fn(&mut HistoryPlan)| {
            let mut plan = self.clone();
            change(&mut plan);
            all.push(plan);
        };
        if self.jobs.len() > 1 {
            change(&|plan| plan.jobs.truncate(plan.jobs.len() - 1));
        }
        if self.offers.len() > 2 {
            change(&|plan| plan.offers.truncate(plan.offers.len() - 1));
        }
        if self.coordinators > 1 {
            change(&|plan| plan.coordinators -= 1);
        }
        for (number, (agent, _)) in self.offers.iter().enumerate().filter(|(_, offer)| offer.0) {
            change(&|plan| plan.offers.iter_mut().skip(number).take(1).for_each(|offer| offer.0 = !*agent));
        }
        for (zero, is_set) in [(0, self.lost > 0), (1, self.twice > 0), (2, self.late > 0), (3, self.lag_ms > 5)] {
            if is_set {
                change(&|plan| match zero {
                    0 => plan.lost = 0,
                    1 => plan.twice = 0,
                    2 => plan.late = 0,
                    _ => plan.lag_ms = 5,
                });
            }
        }
        all
    }
}
