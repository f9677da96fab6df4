//! Roots that are placed together get the same gangs with the index as with the plain search.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use gangindex::Indexed;
    use matchmaker::{Collective, Config, Gang, Plain, PoolAd, Root, Together, negotiate_together, overdue, verify};
    use proptest::prelude::*;

    use super::alike;
    use crate::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
    }

    /// Jobs placed together by both finders, which find the same.
    fn indexed_and_plain(ads: Vec<PoolAd>) -> [Together; 2] {
        let snapshot = alike::snapshot(ads);
        let (config, collective) = (Config { explains: false, ..Config::product() }, Collective::default());
        let indexed = negotiate_together(&snapshot, &config, NOW, &mut Indexed::new(), &collective);
        let plain = negotiate_together(&snapshot, &config, NOW, &mut Plain::default(), &collective);
        assert_eq!(indexed.cycle.gangs, plain.cycle.gangs);
        assert_eq!((indexed.placed, indexed.bound), (plain.placed, plain.bound));
        [indexed, plain]
    }

    proptest! {
        #![proptest_config(runs(1500))]

        #[test]
        fn placing_together_is_the_same_with_every_finder(bytes in bytes(), sets in any::<bool>()) {
            let world = world(&bytes, if sets { 7 } else { 10 }, sets);
            let collective = Collective::default();
            let plain = negotiate_together(&world.snapshot, &world.config, NOW, &mut Plain::default(), &collective);
            // A search that ran out of steps may have found less.
            prop_assume!(plain.effort.candidates < world.config.steps_max);
            let indexed = negotiate_together(&world.snapshot, &world.config, NOW, &mut Indexed::new(), &collective);
            prop_assert_eq!(&indexed.cycle.gangs, &plain.cycle.gangs, "{}", world.text);
            prop_assert_eq!((indexed.placed, indexed.bound), (plain.placed, plain.bound), "{}", world.text);
            // of offers that are alike only the first ones
            prop_assert!(indexed.effort.gangs <= plain.effort.gangs, "{}", world.text);
            prop_assert_eq!(&indexed.cycle.disagreements, &Vec::new(), "{}", world.text);
            prop_assert!(indexed.effort.candidates <= plain.effort.candidates, "{}", world.text);
            // a search that found nothing before the window was placed is made again
            let config = Config { fruitless_steps_min: 0, ..world.config.clone() };
            let remembering = negotiate_together(&world.snapshot, &config, NOW, &mut Indexed::new(), &collective);
            prop_assert_eq!(&remembering.cycle.gangs, &plain.cycle.gangs, "{}", world.text);
        }

        #[test]
        fn what_the_index_remembers_changes_no_placement(bytes in bytes(), then in bytes()) {
            let [first, second] = [world(&bytes, 10, false), world(&then, 10, false)];
            let collective = Collective::default();
            let mut warm = Indexed::new();
            negotiate_together(&first.snapshot, &first.config, NOW, &mut warm, &collective);
            let after = negotiate_together(&second.snapshot, &second.config, NOW, &mut warm, &collective);
            let cold = negotiate_together(&second.snapshot, &second.config, NOW, &mut Indexed::new(), &collective);
            prop_assert_eq!(after.cycle.gangs, cold.cycle.gangs, "{}", second.text);
            prop_assert_eq!((after.placed, after.bound), (cold.placed, cold.bound), "{}", second.text);
        }
    }

    /// Placed as a large window is: only the parts that may gain.
    fn in_parts(world: &World, config: &Config) -> Together {
        let collective = Collective { whole: 0, ..Collective::default() };
        negotiate_together(&world.snapshot, config, NOW, &mut Indexed::new(), &collective)
    }

    proptest! {
        #![proptest_config(runs(1500))]

        #[test]
        fn parts_of_a_window_are_placed_no_worse_than_in_turn(bytes in bytes(), steps in 0usize..3) {
            let world = world(&bytes, 14, false);
            // searches without a result are remembered at once, and submitters run out of steps
            let cycle_steps_max = [10, 100, 100_000][steps];
            let config = Config { fruitless_steps_min: 0, cycle_steps_max, ..world.config.clone() };
            let parts = in_parts(&world, &config);
            let whole = negotiate_together(&world.snapshot, &config, NOW, &mut Indexed::new(), &Collective::default());
            prop_assert_eq!(parts.in_turn, whole.in_turn, "{}", world.text);
            prop_assert!(parts.in_turn.gangs <= parts.placed.gangs, "{}", world.text);
            prop_assert!(parts.placed.gangs <= parts.bound, "{}", world.text);
            // what is possible is within the bound
            prop_assert!(whole.placed.gangs <= parts.bound && parts.placed.gangs <= whole.bound, "{}", world.text);
            prop_assert!(!parts.proven || parts.placed.gangs >= whole.placed.gangs, "{}", world.text);
            prop_assert_eq!(&parts.cycle.disagreements, &Vec::new(), "{}", world.text);
            let mut pool = world.snapshot.clone();
            for gang in &parts.cycle.gangs {
                prop_assert!(verify(&pool, gang, &config, NOW).is_ok(), "{}", world.text);
                pool = pool.after(std::slice::from_ref(gang));
            }
            let roots: BTreeSet<_> = parts.cycle.gangs.iter().filter_map(Gang::root).collect();
            prop_assert_eq!(roots.len(), parts.cycle.gangs.len(), "{}", world.text);
            // no submitter has fewer than in turn, of whatever priority and above
            let in_turn = Indexed::new().negotiate(&world.snapshot, &config, NOW);
            let before: BTreeSet<_> = in_turn.gangs.iter().filter_map(Gang::root).collect();
            for least in &world.snapshot.roots {
                let counts = |root: &&Root| root.submitter == least.submitter && root.priority >= least.priority;
                let of = || world.snapshot.roots.iter().filter(counts);
                let [due, has] =
                    [&before, &roots].map(|placed| of().filter(|root| placed.contains(&root.ad)).count());
                prop_assert!(has >= due, "{:?}: {}", least, world.text);
            }
        }

        #[test]
        fn pinned_roots_of_a_part_are_not_passed_over(bytes in bytes()) {
            let world = world(&bytes, 14, false);
            let pinned = overdue(&world.snapshot, NOW, 0);
            let collective = Collective { whole: 0, pinned, ..Collective::default() };
            let together = negotiate_together(&world.snapshot, &world.config, NOW, &mut Indexed::new(), &collective);
            prop_assert_eq!(&together.passed_over, &Vec::new(), "{}", world.text);
            prop_assert_eq!(together.pinned, world.snapshot.roots.len());
        }

        /// Some roots are behind the window, and some are postponed, because their submitters have no steps left.
        #[test]
        fn every_root_is_served_once_and_told_why_it_waits(bytes in bytes(), window in 1usize..20, steps in 0usize..4) {
            let world = world(&bytes, 14, false);
            let cycle_steps_max = [1, 10, 100, 100_000][steps];
            let config = Config { cycle_steps_max, explains: true, ..world.config.clone() };
            for whole in [0, 256] {
                let collective = Collective { whole, window, ..Collective::default() };
                let Together { cycle, placed, in_turn, .. } =
                    negotiate_together(&world.snapshot, &config, NOW, &mut Indexed::new(), &collective);
                prop_assert!(placed.gangs >= in_turn.gangs, "{}", world.text);
                let with_gang = cycle.gangs.iter().filter_map(Gang::root);
                let without = cycle.unmatched.iter().map(|own| own.root).chain(cycle.unexplained.iter().copied());
                let mut told: Vec<_> = with_gang.chain(without).collect();
                told.sort_unstable();
                let mut all: Vec<_> = world.snapshot.roots.iter().map(|root| root.ad).collect();
                all.sort_unstable();
                prop_assert_eq!(told, all, "{}", world.text);
            }
        }
    }

    /// Two jobs and the only licence, which a third one cannot use: nothing can be gained, and the cycle is the one in turn.
    #[test]
    fn if_nothing_can_be_gained_the_cycle_is_that_in_turn() {
        let mut ads: Vec<PoolAd> =
            (0..6).map(|number| alike::offer("Machine", number, "Memory = 256; Subnet = 0")).collect();
        ads.push(alike::offer("License", 0, "App = \"sim\"; Valid = 0"));
        ads.extend((0..4).map(|number| alike::job(number, 64)));
        let snapshot = alike::snapshot(ads);
        let config = Config::product();
        let collective = Collective { whole: 0, ..Collective::default() };
        let together = negotiate_together(&snapshot, &config, NOW, &mut Indexed::new(), &collective);
        let in_turn = Indexed::new().negotiate(&snapshot, &config, NOW);
        assert_eq!((together.placed.gangs, together.bound, together.proven), (1, 1, true));
        assert_eq!(together.effort, Default::default());
        assert_eq!((together.cycle.gangs, together.cycle.unmatched), (in_turn.gangs, in_turn.unmatched));
    }

    /// Machines of three sizes in two parts of a network, and as many licences: a machine of each kind is listed once.
    #[test]
    fn offers_that_no_job_can_tell_apart_are_listed_once_and_given_to_the_jobs_one_by_one() {
        let offer = |kind: &str, number: usize, text: &str| alike::offer(kind, number, text);
        let mut ads = Vec::new();
        for number in 0..30 {
            let memory = 64 << (number % 3);
            ads.push(offer(
                "Machine",
                number,
                &format!("Memory = {memory}; Serial = {number}; Subnet = {}", number % 2),
            ));
            ads.push(offer("License", number, &format!("App = \"sim\"; Valid = {}", number % 2)));
        }
        ads.extend((0..40).map(|number| alike::job(number, 64 << (number % 2))));
        let [indexed, plain] = indexed_and_plain(ads);
        // in each of two subnets there are small machines, which are too small for every other job, and others
        assert_eq!(indexed.effort.gangs, 20 * 4 + 20 * 2);
        assert_eq!(plain.effort.gangs, (20 * 30 + 20 * 20) * 15);
        assert_eq!(indexed.placed.gangs, 30);
        assert!(indexed.cycle.disagreements.is_empty());
    }

    /// Machines of two subnets and licences of three: a machine and the licence of its subnet are only taken together, and each job has its own
    /// pair.
    #[test]
    fn the_gangs_of_jobs_that_no_offer_can_tell_apart_are_listed_once() {
        let candidates = |jobs: usize| {
            let offer = |kind: &str, number: usize, text: &str| alike::offer(kind, number, text);
            let mut ads = Vec::new();
            for number in 0..12 {
                ads.push(offer("Machine", number, &format!("Memory = 256; Subnet = {}", number % 2)));
                ads.push(offer("License", number, &format!("App = \"sim\"; Valid = {}", number % 3)));
            }
            ads.extend((0..jobs).map(|number| alike::job(number, 64 << (number % 2))));
            let [indexed, _] = indexed_and_plain(ads);
            let roots: std::collections::BTreeSet<_> = indexed.cycle.gangs.iter().map(matchmaker::Gang::root).collect();
            assert_eq!(roots.len(), indexed.placed.gangs);
            indexed.effort.candidates
        };
        assert!(candidates(2) > 0);
        assert_eq!(candidates(2), candidates(40));
    }
}

