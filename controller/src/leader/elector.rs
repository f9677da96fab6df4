//! What the candidate wants into requests for the Lease, and the answers back, for as long as the process runs.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use pool::Trimmed;
use tokio::time::{Instant, timeout};

use crate::clock::Clock;
use crate::leader::lease_state::{LeaseAction, LeaseAnswer, LeaseState};
use crate::leader::record::{Timing, lease, stored};
use crate::leader::term::Leadership;
use crate::write::requests::MANAGER;

/// The Lease's name, as the chart's Role has it.
const NAME: &str = "gangmatch";

/// A candidate of the election, and its requests for the Lease, which wait behind no others.
pub(crate) struct Elector {
    api: Api<Trimmed<Lease>>,
    candidate: LeaseState,
    timing: Timing,
    leadership: Leadership,
    clock: Clock,
    started: Instant,
    /// It was said that this process leads, and not yet that it does not any more.
    led: bool,
    /// The Lease as last read or written.
    last: Option<Lease>,
}

impl Elector {
    pub(crate) fn new(
        client: Client,
        namespace: &str,
        identity: &str,
        timing: Timing,
        leadership: Leadership,
        clock: Clock,
    ) -> Elector {
        Elector {
            api: Api::namespaced(client, namespace),
            candidate: LeaseState::new(identity, timing),
            timing,
            leadership,
            clock,
            started: Instant::now(),
            led: false,
            last: None,
        }
    }

    /// Looks, takes, renews, until `stop` comes; then gives the Lease back.
    pub(crate) async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            match self.candidate.next(self.now_ms(), self.wall_us()) {
                LeaseAction::Rest(until_ms) => {
                    let rest = Duration::from_millis(until_ms.saturating_sub(self.now_ms()));
                    tokio::select! {
                        () = &mut stop => break,
                        () = tokio::time::sleep(rest) => self.candidate.woke(self.now_ms()),
                    }
                }
                next => self.go(next).await,
            }
        }
        self.give_back().await;
    }

    /// One request, and what it says about the term.
    async fn go(&mut self, next: LeaseAction) {
        if self.leadership.has_resigned() {
            self.candidate.resign();
        }
        let sent_ms = self.now_ms();
        let answer = self.ask(next).await;
        self.candidate.answered(answer, sent_ms, self.now_ms());
        // given up while the answer was under way
        if self.leadership.has_resigned() {
            self.candidate.resign();
        }
        let term = self.candidate.term(self.now_ms());
        let led = std::mem::replace(&mut self.led, term.is_some());
        match term {
            Some(term) => {
                self.leadership.set(term.epoch, self.started + Duration::from_millis(term.until_ms));
                if !led {
                    tracing::info!(epoch = term.epoch, "leading");
                }
            }
            None => {
                self.leadership.end();
                if led {
                    tracing::warn!("the lease is lost: nothing is written until it is won again");
                }
            }
        }
    }

    /// Two tries: a lease that is not given back runs out by itself.
    async fn give_back(&mut self) {
        self.leadership.end();
        for _ in 0..2 {
            let next = self.candidate.release(self.wall_us());
            let released = next.is_some();
            let sent_ms = self.now_ms();
            let answer = self.ask(next.unwrap_or(LeaseAction::Look)).await;
            let over = released && matches!(answer, LeaseAnswer::Written(_));
            self.candidate.answered(answer, sent_ms, self.now_ms());
            if over {
                tracing::info!("lease released");
                return;
            }
        }
    }

    async fn ask(&mut self, next: LeaseAction) -> LeaseAnswer {
        let request = async {
            match &next {
                LeaseAction::Look => self.api.get_opt(NAME).await.map(|found| found.map(|sent| sent.0)),
                LeaseAction::Create(record) => {
                    let lease = Trimmed(lease(NAME, None, None, record));
                    self.api.create(&params(), &lease).await.map(|sent| Some(sent.0))
                }
                LeaseAction::Replace(version, record) => {
                    let lease = Trimmed(lease(NAME, self.last.as_ref(), Some(version), record));
                    self.api.replace(NAME, &params(), &lease).await.map(|sent| Some(sent.0))
                }
                LeaseAction::Rest(_) => Ok(None),
            }
        };
        let answered = match timeout(Duration::from_millis(self.timing.request_ms()), request).await {
            Ok(answered) => answered,
            Err(_) => {
                tracing::warn!(lease = NAME, "request for the lease timed out");
                return LeaseAnswer::Unknown;
            }
        };
        match answered {
            Ok(found) => {
                self.last.clone_from(&found);
                let found = found.as_ref().map(stored);
                match (next, found) {
                    (LeaseAction::Create(_) | LeaseAction::Replace(..), Some(stored)) => LeaseAnswer::Written(stored),
                    (_, found) => LeaseAnswer::Found(found),
                }
            }
            // Without its namespace a Lease cannot be created, however soon it is tried again.
            Err(Error::Api(status))
                if status.code == 409 || status.code == 404 && !matches!(next, LeaseAction::Create(_)) =>
            {
                LeaseAnswer::Conflict
            }
            Err(error) => {
                tracing::warn!(lease = NAME, %error, "request for the lease failed");
                LeaseAnswer::Unknown
            }
        }
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn wall_us(&self) -> i64 {
        self.clock.now().as_microsecond()
    }
}

fn params() -> PostParams {
    PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() }
}
