//! Objects into a snapshot: who asks, who offers to whom, and what is taken.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use crds::{
        AllowedNamespaces, ClaimEntry, ClaimPolicy, Decision, Job, JobClaim, JobStatus, Machine, Match, MatchStatus,
        NamespacesFrom, OfferStatus, Res, StopPolicy,
    };
    use gangindex::negotiate;
    use matchmaker::{AdKey, Ask, Config};
    use pool::{
        AgentLiveness, AssumedGang, CycleInputs, JobState, ObjectKey, Objects, Provenance, SnapshotBuilder, job_state,
        missing_entries, record, returning, snapshot,
    };

    use crate::cluster::{expr, job, license, machine, objects, placed, port};

    fn matched(objects: &Objects, inputs: &CycleInputs) -> usize {
        negotiate(&snapshot(objects, inputs), &Config::product(), 0).gangs.len()
    }

    fn slot() -> Res {
        Res::from([("slots".to_owned(), 1)])
    }

    fn flight(name: &str, offer: &str) -> AssumedGang {
        let key = AdKey { kind: "Machine".to_owned(), namespace: "n".to_owned(), name: offer.to_owned() };
        AssumedGang {
            match_key: ObjectKey::new("n", name),
            asks: vec![(key, Ask { allocation: slot().into(), share: None })],
            charged: None,
        }
    }

    fn open_to_all(mut machine: Machine) -> Machine {
        machine.spec.offer.allowed_namespaces = Some(AllowedNamespaces { from: NamespacesFrom::All, selector: None });
        machine
    }

    /// The answer to a write may come in after the watch has shown that the object was deleted.
    #[test]
    fn a_late_answer_does_not_bring_back_what_was_deleted() {
        let mut all = objects(&[], &[machine("a")], &[]);
        let key = ObjectKey::new("n", "a");
        let mut late = Machine::clone(&all.machines.get(&key).unwrap().object);
        late.metadata.uid = Some("first".to_owned());
        late.metadata.resource_version = Some("7".to_owned());
        all.machines.put(late.clone());
        all.machines.delete(&late);
        all.machines.put(late.clone());
        assert!(all.machines.get(&key).is_none());
        late.metadata.uid = Some("second".to_owned());
        all.machines.put(late);
        assert!(all.machines.get(&key).is_some(), "one that was made again is another one");
    }

    #[test]
    fn a_label_of_the_namespace_lets_its_offers_out() {
        let here = objects(&[job("j", &[])], &[placed(open_to_all(machine("m")), "far")], &[]);
        assert_eq!(matched(&here, &CycleInputs::default()), 0, "the admin has not said so");
        let mut trusted = here.clone();
        let labels = BTreeMap::from([("gangmatch.dev/offers".to_owned(), "cluster".to_owned())]);
        trusted.namespaces.apply("far", labels);
        assert_eq!(matched(&trusted, &CycleInputs::default()), 1);
        let mut silent = objects(&[job("j", &[])], &[placed(machine("m"), "far")], &[]);
        silent.namespaces = trusted.namespaces.clone();
        assert_eq!(matched(&silent, &CycleInputs::default()), 0, "the owner has not said so");
    }

    #[test]
    fn what_is_closed_is_in_the_snapshot_but_not_taken() {
        let mut drained = machine("m");
        drained.spec.offer.stop_policy = StopPolicy::Hold;
        let mut spoken_for = machine("m");
        spoken_for.spec.offer.claim_policy = ClaimPolicy::Agent;
        for closed in [drained, spoken_for] {
            let objects = objects(&[job("j", &[])], &[closed], &[]);
            assert_eq!(snapshot(&objects, &CycleInputs::default()).ads().count(), 2);
            assert_eq!(matched(&objects, &CycleInputs::default()), 0);
        }
    }

    #[test]
    fn an_agents_offer_is_open_while_its_agent_shows_that_it_is_alive() {
        let lives = |life| Arc::new(BTreeMap::from([((crds::OfferKind::Machine, ObjectKey::new("n", "m")), life)]));
        for (policy, life, open) in [
            (ClaimPolicy::Agent, AgentLiveness::Renewed, 1),
            (ClaimPolicy::Agent, AgentLiveness::Unknown, 0),
            (ClaimPolicy::Agent, AgentLiveness::Expired, 0),
            (ClaimPolicy::Auto, AgentLiveness::Absent, 1),
            (ClaimPolicy::Auto, AgentLiveness::Expired, 0),
        ] {
            let mut offered = machine("m");
            offered.spec.offer.claim_policy = policy;
            let mut here = objects(&[job("j", &[])], &[offered], &[]);
            here.agents = lives(life);
            assert_eq!(matched(&here, &CycleInputs::default()), open, "{policy:?}, {life:?}");
        }
    }

    #[test]
    fn an_offer_that_is_not_proven_free_is_closed() {
        let here = objects(&[job("j", &[])], &[machine("m")], &[]);
        let uid = here.machines.iter().next().unwrap().1.object.metadata.uid.clone().unwrap();
        let inputs = CycleInputs { unverified: BTreeSet::from([uid]), ..CycleInputs::default() };
        assert_eq!((matched(&here, &inputs), matched(&here, &CycleInputs::default())), (0, 1));
    }

    #[test]
    fn a_gang_in_flight_is_counted_until_the_ledger_shows_it() {
        let roomy = |claims: BTreeMap<String, ClaimEntry>| {
            let mut machine = machine("m");
            machine.spec.capacity = Res::from([("slots".to_owned(), 2)]);
            machine.status = Some(OfferStatus { claims, ..OfferStatus::default() });
            objects(&[job("a", &[]), job("b", &[])], &[machine], &[])
        };
        let inputs = CycleInputs { assumed: vec![flight("x-1", "m")], ..CycleInputs::default() };
        assert_eq!(matched(&roomy(BTreeMap::new()), &CycleInputs::default()), 2);
        assert_eq!(matched(&roomy(BTreeMap::new()), &inputs), 1);
        let entry = ClaimEntry { match_key: "n/x-1".to_owned(), allocation: slot(), ..ClaimEntry::default() };
        let shown = roomy(BTreeMap::from([("uid-x-1".to_owned(), entry)]));
        assert_eq!(matched(&shown, &inputs), 1, "once, not twice");
        assert_eq!(matched(&shown, &CycleInputs::default()), 1);
    }

    #[test]
    fn only_jobs_that_wait_ask() {
        let change = |change: fn(&mut Job)| {
            let mut job = job("j", &[]);
            change(&mut job);
            let objects = objects(&[job], &[machine("m")], &[]);
            let state = job_state(objects.jobs.get(&ObjectKey::new("n", "j")).unwrap(), &objects);
            assert_eq!(matched(&objects, &CycleInputs::default()), usize::from(state == JobState::Waits));
            state
        };
        assert_eq!(change(|_| {}), JobState::Waits);
        assert_eq!(change(|job| job.spec.suspend = true), JobState::Suspended);
        assert_eq!(change(|job| job.spec.done = true), JobState::Finished);
        assert_eq!(change(|job| job.spec.ad.constraint = expr("1 +")), JobState::NotAccepted);
        let claimed = |job: &mut Job| {
            let claim = JobClaim { match_name: "j-1".to_owned(), uid: "u".to_owned() };
            job.status = Some(JobStatus { claim: Some(claim), ..JobStatus::default() });
        };
        assert_eq!(change(claimed), JobState::Held);
        let objects = objects(&[job("j", &[])], &[machine("m")], &[]);
        let held_back = CycleInputs { held_back: BTreeSet::from(["uid-j".to_owned()]), ..CycleInputs::default() };
        assert_eq!(matched(&objects, &held_back), 0);
    }

    /// How many roots the next snapshot has, and how many jobs it leaves out; what a cycle finds of it is learnt.
    fn next(builder: &mut SnapshotBuilder, objects: &Objects) -> (usize, usize) {
        next_without(&[], builder, objects)
    }

    /// The same if the offers of some namespaces are left out.
    fn next_without(barred: &[&str], builder: &mut SnapshotBuilder, objects: &Objects) -> (usize, usize) {
        let barred: BTreeSet<String> = barred.iter().map(|name| (*name).to_owned()).collect();
        let inputs = CycleInputs { barred, ..CycleInputs::default() };
        let mut pool = builder.build(objects, &inputs);
        pool.barred = inputs.barred;
        let counts = (pool.roots.len(), builder.unmatchable().len());
        builder.learn(&pool, &negotiate(&pool, &Config::product(), 0), |_| true);
        counts
    }

    /// How many roots the snapshot at a time has, and how many gangs are found; what the cycle finds of it is learnt.
    fn next_at(now_ms: u64, builder: &mut SnapshotBuilder, objects: &Objects) -> (usize, usize) {
        let pool = builder.build(objects, &CycleInputs { now_ms, ..CycleInputs::default() });
        let cycle = negotiate(&pool, &Config::product(), i64::try_from(now_ms / 1000).unwrap());
        builder.learn(&pool, &cycle, |_| true);
        (pool.roots.len(), cycle.gangs.len())
    }

    fn of_eve(mut machine: Machine) -> Machine {
        machine.metadata.namespace = Some("eve".to_owned());
        machine
    }

    #[test]
    fn u1_namespaces_that_are_left_out_keep_no_hopeless_job_in_every_cycle() {
        let mut asking = job("j", &[]);
        asking.spec.ad.constraint = expr("other.M > 1");
        let mut all = objects(&[asking], &[machine("m")], &[]);
        let mut costly = of_eve(open_to_all(machine("m")));
        costly.spec.ad.attributes = Some([("M".to_owned(), 2.into())].into());
        all.machines.put(costly);
        let mut builder = SnapshotBuilder::default();
        let without = |builder: &mut SnapshotBuilder| next_without(&["eve"], builder, &all);
        assert_eq!([(); 3].map(|()| without(&mut builder)), [(1, 0), (0, 1), (0, 1)]);
        assert_eq!(next(&mut builder, &all), (1, 0), "they are back, and may be what it asks for");
    }

    #[test]
    fn u2_offers_that_do_not_admit_a_job_keep_it_in_no_cycle_by_reading_the_clock_or_by_changing() {
        let mut asking = job("j", &[]);
        asking.spec.ad.constraint = expr("other.M > 1");
        let mut all = objects(&[asking], &[machine("m")], &[]);
        let with_clock = |mut machine: Machine| {
            machine.spec.ad.constraint = expr("time() > 0");
            machine
        };
        all.machines.put(with_clock(of_eve(machine("clock"))));
        let mut builder = SnapshotBuilder::default();
        assert_eq!([(); 3].map(|()| next(&mut builder, &all)), [(1, 0), (0, 1), (0, 1)]);
        for name in ["a", "b"] {
            all.machines.put(of_eve(machine(name)));
            assert_eq!(next(&mut builder, &all), (0, 1));
        }
        all.machines.put(machine("another"));
        assert_eq!(next(&mut builder, &all), (1, 0));
    }

    fn asking_for(constraint: &str) -> Job {
        let mut asking = job("j", &[]);
        asking.spec.ad.constraint = expr(constraint);
        asking
    }

    #[test]
    fn u3_an_offer_that_reads_the_clock_brings_a_job_back_less_often_each_time() {
        let mut clock = machine("clock");
        clock.spec.ad.constraint = expr("time() < 0 || random() > 2");
        let all = objects(&[asking_for("other.M > 1")], &[clock], &[]);
        let mut builder = SnapshotBuilder::default();
        let searches = |builder: &mut SnapshotBuilder, from_ms: u64, to_ms: u64| {
            (from_ms..to_ms).step_by(100).filter(|now_ms| next_at(*now_ms, builder, &all).0 == 1).count()
        };
        let first = searches(&mut builder, 0, 60_000);
        assert!((5..=8).contains(&first), "{first} in the first minute");
        let later = searches(&mut builder, 60_000, 360_000);
        assert!((9..=12).contains(&later), "{later} in five minutes");
    }

    #[test]
    fn u3_an_offer_that_becomes_good_as_time_passes_is_found_within_half_a_minute() {
        for good_at in [3, 30, 300, 3000] {
            let mut clock = machine("clock");
            clock.spec.ad.constraint = expr(&format!("time() >= {good_at}"));
            let all = objects(&[asking_for("true")], &[clock], &[]);
            let mut builder = SnapshotBuilder::default();
            let found = (0..).step_by(100).find(|now_ms| next_at(*now_ms, &mut builder, &all).1 == 1).unwrap();
            assert!(
                (good_at * 1000..good_at * 1000 + 30_000).contains(&found),
                "good at {good_at} s, found at {found} ms"
            );
        }
    }

    #[test]
    fn u4_an_offer_that_changes_all_the_time_brings_a_job_back_once_in_two_seconds() {
        let all = |number: u64, m: i64| {
            let mut changing = machine("m");
            let values = [("M".to_owned(), m.into()), ("Load".to_owned(), i64::try_from(number).unwrap().into())];
            changing.spec.ad.attributes = Some(values.into());
            objects(&[asking_for("other.M > 1")], &[changing], &[])
        };
        let (mut builder, mut kept) = (SnapshotBuilder::default(), all(0, 1));
        let mut searches = 0;
        for now_ms in (0..60_000).step_by(100) {
            let changed = all(now_ms, 1).machines.iter().next().map(|(_, held)| Machine::clone(&held.object)).unwrap();
            kept.machines.put(changed);
            searches += next_at(now_ms, &mut builder, &kept).0;
        }
        assert!((30..=40).contains(&searches), "{searches} in a minute");
        let good = all(60_000, 2).machines.iter().next().map(|(_, held)| Machine::clone(&held.object)).unwrap();
        kept.machines.put(good);
        let found = (60_000..).step_by(100).find(|now_ms| next_at(*now_ms, &mut builder, &kept).1 == 1).unwrap();
        assert!(found <= 62_000, "{found}");
        assert!(builder.next_ms().is_none(), "nothing is left to be heeded");
    }

    #[test]
    fn b14_a_job_that_nothing_could_match_is_left_out_until_it_or_an_offer_is_another() {
        let asking = |constraint: &str| {
            let mut job = job("j", &[]);
            job.spec.ad.constraint = expr(constraint);
            job
        };
        let mut all = objects(&[asking("other.M > 1")], &[machine("m")], &[]);
        let mut builder = SnapshotBuilder::default();
        assert_eq!([(); 3].map(|()| next(&mut builder, &all)), [(1, 0), (0, 1), (0, 1)]);
        let mut taken = machine("m");
        let entry = ClaimEntry { match_key: "n/x".to_owned(), allocation: slot(), ..ClaimEntry::default() };
        taken.status =
            Some(OfferStatus { claims: BTreeMap::from([("u".to_owned(), entry)]), ..OfferStatus::default() });
        all.machines.put(taken);
        assert_eq!(next(&mut builder, &all), (0, 1), "what is taken makes no difference");
        let mut held = machine("m");
        held.spec.offer.stop_policy = StopPolicy::Hold;
        for offer in [held, open_to_all(machine("m")), machine("n")] {
            all.machines.put(offer);
            assert_eq!([(); 2].map(|()| next(&mut builder, &all)), [(1, 0), (0, 1)]);
        }
        all.jobs.put(asking("other.M > 2"));
        assert_eq!([(); 2].map(|()| next(&mut builder, &all)), [(1, 0), (0, 1)], "another job under its name");
        let mut done = asking("other.M > 2");
        done.status = Some(JobStatus { finished_at: Some(jiff::Timestamp::UNIX_EPOCH.into()), ..JobStatus::default() });
        all.jobs.put(done);
        assert_eq!(next(&mut builder, &all), (0, 0), "it does not wait any more");
        all.jobs.put(asking("time() > 0 && other.M > 2"));
        assert_eq!([(); 2].map(|()| next(&mut builder, &all)), [(1, 0), (1, 0)], "time may bring it a gang");
    }

    #[test]
    fn the_newer_state_stays() {
        let version = |version: &str, suspend: bool| {
            let mut job = job("j", &[]);
            job.metadata.resource_version = Some(version.to_owned());
            job.spec.suspend = suspend;
            job
        };
        let mut objects = objects(&[version("10", true)], &[machine("m")], &[]);
        objects.jobs.put(version("9", false));
        assert_eq!(matched(&objects, &CycleInputs::default()), 0, "9 is older than 10");
        objects.jobs.put(version("11", false));
        assert_eq!(matched(&objects, &CycleInputs::default()), 1);
    }

    #[test]
    fn an_ad_that_is_none_is_no_offer() {
        let broken = license("l", 1, &[port("my", "true")]);
        let objects = objects(&[job("j", &[])], &[], &[broken]);
        assert_eq!(snapshot(&objects, &CycleInputs::default()).ads().count(), 1);
    }

    /// The Match of the first gang that a cycle finds, with the uid `u`.
    fn first_match(objects: &Objects) -> Match {
        let pool = snapshot(objects, &CycleInputs::default());
        let cycle = negotiate(&pool, &Config::product(), 0);
        let provenance = Provenance { cycle: "1".to_owned(), time: jiff::Timestamp::UNIX_EPOCH, seed: 1, epoch: 1 };
        let mut found = record(objects, &pool, &cycle.gangs[0], &Config::product(), &provenance, None).unwrap();
        found.metadata.uid = Some("u".to_owned());
        found
    }

    #[test]
    fn an_offer_that_has_lost_a_claim_is_closed_until_it_is_back() {
        let mut objects = objects(&[job("j", &[])], &[], &[license("l", 2, &[])]);
        let mut found = first_match(&objects);
        objects.jobs.put(job("next", &[]));
        for (decision, lost) in [(Decision::Pending, 0), (Decision::Committed, 1), (Decision::Released, 0)] {
            found.status = Some(MatchStatus { decision, ..MatchStatus::default() });
            objects.matches.put(found.clone());
            assert_eq!(missing_entries(&objects).len(), lost, "{decision:?}");
            let next = matched(
                &objects,
                &CycleInputs { held_back: BTreeSet::from(["uid-j".to_owned()]), ..CycleInputs::default() },
            );
            assert_eq!(next, 1 - lost, "{decision:?}");
        }
        found.status = Some(MatchStatus { decision: Decision::Committed, ..MatchStatus::default() });
        objects.matches.put(found);
        let mut restored = license("l", 2, &[]);
        let entry = ClaimEntry { allocation: Res::from([("seats".to_owned(), 1)]), ..ClaimEntry::default() };
        let claims = BTreeMap::from([("u".to_owned(), entry)]);
        restored.status = Some(OfferStatus { claims, ..OfferStatus::default() });
        objects.licenses.put(restored);
        assert_eq!(matched(&objects, &CycleInputs::default()), 1, "one seat is left, and only the other job asks");
    }

    #[test]
    fn w1_an_offer_that_was_deleted_makes_no_job_return() {
        let mut objects = objects(&[job("j", &[])], &[], &[license("l", 2, &[])]);
        let mut found = first_match(&objects);
        found.status = Some(MatchStatus { decision: Decision::Released, ..MatchStatus::default() });
        objects.matches.put(found);
        let mut held = job("j", &[]);
        let claim = JobClaim { match_name: "j-1".to_owned(), uid: "u".to_owned() };
        held.status = Some(JobStatus { claim: Some(claim), ..JobStatus::default() });
        objects.jobs.put(held);
        assert_eq!(returning(&objects), BTreeSet::from(["uid-j".to_owned()]), "its seat is free already");
        let mut taken = license("l", 2, &[]);
        let claims = BTreeMap::from([("u".to_owned(), ClaimEntry::default())]);
        taken.status = Some(OfferStatus { claims, ..OfferStatus::default() });
        objects.licenses.put(taken.clone());
        assert!(returning(&objects).is_empty(), "its seat is not free");
        objects.licenses.delete(&taken);
        assert!(returning(&objects).is_empty(), "the offer is gone, and tells nothing of others");
    }
}
