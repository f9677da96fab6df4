//! Sets of machines for jobs with counted ports: the index chooses those that the plain search finds one by one.

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use classad::{Dialect, parse_ad};
    use gangindex::Indexed;
    use matchmaker::{
        AdKey, Config, Consent, Cycle, Gang, Offer, Plain, PoolAd, Res, Role, Root, Snapshot, Usage, negotiate,
    };
    use proptest::prelude::*;
    use proptest::test_runner::{Config as Runs, RngSeed};

    const NOW: i64 = 7;

    /// Each is no part of a later one.
    const COUNTS: [&str; 6] =
        ["", "MinCount = 1; MaxCount = 3;", "MinCount = 2; MaxCount = 9;", "Count = 2;", "Count = 1;", "Count = N;"];

    /// Decisions, one byte each; zero when they are used up.
    struct Draw<'b>(std::slice::Iter<'b, u8>);

    impl Draw<'_> {
        fn below(&mut self, limit: usize) -> usize {
            self.0.next().map_or(0, |byte| usize::from(*byte)) % limit
        }

        fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
            list[self.below(list.len())]
        }
    }

    fn machine(draw: &mut Draw<'_>, number: usize) -> String {
        let wish = draw.pick(&["", "Constraint = requester.Nodes <= 2;", "Constraint = requester.Type == \"Job\";"]);
        let rank = draw.pick(&["", "", "Rank = requester.Nodes;", "Rank = -requester.Nodes;"]);
        let rack = draw.pick(&["\"r1\"", "\"r2\"", "\"R1\"", "undefined", "1", "1.0"]);
        let (speed, memory) = (draw.below(4), draw.pick(&["16", "32", "64", "eval(\"32\")"]));
        format!(
            "[Type = \"Machine\"; Name = \"m{number}\"; Memory = {memory}; Speed = {speed}; Rack = {rack}; Switch = {}; \
             Ports = {{[Label = requester; {wish} {rank}]}}]",
            draw.below(3)
        )
    }

    /// A port of a job with the label `own`; `earlier` is the label of the port before it, and whether that is counted.
    fn port(draw: &mut Draw<'_>, own: &str, earlier: Option<(&str, bool)>) -> (String, bool) {
        let count = draw.pick(&COUNTS);
        let mut parts = format!("Label = {own}; {count} Nodes = {};", draw.below(4));
        let mut also = |what: String| parts.push_str(&what);
        also(match (draw.below(6), earlier) {
            (0, Some((label, false))) => format!("Constraint = {own}.Rack == {label}.Rack;"),
            (0, Some((label, true))) => format!("Constraint = member({own}.Switch, {label}.Switch);"),
            (1, Some((_, _))) => format!("Constraint = size(Members) >= 2 || {own}.Memory >= 32;"),
            (2, _) => format!("Constraint = {own}.Memory >= 32;"),
            (3, _) => format!("Constraint = {own}.Speed >= 1 && {own}.Memory >= 16;"),
            _ => String::new(),
        });
        also(match draw.below(5) {
            0 => String::new(),
            1 => format!("Rank = -{own}.Speed;"),
            2 => format!("Rank = {own}.Speed - 1;"),
            3 => format!("Rank = {own}.Memory;"),
            _ => format!("Rank = {own}.Speed;"),
        });
        also(match draw.below(8) {
            0 => "Same = {\"Rack\"};".to_owned(),
            1 => "Distinct = {\"Rack\"};".to_owned(),
            2 => "Same = {\"Memory\"}; Distinct = {\"Switch\"};".to_owned(),
            3 => "Distinct = {\"Switch\", \"Rack\"};".to_owned(),
            _ => String::new(),
        });
        also(match draw.below(8) {
            0 => format!("GroupConstraint = sum({own}.Memory) >= 80;"),
            1 => format!("GroupConstraint = allCompare(\"==\", {own}.Rack, {own}[0].Rack);"),
            2 => format!("GroupConstraint = max({own}.Speed) - min({own}.Speed) <= 1;"),
            _ => String::new(),
        });
        also(match draw.below(10) {
            0 => format!("GroupRank = -size({own});"),
            1 => format!("GroupRank = min({own}.Speed) * size({own});"),
            _ => String::new(),
        });
        (format!("[{parts}]"), !count.is_empty())
    }

    fn job(draw: &mut Draw<'_>) -> String {
        let (first, is_counted) = port(draw, "a", None);
        let mut ports = vec![first];
        if draw.below(2) == 1 {
            ports.push(port(draw, "b", Some(("a", is_counted))).0);
        }
        format!("[Type = \"Job\"; N = {}; Ports = {{{}}}]", draw.below(4), ports.join(", "))
    }

    fn pool_ad(number: usize, text: &str, offer: Option<Offer>) -> PoolAd {
        let kind = if offer.is_some() { "Machine" } else { "Job" };
        let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: format!("a{number}") };
        let mut ad = PoolAd::asking(key, &format!("uid-{number}"), &parse_ad(text, Dialect::Gangmatch).expect(text));
        ad.role = offer.map_or(Role::Asks, |offer| Role::Offers(Box::new(offer)));
        ad
    }

    /// Machines, some of them busy, and jobs, some of them excluding a machine; and the text of it all.
    fn pool(bytes: &[u8], replaced: impl Fn(String) -> String) -> (Snapshot, String) {
        let mut draw = Draw(bytes.iter());
        let (machines, jobs) = (3 + draw.below(5), 1 + draw.below(3));
        let (mut ads, mut texts) = (Vec::new(), Vec::new());
        for number in 0..machines {
            let text = machine(&mut draw, number);
            let mut usage = Usage::default();
            if draw.below(5) == 1 {
                usage.external = Res::from([("slots".to_owned(), 1)]);
            }
            texts.push(format!("{text} {usage:?}"));
            let offer = Offer {
                capacity: Res::from([("slots".to_owned(), 1)]),
                default_request: Res::new(),
                usage,
                shared_by: None,
                consent: Consent::Everybody,
                disclosed: false,
                open: draw.below(9) != 1,
            };
            ads.push(pool_ad(number, &text, Some(offer)));
        }
        for number in machines..machines + jobs {
            let text = replaced(job(&mut draw));
            ads.push(pool_ad(number, &text, None));
            texts.push(text);
        }
        let mut snapshot = Snapshot::new(ads);
        let asking: Vec<_> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
        for ad in asking {
            let excluded = (draw.below(4) == 1).then(|| format!("a{}", draw.below(machines)));
            let key = |name| AdKey { kind: "Machine".to_owned(), namespace: "n".to_owned(), name };
            let exclusions: BTreeSet<AdKey> = excluded.map(key).into_iter().collect();
            snapshot.roots.push(Root { ad, submitter: "ann".into(), priority: 0, since: 0, exclusions });
        }
        (snapshot, texts.join("\n"))
    }

    fn plain(pool: &Snapshot, config: &Config) -> Cycle {
        negotiate(pool, config, NOW, &mut Plain::default())
    }

    fn runs(cases: u32) -> Runs {
        Runs { cases, rng_seed: RngSeed::Fixed(20_040_628), failure_persistence: None, ..Runs::default() }
    }

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 60..160)
    }

    #[test]
    fn the_index_chooses_the_sets_of_the_plain_search() {
        let (gangs, of_sets) = (Cell::new(0), Cell::new(0));
        proptest!(runs(4000), |(bytes in bytes(), members_max in 4usize..17)| {
            let (pool, text) = pool(&bytes, |job| job);
            let config = Config { members_max, ..Config::product() };
            let (want, got) = (plain(&pool, &config), Indexed::new().negotiate(&pool, &config, NOW));
            prop_assert_eq!(&got.gangs, &want.gangs, "members_max {}\n{}", members_max, text);
            prop_assert_eq!(&got.cut_short, &want.cut_short, "{}", text);
            gangs.set(gangs.get() + want.gangs.len());
            of_sets.set(of_sets.get() + want.gangs.iter().filter(|gang| gang.score.members > 1).count());
        });
        eprintln!("{} gangs, {} with two or more members in sets", gangs.get(), of_sets.get());
        assert!(of_sets.get() > 1000, "{} gangs with sets say too little", of_sets.get());
    }

    #[test]
    fn a_count_of_one_binds_what_no_count_binds() {
        let members = |gang: &Gang| gang.members.iter().map(|member| member.ad).collect::<Vec<_>>();
        let found = Cell::new(0);
        proptest!(runs(500), |(bytes in bytes())| {
            // Of jobs with one port that say nothing of sets.
            let says_more = |job: &str| ["Same", "Distinct", "Group", "Label = b"].iter().any(|word| job.contains(word));
            let without = |job: String| match says_more(&job) {
                true => "[Type = \"Job\"; Ports = {[Label = a; Nodes = 1; Rank = a.Speed]}]".to_owned(),
                false => COUNTS.iter().skip(1).fold(job, |job, count| job.replace(count, "")),
            };
            let (one, text) = pool(&bytes, without);
            let (other, _) = pool(&bytes, |job| without(job).replace("Label = a;", "Label = a; Count = 1;"));
            let of = |pool: &Snapshot| plain(pool, &Config::product()).gangs.iter().map(members).collect::<Vec<_>>();
            let gangs = of(&one);
            found.set(found.get() + gangs.len());
            prop_assert_eq!(gangs, of(&other), "{}", text);
        });
        assert!(found.get() > 300, "{} gangs say too little", found.get());
    }
}
