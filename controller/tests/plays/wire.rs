//! The way between one controller and the server: where writes are counted, and struck.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use apiserver::{Answer, Call, Reply, Server, Verb};
use futures::StreamExt;
use futures::future::{BoxFuture, pending};
use http::{Request, Response};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use crate::faults::{Fault, Strike, Twist};
use crate::stage::Meddle;

/// How long a request is on its way, and an answer.
const TRAVEL: Duration = Duration::from_millis(1);

/// One controller's way to the server.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Mutex<Line>>);

/// What is known of the way.
pub(crate) struct Line {
    server: Server,
    pub(crate) strike: Option<Strike>,
    /// Writes so far, and what they were.
    counted: usize,
    /// Requests so far, but for watches and the election.
    pub(crate) asked: usize,
    pub(crate) log: Vec<String>,
    /// What has killed whoever is at this end.
    pub(crate) dead: Option<Fault>,
    pub(crate) struck: bool,
    /// Writes of a dead controller that are still on their way.
    pub(crate) late: Vec<Call>,
    /// Writes that are kept back, and who waits for their answers.
    pub(crate) held: Vec<(Call, oneshot::Sender<Answer>)>,
    /// What is kept back.
    pub(crate) keeps: Option<Keep>,
    /// What the server never does, and answers with 503.
    pub(crate) never: Option<fn(&Call) -> bool>,
    /// What the server refuses for good, with 422.
    pub(crate) refuses: Option<fn(&Call) -> bool>,
    cuts: Arc<watch::Sender<Cut>>,
    watches: u64,
    pub(crate) meddle: Arc<Mutex<Option<Meddle>>>,
    pub(crate) twist: Twist,
    /// What the server's revision was, and when: for reads that show the past.
    pub(crate) past: Arc<Mutex<Vec<(i64, i64)>>>,
}

/// Writes that are kept back.
#[derive(Clone, Copy)]
pub(crate) struct Keep {
    pub(crate) which: fn(&Call) -> bool,
    /// How many of them yet.
    pub(crate) left: usize,
}

/// The watches up to this number have broken off, or say nothing any more; nor do those of the silent kind.
#[derive(Clone, Copy, Debug, Default)]
struct Cut {
    dropped: u64,
    frozen: u64,
    silent: &'static str,
}

impl Wire {
    pub(crate) fn new(
        server: Server,
        strike: Option<Strike>,
        meddle: Arc<Mutex<Option<Meddle>>>,
        twist: Twist,
    ) -> Wire {
        Wire(Arc::new(Mutex::new(Line {
            server,
            strike,
            counted: 0,
            asked: 0,
            log: Vec::new(),
            dead: None,
            struck: false,
            late: Vec::new(),
            held: Vec::new(),
            keeps: None,
            never: None,
            refuses: None,
            cuts: Arc::new(watch::Sender::new(Cut::default())),
            watches: 0,
            meddle,
            twist,
            past: Arc::default(),
        })))
    }

    pub(crate) fn line(&self) -> MutexGuard<'_, Line> {
        self.0.lock().unwrap()
    }

    async fn send(self, call: Call) -> Response<Reply> {
        let met = self.line().meets(&call);
        self.alive().await;
        sleep(TRAVEL).await;
        // What they had sent before they died after a write still arrives.
        if self.line().dead == Some(Fault::KilledAfter) && call.verb.writes() {
            self.line().deliver(&call);
        }
        self.alive().await;
        let response = self.arrive(&call, met).await;
        sleep(TRAVEL).await;
        self.alive().await;
        response
    }

    /// The dead send nothing and hear nothing.
    async fn alive(&self) {
        let dead = self.line().dead.is_some();
        if dead {
            pending().await
        }
    }

    async fn arrive(&self, call: &Call, met: Option<Fault>) -> Response<Reply> {
        let Some(fault) = met else { return self.line().respond(call) };
        match fault {
            Fault::KilledBefore => self.die(fault).await,
            Fault::KilledAfter => {
                self.line().deliver(call);
                self.die(fault).await
            }
            Fault::Late => {
                self.line().late.push(call.clone());
                self.die(fault).await
            }
            Fault::Lost => pending().await,
            Fault::AnswerLost => {
                self.line().deliver(call);
                pending().await
            }
            Fault::Refused(409) => {
                Answer::failure(409, "Conflict", "the object has been modified", Value::Null).response()
            }
            Fault::Refused(429) => Answer::too_busy(1).response(),
            Fault::Refused(code) => Answer::error(code).response(),
            Fault::DoneAndTimedOut => {
                self.line().deliver(call);
                Answer::error(504).response()
            }
            Fault::WatchesDropped | Fault::WatchesFrozen | Fault::Compacted => {
                let response = self.line().respond(call);
                self.line().cut(fault);
                response
            }
            Fault::Held => {
                let (answer, comes) = oneshot::channel();
                self.line().held.push((call.clone(), answer));
                match comes.await {
                    Ok(answer) => answer.response(),
                    Err(_) => pending().await,
                }
            }
        }
    }

    async fn die(&self, fault: Fault) -> Response<Reply> {
        self.line().dead = Some(fault);
        pending().await
    }
}

