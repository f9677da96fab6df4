//! What is told a root's author beside the reason: changes that give a gang, and offers that suffice for the reason.

#[cfg(test)]
#[path = "../../gangindex/tests/why/stars.rs"]
mod stars;
#[cfg(test)]
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use analysis::{Change, Question, Suggestion, Word, evidence, inspect, suggest, unknown, with_changes};
    use classad::{Dialect, parse_ad};
    use gangindex::Indexed;
    use matchmaker::{
        AdId, AdKey, Config, Consent, Offer, Plain, PoolAd, Res, Role, Root, Snapshot, Unmatched, Usage, negotiate,
        plain,
    };
    use proptest::prelude::*;

    use super::stars::{random, stars};
    use super::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
    }

    fn worlds(bytes: &[u8], ads: usize) -> [World; 2] {
        let (snapshot, text) = stars(bytes);
        [world(bytes, ads, false), World { snapshot, config: Config::product(), text }]
    }

    /// The pool after a cycle, and its roots without a gang.
    fn left(world: &World) -> (Snapshot, Vec<(Root, Unmatched)>) {
        let cycle = Indexed::new().negotiate(&world.snapshot, &world.config, NOW);
        let pool = world.snapshot.after(&cycle.gangs);
        let roots = cycle.unmatched.into_iter().map(|unmatched| {
            let root = world.snapshot.roots.iter().find(|root| root.ad == unmatched.root).unwrap();
            (root.clone(), unmatched)
        });
        let roots = roots.collect();
        (pool, roots)
    }

    fn suggestions(pool: &Snapshot, root: &Root, config: &Config, finder: &mut Indexed) -> Vec<Suggestion> {
        let inspected = inspect(pool, root.ad, config, NOW);
        let may_tell = |_: AdId| true;
        suggest(&Question { pool, root, inspected: &inspected, may_tell: &may_tell, config, now: NOW }, finder)
    }

    fn has_gang(pool: &Snapshot, root: &Root, config: &Config) -> bool {
        plain::best(pool, root.ad, &BTreeSet::new(), config, NOW).gang.is_some()
    }

    fn a_suggested_change_gives_a_gang(world: &World) -> Result<usize, TestCaseError> {
        let (pool, roots) = left(world);
        let (mut finder, mut count) = (Indexed::new(), 0);
        for (root, _) in roots {
            let free = pool.emptied();
            for one in suggestions(&pool, &root, &world.config, &mut finder) {
                prop_assert!((1..=2).contains(&one.changes.len()));
                let changed = with_changes(&pool.ad(root.ad).unwrap().ports, &one.changes).map(Arc::new).unwrap();
                let (free, now) = (free.with_ports(root.ad, &changed), pool.with_ports(root.ad, &changed));
                prop_assert!(has_gang(&free, &root, &world.config), "{:?}\n{}", one, world.text);
                prop_assert_eq!(has_gang(&now, &root, &world.config), one.now, "{:?}\n{}", one, world.text);
                // With none of two changes alone there is a gang.
                for kept in one.changes.iter().filter(|_| one.changes.len() == 2) {
                    let half = with_changes(&pool.ad(root.ad).unwrap().ports, std::slice::from_ref(kept)).map(Arc::new);
                    let half = free.with_ports(root.ad, &half.unwrap());
                    let dropped = matches!(kept, Change::Drop { .. });
                    prop_assert!(!dropped || !has_gang(&half, &root, &world.config), "{:?}\n{}", one, world.text);
                }
                count += 1;
            }
        }
        Ok(count)
    }

    fn what_is_cited_suffices(world: &World) -> Result<(usize, usize), TestCaseError> {
        let (pool, roots) = left(world);
        let (mut finder, mut cited) = (Indexed::new(), 0);
        let all = roots.len();
        for (root, unmatched) in roots {
            let inspected = inspect(&pool, root.ad, &world.config, NOW);
            let settings = (&world.config, NOW);
            let Some(offers) = evidence((&pool, &root), &inspected, &unmatched.verdict, settings, &mut finder) else {
                continue;
            };
            let ids = offers.iter().chain([&root.ad]);
            let mut some = Snapshot::of(ids.filter_map(|id| pool.shared(*id).cloned()).collect());
            let ad = some.find(&pool.ad(root.ad).unwrap().key).unwrap();
            some.roots = vec![Root { ad, ..root.clone() }];
            let again = negotiate(&some, &world.config, NOW, &mut Plain::default()).unmatched.remove(0);
            let discriminant = std::mem::discriminant::<matchmaker::Verdict>;
            let is_never = |one: &Unmatched| matches!(one.verdict, matchmaker::Verdict::Never { .. });
            prop_assert!(
                is_never(&unmatched)
                    || is_never(&again)
                    || discriminant(&again.verdict) == discriminant(&unmatched.verdict),
                "{:?} {:?}\n{}",
                unmatched,
                again,
                world.text
            );
            cited += 1;
        }
        Ok((all, cited))
    }

    proptest! {
        #![proptest_config(runs(1500))]

        #[test]
        fn every_suggestion_was_tried(bytes in bytes(), ads in 4usize..10) {
            for world in worlds(&bytes, ads) {
                a_suggested_change_gives_a_gang(&world)?;
            }
        }

        #[test]
        fn cited_offers_suffice_for_the_reason(bytes in bytes(), ads in 4usize..10) {
            for world in worlds(&bytes, ads) {
                what_is_cited_suffices(&world)?;
            }
        }

        #[test]
        fn what_pairs_have_against_each_other_is_what_the_search_finds(bytes in bytes()) {
            let [_, world] = worlds(&bytes, 4);
            let (pool, roots) = left(&world);
            for (root, _) in roots {
                let inspected = inspect(&pool, root.ad, &world.config, NOW);
                let alone = inspected.len() == 1;
                let free = inspected[0].offers.iter().any(|pair| pair.is_free() && !pair.deep);
                prop_assert!(!(alone && free), "{:?}\n{}", inspected, world.text);
            }
        }
    }

    #[test]
    fn most_reasons_have_evidence_and_many_have_a_suggestion() {
        let (mut all, mut cited, mut suggested) = (0, 0, 0);
        for seed in 0u32..300 {
            let bytes = random(seed, 300);
            let [_, world] = worlds(&bytes, 8);
            let (of, with) = what_is_cited_suffices(&world).unwrap();
            (all, cited) = (all + of, cited + with);
            suggested += a_suggested_change_gives_a_gang(&world).unwrap();
        }
        assert!(cited * 10 > all * 9 && suggested * 8 > all, "{all} {cited} {suggested}");
    }

    fn ad(kind: &str, name: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_owned() };
        let mut ad = PoolAd::asking(key, name, &parse_ad(text, Dialect::Gangmatch).expect(text));
        if kind != "Job" {
            let (usage, default_request) = (Usage::default(), Res::new());
            let capacity = Res::from([("cpus".to_owned(), 8)]);
            let consent = Consent::Everybody;
            let offer =
                Offer { capacity, default_request, usage, shared_by: None, consent, open: true, disclosed: false };
            ad.role = Role::Offers(Box::new(offer));
        }
        ad
    }

    fn pool(job: &str, machines: &[&str]) -> Snapshot {
        let machines = machines.iter().enumerate().map(|(place, text)| ad("Machine", &format!("m{place}"), text));
        let mut pool = Snapshot::new(std::iter::once(ad("Job", "j", job)).chain(machines).collect());
        let (ad, _) = pool.ads().find(|(_, ad)| ad.offer().is_none()).unwrap();
        pool.roots.push(Root { ad, submitter: Arc::default(), priority: 0, since: 0, exclusions: BTreeSet::new() });
        pool
    }

    fn told(job: &str, machines: &[&str]) -> Vec<(Vec<String>, Option<u64>)> {
        let pool = pool(job, machines);
        let change = |change: &Change| match change {
            Change::Drop { port, conjunct } => format!("drop {port}.{conjunct}"),
            Change::Replace { with, .. } => with.to_string(),
            Change::Request { resource, amount, .. } => format!("{resource}: {amount}"),
        };
        let all = suggestions(&pool, &pool.roots[0], &Config::product(), &mut Indexed::new());
        all.into_iter().map(|one| (one.changes.iter().map(change).collect(), one.offers)).collect()
    }

    const M64: &str = "[Arch = \"x\"; Memory = 64; Requirements = true]";
    const M32: &str = "[Arch = \"x\"; Memory = 32; Requirements = true]";

    #[test]
    fn the_nearest_number_comes_with_how_many_offers_have_it() {
        let all =
            told("[Requirements = other.Memory >= 100 && other.Arch == \"x\"; Request = [cpus = 1]]", &[M64, M64, M32]);
        let expected = [(vec!["drop 0.0".to_owned()], Some(3)), (vec!["other.Memory >= 64".to_owned()], Some(2))];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_text_is_replaced_by_the_one_that_most_offers_have() {
        let all = told("[Requirements = other.Arch == \"arm\"]", &[M64, M32]);
        assert_eq!(all[0].0, ["other.Arch == \"x\""]);
    }

    #[test]
    fn two_changes_are_told_where_one_is_not_enough() {
        let all = told("[Requirements = other.Arch == \"y\" && other.Memory >= 100]", &[M64]);
        assert_eq!(all[0].0, ["other.Arch == \"x\"", "other.Memory >= 64"]);
    }

    #[test]
    fn a_request_is_made_smaller() {
        let all = told("[Requirements = true; Request = [cpus = 9]]", &[M64]);
        assert_eq!(all, [(vec!["cpus: 8".to_owned()], Some(1))]);
    }

    #[test]
    fn a_misspelled_name_is_corrected() {
        let job = "[Ports = {[Label = cpu; Constraint = cpu.Memry >= 64 && machine.Arch == \"x\"]}]";
        let pool = pool(job, &[M64, M32]);
        let all = unknown(&pool, pool.roots[0].ad, &|_| true);
        let found: Vec<_> =
            all.iter().map(|one| (one.written.as_str(), one.word, one.meant.as_deref(), one.offers)).collect();
        let expected =
            [("cpu.Memry", Word::Attribute, Some("cpu.Memory"), 2), ("machine.Arch", Word::Label, Some("cpu.Arch"), 0)];
        assert_eq!(found, expected);
        let one = told("[Ports = {[Label = cpu; Constraint = cpu.Memry >= 64]}]", &[M64, M32]);
        assert!(one.contains(&(vec!["cpu.Memory >= 64".to_owned()], Some(1))), "{one:?}");
    }

    #[test]
    fn names_of_offers_that_may_not_be_told_are_not_suggested() {
        let pool = pool("[Requirements = other.Memry >= 64 || other.Memory >= 100]", &[M64]);
        let (root, config) = (&pool.roots[0], Config::product());
        let inspected = inspect(&pool, root.ad, &config, NOW);
        let may_tell = |_: AdId| false;
        assert_eq!(unknown(&pool, root.ad, &may_tell)[0].meant, None);
        let question =
            Question { pool: &pool, root, inspected: &inspected, may_tell: &may_tell, config: &config, now: NOW };
        let all = suggest(&question, &mut Indexed::new());
        assert!(all.iter().all(|one| one.changes == [Change::Drop { port: 0, conjunct: 0 }]), "{all:?}");
    }
}
