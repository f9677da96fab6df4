//! The events of a simulation, and its cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use anyhow::Result;
use claiming::{Claim, Decision, Event, NominationKind, Work};
use gangindex::Engine;
use matchmaker::{AdId, Config, Gang, PreemptionTerms, Root, RootAccounts, Snapshot};
use policy::{Amount, EvictionBudget};

use crate::chance::Chance;
use crate::fairness::accounts::{CHARGE_OF_ONE, Party, accounts_of, charge_of};
use crate::fairness::pool::SimulatedPool;
use crate::fairness::report::FairnessReport;
use crate::fairness::{PriorUse, Rules, Setting, Workload};

/// How many jobs of each account wait in a full pool, beside those that were preempted.
const BACKLOG: usize = 3;

/// A job, whose ad is at the place of its number. When it has ended, another one takes its number.
pub(super) struct SimulatedJob {
    pub(super) account: usize,
    pub(super) run: i64,
    pub(super) since: i64,
    pub(super) preemptions: u32,
    /// How long it runs at most, as far as it says so.
    pub(super) deadline: Option<i64>,
}

/// A gang that was handed on, until it is freed.
pub(super) struct Running {
    /// Distinguishes it from another gang of the same job.
    pub(super) number: u64,
    pub(super) gang: Gang,
    pub(super) claim: Claim,
    pub(super) committed_at: i64,
    pub(super) ends_at: i64,
    /// When its work has stopped, if it was told to.
    pub(super) stopped_at: Option<i64>,
    pub(super) preempted: bool,
    pub(super) is_freed: bool,
}

impl Running {
    pub(super) fn charge(&self) -> Amount {
        charge_of(&self.gang)
    }

    /// Whether it is committed and was not told to end.
    pub(super) fn stands(&self) -> bool {
        self.claim.decision == Decision::Committed && self.stopped_at.is_none()
    }
}

/// What is held for a job.
pub(super) struct HeldForJob {
    pub(super) gang: Gang,
    /// The victims, by the numbers of their gangs.
    pub(super) victims: Vec<u64>,
    pub(super) since: i64,
    pub(super) kind: NominationKind,
}

/// A simulation under way.
pub(super) struct Simulation<'s> {
    pub(super) setting: &'s Setting,
    pub(super) terms: EngineTerms,
    pub(super) leader: LeaderMemory,
    pub(super) pool: SimulatedPool,
    pub(super) accounts: SimulatedAccounts,
    pub(super) jobs: Vec<SimulatedJob>,
    arrivals: Arrivals,
    pub(super) waiting: BTreeSet<usize>,
    pub(super) claimed: Claimed,
    pub(super) nominations: BTreeMap<usize, HeldForJob>,
    pub(super) now: i64,
    pub(super) report: FairnessReport,
}

/// What cycles are run under.
pub(super) struct EngineTerms {
    pub(super) config: Config,
    pub(super) preemption: Option<PreemptionTerms>,
}

/// What the next leader does not know.
#[derive(Default)]
pub(super) struct LeaderMemory {
    pub(super) engine: Engine,
    pub(super) budget: EvictionBudget,
}

/// The accounts, and the one of each job, by its ad.
pub(super) struct SimulatedAccounts {
    pub(super) parties: Vec<Party>,
    account_of: RootAccounts,
}

/// Jobs that are still to come.
struct Arrivals {
    /// Jobs that are not there now.
    idle: BTreeSet<usize>,
    chance: Chance,
    /// When the next job of a stream arrives.
    next_at: i64,
}

/// What is claimed.
pub(super) struct Claimed {
    pub(super) running: BTreeMap<usize, Running>,
    /// By machine, the job that has it.
    pub(super) holders: Vec<Option<usize>>,
    /// How many gangs were claimed so far.
    pub(super) numbers: u64,
}

