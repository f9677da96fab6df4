//! What explanations cost, in steps: less than the cycle that finds them, however many jobs wait.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use classad::{Dialect, parse_ad};
    use gangindex::Indexed;
    use matchmaker::{
        AdKey, Answer, Asked, Config, Explained, Finder, Found, Offer, PoolAd, Res, Role, Root, Round, Snapshot, Turn,
        Verdict, negotiate,
    };

    const MACHINES: usize = 10_000;
    const WAITING: usize = 1_000;

    /// The index, with what its explanations have cost.
    #[derive(Default)]
    struct Counting {
        engine: Indexed,
        explaining: u64,
    }

    impl Finder for Counting {
        type Run<'s> = <Indexed as Finder>::Run<'s>;

        fn begin<'s>(&mut self, round: &mut Round<'s>) -> Self::Run<'s> {
            self.engine.begin(round)
        }

        fn best<'s>(&mut self, run: &mut Self::Run<'s>, turn: &Turn<'_>, round: &mut Round<'s>) -> Found {
            self.engine.best(run, turn, round)
        }

        fn took(&mut self, run: &mut Self::Run<'_>, round: &mut Round<'_>) {
            self.engine.took(run, round);
        }

        fn end(&mut self, run: &mut Self::Run<'_>, round: &mut Round<'_>) {
            self.engine.end(run, round);
        }

        fn why(&mut self, run: &mut Self::Run<'_>, asked: &Asked<'_>, round: &mut Round<'_>) -> Answer {
            let answer = self.engine.why(run, asked, round);
            self.explaining += answer.steps;
            answer
        }

        fn explained(&mut self) -> &mut Explained {
            self.engine.explained()
        }
    }

    fn job(name: &str, text: &str) -> PoolAd {
        asking("Job", name, text)
    }

    fn asking(kind: &str, name: &str, text: &str) -> PoolAd {
        let key = AdKey { kind: kind.to_owned(), namespace: "eda".to_owned(), name: name.to_owned() };
        PoolAd::asking(key, name, &parse_ad(text, Dialect::Gangmatch).unwrap())
    }

    fn offer(kind: &str, name: &str, text: &str) -> PoolAd {
        let slots: Res = [("slots".to_owned(), 1)].into_iter().collect();
        let offer = Offer::of(slots);
        PoolAd { role: Role::Offers(Box::new(offer)), ..asking(kind, name, text) }
    }

    /// Machines, of which each waiting job wants others than there are, and as many jobs that get one.
    fn pool() -> Snapshot {
        let machine = |number: usize| {
            let text = format!(
                "[Type = \"Machine\"; Name = \"m{number}\"; Arch = \"A{}\"; Memory = {}; Rack = {number}; Requirements = other.Type == \"Job\"]",
                number % 7,
                1024 * (1 + number % 64),
            );
            offer("Machine", &format!("m{number:05}"), &text)
        };
        let mut ads: Vec<PoolAd> = (0..MACHINES).map(machine).collect();
        let license = "[Type = \"License\"; Host = \"elsewhere\"; Requirements = other.Type == \"Job\"]";
        ads.push(offer("License", "cad", license));
        for number in 0..WAITING {
            // One of each kind: no conjunct is true, two exclude each other, and partners do not agree.
            let constraint = match number % 3 {
                0 => format!("cpu.Memory >= {}", 100_000 + number),
                1 => format!("cpu.Arch == \"A{}\" && cpu.Rack == {}", number % 7, 7 * number + (number % 7) + 1),
                _ => format!("cpu.Memory >= {}", 1024 * (1 + number % 60)),
            };
            let license = match number % 3 {
                2 => ", [Label = lic; Constraint = lic.Type == \"License\" && lic.Host == cpu.Name]",
                _ => "",
            };
            let text = format!(
                "[Type = \"Job\"; Ports = {{[Label = cpu; Constraint = cpu.Type == \"Machine\" && {constraint}]{license}}}]"
            );
            ads.push(job(&format!("waits{number:04}"), &text));
            let text = format!(
                "[Type = \"Job\"; Requirements = other.Type == \"Machine\" && other.Memory >= {number}; Rank = other.Memory]"
            );
            ads.push(job(&format!("runs{number:04}"), &text));
        }
        let mut snapshot = Snapshot::new(ads);
        let jobs = snapshot.ads().filter(|(_, ad)| ad.key.kind == "Job").map(|(id, _)| id);
        let root = |ad| Root { ad, submitter: Arc::from("eda"), priority: 0, since: 0, exclusions: BTreeSet::new() };
        snapshot.roots = jobs.map(root).collect();
        snapshot
    }

    #[test]
    fn a_thousand_waiting_jobs_are_explained_in_fewer_steps_than_the_cycle_takes() {
        let (snapshot, mut finder) = (pool(), Counting::default());
        // Enough steps for all reasons in one cycle: by default it is the turn of some of them in each.
        let config = Config { cycle_steps_max: 10 * Config::product().cycle_steps_max, ..Config::product() };
        let cycle = negotiate(&snapshot, &config, 0, &mut finder);
        assert_eq!((cycle.gangs.len(), cycle.unmatched.len()), (WAITING, WAITING), "each has a gang or a reason");
        let kinds: BTreeSet<&str> = cycle.unmatched.iter().map(|one| kind(&one.verdict)).collect();
        assert_eq!(kinds, BTreeSet::from(["no candidates"]));
        let (searching, explaining) = (finder.engine.stats.steps + finder.engine.stats.read, finder.explaining);
        eprintln!("{searching} steps to search, {explaining} to explain");
        assert!(explaining > 0 && explaining < searching, "{explaining} to explain, {searching} for the cycle");
        let pairs = u64::try_from(WAITING * MACHINES).unwrap();
        assert!(100 * explaining < pairs, "{explaining} of {pairs} pairs");
    }

    #[test]
    fn by_default_it_is_the_turn_of_some_jobs_in_each_cycle_and_all_have_had_theirs_after_a_few() {
        let (snapshot, mut finder) = (pool(), Counting::default());
        let mut explained = BTreeSet::new();
        for seed in 1..=12 {
            finder.explaining = 0;
            let cycle = negotiate(&snapshot, &Config { seed, ..Config::product() }, 0, &mut finder);
            let most = Config::product().cycle_steps_max / 16;
            assert!(finder.explaining <= most, "{} of {most} steps", finder.explaining);
            explained.extend(cycle.unmatched.iter().map(|one| one.root));
        }
        assert_eq!(explained.len(), WAITING);
    }

    fn kind(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::NoCandidates { .. } => "no candidates",
            Verdict::NoConsistentGang => "no consistent gang",
            Verdict::GaveUp => "gave up",
            _ => "other",
        }
    }
}
