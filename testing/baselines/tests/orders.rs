//! The paper's algorithms: probes as an independent count of them says, gangs as the plain search finds them.

#[cfg(test)]
#[path = "../examples/bench_gangs/load.rs"]
#[expect(dead_code, reason = "the bench program also replaces ads")]
mod load;
#[cfg(test)]
#[path = "../../../matchmaker/tests/world/mod.rs"]
mod world;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use baselines::orders::{self, Order, Outcome, Refusal, negotiate};
    use baselines::without_ranks;
    use matchmaker::{Config, Plain, Snapshot};
    use proptest::prelude::*;

    use super::load::{Prefer, Workload};
    use super::world::{runs, world};

    const NOW: i64 = 7;
    const ORDERS: [Order; 3] = [Order::LeftToRight, Order::RightToLeft, Order::Dynamic];
    const DENSITIES: [&str; 2] = ["0.5", "1.0"];
    const SELECTIVITIES: [&str; 4] = ["1", "2", "4", "8"];

    /// Where the generator and the independent count are, if they are.
    fn scripts() -> Option<PathBuf> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/bench");
        if path.join("gen.py").exists() && path.join("probes.py").exists() {
            return Some(path);
        }
        eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
        None
    }

    fn python(folder: &Path, arguments: &[&str]) -> String {
        let mut command = Command::new("python3");
        let output = command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(folder).args(arguments).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn workload(folder: &Path, arguments: &[&str]) -> Snapshot {
        let file = std::env::temp_dir().join(format!("gangmatch-{}-{}", std::process::id(), arguments.join("")));
        let out = ["--out", file.to_str().unwrap()];
        python(folder, &[&["gen.py", "gang"], arguments, &out].concat());
        let workload = Workload::read(file.to_str().unwrap(), Prefer::FirstFit);
        std::fs::remove_file(file).unwrap();
        workload.unwrap().snapshot().unwrap()
    }

    /// `N L S`, how many matched (one number, or one for each order), and the probes of the three orders.
    fn counted(line: &str) -> Option<(Vec<String>, Vec<usize>, Vec<u64>)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [n, density, s, _, matched, probes @ ..] = words.as_slice() else { return None };
        n.parse::<u64>().ok()?;
        let matched: Vec<usize> = matched.split('/').map(|count| count.parse().unwrap()).collect();
        let matched = (0..3).map(|order| *matched.get(order).unwrap_or(&matched[0])).collect();
        let key = [n, density, s].map(|word| (*word).to_owned()).to_vec();
        Some((key, matched, probes.iter().map(|probes| probes.parse().unwrap()).collect()))
    }

    /// `GANGMATCH_PROBES=500,1000,2000,4000` asks for more than the smallest pool.
    #[test]
    fn probes_are_those_of_an_independent_count() {
        let Some(folder) = scripts() else { return };
        let sizes = std::env::var("GANGMATCH_PROBES").unwrap_or_else(|_| "500".to_owned());
        let table = python(&folder, &["probes.py", "--n", &sizes]);
        let mut compared = 0;
        for (key, matched, probes) in table.lines().filter_map(counted) {
            let snapshot =
                workload(&folder, &["--n", &key[0], "--density", &key[1], "--selectivity", &key[2], "--seed", "1"]);
            for (place, order) in ORDERS.into_iter().enumerate() {
                let outcome = negotiate(&snapshot, &Config::product(), order, NOW).unwrap();
                assert_eq!(outcome.gangs.len(), matched[place], "matched, {key:?}, {order}");
                assert_eq!(outcome.probes, probes[place], "probes, {key:?}, {order}");
                if order == Order::LeftToRight {
                    let roots = u64::try_from(snapshot.roots.len() + outcome.gangs.len()).unwrap();
                    assert_eq!(outcome.backtracks + roots, outcome.probes, "backtracks, {key:?}");
                }
                compared += 1;
            }
        }
        assert_eq!(compared, sizes.split(',').count() * DENSITIES.len() * SELECTIVITIES.len() * ORDERS.len());
    }

    /// The first ad asks, the others offer themselves.
    fn pool(ads: &[&str]) -> Snapshot {
        let ads = ads.iter().map(|text| classad::parse_ad(text, classad::Dialect::Gangmatch).unwrap());
        let pool_ad = |(number, ad)| {
            let name = format!("a{number}");
            let key = matchmaker::AdKey { kind: "Job".to_owned(), namespace: String::new(), name };
            let mut ad = matchmaker::PoolAd::asking(key, "", &ad);
            if number > 0 {
                ad.role = matchmaker::Role::Offers(Box::new(matchmaker::Offer {
                    capacity: matchmaker::Res::from([("slots".to_owned(), 1)]),
                    default_request: matchmaker::Res::new(),
                    usage: matchmaker::Usage::default(),
                    shared_by: None,
                    consent: matchmaker::Consent::Everybody,
                    open: true,
                    disclosed: false,
                }));
            }
            ad
        };
        let mut snapshot = Snapshot::new(ads.enumerate().map(pool_ad).collect());
        let root = |(ad, _)| matchmaker::Root {
            ad,
            submitter: Default::default(),
            priority: 0,
            since: 0,
            exclusions: Default::default(),
        };
        snapshot.roots = snapshot.ads().take(1).map(root).collect();
        snapshot
    }

    fn asked(ads: &[&str], order: Order) -> Result<Outcome, Refusal> {
        negotiate(&pool(ads), &Config::product(), order, NOW)
    }

    const THREE: &str = r#"[ Ports = { [ Label = a; Constraint = a.Kind == 1 ],
        [ Label = b; Constraint = b.Kind == 2 && b.Site == a.Site ],
        [ Label = c; Site = a.Site; Rack = b.Rack; Constraint = c.Kind == 3 && c.Sum == a.Number + b.Number ] } ]"#;

    /// An ad of a kind, to be asked by anybody.
    fn leaf(text: &str) -> String {
        format!("[ {text}; Ports = {{ [ Label = requester; Constraint = true ] }} ]")
    }

    #[test]
    fn gangs_of_three_ports_are_found_in_every_order() {
        let leaves = [
            leaf("Kind = 1; Site = \"x\"; Number = 1"),
            leaf("Kind = 1; Site = \"y\"; Number = 2"),
            leaf("Kind = 2; Site = \"y\"; Number = 3; Rack = 7"),
            leaf("Kind = 2; Site = \"y\"; Number = 4; Rack = 8"),
            "[ Kind = 3; Sum = 6; Ports = { [ Label = r; Constraint = r.Site == \"y\" && r.Rack == 8 ] } ]".to_owned(),
        ];
        let ads: Vec<&str> = std::iter::once(THREE).chain(leaves.iter().map(String::as_str)).collect();
        for (order, probes) in [(Order::LeftToRight, 5), (Order::RightToLeft, 3), (Order::Dynamic, 6)] {
            let outcome = asked(&ads, order).unwrap();
            let places: Vec<usize> = outcome.gangs[0].members.iter().map(|member| member.ad.place()).collect();
            assert_eq!(places, [0, 2, 4, 5], "{order}");
            assert_eq!(outcome.probes, probes, "{order}");
        }
    }

    #[test]
    fn what_the_index_cannot_say_is_refused() {
        let asks = "[ Ports = { [ Label = a; Constraint = a.Kind == 1 ] } ]";
        let deep = "[ Kind = 1; Ports = { [ Label = r; Constraint = true ], [ Label = s; Constraint = false ] } ]";
        let refused = asked(&[asks, deep], Order::Dynamic).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "Job /a0, port 0: whether Job /a1 can be bound there is not for the index alone to say"
        );
    }

    proptest! {
        #![proptest_config(runs(3000))]

        #[test]
        fn the_first_fit_is_that_of_the_plain_search(bytes in proptest::collection::vec(any::<u8>(), 20..400)) {
            let world = world(&bytes, 7, false);
            // Orders find other gangs and take ads whole, so that only the first root can be compared.
            let mut alone = without_ranks(&world.snapshot);
            alone.roots.sort_by_key(|root| root.ad);
            alone.roots.truncate(1);
            alone.roots.iter_mut().for_each(|root| root.exclusions.clear());
            let config = Config { explains: false, ..world.config.clone() };
            let plain = matchmaker::negotiate(&alone, &config, NOW, &mut Plain::default());
            let first_met = orders::naive(&alone, &config, NOW);
            for order in ORDERS {
                match negotiate(&alone, &config, order, NOW) {
                    Ok(outcome) => {
                        prop_assert_eq!(outcome.gangs.len(), plain.gangs.len(), "{}: {}", order, world.text);
                        if order == Order::LeftToRight {
                            let members = |gang: &matchmaker::Gang| gang.members.clone();
                            let own = outcome.gangs.iter().map(members);
                            prop_assert!(own.clone().eq(plain.gangs.iter().map(members)), "{}", world.text);
                            // Without an index it takes the first that it meets, which is that one.
                            prop_assert!(own.eq(first_met.iter().map(members)), "{}", world.text);
                        }
                    }
                    Err(refusal) => prop_assert!(matches!(refusal, Refusal::NotIndexed { .. }), "{}: {}", refusal, world.text),
                }
            }
        }
    }
}