impl<'s> Simulation<'s> {
    pub(super) fn new(setting: &'s Setting) -> Result<Simulation<'s>> {
        let accounts = setting.weights.len();
        let count = match &setting.workload {
            Workload::Saturated { .. } => accounts * (setting.machines.len() + BACKLOG),
            Workload::Stream { .. } => setting.machines.len() + BACKLOG,
            Workload::Fixed(jobs) => jobs.len(),
        } + usize::from(setting.big.is_some());
        let parties = setting.weights.iter().enumerate();
        let parties: Vec<Party> =
            parties.map(|(number, weight)| Party::new(number, *weight, setting.half_life)).collect();
        let is_stream = matches!(setting.workload, Workload::Stream { .. });
        let account = |job: usize| match setting.big {
            Some(_) if job + 1 == count => accounts.saturating_sub(1),
            _ if is_stream => 0,
            _ => job % accounts.max(1),
        };
        let job = |job: usize| SimulatedJob { account: account(job), run: 0, since: 0, preemptions: 0, deadline: None };
        let jobs: Vec<SimulatedJob> = (0..count).map(job).collect();
        let is_regular = |job: &usize| setting.big.is_none() || job + 1 < count;
        let name = |job: &SimulatedJob| parties.get(job.account).map(|party| party.name.clone());
        let account_of =
            jobs.iter().enumerate().filter_map(|(place, job)| Some((AdId::at(place), name(job)?))).collect();
        let arrivals = Arrivals {
            idle: (0..count).filter(is_regular).collect(),
            chance: Chance::new(setting.seed),
            next_at: if is_stream { 1 } else { i64::MAX },
        };
        Ok(Simulation {
            setting,
            terms: EngineTerms {
                config: Config { explains: false, ..Config::product() },
                preemption: setting.rules.as_ref().map(Rules::terms).transpose()?,
            },
            leader: LeaderMemory::default(),
            pool: SimulatedPool::new(count, &setting.machines)?,
            accounts: SimulatedAccounts { parties, account_of },
            jobs,
            arrivals,
            waiting: BTreeSet::new(),
            claimed: Claimed { running: BTreeMap::new(), holders: vec![None; setting.machines.len()], numbers: 0 },
            nominations: BTreeMap::new(),
            now: 0,
            report: FairnessReport::default(),
        })
    }

    pub(super) fn run(&mut self) {
        self.begin();
        while self.now < self.setting.until {
            // A few times, as gangs that stop at once are free at once.
            for _ in 0..4 {
                if !self.cycle() {
                    break;
                }
            }
            let next = self.next_event();
            self.pass(next);
            self.now = next;
            self.events();
            if self.is_over() {
                break;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.report.big_waited.is_some()
            || matches!(self.setting.workload, Workload::Fixed(_)) && self.arrivals.idle.len() == self.jobs.len()
    }

    /// What was before, and the first jobs.
    fn begin(&mut self) {
        if let PriorUse::Monopoly(account) = self.setting.past {
            while self.claimed.holders.contains(&None) {
                let before = self.claimed.running.len();
                self.feed(account);
                self.cycle();
                if self.claimed.running.len() == before {
                    break;
                }
            }
            let held = self.claimed.holders.iter().flatten().count() as Amount * CHARGE_OF_ONE;
            self.accounts.parties.iter_mut().skip(account).take(1).for_each(|party| party.has_always_held(held));
        }
        match &self.setting.workload {
            Workload::Saturated { .. } => (0..self.accounts.parties.len()).for_each(|account| self.feed(account)),
            Workload::Stream { .. } => {}
            Workload::Fixed(jobs) => {
                for (job, (machines, run)) in jobs.iter().enumerate() {
                    let machines: Vec<Option<usize>> = machines.iter().copied().map(Some).collect();
                    self.arrives(job, &machines, *run);
                    // The first is there before the others come.
                    self.cycle();
                }
            }
        }
    }

    /// Lets jobs of an account arrive until enough of them wait.
    fn feed(&mut self, account: usize) {
        let Workload::Saturated { mean_run, sizes } = &self.setting.workload else { return };
        let is_own = |job: &&usize| self.jobs.get(**job).is_some_and(|job| job.account == account);
        let missing = BACKLOG.saturating_sub(self.waiting.iter().filter(is_own).count());
        let jobs: Vec<usize> = self.arrivals.idle.iter().filter(is_own).take(missing).copied().collect();
        for job in jobs {
            let size = sizes.get(self.arrivals.chance.below(sizes.len() as u64) as usize).copied().unwrap_or(1);
            let run = exponential(&mut self.arrivals.chance, *mean_run);
            self.arrives(job, &vec![None; size], run);
        }
    }

    fn arrives(&mut self, job: usize, machines: &[Option<usize>], run: i64) {
        self.arrivals.idle.remove(&job);
        if let Some(own) = self.jobs.get_mut(job)
            && self.pool.set_job(job, machines).is_ok()
        {
            (own.run, own.since, own.preemptions) = (run, self.now, 0);
            self.waiting.insert(job);
        }
    }

    /// Lets the next job of a stream arrive, and the one that needs many machines, if it is their time.
    fn stream(&mut self) {
        if let Workload::Stream { load, mean_run, longest, stated } = self.setting.workload
            && self.now >= self.arrivals.next_at
        {
            let run = exponential(&mut self.arrivals.chance, mean_run).min(longest);
            let says = self.arrivals.chance.permille(stated);
            let slots = i64::try_from(self.claimed.holders.len()).unwrap_or(1);
            self.arrivals.next_at =
                self.now + exponential(&mut self.arrivals.chance, (mean_run * 100 / (slots * load)).max(1));
            if let Some(job) = self.arrivals.idle.first().copied() {
                self.arrives(job, &[None], run);
                self.jobs.iter_mut().skip(job).take(1).for_each(|own| own.deadline = says.then_some(run));
            }
        }
        if let Some(big) = self.setting.big.filter(|big| big.comes == self.now) {
            let job = self.jobs.len().saturating_sub(1);
            if let Some(own) = self.jobs.get_mut(job)
                && self.pool.set_big_job(job, big.machines).is_ok()
            {
                (own.run, own.since) = (1, self.now);
                self.waiting.insert(job);
            }
        }
    }

    /// A job has run to its end, and is gone.
    pub(super) fn finished(&mut self, job: usize) {
        self.arrivals.idle.insert(job);
    }

    /// The account of a job.
    pub(super) fn account(&mut self, job: usize) -> Option<&mut Party> {
        self.accounts.parties.get_mut(self.jobs.get(job)?.account)
    }

    /// One cycle: nominations go on, gangs are found and claimed, and nominations are made for jobs that are left over. Says whether something
    /// is free by that.
    fn cycle(&mut self) -> bool {
        let pool = self.snapshot();
        self.nominations_go_on(&pool);
        // What was claimed or released just now is not in that snapshot.
        let pool = self.snapshot();
        let mut gangs = self.leader.engine.negotiate(&pool, &self.terms.config, self.now).gangs;
        let used = self.backfilled(&pool, &gangs);
        gangs.extend(used);
        for gang in &gangs {
            if let Some(root) = gang.root() {
                self.nominations.remove(&root.place());
                self.claim(root.place(), gang.clone());
            }
        }
        self.reserve_for_long_waits(&pool, &gangs);
        let preempts = self.preempt(&pool, &gangs);
        if preempts {
            let pool = self.snapshot();
            self.nominations_go_on(&pool);
        }
        preempts && self.setting.rules.as_ref().is_some_and(|rules| rules.grace_seconds == 0)
    }

    /// The pool, in which what is nominated counts as taken and as held.
    fn snapshot(&self) -> Snapshot {
        let mut pool = self.pool.snapshot();
        if !self.nominations.is_empty() {
            let nominated: Vec<Gang> = self.nominations.values().map(|own| own.gang.clone()).collect();
            pool = pool.after(&nominated);
        }
        let root = |job: &usize| {
            let own = self.jobs.get(*job)?;
            let (ad, submitter) = (AdId::at(*job), self.accounts.parties.get(own.account)?.name.clone());
            Some(Root { ad, submitter, priority: 0, since: own.since, exclusions: BTreeSet::new() })
        };
        pool.roots = self.waiting.iter().filter_map(root).collect();
        let nominated = self.nominations.iter();
        let nominated = nominated.filter_map(|(job, own)| Some((self.jobs.get(*job)?.account, charge_of(&own.gang))));
        pool.accounts =
            Some(Arc::new(accounts_of(&self.accounts.parties, nominated, &self.accounts.account_of, self.now)));
        pool
    }

    /// When something happens next.
    fn next_event(&self) -> i64 {
        let after = |step: i64| (self.now / step + 1) * step;
        let rules = self.setting.rules.as_ref();
        let ends = self.claimed.running.values().map(|running| running.stopped_at.unwrap_or(running.ends_at));
        let old_enough = self.claimed.running.iter().filter_map(|(job, running)| {
            let times = if rules?.doubles { self.jobs.get(*job)?.preemptions } else { 0 };
            Some(running.committed_at + (rules?.min_runtime_seconds << times.min(20)))
        });
        let late = self.nominations.values().filter_map(|own| Some(own.since + self.lasts(own)?));
        let big = self.setting.big.map(|big| big.comes);
        let long_enough = big.zip(self.setting.reservation).map(|(comes, rules)| comes + rules.after_seconds);
        let stream = big.into_iter().chain(long_enough).chain([self.arrivals.next_at]);
        let ahead = ends.chain(old_enough).chain(late).chain(stream).filter(|at| *at > self.now);
        let regular = [after(self.setting.half_life), after(self.setting.leader_every), self.setting.until];
        ahead.chain(regular).min().unwrap_or(self.setting.until)
    }

    /// Time passes.
    fn pass(&mut self, until: i64) {
        let seconds = Amount::from(until - self.now);
        let period = usize::try_from(self.now / self.setting.half_life).unwrap_or(0);
        while self.report.held.len() <= period {
            self.report.held.push(vec![0; self.accounts.parties.len()]);
        }
        if self.nominations.values().any(|own| own.kind == NominationKind::Reservation) {
            let free = self.claimed.holders.iter().filter(|holder| holder.is_none()).count();
            self.report.kept_idle += i64::try_from(free).unwrap_or(0) * (until - self.now);
        }
        let Some(held) = self.report.held.get_mut(period) else { return };
        for (own, party) in held.iter_mut().zip(&self.accounts.parties) {
            *own += party.usage.held() * seconds;
            self.report.charged += party.usage.held() * seconds;
        }
    }

    /// What happens at this time.
    fn events(&mut self) {
        for job in self.claimed.running.keys().copied().collect::<Vec<_>>() {
            let Some(running) = self.claimed.running.get(&job) else { continue };
            match running.stopped_at {
                Some(at) if at <= self.now => self.drive(job, Event::Work(Work::Absent)),
                None if running.ends_at <= self.now => self.completes(job),
                _ => {}
            }
        }
        if self.now % self.setting.leader_every == 0 {
            let now = self.now;
            self.accounts.parties.iter_mut().for_each(|party| party.is_taken_over(now));
            self.leader = LeaderMemory::default();
        }
        (0..self.accounts.parties.len()).for_each(|account| self.feed(account));
        self.stream();
    }
}

/// A number of seconds, distributed exponentially.
fn exponential(chance: &mut Chance, mean: i64) -> i64 {
    let uniform = (chance.below(1 << 53) + 1) as f64 / (1u64 << 53) as f64;
    ((-uniform.ln() * mean as f64).ceil() as i64).max(1)
}
