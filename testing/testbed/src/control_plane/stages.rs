//! kwok's stages into those of a control plane: pods of batch Jobs complete at once, unless they say otherwise.

/// Annotation of a pod: it runs for so long, `5s`, before it completes.
pub const RUNS_FOR: &str = "e2e.gangmatch.dev/runs-for";
/// Annotation of a pod: how it ends. `never`: it runs until it is deleted; `failed`: badly.
pub const ENDS: &str = "e2e.gangmatch.dev/ends";

/// The stage after which what is said here comes.
const COMPLETE: &str = "  name: pod-complete\n";
/// Where a stage's conditions begin.
const CONDITIONS: &str = "    matchExpressions:\n";

/// The stages as kwok's module has them, with ends that pods choose.
pub(crate) fn with_ends(stages: &str) -> String {
    let mut all = String::new();
    for stage in stages.split_inclusive("---\n") {
        if !stage.contains(COMPLETE) {
            all.push_str(stage);
            continue;
        }
        let condition =
            |operator: &str| format!("{CONDITIONS}    - key: '.metadata.annotations[\"{ENDS}\"]'\n{operator}");
        let well = stage.replacen(CONDITIONS, &condition("      operator: 'DoesNotExist'\n"), 1);
        let delay = format!(
            "  delay:\n    durationMilliseconds: 0\n    durationFrom:\n      expressionFrom: '.metadata.annotations[\"{RUNS_FOR}\"]'\n"
        );
        let well = well.replacen("  next:\n", &format!("{delay}  next:\n"), 1);
        let badly = stage
            .replacen(COMPLETE, "  name: pod-fail\n", 1)
            .replacen(CONDITIONS, &condition("      operator: 'In'\n      values: ['failed']\n"), 1)
            .replacen("exitCode: 0", "exitCode: 1", 1)
            .replacen("reason: Completed", "reason: Error", 1)
            .replacen("phase: Succeeded", "phase: Failed", 1);
        all.push_str(&well);
        if !well.ends_with("---\n") {
            all.push_str("---\n");
        }
        all.push_str(&badly);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_chooses_its_end_and_other_stages_stay_as_they_are() {
        let other = "kind: Stage\nmetadata:\n  name: pod-ready\nspec: {}\n";
        let complete = "kind: Stage\nmetadata:\n  name: pod-complete\nspec:\n  selector:\n    matchExpressions:\n    - key: a\n  \
            next:\n    exitCode: 0\n    phase: Succeeded\n";
        let all = with_ends(&format!("---\n{other}---\n{complete}---\n{other}"));
        assert_eq!(all.matches(other).count(), 2);
        assert_eq!((all.matches("name: pod-complete").count(), all.matches("name: pod-fail").count()), (1, 1));
        assert_eq!((all.matches(ENDS).count(), all.matches(RUNS_FOR).count()), (2, 1));
        assert_eq!((all.matches("phase: Failed").count(), all.matches("exitCode: 1").count()), (1, 1));
        assert_eq!(all.matches("---\n").count(), 4);
    }
}
