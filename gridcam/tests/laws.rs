//! What holds of every window and every run.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gridcam::{
        Amounts, Arrival, Assignment, Grid, Metrics, Outcome, Pick, Request, Scheme, State, Window, best, freeze,
        relaxation, simulate,
    };
    use proptest::prelude::*;

    const SCHEMES: [Scheme; 8] = [
        Scheme::Fcfs { pick: Pick::MostFree, blocked: false },
        Scheme::Fcfs { pick: Pick::First, blocked: false },
        Scheme::Fcfs { pick: Pick::BestFit, blocked: false },
        Scheme::Fcfs { pick: Pick::MostFree, blocked: true },
        Scheme::Srfm,
        Scheme::SrfmPrinted,
        Scheme::Lbm,
        Scheme::Filling { max_wait: 300_000 },
    ];

    fn amounts(most: u64) -> impl Strategy<Value = Amounts> {
        (0..=most, 0..=most * 2, 0..=most * 2).prop_map(|(cpus, disk, memory)| Amounts { cpus, disk, memory })
    }

    fn accepts() -> impl Strategy<Value = Option<BTreeSet<usize>>> {
        proptest::option::weighted(0.3, proptest::collection::btree_set(0..4usize, 0..4))
    }

    prop_compose! {
        fn arrival()(at in 0..1200u64, service in 0..400u64, amounts in amounts(8), priority in 0..3i64, accepts in accepts()) -> Arrival {
            Arrival { at: at * 1000, service: service * 1000, amounts, priority, accepts }
        }
    }

    fn jobs(most: usize) -> impl Strategy<Value = Vec<Arrival>> {
        proptest::collection::vec(arrival(), 0..=most)
    }

    fn clusters(most: usize) -> impl Strategy<Value = Vec<Amounts>> {
        proptest::collection::vec(amounts(12), 0..=most)
    }

    fn window<'a>(jobs: &'a [Arrival], clusters: &[Amounts]) -> Window<'a> {
        let request = |job: &'a Arrival| Request {
            amounts: job.amounts,
            priority: job.priority,
            accepts: job.accepts.as_ref(),
            waited: job.at,
        };
        Window { jobs: jobs.iter().map(request).collect(), free: clusters.to_vec() }
    }

    fn minus(free: Amounts, taken: Amounts) -> Option<Amounts> {
        Some(Amounts {
            cpus: free.cpus.checked_sub(taken.cpus)?,
            disk: free.disk.checked_sub(taken.disk)?,
            memory: free.memory.checked_sub(taken.memory)?,
        })
    }

    /// What an assignment leaves free; `None` if it does not fit.
    fn left(window: &Window<'_>, assignment: &Assignment) -> Option<Vec<Amounts>> {
        let mut free = window.free.clone();
        assert_eq!(assignment.clusters.len(), window.jobs.len());
        for (job, cluster) in window.jobs.iter().zip(&assignment.clusters) {
            let Some(cluster) = *cluster else { continue };
            free[cluster] = minus(free[cluster], job.amounts).filter(|_| job.accepts(cluster))?;
        }
        Some(free)
    }

    /// The smallest value of the dual program: a price v for a processor of each cluster, and for each job what is missing to 1. Prices of
    /// an optimal solution are 0 or 1/q of some job, so all of them can be tried.
    fn dual(window: &Window<'_>) -> f64 {
        let mut prices: Vec<f64> =
            window.jobs.iter().filter(|job| job.amounts.cpus > 0).map(|job| 1.0 / job.amounts.cpus as f64).collect();
        prices.push(0.0);
        let tuples = prices.len().pow(u32::try_from(window.free.len()).unwrap());
        let value = |tuple: usize| {
            let price =
                |cluster: usize| prices[tuple / prices.len().pow(u32::try_from(cluster).unwrap()) % prices.len()];
            let rent: f64 =
                (0..window.free.len()).map(|cluster| price(cluster) * window.free[cluster].cpus as f64).sum();
            let missing = |job: &Request<'_>| {
                let fits = |cluster: &usize| job.accepts(*cluster) && job.amounts.fit(window.free[*cluster]);
                let least = (0..window.free.len()).filter(fits).map(price).fold(f64::INFINITY, f64::min);
                if least.is_finite() { (1.0 - job.amounts.cpus as f64 * least).max(0.0) } else { 0.0 }
            };
            rent + window.jobs.iter().map(missing).sum::<f64>()
        };
        (0..tuples).map(value).fold(f64::INFINITY, f64::min)
    }

    /// The simulator without its shortcut: every window is matched, and every second is looked at.
    fn second_by_second(jobs: &[Arrival], grid: &Grid<'_>, scheme: Scheme) -> Vec<Outcome> {
        let mut order: Vec<usize> = (0..jobs.len()).collect();
        order.sort_by_key(|job| jobs[*job].at);
        let mut free = grid.clusters.to_vec();
        let mut raised = vec![0; jobs.len()];
        let mut outcomes: Vec<Option<Outcome>> = vec![None; jobs.len()];
        for now in (0..=grid.until).step_by(1000) {
            for (job, outcome) in outcomes.iter_mut().enumerate() {
                let Some(outcome) = outcome else { continue };
                if let (State::Running, Some((start, cluster))) = (outcome.state, outcome.placed)
                    && start + jobs[job].service <= now
                {
                    outcome.state = State::Completed;
                    let back = jobs[job].amounts;
                    free[cluster].cpus += back.cpus;
                    free[cluster].disk += back.disk;
                    free[cluster].memory += back.memory;
                }
            }
            for job in order.iter().copied().filter(|job| jobs[*job].at == now) {
                outcomes[job] = Some(Outcome { job, state: State::Waiting, placed: None });
            }
            for outcome in outcomes.iter_mut().flatten() {
                if outcome.state == State::Waiting
                    && grid.timeout.is_some_and(|timeout| jobs[outcome.job].at + timeout <= now)
                {
                    outcome.state = State::TimedOut;
                }
            }
            if now > 0 && now % grid.window == 0 {
                let waits = |job: &usize| outcomes[*job].is_some_and(|outcome| outcome.state == State::Waiting);
                let queue: Vec<usize> = order.iter().copied().filter(waits).collect();
                let mut shown = window(jobs, &free);
                let all = shown.jobs;
                shown.jobs = queue
                    .iter()
                    .map(|job| Request {
                        priority: all[*job].priority + raised[*job],
                        waited: now - jobs[*job].at,
                        ..all[*job]
                    })
                    .collect();
                let assignment = scheme.place(&shown);
                free = left(&shown, &assignment).unwrap();
                for place in assignment.raised {
                    raised[queue[place]] += 1;
                }
                for (job, cluster) in queue.into_iter().zip(assignment.clusters) {
                    if let Some(cluster) = cluster {
                        outcomes[job] = Some(Outcome { job, state: State::Running, placed: Some((now, cluster)) });
                    }
                }
            }
        }
        // What is placed at the end and takes no time is done at the end.
        for outcome in outcomes.iter_mut().flatten() {
            if outcome.placed.is_some_and(|(start, _)| start + jobs[outcome.job].service <= grid.until) {
                outcome.state = State::Completed;
            }
        }
        outcomes.into_iter().flatten().collect()
    }

    proptest! {
        #[test]
        fn every_assignment_fits(jobs in jobs(8), clusters in clusters(4)) {
            let window = window(&jobs, &clusters);
            for scheme in SCHEMES {
                prop_assert!(left(&window, &scheme.place(&window)).is_some(), "{:?}", scheme);
            }
            prop_assert!(left(&window, &best(&window)).is_some());
        }

        #[test]
        fn skipping_srfm_lbm_and_filling_leave_no_job_that_fits(jobs in jobs(8), clusters in clusters(4)) {
            let window = window(&jobs, &clusters);
            for scheme in SCHEMES {
                if matches!(scheme, Scheme::Fcfs { blocked: true, .. } | Scheme::SrfmPrinted) {
                    continue;
                }
                let assignment = scheme.place(&window);
                let free = left(&window, &assignment).unwrap();
                for (job, cluster) in window.jobs.iter().zip(&assignment.clusters) {
                    let fits = |at: usize| job.accepts(at) && job.amounts.fit(free[at]);
                    prop_assert!(cluster.is_some() || !(0..free.len()).any(fits), "{:?}", scheme);
                }
            }
        }

        #[test]
        fn a_raised_job_is_one_without_a_cluster(jobs in jobs(8), clusters in clusters(4)) {
            let window = window(&jobs, &clusters);
            for scheme in [Scheme::Srfm, Scheme::SrfmPrinted, Scheme::Lbm] {
                let assignment = scheme.place(&window);
                let without: Vec<usize> = window.order().into_iter().filter(|job| assignment.clusters[*job].is_none()).collect();
                prop_assert_eq!(assignment.raised, without);
            }
        }

        #[test]
        fn the_relaxation_is_feasible_and_no_dual_solution_is_below_it(jobs in jobs(6), clusters in clusters(4)) {
            let window = window(&jobs, &clusters);
            let solution = relaxation(&window);
            let mut share = vec![0.0; jobs.len()];
            let mut load = vec![0.0; clusters.len()];
            for (job, cluster, r) in &solution.requests {
                prop_assert!(*r > 0.0 && window.jobs[*job].accepts(*cluster) && jobs[*job].amounts.fit(clusters[*cluster]));
                share[*job] += r;
                load[*cluster] += r * jobs[*job].amounts.cpus as f64;
            }
            prop_assert!(share.iter().all(|share| *share <= 1.0 + 1e-9), "{:?}", solution);
            prop_assert!(load.iter().zip(&clusters).all(|(load, cluster)| *load <= cluster.cpus as f64 + 1e-9), "{:?}", solution);
            prop_assert!((share.iter().sum::<f64>() - solution.value).abs() < 1e-9);
            prop_assert!((dual(&window) - solution.value).abs() < 1e-9, "{} is not {:?}", dual(&window), solution);
        }

        #[test]
        fn no_scheme_places_more_than_the_best_and_that_no_more_than_the_relaxation(jobs in jobs(7), clusters in clusters(3)) {
            let window = window(&jobs, &clusters);
            let most = best(&window).placed();
            prop_assert!(most as f64 <= relaxation(&window).value + 1e-9);
            for scheme in SCHEMES {
                prop_assert!(scheme.place(&window).placed() <= most, "{:?}", scheme);
            }
        }

        #[test]
        fn the_order_of_the_input_changes_neither_the_best_nor_the_relaxation(jobs in jobs(7), clusters in clusters(3)) {
            let mut turned = jobs.clone();
            turned.reverse();
            let (one, other) = (window(&jobs, &clusters), window(&turned, &clusters));
            prop_assert_eq!(best(&one).placed(), best(&other).placed());
            prop_assert!((relaxation(&one).value - relaxation(&other).value).abs() < 1e-9);
        }

        #[test]
        fn runs_are_those_of_a_simulator_that_looks_at_every_second(
            jobs in jobs(14), clusters in clusters(3), length in 1..=120u64, until in 1..1300u64, timeout in proptest::option::of(0..600u64),
        ) {
            let grid = Grid { clusters: &clusters, window: length * 1000, until: until * 1000, timeout: timeout.map(|timeout| timeout * 1000) };
            for scheme in SCHEMES {
                let outcomes = simulate(&jobs, &grid, &mut |window| scheme.place(window));
                prop_assert_eq!(&outcomes, &second_by_second(&jobs, &grid, scheme), "{:?}", scheme);
                let metrics = Metrics::of(&jobs, &grid, &outcomes);
                prop_assert_eq!(metrics.submitted, metrics.completed + metrics.running + metrics.waiting + metrics.timed_out);
                prop_assert_eq!(metrics.submitted, jobs.iter().filter(|job| job.at <= grid.until).count() as u64);
                prop_assert!(metrics.sum_wait <= metrics.sum_wait_all && metrics.p95_wait <= metrics.max_wait);
                prop_assert!(metrics.utilization(&grid) <= 100.0);
                prop_assert!(grid.timeout.is_none_or(|timeout| metrics.max_wait <= timeout));
            }
        }

        #[test]
        fn the_order_of_the_list_changes_no_run_if_no_two_jobs_arrive_together(mut jobs in jobs(12), clusters in clusters(3)) {
            jobs.sort_by_key(|job| job.at);
            jobs.dedup_by_key(|job| job.at);
            let mut turned = jobs.clone();
            turned.reverse();
            let grid = Grid { clusters: &clusters, window: 60_000, until: 1_200_000, timeout: Some(300_000) };
            for scheme in SCHEMES {
                let one = simulate(&jobs, &grid, &mut |window| scheme.place(window));
                let mut other = simulate(&turned, &grid, &mut |window| scheme.place(window));
                other.reverse();
                for outcome in &mut other {
                    outcome.job = jobs.len() - 1 - outcome.job;
                }
                prop_assert_eq!(one, other, "{:?}", scheme);
            }
        }

        #[test]
        fn a_queue_stands_still_behind_a_job_that_fits_no_empty_cluster(mut jobs in jobs(10), clusters in clusters(3)) {
            let grid = Grid { clusters: &clusters, window: 1000, until: 1_200_000, timeout: None };
            jobs.insert(0, Arrival { amounts: Amounts { cpus: 1_000_000, ..Amounts::default() }, priority: 9, ..Arrival::default() });
            let blocked = Scheme::Fcfs { pick: Pick::MostFree, blocked: true };
            let outcomes = simulate(&jobs, &grid, &mut |window| blocked.place(window));
            prop_assert!(outcomes.iter().all(|outcome| outcome.state == State::Waiting));
            let fits = |job: &&Arrival| (0..clusters.len()).any(|at| job.accepts.as_ref().is_none_or(|all| all.contains(&at)) && job.amounts.fit(clusters[at]));
            let behind = jobs.iter().skip(1).filter(fits).count() as u64;
            let found = freeze(&jobs, &grid, &outcomes);
            prop_assert_eq!(found.map_or(0, |freeze| freeze.behind), behind);
            prop_assert!(found.is_none_or(|freeze| (freeze.since, freeze.job) == (0, 0)));
        }
    }
}
