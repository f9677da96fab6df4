//! Law S against the engine: what a summary rules out, no search finds, whatever the pool.

#[cfg(test)]
mod cluster;
#[cfg(test)]
#[path = "../../matchmaker/tests/world/mod.rs"]
mod world;

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    use gangindex::Indexed;
    use matchmaker::{AdId, Config, PoolAd, Role, Snapshot, Usage, plain};
    use pool::{CycleInputs, offer_facts, published, snapshot, verdict};
    use proptest::prelude::any;
    use proptest::test_runner::TestRunner;
    use summary::{Limits, Pool, Summary, Verdict};

    use super::cluster::{expr, license, machine, objects, port};
    use super::world::{World, runs, world};

    const NOW: i64 = 7;

    /// How many pools: what the variable says, or else this many.
    fn rounds(usual: u32) -> u32 {
        std::env::var("SUMMARY_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
    }

    fn summary_of(snapshot: &Snapshot, limits: &Limits) -> Summary {
        let mut pool = Pool::new();
        for (id, _) in snapshot.ads() {
            if let Some(facts) = offer_facts(snapshot, id) {
                pool.put(id, facts);
            }
        }
        pool.summary(limits)
    }

    /// The same pool with nothing taken.
    fn emptied(snapshot: &Snapshot) -> Snapshot {
        let emptied = |ad: &PoolAd| {
            let mut ad = ad.clone();
            if let Role::Offers(offer) = &mut ad.role {
                offer.usage = Usage::default();
            }
            ad
        };
        let mut made = Snapshot::new(snapshot.ads().map(|(_, ad)| emptied(ad)).collect());
        made.roots = snapshot.roots.clone();
        made.roots.iter_mut().for_each(|root| root.exclusions = BTreeSet::new());
        made
    }

    fn has_gang(snapshot: &Snapshot, root: AdId, config: &Config) -> bool {
        !plain::gangs(snapshot, root, 1, config, NOW).is_empty()
    }

    /// The engine's reason in a word, in a pool of which nothing is taken.
    fn reasons(free: &Snapshot, config: &Config) -> BTreeMap<usize, &'static str> {
        let mut reasons = BTreeMap::new();
        for root in &free.roots {
            let mut alone = free.without_roots();
            alone.roots = vec![root.clone()];
            let cycle = Indexed::new().negotiate(&alone, config, NOW);
            let word = match cycle.unmatched.first().map(|unmatched| &unmatched.why.verdict) {
                None => "gang",
                Some(matchmaker::Verdict::Never { .. }) => "no ad could ever",
                Some(matchmaker::Verdict::NoCandidates { .. }) => "no candidates",
                Some(matchmaker::Verdict::RefusedByOffers { .. }) => "refused by offers",
                Some(matchmaker::Verdict::NoConsistentGang) => "no consistent gang",
                Some(matchmaker::Verdict::WaitingForCapacity) => "waiting for capacity",
                Some(_) => "other",
            };
            reasons.insert(root.ad.place(), word);
        }
        reasons
    }

    /// How often the summary could tell that there is no gang, and how often it could not, by the engine's reason.
    type Table = BTreeMap<&'static str, [u64; 2]>;

    fn check(world: &World, limits: &Limits, table: &mut Table) {
        let summary = summary_of(&world.snapshot, limits);
        let free = emptied(&world.snapshot);
        let reasons = reasons(&free, &world.config);
        for root in &world.snapshot.roots {
            let said = verdict(&world.snapshot.ad(root.ad).unwrap().ports, &summary);
            let told =
                || format!("{:?}: {said:?} {}\n{}", root.ad, serde_json::to_string(&summary).unwrap(), world.text);
            if has_gang(&world.snapshot, root.ad, &world.config) {
                assert_eq!(said, Verdict::Now, "there is a gang that is free; {}", told());
            }
            let cannot = matches!(said, Verdict::Cannot { .. });
            assert!(!cannot || !has_gang(&free, root.ad, &world.config), "there is a gang; {}", told());
            let reason = reasons[&root.ad.place()];
            let possible = ["gang", "waiting for capacity"].contains(&reason);
            assert!(!cannot || !possible, "the engine says {reason}; {}", told());
            table.entry(reason).or_default()[usize::from(cannot)] += 1;
        }
    }

    /// Pools with gangs of gangs, shared seats, attributes of ports, and expressions that read other members.
    #[test]
    fn a_pool_that_has_a_gang_is_never_ruled_out() {
        let table = RefCell::new(Table::new());
        let small = Limits { values: 1, bloom_bits: 64, ..Limits::default() };
        let bytes = (proptest::collection::vec(any::<u8>(), 20..320), any::<bool>(), any::<bool>());
        let law = |(bytes, cut, sets): (Vec<u8>, bool, bool)| {
            let limits = if cut { small } else { Limits::default() };
            check(&world(&bytes, 6, sets), &limits, &mut table.borrow_mut());
            Ok(())
        };
        TestRunner::new(runs(rounds(20_000))).run(&bytes, law).unwrap();
        println!("{:<22} {:>8} {:>8}", "the engine, all free", "Cannot", "not");
        let table = table.into_inner();
        for (reason, [not, cannot]) in &table {
            println!("{reason:<22} {cannot:>8} {not:>8}");
        }
        assert!(table["gang"][1] == 0 && table["gang"][0] > 0 && table["no candidates"][1] > 0, "{table:?}");
    }

    #[test]
    fn private_attributes_and_what_differs_everywhere_are_not_published() {
        let mut foo = machine("foo");
        foo.spec.ad.attributes = Some([("Price".to_owned(), 7.into()), ("Memory".to_owned(), 64.into())].into());
        foo.spec.ad.private = Some(vec!["price".to_owned()]);
        let all = objects(&[], &[foo], &[license("cad", 3, &[])]);
        let snapshot = snapshot(&all, &CycleInputs::default());
        let summary = published(&snapshot).summary(&Limits::default());
        let text = serde_json::to_string(&summary).unwrap().to_ascii_lowercase();
        assert!(!text.contains("price") && !text.contains("uid-"), "{text}");
        assert_eq!(summary.kinds["machine"].values("memory").numbers.unwrap().min.get().to_string(), "64");
        assert_eq!(summary.kinds["license"].free["seats"].sum, 3);
    }

    /// No partner can read what is private, and the summary says so of a job that would have to.
    #[test]
    fn a_job_that_needs_a_private_attribute_is_ruled_out() {
        let mut foo = machine("foo");
        foo.spec.ad.attributes = Some([("Price".to_owned(), 7.into())].into());
        foo.spec.ad.constraint = expr("true");
        let job = super::cluster::job("j", &[port("cpu", "cpu.Price == 7 && cpu.Type == \"Machine\"")]);
        let verdict_of = |foo: crds::Machine| {
            let all = objects(std::slice::from_ref(&job), &[foo], &[]);
            let snapshot = snapshot(&all, &CycleInputs::default());
            let summary = published(&snapshot).summary(&Limits::default());
            let root = &snapshot.roots[0];
            (has_gang(&snapshot, root.ad, &Config::product()), verdict(&snapshot.ad(root.ad).unwrap().ports, &summary))
        };
        assert_eq!(verdict_of(foo.clone()), (true, Verdict::Now));
        foo.spec.ad.private = Some(vec!["Price".to_owned()]);
        let (has_gang, said) = verdict_of(foo);
        assert!(!has_gang && matches!(said, Verdict::Cannot { .. }), "{said:?}");
    }
}
