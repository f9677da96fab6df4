//! Cases that any implementation could read, each into a verdict: those of this repository, and the shared ones.

#[cfg(test)]
mod cases;

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use classad::BUILTINS;

    use crate::cases::{Case, judge, own_cases, shared_cases};

    /// What fails, group by group.
    fn failures(cases: &[Case]) -> Vec<String> {
        let mut groups: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
        for case in cases {
            let (total, failures) = groups.entry(case.group()).or_default();
            *total += 1;
            failures.extend(judge(case).err().map(|why| format!("{}: {}: {why}", case.id(), case.summary())));
        }
        let mut wrong = Vec::new();
        for (group, (total, failures)) in &groups {
            println!("{:>6} / {total:<6} {group}", total - failures.len());
            if !Case::is_quirk(group) {
                wrong.extend(failures.iter().map(|failure| format!("{group}: {failure}")));
            }
        }
        wrong
    }

    #[test]
    fn every_case_of_ours_passes() {
        let cases = own_cases();
        let wrong = failures(&cases);
        assert!(wrong.is_empty(), "{} of {} cases fail:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
        assert!(cases.len() > 1800, "{} cases", cases.len());
        let ids: BTreeSet<&str> = cases.iter().map(Case::id).collect();
        assert_eq!(ids.len(), cases.len(), "two cases have one name");
    }

    #[test]
    fn every_builtin_has_a_case_of_ours_with_a_value() {
        let cases = own_cases();
        let expressions: Vec<String> = cases.iter().filter_map(Case::meaningful).map(str::to_ascii_lowercase).collect();
        let without: Vec<&str> = BUILTINS
            .iter()
            .map(|builtin| builtin.name)
            .filter(|name| {
                let call = format!("{}(", name.to_ascii_lowercase());
                !expressions.iter().any(|expr| {
                    expr.match_indices(&call).any(|(at, _)| {
                        !expr.get(..at).unwrap_or_default().ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
                    })
                })
            })
            .collect();
        assert!(without.is_empty(), "no case for {without:?}");
    }

    #[test]
    fn every_counted_group_of_the_shared_cases_passes() {
        let Some(cases) = shared_cases() else { return };
        let wrong = failures(&cases);
        assert!(wrong.is_empty(), "{} cases fail:\n{}", wrong.len(), wrong.join("\n"));
        assert!(cases.len() > 4000, "the case files are not whole");
    }

    #[test]
    fn the_answer_names_its_request_and_what_it_cannot_do() {
        let answer = conformance::answer(&serde_json::json!({ "op": "nosuch", "id": 7 }));
        assert_eq!(answer, serde_json::json!({ "unsupported": "nosuch", "id": 7 }));
    }
}
