//! The jobs that wait at each node, all in one list.

use crate::tree::Node;

/// A queue for each node.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// The jobs of one node after those of another.
    jobs: Vec<usize>,
    /// By node: where its jobs that were not served yet begin, and where they end.
    spans: Vec<(usize, usize)>,
}

impl Queues {
    /// The queues of so many nodes; jobs of one node are in order.
    pub(super) fn of(nodes: usize, jobs: impl Iterator<Item = (Node, usize)> + Clone) -> Queues {
        let mut spans = vec![(0, 0); nodes];
        for (node, _) in jobs.clone() {
            spans.get_mut(node.place()).into_iter().for_each(|(_, count)| *count += 1);
        }
        let mut begin = 0;
        for span in &mut spans {
            let count = span.1;
            // The end moves while jobs are put into their places.
            *span = (begin, begin);
            begin += count;
        }
        let mut queues = Queues { jobs: vec![0; begin], spans };
        for (node, job) in jobs {
            let Some((_, end)) = queues.spans.get_mut(node.place()) else { continue };
            queues.jobs.get_mut(*end).into_iter().for_each(|own| *own = job);
            *end += 1;
        }
        queues
    }

    /// The first job of a node.
    #[inline]
    pub(super) fn first(&self, node: Node) -> Option<usize> {
        let (begin, end) = *self.spans.get(node.place())?;
        if begin < end { self.jobs.get(begin).copied() } else { None }
    }

    /// Takes a job away, if it is the first of its node. Returns whether another one waits there.
    #[inline]
    pub(super) fn remove(&mut self, node: Node, job: usize) -> bool {
        let Some((begin, end)) = self.spans.get_mut(node.place()) else { return false };
        if begin < end && self.jobs.get(*begin) == Some(&job) {
            *begin += 1;
        }
        begin < end
    }
}
