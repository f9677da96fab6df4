//! The plain search against brute force: all trees that the ports allow, complete first and judged afterwards.
//!
//! The search binds port after port, looks at every edge as soon as it can and goes back. Here nothing is looked at until
//! the tree is whole: then every label is bound, every name can be read, and the order of things cannot matter.

#[cfg(test)]
#[path = "oracle/chain.rs"]
mod chain;
#[cfg(test)]
#[path = "oracle/judge.rs"]
mod judge;
#[cfg(test)]
#[path = "oracle/trees.rs"]
mod trees;

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::collections::BTreeSet;

    use matchmaker::{Gang, plain, verify};
    use proptest::prelude::*;

    use super::chain::chain;
    use super::judge::{Judged, judge};
    use super::trees::{Tree, trees};
    use crate::world::{World, runs, world};

    /// More trees than this are not enumerated; hardly any pool has so many.
    const TREES_MAX: usize = 20_000;

    fn tree_of(gang: &Gang) -> Tree {
        let edge = |member: &matchmaker::Member| {
            let edge = member.edge.map(|edge| (edge.parent(), edge.port(), edge.child_port()));
            (member.ad.place(), edge)
        };
        Tree { nodes: gang.members.iter().map(edge).collect() }
    }

    /// Checks one pool; gives how many gangs it has, and in how many of them a set has two members or more.
    fn check(world: &World) -> Result<(usize, usize), TestCaseError> {
        let (pool, config) = (&world.snapshot, &world.config);
        let (mut count, mut with_sets) = (0, 0);
        for root in &pool.roots {
            let Some(all) = trees(pool, root.ad, config, TREES_MAX) else { continue };
            let judged: Vec<Judged> = all.iter().filter_map(|tree| judge(pool, tree, config, 7)).collect();
            let found = plain::gangs(pool, root.ad, usize::MAX, config, 7);
            let expected: BTreeSet<&Tree> = judged.iter().map(|judged| &judged.tree).collect();
            let got: Vec<Tree> = found.iter().map(tree_of).collect();
            prop_assert_eq!(&got.iter().collect::<BTreeSet<_>>(), &expected, "{}", world.text);
            prop_assert_eq!(got.len(), expected.len(), "a gang twice: {}", world.text);
            for gang in &found {
                let same = judged.iter().find(|judged| judged.tree == tree_of(gang)).unwrap();
                let asks: Vec<_> = gang.members.iter().map(|member| member.ask.clone()).collect();
                prop_assert_eq!(&asks, &same.asks, "{}", world.text);
                prop_assert_eq!(verify(pool, gang, config, 7), Ok(()), "{}", world.text);
            }
            let avoids = |judged: &&Judged| !judged.keys(pool).iter().any(|key| root.exclusions.contains(key));
            let best = judged.iter().filter(avoids).max_by_key(|judged| judged.preference());
            let answer = plain::best(pool, root.ad, &root.exclusions, config, 7);
            prop_assert!(!answer.gave_up);
            let answer = answer.gang.as_ref();
            prop_assert_eq!(answer.map(tree_of), best.map(|best| best.tree.clone()), "{}", world.text);
            if let (Some(gang), Some(best)) = (answer, best) {
                let real = |levels: &[i128; 3]| levels.map(|level| level as f64 / 2f64.powi(64));
                let score = [gang.score.own, gang.score.partners, gang.score.deeper].map(|level| level.to_real());
                prop_assert_eq!(score, real(&best.score), "{}", world.text);
                prop_assert_eq!(usize::try_from(gang.score.members).ok(), Some(best.members), "{}", world.text);
            }
            count += judged.len();
            with_sets += judged.iter().filter(|judged| judged.members > 1).count();
        }
        Ok((count, with_sets))
    }

    fn run(cases: u32, are_counted: bool) {
        let (gangs, pools, sets) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let runs = runs(cases);
        let tried = usize::try_from(runs.cases).unwrap();
        proptest!(runs, |(bytes in proptest::collection::vec(any::<u8>(), 20..260))| {
            let world = world(&bytes, 7, are_counted);
            let (found, with_sets) = check(&world)?;
            gangs.set(gangs.get() + found);
            sets.set(sets.get() + with_sets);
            pools.set(pools.get() + usize::from(found > 0));
        });
        let (gangs, pools, sets) = (gangs.get(), pools.get(), sets.get());
        eprintln!("{gangs} gangs in {pools} of {tried} pools, {sets} with two or more members in sets");
        assert!(gangs >= tried && (sets * 3 >= tried || !are_counted), "the pools say too little");
    }

    #[test]
    fn product_pools_have_exactly_the_gangs_of_brute_force() {
        run(3000, false);
    }

    #[test]
    fn counted_ports_have_exactly_the_sets_of_brute_force() {
        run(3000, true);
    }

    /// Job, offer bound through its second port, offer at its first port: everything that one of them can know of another
    /// through a third.
    #[test]
    fn looking_early_loses_no_gang() {
        let jobs = [
            "Ports = {[Label = x; Constraint = WISH]}",
            "Ports = {[Label = x; Echo = x.Host; Constraint = WISH]}",
            "Ports = {[Label = x; Echo = x.N.Z; Constraint = WISH]}",
            "Ports = {[Label = x; Echo = eval(\"x.Host\"); Constraint = WISH]}",
            "Ports = {[Label = x; Copy = self; Echo = Copy.x.Host; Constraint = WISH]}",
            "Echo = x.Host; x = [Host = 1]; Ports = {[Label = x; Constraint = WISH]}",
            "Echo = other.Host; Requirements = WISH",
        ];
        let wishes = [
            "true",
            "x.Host == 1",
            "x[\"Ho\" \"st\"] == 1",
            "x[strcat(\"Ho\", \"st\")] == 1",
            "x.'Ho''st' == 1",
            "x.N.Z == 1",
            "eval(\"x.Host\") == 1",
            "size(x.Members) == 1",
            "countMatches(Wish, {x}) == 1",
            "{x}[0].Host == 1",
            "x.Copy.Host == 1",
        ];
        let ports = [
            "",
            "Host = q.A;",
            "Host = Q.A;",
            "N = [Z = q.A];",
            "Host = size(Members);",
            "Host = eval(\"q.A\");",
            "Copy = self; Host = q.A;",
            "N = [A = 1; Z = parent.Up]; Up = q.A;",
        ];
        let constraints = [
            "true",
            "q.A == 1",
            "Host == 1",
            "self.Host == 1",
            "r.Echo == 1",
            "size(Members) == 1",
            "eval(\"q.A\") == 1",
            "r.x is undefined && r.Echo == 1",
            "countMatches(B, {r}) == 0 && countMatches(Wish, {self}) == 1",
        ];
        let (mut pools, mut gangs) = (0, 0);
        for (job, wish, port, constraint) in all(&jobs, &wishes, &ports, &constraints) {
            let job =
                job.replace("WISH", &if job.contains("other") { wish.replace('x', "other") } else { wish.to_owned() });
            let job = format!("[A = 1; Wish = Host == 1; {job}]");
            let middle = format!(
                "[A = 2; B = q.A; Wish = Host == 1; Ports = {{[Label = q; Constraint = q.Type is \"leaf\"], [Label = r; {port} Constraint = {constraint}]}}]"
            );
            let leaf = "[A = 1; Type = \"leaf\"; Ports = {[Label = t]}]";
            let (found, _) = check(&chain(&[&job, &middle, leaf])).unwrap();
            pools += 1;
            gangs += usize::from(found > 0);
        }
        eprintln!("gangs in {gangs} of {pools} pools");
        assert!(gangs * 5 > pools, "gangs in {gangs} of {pools} pools only");
    }

    fn all<'t>(
        a: &'t [&str],
        b: &'t [&str],
        c: &'t [&str],
        d: &'t [&str],
    ) -> Vec<(&'t str, &'t str, &'t str, &'t str)> {
        let mut out = Vec::new();
        for a in a {
            for b in b {
                for c in c {
                    out.extend(d.iter().map(|d| (*a, *b, *c, *d)));
                }
            }
        }
        out
    }
}
