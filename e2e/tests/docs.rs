//! Turns the documents into checks: their commands work, what they show is what is printed, what they name exists.
//!
//! A command is a whole `shell` block, a line of a `sh` block, a line after `$ ` in a `console` block (what follows it is what it prints), an
//! indented line that begins with a program's name, or inline code that begins with `cargo` (in examples also `kubectl`).
#![cfg(test)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use testbed::product::{self, Controller};
use testbed::{ControlPlane, Options, repository};

/// Commands that are looked at and not run, and why.
const NOT_RUN: [(&str, &str); 7] = [
    ("cargo xtask", "takes minutes, and is what runs this test: the verb and its flags must exist"),
    ("cargo test", "is what runs this test: the package and the test must exist"),
    ("cargo build", "is done by `cargo test` as far as it matters here: the package and the example must exist"),
    ("cargo run -q --bin simulator", "takes as long as one asks it to: `testing/simulator/tests` run the same code"),
    ("cargo run -q --release --bin simulator", "takes minutes: `testing/simulator/tests` run the same code"),
    ("cargo run -q --release --example", "measures, which takes minutes: the example must exist"),
    ("cargo run -q --example", "measures, as above: the example must exist"),
];
/// Commands in `text` blocks, which are only shown, by how they begin; and why no test runs them.
const SHOWN: [(&str, &str); 23] = [
    ("kubectl annotate jobs", "changes all workloads of a cluster"),
    ("cargo build --release --bin kubectl-gangmatch", "builds for minutes"),
    ("cargo install --locked --path kubectl-gangmatch", "writes into the reader's home, and builds for minutes"),
    ("sudo install target/release/kubectl-gangmatch", "needs root"),
    ("kubectl gangmatch --version", "follows an installation; `kubectl-gangmatch/tests/cluster` runs every verb"),
    ("docker ", "needs Docker and a registry; `e2e/tests/real_node.rs` builds and runs the image without them"),
    (
        "helm upgrade --install gangmatch",
        "needs a registry, or an agent; `e2e/tests/chart` renders and applies the chart",
    ),
    ("helm install gangmatch charts/gangmatch", "is run where README shows it"),
    ("helm rollback gangmatch", "`e2e/tests/product/upgrade.rs` does it"),
    (
        "kubectl -n gangmatch-system rollout status",
        "waits for the image of a registry; `e2e/tests/real_node.rs` waits for that of this checkout",
    ),
    ("kubectl -n gangmatch-system port-forward", "stays; `e2e/tests/product/page.rs` asks the page itself"),
    ("kubectl create token", "needs a name of the reader's; `e2e/tests/product/page.rs` does it"),
    ("curl ", "`e2e/tests/product/page.rs` sends the same request"),
    ("kubectl delete crd ", "would end the tests that come after it"),
    ("kubectl get jobs.gangmatch.dev NAME", "is for an ad without an owner, which cannot be made on a new API server"),
    ("kubectl gangmatch simulate job.yaml", "needs a file of the reader's; `e2e/tests/why.rs` does it"),
    ("kubectl gangmatch snapshot save", "the same"),
    ("kubectl gangmatch match --snapshot", "the same"),
    ("kubectl gangmatch diff pool.json", "the same; `kubectl-gangmatch/tests/why.rs` compares two pools"),
    ("gangmatch-agent ", "needs a host that is offered; `e2e/tests/product/agents.rs` runs agents"),
    ("cargo run ", "measures or simulates for minutes, or is the controller, which every test on a cluster starts"),
    ("kubectl create -f - <<EOF", "makes a node as the tests on a cluster make theirs"),
    ("git worktree add", "is for two versions; there is only one yet"),
];
/// How the documents call the plugin.
const PLUGIN: &str = "cargo gangmatch ";

struct Document {
    /// From the repository's root.
    path: String,
    text: String,
}

/// One command of a document.
struct Shown {
    place: String,
    line: String,
    /// What the document shows below it; empty if it shows nothing.
    output: String,
    /// The lines of a `shell` block: a script.
    script: bool,
}

fn documents() -> Vec<Document> {
    let root = repository::root();
    let outer = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "charts/gangmatch/README.md"];
    let mut paths = outer.map(|path| root.join(path)).to_vec();
    pages(&root.join("docs"), &mut paths);
    for entry in std::fs::read_dir(root.join("examples")).unwrap() {
        let path = entry.unwrap().path().join("README.md");
        paths.extend(path.exists().then_some(path));
    }
    paths.sort();
    let read = |path: &PathBuf| Document {
        path: path.strip_prefix(&root).unwrap().display().to_string(),
        text: std::fs::read_to_string(path).unwrap(),
    };
    let documents: Vec<Document> = paths.iter().map(read).collect();
    assert!(documents.len() > 15, "only {} documents", documents.len());
    documents
}

