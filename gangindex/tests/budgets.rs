//! What one submitter's jobs, or one owner's offers, cost does not keep others waiting.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use classad::{Dialect, parse_ad, parse_expr};
    use gangindex::Indexed;
    use matchmaker::{
        Accounts, AdId, AdKey, Collective, Config, CountedOffer, Cycle, FUEL_OF_A_STEP, Gang, Offer, PoolAd, Prices,
        Res, Role, Root, Seats, Snapshot, Stop, Verdict,
    };
    use policy::{Account, Amounts, Quota, Tree};

    /// Ads with their namespaces, and the jobs among them that ask.
    #[derive(Default)]
    struct Pool {
        ads: Vec<PoolAd>,
        asking: Vec<(AdKey, i64)>,
        frugal: BTreeSet<String>,
    }

    fn key(kind: &str, namespace: &str, name: &str) -> AdKey {
        AdKey { kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    impl Pool {
        fn job(mut self, namespace: &str, name: &str, ad: &str) -> Pool {
            let ad = parse_ad(ad, Dialect::Gangmatch).unwrap();
            let key = key("Job", namespace, name);
            let since = i64::try_from(self.asking.len()).unwrap();
            self.ads.push(PoolAd::asking(key.clone(), name, &ad));
            self.asking.push((key, since));
            self
        }

        fn machine(mut self, namespace: &str, name: &str, ad: &str) -> Pool {
            let ad = parse_ad(ad, Dialect::Gangmatch).unwrap();
            let slots: Res = [("slots".to_owned(), 1)].into_iter().collect();
            let offer = Offer::of(slots);
            let ad = PoolAd::asking(key("Machine", namespace, name), name, &ad);
            self.ads.push(PoolAd { role: Role::Offers(Box::new(offer)), ..ad });
            self
        }

        fn machines(self, count: usize) -> Pool {
            (0..count).fold(self, |pool, number| {
                let ad = format!("[M = {number}; Memory = {}; Requirements = true]", number % 7);
                pool.machine("cs", &format!("m{number:03}"), &ad)
            })
        }

        fn jobs(self, namespace: &str, count: usize, ad: &str) -> Pool {
            (0..count).fold(self, |pool, number| pool.job(namespace, &format!("{namespace}{number:03}"), ad))
        }

        fn snapshot(&self) -> Snapshot {
            let mut snapshot = Snapshot::new(self.ads.clone());
            let root = |(key, since): &(AdKey, i64)| Root {
                ad: snapshot.find(key).unwrap(),
                submitter: Arc::from(key.namespace.as_str()),
                priority: 0,
                since: *since,
                exclusions: BTreeSet::new(),
            };
            snapshot.roots = self.asking.iter().map(root).collect();
            snapshot.frugal = self.frugal.clone();
            snapshot
        }
    }

    /// With an account for each namespace of jobs, of which some may hold at most so much, in charges; the machines of these namespaces state
    /// what they cost.
    fn with_prices(mut snapshot: Snapshot, max: Option<(&str, i128)>, prices: &[(&str, &str)]) -> Snapshot {
        let submitters: BTreeSet<Arc<str>> = snapshot.roots.iter().map(|root| Arc::clone(&root.submitter)).collect();
        let account = |name: &Arc<str>| {
            let quota = max.filter(|(own, _)| **own == **name).map(|(_, max)| {
                let quota = Quota { max: Some(max * 1_000_000), ..Quota::default() };
                (policy::CHARGE.into(), quota)
            });
            Account { quotas: quota.into_iter().collect(), ..Account::named(name) }
        };
        let price = |(id, ad): (AdId, &PoolAd)| {
            let (_, price) =
                prices.iter().find(|(namespace, _)| ad.offer().is_some() && ad.key.namespace == *namespace)?;
            let charge_weight = parse_expr(price, Dialect::Gangmatch).ok();
            Some((id, Arc::new(CountedOffer { charge_weight, counters: Vec::new() })))
        };
        snapshot.accounts = Some(Arc::new(Accounts {
            tree: Tree::new(submitters.iter().map(account).collect::<Vec<_>>()),
            total: Amounts::new(),
            account_of: snapshot.roots.iter().map(|root| (root.ad, Arc::clone(&root.submitter))).collect(),
            offers: snapshot.ads().filter_map(price).collect(),
            weights: [("slots".to_owned(), 1_000_000)].into(),
            seats: Seats::default(),
            counters: Vec::new(),
            counting: BTreeMap::new(),
        }));
        snapshot
    }

    fn config() -> Config {
        Config { cycle_steps_max: 20_000, owner_steps_max: 2_000, ..Config::product() }
    }

    fn run(pool: &Pool, config: &Config) -> (Vec<String>, Cycle, u64) {
        run_on(&pool.snapshot(), config)
    }

    fn run_on(snapshot: &Snapshot, config: &Config) -> (Vec<String>, Cycle, u64) {
        let mut engine = Indexed::new();
        let cycle = engine.negotiate(snapshot, config, 0);
        let name = |ad| snapshot.ad(ad).unwrap().key.to_string();
        let gangs =
            cycle.gangs.iter().map(|gang| gang.members.iter().map(|m| name(m.ad)).collect::<Vec<_>>().join(" "));
        (gangs.collect(), cycle.clone(), engine.stats.steps)
    }

    fn of(namespace: &str, gangs: &[String]) -> Vec<String> {
        gangs.iter().filter(|gang| gang.starts_with(&format!("Job {namespace}/"))).cloned().collect()
    }

    const HONEST: &str = "[Requirements = other.Memory >= 3]";

    /// Eight ports, and a sum over all that no index can narrow and that is never less than nothing.
    fn eight_ports() -> String {
        let port = |number: usize| {
            let all: Vec<String> = (0..=number).map(|port| format!("p{port}.Memory")).collect();
            let never =
                if number == 7 { format!("eval(\"1\") == 1 && {} < 0", all.join(" + ")) } else { "true".into() };
            format!("[Label = p{number}; Constraint = {never}]")
        };
        format!("[Ports = {{{}}}]", (0..8).map(port).collect::<Vec<_>>().join(", "))
    }

    fn costly(steps: usize) -> String {
        format!("member(-1, {{{}}})", vec!["1 + 1"; steps].join(","))
    }

    fn hostile() -> Vec<(&'static str, usize, String)> {
        let pairs: Vec<String> = (0..8)
            .map(|port| {
                let with: Vec<String> = (0..port).map(|other| format!("p{other}.M + p{port}.M < 500")).collect();
                let joins = if with.is_empty() { "true".to_owned() } else { with.join(" && ") };
                let joins = if port == 7 { format!("{joins} && p0.M + p7.M < 0") } else { joins };
                format!("[Label = p{port}; Constraint = {joins}]")
            })
            .collect();
        vec![
            ("eight ports", 1, eight_ports()),
            ("forty times eight ports", 40, eight_ports()),
            ("pairwise joins", 1, format!("[Ports = {{{}}}]", pairs.join(", "))),
            (
                "a costly gang rank",
                5,
                format!("[Ports = {{[Label = a], [Label = b], [Label = c]}}; GangRank = {} ? a.M : b.M]", costly(5000)),
            ),
            ("a costly constraint", 30, format!("[Requirements = other.Memory == 3 && {}]", costly(9000))),
            ("a costly rank", 24, format!("[Requirements = other.Nothing is 7; Rank = {} ? 1 : other.M]", costly(900))),
        ]
    }

    #[test]
    fn b7_the_gangs_of_others_are_what_they_would_be_without_a_hostile_submitter() {
        for (name, count, ad) in hostile() {
            for namespace in ["aaa", "zzz"] {
                let honest = Pool::default().machines(60).jobs("ben", 5, HONEST).jobs("cleo", 5, HONEST);
                let (wanted, ..) = run(&honest, &config());
                assert_eq!(wanted.len(), 10);
                let pool = honest.jobs(namespace, count, &ad);
                let (gangs, cycle, steps) = run(&pool, &config());
                assert!(steps <= 2 * config().cycle_steps_max, "{name}: {steps}");
                assert!(
                    cycle.costs.over_budget.iter().all(|own| &**own == namespace),
                    "{name}: {:?}",
                    cycle.costs.over_budget
                );
                // What the hostile one takes before them is not there any more.
                if of(namespace, &gangs).is_empty() {
                    assert_eq!([of("ben", &gangs), of("cleo", &gangs)].concat().len(), 10, "{name}");
                    assert_eq!(of("ben", &gangs), of("ben", &wanted), "{name}");
                } else {
                    assert_eq!([of("ben", &gangs), of("cleo", &gangs)].concat().len(), 10, "{name}");
                }
                assert_eq!(run(&pool, &config()).1, cycle, "{name}: the same again");
            }
        }
    }

    #[test]
    fn b7_what_exceeds_its_budget_is_named() {
        let pool = Pool::default().machines(60).jobs("bob", 1, &eight_ports()).jobs("carol", 1, HONEST);
        let (gangs, cycle, _) = run(&pool, &config());
        assert_eq!(gangs.len(), 1);
        assert_eq!(cycle.costs.over_budget, [Arc::from("bob")]);
        assert_eq!(cycle.gave_up.len(), 1);
        assert_eq!(cycle.unmatched[0].verdict, Verdict::GaveUp);
    }

    #[test]
    fn a_submitter_that_exceeded_it_lately_gets_little() {
        let mut pool = Pool::default().machines(60).jobs("bob", 1, &eight_ports()).jobs("carol", 1, HONEST);
        let (_, _, all) = run(&pool, &config());
        pool.frugal.insert("bob".into());
        let (gangs, cycle, little) = run(&pool, &config());
        assert!(little < 1000 && all > 20 * little, "{little} of {all}");
        assert_eq!((gangs.len(), cycle.costs.over_budget), (1, vec![Arc::from("bob")]));
    }

    #[test]
    fn b9_steps_that_find_nothing_are_counted_and_explanations_of_such_a_submitter_cost_little() {
        let sums: Vec<String> = (1..=60).map(|level| format!("s{level} = s{0} + s{0}", level - 1)).collect();
        let never =
            |number: usize| format!("[s0 = 1; {}; Requirements = s60 > (other.M + {number}) * 1E30]", sums.join("; "));
        let mut pool = Pool::default().machines(60).jobs("carol", 3, "[Requirements = other.M == -1]");
        for number in 0..5 {
            pool = pool.job("bob", &format!("b{number}"), &never(number));
        }
        let (_, cycle, _) = run(&pool, &config());
        let [(namespace, steps)] = &cycle.costs.fruitless[..] else { panic!("{:?}", cycle.costs.fruitless) };
        assert!(&**namespace == "bob" && *steps >= 5 * 60, "{steps}");
        pool.frugal.insert("bob".into());
        let (_, frugal, _) = run(&pool, &config());
        let [(_, little)] = &frugal.costs.fruitless[..] else { panic!("{:?}", frugal.costs.fruitless) };
        assert!(*little < 1000 && 5 * little < *steps, "{little} of {steps}");
        assert_eq!(frugal.unmatched.iter().filter(|why| why.verdict != Verdict::GaveUp).count(), 3, "carol's");
    }

    #[test]
    fn its_other_jobs_are_served_all_the_same() {
        let one = "[Requirements = eval(\"other.Memory\") >= 3]";
        let pool = Pool::default().machines(60).jobs("bob", 3, &eight_ports()).job("bob", "z", one);
        let (gangs, ..) = run(&pool, &config());
        assert_eq!(gangs.len(), 1, "half of what is left is for others: {gangs:?}");
    }

    #[test]
    fn a_costly_offer_is_paid_for_by_its_namespace_and_left_out() {
        let costly =
            format!("[M = 0; Memory = {} ? 1 : 5; Requirements = eval(\"1\") == 1 && {}]", costly(3000), costly(3000));
        let mut pool = Pool::default().machines(20);
        for number in 0..40 {
            pool = pool.machine("bob", &format!("b{number}"), &costly);
        }
        for namespace in ["ben", "cleo", "dan"] {
            pool = pool.jobs(namespace, 3, "[Requirements = eval(\"other.Memory\") >= 3]");
        }
        let (gangs, cycle, _) = run(&pool, &config());
        assert_eq!(cycle.costs.barred, BTreeSet::from(["bob".to_owned()]));
        assert_eq!((gangs.len(), cycle.costs.over_budget), (9, vec![]), "the jobs pay nothing for it");
    }

    #[test]
    fn b8_what_claims_cost_is_computed_at_the_cost_of_the_submitter_and_its_jobs_pause() {
        let port = |number: usize| format!("[Label = p{number}; Constraint = p{number}.Own is true]");
        let job = format!("[Ports = {{{}}}]", (0..4).map(port).collect::<Vec<_>>().join(", "));
        let mut pool = Pool::default().machines(20).jobs("mallory", 10, &job).jobs("alice", 3, HONEST);
        for number in 0..60 {
            pool = pool.machine("mallory", &format!("d{number:02}"), "[M = 0; Own = true; Requirements = true]");
        }
        let price = format!("{} ? 1 : 5", costly(3000));
        let snapshot = with_prices(pool.snapshot(), Some(("mallory", 1)), &[("mallory", &price)]);
        let (gangs, cycle, _) = run_on(&snapshot, &config());
        assert_eq!((of("alice", &gangs).len(), of("mallory", &gangs).len()), (3, 0));
        assert_eq!(cycle.costs.over_budget, [Arc::from("mallory")]);
        assert!(!cycle.gave_up.is_empty(), "jobs whose search was cut short pause, whatever their quotas");
        let by_quota = |root: &AdId| {
            let found = cycle.unmatched.iter().find(|unmatched| unmatched.root == *root);
            found.is_some_and(|unmatched| matches!(unmatched.verdict, Verdict::QuotaExceeded(_)))
        };
        assert!(cycle.gave_up.iter().any(by_quota), "{:?}", cycle.unmatched);
        let spent: u64 = cycle.costs.fruitless.iter().map(|(_, steps)| *steps).sum();
        assert!(spent < 2 * config().cycle_steps_max, "{spent}");
        // That takes as long as the evaluation of the prices of all machines, once.
        let evaluated = of_price(&snapshot);
        assert!(spent >= evaluated.min(config().cycle_steps_max / 2), "{spent} of {evaluated}");
    }

    /// What the prices of all offers take once, in steps.
    fn of_price(snapshot: &Snapshot) -> u64 {
        let (accounts, mut prices) = (snapshot.accounts.as_ref().unwrap(), Prices::of(&config(), 0));
        for (id, _) in accounts.offers.iter() {
            accounts.charge_of_all(snapshot, id, &mut prices);
        }
        prices.take_used().iter().map(|(_, fuel)| fuel / FUEL_OF_A_STEP).sum()
    }

    #[test]
    fn b8_the_price_of_anothers_offer_is_paid_for_by_its_namespace() {
        let mut pool = Pool::default().machines(20);
        for number in 0..40 {
            pool = pool.machine("bob", &format!("b{number:02}"), "[M = 0; Dear = true; Requirements = true]");
        }
        for namespace in ["ben", "cleo", "dan"] {
            pool = pool.jobs(namespace, 6, "[Rank = other.Dear is true ? 1 : 0; Requirements = other.M >= 0]");
        }
        let price = format!("{} ? 1 : 5", costly(3000));
        let snapshot = with_prices(pool.snapshot(), None, &[("bob", &price)]);
        let (gangs, cycle, _) = run_on(&snapshot, &config());
        assert_eq!(cycle.costs.barred, BTreeSet::from(["bob".to_owned()]));
        assert_eq!((gangs.len(), cycle.costs.over_budget), (18, vec![]), "the jobs pay little for it");
        let charges: BTreeSet<&[i128]> = cycle.charges.iter().map(|(_, charges)| &**charges).collect();
        assert_eq!(charges, BTreeSet::from([&[0, 1_000_000][..], &[0, 5_000_000][..]]));
    }

    /// Jobs that may have any machine of `bob`, each another one rather.
    fn choosy(machines: usize, jobs: usize) -> Snapshot {
        let mut pool = Pool::default();
        for number in 0..machines {
            pool = pool.machine("bob", &format!("b{number:03}"), &format!("[M = {number}; Requirements = true]"));
        }
        for number in 0..jobs {
            let ad = format!("[Rank = (other.M + {}) % {machines}; Requirements = other.M >= 0]", number * 40);
            pool = pool.job("ben", &format!("j{number}"), &ad);
        }
        with_prices(pool.snapshot(), None, &[("bob", &format!("{} ? 1 : 5", costly(3000)))])
    }

    #[test]
    fn q4_prices_of_gangs_that_are_listed_to_be_placed_together_are_paid_for() {
        let snapshot = choosy(300, 6);
        assert!(of_price(&snapshot) > 10 * config().owner_steps_max, "all of them cost much more than may be spent");
        let cycle = Indexed::new().negotiate(&snapshot, &config(), 0);
        assert_eq!((cycle.gangs.len(), cycle.costs.barred.len()), (6, 0), "one after the other they cost little");
        let finder = &mut Indexed::new();
        let placed = matchmaker::negotiate_together(&snapshot, &config(), 0, finder, &Collective::default());
        assert_eq!(placed.cycle.costs.barred, BTreeSet::from(["bob".to_owned()]));
        assert_eq!(placed.cycle.gangs.len(), 6);
        // The cycle reports what the gangs cost, so that it is not computed again.
        let told: BTreeSet<AdId> = placed.cycle.charges.iter().map(|(root, _)| *root).collect();
        assert_eq!(told, placed.cycle.gangs.iter().filter_map(Gang::root).collect());
    }

    #[test]
    fn a_costly_job_does_not_make_offers_pay() {
        let job = format!("[Team = {} ? 1 : 2; Requirements = other.M >= 0]", costly(20_000));
        let mut pool = Pool::default();
        for number in 0..30 {
            let ad = format!("[M = {number}; Requirements = eval(\"other.Team\") is 2 || other.Team is undefined]");
            pool = pool.machine("cs", &format!("m{number}"), &ad);
        }
        let (gangs, cycle, _) = run(&pool.jobs("bob", 20, &job).jobs("carol", 3, "[Requirements = true]"), &config());
        assert!(cycle.costs.barred.is_empty(), "{:?}", cycle.costs.barred);
        assert_eq!(of("carol", &gangs).len(), 3);
    }

    #[test]
    fn b14_explanations_have_a_budget_and_later_cycles_give_the_others() {
        let mut pool = Pool::default().machines(600);
        for number in 0..400 {
            pool = pool.job("bob", &format!("b{number:03}"), &format!("[Requirements = other.M < -{}]", number + 1));
        }
        let snapshot = pool.jobs("carol", 2, "[Requirements = other.M == 9999]").snapshot();
        let (mut engine, config) = (Indexed::new(), Config { cycle_steps_max: 900, ..config() });
        let (mut told, mut cycles) = (BTreeSet::new(), 0);
        while told.len() < 402 && cycles < 60 {
            let cycle = engine.negotiate(&snapshot, &config, 0);
            assert_eq!(cycle.unmatched.len() + cycle.unexplained.len(), 402);
            let names = |roots: &mut dyn Iterator<Item = matchmaker::AdId>| -> Vec<String> {
                roots.map(|root| snapshot.ad(root).unwrap().key.namespace.clone()).collect()
            };
            assert!(!names(&mut cycle.unexplained.iter().copied()).contains(&"carol".to_owned()));
            told.extend(cycle.unmatched.iter().filter(|why| why.verdict != Verdict::GaveUp).map(|why| why.root));
            cycles += 1;
        }
        assert!(told.len() == 402 && cycles > 1, "{} in {cycles} cycles", told.len());
    }

    /// A job of so many ports with so many conditions each, all of so many terms; the first one is true of no machine.
    fn long_conditions(job: usize, (ports, conditions, terms): (usize, usize, usize)) -> String {
        let condition = |port: usize, number: usize| {
            let sum: Vec<String> = (0..terms).map(|term| format!("p{port}.{}", ["M", "Memory"][term % 2])).collect();
            format!("{} >= -{}", sum.join(" + "), job * 1000 + port * 100 + number)
        };
        let port = |port: usize| {
            let all: Vec<String> = (0..conditions).map(|number| condition(port, number)).collect();
            let never = if port == 0 { format!("p0.M < -{} && ", job + 1) } else { String::new() };
            format!("[Label = p{port}; Constraint = {never}{}]", all.join(" && "))
        };
        format!("[Ports = {{{}}}]", (0..ports).map(port).collect::<Vec<_>>().join(", "))
    }

    /// A condition of many terms, true of all machines.
    fn long_sum(job: usize) -> String {
        let sum: Vec<String> = (0..40).map(|term| format!("other.{}", ["M", "Memory"][term % 2])).collect();
        format!("{} >= -{job}", sum.join(" + "))
    }

    #[test]
    fn t3_reasons_take_as_many_steps_as_conditions_are_long_and_as_there_are_ports() {
        let explained = |ad: &dyn Fn(usize) -> String| {
            let jobs = |pool: Pool, number: usize| pool.job("bob", &format!("b{number:03}"), &ad(number));
            let pool = (0..300).fold(Pool::default().machines(2000), jobs);
            run(&pool, &config()).1.unmatched.iter().filter(|found| found.why.indexed).count()
        };
        let usual = explained(&|number| format!("[Requirements = other.M < -{}]", number + 1));
        let [ports, long, both] =
            [(8, 1, 1), (1, 1, 40), (8, 20, 20)].map(|size| explained(&|number| long_conditions(number, size)));
        println!("{usual}; {ports}, {long} and {both} of 300");
        assert!(usual > 3 * ports && usual > 20 * long && ports > 0 && both == 0, "{usual}; {ports} {long} {both}");
    }

    #[test]
    fn x7_who_has_no_reason_for_want_of_steps_may_wait_for_others() {
        // One machine of 2000, which another job has; and conditions that take long to explain.
        let ad = |job: usize| format!("[Requirements = other.M == 7 && {}]", long_sum(job));
        let jobs = |pool: Pool, number: usize| pool.job("bob", &format!("b{number:03}"), &ad(number));
        let pool = (0..300).fold(Pool::default().machines(2000), jobs);
        let pool = pool.jobs("carol", 1, "[Requirements = other.M < -1]");
        let pool = pool.job("carol", "first", "[Requirements = other.M == 7]");
        let (gangs, cycle, _) = run(&pool, &config());
        assert_eq!((gangs.len(), cycle.gave_up.len()), (1, 0));
        assert!(cycle.unexplained.len() > 200, "{}", cycle.unexplained.len());
        let short = cycle.short_of_capacity();
        let never =
            cycle.unmatched.iter().find(|found| found.why.verdict == Verdict::NoCandidates { port: 0 }).unwrap();
        assert!(short.len() == 300 && !short.contains(&never.root), "all but the one that no machine satisfies");
    }

    #[test]
    fn b6_that_an_expression_is_too_expensive_is_told_in_the_first_cycle_though_others_wait_for_reasons_too() {
        let list = vec!["[ a = 5 ]"; 800].join(", ");
        let costly = "size(evalInEachContext(countMatches(a > 3, L), L)) > other.Memory";
        let costly = format!("[ L = {{ {list} }}; Requirements = {costly} ]");
        let pool = Pool::default().machine("bob", "m", "[Memory = 5]").machine("carol", "n", "[Memory = 6]");
        let pool = pool.job("bob", "b", &costly);
        let (_, cycle, _) = run(&pool.jobs("carol", 3, "[Requirements = other.M == -1]"), &Config::product());
        let told = cycle.unmatched.iter().filter(|why| matches!(why.verdict, Verdict::TooExpensive { .. })).count();
        assert!(told == 1 && cycle.unexplained.is_empty(), "{cycle:?}");
    }

    #[test]
    fn a_cycle_that_is_ended_names_what_it_has_not_looked_at() {
        let pool = Pool::default().machines(20).jobs("bob", 2, &eight_ports()).jobs("carol", 2, HONEST);
        let config = Config { stop: Stop::default(), ..config() };
        config.stop.set();
        let (gangs, cycle, _) = run(&pool, &config);
        assert_eq!((gangs.len(), cycle.skipped.len()), (0, 4));
        assert!(cycle.unmatched.is_empty());
    }

    /// Jobs of eight ports, with conditions that differ in what the old hash did not see: names and times in literals.
    fn alike_but_for_names(jobs: usize) -> Pool {
        let condition = |number: usize| match number % 3 {
            0 => format!("x isnt [a{number} = 0]"),
            1 => format!("x isnt relTime({number})"),
            _ => format!("x isnt absTime({number})"),
        };
        let port = |job: usize, port: usize| {
            let all: Vec<String> = (0..20).map(|place| condition((job * 8 + port) * 20 + place)).collect();
            format!("[Label = p{port}; Constraint = {}]", all.join(" && "))
        };
        let ad = |job: usize| {
            format!("[Ports = {{{}}}]", (0..8).map(|number| port(job, number)).collect::<Vec<_>>().join(", "))
        };
        (0..jobs).fold(Pool::default().machines(20), |pool, job| pool.job("bob", &format!("b{job:02}"), &ad(job)))
    }

    #[test]
    fn f3_conditions_that_differ_in_names_alone_are_told_apart_by_their_hashes() {
        let read = |jobs: usize| {
            let mut engine = Indexed::new();
            engine.gangs(&alike_but_for_names(jobs).snapshot(), &config(), 0);
            engine.stats.read
        };
        let (one, two) = (read(2), read(4));
        assert!(two > one && two <= 6 * one, "{one} steps for 2, {two} for 4");
    }

    #[test]
    fn f3_what_is_read_of_a_job_is_paid_by_its_submitter_and_read_once() {
        let pool = alike_but_for_names(10).jobs("carol", 3, HONEST);
        let snapshot = pool.snapshot();
        let config = Config { cycle_steps_max: 200, ..config() };
        let mut engine = Indexed::new();
        let mut most = 0;
        let of = |cycle: &Cycle, namespace: &str| {
            let is = |ad| snapshot.ad(ad).unwrap().key.namespace == namespace;
            cycle.gangs.iter().filter(|gang| is(gang.members[0].ad)).count()
        };
        let first = engine.negotiate(&snapshot, &config, 0);
        assert_eq!((of(&first, "carol"), first.costs.over_budget), (3, vec![Arc::from("bob")]));
        for _ in 0..60 {
            engine.negotiate(&snapshot, &config, 0);
            most = most.max(engine.stats.read);
        }
        assert_eq!(engine.stats.read, 0, "at last all is read");
        assert!(most < 400, "{most}");
    }

    #[test]
    fn f3_jobs_are_not_read_any_more_when_the_cycle_is_to_end() {
        let config = Config { stop: Stop::default(), ..config() };
        config.stop.set();
        let mut engine = Indexed::new();
        let cycle = engine.negotiate(&alike_but_for_names(4).snapshot(), &config, 0);
        assert_eq!((engine.stats.read, cycle.skipped.len()), (0, 4));
    }

    #[test]
    fn what_the_index_knows_of_patterns_costs_a_job_next_to_nothing() {
        let pool = (0..500).fold(Pool::default(), |pool, number| {
            let name = if number % 5 == 0 { String::new() } else { format!("Host = \"e{number:05}\";") };
            pool.machine("cs", &format!("m{number:03}"), &format!("[{name} Memory = 64; Requirements = true]"))
        });
        let asks = |number: usize| {
            format!("[Requirements = regexp(\"^e00[0-{}]\", other.Host) && other.Memory > {number}]", number % 7)
        };
        let pool = (0..40).fold(pool, |pool, number| pool.job("bio", &format!("j{number}"), &asks(number)));
        let (gangs, cycle, steps) = run(&pool, &config());
        assert_eq!((gangs.len(), cycle.costs.over_budget.len()), (40, 0));
        assert!(steps < 500, "{steps} steps: less than a look at each machine");
    }
}
