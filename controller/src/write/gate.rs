//! A limit on how much goes on at once, with turns round robin over namespaces: requests that hang keep no others waiting.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::write::fair::FairQueue;

/// What goes on now, and what waits for its turn.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    limits: Limits,
    under_way: BTreeMap<String, usize>,
    total: usize,
    /// Namespaces that the server did not answer about lately.
    slow: BTreeSet<String>,
    waiting: FairQueue<(String, oneshot::Sender<Turn>)>,
}

/// How much may go on at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) all: usize,
    /// In one namespace.
    pub(crate) each: usize,
    /// In one namespace that the server did not answer about lately.
    pub(crate) slow: usize,
}

/// Something that goes on, until this is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    gate: Gate,
    namespace: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.gate.0.lock().ended(&self.namespace);
        self.gate.admit();
    }
}

impl State {
    fn ended(&mut self, namespace: &str) {
        self.total = self.total.saturating_sub(1);
        if let Some(count) = self.under_way.get_mut(namespace) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.under_way.remove(namespace);
            }
        }
    }

    /// The next one whose turn it is.
    fn next(&mut self) -> Option<(String, oneshot::Sender<Turn>)> {
        let State { limits, under_way, total, slow, waiting } = self;
        if *total >= limits.all {
            return None;
        }
        let most = |namespace: &str| if slow.contains(namespace) { limits.slow } else { limits.each };
        loop {
            let next = waiting.pop(|name| under_way.get(name).is_none_or(|count| *count < most(name)))?;
            // A request that was given up takes no turn.
            if !next.1.is_closed() {
                *total += 1;
                *under_way.entry(next.0.clone()).or_default() += 1;
                return Some(next);
            }
        }
    }
}

impl Gate {
    pub(crate) fn new(limits: Limits) -> Gate {
        let (under_way, slow, waiting) = (BTreeMap::new(), BTreeSet::new(), FairQueue::default());
        Gate(Arc::new(Mutex::new(State { limits, under_way, total: 0, slow, waiting })))
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self, namespace: &str) -> Option<Turn> {
        let (sender, receiver) = oneshot::channel();
        self.0.lock().waiting.push(namespace, (namespace.to_owned(), sender));
        self.admit();
        receiver.await.ok()
    }

    /// Changes how much may go on in all.
    pub(crate) fn limit_to(&self, all: usize) {
        self.0.lock().limits.all = all;
        self.admit();
    }

    /// Takes in whether the server answered about a namespace.
    pub(crate) fn answered(&self, namespace: &str, is_answer: bool) {
        let mut state = self.0.lock();
        if !is_answer {
            state.slow.insert(namespace.to_owned());
        } else if !state.slow.is_empty() {
            state.slow.remove(namespace);
        }
    }

    fn admit(&self) {
        loop {
            let Some((namespace, sender)) = self.0.lock().next() else { return };
            // If the request was given up just now, the turn is dropped, and the next one gets it.
            drop(sender.send(Turn { gate: self.clone(), namespace }));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;
    use tokio::time::timeout;

    use super::*;

    fn gate() -> Gate {
        Gate::new(Limits { all: 8, each: 6, slow: 1 })
    }

    #[tokio::test(start_paused = true)]
    async fn b14_a_namespace_that_hangs_leaves_turns_to_others() {
        let gate = gate();
        let mut hang = Vec::new();
        for _ in 0..6 {
            hang.push(gate.turn("b").await.unwrap());
        }
        let waits = gate.clone();
        let seventh = tokio::spawn(async move { waits.turn("b").await });
        tokio::task::yield_now().await;
        let other = timeout(Duration::from_secs(1), gate.turn("c")).await.unwrap().unwrap();
        assert!(!seventh.is_finished());
        hang.pop();
        assert!(seventh.await.unwrap().is_some());
        drop(other);
    }

    #[tokio::test(start_paused = true)]
    async fn turns_go_round_the_namespaces() {
        let gate = Gate::new(Limits { all: 1, each: 1, slow: 1 });
        let first = gate.turn("b").await.unwrap();
        let mut waiting: Vec<_> = ["b", "b", "b", "c"].iter().map(|name| Box::pin(gate.turn(name))).collect();
        waiting.iter_mut().for_each(|one| assert!(one.as_mut().now_or_never().is_none()));
        drop(first);
        let [.., c] = &mut waiting[..] else { panic!() };
        assert!(c.as_mut().now_or_never().is_none(), "b is first, as it came first");
        let next = waiting[0].as_mut().now_or_never().unwrap();
        drop(next);
        let next = waiting[3].as_mut().now_or_never().unwrap();
        assert!(next.is_some(), "then it is c's turn");
    }

    #[tokio::test(start_paused = true)]
    async fn who_gives_up_loses_no_turn() {
        let gate = Gate::new(Limits { all: 1, each: 1, slow: 1 });
        let first = gate.turn("b").await.unwrap();
        let mut all: Vec<_> = (0..3).map(|_| Box::pin(gate.turn("b"))).collect();
        all.iter_mut().for_each(|one| assert!(one.as_mut().now_or_never().is_none()));
        drop(all.remove(0));
        drop(first);
        drop(all.remove(0)); // it had the turn already
        let last = all[0].as_mut().now_or_never().unwrap();
        let state = gate.0.lock();
        assert_eq!((last.is_some(), state.total, state.waiting.len()), (true, 1, 0));
        drop(state);
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_is_slow_gets_little_until_it_answers() {
        let gate = gate();
        gate.answered("b", false);
        let _one = gate.turn("b").await.unwrap();
        let mut two = Box::pin(gate.turn("b"));
        assert!(two.as_mut().now_or_never().is_none());
        gate.answered("b", true);
        gate.limit_to(8);
        assert!(two.as_mut().now_or_never().unwrap().is_some());
    }
}
