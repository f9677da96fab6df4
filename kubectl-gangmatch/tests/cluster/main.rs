//! The verbs that ask a cluster, as a user sees them. The cluster is a kubectl that lists the objects of `pool.yaml`; the transcripts
//! beside it hold the commands and what they print. With UPDATE=1 the transcripts are written anew.

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
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
        let of_kind = |kind: &str| -> Vec<&Value> { objects.iter().filter(|object| object["kind"] == kind).collect() };
        let text = |object: &Value, name: &str| object["metadata"][name].as_str().unwrap().to_owned();
        for object in of_kind("Event") {
            let of = &object["involvedObject"];
            write(
                &format!("events.{}.{}.json", of["kind"].as_str().unwrap(), of["name"].as_str().unwrap()),
                &json!({"items": [object]}),
            );
        }
        for (kind, resource) in [
            ("Job", "jobs.gangmatch.dev"),
            ("Machine", "machines.gangmatch.dev"),
            ("License", "licenses.gangmatch.dev"),
            ("Match", "matches.gangmatch.dev"),
            ("Lease", "leases.coordination.k8s.io"),
        ] {
            let (mut items, mut in_namespaces) = (Vec::new(), BTreeMap::<String, Vec<String>>::new());
            for object in of_kind(kind) {
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
    fn top() {
        check("top");
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
    fn slips() {
        check("slips");
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
