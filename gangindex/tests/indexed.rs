//! The index passes the suite that defines what the plain search finds.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use matchmaker::{Accounts, ByAd, Cycle, Plain, Seats};
    use policy::{Account, Amounts, Tree};
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

    /// All roots of one submitter, in order; with accounts, all of one account that has used so much, or of two.
    fn gangs(bytes: &[u8], accounts: Option<[&'static str; 2]>) -> Vec<matchmaker::Gang> {
        let mut world = world(bytes, 9, false);
        world.snapshot.roots.iter_mut().for_each(|root| root.submitter = "submitter".into());
        if let Some(names) = accounts {
            let account_of = world.snapshot.roots.iter().enumerate();
            let account_of = account_of.map(|(number, root)| (root.ad, names[number % 2].into())).collect();
            let used = |(number, name): (usize, &&str)| Account {
                usage: number as i128 * 1_000_000_000,
                ..Account::named(name)
            };
            world.snapshot.accounts = Some(Arc::new(Accounts {
                tree: Tree::new(names.iter().enumerate().map(used)),
                total: Amounts::new(),
                account_of,
                offers: ByAd::default(),
                weights: BTreeMap::new(),
                seats: Seats::default(),
                counters: Vec::new(),
                counting: BTreeMap::new(),
            }));
        }
        crate::negotiate(&world.snapshot, &world.config, 7).gangs
    }

    proptest! {
        #![proptest_config(runs(2000))]

        #[test]
        fn o7_one_account_without_quotas_changes_nothing(bytes in proptest::collection::vec(any::<u8>(), 20..400)) {
            prop_assert_eq!(gangs(&bytes, None), gangs(&bytes, Some(["a", "a"])));
        }
    }

    /// The property can fail: with two accounts, one of which has used more, the order is another one.
    #[test]
    fn o7_two_accounts_change_something() {
        let differs = |seed: u8| {
            let bytes: Vec<u8> =
                (0..200_u32).map(|place| (place * 37 + u32::from(seed) * 101 + place * place / 7) as u8).collect();
            gangs(&bytes, None) != gangs(&bytes, Some(["a", "b"]))
        };
        assert!((0..=255).any(differs));
    }
}
