//! What preemption costs, and who has a turn: jobs of one account keep it from no other.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use classad::{Dialect, parse_ad, parse_expr};
    use gangindex::Indexed;
    use matchmaker::{
        Accounts, AdId, AdKey, ByAd, Config, CountedOffer, FindGangs, HeldGang, NotPreempted, Offer,
        PREEMPTION_ROOTS_MAX, PoolAd, Preempting, PreemptionTerms, Preemptions, Prices, Res, Role, Root, SIDE_SHARE,
        Seats, SideSearches, Snapshot, preempt,
    };
    use policy::{Account, Amounts, CHARGE, Evictions, Mode, NoVictims, Permitted, Quota, Tree};

    const NOW: i64 = 100_000;

    /// A job: namespace, name, priority.
    type Asking = (&'static str, String, i32);

    #[derive(Default)]
    struct Pool {
        ads: Vec<PoolAd>,
        holders: Vec<Asking>,
        waiting: Vec<Asking>,
    }

    fn key(kind: &str, namespace: &str, name: &str) -> AdKey {
        AdKey { kind: kind.into(), namespace: namespace.into(), name: name.into() }
    }

    impl Pool {
        fn offer(&mut self, (kind, namespace, name): (&str, &str, &str), text: &str, capacity: &[(&str, i64)]) {
            let ad = parse_ad(&format!("[Type = \"{kind}\"; Constraint = true; {text}]"), Dialect::Gangmatch).unwrap();
            let offer = Offer {
                default_request: capacity.iter().map(|(name, _)| ((*name).to_owned(), 1)).collect::<Res>(),
                ..Offer::of(capacity.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
            };
            let ad = PoolAd::asking(key(kind, namespace, name), &format!("{namespace}-{name}"), &ad);
            self.ads.push(PoolAd { role: Role::Offers(Box::new(offer)), ..ad });
        }

        fn ad(&mut self, (namespace, name, ..): &Asking, text: &str) {
            let ad = parse_ad(text, Dialect::Gangmatch).unwrap();
            self.ads.push(PoolAd::asking(key("Job", namespace, name), &format!("{namespace}-{name}"), &ad));
        }

        fn holds(&mut self, job: Asking, text: &str) {
            self.ad(&job, text);
            self.holders.push(job);
        }

        fn waits(&mut self, job: Asking, text: &str) {
            self.ad(&job, text);
            self.waiting.push(job);
        }

        /// The holders have their gangs, and the others wait.
        fn scene(self, accounts: Vec<Account>) -> Scene {
            let mut snapshot = Snapshot::new(self.ads);
            let root = |snapshot: &Snapshot, (namespace, name, priority): &Asking| Root {
                ad: snapshot.find(&key("Job", namespace, name)).unwrap(),
                submitter: Arc::from(*namespace),
                priority: *priority,
                since: 1,
                exclusions: BTreeSet::new(),
            };
            snapshot.roots = self.holders.iter().map(|job| root(&snapshot, job)).collect();
            let gangs = Indexed::new().gangs(&snapshot, &Config::product(), NOW).gangs;
            assert_eq!(gangs.len(), self.holders.len());
            let before = accounts_of(&snapshot, accounts.clone());
            let (mut held, mut sums) = (Vec::new(), BTreeMap::<String, Amounts>::new());
            let mut prices = Prices::of(&Config::product(), NOW);
            for gang in &gangs {
                let account = before.account_of.get(gang.root().unwrap()).unwrap().clone();
                let charge = before.charge_of((&snapshot, gang), &account, &mut Seats::default(), &mut prices);
                for (counter, amount) in &charge.takes {
                    *sums.entry(account.to_string()).or_default().entry(counter.clone()).or_default() += amount;
                }
                held.push(HeldGang {
                    name: format!("g{:03}", held.len()),
                    account,
                    priority: 0,
                    since: 0,
                    preemptions: 0,
                    takes: charge.takes,
                    gang: gang.clone(),
                });
            }
            let mut after = snapshot.after(&gangs);
            let with_held =
                |account: Account| Account { held: sums.get(&account.name).cloned().unwrap_or_default(), ..account };
            after.accounts = Some(Arc::new(accounts_of(&after, accounts.into_iter().map(with_held).collect())));
            after.roots = self.waiting.iter().map(|job| root(&after, job)).collect();
            Scene { snapshot: after, held }
        }
    }

    fn accounts_of(snapshot: &Snapshot, accounts: Vec<Account>) -> Accounts {
        let jobs = snapshot.ads().filter(|(_, ad)| ad.key.kind == "Job");
        Accounts {
            tree: Tree::new(accounts),
            total: Amounts::new(),
            account_of: jobs.map(|(id, ad)| (id, Arc::from(ad.key.namespace.as_str()))).collect(),
            offers: ByAd::default(),
            weights: [("slots".to_owned(), 1_000_000), ("seats".to_owned(), 1_000_000)].into(),
            seats: Seats::default(),
            counters: Vec::new(),
            counting: BTreeMap::new(),
        }
    }

    fn account(name: &str) -> Account {
        Account::named(name)
    }

    struct Scene {
        snapshot: Snapshot,
        held: Vec<HeldGang>,
    }

    impl Scene {
        fn preempt(&self, reasons: &[Mode], evictions: &Evictions) -> Preemptions {
            self.preempt_by("true", reasons, evictions, &BTreeSet::new())
        }

        fn preempt_sparing(&self, reasons: &[Mode], evictions: &Evictions, spared: &BTreeSet<AdId>) -> Preemptions {
            self.preempt_by("true", reasons, evictions, spared)
        }

        fn preempt_by(
            &self,
            requirements: &str,
            reasons: &[Mode],
            evictions: &Evictions,
            spared: &BTreeSet<AdId>,
        ) -> Preemptions {
            let mut engine = Indexed::new();
            let mut search = |view: &Snapshot, config: &Config, now: i64| engine.negotiate(view, config, now);
            self.preempt_with(requirements, reasons, evictions, spared, &mut search)
        }

        fn preempt_with(
            &self,
            requirements: &str,
            reasons: &[Mode],
            evictions: &Evictions,
            spared: &BTreeSet<AdId>,
            search: &mut FindGangs<'_>,
        ) -> Preemptions {
            let expr = |text: &str| parse_expr(text, Dialect::Gangmatch).unwrap();
            let reasons = reasons.iter().copied().collect();
            let terms = PreemptionTerms {
                permitted: Permitted { reasons, min_runtime_seconds: 300, max_victims: 4, leaves_above: true },
                requirements: expr(requirements),
                rank: expr("0"),
            };
            let preempting = Preempting { terms: &terms, held: &self.held, ending: &[], spared, evictions };
            let waiting = self.snapshot.roots.iter().map(|root| root.ad).collect();
            let config = Config { explains: false, ..Config::product() };
            let mut search = SideSearches::new(search);
            preempt((&self.snapshot, &[]), &waiting, &preempting, (&config, NOW), &mut search)
        }

        /// How many gangs end for the jobs of each namespace that were looked at.
        fn victims(&self, found: &Preemptions) -> BTreeMap<String, Vec<usize>> {
            let mut all: BTreeMap<String, Vec<usize>> = BTreeMap::new();
            for (ad, answer) in &found.answers {
                let victims = answer.as_ref().map_or(0, |proposal| proposal.victims.len());
                all.entry(self.snapshot.ad(*ad).unwrap().key.namespace.clone()).or_default().push(victims);
            }
            all
        }
    }

    const MACHINE: &str = "[Constraint = other.Type == \"Machine\"]";
    const OWN: &str = "[Constraint = other.Type == \"Own\"]";

    /// Machines that `cfd` holds, and one of `bob` that he holds himself.
    fn machines(count: usize) -> Pool {
        let mut pool = Pool::default();
        for number in 0..count {
            pool.offer(("Machine", "pool", &format!("m{number}")), "", &[("slots", 1)]);
            pool.holds(("cfd", format!("h{number}"), 0), MACHINE);
        }
        pool.offer(("Own", "bob", "own"), "", &[("slots", 1)]);
        pool.holds(("bob", "h".to_owned(), 0), OWN);
        pool
    }

    #[test]
    fn p1_hopeless_jobs_of_one_account_keep_preemption_from_no_other() {
        for hopeless in [0, 15, 16, 100] {
            let mut pool = machines(4);
            for number in 0..hopeless {
                pool.waits(("bob", format!("w{number:03}"), 0), OWN);
            }
            pool.waits(("chips", "want".to_owned(), 0), MACHINE);
            // `chips` has used more of late than `bob`, whose jobs come first.
            let scene =
                pool.scene(vec![account("cfd"), account("bob"), Account { usage: 9_000_000, ..account("chips") }]);
            let found = scene.preempt(&[Mode::Share], &Evictions::up_to(60));
            let victims = scene.victims(&found);
            assert_eq!(victims["chips"], [1], "{hopeless}");
            assert_eq!(found.answers.len(), (hopeless + 1).min(PREEMPTION_ROOTS_MAX), "{hopeless}: all turns are used");
        }
    }

    #[test]
    fn p1_accounts_beyond_the_turns_of_a_cycle_have_theirs_when_the_first_ones_pause() {
        let mut pool = machines(2);
        let names = ["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1", "b2", "b3", "b4", "b5"];
        let mut accounts = vec![account("cfd"), account("bob"), Account { usage: 9_000_000, ..account("chips") }];
        for name in names {
            pool.waits((name, "w".to_owned(), 0), OWN);
            accounts.push(account(name));
        }
        pool.waits(("chips", "want".to_owned(), 0), MACHINE);
        let scene = pool.scene(accounts);
        let evictions = Evictions::up_to(60);
        let first = scene.preempt(&[Mode::Priority, Mode::Share], &evictions);
        assert!(!scene.victims(&first).contains_key("chips"));
        let spared = first.answers.iter().map(|(ad, _)| *ad).collect();
        let then = scene.preempt_sparing(&[Mode::Priority, Mode::Share], &evictions, &spared);
        assert_eq!(scene.victims(&then)["chips"], [1]);
    }

    /// `bob` has machines and jobs of his own that preempt each other; `chips` needs two machines that are guaranteed to it.
    fn bob_and_chips() -> Scene {
        let mut pool = Pool::default();
        for number in 0..4 {
            pool.offer(("Machine", "pool", &format!("m{number}")), "", &[("slots", 1)]);
            pool.holds(("cfd", format!("h{number}"), 0), MACHINE);
        }
        for number in 0..10 {
            pool.offer(("Own", "bob", &format!("o{number}")), "", &[("slots", 1)]);
            pool.holds(("bob", format!("h{number}"), 0), OWN);
            pool.waits(("bob", format!("w{number}"), 1), OWN);
        }
        let port = |label: &str| format!("[Label = {label}; Constraint = {label}.Type == \"Machine\"]");
        pool.waits(("chips", "want".to_owned(), 0), &format!("[Ports = {{{}, {}}}]", port("a"), port("b")));
        let quota = Quota { min: Some(2_000_000), ..Quota::default() };
        let chips = Account { quotas: [(CHARGE.into(), quota)].into(), ..account("chips") };
        pool.scene(vec![account("cfd"), account("bob"), chips])
    }

    #[test]
    fn p2_what_one_account_preempts_of_its_own_leaves_evictions_for_others() {
        let scene = bob_and_chips();
        let of = |evictions: &Evictions| {
            let victims = scene.victims(&scene.preempt(&[Mode::Reclaim, Mode::Priority], evictions));
            ["bob", "chips"].map(|name| victims[name].iter().sum::<usize>())
        };
        assert_eq!(of(&Evictions::up_to(60)), [10, 2], "there is enough for all");
        // The bucket is empty, and fills by one in a minute: `bob` takes none of it until there is enough for `chips`.
        let mut evictions = Evictions { left: 0, per_hour: 60, of_late: BTreeMap::from([("bob".to_owned(), 3)]) };
        for _ in 0..10 {
            evictions.left += 1;
            let [bob, chips] = of(&evictions);
            if chips > 0 {
                assert_eq!((bob, chips, evictions.left), (0, 2, 2));
                return;
            }
            evictions.left -= bob;
            *evictions.of_late.get_mut("bob").unwrap() += bob;
        }
        panic!("nothing was preempted for `chips`: {evictions:?}");
    }

    /// Jobs of `bob` for which an expensive search finds nothing.
    fn searching(jobs: usize) -> Scene {
        let mut pool = Pool::default();
        for number in 0..40 {
            pool.offer(("Machine", "bob", &format!("m{number:02}")), &format!("M = {number}"), &[("slots", 1)]);
            pool.holds(("bob", format!("h{number:02}"), 0), MACHINE);
        }
        let sum = (0..8).map(|port| format!("p{port}.M")).collect::<Vec<_>>().join(" + ");
        let mut ports: Vec<String> =
            (0..7).map(|port| format!("[Label = p{port}; Constraint = p{port}.Type == \"Machine\"]")).collect();
        ports.push(format!("[Label = p7; Constraint = eval(\"1\") == 1 && {sum} < 0]"));
        for number in 0..jobs {
            pool.waits(
                ("bob", format!("w{number:02}"), 0),
                &format!("[A = {number}; Ports = {{{}}}]", ports.join(", ")),
            );
        }
        pool.scene(vec![account("bob")])
    }

    #[test]
    fn p3_searches_for_preemption_have_one_budget_and_their_namespaces_pay() {
        for jobs in [1, 16] {
            let scene = searching(jobs);
            let found = scene.preempt(&[Mode::Rank], &Evictions::up_to(60));
            let is_cut = found.answers.iter().any(|(_, answer)| *answer == Err(NotPreempted::CutShort));
            assert!(is_cut, "{jobs}: {found:?}");
            let [(namespace, steps)] = &found.fruitless[..] else { panic!("{found:?}") };
            let most = Config::product().cycle_steps_max / SIDE_SHARE;
            assert!(&**namespace == "bob" && *steps > most / 4 && *steps < most + most / 4, "{jobs}: {steps}");
        }
    }

    #[test]
    fn p3_a_namespace_that_has_exceeded_its_budget_gets_little() {
        let mut scene = searching(16);
        scene.snapshot.frugal = BTreeSet::from(["bob".to_owned()]);
        let found = scene.preempt(&[Mode::Rank], &Evictions::up_to(60));
        let steps: u64 = found.fruitless.iter().map(|(_, steps)| *steps).sum();
        assert!(steps <= 400, "{steps}");
    }

    /// Many wide gangs, all of which would have to end for one job: to find that out would cost more than its namespace has.
    #[test]
    fn p4_wide_gangs_are_looked_at_within_the_budget_of_the_job() {
        let mut pool = Pool::default();
        let names: Vec<String> = (0..8).map(|number| format!("r{number}")).collect();
        let capacity: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), 100)).collect();
        for number in 0..40 {
            pool.offer(("License", "bob", &format!("l{number:02}")), "Rank = other.Value", &capacity);
        }
        let port = |request: &str| format!("[Label = l; Count = 40; Constraint = l.Type == \"License\"{request}]");
        for number in 0..100 {
            pool.holds(("bob", format!("h{number:03}"), 0), &format!("[Value = 0; Ports = {{{}}}]", port("")));
        }
        let request = names.iter().map(|name| format!("{name} = 100")).collect::<Vec<_>>().join("; ");
        for number in 0..16 {
            let text = format!("[Value = 1; Ports = {{{}}}]", port(&format!("; Request = [{request}]")));
            pool.waits(("bob", format!("w{number:02}"), 0), &text);
        }
        let scene = pool.scene(vec![account("bob")]);
        let found = scene.preempt(&[Mode::Rank], &Evictions::up_to(60));
        for (_, answer) in &found.answers {
            let is_refused = matches!(
                answer,
                Err(NotPreempted::CutShort
                    | NotPreempted::Refused(NoVictims::TooManyVictims | NoVictims::NotEnoughVictims))
            );
            assert!(is_refused, "{answer:?}");
        }
        let most = Config::product().cycle_steps_max / SIDE_SHARE;
        let steps: u64 = found.fruitless.iter().map(|(_, steps)| *steps).sum();
        assert!(steps > 0 && steps < most * 2, "{steps}");
    }

    /// Many gangs of `eve` and some of `carol`, and jobs of `bob` and `dan` that wait; all with these attributes.
    fn urgent([eve, bob]: [&str; 2]) -> Scene {
        let plain = "[Urgency = 1; Constraint = other.Type == \"Machine\"]";
        let mut pool = Pool::default();
        for number in 0..600 {
            pool.offer(("Machine", "cs", &format!("m{number:03}")), "", &[("slots", 1)]);
            let (namespace, text) = if number < 500 { ("eve", eve) } else { ("carol", plain) };
            pool.holds((namespace, format!("h{number:03}"), 0), text);
        }
        for number in 0..8 {
            pool.waits(("bob", format!("w{number:02}"), 0), bob);
            pool.waits(("dan", format!("w{number:02}"), 0), &plain.replace('1', "2"));
        }
        pool.scene(["eve", "carol", "bob", "dan"].map(account).into())
    }

    #[test]
    fn p5_what_the_administrators_terms_read_of_jobs_is_paid_for_by_whose_job_it_is() {
        let plain = "[Urgency = 1; Constraint = other.Type == \"Machine\"]";
        let list = vec!["1 + 1"; 2000].join(",");
        let costly = plain.replace("= 1", &format!("= member(-1, {{{list}}}) ? 1 : 2"));
        let spent = |found: &Preemptions, who: &str| {
            found.fruitless.iter().find(|(name, _)| **name == *who).map_or(0, |(_, steps)| *steps)
        };
        let ask = |scene: &Scene| {
            let read = "preemptor.Urgency > victim.Urgency";
            scene.preempt_by(read, &[Mode::Share], &Evictions::up_to(60), &BTreeSet::new())
        };
        let victims_for_dan = |scene: &Scene, found: &Preemptions| -> usize {
            scene.victims(found).get("dan").map_or(0, |victims| victims.iter().sum())
        };
        let most = Config::product().cycle_steps_max / SIDE_SHARE;
        // A costly job that waits spends the steps of its own namespace.
        let scene = urgent([plain, &costly]);
        let found = ask(&scene);
        assert!(spent(&found, "bob") > most / 8 && spent(&found, "bob") < most, "{}", spent(&found, "bob"));
        assert!(found.answers.iter().any(|(_, answer)| *answer == Err(NotPreempted::CutShort)));
        assert!(victims_for_dan(&scene, &found) > 0);
        // Costly gangs cost those that wait nothing, and protect no others.
        let scene = urgent([&costly, &plain.replace('1', "2")]);
        let found = ask(&scene);
        assert_eq!([spent(&found, "bob"), spent(&found, "dan")].map(|steps| steps < most / 8), [true; 2]);
        assert!(victims_for_dan(&scene, &found) > 0);
    }

    /// Machines of `eve`, which her own jobs hold. What they say of jobs of others takes long, and is no.
    fn costly_when_free(machines: usize) -> Scene {
        let list = vec!["1 + 1"; 5000].join(",");
        let mut pool = Pool::default();
        for number in 0..machines {
            let text = format!("Mine = other.A == 0; Fast = other.A == 0 || member(other.A, {{{list}}})");
            pool.offer(("Machine", "eve", &format!("m{number:03}")), &text, &[("slots", 1)]);
            pool.holds(("eve", format!("h{number:03}"), 0), "[A = 0; Constraint = other.Type == \"Machine\"]");
        }
        for number in 0..16 {
            let text = format!("[A = {}; Constraint = other.Type == \"Machine\" && other.Fast]", number + 10);
            pool.waits(("bob", format!("w{number:02}"), 0), &text);
        }
        pool.scene(["eve", "bob"].map(account).into())
    }

    #[test]
    fn q3_prices_that_only_preemption_reads_have_the_budget_of_all_searches() {
        let mut pool = Pool::default();
        for number in 0..200 {
            pool.offer(("Machine", "eve", &format!("m{number:03}")), &format!("N = {number}"), &[("slots", 1)]);
            pool.holds(("eve", format!("h{number:03}"), 0), MACHINE);
        }
        for number in 0..16 {
            let rank = format!("(other.N + {}) % 200", number * 12);
            let text = format!("[Rank = {rank}; Constraint = other.Type == \"Machine\"]");
            pool.waits(("bob", format!("w{number:02}"), 0), &text);
        }
        let mut scene = pool.scene(["eve", "bob"].map(account).into());
        let list = vec!["1 + 1"; 4000].join(",");
        let price = parse_expr(&format!("member(-1, {{{list}}}) ? 1 : 5"), Dialect::Gangmatch).unwrap();
        let counted = Arc::new(CountedOffer { charge_weight: Some(price), counters: Vec::new() });
        let offers = scene.snapshot.ads().filter(|(_, ad)| ad.offer().is_some());
        let offers = offers.map(|(id, _)| (id, Arc::clone(&counted))).collect();
        let before = Accounts::clone(scene.snapshot.accounts.as_ref().unwrap());
        scene.snapshot.accounts = Some(Arc::new(Accounts { offers, ..before }));
        let (mut engine, mut searches, mut without) = (Indexed::new(), 0, 0);
        let mut search = |view: &Snapshot, config: &Config, now: i64| {
            searches += 1;
            without += usize::from(view.barred.contains("eve"));
            engine.negotiate(view, config, now)
        };
        let found = scene.preempt_with("true", &[Mode::Rank], &Evictions::up_to(60), &BTreeSet::new(), &mut search);
        assert!(found.answers.iter().all(|(_, answer)| answer.is_err()));
        assert!(0 < without && without < searches, "{without} of {searches} searches do without these machines");
    }

    #[test]
    fn p6_offers_that_cost_something_only_when_they_are_free_have_one_budget_for_all_searches() {
        let scene = costly_when_free(100);
        let (mut engine, mut searches, mut barring) = (Indexed::new(), 0, 0);
        let mut search = |view: &Snapshot, config: &Config, now: i64| {
            let found = engine.negotiate(view, config, now);
            searches += 1;
            barring += usize::from(found.costs.barred.contains("eve") && !view.barred.contains("eve"));
            found
        };
        let found = scene.preempt_with("true", &[Mode::Share], &Evictions::up_to(60), &BTreeSet::new(), &mut search);
        assert!(found.answers.iter().all(|(_, answer)| answer.is_err()));
        assert!(searches > 8, "{searches}");
        assert_eq!(barring, 1, "of {searches} searches");
    }
}
