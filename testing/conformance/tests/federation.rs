//! The cases about the RN-Tree: the same tree, and the same search in it. The cases about summaries: published as the reference does, and
//! no stricter and no weaker than it.

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::Value;

    fn cases(ops: &[&str]) -> Option<Vec<Value>> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/conformance/federation/cases-visible.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
            return None;
        };
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        Some(all.filter(|case| ops.contains(&case["op"].as_str().unwrap())).collect())
    }

    /// Numbers are equal if they are so up to their last digits; `9007199254740994.0` and the integer are one.
    fn same(want: &Value, got: &Value) -> bool {
        match (want, got) {
            (Value::Number(want), Value::Number(got)) => {
                let (want, got) = (want.as_f64().unwrap(), got.as_f64().unwrap());
                (want - got).abs() <= 1e-9 * want.abs().max(got.abs())
            }
            (Value::Object(want), Value::Object(got)) => {
                want.len() == got.len()
                    && want.iter().all(|(key, want)| got.get(key).is_some_and(|got| same(want, got)))
            }
            (Value::Array(want), Value::Array(got)) => {
                want.len() == got.len() && want.iter().zip(got).all(|(want, got)| same(want, got))
            }
            (want, got) => want == got,
        }
    }

    fn check(case: &Value) -> Vec<String> {
        let (want, got) = (&case["want"], conformance::answer(case));
        let mut wrong = Vec::new();
        if !same(&want["summary"], &got["summary"]) {
            wrong.push(format!("summary {}, want {}", got["summary"], want["summary"]));
        }
        for (place, must) in want["must"].as_array().into_iter().flatten().enumerate() {
            let may = got["may"][place].as_bool().unwrap();
            if must == "may" && !may || must == "cannot" && may {
                wrong.push(format!("`{}`: {may}, must be {must}", case["constraints"][place]));
            }
        }
        if want["now"].is_boolean() && want["now"] != got["now"] {
            wrong.push(format!("now: {}", got["now"]));
        }
        wrong.into_iter().map(|wrong| format!("{}: {wrong}", case["id"])).collect()
    }

    #[test]
    fn every_tree_and_every_search_is_that_of_the_cases() {
        let Some(cases) = cases(&["rntree"]) else { return };
        let wrong = |case: &&Value| {
            let got = conformance::answer(case);
            let want = case["want"].as_object().unwrap();
            want.iter().any(|(field, want)| !same(want, &got[field]))
        };
        let wrong: Vec<&Value> = cases.iter().filter(wrong).map(|case| &case["id"]).collect();
        assert!(wrong.is_empty() && cases.len() >= 60, "{} of {}: {wrong:?}", wrong.len(), cases.len());
    }

    #[test]
    fn every_case_of_a_summary_passes() {
        let Some(cases) = cases(&["summary", "merge"]) else { return };
        let wrong: Vec<String> = cases.iter().flat_map(check).collect();
        assert!(wrong.is_empty() && cases.len() >= 100, "{} of {}: {wrong:#?}", wrong.len(), cases.len());
    }
}
