//! Tables 5.1 and 5.2 of the thesis, simulated: the figures of docs/gridcam.md.

#[cfg(test)]
mod tests {
    use gridcam::{Amounts, Distribution, Grid, Law, Laws, Metrics, Pick, Scheme, Summary, arrivals, freeze, simulate};

    const HOUR: u64 = 3_600_000;
    const SECOND: u64 = 1000;
    const BLOCKED: Scheme = Scheme::Fcfs { pick: Pick::MostFree, blocked: true };
    const SKIPPING: Scheme = Scheme::Fcfs { pick: Pick::MostFree, blocked: false };
    const BEST_FIT: Scheme = Scheme::Fcfs { pick: Pick::BestFit, blocked: false };
    const FILLING: Scheme = Scheme::Filling { max_wait: 1800 * SECOND };

    fn laws(never_fits: f64) -> Laws {
        let uniform = |low, high| Distribution::from(Law::Uniform(low, high));
        Laws {
            arrival: Law::Exponential(60.0).into(),
            service: uniform(10.0, 3600.0),
            cpus: Law::Whole(2, 30).into(),
            disk: Some(uniform(1000.0, 10_000.0)),
            memory: Some(uniform(100.0, 1000.0)),
            never_fits,
        }
    }

    fn clusters() -> Vec<Amounts> {
        let cluster = |cpus| Amounts { cpus, disk: 2500 * cpus, memory: 250 * cpus };
        [128, 96, 64, 56, 48, 40, 32, 24, 16, 16].map(cluster).to_vec()
    }

    /// Means over the seeds 1 to `runs`, and how many of the runs stood still at their end.
    fn mean(laws: &Laws, grid: &Grid<'_>, scheme: Scheme, runs: u64) -> (Summary, usize) {
        let mut frozen = 0;
        let run = |seed| {
            let jobs = arrivals(laws, seed, grid.until, usize::MAX);
            let outcomes = simulate(&jobs, grid, &mut |window| scheme.place(window));
            frozen += usize::from(freeze(&jobs, grid, &outcomes).is_some());
            Metrics::of(&jobs, grid, &outcomes)
        };
        let metrics: Vec<Metrics> = (1..=runs).map(run).collect();
        (Summary::of(&metrics, grid), frozen)
    }

    /// Completed and running in percent with one decimal, the average wait in seconds.
    fn shown(summary: &Summary) -> String {
        format!("{:.1} + {:.1}, {:.0} s", summary.completed.mean, summary.running.mean, summary.wait.mean)
    }

    #[test]
    fn two_and_ten_hours_are_as_published() {
        for (scheme, window, two, ten) in [
            (BLOCKED, 1, "69.7 + 22.8, 252 s", "87.8 + 4.3, 1390 s"),
            (SKIPPING, 1, "72.2 + 23.7, 126 s", "92.6 + 5.2, 460 s"),
            (BEST_FIT, 1, "72.8 + 24.0, 92 s", "93.0 + 5.2, 377 s"),
            (Scheme::Srfm, 120, "71.5 + 24.5, 165 s", "91.9 + 5.2, 579 s"),
            (Scheme::SrfmPrinted, 120, "70.9 + 23.9, 217 s", "91.5 + 5.1, 690 s"),
            (FILLING, 1, "73.2 + 24.0, 83 s", "93.2 + 5.2, 351 s"),
        ] {
            let clusters = clusters();
            let grid = |hours| Grid {
                clusters: &clusters,
                window: window * SECOND,
                until: hours * HOUR,
                timeout: Some(2 * HOUR),
            };
            assert_eq!(shown(&mean(&laws(0.0), &grid(2), scheme, 20).0), two, "{scheme:?}");
            assert_eq!(shown(&mean(&laws(0.0), &grid(10), scheme, 10).0), ten, "{scheme:?}");
        }
    }

    #[test]
    fn lbm_is_near_what_was_published_for_another_optimal_solution() {
        let clusters = clusters();
        for (hours, runs, completed, wait) in [(2, 20, 71.7, 125.0), (10, 10, 91.1, 279.0)] {
            let grid = Grid { clusters: &clusters, window: 120 * SECOND, until: hours * HOUR, timeout: Some(2 * HOUR) };
            let summary = mean(&laws(0.0), &grid, Scheme::Lbm, runs).0;
            assert!((summary.completed.mean - completed).abs() < 1.0, "{}", shown(&summary));
            assert!((summary.wait.mean / wait - 1.0).abs() < 0.1, "{}", shown(&summary));
        }
    }

    #[test]
    fn filling_completes_no_less_than_skipping_and_saves_a_tenth_of_the_waits() {
        let clusters = clusters();
        let grid = Grid { clusters: &clusters, window: SECOND, until: 24 * HOUR, timeout: Some(2 * HOUR) };
        let (skipping, filling) = (mean(&laws(0.0), &grid, SKIPPING, 10).0, mean(&laws(0.0), &grid, FILLING, 10).0);
        assert!(filling.completed.mean >= skipping.completed.mean, "{} {}", shown(&filling), shown(&skipping));
        assert!(filling.wait_all.mean <= 0.9 * skipping.wait_all.mean, "{} {}", shown(&filling), shown(&skipping));
    }

    #[test]
    fn a_few_jobs_that_never_fit_freeze_a_blocked_queue_and_no_other() {
        let twice = |one: Amounts| Amounts { cpus: 2 * one.cpus, disk: 2 * one.disk, memory: 2 * one.memory };
        let clusters: Vec<Amounts> = clusters().into_iter().map(twice).collect();
        let grid = Grid { clusters: &clusters, window: SECOND, until: 24 * HOUR, timeout: None };
        let (blocked, frozen) = mean(&laws(0.002), &grid, BLOCKED, 20);
        assert_eq!(
            (format!("{:.1} + {:.1}", blocked.completed.mean, blocked.running.mean).as_str(), frozen > 10),
            ("40.5 + 0.2", true)
        );
        let (skipping, frozen) = mean(&laws(0.002), &grid, SKIPPING, 10);
        assert!(skipping.completed.mean > 95.0 && skipping.wait.mean < 1.0 && frozen == 0, "{}", shown(&skipping));
    }
}
