//! Turns the scripts of a release into checks: the archives have what they should, the manifest for krew says what is in them, and the chart
//! says where it comes from. Compilers, Helm and what takes them minutes are stood in for.
#![cfg(test)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use testbed::repository;

const REPOSITORY: &str = "owner/gangmatch";
const PLATFORMS: [&str; 2] = ["amd64", "arm64"];

/// The version of this checkout.
fn version() -> String {
    let text = std::fs::read_to_string(repository::root().join("Cargo.toml")).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("version = \"")).unwrap();
    line.trim_end_matches('"').to_owned()
}

/// A folder, new for each test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("release").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A program on the PATH of a script: what it does in the shell.
fn stand_in(programs: &Path, name: &str, script: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    let path = programs.join(name);
    std::fs::write(&path, format!("#!/usr/bin/env bash\nset -e\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn run(script: &str, arguments: &[&str], programs: &Path, settings: &[(&str, &str)]) -> Output {
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(repository::root().join(script));
    let output = command.args(arguments).env("PATH", path).envs(settings.iter().copied()).output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// What a program prints, without the end of the last line.
fn printed(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// The archives of a release for each platform: those of another one are copies with another checksum.
fn archives(name: &str) -> Option<PathBuf> {
    let log = Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(repository::root()).output();
    if !log.is_ok_and(|output| output.status.success()) {
        eprintln!("SKIPPED, NOTHING WAS TESTED: archives have the time of a commit, and this is no git checkout");
        return None;
    }
    let (made, programs) = (folder(name), folder(&format!("{name}-programs")));
    let plugin = repository::program("kubectl-gangmatch").unwrap();
    let built = made.join("built");
    let build = format!(
        "case \"$1 $2\" in\n\
         'build --locked')\n  to=$CARGO_TARGET_DIR/$(rustc -vV | sed -n 's/^host: //p')/release\n  mkdir -p \"$to\"\n  \
         for name in gangmatch-controller gangmatch-agent; do echo program >\"$to/$name\"; done\n  \
         printf '#!/bin/sh\\nexec %s \"$@\"\\n' {plugin} >\"$to/kubectl-gangmatch\" ;;\n\
         'xtask licenses') echo texts >\"$3\" ;;\n\
         *) echo \"cargo $*\" >&2; exit 1 ;;\nesac",
        plugin = plugin.display()
    );
    stand_in(&programs, "cargo", &build);
    // That programs are linked statically is checked where they are built.
    stand_in(&programs, "readelf", "true");
    let (to, built) = (made.display().to_string(), built.display().to_string());
    run(".ci/package", &[&version(), &to], &programs, &[("CARGO_TARGET_DIR", &built)]);
    let names: Vec<String> = std::fs::read_dir(&made)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".tar.gz"))
        .collect();
    let own =
        PLATFORMS.into_iter().find(|platform| names.iter().all(|name| name.ends_with(&format!("_{platform}.tar.gz"))));
    let (own, other) = match own.expect("archives of one platform") {
        "amd64" => ("amd64", "arm64"),
        _ => ("arm64", "amd64"),
    };
    assert_eq!(names.len(), 2, "{names:?}");
    for name in names {
        let mut bytes = std::fs::read(made.join(&name)).unwrap();
        // Zeros after the end of an archive are allowed.
        bytes.push(0);
        std::fs::write(made.join(name.replace(own, other)), bytes).unwrap();
    }
    Some(made)
}

/// The files of an archive.
fn files(archive: &Path) -> Vec<String> {
    let listed = Command::new("tar").arg("-tzf").arg(archive).output().unwrap();
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn archives_have_the_programs_their_man_pages_and_all_licences() {
    let Some(made) = archives("archives") else { return };
    for platform in PLATFORMS {
        let named = |name: &str| files(&made.join(format!("{name}_{}_linux_{platform}.tar.gz", version())));
        let licences = ["LICENSE", "NOTICE", "THIRD-PARTY-LICENSES"];
        let has = |found: &[String], wanted: &[&str]| wanted.iter().all(|name| found.iter().any(|file| file == name));
        let (product, plugin) = (named("gangmatch"), named("kubectl-gangmatch"));
        assert!(has(&product, &licences) && has(&product, &["gangmatch-controller", "gangmatch-agent"]), "{product:?}");
        let wanted = ["kubectl-gangmatch", "kubectl_complete-gangmatch", "man/kubectl-gangmatch-why.1"];
        assert!(has(&plugin, &licences) && has(&plugin, &wanted), "{plugin:?}");
    }
}

/// The rules are those of krew's own check of manifests.
#[test]
fn the_manifest_for_krew_says_what_is_in_the_archives() {
    let Some(made) = archives("krew") else { return };
    let version = version();
    let arguments = [REPOSITORY, &version, &made.display().to_string()];
    let output = run(".ci/krew", &arguments, &folder("krew-programs"), &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let manifest: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(manifest["apiVersion"], "krew.googlecontainertools.github.com/v1alpha2");
    assert_eq!(manifest["kind"], "Plugin");
    assert_eq!(manifest["metadata"], json!({"name": "gangmatch"}), "kubectl-NAME is the program");
    let spec = &manifest["spec"];
    assert_eq!(spec["version"], format!("v{version}"));
    assert_eq!(spec["homepage"], format!("https://github.com/{REPOSITORY}"));
    let short = spec["shortDescription"].as_str().unwrap();
    assert!(!short.is_empty() && short.len() <= 50 && !short.ends_with('.'), "{short}");
    let long = spec["description"].as_str().unwrap();
    assert!(long.lines().all(|line| line.len() <= 80) && long.lines().count() > 2, "{long}");
    assert!(spec.as_object().unwrap().keys().all(|key| {
        ["version", "homepage", "shortDescription", "description", "platforms"].contains(&key.as_str())
    }));
    let platforms = spec["platforms"].as_array().unwrap();
    assert_eq!(platforms.len(), PLATFORMS.len());
    let mut sums = Vec::new();
    for (platform, architecture) in platforms.iter().zip(PLATFORMS) {
        assert_eq!(platform["selector"], json!({"matchLabels": {"os": "linux", "arch": architecture}}));
        let name = format!("kubectl-gangmatch_{version}_linux_{architecture}.tar.gz");
        assert_eq!(platform["uri"], format!("https://github.com/{REPOSITORY}/releases/download/v{version}/{name}"));
        let archive = made.join(&name);
        let sum = printed("sha256sum", &[&archive.display().to_string()]);
        assert_eq!(platform["sha256"].as_str(), sum.split_whitespace().next());
        sums.push(platform["sha256"].clone());
        assert_eq!(platform["bin"], "kubectl-gangmatch");
        let inside = files(&archive);
        let installed: Vec<&str> =
            platform["files"].as_array().unwrap().iter().map(|file| file["from"].as_str().unwrap()).collect();
        assert!(installed.contains(&"kubectl-gangmatch") && installed.contains(&"LICENSE"), "krew wants the licence");
        assert!(installed.iter().all(|name| inside.iter().any(|file| file == name)), "{installed:?} of {inside:?}");
        assert!(platform["files"].as_array().unwrap().iter().all(|file| file["to"] == "."));
    }
    assert_ne!(sums[0], sums[1]);
    // The verb of the release uploads what it has made under these names.
    let release = std::fs::read_to_string(repository::root().join(".github/workflows/release.yml")).unwrap();
    for line in ["run: .ci/package \"${GITHUB_REF_NAME#v}\" dist", "dist >dist/krew-gangmatch.yaml", "dist/*\n"] {
        assert!(release.contains(line), "{line}");
    }
}

#[test]
fn m19_a_release_has_licence_security_changes_and_notice_and_its_chart_says_where_it_comes_from() {
    let root = repository::root();
    for (file, words) in [
        ("LICENSE", "Apache License"),
        ("NOTICE", "gangmatch"),
        ("SECURITY.md", "Reporting a vulnerability"),
        ("CHANGELOG.md", "## 0.1.0"),
        ("CODE_OF_CONDUCT.md", ""),
        ("charts/gangmatch/README.md", "## "),
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap_or_default();
        assert!(!text.is_empty() && text.contains(words), "{file}");
    }
    // Helm gets the chart as it will be packed.
    let (programs, made) = (folder("chart-programs"), folder("chart"));
    let packed = made.join("Chart.yaml");
    stand_in(&programs, "helm", &format!("case $1 in package) cp \"$2/Chart.yaml\" {} ;; esac", packed.display()));
    stand_in(
        &programs,
        "cargo",
        "while [ $# -gt 0 ]; do [ \"$1\" != --output ] || { mkdir -p \"$2\"; echo manifest >\"$2/install.yaml\"; }; shift; done",
    );
    let arguments = ["ghcr.io/owner/gangmatch", "sha256:0123", &made.display().to_string()];
    run(".ci/package-chart", &arguments, &programs, &[("GITHUB_REPOSITORY", REPOSITORY)]);
    let chart: Value = serde_saphyr::from_str(&std::fs::read_to_string(&packed).unwrap()).unwrap();
    let home = format!("https://github.com/{REPOSITORY}");
    assert_eq!((&chart["home"], &chart["sources"]), (&json!(home), &json!([home])), "{chart}");
    assert_eq!(chart["maintainers"][0]["name"], "The gangmatch authors");
    assert_eq!(chart["annotations"]["artifacthub.io/license"], "Apache-2.0");
    assert!(made.join("install.yaml").exists());
}
