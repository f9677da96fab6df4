//! Hard pools, small ones: the engine finds what the plain search finds, and does not look at everything to find it.

#[cfg(test)]
#[path = "../../testing/baselines/examples/adversarial/pool.rs"]
mod pool;
#[cfg(test)]
#[path = "../../testing/baselines/examples/adversarial/sets.rs"]
mod sets;

#[cfg(test)]
mod tests {
    use gangindex::{Indexed, Stats};
    use matchmaker::{Config, Plain, negotiate};

    use super::sets::SETS;

    /// Runs all cycles of a set, compares each with the plain search, and gives what the last one did.
    fn run(name: &str, size: usize) -> Stats {
        let set = SETS.iter().find(|set| set.name == name).unwrap();
        let config = Config::product();
        let mut engine = Indexed::new();
        for (pool, now) in (set.make)(size) {
            assert!(pool.faults.is_empty(), "{name}: {}", pool.faults[0]);
            let snapshot = pool.snapshot();
            let cycle = engine.negotiate(&snapshot, &config, now);
            let wanted = negotiate(&snapshot, &config, now, &mut Plain::default());
            // Why the others wait is compared elsewhere.
            assert_eq!(cycle.gangs, wanted.gangs, "{name}");
            assert_eq!((cycle.cut_short, cycle.disagreements), (wanted.cut_short, vec![]), "{name}");
            assert_eq!(cycle.unmatched.len(), wanted.unmatched.len(), "{name}");
        }
        engine.stats
    }

    #[test]
    fn every_set_comes_to_what_the_plain_search_finds() {
        for set in &SETS {
            let size = if set.size < 100 { set.size.min(if set.name == "pigeonhole" { 5 } else { 12 }) } else { 12 };
            run(set.name, size);
        }
    }

    /// What a set does at a size that is too large for the plain search.
    fn counted(name: &str, size: usize) -> (Stats, usize) {
        let set = SETS.iter().find(|set| set.name == name).unwrap();
        let mut engine = Indexed::new();
        let mut matched = 0;
        for (pool, now) in (set.make)(size) {
            matched = engine.gangs(&pool.snapshot(), &Config::product(), now).gangs.len();
        }
        (engine.stats, matched)
    }

    #[test]
    fn one_reflective_ad_leaves_classes_as_they_are() {
        let (stats, _) = counted("one reflective ad", 1000);
        assert!(stats.classes <= 10, "{stats:?}");
        assert!(stats.steps <= 10_000, "{stats:?}");
    }

    #[test]
    fn ads_of_different_structure_leave_classes_as_they_are() {
        let (stats, _) = counted("templates of different structure", 200);
        assert!(stats.classes <= 10, "{stats:?}");
        assert_eq!(stats.guided, 0, "{stats:?}");
    }

    #[test]
    fn equal_roots_are_one_class_whoever_submits_them() {
        let (stats, _) = counted("10,000 submitters", 1000);
        assert!(stats.classes <= 10, "{stats:?}");
    }

    #[test]
    fn unique_strings_that_nobody_can_tell_apart_cost_a_class_each_at_most() {
        let (stats, matched) = counted("every string unique", 500);
        assert!(stats.classes <= 500 && stats.guided == 0, "{stats:?}");
        assert!(stats.questions <= stats.classes + u64::try_from(matched).unwrap(), "{stats:?}");
    }

    #[test]
    fn licenses_tied_to_hosts_are_found_through_the_host() {
        let (stats, matched) = counted("licenses tied to hosts", 1000);
        assert_eq!(stats.guided, 0, "{stats:?}");
        assert!(stats.questions <= stats.classes + u64::try_from(matched).unwrap(), "{stats:?}");
        assert!(stats.steps <= 20_000, "{stats:?}");
    }

    #[test]
    fn a_plateau_costs_no_more_than_its_rows() {
        let (stats, matched) = counted("equal ranks, license first", 1000);
        assert!(stats.questions <= stats.classes + u64::try_from(matched).unwrap(), "{stats:?}");
        assert!(stats.steps <= 20_000, "{stats:?}");
    }
}
