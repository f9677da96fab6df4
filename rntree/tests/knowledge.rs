//! What a node knows of its children while they come and go: when they begin to count, and when they end.

#[cfg(test)]
mod tests {
    use rntree::{Aggregate, Fault, Id, Network, PERIOD, Refreshed, Spec};

    /// The root, its child and the child of that: without [`CHILD`], the root is the parent of [`GRANDCHILD`].
    const ROOT: Id = 10;
    const CHILD: Id = 40;
    const GRANDCHILD: Id = 150;

    fn spec(cpu: f64) -> Spec {
        Spec::new([cpu, 1.0, 1.0])
    }

    /// The three nodes; each has sent its aggregate at time 0, from below.
    fn chain(fault: Option<Fault>) -> Network {
        let mut network = Network::with_fault(fault);
        for (node, cpu) in [(ROOT, 1.0), (CHILD, 4.0), (GRANDCHILD, 2.0)] {
            network.join(node, spec(cpu));
        }
        for node in [GRANDCHILD, CHILD, ROOT] {
            network.refresh(node, 0.0);
        }
        network
    }

    fn children(network: &Network, node: Id) -> Vec<Id> {
        network.node(node).unwrap().children().map(|(child, _)| child).collect()
    }

    fn most(network: &Network, node: Id) -> f64 {
        let Aggregate { sizes: [cpu, ..], .. } = network.node(node).unwrap().aggregate();
        cpu
    }

    /// What the root knows of its children, and of the CPU below it, at its refresh so long after the last message of a child that failed.
    fn after_silence(fault: Option<Fault>, silence: f64) -> (Vec<Id>, f64) {
        let mut network = chain(fault);
        network.fail(CHILD);
        network.refresh(ROOT, silence);
        (children(&network, ROOT), most(&network, ROOT))
    }

    /// The same right after the child has left.
    fn after_leave(fault: Option<Fault>) -> (Vec<Id>, f64) {
        let mut network = chain(fault);
        network.leave(CHILD, 1.0);
        (children(&network, ROOT), most(&network, ROOT))
    }

    #[test]
    fn a_silent_child_counts_for_two_periods() {
        assert_eq!(after_silence(None, 2.0 * PERIOD - 1.0), (vec![CHILD], 4.0));
        assert_eq!(after_silence(None, 2.0 * PERIOD), (vec![], 1.0));
    }

    #[test]
    fn a_planned_leave_needs_no_waiting() {
        assert_eq!(
            after_leave(None),
            (vec![GRANDCHILD], 2.0),
            "the child is dropped, and its child has found its parent"
        );
    }

    /// Each of the two mistakes is found by its own check, and passes the other one.
    #[test]
    fn an_aggregate_not_updated_on_leave_is_told_apart_from_one_that_does_not_expire() {
        let long = 2.0 * PERIOD;
        let (keeps_left, keeps_silent) = (Some(Fault::KeepsLeft), Some(Fault::KeepsSilent));
        assert_eq!(after_leave(keeps_left), (vec![CHILD, GRANDCHILD], 4.0));
        assert_eq!(after_silence(keeps_left, long), after_silence(None, long));
        assert_eq!(after_silence(keeps_silent, long), (vec![CHILD], 4.0));
        assert_eq!(after_leave(keeps_silent), after_leave(None));
    }

    /// The former parent is not told, and drops the child when it is silent.
    #[test]
    fn a_new_parent_counts_from_the_first_message() {
        let mut network = chain(None);
        network.fail(CHILD);
        network.refresh(GRANDCHILD, 0.0);
        network.join(CHILD, spec(4.0));
        assert_eq!((children(&network, CHILD), most(&network, CHILD)), (vec![], 4.0));
        assert_eq!(network.refresh(CHILD, 500.0), Some(Refreshed::NewParent));
        assert_eq!(network.node(GRANDCHILD).unwrap().parent(), Some(ROOT), "it has not looked yet");
        assert_eq!(network.refresh(GRANDCHILD, PERIOD), Some(Refreshed::NewParent));
        assert_eq!(children(&network, CHILD), [GRANDCHILD]);
        assert_eq!(children(&network, ROOT), [CHILD, GRANDCHILD]);
        network.refresh(CHILD, 2.0 * PERIOD);
        network.refresh(ROOT, 2.0 * PERIOD);
        assert_eq!(children(&network, ROOT), [CHILD]);
    }
}
