//! The figures and tables of the thesis.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gridcam::{Amounts, Pick, Request, Scheme, Window, best, relaxation};

    const MOST_FREE: Scheme = Scheme::Fcfs { pick: Pick::MostFree, blocked: false };
    const BEST_FIT: Scheme = Scheme::Fcfs { pick: Pick::BestFit, blocked: false };
    const BLOCKED: Scheme = Scheme::Fcfs { pick: Pick::First, blocked: true };

    fn cpus(cpus: u64) -> Amounts {
        Amounts { cpus, ..Amounts::default() }
    }

    #[test]
    fn figure_1_1_places_three_jobs_if_the_scarce_cluster_is_kept() {
        let jobs = [5, 5, 20].map(|wanted| Request::of(cpus(wanted))).to_vec();
        let window = Window { jobs, free: vec![cpus(20), cpus(10)] };
        assert_eq!(MOST_FREE.place(&window).clusters, [Some(0), Some(0), None]);
        for scheme in [BEST_FIT, Scheme::Srfm, Scheme::SrfmPrinted, Scheme::Lbm, Scheme::Filling { max_wait: 1 }] {
            assert_eq!(scheme.place(&window).clusters, [Some(1), Some(1), Some(0)], "{scheme:?}");
        }
        assert_eq!(relaxation(&window).requests, [(0, 1, 1.0), (1, 1, 1.0), (2, 0, 1.0)]);
    }

    #[test]
    fn table_4_1_has_four_places_for_five_jobs() {
        let accepted = [&[1][..], &[0], &[0, 1], &[0, 1, 4], &[2, 3, 4]]
            .map(|all| all.iter().copied().collect::<BTreeSet<usize>>());
        let request = |accepts| Request { accepts: Some(accepts), ..Request::of(cpus(1)) };
        let window = Window { jobs: accepted.iter().map(request).collect(), free: vec![cpus(1); 5] };
        assert_eq!(Scheme::Srfm.place(&window).clusters, [Some(1), Some(0), None, Some(4), Some(2)]);
        assert_eq!(Scheme::Srfm.place(&window).raised, [2]);
        assert_eq!(Scheme::SrfmPrinted.place(&window).clusters, [Some(1), Some(0), None, Some(4), Some(3)]);
        assert_eq!(BLOCKED.place(&window).placed(), 2);
        assert_eq!((MOST_FREE.place(&window).placed(), best(&window).placed()), (4, 4));
        assert_eq!(relaxation(&window).value, 4.0);
    }

    #[test]
    fn figure_4_3_shows_that_srfm_as_printed_leaves_a_cluster_empty() {
        let (both, second) = (BTreeSet::from([0, 1]), BTreeSet::from([1]));
        let request = |accepts| Request { accepts: Some(accepts), ..Request::of(cpus(1)) };
        let window = Window { jobs: vec![request(&both), request(&second)], free: vec![cpus(2), cpus(1)] };
        assert_eq!(Scheme::Lbm.place(&window).clusters, [Some(0), Some(1)]);
        assert_eq!(Scheme::Srfm.place(&window).clusters, [Some(0), Some(1)]);
        assert_eq!(Scheme::SrfmPrinted.place(&window).clusters, [None, Some(1)]);
    }
}
