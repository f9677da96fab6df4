//! What the ads of one tenant make the engine keep stays within bounds, and leaves others their gangs.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::{Mutex, PoisonError};

    use classad::{Dialect, parse_ad};
    use gangindex::Indexed;
    use matchmaker::{
        AdKey, Collective, Config, Consent, Offer, PoolAd, Res, Role, Root, Snapshot, negotiate_together,
    };
    use peak_alloc::PeakAlloc;

    #[global_allocator]
    static MEMORY: PeakAlloc = PeakAlloc;

    /// Memory is counted for the whole process: one test at a time.
    static ALONE: Mutex<()> = Mutex::new(());

    const MB: usize = 1 << 20;

    fn ad(kind: &str, namespace: &str, name: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.into(), namespace: namespace.into(), name: name.into() };
        PoolAd::asking(key, name, &parse_ad(text, Dialect::Gangmatch).unwrap())
    }

    fn machine(namespace: &str, name: &str, text: &str, consent: Consent) -> PoolAd {
        let slots: Res = [("slots".to_owned(), 1)].into_iter().collect();
        let offer = Offer { consent, ..Offer::of(slots) };
        PoolAd { role: Role::Offers(Box::new(offer)), ..ad("Machine", namespace, name, text) }
    }

    /// Machines that everybody may have.
    fn machines(count: usize) -> Vec<PoolAd> {
        let one =
            |number| machine("cs", &format!("m{number:04}"), "[Memory = 64; Requirements = true]", Consent::Everybody);
        (0..count).map(one).collect()
    }

    /// All jobs ask, on account of their namespaces.
    fn snapshot(ads: Vec<PoolAd>) -> Snapshot {
        let mut snapshot = Snapshot::new(ads);
        let jobs = snapshot.ads().filter(|(_, ad)| ad.key.kind == "Job").map(|(_, ad)| ad.key.clone());
        let root = |key: AdKey| Root {
            ad: snapshot.find(&key).unwrap(),
            submitter: key.namespace.as_str().into(),
            priority: 0,
            since: 0,
            exclusions: BTreeSet::new(),
        };
        snapshot.roots = jobs.collect::<Vec<_>>().into_iter().map(root).collect();
        snapshot
    }

    /// A job of so many ports with these constraints.
    fn ports(count: usize, constraint: impl Fn(usize) -> String) -> String {
        let port = |number: usize| format!("[Label = p{number}; Constraint = {}]", constraint(number));
        format!("[Ports = {{{}}}]", (0..count).map(port).collect::<Vec<_>>().join(", "))
    }

    /// The gangs of some cycles with one engine, by namespace of the job, and how much memory they took at most.
    fn cycles(snapshot: &Snapshot, config: &Config, count: usize) -> (Indexed, Vec<String>, usize) {
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let mut engine = Indexed::new();
        let mut gangs = Vec::new();
        for _ in 0..count {
            let cycle = engine.gangs(snapshot, config, 0);
            assert!(cycle.disagreements.is_empty());
            gangs = cycle
                .gangs
                .iter()
                .map(|gang| snapshot.ad(gang.root().unwrap()).unwrap().key.namespace.clone())
                .collect();
        }
        (engine, gangs, MEMORY.peak_usage().saturating_sub(before))
    }

    const HONEST: &str = "[Requirements = other.Memory > 8]";

    #[test]
    fn f2_a_job_that_reads_thousands_of_attributes_gets_no_more_columns_than_there_is_room_for() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ads = machines(2000);
        for job in 0..5 {
            let reads = |port: usize| {
                (0..375).map(|name| format!("p{port}.a{job}_{port}_{name}")).collect::<Vec<_>>().join(" && ")
            };
            ads.push(ad("Job", "bob", &format!("j{job}"), &ports(8, reads)));
        }
        ads.push(ad("Job", "carol", "j", HONEST));
        let snapshot = snapshot(ads);
        let (engine, gangs, peak) = cycles(&snapshot, &Config::product(), 3);
        assert_eq!(gangs, ["carol"]);
        assert!(peak < 70 * MB, "{} MB", peak / MB);
        assert_eq!((engine.stats.read, engine.stats.planned), (0, 0), "nothing was forgotten");
    }

    #[test]
    fn f2_the_attributes_of_jobs_stand_in_no_more_columns_than_there_is_room_for() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ads = machines(5);
        ads.extend((0..2000).map(|number| {
            ad("Job", "carol", &format!("j{number}"), &HONEST.replace('8', &format!("{}", 64 + number)))
        }));
        for job in 0..5 {
            let names: String = (0..3000).map(|name| format!("a{job}_{name} = a{job}_{}; ", name + 1)).collect();
            ads.push(ad(
                "Job",
                "bob",
                &format!("j{job}"),
                &format!("[{names} Requirements = other.Memory > a{job}_0]"),
            ));
        }
        ads.push(ad("Job", "dan", "j", HONEST));
        let (engine, gangs, peak) = cycles(&snapshot(ads), &Config::product(), 3);
        assert_eq!(gangs, ["dan"]);
        assert!(peak < 90 * MB, "{} MB", peak / MB);
        assert_eq!((engine.stats.read, engine.stats.planned), (0, 0), "nothing was forgotten");
    }

    #[test]
    fn f2_ranks_that_no_two_jobs_share_get_no_more_room_than_there_is() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ads = machines(2000);
        for job in 0..400 {
            let port = |port: usize| format!("p{port}.Memory > 100; Rank = p{port}.Memory * {}", job * 8 + port + 2);
            ads.push(ad("Job", "bob", &format!("j{job:03}"), &ports(8, port)));
        }
        ads.push(ad("Job", "carol", "j", HONEST));
        let (_, gangs, peak) = cycles(&snapshot(ads), &Config::product(), 3);
        assert_eq!(gangs, ["carol"]);
        assert!(peak < 80 * MB, "{} MB", peak / MB);
    }

    #[test]
    fn f16_no_more_choices_are_listed_at_a_time_than_there_is_room_for() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ads = machines(2000);
        for job in 0..80 {
            // the last port's condition is on all of them: a search among choices, not in the indexes
            let sum = (0..8).map(|port| format!("p{port}.Memory")).collect::<Vec<_>>().join(" + ");
            let port = |port: usize| if port == 7 { format!("{sum} > {job}") } else { "true".to_owned() };
            ads.push(ad("Job", "bob", &format!("j{job:03}"), &ports(8, port)));
        }
        ads.push(ad("Job", "carol", "j", HONEST));
        let config = Config { cycle_steps_max: 500_000, ..Config::product() };
        let (engine, gangs, peak) = cycles(&snapshot(ads), &config, 1);
        assert_eq!(gangs.len(), 81, "{gangs:?}");
        assert!(engine.stats.guided >= 80, "{} guided searches", engine.stats.guided);
        assert!(peak < 55 * MB, "{} MB", peak / MB);
    }

    #[test]
    fn f4_offers_that_admit_nobody_are_in_nobodys_plans() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let closed = |number: usize, text: &str| {
            let consent = Consent::same("dan");
            machine("dan", &format!("d{number:04}"), text, consent)
        };
        let mut ads = machines(8);
        ads.extend((0..1500).map(|number| closed(number, &format!("[Memory = 64; Requirements = {number} >= 0]"))));
        for job in 0..60 {
            let port = |port: usize| format!("p{port}.Memory > {}", 100 + job * 8 + port);
            ads.push(ad("Job", "bob", &format!("j{job:02}"), &ports(8, port)));
        }
        ads.push(ad("Job", "carol", "j", HONEST));
        ads.push(ad("Job", "dan", "j", HONEST));
        let before = snapshot(ads.clone());
        let (mut engine, gangs, peak) = cycles(&before, &Config::product(), 1);
        assert_eq!(gangs, ["carol", "dan"]);
        assert!(peak < 24 * MB, "{} MB", peak / MB);

        // Another template that admits its owner alone: only the owner's job is planned anew.
        ads.push(closed(9999, "[Memory = 64; Requirements = 64 > 9]"));
        let cycle = engine.gangs(&snapshot(ads), &Config::product(), 0);
        assert_eq!((cycle.gangs.len(), engine.stats.planned), (2, 1));
    }

    #[test]
    fn f4_what_templates_demand_of_jobs_alike_is_kept_once_and_counted() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let offer = |number: usize| {
            let text = format!("[Memory = 64; Requirements = {number} >= 0]");
            machine("dan", &format!("d{number:04}"), &text, Consent::Everybody)
        };
        let mut ads: Vec<PoolAd> = (0..1500).map(offer).collect();
        for job in 0..60 {
            let port = |port: usize| format!("p{port}.Memory > {}", 100 + job * 8 + port);
            ads.push(ad("Job", "bob", &format!("j{job:02}"), &ports(8, port)));
        }
        ads.push(ad("Job", "carol", "j", HONEST));
        let (engine, gangs, peak) = cycles(&snapshot(ads), &Config::product(), 2);
        assert_eq!(gangs, ["carol"]);
        assert!(peak < 32 * MB, "{} MB", peak / MB);
        assert!(engine.stats.answers_bytes > MB, "{}", engine.stats.answers_bytes);
    }

    /// How much memory placing these jobs together over so many machines takes at most, and how many gangs were listed.
    fn together(machines: usize, jobs: usize, job: impl Fn(usize) -> String) -> (u64, usize) {
        let text = |number| format!("[Memory = 64; Serial = {number}; Requirements = true]");
        let one = |number| machine("cs", &format!("m{number:04}"), &text(number), Consent::Everybody);
        let mut ads: Vec<PoolAd> = (0..machines).map(one).collect();
        ads.extend((0..jobs).map(|number| ad("Job", "bob", &format!("j{number:04}"), &job(number))));
        let (snapshot, config) = (snapshot(ads), Config { explains: false, ..Config::product() });
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let placed = negotiate_together(&snapshot, &config, 0, &mut Indexed::new(), &Collective::default());
        assert!(placed.cycle.disagreements.is_empty());
        (placed.effort.gangs, MEMORY.peak_usage().saturating_sub(before))
    }

    #[test]
    fn c1_as_many_wide_gangs_as_may_be_listed_take_no_more_room_than_there_is() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let of_ports = together(400, 250, |job| ports(8, |port| format!("p{port}.Serial >= {}", (job + port) % 7)));
        let of_sets = together(400, 250, |job| {
            format!("[Ports = {{[Label = p; Count = 32; Constraint = p.Serial >= {}]}}]", job % 7)
        });
        for (gangs, peak) in [of_ports, of_sets] {
            assert!(gangs > 10_000 && peak < 250 * MB, "{gangs} gangs, {} MB", peak / MB);
        }
    }

    #[test]
    fn c2_gangs_that_are_wide_by_the_partners_of_a_partner_take_no_more_room() {
        let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let jobs = 1000;
        let hub = "[Kind = 1; Ports = {[Label = r; Constraint = r.Want == 1], \
                   [Label = m; Count = 60; Constraint = m.Memory == 64]}]";
        let mut ads: Vec<PoolAd> =
            (0..jobs).map(|number| machine("bob", &format!("h{number:04}"), hub, Consent::Everybody)).collect();
        let one =
            |number| machine("cs", &format!("m{number:04}"), "[Memory = 64; Requirements = true]", Consent::Everybody);
        ads.extend((0..64).map(one));
        ads.extend((0..jobs).map(|number| {
            ad("Job", "bob", &format!("j{number:04}"), "[Want = 1; Ports = {[Label = h; Constraint = h.Kind == 1]}]")
        }));
        let (snapshot, config) = (snapshot(ads), Config { explains: false, ..Config::product() });
        let before = MEMORY.current_usage();
        MEMORY.reset_peak_usage();
        let collective = Collective { candidates_max: 400_000, ..Collective::default() };
        let placed = negotiate_together(&snapshot, &config, 0, &mut Indexed::new(), &collective);
        let peak = MEMORY.peak_usage().saturating_sub(before);
        assert!(placed.effort.gangs > 1000 && peak < 250 * MB, "{} gangs, {} MB", placed.effort.gangs, peak / MB);
    }
}
