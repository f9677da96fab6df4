//! Who is charged for a job, and what counts offers.

#[cfg(test)]
mod tests {
    use crds::{Account, Job, PoolPolicy};
    use pool::{AccountsBuilder, CycleInputs, Objects, Submitting, account_problems, snapshot};
    use serde_json::{Value, json};

    use crate::cluster::{expr, job, license, machine, objects, port};

    fn cluster_object<T: serde::de::DeserializeOwned>(kind: &str, name: &str, spec: &Value) -> T {
        let uid = format!("uid-{name}");
        let object = json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": {"name": name, "uid": uid}, "spec": spec});
        serde_json::from_value(object).unwrap()
    }

    fn with_policy(mut objects: Objects, spec: &Value) -> Objects {
        objects.accounts.apply_policy(cluster_object::<PoolPolicy>("PoolPolicy", "pool", spec));
        objects
    }

    /// An account that the controller has created for jobs of a namespace.
    fn made(name: &str, submitter: &Value, namespace: &str) -> Account {
        let mut account: Account = cluster_object("Account", name, &json!({"submitter": submitter}));
        let labels = [(crds::LABEL_MADE_BY, crds::MADE_BY_CONTROLLER), (crds::LABEL_MADE_FOR, namespace)];
        account.metadata.labels = Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        account
    }

    fn owned(owner: &str) -> Job {
        let mut owned = job("j", &[port("cpu", "cpu.Type == \"Machine\"")]);
        owned.spec.ad.owner = Some(owner.to_owned());
        owned
    }

    fn charged(objects: &Objects, owner: &str) -> String {
        let terms = &objects.accounts.policy().unwrap().terms;
        Submitting::of(objects, terms).of_job(&owned(owner)).0
    }

    /// The reason and the message of an account's condition; empty if there is none.
    fn told(objects: &Objects, name: &str) -> (String, String) {
        let terms = &objects.accounts.policy().unwrap().terms;
        let found = account_problems(objects, terms).remove(name);
        found.map(|found| (found.reason.to_owned(), found.message)).unwrap_or_default()
    }

    #[test]
    fn an_account_that_nothing_is_charged_to_says_what_to_write_in_the_pool_policy() {
        let (namespace, owner, both) =
            (json!({"namespace": "n"}), json!({"owner": "alice"}), json!({"namespace": "n", "owner": "alice"}));
        for (mode, submitter, wanted) in [
            ("Namespace", &namespace, ""),
            ("Namespace", &owner, "write Owner there"),
            ("Namespace", &both, "write NamespaceAndOwner there"),
            ("Owner", &namespace, ""),
            ("Owner", &owner, ""),
            ("Owner", &both, "write NamespaceAndOwner there"),
            ("NamespaceAndOwner", &namespace, ""),
            ("NamespaceAndOwner", &owner, "write Owner there"),
            ("NamespaceAndOwner", &both, ""),
        ] {
            let mut objects = with_policy(Objects::default(), &json!({"submitters": mode}));
            objects.accounts.apply(cluster_object("Account", "hers", &json!({"submitter": submitter})));
            let (reason, message) = told(&objects, "hers");
            let expected = if wanted.is_empty() { "" } else { "SubmitterNotCharged" };
            assert_eq!(reason, expected, "{mode}: {submitter}: {message}");
            assert!(message.ends_with(wanted), "{mode}: {submitter}: {message}");
            objects.accounts.remove("hers");
            objects.accounts.apply(made("made", submitter, "n"));
            assert_eq!(told(&objects, "made").0, "", "{mode}: what the controller has created goes by itself");
        }
    }

    #[test]
    fn nothing_is_kept_for_an_account_to_which_nothing_is_charged() {
        use pool::AccountList;

        let mut objects = with_policy(Objects::default(), &json!({}));
        let quotas = json!([{"counter": "gangs", "min": 7, "lend": 0}]);
        let aged = |name: &str, hour: u32, submitter: &serde_json::Value, parent: Option<&str>| {
            let spec = json!({"submitter": submitter, "quotas": quotas, "parent": parent});
            let mut account: Account = cluster_object("Account", name, &spec);
            let time = format!("2026-11-21T{hour:02}:00:00Z");
            account.metadata.creation_timestamp = serde_json::from_value(json!(time)).unwrap();
            account
        };
        let (namespace, owner) = (json!({"namespace": "n"}), json!({"owner": "alice"}));
        objects.accounts.apply(aged("first", 1, &namespace, None));
        objects.accounts.apply(aged("second", 2, &namespace, None));
        objects.accounts.apply(aged("hers", 1, &owner, None));
        objects.accounts.apply(aged("group", 1, &json!(null), None));
        let kept = |objects: &Objects, name: &str| {
            let tree = AccountList::of(objects, &objects.accounts.policy().unwrap().terms).into_tree();
            tree.accounts().iter().any(|account| account.name == *name && !account.quotas.is_empty())
        };
        for (name, expected) in [("first", true), ("second", false), ("hers", false), ("group", true)] {
            assert_eq!(kept(&objects, name), expected, "{name}");
        }
        objects.accounts.apply(aged("below", 1, &json!({"namespace": "other"}), Some("hers")));
        assert!(kept(&objects, "hers"), "it is a group of others");
        objects.accounts.remove("first");
        assert!(kept(&objects, "second"));
    }

