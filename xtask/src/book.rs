//! Turns the documents of the repository into a book: copies them as they are to one another, and calls mdbook.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use testbed::repository;

use crate::output::{line, step};
use crate::tidy;

/// What mdbook reads, from the repository's root. Links between documents keep their meaning there, since their folders do.
const PAGES: &str = "target/book/src";
/// What mdbook reads beside them.
const SETTINGS: [&str; 2] = ["book.toml", "book.css"];

/// Builds the book.
pub(crate) fn run() -> Result<()> {
    let root = repository::root();
    let findings = tidy::findings(&root)?;
    if !findings.is_empty() {
        bail!("{}", findings.join("\n"));
    }
    step("pages", || copy_pages(&root))?;
    let book = root.join("target/book");
    let built = Command::new("mdbook").arg("build").arg(&book).status();
    let status = built.context("mdbook does not start; install it with `cargo install mdbook`")?;
    if !status.success() {
        bail!("mdbook failed");
    }
    line(format_args!("the book is in {}", book.join("html/index.html").display()));
    Ok(())
}

/// Copies all pages, what they link to, and the table of contents.
fn copy_pages(root: &Path) -> Result<()> {
    let to = root.join(PAGES);
    if to.exists() {
        fs::remove_dir_all(&to)?;
    }
    fs::create_dir_all(&to)?;
    for folder in ["docs", "examples"] {
        copy_folder(&root.join(folder), &to.join(folder))?;
    }
    for file in tidy::OUTER_PAGES.iter().chain(&["LICENSE", "NOTICE"]) {
        copy(&root.join(file), &to.join(file))?;
    }
    let contents = fs::read_to_string(root.join(tidy::CONTENTS))?;
    fs::remove_file(to.join(tidy::CONTENTS))?;
    fs::write(to.join("SUMMARY.md"), from_root(&contents))?;
    SETTINGS.iter().try_for_each(|file| copy(&root.join("docs").join(file), &root.join("target/book").join(file)))
}

/// The table of contents, whose links are those of a file in `docs`, as a file of the root.
fn from_root(contents: &str) -> String {
    contents.replace("](", "](docs/").replace("](docs/../", "](").replace("](docs/)", "]()")
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() { copy_folder(&from, &to)? } else { copy(&from, &to)? }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    if from.extension().is_some_and(|extension| extension == "md") {
        let text = fs::read_to_string(from).with_context(|| from.display().to_string())?;
        fs::write(to, as_named(&text))?;
    } else {
        fs::copy(from, to).with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Links as mdbook names the pages: README.md is the index of its folder, and the table of contents is a page of its own.
fn as_named(text: &str) -> String {
    let text = text.replace("](docs/SUMMARY.md)", "](toc.md)").replace("](README.md", "](index.md");
    text.replace("/README.md)", "/index.md)").replace("/README.md#", "/index.md#")
}

#[cfg(test)]
mod tests {
    use super::{as_named, from_root};

    #[test]
    fn links_to_a_folder_s_first_page_keep_their_headings() {
        let text = "[a](README.md#top) [b](../examples/campus/README.md) [c](docs/SUMMARY.md) `README.md`";
        assert_eq!(as_named(text), "[a](index.md#top) [b](../examples/campus/index.md) [c](toc.md) `README.md`");
    }

    #[test]
    fn the_contents_lead_to_the_same_pages_from_the_root() {
        let contents = "# Contents\n\n[Read me](../README.md)\n\n- [Ads](concepts/ads.md)\n- [Part]()\n";
        assert_eq!(
            from_root(contents),
            "# Contents\n\n[Read me](README.md)\n\n- [Ads](docs/concepts/ads.md)\n- [Part]()\n"
        );
    }
}
