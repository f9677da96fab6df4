//! Jobs that arrive, wait, run and leave, in simulated time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::arrivals::Arrival;
use crate::model::{Amounts, Assignment, Request, Window};

/// Where and how long jobs are matched. Times in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'g> {
    /// What the clusters have when nothing runs.
    pub clusters: &'g [Amounts],
    /// A window is matched at every positive multiple of this.
    pub window: u64,
    /// What lies after this does not happen.
    pub until: u64,
    /// A job that has waited so long is removed; `None`: never.
    pub timeout: Option<u64>,
}

/// What became of a job by the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It has run.
    Completed,
    /// It was placed, and still runs.
    Running,
    /// It still waits.
    Waiting,
    /// It was removed after the timeout.
    TimedOut,
}

/// What became of a job that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its number in the list of arrivals.
    pub job: usize,
    /// What became of it.
    pub state: State,
    /// When it was placed, and on which cluster.
    pub placed: Option<(u64, usize)>,
}

/// Takes jobs through the windows of a grid, each matched by `place`, and says what became of each that arrived by the end, in the order of
/// the list. At one instant jobs are done first, then others arrive, then others time out; then the window is matched. A placed job starts
/// at once. An assignment that does not fit is not made.
///
/// A window in which nothing has changed since one that placed no job is not matched again: it would place none either. Priorities are
/// raised in it as they were.
pub fn simulate(jobs: &[Arrival], grid: &Grid<'_>, place: &mut dyn FnMut(&Window<'_>) -> Assignment) -> Vec<Outcome> {
    let mut run = Run::new(jobs, grid);
    let step = grid.window.max(1);
    for number in 1..=grid.until / step {
        let now = number.saturating_mul(step);
        run.advance(now);
        run.match_window(now, place);
    }
    run.advance(grid.until);
    run.outcomes.into_iter().flatten().collect()
}

/// A job in the queue.
struct Waiting<'r> {
    job: usize,
    arrival: &'r Arrival,
    priority: i64,
}

struct Run<'r> {
    grid: &'r Grid<'r>,
    /// What is still to arrive, the next one last.
    coming: Vec<(usize, &'r Arrival)>,
    /// In the order of arrival.
    queue: Vec<Waiting<'r>>,
    /// When each running job is done, and what it gives back to which cluster.
    running: BinaryHeap<Reverse<(u64, usize, usize)>>,
    jobs: &'r [Arrival],
    free: Vec<Amounts>,
    outcomes: Vec<Option<Outcome>>,
    /// Whether a window could be matched other than the one before.
    changed: bool,
    /// The places in the queue that the last window raised.
    raised: Vec<usize>,
}

impl<'r> Run<'r> {
    fn new(jobs: &'r [Arrival], grid: &'r Grid<'r>) -> Run<'r> {
        let mut coming: Vec<(usize, &Arrival)> = jobs.iter().enumerate().collect();
        coming.sort_by_key(|(job, arrival)| Reverse((arrival.at, *job)));
        Run {
            grid,
            coming,
            queue: Vec::new(),
            running: BinaryHeap::new(),
            jobs,
            free: grid.clusters.to_vec(),
            outcomes: vec![None; jobs.len()],
            changed: false,
            raised: Vec::new(),
        }
    }

    /// Everything that happens up to `now` but matching.
    fn advance(&mut self, now: u64) {
        while let Some(&Reverse((_, job, cluster))) = self.running.peek().filter(|Reverse((end, ..))| *end <= now) {
            self.running.pop();
            self.changed = true;
            if let (Some(free), Some(arrival)) = (self.free.get_mut(cluster), self.jobs.get(job)) {
                *free = free.with(arrival.amounts);
            }
            if let Some(Some(outcome)) = self.outcomes.get_mut(job) {
                outcome.state = State::Completed;
            }
        }
        while let Some((job, arrival)) = self.coming.pop_if(|(_, arrival)| arrival.at <= now) {
            self.changed = true;
            self.queue.push(Waiting { job, arrival, priority: arrival.priority });
            self.record(job, State::Waiting, None);
        }
        let Some(timeout) = self.grid.timeout else { return };
        let late = self.queue.iter().take_while(|waiting| waiting.arrival.at.saturating_add(timeout) <= now).count();
        let removed: Vec<usize> = self.queue.drain(..late).map(|waiting| waiting.job).collect();
        self.changed |= late > 0;
        for job in removed {
            self.record(job, State::TimedOut, None);
        }
    }

    fn record(&mut self, job: usize, state: State, placed: Option<(u64, usize)>) {
        if let Some(outcome) = self.outcomes.get_mut(job) {
            *outcome = Some(Outcome { job, state, placed });
        }
    }

    fn match_window(&mut self, now: u64, place: &mut dyn FnMut(&Window<'_>) -> Assignment) {
        let mut starts = Vec::new();
        if self.changed && !self.queue.is_empty() {
            let request = |waiting: &Waiting<'r>| Request {
                amounts: waiting.arrival.amounts,
                priority: waiting.priority,
                accepts: waiting.arrival.accepts.as_ref(),
                waited: now.saturating_sub(waiting.arrival.at),
            };
            let window = Window { jobs: self.queue.iter().map(request).collect(), free: self.free.clone() };
            let assignment = place(&window);
            self.raised = assignment.raised;
            starts = assignment.clusters;
        }
        for place in &self.raised {
            if let Some(waiting) = self.queue.get_mut(*place) {
                waiting.priority = waiting.priority.saturating_add(1);
            }
        }
        self.changed = self.start(now, &starts);
    }

    /// Starts the jobs of the queue that have a cluster; says whether there is one.
    fn start(&mut self, now: u64, clusters: &[Option<usize>]) -> bool {
        let mut clusters = clusters.iter().copied();
        let queue = std::mem::take(&mut self.queue);
        let before = queue.len();
        for waiting in queue {
            let asks = waiting.arrival.amounts;
            let cluster = clusters.next().flatten();
            let free = cluster.and_then(|cluster| self.free.get_mut(cluster)).filter(|free| asks.fit(**free));
            let (Some(cluster), Some(free)) = (cluster, free) else {
                self.queue.push(waiting);
                continue;
            };
            *free = free.without(asks);
            self.running.push(Reverse((now.saturating_add(waiting.arrival.service), waiting.job, cluster)));
            self.record(waiting.job, State::Running, Some((now, cluster)));
        }
        self.queue.len() < before
    }
}
