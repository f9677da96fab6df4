//! The engine against the plain search: the same cycles, whatever the pool.

#[cfg(test)]
mod world;

#[cfg(test)]
mod tests {
    use matchmaker::{Config, Cycle, Engine, Prefer, Rules, Search, Snapshot};
    use proptest::prelude::*;

    use super::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
    }

    fn naive(pool: &Snapshot, config: &Config) -> Cycle {
        Engine::new().negotiate(pool, &Config { search: Search::Naive, ..config.clone() }, NOW)
    }

    fn same(world: &World, engine: &mut Engine) -> Result<(), TestCaseError> {
        let (plain, indexed) =
            (naive(&world.snapshot, &world.config), engine.negotiate(&world.snapshot, &world.config, NOW));
        prop_assert_eq!(&indexed.disagreements, &vec![], "{}", world.text);
        prop_assert_eq!(&indexed.gangs, &plain.gangs, "{}", world.text);
        prop_assert_eq!(&indexed.cut_short, &plain.cut_short, "{}", world.text);
        // How that is found out is another matter: tests/why.rs.
        let roots = |cycle: &Cycle| cycle.unmatched.iter().map(|unmatched| unmatched.root).collect::<Vec<_>>();
        prop_assert_eq!(roots(&indexed), roots(&plain), "{}", world.text);
        Ok(())
    }

    proptest! {
        #![proptest_config(runs(4000))]

        #[test]
        fn finds_what_the_plain_search_finds(bytes in bytes()) {
            same(&world(&bytes, Rules::Product, 9), &mut Engine::new())?;
        }

        #[test]
        fn what_it_remembers_never_changes_an_answer(bytes in bytes(), masks in proptest::collection::vec(any::<u16>(), 2..6)) {
            let whole = world(&bytes, Rules::Product, 9);
            let other = world(&bytes[bytes.len() / 2..], Rules::Product, 9);
            let mut engine = Engine::new();
            for mask in masks {
                // Some ads go, some come back, and now and then one is another under the same name.
                let pool = if mask & 0x8000 == 0 { &whole } else { &other };
                let kept = |place: usize| mask >> (place % 15) & 1 == 1;
                let ads = pool.snapshot.ads().filter(|(id, _)| kept(id.place())).map(|(_, ad)| ad.clone()).collect();
                let mut snapshot = Snapshot::new(ads);
                for root in &pool.snapshot.roots {
                    let key = &pool.snapshot.ad(root.ad).unwrap().key;
                    if let Some(ad) = snapshot.find(key) {
                        snapshot.roots.push(matchmaker::Root { ad, ..root.clone() });
                    }
                }
                let world = World { snapshot, config: pool.config.clone(), text: format!("{mask:x} {}", pool.text) };
                same(&world, &mut engine)?;
            }
        }

        #[test]
        fn finds_it_first_fit(bytes in bytes()) {
            let mut world = world(&bytes, Rules::Product, 9);
            world.config.prefer = Prefer::FirstFit;
            same(&world, &mut Engine::new())?;
        }

        #[test]
        fn finds_it_under_the_rules_of_the_paper(bytes in bytes()) {
            same(&world(&bytes, Rules::Paper, 7), &mut Engine::new())?;
        }
    }
}
