//! Turns the place of this crate into paths of the checkout, and names of our programs into built executables.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use serde_json::Value;

/// How many folders below the repository's root this crate is.
const DEPTH: usize = 2;

/// The folder that holds the workspace's `Cargo.toml`.
#[must_use]
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(DEPTH).unwrap_or(here).to_path_buf()
}

/// Cargo, in the folder of the workspace. It is this program's own cargo, if that has started it; but without what cargo has told this
/// program of its own crate: `ring` is built again, and all that needs it, whenever that changes.
#[must_use]
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_crate(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    command.current_dir(root()).stdin(Stdio::null());
    command
}

/// Builds one of the workspace's programs, such as `gangmatch-controller`, once in each process, and answers where its executable is.
///
/// # Errors
/// When it does not compile; the compiler's own words are on stderr.
pub fn program(name: &str) -> Result<PathBuf> {
    static BUILT: Mutex<BTreeMap<String, PathBuf>> = Mutex::new(BTreeMap::new());
    let mut built = BUILT.lock();
    if let Some(path) = built.get(name) {
        return Ok(path.clone());
    }
    // The whole workspace's features, so that the dependencies of a test run are not compiled a second time.
    let path = build(&["--workspace", "--bin", name], name)?;
    built.insert(name.to_owned(), path.clone());
    Ok(path)
}

/// The programs of the demonstration.
#[derive(Debug)]
pub struct Demonstration {
    /// The controller.
    pub controller: PathBuf,
    /// The embedded API server.
    pub server: PathBuf,
    /// The plugin of kubectl, if it was asked for.
    pub plugin: Option<PathBuf>,
}

/// Builds the programs of the demonstration, all at once. Cargo prints what it compiles.
///
/// # Errors
/// When they do not compile.
pub fn demonstration(with_plugin: bool) -> Result<Demonstration> {
    let mut names = vec!["gangmatch-controller", "embedded-apiserver"];
    names.extend(with_plugin.then_some("kubectl-gangmatch"));
    let what: Vec<&str> =
        std::iter::once("--workspace").chain(names.iter().flat_map(|name| ["--bin", *name])).collect();
    let mut built = build_all(&what, &names, Sound::Loud, &[])?.into_iter();
    let (controller, server) = built.next().zip(built.next()).context("two executables were asked for")?;
    Ok(Demonstration { controller, server, plugin: built.next() })
}

/// The same, optimised.
///
/// # Errors
/// When it does not compile.
pub fn optimised(name: &str) -> Result<PathBuf> {
    build(&["--release", "--workspace", "--bin", name], name)
}

/// Programs as releases contain them, by package and name: optimised, static, with no path of this machine in them. The same sources
/// give the same bytes.
///
/// # Errors
/// When they do not compile, or this is not Linux with a C compiler and the static C library.
pub fn static_programs(programs: &[(&str, &str)]) -> Result<Vec<PathBuf>> {
    let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let cargo_home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let cargo_home = cargo_home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let cargo_home = cargo_home.context("neither CARGO_HOME nor HOME is set")?;
    // As in .ci/package. A named target keeps the flags away from build scripts.
    let flags = [
        "-C".to_owned(),
        "target-feature=+crt-static".to_owned(),
        format!("--remap-path-prefix={}=/source", root().display()),
        format!("--remap-path-prefix={}=/cargo", cargo_home.display()),
    ];
    let mut arguments = vec!["--locked", "--release", "--target", &target];
    arguments.extend(programs.iter().flat_map(|(package, _)| ["--package", *package]));
    let names: Vec<&str> = programs.iter().map(|(_, name)| *name).collect();
    build_all(&arguments, &names, Sound::Quiet, &[("CARGO_ENCODED_RUSTFLAGS", &flags.join("\u{1f}"))])
}

/// Runs `cargo build` with these arguments and answers where the executable called `name` is.
///
/// # Errors
/// When it does not compile.
pub fn build(what: &[&str], name: &str) -> Result<PathBuf> {
    build_all(what, &[name], Sound::Quiet, &[])?.pop().context("one executable was asked for")
}

/// Whether cargo says what it compiles.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sound {
    Quiet,
    Loud,
}

/// The same for several executables, with further variables in the environment.
fn build_all(what: &[&str], names: &[&str], sound: Sound, environment: &[(&str, &str)]) -> Result<Vec<PathBuf>> {
    let mut command = cargo();
    command.envs(environment.iter().copied());
    command
        .arg("build")
        .args((sound == Sound::Quiet).then_some("--quiet"))
        .args(what)
        .arg("--message-format=json-render-diagnostics");
    let output = command.stderr(Stdio::inherit()).output().context("cargo does not start")?;
    if !output.status.success() {
        bail!("`cargo build {}` failed", what.join(" "));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages: Vec<Value> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let executable = |name: &&str| {
        messages
            .iter()
            .filter(|message| message.pointer("/target/name").and_then(Value::as_str) == Some(name))
            .find_map(|message| message.get("executable").and_then(Value::as_str).map(PathBuf::from))
            .with_context(|| format!("cargo built no executable named `{name}`"))
    };
    names.iter().map(executable).collect()
}

fn is_of_a_crate(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

#[cfg(test)]
mod tests {
    use super::cargo;

    #[test]
    fn cargo_learns_nothing_of_the_crate_that_calls_it() {
        assert!(std::env::var_os("CARGO_PKG_NAME").is_some(), "cargo runs this test");
        let command = cargo();
        let removed = |name: &str| command.get_envs().any(|(own, value)| own == name && value.is_none());
        assert!(removed("CARGO_PKG_NAME") && removed("CARGO_MANIFEST_DIR") && !removed("PATH"));
    }
}
