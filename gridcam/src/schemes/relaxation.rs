//! The linear program of the thesis (section 4.3, formulas 1 to 3, with r between 0 and 1), solved exactly.
//!
//! All weights are 1, so a processor of any cluster is worth 1/q to a job that asks for q. With y = q r the program is a transportation
//! problem: jobs send up to q processors each to clusters that they fit, clusters take up to p, and the worth of a unit depends on its job
//! alone. What jobs can send together is a polymatroid, so the greedy algorithm is right (Edmonds 1970): jobs with the smallest q first,
//! each as much as augmenting paths allow (Ford and Fulkerson 1956). Every number is an integer, so the optimum is exact.
//! `docs/decisions/0019-lbm-without-simplex.md` says why it is no simplex.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::model::{Placing, Window};
use crate::real;

/// An optimal solution of the relaxation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Relaxation {
    /// The sum of all r: no assignment places more jobs.
    pub value: f64,
    /// Job, cluster, and r where it is not 0; by job in order, then by cluster.
    pub requests: Vec<(usize, usize, f64)>,
}

/// An optimal solution of the relaxation; always the same one for the same window. Of jobs that are the same to the program the first in
/// order get most, and small clusters are filled first, so that the large ones are left to wide jobs.
#[must_use]
pub fn relaxation(window: &Window<'_>) -> Relaxation {
    let order = window.order();
    let classes = classes(window, &order);
    let mut flow = Flow::new(window, &classes);
    let mut requests = Vec::new();
    for (number, class) in classes.iter().enumerate() {
        flow.send(number, class.cpus.saturating_mul(crate::count(&class.jobs)));
    }
    for (number, class) in classes.iter().enumerate() {
        requests.extend(class.shares(&flow.of(number)));
    }
    let place: BTreeMap<usize, usize> = order.iter().enumerate().map(|(place, job)| (*job, place)).collect();
    requests.sort_by_key(|(job, cluster, _)| (place.get(job).copied(), *cluster));
    let value = requests.iter().map(|(_, _, share)| share).sum();
    Relaxation { value, requests }
}

/// Jobs that are the same to the program: they ask for the same number of processors and fit the same clusters.
struct Class {
    cpus: u64,
    /// The fewest free processors first.
    clusters: Vec<usize>,
    /// In order.
    jobs: Vec<usize>,
}

/// The classes of all jobs that fit a cluster: the fewest processors first, then in the order of their first jobs.
fn classes(window: &Window<'_>, order: &[usize]) -> Vec<Class> {
    let placing = Placing::new(window);
    let mut numbers: BTreeMap<(u64, Vec<usize>), usize> = BTreeMap::new();
    let mut classes: Vec<Class> = Vec::new();
    for &job in order {
        let cpus = placing.job(job).amounts.cpus;
        let mut clusters: Vec<usize> = placing.fitting(job).collect();
        clusters.sort_by_key(|cluster| placing.free(*cluster).cpus);
        if clusters.is_empty() {
            continue;
        }
        let number = *numbers.entry((cpus, clusters.clone())).or_insert(classes.len());
        match classes.get_mut(number) {
            Some(class) => class.jobs.push(job),
            None => classes.push(Class { cpus, clusters, jobs: vec![job] }),
        }
    }
    classes.sort_by_key(|class| class.cpus);
    classes
}

impl Class {
    /// Divides the processors that the class has on each cluster among its jobs: whole jobs first, so that as many r as possible are 1.
    fn shares(&self, processors: &[(usize, u64)]) -> Vec<(usize, usize, f64)> {
        let mut jobs = self.jobs.iter().copied();
        if self.cpus == 0 {
            // They take nothing that could run out.
            return self.clusters.first().map(|first| jobs.map(|job| (job, *first, 1.0)).collect()).unwrap_or_default();
        }
        let mut shares = Vec::new();
        let mut rest = Vec::new();
        for &(cluster, sent) in processors {
            let whole = usize::try_from(sent / self.cpus).unwrap_or(usize::MAX);
            shares.extend(jobs.by_ref().take(whole).map(|job| (job, cluster, 1.0)));
            rest.push((cluster, sent % self.cpus));
        }
        let (mut job, mut missing) = (jobs.next(), self.cpus);
        for (cluster, mut sent) in rest {
            while let Some(current) = job.filter(|_| sent > 0) {
                let part = sent.min(missing);
                shares.push((current, cluster, real(part) / real(self.cpus)));
                sent -= part;
                missing -= part;
                if missing == 0 {
                    (job, missing) = (jobs.next(), self.cpus);
                }
            }
        }
        shares
    }
}

