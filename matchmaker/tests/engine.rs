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
        prop_assert_eq!(indexed, plain, "{}", world.text);
        Ok(())
    }

    proptest! {
        #![proptest_config(runs(4000))]

        #[test]
        fn finds_what_the_plain_search_finds(bytes in bytes()) {
            same(&world(&bytes, Rules::Product, 9), &mut Engine::new())?;
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
