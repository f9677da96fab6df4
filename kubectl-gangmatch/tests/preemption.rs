//! What `match` says of preemption in a pool that was saved with its claims, and that what is nominated is given to nobody else.

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::process::Command;

    use serde_json::{Value, json};

    fn object(kind: &str, name: &str, spec: &Value, status: &Value) -> Value {
        let metadata = json!({"namespace": "pool", "name": name, "uid": format!("u-{name}"), "generation": 1,
            "creationTimestamp": "2026-11-21T10:00:00Z"});
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec, "status": status})
    }

    fn job(name: &str, priority: i32, status: &Value) -> Value {
        let spec = json!({"constraint": "other.Type == \"Machine\"", "priority": priority, "owner": name});
        object("Job", name, &spec, status)
    }

    fn members(job: &str) -> Value {
        json!([
            {"id": 0, "kind": "Job", "namespace": "pool", "name": job, "uid": format!("u-{job}"), "generation": 1},
            {"id": 1, "kind": "Machine", "namespace": "pool", "name": "m", "uid": "u-m", "generation": 1, "parent": 0,
             "parentPort": "other", "port": "other", "allocation": {"slots": 1}, "charge": "1.000000"}])
    }

    /// A machine that `low` holds since ten o'clock, and two jobs that wait, `high` with this status.
    fn pool(mode: &str, high: &Value) -> Vec<Value> {
        let claim = json!({"claim": {"match": "low-1", "uid": "u-low-1"}});
        let entry = json!({"u-low-1": {"match": "pool/low-1", "allocation": {"slots": 1}, "vote": "Accepted"}});
        let found = json!({"attempt": 1, "cycle": {"id": "1", "time": "2026-11-21T10:00:00Z", "seed": 1}, "epoch": 0,
            "reserveTimeoutSeconds": 30, "summary": "other=pool/m", "rank": "0", "members": members("low")});
        let committed = json!({"decision": "Committed", "committedAt": "2026-11-21T10:00:00Z"});
        let preemption = json!({"preemption": {"mode": mode, "reasons": ["Priority"]}});
        let policy = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "PoolPolicy", "metadata": {"name": "pool"},
            "spec": preemption});
        vec![
            policy,
            object("Machine", "m", &json!({"constraint": "true"}), &json!({"claims": entry})),
            object("Match", "low-1", &found, &committed),
            job("low", 0, &claim),
            job("high", 10, high),
            job("next", 5, &json!({})),
        ]
    }

    fn matched(name: &str, objects: &[Value], now: &str) -> String {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        std::fs::write(folder.join("pool.json"), list.to_string()).unwrap();
        let arguments = ["match", "-f", "pool.json", "--now", now];
        let output =
            Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).args(arguments).current_dir(folder).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && errors.is_empty(), "{errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn who_would_be_preempted_is_told_and_only_for_the_first_in_line() {
        let said = "pool/high can have other=pool/m after preemption by priority of the gang of pool/low.\n";
        let printed = matched("who", &pool("On", &json!({})), "2026-11-21T14:00:00Z");
        assert!(printed.contains(said) && !printed.contains("pool/next can have"), "{printed}");
        // Not before it has run for as long as it is left alone, and not where preemption is off.
        let young = matched("young", &pool("On", &json!({})), "2026-11-21T10:04:59Z");
        let off = matched("off", &pool("Off", &json!({})), "2026-11-21T14:00:00Z");
        assert!(!young.contains("preemption") && !off.contains("preemption"), "{young}{off}");
    }

    #[test]
    fn simulate_tells_who_would_be_preempted_for_a_job_that_is_not_submitted_yet() {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
        let snapshot = json!({"format": "gangmatch-snapshot", "version": 1, "time": "2026-11-21T14:00:00Z", "notes": [],
            "items": pool("On", &json!({}))});
        std::fs::write(folder.join("busy.json"), snapshot.to_string()).unwrap();
        let simulated = |name: &str, namespace: &str| {
            let mut new = job(name, 20, &json!({}));
            new["metadata"]["namespace"] = json!(namespace);
            std::fs::write(folder.join("new.json"), new.to_string()).unwrap();
            let arguments = ["simulate", "-f", "new.json", "--snapshot", "busy.json"];
            let program = env!("CARGO_BIN_EXE_kubectl-gangmatch");
            let output = Command::new(program).args(arguments).current_dir(&folder).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            String::from_utf8(text).unwrap()
        };
        let own = simulated("urgent", "pool");
        assert!(own.contains("\nPreemption by priority would stop the gang of pool/low for it.\n"), "{own}");
    }

    /// `low` holds one machine until three o'clock, the other one is free, and both are held for `big`.
    fn reserved() -> Vec<Value> {
        let mut gang = members("big");
        gang[1]["parentPort"] = json!("a");
        let mut second = gang[1].clone();
        for (field, value) in
            [("id", json!(2)), ("name", json!("n")), ("uid", json!("u-n")), ("parentPort", json!("b"))]
        {
            second[field] = value;
        }
        gang.as_array_mut().unwrap().push(second);
        let nomination = json!({"kind": "Reservation", "time": "2026-11-21T13:00:00Z", "gang": gang, "victims": []});
        let port = |label: &str| json!({"label": label, "constraint": format!("{label}.Type == \"Machine\"")});
        let spec = json!({"ports": [port("a"), port("b")], "owner": "big"});
        let big = object("Job", "big", &spec, &json!({"nomination": nomination}));
        let mut objects = pool("Off", &json!({}));
        objects.retain(|object| object["kind"] != "Job" || object["metadata"]["name"] == "low");
        objects[0]["spec"] = json!({"reservation": {"afterSeconds": 3600}});
        objects[1]["spec"]["allowedNamespaces"] = json!({"from": "All"});
        objects[3]["spec"]["activeDeadlineSeconds"] = json!(18_000);
        let free = json!({"constraint": "true", "allowedNamespaces": {"from": "All"}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": "pool", "labels": {"gangmatch.dev/offers": "cluster"}}});
        objects.extend([object("Machine", "n", &free, &json!({})), big, namespace]);
        objects
    }

    #[test]
    fn simulate_tells_a_job_for_whom_its_offers_are_held_and_until_when_it_may_use_them() {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("held");
        std::fs::create_dir_all(&folder).unwrap();
        let snapshot = json!({"format": "gangmatch-snapshot", "version": 1, "time": "2026-11-21T14:00:00Z", "notes": [],
            "items": reserved()});
        std::fs::write(folder.join("held.json"), snapshot.to_string()).unwrap();
        let simulated = |namespace: &str, seconds: Option<i64>| -> Value {
            let mut new = job("small", 20, &json!({}));
            new["metadata"]["namespace"] = json!(namespace);
            seconds.into_iter().for_each(|seconds| new["spec"]["activeDeadlineSeconds"] = json!(seconds));
            std::fs::write(folder.join("new.json"), new.to_string()).unwrap();
            let arguments = ["simulate", "-f", "new.json", "--snapshot", "held.json", "-o", "json"];
            let program = env!("CARGO_BIN_EXE_kubectl-gangmatch");
            let output = Command::new(program).args(arguments).current_dir(&folder).output().unwrap();
            let text = [output.stdout, output.stderr].concat();
            let answer: Value =
                serde_json::from_slice(&text).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&text)));
            answer["items"][0].clone()
        };
        let own = simulated("pool", None);
        assert_eq!((&own["state"], &own["reason"]), (&json!("Waits"), &json!("HeldForOthers")), "{own}");
        assert!(own["message"].as_str().unwrap().starts_with("offers are held for another job that has waited long; "));
        let until = "2026-11-21T15:00:00Z";
        assert_eq!(
            (&own["reserved"]["own"], &own["reserved"]["until"]),
            (&json!(["pool/big"]), &json!(until)),
            "{own}"
        );
        let said = "Offers that it could have are held for pool/big, which has waited long. They are free at \
                    2026-11-21T15:00:00Z at the latest; until then, a job may use them if its activeDeadlineSeconds and \
                    reserveTimeoutSeconds end before that.";
        assert_eq!(own["reserved"]["message"], said);
        // A tenant learns that there is another one, and not which.
        let other = simulated("else", None);
        assert_eq!((&other["reserved"]["own"], &other["reserved"]["others"]), (&json!([]), &json!(1)), "{other}");
        assert!(!other.to_string().contains("big"), "{other}");
        // One that ends in time uses what is held, and one that ends a moment later does not.
        assert_eq!(simulated("pool", Some(3_570))["state"], "Matched");
        assert_eq!(simulated("pool", Some(3_571))["reason"], "HeldForOthers");
    }

    #[test]
    fn for_which_job_offers_are_held_is_told() {
        let mut objects = pool("Off", &json!({}));
        objects[0]["spec"] = json!({"reservation": {"afterSeconds": 3600}});
        let said = "pool/high has waited long: other=pool/m is held for it, and it is not known when it is free.\n";
        let printed = matched("reserved", &objects, "2026-11-21T14:00:00Z");
        assert!(printed.contains(said) && printed.matches("has waited long").count() == 1, "{printed}");
        assert!(!matched("early", &objects, "2026-11-21T10:59:59Z").contains("has waited long"));
        objects[3]["spec"]["activeDeadlineSeconds"] = json!(18_000);
        let printed = matched("known", &objects, "2026-11-21T14:00:00Z");
        assert!(printed.contains("is held for it, and it is free at 2026-11-21T15:00:00Z at the latest."), "{printed}");
    }

    #[test]
    fn what_is_nominated_is_given_to_nobody_else() {
        let nomination = json!({"nomination": {"time": "2026-11-21T13:59:00Z", "mode": "Priority",
            "gang": members("high"), "victims": ["u-low-1"]}});
        let mut objects = pool("On", &nomination);
        objects.retain(|object| {
            !["Match", "Job"].contains(&object["kind"].as_str().unwrap()) || object["metadata"]["name"] != "low"
        });
        objects.retain(|object| object["kind"] != "Match");
        objects[1]["status"] = json!({});
        let printed = matched("nominated", &objects, "2026-11-21T14:00:00Z");
        assert!(!printed.contains("pool/next  "), "the machine is free, and held for the other job: {printed}");
        objects
            .iter_mut()
            .filter(|object| object["metadata"]["name"] == "high")
            .for_each(|job| job["status"] = json!({}));
        let printed = matched("free", &objects, "2026-11-21T14:00:00Z");
        assert!(printed.contains("pool/high"), "{printed}");
    }
}
