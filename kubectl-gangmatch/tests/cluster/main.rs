//! The verbs that ask a cluster, as a user sees them. The cluster is a kubectl that lists the objects of `pool.yaml`; the transcripts
//! beside it hold the commands and what they print. With UPDATE=1 the transcripts are written anew.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read as _, Write as _};
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    use serde_json::{Value, json};

    fn here() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster")
    }

    /// A folder with the objects of the pool, for one test.
    fn cluster(name: &str) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cluster").join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let text = std::fs::read_to_string(here().join("pool.yaml")).unwrap();
        let objects: Vec<Value> = text.split("\n---\n").map(|part| serde_saphyr::from_str(part).unwrap()).collect();
        let write = |name: &str, value: &Value| std::fs::write(folder.join(name), value.to_string()).unwrap();
        let of_kind = |group: &str, kind: &str| -> Vec<&Value> {
            let is = |object: &&Value| {
                let api = object["apiVersion"].as_str().unwrap();
                object["kind"] == kind && api.rsplit_once('/').map_or("", |(group, _)| group) == group
            };
            objects.iter().filter(is).collect()
        };
        let text = |object: &Value, name: &str| object["metadata"][name].as_str().unwrap().to_owned();
        for object in of_kind("", "Event") {
            let of = &object["involvedObject"];
            write(
                &format!("events.{}.{}.json", of["kind"].as_str().unwrap(), of["name"].as_str().unwrap()),
                &json!({"items": [object]}),
            );
        }
        for (group, kind, resource) in [
            ("gangmatch.dev", "Job", "jobs.gangmatch.dev"),
            ("gangmatch.dev", "Machine", "machines.gangmatch.dev"),
            ("gangmatch.dev", "License", "licenses.gangmatch.dev"),
            ("gangmatch.dev", "Match", "matches.gangmatch.dev"),
            ("coordination.k8s.io", "Lease", "leases.coordination.k8s.io"),
            ("batch", "Job", "jobs.batch"),
            ("", "Pod", "pods"),
        ] {
            let (mut items, mut in_namespaces) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
            for object in of_kind(group, kind) {
                let (namespace, name) = (text(object, "namespace"), text(object, "name"));
                write(&format!("{namespace}.{resource}.{name}.json"), object);
                in_namespaces.entry(namespace).or_default().push(object.to_string());
                items.push(object.to_string());
            }
            let list = |name: String, items: &[String]| std::fs::write(folder.join(name), items.join(",")).unwrap();
            list(format!("items.{resource}"), &items);
            in_namespaces.iter().for_each(|(namespace, items)| list(format!("items.{resource}.{namespace}"), items));
        }
        folder
    }

    /// What a command prints: standard output, then standard error with a mark, then the exit status if it is not 0.
    fn run(command: &str, cluster: &Path, environment: &[(&str, &str)]) -> String {
        let words =
            command.strip_prefix("kubectl gangmatch ").unwrap_or_else(|| panic!("`{command}` is not the plugin"));
        let words: Vec<&str> = words
            .split('\'')
            .enumerate()
            .flat_map(|(place, part)| if place % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
            .collect();
        let path = format!("{}:{}", here().display(), std::env::var("PATH").unwrap());
        let mut program = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        program.args(words).env("PATH", path).env("CLUSTER", cluster).env("GANGMATCH_NOW", "2026-11-21T15:00:00Z");
        program.env_remove("COLUMNS").envs(environment.iter().copied()).stdin(Stdio::null());
        program.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
        let output = program.output().unwrap();
        let mut text = String::from_utf8(output.stdout).unwrap();
        for line in String::from_utf8(output.stderr).unwrap().lines() {
            text.push_str(&format!("2> {line}\n"));
        }
        match output.status.code().unwrap() {
            0 => {}
            code => text.push_str(&format!("exit status {code}\n")),
        }
        text
    }

    /// Runs every command of a transcript. A line `% NAME=VALUE` sets the environment of the commands after it.
    fn check(name: &str) {
        let cluster = cluster(name);
        let path = here().join("transcripts").join(format!("{name}.txt"));
        let before = std::fs::read_to_string(&path).unwrap();
        let (mut after, mut environment) = (String::new(), Vec::new());
        for line in before.lines() {
            if (line.starts_with("% ") || line.starts_with("$ ")) && !after.is_empty() {
                after.push('\n');
            }
            if let Some(setting) = line.strip_prefix("% ") {
                environment.push(setting.split_once('=').unwrap());
                after.push_str(&format!("{line}\n"));
            } else if let Some(command) = line.strip_prefix("$ ") {
                after.push_str(&format!("{line}\n{}", run(command, &cluster, &environment)));
            }
        }
        if let Ok(written) = std::fs::read_to_string(cluster.join("written")) {
            after.push_str(&format!("\nWritten:\n{written}"));
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, after).unwrap();
        } else {
            assert_eq!(after, before, "tests/cluster/transcripts/{name}.txt; UPDATE=1 writes it anew");
        }
    }

    #[test]
    fn status() {
        check("status");
    }

    #[test]
    fn narrow() {
        check("narrow");
    }

    #[test]
    fn top() {
        check("top");
    }

    /// `top` on a terminal that `script` makes, and whose size `stty` changes.
    #[test]
    fn top_follows_the_size_of_the_terminal_and_leaves_it_as_it_was() {
        let is_there = |program: &&str| Command::new(program).arg("--version").output().is_ok();
        if !["script", "stty"].iter().all(is_there) {
            println!("SKIPPED, NOTHING WAS TESTED: `script` of util-linux is not on PATH");
            return;
        }
        let cluster = cluster("terminal");
        let (terminal, after) = (cluster.join("terminal"), cluster.join("after"));
        let line = format!(
            "tty >{}; stty rows 40 cols 200; {} top --every 1; stty -a >{}",
            terminal.display(),
            env!("CARGO_BIN_EXE_kubectl-gangmatch"),
            after.display()
        );
        let path = format!("{}:{}", here().display(), std::env::var("PATH").unwrap());
        let mut program = Command::new("script");
        program.args(["--quiet", "--flush", "--return", "--command", &line, "/dev/null"]);
        program.env("PATH", path).env("CLUSTER", &cluster).env("GANGMATCH_NOW", "2026-11-21T15:00:00Z");
        let mut child = program.env_remove("COLUMNS").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (mut keys, mut screen) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let begun = std::time::Instant::now();
        let mut seen = String::new();
        // A frame begins in the corner of the screen, and ends with nothing below it.
        let mut frame_with = |wanted: &dyn Fn(&str) -> bool| loop {
            let mut some = [0; 4096];
            let length = screen.read(&mut some).unwrap();
            seen.push_str(&String::from_utf8_lossy(&some[..length]));
            let frame = seen.rsplit("\x1b[H").find(|frame| frame.contains("\x1b[J"));
            if frame.is_some_and(wanted) {
                break;
            }
            assert!(length > 0 && begun.elapsed().as_secs() < 60, "{seen}");
        };
        frame_with(&|frame| frame.contains("`other.Memory >= 131072` rejects 4"));
        // An arrow key does not end it.
        keys.write_all(b"\x1b[A").unwrap();
        let size = |rows: &str, columns: &str| {
            let device = std::fs::read_to_string(&terminal).unwrap();
            let mut stty = Command::new("stty");
            assert!(stty.args(["-F", device.trim(), "rows", rows, "cols", columns]).status().unwrap().success());
        };
        size("20", "80");
        frame_with(&|frame| frame.contains("...") && frame.lines().count() <= 20 && !frame.contains("rejects"));
        size("40", "200");
        frame_with(&|frame| frame.contains("`other.Memory >= 131072` rejects 4"));
        keys.write_all(b"q").unwrap();
        let mut rest = String::new();
        screen.read_to_string(&mut rest).unwrap();
        assert!(child.wait().unwrap().success() && rest.contains("\x1b[?25h\x1b[?1049l"), "{rest:?}");
        let settings = std::fs::read_to_string(after).unwrap();
        assert!(settings.contains(" icanon") && settings.contains(" echo "), "{settings}");
    }

    #[test]
    fn queue() {
        check("queue");
    }

    #[test]
    fn history() {
        check("history");
    }

    #[test]
    fn describe() {
        check("describe");
    }

    #[test]
    fn query() {
        check("query");
    }

    #[test]
    fn changes() {
        check("changes");
    }

    #[test]
    fn simulate() {
        check("simulate");
    }

    #[test]
    fn slips() {
        check("slips");
    }

    #[test]
    fn cycles() {
        check("cycles");
    }

    #[test]
    fn language() {
        check("language");
    }

    /// Each verb stands in a transcript with what it prints, and with an error.
    #[test]
    fn every_verb_has_a_transcript() {
        let help = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).arg("--help").output().unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let (_, verbs) = help.split_once("Commands:\n").unwrap();
        let verbs = verbs.lines().take_while(|line| line.starts_with("  "));
        let verbs: Vec<&str> =
            verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
        assert!(verbs.len() > 25, "{help}");
        let folder = std::fs::read_dir(here().join("transcripts")).unwrap();
        let transcripts: Vec<String> =
            folder.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
        let commands: Vec<&str> = transcripts.iter().flat_map(|text| text.split("\n$ ")).collect();
        for verb in verbs {
            let of_verb = |command: &&&str| {
                let command = command.trim_start_matches("$ ");
                command.split_whitespace().nth(2) == Some(verb)
            };
            let (failed, done): (Vec<&&str>, Vec<&&str>) =
                commands.iter().filter(of_verb).partition(|command| command.contains("\nexit status "));
            assert!(
                !failed.is_empty() && !done.is_empty(),
                "{verb}: {} that fail, {} that do not",
                failed.len(),
                done.len()
            );
        }
    }

    #[test]
    fn m1_tables_fit_into_the_terminal() {
        let cluster = cluster("narrow");
        let mut tables = 0;
        for verb in ["queue", "queue -A", "history", "status", "query machines -A", "query jobs -A"] {
            for columns in [80, 120] {
                let printed =
                    run(&format!("kubectl gangmatch {verb}"), &cluster, &[("COLUMNS", columns.to_string().as_str())]);
                // The first lines of a status are sentences.
                let table = printed.lines().filter(|line| !line.contains(": "));
                let widest = table.map(|line| line.chars().count()).max().unwrap();
                assert!(widest <= columns, "{verb}: {widest} of {columns}\n{printed}");
                tables += 1;
            }
        }
        assert_eq!(tables, 12);
    }

    #[test]
    fn m14_that_no_controller_runs_is_said() {
        let cluster = cluster("no-controller");
        let status = run("kubectl gangmatch status --controller-namespace elsewhere", &cluster, &[]);
        assert!(
            status.starts_with("Controller: none: there is no Lease `gangmatch` in namespace elsewhere"),
            "{status}"
        );
        assert!(status.ends_with("exit status 1\n"), "{status}");
        let queue = run("kubectl gangmatch queue -n bio", &cluster, &[]);
        assert!(queue.contains("no negotiation cycle has evaluated it yet; see kubectl gangmatch status"), "{queue}");
    }

    #[test]
    fn completion() {
        check("completion");
    }

    #[test]
    fn failures() {
        for name in ["unreachable", "not-installed", "forbidden"] {
            check(name);
        }
    }
}
