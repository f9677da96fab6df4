//! What holds of the sets of counted ports, whatever the pool.

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::collections::BTreeSet;

    use gangindex::Indexed;
    use matchmaker::{AdId, Config, Cycle, Gang, Plain, Snapshot, negotiate, plain, verified};
    use proptest::prelude::*;

    use crate::set_pools::{COUNTS, bytes, pool, runs};

    const NOW: i64 = 7;

    /// The gang of each root alone.
    fn alone(pool: &Snapshot) -> Vec<Option<Gang>> {
        let none = BTreeSet::new();
        pool.roots.iter().map(|root| plain::best(pool, root.ad, &none, &Config::product(), NOW).gang).collect()
    }

    fn cycle(pool: &Snapshot) -> Cycle {
        negotiate(pool, &Config::product(), NOW, &mut Plain::default())
    }

    fn members(gang: &Gang) -> BTreeSet<AdId> {
        gang.members.iter().skip(1).map(|member| member.ad).collect()
    }

    /// A job without what is written of it beside its counts, ranks and constraints of members.
    fn without(job: &str, words: &[&str]) -> String {
        let mut text = job.to_owned();
        for word in words {
            while let Some(begin) = text.find(word) {
                let end = begin + text.get(begin..).and_then(|rest| rest.find(';')).unwrap();
                text.replace_range(begin..=end, "");
            }
        }
        text
    }

    #[test]
    fn s3_the_case_of_attribute_names_does_not_matter() {
        let found = Cell::new(0);
        proptest!(runs(1000), |(bytes in bytes())| {
            let (one, text) = pool(&bytes, |job| job);
            let other = |job: String| {
                let names = [("Speed", "SPEED"), ("Memory", "memory"), ("\"Rack\"", "\"rACK\""), (".Rack", ".rack"), ("Same =", "sAME =")];
                names.iter().fold(job, |job, (name, other)| job.replace(name, other))
            };
            let (other, _) = pool(&bytes, other);
            let (gangs, others) = (cycle(&one).gangs, cycle(&other).gangs);
            prop_assert_eq!(&Indexed::new().negotiate(&other, &Config::product(), NOW).gangs, &others, "{}", text);
            found.set(found.get() + gangs.len());
            prop_assert_eq!(gangs, others, "{}", text);
        });
        assert!(found.get() > 500, "{} gangs say too little", found.get());
    }

    #[test]
    fn s4_a_job_alone_that_wants_less_of_its_sets_loses_no_gang() {
        let gained = Cell::new(0);
        proptest!(runs(1500), |(bytes in bytes(), which in 0usize..4)| {
            let relaxed = |job: String| match which {
                0 => job.replace("MinCount = 3; MaxCount = 9;", "MinCount = 1; MaxCount = 9;"),
                1 => job.replace("MinCount = 1; MaxCount = 3;", "MinCount = 1; MaxCount = 9;"),
                2 => without(&job, &["Same =", "Distinct ="]),
                _ => without(&job, &["GroupConstraint ="]),
            };
            let (strict, text) = pool(&bytes, |job| job);
            let (wide, _) = pool(&bytes, relaxed);
            for (before, after) in alone(&strict).into_iter().zip(alone(&wide)) {
                prop_assert!(before.is_none() || after.is_some(), "{}", text);
                gained.set(gained.get() + usize::from(before.is_none() && after.is_some()));
            }
        });
        assert!(gained.get() > 50, "{} gains say too little", gained.get());
    }

    #[test]
    fn s5_as_many_as_are_said_to_be_there_can_be_had() {
        let told = Cell::new(0);
        proptest!(runs(2000), |(bytes in bytes())| {
            // One port, so that nothing else stands against it.
            let plain_job = |job: String| {
                let first = job.split(", [Label = b").next().unwrap().trim_end_matches(['}', ']']).to_owned();
                without(&first, &["GroupConstraint ="]) + "]}]"
            };
            let (asked, text) = pool(&bytes, plain_job);
            let asked = asked.emptied_with_roots();
            for unmatched in cycle_of_each(&asked) {
                let Some(set) = unmatched.ports.first().and_then(|port| port.set.clone()) else { continue };
                if set.largest == 0 || set.largest >= set.need {
                    continue;
                }
                let lowered = |job: String| {
                    let job = plain_job(job);
                    COUNTS.iter().skip(1).fold(job, |job, count| job.replace(count, &format!("Count = {};", set.largest)))
                };
                let fewer = pool(&bytes, lowered).0.emptied_with_roots();
                let place = asked.roots.iter().position(|root| root.ad == unmatched.root).unwrap();
                prop_assert!(alone(&fewer)[place].is_some(), "{:?}: {}", set, text);
                told.set(told.get() + 1);
            }
        });
        assert!(told.get() > 50, "{} reasons say too little", told.get());
    }

    #[test]
    fn s6_no_exchange_of_one_member_improves_the_best_set() {
        let tried = Cell::new(0);
        proptest!(runs(1500), |(bytes in bytes())| {
            let additive = |job: String| without(&job, &["GroupRank =", "GroupConstraint =", "Same =", "Distinct ="]);
            let (pool, text) = pool(&bytes, additive);
            for gang in alone(&pool).into_iter().flatten() {
                for place in 1..gang.members.len() {
                    for (id, ad) in pool.ads().filter(|(id, ad)| ad.offer().is_some() && !members(&gang).contains(id)) {
                        let mut other = gang.clone();
                        other.members[place].ad = id;
                        // sets are in the order of their ads
                        other.members[1..].sort_by_key(|member| (member.edge.map(|edge| edge.port()), member.ad));
                        if let Ok(other) = verified(&pool, &other, &Config::product(), NOW) {
                            prop_assert!(other.score <= gang.score, "{}: {}", ad.key, text);
                            tried.set(tried.get() + 1);
                        }
                    }
                }
            }
        });
        assert!(tried.get() > 1000, "{} exchanges say too little", tried.get());
    }

    #[test]
    fn s8_same_is_that_the_values_are_one_by_one() {
        let found = Cell::new(0);
        proptest!(runs(1500), |(bytes in bytes())| {
            let same = |job: String| without(&job, &["Same =", "Distinct =", "GroupConstraint ="])
                .replacen("Label = a;", "Label = a; Same = {\"Rack\"};", 1);
            // No two are told apart, and none is undefined.
            let pairs = "size(a.Rack) == size(a) && (a[0].Rack isnt undefined) \
                && (size(a) < 2 || a[1].Rack is a[0].Rack) && (size(a) < 3 || a[2].Rack is a[0].Rack) && (size(a) < 4 || a[3].Rack is a[0].Rack) && size(a) < 5";
            let sizes = |job: String| job.replace("MaxCount = 9;", "MaxCount = 3;");
            let counted = |job: &str| COUNTS.iter().skip(1).any(|count| job.split("Label = b").next().unwrap().contains(count));
            let (one, text) = pool(&bytes, |job| if counted(&job) { sizes(same(job)) } else { job });
            let by_pairs = |job: String| {
                if !counted(&job) {
                    return job;
                }
                sizes(same(job)).replace("Same = {\"Rack\"};", &format!("GroupConstraint = {pairs};"))
            };
            let (other, _) = pool(&bytes, by_pairs);
            let of = |pool: &Snapshot| cycle(pool).gangs.iter().map(members).collect::<Vec<_>>();
            let gangs = of(&one);
            found.set(found.get() + gangs.iter().filter(|gang| gang.len() > 1).count());
            prop_assert_eq!(gangs, of(&other), "{}", text);
        });
        assert!(found.get() > 100, "{} sets say too little", found.get());
    }

    #[test]
    fn s9_in_a_cycle_the_best_set_of_equal_jobs_never_improves() {
        let pairs = Cell::new(0);
        proptest!(runs(1500), |(bytes in bytes())| {
            let first: RefCell<Option<String>> = RefCell::new(None);
            let (mut pool, text) = pool(&bytes, |job| first.borrow_mut().get_or_insert(job).clone());
            pool.roots.iter_mut().for_each(|root| root.exclusions.clear());
            let gangs = Indexed::new().negotiate(&pool, &Config::product(), NOW).gangs;
            for two in gangs.windows(2) {
                prop_assert!(two[1].score <= two[0].score, "{}", text);
                pairs.set(pairs.get() + 1);
            }
        });
        assert!(pairs.get() > 150, "{} pairs say too little", pairs.get());
    }

    /// Why each root alone has no gang.
    fn cycle_of_each(pool: &Snapshot) -> Vec<matchmaker::Unmatched> {
        let one = |root: &matchmaker::Root| {
            let mut alone = pool.clone();
            alone.roots = vec![root.clone()];
            cycle(&alone).unmatched
        };
        pool.roots.iter().flat_map(one).collect()
    }

    /// The same pool with nothing taken, and without exclusions.
    trait Emptied {
        fn emptied_with_roots(&self) -> Snapshot;
    }

    impl Emptied for Snapshot {
        fn emptied_with_roots(&self) -> Snapshot {
            let mut emptied = self.emptied();
            emptied.roots.clone_from(&self.roots);
            emptied.roots.iter_mut().for_each(|root| root.exclusions.clear());
            emptied
        }
    }
}