/// The markdown files of a folder, at any depth.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(path);
        }
    }
}

/// The lines of a document: number, the language of the fenced block around it (`None` outside), text.
fn lines(document: &Document) -> Vec<(usize, Option<&str>, &str)> {
    let (mut all, mut block) = (Vec::new(), None);
    for (number, line) in document.text.lines().enumerate() {
        match (line.strip_prefix("```"), block) {
            (Some(_), Some(_)) => block = None,
            (Some(language), None) => block = Some(language),
            (None, _) => all.push((number + 1, block, line)),
        }
    }
    all
}

/// Inline code outside of blocks, with its line. Code that goes over a line's end is not found.
fn spans(document: &Document) -> Vec<(usize, &str)> {
    let plain = lines(document).into_iter().filter(|(_, block, line)| block.is_none() && !line.starts_with("    "));
    plain.flat_map(|(number, _, line)| line.split('`').skip(1).step_by(2).map(move |span| (number, span))).collect()
}

fn commands(document: &Document) -> Vec<Shown> {
    let place = |number: usize| format!("{}:{number}", document.path);
    let shown = |number: usize, line: &str| Shown {
        place: place(number),
        line: line.to_owned(),
        output: String::new(),
        script: false,
    };
    let mut all: Vec<Shown> = Vec::new();
    let mut before = None;
    for (number, block, line) in lines(document) {
        let indented = line
            .strip_prefix("    ")
            .filter(|line| ["cargo ", "kubectl ", "helm "].iter().any(|program| line.starts_with(program)));
        match (block, line.strip_prefix("$ "), indented) {
            (Some("console"), Some(command), _) => all.push(shown(number, command)),
            (Some("console"), None, _) => {
                let last = all.last_mut().unwrap();
                last.output.push_str(line);
                last.output.push('\n');
            }
            (Some("shell"), _, _) => match all.last_mut().filter(|_| before == Some(number - 1)) {
                Some(script) => script.line = format!("{}\n{line}", script.line),
                None => all.push(Shown { script: true, ..shown(number, line) }),
            },
            (Some("sh"), _, _) => all.extend(line.split(" && ").map(|part| shown(number, part))),
            (None, _, Some(command)) => all.extend(command.split(" && ").map(|part| shown(number, part))),
            _ => {}
        }
        before = Some(number);
    }
    let example = document.path.starts_with("examples/");
    let is_command = |span: &&str| span.starts_with("cargo ") || (example && span.starts_with("kubectl "));
    all.extend(
        spans(document).into_iter().filter(|(_, span)| is_command(span)).map(|(number, span)| shown(number, span)),
    );
    all
}

/// The words of a line as a shell takes them, as far as documents need it: with single quotes.
fn words(line: &str, unquoted: impl Fn(&str) -> String) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any_quote) = (Vec::new(), String::new(), false, false);
    for letter in line.chars().chain([' ']) {
        match letter {
            '\'' => (quoted, any_quote) = (!quoted, true),
            ' ' if !quoted => {
                let done = std::mem::take(&mut word);
                if any_quote {
                    words.push(done);
                } else if !done.is_empty() {
                    words.push(unquoted(&done));
                }
                any_quote = false;
            }
            _ => word.push(letter),
        }
    }
    words
}

/// A path below the repository's root, made whole.
fn whole(word: &str) -> String {
    let path = repository::root().join(word);
    if word.contains('/') && path.exists() { path.display().to_string() } else { word.to_owned() }
}

fn run(program: &Path, arguments: &[String], stdin: &str) -> Output {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(repository::root());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn offline_commands_print_what_the_documents_show() {
    let plugin = repository::program("kubectl-gangmatch").unwrap();
    let mut count = 0;
    for shown in documents().iter().flat_map(commands) {
        let Some(arguments) = shown.line.strip_prefix(PLUGIN) else { continue };
        // Relative paths, as the reader writes them: error messages show them.
        let arguments = words(arguments, str::to_owned);
        let output = run(&plugin, &arguments, "");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && said.is_empty(), "{}: {}: {said}", shown.place, shown.line);
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(shown.output.is_empty() || shown.output == printed, "{}: it prints\n{printed}", shown.place);
        count += 1;
    }
    assert!(count >= 7, "only {count} commands found");
}

