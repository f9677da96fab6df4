//! `match --placing Collective`: what is printed, and what its options do.

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};

    const NOW: &str = "2026-11-21T14:00:00Z";

    /// The older job needs two machines, and two others need one of them each.
    fn wide_and_narrow() -> String {
        let head = "apiVersion: gangmatch.dev/v1alpha1";
        let port = |label: &str, site: &str| {
            format!("{{label: {label}, constraint: '{label}.Type == \"Machine\" && {label}.Site == \"{site}\"'}}")
        };
        let job = |name: &str, minute: u32, ports: &[String]| {
            format!(
                "{head}\nkind: Job\nmetadata: {{name: {name}, creationTimestamp: 2026-11-21T13:{minute}:00Z}}\n\
                 spec: {{ports: [{}]}}\n---\n",
                ports.join(", ")
            )
        };
        let machine = |site: &str| {
            format!(
                "{head}\nkind: Machine\nmetadata: {{name: {site}}}\n\
                 spec: {{attributes: {{Site: {site}}}, constraint: other.Type == \"Job\"}}\n---\n"
            )
        };
        let both = [port("a", "north"), port("b", "south")];
        [
            machine("north"),
            machine("south"),
            job("wide", 50, &both),
            job("first", 55, &both[..1]),
            job("second", 56, &both[1..]),
        ]
        .concat()
    }

    fn run(arguments: &[&str], manifests: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.args(["match", "-f", "-", "--now", NOW]).args(arguments);
        command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(manifests.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn printed(arguments: &[&str]) -> String {
        let output = run(arguments, &wide_and_narrow());
        assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn two_narrow_jobs_are_placed_instead_of_a_wide_one_until_that_has_waited_for_long() {
        let text = printed(&["--placing", "Collective"]);
        assert!(
            text.contains(
                "\ndefault/wide waits: it has a gang in turn (a=default/north b=default/south), but other jobs are placed instead; \
                 from 2026-11-21T14:20:00Z on it is not passed over\n"
            ),
            "{text}"
        );
        let end = "\n2 of 3 jobs matched, with 2 offers.\nPlaced together: 2, the most that is possible; in turn it would be 1.\n\
                   Sum of ranks: 0.000; in turn it would be 0.000.\n";
        assert!(text.ends_with(end), "{text}");
        // Its two slots cost as much as those of the others together.
        let charged = printed(&["--placing", "Collective", "--placing-weight", "Charge"]);
        assert!(charged.contains("\nPlaced together: 1 of at most 2; in turn it would be 1.\n"), "{charged}");
        let pinned = printed(&["--placing", "Collective", "--placing-max-wait", "600"]);
        assert!(
            pinned.contains("\ndefault/wide ") && pinned.contains("\n1 of 3 jobs matched, with 2 offers.\n"),
            "{pinned}"
        );
        assert!(
            pinned.contains("\nPlaced together: 1, the most that is possible; in turn it would be 1.\n"),
            "{pinned}"
        );
    }

    #[test]
    fn a_window_of_one_job_and_no_steps_are_in_turn() {
        let in_turn = printed(&[]);
        assert!(in_turn.ends_with("\n1 of 3 jobs matched, with 2 offers.\n"), "{in_turn}");
        assert_eq!(printed(&["--placing", "InTurn"]), in_turn);
        for option in ["--placing-window=1", "--placing-steps=0"] {
            let text = printed(&["--placing", "collective", option]);
            let (matches, _) = text.split_once("\n1 of 3 jobs matched").unwrap();
            assert!(in_turn.starts_with(matches), "{option}: {text}");
        }
    }

    #[test]
    fn json_is_the_list_of_matches() {
        let list: serde_json::Value =
            serde_json::from_str(&printed(&["--placing", "Collective", "-o", "json"])).unwrap();
        let names: Vec<_> = list["items"].as_array().unwrap().iter().map(|found| &found["spec"]["summary"]).collect();
        assert_eq!(names, ["a=default/north", "b=default/south"]);
    }

    #[test]
    fn options_without_effect_are_refused() {
        let error = "error: --placing-window, --placing-weight, --placing-steps and --placing-max-wait have an effect on --placing \
                     Collective only; leave them out\n";
        for arguments in
            [["--placing", "Srfm", "--placing-steps", "5"], ["--placing", "InTurn", "--placing-window", "5"]]
        {
            let output = run(&arguments, "");
            assert_eq!((String::from_utf8(output.stderr).unwrap().as_str(), output.status.code()), (error, Some(2)));
        }
        let output = run(&["--placing", "Collective", "--placing-window", "0"], "");
        assert_eq!(output.status.code(), Some(2));
    }
}
