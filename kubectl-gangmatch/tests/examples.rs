//! Every example folder, as the plugin prints it.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use serde_json::Value;

    fn examples() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
    }

    fn run(arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.arg("match").args(arguments).args(["--now", "2026-11-21T14:00:00Z"]).current_dir(examples());
        let output = command.output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && errors.is_empty(), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(arguments: &[&str]) -> Value {
        let all = [arguments, &["-o", "json"]].concat();
        serde_json::from_str(&run(&all)).unwrap()
    }

    #[test]
    fn every_example_gives_what_stands_beside_it() {
        let mut folders: Vec<PathBuf> =
            std::fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path()).collect();
        folders.sort();
        for folder in folders.iter().filter(|folder| folder.is_dir()) {
            let name = folder.file_name().unwrap().to_str().unwrap();
            let expected = std::fs::read_to_string(folder.join("expected.txt")).unwrap_or_default();
            assert!(folder.join("README.md").is_file() && !expected.is_empty(), "examples/{name}");
            assert_eq!(run(&["-f", name]), expected, "examples/{name}/expected.txt");
        }
        assert!(folders.len() >= 5, "{folders:?}");
    }

    #[test]
    fn both_forms_of_the_quick_start_give_the_same_match() {
        assert_eq!(json(&["-f", "quickstart"]), json(&["-f", "quickstart/classad"]));
    }

    #[test]
    fn the_order_of_files_changes_nothing() {
        let files = ["floating/jobs.yaml", "floating/license.yaml", "floating/machines.yaml"];
        let named = |order: [usize; 3]| {
            let arguments: Vec<&str> = order.iter().flat_map(|place| ["-f", files[*place]]).collect();
            json(&arguments)
        };
        let first = named([0, 1, 2]);
        assert_eq!(first["items"].as_array().map(Vec::len), Some(3));
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            assert_eq!(named(order), first, "{order:?}");
        }
    }

    #[test]
    fn what_else_is_read_does_not_change_a_name() {
        let name = |value: &Value| value["items"][0]["metadata"]["name"].clone();
        let alone = json(&["-f", "quickstart"]);
        assert_eq!(name(&json(&["-f", "subnet/license.yaml", "-f", "quickstart"])), name(&alone));
    }

    #[test]
    fn matches_are_objects_that_the_api_takes() {
        let found = json(&["-f", "floating"]);
        for item in found["items"].as_array().unwrap() {
            let object: crds::Match = serde_json::from_value(item.clone()).unwrap();
            assert_eq!(item["apiVersion"], "gangmatch.dev/v1alpha1");
            assert_eq!(item["kind"], "Match");
            assert!((2..=64).contains(&object.spec.members.len()));
            for member in &object.spec.members {
                assert_eq!(member.uid.len(), 36, "{}", member.uid);
                assert_eq!(member.parent.is_some(), member.allocation.as_ref().is_some_and(|takes| !takes.is_empty()));
            }
        }
        let yaml = run(&["-f", "floating", "-o", "yaml"]);
        assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), found);
    }
}
