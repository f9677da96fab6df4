//! The way between one controller and the server: where writes are counted, and struck.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;

use apiserver::{Answer, Call, Reply, Server, Verb};
use bytes::Bytes;
use futures::StreamExt;
use futures::future::{BoxFuture, pending};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, BodyStream, StreamBody};
use kube::client::Body;
use serde_json::Value;
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, sleep_until};

use crate::faults::{Fault, Strike, Twist};
use crate::mistakes::Seen;
use crate::stage::Meddle;
use crate::weather::Sky;

/// How long a request is on its way, and an answer.
const TRAVEL: Duration = Duration::from_millis(1);
/// When it is noticed that a connection is broken.
const BROKEN: Duration = Duration::from_secs(30);
/// How long a late write is on its way: until somebody else leads.
const LATE_MS: i64 = 20_000;

/// One controller's way to the server.
#[derive(Clone)]
pub(crate) struct Wire(Arc<Mutex<Line>>);

/// What is known of the way.
pub(crate) struct Line {
    server: Server,
    /// What happens to each request, by chance.
    pub(crate) sky: Option<Sky>,
    pub(crate) strike: Option<Strike>,
    /// Writes so far, and what they were.
    counted: usize,
    /// Requests so far, but for watches and the election.
    pub(crate) asked: usize,
    pub(crate) log: Vec<String>,
    /// What has killed whoever is at this end.
    pub(crate) dead: Option<Fault>,
    pub(crate) struck: bool,
    /// Requests that are still on their way, whatever has become of the controller.
    pub(crate) late: Vec<Late>,
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
    /// What it has seen, if a mistake is planted.
    seen: Seen,
}

/// A request on its way.
pub(crate) struct Late {
    pub(crate) after_ms: i64,
    pub(crate) call: Call,
    /// Where the answer is waited for, if it is.
    pub(crate) answer: Option<oneshot::Sender<Answer>>,
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
            sky: None,
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
            seen: Seen::default(),
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
        let Some(fault) = met else { return self.respond(call) };
        match fault {
            Fault::KilledBefore => self.die(fault).await,
            Fault::KilledAfter => {
                self.line().deliver(call);
                self.die(fault).await
            }
            Fault::Late => {
                self.travels(call, LATE_MS, None);
                self.die(fault).await
            }
            Fault::Lost => no_answer(call).await,
            Fault::AnswerLost => {
                self.line().deliver(call);
                no_answer(call).await
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
                let response = self.respond(call);
                self.line().cut(fault);
                response
            }
            Fault::Held => {
                let (answer, comes) = oneshot::channel();
                self.line().held.push((call.clone(), answer));
                comes_back(comes).await
            }
            Fault::Slow(after_ms) => {
                let (answer, comes) = oneshot::channel();
                self.travels(call, after_ms, Some(answer));
                comes_back(comes).await
            }
            Fault::Astray(after_ms) => {
                self.travels(call, after_ms, None);
                no_answer(call).await
            }
            Fault::Twice(after_ms) => {
                self.travels(call, after_ms, None);
                self.respond(call)
            }
        }
    }

    /// Sends a request on a long way.
    fn travels(&self, call: &Call, after_ms: i64, answer: Option<oneshot::Sender<Answer>>) {
        let mut line = self.line();
        let call = line.twisted(call);
        line.late.push(Late { after_ms, call, answer });
    }

    fn respond(&self, call: &Call) -> Response<Reply> {
        let mut line = self.line();
        if call.verb != Verb::Watch {
            return line.deliver(call).response();
        }
        line.watches += 1;
        let watched =
            Watched { wire: self.clone(), call: call.clone(), number: line.watches, cuts: line.cuts.subscribe() };
        watched.cuttable(line.server.respond(call))
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
        let sky = self.sky.as_mut().filter(|_| self.dead.is_none() && call.verb != Verb::Watch);
        if let Some(fault) = sky.and_then(|sky| sky.meets(call)) {
            self.log.push(format!("{call} {fault:?}"));
            return Some(fault);
        }
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
            (Twist::Planted(mistake), _) => self.seen.answer(mistake, &self.server, call),
            _ => self.server.answer(call),
        };
        if call.verb.writes() && answer.code < 300 {
            let due = self.meddle.lock().unwrap().take_if(|meddle| (meddle.after)(call));
            due.into_iter().flat_map(|meddle| meddle.calls).for_each(|call| drop(self.server.answer(&call)));
        }
        answer
    }

    /// The watches of a kind stay open, and say nothing any more.
    pub(crate) fn silence(&mut self, plural: &'static str) {
        self.cuts.send_modify(|cut| cut.silent = plural);
    }

    /// Does this to all watches.
    pub(crate) fn cut(&mut self, fault: Fault) {
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
        if self.twist == Twist::None {
            return call;
        }
        match (self.twist, call.json()) {
            (Twist::Planted(mistake), _) => mistake.request(&mut call),
            (Twist::NoTests, Some(Value::Array(mut ops))) => {
                ops.retain(|op| op["op"] != "test");
                call.body = Value::Array(ops).to_string().into();
            }
            (Twist::NoRules, Some(Value::Array(mut ops))) => {
                ops.retain(|op| op["op"] != "test" || op["path"] != "/status/conditions");
                call.body = Value::Array(ops).to_string().into();
            }
            (Twist::NoTests, Some(_)) if call.verb == Verb::Delete => call.body = "{}".into(),
            _ => {}
        }
        call
    }
}

