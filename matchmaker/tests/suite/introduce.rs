//! What members of a gang read of each other is bounded, however much they ask for.

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use classad::{Dialect, parse_ad};
    use matchmaker::{AdKey, Config, Gang, Offer, PoolAd, Res, Role, Root, Snapshot, introduce, read_by_root};

    use crate::negotiate;

    const NAMES: usize = 1000;
    /// Takes a good part of the fuel that reading has.
    const COSTLY: &str = "size(evalInEachContext(countMatches(x > 3, L), L))";

    /// A job and an offer that read a thousand attributes of each other, and the gang of both.
    fn talkative(value: &str) -> (Snapshot, Gang) {
        let key = |kind: &str| AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: "a".to_owned() };
        let reads = |label: &str| (0..NAMES).map(|n| format!("{label}.A{n}")).collect::<Vec<_>>().join(", ");
        let list = vec!["[x = 5]"; 30].join(", ");
        let own: String = (0..NAMES).map(|n| format!("A{n} = {value}; ")).collect();
        let ad = |kind: &str, label: &str| {
            let text = format!(
                "[ Type = \"{kind}\"; L = {{{list}}}; {own} Ports = {{[Label = {label}; Constraint = true; Read = {{{}}}]}} ]",
                reads(label)
            );
            PoolAd::asking(key(kind), kind, &parse_ad(&text, Dialect::Gangmatch).unwrap())
        };
        let seats: Res = [("seats".to_owned(), 1)].into();
        let offer = Offer::of(seats);
        let offer = PoolAd { role: Role::Offers(Box::new(offer)), ..ad("License", "requester") };
        let mut snapshot = Snapshot::new(vec![ad("Job", "seat"), offer]);
        let root = snapshot.find(&key("Job")).unwrap();
        snapshot.roots =
            vec![Root { ad: root, submitter: "n".into(), priority: 0, since: 0, exclusions: BTreeSet::new() }];
        let gang = negotiate(&snapshot, &Config::product(), 0).gangs.remove(0);
        (snapshot, gang)
    }

    #[test]
    fn f20_what_is_read_of_partners_is_bounded_by_what_it_costs() {
        let (snapshot, gang) = talkative(COSTLY);
        let config = Config::product();
        let told = introduce(&snapshot, &gang, &config, 0, 1);
        assert!((1..=9).contains(&told.len()), "{} values", told.len());
        let read = read_by_root(&snapshot, &gang, &config, 0);
        assert!((1..=9).contains(&read[1].len()), "{} values", read[1].len());
    }

    #[test]
    fn what_costs_little_is_read() {
        let (snapshot, gang) = talkative("7");
        let config = Config::product();
        assert!(introduce(&snapshot, &gang, &config, 0, 1).len() > 500);
        assert!(read_by_root(&snapshot, &gang, &config, 0)[1].len() > 500);
    }
}
