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
