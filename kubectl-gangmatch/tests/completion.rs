//! Completes command lines in the shells themselves, with the scripts that `completion` prints. The cluster is the kubectl of
//! `tests/cluster`. The test of a shell that is not installed is skipped, and says so.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Stdio};

    /// A folder with a job that is named `sim`, for one test.
    fn cluster(name: &str) -> PathBuf {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("completion").join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let job = r#"{"metadata": {"namespace": "eda", "name": "sim"}}"#;
        std::fs::write(folder.join("items.jobs.gangmatch.dev.eda"), job).unwrap();
        folder
    }

    /// What a shell prints that runs a script, within a minute; none if the shell is not installed.
    fn says(shell: &str, options: &[&str], script: &str) -> Option<String> {
        let is_there =
            Command::new("sh").args(["-c", &format!("command -v {shell}")]).output().unwrap().status.success();
        if !is_there {
            eprintln!("SKIPPED, NOTHING WAS TESTED: {shell} is not installed; apt-get install {shell}");
            return None;
        }
        let plugin = Path::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).parent().unwrap();
        let kubectl = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster");
        let path = format!("{}:{}:{}", plugin.display(), kubectl.display(), std::env::var("PATH").unwrap());
        let mut command = Command::new("timeout");
        command.args(["60", shell]).args(options).arg(script);
        command.env("PATH", path).env("CLUSTER", cluster(shell)).env("TERM", "xterm");
        let output = command.stdin(Stdio::null()).output().unwrap();
        let [said, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        assert!(output.status.success(), "{shell}: {said}{errors}");
        Some(said)
    }

    #[test]
    fn bash_completes_verbs_and_names() {
        let complete = |words: &str, place: usize| {
            let script = format!(
                "source <(kubectl-gangmatch completion bash); COMP_WORDS=({words}); COMP_CWORD={place}; \
                 _kubectl_gangmatch; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            );
            says("bash", &["--norc", "-c"], &script)
        };
        let Some(verbs) = complete("kubectl-gangmatch su", 1) else { return };
        assert_eq!(verbs, "suspend\nsummary\n");
        assert_eq!(complete("kubectl-gangmatch release s", 2).unwrap(), "sim\n");
    }

    #[test]
    fn fish_completes_verbs_and_names() {
        let complete = |line: &str| {
            let script = format!("kubectl-gangmatch completion fish | source; complete -C '{line}'");
            says("fish", &["--no-config", "-c"], &script)
        };
        let Some(verbs) = complete("kubectl-gangmatch hist") else { return };
        assert_eq!(verbs, "history\tPrint the claims that have ended\n");
        assert_eq!(complete("kubectl-gangmatch release s").unwrap(), "sim\n");
        assert!(complete("kubectl-gangmatch lint Cargo").unwrap().contains("Cargo.toml"), "files are completed");
    }

    /// Types into an interactive zsh on a terminal, and waits until the word is complete: its completion works nowhere else.
    const ZSH: &str = r#"
zmodload zsh/zpty || exit 3
zpty shell zsh -f -i
zpty -w shell "autoload -U compinit; compinit -u -D; source <(kubectl-gangmatch completion zsh); print loaded-\$((40+2))"
zpty -r shell said '*loaded-42*' || exit 4
zpty -w -n shell $'kubectl-gangmatch hist\t'
zpty -r shell said '*history*' || exit 5
zpty -w -n shell $'\C-ukubectl-gangmatch release s\t'
zpty -r shell said '*release sim*' || exit 6
zpty -d shell
print completed
"#;

    #[test]
    fn zsh_completes_verbs_and_names() {
        let Some(said) = says("zsh", &["-f", "-c"], ZSH) else { return };
        assert_eq!(said, "completed\n");
    }
}
