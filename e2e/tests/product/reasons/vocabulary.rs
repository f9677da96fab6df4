//! No reason is forgotten: each one is produced by a test that reads it from the condition and from `why`, or stands in a list here.

use std::path::Path;

use testbed::repository;

/// Reasons that are not read from `why`, and the file with their test.
const NOT_OF_WHY: [(&str, &str); 13] = [
    // `why` repeats them as what the controller says; that test cannot wait for it, since its claims end by the clock.
    ("WaitingForReserved", "e2e/tests/product/reservation.rs"),
    ("HeldForOthers", "e2e/tests/product/reservation.rs"),
    // Of a MachineClass, an Account or the PoolPolicy.
    ("InvalidCapacity", "e2e/tests/product/attack_pacing.rs"),
    ("NamespaceMissing", "e2e/tests/product/pods/nodes.rs"),
    ("DuplicateSubmitter", "e2e/tests/product/accounts.rs"),
    ("SubmitterNotCharged", "pool/tests/accounts.rs"),
    ("ParentMissing", "e2e/tests/product/accounts.rs"),
    ("ParentLoop", "e2e/tests/product/accounts.rs"),
    ("TooDeep", "e2e/tests/product/accounts.rs"),
    ("UnknownCounter", "e2e/tests/product/accounts.rs"),
    // The API server refuses the PoolPolicy.
    ("DuplicateCounter", "crds/src/ad/policy.rs"),
    // Of the Match of a job that is gone, or that another Match holds: the rows of this table are tested.
    ("JobDeleted", "docs/claiming.md"),
    ("JobTaken", "docs/claiming.md"),
];

/// Of one cycle only: the next one finds the offers taken.
const OF_A_MOMENT: (&str, &str) = ("WaitingForTurn", "controller/src/cycle/placing.rs");

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The calls of `shows` in the tests of the product, and all of the tests of reasons, whose calls are fed from lists.
fn shown() -> String {
    let folder = repository::root().join("e2e/tests/product");
    let files = |folder: &Path| -> Vec<_> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file()).collect()
    };
    let mut text = read(&folder.join("reasons.rs"));
    for name in ["offers", "preempted"] {
        text += &read(&folder.join(format!("reasons/{name}.rs")));
    }
    for file in files(&folder).into_iter().chain(files(&folder.join("pods"))) {
        let calls = read(&file);
        text.extend(calls.lines().filter(|line| line.contains(".shows(")).flat_map(|line| [line, "\n"]));
    }
    text
}

#[test]
fn every_reason_is_produced_by_a_test() {
    let source = read(&repository::root().join("crds/src/conditions.rs"));
    let (_, all) = source.split_once("pub mod reasons").unwrap();
    let constants = all.lines().filter_map(|line| line.trim().strip_prefix("pub const ")?.split('"').nth(1));
    let reasons: Vec<&str> = constants.collect();
    assert!(reasons.len() > 70, "only {} reasons were found", reasons.len());
    let shown = shown();
    let is_tested = |reason: &&str| match NOT_OF_WHY.iter().chain([&OF_A_MOMENT]).find(|(other, _)| other == reason) {
        Some((_, file)) => read(&repository::root().join(file)).contains(*reason),
        None => shown.contains(&format!("\"{reason}\"")),
    };
    let untested: Vec<&&str> = reasons.iter().filter(|reason| !is_tested(reason)).collect();
    assert!(untested.is_empty(), "no test produces {untested:?}");
}