/// Processors of clusters that classes of jobs have.
struct Flow<'c> {
    classes: &'c [Class],
    /// The processors of each cluster that no class has.
    spare: Vec<u64>,
    /// Who has how many processors of each cluster, where it is not 0, by class.
    holders: Vec<BTreeMap<usize, u64>>,
    /// Clusters from which no augmenting path leads to a spare processor: none ever will.
    full: BTreeSet<usize>,
}

impl<'c> Flow<'c> {
    fn new(window: &Window<'_>, classes: &'c [Class]) -> Flow<'c> {
        let spare: Vec<u64> = window.free.iter().map(|free| free.cpus).collect();
        Flow { classes, holders: vec![BTreeMap::new(); spare.len()], spare, full: BTreeSet::new() }
    }

    /// Gives a class up to `wanted` processors. Those before it keep as many as they have, if on other clusters.
    fn send(&mut self, class: usize, mut wanted: u64) {
        while wanted > 0 {
            let Some(path) = self.path(class) else { return };
            wanted -= self.augment(&path, wanted);
        }
    }

    /// A shortest augmenting path: class, cluster, class, cluster, up to one with spare processors. Each class gets processors of the
    /// cluster after it, each cluster takes them from the class after it.
    fn path(&mut self, class: usize) -> Option<Vec<(usize, usize)>> {
        // For each class and cluster seen, where it was come from.
        let mut class_from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut cluster_from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([class]);
        while let Some(current) = queue.pop_front() {
            for &cluster in self.classes.get(current).map_or(&[][..], |class| class.clusters.as_slice()) {
                if self.full.contains(&cluster) || cluster_from.contains_key(&cluster) {
                    continue;
                }
                cluster_from.insert(cluster, current);
                if self.spare.get(cluster).is_some_and(|spare| *spare > 0) {
                    return Some(walk_back(class, cluster, &class_from, &cluster_from));
                }
                for &holder in self.holders.get(cluster).into_iter().flat_map(BTreeMap::keys) {
                    if holder != class && !class_from.contains_key(&holder) {
                        class_from.insert(holder, cluster);
                        queue.push_back(holder);
                    }
                }
            }
        }
        self.full.extend(cluster_from.into_keys());
        None
    }

    /// Moves as many processors along a path as it allows, and at most `wanted`.
    fn augment(&mut self, path: &[(usize, usize)], wanted: u64) -> u64 {
        let spare = path.last().and_then(|(_, last)| self.spare.get_mut(*last));
        let held = |cluster: usize, class: usize| self.holders.get(cluster).and_then(|held| held.get(&class)).copied();
        let given_up =
            path.iter().zip(path.iter().skip(1)).map(|((_, cluster), (class, _))| held(*cluster, *class).unwrap_or(0));
        let moved = given_up.fold(wanted, u64::min).min(spare.as_deref().copied().unwrap_or(0));
        if let Some(spare) = spare {
            *spare -= moved;
        }
        for (place, (class, cluster)) in path.iter().enumerate() {
            let Some(holders) = self.holders.get_mut(*cluster) else { continue };
            *holders.entry(*class).or_default() += moved;
            if let Some((next, _)) = path.get(place + 1)
                && let Some(held) = holders.get_mut(next)
            {
                *held -= moved;
            }
            holders.retain(|_, held| *held > 0);
        }
        moved
    }

    /// The processors that a class has, by cluster.
    fn of(&self, class: usize) -> Vec<(usize, u64)> {
        let held = |(cluster, holders): (usize, &BTreeMap<usize, u64>)| Some((cluster, *holders.get(&class)?));
        self.holders.iter().enumerate().filter_map(held).collect()
    }
}

/// The steps of a search from `class` to `cluster`, each a class and the cluster that it gets processors of.
fn walk_back(
    class: usize,
    cluster: usize,
    class_from: &BTreeMap<usize, usize>,
    cluster_from: &BTreeMap<usize, usize>,
) -> Vec<(usize, usize)> {
    let mut path = Vec::new();
    let mut at = cluster;
    while let Some(&giver) = cluster_from.get(&at) {
        path.push((giver, at));
        match class_from.get(&giver).filter(|_| giver != class) {
            Some(&before) => at = before,
            None => break,
        }
    }
    path.reverse();
    path
}
