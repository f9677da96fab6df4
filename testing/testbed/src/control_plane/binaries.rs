//! Turns the pinned Go modules of `testing/testbed/control-plane` into executables in the user's cache, once for each state of the
//! pins.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use sha2::{Digest as _, Sha256};

use super::pki::hexadecimal;
use super::recipe::{self, Build};
use crate::repository;

/// The files whose content decides what is built of the control plane and of nodes.
const PINS: [&str; 4] = ["go.mod", "go.sum", "helm/go.mod", "helm/go.sum"];
/// The files whose content decides what is built of the oldest release.
const PINS_OF_OLDEST: [&str; 2] = ["oldest/go.mod", "oldest/go.sum"];
/// The files whose content decides what promtool is.
const PROMTOOL_PINS: [&str; 2] = ["promtool/go.mod", "promtool/go.sum"];
/// How much of the digest names the cached folder.
const KEY_LENGTH: usize = 16;

/// A folder with executables: those of the control plane and its tools, or those of a node.
#[derive(Debug, Clone)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// `etcd`, `kube-apiserver`, `kube-controller-manager`, `kube-scheduler`, `kwok`, `kwok-stages.yaml`, `kubectl` and `helm`, built now
    /// if they are not in the cache; says so on stderr, since that takes minutes.
    ///
    /// # Errors
    /// When Go is missing or too old, or a module cannot be had or built.
    pub fn ready() -> Result<Self> {
        let sources = sources();
        let go_mod = fs::read_to_string(sources.join("go.mod"))?;
        let helm_mod = fs::read_to_string(sources.join("helm/go.mod"))?;
        let builds = [recipe::control_plane(&go_mod)?, recipe::helm(&helm_mod)?];
        Self::cached(
            &PINS,
            &builds,
            "the control plane: 5 to 10 minutes on 2 cores, about 130 MB of downloads, 420 MB kept",
            |out| {
                // `go build` names a program after the last part of its path that is no version.
                fs::rename(out.join("server"), out.join("etcd"))?;
                Ok(fs::write(out.join("kwok-stages.yaml"), stages(&sources)?)?)
            },
        )
    }

    /// `kubelet` and `kube-proxy`, likewise.
    ///
    /// # Errors
    /// As [`Binaries::ready`].
    pub fn of_node() -> Result<Self> {
        let go_mod = fs::read_to_string(sources().join("go.mod"))?;
        Self::cached(
            &PINS,
            &[recipe::node(&go_mod)?],
            "kubelet and kube-proxy: 2 to 8 minutes on 2 cores, 110 MB kept",
            |_| Ok(()),
        )
    }

    /// `kube-apiserver`, `kube-controller-manager` and `kube-scheduler` of the oldest release on which the product is tested, likewise.
    ///
    /// # Errors
    /// As [`Binaries::ready`].
    pub fn of_oldest() -> Result<Self> {
        let what = "the oldest release of Kubernetes: 4 to 8 minutes on 2 cores, 230 MB kept";
        Self::cached(&PINS_OF_OLDEST, &[Self::oldest()?], what, |_| Ok(()))
    }

    /// Whether [`Binaries::of_oldest`] has nothing to build.
    ///
    /// # Errors
    /// As [`Binaries::ready`].
    pub fn has_oldest() -> Result<bool> {
        Ok(cache_folder()?.join(key(&sources(), &PINS_OF_OLDEST, &[Self::oldest()?])?).is_dir())
    }

    fn oldest() -> Result<Build> {
        recipe::oldest(&fs::read_to_string(sources().join("oldest/go.mod"))?)
    }

    /// `promtool`, likewise.
    ///
    /// # Errors
    /// As [`Binaries::ready`].
    pub fn of_prometheus() -> Result<Self> {
        let what = "promtool: 5 to 10 minutes on 2 cores, about 150 MB of downloads, 110 MB kept";
        Self::cached(&PROMTOOL_PINS, &[recipe::promtool()], what, |_| Ok(()))
    }

    /// What these builds make, which `what` describes with its costs. `finish` completes a folder with new executables.
    fn cached(pins: &[&str], builds: &[Build], what: &str, finish: impl FnOnce(&Path) -> Result<()>) -> Result<Self> {
        let sources = sources();
        let cache = cache_folder()?;
        let folder = cache.join(key(&sources, pins, builds)?);
        if folder.is_dir() {
            return Ok(Self { folder });
        }
        fs::create_dir_all(&cache)?;
        let _lock = locked(&cache)?;
        if !folder.is_dir() {
            say(&format!("building into {}, once: {what} (and 3 GB of Go's own build cache)", folder.display()));
            let start = Instant::now();
            let partial = empty_partial(&cache, &folder)?;
            build(&sources, builds, &partial)?;
            finish(&partial)?;
            fs::rename(&partial, &folder)?;
            say(&format!("built: {} s", start.elapsed().as_secs()));
        }
        Ok(Self { folder })
    }

    /// One of the executables.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where all of them are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Where the pinned modules are.
