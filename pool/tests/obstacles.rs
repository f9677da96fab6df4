//! Objects in, the offers that stand in a job's way out: the same with both searches.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crds::{AllowedNamespaces, Disclosure, License, Machine, NamespacesFrom, Port, Res, StopPolicy};
    use gangindex::Engine;
    use matchmaker::{Config, Plain};
    use pool::{CycleInputs, Objects, Obstacles, SnapshotBuilder, explained};
    use serde_json::json;

    use crate::cluster::{expr, job, license, machine, objects, placed, port};

    /// What is said of the only job that waits: sentence, hint and reason; the same whichever search has found that it has no gang.
    fn said(objects: &Objects) -> (String, String, &'static str) {
        let mut builder = SnapshotBuilder::default();
        let pool = builder.build(objects, &CycleInputs::default());
        let unavailable = builder.unavailable(objects);
        let mut all = Vec::new();
        for mut engine in [Engine::default(), Engine::Plain(Plain::default())] {
            let cycle = engine.negotiate(&pool, &Config::product(), 0);
            let unmatched = cycle.unmatched.last().unwrap();
            let found = Obstacles::of(&pool, &unavailable).find(unmatched, &Config::product(), 0).unwrap();
            let said = explained(unmatched, &found);
            // Of a job that nothing stands in the way of, the index can say more than the plain search.
            match found.is_empty() {
                true => all.push((String::new(), String::new(), said.reason)),
                false => all.push((said.why, said.hint, said.reason)),
            }
        }
        assert_eq!(all[0], all[1]);
        all.swap_remove(0)
    }

    fn drained(mut machine: Machine) -> Machine {
        machine.spec.offer.stop_policy = StopPolicy::Hold;
        machine
    }

    fn for_all(mut license: License, namespace: &str) -> License {
        license.spec.offer.allowed_namespaces = Some(AllowedNamespaces { from: NamespacesFrom::All, selector: None });
        placed(license, namespace)
    }

    fn named(mut machine: Machine) -> Machine {
        let name = machine.metadata.name.clone().unwrap();
        machine.spec.ad.attributes = Some([("Host".to_owned(), json!(name))].into());
        machine
    }

    /// Valid on one host only.
    fn node_locked(host: &str) -> License {
        license("calibre", 1, &[port("requester", &format!("requester.Host == \"{host}\""))])
    }

    fn drc(name: &str) -> crds::Job {
        let mut second = port("license", "license.Type == \"License\"");
        second.expressions = Some([("Host".to_owned(), expr("machine.Host").unwrap())].into());
        job(name, &[port("machine", "machine.Type == \"Machine\""), second])
    }

    #[test]
    fn m1_a_drained_license_is_named() {
        let mut vcs = license("vcs", 4, &[port("requester", "true")]);
        vcs.spec.offer.stop_policy = StopPolicy::Hold;
        vcs.spec.ad.attributes = Some([("App".to_owned(), json!("vcs"))].into());
        let mut other = license("spice", 4, &[port("requester", "true")]);
        other.spec.ad.attributes = Some([("App".to_owned(), json!("spice"))].into());
        let wanted = port("license", "license.Type == \"License\" && license.App == \"vcs\"");
        let (why, hint, reason) = said(&objects(&[job("sim", &[wanted])], &[machine("m")], &[vcs, other]));
        assert_eq!(
            why,
            "port `license`: License n/vcs (draining, stopPolicy is Hold) would match, but is not available"
        );
        assert_eq!(hint, "the owner decides when it is available again: see the condition Ready of License n/vcs");
        assert_eq!(reason, "OffersUnavailable");
    }

    /// What its agent would publish is not known, and neither is what reads it.
    #[test]
    fn m1_an_offer_whose_agent_is_silent_is_named_though_its_conditions_read_the_agent() {
        let silent = |constraint: &str| {
            let mut vcs = license("vcs", 4, &[port("requester", constraint)]);
            vcs.spec.ad.expressions = Some(
                [
                    ("Start".to_owned(), expr("ServerUp && requester.Type == \"Job\"").unwrap()),
                    ("Again".to_owned(), expr("Start || false").unwrap()),
                ]
                .into(),
            );
            vcs.spec.offer = serde_json::from_value(json!({
                "claimPolicy": "Agent", "agent": {"username": "a"}, "dynamicAttributes": [{"name": "ServerUp", "type": "Boolean"}],
            }))
            .unwrap();
            vcs
        };
        let sim = || job("sim", &[port("license", "license.Type == \"License\"")]);
        for constraint in ["ServerUp", "Start", "Again", "requester.Type == \"Job\" && my.ServerUp"] {
            let (why, _, reason) = said(&objects(&[sim()], &[], &[silent(constraint)]));
            assert_eq!(
                why, "port `license`: License n/vcs (its agent is silent) would match, but is not available",
                "{constraint}"
            );
            assert_eq!(reason, "OffersUnavailable");
        }
        let (why, _, reason) = said(&objects(&[sim()], &[], &[silent("requester.Owner == \"nobody\" && ServerUp")]));
        assert_eq!((why.as_str(), reason), ("", "NoCandidates"), "it refuses whatever its agent says");
    }

    #[test]
    fn m1_the_drained_host_of_a_node_locked_license_is_named() {
        let machines = [named(machine("b-2")), named(machine("b-3")), drained(named(machine("b-1")))];
        let (why, ..) = said(&objects(&[drc("drc-1")], &machines, &[node_locked("b-1")]));
        assert_eq!(
            why,
            "port `machine`: Machine n/b-1 (draining, stopPolicy is Hold) would match, but is not available"
        );
        let (why, ..) = said(&objects(&[drc("drc-1")], &machines, &[node_locked("elsewhere")]));
        assert_eq!(why, "", "no drained host is to blame for that");
    }

    #[test]
    fn m1_offers_of_other_namespaces_are_counted_and_not_named() {
        let mut vcs = for_all(license("vcs", 4, &[port("requester", "true")]), "eda");
        vcs.spec.offer.stop_policy = StopPolicy::Hold;
        let mut all = objects(&[job("sim", &[port("license", "license.Type == \"License\"")])], &[], &[vcs]);
        let labels = BTreeMap::from([("gangmatch.dev/offers".to_owned(), "cluster".to_owned())]);
        all.namespaces.apply("eda", labels);
        let (why, hint, _) = said(&all);
        assert_eq!(why, "port `license`: 1 offer would match, but is not available");
        assert_eq!(hint, "wait until the offer is available again, or ask its owner");
    }

    #[test]
    fn m1_what_lacks_two_closed_offers_names_both() {
        let mut calibre = node_locked("b-1");
        calibre.spec.offer.stop_policy = StopPolicy::HoldAndDrain;
        let (why, ..) =
            said(&objects(&[drc("drc-1")], &[named(machine("b-2")), drained(named(machine("b-1")))], &[calibre]));
        assert_eq!(
            why,
            "port `machine`: Machine n/b-1 (draining, stopPolicy is Hold) would match, but is not available; port `license`: License \
             n/calibre (evicting, stopPolicy is HoldAndDrain) would match, but is not available"
        );
    }

    #[test]
    fn m2_the_taken_host_of_a_node_locked_license_is_named() {
        let taken = |machine: Machine| -> Machine {
            let mut machine = named(machine);
            let entry = json!({"match": "n/other", "allocation": {"slots": 1}, "vote": "Accepted"});
            machine.status = serde_json::from_value(json!({"claims": {"u1": entry}})).unwrap();
            machine
        };
        let machines = [taken(machine("b-1")), taken(machine("b-2")), named(machine("b-3"))];
        let (why, hint, reason) = said(&objects(&[drc("drc-1")], &machines, &[node_locked("b-1")]));
        assert_eq!(
            why,
            "port `machine`: 2 ads that would match are taken; at `machine`, only Machine n/b-1 fits the partners at the other ports"
        );
        assert_eq!((hint.as_str(), reason), ("", "WaitingForCapacity"));
    }

    #[test]
    fn m3_the_missing_label_of_a_namespace_is_told_beside_the_reason() {
        let mut license = for_all(license("vcs", 4, &[port("requester", "true")]), "eda");
        let wanted: Port = port("license", "license.Type == \"License\"");
        let mut all = objects(&[job("sim", std::slice::from_ref(&wanted))], &[], std::slice::from_ref(&license));
        let (why, hint, reason) = said(&all);
        let told = "port `license`: offers of another namespace would match, but that namespace lacks the label gangmatch.dev/offers=cluster";
        assert!(why.ends_with(&format!("; {told}")), "{why}");
        assert!(hint.ends_with("kubectl label namespace NAMESPACE gangmatch.dev/offers=cluster"), "{hint}");
        assert_eq!(reason, "NoCandidates", "what a stranger offers is not the reason");
        license.spec.offer.disclosure = Disclosure::Full;
        let (of_full, ..) = said(&objects(&[job("sim", &[wanted])], &[], &[license]));
        assert_eq!(of_full, why, "a namespace that is not trusted is not named");
        let labels = BTreeMap::from([("gangmatch.dev/offers".to_owned(), "cluster".to_owned())]);
        all.namespaces.apply("eda", labels);
        let pool = SnapshotBuilder::default().build(&all, &CycleInputs::default());
        assert_eq!(gangindex::negotiate(&pool, &Config::product(), 0).gangs.len(), 1);
    }

    #[test]
    fn m3_offers_of_strangers_do_not_hide_the_closed_one_of_the_job_itself() {
        let mut own = license("vcs", 4, &[port("requester", "true")]);
        own.spec.offer.stop_policy = StopPolicy::Hold;
        let strangers = (0..5).map(|number| {
            for_all(license(&format!("vcs-{number}"), 4, &[port("requester", "true")]), &format!("a-{number}"))
        });
        let licenses: Vec<License> = strangers.chain([own]).collect();
        let (why, hint, _) =
            said(&objects(&[job("sim", &[port("license", "license.Type == \"License\"")])], &[], &licenses));
        assert_eq!(
            why,
            "port `license`: License n/vcs (draining, stopPolicy is Hold) would match, but is not available"
        );
        assert!(hint.starts_with("the owner decides"), "{hint}");
    }

    #[test]
    fn m3_jobs_of_many_namespaces_do_not_use_up_the_steps_of_another() {
        let all_namespaces = AllowedNamespaces { from: NamespacesFrom::All, selector: None };
        let machines: Vec<Machine> = (0..2500)
            .map(|number| {
                let mut machine = drained(named(machine(&format!("m{number}"))));
                machine.spec.offer.allowed_namespaces = Some(all_namespaces.clone());
                machine
            })
            .collect();
        let mut vcs = license("vcs", 4, &[port("requester", "true")]);
        vcs.spec.offer.stop_policy = StopPolicy::Hold;
        let costly = |number: usize| {
            let wanted = port("machine", "machine.Type == \"Machine\" && machine.Host == \"none\"");
            placed(job("costly", &[wanted]), &format!("a-{number}"))
        };
        let sim = job("sim", &[port("license", "license.Type == \"License\"")]);
        let jobs: Vec<crds::Job> = (0..40).map(costly).chain([sim]).collect();
        let mut all = objects(&jobs, &machines, &[vcs]);
        let labels = BTreeMap::from([("gangmatch.dev/offers".to_owned(), "cluster".to_owned())]);
        all.namespaces.apply("n", labels);
        let mut builder = SnapshotBuilder::default();
        let pool = builder.build(&all, &CycleInputs::default());
        let unavailable = builder.unavailable(&all);
        let cycle = gangindex::negotiate(&pool, &Config::product(), 0);
        let mut obstacles = Obstacles::of(&pool, &unavailable);
        let mut find = |of_sim: bool| -> Vec<_> {
            let is_asked = |root| (pool.ad(root).unwrap().key.name == "sim") == of_sim;
            let asked = cycle.unmatched.iter().filter(|unmatched| is_asked(unmatched.root));
            asked.map(|unmatched| obstacles.find(unmatched, &Config::product(), 0)).collect()
        };
        let (costly, sim) = (find(false), find(true));
        assert_eq!(costly, vec![None; 40], "they have used up what is theirs");
        assert!(matches!(&sim[..], [Some(found)] if found.len() == 1), "{sim:?}");
    }

    #[test]
    fn thousands_of_offers_that_are_not_to_blame_cost_little_and_say_nothing_wrong() {
        let mut machines: Vec<Machine> =
            (0..3000).map(|number| drained(named(machine(&format!("m{number}"))))).collect();
        machines.iter_mut().for_each(|machine| machine.spec.capacity = Res::from([("slots".to_owned(), 1)]));
        let wanted = port("machine", "machine.Type == \"Machine\" && machine.Host == \"none\"");
        let all = objects(&[job("j", &[wanted])], &machines, &[]);
        let mut builder = SnapshotBuilder::default();
        let pool = builder.build(&all, &CycleInputs::default());
        let unavailable = builder.unavailable(&all);
        let cycle = gangindex::negotiate(&pool, &Config::product(), 0);
        let found = Obstacles::of(&pool, &unavailable).find(&cycle.unmatched[0], &Config::product(), 0);
        assert_eq!(found, None, "it is not known within the steps");
    }
}
