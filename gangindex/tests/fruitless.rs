//! A costly search that found nothing is not made again until an offer that could matter has changed.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use classad::{Dialect, parse_ad, parse_expr};
    use gangindex::{Indexed, Stats};
    use matchmaker::{AdKey, Ask, Config, Consent, Cycle, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage};

    /// A pool that changes from one cycle to the next, and the engine that remembers.
    struct Pool {
        ads: Vec<Arc<PoolAd>>,
        exclusions: BTreeSet<AdKey>,
        barred: BTreeSet<String>,
        engine: Indexed,
        config: Config,
        now: i64,
    }

    /// Two machines whose numbers make 500 together: of sixty machines every pair is looked at.
    const JOB: &str = r#"[Ports = {
        [Label = a; Constraint = a.Kind == "cpu"],
        [Label = b; Constraint = b.Kind == "cpu" && a.M + b.M == 500]}]"#;

    const MACHINES: usize = 60;

    fn key(kind: &str, name: &str) -> AdKey {
        let namespace = if kind == "Job" { "bob" } else { "cs" };
        AdKey { kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    fn ports(text: &str) -> Arc<Ports> {
        Arc::new(Ports::of(&parse_ad(text, Dialect::Gangmatch).unwrap()))
    }

    fn slots(amount: i64) -> Res {
        [("slots".to_owned(), amount)].into_iter().collect()
    }

    fn machine(name: &str, text: &str) -> PoolAd {
        let offer = Offer::of(slots(1));
        let (key, role) = (key("Machine", name), Role::Offers(Box::new(offer)));
        PoolAd { key, uid: name.to_owned(), node_name: None, ports: ports(text), role }
    }

    fn numbered(number: usize) -> String {
        format!("[Kind = \"cpu\"; M = {number}; Requirements = true]")
    }

    fn taken(amount: i64) -> Usage {
        Usage { own: slots(amount), ..Usage::default() }
    }

    impl Pool {
        fn of(job: &str) -> Pool {
            let ads = vec![Arc::new(PoolAd {
                ports: ports(job),
                ..PoolAd::asking(key("Job", "j"), "j", &parse_ad("[]", Dialect::Gangmatch).unwrap())
            })];
            let (exclusions, barred) = (BTreeSet::new(), BTreeSet::new());
            let mut pool =
                Pool { ads, exclusions, barred, engine: Indexed::new(), config: Config::product(), now: 1000 };
            (0..MACHINES).for_each(|number| pool.put(machine(&format!("m{number:02}"), &numbered(number))));
            pool
        }

        /// Adds an ad, in the place of its namesake.
        fn put(&mut self, ad: PoolAd) {
            self.drop(&ad.key.name);
            self.ads.push(Arc::new(ad));
        }

        fn drop(&mut self, name: &str) {
            self.ads.retain(|ad| ad.key.name != name);
        }

        /// Changes the terms of an offer.
        fn change(&mut self, name: &str, change: impl FnOnce(&mut Offer)) {
            let ad = self.ads.iter().find(|ad| ad.key.name == name).unwrap();
            let mut ad = PoolAd::clone(ad);
            if let Role::Offers(offer) = &mut ad.role {
                change(offer);
            }
            self.put(ad);
        }

        /// Another cycle: the names of the members of its gangs. It gives what a new engine gives.
        fn cycle(&mut self) -> (Vec<String>, Stats) {
            let mut snapshot = Snapshot::of(self.ads.clone());
            let jobs: Vec<_> = snapshot.ads().filter(|(_, ad)| ad.key.kind == "Job").map(|(id, _)| id).collect();
            let root =
                |ad| Root { ad, submitter: "bob".into(), priority: 0, since: 0, exclusions: self.exclusions.clone() };
            snapshot.roots = jobs.into_iter().map(root).collect();
            snapshot.barred = self.barred.clone();
            let cycle = self.engine.negotiate(&snapshot, &self.config, self.now);
            let fresh = Indexed::new().negotiate(&snapshot, &self.config, self.now);
            let failed = |cycle: &Cycle| cycle.unmatched.iter().map(|why| why.root).collect::<Vec<_>>();
            assert_eq!((&cycle.gangs, failed(&cycle), &cycle.gave_up), (&fresh.gangs, failed(&fresh), &fresh.gave_up));
            let name = |ad| snapshot.ad(ad).unwrap().key.name.clone();
            let gangs = cycle.gangs.iter();
            let gangs =
                gangs.map(|gang| gang.members.iter().map(|member| name(member.ad)).collect::<Vec<_>>().join(" "));
            (gangs.collect(), self.engine.stats)
        }

        /// A cycle in which the search is made, and finds nothing.
        fn searches(&mut self, what: &str) {
            let (gangs, stats) = self.cycle();
            assert_eq!((gangs.len(), stats.fruitless), (0, 0), "{what}");
            assert!(stats.steps > 1000, "{what}: {} steps", stats.steps);
        }

        /// A cycle in which it is known that it finds nothing. Of offers that are new it is determined whether they read the clock, which takes
        /// a step for 8 of them.
        fn knows(&mut self, what: &str) {
            let (gangs, stats) = self.cycle();
            assert_eq!((gangs.len(), stats.fruitless), (0, 1), "{what}");
            assert!(stats.steps < 20, "{what}: {} steps", stats.steps);
        }

        /// A cycle in which it finds one gang.
        fn finds(&mut self, what: &str) {
            let (gangs, stats) = self.cycle();
            assert_eq!((gangs.len(), stats.fruitless), (1, 0), "{what}");
        }
    }

    #[test]
    fn it_is_not_made_again_while_nothing_that_matters_changes() {
        let mut pool = Pool::of(JOB);
        pool.searches("the first time");
        pool.knows("the same pool");
        pool.put(machine("gpu", "[Kind = \"gpu\"; M = 499; Requirements = true]"));
        pool.knows("a machine of another kind comes");
        pool.put(machine("gpu", "[Kind = \"gpu\"; M = 498; Requirements = true]"));
        pool.knows("and changes");
        pool.drop("gpu");
        pool.knows("and goes");
        pool.drop("m07");
        pool.knows("a machine goes");
        pool.change("m08", |offer| offer.open = false);
        pool.knows("one is closed");
        pool.change("m09", |offer| offer.usage = taken(1));
        pool.knows("one is taken");
        pool.change("m10", |offer| offer.usage.external = slots(1));
        pool.knows("one is used from outside");
        pool.exclusions.insert(key("Machine", "m11"));
        pool.knows("one refuses");
        pool.barred.insert("cs".to_owned());
        pool.knows("all are left out");
        pool.barred.clear();
        pool.knows("and come back");
        for turn in 0..40 {
            pool.now += 30;
            pool.knows(&format!("time goes by: {turn}"));
        }
    }

    type Change = fn(&mut Pool);

    /// What is in the way of the gang at first, and what takes it out of the way.
    const CHANGES: [(&str, Change, Change); 12] = [
        ("an offer comes", |_| (), |pool| pool.put(machine("key", &numbered(450)))),
        (
            "an offer is opened",
            |pool| pool.change("key", |offer| offer.open = false),
            |pool| {
                pool.change("key", |offer| offer.open = true);
            },
        ),
        (
            "an offer is freed",
            |pool| pool.change("key", |offer| offer.usage = taken(1)),
            |pool| {
                pool.change("key", |offer| offer.usage = Usage::default());
            },
        ),
        (
            "an offer is used less from outside",
            |pool| pool.change("key", |offer| offer.usage.external = slots(1)),
            |pool| {
                pool.change("key", |offer| offer.usage.external = Res::new());
            },
        ),
        (
            "an offer changes its ad",
            |pool| pool.put(machine("key", &numbered(44))),
            |pool| {
                pool.put(machine("key", &numbered(444)));
            },
        ),
        (
            "consent is widened",
            |pool| pool.change("key", |offer| offer.consent = Consent::same("cs")),
            |pool| {
                pool.change("key", |offer| offer.consent = Consent::Namespaces(["cs", "bob"].map(str::to_owned).into()))
            },
        ),
        ("an exclusion ends", |pool| pool.exclusions = [key("Machine", "key")].into(), |pool| pool.exclusions.clear()),
        (
            "an offer has more",
            |pool| pool.change("key", |offer| offer.capacity = Res::new()),
            |pool| {
                pool.change("key", |offer| offer.capacity = slots(2));
            },
        ),
        (
            "an offer asks for less",
            |pool| pool.change("key", |offer| offer.default_request = slots(2)),
            |pool| {
                pool.change("key", |offer| offer.default_request = slots(1));
            },
        ),
        (
            "a seat is shared in another way",
            |pool| pool.change("key", |offer| offer.shared_by = Some(parse_expr("1/0", Dialect::Gangmatch).unwrap())),
            |pool| pool.change("key", |offer| offer.shared_by = None),
        ),
        (
            "a seat that is shared is held by those who may share it",
            |pool| {
                pool.change("key", |offer| {
                    offer.shared_by = Some(parse_expr("\"x\"", Dialect::Gangmatch).unwrap());
                    offer.usage = taken(1);
                });
            },
            |pool| {
                pool.change("key", |offer| {
                    offer.usage = Usage::default();
                    offer.usage.take(&Ask { allocation: slots(1), share: Some("x".to_owned()) });
                });
            },
        ),
        ("gangs may be larger", |pool| pool.config.members_max = 2, |pool| pool.config.members_max = 3),
    ];

    #[test]
    fn it_is_made_again_when_something_that_matters_changes() {
        for (what, hinder, change) in CHANGES {
            let mut pool = Pool::of(JOB);
            if what != "an offer comes" {
                pool.put(machine("key", &numbered(450)));
            }
            hinder(&mut pool);
            if what == "gangs may be larger" {
                // A search for smaller ones costs nothing.
                pool.config.fruitless_steps_min = 0;
                let _ = pool.cycle();
            } else {
                pool.searches(what);
                pool.knows(what);
            }
            change(&mut pool);
            pool.finds(what);
        }
    }

    #[test]
    fn an_offer_that_is_left_out_for_its_costs_may_matter_when_it_is_not() {
        let mut pool = Pool::of(JOB);
        let mut other = machine("key", &numbered(450));
        other.key.namespace = "eve".to_owned();
        pool.put(other);
        pool.barred.insert("eve".to_owned());
        pool.searches("it is left out");
        pool.knows("and still is");
        pool.barred.clear();
        pool.finds("it is not any more");
    }

    #[test]
    fn what_a_gang_takes_and_gives_back_is_a_gain() {
        let mut pool = Pool::of(JOB);
        pool.put(machine("key", &numbered(450)));
        let second = PoolAd { key: key("Job", "k"), ..PoolAd::clone(&pool.ads[0]) };
        pool.put(PoolAd { uid: "k".to_owned(), ..second });
        let (gangs, _) = pool.cycle();
        assert_eq!(gangs, ["j key m50"]);
        // The claim holds: for the other job nothing is new.
        let (key, other) = ("key", "m50");
        for name in [key, other] {
            pool.change(name, |offer| offer.usage = taken(1));
        }
        let first = pool.ads.iter().position(|ad| ad.key.name == "j").unwrap();
        let first = pool.ads.remove(first);
        pool.knows("the claim holds");
        // It ends, and the other job is served.
        for name in [key, other] {
            pool.change(name, |offer| offer.usage = Usage::default());
        }
        assert_eq!(pool.cycle().0, ["k key m50"]);
        // The gang of a cycle is given up, and there is no claim.
        pool.ads.push(first);
        assert_eq!(pool.cycle().0, ["j key m50"]);
        pool.drop("j");
        assert_eq!(pool.cycle().0, ["k key m50"]);
    }

    /// Each machine needs a license of its own number.
    #[test]
    fn an_offer_that_another_offer_needs_matters() {
        let mut pool = Pool::of("[Ports = {[Label = a; Constraint = a.M >= 0]}]");
        pool.config.depth_max = 2;
        for number in 0..MACHINES {
            let ports = format!(
                "[M = {number}; Ports = {{[Label = lic; Constraint = lic.For is {number} + 100], [Label = job]}}]"
            );
            pool.put(machine(&format!("m{number:02}"), &ports));
        }
        pool.searches("no license at all");
        pool.knows("the same");
        pool.put(machine("license", "[For = 7; Requirements = true]"));
        pool.searches("one of no use, as only a search can tell");
        pool.knows("the same again");
        pool.put(machine("license", "[For = 107; Requirements = true]"));
        pool.finds("one that fits");
    }

    #[test]
    fn what_reads_the_clock_is_looked_at_in_each_cycle() {
        let late = |condition: &str| JOB.replace("a.M + b.M == 500", &format!("(a.M + b.M == 500 || {condition})"));
        for condition in [
            "a.M + b.M + time() > 2100",
            "a.M + b.M + CurrentTime > 2100",
            "a.M + b.M + eval(\"time()\") > 2100",
            "a.M + b.M + eval(strcat(\"ti\", \"me()\")) > 2100",
        ] {
            let mut pool = Pool::of(&late(condition));
            pool.searches(condition);
            pool.searches(condition);
            pool.now = 2050;
            pool.finds(condition);
        }
        let mut pool = Pool::of(&late("a.M + b.M + eval(\"400\") == 2"));
        pool.searches("a text without a clock");
        pool.knows("a text without a clock");
        pool.config.seed += 1;
        pool.knows("a text without a clock");
    }

    #[test]
    fn an_offer_that_reads_the_clock_may_matter_in_each_cycle() {
        let mut pool = Pool::of(JOB);
        pool.put(machine("key", "[Kind = \"cpu\"; M = 450; Requirements = time() > 2000]"));
        pool.searches("it refuses yet");
        pool.knows("it refuses still");
        pool.now = 2050;
        pool.finds("it does not any more");
        pool.put(machine("key", "[Kind = \"cpu\"; M = time() - 2000; Requirements = true]"));
        pool.searches("it says something else in each cycle");
        pool.searches("and again");
        pool.now = 2450;
        pool.finds("until it fits");
    }

    #[test]
    fn little_is_remembered_of_searches_that_cost_little_or_were_cut_short() {
        let mut pool = Pool::of(JOB);
        pool.config.fruitless_steps_min = 1_000_000;
        pool.searches("it costs little");
        pool.searches("it costs little");
        pool.config.fruitless_steps_min = 1000;
        pool.config.cycle_steps_max = 4000;
        pool.searches("it is cut short");
        pool.searches("it is cut short");
    }

    #[test]
    fn a_root_that_changes_or_goes_is_forgotten() {
        let mut pool = Pool::of(JOB);
        pool.searches("at first");
        let job = PoolAd::clone(pool.ads.iter().find(|ad| ad.key.kind == "Job").unwrap());
        pool.put(PoolAd { uid: "another".to_owned(), ..job.clone() });
        pool.searches("a namesake");
        pool.put(PoolAd { uid: "another".to_owned(), ..job.clone() });
        pool.knows("the same in another place");
        pool.drop("j");
        let _ = pool.cycle();
        pool.put(PoolAd { uid: "another".to_owned(), ..job });
        pool.searches("it was gone for a cycle");
    }

    #[test]
    fn a_comparison_that_no_value_meets_needs_no_search() {
        for constraint in [
            "cpu.M >= 1000",
            "1000 < cpu.M",
            "cpu.Kind == \"gpu\"",
            "cpu.Missing > 1",
            "cpu.M * 2 >= 2000",
            "cpu.M + cpu.N / 2 > 1000",
            "-cpu.M < -1000",
            "cpu.Missing + cpu.M > 0",
            "cpu.Kind == \"gpu\" || cpu.M - 1000 > 0",
            "(cpu.M > 1000 ? cpu.M : cpu.Missing) > 1000",
            "(cpu.Missing ?: cpu.M) > 1000 && cpu.Kind > 0 || cpu.Missing == 2",
            "cpu.Missing",
            "!(cpu.M < 1000)",
            "!(cpu.M <= 1000 || cpu.Kind == \"cpu\")",
            "!(cpu.Missing != 2)",
            "member(cpu.Kind, {\"gpu\", \"tpu\"})",
            "!isUndefined(cpu.Missing)",
            "regexp(\"^g\", cpu.Kind) || cpu.Kind == 5",
        ] {
            let mut pool = Pool::of(&format!("[Ports = {{[Label = cpu; Constraint = {constraint}]}}]"));
            for when in ["at first", "again"] {
                let (gangs, stats) = pool.cycle();
                assert_eq!((gangs.len(), stats.questions, stats.steps), (0, 0, 0), "{constraint}, {when}");
            }
            pool.put(machine("new", r#"[Kind = "gpu"; M = 1001; N = 2; Missing = 2; Requirements = true]"#));
            pool.finds("a value that meets it has come");
            pool.drop("new");
            let (gangs, stats) = pool.cycle();
            assert_eq!(
                (gangs.len(), stats.questions),
                (0, 1),
                "{constraint}: a value that was there counts as one that is"
            );
        }
    }

    /// Of these, ranges tell too little: the search is made, and what it finds is right.
    #[test]
    fn what_may_be_anything_is_searched() {
        for (constraint, found) in [
            ("cpu.M % 7 == 6", true),
            ("cpu.M * 9223372036854775807 > 5", true),
            ("100 / cpu.M > 50", true),
            ("cpu.M / (cpu.M - 5) >= 6", true),
            ("cpu.M - cpu.M == 1", false),
            ("cpu.M != 7", true),
            ("!(cpu.M >= 1000)", true),
            ("!(cpu.M < 7 && cpu.Kind == \"gpu\")", true),
            ("!(cpu.M - 7)", true),
            ("!(cpu.M != 7)", true),
            ("!(cpu.M is 7)", true),
            ("!cpu.Kind", false),
            ("member(cpu.Kind, {\"gpu\", \"cpu\"})", true),
            ("cpu.Missing is undefined", true),
            ("cpu.M + 0.5 == 7.5", true),
            ("cpu.Kind", false),
            ("cpu.M - 59", true),
        ] {
            let mut pool = Pool::of(&format!("[Ports = {{[Label = cpu; Constraint = {constraint}]}}]"));
            let (gangs, _) = pool.cycle();
            assert_eq!(!gangs.is_empty(), found, "{constraint}");
        }
    }

    #[test]
    fn one_that_only_the_evaluator_can_decide_is_not_met_by_no_value() {
        let mut pool =
            Pool::of(r#"[Ports = {[Label = cpu; Constraint = cpu.Since >= absTime("2020-01-01T00:00:00Z")]}]"#);
        assert_eq!(pool.cycle().0.len(), 0);
        let since = r#"[Kind = "cpu"; Since = absTime("2021-01-01T00:00:00Z"); Requirements = true]"#;
        pool.put(machine("new", since));
        pool.finds("a time is compared by the evaluator");
    }
}
