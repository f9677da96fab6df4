//! Two tenants with weights and a quota of licences on a real API server: who gets how much, what the others are told, and what is stored.

use serde_json::{Value, json};

use crate::paths::{GROUP, place_of};
use crate::stage::{LIMIT, Namespace, Stage, condition, job, license, machine, text};

/// An object that is not in a namespace.
fn apply(stage: &Stage, kind: &str, name: &str, spec: &Value) {
    let object =
        json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec});
    stage.cluster.requests().unwrap().apply(&place_of("", &object).unwrap(), &object).unwrap();
}

/// Nothing, if there is none.
fn account(stage: &Stage, name: &str) -> Value {
    stage.cluster.requests().unwrap().get(&format!("{GROUP}/accounts/{name}")).unwrap_or_default()
}

/// How many jobs of a tenant are claimed.
fn claimed(here: &Namespace) -> usize {
    here.with_reason("gmj", "Claimed", "Committed").len()
}

#[test]
fn two_tenants_share_by_weight_and_within_a_licence_quota() {
    let stage = Stage::own();
    let [pool, chips, cfd] = ["pool", "chips", "cfd"].map(|name| stage.namespace(name));
    stage.cluster.kubectl_text(&["label", "namespace", &pool.name, "gangmatch.dev/offers=cluster"], None).unwrap();
    apply(
        stage,
        "PoolPolicy",
        "pool",
        &json!({"counters": [
        {"name": "sim", "constraint": "Type == \"License\" && App == \"sim\"", "resource": "seats"}]}),
    );
    apply(stage, "Account", "chips", &json!({"submitter": {"namespace": chips.name}, "weight": 2000}));
    let quotas = json!([{"counter": "sim", "max": 3}]);
    apply(stage, "Account", "cfd", &json!({"submitter": {"namespace": cfd.name}, "weight": 1000, "quotas": quotas}));
    pool.apply(&[machine("m"), license("l", "sim", 20, 1)].concat());
    let open = r#"{"spec": {"allowedNamespaces": {"from": "All"}}}"#;
    pool.merge("gml/l", open);
    pool.merge(
        "gmm/m",
        r#"{"spec": {"allowedNamespaces": {"from": "All"}, "stopPolicy": "Hold", "capacity": {"slots": 6}}}"#,
    );
    for here in [&chips, &cfd] {
        let jobs: Vec<String> = (0..8).map(|number| job(&format!("j{number}"), "sim")).collect();
        here.apply(&jobs.concat());
    }
    for here in [&chips, &cfd] {
        here.until("all jobs to be looked at", || {
            (here.with_reason("gmj", "Matched", "OffersUnavailable").len() == 8).then_some(())
        });
    }

    // Two to one, as the weights are.
    pool.merge("gmm/m", r#"{"spec": {"stopPolicy": "None"}}"#);
    pool.until("six jobs to be claimed", || (claimed(&chips) + claimed(&cfd) == 6).then_some(()));
    assert_eq!((claimed(&chips), claimed(&cfd)), (4, 2));

    // There is room for all; the quota lets three of them have a licence.
    pool.merge("gmm/m", r#"{"spec": {"capacity": {"slots": 20}}}"#);
    pool.until("all that may be claimed", || (claimed(&chips) == 8 && claimed(&cfd) == 3).then_some(()));
    let told = cfd.until("the others to be told why", || {
        let told = cfd.with_reason("gmj", "Matched", "QuotaExceeded");
        (told.len() == 5).then_some(told)
    });
    cfd.shows(&format!("gmj/{}", told[0]), "Matched", "QuotaExceeded");
    let waiting = cfd.get(&format!("gmj/{}", told[0]));
    assert_eq!(text(&waiting, "/status/why"), "sim: cfd holds 3 of at most 3");
    assert!(condition(&waiting, "Matched").2.contains("sim: cfd holds 3 of at most 3"));

    // What is stored, and what a Match says of its charge.
    pool.until("the accounts to be stored", || {
        let stored = |name: &str| text(&account(stage, name), "/status/charge");
        (!stored("chips").is_empty() && !stored("cfd").is_empty()).then_some(())
    });
    assert_eq!(condition(&account(stage, "cfd"), "Accepted").1, "Accepted");
    let found = cfd.list("gmatch").remove(0);
    assert_eq!(
        (text(&found, "/spec/account"), text(&found, "/spec/members/1/charge")),
        ("cfd".into(), "1.000000".into())
    );

    // Raised, the quota lets the others have theirs.
    apply(stage, "Account", "cfd", &json!({"submitter": {"namespace": cfd.name}, "weight": 1000}));
    cfd.until("all jobs to be claimed", || (claimed(&cfd) == 8).then_some(()));
    cfd.shows(&format!("gmj/{}", told[0]), "Claimed", "Committed");
}

/// Accounts with a mistake, and what mends each.
fn mistakes_in_accounts_are_told_and_mended(stage: &'static Stage) {
    let chain = |number: u32| if number == 0 { json!({}) } else { json!({"parent": format!("d{}", number - 1)}) };
    (0..9).for_each(|number| apply(stage, "Account", &format!("d{number}"), &chain(number)));
    let cases = [
        ("a", json!({"parent": "nobody"}), "ParentMissing", json!({})),
        ("own", json!({"parent": "own"}), "ParentLoop", json!({})),
        ("d8", json!({"parent": "d7"}), "TooDeep", json!({"parent": "d6"})),
        ("p", json!({"quotas": [{"counter": "seats", "max": 1}]}), "UnknownCounter", json!({})),
    ];
    let told = |name: &str, reason: &str| {
        let is_told = || Ok((condition(&account(stage, name), "Accepted").1 == reason).then_some(()));
        // An account is written at most once a minute.
        testbed::until(&format!("account {name} to be told {reason}"), 3 * LIMIT, is_told).unwrap();
    };
    cases.iter().for_each(|(name, wrong, ..)| apply(stage, "Account", name, wrong));
    // The older one of the two is charged; of two that were created in the same second, the one with the smaller uid.
    ["one", "other"].iter().for_each(|name| apply(stage, "Account", name, &json!({"submitter": {"namespace": "x"}})));
    let age =
        |name: &&str| ["/metadata/creationTimestamp", "/metadata/uid"].map(|path| text(&account(stage, name), path));
    let mut by_age = ["one", "other"];
    by_age.sort_by_key(age);
    let [older, younger] = by_age;
    cases.iter().for_each(|(name, _, reason, _)| told(name, reason));
    told(younger, "DuplicateSubmitter");
    cases.iter().for_each(|(name, .., right)| apply(stage, "Account", name, right));
    stage.cluster.kubectl_text(&["delete", "gma", older], None).unwrap();
    cases.iter().for_each(|(name, ..)| told(name, "Accepted"));
    told(younger, "Accepted");
}

#[test]
fn a_mistake_in_the_policy_is_told_and_a_tenant_may_not_read_accounts() {
    let stage = Stage::own();
    apply(stage, "PoolPolicy", "pool", &json!({"counters": [{"name": "sim", "constraint": "App =="}]}));
    let here = stage.namespace("told");
    let told = here.until("the policy to be looked at", || {
        let policy = stage.cluster.requests().unwrap().get(&format!("{GROUP}/poolpolicies/pool")).unwrap();
        let found = condition(&policy, "Accepted");
        (!found.0.is_empty()).then_some(found)
    });
    assert_eq!((told.0.as_str(), told.1.as_str()), ("False", "ParseError"));
    assert!(told.2.starts_with("spec.counters[0].constraint: line 1, column "), "{}", told.2);
    mistakes_in_accounts_are_told_and_mended(stage);
    let other = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "PoolPolicy", "metadata": {"name": "other"}, "spec": {}});
    let refusal =
        stage.cluster.requests().unwrap().create(&format!("{GROUP}/poolpolicies"), &other).unwrap_err().message;
    assert!(refusal.contains("there is one PoolPolicy, named pool"), "{refusal}");
    let tenants = stage.tenants("accounts");
    for arguments in [["get", "gma"], ["get", "gmp"]] {
        let refusal = tenants.alice.refusal(&arguments, None);
        assert!(refusal.contains("forbidden") || refusal.contains("Forbidden"), "{refusal}");
    }
    let merge = ["patch", "gma", "a", "--type=merge", "-p", r#"{"spec": {"weight": 1000000}}"#];
    let refusal = tenants.alice.refusal(&merge, None);
    assert!(refusal.to_lowercase().contains("forbidden"), "{refusal}");
}

/// A gang that is charged, so that the controller uses its rights on accounts.
pub(crate) fn a_gang_is_charged(stage: &'static Stage) {
    apply(stage, "PoolPolicy", "pool", &json!({}));
    let here = stage.namespace("charged");
    here.apply(&[machine("m"), license("l", "sim", 1, 1), job("j", "sim")].concat());
    here.wait("gmj/j", "Claimed");
    let name = format!("ns-{}", here.name);
    here.until("its account to be stored", || {
        (text(&account(stage, &name), "/status/charge") == "2.000000").then_some(())
    });
    an_unused_account_is_deleted(stage);
    stage.cluster.kubectl_text(&["delete", "gmp", "pool"], None).unwrap();
}

/// An account as the controller creates it, which was unused for a day.
fn an_unused_account_is_deleted(stage: &Stage) {
    let mut unused = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": "Account", "metadata": {"name": "ns-unused"},
        "spec": {"submitter": {"namespace": "unused"}}});
    unused["metadata"]["labels"] = json!({"gangmatch.dev/made-by": "accountant", "gangmatch.dev/made-for": "unused"});
    stage.cluster.kubectl_text(&["create", "-f", "-"], Some(&unused.to_string())).unwrap();
    let stored = json!({"status": {"usage": "0.000000", "charge": "0.000000", "usageTime": "2020-01-01T00:00:00Z",
        "halfLifeSeconds": 86400}})
    .to_string();
    let patch = ["patch", "gma", "ns-unused", "--subresource=status", "--type=merge", "-p", stored.as_str()];
    stage.cluster.kubectl_text(&patch, None).unwrap();
    // All accounts are looked at once a minute.
    let gone = || Ok(account(stage, "ns-unused").is_null().then_some(()));
    testbed::until("the unused account to be deleted", 3 * LIMIT, gone).unwrap();
}
