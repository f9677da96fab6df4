//! Turns the sources into the container image of a release, without Docker: two static programs, and the licences of what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use testbed::image::{Archive, Image, Layout, Settings};
use testbed::{real_node, repository};

use crate::output::{line, noisy_step};
use crate::{licenses, plane};

/// The repository that the chart runs by default; the tag is the chart's version.
const REPOSITORY: &str = "registry.invalid/gangmatch";
/// The programs in the image, by their packages. The first is what a container runs.
const PROGRAMS: [(&str, &str); 2] = [("controller", "gangmatch-controller"), ("agent", "gangmatch-agent")];
/// The user of the chart's pods, called `nonroot` in distroless images.
const USER: u32 = 65532;
/// The files of the folder that `cargo xtask image` writes.
const LAYOUT: &str = "layout";
const ARCHIVE: &str = "gangmatch-image.tar";

/// Builds the image and writes it into a folder.
///
/// # Errors
/// When a program does not compile or is not static, or a file cannot be written.
pub(crate) fn run(out: Option<PathBuf>) -> Result<()> {
    let folder = out.unwrap_or_else(|| plane::state("image"));
    let (layout, archive) = write(&folder)?;
    line(format_args!("image:   {}", name()));
    line(format_args!("digest:  {}", layout.digest()));
    line(format_args!("id:      {}", layout.id()));
    line(format_args!("layout:  {}", folder.join(LAYOUT).display()));
    line(format_args!("archive: {} ({:.1} MB)", archive.display(), megabytes(&archive)?));
    Ok(())
}

/// Builds the image and writes it into a folder; returns it with the file of its archive.
///
/// # Errors
/// As [`run`].
pub(crate) fn write(folder: &Path) -> Result<(Layout, PathBuf)> {
    let layout = noisy_step("image of the controller and the agent", "5 minutes on 2 cores", build)?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    layout.write_folder(&folder.join(LAYOUT))?;
    let archive = folder.join(ARCHIVE);
    layout.write_archive(&archive)?;
    Ok((layout, archive))
}

/// The name under which the chart finds the image.
pub(crate) fn name() -> String {
    format!("{REPOSITORY}:{}", env!("CARGO_PKG_VERSION"))
}

fn build() -> Result<Layout> {
    let architecture = real_node::architecture().context("images are built for amd64 and arm64")?;
    let programs = repository::static_programs(&PROGRAMS)?;
    let mut files = files()?;
    for program in &programs {
        let name = program.file_name().context("a program has a name")?.to_string_lossy();
        if !real_node::is_static(program) {
            bail!("{name} is not linked statically, or readelf (Debian's package binutils) is missing");
        }
        files = files.file(&name, 0o755, fs::read(program)?);
    }
    let label = |name: &str, value: &str| (format!("org.opencontainers.image.{name}"), value.to_owned());
    let settings = Settings {
        entrypoint: vec![format!("/{}", PROGRAMS[0].1)],
        // As numbers, so that Kubernetes can check runAsNonRoot.
        user: format!("{USER}:{USER}"),
        environment: vec!["PATH=/".to_owned()],
        ports: vec!["8080/tcp".to_owned()],
        labels: BTreeMap::from([
            label("title", "gangmatch"),
            label("version", env!("CARGO_PKG_VERSION")),
            label("licenses", "Apache-2.0"),
        ]),
    };
    Image { name: name(), architecture: architecture.to_owned(), settings, files }.layout()
}

/// All files but the programs: those that a base image without a distribution has, and the licences.
fn files() -> Result<Archive> {
    let root = repository::root();
    let users =
        format!("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{USER}:{USER}:nonroot:/home/nonroot:/sbin/nologin\n");
    let groups = format!("root:x:0:\nnonroot:x:{USER}:\n");
    Ok(Archive::default()
        .file("etc/passwd", 0o644, users.into_bytes())
        .file("etc/group", 0o644, groups.into_bytes())
        .folder("tmp", 0o1777, 0)
        .folder("home/nonroot", 0o700, USER)
        .file("licenses/LICENSE", 0o644, fs::read(root.join("LICENSE"))?)
        .file("licenses/NOTICE", 0o644, fs::read(root.join("NOTICE"))?)
        .file("licenses/THIRD-PARTY-LICENSES", 0o644, licenses::text()?.into_bytes()))
}

fn megabytes(file: &Path) -> Result<f64> {
    let bytes = u32::try_from(fs::metadata(file)?.len()).context("an image of more than 4 GB")?;
    Ok(f64::from(bytes) / 1e6)
}
