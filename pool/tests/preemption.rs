//! What preemption is decided on: the gangs that are claimed.

#[cfg(test)]
mod cluster;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crds::{Job, Match, PoolPolicy};
    use gangindex::negotiate;
    use matchmaker::{Config, HeldGang, Snapshot};
    use policy::{CHARGE, GANGS};
    use pool::{CycleInputs, Objects, PolicyBuilder, PreemptionInput, Provenance, preemption_input, record, snapshot};
    use serde_json::{Value, json};

    use super::cluster::{expr, job, license, machine, objects, port};

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
        objects.apply_pool_policy(policy());
        let pool = with_policy(&objects);
        let gang = negotiate(&pool, &Config::product(), NOW).gangs.remove(0);
        let time = jiff::Timestamp::from_second(NOW).unwrap();
        let provenance = Provenance { cycle: "c1".to_owned(), time, seed: 0, epoch: 7 };
        let charges = [1_000_000, 2_000_000];
        let found = record(&objects, &pool, &gang, &Config::product(), &provenance, Some(&charges)).unwrap();
        let mut found = serde_json::to_value(&found).unwrap();
        found["metadata"]["uid"] = json!("uid-match");
        found["status"] = status.clone();
        objects.put_match(serde_json::from_value::<Match>(found).unwrap());
        objects
    }

    fn committed() -> Objects {
        claimed(&json!({"decision": "Committed", "committedAt": "2026-11-21T14:00:00Z"}))
    }

    fn with_policy(objects: &Objects) -> Snapshot {
        let mut pool = snapshot(objects, &CycleInputs::default());
        pool.policy = PolicyBuilder::default().build(objects, &pool, &[], &Default::default()).map(Arc::new);
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
            let policy = pool.policy.as_ref().unwrap();
            let account = policy.tree.accounts().iter().find(|account| account.name == "ns-n").unwrap();
            assert_eq!((account.held[CHARGE], account.held[GANGS]), (3_000_000, 1), "{state}");
        }
        let aborted = with_policy(&claimed(&json!({"decision": "Aborted"})));
        let held = |account: &policy::Account| account.held.get(CHARGE).copied().unwrap_or(0);
        assert_eq!(aborted.policy.as_ref().unwrap().tree.accounts().iter().map(held).sum::<policy::Amount>(), 0);
    }
}