impl Line {
    /// Counts a write, and says what it meets.
    fn meets(&mut self, call: &Call) -> Option<Fault> {
        self.asked += usize::from(call.verb != Verb::Watch && call.plural != "leases");
        if !call.verb.writes() || self.dead.is_some() {
            return None;
        }
        let leases = self.strike.is_some_and(|strike| strike.leases);
        if call.plural == "leases" && !leases {
            return None;
        }
        self.counted += 1;
        self.log.push(call.to_string());
        if let Some(keep) = self.keeps.as_mut().filter(|keep| keep.left > 0 && (keep.which)(call)) {
            keep.left -= 1;
            return Some(Fault::Held);
        }
        if self.never.is_some_and(|never| never(call)) {
            return Some(Fault::Refused(503));
        }
        let strike = self.strike.filter(|strike| strike.ordinal == self.counted)?;
        self.struck = true;
        Some(strike.fault)
    }

    /// What the server makes of it, and then whoever meddles with it.
    pub(crate) fn deliver(&mut self, call: &Call) -> Answer {
        let call = &self.twisted(call);
        let answer = match (self.twist, call.verb.writes()) {
            (_, true) if self.refuses.is_some_and(|refuses| refuses(call)) => {
                Answer::failure(422, "Invalid", "patch: it cannot be read back", Value::Null)
            }
            (Twist::OldReads(at), false) => {
                let past = self.past.lock().unwrap();
                let shown = past.iter().rev().find(|(then, _)| *then <= at).map_or(0, |(_, revision)| *revision);
                let now = past.last().map_or(0, |(now, _)| *now);
                if now > at { self.server.answer_as_of(call, shown) } else { self.server.answer(call) }
            }
            (Twist::Forgets, true) if call.plural == "licenses" && call.verb == Verb::Patch => {
                // What it would have been: asked of a copy.
                self.server.copy().answer(call)
            }
            _ => self.server.answer(call),
        };
        if call.verb.writes() && answer.code < 300 {
            let due = self.meddle.lock().unwrap().take_if(|meddle| (meddle.after)(call));
            due.into_iter().flat_map(|meddle| meddle.calls).for_each(|call| drop(self.server.answer(&call)));
        }
        answer
    }

    fn respond(&mut self, call: &Call) -> Response<Reply> {
        if call.verb != Verb::Watch {
            return self.deliver(call).response();
        }
        self.watches += 1;
        let response = self.server.respond(call);
        cuttable(response, self.watches, call.plural.clone(), self.cuts.subscribe())
    }

    /// The watches of a kind stay open, and say nothing any more.
    pub(crate) fn silence(&mut self, plural: &'static str) {
        self.cuts.send_modify(|cut| cut.silent = plural);
    }

    fn cut(&mut self, fault: Fault) {
        let all = self.watches;
        match fault {
            Fault::WatchesFrozen => self.cuts.send_modify(|cut| cut.frozen = all),
            Fault::Compacted => {
                self.server.compact();
                self.cuts.send_modify(|cut| cut.dropped = all);
            }
            _ => self.cuts.send_modify(|cut| cut.dropped = all),
        }
    }

    fn twisted(&self, call: &Call) -> Call {
        let mut call = call.clone();
        let strips = |op: &Value| self.twist == Twist::NoTests && op["op"] == "test";
        match call.json() {
            Some(Value::Array(ops)) => {
                let left: Vec<&Value> = ops.iter().filter(|op| !strips(op)).collect();
                call.body = serde_json::to_vec(&left).unwrap().into();
            }
            Some(_) if call.verb == Verb::Delete && self.twist == Twist::NoTests => {
                call.body = "{}".into();
            }
            _ => {}
        }
        call
    }
}

/// A watch that can break off, or fall silent.
fn cuttable(response: Response<Reply>, number: u64, plural: String, cuts: watch::Receiver<Cut>) -> Response<Reply> {
    response.map(|body| {
        let watched = (BodyStream::new(body), plural, cuts);
        let frames = futures::stream::unfold(watched, move |(mut body, plural, mut cuts)| async move {
            loop {
                let cut = *cuts.borrow_and_update();
                if number <= cut.frozen || plural == cut.silent {
                    pending::<()>().await;
                }
                if number <= cut.dropped {
                    return None;
                }
                tokio::select! {
                    biased;
                    _ = cuts.changed() => {}
                    frame = body.next() => return frame.map(|frame| (frame, (body, plural, cuts))),
                }
            }
        });
        StreamBody::new(frames).boxed_unsync()
    })
}

impl tower::Service<Request<Body>> for Wire {
    type Response = Response<Reply>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Reply>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let call = Call::read(request).await.unwrap();
            Ok(wire.send(call).await)
        })
    }
}
