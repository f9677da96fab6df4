//! What a summary rules out is not there; how it was come by does not matter.

#[cfg(test)]
mod mistakes;
#[cfg(test)]
mod random;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sampling::Random;
    use summary::{Limits, Pool, Summary, may};

    use super::random::{World, rounds, world};

    /// Law S for constraints: the evaluator looks at every pair of offers.
    /// What an attribute that reads itself is worth depends on where evaluation enters the circle.
    #[test]
    fn attributes_that_read_themselves_rule_nothing_out() {
        let read = |text: &str| classad::parse_expr(text, classad::Dialect::Gangmatch).unwrap();
        for ad in [
            "[ X = isUndefined(X) ]",
            "[ X = X is undefined ]",
            "[ X = isError(Y); Y = X + 1 ]",
            "[ X = Y; Y = Z; Z = isError(Y) ]",
        ] {
            let own = classad::parse_ad(ad, classad::Dialect::Gangmatch).unwrap();
            for constraint in ["X", "!X", "X && !X"] {
                assert!(
                    summary::may(&read(constraint), &own, &std::collections::BTreeMap::new(), &Summary::default()),
                    "{ad} {constraint}"
                );
            }
        }
        let own = classad::parse_ad("[ X = 1; Y = X < 0 ]", classad::Dialect::Gangmatch).unwrap();
        assert!(!summary::may(&read("Y"), &own, &std::collections::BTreeMap::new(), &Summary::default()));
    }

    #[test]
    fn what_is_true_of_some_offers_is_never_ruled_out() {
        let labels = World::labels();
        let (mut held, mut ruled_out, mut missed) = (0_u64, 0_u64, 0_u64);
        for seed in 0..rounds(100_000) {
            let world = world(seed);
            let summary = world.summary();
            for constraint in &world.constraints {
                let may = may(constraint, &world.own, &labels, &summary);
                if world.is_true_of_some(constraint, 1_000_000) {
                    held += 1;
                    assert!(may, "{}`{constraint}` is true\n{}", world.text, serde_json::to_string(&summary).unwrap());
                } else if may {
                    missed += 1;
                } else {
                    ruled_out += 1;
                }
            }
        }
        println!("true of some: {held}; of none: {ruled_out} ruled out, {missed} not");
        assert!(held > 0 && ruled_out > missed, "{held} {ruled_out} {missed}");
    }

    fn merged(worlds: &[World], limits: &Limits) -> Summary {
        let summaries = worlds.iter().map(|world| world.pool().summary(limits));
        summaries.fold(Summary::default(), |all, one| all.merge(&one, limits))
    }

    fn limits() -> impl Strategy<Value = Limits> {
        let pairs = [(64, 8192), (0, 64), (1, 64), (4, 64), (3, 256)];
        (0..pairs.len()).prop_map(move |place| {
            let (values, bloom_bits) = pairs[place];
            Limits { values, bloom_bits, ..Limits::default() }
        })
    }

    proptest! {
        #[test]
        fn merging_is_commutative_and_associative(seeds in prop::array::uniform3(any::<u64>()), limits in limits()) {
            let [one, two, three] = seeds.map(|seed| world(seed).pool().summary(&limits));
            prop_assert_eq!(one.merge(&two, &limits), two.merge(&one, &limits));
            let (left, right) = (one.merge(&two, &limits).merge(&three, &limits), one.merge(&two.merge(&three, &limits), &limits));
            prop_assert_eq!(left, right);
        }

        #[test]
        fn merging_with_itself_changes_counts_and_sums_only(seed in any::<u64>(), limits in limits()) {
            let one = world(seed).pool().summary(&limits);
            let mut twice = one.merge(&one, &limits);
            for (name, kind) in &mut twice.kinds {
                prop_assert_eq!(kind.ads, 2 * one.kinds[name].ads);
                kind.ads = one.kinds[name].ads;
                for (resource, free) in &mut kind.free {
                    free.sum = one.kinds[name].free[resource].sum;
                }
            }
            prop_assert_eq!(twice, one);
        }

        #[test]
        fn merged_parts_are_the_whole_byte_for_byte(seeds in prop::collection::vec(any::<u64>(), 0..5), limits in limits()) {
            let worlds: Vec<World> = seeds.iter().map(|seed| world(*seed)).collect();
            let mut pool = Pool::new();
            for (place, offer) in worlds.iter().flat_map(|world| &world.offers).enumerate() {
                pool.put(place, offer.facts());
            }
            let text = |summary: &Summary| serde_json::to_string(summary).unwrap();
            prop_assert_eq!(text(&merged(&worlds, &limits)), text(&pool.summary(&limits)));
        }

        #[test]
        fn a_merged_summary_is_no_stricter_than_its_parts(seeds in prop::array::uniform2(any::<u64>())) {
            let [one, two] = seeds.map(world);
            let both = one.summary().merge(&two.summary(), &one.limits);
            for constraint in &one.constraints {
                if may(constraint, &one.own, &World::labels(), &one.summary()) {
                    prop_assert!(may(constraint, &one.own, &World::labels(), &both), "{}`{}`", one.text, constraint);
                }
            }
        }

        #[test]
        fn a_summary_is_read_as_it_was_written(seed in any::<u64>()) {
            let summary = world(seed).summary();
            let read: Summary = serde_json::from_str(&serde_json::to_string(&summary).unwrap()).unwrap();
            prop_assert_eq!(read, summary);
        }

        /// Offers come, change and go; what is left is what one that only ever saw the last state would publish.
        #[test]
        fn what_is_kept_up_to_date_is_what_is_made_anew(seed in any::<u64>(), limits in limits()) {
            let mut random = Random::stream(seed, "changes");
            let (mut pool, mut mirror) = (Pool::new(), std::collections::BTreeMap::new());
            for step in 0..40 {
                let name = random.below(8);
                match world(seed.wrapping_add(step)).offers.into_iter().next() {
                    Some(offer) if random.happens(650) => {
                        pool.put(name, offer.facts());
                        mirror.insert(name, offer);
                    }
                    _ => {
                        pool.remove(&name);
                        mirror.remove(&name);
                    }
                }
            }
            let mut anew = Pool::new();
            mirror.iter().for_each(|(name, offer)| anew.put(*name, offer.facts()));
            prop_assert_eq!(pool.len(), mirror.len());
            prop_assert_eq!(pool.summary(&limits), anew.summary(&limits));
        }

        /// However much is cut off, what is true is not ruled out.
        #[test]
        fn a_summary_that_was_cut_down_is_still_sound(seed in any::<u64>(), bytes in 30..800_usize, attributes in 0..4_usize) {
            let world = world(seed);
            let limits = Limits { bytes, attributes, kinds: 1, ..world.limits };
            let summary = world.pool().summary(&limits);
            for constraint in &world.constraints {
                if world.is_true_of_some(constraint, 0) {
                    prop_assert!(may(constraint, &world.own, &World::labels(), &summary), "{}`{}`", world.text, constraint);
                }
            }
        }
    }
}
