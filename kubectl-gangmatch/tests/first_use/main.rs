//! What people met who used gangmatch for the first time, each with what keeps it mended: a test, or the words that answer it. The tests
//! that belong to nothing else are here.

#[cfg(test)]
mod table;

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    use serde_json::Value;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn plugin(arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.args(arguments).current_dir(root()).env_remove("COLUMNS").stdin(Stdio::null());
        command
    }

    /// What is printed of manifests in a file; nothing else may be said.
    fn prints(name: &str, arguments: &[&str], manifests: &str) -> String {
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("first-use-{name}.yaml"));
        std::fs::write(&file, manifests).unwrap();
        let output: Output = plugin(arguments).arg("-f").arg(&file).output().unwrap();
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn object(kind: &str, name: &str, rest: &str) -> String {
        format!("apiVersion: gangmatch.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\n{rest}\n---\n")
    }

    fn job(name: &str, spec: &str) -> String {
        object("Job", name, &format!("spec: {{{spec}}}"))
    }

    #[test]
    fn m14_nodes_and_classes_are_matched_without_a_cluster() {
        let folder = ["-n", "campus", "-f", "examples/campus"];
        let matched = |more: &[&str]| {
            let output = plugin(&[&["match"], &folder[..], more].concat()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let without = matched(&[]);
        assert!(without.contains("make no Machines without Node manifests: add the output of kubectl get nodes"));
        let with = matched(&["-f", "examples/campus/offline"]);
        for member in ["campus/spice-1 ", "machine=campus/campus-cs-1 ", "6 of 8 jobs matched"] {
            assert!(with.contains(member), "{with}");
        }
    }

    #[test]
    fn m15_the_reason_of_jobs_that_are_alike_is_told_once() {
        let alike: String =
            (1..=24).map(|number| job(&format!("j{number}"), "constraint: other.Memory >= 512")).collect();
        let machine = object("Machine", "m", "spec: {attributes: {Memory: 64}}");
        let printed =
            prints("alike", &["match"], &format!("{machine}{alike}{}", job("other", "constraint: other.Cpus >= 512")));
        assert!(printed.starts_with("24 jobs wait (default/j1, default/j10, "), "{printed}");
        assert!(printed.contains(" and 19 more): port `other`: the only ad does not satisfy"), "{printed}");
        assert_eq!(printed.matches("`other.Memory >= 512` is not true of 1").count(), 1, "{printed}");
        assert!(printed.contains("\ndefault/other waits: ") && printed.lines().count() < 20, "{printed}");
    }

    #[test]
    fn m3_seats_that_are_used_elsewhere_are_named_where_too_few_are_left() {
        let license = object(
            "License",
            "vcs",
            "spec: {capacity: {seats: 4}}\nstatus: {externalUsage: {seats: 3}, used: 0/4 seats}",
        );
        let manifests = license + &job("two", "constraint: 'other.Type == \"License\"', request: {seats: 2}");
        let printed = prints("external", &["why", "two"], &manifests);
        assert!(printed.contains("license default/vcs (0/4 seats, and 3 seats outside the cluster)"), "{printed}");
    }

    #[test]
    fn m10_only_jobs_that_wait_are_counted_and_the_others_are_told_of() {
        let finished = object(
            "Job",
            "old",
            "spec: {constraint: other.Memory > 1, done: true}\nstatus: {phase: Succeeded, conditions: [{type: Finished, status: \"True\", \
             reason: Done, message: \"\", lastTransitionTime: \"2026-11-21T12:00:00Z\"}]}",
        );
        let suspended = job("later", "constraint: other.Memory > 1, suspend: true");
        let printed = prints(
            "counted",
            &["match"],
            &format!("{finished}{suspended}{}", job("now", "constraint: other.Memory > 1")),
        );
        assert!(
            printed.ends_with("0 of 1 job matched, with 0 offers. Other jobs: 1 suspended, 1 finished.\n"),
            "{printed}"
        );
        let help = plugin(&["match", "--help"]).output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        assert!(help.contains("0  all manifests and summaries were read, whether jobs matched or not"), "{help}");
    }

    #[test]
    fn m8_a_reader_that_has_seen_enough_is_no_error() {
        let jobs: String =
            (0..3_000).map(|number| job(&format!("j{number}"), &format!("constraint: other.A{number} > 1"))).collect();
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("first-use-many.yaml");
        std::fs::write(&file, jobs).unwrap();
        let mut child =
            plugin(&["match", "-f"]).arg(&file).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert!(lines.next().unwrap().unwrap().contains("wait"));
        // As `head -1` ends.
        drop(lines);
        let mut said = String::new();
        child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(child.wait().unwrap().success() && said.is_empty(), "{said}");
    }

    /// A line of a table cannot be wrapped, and code is as long as it is.
    #[test]
    fn m22_lines_of_the_readme_fit_into_an_editor() {
        let text = std::fs::read_to_string(root().join("README.md")).unwrap();
        let mut in_code = false;
        for line in text.lines() {
            in_code ^= line.starts_with("```");
            let is_long = line.chars().count() > 160 && !in_code && !line.starts_with('|');
            assert!(!is_long, "{line}");
        }
    }

    #[test]
    fn m24_a_chain_that_is_too_long_is_told_with_what_to_write() {
        let chain = |count: usize, between: &str| {
            (0..count).map(|number| format!("other.Cpus == {number}")).collect::<Vec<_>>().join(between)
        };
        let machine = object("Machine", "m", "spec: {attributes: {Cpus: 0}}");
        let ad = |constraint: &str| format!("{machine}{}", job("j", &format!("constraint: '{constraint}'")));
        let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("first-use-chain.yaml");
        std::fs::write(&file, ad(&chain(401, " || "))).unwrap();
        let said = plugin(&["lint", "-f"]).arg(&file).output().unwrap();
        let said = String::from_utf8(said.stdout).unwrap() + &String::from_utf8(said.stderr).unwrap();
        assert!(
            said.contains("nests more than 400 operators") && said.contains("group the parts with parentheses"),
            "{said}"
        );
        // What it says to write matches.
        let grouped = format!("({}) || ({})", chain(200, " || "), chain(201, " || "));
        let printed = prints("grouped", &["match"], &ad(&grouped));
        assert!(printed.contains("1 of 1 job matched"), "{printed}");
    }

    #[test]
    fn m16_what_people_do_every_day_has_a_page_that_the_contents_name() {
        let read = |path: &str| std::fs::read_to_string(root().join(path)).unwrap();
        let (readme, contents) = (read("README.md"), read("docs/SUMMARY.md"));
        assert!(readme.contains("(docs/language/README.md)") && contents.contains("(language/README.md)"));
        for page in ["submit", "cancel", "drain", "seats", "history", "plugin"] {
            assert!(contents.contains(&format!("(howto/{page}.md)")), "{page}");
        }
        assert!(contents.contains("[Upgrades, downgrades, uninstallation](upgrade.md)"));
    }

    /// In the table, each row is one of those that were met; each has an answer.
    #[test]
    fn everything_that_was_met_has_its_test_or_its_words() {
        use super::table::{MET, Mended};
        let ids: Vec<&str> = MET.iter().map(|(id, ..)| *id).collect();
        let numbered = |letter: char, count: usize| (1..=count).map(move |number| format!("{letter}{number}"));
        let all: Vec<String> = numbered('B', 2).chain(numbered('M', 20)).chain(numbered('m', 25)).collect();
        assert_eq!(ids, all);
        for (id, _, answers) in MET {
            assert!(!answers.is_empty(), "{id}");
            for answer in *answers {
                let (Mended::Test(path, found) | Mended::Words(path, found)) = answer;
                let text = std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
                let is_there = match answer {
                    Mended::Test(..) => is_test(&text, found),
                    Mended::Words(..) => text.split_whitespace().collect::<Vec<_>>().join(" ").contains(found),
                };
                assert!(is_there, "{id}: no `{found}` in {path}");
            }
        }
    }

    /// Whether a text has a test of this name.
    fn is_test(text: &str, name: &str) -> bool {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let place = lines.iter().position(|line| line.starts_with(&format!("fn {name}(")));
        let above = place.and_then(|place| lines.get(place.checked_sub(1)?));
        above.is_some_and(|line| *line == "#[test]")
    }

    #[test]
    fn m13_who_holds_the_seats_of_a_licence_is_told_with_the_user_behind_each_claim() {
        let license = object("License", "cad", "spec: {}");
        let manifests = license + &job("draw", "owner: ann, constraint: 'other.Type == \"License\"'");
        let answer = prints("holders", &["why", "license/cad", "-o", "json"], &manifests);
        let answer: Value = serde_json::from_str(&answer).unwrap();
        let holder = &answer["holders"][0];
        let told = ["job", "owner", "amounts"].map(|name| holder[name].as_str().unwrap_or_default().to_owned());
        assert_eq!(told, ["default/draw", "ann", "1 seat"], "{answer}");
        let said = prints("holders", &["why", "license/cad"], &manifests);
        assert!(said.contains("default/draw of ann holds 1 seat"), "{said}");
    }
}
