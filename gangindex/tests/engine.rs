//! The engine against the plain search: the same cycles, whatever the pool.

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use gangindex::Indexed;
    use matchmaker::{AdId, Config, Cycle, Plain, PoolAd, Role, Snapshot, negotiate};
    use proptest::prelude::*;
    use proptest::test_runner::TestRunner;

    use crate::history::History;
    use crate::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
    }

    fn plain(pool: &Snapshot, config: &Config, now: i64) -> Cycle {
        negotiate(pool, config, now, &mut Plain::default())
    }

    fn same(world: &World, engine: &mut Indexed) -> Result<(), TestCaseError> {
        same_at(world, engine, NOW).map(|_| ())
    }

    fn same_at(world: &World, engine: &mut Indexed, now: i64) -> Result<Cycle, TestCaseError> {
        let (plain, indexed) =
            (plain(&world.snapshot, &world.config, now), engine.negotiate(&world.snapshot, &world.config, now));
        prop_assert_eq!(&indexed.disagreements, &vec![], "{}", world.text);
        prop_assert_eq!(&indexed.gangs, &plain.gangs, "{}", world.text);
        prop_assert_eq!(&indexed.cut_short, &plain.cut_short, "{}", world.text);
        // How that is found out is another matter: tests/why.rs.
        let roots = |cycle: &Cycle| cycle.unmatched.iter().map(|unmatched| unmatched.root).collect::<Vec<_>>();
        prop_assert_eq!(roots(&indexed), roots(&plain), "{}", world.text);
        Ok(indexed)
    }

    /// An ad as it is, or closed, or with other usage.
    fn on_other_terms(ad: &PoolAd, terms: u16) -> PoolAd {
        let mut ad = ad.clone();
        if let Role::Offers(offer) = &mut ad.role {
            match terms % 4 {
                0 => offer.open = !offer.open,
                1 => offer.usage = Default::default(),
                2 => offer.usage.external = offer.capacity.clone(),
                _ => {}
            }
        }
        ad
    }

    /// Pools that change a little: gangs are claimed, or are not, and searches that found nothing are remembered, whatever they
    /// cost.
    #[test]
    fn what_found_nothing_is_searched_again_when_it_could_find_something() {
        let (searches, gangs) = (Cell::new(0), Cell::new(0));
        let changes = proptest::collection::vec(proptest::collection::vec(any::<u16>(), 0..3), 2..10);
        let result = TestRunner::new(runs(4000)).run(&(bytes(), changes), |(bytes, changes)| {
            let other = world(&bytes[bytes.len() / 2..], 9, false);
            let mut first = world(&bytes, 9, false);
            first.config.fruitless_steps_min = 0;
            let (mut history, mut engine, mut now) = (History::new(first, &other), Indexed::new(), NOW);
            for changes in changes {
                for number in &changes {
                    history.change(*number);
                    now += i64::from(number >> 13 == 0);
                }
                let world = history.world();
                let cycle = same_at(&world, &mut engine, now)?;
                searches.set(searches.get() + engine.stats.fruitless);
                gangs.set(gangs.get() + cycle.gangs.len());
                // Others are given up.
                let claimed = changes.iter().fold(NOW.unsigned_abs(), |sum, number| sum ^ u64::from(*number) >> 3);
                (0..cycle.gangs.len()).filter(|gang| claimed >> (gang % 16) & 1 == 1).for_each(|gang| {
                    history.claim(&cycle, &world.snapshot, gang);
                });
            }
            Ok(())
        });
        println!("{} searches were not made again, {} gangs", searches.get(), gangs.get());
        result.unwrap();
        assert!(searches.get() > 100, "the memory is used: {}", searches.get());
    }

    proptest! {
        #![proptest_config(runs(4000))]

        #[test]
        fn finds_what_the_plain_search_finds(bytes in bytes()) {
            same(&world(&bytes, 9, false), &mut Indexed::new())?;
        }

        /// With more ads than these, some pools have more sets than the plain search has steps.
        #[test]
        fn finds_the_sets_that_the_plain_search_finds(bytes in bytes()) {
            same(&world(&bytes, 7, true), &mut Indexed::new())?;
        }

        #[test]
        fn what_it_remembers_never_changes_an_answer(
            bytes in bytes(),
            masks in proptest::collection::vec(any::<(u16, u16)>(), 2..6),
            sets in any::<bool>(),
        ) {
            let made = |bytes: &[u8]| if sets { world(bytes, 7, true) } else { world(bytes, 9, false) };
            let (whole, other) = (made(&bytes), made(&bytes[bytes.len() / 2..]));
            let mut engine = Indexed::new();
            for (mask, terms) in masks {
                // Some ads go, some come back, and now and then one is another under the same name.
                let pool = if mask & 0x8000 == 0 { &whole } else { &other };
                let kept = |place: usize| mask >> (place % 15) & 1 == 1;
                // Most are known again at once, some only when they are looked at.
                let again = |id: AdId, ad: &PoolAd| match (id.place() + usize::from(mask)) % 5 {
                    0 => Arc::new(on_other_terms(ad, terms >> (id.place() % 15))),
                    _ => Arc::clone(pool.snapshot.shared(id).unwrap()),
                };
                let ads = pool.snapshot.ads().filter(|(id, _)| kept(id.place())).map(|(id, ad)| again(id, ad));
                let mut snapshot = Snapshot::of(ads.collect());
                for root in &pool.snapshot.roots {
                    let key = &pool.snapshot.ad(root.ad).unwrap().key;
                    if let Some(ad) = snapshot.find(key) {
                        snapshot.roots.push(matchmaker::Root { ad, ..root.clone() });
                    }
                }
                // Sometimes it may remember nothing, or little.
                let answers_bytes_max = match mask % 3 {
                    0 => 0,
                    1 => 2000,
                    _ => usize::MAX,
                };
                let config = Config { answers_bytes_max, fruitless_steps_min: 0, ..pool.config.clone() };
                let world = World { snapshot, config, text: format!("{mask:x} {}", pool.text) };
                // And time goes by.
                same_at(&world, &mut engine, 5 + i64::from(mask % 4))?;
            }
        }

        #[test]
        fn what_it_remembers_is_no_more_than_it_may_be(bytes in bytes()) {
            let world = world(&bytes, 9, false);
            let nothing = Config { answers_bytes_max: 0, ..world.config.clone() };
            let mut engine = Indexed::new();
            let mut remembered = Vec::new();
            for _ in 0..4 {
                engine.gangs(&world.snapshot, &nothing, NOW);
                remembered.push(engine.stats.answers_bytes);
            }
            // Each cycle begins with nothing, so that nothing grows.
            prop_assert!(remembered.iter().skip(2).all(|bytes| *bytes <= remembered[1]), "{:?} {}", remembered, world.text);
        }
    }
}
