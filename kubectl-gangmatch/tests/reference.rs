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
        assert!(
            page == on_disk,
            "docs/cli.md is out of date: UPDATE=1 cargo test -p kubectl-gangmatch --test reference"
        );
        assert!(page.matches("\n## ").count() > 15, "{page}");
    }
}
