//! Prints what is generated of the types as JSON, for `cargo xtask generate`: the manifests with their paths, and the definitions of all kinds.

use std::io::{Write as _, stdout};

use serde_json::json;

fn main() -> std::io::Result<()> {
    let file = |file: crds::Generated| json!({"path": file.path, "text": file.text});
    let files: Vec<_> = crds::generated().into_iter().map(file).collect();
    stdout().write_all(json!({"files": files, "definitions": crds::definitions()}).to_string().as_bytes())
}
