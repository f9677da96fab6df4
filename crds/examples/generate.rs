//! Turns the types into the committed manifests: writes them into the repository, or with `--check` says which differ.

use std::{error::Error, fs, path::Path};

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("the crate has no parent folder")?;
    let check = std::env::args().any(|argument| argument == "--check");
    let mut stale = Vec::new();
    for file in crds::generated() {
        let path = root.join(&file.path);
        if fs::read_to_string(&path).is_ok_and(|text| text == file.text) {
            continue;
        }
        if check {
            stale.push(file.path);
        } else {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            fs::write(&path, &file.text)?;
        }
    }
    if stale.is_empty() { Ok(()) } else { Err(format!("out of date: {}", stale.join(", ")).into()) }
}
