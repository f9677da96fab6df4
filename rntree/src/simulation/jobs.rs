//! The life of a job: its owner looks for a run node and watches it, the run node runs it and watches the owner (the paper's section 3).
//!
//! The paper omits how either recovers from the failure of the other. Here: an owner that misses [`MISSED`] heartbeats searches anew, and
//! the job starts from its beginning elsewhere. A run node whose heartbeat is not taken inserts the profile again under the key of the
//! job, and the node that answers for the key becomes the owner. If both fail before either notices, the job is lost.

use std::collections::{BTreeSet, VecDeque};

use super::{Event, HOP, Matchmaker, Simulation};
use crate::fault::Fault;
use crate::network::{NetworkNode, PERIOD};
use crate::real;
use crate::ring::Id;
use crate::script::Profile;
use crate::search::{Search, Step, Visited};
use crate::spec::{Aggregate, Spec, Want};
use crate::workload::BASE;

/// After so many heartbeats that did not come, a run node counts as gone.
const MISSED: f64 = 3.0;
/// So often is a search without a result tried, a period apart, before the client is told: while nodes come and go, the first results may
/// be due to knowledge that is out of date.
const TRIES: usize = 10;

/// A place in the list of jobs.
pub(super) type JobPlace = usize;

/// A job that was submitted.
#[derive(Debug)]
pub(super) struct Job<'s> {
    profile: &'s Profile,
    submitted: f64,
    owner: Id,
    run_node: Option<Id>,
    /// When the owner last heard of the run node.
    heard: f64,
    started: f64,
    /// Searches since it was submitted or restarted.
    tries: usize,
    messages: usize,
    /// The part of the nodes that the last search visited.
    visited: f64,
}

/// What a node does for jobs.
#[derive(Debug, Default)]
pub(super) struct Host {
    /// The jobs that it runs, one after the other; the first one is running.
    pub(super) queue: VecDeque<JobPlace>,
    /// The jobs that it owns and that have not ended.
    pub(super) owned: BTreeSet<JobPlace>,
}

/// A search on its way, as a message carries it.
#[derive(Debug)]
pub(super) struct Request {
    job: JobPlace,
    search: Search,
    /// How many steps at random are left before the search begins.
    walk: usize,
}

/// What a request finds at a node.
struct Here<'a> {
    id: Id,
    node: &'a NetworkNode,
    queue: usize,
}

impl Visited for Here<'_> {
    fn id(&self) -> Id {
        self.id
    }

    fn spec(&self) -> &Spec {
        self.node.spec()
    }

    fn queue(&self) -> usize {
        self.queue
    }

    fn parent(&self) -> Option<Id> {
        self.node.parent()
    }

    fn children(&self) -> impl Iterator<Item = (Id, &Aggregate)> {
        self.node.children()
    }
}

impl<'s> Simulation<'s> {
    /// A client submits a job at some node, which looks up the owner.
    pub(super) fn submit(&mut self, profile: &'s Profile) {
        let hops = self.network.ring().lookup_hops();
        self.report.basic_messages += hops;
        self.open += 1;
        let (submitted, owner) = (self.now, profile.key);
        let job = Job {
            profile,
            submitted,
            owner,
            run_node: None,
            heard: 0.0,
            started: 0.0,
            tries: 0,
            messages: 0,
            visited: 0.0,
        };
        self.agenda.add(self.now + hops * HOP, Event::Routed(self.jobs.len()));
        self.jobs.push(job);
    }

    /// The owner is found, and searches.
    pub(super) fn routed(&mut self, job: JobPlace) {
        self.adopt(job);
        self.search(job);
    }

    /// The node that answers for the key of a job becomes its owner.
    pub(super) fn adopt(&mut self, place: JobPlace) {
        let Some(job) = self.jobs.get_mut(place) else { return };
        let Some(owner) = self.network.ring().successor(job.profile.key) else { return };
        job.owner = owner;
        job.heard = self.now;
        if let Some(host) = self.hosts.get_mut(&owner) {
            host.owned.insert(place);
        }
    }

    /// The owner of a job looks for a run node. Without its owner, no node knows the job any more.
    pub(super) fn search(&mut self, place: JobPlace) {
        let Some(job) = self.jobs.get_mut(place).filter(|job| self.hosts.contains_key(&job.owner)) else { return };
        job.tries += 1;
        let (owner, want) = (job.owner, &job.profile.want);
        match self.matchmaker {
            Matchmaker::Tree { candidates, walk } => {
                let search = Search::new(want.clone(), candidates);
                self.visit(owner, Request { job: place, search, walk });
            }
            Matchmaker::Central => match self.least_busy(want) {
                Some(node) => self.place(place, node),
                None => self.not_found(place),
            },
        }
    }

    fn least_busy(&mut self, want: &Want) -> Option<Id> {
        let mut least = usize::MAX;
        let mut equals = Vec::new();
        for (id, _) in self.network.nodes().filter(|(_, node)| want.is_met_by(node.spec())) {
            let queue = self.queue(id);
            if queue < least {
                least = queue;
                equals.clear();
            }
            if queue == least {
                equals.push(id);
            }
        }
        self.random.pick(&equals).copied()
    }

    fn queue(&self, node: Id) -> usize {
        self.hosts.get(&node).map_or(0, |host| host.queue.len())
    }