fn sources() -> PathBuf {
    repository::root().join("testing/testbed/control-plane")
}

fn cache_folder() -> Result<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("gangmatch/control-plane"))
}

/// The digest of the pins, of the recipe and of the compiler.
fn key(sources: &Path, pins: &[&str], builds: &[Build]) -> Result<String> {
    let mut digest = Sha256::new();
    for pin in pins {
        let text =
            fs::read(sources.join(pin)).with_context(|| format!("cannot read testing/testbed/control-plane/{pin}"))?;
        digest.update(Sha256::digest(text));
    }
    for build in builds {
        digest.update(format!("{} {:?} {:?};", build.module, build.arguments, build.packages));
    }
    digest.update(format!("{:?} {:?}", recipe::ENVIRONMENT, recipe::STAGES));
    digest.update(go(sources, &["env", "GOVERSION", "GOOS", "GOARCH"])?);
    let mut key = hexadecimal(&digest.finalize());
    key.truncate(KEY_LENGTH);
    Ok(key)
}

/// Holds the cache against another test run that builds at the same time.
fn locked(cache: &Path) -> Result<File> {
    let lock = OpenOptions::new().create(true).append(true).open(cache.join(".lock"))?;
    if lock.try_lock().is_err() {
        say("another run is building the control plane; waiting for it");
        lock.lock().context("cannot lock the cache")?;
    }
    Ok(lock)
}

/// A new folder for what is being built. Under the lock, so what lies in the cache unfinished was left by a build that did not live to its
/// end.
fn empty_partial(cache: &Path, folder: &Path) -> Result<PathBuf> {
    for entry in fs::read_dir(cache)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "partial") {
            fs::remove_dir_all(path)?;
        }
    }
    let partial = folder.with_extension("partial");
    fs::create_dir_all(&partial)?;
    Ok(partial)
}

fn build(sources: &Path, builds: &[Build], out: &Path) -> Result<()> {
    for build in builds {
        let start = Instant::now();
        let names: Vec<&str> = build.packages.iter().map(|package| executable(package)).collect();
        say(&format!("  go build {}", names.join(" ")));
        go_build(&sources.join(build.module), build, out)?;
        say(&format!("  {} s", start.elapsed().as_secs()));
    }
    Ok(())
}

fn executable(package: &'static str) -> &'static str {
    if package.starts_with("go.etcd.io/") { "etcd" } else { package.rsplit('/').next().unwrap_or(package) }
}

fn go_build(module: &Path, build: &Build, out: &Path) -> Result<()> {
    let status = go_command(module)
        .args(&build.arguments)
        .arg("-o")
        .arg(format!("{}/", out.display()))
        .args(build.packages)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context("`go` does not start")?;
    if !status.success() {
        bail!("`go build` failed in {}; its own words are above", module.display());
    }
    Ok(())
}

/// The text of kwok's stages, out of its module.
fn stages(sources: &Path) -> Result<String> {
    let module = go(sources, &["list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"])?;
    let mut text = String::new();
    for stage in recipe::STAGES {
        let path = Path::new(module.trim()).join("kustomize/stage").join(stage);
        text.push_str("---\n");
        text.push_str(&fs::read_to_string(&path).with_context(|| format!("kwok's module lacks {}", path.display()))?);
    }
    Ok(text)
}

/// What a `go` command prints, run where `go.mod` can ask for a newer compiler.
fn go(sources: &Path, arguments: &[&str]) -> Result<String> {
    let output = go_command(sources).args(arguments).stdin(Stdio::null()).output();
    let output =
        output.context("Go is needed to build the control plane, and `go` is not in PATH; any from 1.26 on will do")?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        bail!(
            "Go 1.26 or newer is needed to build the control plane; `go {}` said: {}",
            arguments.join(" "),
            words.trim()
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn go_command(folder: &Path) -> Command {
    let mut command = Command::new("go");
    command.current_dir(folder).envs(recipe::ENVIRONMENT);
    command
}

/// One line for whoever waits. Not by `eprintln`, which the test harness holds back until the test is over.
fn say(line: &str) {
    writeln!(std::io::stderr(), "{line}").ok();
}
