//! How many messages are counted, exactly: `docs/rn-tree.md` says which ones are.

#[cfg(test)]
mod tests {
    use rntree::{
        Fault, Happening, Id, Matchmaker, PERIOD, Profile, Script, SimulationReport, Spec, Want, simulate,
        simulate_with_fault,
    };

    /// The nodes of the example in the crate's documentation, and one more: lookups take exactly 1.5 hops.
    const NODES: [Id; 8] = [10, 40, 70, 110, 150, 190, 230, 250];
    const LOOKUP: f64 = 1.5;
    /// From when to when upkeep is counted: ten periods of each node, none of them at an end.
    const BEGINS: f64 = 20.5 * PERIOD;
    const ENDS: f64 = 30.5 * PERIOD;
    const PERIODS: f64 = 10.0;

    fn joins() -> Vec<(f64, Happening)> {
        NODES.map(|node| (0.0, Happening::Join(node, Spec::new([100.0; 3])))).into()
    }

    /// A job without constraints: its owner node runs it.
    fn job(periods: f64) -> Happening {
        Happening::Submit(Profile { key: 120, want: Want::new([0.0; 3]), work: periods * PERIOD })
    }

    /// The eight nodes, what happens to them, and no more before the end than this.
    fn script(what: &[(f64, Happening)]) -> Script {
        Script { happenings: [joins(), what.to_vec()].concat(), begins: BEGINS }
    }

    fn basic(script: &Script) -> SimulationReport {
        simulate(script, Matchmaker::BASIC, 1)
    }

    /// Counts are sums of reals, in another order than here.
    #[track_caller]
    fn assert_near(counted: f64, wanted: f64) {
        assert!((counted - wanted).abs() < 1e-6, "{counted} instead of {wanted}");
    }

    #[test]
    fn upkeep_of_the_ring_and_the_tree() {
        // The last thing that happens ends the counting: a job that needs nothing after its submission.
        let script = script(&[(ENDS, job(0.1))]);
        let ring = 8.0 * PERIODS * (2.0 + LOOKUP);
        let report = basic(&script);
        assert_eq!(report.basic_messages, ring + LOOKUP, "and the submission");
        assert_eq!(report.tree_messages, 7.0 * PERIODS * 2.0, "the root has no parent");
        let central = simulate(&script, Matchmaker::Central, 1);
        assert_eq!((central.basic_messages, central.tree_messages), (report.basic_messages, 0.0));
    }

    #[test]
    fn a_heartbeat_for_each_queued_job_and_period() {
        // The second job waits for 4 periods and runs for 2.
        let heartbeats = 4.0 + 6.0;
        let jobs = script(&[(ENDS, job(4.0)), (ENDS, job(2.0))]);
        let report = basic(&jobs);
        let others = 8.0 * PERIODS * (2.0 + LOOKUP) + 2.0 * LOOKUP;
        assert_eq!(report.basic_messages, others + heartbeats);
        let twice = simulate_with_fault(&jobs, Matchmaker::BASIC, 1, Some(Fault::SendsHeartbeatsTwice));
        assert_eq!(twice.basic_messages, others + 2.0 * heartbeats, "doubled heartbeats are counted twice");
        assert_eq!((twice.tree_messages, twice.waits, twice.runs), (report.tree_messages, report.waits, report.runs));
    }

    /// Node 40 has the children 70 and 110, and each of them looks up another parent. The parent of 40 is told, which is not counted.
    #[test]
    fn a_lookup_for_each_parent_that_a_planned_leave_changes() {
        let stay = basic(&script(&[(ENDS, job(0.1))]));
        let leave = basic(&script(&[(ENDS, Happening::Leave(40))]));
        let lookup = 0.5 * 7f64.log2();
        assert_near(leave.tree_messages - stay.tree_messages, 2.0 * lookup);
        let before = basic(&script(&[(BEGINS - 1.0, Happening::Leave(40)), (ENDS, job(0.1))]));
        assert_eq!(before.tree_messages, 6.0 * PERIODS * 2.0, "not before the counting begins");
    }

    /// Without the leave's notice, the same two nodes look up their parents at their next refresh.
    #[test]
    fn a_lookup_for_each_parent_that_a_failure_changes() {
        let report = basic(&script(&[(BEGINS, Happening::Fail(40)), (ENDS, job(0.1))]));
        let lookup = 0.5 * 7f64.log2();
        assert_near(report.tree_messages, 6.0 * PERIODS * 2.0 + 2.0 * lookup);
    }
}
