//! Turns the system's static busybox into the two images that pods of tests need: one that waits, one with a shell.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::image::{Archive, Image, Layout, Settings};

/// The image that holds the namespaces of each pod.
pub(crate) const PAUSE: &str = "docker.io/gangmatch-test/pause:1";
/// An image with `/bin/sh` and what busybox has, for pods of tests.
pub const BUSYBOX: &str = "docker.io/gangmatch-test/busybox:1";
/// Where distributions put busybox.
const PLACES: [&str; 2] = ["/bin/busybox", "/usr/bin/busybox"];
/// The commands that the image with a shell has.
const COMMANDS: [&str; 6] = ["cat", "env", "false", "sh", "sleep", "true"];

/// The architecture of this machine as images name it, if it is one that the product is built for.
#[must_use]
pub fn architecture() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        _ => None,
    }
}

/// Whether an executable needs no other file: no loader, no libraries. False when it cannot be read.
#[must_use]
pub fn is_static(executable: &Path) -> bool {
    let mut command = Command::new("readelf");
    command.args(["--program-headers", "--dynamic", "--wide"]).arg(executable);
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        output.status.success() && !text.contains("INTERP") && !text.contains("(NEEDED)")
    })
}

/// The system's busybox, if it is static.
pub(crate) fn static_busybox() -> Option<PathBuf> {
    PLACES.into_iter().map(PathBuf::from).find(|path| path.is_file() && is_static(path))
}

/// Both images.
///
/// # Errors
/// When there is no static busybox.
pub(crate) fn layouts() -> Result<[Layout; 2]> {
    let busybox = fs::read(static_busybox().context("there is no static busybox")?)?;
    let files = Archive::default().file("bin/busybox", 0o755, busybox).folder("tmp", 0o1777, 0);
    let architecture = architecture().context("no image is built for this architecture")?;
    let layout = |name: &str, entrypoint: &[&str], files: Archive| {
        let settings = Settings {
            entrypoint: entrypoint.iter().map(|&word| word.to_owned()).collect(),
            environment: vec!["PATH=/bin".to_owned()],
            ..Settings::default()
        };
        Image { name: name.to_owned(), architecture: architecture.to_owned(), settings, files }.layout()
    };
    let linked = COMMANDS.iter().fold(files.clone(), |files, name| files.symlink(&format!("bin/{name}"), "busybox"));
    Ok([layout(PAUSE, &["/bin/busybox", "sleep", "2147483647"], files)?, layout(BUSYBOX, &["/bin/sh"], linked)?])
}
