//! The policy cases.

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    fn cases() -> Option<Vec<Value>> {
        let path =
            PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/policy/cases-visible.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
            return None;
        };
        Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    /// Usages agree within 2 micros, or 1e-9 of the value; everything else exactly.
    fn agrees(key: &str, want: &Value, got: &Value) -> bool {
        if key != "usage" {
            return want == got;
        }
        let numbers =
            |list: &Value| list.as_array().unwrap().iter().map(|usage| usage.as_i64().unwrap()).collect::<Vec<_>>();
        let (want, got) = (numbers(want), numbers(got));
        let is_near = |(want, got): (&i64, &i64)| want.abs_diff(*got) <= (want.unsigned_abs() / 1_000_000_000).max(2);
        want.len() == got.len() && want.iter().zip(&got).all(is_near)
    }

    #[test]
    fn every_policy_case_passes() {
        let Some(cases) = cases() else { return };
        let is_wrong = |case: &&Value| {
            let got = conformance::answer(&case["request"]);
            let want = case["want"].as_object().unwrap();
            let is_refused = got.get("none").is_some() && !want.contains_key("none");
            is_refused || !want.iter().all(|(key, want)| got.get(key).is_some_and(|got| agrees(key, want, got)))
        };
        let failed: Vec<&Value> = cases.iter().filter(is_wrong).map(|case| &case["id"]).collect();
        eprintln!("policy cases: {} passed, {} failed", cases.len() - failed.len(), failed.len());
        assert!(cases.len() > 400, "the case file is not whole");
        assert!(failed.is_empty(), "{failed:?}");
    }
}
