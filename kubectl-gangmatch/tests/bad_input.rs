//! Manifests with something wrong in them, and word for word what the plugin says.

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::{Command, Output, Stdio};

    const JOB: &str = "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: sim}\n";
    const MACHINE: &str = "apiVersion: gangmatch.dev/v1alpha1\nkind: Machine\nmetadata: {name: foo}\n";
    const LICENSE: &str = "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: cad}\n";

    fn plugin() -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.arg("match").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn said(output: &Output) -> Vec<String> {
        String::from_utf8(output.stderr.clone()).unwrap().lines().map(str::to_owned).collect()
    }

    /// What is said of a manifest on standard input, and the exit status. A line that ends in `...` goes on in the language's
    /// own words, which its own tests pin down.
    fn check(head: &str, rest: &str, status: i32, lines: &[&str]) {
        let mut child = plugin().args(["-f", "-"]).spawn().unwrap();
        child.stdin.take().unwrap().write_all(format!("{head}{rest}").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let mut said = said(&output);
        for (line, expected) in said.iter_mut().zip(lines) {
            if expected.strip_suffix("...").is_some_and(|begin| line.starts_with(begin)) {
                *line = (*expected).to_owned();
            }
        }
        assert_eq!(said, lines);
        assert_eq!(output.status.code(), Some(status));
    }

    /// A folder of these files, new for each test.
    fn folder(name: &str, files: &[(&str, &[u8])]) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in files {
            let path = folder.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        folder
    }

    fn in_folder(folder: &PathBuf, arguments: &[&str]) -> Output {
        plugin().args(arguments).current_dir(folder).output().unwrap()
    }

    #[test]
    fn m5_m6_capacities_in_quantities_are_told_in_numbers() {
        check(
            MACHINE,
            "spec:\n  capacity: {memory: 4Gi, cpus: 500m, seats: many}\n",
            1,
            &[
                "error: <stdin>:5: Machine default/foo: spec.capacity.cpus: found 500m, which is not a whole number; write 1",
                "error: <stdin>:5: Machine default/foo: spec.capacity.memory: found `4Gi`; write 4096, in MiB",
                "error: <stdin>:5: Machine default/foo: spec.capacity.seats: found the text `many`; write a whole number",
            ],
        );
    }

    #[test]
    fn m7_a_text_that_begins_with_a_mark_has_to_be_quoted() {
        check(
            JOB,
            "spec:\n  constraint: !member(other.Owner, {\"x\"})\n",
            1,
            &[
                "error: <stdin>:5: invalid YAML: column 15: while scanning a tag, did not find expected whitespace or line break; put a text that \
               begins with `!` between single quotes",
            ],
        );
    }

    #[test]
    fn m9_findings_of_a_list_carry_their_own_lines() {
        let item = |name: &str, constraint: &str| {
            format!(
                "- apiVersion: gangmatch.dev/v1alpha1\n  kind: Job\n  metadata: {{name: {name}}}\n  spec:\n    constraint: {constraint}\n"
            )
        };
        let list =
            format!("apiVersion: v1\nkind: List\nitems:\n{}{}", item("a", "other.Memory > 3"), item("b", "a and b"));
        check(
            "",
            &list,
            1,
            &[
                "error: <stdin>:13: Job default/b: spec.constraint: line 1, column 3: `and` is not an operator; write `&&`",
            ],
        );
    }

    #[test]
    fn another_version() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1\nkind: Job\nmetadata: {name: a}\nspec: {}\n",
            1,
            &["error: <stdin>:1: apiVersion: found `gangmatch.dev/v1`; write gangmatch.dev/v1alpha1"],
        );
    }

    #[test]
    fn a_slip_in_the_group() {
        check(
            "",
            "apiVersion: gangmatch.dv/v1alpha1\nkind: Job\nmetadata: {name: a}\n",
            1,
            &["error: <stdin>:1: apiVersion: found `gangmatch.dv/v1alpha1`; write gangmatch.dev/v1alpha1"],
        );
    }

    #[test]
    fn m16_a_kind_is_written_as_the_api_spells_it() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: job\nmetadata: {name: a}\n",
            1,
            &["error: <stdin>:2: kind: there is no `job` in gangmatch.dev/v1alpha1; did you mean Job?"],
        );
    }

    #[test]
    fn a_kind_that_is_none() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: Jobs\nmetadata: {name: a}\n",
            1,
            &["error: <stdin>:2: kind: there is no `Jobs` in gangmatch.dev/v1alpha1; did you mean Job?"],
        );
    }

    #[test]
    fn no_api_version() {
        check(
            "",
            "kind: Job\nmetadata: {name: a}\n",
            1,
            &["error: <stdin>:1: apiVersion is missing; write apiVersion: gangmatch.dev/v1alpha1"],
        );
    }

    #[test]
    fn no_kind() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nmetadata: {name: a}\n",
            1,
            &["error: <stdin>:1: kind is missing; write kind: Job, Machine or License"],
        );
    }

    #[test]
    fn no_name() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nspec: {}\n",
            1,
            &["error: <stdin>:1: Job: metadata.name: missing; write a name such as `sim`"],
        );
    }

    #[test]
    fn a_name_that_no_server_takes() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: My Job}\nspec: {}\n",
            1,
            &[
                "error: <stdin>:3: Job default/My Job: metadata.name: found `My Job`; write lower-case letters, digits, `-` and `.`, at most 253, such as `sim-1`",
            ],
        );
    }

    #[test]
    fn a_name_that_is_a_number() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: 17}\nspec: {}\n",
            1,
            &[r#"error: <stdin>:3: Job: metadata.name: found 17; quote it: "17""#],
        );
    }

    #[test]
    fn no_spec() {
        check(JOB, "", 1, &["error: <stdin>:1: Job default/sim: spec: missing; write it"]);
    }

    #[test]
    fn fields_that_are_none() {
        check(
            JOB,
            "spec:\n  constrant: other.A == 1\n  colour: red\n  ports:\n  - lable: cpu\n",
            1,
            &[
                "error: <stdin>:5: Job default/sim: spec.constrant: there is no such field; did you mean constraint?",
                "error: <stdin>:6: Job default/sim: spec.colour: there is no such field",
                "error: <stdin>:8: Job default/sim: spec.ports[0].label: missing; write it",
                "error: <stdin>:8: Job default/sim: spec.ports[0].lable: there is no such field; did you mean label?",
            ],
        );
    }

    #[test]
    fn fields_that_have_another_name_elsewhere() {
        check(
            JOB,
            "spec:\n  requirements: other.A == 1\n",
            1,
            &["error: <stdin>:5: Job default/sim: spec.requirements: there is no such field; did you mean constraint?"],
        );
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: Account\nmetadata: {name: chips}\nspec:\n  factor: 2\n",
            1,
            &["error: <stdin>:5: Account chips: spec.factor: there is no such field; did you mean weight?"],
        );
    }

    #[test]
    fn files_of_htcondor_are_named_as_such() {
        let submit =
            "found a submit file of HTCondor; write `kubectl gangmatch import FILE`, which converts it into Jobs";
        check("", "executable = a\nqueue\n", 1, &[&format!("error: <stdin>:1: {submit}")]);
        check("", "# vanilla\narguments = \"-n: $(x)\" b\nqueue\n", 1, &[&format!("error: <stdin>:2: {submit}")]);
        check(
            "",
            "MyType = \"Machine\"\nName = \"a\"\n",
            1,
            &[
                "error: <stdin>:1: found ads of HTCondor; write `kubectl gangmatch import FILE`, which converts those of machines",
            ],
        );
    }

    #[test]
    fn fields_beside_the_spec() {
        check(
            JOB,
            "metdata: {}\nspec:\n  gangrank: 1\n",
            1,
            &[
                "error: <stdin>:4: Job default/sim: metdata: there is no such field; did you mean metadata?",
                "error: <stdin>:6: Job default/sim: spec.gangrank: there is no such field; did you mean gangRank?",
            ],
        );
    }

    #[test]
    fn wrong_types() {
        check(
            JOB,
            "spec:\n  priority: high\n  suspend: \"yes\"\n  ports: {label: cpu}\n  attributes: null\n",
            1,
            &[
                "error: <stdin>:5: Job default/sim: spec.priority: found the text `high`; write a whole number",
                "error: <stdin>:6: Job default/sim: spec.suspend: found the text `yes`; write true or false",
                "error: <stdin>:7: Job default/sim: spec.ports: found a map; write a list",
                "error: <stdin>:8: Job default/sim: spec.attributes: found nothing; write a map",
            ],
        );
    }

    #[test]
    fn unquoted_booleans_and_reals() {
        check(
            JOB,
            "spec:\n  constraint: true\n  rank: 0.5\n",
            1,
            &[
                r#"error: <stdin>:5: Job default/sim: spec.constraint: found `true`, a boolean; write an expression as text: quote it, "true""#,
                r#"error: <stdin>:6: Job default/sim: spec.rank: found 0.5, a fraction; write an expression as text: quote it, "0.5""#,
            ],
        );
    }

    #[test]
    fn an_attribute_that_is_null() {
        check(
            JOB,
            "spec:\n  attributes:\n    A: null\n",
            1,
            &[
                "error: <stdin>:6: Job default/sim: spec.attributes.A: found null, which is not a literal; remove the attribute, or write `undefined` in spec.expressions",
            ],
        );
    }

    #[test]
    fn a_reserved_label() {
        check(
            JOB,
            "spec:\n  ports:\n  - label: my\n",
            1,
            &[
                "error: <stdin>:6: Job default/sim: spec.ports[0]: the label `my` is a reserved word; choose another, such as `cpu`",
            ],
        );
    }

    #[test]
    fn a_label_twice() {
        check(
            JOB,
            "spec:\n  ports:\n  - label: cpu\n  - label: CPU\n",
            1,
            &[
                "error: <stdin>:7: Job default/sim: spec.ports[1]: the label `CPU` is already used by port 0; case is ignored in labels, so choose another",
            ],
        );
    }

    #[test]
    fn text_and_fields_together() {
        check(
            JOB,
            "spec:\n  classad: \"[A = 1]\"\n  rank: other.A\n",
            1,
            &[
                "error: <stdin>:6: Job default/sim: spec.rank: not allowed together with spec.classad; write the ad in one of them",
            ],
        );
    }

    #[test]
    fn ports_and_a_constraint_together() {
        check(
            JOB,
            "spec:\n  constraint: other.A == 1\n  ports: [{label: cpu}]\n",
            1,
            &[
                "error: <stdin>:5: Job default/sim: spec.constraint: not allowed together with spec.ports; write it as spec.ports[0].constraint",
            ],
        );
    }

    #[test]
    fn a_mistake_in_an_expression() {
        check(
            JOB,
            "spec:\n  ports:\n  - label: cpu\n    constraint: cpu.Memory >= && 3\n",
            1,
            &[
                "error: <stdin>:7: Job default/sim: spec.ports[0].constraint: line 1, column 15: expected an expression, ...",
            ],
        );
    }

    #[test]
    fn an_equals_sign_too_few() {
        check(
            JOB,
            "spec:\n  constraint: other.Type = \"Machine\"\n",
            1,
            &[
                "error: <stdin>:5: Job default/sim: spec.constraint: line 1, column 12: `=` names an attribute and does not compare; ...",
            ],
        );
    }

    #[test]
    fn a_mistake_in_a_classad() {
        check(
            JOB,
            "spec:\n  classad: |\n    [ A = 1;\n      B = 2 +;\n    ]\n",
            1,
            &["error: <stdin>:7: Job default/sim: spec.classad: line 2, column 10: expected an expression, ..."],
        );
    }

    #[test]
    fn an_empty_expression() {
        check(
            JOB,
            "spec:\n  constraint: \"\"\n",
            1,
            &[
                "error: <stdin>:5: Job default/sim: spec.constraint: line 1, column 1: found nothing; write an expression such as `true`, or remove the field",
            ],
        );
    }

    #[test]
    fn a_mistake_in_shared_by() {
        check(
            LICENSE,
            "spec:\n  sharedBy: requester.Members[0\n",
            1,
            &[
                "error: <stdin>:5: License default/cad: spec.sharedBy: line 1, column 20: expected `]` to close the `[` ...",
            ],
        );
    }

    #[test]
    fn an_attribute_twice() {
        check(
            JOB,
            "spec:\n  attributes: {Memory: 1}\n  expressions: {memory: 1 + 1}\n",
            1,
            &[
                "error: <stdin>:6: Job default/sim: spec.expressions.memory: `memory` is already defined at spec.attributes.Memory; case is ignored in names, so remove one of them",
            ],
        );
    }

    #[test]
    fn an_object_twice() {
        check(
            JOB,
            "spec: {constraint: other.Memory > 1}\n---\napiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: sim}\nspec: {constraint: other.Memory > 1}\n",
            1,
            &[
                "error: <stdin>:6: Job default/sim is already defined at <stdin>:1; the first definition is used, so remove one of them",
            ],
        );
    }

    #[test]
    fn no_object() {
        check(
            "",
            "just text\n",
            1,
            &[
                "error: <stdin>:1: found the text `just text`, which is not an object; a manifest begins with apiVersion and kind",
            ],
        );
    }

    #[test]
    fn a_list_without_items() {
        check("", "apiVersion: v1\nkind: List\n", 1, &["error: <stdin>:1: a List has items; write `items: [...]`"]);
    }

    #[test]
    fn amounts_and_words_out_of_range() {
        check(
            MACHINE,
            "spec:\n  capacity: {slots: -1, cpus: many}\n  stopPolicy: hold\n  allowedNamespaces: {from: Everybody}\n",
            1,
            &[
                "error: <stdin>:5: Machine default/foo: spec.capacity.cpus: found the text `many`; write a whole number",
                "error: <stdin>:5: Machine default/foo: spec.capacity.slots: found -1; write at least 0",
                "error: <stdin>:6: Machine default/foo: spec.stopPolicy: found `hold`; did you mean Hold? The values are None, Hold, HoldAndDrain",
                "error: <stdin>:7: Machine default/foo: spec.allowedNamespaces.from: found `Everybody`; write one of Same, All, Selector",
            ],
        );
    }

    #[test]
    fn a_priority_out_of_range() {
        check(
            JOB,
            "spec: {priority: 5000}\n",
            1,
            &["error: <stdin>:4: Job default/sim: spec.priority: found 5000; write at most 1000"],
        );
    }

    #[test]
    fn tabs() {
        check(
            JOB,
            "spec:\n\tpriority: 1\n",
            1,
            &[
                "error: <stdin>:5: invalid YAML: column 2: tabs disallowed within this context (block indentation); indent with spaces, not with tabs",
            ],
        );
    }

    #[test]
    fn a_key_twice() {
        check(
            JOB,
            "spec:\n  priority: 1\n  priority: 2\n",
            1,
            &["error: <stdin>:6: invalid YAML: column 3: `priority` is written twice; remove one of them"],
        );
    }

    #[test]
    fn a_colon_in_a_text() {
        check(
            JOB,
            "spec:\n  constraint: other.A == 1 ? B : C\n",
            1,
            &[
                "error: <stdin>:5: invalid YAML: column 32: mapping values are not allowed in this context; put a text with `: ` in it between single quotes",
            ],
        );
    }

    #[test]
    fn quotes_in_quotes() {
        check(
            JOB,
            "spec:\n  constraint: \"other.A == \"x\"\"\n",
            1,
            &[
                r#"error: <stdin>:5: invalid YAML: column 28: invalid trailing content after double-quoted scalar; put a text with `"` in it between single quotes"#,
            ],
        );
    }

    #[test]
    fn a_quote_left_open() {
        check(
            JOB,
            "spec:\n  constraint: \"other.A\n",
            1,
            &[
                "error: <stdin>:6: invalid YAML: column 1: invalid indentation in multiline quoted scalar; the closing quote may be missing above",
            ],
        );
    }

    #[test]
    fn a_kind_of_another_group() {
        check(
            "",
            "apiVersion: foo/v1\nkind: Machine\nmetadata: {name: m}\n",
            0,
            &[
                "warning: <stdin>:1: Machine: ignored, because its apiVersion is `foo/v1` and not gangmatch.dev/v1alpha1",
            ],
        );
    }

    #[test]
    fn a_forged_attribute() {
        check(
            JOB,
            "spec:\n  attributes: {Type: Machine}\n  constraint: other.Memory > 1\n",
            0,
            &[
                r#"warning: <stdin>:5: Job default/sim: spec.attributes.Type is `"Machine"`, which is ignored: the system sets `"Job"`"#,
            ],
        );
    }

    #[test]
    fn a_constraint_beside_ports_in_text() {
        check(
            JOB,
            "spec:\n  classad: |\n    [ Requirements = true;\n      Ports = {[Label = cpu]} ]\n",
            0,
            &[
                "warning: <stdin>:6: Job default/sim: spec.classad: Requirements: has no effect, because the ad has ports; write it as the constraint of a port",
            ],
        );
    }

    #[test]
    fn null_metadata() {
        check(
            "",
            "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata:\nspec: {}\n",
            1,
            &[
                "error: <stdin>:3: Job: metadata.name: missing; write a name such as `sim`",
                "error: <stdin>:3: Job: metadata: found nothing; write a map: `metadata: {name: ...}`",
            ],
        );
    }

    #[test]
    fn nothing_stops_the_others() {
        let job = format!("{JOB}spec:\n  constraint: other.Type == \"Machine\"\n");
        let machine = format!("{MACHINE}spec:\n  constraint: other.Type == \"Job\"\n");
        let broken = "kind: \"Job\nmetadata: x\n---\napiVersion: gangmatch.dev/v1alpha1\nkind: License\n";
        let files: [(&str, &[u8]); 5] = [
            ("a.yaml", b"\x7fELF\xff\xfe"),
            ("b.yaml", broken.as_bytes()),
            ("c.yaml", job.as_bytes()),
            ("d.yaml", machine.as_bytes()),
            ("notes.txt", b"{{{"),
        ];
        let output = in_folder(&folder("others", &files), &["-f", "."]);
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        assert!(text.ends_with("\n1 of 1 job matched, with 1 offer.\n"), "{text}");
        assert_eq!(
            said(&output),
            [
                "error: ./a.yaml: is not text: byte 4 is not UTF-8; pass the manifest itself, not an archive",
                "error: ./b.yaml:2: invalid YAML: column 1: invalid indentation in multiline quoted scalar; the closing quote may be missing above",
                "error: ./b.yaml:4: License: metadata.name: missing; write a name such as `sim`",
                "error: ./b.yaml:4: License: spec: missing; write it",
            ]
        );
        assert_eq!(output.status.code(), Some(1));
    }

    #[test]
    fn names_of_resources_that_are_too_long_together() {
        let names: String = ('a'..='h').map(|letter| format!("{}: 1, ", letter.to_string().repeat(65))).collect();
        check(
            MACHINE,
            &format!("spec:\n  capacity: {{{names}}}\n"),
            1,
            &[
                "error: <stdin>:5: Machine default/foo: spec.capacity: names of resources have at most 512 characters together",
            ],
        );
    }

    #[test]
    fn a_document_may_begin_on_the_line_of_its_dashes() {
        check(
            "--- {apiVersion: gangmatch.dev/v1alpha1, kind: Machine, metadata: {name: foo}, spec: {rank: true}}\n--- # none\n",
            "",
            1,
            &[
                "error: <stdin>:1: Machine default/foo: spec.rank: found `true`, a boolean; write an expression as text: quote it, \"true\"",
            ],
        );
    }

    #[test]
    fn a_link_to_nothing_ends_no_reading() {
        let folder = folder(
            "dangling",
            &[("job.yaml", format!("{JOB}spec: {{constraint: other.Type == \"Machine\"}}\n").as_bytes())],
        );
        std::os::unix::fs::symlink("nowhere", folder.join("notes")).unwrap();
        let output = in_folder(&folder, &["-f", "."]);
        assert!(output.status.success() && said(&output).is_empty(), "{output:?}");
        std::os::unix::fs::symlink("nowhere", folder.join("other.yaml")).unwrap();
        let output = in_folder(&folder, &["-f", "."]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(said(&output), ["error: ./other.yaml: cannot be read: No such file or directory (os error 2)"]);
        assert!(String::from_utf8_lossy(&output.stdout).contains("0 of 1 job matched"), "{output:?}");
    }

    #[test]
    fn nothing_to_read() {
        let empty = folder("empty", &[]);
        let nested = folder("nested", &[("below/job.yaml", JOB.as_bytes())]);
        for (folder, arguments, message) in [
            (&empty, ["-f", "."], "error: no .yaml, .yml or .json file in ."),
            (&nested, ["-f", "."], "error: no .yaml, .yml or .json file in ., only folders; use -R to read them"),
            (&empty, ["-f", "nosuch.yaml"], "error: cannot read nosuch.yaml: No such file or directory (os error 2)"),
        ] {
            let output = in_folder(folder, &arguments);
            assert_eq!(said(&output), [message]);
            assert_eq!(output.status.code(), Some(2));
        }
        let output = in_folder(&nested, &["-R", "-f", "."]);
        assert_eq!(said(&output), ["error: ./below/job.yaml:1: Job default/sim: spec: missing; write it"]);
    }

    #[test]
    fn a_file_that_is_no_manifest_by_its_size() {
        let folder = folder("huge", &[("job.yaml", JOB.as_bytes())]);
        let file = std::fs::OpenOptions::new().write(true).open(folder.join("job.yaml")).unwrap();
        file.set_len(65 * 1024 * 1024).unwrap();
        let output = in_folder(&folder, &["-f", "job.yaml"]);
        assert_eq!(said(&output), ["error: job.yaml: is larger than 64 MiB, the limit for a manifest"]);
    }
}
