//! What a pool would publish, and what summaries say of a job: word for word what the plugin prints.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::Value;

    fn quickstart() -> String {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/quickstart").display().to_string()
    }

    fn plugin(folder: &Path, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).args(arguments).current_dir(folder).output().unwrap()
    }

    /// What the plugin prints; it has nothing to complain about.
    fn printed(folder: &Path, arguments: &[&str]) -> String {
        let output = plugin(folder, arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn published() -> Value {
        let text = printed(Path::new("."), &["summary", "-f", &quickstart(), "-o", "json"]);
        serde_json::from_str(&text).unwrap()
    }

    /// A new folder with these summaries.
    fn folder(name: &str, summaries: &[(&str, &Value)]) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, summary) in summaries {
            std::fs::write(folder.join(name), summary.to_string()).unwrap();
        }
        folder
    }

    #[test]
    fn a_pool_is_published_by_kind_and_attribute() {
        let summary = published();
        let machine = &summary["classes"]["machine"];
        assert_eq!(machine["ads"], 1);
        assert_eq!(machine["attributes"]["arch"]["texts"]["values"], serde_json::json!(["intel"]));
        assert_eq!(machine["attributes"]["mips"]["numbers"]["max"], 104);
        assert_eq!(machine["attributes"]["uid"]["any"], true);
        assert_eq!(summary["classes"]["license"]["free"]["seats"], serde_json::json!({"max": 1, "sum": 1}));
        let table = printed(Path::new("."), &["summary", "-f", &quickstart()]);
        for line in ["KIND     ATTRIBUTE     VALUES", "machine  1       slots     1          1", "2 offers in "] {
            assert!(table.lines().any(|printed| printed.starts_with(line)), "{line}\n{table}");
        }
        let yaml = printed(Path::new("."), &["summary", "-f", &quickstart(), "-o", "yaml"]);
        assert!(yaml.starts_with("classes:\n"), "{yaml}");
    }

    #[test]
    fn each_summary_says_what_its_pool_can_do() {
        let lab = published();
        let (mut fab2, mut fab3) = (lab.clone(), lab.clone());
        fab2["classes"]["machine"]["attributes"]["arch"]["texts"]["values"] = serde_json::json!(["arm64"]);
        fab3["classes"]["license"]["free"]["seats"] = serde_json::json!({"max": 0, "sum": 0});
        let folder = folder("verdicts", &[("lab.json", &lab), ("fab2.json", &fab2), ("fab3.json", &fab3)]);
        let job = format!("{}/job.yaml", quickstart());
        let asked = ["match", "-f", &job, "--summary", "lab.json", "--summary", "fab2.json", "--summary", "fab3.json"];
        let expected = "\
JOB          SUMMARY    VERDICT  PORT     CONJUNCT
default/sim  lab.json   Now      -        -
default/sim  fab2.json  Cannot   cpu      cpu.Arch == \"INTEL\"
default/sim  fab3.json  Full     license  -
";
        assert_eq!(printed(&folder, &asked), expected);
        let json: Value = serde_json::from_str(&printed(&folder, &[&asked[..], &["-o", "json"]].concat())).unwrap();
        let cannot = serde_json::json!({
            "job": "default/sim", "summary": "fab2.json", "verdict": "Cannot", "port": "cpu", "conjunct": "cpu.Arch == \"INTEL\"",
        });
        assert_eq!(json["items"][1], cannot);
    }

    #[test]
    fn a_file_that_is_no_summary_rules_nothing_out() {
        let folder = folder("unsummarised", &[("wrong.json", &serde_json::json!({"classes": {}, "more": 1}))]);
        let job = format!("{}/job.yaml", quickstart());
        for (file, said) in [
            ("wrong.json", "error: wrong.json is no summary; write one with `kubectl gangmatch summary -o json`: "),
            ("none.json", "error: cannot read none.json: "),
        ] {
            let output = plugin(&folder, &["match", "-f", &job, "--summary", file]);
            let errors = String::from_utf8(output.stderr).unwrap();
            assert!(errors.starts_with(said) && output.stdout.is_empty(), "{errors}");
            assert_eq!(output.status.code(), Some(2));
        }
    }
}
