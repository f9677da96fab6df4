//! The verb `gridcam` and `match --placing`: what the documents show, and word for word what is said of mistakes.

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output, Stdio};

    use serde_json::Value;

    const WORKLOAD: &str = "\
name: small
until: 10m
arrival: {constant: {value: 1m}}
service: {constant: {value: 90s}}
job: {cpus: {constant: {value: 2}}}
clusters:
- {name: A, cpus: 2}
- {name: B, cpus: 2}
schemes:
- {name: FCFS, placing: Fcfs, window: 1s}
";

    fn repository() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
    }

    fn run(arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.args(arguments).current_dir(repository());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    fn text(bytes: Vec<u8>) -> String {
        String::from_utf8(bytes).unwrap()
    }

    /// What is printed of a workload on standard input.
    fn printed(arguments: &[&str], input: &str) -> String {
        let output = run(&[&["gridcam", "-f", "-"], arguments].concat(), input);
        assert!(output.status.success(), "{}", text(output.stderr));
        text(output.stdout)
    }

    /// What is said of the workload with one text in it replaced.
    fn said(of: &str, instead: &str) -> String {
        assert!(WORKLOAD.contains(of), "{of}");
        let output = run(&["gridcam", "-f", "-"], &WORKLOAD.replace(of, instead));
        assert_eq!(output.status.code(), Some(1), "{instead}: {}", text(output.stdout));
        assert!(output.stdout.is_empty());
        text(output.stderr)
    }

    /// The commands of a document with what it shows below each.
    fn shown(document: &str) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(repository().join(document)).unwrap();
        let mut commands: Vec<(String, String)> = Vec::new();
        let mut inside = false;
        for line in text.lines() {
            if line.starts_with("```") {
                inside = line == "```console";
            } else if inside {
                match (line.strip_prefix("$ cargo gangmatch "), commands.last_mut()) {
                    (Some(command), _) => commands.push((command.to_owned(), String::new())),
                    (None, Some((_, output))) => output.push_str(&format!("{line}\n")),
                    (None, None) => panic!("{document}: {line} stands below no command"),
                }
            }
        }
        commands
    }

    #[test]
    fn every_command_of_the_documents_prints_what_stands_below_it() {
        for document in ["examples/gridcam/README.md", "docs/gridcam.md", "docs/placing.md"] {
            let commands = shown(document);
            assert!(!commands.is_empty(), "{document}");
            for (command, expected) in commands {
                let output = run(&command.split(' ').collect::<Vec<_>>(), "");
                assert!(output.status.success() && output.stderr.is_empty(), "{command}: {}", text(output.stderr));
                assert_eq!(text(output.stdout), expected, "{document}: {command}");
            }
        }
    }

    #[test]
    fn the_same_file_gives_the_same_bytes_and_another_seed_other_ones() {
        let drawn = WORKLOAD.replace("constant: {value: 1m}", "exponential: {mean: 1m}");
        assert_eq!(printed(&["-o", "json", "--runs", "3"], &drawn), printed(&["-o", "json", "--runs", "3"], &drawn));
        assert_ne!(printed(&["-o", "csv"], &drawn), printed(&["-o", "csv", "--seed", "7"], &drawn));
    }

    #[test]
    fn every_run_is_in_json_and_csv() {
        let json: Value =
            serde_json::from_str(&printed(&["-o", "json", "--runs", "2", "--seed", "5"], WORKLOAD)).unwrap();
        let runs = &json["schemes"][0]["runs"];
        assert_eq!((&runs[0]["seed"], &runs[1]["seed"], &runs[1]["submitted"]), (&5.into(), &6.into(), &9.into()));
        assert_eq!(
            printed(&["-o", "csv"], WORKLOAD),
            "scheme,seed,submitted,completed,running,waiting,timed_out,wait,wait_p95,wait_max,wait_of_all,stood_still_since\n\
             FCFS,1,9,8,1,0,0,0.000,0.000,0.000,0.000,\n"
        );
    }

    #[test]
    fn jobs_and_charts_are_written_to_files() {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gridcam-files");
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let (jobs, charts) = (folder.join("jobs.jsonl"), folder.join("charts"));
        printed(&["--jobs-out", jobs.to_str().unwrap(), "--svg", charts.to_str().unwrap()], WORKLOAD);
        let jobs = std::fs::read_to_string(jobs).unwrap();
        assert_eq!(jobs.lines().count(), 9);
        let first: Value = serde_json::from_str(jobs.lines().next().unwrap()).unwrap();
        assert_eq!(
            (&first["id"], &first["state"], &first["cluster"]),
            (&"j0".into(), &"completed".into(), &"A".into())
        );
        for name in ["completed.svg", "waits.svg", "used.svg"] {
            assert!(std::fs::read_to_string(charts.join(name)).unwrap().ends_with("</svg>\n"), "{name}");
        }
    }

    #[test]
    fn a_trace_is_simulated_as_it_is() {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("gridcam-trace");
        std::fs::create_dir_all(&folder).unwrap();
        let workload = "until: 1m\ntrace: jobs.jsonl\nclusters: [{name: A, cpus: 2}]\nschemes: [{name: FCFS, placing: Fcfs, window: 1s}]\n";
        std::fs::write(folder.join("workload.yaml"), workload).unwrap();
        let file = folder.join("workload.yaml");
        let simulate = |trace: &str| {
            std::fs::write(folder.join("jobs.jsonl"), trace).unwrap();
            run(&["gridcam", "-o", "csv", "-f", file.to_str().unwrap()], "")
        };
        let output = simulate(
            "{\"arrival\": 0.5, \"service\": 10, \"cpus\": 2}\n\n{\"arrival\": 2, \"service\": 99, \"cpus\": 1}\n",
        );
        assert!(text(output.stdout).ends_with("\nFCFS,1,2,1,1,0,0,4.750,9.000,9.000,4.750,\n"));
        let output = simulate(
            "{\"arrival\": 1, \"service\": 1}\n{\"arrival\": -1, \"service\": 1}\n{\"arrival\": 1, \"service\": 1, \"manifest\": \"a.yaml\"}\n",
        );
        let said = text(output.stderr);
        assert!(said.contains("jobs.jsonl:2: arrival: found -1; write seconds, 0 or more\n"), "{said}");
        assert!(
            said.contains("jobs.jsonl:3: manifest: manifests are not simulated; write cpus, disk and memory\n"),
            "{said}"
        );
    }

    #[test]
    fn a_field_that_does_not_exist_is_said_with_line_and_column() {
        assert!(said("until: 10m", "untill: 10m").starts_with("error: standard input:2: column 1: unknown field"));
        assert!(said("window: 1s", "windw: 1s").starts_with("error: standard input:10: column 31: unknown field"));
        assert!(said("constant: {value: 2}", "constant: {vlue: 2}").starts_with("error: standard input:5: column "));
        assert!(
            said("until: 10m", "until: 10")
                .contains("standard input:2: column 8: found `10`, which is no duration; write 90s, 2h or 1d")
        );
    }

    #[test]
    fn what_does_not_fit_together_is_said_with_its_line() {
        for (of, instead, error) in [
            ("window: 1s", "window: 0s", "standard input:10: schemes[0].window: found 0; write a duration such as 1s"),
            (
                "cpus: 2}\n- {name: B",
                "cpus: 2}\n- {name: A",
                "standard input:8: clusters[1].name: `A` is there twice; rename one of them",
            ),
            (
                "arrival: {constant: {value: 1m}}\n",
                "",
                "standard input:1: arrival: is missing; write arrival, service and job, or a trace",
            ),
            (
                "placing: Fcfs",
                "placing: Collective",
                "schemes[0].placing: Collective of clusters counts processors; write `weight: Charge`",
            ),
            (
                "placing: Fcfs",
                "placing: InTurn",
                "schemes[0].placing: InTurn is for manifests, which are not simulated; write Fcfs",
            ),
            (
                "placing: Fcfs",
                "placing: Lbm, blocked: true",
                "schemes[0].blocked: has an effect on `placing: Fcfs` only; leave it out",
            ),
            (
                "name: small",
                "offers: [machines/]",
                "standard input:1: offers: manifests are not simulated; write `clusters`, and `job` or `trace`",
            ),
            (
                "name: small",
                "jobs: [{weight: 3}]",
                "standard input:1: jobs: manifests are not simulated; write `clusters`, and `job` or `trace`",
            ),
            ("name: small", "runs: 0", "standard input:1: runs: found 0; write a number from 1 to 10000"),
            ("name: small", "neverFits: 2", "standard input:1: neverFits: found 2; write a share from 0 to 1"),
            (
                "value: 1m",
                "value: 0s",
                "standard input:3: arrival: 1000000 jobs or more arrive in 10m; write a longer time between them",
            ),
            (
                "constant: {value: 2}",
                "uniform: {from: 2, to: 1}",
                "standard input:5: job.cpus: `to` is less than `from`: 1 < 2",
            ),
            (
                "constant: {value: 2}",
                "uniform: {from: 1.5, to: 3, whole: true}",
                "job.cpus: `whole` needs whole numbers in `from` and `to`",
            ),
        ] {
            let said = said(of, instead);
            assert!(said.contains(error), "{instead}: {said}");
        }
    }

    #[test]
    fn an_option_that_is_wrong_is_refused() {
        for (arguments, error) in [
            (
                &["gridcam", "-f", "examples/gridcam/workloads/freeze.yaml", "--scheme", "SRMF"][..],
                "error: there is no scheme `SRMF` in the file; there are FCFS-blocked, FCFS, SRFM, LBM\n",
            ),
            (
                &["match", "-f", "examples/gridcam/figure-1.1.yaml", "--placing", "Lbm", "--blocked"],
                "error: --blocked and --pick have an effect on --placing Fcfs only; leave them out\n",
            ),
        ] {
            let output = run(arguments, "");
            assert_eq!((text(output.stderr).as_str(), output.status.code()), (error, Some(2)));
        }
    }

    #[test]
    fn jobs_and_offers_outside_the_model_are_refused_by_name() {
        let head = "apiVersion: gangmatch.dev/v1alpha1\n";
        let machine = "kind: Machine\nmetadata: {name: foo}\nspec: {capacity: {cpus: 4}}\n";
        let gpus = machine.replace("cpus: 4", "cpus: 4, gpus: 1");
        let no_cpus = machine.replace("cpus: 4", "memory: 4");
        let shared = "kind: License\nmetadata: {name: foo}\nspec: {capacity: {cpus: 4}, sharedBy: requester.Owner}\n";
        let one = "{label: a, constraint: 'a.Type == \"Machine\"', request: {cpus: \"2\"}}";
        let two = format!("{one}, {{label: b, constraint: 'b.Type == \"Machine\"'}}");
        for (offer, ports, error) in [
            (machine, two.as_str(), "Job default/sim: has 2 ports; --placing takes jobs with one port"),
            (&gpus, one, "Machine default/foo: has the capacity `gpus`; --placing counts cpus, disk and memory"),
            (&no_cpus, one, "Machine default/foo: has no capacity `cpus`; write one, such as `capacity: {cpus: 16}`"),
            (shared, one, "License default/foo: has `sharedBy`; --placing counts every claim by itself"),
        ] {
            let job = format!("kind: Job\nmetadata: {{name: sim}}\nspec: {{ports: [{ports}]}}\n");
            let manifests = format!("{head}{offer}---\n{head}{job}");
            let output = run(&["match", "-f", "-", "--placing", "Srfm"], &manifests);
            assert_eq!((text(output.stderr), output.status.code()), (format!("error: {error}\n"), Some(1)));
            assert!(output.stdout.is_empty());
        }
    }
}
