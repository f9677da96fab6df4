//! The cases of collective placing: as many gangs as possible, then the largest sum of ranks, and no submitter gets less than in turn.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    use serde_json::Value;

    /// The cases; none, loudly, where they are absent.
    fn cases() -> Vec<Value> {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../../shared/conformance/collective/cases-visible.jsonl");
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("SKIPPED, NOTHING WAS TESTED: no {}", path.display());
            return Vec::new();
        };
        let all = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        all.filter(|case| case["op"] == "optimum").collect()
    }

    fn list(value: &Value) -> &[Value] {
        value.as_array().map_or(&[], Vec::as_slice)
    }

    fn text(value: &Value) -> &str {
        value.as_str().unwrap_or_default()
    }

    fn number(value: &Value) -> i64 {
        value.as_i64().unwrap_or_default()
    }

    /// The ad of this name in a part of the case's model, which are the numbers that the texts of its ads stand for.
    fn find<'c>(case: &'c Value, part: &str, id: &str) -> Option<&'c Value> {
        list(&case["model"][part]).iter().find(|ad| ad["id"] == id)
    }

    /// The rank of a gang by the numbers of its members; `None` if it is none.
    fn rank(case: &Value, root: &str, members: &[&str]) -> Option<i64> {
        let job = find(case, "jobs", root)?;
        let cpus = usize::try_from(number(&job["cpus"])).ok()?;
        let needs_license = !text(&job["app"]).is_empty();
        if members.len() != cpus + usize::from(needs_license) {
            return None;
        }
        let machines: Option<Vec<&Value>> =
            members[..cpus].iter().map(|machine| find(case, "machines", machine)).collect();
        let machines = machines?;
        let accepts = |machine: &&Value| {
            machine["arch"] == job["arch"]
                && number(&machine["memory"]) >= number(&job["memory"])
                && !list(&machine["refuses"]).contains(&job["owner"])
        };
        let is_valid = |license: &Value| {
            let valid = &license["valid"];
            let at_subnet = valid.get("subnet").is_some_and(|subnet| *subnet == machines[0]["subnet"]);
            let at_host = valid.get("host").is_some_and(|host| *host == machines[0]["id"]);
            license["app"] == job["app"] && (valid.is_null() || at_subnet || at_host)
        };
        let has_license =
            !needs_license || members.last().and_then(|id| find(case, "licenses", id)).is_some_and(is_valid);
        let is_gang = machines.iter().all(accepts) && has_license;
        is_gang.then(|| machines.iter().map(|machine| number(&job["weight"]) * number(&machine["speed"])).sum())
    }

    /// What is wrong with an answer.
    fn judge(case: &Value, answer: &Value) -> Result<(), String> {
        let (roots, want) = (list(&case["roots"]), &case["want"]);
        let (mut taken, mut placed, mut ranks) = (BTreeSet::new(), BTreeSet::new(), 0);
        for gang in answer["gangs"].as_array().ok_or_else(|| format!("no list of gangs: {answer}"))? {
            let members: Vec<&str> = list(&gang["members"]).iter().map(text).collect();
            ranks += rank(case, text(&gang["root"]), &members).ok_or_else(|| format!("{gang} is no gang"))?;
            if !placed.insert(text(&gang["root"])) || !members.iter().all(|member| taken.insert(*member)) {
                return Err(format!("{gang} takes something twice"));
            }
        }
        let mut counts: BTreeMap<i64, i64> = BTreeMap::new();
        for root in roots {
            *counts.entry(-number(&root["band"])).or_default() += i64::from(placed.contains(text(&root["id"])));
        }
        if !counts.into_values().eq(list(&want["counts"]).iter().map(number)) || ranks != number(&want["rank"]) {
            return Err(format!("{answer}, ranks {ranks}: not {want}"));
        }
        if case["fair"] == true {
            is_fair(roots, &placed, &list(&want["inturn"]["roots"]).iter().map(text).collect())?;
        }
        Ok(())
    }

    /// Whether no submitter has less than in turn, and no pinned root is passed over.
    fn is_fair(roots: &[Value], placed: &BTreeSet<&str>, in_turn: &BTreeSet<&str>) -> Result<(), String> {
        for root in roots {
            let counts = |other: &&Value| {
                number(&other["band"]) == number(&root["band"])
                    && other["submitter"] == root["submitter"]
                    && number(&other["priority"]) >= number(&root["priority"])
            };
            let of = |set: &BTreeSet<&str>| {
                roots.iter().filter(counts).filter(|other| set.contains(text(&other["id"]))).count()
            };
            if of(placed) < of(in_turn) {
                return Err(format!("{} instead of {} for {root}", of(placed), of(in_turn)));
            }
            let id = text(&root["id"]);
            if root["pinned"] == true && in_turn.contains(id) && !placed.contains(id) {
                return Err(format!("{id} is pinned and passed over"));
            }
        }
        Ok(())
    }

    #[test]
    fn windows_are_placed_as_well_as_is_possible() {
        let all = cases();
        let mut failed = Vec::new();
        for case in &all {
            let mut request = case.clone();
            let hidden = |name: &str| ["want", "model", "group", "note"].contains(&name);
            request.as_object_mut().unwrap().retain(|name, _| !hidden(name));
            let answer = conformance::answer(&request);
            let verdict = judge(case, &answer);
            let verdict =
                verdict.and_then(|()| if answer["proven"] == true { Ok(()) } else { Err("not proven".into()) });
            failed.extend(verdict.err().map(|bad| format!("{}: {bad}", case["id"])));
        }
        eprintln!("optimum cases: {} passed, {} failed", all.len() - failed.len(), failed.len());
        assert!(failed.is_empty(), "{}", failed.join("\n"));
    }
}
