//! Cycles with accounts: the order in which they are served, and their quotas.

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use classad::{Dialect, parse_ad, parse_expr};
    use matchmaker::{
        Accounts, AdId, AdKey, ByAd, Collective, Config, CountedOffer, Offer, Plain, PoolAd, Prices, QuotaExceeded,
        Res, Role, Root, RootAccounts, Seats, Snapshot, Verdict, Weight, negotiate_together, plain, why,
    };
    use policy::{Account, Amounts, Quota, Quotas, Tree};
    use proptest::prelude::*;

    use crate::negotiate;
    use crate::world::{World, runs, world};

    const NOW: i64 = 7;

    /// A pool of some slots and seats; jobs are named by their accounts, and a number.
    struct Pool {
        accounts: Vec<Account>,
        jobs: Vec<(&'static str, &'static str)>,
        slots: i64,
        seats: i64,
    }

    fn key(kind: &str, name: &str) -> AdKey {
        AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: name.to_owned() }
    }

    fn account(name: &str, usage: i128, weight: i64) -> Account {
        Account { usage: usage * 1_000_000, weight, ..Account::named(name) }
    }

    fn with(account: Account, counter: &str, quota: Quota) -> Account {
        Account { quotas: [(counter.into(), quota)].into(), ..account }
    }

    const PLAIN_JOB: &str = "[Constraint = other.Type == \"Machine\"]";
    const SEAT_JOB: &str = "[Ports = {[Label = cpu; Constraint = cpu.Type == \"Machine\"],
        [Label = l; Constraint = l.Type == \"License\"]}]";
    const EITHER: &str = "[Ports = {[Label = cpu; Constraint = cpu.Type == \"Machine\"],
        [Label = l; Rank = l.Type == \"License\" ? 1 : 0; Constraint = l.Type == \"License\" || l.Type == \"Key\"]}]";

    fn offer(kind: &str, name: &str, amounts: &[(&str, i64)]) -> PoolAd {
        let ad = parse_ad(&format!("[Type = \"{kind}\"; Constraint = true]"), Dialect::Gangmatch).unwrap();
        let mut made = PoolAd::asking(key(kind, name), name, &ad);
        made.role = Role::Offers(Box::new(Offer {
            default_request: [("slots".to_owned(), 1)].into_iter().collect::<Res>(),
            ..Offer::of(amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect())
        }));
        made
    }

    impl Pool {
        fn snapshot(&self) -> Snapshot {
            let mut ads = vec![offer("Machine", "m", &[("slots", self.slots)])];
            ads.extend([
                offer("License", "vcs", &[("seats", self.seats)]),
                offer("Key", "key", &[("seats", self.seats)]),
            ]);
            let name = |place: usize, account: &str| format!("{account}{place:02}");
            for (place, (account, text)) in self.jobs.iter().enumerate() {
                let ad = parse_ad(text, Dialect::Gangmatch).unwrap();
                ads.push(PoolAd::asking(key("Job", &name(place, account)), &name(place, account), &ad));
            }
            let mut snapshot = Snapshot::new(ads);
            let mut account_of = BTreeMap::new();
            for (place, (account, _)) in self.jobs.iter().enumerate() {
                let ad = snapshot.find(&key("Job", &name(place, account))).unwrap();
                account_of.insert(ad, Arc::from(*account));
                let root = Root { ad, submitter: "n".into(), priority: 0, since: 0, exclusions: Default::default() };
                snapshot.roots.push(root);
            }
            let vcs = snapshot.find(&key("License", "vcs")).unwrap();
            let counted = CountedOffer { charge_weight: None, counters: vec![0] };
            snapshot.accounts = Some(Arc::new(Accounts {
                tree: Tree::new(self.accounts.clone()),
                total: [("vcs".into(), i128::from(self.seats))].into(),
                counters: vec![("vcs".into(), Some("seats".to_owned()))],
                account_of: account_of.into_iter().collect(),
                offers: [(vcs, Arc::new(counted))].into_iter().collect(),
                weights: [("slots".to_owned(), 1_000_000)].into(),
                seats: Seats::default(),
                counting: BTreeMap::new(),
            }));
            snapshot
        }

        /// The accounts in the order in which they are served, a letter each.
        fn served(&self) -> String {
            let snapshot = self.snapshot();
            let cycle = negotiate(&snapshot, &Config::product(), NOW);
            let root = |gang: &matchmaker::Gang| snapshot.ad(gang.root().unwrap()).unwrap().key.name.clone();
            cycle.gangs.iter().map(|gang| root(gang).chars().take(1).collect::<String>()).collect()
        }

        fn verdicts(&self) -> Vec<(Verdict, String)> {
            let cycle = negotiate(&self.snapshot(), &Config::product(), NOW);
            cycle.unmatched.iter().map(|unmatched| (unmatched.verdict.clone(), why(unmatched))).collect()
        }
    }

    fn jobs(counts: &[(&'static str, usize)]) -> Vec<(&'static str, &'static str)> {
        counts.iter().flat_map(|(account, count)| vec![(*account, PLAIN_JOB); *count]).collect()
    }

    #[test]
    fn the_smallest_normalized_usage_is_served_first_and_every_gang_counts_at_once() {
        let accounts = vec![account("a", 2, 1000), account("b", 0, 1000)];
        let pool = Pool { accounts, jobs: jobs(&[("a", 6), ("b", 6)]), slots: 6, seats: 1 };
        assert_eq!(pool.served(), "bbabab");
        let accounts = vec![account("a", 0, 3000), account("b", 0, 1000)];
        let pool = Pool { accounts, jobs: jobs(&[("a", 8), ("b", 8)]), slots: 8, seats: 1 };
        assert_eq!(pool.served(), "abaaabaa");
    }

    #[test]
    fn what_is_guaranteed_comes_first() {
        let quota = Quota { min: Some(2), ..Quota::default() };
        let accounts = vec![with(account("a", 90, 1000), "gangs", quota), account("b", 0, 1000)];
        let pool = Pool { accounts, jobs: jobs(&[("a", 4), ("b", 4)]), slots: 4, seats: 1 };
        assert_eq!(pool.served(), "aabb");
    }

    #[test]
    fn what_is_guaranteed_in_turn_is_there_when_jobs_are_placed_together() {
        // Two seats: `a` is guaranteed one of them, though without its job two others would have a gang each.
        let min = Quota { min: Some(1), ..Quota::default() };
        let accounts = vec![with(account("a", 90, 1000), "gangs", min), account("b", 0, 1000)];
        let wide = "[Ports = {[Label = l; Constraint = l.Type == \"License\"; Request = [seats = 2]]}]";
        let narrow = "[Ports = {[Label = l; Constraint = l.Type == \"License\"; Request = [seats = 1]]}]";
        let pool = Pool { accounts, jobs: vec![("a", wide), ("b", narrow), ("b", narrow)], slots: 4, seats: 2 };
        let mut snapshot = pool.snapshot();
        let placed = |snapshot: &Snapshot| {
            negotiate_together(snapshot, &Config::product(), NOW, &mut Plain::default(), &Collective::default())
        };
        let together = placed(&snapshot);
        assert_eq!((together.placed.gangs, together.pinned), (1, 1));
        // The same without accounts: one submitter, the oldest job first.
        snapshot.accounts = None;
        let two = placed(&snapshot);
        assert_eq!((two.in_turn.gangs, two.placed.gangs, two.passed_over.len()), (1, 2, 1));
    }

    #[test]
    fn a_quota_holds_for_all_gangs_of_a_window_together() {
        // The best of each job counts seats of `vcs`; only one of them may, and the others take keys.
        let quota = Quota { max: Some(1), ..Quota::default() };
        let accounts = vec![with(account("a", 0, 1000), "vcs", quota)];
        let pool = Pool { accounts, jobs: vec![("a", EITHER), ("a", EITHER), ("a", SEAT_JOB)], slots: 9, seats: 9 };
        let snapshot = pool.snapshot();
        let collective = Collective::default();
        let together = negotiate_together(&snapshot, &Config::product(), NOW, &mut Plain::default(), &collective);
        assert_eq!((together.in_turn.gangs, together.placed.gangs, together.bound), (2, 3, 3));
    }

    #[test]
    fn an_account_at_its_maximum_is_told_which() {
        let quota = Quota { max: Some(1), ..Quota::default() };
        let held: Amounts = [("gangs".into(), 1)].into();
        let accounts = vec![Account { held, ..with(account("a", 0, 1000), "gangs", quota) }];
        let pool = Pool { accounts, jobs: jobs(&[("a", 1)]), slots: 4, seats: 1 };
        let (verdict, why) = pool.verdicts().pop().unwrap();
        let max = QuotaExceeded::Max { counter: "gangs".into(), account: "a".into(), held: Some(1), max: 1, takes: 1 };
        assert_eq!(verdict, Verdict::QuotaExceeded(max));
        assert_eq!(why, "gangs: a holds 1 of at most 1");
    }

    #[test]
    fn of_an_account_above_only_the_limit_is_told() {
        let quota = Quota { max: Some(1), ..Quota::default() };
        let sibling =
            Account { parent: Some("top".into()), held: [("gangs".into(), 1)].into(), ..account("b", 0, 1000) };
        let own = Account { parent: Some("top".into()), ..account("a", 0, 1000) };
        let accounts = vec![with(account("top", 0, 1000), "gangs", quota), sibling, own];
        let pool = Pool { accounts, jobs: jobs(&[("a", 1)]), slots: 4, seats: 1 };
        assert_eq!(pool.verdicts().pop().unwrap().1, "gangs: top, above the job's account, may hold at most 1");
    }

    #[test]
    fn a_counter_at_its_maximum_leaves_gangs_without_it() {
        let quota = Quota { max: Some(1), ..Quota::default() };
        let accounts = vec![with(account("a", 0, 1000), "vcs", quota)];
        let pool = Pool { accounts, jobs: vec![("a", EITHER), ("a", EITHER), ("a", SEAT_JOB)], slots: 9, seats: 9 };
        let snapshot = pool.snapshot();
        let cycle = negotiate(&snapshot, &Config::product(), NOW);
        let gangs: Vec<String> = cycle.gangs.iter().map(|gang| matchmaker::summary(&snapshot, gang)).collect();
        assert_eq!(gangs, ["cpu=n/m l=n/vcs", "cpu=n/m l=n/key"], "the better one as long as the quota lets it");
        assert_eq!(pool.verdicts().pop().unwrap().1, "vcs: a holds 1 of at most 1");
    }

    #[test]
    fn what_is_not_lent_is_kept_from_others() {
        let quota = Quota { min: Some(2), lend: Some(0), ..Quota::default() };
        let accounts = vec![with(account("a", 0, 1000), "vcs", quota), account("b", 0, 1000)];
        let pool = Pool { accounts, jobs: vec![("b", SEAT_JOB); 3], slots: 9, seats: 3 };
        assert_eq!(pool.served(), "b");
        let (verdict, why) = pool.verdicts().pop().unwrap();
        assert_eq!(verdict, Verdict::QuotaExceeded(QuotaExceeded::Aside { counter: "vcs".into() }));
        assert_eq!(why, "vcs: what is left is guaranteed to other accounts");
    }

    #[test]
    fn an_offer_states_what_it_costs() {
        let pool = Pool { accounts: vec![account("a", 0, 1000)], jobs: vec![("a", SEAT_JOB)], slots: 9, seats: 3 };
        let mut snapshot = pool.snapshot();
        let mut accounts = Accounts::clone(snapshot.accounts.as_ref().unwrap());
        let charge_weight = parse_expr("4 * Allocation.seats + 0.5", Dialect::Gangmatch).ok();
        let vcs = snapshot.find(&key("License", "vcs")).unwrap();
        accounts.offers.insert(vcs, Arc::new(CountedOffer { charge_weight, counters: Vec::new() }));
        let gang = negotiate(&snapshot, &Config::product(), NOW).gangs.pop().unwrap();
        let account = Arc::from("a");
        let charge = accounts.charge_of(
            (&snapshot, &gang),
            &account,
            &mut Seats::default(),
            &mut Prices::of(&Config::product(), NOW),
        );
        assert_eq!(charge.members[..], [0, 1_000_000, 4_500_000]);
        let mut prices = Prices::of(&Config::product(), NOW);
        for evaluated in [vec![vcs], vec![], vec![]] {
            let again = accounts.charge_of((&snapshot, &gang), &account, &mut Seats::default(), &mut prices);
            assert_eq!(again.members, charge.members);
            let used: Vec<AdId> = prices.take_used().into_iter().map(|(offer, _)| offer).collect();
            assert_eq!(used, evaluated, "the price of an offer is computed once in a cycle");
        }
        snapshot.accounts = None;
        assert_eq!(
            negotiate(&snapshot, &Config::product(), NOW).gangs,
            [gang],
            "without accounts the gang is the same"
        );
    }

    /// Accounts, quotas and counters that some bytes decide, for a random pool.
    pub(crate) fn with_accounts(mut world: World, bytes: &[u8]) -> World {
        let byte = |place: usize| i128::from(bytes.get(place % bytes.len().max(1)).copied().unwrap_or(0));
        let names = ["a", "b", "c"];
        let counters = ["charge", "gangs", "all", "seats"];
        let unit = |counter: &str| if counter == "charge" { 1_000_000 } else { 1 };
        let accounts = names.iter().enumerate().map(|(number, name)| {
            let at = number * 17;
            let quotas =
                counters.iter().enumerate().filter(|(which, _)| byte(at + which) % 3 == 0).map(|(which, counter)| {
                    let amount = |step: usize, most: i128| {
                        Some(byte(at + which + step) % most * unit(counter)).filter(|_| byte(at + step) % 2 == 0)
                    };
                    let min = amount(5, 3);
                    let max = amount(7, 4).map(|max| max.max(min.unwrap_or(0)));
                    ((*counter).into(), Quota { min, max, lend: amount(9, 3) })
                });
            let parent =
                (byte(at + 11) % 3 == 0).then(|| names[usize::try_from(byte(at + 12)).unwrap_or(0) % 3].to_owned());
            let weight = [1000, 500, 3000][usize::try_from(byte(at + 13)).unwrap_or(0) % 3];
            let usage = byte(at + 14) % 4 * 1_000_000;
            Account { parent, weight, usage, quotas: quotas.collect(), ..Account::named(name) }
        });
        let tree = Tree::new(accounts.collect::<Vec<_>>());
        let ads = world.snapshot.ads().filter(|(_, ad)| ad.offer().is_some());
        let counted = |(id, ad): (matchmaker::AdId, &PoolAd)| {
            let mut counters = vec![0];
            let has_seats = ad.offer().is_some_and(|offer| offer.capacity.contains_key("seats"));
            counters.extend(has_seats.then_some(1));
            let charge_weight = (byte(id.place() + 3) % 4 == 0)
                .then(|| parse_expr("Allocation.seats * 1.5", Dialect::Gangmatch).ok())
                .flatten();
            (id, Arc::new(CountedOffer { charge_weight, counters }))
        };
        let offers: ByAd<_> = ads.map(counted).collect();
        let roots = world.snapshot.roots.iter().enumerate();
        let account = |(number, root): (usize, &Root)| {
            (root.ad, Arc::from(names[usize::try_from(byte(number + 60)).unwrap_or(0) % 3]))
        };
        let account_of: RootAccounts = roots.map(account).collect();
        let free = |(id, counted): (matchmaker::AdId, &Arc<CountedOffer>)| {
            let offer = world.snapshot.ad(id).and_then(PoolAd::offer).filter(|offer| offer.open)?;
            counted.counters.get(1)?;
            Some(i128::from((offer.capacity.get("seats")? - world.snapshot.usage(id, offer).used("seats")).max(0)))
        };
        let total = [("seats".into(), offers.iter().filter_map(free).sum())].into();
        let weights = [("slots".to_owned(), 1_000_000), ("cpus".to_owned(), 500_000)].into();
        let counters = vec![("all".into(), None), ("seats".into(), Some("seats".to_owned()))];
        let (seats, counting) = (Seats::default(), BTreeMap::new());
        let accounts = Accounts { tree, total, counters, account_of, offers, weights, seats, counting };
        world.text = format!("{}\n{accounts:?}", world.text);
        world.snapshot.accounts = Some(Arc::new(accounts));
        world
    }

    /// The quotas after some gangs of a cycle, and whether each of them was within them.
    fn replay<'p>(world: &World, accounts: &'p Accounts, gangs: &[matchmaker::Gang]) -> (Quotas<'p>, Seats, bool) {
        let (mut quotas, mut seats) = (Quotas::new(&accounts.tree, &accounts.total), accounts.seats.clone());
        let mut within = true;
        for gang in gangs {
            let account = accounts.account_of.get(gang.root().unwrap()).unwrap();
            let leaf = accounts.tree.leaf(account).unwrap();
            let charge =
                accounts.charge_of((&world.snapshot, gang), account, &mut seats, &mut Prices::of(&world.config, NOW));
            within &= quotas.allows(leaf, &charge.takes);
            quotas.take(leaf, &charge.takes);
        }
        (quotas, seats, within)
    }

    proptest! {
        #![proptest_config(runs(1500))]

        #[test]
        fn o1_o2_every_root_is_served_or_told_whatever_the_order_of_the_input(bytes in proptest::collection::vec(any::<u8>(), 20..320)) {
            let mut world = with_accounts(world(&bytes, 8, false), &bytes);
            let once = negotiate(&world.snapshot, &world.config, NOW);
            prop_assert_eq!(once.gangs.len() + once.unmatched.len(), world.snapshot.roots.len(), "{}", world.text);
            world.snapshot.roots.reverse();
            let again = negotiate(&world.snapshot, &world.config, NOW);
            prop_assert_eq!((once.gangs, once.unmatched), (again.gangs, again.unmatched), "{}", world.text);
        }

        #[test]
        fn o3_o4_q3_gangs_are_within_the_quotas_and_who_waits_has_none_that_is(bytes in proptest::collection::vec(any::<u8>(), 20..320)) {
            let world = with_accounts(world(&bytes, 7, false), &bytes);
            let accounts = world.snapshot.accounts.clone().unwrap();
            let cycle = negotiate(&world.snapshot, &world.config, NOW);
            let (quotas, seats, within) = replay(&world, &accounts, &cycle.gangs);
            prop_assert!(within, "{}", world.text);
            // What is left of the pool.
            let mut left: Vec<PoolAd> = world.snapshot.ads().map(|(_, ad)| ad.clone()).collect();
            for member in cycle.gangs.iter().flat_map(|gang| &gang.members) {
                if let Role::Offers(offer) = &mut left[member.ad.place()].role {
                    offer.usage.take(&member.ask);
                }
            }
            let left = Snapshot::new(left);
            for unmatched in &cycle.unmatched {
                let root = world.snapshot.roots.iter().find(|root| root.ad == unmatched.root).unwrap();
                let account = accounts.account_of.get(root.ad).unwrap();
                let leaf = accounts.tree.leaf(account).unwrap();
                let excluded = |gang: &matchmaker::Gang| {
                    gang.members.iter().any(|member| root.exclusions.contains(&left.ad(member.ad).unwrap().key))
                };
                for gang in plain::gangs(&left, root.ad, 50, &world.config, NOW).iter().filter(|gang| !excluded(gang)) {
                    let charge = accounts.charge_of((&left, gang), account, &mut seats.clone(), &mut Prices::of(&world.config, NOW));
                    prop_assert!(!quotas.allows(leaf, &charge.takes), "{:?} {}", gang, world.text);
                    let told = matches!(unmatched.verdict, Verdict::QuotaExceeded(_));
                    prop_assert!(told, "{:?} {}", unmatched.verdict, world.text);
                }
            }
        }

        #[test]
        fn gangs_that_are_placed_together_keep_the_quotas_and_no_account_gets_less_than_in_turn(bytes in proptest::collection::vec(any::<u8>(), 20..320)) {
            let world = with_accounts(world(&bytes, 8, false), &bytes);
            let accounts = world.snapshot.accounts.clone().unwrap();
            let before = negotiate(&world.snapshot, &world.config, NOW);
            for weight in [Weight::One, Weight::Charge(BTreeMap::new())] {
                let collective = Collective { weight, ..Collective::default() };
                let placed = negotiate_together(&world.snapshot, &world.config, NOW, &mut Plain::default(), &collective);
                let (_, _, within) = replay(&world, &accounts, &placed.cycle.gangs);
                prop_assert!(within, "{}", world.text);
                prop_assert_eq!(placed.in_turn.gangs, before.gangs.len());
                if collective.weight != Weight::One {
                    continue;
                }
                let count = |gangs: &[matchmaker::Gang], account: &Arc<str>, least: i32| {
                    let is_of = |root: &&Root| accounts.account_of.get(root.ad) == Some(account) && root.priority >= least;
                    let of = world.snapshot.roots.iter().filter(is_of);
                    of.filter(|root| gangs.iter().any(|gang| gang.root() == Some(root.ad))).count()
                };
                for root in &world.snapshot.roots {
                    let account = accounts.account_of.get(root.ad).unwrap();
                    let [due, got] = [&before.gangs, &placed.cycle.gangs].map(|gangs| count(gangs, account, root.priority));
                    prop_assert!(got >= due, "{account} {}: {got} of {due} {}", root.priority, world.text);
                }
            }
        }
    }
}
