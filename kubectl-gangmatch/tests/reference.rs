//! `docs/cli.md` is the help of the program.

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::Command;

    #[test]
    fn the_page_is_what_the_program_says() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/cli.md");
        let page = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).arg("__reference").output().unwrap();
        let page = String::from_utf8(page.stdout).unwrap();
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, &page).unwrap();
        }
        let on_disk = std::fs::read_to_string(&path).unwrap();
        assert!(page == on_disk, "docs/cli.md is out of date: UPDATE=1 cargo test --test reference");
        assert!(page.matches("\n## ").count() > 15, "{page}");
    }

    #[test]
    fn every_verb_has_a_man_page() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("man");
        let _ = std::fs::remove_dir_all(&folder);
        let written = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch")).arg("__man").arg(&folder).output().unwrap();
        assert!(written.status.success(), "{written:?}");
        let page = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
        assert!(page("kubectl-gangmatch.1").contains("gangmatch"));
        assert!(page("kubectl-gangmatch-drain.1").contains("condor_drain"));
        let hidden = |name: &str| name.contains("__");
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let names: Vec<String> = names.collect();
        assert!(names.len() > 15 && !names.iter().any(|name| hidden(name)), "{names:?}");
    }
}
