//! A gang into a Match and back.

#[cfg(test)]
mod tests {
    use crds::{LABEL_ATTEMPT, LABEL_ROOT_UID, Match};
    use gangindex::negotiate;
    use matchmaker::{Config, Disagreement, Gang, Snapshot, verify};
    use pool::{CycleInputs, ObjectKey, Objects, Provenance, gang_of, record, snapshot};

    use crate::cluster::{expr, job, license, machine, objects, placed, port};

    fn provenance() -> Provenance {
        let time = jiff::Timestamp::from_second(1_000_000).unwrap();
        Provenance { cycle: "c1".to_owned(), time, seed: 0, epoch: 7 }
    }

    /// A job on a machine with a license, whose seat is shared by machine and which needs a server.
    fn pool_of_four() -> Objects {
        let is = |label: &str, kind: &str, name: &str| {
            port(label, &format!("{label}.Type == \"{kind}\" && {label}.Name == \"{name}\""))
        };
        let mut license = license("l", 2, &[is("server", "Machine", "s"), port("user", "user.Type == \"Job\"")]);
        license.spec.shared_by = expr("requester.Members[0].Name");
        let job = job("j", &[is("cpu", "Machine", "m"), is("seat", "License", "l")]);
        objects(&[job], &[machine("m"), machine("s")], &[license])
    }

    fn matched(objects: &Objects) -> (Snapshot, Gang, Match) {
        let snapshot = snapshot(objects, &CycleInputs::default());
        let mut gangs = negotiate(&snapshot, &Config::product(), 0).gangs;
        let gang = gangs.remove(0);
        let found = record(objects, &snapshot, &gang, &Config::product(), &provenance(), None).unwrap();
        (snapshot, gang, found)
    }

    #[test]
    fn a_match_says_who_is_bound_to_whom_and_what_is_taken() {
        let (_, _, found) = matched(&pool_of_four());
        let lines: Vec<String> = found
            .spec
            .members
            .iter()
            .map(|member| {
                let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
                let parent = member.parent.map_or("-".to_owned(), |parent| parent.to_string());
                format!(
                    "{} {} {} {parent} {} {} {:?} {}",
                    member.id,
                    member.kind,
                    member.name,
                    text(&member.parent_port),
                    text(&member.port),
                    member.allocation,
                    text(&member.share)
                )
            })
            .collect();
        assert_eq!(
            lines,
            [
                "0 Job j - - - None -",
                "1 Machine m 0 cpu other Some({\"slots\": 1}) -",
                "2 License l 0 seat user Some({\"seats\": 1}) m",
                "3 Machine s 2 server other Some({\"slots\": 1}) -",
            ]
        );
        assert_eq!(found.spec.summary, "cpu=n/m seat=n/l server=n/s");
        let labels = found.metadata.labels.unwrap();
        assert_eq!((labels[LABEL_ROOT_UID].as_str(), labels[LABEL_ATTEMPT].as_str()), ("uid-j", "1"));
        assert_eq!(found.metadata.owner_references.unwrap()[0].uid, "uid-j");
    }