#[test]
fn ads_in_documents_are_accepted() {
    let plugin = repository::program("kubectl-gangmatch").unwrap();
    let mut count = 0;
    for document in documents() {
        let yaml = |line: &&(usize, Option<&str>, &str)| line.1 == Some("yaml");
        let all: Vec<_> = lines(&document);
        // A gap in the numbers is the end of a block.
        for block in
            all.chunk_by(|a, b| a.1 == b.1 && a.0 + 1 == b.0).filter(|block| block.iter().all(|line| yaml(&line)))
        {
            let text: String = block.iter().map(|(_, _, line)| format!("{line}\n")).collect();
            let output = run(&plugin, &["match", "-f", "-"].map(String::from), &text);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.success() && said.is_empty(), "{}:{}: {said}", document.path, block[0].0);
            count += 1;
        }
    }
    assert!(count >= 2, "only {count} ads found");
}

/// What the packages of the workspace consist of: package, kind and name.
fn targets() -> Vec<[String; 3]> {
    let output = repository::cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output().unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let of = |package: &Value| {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let target = |target: &Value| [text(&package["name"]), text(&target["kind"][0]), text(&target["name"])];
        package["targets"].as_array().unwrap().iter().map(target).collect::<Vec<_>>()
    };
    packages.iter().flat_map(of).collect()
}

#[test]
fn developers_commands_exist() {
    let xtask = repository::program("xtask").unwrap();
    let targets = targets();
    for shown in documents().iter().flat_map(commands).filter(|shown| !shown.script) {
        let words: Vec<&str> = shown.line.split_whitespace().collect();
        let after = |flag: &str| words.iter().position(|word| *word == flag).and_then(|place| words.get(place + 1));
        match words.as_slice() {
            ["cargo", "xtask", verb, flags @ ..] => {
                let output = run(&xtask, &[(*verb).to_owned(), "--help".to_owned()], "");
                assert!(output.status.success(), "{}: no verb `{verb}`", shown.place);
                let help = String::from_utf8(output.stdout).unwrap();
                let unknown = flags.iter().find(|flag| flag.starts_with("--") && !help.contains(*flag));
                assert_eq!(unknown, None, "{}: `cargo xtask {verb}` has no such flag", shown.place);
            }
            ["cargo", "test" | "build" | "run", ..] if !shown.line.starts_with(PLUGIN) => {
                let package = after("-p").copied();
                let is_of_it = |target: &&[String; 3]| package.is_none_or(|package| target[0] == package);
                let own: Vec<&[String; 3]> = targets.iter().filter(is_of_it).collect();
                assert!(!own.is_empty(), "{}: no such package", shown.place);
                for kind in ["test", "example", "bin", "bench"] {
                    let exists = |name: &&str| own.iter().any(|target| target[1] == kind && target[2] == *name);
                    assert!(after(&format!("--{kind}")).is_none_or(exists), "{}: no such {kind}", shown.place);
                }
            }
            ["kubectl" | "helm", ..] => {}
            _ => assert!(shown.line.starts_with(PLUGIN), "{}: `{}` is checked by nobody", shown.place, shown.line),
        }
        let elsewhere = ["kubectl ", "helm ", PLUGIN].iter().any(|begin| shown.line.starts_with(begin));
        let listed = NOT_RUN.iter().any(|(begin, _)| shown.line.starts_with(begin));
        assert!(elsewhere != listed, "{}: `{}` is neither run nor listed with a reason", shown.place, shown.line);
    }
}

/// No command is left out without a word: what is only shown is listed with the reason.
#[test]
fn commands_that_are_only_shown_are_listed_with_a_reason() {
    let programs = [
        "cargo ",
        "kubectl ",
        "helm ",
        "docker ",
        "curl ",
        "sudo ",
        "git ",
        "gangmatch-agent ",
        "gangmatch-controller ",
    ];
    let mut used = std::collections::BTreeSet::new();
    // `docs/cli.md` is what the plugin says of itself.
    for document in documents().iter().filter(|document| document.path != "docs/cli.md") {
        let lines = lines(document).into_iter().filter(|(_, block, _)| matches!(block, Some("text" | "bash" | "")));
        for (number, _, line) in lines {
            let command = line.strip_prefix("$ ").unwrap_or(line);
            if !programs.iter().any(|program| command.starts_with(program)) {
                continue;
            }
            let listed = SHOWN.iter().find(|(begin, _)| command.starts_with(begin));
            assert!(
                listed.is_some(),
                "{}:{number}: `{command}` is run by no test, and no reason is listed",
                document.path
            );
            used.extend(listed.map(|(begin, _)| *begin));
        }
    }
    let unused: Vec<&str> = SHOWN.iter().map(|(begin, _)| *begin).filter(|begin| !used.contains(begin)).collect();
    assert!(unused.is_empty(), "{unused:?} are in no document");
}

