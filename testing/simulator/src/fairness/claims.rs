//! The claims of a simulated pool: every action of the step function is carried out at once.

use std::collections::VecDeque;

use claiming::{Action, Claim, Decision, Digest, Event, Hold, Reason, Work, step};
use matchmaker::Gang;
use policy::{Amount, MemberCharge};

use crate::fairness::accounts::CHARGE_OF_ONE;
use crate::fairness::report::Put;
use crate::fairness::world::{Running, Simulation};

impl Simulation<'_> {
    /// Claims a gang for a job that waits.
    pub(super) fn claim(&mut self, job: usize, gang: Gang) {
        let legs = vec![Hold::Free; gang.members.len().saturating_sub(1)];
        let mut claim = Claim::seen(Decision::Absent, Hold::Free, legs, u64::MAX);
        claim.work = Work::Absent;
        self.claimed.numbers += 1;
        let run = self.jobs.get(job).map_or(0, |job| job.run);
        let running = Running {
            number: self.claimed.numbers,
            gang,
            claim,
            committed_at: self.now,
            ends_at: self.now + run,
            stopped_at: None,
            preempted: false,
            is_freed: false,
        };
        self.waiting.remove(&job);
        self.claimed.running.insert(job, running);
        self.drive(job, Event::Tick);
    }

    /// The work of a job has ended by itself.
    pub(super) fn completes(&mut self, job: usize) {
        if let Some(running) = self.claimed.running.get_mut(&job) {
            running.stopped_at = Some(self.now);
        }
        self.drive(job, Event::Work(Work::Finished(true)));
    }

    /// The gang of a job is preempted: its work is told to stop.
    pub(super) fn preempts(&mut self, job: usize, grace: i64) {
        if let Some(running) = self.claimed.running.get_mut(&job) {
            (running.preempted, running.stopped_at) = (true, Some(self.now + grace));
        }
        self.drive(job, Event::Exit(Reason::Preempted));
    }

    /// One event into a claim, and what it leads to.
    pub(super) fn drive(&mut self, job: usize, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let Some(running) = self.claimed.running.get_mut(&job) else { return };
            let now_ms = u64::try_from(self.now).unwrap_or(0) * 1000;
            let (claim, actions) = step(running.claim.clone(), event, now_ms);
            running.claim = claim;
            events.extend(actions.into_iter().filter_map(|action| self.carried_out(job, action)));
        }
        if self.claimed.running.get(&job).is_some_and(|running| running.is_freed) {
            self.ended(job);
        }
    }

    /// What an action comes to; none if that is not known yet.
    fn carried_out(&mut self, job: usize, action: Action) -> Option<Event> {
        let running = self.claimed.running.get_mut(&job)?;
        Some(match action {
            Action::CreateMatch => Event::MatchCreated,
            Action::ReserveRoot => Event::RootReserved,
            Action::Reserve(leg) => self.reserve(job, leg),
            Action::Verify => Event::Verified,
            Action::ConfirmExit(reason) => Event::ExitConfirmed(reason),
            Action::Commit => {
                self.commit(job);
                Event::Decided(Decision::Committed)
            }
            Action::Abort(_) => {
                self.report.aborted += 1;
                Event::Decided(Decision::Aborted)
            }
            Action::NotifyJob => Event::JobNotified,
            Action::ReadDecision => Event::DecisionRead(running.claim.decision),
            Action::MakeWork => Event::Work(Work::Suspended(Digest(1))),
            Action::StartWork(_) => Event::Work(Work::Started),
            Action::Release(_) => Event::Decided(Decision::Released),
            Action::StopWork if running.stopped_at.is_some_and(|at| at > self.now) => return None,
            Action::StopWork => Event::Work(Work::Absent),
            Action::ListWork => Event::NoWork,
            Action::Free(leg) => {
                self.free(job, leg);
                Event::Freed(leg)
            }
            Action::ListEntries => Event::NoEntries,
            Action::FreeRoot => {
                running.is_freed = true;
                Event::RootFreed
            }
            // No agent speaks for these machines, and no batch Job is of another claim.
            Action::RequestVote(_)
            | Action::NotifyAgent(..)
            | Action::StopAgent(_)
            | Action::MarkLost(_)
            | Action::ClearWork => Event::Failed(action),
        })
    }

    /// The number of the machine of a leg.
    fn machine_of(&self, job: usize, leg: usize) -> Option<usize> {
        self.pool.number(self.claimed.running.get(&job)?.gang.members.get(leg + 1)?.ad)
    }

    fn reserve(&mut self, job: usize, leg: usize) -> Event {
        let machine = self.machine_of(job, leg);
        match machine.and_then(|machine| self.claimed.holders.get_mut(machine)) {
            Some(holder @ None) => {
                *holder = Some(job);
                machine.into_iter().for_each(|machine| self.pool.set_taken(machine, true));
                Event::Reserved(leg)
            }
            _ => Event::Refused(leg, Reason::CapacityTaken),
        }
    }

    fn free(&mut self, job: usize, leg: usize) {
        let machine = self.machine_of(job, leg);
        if let Some((machine, holder)) =
            machine.and_then(|machine| Some((machine, self.claimed.holders.get_mut(machine)?)))
            && *holder == Some(job)
        {
            *holder = None;
            self.pool.set_taken(machine, false);
        }
    }

    fn commit(&mut self, job: usize) {
        let Some(running) = self.claimed.running.get(&job) else { return };
        let members = running.gang.members.iter().skip(1);
        let members = members.map(|member| MemberCharge {
            offer: member.ad.place().to_string(),
            charge: CHARGE_OF_ONE,
            share: None,
        });
        let claim = policy::Claim { from: self.now, to: None, members: members.collect() };
        self.report.claims += 1;
        if self.setting.big.is_some() && job + 1 == self.jobs.len() {
            self.report.big_waited = self.jobs.get(job).map(|own| self.now - own.since);
        }
        if let Some(party) = self.account(job) {
            party.begins(job, claim);
        }
    }

    /// All of a claim is freed.
    fn ended(&mut self, job: usize) {
        let Some(running) = self.claimed.running.remove(&job) else { return };
        let now = self.now;
        if let Some(party) = self.account(job) {
            party.ends(job, now);
        }
        if !running.preempted {
            self.report.finished += 1;
            self.finished(job);
            return;
        }
        self.report.preemptions += 1;
        self.report.lost += running.charge() * Amount::from(now - running.committed_at);
        let least = self.setting.rules.as_ref().map_or(0, |rules| rules.min_runtime_seconds);
        if let Some(own) = self.jobs.get_mut(job) {
            own.preemptions += 1;
            let put = Put::of(own.preemptions, own.run, least);
            if put.times > self.report.worst.times {
                self.report.worst = put;
            }
            if put.times > put.most {
                self.report.beyond.get_or_insert(put);
            }
        }
        self.waiting.insert(job);
    }
}
