//! The Rust types read what users and the API server write, and write no more than they must.

#[cfg(test)]
mod tests {
    use crds::{
        Decision, ExprText, Job, JobSpec, JobStatus, License, LicenseSpec, Machine, MachineSpec, Match, OfferStatus,
        Vote,
    };
    use serde_json::{Value, json};

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn an_empty_spec_is_the_default() {
        assert_eq!(read::<JobSpec>(json!({})), JobSpec::default());
        assert_eq!(read::<MachineSpec>(json!({})), MachineSpec::default());
        assert_eq!(read::<LicenseSpec>(json!({})), LicenseSpec::default());
    }

    #[test]
    fn rust_and_the_schema_have_the_same_defaults() {
        for definition in crds::definitions() {
            let definition = serde_json::to_value(definition).unwrap();
            let spec =
                &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
            let written = match definition["spec"]["names"]["kind"].as_str().unwrap() {
                "Job" => json!(JobSpec::default()),
                "Machine" => json!(MachineSpec::default()),
                "License" => json!(LicenseSpec::default()),
                _ => continue,
            };
            for (name, schema) in spec.as_object().unwrap() {
                assert_eq!(schema.get("default"), written.get(name), "{name}");
            }
        }
    }

    #[test]
    fn the_ad_stands_in_the_spec_itself() {
        let job: Job = read(json!({
            "apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": {"name": "sim"},
            "spec": {"attributes": {"Cmd": "sim_app"}, "rank": 0, "ports": [{"label": "cpu", "constraint": "true"}], "priority": 3}
        }));
        assert_eq!(job.spec.ad.rank, Some(ExprText::from(0)));
        assert_eq!(job.spec.ad.ports.as_ref().unwrap()[0].label, "cpu");
        assert_eq!(job.spec.priority, 3);
        let written = serde_json::to_value(&job).unwrap();
        assert_eq!(written["spec"]["attributes"], json!({"Cmd": "sim_app"}));
        assert_eq!(read::<Job>(written), job);
    }

    #[test]
    fn a_partial_status_is_read() {
        let status: OfferStatus =
            read(json!({"claims": {"u": {"match": "grid/sim", "allocation": {"seats": 1}, "vote": "Accepted"}, "v": {}}}));
        assert_eq!(status.claims["u"].vote, Vote::Accepted);
        assert_eq!(status.claims["v"].vote, Vote::Pending);
        assert_eq!(read::<JobStatus>(json!({})), JobStatus::default());
        let found: Match = read(json!({
            "apiVersion": "gangmatch.dev/v1alpha1", "kind": "Match", "metadata": {"name": "m"},
            "spec": {"attempt": 1, "cycle": {"id": "c", "time": "2026-01-01T00:00:00Z", "seed": 1}, "epoch": 1,
                "reserveTimeoutSeconds": 30, "summary": "", "rank": "0", "members": []}
        }));
        assert!(found.status.is_none());
        assert!(!Decision::default().is_terminal() && Decision::Released.is_terminal());
    }

    #[test]
    fn an_empty_status_writes_nothing() {
        assert_eq!(json!(OfferStatus::default()), json!({}));
        assert_eq!(json!(JobStatus::default()), json!({}));
        assert_eq!(json!(crds::MatchStatus::default()), json!({}));
    }

    #[test]
    fn a_claim_writes_its_terms_and_its_vote() {
        let entry = crds::ClaimEntry {
            match_key: "grid/sim".into(),
            allocation: [("seats".to_owned(), 1)].into(),
            ..Default::default()
        };
        assert_eq!(json!(entry), json!({"match": "grid/sim", "allocation": {"seats": 1}, "vote": "Pending"}));
    }

    #[test]
    fn offers_are_read_with_everything() {
        let machine: Machine = read(json!({
            "apiVersion": "gangmatch.dev/v1alpha1", "kind": "Machine", "metadata": {"name": "foo"},
            "spec": {"capacity": {"cpus": 4}, "nodeName": "node-17", "claimPolicy": "Agent", "agent": {"username": "a"},
                "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "eda"}}},
                "dynamicAttributes": [{"name": "LoadAvg", "type": "Real", "minChange": "0.1"}], "stopPolicy": "Hold"},
            "status": {"externalUsage": {"cpus": 1}, "attributes": {"LoadAvg": 0.5}, "state": "Draining"}
        }));
        assert_eq!(machine.spec.offer.agent.as_ref().unwrap().lease_duration_seconds, 200);
        assert_eq!(read::<Machine>(json!(machine)), machine);
        let license: License = read(json!({
            "apiVersion": "gangmatch.dev/v1alpha1", "kind": "License", "metadata": {"name": "sim"},
            "spec": {"sharedBy": "requester.Members[0].NodeName"}
        }));
        assert_eq!(license.spec.capacity["seats"], 1);
    }
}
