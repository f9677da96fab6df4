//! Roots that are placed together get the same gangs with the index as with the plain search.

#[cfg(test)]
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

#[cfg(test)]
mod tests {
    use gangindex::Indexed;
    use matchmaker::{Collective, Config, Plain, PoolAd, Together, negotiate_together};
    use proptest::prelude::*;

    use super::alike;
    use super::world::{runs, world};

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
