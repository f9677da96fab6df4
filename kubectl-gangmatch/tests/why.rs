//! `why`, `simulate` and `diff` over files: what they say, word for word, and each reason with one change that clears it.
//!
//! The texts stand in `tests/why`. To accept what is printed now, run the tests with GANGMATCH_ACCEPT=1 and read the difference.

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::{Command, Output};

    use serde_json::{Value, json};

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/why")
    }

    fn run(arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-gangmatch"));
        command.args(arguments).current_dir(folder()).env("COLUMNS", "200").output().unwrap()
    }

    const NOW: [&str; 2] = ["--now", "2026-11-21T14:00:00Z"];

    /// What is printed, which must be what stands in the file.
    fn prints(name: &str, arguments: &[&str]) {
        let output = run(&[arguments, &NOW].concat());
        let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap();
        let path = folder().join(format!("{name}.txt"));
        if std::env::var_os("GANGMATCH_ACCEPT").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(text, expected, "{}", path.display());
    }

    #[test]
    fn each_reason_reads_well() {
        let jobs = [
            "draw",
            "draw-again",
            "drained",
            "huge",
            "misspelled",
            "refused",
            "elsewhere",
            "greedy",
            "two-wishes",
            "label",
        ];
        for job in jobs {
            prints(job, &["why", job, "-f", "lab.yaml"]);
        }
    }

    /// Jobs of other namespaces are counted, and not named.
    #[test]
    fn what_preemption_would_do_or_what_stands_against_it_reads_well() {
        for job in ["bio/share", "bio/young", "bio/brief", "eda/high", "eda/equal"] {
            let (namespace, name) = job.split_once('/').unwrap();
            prints(&format!("preempt-{name}"), &["why", name, "-n", namespace, "-f", "busy.yaml"]);
            let answer = json(&["why", name, "-n", namespace, "-f", "busy.yaml"]);
            let (said, refused) = (answer["preemption"].to_string(), &answer["preemption"]["refused"]);
            assert!(!["cfd", "first", "second", "third"].iter().any(|other| said.contains(other)), "{said}");
            let expected = match name {
                "young" => json!("TooYoung"),
                "brief" => json!("Requirements"),
                "equal" => json!("NotEnoughVictims"),
                _ => Value::Null,
            };
            assert_eq!(*refused, expected, "{answer}");
        }
        let answer = json(&["why", "young", "-n", "bio", "-f", "busy.yaml"]);
        assert_eq!(answer["preemption"]["from"], "2026-11-21T14:30:00Z");
        // With the reason Share left out, or one victim too many, that is said.
        let text = std::fs::read_to_string(folder().join("busy.yaml")).unwrap();
        let reasons = file("reasons", &text.replace("[Share, Priority]", "[Priority]"));
        assert_eq!(json(&["why", "share", "-n", "bio", "-f", &reasons])["preemption"]["refused"], "Reasons");
        let off = file("off", &text.replace("\"On\"", "\"Off\""));
        assert!(json(&["why", "share", "-n", "bio", "-f", &off])["preemption"].is_null());
        let bare = file("bare", &text.replace("\"On\"", "On"));
        let said = String::from_utf8(run(&["why", "share", "-n", "bio", "-f", &bare]).stderr).unwrap();
        assert!(said.contains("write \"On\" with quotes: without them, YAML takes the word for a boolean"), "{said}");
    }

    #[test]
    fn an_offer_tells_who_has_it_and_whom_it_refuses() {
        for name in ["machine/a-2", "machine/b-1", "license/cad", "license/vcs"] {
            prints(&name.replace('/', "-"), &["why", name, "-f", "lab.yaml"]);
        }
    }

    #[test]
    fn a_name_that_is_not_there_is_answered_with_the_one_that_was_meant() {
        for (words, said) in [
            (&["drwa"][..], "error: there is no job `drwa` in namespace default; did you mean draw?\n"),
            (&["machine/a1"], "error: there is no machine `a1` in namespace default"),
            (&["draw", "-n", "eda"], "there is one in namespace default, write -n default"),
            (&["pod/x"], "error: there is no kind `pod`; write job, machine or license\n"),
        ] {
            let output = run(&[&["why"], words, &["-f", "lab.yaml"]].concat());
            let text = String::from_utf8(output.stderr).unwrap();
            // The namespace is also that of objects which have none.
            let is_right = text.contains(said) || (words.contains(&"eda") && text.is_empty());
            assert!(is_right, "{words:?}: {text}");
        }
    }

    #[test]
    fn a_label_that_is_a_word_in_an_ad_hides_no_conjunct() {
        // The label `machine` stands in the text of the machine's Type.
        let ports = "{label: machine, constraint: 'machine.Type == \"Machine\" && machine.Memory >= 100'}, \
                     {label: lic, constraint: 'lic.Type == \"License\"', request: {seats: '1'}}";
        let text = format!("{MACHINE}{}", job(&format!("ports: [{ports}]")));
        let answer = json(&["why", "machine/m", "-f", &file("label", &text)]);
        assert_eq!(answer["tooSmallFor"]["count"], 0, "{answer}");
        assert_eq!(answer["notWanted"][0]["conjunct"], "machine.Memory >= 100", "{answer}");
    }

    /// An answer in JSON, in which no key may stand twice: the reader of YAML refuses that, and serde_json does not.
    fn json(arguments: &[&str]) -> Value {
        let output = run(&[arguments, &NOW, &["-o", "json"]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let answer: Value = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{arguments:?}: {error}: {}", String::from_utf8_lossy(&output.stderr)));
        let strict = serde_saphyr::from_str::<Value>(&text);
        assert_eq!(strict.unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{text}")), answer);
        answer
    }

    #[test]
    fn no_answer_has_a_key_twice() {
        assert!(serde_saphyr::from_str::<Value>(r#"{"jobs": 1, "used": "1/1", "jobs": 2}"#).is_err());
        for file in ["lab.yaml", "busy.yaml", "nominated.yaml"] {
            let text = std::fs::read_to_string(folder().join(file)).unwrap();
            let objects = serde_saphyr::from_multiple::<Value>(&text).unwrap();
            for object in &objects {
                let text = |value: &Value| value.as_str().unwrap_or("default").to_owned();
                let [kind, namespace, name] =
                    [&object["kind"], &object["metadata"]["namespace"], &object["metadata"]["name"]].map(text);
                if ["Job", "Machine", "License"].contains(&kind.as_str()) {
                    let asked = format!("{}/{name}", kind.to_ascii_lowercase());
                    assert_eq!(json(&["why", &asked, "-n", &namespace, "-f", file])["name"], json!(name), "{asked}");
                }
            }
        }
    }

    #[test]
    fn the_jobs_for_which_an_offer_is_held_are_counted_apart_from_all_that_wait() {
        let machine = json(&["why", "machine/m", "-n", "pool", "-f", "nominated.yaml"]);
        assert_eq!((&machine["nominatedJobs"], &machine["waiting"]), (&json!(1), &json!(2)), "{machine}");
        let output = run(&[&["why", "machine/m", "-n", "pool", "-f", "nominated.yaml"][..], &NOW].concat());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.contains("\n  held for 1 job that waits\n"), "{said}");
        let job = json(&["why", "next", "-n", "pool", "-f", "nominated.yaml"]);
        assert_eq!(job["ports"][0]["takenOffers"][0]["nominatedJobs"], 1, "{job}");
    }

    #[test]
    fn a_job_that_backs_off_is_told_who_refused_it_and_takes_no_offer() {
        let status = |seen: u32| {
            format!(
                "status: {{unmatched: {{ports: [{{label: other, candidates: 1}}]}}, conditions: [{{type: Matched, status: 'False', reason: \
                 BackingOff, message: tried again later, observedGeneration: {seen}, lastTransitionTime: '2026-11-21T13:59:00Z'}}], \
                 refusals: [{{kind: Machine, namespace: default, name: m, reason: Rejected, message: not now}}]}}\n"
            )
        };
        let job = job("constraint: 'other.Type == \"Machine\"'").replace("{name: j}", "{name: j, generation: 2}");
        let backs_off = file("backs-off", &format!("{MACHINE}{job}{}", status(2)));
        let output = run(&[&["why", "j", "-f", &backs_off][..], &NOW].concat());
        let said = String::from_utf8(output.stdout).unwrap();
        assert!(said.starts_with("job default/j waits: tried again later\nReason: BackingOff"), "{said}");
        assert!(said.contains("\nOffers that refused it:\n  machine default/m: not now\n"), "{said}");
        let machine = json(&["why", "machine/m", "-f", &backs_off]);
        assert_eq!((&machine["used"], &machine["waiting"]), (&json!("0/1 slots"), &json!(1)), "{machine}");
        assert_eq!(machine["backsOff"]["names"], json!(["default/j"]), "{machine}");
        // What was said of an earlier form of the job does not count.
        let edited = file("backed-off", &format!("{MACHINE}{job}{}", status(1)));
        assert_eq!(json(&["why", "j", "-f", &edited])["reason"], "GangFound");
        assert_eq!(json(&["why", "machine/m", "-f", &edited])["used"], "1/1 slots");
    }

    /// A license with a port of its own is no reason to say that the port after it has no candidates.
    #[test]
    fn a_port_that_was_not_reached_is_told_of_only_if_the_ports_before_it_are_complete() {
        let license = "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: l}\nspec:\n  attributes: {App: x}\n  ports:\n  \
                       - {label: requester, constraint: 'true'}\n  - {label: dongle, constraint: 'dongle.Type == \"License\" && dongle.App == \
                       \"dongle\"'}\n---\n";
        let dongle = "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: d}\nspec: {attributes: {App: dongle}}\n---\n";
        let ports = "ports: [{label: seat, constraint: 'seat.Type == \"License\" && seat.App == \"x\"'}, {label: cpu, constraint: \
                     'cpu.Type == \"Machine\"'}]";
        for (name, others, reason, said) in [
            ("no-dongle", MACHINE, "NoConsistentGang", "port `seat`: 1 ad needs partners of its own that are missing"),
            ("no-machine", dongle, "NoCandidates", "port `cpu`: "),
        ] {
            let file = file(name, &format!("{others}{license}{}", job(ports)));
            let answer = json(&["why", "j", "-f", &file]);
            assert_eq!(answer["reason"], reason, "{answer}");
            assert!(answer["message"].as_str().unwrap().starts_with(said), "{answer}");
        }
        // A port that needs two has not enough with one.
        let host = |count: u32| {
            format!(
                "apiVersion: gangmatch.dev/v1alpha1\nkind: Machine\nmetadata: {{name: host}}\nspec:\n  ports:\n  - {{label: requester, constraint: \
                 'true'}}\n  - {{label: lics, count: {count}, constraint: 'lics.Type == \"License\"'}}\n---\n"
            )
        };
        let ports = "ports: [{label: cpu, constraint: 'cpu.Type == \"Machine\"'}, {label: gpu, constraint: 'gpu.Type == \"Gpu\"'}]";
        for (count, said) in [(2, "port `cpu`: 1 ad needs partners of its own that are missing"), (1, "port `gpu`: ")] {
            let file = file(&format!("counted-{count}"), &format!("{}{dongle}{}", host(count), job(ports)));
            let answer = json(&["why", "j", "-f", &file]);
            assert!(answer["message"].as_str().unwrap().starts_with(said), "{count}: {answer}");
        }
    }

    #[test]
    fn a_claim_that_has_ended_is_not_said_to_run() {
        let job = job("constraint: 'other.Type == \"Machine\"'").replace("{name: j}", "{name: j, uid: u-j}");
        let held = "status: {phase: Running, claim: {match: j-1, uid: u-1}, conditions: [{type: Started, status: 'True', reason: \
                    WorkloadStarted, message: '', lastTransitionTime: '2026-11-21T13:59:00Z'}]}\n---\n";
        let found = |status: &str| {
            format!(
                "apiVersion: gangmatch.dev/v1alpha1\nkind: Match\nmetadata: {{name: j-1, uid: u-1}}\nspec: {{attempt: 1, cycle: {{id: c, time: \
                 '2026-11-21T13:58:00Z', seed: 7}}, epoch: 1, reserveTimeoutSeconds: 30, rank: '0', summary: other=default/m, members: [{{id: 0, \
                 kind: Job, namespace: default, name: j, uid: u-j, generation: 1}}]}}\nstatus: {status}\n"
            )
        };
        let file = |name: &str, status: &str| file(name, &format!("{MACHINE}{job}{held}{}", found(status)));
        let runs = json(&["why", "j", "-f", &file("runs", "{decision: Committed}")]);
        assert_eq!(runs["reason"], "WorkloadStarted", "{runs}");
        let ended = json(&[
            "why",
            "j",
            "-f",
            &file("ended", "{decision: Released, reason: MemberLost, message: node a is gone}"),
        ]);
        assert_eq!(ended["reason"], "MemberLost", "{ended}");
        assert!(ended["message"].as_str().unwrap().contains("(node a is gone); what it holds becomes free"), "{ended}");
    }

    #[test]
    fn a_seat_that_members_share_is_not_said_to_be_an_error() {
        let machines = MACHINE.replace("{name: m}", "{name: n}") + MACHINE;
        let license = "apiVersion: gangmatch.dev/v1alpha1\nkind: License\nmetadata: {name: l}\nspec: {attributes: {App: x}, constraint: 'true', \
                       sharedBy: 'requester.Members[0].Name'}\n---\n";
        let ports = "ports: [{label: cpu, constraint: 'cpu.Type == \"Machine\"'}, {label: seat, constraint: 'seat.App == \"x\"'}]";
        let (first, second) = (job(ports), job(ports).replace("{name: j}", "{name: k}"));
        let file = file("shared", &format!("{machines}{license}{first}---\n{second}"));
        let license = json(&["why", "license/l", "-f", &file]);
        assert_eq!(
            (&license["couldUse"]["count"], &license["tooSmallFor"]["count"]),
            (&json!(2), &json!(0)),
            "{license}"
        );
        assert_eq!(license["holders"][0]["shared"], true, "{license}");
        let waits = json(&["why", "k", "-f", &file]);
        assert_eq!(waits["ports"][1]["taken"], 1, "{waits}");
    }

    /// A file with these manifests, new for each test.
    fn file(name: &str, text: &str) -> String {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.yaml"));
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    const MACHINE: &str = "apiVersion: gangmatch.dev/v1alpha1\nkind: Machine\nmetadata: {name: m}\nspec: {attributes: {Memory: 64}, \
                           capacity: {slots: 1}, constraint: 'other.Type == \"Job\" && other.Owner != \"eve\"'}\n---\n";

    fn job(spec: &str) -> String {
        format!("apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {{name: j}}\nspec: {{{spec}}}\n")
    }

    /// State and reason of the job `j`.
    fn reason(name: &str, text: &str) -> (String, String) {
        let answer = json(&["why", "j", "-f", &file(name, text)]);
        let text = |name: &str| answer[name].as_str().unwrap().to_owned();
        assert!(!text("message").is_empty(), "{answer}");
        (text("state"), text("reason"))
    }

    #[test]
    fn every_reason_that_manifests_can_have_is_produced_and_cleared() {
        let good = "constraint: 'other.Memory >= 1'";
        let taken = format!(
            "{MACHINE}apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {{name: a}}\nspec: {{priority: 1, {good}}}\n---\n"
        );
        let apart = "ports: [{label: cpu, constraint: 'cpu.Memory >= 1'}, {label: other2, constraint: 'other2.Memory == cpu.Memory'}]";
        let costly = format!("constraint: '{}'", ["size({1,2,3}) == 3"; 3].join(" && "));
        let cases = [
            (
                "NoCandidates",
                MACHINE.to_owned() + &job("constraint: 'other.Memory >= 128'"),
                MACHINE.to_owned() + &job(good),
            ),
            (
                "RefusedByOffers",
                MACHINE.to_owned() + &job(&format!("owner: eve, {good}")),
                MACHINE.to_owned() + &job(&format!("owner: ann, {good}")),
            ),
            ("WaitingForCapacity", taken.clone() + &job(good), MACHINE.to_owned() + &job(good)),
            (
                "Suspended",
                MACHINE.to_owned() + &job(&format!("suspend: true, {good}")),
                MACHINE.to_owned() + &job(good),
            ),
            ("ParseError", MACHINE.to_owned() + &job("constraint: 'other.Memory ='"), MACHINE.to_owned() + &job(good)),
            (
                "NeverTrue",
                MACHINE.to_owned() + &job("constraint: 'other.Memory > 5 && other.Memory < 3'"),
                MACHINE.to_owned() + &job(good),
            ),
            (
                "InvalidPort",
                MACHINE.to_owned() + &job("ports: [{label: cpu}, {label: cpu}]"),
                MACHINE.to_owned() + &job("ports: [{label: cpu}]"),
            ),
        ];
        for (name, with, without) in cases {
            let (state, found) = reason(&format!("{name}-with"), &with);
            assert_eq!(found, name, "{with}");
            assert_ne!(state, "Matched", "{with}");
            assert_eq!(
                reason(&format!("{name}-without"), &without),
                ("Matched".into(), "GangFound".into()),
                "{without}"
            );
        }
        // The only machine cannot be at both ports.
        let (state, found) = reason("apart", &(MACHINE.to_owned() + &job(apart)));
        assert!(state == "Waits" && ["NoConsistentGang", "NoCandidates"].contains(&found.as_str()), "{found}");
        let second = MACHINE.replace("{name: m}", "{name: m2}");
        assert_eq!(reason("apart-cleared", &(MACHINE.to_owned() + &second + &job(apart))).0, "Matched");
        assert_eq!(reason("cheap", &(MACHINE.to_owned() + &job(&costly))).0, "Matched");
    }

    #[test]
    fn a_suggested_change_that_is_made_gives_a_gang() {
        let lab = std::fs::read_to_string(folder().join("lab.yaml")).unwrap();
        let mut made = 0;
        for job in ["huge", "misspelled", "refused", "greedy", "two-wishes", "label"] {
            let answer = json(&["why", job, "-f", "lab.yaml"]);
            for (place, one) in answer["suggestions"].as_array().unwrap().iter().enumerate() {
                let mut changed = lab.clone();
                for change in one["changes"].as_array().unwrap() {
                    let from = change["from"].as_str().unwrap();
                    let to = change["to"].as_str().unwrap_or("true");
                    match from.strip_prefix("the request of ") {
                        Some(_) => changed = changed.replace("cpus: 64", to),
                        None => changed = changed.replace(from, to),
                    }
                }
                let path = file(&format!("{job}-{place}"), &changed);
                let after = json(&["why", job, "-f", &path]);
                let wanted = if one["now"] == true { "Matched" } else { "Waits" };
                assert_eq!(after["state"], wanted, "{job}: {one}\n{after}");
                made += 1;
            }
        }
        assert!(made >= 8, "only {made} suggestions");
    }

    #[test]
    fn answers_are_the_same_data_in_json_and_yaml() {
        let yaml = run(&[&["why", "huge", "-f", "lab.yaml", "-o", "yaml"], &NOW[..]].concat());
        let yaml: Value = serde_saphyr::from_str(&String::from_utf8(yaml.stdout).unwrap()).unwrap();
        assert_eq!(yaml, json(&["why", "huge", "-f", "lab.yaml"]));
        assert_eq!(yaml["ports"][0]["conjuncts"][1]["rejects"], 4);
    }

    #[test]
    fn two_pools_are_compared_job_by_job() {
        let lab = std::fs::read_to_string(folder().join("lab.yaml")).unwrap();
        let more = file("more", &lab.replace("stopPolicy: Hold", "stopPolicy: None").replace("262144", "26214"));
        let output = run(&[&["diff", "lab.yaml", &more], &NOW[..]].concat());
        let text = String::from_utf8(output.stdout).unwrap();
        let path = folder().join("diff.txt");
        if std::env::var_os("GANGMATCH_ACCEPT").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, std::fs::read_to_string(&path).unwrap_or_default());
        let found = json(&["diff", "lab.yaml", &more]);
        let gained: Vec<&str> =
            found["gain"].as_array().unwrap().iter().map(|one| one["job"].as_str().unwrap()).collect();
        assert!(gained.contains(&"default/drained") && gained.contains(&"default/huge"), "{found}");
        assert_eq!(found["totals"][0]["jobs"], 10);
        let same = json(&["diff", "lab.yaml", "lab.yaml"]);
        assert_eq!((same["gain"].as_array().unwrap().len(), same["lose"].as_array().unwrap().len()), (0, 0));
    }

    /// A snapshot of 2026 with a machine, and with a job that wants it from 2030 on.
    fn snapshot_of_2026() -> String {
        let item = |kind: &str, name: &str, spec: Value| {
            let metadata =
                json!({"name": name, "namespace": "lab", "uid": format!("00000000-0000-4000-8000-0000000000{name}")});
            json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": metadata, "spec": spec})
        };
        let items = [
            item("Machine", "a1", json!({"capacity": {"slots": 1}})),
            item("Job", "b1", json!({"constraint": "other.Type == \"Machine\" && time() >= 1893456000"})),
        ];
        let whole = json!({"format": "gangmatch-snapshot", "version": 1, "time": "2026-11-21T14:00:00Z", "notes": [], "items": items});
        file("of-2026", &whole.to_string())
    }

    #[test]
    fn a_snapshot_is_computed_at_its_own_time_or_at_the_one_that_is_named() {
        let (snapshot, new) = (snapshot_of_2026(), file("new", &job("constraint: other.Type == \"Machine\"")));
        let said = |arguments: &[&str]| {
            let output = run(arguments);
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
        };
        let later = ["--now", "2031-01-01T00:00:00Z"];
        let simulate = ["simulate", "--snapshot", &snapshot, "-f", &new];
        assert!(said(&simulate).contains("since 2026-11-21T14:00:00Z"), "{}", said(&simulate));
        let then = said(&[&simulate[..], &later].concat());
        assert!(then.contains("since 2031-01-01T00:00:00Z"), "{then}");
        let diff = ["diff", &snapshot, &snapshot];
        assert!(said(&diff).contains("0 of 1 with A, 0 of 1 with B"), "{}", said(&diff));
        let then = said(&[&diff[..], &later].concat());
        assert!(then.contains("1 of 1 with A, 1 of 1 with B"), "{then}");
    }

    #[test]
    fn a_file_that_is_no_snapshot_is_refused() {
        let wrong = file("wrong", "{\"format\": \"gangmatch-snapshot\", \"version\": 9}");
        for (path, said) in [
            (wrong.as_str(), "is a snapshot of version 9; this plugin reads version 1"),
            ("lab.yaml", "lab.yaml is no snapshot; write one with `kubectl gangmatch snapshot save FILE`"),
            ("nosuch.json", "cannot read nosuch.json"),
        ] {
            let output = run(&["match", "--snapshot", path]);
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(text.contains(said) && output.status.code() == Some(2), "{path}: {text}");
        }
    }

    /// What `why` prints of an object in these manifests.
    fn text(name: &str, object: &str, manifests: &str) -> String {
        let output = run(&[&["why", object, "-f", &file(name, manifests)], &NOW[..]].concat());
        String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap()
    }

    fn object(kind: &str, name: &str, spec: &str) -> String {
        format!("apiVersion: gangmatch.dev/v1alpha1\nkind: {kind}\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n---\n")
    }

    /// In a pool of the cited offers alone, the reason is the same: an offer that is not available is cited if the reason is that it is not.
    #[test]
    fn the_offers_that_are_cited_suffice_for_the_reason() {
        let lab = std::fs::read_to_string(folder().join("lab.yaml")).unwrap();
        let mut drained = 0;
        for job in ["drained", "huge", "misspelled", "refused", "elsewhere", "greedy", "two-wishes", "label"] {
            let answer = json(&["why", job, "-f", "lab.yaml"]);
            let evidence: Vec<&str> =
                answer["evidence"].as_array().into_iter().flatten().map(|one| one.as_str().unwrap()).collect();
            if evidence.is_empty() {
                continue;
            }
            let is_kept = |manifest: &&str| {
                let is = |kind: &str, name: &str| {
                    manifest.contains(&format!("kind: {kind}")) && manifest.contains(&format!("{{name: {name}"))
                };
                let cited = |one: &&str| {
                    one.rsplit_once('/').is_some_and(|(_, name)| manifest.contains(&format!("{{name: {name}}}")))
                };
                is("Job", &format!("{job},")) || evidence.iter().any(cited)
            };
            let kept: Vec<&str> = lab.split("\n---\n").filter(is_kept).collect();
            let again = json(&["why", job, "-f", &file(&format!("cited-{job}"), &kept.join("\n---\n"))]);
            assert_eq!(again["reason"], answer["reason"], "{job}: {evidence:?}\n{again}");
            drained +=
                usize::from(answer["reason"] == "OffersUnavailable" && evidence.contains(&"license default/vcs"));
        }
        assert_eq!(drained, 1, "the closed license is cited");
        let text = run(&[&["why", "huge", "-f", "lab.yaml"], &NOW[..]].concat()).stdout;
        assert!(!String::from_utf8(text).unwrap().contains("offers alone"), "no reader has to act on evidence");
    }

    #[test]
    fn a_quota_that_is_reached_is_told_though_everything_is_taken() {
        let shares = "../../../examples/shares";
        let said =
            String::from_utf8(run(&[&["why", "cfd-2", "-n", "cfd", "-f", shares], &NOW[..]].concat()).stdout).unwrap();
        assert!(said.contains("vcs: cfd holds 1 of at most 1"), "{said}");
        assert!(!said.contains("it would get"), "{said}");
        let license = json(&["why", "license/vcs", "-n", "pool", "-f", shares]);
        assert_eq!(license["heldBack"]["names"], json!(["cfd/cfd-2", "cfd/cfd-3", "cfd/cfd-4"]), "{license}");
        let said =
            String::from_utf8(run(&[&["why", "license/vcs", "-n", "pool", "-f", shares], &NOW[..]].concat()).stdout)
                .unwrap();
        assert!(said.contains("3 are held back by a quota  (cfd/cfd-2, cfd/cfd-3, cfd/cfd-4)"), "{said}");
    }

    #[test]
    fn a_license_quotes_the_port_that_asks_for_licenses() {
        let ports = "ports: [{label: cpu, constraint: 'cpu.Type == \"Machine\"'}, \
                     {label: seat, constraint: 'seat.Type == \"License\" && seat.App == \"vcs\"'}]";
        let license = object("License", "x", "attributes: {App: cad}, capacity: {seats: 1}, constraint: 'true'");
        let answer = json(&["why", "license/x", "-f", &file("quotes", &(license + &job(ports)))]);
        assert_eq!(answer["notWanted"][0]["conjunct"], "seat.App == \"vcs\"", "{answer}");
    }

    #[test]
    fn what_is_too_small_is_told_with_the_resource_the_amount_and_the_unit() {
        let machine = |name: &str, capacity: &str| {
            object("Machine", name, &format!("capacity: {{{capacity}}}, constraint: 'true'"))
        };
        let pool =
            machine("a", "cpus: 8, memory: 16384") + &machine("b", "cpus: 8, memory: 8192") + &machine("c", "cpus: 8");
        let wants = |request: &str| job(&format!("constraint: 'other.Type == \"Machine\"', request: {{{request}}}"));
        let said = text("big", "j", &(pool.clone() + &wants("cpus: 1, memory: 90Gi")));
        assert!(
            said.contains("2 are too small for the request: 92160 MiB of memory are requested; machine default/a has the most: 16384 MiB of memory"),
            "{said}"
        );
        assert!(said.contains("1 does not have `memory`, which is requested\n"), "{said}");
        assert!(said.contains("1 without `memory`, 2 too small for `memory: 92160`"), "{said}");
        let said = text("cpu", "j", &(pool + &wants("cpu: 1")));
        assert!(said.contains("3 do not have `cpu`, which is requested; did you mean `cpus`?"), "{said}");
        assert!(said.contains("3 without `cpu` (did you mean `cpus`?)"), "{said}");
    }

    #[test]
    fn what_an_owner_refuses_is_told_with_the_values_of_the_job_and_without_those_of_the_owner() {
        let machine = object(
            "Machine",
            "m",
            "attributes: {Group: vision, Secret: 7}, expressions: {START: '(KeyboardIdle > 15 * 60) && other.Minutes <= 30'}, \
             private: [Secret], constraint: '(other.Group == Group || other.Minutes <= 30) && START && other.Team != \"x\"'",
        );
        let one = text(
            "values",
            "j",
            &(machine.clone() + &job("attributes: {Group: bio, Minutes: 600}, constraint: 'true'")),
        );
        assert!(
            one.contains("1 machine of yours in namespace default refuses the job: `")
                || one.contains("1 offer of yours in namespace default refuses the job: `"),
            "{one}"
        );
        assert!(one.contains("    `Minutes` of the job is 600\n"), "{one}");
        assert!(one.contains("    `Group` of the job is \"bio\"\n") && !one.contains("vision"), "{one}");
        let two =
            text("expanded", "j", &(machine + &job("attributes: {Group: vision, Minutes: 20}, constraint: 'true'")));
        assert!(
            two.contains("    `START` of machine default/m is `KeyboardIdle > 15 * 60 && other.Minutes <= 30`\n")
                || two.contains(
                    "    `START` of machine default/m is `(KeyboardIdle > 15 * 60) && other.Minutes <= 30`\n"
                ),
            "{two}"
        );
        assert!(two.contains("    `KeyboardIdle` of machine default/m is undefined\n"), "{two}");
        assert!(!two.contains("Secret") && two.contains("`Minutes` of the job is 20"), "{two}");
    }

    #[test]
    fn an_offer_without_anything_left_is_full() {
        let holder = job("constraint: 'other.Type == \"Machine\"'");
        let said = text("full", "machine/m", &(MACHINE.to_owned() + &holder));
        assert!(said.starts_with("machine default/m is full: 1/1 slots in use\n"), "{said}");
    }

    #[test]
    fn a_port_for_which_no_ad_is_left_is_told_so() {
        let ports =
            "ports: [{label: a, constraint: a.Type == \"Machine\"}, {label: b, constraint: b.Type == \"Machine\"}]";
        let said = text("left", "j", &(MACHINE.to_owned() + &job(ports)));
        let wanted = "port `b`: the ports before it need all ads of its kind that are open to this job's namespace\n";
        assert!(said.starts_with(&format!("job default/j waits: {wanted}")), "{said}");
    }

    #[test]
    fn the_label_of_a_later_port_is_told_to_be_one() {
        let ports = "ports: [{label: a, constraint: 'a.Memory == cpu.Memory'}, {label: cpu, constraint: 'cpu.Type == \"Machine\"'}]";
        let said = text("later-label", "j", &(MACHINE.to_owned() + &job(ports)));
        assert!(said.contains("  `cpu.Memory`: port `cpu` comes later; move this port after it"), "{said}");
        assert!(!said.contains("there is no port called"), "{said}");
    }

    #[test]
    fn nothing_looks_at_other_ports_where_there_are_none() {
        let machine = MACHINE.replace("{Memory: 64}", "{Memory: 64, Arch: x}");
        for call in ["eval(\"cpu.Arch\") == \"x\"", "countMatches(q >= 1, {[q = 1]}) >= 1"] {
            let ports = format!("ports: [{{label: cpu, constraint: 'cpu.Arch == \"y\" && {call}'}}]");
            let said = text("alone", "j", &(machine.clone() + &job(&ports)));
            assert!(!said.contains("other ports") && !said.contains("several ports"), "{said}");
            assert!(said.contains("`cpu.Arch == \"y\"` is not true of 1"), "{said}");
            assert!(said.contains("with `cpu.Arch == \"x\"`, 1 offer matches"), "{said}");
        }
    }

    #[test]
    fn a_port_whose_only_offer_is_needed_before_it_is_told_so() {
        let other = MACHINE.replace("name: m}", "name: other}");
        assert_ne!(other, MACHINE);
        let port = |label: &str| {
            format!("{{label: {label}, constraint: '{label}.Type == \"Machine\" && {label}.Name == \"m\"'}}")
        };
        let ports = format!("ports: [{}, {}]", port("a"), port("b"));
        let said = text("needed", "j", &(MACHINE.to_owned() + &other + &job(&ports)));
        let wanted = "port `b`: the only ad that fits is needed at a port before it\n";
        assert!(said.starts_with(&format!("job default/j waits: {wanted}")), "{said}");
    }

    #[test]
    fn a_job_with_a_guarantee_is_first_in_line() {
        prints("guaranteed", &["queue", "-f", "guaranteed.yaml"]);
        let said = String::from_utf8(run(&["why", "a", "-n", "cfd", "-f", "guaranteed.yaml"]).stdout).unwrap();
        assert!(said.contains("Place in line: 2 of 2."), "{said}");
    }

    #[test]
    fn a_misspelled_label_or_kind_is_told_in_the_reason() {
        let said = text(
            "gpu",
            "j",
            &(MACHINE.to_owned() + &job("ports: [{label: cpu, constraint: 'gpu.Type == \"Machine\"'}]")),
        );
        assert!(
            said.starts_with("job default/j waits: port `cpu`: `gpu.Type == \"Machine\"` can never be true; `gpu` is not the label of a port, did you mean `cpu.Type`?\n"),
            "{said}"
        );
        let said = text("licence", "j", &(MACHINE.to_owned() + &job("constraint: 'other.Type == \"Licence\"'")));
        assert!(
            said.contains("is open to this job's namespace; did you mean `other.Type == \"License\"`?\n"),
            "{said}"
        );
        assert!(!said.contains("create Machine and License ads"), "{said}");
        // A label of a later port is a label.
        let ports = "ports: [{label: cpu, constraint: 'gpu.Type == \"Machine\"'}, {label: gpu}]";
        assert!(!text("later", "j", &(MACHINE.to_owned() + &job(ports))).contains("is not the label"), "{ports}");
    }

    /// Where something is free that would do, nothing else has to become free; and who holds what is said once.
    #[test]
    fn only_what_the_job_waits_for_has_to_become_free() {
        let counted = "../../../examples/counted";
        let said = String::from_utf8(run(&[&["why", "run-3", "-f", counted], &NOW[..]].concat()).stdout).unwrap();
        assert!(
            said.contains(
                "\nIf license default/solver were free, it would get cpu=default/ws-c license=default/solver.\n\n"
            ),
            "{said}"
        );
        assert_eq!(said.matches("license default/solver (2/2 seats)").count(), 1, "{said}");
    }

    #[test]
    fn one_is_not_several() {
        let said = text(
            "alone",
            "j",
            &(MACHINE.to_owned() + &job("constraint: 'other.Type == \"Machine\" && other.Memory >= 128'")),
        );
        assert!(
            said.contains(
                "port `other`: the only ad does not satisfy the job's constraint: `other.Memory >= 128` rejects it\n"
            ),
            "{said}"
        );
        let two = MACHINE.to_owned() + &job("constraint: 'true'") + "---\n" + &object("Job", "k", "constraint: 'true'");
        let said = text("behind", "k", &two);
        assert!(said.contains("Ahead of it: 1 job of its namespace; it has a gang now."), "{said}");
    }

    /// The counts of the first line are those of offers that are open to the job; the others are told beside them.
    #[test]
    fn offers_that_are_not_open_are_told_apart() {
        let closed = object("Machine", "x", "stopPolicy: Hold, attributes: {Memory: 64}, constraint: 'true'");
        let said = text(
            "closed",
            "j",
            &(MACHINE.to_owned() + &closed + &job("constraint: 'other.Type == \"Machine\" && other.Memory >= 128'")),
        );
        assert!(said.contains("Port other: 2 machines, 1 of which is open to the job now\n"), "{said}");
    }

    #[test]
    fn the_name_of_a_workload_is_answered_with_its_job_and_that_of_an_offer_with_its_kind() {
        let made = object("Job", "test-1-3e56d881", "constraint: 'true'");
        let said = text("made", "test-1", &(MACHINE.to_owned() + &made));
        assert!(said.starts_with("job default/test-1-3e56d881 "), "{said}");
        let said = text("offer", "m", &(MACHINE.to_owned() + &made));
        assert_eq!(
            said,
            "error: there is no job `m` in namespace default; there is a machine of that name, write machine/m\n"
        );
    }

    #[test]
    fn a_finished_job_says_once_that_it_is_done() {
        let finished = "apiVersion: gangmatch.dev/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec: {constraint: 'other.Type == \"Machine\"', done: true}\nstatus:\n  conditions:\n  \
                        - {type: Finished, status: \"True\", reason: Done, message: spec.done is true, lastTransitionTime: \"2026-11-21T13:00:00Z\"}\n  \
                        - {type: Started, status: \"False\", reason: Done, message: \"\", lastTransitionTime: \"2026-11-21T13:00:00Z\"}\n";
        let said = text("done", "j", finished);
        assert_eq!(said, "job default/j has finished: spec.done is true\nReason: Done, since 2026-11-21T13:00:00Z\n");
    }

    #[test]
    fn a_job_that_is_done_says_so_without_a_status() {
        let said = text("just-done", "j", &object("Job", "j", "constraint: 'other.A == 1', done: true"));
        assert_eq!(said, "job default/j has finished: spec.done is true\nReason: Done\n");
    }

    #[test]
    fn without_offers_no_name_is_unknown_and_without_requirements_that_is_said() {
        let said =
            text("no-offers", "j", &object("Job", "j", "constraint: 'other.Type == \"Machine\" && other.Memroy > 1'"));
        assert!(!said.contains("mean nothing"), "{said}");
        let machine = MACHINE.to_owned() + &object("Machine", "m", "attributes: {Type: Machine}");
        let said = text("typed", "j", &(machine.clone() + &object("Job", "j", "constraint: 'other.Typ == 1'")));
        assert!(said.contains("`other.Typ`: no offer has an attribute `Typ`"), "{said}");
        let said = text("silent", "j", &(machine + &object("Job", "j", "classad: '[ Requirments = other.A == 1 ]'")));
        assert!(!said.contains("each part") && said.contains("is `Requirments` misspelled?"), "{said}");
        assert!(said.contains("the ad has no Requirements, which accepts no offer"), "{said}");
        assert!(said.contains("1 does not satisfy the constraint of the job, which has none\n"), "{said}");
    }

    #[test]
    fn a_query_that_finds_nothing_names_what_no_object_has() {
        for (kind, constraint, said) in [
            ("machines", "Memroy > 1", "there are 4. No machine has an attribute `Memroy`; did you mean `Memory`?\n"),
            ("jobs", "JobStatus == 2", "No job has an attribute `JobStatus`; did you mean `Phase`?\n"),
            ("machines", "other.Zzzz > 1", "No machine has an attribute `Zzzz`.\n"),
            ("machines", "Memory > 100000000", "there are 4.\n"),
        ] {
            let output = run(&["query", kind, "-c", constraint, "-f", "lab.yaml"]);
            let text = String::from_utf8(output.stderr).unwrap();
            assert!(text.contains(said), "{constraint}: {text}");
        }
    }
}