/// An answer that never comes. Lists that watches begin with have no deadline of their own: their connection breaks.
async fn no_answer(call: &Call) -> Response<Reply> {
    if call.verb != Verb::List {
        pending::<()>().await;
    }
    sleep(BROKEN).await;
    Answer::error(504).response()
}

/// The answer to a request that was kept back, or slow.
async fn comes_back(answer: oneshot::Receiver<Answer>) -> Response<Reply> {
    match answer.await {
        Ok(answer) => answer.response(),
        Err(_) => pending().await,
    }
}

/// A watch that can break off, fall silent, or lag behind.
struct Watched {
    wire: Wire,
    call: Call,
    number: u64,
    cuts: watch::Receiver<Cut>,
}

impl Watched {
    fn cuttable(self, response: Response<Reply>) -> Response<Reply> {
        response.map(|body| {
            let frames = futures::stream::unfold((self, BodyStream::new(body)), |(mut watched, mut body)| async move {
                let frame = watched.next(&mut body).await?;
                Some((frame, (watched, body)))
            });
            StreamBody::new(frames).boxed_unsync()
        })
    }

    async fn next(&mut self, body: &mut BodyStream<Reply>) -> Option<Result<Frame<Bytes>, Infallible>> {
        loop {
            let cut = *self.cuts.borrow_and_update();
            if self.number <= cut.frozen || self.call.plural == cut.silent {
                pending::<()>().await;
            }
            if self.number <= cut.dropped {
                return None;
            }
            let frame = tokio::select! {
                biased;
                _ = self.cuts.changed() => continue,
                frame = body.next() => frame?,
            };
            if let Some(news) = self.arrives(frame).await {
                return Some(news);
            }
        }
    }

    /// What the controller sees of one piece of news, and when.
    async fn arrives(&self, frame: Result<Frame<Bytes>, Infallible>) -> Option<Result<Frame<Bytes>, Infallible>> {
        let until = self.wire.line().sky.as_mut().map(|sky| sky.holds_up(&self.call.plural));
        if let Some(until) = until {
            sleep_until(until).await;
        }
        let line = &mut *self.wire.line();
        let Twist::Planted(mistake) = line.twist else { return Some(frame) };
        let news = frame.ok()?.into_data().ok()?;
        line.seen.news(mistake, &line.server, &self.call, news).map(|news| Ok(Frame::data(news)))
    }
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
