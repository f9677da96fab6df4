//! `convert`, as a user sees it: what the manual shows, what it refuses, and where it says the mistake is.

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// What the program prints, what it says besides, and its exit status.
    fn run(folder: &Path, arguments: &[&str], input: &[u8]) -> (String, String, i32) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        let pipes = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = pipes.current_dir(folder).spawn().unwrap();
        // A program that has nothing to read may be gone by now.
        let _ = child.stdin.take().unwrap().write_all(input);
        let output = child.wait_with_output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(output.stdout), text(output.stderr), output.status.code().unwrap())
    }

    fn folder(name: &str) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn convert(to: &str, input: &str) -> (String, String, i32) {
        run(&folder("convert"), &["convert", "--to", to], input.as_bytes())
    }

    /// Blocks with a file's name hold that file; in `console` blocks what follows a command is what it prints.
    #[test]
    fn the_manual_shows_what_is_printed() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/language/ads.md");
        let page = std::fs::read_to_string(page).unwrap();
        let blocks: Vec<(&str, &str)> =
            page.split("```").skip(1).step_by(2).map(|block| block.split_once('\n').unwrap()).collect();
        let folder = folder("manual");
        for (name, text) in blocks.iter().filter(|(name, _)| name.contains('.')) {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let mut count = 0;
        for (_, text) in blocks.iter().filter(|(name, _)| *name == "console") {
            for shown in text.split("$ kubectl gangmatch ").skip(1) {
                let (line, output) = shown.split_once('\n').unwrap();
                let arguments: Vec<&str> = line.split_whitespace().collect();
                assert_eq!(run(&folder, &arguments, b""), (output.to_owned(), String::new(), 0), "{line}");
                count += 1;
            }
        }
        assert_eq!(count, 3, "commands on the page");
    }

    #[test]
    fn a_manifest_is_named_as_such_once() {
        let said = "error: standard input: found a manifest, not an ad; `lint` checks manifests, and ads stand in files of their own or in spec.classad\n";
        let manifest = "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: sim}\nspec:\n  constraint: other.Memory > 1\n";
        assert_eq!(convert("json", manifest), (String::new(), said.to_owned(), 1));
        assert_eq!(run(&folder("fmt"), &["fmt"], manifest.as_bytes()), (String::new(), said.to_owned(), 1));
        let (_, said, _) = convert("json", "executable = a\nqueue\n");
        assert!(said.contains("found a submit file of HTCondor; write `kubectl gangmatch import FILE`"), "{said}");
    }

    #[test]
    fn one_ad_goes_through_every_form() {
        let brackets =
            "[\n    Name = \"m\";\n    Start = other.Owner == \"ann\" && !Busy;\n    Tags = { \"a\", x };\n]\n";
        let json = "{\n  \"Name\": \"m\",\n  \"Start\": \"/Expr(other.Owner == \\\"ann\\\" &&  !Busy)/\",\n  \"Tags\": [\n    \"a\",\n    \"/Expr(x)/\"\n  ]\n}\n";
        let long = "Name = \"m\"\nStart = other.Owner == \"ann\" &&  !Busy\nTags = { \"a\",x }\n";
        for input in [brackets, json, long] {
            for (to, want) in [("classad", brackets), ("json", json), ("long", long)] {
                assert_eq!(convert(to, input), (want.to_owned(), String::new(), 0), "{input} to {to}");
            }
        }
    }

    #[test]
    fn ads_of_several_files_are_written_together() {
        let folder = folder("several");
        for (name, text) in
            [("a.ad", "[ n = 1 ] [ n = 2 ]"), ("b.json", "[{\"n\": 3}]"), ("c.long", "\u{feff}n = 4\r\n\r\nn = 5\r\n")]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        let (out, errors, status) =
            run(&folder, &["convert", "a.ad", "b.json", "-", "c.long", "--to", "long"], b"n = 3.5");
        assert_eq!(
            (out.as_str(), errors.as_str(), status),
            ("n = 1\n\nn = 2\n\nn = 3\n\nn = 3.5\n\nn = 4\n\nn = 5\n", "", 0)
        );
    }

    #[test]
    fn comments_are_lost_with_a_note() {
        for input in ["[ a = 1; // one\n]", "/* one */ [ a = 1 ]", "# one\na = 1\n", "a = 1 // one"] {
            let want = "note: standard input: comments are not kept\n";
            assert_eq!(convert("long", input), ("a = 1\n".to_owned(), want.to_owned(), 0), "{input}");
        }
        for input in ["[ a = \"// none\" ]", "a = \"# none\"", "a = \"b\\\" // none\"", "{\"a\": \"// none\"}"] {
            assert_eq!(convert("json", input).1, "", "{input}");
        }
    }

    #[test]
    fn mistakes_are_shown_where_they_are_and_nothing_is_printed() {
        for (input, want) in [
            ("[ a = 1 ]\n[ b = ]\n", " --> standard input:2:7\n"),
            ("a = 1\n\nb = (2\n", " --> standard input:3:7\n"),
            ("[{\"a\": 1},\n {\"b\": \"/Expr(x y)/\"}]", " --> standard input:2:17\n"),
            ("[{\"a\": 1}, 2]", " --> standard input:1:12\n"),
            ("{ [ a = 1 ], 2 }", " --> standard input:1:14\n"),
            ("[ a = 1 ], [ b = 2 ]", " --> standard input:1:10\n"),
            ("", "error: standard input: the file has no ad\n"),
            ("# nothing\n", "error: standard input: the file has no ad\n"),
        ] {
            let (out, errors, status) = convert("json", input);
            assert!(out.is_empty() && errors.contains(want) && status == 1, "{input}: {out}{errors}{status}");
        }
        let (out, errors, status) = run(&folder("convert"), &["convert", "--to", "json"], b"a = 1\nb = \"\xe9\"\n");
        let want = "error: standard input:2: byte 12 of the file is not UTF-8; save it as UTF-8\n";
        assert_eq!((out.as_str(), errors.as_str(), status), ("", want, 1));
        let (out, errors, status) = convert("long", "[ a = 1 ] [ b = \"x\\ny\" ]");
        let want = "error: standard input: ad 2: attribute `b` has a line break, or a backslash at the end of a text, which \
                    the long form cannot write; write --to classad or --to json\n";
        assert_eq!((out.as_str(), errors.as_str(), status), ("", want, 1));
    }

    #[test]
    fn warnings_are_told_and_do_not_stop() {
        let (out, errors, status) = convert("long", "{\"a\": 1, \"A\": 2}");
        assert!(
            errors.contains("warning[duplicate-attribute]") && errors.contains(" --> standard input:1:10\n"),
            "{errors}"
        );
        assert_eq!((out.as_str(), status), ("a = 2\n", 0));
    }

    #[test]
    fn wrong_options_and_missing_files_have_a_status_of_their_own() {
        let folder = folder("convert");
        for arguments in [&["convert"][..], &["convert", "--to", "xml"], &["convert", "--to", "json", "nosuch"]] {
            assert_eq!(run(&folder, arguments, b"[]").2, 2, "{arguments:?}");
        }
    }
}
