//! What preemption is decided on: the gangs that are claimed.

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crds::{Job, Match, PoolPolicy};
    use gangindex::negotiate;
    use matchmaker::{Config, HeldGang, Snapshot};
    use policy::{CHARGE, GANGS};
    use pool::{
        AccountsBuilder, CycleInputs, Objects, PreemptionInput, Provenance, preemption_input, record, snapshot,
    };
    use serde_json::{Value, json};

    use crate::cluster::{expr, job, license, machine, objects, port};

    const NOW: i64 = 1_000_000;

    fn policy() -> PoolPolicy {
        serde_json::from_value(json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "PoolPolicy",
            "metadata": {"name": "pool", "uid": "p"}, "spec": {"preemption": {"mode": "On", "reasons": ["Share"]}}}))
        .unwrap()
    }

    fn ports(labels: [&str; 2]) -> Vec<crds::Port> {
        let kinds = ["Machine", "License"];
        labels.iter().zip(kinds).map(|(label, kind)| port(label, &format!("{label}.Type == \"{kind}\""))).collect()
    }

    /// A job that holds a machine and a seat, by a Match in this state.
    fn claimed(status: &Value) -> Objects {
        let mut objects = objects(&[job("j", &ports(["cpu", "seat"]))], &[machine("m")], &[license("l", 2, &[])]);
        objects.accounts.apply_policy(policy());
        let pool = with_policy(&objects);
        let gang = negotiate(&pool, &Config::product(), NOW).gangs.remove(0);
        let time = jiff::Timestamp::from_second(NOW).unwrap();
        let provenance = Provenance { cycle: "c1".to_owned(), time, seed: 0, epoch: 7 };
        let charges = [1_000_000, 2_000_000];
        let found = record(&objects, &pool, &gang, &Config::product(), &provenance, Some(&charges)).unwrap();
        let mut found = serde_json::to_value(&found).unwrap();
        found["metadata"]["uid"] = json!("uid-match");
        found["status"] = status.clone();
        objects.matches.put(serde_json::from_value::<Match>(found).unwrap());
        objects
    }

    fn committed() -> Objects {
        claimed(&json!({"decision": "Committed", "committedAt": "2026-11-21T14:00:00Z"}))
    }

    fn with_policy(objects: &Objects) -> Snapshot {
        let mut pool = snapshot(objects, &CycleInputs::default());
        pool.accounts = AccountsBuilder::default().build(objects, &pool, &[], &Default::default()).map(Arc::new);
        pool
    }

    fn input(objects: &Objects) -> (Snapshot, PreemptionInput) {
        let pool = with_policy(objects);
        let input = preemption_input(objects, &pool).unwrap();
        (pool, input)
    }

    /// What a claimed gang gives back when it ends, by offer.
    fn gives_back(pool: &Snapshot, held: &HeldGang) -> Vec<String> {
        let members = held.gang.members.iter().skip(1);
        members.map(|member| format!("{} {:?}", pool.ad(member.ad).unwrap().key.name, member.ask.allocation)).collect()
    }

    fn edited(objects: &mut Objects, edit: impl Fn(&mut Job)) {
        let mut job = objects.jobs.iter().next().map(|(_, held)| Job::clone(&held.object)).unwrap();
        job.metadata.generation = Some(4);
        edit(&mut job);
        objects.put(job);
    }

    #[test]
    fn a1_who_edits_a_job_goes_on_holding_what_was_claimed_and_can_be_preempted() {
        let (pool, before) = input(&committed());
        let [held] = &before.held[..] else { panic!("{before:?}") };
        let offers = gives_back(&pool, held);
        assert_eq!((offers.len(), held.takes[CHARGE]), (2, 3_000_000));
        type Edit = (&'static str, fn(&mut Job));
        let edits: [Edit; 4] = [
            ("labels", |job| job.spec.ad.ports = Some(ports(["node", "token"]))),
            ("no ports", |job| job.spec.ad.ports = Some(ports(["cpu", "seat"])[..1].to_vec())),
            ("not accepted", |job| job.spec.ad.constraint = expr("1 +")),
            ("priority", |job| job.spec.priority = 7),
        ];
        for (what, edit) in edits {
            let mut objects = committed();
            edited(&mut objects, edit);
            let (pool, input) = input(&objects);
            let [held] = &input.held[..] else { panic!("{what}: {input:?}") };
            assert_eq!(gives_back(&pool, held), offers, "{what}");
            assert_eq!((&held.takes, held.since), (&before.held[0].takes, before.held[0].since), "{what}");
        }
    }

    #[test]
    fn a1_an_offer_that_is_gone_protects_nobody_who_holds_it() {
        let mut objects = committed();
        objects.machines.remove(&pool::ObjectKey::new("n", "m"));
        let (pool, input) = input(&objects);
        let [held] = &input.held[..] else { panic!("{input:?}") };
        assert_eq!(gives_back(&pool, held).len(), 1, "the seat");
        assert_eq!(held.takes[CHARGE], 3_000_000, "it costs what it has cost");
    }

    #[test]
    fn a3_a_claim_that_waits_for_votes_is_held_by_its_account_from_the_beginning() {
        for state in [json!({}), json!({"decision": "Pending"})] {
            let pool = with_policy(&claimed(&state));
            let accounts = pool.accounts.as_ref().unwrap();
            let account = accounts.tree.accounts().iter().find(|account| account.name == "ns-n").unwrap();
            assert_eq!((account.held[CHARGE], account.held[GANGS]), (3_000_000, 1), "{state}");
        }
        let aborted = with_policy(&claimed(&json!({"decision": "Aborted"})));
        let held = |account: &policy::Account| account.held.get(CHARGE).copied().unwrap_or(0);
        assert_eq!(aborted.accounts.as_ref().unwrap().tree.accounts().iter().map(held).sum::<policy::Amount>(), 0);
    }
    /// The machine or the licence has the entry of the claim, or has none.
    fn with_entries(objects: &mut Objects, [of_machine, of_licence]: [bool; 2]) {
        let status = |is_there: bool| {
            let claims = if is_there { json!({"uid-match": {"match": "n/j"}}) } else { json!({}) };
            serde_json::from_value(json!({"claims": claims})).unwrap()
        };
        let (mut machine, mut licence) = (machine("m"), license("l", 2, &[]));
        (machine.status, licence.status) = (Some(status(of_machine)), Some(status(of_licence)));
        objects.put(machine);
        objects.put(licence);
    }

    #[test]
    fn x2_a_claim_whose_match_was_deleted_counts_and_is_waited_for_until_its_last_entry_is_gone() {
        let mut objects = committed();
        with_entries(&mut objects, [true, true]);
        let found = Match::clone(objects.matches.values().next().unwrap());
        objects.matches.delete(&found);
        let mut ending = |entries: [bool; 2]| {
            with_entries(&mut objects, entries);
            objects.take_changes();
            let (pool, input) = input(&objects);
            let accounts = pool.accounts.as_ref().unwrap();
            let account = accounts.tree.accounts().iter().find(|account| account.name == "ns-n").unwrap();
            let held = [CHARGE, GANGS].map(|what| account.held.get(what).copied().unwrap_or(0));
            assert!(input.held.is_empty(), "no victim: {input:?}");
            (
                held,
                input.ending.iter().map(|held| gives_back(&pool, held)).map(|offers| offers.len()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(ending([true, true]), ([3_000_000, 1], vec![2]));
        assert_eq!(ending([false, true]), ([3_000_000, 1], vec![2]), "what it costs ends with its last entry");
        assert_eq!(ending([false, false]), ([0, 0], vec![]));
        assert_eq!(ending([true, false]), ([0, 0], vec![]), "its end is not forgotten");
    }
}
