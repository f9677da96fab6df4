//! The gang cases, each in both modes.

/// The plain search makes many small values.
#[cfg(test)]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::PathBuf;

    use serde_json::{Value, json};

    fn cases() -> Option<Vec<Value>> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance/visible/gang.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
            return None;
        };
        Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
    }

    fn ask(case: &Value, mode: &str) -> Value {
        let (ads, roots) = (&case["ads"], &case["roots"]);
        conformance::answer(
            &json!({"op": "gang", "mode": mode, "ads": ads, "roots": roots, "cap": case["cap"], "list": case["list"]}),
        )
    }

    fn list(value: &Value) -> &[Value] {
        value.as_array().map_or(&[], Vec::as_slice)
    }

    fn lines(value: &Value) -> BTreeSet<&str> {
        list(value).iter().map(|line| line.as_str().unwrap()).collect()
    }

    /// The ads of a gang on one line: what stands before the first bracket and after each `>`, up to its last dot.
    fn members(line: &str) -> Vec<&str> {
        let mut words = line.split('>').map(|part| part.split(['(', ')', ',']).next().unwrap());
        let root = words.next().unwrap();
        std::iter::once(root).chain(words.map(|word| word.rsplit_once('.').unwrap().0)).collect()
    }

    fn close(want: f64, got: f64) -> bool {
        (want - got).abs() <= 1e-9 * want.abs().max(got.abs()).max(1e-300)
    }

    fn check_each(case: &Value, answer: &Value) -> Vec<String> {
        let mut bad = Vec::new();
        for want in list(&case["each"]) {
            let root = &want["root"];
            let Some(got) = list(&answer["each"]).iter().find(|got| got["root"] == *root) else {
                bad.push(format!("{root}: no answer"));
                continue;
            };
            if got["count"] != want["count"] {
                bad.push(format!("{root}: count {}, want {}", got["count"], want["count"]));
            } else if want.get("gangs").is_some() && lines(&got["gangs"]) != lines(&want["gangs"]) {
                bad.push(format!("{root}: other gangs"));
            }
            let Some(best) = want.get("best") else { continue };
            let rank = |value: &Value| value["rank"].as_f64().unwrap_or(f64::NAN);
            if !close(rank(best), rank(&got["best"])) {
                bad.push(format!("{root}: best rank {}, want {}", got["best"]["rank"], best["rank"]));
            } else if best.get("gangs").is_some() && lines(&got["best"]["gangs"]) != lines(&best["gangs"]) {
                bad.push(format!("{root}: other best gangs"));
            }
        }
        bad
    }

    /// Each gang is one of the root's, no ad is taken twice, and no root goes without while a gang is free.
    fn check_sequence(case: &Value, answer: &Value) -> Vec<String> {
        let (mut bad, mut used, mut matched) = (Vec::new(), BTreeSet::new(), 0);
        for (want, got) in list(&case["roots"]).iter().zip(list(&answer["sequence"])) {
            assert_eq!(*want, got["root"], "the roots in order");
            let each = list(&case["each"]).iter().find(|each| each["root"] == *want).unwrap();
            let all = each.get("gangs").map(lines);
            let root = want.as_str().unwrap();
            let Some(line) = got["gang"].as_str() else {
                let free = |line: &&str| members(line).iter().all(|member| !used.contains(*member));
                if !used.contains(root) && all.is_some_and(|all| all.iter().any(free)) {
                    bad.push(format!("{root} left out although a gang was free"));
                }
                continue;
            };
            if all.is_some_and(|all| !all.contains(line)) {
                bad.push(format!("{root}: no gang of its: {line}"));
            }
            for member in members(line) {
                if !used.insert(member.to_owned()) {
                    bad.push(format!("{root}: {member} is taken twice: {line}"));
                }
            }
            matched += 1;
        }
        if list(&answer["sequence"]).len() != list(&case["roots"]).len() {
            bad.push("not all roots are answered".to_owned());
        }
        if case["max_roots"].as_u64().is_some_and(|most| matched > most) {
            bad.push(format!("{matched} roots matched, more than is possible"));
        }
        bad
    }

    fn run(mode: &str, check: fn(&Value, &Value) -> Vec<String>) {
        let Some(cases) = cases() else { return };
        let judge = |case: &Value| {
            let bad = check(case, &ask(case, mode));
            (!bad.is_empty()).then(|| format!("{} ({}): {}", case["id"], case["group"], bad.join("; ")))
        };
        // A few cases take most of the time: every second one to each thread.
        let failed: Vec<String> = std::thread::scope(|scope| {
            let (cases, judge) = (&cases, &judge);
            let share =
                |turn: usize| scope.spawn(move || cases.iter().skip(turn).step_by(4).filter_map(judge).collect());
            let threads: Vec<std::thread::ScopedJoinHandle<'_, Vec<String>>> = (0..4).map(share).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        eprintln!("gang cases, mode {mode}: {} passed, {} failed", cases.len() - failed.len(), failed.len());
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }

    #[test]
    fn every_root_alone_has_the_stated_gangs() {
        run("each", check_each);
    }

    #[test]
    fn roots_in_sequence_get_consistent_gangs() {
        run("sequence", check_sequence);
    }
}
