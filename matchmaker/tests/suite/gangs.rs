//! Small pools and the gangs they must give: what a gang is, case by case.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use classad::{Dialect, parse_ad, parse_expr};
    use matchmaker::{AdKey, Ask, Config, Cycle, Offer, PoolAd, Res, Role, Root, Snapshot, Verdict, summary, why};

    use crate::negotiate;

    /// The ads of figures 2, 3 and 4 of the gangmatching paper in today's language; every Job asks.
    const FIGURE_2: &str = r#"[ QDate = 951748942; Owner = "raman"; Cmd = "sim_app"; Type = "Job"; Ports = {
        [ Label = cpu; ImageSize = 28M; Rank = cpu.KFlops/1E3 + cpu.Memory/32M;
          Constraint = cpu.Type == "Machine" && cpu.Arch == "INTEL" && cpu.OpSys == "LINUX" && cpu.Memory >= ImageSize ],
        [ Label = license; Host = cpu.Name; Rank = 0; Constraint = license.Type == "License" && license.App == Cmd ] } ]"#;
    const FIGURE_3: &str = r#"[ Type = "Machine"; KeyboardIdle = 1392; Memory = 256M; LoadAvg = 0.042969; Arch = "INTEL";
        OpSys = "LINUX"; KFlops = 21893; Name = "foo.cs.wisc.edu"; Ports = { [ Label = requester;
          Rank = 1/requester.ImageSize; Constraint = requester.Type == "Job" && requester.Owner != "riffraff" &&
          LoadAvg < 0.3 && KeyboardIdle > 900 ] } ]"#;
    const FIGURE_4: &str = r#"[ Type = "License"; App = "sim_app"; ValidHost = "foo.cs.wisc.edu"; Ports = {
        [ Label = requester; Rank = 0; Constraint = requester.Type == "Job" && requester.Host == ValidHost ] } ]"#;

    #[derive(Default)]
    struct Pool {
        ads: Vec<PoolAd>,
        roots: Vec<(AdKey, &'static str, i32, i64)>,
        excluded: BTreeSet<AdKey>,
    }

    fn key(kind: &str, name: &str) -> AdKey {
        AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_owned() }
    }

    impl Pool {
        fn job(self, name: &str, text: &str) -> Pool {
            self.job_of(name, text, "n", 0, 0)
        }

        fn job_of(mut self, name: &str, text: &str, submitter: &'static str, priority: i32, since: i64) -> Pool {
            let ad = parse_ad(text, Dialect::Gangmatch).unwrap();
            self.ads.push(PoolAd::asking(key("Job", name), &format!("uid-{name}"), &ad));
            self.roots.push((key("Job", name), submitter, priority, since));
            self
        }

        /// An offer with these amounts; text after `sharedBy` in `amounts` is its share key.
        fn offer(mut self, kind: &str, name: &str, text: &str, amounts: &[(&str, i64)]) -> Pool {
            let ad = parse_ad(text, Dialect::Gangmatch).unwrap();
            let mut made = PoolAd::asking(key(kind, name), &format!("uid-{name}"), &ad);
            made.role = Role::Offers(Box::new(Offer {
                default_request: Res::new(),
                ..Offer::of(amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
            }));
            self.ads.push(made);
            self
        }

        fn machine(self, name: &str, text: &str) -> Pool {
            self.offer("Machine", name, text, &[("slots", 1)])
        }

        fn license(self, name: &str, text: &str) -> Pool {
            self.offer("License", name, text, &[("seats", 1)])
        }

        /// Changes the terms of the last offer.
        fn terms(mut self, change: impl Fn(&mut Offer)) -> Pool {
            if let Some(Role::Offers(offer)) = self.ads.last_mut().map(|ad| &mut ad.role) {
                change(offer);
            }
            self
        }

        fn snapshot(&self) -> Snapshot {
            let mut snapshot = Snapshot::new(self.ads.clone());
            for (key, submitter, priority, since) in &self.roots {
                let ad = snapshot.find(key).unwrap();
                let exclusions = self.excluded.clone();
                let submitter = (*submitter).into();
                snapshot.roots.push(Root { ad, submitter, priority: *priority, since: *since, exclusions });
            }
            snapshot
        }

        fn cycle(&self, config: &Config) -> (Snapshot, Cycle) {
            let snapshot = self.snapshot();
            let cycle = negotiate(&snapshot, config, 1000);
            (snapshot, cycle)
        }

        /// The gangs in the order served: `job: label=n/name ...`.
        fn gangs(&self) -> Vec<String> {
            let (snapshot, cycle) = self.cycle(&Config::product());
            let line = |gang: &matchmaker::Gang| {
                let root = snapshot.ad(gang.root().unwrap()).unwrap();
                format!("{}: {}", root.key.name, summary(&snapshot, gang).replace("n/", ""))
            };
            cycle.gangs.iter().map(line).collect()
        }

        fn verdict(&self, config: &Config) -> Verdict {
            self.cycle(config).1.unmatched.first().unwrap().verdict.clone()
        }

        fn takes(&self) -> Option<Ask> {
            self.cycle(&Config::product()).1.gangs.first().map(|gang| gang.members[1].ask.clone())
        }
    }

    fn pool() -> Pool {
        Pool::default()
    }

    fn one(list: &[(&str, i64)]) -> Option<Res> {
        Some(list.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
    }

    #[test]
    fn the_figures_of_the_paper_match() {
        let pool = pool().job("sim", FIGURE_2).machine("foo", FIGURE_3).license("app", FIGURE_4);
        assert_eq!(pool.gangs(), ["sim: cpu=foo license=app"]);
        let riffraff = FIGURE_2.replace("raman", "riffraff");
        let pool = self::pool().job("sim", &riffraff).machine("foo", FIGURE_3).license("app", FIGURE_4);
        assert_eq!(pool.verdict(&Config::product()), Verdict::RefusedByOffers { port: 0 });
    }

    #[test]
    fn a_licence_locked_to_a_host_beats_the_rank() {
        let fast = FIGURE_3.replace("foo.cs", "bar.cs").replace("21893", "90000");
        let pool = pool().job("sim", FIGURE_2).machine("foo", FIGURE_3).machine("bar", &fast).license("app", FIGURE_4);
        assert_eq!(pool.gangs(), ["sim: cpu=foo license=app"]);
    }

    const TWO: &str = "[Ports = {[Label = cpu; Constraint = cpu.M == 1], [Label = seat; Constraint = seat.L == 1]}]";
    const MACHINE: &str = "[M = 1; Requirements = true]";
    const LICENSE: &str = "[L = 1; Requirements = true]";

    #[test]
    fn seats_are_counted() {
        let pool = pool().job("a", TWO).job("b", TWO).job("c", TWO);
        let pool = pool.offer("Machine", "m", MACHINE, &[("slots", 9)]).offer("License", "l", LICENSE, &[("seats", 2)]);
        assert_eq!(pool.gangs(), ["a: cpu=m seat=l", "b: cpu=m seat=l"]);
        assert_eq!(pool.verdict(&Config::product()), Verdict::WaitingForCapacity);
        let (_, cycle) = pool.cycle(&Config::product());
        assert_eq!(why(&cycle.unmatched[0]), "port `seat`: 1 ad that would match is taken");
    }

    #[test]
    fn who_shares_a_machine_shares_the_seat() {
        let pool = pool().job("a", TWO).job("b", TWO).job("c", TWO);
        let pool =
            pool.offer("Machine", "m1", MACHINE, &[("slots", 2)]).offer("Machine", "m2", MACHINE, &[("slots", 2)]);
        let pool = pool.license("l", LICENSE).terms(|offer| {
            offer.shared_by = parse_expr("requester.Members[0].Name", Dialect::Gangmatch).ok();
        });
        assert_eq!(pool.gangs(), ["a: cpu=m1 seat=l", "b: cpu=m1 seat=l"], "one seat, held for m1");
    }

    #[test]
    fn a_license_may_need_its_server() {
        let license = "[L = 1; Ports = {[Label = server; Constraint = server.S == 1], [Label = user]}]";
        let pool = pool().job("a", TWO).machine("m", MACHINE).license("l", license);
        assert!(pool.gangs().is_empty());
        let pool = pool.machine("s", "[S = 1; Requirements = other.L == 1]");
        assert_eq!(pool.gangs(), ["a: cpu=m seat=l server=s"], "bound through its second port");
    }

    #[test]
    fn a_busy_server_is_waited_for() {
        let license = "[L = 1; Ports = {[Label = server; Constraint = server.S == 1], [Label = user]}]";
        let pool = pool().job("a", TWO).machine("m", MACHINE).license("l", license);
        let pool = pool.machine("s", "[S = 1; Requirements = true]").terms(|offer| {
            offer.usage.take(&Ask { allocation: Res::from([("slots".to_owned(), 1)]), share: None });
        });
        assert_eq!(pool.verdict(&Config::product()), Verdict::WaitingForCapacity);
    }

    #[test]
    fn later_ports_cannot_be_seen() {
        let ports = "{[Label = a; Constraint = b is undefined], [Label = b; Constraint = a.M == 1 && b.L == 1]}";
        let job = format!("[Ports = {ports}]");
        assert_eq!(pool().job("j", &job).machine("m", MACHINE).license("l", LICENSE).gangs(), ["j: a=m b=l"]);
        let job = format!("[b = 7; Ports = {}]", ports.replace("b is undefined", "b == 7"));
        assert_eq!(pool().job("j", &job).machine("m", MACHINE).license("l", LICENSE).gangs(), ["j: a=m b=l"]);
    }

    #[test]
    fn labels_are_private() {
        let license = "[L = 1; Ports = {[Label = r; Constraint = r.cpu is undefined && r.Told == 1]}]";
        let job = TWO.replace("[Label = seat;", "[Label = seat; Told = cpu.M;");
        assert_eq!(pool().job("j", &job).machine("m", MACHINE).license("l", license).gangs(), ["j: cpu=m seat=l"]);
    }

    #[test]
    fn a_port_attribute_hides_a_label() {
        let job =
            TWO.replace("[Label = seat;", "[Label = seat; cpu = 3;").replace("seat.L == 1", "seat.L == 1 && cpu == 3");
        assert_eq!(pool().job("j", &job).machine("m", MACHINE).license("l", LICENSE).gangs(), ["j: cpu=m seat=l"]);
    }

    #[test]
    fn an_ad_without_ports_has_one() {
        for constraint in ["other.M == 1", "TARGET.M == 1", "M == 1", "M == 1 && MY.M is undefined || M == 1"] {
            let pool = pool().job("j", &format!("[Requirements = {constraint}]")).machine("m", MACHINE);
            assert_eq!(pool.gangs(), ["j: other=m"], "{constraint}");
        }
        let silent = pool().job("j", "[Rank = 1]").machine("m", MACHINE);
        assert_eq!(silent.verdict(&Config::product()), Verdict::NoCandidates { port: 0 });
    }

    #[test]
    fn requests_say_how_much() {
        let take = |job: &str, has: &[(&str, i64)]| {
            let pool = pool().job("j", &format!("[Requirements = true; {job}]")).offer("Machine", "m", MACHINE, has);
            pool.takes().map(|ask| ask.allocation)
        };
        let node = [("cpus", 8), ("memory", 64)];
        assert_eq!(take("", &node), one(&node), "nothing said: the whole");
        assert_eq!(take("Request = [cpus = 2; Memory = 1]", &node), one(&[("cpus", 2), ("memory", 1)]));
        assert_eq!(take("RequestCpus = 2", &node), one(&[("cpus", 2), ("memory", 64)]));
        assert_eq!(take("", &[("seats", 5)]), one(&[("seats", 1)]), "one seat, not all of them");
        assert_eq!(take("Request = [cpus = 2]", &[("Cpus", 8)]), one(&[("Cpus", 2)]), "names ignore case");
        for wrong in ["[gpus = 1]", "[cpus = 9]", "[cpus = 0]", "[cpus = 1.0]", "3", "[cpus = nosuch]"] {
            assert_eq!(take(&format!("Request = {wrong}"), &node), None, "{wrong}");
        }
        assert_eq!(take("", &[]), None, "who has nothing has nothing to give");
        let pool = pool().job("j", "[Requirements = true]").offer("Machine", "m", MACHINE, &node);
        let pool = pool.terms(|offer| offer.default_request = Res::from([("memory".to_owned(), 1)]));
        assert_eq!(pool.takes().map(|ask| ask.allocation), one(&[("cpus", 8), ("memory", 1)]));
    }

    #[test]
    fn nobody_forges_members() {
        let license = "[L = 1; Ports = {[Label = r; Constraint = r.Members[0].Name == \"m\"]}]";
        let forged = "Members = {[Name = \"m\"]};";
        let job = TWO
            .replace("[Ports", &format!("[{forged} Ports"))
            .replace("[Label = seat;", &format!("[Label = seat; {forged}"));
        assert_eq!(pool().job("j", &job).machine("x", MACHINE).license("l", license).gangs(), [""; 0]);
        assert_eq!(pool().job("j", &job).machine("m", MACHINE).license("l", license).gangs(), ["j: cpu=m seat=l"]);
    }

    #[test]
    fn the_gang_rank_replaces_the_sum() {
        let ports = "Ports = {[Label = x; Rank = x.K]}";
        let machines = |job: &str| {
            let (slow, fast) = ("[K = 1; Price = 1; Requirements = true]", "[K = 9; Price = 50; Requirements = true]");
            pool().job("j", job).machine("slow", slow).machine("fast", fast).gangs()
        };
        assert_eq!(machines(&format!("[{ports}]")), ["j: x=fast"]);
        assert_eq!(machines(&format!("[GangRank = x.K - x.Price; {ports}]")), ["j: x=slow"]);
    }

    #[test]
    fn equal_gangs_are_told_apart_by_their_names() {
        let pool = pool().job("j", TWO).machine("m2", MACHINE).machine("m1", MACHINE).license("l", LICENSE);
        assert_eq!(pool.gangs(), ["j: cpu=m1 seat=l"]);
    }

    #[test]
    fn who_holds_less_is_served_first_then_priority_then_age() {
        let job = "[Requirements = M == 1]";
        let pool = pool()
            .job_of("a1", job, "ann", 0, 5)
            .job_of("a2", job, "ann", 9, 9)
            .job_of("a3", job, "ann", 0, 1)
            .job_of("b1", job, "bob", 0, 9)
            .offer("Machine", "m", MACHINE, &[("slots", 9)]);
        assert_eq!(pool.gangs(), ["a2: other=m", "b1: other=m", "a3: other=m", "a1: other=m"]);
    }

    #[test]
    fn offers_that_refused_are_not_asked_again() {
        let mut pool = pool().job("j", "[Requirements = M == 1]").machine("m", MACHINE);
        pool.excluded.insert(key("Machine", "m"));
        assert_eq!(pool.verdict(&Config::product()), Verdict::BackingOff);
        let pool = pool.terms(|offer| offer.usage.take(&Ask { allocation: offer.capacity.clone(), share: None }));
        assert_eq!(pool.verdict(&Config::product()), Verdict::BackingOff, "taken as well, but that is not why");
    }

    #[test]
    fn a_search_has_an_end() {
        let pool = pool().job("j", TWO).machine("m", MACHINE).license("l", LICENSE);
        if crate::PLAIN {
            assert_eq!(pool.verdict(&Config { steps_max: 2, ..Config::product() }), Verdict::GaveUp);
        }
        for config in [Config { members_max: 2, ..Config::product() }, Config { depth_max: 0, ..Config::product() }] {
            assert!(pool.cycle(&config).1.gangs.is_empty());
        }
        let exact = Config { members_max: 3, depth_max: 1, ..Config::product() };
        assert_eq!(pool.cycle(&exact).1.gangs.len(), 1);
    }

    #[test]
    fn nobody_can_use_up_the_cycle_of_others() {
        if crate::PLAIN {
            return;
        }
        let greedy = "[Ports = {[Label = m; Constraint = eval(\"m.Nothing\") is 1]}]";
        let modest = "[Ports = {[Label = m; Constraint = eval(\"m.A\") is 1]}]";
        let mut pool = pool();
        for number in 0..20 {
            pool = pool.machine(&format!("m{number:02}"), "[A = 1; Ports = {[Label = r; Constraint = true]}]");
            pool = pool.job_of(&format!("greedy{number:02}"), greedy, "a", 0, 0);
        }
        // What `eval` costs beyond a usual edge counts, too: some 64 steps for each job.
        let config = Config { cycle_steps_max: 320, ..Config::product() };
        let (_, cycle) = pool.job_of("modest", modest, "b", 0, 9).cycle(&config);
        assert_eq!(cycle.gangs.len(), 1, "the greedy ones come first, and have run out");
        let gave_up = cycle.gave_up.len();
        assert_eq!(cycle.unmatched.len() + cycle.unexplained.len(), 20);
        assert!((15..20).contains(&gave_up), "a few were looked at on 20 machines each: {gave_up}");
    }

    #[test]
    fn a_port_never_reached_has_not_refused() {
        let stuck = "[M = 1; Ports = {[Label = user], [Label = server; Constraint = false]}]";
        let pool = pool().job("j", TWO).machine("m", stuck).license("l", LICENSE);
        assert_eq!(pool.verdict(&Config::product()), Verdict::NoConsistentGang);
    }

    #[test]
    fn an_offer_through_its_second_port_may_tell_what_its_first_found() {
        let offer = "[Ports = {[Label = q; Constraint = q.S == 1], [Label = r; Host = q.S; Constraint = CHECK]}]";
        let leaf = "[S = 1; Requirements = true]";
        for (job, check) in [
            ("[Requirements = other.Host == 1]", "true"),
            ("[Ports = {[Label = x; Constraint = x.Host == 1]}]", "Host == 1"),
            ("[Ports = {[Label = x; Echo = x.Host]}]", "r.Echo == 1"),
            ("[Ports = {[Label = x; Constraint = size(x.Members) == 1]}]", "size(Members) == 1"),
            ("[Wish = Host == 1; Ports = {[Label = x; Constraint = countMatches(Wish, {x}) == 1]}]", "true"),
        ] {
            let pool = pool().job("j", job).machine("m", &offer.replace("CHECK", check)).machine("s", leaf);
            let (snapshot, cycle) = pool.cycle(&Config::product());
            assert_eq!(cycle.gangs.len(), 1, "{job} {check} {snapshot:?}");
        }
    }
}
