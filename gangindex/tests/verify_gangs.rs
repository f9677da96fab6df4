//! Gangs are verified: the evaluator is asked again exactly where something that it reads is new.

#[cfg(test)]
mod tests {
    use classad::{Dialect, parse_ad};
    use gangindex::Indexed;
    use matchmaker::{AdKey, Config, Offer, PoolAd, Res, Role, Root, Snapshot};

    const JOB: &str = r#"[ Type = "Job"; Owner = "ada"; Need = 4; Note = 0; Ports = {
        [ Label = cpu; Image = Need * 2; Constraint = cpu.Memory >= Need ],
        [ Label = license; Host = cpu.Name; Net = cpu.Subnet; Constraint = license.App == "sim" ] } ]"#;
    const MACHINE: &str = r#"[ Memory = 8; Name = "m"; Subnet = "s"; Disk = 1; Ports = {
        [ Label = requester; Constraint = requester.Image <= Memory ] } ]"#;
    const LICENSE: &str = r#"[ App = "sim"; Valid = "s"; Serial = 1; Ports = {
        [ Label = requester; Constraint = requester.Net == Valid ] } ]"#;

    /// Pools of one job, one machine and one license, negotiated one after the other by one engine.
    struct Pools {
        engine: Indexed,
        config: Config,
        now: i64,
    }

    impl Pools {
        fn new() -> Pools {
            Pools { engine: Indexed::new(), config: Config::product(), now: 0 }
        }

        /// How many gangs the evaluator was asked about when the only one was found.
        fn looks(&mut self, ads: [&str; 3]) -> u64 {
            let kinds = ["Job", "License", "Machine"];
            let ad = |(kind, text): (&str, &str)| ad(kind, text);
            let texts = [ads[0], ads[2], ads[1]];
            let mut snapshot = Snapshot::new(kinds.into_iter().zip(texts).map(ad).collect());
            let job = snapshot.ads().find(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).unwrap();
            let root =
                Root { ad: job, submitter: Default::default(), priority: 0, since: 0, exclusions: Default::default() };
            snapshot.roots = vec![root];
            self.now += 1;
            let cycle = self.engine.negotiate(&snapshot, &self.config, self.now);
            assert_eq!((cycle.gangs.len(), cycle.disagreements.len()), (1, 0), "{ads:?}");
            assert_eq!(self.engine.stats.guided, 0, "{ads:?}");
            self.engine.stats.looks
        }

        /// Of an engine that has seen the three ads twice: what the second of each text comes to is known from then on.
        fn after_two() -> Pools {
            let mut pools = Pools::new();
            assert_eq!(pools.looks([JOB, MACHINE, LICENSE]), 1, "the first gang of its kind");
            assert_eq!(pools.looks([JOB, MACHINE, LICENSE]), 1, "its conditions are taken down");
            assert_eq!(pools.looks([JOB, MACHINE, LICENSE]), 0, "everything is known");
            pools
        }
    }

    fn ad(kind: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: "a".to_owned() };
        let mut ad = PoolAd::asking(key, "uid", &parse_ad(text, Dialect::Gangmatch).unwrap());
        if kind != "Job" {
            ad.role = Role::Offers(Box::new(Offer {
                default_request: Res::new(),
                ..Offer::of(Res::from([("slots".to_owned(), 1)]))
            }));
        }
        ad
    }

    #[test]
    fn what_a_condition_reads_is_looked_at_again_when_it_is_another() {
        let changes = [
            (0, "Need = 4", "Need = 3"),
            (0, "Image = Need * 2", "Image = Need + 3"),
            (1, "Memory = 8", "Memory = 9"),
            (1, "Memory = 8", "Memory = 8.0"),
            (1, "requester.Image <= Memory", "requester.Image - 1 <= Memory"),
            (1, "Memory = 8", "Memory = 4 * 2"),
            (2, "requester.Net == Valid", "Valid == requester.Net"),
            (2, "App = \"sim\"", "App = \"SIM\""),
        ];
        for (which, from, to) in changes {
            let mut pools = Pools::after_two();
            let mut ads = [JOB, MACHINE, LICENSE];
            let changed = ads[which].replace(from, to);
            ads[which] = &changed;
            // A job with another text is the first of its kind, whatever it reads.
            assert_eq!(pools.looks(ads), 1, "{from} -> {to}");
        }
    }

    #[test]
    fn both_sides_of_a_join_are_read() {
        let mut pools = Pools::after_two();
        let (machine, license) = (MACHINE.replace("\"s\"", "\"t\""), LICENSE.replace("\"s\"", "\"t\""));
        assert_eq!(pools.looks([JOB, &machine, &license]), 1);
        assert_eq!(pools.looks([JOB, &machine, &license]), 0);
        assert_eq!(pools.looks([JOB, MACHINE, LICENSE]), 0, "what was known is known");
    }

    #[test]
    fn what_no_condition_reads_does_not_matter() {
        let mut pools = Pools::after_two();
        let job = JOB.replace("Note = 0", "Note = 1").replace("\"ada\"", "\"eve\"");
        let machine = MACHINE.replace("Disk = 1", "Disk = 2").replace("\"m\"", "\"n\"");
        let license = LICENSE.replace("Serial = 1", "Serial = 2");
        assert_eq!(pools.looks([&job, &machine, &license]), 0);
    }

    #[test]
    fn what_reads_the_clock_is_never_known() {
        let mut pools = Pools::new();
        let machine = MACHINE.replace("<= Memory", "<= Memory && time() >= 0");
        for _ in 0..4 {
            assert_eq!(pools.looks([JOB, &machine, LICENSE]), 1);
        }
    }
}