/// The page with the flags of these programs, as they describe them.
fn flags_page() -> String {
    let mut text = "<!-- Written by `UPDATE_MANUAL=1 cargo test --test docs flags`; do not edit. -->\n# Flags of the programs\n\n\
                    The chart sets the flags of the controller from [its values](../../charts/gangmatch/README.md); `extraArgs` adds others. \
                    [Agents](../agents.md) explains those of the agent.\n"
        .to_owned();
    for program in ["gangmatch-controller", "gangmatch-agent"] {
        let output = run(&repository::program(program).unwrap(), &["--help".to_owned()], "");
        let help = String::from_utf8(output.stdout).unwrap();
        let help: Vec<&str> = help.lines().map(str::trim_end).collect();
        text.push_str(&format!("\n## {program}\n\n```text\n{}\n```\n", help.join("\n").trim()));
    }
    text
}

#[test]
fn the_page_of_flags_is_up_to_date() {
    let path = repository::root().join("docs/reference/flags.md");
    let page = flags_page();
    if std::env::var_os("UPDATE_MANUAL").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "write it anew with UPDATE_MANUAL=1");
}

#[test]
fn files_and_tests_that_documents_name_exist() {
    let root = repository::root();
    let mut count = 0;
    for document in documents() {
        for (number, span) in spans(&document) {
            let (path, test) = span.split_once("::").map_or((span, None), |(path, test)| (path, Some(test)));
            let ours = path.split_once('/').is_some_and(|(first, _)| !first.is_empty() && root.join(first).exists());
            if !ours || path.contains(' ') {
                continue;
            }
            let file = root.join(path);
            assert!(file.exists(), "{}:{number}: no `{path}`", document.path);
            if let Some(test) = test {
                let text = std::fs::read_to_string(&file).unwrap();
                assert!(text.contains(&format!("fn {test}(")), "{}:{number}: no `{test}` in {path}", document.path);
                count += 1;
            }
        }
    }
    assert!(count >= 40, "only {count} tests are named");
}

/// What kubectl prints, without what differs from one time to the next: ages, the ends of names of Matches, spaces.
fn normal(printed: &str) -> String {
    let age = |word: &str| word.ends_with('s') && word.trim_end_matches('s').parse::<u32>().is_ok();
    let word = |word: &str| match word.rsplit_once('-') {
        _ if age(word) => "AGE".to_owned(),
        Some((name, end)) if end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            format!("{name}-...")
        }
        _ => word.to_owned(),
    };
    let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
    printed.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a document begins in an empty namespace of its own, in a cluster with two nodes whose pods run.
fn is_lesson(document: &Document) -> bool {
    let lesson = |folder: &&str| document.path.starts_with(folder) && !document.path.ends_with("/README.md");
    ["docs/howto/", "docs/tutorials/", "docs/beside-kueue.md"].iter().any(lesson)
}

/// Whether the commands of a document make this namespace. Then they are all that is done.
fn creates_namespace(document: &Document, name: &str) -> bool {
    document.text.lines().any(|line| line.trim() == format!("kubectl create namespace {name}"))
}

/// Makes a namespace the current one of kubectl.
fn work_in(plane: &ControlPlane, namespace: &str) {
    let namespace = format!("--namespace={namespace}");
    plane.kubectl_text(&["config", "set-context", "--current", &namespace], None).unwrap();
}

