//! The index passes the suite that defines what the plain search finds.

#[cfg(test)]
#[path = "../../matchmaker/tests/suite/mod.rs"]
mod suite;
#[cfg(test)]
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

/// Most candidates are no step, and each submitter has a share of them.
#[cfg(test)]
const PLAIN: bool = false;

#[cfg(test)]
use gangindex::negotiate;

#[cfg(test)]
mod tests {
    use matchmaker::{Cycle, Plain};
    use proptest::prelude::*;

    use crate::suite::accounts::tests::with_accounts;
    use crate::world::{runs, world};

    proptest! {
        #![proptest_config(runs(4000))]

        #[test]
        fn o6_with_accounts_the_index_finds_what_the_plain_search_finds(bytes in proptest::collection::vec(any::<u8>(), 20..400)) {
            let world = with_accounts(world(&bytes, 9, false), &bytes);
            let indexed = crate::negotiate(&world.snapshot, &world.config, 7);
            let plain = matchmaker::negotiate(&world.snapshot, &world.config, 7, &mut Plain::default());
            prop_assert_eq!(&indexed.disagreements, &vec![], "{}", world.text);
            prop_assert_eq!(&indexed.gangs, &plain.gangs, "{}", world.text);
            let roots = |cycle: &Cycle| cycle.unmatched.iter().map(|unmatched| unmatched.root).collect::<Vec<_>>();
            prop_assert_eq!(roots(&indexed), roots(&plain), "{}", world.text);
        }
    }
}
