//! One window of the thesis' model (section 4.3): jobs that ask for processors, disk and memory, and what is free on clusters.

use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Amounts of the three resources: what a job asks for, or what is free on a cluster. Processors are counted; disk and memory have any
/// unit, the same for jobs and clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amounts {
    /// Processors.
    pub cpus: u64,
    /// Disk space.
    pub disk: u64,
    /// Memory.
    pub memory: u64,
}

impl Amounts {
    /// Whether all three are at most those of `free`.
    #[must_use]
    pub fn fit(self, free: Amounts) -> bool {
        self.cpus <= free.cpus && self.disk <= free.disk && self.memory <= free.memory
    }

    /// What is left when `taken` is taken away.
    #[must_use]
    pub(crate) fn without(self, taken: Amounts) -> Amounts {
        Amounts {
            cpus: self.cpus.saturating_sub(taken.cpus),
            disk: self.disk.saturating_sub(taken.disk),
            memory: self.memory.saturating_sub(taken.memory),
        }
    }

    /// What there is when `returned` is given back.
    #[must_use]
    pub(crate) fn with(self, returned: Amounts) -> Amounts {
        Amounts {
            cpus: self.cpus.saturating_add(returned.cpus),
            disk: self.disk.saturating_add(returned.disk),
            memory: self.memory.saturating_add(returned.memory),
        }
    }
}

/// A job that waits in a window.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// What it asks for.
    pub amounts: Amounts,
    /// Larger goes first.
    pub priority: i64,
    /// The only clusters it accepts, by number; `None`: all.
    pub accepts: Option<&'a BTreeSet<usize>>,
    /// How long it has waited, in milliseconds.
    pub waited: u64,
}

impl Request<'_> {
    /// A request for these amounts that has just arrived, has priority 0 and accepts every cluster.
    #[must_use]
    pub fn of(amounts: Amounts) -> Self {
        Request { amounts, priority: 0, accepts: None, waited: 0 }
    }

    /// Whether it accepts the cluster of this number.
    #[must_use]
    pub fn accepts(&self, cluster: usize) -> bool {
        self.accepts.is_none_or(|accepted| accepted.contains(&cluster))
    }
}

/// What waits when a window is matched, and what is free then.
#[derive(Clone, Debug, Default)]
pub struct Window<'a> {
    /// The jobs, in the order of their arrival.
    pub jobs: Vec<Request<'a>>,
    /// The clusters.
    pub free: Vec<Amounts>,
}

impl Window<'_> {
    /// The numbers of the jobs in the order in which they are looked at: by descending priority, then as they arrived.
    #[must_use]
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<(i64, usize)> = self.jobs.iter().enumerate().map(|(job, one)| (one.priority, job)).collect();
        order.sort_by_key(|(priority, job)| (Reverse(*priority), *job));
        order.into_iter().map(|(_, job)| job).collect()
    }
}

/// What an algorithm makes of a window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// The cluster of each job, in the order of the window.
    pub clusters: Vec<Option<usize>>,
    /// The jobs whose priority is raised, in the order in which they were looked at.
    pub raised: Vec<usize>,
}

impl Assignment {
    /// How many jobs have a cluster.
    #[must_use]
    pub fn placed(&self) -> usize {
        self.clusters.iter().flatten().count()
    }
}

/// A window while it is matched: what is assigned is taken at once.
pub(crate) struct Placing<'w> {
    window: &'w Window<'w>,
    free: Vec<Amounts>,
    clusters: Vec<Option<usize>>,
}

impl<'w> Placing<'w> {
    /// Nothing is assigned yet.
    pub(crate) fn new(window: &'w Window<'w>) -> Placing<'w> {
        Placing { window, free: window.free.clone(), clusters: vec![None; window.jobs.len()] }
    }

    /// The job of this number; one that asks nothing if there is none.
    pub(crate) fn job(&self, job: usize) -> Request<'w> {
        self.window.jobs.get(job).copied().unwrap_or_else(|| Request::of(Amounts::default()))
    }

    /// What is free on a cluster now.
    pub(crate) fn free(&self, cluster: usize) -> Amounts {
        self.free.get(cluster).copied().unwrap_or_default()
    }

    /// The jobs without a cluster, in order.
    pub(crate) fn waiting(&self) -> Vec<usize> {
        self.window.order().into_iter().filter(|job| self.waits(*job)).collect()
    }

    /// Whether a job has no cluster.
    pub(crate) fn waits(&self, job: usize) -> bool {
        self.clusters.get(job).is_some_and(Option::is_none)
    }

    /// Whether a job accepts a cluster and asks for no more than is free there now.
    pub(crate) fn fits(&self, job: usize, cluster: usize) -> bool {
        let asks = self.job(job);
        asks.accepts(cluster) && self.free.get(cluster).is_some_and(|free| asks.amounts.fit(*free))
    }

    /// The clusters that a job fits now.
    pub(crate) fn fitting(&self, job: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.free.len()).filter(move |cluster| self.fits(job, *cluster))
    }

    /// Assigns a job to a cluster if it has none and fits.
    pub(crate) fn assign(&mut self, job: usize, cluster: usize) {
        if self.waits(job)
            && self.fits(job, cluster)
            && let (Some(free), Some(own)) = (self.free.get_mut(cluster), self.clusters.get_mut(job))
            && let Some(asks) = self.window.jobs.get(job)
        {
            *free = free.without(asks.amounts);
            *own = Some(cluster);
        }
    }

    /// Takes an assignment back.
    pub(crate) fn withdraw(&mut self, job: usize) {
        if let Some(cluster) = self.clusters.get_mut(job).and_then(Option::take)
            && let (Some(free), Some(asks)) = (self.free.get_mut(cluster), self.window.jobs.get(job))
        {
            *free = free.with(asks.amounts);
        }
    }

    /// The clusters of the jobs so far.
    pub(crate) fn clusters(&self) -> &[Option<usize>] {
        &self.clusters
    }

    /// The assignment, in which no job is raised.
    pub(crate) fn done(self) -> Assignment {
        Assignment { clusters: self.clusters, raised: Vec::new() }
    }

    /// The assignment, in which each job without a cluster is raised.
    pub(crate) fn raising(self) -> Assignment {
        Assignment { raised: self.waiting(), clusters: self.clusters }
    }
}