/// What the plugin prints.
fn gangmatch(plane: &ControlPlane, arguments: &[&str], place: &str) -> String {
    let mut command = Command::new(repository::program("kubectl-gangmatch").unwrap());
    command.args(arguments).env("PATH", plane.path_with(&[]).unwrap()).env("KUBECONFIG", plane.kubeconfig());
    let output = command.current_dir(repository::root()).output().unwrap();
    assert!(output.status.success(), "{place}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a script in a folder for files, as a reader would who has jq and the plugin.
fn run_script(plane: &ControlPlane, shown: &Shown) {
    let has = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if shown.line.contains(" jq ") && !has("jq") {
        eprintln!("SKIPPED, NOTHING WAS TESTED: {} needs jq", shown.place);
        return;
    }
    let plugin = repository::program("kubectl-gangmatch").unwrap();
    let files = repository::root().join("target/lessons");
    std::fs::create_dir_all(&files).unwrap();
    let mut command = Command::new("bash");
    command.args(["-e", "-o", "pipefail", "-c", &shown.line]).current_dir(files);
    command.env("PATH", plane.path_with(&[plugin.parent().unwrap()]).unwrap()).env("KUBECONFIG", plane.kubeconfig());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}: {}", shown.place, String::from_utf8_lossy(&output.stderr));
}

fn run_on_cluster(plane: &ControlPlane, shown: &Shown) {
    let words = words(&shown.line, whole);
    let arguments: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    let printed = match (words[0].as_str(), arguments.first()) {
        ("kubectl", Some(&"gangmatch")) => Ok(gangmatch(plane, &arguments[1..], &shown.place)),
        ("kubectl", _) => plane.kubectl_text(&arguments, None),
        ("helm", _) => plane.helm(&arguments),
        _ => return,
    };
    let printed = printed.unwrap_or_else(|error| panic!("{}: {}: {error:#}", shown.place, shown.line));
    let (seen, real) = (normal(&shown.output), normal(&printed));
    assert!(seen.is_empty() || seen == real, "{}: it prints\n{printed}", shown.place);
}

/// How-to pages and tutorials: each in a namespace that is called as the page.
#[test]
fn lessons_work_from_the_first_command_to_the_last() {
    let plane = ControlPlane::start(&Options { kwok: true, ..Options::default() }).unwrap();
    product::install_chart(&plane, &[]).unwrap();
    let kubeconfig = product::controller_kubeconfig(&plane).unwrap();
    let _controller = product::start_controller(&plane, &kubeconfig, &[]).unwrap();
    for node in ["lab-1", "lab-2"] {
        product::create_fake_node(&plane, node).unwrap();
    }
    let only = std::env::var("LESSON").unwrap_or_default();
    let mut count = 0;
    for document in documents().iter().filter(|document| is_lesson(document) && document.path.contains(&only)) {
        let name = Path::new(&document.path).file_stem().unwrap().to_str().unwrap();
        if !creates_namespace(document, name) {
            plane.kubectl_text(&["create", "namespace", name], None).unwrap();
        }
        work_in(&plane, name);
        for shown in commands(document) {
            if shown.script {
                run_script(&plane, &shown)
            } else {
                run_on_cluster(&plane, &shown)
            }
            count += 1;
        }
    }
    assert!(count >= 40 || !only.is_empty(), "only {count} commands");
}

/// The README first, since it installs the chart; then each example on its own. Its folder is applied, unless its commands do that in a
/// namespace that they create.
#[test]
fn cluster_commands_work() {
    let plane = ControlPlane::start(&Options::default()).unwrap();
    let mut controller: Option<Controller<'_>> = None;
    let mut documents = documents();
    // The tests of the plugin run what the manual of the language shows, with files of its own.
    documents.retain(|document| !is_lesson(document) && !document.path.starts_with("docs/language/"));
    documents.sort_by_key(|document| document.path != "README.md");
    for document in &documents {
        let example = document.path.strip_prefix("examples/").and_then(|path| path.split('/').next());
        match example.filter(|name| !creates_namespace(document, name)) {
            Some(name) => {
                plane.kubectl_text(&["create", "namespace", name], None).unwrap();
                work_in(&plane, name);
                plane.kubectl_text(&["apply", "-f", &whole(&format!("examples/{name}"))], None).unwrap();
            }
            None => work_in(&plane, "default"),
        }
        // Scripts of agents are run by the tests of agents.
        for shown in commands(document).iter().filter(|shown| !shown.script) {
            let installs = shown.line.starts_with("helm install ");
            run_on_cluster(&plane, shown);
            if controller.is_none() && installs {
                // Nothing is left to install; this waits for the policies, as the README asks of the reader.
                product::install_chart(&plane, &[]).unwrap();
                let kubeconfig = product::controller_kubeconfig(&plane).unwrap();
                controller = Some(product::start_controller(&plane, &kubeconfig, &[]).unwrap());
            }
        }
    }
    assert!(controller.is_some(), "no document installs the chart");
}
