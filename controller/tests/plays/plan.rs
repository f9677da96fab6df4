//! A seed into a plan: which objects there are, what people do and what goes wrong, and when. A plan can be made smaller.

use sampling::Random;

use crate::weather::Weather;

/// When people and faults leave the cluster alone.
pub(crate) const CALM_MS: i64 = 25_000;

/// One history, but for the chances of single requests.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Where it comes from.
    pub(crate) seed: u64,
    /// How many controllers.
    pub(crate) controllers: usize,
    /// All of them lead at once.
    pub(crate) all_lead: bool,
    /// The machines: whether an agent speaks for it, and its slots.
    pub(crate) machines: Vec<(bool, i64)>,
    /// The licenses: whether claims of one user share a seat, and its seats.
    pub(crate) licenses: Vec<(bool, i64)>,
    /// The jobs: whether it has a batch Job.
    pub(crate) jobs: Vec<bool>,
    /// How long a pod that is deleted takes to end.
    pub(crate) pods_end_seconds: i64,
    /// What happens to requests and watches.
    pub(crate) weather: Weather,
    /// What people do, and what happens to processes.
    pub(crate) happenings: Vec<(i64, Happening)>,
}

/// What people do, and what goes wrong. Numbers name controllers, jobs and offers; times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happening {
    Crash(usize),
    Pause(usize, i64),
    DropWatches(usize),
    FreezeWatches(usize),
    Compact(usize),
    AgentDies(usize, i64),
    Suspend(usize),
    Resume(usize),
    Done(usize),
    DeleteJob(usize),
    MakeJob(usize),
    DeleteMatch(usize),
    DeleteBatch(usize),
    DeleteOffer(usize),
    MakeOffer(usize),
    HoldAndDrain(usize),
    Hold(usize),
    Open(usize),
    Capacity(usize, i64),
}

impl Plan {
    /// The plan of a seed.
    pub(crate) fn new(seed: u64) -> Plan {
        let mut chance = Random::stream(seed, "plan");
        let faults = !chance.happens(100);
        let controllers = if faults { 1 + chance.index(3) } else { 1 };
        let all_lead = faults && chance.happens(400);
        let machines = (0..chance.between(1, 3)).map(|_| (chance.happens(400), chance.between(1, 2))).collect();
        let licenses = (0..chance.between(1, 2)).map(|_| (chance.happens(300), chance.between(1, 2))).collect();
        let jobs: Vec<bool> = (0..chance.between(1, 3)).map(|_| chance.happens(500)).collect();
        let pods_end_seconds = chance.between(0, 3);
        let weather = if faults { Weather::by(&mut chance) } else { Weather::default() };
        let happenings = Vec::new();
        let mut plan =
            Plan { seed, controllers, all_lead, machines, licenses, jobs, pods_end_seconds, weather, happenings };
        if faults {
            // much of it while the first claims are made
            let when = |chance: &mut Random| {
                if chance.happens(600) { chance.between(100, 4_000) } else { chance.between(500, CALM_MS - 2_000) }
            };
            let count = chance.between(1, 10);
            plan.happenings = (0..count).map(|_| (when(&mut chance), plan.happening(&mut chance))).collect();
            plan.complete(&mut chance);
            plan.happenings.sort_by_key(|(time, _)| *time);
        }
        plan
    }

    fn happening(&self, chance: &mut Random) -> Happening {
        let controller = chance.index(self.controllers);
        let job = chance.index(self.jobs.len());
        let offer = chance.index(self.machines.len() + self.licenses.len());
        match chance.below(27) {
            0..=3 => Happening::Crash(controller),
            4..=6 => Happening::Pause(controller, chance.between(500, 20_000)),
            7 | 8 => Happening::AgentDies(offer, chance.between(500, 12_000)),
            9 | 10 => Happening::Suspend(job),
            11 => Happening::Done(job),
            12 => Happening::DeleteJob(job),
            13..=17 => Happening::DeleteMatch(job),
            18 => Happening::DeleteBatch(job),
            19 | 20 => Happening::DeleteOffer(offer),
            21 => Happening::HoldAndDrain(offer),
            22 => Happening::Hold(offer),
            23 => Happening::DropWatches(controller),
            24 => Happening::FreezeWatches(controller),
            25 => Happening::Compact(controller),
            _ => Happening::Capacity(offer, chance.between(0, 2)),
        }
    }

    /// What was taken away comes back, mostly.
    fn complete(&mut self, chance: &mut Random) {
        let mut more = Vec::new();
        for (time, happening) in &self.happenings {
            let back = match happening {
                Happening::Suspend(job) => Happening::Resume(*job),
                Happening::DeleteJob(job) => Happening::MakeJob(*job),
                Happening::DeleteOffer(offer) => Happening::MakeOffer(*offer),
                Happening::HoldAndDrain(offer) | Happening::Hold(offer) => Happening::Open(*offer),
                _ => continue,
            };
            if chance.happens(800) {
                more.push(((time + chance.between(10, 4_000)).min(CALM_MS - 1_000), back));
            }
        }
        self.happenings.extend(more);
    }

    /// Plans that are this one, with one thing less.
    pub(crate) fn smaller(&self) -> Vec<Plan> {
        let mut all = Vec::new();
        let mut change = |is_less: bool, change: &dyn Fn(&mut Plan)| {
            let mut plan = self.clone();
            change(&mut plan);
            all.extend(is_less.then_some(plan));
        };
        for place in 0..self.happenings.len() {
            change(true, &|plan| plan.happenings = without(&plan.happenings, place));
        }
        change(self.jobs.len() > 1, &|plan| plan.jobs.truncate(plan.jobs.len() - 1));
        change(self.licenses.len() > 1, &|plan| plan.licenses.truncate(plan.licenses.len() - 1));
        change(self.controllers > 1, &|plan| plan.controllers -= 1);
        for (number, (agent, _)) in self.machines.iter().enumerate() {
            change(*agent, &|plan| plan.machines[number].0 = false);
        }
        for weather in self.weather.better() {
            change(true, &|plan| plan.weather = weather.clone());
        }
        all
    }
}

/// A list without what stands at this place.
fn without(all: &[(i64, Happening)], place: usize) -> Vec<(i64, Happening)> {
    let others = all.iter().enumerate().filter(|(number, _)| *number != place);
    others.map(|(_, happening)| *happening).collect()
}
