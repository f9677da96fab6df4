//! The cases of windows, simulations and traces.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    use serde_json::{Value, json};

    /// The cases of one op; none, loudly, where they are absent.
    fn cases(op: &str) -> Vec<Value> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/conformance/collective/cases-visible.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
            return Vec::new();
        };
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).filter(|case| case["op"] == op).collect()
    }

    /// Judges every case of an op by its answer, of which the case's own expectation is no part.
    fn check(op: &str, judge: fn(&Value, &Value) -> Result<(), String>) {
        let all = cases(op);
        let failed: Vec<String> = all
            .iter()
            .filter_map(|case| {
                let mut request = case.clone();
                request
                    .as_object_mut()
                    .unwrap()
                    .retain(|name, _| !["want", "model", "group", "note"].contains(&name.as_str()));
                let bad = judge(case, &conformance::answer(&request)).err()?;
                Some(format!("{}: {bad}", case["id"]))
            })
            .collect();
        eprintln!("{op} cases: {} passed, {} failed", all.len() - failed.len(), failed.len());
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }

    fn same(got: &Value, want: &Value) -> Result<(), String> {
        if got == want { Ok(()) } else { Err(format!("{got}, not {want}")) }
    }

    fn list(value: &Value) -> &[Value] {
        value.as_array().map_or(&[], Vec::as_slice)
    }

    /// What is left of the clusters of a case; an error if a job does not fit.
    fn fits(case: &Value, assigned: &Value) -> Result<(), String> {
        let by_id = |field: &str| -> BTreeMap<String, Value> {
            list(&case[field]).iter().map(|one| (one["id"].as_str().unwrap().to_owned(), one.clone())).collect()
        };
        let (jobs, mut free) = (by_id("jobs"), by_id("clusters"));
        for (job, cluster) in assigned.as_object().unwrap() {
            let (job, cluster) = (&jobs[job], free.get_mut(cluster.as_str().unwrap()).unwrap());
            let accepted = job.get("accepts").is_none_or(|accepted| list(accepted).contains(&cluster["id"]));
            for amount in ["cpus", "disk", "memory"] {
                let left = cluster[amount].as_u64().unwrap().checked_sub(job[amount].as_u64().unwrap());
                let left =
                    left.filter(|_| accepted).ok_or_else(|| format!("{} does not fit {}", job["id"], cluster["id"]))?;
                cluster[amount] = json!(left);
            }
        }
        Ok(())
    }

    fn judge_placing(case: &Value, got: &Value) -> Result<(), String> {
        let want = &case["want"];
        fits(case, &got["assigned"])?;
        match case["algorithm"].as_str().unwrap() {
            "best" => same(&json!(got["assigned"].as_object().unwrap().len()), &want["count"]),
            "lbm" => {
                let real = |value: &Value| value.as_f64().unwrap();
                let sum: f64 = list(&got["solution"]).iter().map(|one| real(&one[2])).sum();
                let apart = (real(&got["value"]) - real(&want["value"])).abs().max((sum - real(&want["value"])).abs());
                if apart < 1e-6 { Ok(()) } else { Err(format!("{}, not {}", got["value"], want["value"])) }
            }
            _ => same(&got["assigned"], &want["assigned"]).and_then(|()| same(&got["raised"], &want["raised"])),
        }
    }

    #[test]
    fn windows_are_matched_as_the_cases_say() {
        check("placing", judge_placing);
    }

    #[test]
    fn simulations_end_as_the_cases_say() {
        check("gridcam", |case, got| {
            let jobs =
                |answer: &Value| list(&answer["jobs"]).iter().map(ToString::to_string).collect::<BTreeSet<String>>();
            same(&got["metrics"], &case["want"]["metrics"])?;
            if jobs(got) == jobs(&case["want"]) {
                Ok(())
            } else {
                Err(format!("{}, not {}", got["jobs"], case["want"]["jobs"]))
            }
        });
    }

    #[test]
    fn traces_are_drawn_as_the_cases_say() {
        check("trace", |case, got| {
            let (got, want) = (list(&got["jobs"]), list(&case["want"]["jobs"]));
            let near = |one: &Value, other: &Value| one.as_i64().unwrap().abs_diff(other.as_i64().unwrap()) <= 1;
            let agree = |(got, want): (&Value, &Value)| {
                ["id", "cpus", "disk", "memory"].iter().all(|name| got[name] == want[name])
                    && ["arrival", "service"].iter().all(|name| near(&got[name], &want[name]))
            };
            let all = got.len() == want.len() && got.iter().zip(want).all(agree);
            if all { Ok(()) } else { Err(format!("{got:?}, not {want:?}")) }
        });
    }
}
