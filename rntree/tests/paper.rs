//! What the paper states, beside what is measured here: figure 2, table 1, and the sentences about figures 3 to 5.

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use rntree::{Churn, Matchmaker, Script, SimulationReport, WORKLOADS, Workload, costs, shape, simulate};
    use sampling::{mean, percentile};

    const SEED: u64 = 1;
    /// Place of each workload in [`WORKLOADS`].
    const STATIC: [usize; 3] = [0, 1, 2];
    const DYNAMIC: [usize; 3] = [3, 4, 5];

    /// The reports of a workload.
    struct Reports {
        name: &'static str,
        central: SimulationReport,
        basic: SimulationReport,
        extended: SimulationReport,
    }

    impl Reports {
        fn of(workload: &Workload) -> Reports {
            let script = workload.script(SEED);
            let [central, basic, extended] = [Matchmaker::Central, Matchmaker::BASIC, Matchmaker::EXTENDED]
                .map(|matchmaker| simulate(&script, matchmaker, SEED));
            Reports { name: workload.name, central, basic, extended }
        }

        /// Mean waiting times: central, basic, extended.
        fn waits(&self) -> [f64; 3] {
            [&self.central, &self.basic, &self.extended].map(|report| mean(&report.waits))
        }

        /// The part of the basic search's waiting time that the extended one waits, in percent.
        fn ratio(&self) -> f64 {
            let [_, basic, extended] = self.waits();
            100.0 * extended / basic
        }
    }

    /// Every workload under every matchmaker, simulated once for all tests, two workloads at a time.
    static ALL: LazyLock<Vec<Reports>> = LazyLock::new(|| {
        let (even, odd): (Vec<_>, Vec<_>) = WORKLOADS.iter().enumerate().partition(|(place, _)| place % 2 == 0);
        let run = |part: Vec<(usize, &Workload)>| {
            part.into_iter().map(|(place, workload)| (place, Reports::of(workload))).collect::<Vec<_>>()
        };
        let mut all = std::thread::scope(|scope| {
            let other = scope.spawn(|| run(odd));
            let mut all = run(even);
            all.extend(other.join().unwrap());
            all
        });
        all.sort_by_key(|(place, _)| *place);
        all.into_iter().map(|(_, reports)| reports).collect()
    });

    fn p75(report: &SimulationReport) -> f64 {
        percentile(&report.costs, 0.75)
    }

    /// Ids are those of the C library's generator, so the shapes are exact: (nodes, heights under three seeds, most children).
    #[test]
    fn the_shape_of_the_tree_is_that_of_figure_2() {
        let golden = [
            (1_000, [11, 11, 9], [14, 14, 14]),
            (2_000, [11, 11, 10], [16, 21, 15]),
            (5_000, [12, 12, 11], [20, 20, 22]),
            (10_000, [12, 12, 12], [22, 20, 24]),
            (20_000, [13, 15, 13], [21, 23, 24]),
            (50_000, [16, 16, 15], [25, 26, 23]),
            (100_000, [17, 16, 16], [30, 27, 27]),
        ];
        for (nodes, heights, widths) in golden {
            let shapes = [1, 2, 3].map(|seed| shape(nodes, seed));
            assert_eq!(shapes.map(|shape| shape.height), heights, "{nodes} nodes");
            assert_eq!(shapes.map(|shape| shape.most_children), widths, "{nodes} nodes");
        }
    }

    /// With ids from another generator, too, the height is near the logarithm and no node has very many children.
    #[test]
    fn the_tree_is_low_and_narrow_with_any_ids() {
        for nodes in [1_000, 10_000, 100_000u32] {
            let mut random = sampling::Random::stream(7, "ids");
            let ring = rntree::Ring::new((0..nodes).map(|_| random.below(1 << rntree::ID_BITS)));
            let tree = rntree::Tree::new(&ring);
            let height = f64::from(u32::try_from(tree.height()).unwrap());
            assert!((height - f64::from(nodes).log2()).abs() <= 3.0, "{nodes} nodes: height {height}");
            assert!(tree.most_children() <= 40, "{nodes} nodes: {} children", tree.most_children());
        }
    }

    fn assert_near(name: &str, what: &str, ours: &[f64], paper: &[f64], tolerance: &[f64]) {
        for ((ours, paper), tolerance) in ours.iter().zip(paper).zip(tolerance) {
            assert!((ours - paper).abs() <= *tolerance, "{name}, {what}: {ours}, in the paper {paper}");
        }
    }

    /// Of each workload as printed in the paper: present, failed and left nodes, jobs, departed nodes in percent.
    const COUNTS: [(usize, usize, usize, usize, f64); 6] = [
        (1000, 0, 0, 10_000, 0.0),
        (1000, 0, 0, 10_000, 0.0),
        (1000, 0, 0, 10_000, 0.0),
        (1825, 454, 291, 12_685, 29.0),
        (1335, 591, 594, 12_295, 47.0),
        (2500, 264, 470, 12_032, 22.7),
    ];

    /// And the percentage of the jobs with 0, 1, 2 and 3 constraints.
    const COMPOSITIONS: [[f64; 4]; 6] = [
        [20.5, 42.8, 29.6, 7.1],
        [5.7, 27.8, 43.7, 22.8],
        [0.6, 8.7, 37.9, 52.7],
        [11.5, 36.7, 38.5, 13.3],
        [12.0, 36.9, 37.6, 13.5],
        [12.3, 37.2, 37.5, 13.1],
    ];

    #[test]
    fn the_workloads_are_those_of_table_1() {
        for ((workload, counts), composition) in WORKLOADS.iter().zip(COUNTS).zip(COMPOSITIONS) {
            let name = workload.name;
            let scripts = [1, 2, 3].map(|seed| workload.script(seed));
            let columns = scripts.each_ref().map(Script::traffic);
            for (script, traffic) in scripts.iter().zip(&columns) {
                let departed = (traffic.departed() * 10.0).round() / 10.0;
                assert_eq!((traffic.present, traffic.failed, traffic.left, traffic.jobs, departed), counts, "{name}");
                assert_near(name, "composition", &traffic.composition, &composition, &[1.5; 4]);
                assert_eq!(script.nodes(), traffic.present + traffic.failed + traffic.left);
            }
            // The rarer a number of constraints is, the more its difficulty varies: means of the three seeds.
            let difficulty =
                [0, 1, 2, 3].map(|count| mean(&columns.each_ref().map(|traffic| traffic.difficulty[count])));
            assert_near(name, "difficulty", &difficulty, &[100.0, 50.0, 25.0, 12.7], &[0.0, 1.5, 1.5, 1.6]);
        }
    }

    /// A job is lost if its owner node and its run node fail together; one node is often both, most often in the basic search.
    #[test]
    fn every_job_ends_or_is_counted() {
        for (workload, reports) in WORKLOADS.iter().zip(ALL.iter()) {
            for report in [&reports.central, &reports.basic, &reports.extended] {
                assert_eq!(report.waits.len() + report.unmatched + report.lost, workload.jobs, "{}", workload.name);
                let (unmatched, lost) = (report.unmatched, report.lost);
                assert!(unmatched <= workload.jobs / 200 && lost <= workload.jobs / 20, "{unmatched}, {lost}");
            }
            assert!(reports.extended.lost <= reports.basic.lost, "{}", workload.name);
        }
        for reports in STATIC.map(|place| &ALL[place]) {
            for report in [&reports.central, &reports.basic, &reports.extended] {
                assert_eq!((report.unmatched, report.lost, report.retries, report.restarts), (0, 0, 0, 0));
            }
        }
    }

    /// The paper: 28 % in the static workloads and 17 % in the dynamic ones, on average.
    #[test]
    fn the_extended_search_waits_a_part_of_the_basic_one() {
        for (places, each, all) in [(STATIC, 12.0..=45.0, 18.0..=36.0), (DYNAMIC, 6.0..=40.0, 8.0..=32.0)] {
            let ratios = places.map(|place| ALL[place].ratio());
            assert!(ratios.iter().all(|ratio| each.contains(ratio)), "{ratios:?}");
            assert!(all.contains(&mean(&ratios)), "{ratios:?}");
        }
    }

    /// The same under each of three seeds alone, and for their means.
    #[test]
    fn the_parts_that_the_extended_search_waits_hold_under_other_seeds() {
        let wait =
            |workload: &Workload, matchmaker, seed| mean(&simulate(&workload.script(seed), matchmaker, seed).waits);
        let waits = |workload: &Workload| {
            let all = |matchmaker| [2, 3].map(|seed| wait(workload, matchmaker, seed));
            [all(Matchmaker::BASIC), all(Matchmaker::EXTENDED)]
        };
        let others: Vec<[[f64; 2]; 2]> = std::thread::scope(|scope| {
            let threads: Vec<_> = WORKLOADS.iter().map(|workload| scope.spawn(move || waits(workload))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for (places, each, all) in [(STATIC, 12.0..=45.0, 18.0..=36.0), (DYNAMIC, 6.0..=40.0, 8.0..=32.0)] {
            // A row for each workload: the parts under the seeds 1, 2 and 3, and that of the mean waits.
            let rows = places.map(|place| {
                let ([_, basic, extended], [basics, extendeds]) = (ALL[place].waits(), others[place]);
                let (basics, extendeds) = ([basic, basics[0], basics[1]], [extended, extendeds[0], extendeds[1]]);
                let part = |seed: usize| 100.0 * extendeds[seed] / basics[seed];
                [part(0), part(1), part(2), 100.0 * mean(&extendeds) / mean(&basics)]
            });
            assert!(rows.iter().flatten().all(|ratio| each.contains(ratio)), "{rows:?}");
            for column in 0..4 {
                assert!(all.contains(&mean(&rows.map(|row| row[column]))), "{rows:?}");
            }
        }
    }

    #[test]
    fn the_central_matchmaker_waits_least_and_the_basic_search_most() {
        for reports in ALL.iter() {
            let [central, basic, extended] = reports.waits();
            assert!(central < extended && extended < basic, "{}: {:?}", reports.name, reports.waits());
        }
    }

    #[test]
    fn jobs_with_more_constraints_wait_longer() {
        let [least, most] = [ALL[STATIC[0]].waits(), ALL[STATIC[2]].waits()];
        assert!(least.iter().zip(&most).all(|(least, most)| least < most), "{least:?} {most:?}");
    }

    /// The paper: 75 % of the jobs cost the extended search 0.4 % of the nodes on average, not much more than the basic one.
    #[test]
    fn three_quarters_of_the_searches_are_short() {
        for reports in ALL.iter() {
            let (basic, extended) = (p75(&reports.basic), p75(&reports.extended));
            assert!(extended <= 20.0, "{}: {extended}", reports.name);
            assert!(extended <= 4.0 * basic + 2.0, "{}: {basic}, {extended}", reports.name);
            assert!(basic < extended, "{}: {basic}, {extended}", reports.name);
        }
    }

    /// The paper: 31.7 % of the nodes in the worst case.
    #[test]
    fn the_longest_search_visits_a_third_of_the_nodes_at_most() {
        for reports in ALL.iter() {
            let most = reports.extended.visited.iter().copied().fold(0.0, f64::max);
            assert!(most <= 0.35, "{}: {most}", reports.name);
        }
    }

    #[test]
    fn messages_for_the_tree_are_few_beside_the_basic_ones() {
        for reports in ALL.iter() {
            for report in [&reports.basic, &reports.extended] {
                let (basic, tree) = report.messages_per_node();
                assert!(tree <= 0.35 * basic, "{}: {tree} of {basic}", reports.name);
            }
            assert_eq!(reports.central.tree_messages, 0.0);
        }
    }

    /// By the heartbeats of its long queues.
    #[test]
    fn the_basic_search_sends_most_basic_messages() {
        for reports in ALL.iter() {
            let sent = [&reports.basic, &reports.extended, &reports.central].map(|report| report.messages_per_node().0);
            assert!(sent.is_sorted_by(|more, less| more > less), "{}: {sent:?}", reports.name);
        }
    }

    #[test]
    fn the_most_dynamic_workload_waits_longest_of_the_dynamic_ones() {
        let [one, two, three] = DYNAMIC.map(|place| ALL[place].waits());
        for ((one, two), three) in one.iter().zip(&two).zip(&three) {
            assert!(two > one && two > three, "{one} {two} {three}");
        }
    }

    #[test]
    fn under_light_load_the_basic_search_does_about_as_well_as_the_central_matchmaker() {
        let [busy, ..] = WORKLOADS;
        let light = Workload { work: (busy.work.0 / 20.0, busy.work.1 / 20.0), ..busy };
        let report = simulate(&light.script(SEED), Matchmaker::BASIC, SEED);
        let (wait, run) = (mean(&report.waits), mean(&report.runs));
        assert!(wait <= 0.1 * run, "waits {wait} for runs of {run}");
    }

    /// Whatever the number of nodes, since a node that can run a typical job is near.
    #[test]
    fn the_cost_of_a_search_does_not_grow_with_the_network() {
        for nodes in [500, 4_000, 16_000] {
            let p75s: Vec<f64> =
                costs(nodes, &[1, 2, 4], 4_000, SEED).iter().map(|cost| percentile(&cost.messages, 0.75)).collect();
            for (found, expected) in p75s.iter().zip([3.0, 7.0, 16.0]) {
                assert!((found - expected).abs() <= 0.25 * expected, "{nodes} nodes: {p75s:?}");
            }
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let [.., workload] = WORKLOADS;
        let churn = Churn { joins: 100, failures: 50, leaves: 50 };
        let small = Workload { nodes: 100, jobs: 1_000, churn, ..workload };
        let run = |matchmaker, seed| format!("{:?}", simulate(&small.script(4), matchmaker, seed));
        let searches = [Matchmaker::BASIC, Matchmaker::EXTENDED, Matchmaker::EXTENDED.after_walk(5)];
        let all = [Matchmaker::Central].into_iter().chain(searches);
        let reports: Vec<String> = all.clone().map(|matchmaker| run(matchmaker, 4)).collect();
        for (place, (matchmaker, report)) in all.zip(&reports).enumerate() {
            assert_eq!(run(matchmaker, 4), *report, "{matchmaker:?}");
            assert_ne!(run(matchmaker, 5), *report, "{matchmaker:?}: another seed draws otherwise");
            assert!(!reports[..place].contains(report), "{matchmaker:?}: a report of its own");
        }
    }
}