    #[test]
    fn a_match_has_the_values_that_the_job_reads_of_offers_and_none_that_is_private() {
        let mut foo = machine("foo");
        foo.spec.ad.attributes = serde_json::from_value(serde_json::json!(
            {"Memory": 64, "Arch": "INTEL", "Load": 0.5, "Cost": 7, "Tags": ["a"], "Unread": 1, "Free2": true, "Long": "x".repeat(2000)}
        ))
        .unwrap();
        foo.spec.ad.expressions =
            Some([("Price".to_owned(), "Cost * 2".into()), ("Whole".to_owned(), "1.0".into())].into());
        foo.spec.ad.constraint = expr("other.Bid isnt Cost");
        foo.spec.ad.private = Some(vec!["cost".to_owned()]);
        let values = |job: crds::Job| {
            let (_, _, found) = matched(&objects(&[job], std::slice::from_ref(&foo), &[]));
            assert!(found.spec.members[0].values.is_empty(), "the job is no offer");
            serde_json::to_string(&found.spec.members[1].values).unwrap()
        };
        let reads = "cpu.memory >= 64 && cpu.Cost is undefined && cpu.Price == 14 && cpu.Load < 1 && size(cpu.Tags) == 1 \
            && cpu.Nosuch is undefined && cpu.Whole is 1.0 && cpu.Long isnt 1";
        let mut with_port = job("j", &[port("cpu", reads)]);
        with_port.spec.ad.ports.as_mut().unwrap()[0].rank = expr("ifThenElse(cpu.Arch == \"INTEL\", 1, 0)");
        assert_eq!(values(with_port), r#"{"Arch":"INTEL","Load":0.5,"Memory":64,"Price":14,"Whole":"/Expr(1.0)/"}"#);
        let mut implicit = job("j", &[]);
        implicit.spec.ad.constraint =
            expr("other.Memory > Any && Free2 && target.Cost is undefined && Cost is undefined");
        assert_eq!(values(implicit), r#"{"Free2":true,"Memory":64}"#);
    }

    #[test]
    fn the_same_gang_comes_back() {
        let objects = pool_of_four();
        let (before, gang, found) = matched(&objects);
        let recalled = gang_of(&found, &objects).unwrap();
        let keys = |snapshot: &Snapshot, gang: &Gang| -> Vec<_> {
            let member = |member: &matchmaker::Member| {
                (snapshot.ad(member.ad).unwrap().key.clone(), member.edge, member.ask.clone())
            };
            gang.members.iter().map(member).collect()
        };
        assert_eq!(keys(&recalled.snapshot, &recalled.gang), keys(&before, &gang));
        assert_eq!(verify(&recalled.snapshot, &recalled.gang, &Config::product(), 0), Ok(()));
    }

    #[test]
    fn names_are_made_of_the_job_and_the_attempt() {
        let mut objects = pool_of_four();
        let (snapshot, gang, first) = matched(&objects);
        assert_eq!(matched(&objects).2, first);
        objects.matches.put(first.clone());
        let second = record(&objects, &snapshot, &gang, &Config::product(), &provenance(), None).unwrap();
        assert_eq!(second.spec.attempt, 2);
        assert_ne!(second.metadata.name, first.metadata.name);
    }

    #[test]
    fn a_member_that_is_gone_or_another_ends_it() {
        let objects = pool_of_four();
        let (snapshot, gang, found) = matched(&objects);
        for name in ["m", "s"] {
            let mut fewer = objects.clone();
            fewer.machines.remove(&ObjectKey::new("n", name));
            assert!(gang_of(&found, &fewer).is_none());
            assert!(record(&fewer, &snapshot, &gang, &Config::product(), &provenance(), None).is_none());
            let mut namesake = placed(machine(name), "n");
            namesake.metadata.uid = Some("another".to_owned());
            fewer.machines.put(namesake);
            assert!(gang_of(&found, &fewer).is_none());
            assert!(record(&fewer, &snapshot, &gang, &Config::product(), &provenance(), None).is_none());
        }
    }

    #[test]
    fn a_member_that_has_changed_its_mind_is_found_out() {
        let mut objects = pool_of_four();
        let (_, _, found) = matched(&objects);
        let mut closed = machine("m");
        closed.spec.ad.constraint = expr("other.Type == \"Nobody\"");
        objects.machines.put(closed);
        let recalled = gang_of(&found, &objects).unwrap();
        let verdict = verify(&recalled.snapshot, &recalled.gang, &Config::product(), 0);
        assert!(matches!(verdict, Err(Disagreement::ChildRefuses(key)) if key.name == "m"));
        let mut renamed = license("l", 2, &[port("server", "true"), port("customer", "true")]);
        renamed.spec.shared_by = None;
        objects.licenses.put(renamed);
        assert!(gang_of(&found, &objects).is_none(), "the port `user` is no more");
    }
}
