//! Roots that are placed together get the same gangs with the index as with the plain search.

#[cfg(test)]
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

#[cfg(test)]
mod tests {
    use gangindex::Indexed;
    use matchmaker::{Collective, Plain, negotiate_together};
    use proptest::prelude::*;

    use super::world::{runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
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
            prop_assert_eq!(indexed.effort.gangs, plain.effort.gangs, "{}", world.text);
            prop_assert!(indexed.effort.candidates <= plain.effort.candidates, "{}", world.text);
        }
    }
}
