//! An offer's `allowedNamespaces` and the labels of all namespaces into the namespaces whose jobs it admits.

use std::collections::BTreeMap;

use crds::{AllowedNamespaces, NamespacesFrom};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use matchmaker::Consent;

/// The label by which the admin of the cluster allows a namespace to offer to other namespaces.
const OFFERS: &str = "gangmatch.dev/offers";

/// The labels of all namespaces, by name.
pub(crate) type Namespaces = BTreeMap<String, BTreeMap<String, String>>;

/// Whether the admin allows jobs of other namespaces on the offers of this one: label `gangmatch.dev/offers: cluster`.
pub fn trusted(namespace: &str, namespaces: &Namespaces) -> bool {
    namespaces.get(namespace).is_some_and(|labels| labels.get(OFFERS).is_some_and(|value| value == "cluster"))
}

/// The namespaces whose jobs an offer admits: those that its owner allows, if the admin of the cluster trusts its namespace. A selector
/// with an unknown operator selects nothing.
pub fn consent(allowed: Option<&AllowedNamespaces>, namespace: &str, namespaces: &Namespaces) -> Consent {
    let allows_others = allowed.is_some_and(|allowed| allowed.from != NamespacesFrom::Same);
    match allows_others && trusted(namespace, namespaces) {
        true => allowed_by_owner(allowed, namespace, namespaces),
        false => Consent::same(namespace),
    }
}

/// The namespaces whose jobs the owner of an offer allows, whether the admin of the cluster trusts its namespace or not.
pub(crate) fn allowed_by_owner(
    allowed: Option<&AllowedNamespaces>,
    namespace: &str,
    namespaces: &Namespaces,
) -> Consent {
    match allowed.map(|allowed| (allowed.from, &allowed.selector)) {
        Some((NamespacesFrom::All, _)) => Consent::Everybody,
        Some((NamespacesFrom::Selector, Some(selector))) => Consent::Namespaces(
            namespaces.iter().filter(|(_, labels)| selects(selector, labels)).map(|(name, _)| name.clone()).collect(),
        ),
        _ => Consent::same(namespace),
    }
}

/// Whether the owner of an offer allows other namespaces, and its own namespace lacks the label for that.
pub(crate) fn is_untrusted(allowed: Option<&AllowedNamespaces>, namespace: &str, namespaces: &Namespaces) -> bool {
    allowed.is_some_and(|allowed| allowed.from != NamespacesFrom::Same) && !trusted(namespace, namespaces)
}

/// Whether a selector selects these labels.
pub fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let exact = selector.match_labels.iter().flatten().all(|(name, value)| labels.get(name) == Some(value));
    let expressions = selector.match_expressions.iter().flatten().all(|wanted| {
        let value = labels.get(&wanted.key);
        let listed = || value.is_some_and(|value| wanted.values.iter().flatten().any(|one| one == value));
        match wanted.operator.as_str() {
            "In" => listed(),
            "NotIn" => !listed(),
            "Exists" => value.is_some(),
            "DoesNotExist" => value.is_none(),
            _ => false,
        }
    });
    exact && expressions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespaces() -> Namespaces {
        let labels = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
        BTreeMap::from([
            ("grid".to_owned(), labels(&[(OFFERS, "cluster")])),
            ("eda".to_owned(), labels(&[("team", "eda")])),
            ("other".to_owned(), labels(&[])),
        ])
    }

    fn allowed(from: NamespacesFrom, team: Option<&str>) -> AllowedNamespaces {
        let selector = team.map(|team| LabelSelector {
            match_labels: Some(BTreeMap::from([("team".to_owned(), team.to_owned())])),
            match_expressions: None,
        });
        AllowedNamespaces { from, selector }
    }

    #[test]
    fn absent_is_the_own_namespace() {
        assert_eq!(consent(None, "grid", &namespaces()), Consent::same("grid"));
    }

    #[test]
    fn all_needs_the_admins_trust() {
        let all = allowed(NamespacesFrom::All, None);
        assert_eq!(consent(Some(&all), "grid", &namespaces()), Consent::Everybody);
        assert_eq!(consent(Some(&all), "other", &namespaces()), Consent::same("other"));
    }

    #[test]
    fn a_selector_selects_by_label() {
        let selected = consent(Some(&allowed(NamespacesFrom::Selector, Some("eda"))), "grid", &namespaces());
        assert!(selected.admits("eda") && !selected.admits("other") && !selected.admits("grid"));
    }
}