    #[test]
    fn service_accounts_of_a_namespace_are_one_submitter() {
        for (mode, of_alice) in [("Owner", "user-alice-"), ("NamespaceAndOwner", "ns-n.user-alice-")] {
            let mut objects = with_policy(Objects::default(), &json!({"submitters": mode}));
            for ghost in ["ghost0", "ghost1"] {
                assert_eq!(charged(&objects, &format!("system:serviceaccount:n:{ghost}")), "ns-n", "{mode}");
            }
            assert_eq!(charged(&objects, "system:serviceaccount:elsewhere:robot"), "ns-n", "{mode}: it runs in n");
            assert!(charged(&objects, "alice").starts_with(of_alice), "{mode}");
            let robot = "system:serviceaccount:n:robot";
            let namespace = (mode == "NamespaceAndOwner").then_some("n");
            let submitter = json!({"namespace": namespace, "owner": robot});
            objects.accounts.apply(made("made", &submitter, "n"));
            assert_eq!(charged(&objects, robot), "ns-n", "{mode}: an account of its own does not come by itself");
            objects.accounts.remove("made");
            objects.accounts.apply(cluster_object("Account", "robots", &json!({"submitter": submitter})));
            assert_eq!(charged(&objects, robot), "robots", "{mode}: but the administrator can create one");
        }
    }

    #[test]
    fn beyond_a_thousand_users_of_a_namespace_further_ones_are_charged_to_it() {
        let mut objects = with_policy(Objects::default(), &json!({"submitters": "Owner"}));
        for number in 0..1000 {
            assert!(charged(&objects, "late").starts_with("user-late-"), "{number}");
            let owner = format!("user{number}");
            objects.accounts.apply(made(&format!("account{number}"), &json!({"owner": owner}), "n"));
        }
        assert_eq!(charged(&objects, "late"), "ns-n");
        assert_eq!(charged(&objects, "user7"), "account7", "those that have accounts keep them");
        objects.accounts.apply(cluster_object("Account", "own", &json!({"submitter": {"owner": "late"}})));
        assert_eq!(charged(&objects, "late"), "own", "one that the administrator creates counts");
        objects.accounts.remove("own");
        objects.accounts.remove("account3");
        assert!(charged(&objects, "late").starts_with("user-late-"), "one was deleted, so another can be created");
    }

    #[test]
    fn the_oldest_account_of_a_submitter_is_charged_whatever_comes_and_goes() {
        let mut objects = with_policy(Objects::default(), &json!({}));
        let aged = |name: &str, hour: u32| {
            let mut account: Account = cluster_object("Account", name, &json!({"submitter": {"namespace": "n"}}));
            let time = format!("2026-11-21T{hour:02}:00:00Z");
            account.metadata.creation_timestamp = serde_json::from_value(json!(time)).unwrap();
            account
        };
        objects.accounts.apply(aged("second", 2));
        objects.accounts.apply(aged("first", 1));
        objects.accounts.apply(aged("third", 3));
        assert_eq!(charged(&objects, "any"), "first");
        let mut changed = aged("first", 1);
        changed.spec.submitter = None;
        objects.accounts.apply(changed);
        assert_eq!(charged(&objects, "any"), "second");
        objects.accounts.remove("second");
        assert_eq!(charged(&objects, "any"), "third");
        objects.accounts.remove("third");
        assert_eq!(charged(&objects, "any"), "ns-n");
    }

    #[test]
    fn what_counting_a_costly_offer_takes_is_known_by_its_namespace() {
        let counters = json!([{"name": "sim", "constraint": "App == \"sim\""}]);
        let with_app = |app: &str| {
            let mut offer = license("l", 1, &[]);
            offer.spec.ad.expressions = Some([("App".to_owned(), expr(app).unwrap())].into());
            with_policy(objects(&[], &[machine("m")], &[offer]), &json!({"counters": counters}))
        };
        let counting = |builder: &mut AccountsBuilder, objects: &Objects| {
            let snapshot = snapshot(objects, &CycleInputs::default());
            builder.build(objects, &snapshot, &[], &Default::default()).unwrap().counting
        };
        let cheap = with_app("\"sim\"");
        assert!(counting(&mut AccountsBuilder::default(), &cheap).is_empty());
        let costly = with_app(&format!("member(-1, {{{}}}) ? \"a\" : \"sim\"", vec!["1 + 1"; 5000].join(",")));
        let fuel = counting(&mut AccountsBuilder::default(), &costly)["n"];
        assert!((500..2000).contains(&fuel), "it is evaluated no further than that: {fuel}");
    }
}
