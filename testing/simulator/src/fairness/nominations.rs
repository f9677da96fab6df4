//! Preemption in a simulated pool: nominations, by the product's functions.

use std::collections::BTreeSet;

use claiming::{NominatedSeats, NominationKind, NominationStep, Nominee, VictimClaim, nomination_steps};
use matchmaker::{AdId, Disagreement, Gang, HeldGang, Preempting, Proposal, Snapshot, preempt, verified};
use policy::{Amounts, taken_by_gang};

use crate::fairness::accounts::charge_of;
use crate::fairness::world::{HeldForJob, Running, Simulation};

impl Simulation<'_> {
    /// The next steps of all nominations. `pool`: what is nominated counts as taken.
    pub(super) fn nominations_go_on(&mut self, pool: &Snapshot) {
        for job in self.nominations.keys().copied().collect::<Vec<_>>() {
            let Some(nomination) = self.nominations.get(&job) else { continue };
            let Some(lasts) = self.lasts(nomination) else { continue };
            let known = claiming::Nomination {
                kind: nomination.kind,
                is_stored: true,
                is_right: Some(self.may_be_kept(job, nomination, pool)),
                nominee: if self.waiting.contains(&job) { Nominee::Waits } else { Nominee::Held },
                victims: nomination.victims.iter().map(|victim| self.victim(*victim)).collect(),
                seats: self.seats(pool, &nomination.gang),
                is_late: self.now >= nomination.since + lasts,
            };
            for step in nomination_steps(&known) {
                match step {
                    NominationStep::Claim => {
                        if let Some(nomination) = self.nominations.remove(&job) {
                            self.claim(job, nomination.gang);
                        }
                    }
                    NominationStep::Release(place) => {
                        let number = self.nominations.get(&job).and_then(|own| own.victims.get(place)).copied();
                        let victim = number.and_then(|number| self.job_of(number));
                        let grace = self.setting.rules.as_ref().map_or(0, |rules| rules.grace_seconds);
                        victim.into_iter().for_each(|victim| self.preempts(victim, grace));
                    }
                    NominationStep::Drop(_) => {
                        self.report.nominations.dropped += 1;
                        self.nominations.remove(&job);
                    }
                    NominationStep::Store | NominationStep::Judge => {}
                }
            }
        }
    }

    /// How long machines are held by a nomination, in seconds.
    pub(super) fn lasts(&self, nomination: &HeldForJob) -> Option<i64> {
        match nomination.kind {
            NominationKind::Preemption => self.setting.rules.as_ref().map(|rules| rules.nomination_seconds),
            NominationKind::Reservation => self.setting.reservation.map(|rules| rules.for_seconds),
        }
    }

    /// The job of a gang that is not freed.
    fn job_of(&self, number: u64) -> Option<usize> {
        self.claimed.running.iter().find(|(_, running)| running.number == number).map(|(job, _)| *job)
    }

    fn victim(&self, number: u64) -> VictimClaim {
        match self.job_of(number).and_then(|job| self.claimed.running.get(&job)) {
            None => VictimClaim::Ended,
            Some(running) if running.stands() => VictimClaim::Committed,
            Some(_) => VictimClaim::Ending,
        }
    }

    fn seats(&self, pool: &Snapshot, gang: &Gang) -> NominatedSeats {
        // Machines have one slot each: no two nominations are about the same one.
        let without = pool.freed(gang.members.iter().map(|member| (member.ad, &member.ask)));
        match verified(&without, gang, &self.terms.config, self.now) {
            Ok(_) => NominatedSeats::Free,
            Err(Disagreement::NoRoom(_)) => NominatedSeats::Held,
            Err(_) => NominatedSeats::Broken,
        }
    }

    /// Which gangs are to end for the jobs that a cycle has left over. Says whether there are any.
    pub(super) fn preempt(&mut self, pool: &Snapshot, gangs: &[Gang]) -> bool {
        let (Some(terms), Some(rules)) = (self.terms.preemption.clone(), &self.setting.rules) else { return false };
        let placed: BTreeSet<AdId> = gangs.iter().filter_map(Gang::root).collect();
        let waiting = pool.roots.iter().map(|root| root.ad).filter(|ad| !placed.contains(ad)).collect();
        let named: BTreeSet<u64> = self.nominations.values().flat_map(|own| own.victims.iter().copied()).collect();
        let is_ending = |running: &Running| !running.stands() || named.contains(&running.number);
        let of = |ending: bool| {
            let gangs = self.claimed.running.iter().filter(move |(_, running)| is_ending(running) == ending);
            gangs.filter_map(|(job, running)| self.held_gang(*job, running)).collect::<Vec<HeldGang>>()
        };
        let (held, ending) = (of(false), of(true));
        let spared = self.nominations.keys().map(|job| AdId::at(*job)).collect();
        let now_ms = u64::try_from(self.now).unwrap_or(0) * 1000;
        let evictions = self.leader.budget.left(rules.evictions_per_hour, now_ms);
        let preempting =
            Preempting { terms: &terms, held: &held, ending: &ending, spared: &spared, evictions: &evictions };
        let mut engine = std::mem::take(&mut self.leader.engine);
        let mut search = |view: &Snapshot, config: &matchmaker::Config, now: i64| engine.negotiate(view, config, now);
        let found = preempt(
            (pool, gangs),
            &waiting,
            &preempting,
            (&self.terms.config, self.now),
            &mut matchmaker::SideSearches::new(&mut search),
        );
        self.leader.engine = engine;
        let proposals: Vec<Proposal> = found.answers.into_iter().filter_map(|(_, answer)| answer.ok()).collect();
        for Proposal { root, gang, victims, .. } in &proposals {
            let victims = victims.iter().filter_map(|place| held.get(*place));
            let victims: Vec<u64> = victims.filter_map(|gang| gang.name.parse().ok()).collect();
            let account = self.jobs.get(root.place()).and_then(|job| self.accounts.parties.get(job.account));
            self.leader.budget.spend(account.map_or("", |party| &*party.name), victims.len(), now_ms);
            self.report.nominations.made += 1;
            let (gang, since, kind) = (gang.clone(), self.now, NominationKind::Preemption);
            self.nominations.insert(root.place(), HeldForJob { gang, victims, since, kind });
        }
        !proposals.is_empty()
    }

    fn held_gang(&self, job: usize, running: &Running) -> Option<HeldGang> {
        let own = self.jobs.get(job)?;
        Some(HeldGang {
            name: running.number.to_string(),
            account: self.accounts.parties.get(own.account)?.name.clone(),
            priority: 0,
            since: running.committed_at,
            preemptions: if self.setting.rules.as_ref()?.doubles { own.preemptions } else { 0 },
            takes: taken_by_gang(charge_of(&running.gang), Amounts::new()),
            gang: running.gang.clone(),
        })
    }
}
