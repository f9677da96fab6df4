//! Sets of machines for jobs with counted ports: the index chooses those that the plain search finds one by one.

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use gangindex::Indexed;
    use matchmaker::{AdId, Config, Cycle, Gang, Plain, SetCount, Snapshot, Unmatched, Verdict, negotiate};
    use proptest::prelude::*;

    use crate::set_pools::{COUNTS, bytes, pool, runs};

    const NOW: i64 = 7;

    fn plain(pool: &Snapshot, config: &Config) -> Cycle {
        negotiate(pool, config, NOW, &mut Plain::default())
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
            let reasons = |cycle: &Cycle| -> Vec<(AdId, Verdict, Vec<Option<SetCount>>)> {
                let of = |why: &Unmatched| {
                    (why.root, why.verdict.clone(), why.ports.iter().map(|port| port.set.clone()).collect())
                };
                cycle.unmatched.iter().filter(|why| pool.ad(why.root).unwrap().ports.has_sets()).map(of).collect()
            };
            prop_assert_eq!(reasons(&got), reasons(&want), "{}", text);
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
