//! The verbs for the language, as a user sees them: lint, fmt, eval.

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Command, Stdio};

    use serde_json::Value;

    /// What the program prints, what it says besides, and its exit status.
    fn run(arguments: &[&str], input: &str) -> (String, String, i32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        let pipes = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples")).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code().unwrap())
    }

    /// A file of this test process.
    fn file(name: &str, text: &str) -> PathBuf {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    const WRONG: &str = r#"apiVersion: gangmatch.dev/v1alpha1
kind: Job
metadata: {name: one}
spec:
  attributes: {App: matlab}
  ports:
  - label: cpu
    constraint: |
      cpu.Type == "Machine" && cpu.Memory > 4096
        && cpu.Memory < 1024
  - label: license
    constraint: license.Type == "License" && lisence.Seats == undefined
"#;

    #[test]
    fn lint_shows_the_line_and_what_to_write() {
        let (out, _, status) = run(&["lint", "-f", "-"], WRONG);
        let want = r#"warning[contradiction]: `cpu.Memory < 1024` is never true where `cpu.Memory > 4096` of line 1, column 26 is, and both must be
 --> <stdin>:10 Job one spec.ports[0].constraint:2:6
  |
1 | cpu.Type == "Machine" && cpu.Memory > 4096
  |                          ----------------- excludes the other
2 |   && cpu.Memory < 1024
  |      ^^^^^^^^^^^^^^^^^
  |
  = help: write `||` if either may hold, or change one of the two
warning[unknown-name]: no attribute `lisence` is known
 --> <stdin>:12 Job one spec.ports[1].constraint:1:30
  |
1 | license.Type == "License" && lisence.Seats == undefined
  |                              ^^^^^^^
  |
  = help: did you mean `license`?
warning[impossible-comparison]: comparing with `undefined` is never true
 --> <stdin>:12 Job one spec.ports[1].constraint:1:30
  |
1 | license.Type == "License" && lisence.Seats == undefined
  |                              ^^^^^^^^^^^^^^^^^^^^^^^^^^
  |
  = help: write `lisence.Seats is undefined`
3 findings.
"#;
        assert_eq!((out.as_str(), status), (want, 1));
    }

    #[test]
    fn lint_gives_data_too() {
        let (out, _, status) = run(&["lint", "-f", "-", "-o", "json"], WRONG);
        let list: Value = serde_json::from_str(&out).unwrap();
        let codes: Vec<_> = list.as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap()).collect();
        assert_eq!(
            (codes.as_slice(), status),
            (["contradiction", "unknown-name", "impossible-comparison"].as_slice(), 1)
        );
        assert_eq!(
            (&list[0]["place"], &list[0]["line"], &list[0]["related"]["line"]),
            (&"<stdin>:10".into(), &2.into(), &1.into())
        );
    }

    #[test]
    fn lint_tells_what_the_controller_refuses() {
        let text = WRONG.replace("cpu.Memory < 1024", "regexp(\"a(?=b)\", cpu.Name)");
        let (out, _, status) = run(&["lint", "-f", "-"], &text);
        assert!(out.contains("`(?=` is look-ahead, which is not supported") && status == 1, "{out}");
    }

    #[test]
    fn lint_looks_at_the_expressions_of_sets() {
        let text = "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: one}\nspec:\n  ports:\n  - label: node\n    \
                    constraint: node.Type == \"Machine\"\n    count: 2\n    groupConstraint: sum(noode.Memory) >= 64\n    \
                    groupRank: min(noode.KFlops)\n";
        let (out, _, _) = run(&["lint", "-f", "-"], text);
        let found = ["spec.ports[0].groupConstraint", "spec.ports[0].groupRank"].map(|field| out.contains(field));
        assert_eq!((found, out.matches("did you mean `node`?").count()), ([true, true], 2), "{out}");
    }

    /// What `lint` says of objects, which `---` divides; each without its apiVersion.
    fn linted(objects: &str) -> String {
        let text: String = objects
            .split("---\n")
            .map(|object| format!("---\napiVersion: gangmatch.dev/v1alpha1\n{}", object.trim_start()))
            .collect();
        run(&["lint", "-f", "-"], &text).0
    }

    const NODE: &str =
        "kind: Node\napiVersion: v1\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: \"8\", memory: 16Gi}}\n";

    #[test]
    fn a_class_that_the_controller_refuses_is_told_and_makes_no_machines() {
        let class = |spec: &str| {
            format!(
                "apiVersion: gangmatch.dev/v1alpha1\nkind: MachineClass\nmetadata: {{name: lab}}\nspec:\n  namespace: grid\n  selector: {{}}\n{spec}"
            )
        };
        let wrong = class("  capacity: {cpus: Cpu - 2, slots: 1}\n");
        let said = "error: <stdin>:7: MachineClass lab: spec.capacity.cpus: no node has an attribute `Cpu`; did you mean `Cpus`?\n";
        assert!(run(&["lint", "-f", "-"], &wrong).0.contains(said), "{}", run(&["lint", "-f", "-"], &wrong).0);
        let (out, errors, status) = run(&["match", "-f", "-"], &format!("{wrong}---\n{NODE}"));
        assert!(out.contains("with 0 offers") && errors == said && status == 1, "{out}{errors}");
        let (out, errors, _) =
            run(&["match", "-f", "-"], &format!("{}---\n{NODE}", class("  capacity: {cpus: Cpus}\n")));
        assert!(out.contains("with 1 offer") && errors.is_empty(), "{out}{errors}");
    }

    #[test]
    fn a_condition_that_is_never_true_is_told_once_wherever_it_stands() {
        let job = |spec: &str| linted(&format!("kind: Job\nmetadata: {{name: a}}\nspec:\n  {spec}\n"));
        let out = job("expressions: {Requirements: 1 > 2}");
        assert!(out.contains("warning[never-true]") && out.ends_with("\n1 finding.\n"), "{out}");
        let out = job("attributes: {Requirements: false}");
        let said = "error: <stdin>:6: Job default/a: port `other`: the constraint can never be true: ";
        assert!(out.starts_with(said) && out.ends_with("\n1 finding.\n"), "{out}");
        let out = job("constraint: other.A == 1 && other.A == 2");
        assert!(out.contains("warning[contradiction]") && out.ends_with("\n1 finding.\n"), "{out}");
        let out =
            job("ports:\n  - {label: a, constraint: a.B == 1}\n  - {label: cpu, minCount: 2, constraint: cpu.A == 1}");
        assert!(out.starts_with("error: <stdin>:8: Job default/a: port 1: `MinCount` needs `MaxCount`"), "{out}");
    }

    #[test]
    fn jobs_that_wait_stand_beside_the_matches_with_their_reasons() {
        let api = "apiVersion: gangmatch.dev/v1alpha1\n";
        let machine = format!(
            "{api}kind: Machine\nmetadata: {{name: m}}\nspec: {{constraint: 'true', attributes: {{Memory: 64}}}}\n"
        );
        let job = |name: &str, constraint: &str| {
            format!("---\n{api}kind: Job\nmetadata: {{name: {name}}}\nspec: {{constraint: '{constraint}'}}\n")
        };
        let pool =
            machine + &job("a", "other.Memory > 1") + &job("b", "other.Memory > 1") + &job("c", "other.Memory > 64");
        let (out, _, status) = run(&["match", "-f", "-", "-o", "json"], &pool);
        let list: serde_json::Value = serde_json::from_str(&out).unwrap();
        assert_eq!((list["items"].as_array().map(Vec::len), status), (Some(1), 0), "{out}");
        let said: Vec<[&str; 2]> = list["waiting"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| ["job", "reason"].map(|field| one[field].as_str().unwrap()))
            .collect();
        assert_eq!(said, [["default/b", "WaitingForCapacity"], ["default/c", "NoCandidates"]], "{out}");
        let nearest = "1 ad fits with 63 as the number in `other.Memory > 64`; without it, 1 ad fits";
        assert_eq!(list["waiting"][1]["hint"], nearest, "{out}");
    }

    /// As HTCondor writes it of `gpus_minimum_memory`: the job's own attribute is read in each element of the machine's list.
    #[test]
    fn a_job_counts_the_gpus_of_a_machine_by_its_own_attributes() {
        let api = "apiVersion: gangmatch.dev/v1alpha1\n";
        let machine = format!(
            "{api}kind: Machine\nmetadata: {{name: m}}\nspec:\n  constraint: 'true'\n  capacity: {{slots: 9}}\n  expressions:\n    AvailableGPUs: '{{ G1, G2 }}'\n    G1: '[ GlobalMemoryMb = 8000 ]'\n    G2: '[ GlobalMemoryMb = 40000 ]'\n"
        );
        let matched = |least: u32, search: &str| {
            let attributes = format!("attributes: {{GPUsMinMemory: {least}}}");
            let wanted = "expressions: {RequireGPUs: GlobalMemoryMb >= GPUsMinMemory}";
            let count = |label: &str| format!("countMatches(MY.RequireGPUs, {label}.AvailableGPUs) >= 1");
            let job = |name: &str, rest: String| {
                format!(
                    "---\n{api}kind: Job\nmetadata: {{name: {name}}}\nspec:\n  {attributes}\n  {wanted}\n  {rest}\n"
                )
            };
            let alone = job("alone", format!("constraint: {}", count("TARGET")));
            let port = job("port", format!("ports: [{{label: cpu, constraint: '{}'}}]", count("cpu")));
            run(&["match", "-f", "-", "--search", search], &(machine.clone() + &alone + &port)).0
        };
        for search in ["index", "plain"] {
            assert!(
                matched(16_000, search).ends_with("2 of 2 jobs matched, with 1 offer.\n"),
                "{}",
                matched(16_000, search)
            );
            assert!(
                matched(50_000, search).ends_with("0 of 2 jobs matched, with 1 offer.\n"),
                "{}",
                matched(50_000, search)
            );
        }
    }

    #[test]
    fn an_attribute_that_no_member_has_is_told() {
        let license = |field: &str| {
            linted(&format!("kind: License\nmetadata: {{name: a}}\nspec:\n  constraint: 'true'\n  {field}\n"))
        };
        let out = license("sharedBy: requester.Members[0].Host");
        assert!(out.contains("warning[unknown-member-attribute]: a member has no attribute `Host`"), "{out}");
        assert!(license("rank: size(requester.Members[0].nodename2)").contains("did you mean `NodeName`?"));
        for fine in ["sharedBy: requester.Members[0].NodeName", "rank: 'size(other.Members.name)'"] {
            let out = license(fine);
            assert!(!out.contains("member-attribute"), "{fine}: {out}");
        }
    }

    #[test]
    fn a_rank_that_is_true_or_false_is_warned_of() {
        let rank = |text: &str| {
            linted(&format!("kind: Machine\nmetadata: {{name: a}}\nspec: {{rank: {text}, constraint: 'true'}}\n"))
        };
        let said = "warning: <stdin>:4: Machine default/a: port `other`: the rank `other.Owner == \"ann\"` is a boolean, which counts as 0; write `(other.Owner == \"ann\") ? 1 : 0`\n";
        assert!(
            rank("'other.Owner == \"ann\"'").contains(said.split_once(": Machine").unwrap().1),
            "{}",
            rank("'other.Owner == \"ann\"'")
        );
        for number in ["'10 * (other.Owner == \"ann\")'", "'(other.Owner == \"ann\") ? 1 : 0'", "other.Prio"] {
            assert_eq!(rank(number), "", "{number}");
        }
    }

    #[test]
    fn words_that_kubectl_reads_otherwise_are_told_where_they_stand() {
        let out = linted(
            "kind: Machine\nmetadata: {name: a}\nspec:\n  attributes:\n    Country: NO\n    Mode: 0644\n    Fine: 'no'\n  constraint: 'true'\n",
        );
        let said = "warning: <stdin>:7: `NO` is read as `false`, here and by kubectl; write `\"NO\"` if a text is meant\n\
                    warning: <stdin>:8: `0644` is read as `420`, here and by kubectl; write `\"0644\"` if a text is meant\n2 findings.\n";
        assert_eq!(out, said);
        assert_eq!(
            linted(
                "kind: Machine\nmetadata: {name: a}\nspec: {attributes: {Speed: 2.0}, constraint: other.A == 1 && 'true'}\n"
            ),
            ""
        );
    }

    #[test]
    fn a_condition_that_is_never_true_with_the_jobs_own_attributes_is_told() {
        let job = |spec: &str| linted(&format!("kind: Job\nmetadata: {{name: a}}\nspec:\n{spec}"));
        let constraint = |label: &str| format!("{label}.Memory >= Least && {label}.Memory < 64");
        let said = |line: u32, field: &str, label: &str| {
            format!(
                "warning: <stdin>:{line}: Job default/a: {field}: port `{label}`: `{label}.Memory >= Least` and `{label}.Memory < 64` cannot be true together\n1 finding.\n"
            )
        };
        let out = job(&format!("  attributes: {{Least: 100}}\n  constraint: {}\n", constraint("other")));
        assert_eq!(out, said(7, "spec.constraint", "other"));
        let out = job(&format!(
            "  attributes: {{Least: 100}}\n  ports:\n  - {{label: a, constraint: a.Memory > 0}}\n  - label: b\n    constraint: {}\n",
            constraint("b")
        ));
        assert_eq!(out, said(10, "spec.ports[1].constraint", "b"));
        assert_eq!(job(&format!("  attributes: {{Least: 10}}\n  constraint: {}\n", constraint("other"))), "");
        let out =
            job(&format!("  suspend: true\n  attributes: {{Least: 100}}\n  constraint: {}\n", constraint("other")));
        assert_eq!(out, said(8, "spec.constraint", "other"), "a job that is suspended");
        // Who creates the job, and where, is known in a cluster only.
        for mine in ["Owner == \"ann\"", "Namespace == \"eda\"", "Uid == \"u\"", "Mine"] {
            let spec =
                format!("  expressions: {{Mine: my.Owner == \"ann\"}}\n  constraint: other.Memory >= 1 && {mine}\n");
            assert_eq!(job(&spec), "", "{mine}");
        }
    }

    #[test]
    fn an_ad_as_text_without_requirements_is_warned_of() {
        let text = |kind: &str, ad: &str| {
            linted(&format!("kind: {kind}\nmetadata: {{name: a}}\nspec:\n  classad: \"{ad}\"\n"))
        };
        for kind in ["Job", "Machine"] {
            let out = text(kind, "[ Requirments = other.A == 1 ]");
            let said = format!(
                "warning: <stdin>:6: {kind} default/a: spec.classad: the ad has no Requirements, which accepts no partner; is `Requirments` misspelled?\n"
            );
            assert!(out.contains(&said), "{out}");
        }
        assert!(text("Machine", "[ Memory = 64 ]").contains("write `Requirements = true`"));
        assert_eq!(text("Machine", "[ Memory = 64; Requirements = true ]"), "");
    }

    #[test]
    fn every_expression_that_cannot_be_read_is_told() {
        let out = linted(
            "kind: Job\nmetadata: {name: a}\nspec:\n  constraint: other.Type = \"Machine\" and x\n  rank: foo(\n  expressions: {A: \"1 +\", B: \"x and y\"}\n",
        );
        for field in ["spec.constraint", "spec.rank", "spec.expressions.A", "spec.expressions.B"] {
            assert_eq!(out.matches(&format!(" {field}:")).count(), 1, "{field}: {out}");
        }
        assert!(out.contains("error[word-operator]: `and` is not an operator"), "{out}");
    }

    #[test]
    fn policies_prices_capacities_and_variables_are_looked_at() {
        let out = linted(
            "kind: PoolPolicy\nmetadata: {name: pool}\nspec:\n  counters:\n  - {name: vcs, constraint: 1 > 2}\n  preemption: {mode: DryRun, \
             requirements: SubmiterUserPrio > 1 && 2 < 1, rank: TotlJobRuntime}\n---\nkind: License\nmetadata: {name: l}\nspec:\n  capacity: {seats: 1}\n  \
             attributes: {App: vcs}\n  chargeWeight: 2 * Alocation.seats\n---\nkind: MachineClass\nmetadata: {name: c}\nspec:\n  namespace: grid\n  selector: {}\n  \
             expressions: {Twice: Cpuz * 2}\n  capacity: {slots: \"ifThenElse(isUndefined(Memry), 1, 2)\"}\n---\nkind: Job\nmetadata: {name: j}\nspec:\n  \
             ports: [{label: cpu, constraint: cpu.Type == \"Machine\"}]\n  workload:\n    env: {HOST: cpu.Twise}\n    workloadRef: {name: x}\n",
        );
        for (field, said) in [
            ("spec.counters[0].constraint", "condition is always false"),
            ("spec.preemption.requirements", "did you mean `SubmitterUserPrio`?"),
            ("spec.preemption.rank", "did you mean `TotalJobRuntime`?"),
            ("spec.chargeWeight", "did you mean `Allocation`?"),
            ("spec.expressions.Twice", "did you mean `Cpus`?"),
            ("spec.capacity.slots", "did you mean `Memory`?"),
            ("spec.workload.env.HOST", "did you mean `Twice`?"),
        ] {
            assert!(out.contains(&format!(" {field}:")) && out.contains(said), "{field}: {said}: {out}");
        }
        assert!(!out.contains("did you mean `cpu`?"), "labels are no attributes: {out}");
    }

    #[test]
    fn amounts_say_what_to_write() {
        let job =
            |amounts: &str| linted(&format!("kind: Job\nmetadata: {{name: a}}\nspec:\n  request: {{{amounts}}}\n"));
        assert!(job("cpus: 0.5").contains("spec.request.cpus: found 0.5, a fraction; write a whole number\n"));
        for (amount, value) in [("\"0.5\"", "0.5"), ("0", "0"), ("-1", "-1")] {
            let out = job(&format!("cpus: {amount}"));
            let said =
                format!("warning[no-amount]: the request of cpus is `{value}`, which is no amount: no offer has it\n");
            assert!(out.contains(&said) && out.contains("write a whole number of at least 1"), "{amount}: {out}");
        }
        assert_eq!(job("cpus: 2, memory: 4Gi, gpus: my.Gpus"), "");
        let out = linted("kind: Machine\nmetadata: {name: a}\nspec:\n  capacity: {cpus: 99999999999999999999}\n");
        assert!(out.contains("spec.capacity.cpus: found 1e+20; write at most "), "{out}");
    }

    #[test]
    fn labels_of_objects_are_text() {
        let out = linted("kind: Job\nmetadata:\n  name: a\n  labels: {team: 5}\nspec: {request: {cpus: 1}}\n");
        let said =
            "error: <stdin>:6: Job default/a: metadata.labels.team: found 5, a number; write text: quote it, \"5\"\n";
        assert!(out.starts_with(said), "{out}");
    }

    #[test]
    fn no_manifest_is_an_error() {
        for verb in ["lint", "match"] {
            let (out, errors, status) = run(&[verb, "-f", "-"], "# nothing\n---\n");
            let said = "error: no manifest in standard input; a manifest begins with apiVersion and kind\n";
            assert_eq!((out.as_str(), errors.as_str(), status), ("", said, 2), "{verb}");
        }
    }

    #[test]
    fn a_mistake_in_the_policy_of_the_pool_is_told() {
        let policy = "apiVersion: gangmatch.dev/v1alpha1\nkind: PoolPolicy\nmetadata: {name: pool}\nspec:\n  halfLifeSecond: 5\n";
        for verb in ["userprio", "quota"] {
            let (_, errors, status) = run(&[verb, "-f", "-"], policy);
            assert!(
                errors.contains("error: <stdin>:5: PoolPolicy pool: spec.halfLifeSecond: there is no such field"),
                "{errors}"
            );
            assert!(errors.contains("the PoolPolicy is not accepted") && status != 0, "{errors}");
        }
    }

    #[test]
    fn the_examples_have_no_findings() {
        for folder in ["counted", "floating", "host-locked", "quickstart", "subnet"] {
            assert_eq!(run(&["lint", "-f", folder], ""), (String::new(), String::new(), 0), "{folder}");
        }
        assert_eq!(run(&["lint", "-f", "nosuch"], "").2, 2);
    }

    #[test]
    fn fmt_lays_out_and_checks() {
        let text = "[Type=\"Job\"; // a job\n Rank=other.KFlops/1E3]";
        let want = "[\n    Type = \"Job\"; // a job\n    Rank = other.KFlops / 1E3;\n]\n";
        assert_eq!(run(&["fmt"], text), (want.to_owned(), String::new(), 0));
        assert_eq!(run(&["fmt", "--check"], text), ("standard input\n".to_owned(), String::new(), 1));
        assert_eq!(run(&["fmt", "--check"], want), (String::new(), String::new(), 0));
        let path = file("fmt.ad", text);
        assert_eq!(run(&["fmt", "--write", path.to_str().unwrap()], "").2, 0);
        assert_eq!(std::fs::read_to_string(path).unwrap(), want);
        let (out, errors, status) = run(&["fmt", "-"], "a and b");
        assert!(
            out.is_empty() && errors.starts_with("error[word-operator]: `and` is not an operator\n") && status == 1
        );
    }

    #[test]
    fn eval_prints_the_value() {
        let job = file("job.ad", "[ Size = 28Mi; Seen = time(); Need = other.Memory * 2 ]");
        let machine = file("machine.ad", "Memory = 64\nNeed = 7\n");
        let (job, machine) = (job.to_str().unwrap(), machine.to_str().unwrap());
        for (arguments, want) in [
            (vec!["eval", "28Mi / 1024"], "28672\n"),
            (vec!["eval", "-1 - 2"], "-3\n"),
            (vec!["eval", "nosuch"], "undefined\n"),
            (vec!["eval", "Size / 1024", "--my", job], "28672\n"),
            (vec!["eval", "{Need, other.Need, Memory}", "--ad", job, "--target", machine], "{ 128,7,64 }\n"),
            (vec!["eval", "Seen", "--ad", job, "--now", "2026-11-21T14:00:00Z"], "1795269600\n"),
            (vec!["eval", "{1.5, [a = \"x\"], undefined}", "-o", "json"], "{\"value\":[1.5,{\"a\":\"x\"},null]}\n"),
        ] {
            assert_eq!(run(&arguments, ""), (want.to_owned(), String::new(), 0), "{arguments:?}");
        }
        assert_eq!(run(&["eval", "-"], "1 + 1").0, "2\n");
        let (_, errors, status) = run(&["eval", "a = 1"], "");
        assert!(errors.contains("help: write `==` to compare") && status == 1, "{errors}");
        let (_, errors, status) =
            run(&["eval", "eval(s)", "--ad", file("loop.ad", "[ s = \"eval(s)\" ]").to_str().unwrap()], "");
        assert_eq!(
            (errors.as_str(), status),
            ("error: line 1, column 6: evaluation exceeds the depth of evaluation\n", 1)
        );
        assert_eq!(run(&["eval", "1", "--ad", "nosuch"], "").2, 2);
    }
}
