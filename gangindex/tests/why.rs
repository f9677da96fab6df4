//! Explanations: the same by index as by trying, and true.

#[cfg(test)]
#[path = "why/stars.rs"]
mod stars;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use classad::{BinaryOp, Dialect, Expr, Name, Value, conjuncts, parse_ad, parse_expr};
    use gangindex::Indexed;
    use matchmaker::{
        AdKey, Config, Consent, Offer, Plain, PoolAd, PortCount, Ports, Relaxation, Relaxed, Res, Role, Root, Snapshot,
        Unmatched, Usage, Verdict, hint, negotiate, plain,
    };
    use proptest::prelude::*;

    use super::stars::{random, stars};
    use crate::suite::pools::{emptied, rebuilt};
    use crate::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..400)
    }

    /// By index.
    fn unmatched(pool: &Snapshot, config: &Config) -> Vec<Unmatched> {
        Indexed::new().negotiate(pool, config, NOW).unmatched
    }

    /// By trying.
    fn tried(pool: &Snapshot, config: &Config) -> Vec<Unmatched> {
        negotiate(pool, config, NOW, &mut Plain::default()).unmatched
    }

    /// A pool of the usual kind.
    fn usual(bytes: &[u8]) -> World {
        let (snapshot, text) = stars(bytes);
        World { snapshot, config: Config::product(), text }
    }

    fn explains_as_the_search_does(world: &World) -> Result<(), TestCaseError> {
        let by_index = unmatched(&world.snapshot, &world.config);
        let by_search = tried(&world.snapshot, &world.config);
        prop_assert_eq!(by_index.len(), by_search.len());
        for (index, search) in by_index.iter().zip(&by_search) {
            // Which constraints can never be true is a question of how far one looks.
            let is_never = |why: &Unmatched| matches!(why.verdict, Verdict::Never { .. });
            if !is_never(index) && !is_never(search) {
                prop_assert_eq!(&index.verdict, &search.verdict, "{:?}\n{:?}\n{}", index, search, world.text);
            }
            prop_assert_eq!(index.exhausted, search.exhausted, "{:?}\n{}", index, world.text);
            let counts = |why: &Unmatched| why.ports.iter().map(plain).collect::<Vec<_>>();
            prop_assert_eq!(counts(index), counts(search), "{:?}\n{}", index, world.text);
        }
        Ok(())
    }

    fn relaxations_are_just_enough(world: &World) -> Result<(), TestCaseError> {
        for root in unmatched(&world.snapshot, &world.config) {
            for way in root.relaxations.iter().filter(|way| own(way)) {
                prop_assert!(gang_without(world, &root, &way.parts), "{:?}\n{}", root, world.text);
                for part in &way.parts {
                    let fewer: Vec<Relaxed> = way.parts.iter().copied().filter(|own| own != part).collect();
                    prop_assert!(!gang_without(world, &root, &fewer), "{:?}\n{:?}\n{}", way, root, world.text);
                }
            }
        }
        Ok(())
    }

    /// What both ways of explaining must find.
    fn plain(port: &PortCount) -> PortCount {
        let mut port = port.clone();
        port.refused_by_offer.parts.clear();
        for part in &mut port.conjuncts {
            (part.only_failure, part.nearest) = (None, None);
        }
        port
    }

    /// The root's ad with these parts left out of its constraints.
    fn without(ports: &Ports, parts: &[Relaxed]) -> Ports {
        let mut ports = ports.clone();
        for (number, port) in Arc::make_mut(&mut ports.list).iter_mut().enumerate() {
            let Some(constraint) = &port.constraint else { continue };
            let dropped = |conjunct| parts.contains(&Relaxed::Conjunct { port: number, conjunct });
            let texts = conjuncts(constraint);
            let kept = texts.iter().enumerate().filter(|(place, _)| !dropped(*place)).map(|(_, part)| part.clone());
            // Not as text: hidden attributes have no name in it.
            let all = kept.reduce(|one, other| Expr::binary(BinaryOp::And, one, other));
            port.constraint = Some(all.unwrap_or_else(|| Expr::literal(Value::Boolean(true))));
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
        plain::best(&pool, root.root, &BTreeSet::new(), &world.config, NOW).gang.is_some()
    }

    /// Whether it says no more than what the root's own author can leave out.
    fn own(way: &Relaxation) -> bool {
        way.parts.iter().all(|part| matches!(part, Relaxed::Conjunct { .. }))
    }

    proptest! {
        #![proptest_config(runs(4000))]

        #[test]
        fn the_index_explains_as_the_search_does(bytes in bytes(), ads in 4usize..10) {
            explains_as_the_search_does(&world(&bytes, ads, false))?;
            explains_as_the_search_does(&usual(&bytes))?;
            explains_as_the_search_does(&world(&bytes, 6, true))?;
        }

        #[test]
        fn a_relaxation_gives_a_gang_and_nothing_less_does(bytes in bytes(), ads in 4usize..10) {
            relaxations_are_just_enough(&world(&bytes, ads, false))?;
            relaxations_are_just_enough(&usual(&bytes))?;
        }

        #[test]
        fn a_nearer_number_gives_a_match(bytes in bytes()) {
            let world = usual(&bytes);
            for root in unmatched(&world.snapshot, &world.config) {
                // With more ports than one, others may be missing at another.
                let [port] = root.ports.as_slice() else { continue };
                for (place, part) in port.conjuncts.iter().enumerate() {
                    let Some(nearest) = &part.nearest else { continue };
                    let (left, right) = part.text.split_once([' ']).unwrap();
                    let changed = match right.split_once(' ') {
                        Some((op, _)) if left.starts_with("cpu.") => format!("{left} {op} {}", nearest.value),
                        Some((op, right)) => format!("{} {op} {right}", nearest.value),
                        None => continue,
                    };
                    let changed = parse_expr(&changed, Dialect::Gangmatch).unwrap();
                    let key = &world.snapshot.ad(root.root).unwrap().key;
                    let pool = rebuilt(&emptied(&world.snapshot), |ad| {
                        if ad.key == *key {
                            let mut ports = without(&ad.ports, &[Relaxed::Conjunct { port: 0, conjunct: place }]);
                            let kept = ports.list[0].constraint.as_ref().unwrap();
                            let text = format!("{kept} && {changed}");
                            Arc::make_mut(&mut ports.list)[0].constraint = Some(parse_expr(&text, Dialect::Gangmatch).unwrap());
                            ad.ports = Arc::new(ports);
                        }
                    });
                    let gang = plain::best(&pool, root.root, &BTreeSet::new(), &world.config, NOW).gang;
                    prop_assert!(gang.is_some(), "{:?} {}\n{}", part, changed, world.text);
                }
            }
        }

        #[test]
        fn parts_add_up(bytes in bytes()) {
            let world = world(&bytes, 9, false);
            for root in unmatched(&world.snapshot, &world.config) {
                for port in &root.ports {
                    let alone: u64 = port.conjuncts.iter().filter_map(|part| part.only_failure).sum();
                    prop_assert!(alone <= port.refused_by_job, "{:?}", port);
                    let left: Vec<u64> = port.conjuncts.iter().map(|part| part.left).collect();
                    prop_assert!(left.windows(2).all(|pair| pair[0] >= pair[1]), "{:?}", port);
                    prop_assert!(left.iter().all(|left| *left <= port.candidates), "{:?}", port);
                    prop_assert!(port.refused_by_offer.parts.iter().all(|part| part.only_failure <= part.refuses), "{:?}", port);
                    prop_assert!(port.refused_by_offer.parts.iter().all(|part| part.refuses <= port.candidates), "{:?}", port);
                    if root.indexed && port.refused_by_offer.ads > 0 {
                        prop_assert!(!port.refused_by_offer.parts.is_empty(), "{:?}\n{}", root, world.text);
                    }
                }
            }
        }
    }

    /// Beyond a few jobs, comparisons are looked up in the order of the attribute. Some of these attributes have none.
    #[test]
    fn many_comparisons_with_one_attribute_are_counted_as_the_search_does_and_as_for_one_job() {
        let many: Vec<String> = (0..300i32).map(|number| (number * 37 % 101 - 50).to_string()).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let sizes: [&[&str]; 5] = [
            &["4", "-3", "2.5", "undefined", "error", "\"text\"", "4", "7", "0"],
            &["1.0", "1", "2"],
            &["true", "3", "real(\"NaN\")"],
            &["9007199254740993", "9007199254740992", "5"],
            &many,
        ];
        let mut told = 0;
        for sizes in sizes {
            let machine = |(number, size): (usize, &&str)| {
                let text = format!("[Size = {size}; Odd = {}; Requirements = true]", number % 2);
                ad("Machine", "n", &format!("m{number:03}"), &text)
            };
            let machines: Vec<PoolAd> = sizes.iter().enumerate().map(machine).collect();
            let mut jobs = Vec::new();
            for op in ["<", "<=", ">", ">=", "=="] {
                for value in ["-60", "-3", "0", "2.5", "2.6", "4", "7", "9007199254740993", "51"] {
                    for comparison in [format!("other.Size {op} {value}"), format!("{value} {op} other.Size")] {
                        let odd = ["", " && other.Odd == 1", " && other.Odd == 2"][jobs.len() % 3];
                        let text = format!("[Requirements = {comparison}{odd}]");
                        jobs.push(ad("Job", "n", &format!("j{:03}", jobs.len()), &text));
                    }
                }
            }
            let all = pool(jobs.iter().chain(&machines).cloned().collect());
            let (together, searched) = (unmatched(&all, &Config::product()), tried(&all, &Config::product()));
            assert_eq!(together.len(), searched.len());
            for (why, search) in together.iter().zip(&searched) {
                let counts = |why: &Unmatched| why.ports.iter().map(plain).collect::<Vec<_>>();
                assert_eq!(counts(why), counts(search), "{why:?}");
                let key = &all.ad(why.root).unwrap().key;
                let alone = jobs.iter().filter(|job| job.key == *key).chain(&machines).cloned().collect();
                // A job that waits for others has a gang alone.
                if let [alone] = unmatched(&pool(alone), &Config::product()).as_slice() {
                    assert_eq!(why.ports, alone.ports, "{sizes:?}");
                    told += usize::from(why.ports[0].conjuncts[0].nearest.is_some());
                }
            }
        }
        assert!(told > 40, "{told}");
    }

    #[test]
    fn most_roots_are_explained_by_the_index() {
        let mut counts = [[0u32; 5]; 2];
        for seed in 0u32..2000 {
            let bytes = random(seed, 300);
            let worlds = [world(&bytes, 8, false), usual(&bytes)];
            for (place, world) in worlds.iter().enumerate() {
                for root in unmatched(&world.snapshot, &world.config) {
                    let counts = &mut counts[place];
                    counts[0] += 1;
                    counts[1] += u32::from(root.indexed);
                    counts[2] += u32::from(root.relaxations.iter().any(own));
                    counts[3] += u32::from(root.joins.iter().any(|join| join.after.0 == 0 && join.before.1 > 0));
                    counts[4] += u32::from(
                        root.ports.iter().flat_map(|port| &port.conjuncts).any(|part| part.nearest.is_some()),
                    );
                }
            }
        }
        let [[odd, odd_indexed, ..], [all, indexed, relaxed, joined, nearest]] = counts;
        assert!(odd_indexed * 10 > odd && indexed * 10 > all * 9, "{counts:?}");
        assert!(relaxed * 6 > all && joined > 10 && nearest > 30, "{counts:?}");
    }

    const JOB: &str = "[Owner = \"ann\"; Ports = {[Label = cpu; Constraint = cpu.Memory >= 8],
        [Label = seat; Constraint = seat.App == \"a\" && seat.Host == cpu.Name]}]";

    fn ad(kind: &str, namespace: &str, name: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.to_owned(), namespace: namespace.to_owned(), name: name.to_owned() };
        let ad = parse_ad(text, Dialect::Gangmatch).expect(text);
        let mut ad = PoolAd::asking(key, name, &ad);
        if kind != "Job" {
            let (usage, default_request) = (Usage::default(), Res::new());
            let capacity = Res::from([("slots".to_owned(), 1)]);
            let consent = Consent::Everybody;
            let offer =
                Offer { capacity, default_request, usage, shared_by: None, consent, open: true, disclosed: false };
            ad.role = Role::Offers(Box::new(offer));
        }
        ad
    }

    fn pool(ads: Vec<PoolAd>) -> Snapshot {
        let mut pool = Snapshot::new(ads);
        let asking: Vec<_> = pool.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
        for ad in asking {
            let (submitter, exclusions) = (Arc::default(), BTreeSet::new());
            pool.roots.push(Root { ad, submitter, priority: 0, since: 0, exclusions });
        }
        pool
    }

    fn first(ads: Vec<PoolAd>) -> Unmatched {
        unmatched(&pool(ads), &Config::product()).remove(0)
    }

    #[test]
    fn numbers_of_offers_in_other_namespaces_are_told_only_if_they_are_disclosed() {
        let job = || ad("Job", "n", "j", "[Requirements = other.Memory >= 64 && other.Type == \"Machine\"]");
        let machine = |namespace: &str, name: &str, memory: u32, disclosed: bool| {
            let text = format!("[Type = \"Machine\"; Memory = {memory}; Requirements = true]");
            let mut made = ad("Machine", namespace, name, &text);
            if let Role::Offers(offer) = &mut made.role {
                offer.disclosed = disclosed;
            }
            made
        };
        let told = |machines: Vec<PoolAd>| {
            let why = first(std::iter::once(job()).chain(machines).collect());
            assert!(why.indexed);
            let nearest = why.ports[0].conjuncts[0].nearest.as_ref();
            (nearest.map(|nearest| (nearest.value.clone(), nearest.offers)), hint(&why))
        };
        let at = |value: &str, offers| Some((value.to_owned(), offers));
        let (nearest, hint) = told(vec![machine("m", "a", 32, false), machine("m", "b", 16, false)]);
        assert_eq!((nearest, hint.as_str()), (None, "without `other.Memory >= 64` 2 ads fit"));
        let (nearest, hint) = told(vec![machine("m", "a", 32, true), machine("m", "b", 16, false)]);
        assert_eq!(nearest, at("32", 1));
        assert_eq!(hint, "1 ad fits with 32 as the number in `other.Memory >= 64`; without it, 2 ads fit");
        assert_eq!(
            told(vec![machine("n", "a", 32, false), machine("m", "b", 16, true)]).0,
            at("32", 1),
            "its own namespace"
        );
        // Of how many offers it would be true is a count.
        let (nearest, _) =
            told(vec![machine("m", "a", 32, false), machine("m", "b", 16, true), machine("m", "c", 8, false)]);
        assert_eq!(nearest, at("16", 2));
    }

    #[test]
    fn a_private_number_of_a_constraint_is_not_told() {
        let mut job =
            ad("Job", "n", "j", "[Least = 60 + 4; Requirements = other.Memory >= Least && other.Cost is undefined]");
        let machine = |text: &str, private: &[&str]| {
            let ad = ad("Machine", "n", "a", text);
            let private: Vec<Name> = private.iter().map(|name| Name::new(*name)).collect();
            PoolAd { ports: Arc::new(Ports::of(&ad.ports.body.hide(&private))), ..ad }
        };
        job.ports = Arc::new(Ports::of(&job.ports.body.hide(&[Name::new("Least")])));
        let foo = machine("[Memory = Cost * 2; Cost = 16; Requirements = other.Least is undefined]", &["Cost"]);
        let why = first(vec![job, foo]);
        let text = format!("{why:?} {} {}", hint(&why), matchmaker::why(&why));
        assert!(!text.contains("Least") && !text.contains("64") && !text.contains("Cost = "), "{text}");
        assert_eq!(why.ports[0].conjuncts[0].text, "other.Memory >= private");
        assert_eq!((why.ports[0].refused_by_job, why.ports[0].conjuncts[1].rejects), (1, 0));
    }

    #[test]
    fn ports_that_do_not_agree_are_told() {
        let why = first(vec![
            ad("Job", "n", "j", JOB),
            ad("Machine", "n", "a", "[Memory = 9; Name = \"a\"; Requirements = true]"),
            ad("Machine", "n", "b", "[Memory = 9; Name = \"b\"; Requirements = true]"),
            ad("License", "n", "l", "[App = \"a\"; Host = \"c\"; Requirements = true]"),
        ]);
        assert_eq!((why.core.as_slice(), why.joins.len()), (&[0, 1][..], 1), "{why:?}");
        let join = &why.joins[0];
        assert_eq!((join.port, join.with, join.before, join.after), (1, 0, (2, 1), (0, 0)));
        let said = "2 ads fit for `cpu` and 1 ad fits for `seat`, but no two of them agree on `seat.Host == cpu.Name`";
        assert_eq!(matchmaker::why(&why), said);
        assert_eq!(why.relaxations[0].parts, [Relaxed::Conjunct { port: 1, conjunct: 1 }]);
    }

    #[test]
    fn roots_of_one_kind_share_their_reason() {
        let mut ads: Vec<PoolAd> = (0..50).map(|number| ad("Job", "n", &format!("j{number}"), JOB)).collect();
        ads.push(ad("Machine", "n", "a", "[Memory = 7; Requirements = true]"));
        let found = unmatched(&pool(ads), &Config::product());
        assert_eq!(found.len(), 50);
        assert!(found.iter().all(|one| Arc::ptr_eq(&one.why, &found[0].why)));
    }

    #[test]
    fn nothing_of_others_is_told() {
        let machine = "[Memory = 9; Key = \"secret\"; Requirements = other.Owner == \"secret\" && Key != \"x\"]";
        let told = |namespace| {
            let why = first(vec![ad("Job", "n", "j", JOB), ad("Machine", namespace, "m", machine)]);
            assert!(why.indexed && why.verdict == Verdict::RefusedByOffers { port: 0 }, "{why:?}");
            let part = &why.ports[0].refused_by_offer.parts[0];
            assert_eq!((part.refuses, part.only_failure), (1, 1));
            format!("{why:?} {} {}", matchmaker::why(&why), matchmaker::hint(&why)).contains("secret")
        };
        assert!(!told("other"), "another's");
        assert!(told("n"), "one's own");
    }

    #[test]
    fn a_request_is_told_from_a_size() {
        let machine = "[Requirements = true]";
        for (request, said) in [
            ("[slots = 0]", "1 with an invalid requested amount"),
            ("[gpus = 1]", "1 without `gpus`"),
            ("[slot = 1]", "1 without `slot` (did you mean `slots`?)"),
            ("[slots = 2]", "1 too small for `slots: 2`"),
            ("[slots = 1 + 1]", "1 too small for the request"),
        ] {
            let job = format!("[Requirements = true; Request = {request}]");
            let ads = vec![ad("Job", "n", "j", &job), ad("Machine", "n", "m", machine)];
            for all in [unmatched, tried] {
                let why = all(&pool(ads.clone()), &Config::product()).remove(0);
                assert_eq!(matchmaker::why(&why), format!("port `other`: of 1 ad, {said}"));
            }
        }
    }

    #[test]
    fn what_waits_for_its_time_says_so() {
        let job = "[Requirements = time() > 100 && other.A == 1]";
        let ads = vec![ad("Job", "n", "j", job), ad("Machine", "n", "m", "[A = 1; Requirements = true]")];
        for all in [unmatched, tried] {
            let why = all(&pool(ads.clone()), &Config::product()).remove(0).why;
            assert_eq!(why.verdict, Verdict::NoCandidates { port: 0 });
            let rejects: Vec<u64> = why.ports[0].conjuncts.iter().map(|part| part.rejects).collect();
            assert_eq!(rejects, [1, 0]);
        }
    }

    const COMPARISONS: [&str; 14] = [
        "other.A >= 3",
        "other.A < 3",
        "other.A <= 2",
        "other.A == 4",
        "5 < other.A",
        "other.A != 4",
        "other.A is undefined",
        "other.A == \"x\"",
        "other.A != \"X\"",
        "other.A is 4",
        "other.B < 1.5",
        "other.B >= 2",
        "other.B == undefined",
        "1 > 2",
    ];
    const VALUES: [&str; 12] = ["1", "2", "3", "4", "4.0", "6", "2.5", "\"x\"", "\"y\"", "true", "undefined", "{4}"];

    proptest! {
        #![proptest_config(runs(400))]

        #[test]
        fn what_can_never_be_true_is_true_of_nobody(parts in proptest::collection::vec(0..COMPARISONS.len(), 1..4)) {
            let parts: Vec<&str> = parts.iter().map(|part| COMPARISONS[*part]).collect();
            let job = |parts: &[&str]| ad("Job", "n", "j", &format!("[Requirements = {}]", parts.join(" && ")));
            let mut machines = Vec::new();
            for (number, (a, b)) in VALUES.iter().flat_map(|a| VALUES.iter().map(move |b| (a, b))).enumerate() {
                machines.push(ad("Machine", "n", &format!("m{number}"), &format!("[A = {a}; B = {b}; Requirements = true]")));
            }
            let found = |parts: &[&str]| {
                let all = machines.iter().cloned().chain([job(parts)]).collect();
                unmatched(&pool(all), &Config::product()).pop()
            };
            let Some(Unmatched { why, .. }) = found(&parts) else { return Ok(()) };
            let Verdict::Never { core, .. } = &why.verdict else {
                // These ads have every value that matters, so what none of them satisfies, nobody does.
                return Err(TestCaseError::fail(format!("{:?} {:?}", parts, why.verdict)));
            };
            let blamed: Vec<&str> = core.iter().map(|part| parts[*part]).collect();
            let again = found(&blamed).unwrap();
            prop_assert!(matches!(again.verdict, Verdict::Never { .. }), "{:?} {:?}", blamed, again);
            for left_out in 0..blamed.len() {
                let fewer: Vec<&str> =
                    blamed.iter().enumerate().filter(|(place, _)| *place != left_out).map(|(_, part)| *part).collect();
                if !fewer.is_empty() {
                    prop_assert!(found(&fewer).is_none(), "{:?} of {:?}", fewer, blamed);
                }
            }
        }
    }
}