    /// A request is at a node.
    fn visit(&mut self, id: Id, mut request: Request) {
        let queue = self.queue(id);
        let Some(node) = self.network.node(id) else { return self.search_ended(&request) };
        if request.walk > 0 {
            request.walk -= 1;
            let down = node.children().map(|(child, _)| Step::Down(child));
            let steps: Vec<Step> = down.chain(node.parent().map(Step::Up)).collect();
            if let Some(step) = self.random.pick(&steps) {
                request.search.count_message();
                return self.agenda.add(self.now + HOP, Event::Forwarded(id, *step, Box::new(request)));
            }
        }
        match request.search.visit(&Here { id, node, queue }, |open| self.random.index(open)) {
            Step::Stop(_) => self.search_ended(&request),
            step => self.agenda.add(self.now + HOP, Event::Forwarded(id, step, Box::new(request))),
        }
    }

    /// A request arrives, or does not: then the sender drops a child that has gone and goes on; without its parent it cannot go on.
    pub(super) fn forwarded(&mut self, from: Id, step: Step, mut request: Request) {
        match step {
            Step::Down(to) | Step::Up(to) if self.hosts.contains_key(&to) => self.visit(to, request),
            Step::Down(to) => {
                self.network.drop_child(from, to);
                request.search.skip(to);
                self.visit(from, request);
            }
            Step::Up(_) | Step::Stop(_) => self.search_ended(&request),
        }
    }

    fn search_ended(&mut self, request: &Request) {
        let search = &request.search;
        self.report.tree_messages += real(search.messages());
        if let Some(job) = self.jobs.get_mut(request.job) {
            job.messages += search.messages();
            job.visited = real(search.visited()) / real(self.network.ring().ids().len());
        }
        match search.best(|node| self.hosts.contains_key(&node)) {
            Some(best) => self.place(request.job, best.node),
            None => self.not_found(request.job),
        }
    }

    /// A search was without a result.
    fn not_found(&mut self, place: JobPlace) {
        let Some(job) = self.jobs.get(place) else { return };
        if job.tries < TRIES {
            self.report.retries += 1;
            self.agenda.add(self.now + PERIOD, Event::Retry(place));
        } else {
            self.report.unmatched += 1;
            self.end(place);
        }
    }

    /// A job goes to the end of the queue of its run node.
    fn place(&mut self, place: JobPlace, node: Id) {
        let Some((job, host)) = self.jobs.get_mut(place).zip(self.hosts.get_mut(&node)) else { return };
        job.run_node = Some(node);
        job.heard = self.now;
        job.tries = 0;
        self.last_progress = self.now;
        host.queue.push_back(place);
        if host.queue.len() == 1 {
            self.start(node);
        }
    }

    /// A node starts the first job of its queue, if there is one.
    fn start(&mut self, node: Id) {
        let Some(place) = self.hosts.get(&node).and_then(|host| host.queue.front().copied()) else { return };
        let Some((job, spec)) = self.jobs.get_mut(place).zip(self.network.node(node).map(NetworkNode::spec)) else {
            return;
        };
        let [cpu, ..] = spec.sizes;
        job.started = self.now;
        self.agenda.add(self.now + job.profile.work * BASE / cpu, Event::Finished(node, place));
    }

    /// A node has done a job: the results go to the owner, and the next job starts.
    pub(super) fn finished(&mut self, node: Id, place: JobPlace) {
        let Some((job, host)) = self.jobs.get(place).zip(self.hosts.get_mut(&node)) else { return };
        host.queue.pop_front();
        self.report.waits.push(job.started - job.submitted);
        self.report.runs.push(self.now - job.started);
        self.report.costs.push(real(job.messages));
        self.report.visited.push(job.visited);
        self.end(place);
        self.start(node);
    }

    fn end(&mut self, place: JobPlace) {
        let owner = self.jobs.get(place).and_then(|job| self.hosts.get_mut(&job.owner));
        if let Some(owner) = owner {
            owner.owned.remove(&place);
        }
        self.open -= 1;
        self.last_progress = self.now;
    }

    /// A run node says to the owner of a job that it still has it. If the owner is not there to hear it, another one is found.
    pub(super) fn heartbeat(&mut self, place: JobPlace) {
        self.report.basic_messages += 1.0;
        if let Some(job) = self.jobs.get_mut(place).filter(|job| self.hosts.contains_key(&job.owner)) {
            job.heard = self.now;
        } else if !matches!(self.fault, Some(Fault::RunNodeIgnoresSilence | Fault::BothIgnoreSilence)) {
            self.ensure_owner(place);
        }
    }

    /// Inserts the profile of a job again if its owner has gone.
    pub(super) fn ensure_owner(&mut self, place: JobPlace) {
        let is_orphan = |job: &Job<'_>| !self.hosts.contains_key(&job.owner);
        if self.jobs.get(place).is_some_and(is_orphan) {
            self.report.reinsertions += 1;
            self.report.basic_messages += self.network.ring().lookup_hops();
            self.adopt(place);
        }
    }

    /// An owner searches anew for the jobs whose run nodes are silent.
    pub(super) fn restart_silent(&mut self, owner: Id) {
        if matches!(self.fault, Some(Fault::OwnerIgnoresSilence | Fault::BothIgnoreSilence)) {
            return;
        }
        let Some(host) = self.hosts.get(&owner) else { return };
        let is_silent = |job: &Job<'_>| job.run_node.is_some() && self.now - job.heard >= MISSED * PERIOD;
        let all = host.owned.iter().copied();
        let silent: Vec<JobPlace> = all.filter(|place| self.jobs.get(*place).is_some_and(is_silent)).collect();
        for place in silent {
            self.restart(place);
        }
    }

    /// A job whose run node has gone starts again elsewhere.
    pub(super) fn restart(&mut self, place: JobPlace) {
        if let Some(job) = self.jobs.get_mut(place) {
            job.run_node = None;
            self.report.restarts += 1;
            self.search(place);
        }
    }
}
