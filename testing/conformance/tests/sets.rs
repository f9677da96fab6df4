//! The cases of counted ports.

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    fn cases() -> Option<Vec<Value>> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/conformance/collective/cases-visible.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
            return None;
        };
        let cases = text.lines().map(|line| serde_json::from_str(line).unwrap());
        Some(cases.filter(|case: &Value| case["op"] == "sets").collect())
    }

    #[test]
    fn every_case_of_sets_passes() {
        let Some(cases) = cases() else { return };
        let judge = |case: &Value| {
            let (want, got) = (&case["want"], conformance::answer(case));
            let same = |field: &str| want[field] == got[field];
            let passes = same("count") && same("best") && (want.get("short").is_none() || same("short"));
            (!passes).then(|| format!("{}: {got}, want {want}", case["id"]))
        };
        let failed: Vec<String> = cases.iter().filter_map(judge).collect();
        eprintln!("cases of sets: {} passed, {} failed", cases.len() - failed.len(), failed.len());
        assert!(cases.len() >= 60 && failed.is_empty(), "{}", failed.join("\n"));
    }
}
