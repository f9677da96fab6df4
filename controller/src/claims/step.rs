//! One step of a claim: what it reads of the claim when it begins, and what it hands back. The claim itself is changed only by the task
//! that drives it.

use std::sync::Arc;

use claiming::{Action, Claim, Event};
use crds::{Job, Refusal};
use pool::Objects;

use crate::claims::offers::Member;
use crate::claims::shared::Claims;
use crate::claims::stalls::{Retry, Setback};
use crate::claims::view::View;
use crate::context::Context;
use crate::write::answer::Answer;

/// What a claim has learned beside its state: what is verified, and what messages say.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    /// The members as the reserves returned them: the gang is verified on these.
    pub(super) members: Vec<Member>,
    /// Why the claim ends, for people.
    pub(super) message: String,
    /// What offers have refused.
    pub(super) refusals: Vec<Refusal>,
    /// What the objects showed of the claim, before it came to nothing.
    pub(super) seen: u64,
    /// The claim as its Match was written.
    pub(super) written: Option<Arc<View>>,
}

impl Facts {
    /// Adds what a step has learned.
    pub(super) fn extend(&mut self, learned: Facts) {
        let Facts { members, message, refusals, seen, written } = learned;
        self.members.extend(members);
        self.refusals.extend(refusals);
        if !message.is_empty() {
            self.message = message;
        }
        if seen != 0 {
            self.seen = seen;
        }
        self.written = written.or(self.written.take());
    }
}

/// What came of a step. `Err`: it came to nothing.
pub(super) type StepResult = Result<Event, Setback>;

/// One action of a claim.
pub(super) struct Step<'c> {
    pub(super) context: &'c Context,
    pub(super) claims: &'c Claims,
    pub(super) view: Arc<View>,
    pub(super) action: Action,
    /// The claim when the step began.
    pub(super) claim: Claim,
    /// What was known when the step began.
    pub(super) facts: Arc<Facts>,
    /// What the step has learned since.
    pub(super) learned: Facts,
}

impl<'c> Step<'c> {
    pub(super) fn new(
        claims: &'c Claims,
        view: Arc<View>,
        action: Action,
        claim: Claim,
        facts: Arc<Facts>,
    ) -> Step<'c> {
        Step { context: &claims.context, claims, view, action, claim, facts, learned: Facts::default() }
    }

    /// The step came to nothing.
    pub(super) fn failed(&self, why: impl Into<String>) -> Setback {
        Setback { action: self.action, why: why.into(), retry: Retry::BackOff }
    }

    /// The step cannot be done before something else happens.
    pub(super) fn waits(&self, why: impl Into<String>, retry: Retry) -> Setback {
        Setback { action: self.action, why: why.into(), retry }
    }

    /// What was answered; the step came to nothing by any other answer than this one.
    pub(super) fn done<K>(&self, answer: Answer<K>) -> Result<K, Setback> {
        match answer {
            Answer::Done(object) => Ok(object),
            answer => Err(self.lost(&answer)),
        }
    }

    /// The same; `None`: there is no such object.
    pub(super) fn found<K>(&self, answer: Answer<K>) -> Result<Option<K>, Setback> {
        match answer {
            Answer::Missing => Ok(None),
            answer => self.done(answer).map(Some),
        }
    }

    /// The step came to nothing by this answer.
    pub(super) fn lost<K>(&self, answer: &Answer<K>) -> Setback {
        self.failed(match answer {
            Answer::Unknown(unknown) => unknown.to_string(),
            Answer::Denied(denial) => denial.message.clone(),
            Answer::Missing => "no such object".to_owned(),
            Answer::Exists => "exists already".to_owned(),
            Answer::Done(_) => String::new(),
        })
    }

    /// Why the claim ends, for people.
    pub(super) fn message(&self) -> &str {
        if self.learned.message.is_empty() { &self.facts.message } else { &self.learned.message }
    }

    /// The job of the claim, or another one of its name.
    pub(super) fn job(&self) -> Option<Arc<Job>> {
        self.claims.job(&self.view)
    }

    /// Remembers what the objects show of the claim now: what the step itself has changed is no reason to try it again.
    pub(super) fn note_seen(&mut self, objects: &Objects) {
        self.learned.seen = self.claims.observe(&self.view, objects).seen;
    }
}
