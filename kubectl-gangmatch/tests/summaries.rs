//! What a pool would publish, and what summaries say of a job: word for word what the plugin prints.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::{Value, json};

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
        assert_eq!(machine["attributes"]["arch"]["texts"]["values"], json!(["intel"]));
        assert_eq!(machine["attributes"]["mips"]["numbers"]["max"], 104);
        assert_eq!(machine["attributes"]["uid"]["any"], true);
        assert_eq!(summary["classes"]["license"]["free"]["seats"], json!({"max": 1, "sum": 1}));
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
        fab2["classes"]["machine"]["attributes"]["arch"]["texts"]["values"] = json!(["arm64"]);
        fab3["classes"]["license"]["free"]["seats"] = json!({"max": 0, "sum": 0});
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
        let cannot = json!({
            "job": "default/sim", "summary": "fab2.json", "verdict": "Cannot", "port": "cpu", "conjunct": "cpu.Arch == \"INTEL\"",
        });
        assert_eq!(json["items"][1], cannot);
    }

    /// Files that are no summary, and what is said of each: the file, the place in it, what is wrong.
    #[expect(clippy::too_many_lines, reason = "a table: one file after the other")]
    fn refused() -> Vec<(&'static str, String, &'static str)> {
        let good = published();
        let changed = |place: &str, new: Value| {
            let mut bad = good.clone();
            *bad.pointer_mut(place).unwrap() = new;
            bad.to_string()
        };
        let memory = |values: Value| {
            let mut bad = good.clone();
            bad["classes"]["machine"]["attributes"]["memory"] = values;
            bad.to_string()
        };
        let renamed = |place: &str, from: &str, to: &str| {
            let mut bad = good.clone();
            let map = bad.pointer_mut(place).unwrap().as_object_mut().unwrap();
            let value = map.remove(from).unwrap();
            map.insert(to.to_owned(), value);
            bad.to_string()
        };
        let arch = "/classes/machine/attributes/arch/texts";
        let bloom = |digits: &str| changed(arch, json!({"bloom": digits}));
        vec![
            ("more.json", json!({"classes": {}, "more": 1}).to_string(), "unknown field `more`"),
            ("empty.json", String::new(), "unexpected end of input"),
            ("text.json", "no summary".to_owned(), "line 1 column 1: expected mapping start"),
            ("twice.json", r#"{"classes": {"a": {"ads": 1}, "a": {"ads": 2}}}"#.to_owned(), "duplicate mapping key: a"),
            (
                "kind.json",
                renamed("/classes", "machine", "Machine"),
                "classes.Machine: write \"machine\", in lower case",
            ),
            (
                "name.json",
                renamed("/classes/machine/attributes", "arch", "Arch"),
                "classes.machine.attributes.Arch: write \"arch\", in lower case",
            ),
            (
                "resource.json",
                renamed("/classes/license/free", "seats", "Seats"),
                "classes.license.free.Seats: write \"seats\", in lower case",
            ),
            (
                "capitals.json",
                changed(arch, json!({"values": ["INTEL"]})),
                "classes.machine.attributes.arch.texts.values: write \"intel\", in lower case",
            ),
            ("nothing.json", memory(json!({})), "classes.machine.attributes.memory: no value is listed"),
            ("bools.json", memory(json!({"bools": []})), "classes.machine.attributes.memory: no value is listed"),
            (
                "texts.json",
                changed(arch, json!({"values": []})),
                "classes.machine.attributes.arch.texts.values: the list is empty",
            ),
            (
                "range.json",
                memory(json!({"numbers": {"min": 2, "max": 1}})),
                "classes.machine.attributes.memory.numbers: min is 2, which is more than max, 1",
            ),
            (
                "list.json",
                memory(json!({"numbers": {"min": 1, "max": 9, "values": [2]}})),
                "classes.machine.attributes.memory.numbers.values: the smallest must be min, 1, and the largest max, 9",
            ),
            (
                "none.json",
                memory(json!({"numbers": {"min": 1, "max": 9, "values": []}})),
                "classes.machine.attributes.memory.numbers.values: the smallest must be min",
            ),
            (
                "large.json",
                memory(json!({"numbers": {"min": 1, "max": 1e300, "values": [1, 1e300]}})),
                "classes.machine.attributes.memory.numbers.values: numbers beyond 2^53 cannot be listed",
            ),
            ("odd.json", bloom("0ff"), "a Bloom filter is an even number of hexadecimal digits"),
            ("digits.json", bloom("zz"), "a Bloom filter is an even number of hexadecimal digits"),
            (
                "short.json",
                bloom(&"f0".repeat(1023)),
                "classes.machine.attributes.arch.texts.bloom: it has 8184 bits; a Bloom filter has 8192, which is 2048 digits",
            ),
            ("zero.json", bloom(&"00".repeat(1024)), "classes.machine.attributes.arch.texts.bloom: no bit is set"),
            (
                "free.json",
                changed("/classes/license/free/seats", json!({"max": -1, "sum": 0})),
                "classes.license.free.seats: max is -1; write 0 if nothing is free",
            ),
            (
                "sum.json",
                changed("/classes/license/free/seats", json!({"max": 3, "sum": 2})),
                "classes.license.free.seats: sum is 2, which is less than max, 3",
            ),
            (
                "max.json",
                changed("/classes/license/free/seats", json!({"max": 0, "sum": 2})),
                "classes.license.free.seats: sum is 2, and max is 0; write what is free on one offer at most",
            ),
            ("long.json", " ".repeat(1 + (1 << 20)), "larger than 1024 KiB, so it is no summary"),
        ]
    }

    /// Each bad file has a row, and does not touch the rows of the others.
    #[test]
    fn a_file_that_is_no_summary_is_told_and_rules_nothing_out() {
        let bad = refused();
        let folder = folder("unreadable", &[("lab.json", &published())]);
        let job = format!("{}/job.yaml", quickstart());
        let mut asked = vec!["match", "-f", &job, "-o", "json", "--summary", "absent.json"];
        for (file, text, _) in &bad {
            std::fs::write(folder.join(file), text).unwrap();
            asked.extend(["--summary", file]);
        }
        asked.extend(["--summary", "lab.json"]);
        let output = plugin(&folder, &asked);
        assert_eq!(output.status.code(), Some(1));
        let (printed, errors) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
        let json: Value = serde_json::from_str(&printed).unwrap();
        let (rows, errors): (_, Vec<&str>) = (json["items"].as_array().unwrap(), errors.lines().collect());
        assert_eq!((rows.len(), errors.len()), (bad.len() + 2, bad.len() + 1), "{errors:#?}");
        assert!(errors[0].starts_with("error: absent.json: cannot be read: "), "{}", errors[0]);
        for (place, (file, _, problem)) in bad.iter().enumerate() {
            let (row, error) = (&rows[place + 1], errors[place + 1]);
            assert_eq!((&row["summary"], &row["verdict"]), (&json!(file), &json!("Unreadable")));
            assert!(error.starts_with(&format!("error: {file}: ")) && error.contains(problem), "{error}\n{problem}");
            assert!(error.ends_with(row["problem"].as_str().unwrap()), "{row}\n{error}");
        }
        assert_eq!(rows.last().unwrap()["verdict"], "Now");
    }

    #[test]
    fn a_table_has_a_row_for_what_cannot_be_read() {
        let folder = folder("table", &[("wrong.json", &json!({"more": 1})), ("lab.json", &published())]);
        let job = format!("{}/job.yaml", quickstart());
        let output = plugin(&folder, &["match", "-f", &job, "--summary", "wrong.json", "--summary", "lab.json"]);
        let expected = "\
JOB          SUMMARY     VERDICT     PORT  CONJUNCT
default/sim  wrong.json  Unreadable  -     -
default/sim  lab.json    Now         -     -
";
        assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
        assert_eq!(output.status.code(), Some(1));
    }

    /// What `summary -o yaml` writes is what `summary -o json` writes, and is read as such.
    #[test]
    fn json_and_yaml_are_read_alike() {
        let yaml = printed(Path::new("."), &["summary", "-f", &quickstart(), "-o", "yaml"]);
        let read: summary::Summary = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), published());
        let folder = folder("yaml", &[("lab.json", &published())]);
        std::fs::write(folder.join("lab.yaml"), yaml).unwrap();
        let job = format!("{}/job.yaml", quickstart());
        let asked = |file: &str| {
            printed(&folder, &["match", "-f", &job, "-o", "json", "--summary", file]).replace(file, "FILE")
        };
        assert_eq!(asked("lab.yaml"), asked("lab.json"));
    }
}