#[cfg(test)]
mod alike {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use classad::{Dialect, parse_ad};
    use matchmaker::{AdKey, Offer, PoolAd, Ports, Res, Role, Root, Snapshot};

    fn pool_ad(kind: &str, number: usize, text: &str, role: Role) -> PoolAd {
        let ad = parse_ad(text, Dialect::Gangmatch).unwrap();
        let key = AdKey { kind: kind.into(), namespace: String::new(), name: format!("{number:03}") };
        PoolAd { key, uid: String::new(), node_name: None, ports: Arc::new(Ports::of(&ad)), role }
    }

    pub(super) fn offer(kind: &str, number: usize, attributes: &str) -> PoolAd {
        let offer = Offer { default_request: Res::new(), ..Offer::of(Res::from([("slots".to_owned(), 1)])) };
        let wants = if kind == "License" { "requester.Subnet == Valid" } else { "requester.Type == \"Job\"" };
        let text = format!(
            "[ Type = \"{kind}\"; Name = \"{number}\"; {attributes}; Ports = {{ [ Label = requester; Constraint = {wants} ] }} ]"
        );
        pool_ad(kind, number, &text, Role::Offers(Box::new(offer)))
    }

    pub(super) fn job(number: usize, memory: usize) -> PoolAd {
        let text = format!(
            "[ Type = \"Job\"; Ports = {{ \
             [ Label = cpu; Constraint = cpu.Type == \"Machine\" && cpu.Memory >= {memory} ], \
             [ Label = license; Host = cpu.Name; Subnet = cpu.Subnet; Constraint = license.Type == \"License\" ] }} ]"
        );
        pool_ad("Job", number, &text, Role::Asks)
    }

    pub(super) fn snapshot(ads: Vec<PoolAd>) -> Snapshot {
        let mut snapshot = Snapshot::new(ads);
        let asking: Vec<_> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
        for (number, ad) in asking.into_iter().enumerate() {
            let since = i64::try_from(number).unwrap();
            snapshot.roots.push(Root { ad, submitter: "s".into(), priority: 0, since, exclusions: BTreeSet::new() });
        }
        snapshot
    }
}
