//! Explanations: the same by index as by trying, and true.

#[cfg(test)]
#[path = "laws/pools.rs"]
mod pools;
#[cfg(test)]
mod world;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use classad::{Dialect, conjuncts, parse_expr};
    use matchmaker::{
        Config, Engine, PortCount, Ports, Relaxation, Relaxed, Rules, Search, Snapshot, Unmatched, naive,
    };
    use proptest::prelude::*;

    use super::pools::{emptied, rebuilt};
    use super::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
    }

    fn unmatched(pool: &Snapshot, config: &Config, search: Search) -> Vec<Unmatched> {
        Engine::new().negotiate(pool, &Config { search, ..config.clone() }, NOW).unmatched
    }

    /// What both ways of explaining must find.
    fn plain(port: &PortCount) -> PortCount {
        let mut port = PortCount { owners: Vec::new(), ..port.clone() };
        for part in &mut port.conjuncts {
            (part.only_failure, part.nearest) = (None, None);
        }
        port
    }

    /// The root's ad with these parts left out of its constraints.
    fn without(ports: &Ports, parts: &[Relaxed]) -> Ports {
        let mut ports = ports.clone();
        for (number, port) in ports.list.iter_mut().enumerate() {
            let Some(constraint) = &port.constraint else { continue };
            let dropped = |conjunct| parts.contains(&Relaxed::Conjunct { port: number, conjunct });
            let texts = conjuncts(constraint);
            let kept: Vec<String> =
                texts.iter().enumerate().filter(|(place, _)| !dropped(*place)).map(|(_, part)| part.to_string()).collect();
            let text = if kept.is_empty() { "true".to_owned() } else { kept.join(" && ") };
            port.constraint = Some(parse_expr(&text, Dialect::Gangmatch).unwrap());
        }
        ports
    }

    /// Whether the root has a gang with everything free and these parts left out.
    fn gang_without(world: &World, root: &Unmatched, parts: &[Relaxed]) -> bool {
        let key = &world.snapshot.ad(root.root).unwrap().key;
        let pool = rebuilt(&emptied(&world.snapshot), |ad| {
            if ad.key == *key {
                ad.ports = Arc::new(without(&ad.ports, parts));
            }
        });
        naive::best(&pool, root.root, &BTreeSet::new(), &world.config, NOW).gang.is_some()
    }

    /// Whether it says no more than what the root's own author can leave out.
    fn own(way: &Relaxation) -> bool {
        way.parts.iter().all(|part| matches!(part, Relaxed::Conjunct { .. }))
    }

    proptest! {
        #![proptest_config(runs(4000))]

        #[test]
        fn the_index_explains_as_the_search_does(bytes in bytes(), ads in 4usize..10) {
            let world = world(&bytes, Rules::Product, ads);
            let by_index = unmatched(&world.snapshot, &world.config, Search::Indexed);
            let by_search = unmatched(&world.snapshot, &world.config, Search::Naive);
            for (index, search) in by_index.iter().zip(&by_search) {
                prop_assert_eq!(&index.verdict, &search.verdict, "{:?}\n{:?}\n{}", index, search, world.text);
                prop_assert_eq!(index.exhausted, search.exhausted, "{:?}\n{}", index, world.text);
                let counts = |why: &Unmatched| why.ports.iter().map(plain).collect::<Vec<_>>();
                prop_assert_eq!(counts(index), counts(search), "{:?}\n{}", index, world.text);
            }
        }

        #[test]
        fn a_relaxation_gives_a_gang_and_nothing_less_does(bytes in bytes(), ads in 4usize..10) {
            let world = world(&bytes, Rules::Product, ads);
            for root in unmatched(&world.snapshot, &world.config, Search::Indexed) {
                for way in root.relaxations.iter().filter(|way| own(way)) {
                    prop_assert!(gang_without(&world, &root, &way.parts), "{:?}\n{}", root, world.text);
                    for part in &way.parts {
                        let fewer: Vec<Relaxed> = way.parts.iter().copied().filter(|own| own != part).collect();
                        prop_assert!(!gang_without(&world, &root, &fewer), "{:?}\n{:?}\n{}", way, root, world.text);
                    }
                }
            }
        }

        #[test]
        fn parts_add_up(bytes in bytes()) {
            let world = world(&bytes, Rules::Product, 9);
            for root in unmatched(&world.snapshot, &world.config, Search::Indexed) {
                for port in &root.ports {
                    let alone: u64 = port.conjuncts.iter().filter_map(|part| part.only_failure).sum();
                    prop_assert!(alone <= port.refused_by_job, "{:?}", port);
                    let left: Vec<u64> = port.conjuncts.iter().map(|part| part.left).collect();
                    prop_assert!(left.windows(2).all(|pair| pair[0] >= pair[1]), "{:?}", port);
                    prop_assert!(left.iter().all(|left| *left <= port.candidates), "{:?}", port);
                    prop_assert!(port.owners.iter().all(|part| part.only_failure <= part.refuses), "{:?}", port);
                    prop_assert!(port.owners.iter().all(|part| part.refuses <= port.candidates), "{:?}", port);
                    if root.indexed && port.refused_by_offer > 0 {
                        prop_assert!(!port.owners.is_empty(), "{:?}\n{}", root, world.text);
                    }
                }
            }
        }
    }

    #[test]
    fn most_roots_are_explained_by_the_index() {
        let (mut by_index, mut relaxed, mut all) = (0, 0, 0);
        for seed in 0u32..2000 {
            let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(1);
            let bytes: Vec<u8> = std::iter::repeat_with(|| {
                state ^= state << 13;
                state ^= state >> 17;
                state ^= state << 5;
                state.to_be_bytes()[1]
            })
            .take(300)
            .collect();
            let world = world(&bytes, Rules::Product, 8);
            for root in unmatched(&world.snapshot, &world.config, Search::Indexed) {
                all += 1;
                by_index += u32::from(root.indexed);
                relaxed += u32::from(root.relaxations.iter().any(own));
            }
        }
        assert!(by_index * 4 > all, "{by_index} of {all}");
        assert!(relaxed * 20 > all, "{relaxed} of {all}");
    }
}
