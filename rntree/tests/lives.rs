//! What becomes of a job when its nodes go, one case for each row of the table in `docs/rn-tree.md`.

#[cfg(test)]
mod tests {
    use rntree::{
        Fault, Happening, Id, Matchmaker, PERIOD, Profile, Script, SimulationReport, Spec, Want, simulate,
        simulate_with_fault,
    };

    /// Owns the job and cannot run it; the root.
    const OWNER: Id = 100;
    /// Can run it, and is there when it is submitted.
    const FIRST: Id = 200;
    /// Can run it, and joins later.
    const SECOND: Id = 300;
    /// When the job is submitted, and when something goes wrong.
    const SUBMITTED: f64 = 30_000.0;
    const TROUBLE: f64 = 40_500.0;
    /// How long the job runs: it needs a CPU twice as fast as that of the smallest group.
    const RUN: f64 = 50.0 * PERIOD;

    fn join(node: Id, cpu: f64) -> Happening {
        Happening::Join(node, Spec::new([cpu, 100.0, 100.0]))
    }

    /// One job on one of two nodes, and trouble.
    fn script(trouble: &[Happening]) -> Script {
        let job = Profile { key: 50, want: Want::new([200.0, 0.0, 0.0]), work: 2.0 * RUN };
        let mut happenings = vec![
            (0.0, join(OWNER, 100.0)),
            (1.0, join(FIRST, 200.0)),
            (SUBMITTED, Happening::Submit(job)),
            (SUBMITTED + PERIOD, join(SECOND, 200.0)),
        ];
        happenings.extend(trouble.iter().map(|what| (TROUBLE, what.clone())));
        Script { happenings, begins: SUBMITTED }
    }

    fn searched(trouble: &[Happening]) -> SimulationReport {
        simulate(&script(trouble), Matchmaker::EXTENDED, 1)
    }

    #[test]
    fn without_trouble_the_job_runs_at_once() {
        let report = searched(&[]);
        assert_eq!(report.runs, [RUN]);
        assert!(report.waits[0] < 5.0, "{:?}", report.waits);
        assert_eq!((report.restarts, report.reinsertions, report.retries, report.lost), (0, 0, 0, 0));
        // One heartbeat in each period of the run.
        let (upkeep, hops) = (report.basic_messages - RUN / PERIOD, 0.5);
        assert!(upkeep >= hops, "{upkeep}");
    }

    #[test]
    fn a_run_node_that_fails_is_missed_after_three_heartbeats() {
        for matchmaker in [Matchmaker::Central, Matchmaker::BASIC, Matchmaker::EXTENDED] {
            let report = simulate(&script(&[Happening::Fail(FIRST)]), matchmaker, 1);
            assert_eq!((report.runs.as_slice(), report.restarts, report.lost), ([RUN].as_slice(), 1, 0));
            let noticed = SUBMITTED + report.waits[0] - TROUBLE;
            assert!((2.0 * PERIOD..=4.0 * PERIOD + 10.0).contains(&noticed), "{matchmaker:?}: after {noticed}");
        }
    }

    /// Of the job, if this node fails and one side may not notice: runs, restarts, reinsertions, lost jobs.
    fn after_failure(node: Id, fault: Option<Fault>) -> (usize, usize, usize, usize) {
        let report = simulate_with_fault(&script(&[Happening::Fail(node)]), Matchmaker::EXTENDED, 1, fault);
        (report.runs.len(), report.restarts, report.reinsertions, report.lost)
    }

    #[test]
    fn an_owner_that_misses_no_heartbeats_is_found() {
        let deaf = Some(Fault::OwnerIgnoresSilence);
        assert_eq!([None, deaf].map(|fault| after_failure(FIRST, fault)), [(1, 1, 0, 0), (0, 0, 0, 1)]);
        assert_eq!(after_failure(OWNER, deaf), after_failure(OWNER, None), "the other side's half is not touched");
    }

    #[test]
    fn a_run_node_that_does_not_miss_its_owner_is_found() {
        let deaf = Some(Fault::RunNodeIgnoresSilence);
        assert_eq!([None, deaf].map(|fault| after_failure(OWNER, fault)), [(1, 0, 1, 0), (1, 0, 0, 0)]);
        assert_eq!(after_failure(FIRST, deaf), after_failure(FIRST, None), "the other side's half is not touched");
    }

    #[test]
    fn heartbeats_that_neither_side_misses_are_found() {
        let deaf = Some(Fault::BothIgnoreSilence);
        assert_eq!([None, deaf].map(|fault| after_failure(FIRST, fault)), [(1, 1, 0, 0), (0, 0, 0, 1)]);
        assert_eq!([None, deaf].map(|fault| after_failure(OWNER, fault)), [(1, 0, 1, 0), (1, 0, 0, 0)]);
    }

    #[test]
    fn a_run_node_that_leaves_says_so() {
        let report = searched(&[Happening::Leave(FIRST)]);
        assert_eq!((report.runs.as_slice(), report.restarts, report.lost), ([RUN].as_slice(), 1, 0));
        let noticed = SUBMITTED + report.waits[0] - TROUBLE;
        assert!((0.0..10.0).contains(&noticed), "after {noticed}");
    }

