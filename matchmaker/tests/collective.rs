//! What holds of roots that are placed together, whatever the pool.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use matchmaker::{
        AdId, Collective, Cycle, Gang, Plain, PoolAd, Role, Snapshot, Together, Usage, negotiate, negotiate_together,
        overdue, verify,
    };
    use proptest::prelude::*;

    use crate::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..320)
    }

    fn together(world: &World, collective: &Collective) -> Together {
        negotiate_together(&world.snapshot, &world.config, NOW, &mut Plain::default(), collective)
    }

    fn in_turn(world: &World) -> Cycle {
        negotiate(&world.snapshot, &world.config, NOW, &mut Plain::default())
    }

    fn roots(cycle: &Cycle) -> BTreeSet<AdId> {
        cycle.gangs.iter().filter_map(Gang::root).collect()
    }

    /// For each submitter and priority p: how many of its roots of at least p are among these.
    fn counts(pool: &Snapshot, placed: &BTreeSet<AdId>) -> BTreeMap<(String, i32), usize> {
        let at_least = |submitter: &str, priority: i32| {
            let of = pool.roots.iter().filter(|root| &*root.submitter == submitter && root.priority >= priority);
            of.filter(|root| placed.contains(&root.ad)).count()
        };
        let key = |root: &matchmaker::Root| (root.submitter.to_string(), root.priority);
        pool.roots.iter().map(|root| (key(root), at_least(&root.submitter, root.priority))).collect()
    }

    fn emptied(pool: &Snapshot) -> Snapshot {
        let empty = |(_, ad): (AdId, &PoolAd)| {
            let mut ad = ad.clone();
            if let Role::Offers(offer) = &mut ad.role {
                offer.usage = Usage::default();
            }
            ad
        };
        Snapshot::new(pool.ads().map(empty).collect())
    }

    proptest! {
        #![proptest_config(runs(800))]

        #[test]
        fn p1_every_gang_holds_and_there_is_room_for_all(bytes in bytes()) {
            let world = world(&bytes, 9, true);
            let pool = &world.snapshot;
            let mut held: BTreeMap<AdId, Usage> = BTreeMap::new();
            let placed = together(&world, &Collective::default());
            for gang in &placed.cycle.gangs {
                prop_assert_eq!(verify(&emptied(pool), gang, &world.config, NOW), Ok(()), "{}", world.text);
                for member in &gang.members[1..] {
                    let offer = pool.ad(member.ad).and_then(PoolAd::offer).unwrap();
                    let usage = held.entry(member.ad).or_insert_with(|| offer.usage.clone());
                    prop_assert!(usage.fits(&offer.capacity, &member.ask).is_ok(), "{:?}: {}", member, world.text);
                    usage.take(&member.ask);
                }
            }
        }

        #[test]
        fn p2_no_submitter_gets_less_than_in_turn(bytes in bytes(), pins in any::<u8>()) {
            let world = world(&bytes, 9, true);
            let pool = &world.snapshot;
            let is_pinned = |place: usize| pins >> (place % 8) & 1 == 1;
            let pinned = pool.roots.iter().enumerate().filter(|(place, _)| is_pinned(*place)).map(|(_, root)| root.ad);
            let collective = Collective { pinned: pinned.collect(), ..Collective::default() };
            let (before, placed) = (roots(&in_turn(&world)), together(&world, &collective));
            let now = roots(&placed.cycle);
            for (key, due) in counts(pool, &before) {
                prop_assert!(counts(pool, &now)[&key] >= due, "{:?}: {}", key, world.text);
            }
            let passed_over: BTreeSet<AdId> = before.difference(&now).copied().collect();
            prop_assert!(passed_over.is_disjoint(&collective.pinned), "{}", world.text);
            prop_assert_eq!(&passed_over, &placed.passed_over.iter().filter_map(Gang::root).collect());
        }

        #[test]
        fn p3_placed_is_between_in_turn_and_the_bound(bytes in bytes()) {
            let world = world(&bytes, 9, true);
            let (before, placed) = (in_turn(&world), together(&world, &Collective::default()));
            prop_assert_eq!(placed.in_turn.gangs, before.gangs.len());
            prop_assert_eq!(placed.placed.gangs, placed.cycle.gangs.len());
            prop_assert!((placed.in_turn.gangs..=placed.bound).contains(&placed.placed.gangs), "{}", world.text);
            // how many members sets have is no part of the objective
            let [reached, due] = [placed.placed, placed.in_turn].map(|reached| {
                let score = reached.score;
                (reached.gangs, score.own, score.partners, score.deeper)
            });
            let no_worse = reached >= due;
            prop_assert!(no_worse, "{}", world.text);
            let all = placed.cycle.gangs.len() + placed.cycle.unmatched.len();
            prop_assert_eq!(all, world.snapshot.roots.len());
        }

        #[test]
        fn a_window_whose_gangs_are_not_all_listed_is_no_worse_than_in_turn(bytes in bytes(), candidates_max in 0u64..60) {
            let world = world(&bytes, 9, true);
            let (before, all) = (in_turn(&world), together(&world, &Collective::default()));
            let placed = together(&world, &Collective { candidates_max, steps: 100, ..Collective::default() });
            let due = counts(&world.snapshot, &roots(&before));
            let now = counts(&world.snapshot, &roots(&placed.cycle));
            prop_assert!(due.iter().all(|(key, due)| now[key] >= *due), "{}", world.text);
            prop_assert!((before.gangs.len()..=placed.bound).contains(&placed.placed.gangs), "{}", world.text);
            prop_assert!(!all.proven || placed.placed.gangs <= all.bound, "{}", world.text);
        }

        #[test]
        fn p4_a_window_of_one_root_gives_the_gangs_in_turn(bytes in bytes()) {
            let world = world(&bytes, 9, true);
            let placed = together(&world, &Collective { window: 1, ..Collective::default() });
            prop_assert_eq!(placed.cycle.gangs, in_turn(&world).gangs, "{}", world.text);
        }

        #[test]
        fn p5_the_order_of_the_input_does_not_matter(bytes in bytes(), by in 1usize..7) {
            let mut world = world(&bytes, 8, true);
            let once = together(&world, &Collective::default());
            let mut ads: Vec<PoolAd> = world.snapshot.ads().map(|(_, ad)| ad.clone()).collect();
            let turn = by % ads.len();
            ads.rotate_left(turn);
            let mut other = Snapshot::new(ads);
            other.roots = world.snapshot.roots.iter().rev().cloned().collect();
            world.snapshot = other;
            prop_assert_eq!(once.cycle.gangs, together(&world, &Collective::default()).cycle.gangs, "{}", world.text);
        }
    }

    #[test]
    fn a_root_is_overdue_when_it_has_waited_for_so_long() {
        let mut pool = world(&[0; 40], 4, false).snapshot;
        let due = |pool: &Snapshot, since: i64, wait_max: i64| {
            let mut pool = pool.clone();
            pool.roots.iter_mut().for_each(|root| root.since = since);
            !overdue(&pool, 100, wait_max).is_empty()
        };
        pool.roots.truncate(1);
        assert!(due(&pool, 40, 60) && !due(&pool, 41, 60));
        assert!(due(&pool, 100, 0) && !due(&pool, 0, 60), "it is not known since when a root waits that waits since 0");
    }
}