    #[test]
    fn a_job_whose_owner_goes_keeps_its_place() {
        let failed = searched(&[Happening::Fail(OWNER)]);
        assert_eq!((failed.runs.as_slice(), failed.restarts, failed.reinsertions), ([RUN].as_slice(), 0, 1));
        assert!(failed.waits[0] < 5.0, "{:?}", failed.waits);
        let left = searched(&[Happening::Leave(OWNER)]);
        assert_eq!((left.runs.as_slice(), left.restarts, left.reinsertions), ([RUN].as_slice(), 0, 0));
    }

    #[test]
    fn a_job_without_owner_and_run_node_is_lost_and_counted() {
        let report = searched(&[Happening::Fail(OWNER), Happening::Fail(FIRST)]);
        assert_eq!((report.runs.len(), report.restarts, report.lost), (0, 0, 1));
    }

    #[test]
    fn a_client_is_told_after_ten_searches_without_a_result() {
        for matchmaker in [Matchmaker::Central, Matchmaker::EXTENDED] {
            let mut alone = script(&[]);
            alone.happenings.retain(|(_, what)| !matches!(what, Happening::Join(FIRST | SECOND, _)));
            let report = simulate(&alone, matchmaker, 1);
            assert_eq!(
                (report.runs.len(), report.retries, report.unmatched, report.lost),
                (0, 9, 1, 0),
                "{matchmaker:?}"
            );
        }
    }

    #[test]
    fn a_search_that_is_tried_again_finds_a_node_that_has_joined() {
        let mut late = script(&[]);
        late.happenings.retain(|(_, what)| !matches!(what, Happening::Join(FIRST, _)));
        let report = searched_in(&late);
        assert_eq!((report.runs.as_slice(), report.unmatched), ([RUN].as_slice(), 0));
        assert!((1..9).contains(&report.retries), "{}", report.retries);
    }

    /// The first node fails while its parent still believes in it: the search loses one message and goes to the second.
    #[test]
    fn a_search_goes_around_a_node_that_has_gone() {
        let mut gone = script(&[]);
        gone.happenings.swap(2, 3);
        gone.happenings[2].0 = 10_000.0;
        gone.happenings.insert(3, (SUBMITTED - 10.0, Happening::Fail(FIRST)));
        let report = searched_in(&gone);
        assert_eq!((report.runs.as_slice(), report.retries, report.restarts), ([RUN].as_slice(), 0, 0));
        assert_eq!(report.costs, [3.0], "to the one that has gone, to the other one and back");
    }

    /// The request has climbed from the owner node 150 to 70 when the next parent, 40, fails. A period later the nodes know the new tree, in
    /// which the way leads down from 70.
    #[test]
    fn a_parent_lost_in_the_middle_of_a_search_ends_it_and_it_is_repeated() {
        let fast = |node| if node == 190 { 200.0 } else { 100.0 };
        let nodes = [10, 40, 70, 110, 150, 190, 230].into_iter();
        let mut happenings: Vec<_> = nodes.map(|node| (0.0, join(node, fast(node)))).collect();
        let job = Profile { key: 120, want: Want::new([200.0, 0.0, 0.0]), work: 2.0 * RUN };
        happenings.push((SUBMITTED + 500.0, Happening::Submit(job)));
        let calm = simulate(&Script { happenings: happenings.clone(), begins: 0.0 }, Matchmaker::BASIC, 1);
        assert_eq!((calm.costs.as_slice(), calm.retries), ([4.0].as_slice(), 0), "150, 70, 40, 110, 190");
        // The owner is looked up in 1.4 hops, and the request is at 70 after one more.
        happenings.push((SUBMITTED + 503.0, Happening::Fail(40)));
        let report = simulate(&Script { happenings, begins: 0.0 }, Matchmaker::BASIC, 1);
        assert_eq!((report.runs.as_slice(), report.retries, report.lost), ([RUN].as_slice(), 1, 0));
        assert_eq!(report.costs, [5.0], "two messages, the second of them lost; then 150, 70, 110, 190");
        assert!((PERIOD..PERIOD + 10.0).contains(&report.waits[0]), "{:?}", report.waits);
    }

    /// A walk costs a message a step and changes nothing else: from where it ends, the search finds the same node.
    #[test]
    fn a_walk_comes_before_the_search() {
        let costs = |walk| {
            let report = simulate(&script(&[]), Matchmaker::BASIC.after_walk(walk), 1);
            assert_eq!((report.runs.as_slice(), report.lost), ([RUN].as_slice(), 0));
            report.costs[0]
        };
        // The two nodes are parent and child, and the one below can run the job: an odd number of steps ends there.
        assert_eq!([0, 1, 2, 7].map(costs), [1.0, 1.0, 3.0, 7.0]);
        assert_eq!(Matchmaker::Central.after_walk(3), Matchmaker::Central);
    }

    fn searched_in(script: &Script) -> SimulationReport {
        simulate(script, Matchmaker::EXTENDED, 1)
    }

    /// Jobs are run one at a time, in the order of their coming.
    #[test]
    fn a_queue_is_first_in_first_out() {
        let mut busy = script(&[]);
        let job = busy.happenings[2].1.clone();
        busy.happenings.truncate(3);
        busy.happenings.extend([(SUBMITTED + 100.0, job.clone()), (SUBMITTED + 200.0, job)]);
        let report = searched_in(&busy);
        assert_eq!(report.runs, [RUN, RUN, RUN]);
        for (place, wait) in report.waits.iter().enumerate() {
            let expected = (RUN - 100.0) * f64::from(u8::try_from(place).unwrap());
            assert!((wait - expected).abs() < 10.0, "{wait}, and not {expected}");
        }
    }
}
