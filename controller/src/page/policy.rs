//! The terms of an offer into sentences: who may claim it, on which conditions, and what its owner prefers.

use classad::{Dialect, conjuncts, parse_expr};
use crds::{AdFields, ClaimPolicy, Disclosure, ExprText, NamespacesFrom, OfferFields, Res, StopPolicy};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Texts longer than this are cut: a page is for people.
const TEXT_MAX: usize = 2000;
/// The most conditions that are listed.
const CONDITIONS_MAX: usize = 40;

/// One sentence, and the expressions that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    pub(crate) words: String,
    /// Texts in the language of ads.
    pub(crate) expressions: Vec<String>,
}

fn says(words: impl Into<String>) -> Sentence {
    Sentence { words: words.into(), expressions: Vec::new() }
}

fn says_of(words: &str, expressions: Vec<String>) -> Sentence {
    Sentence { words: words.to_owned(), expressions }
}

/// The terms of an offer of this namespace.
pub(crate) fn policy(
    namespace: &str,
    ad: &AdFields,
    offer: &OfferFields,
    shared_by: Option<&ExprText>,
) -> Vec<Sentence> {
    let mut all = vec![says(stop_words(offer.stop_policy)), says(allowed(namespace, offer))];
    all.extend(conditions(ad));
    if let Some(rank) = &ad.rank {
        all.push(says_of("Of several jobs, its owner prefers the one for which this is largest:", vec![text(rank)]));
    }
    if let Some(shared_by) = shared_by {
        let words = "Claims for which this has the same value hold one seat together:";
        all.push(says_of(words, vec![text(shared_by)]));
    }
    if !offer.default_request.is_empty() {
        all.push(says(format!("A claim that asks for no amount holds {}.", amounts(&offer.default_request))));
    }
    match (&offer.agent, offer.claim_policy) {
        (Some(agent), ClaimPolicy::Agent) => {
            all.push(says(format!("Its agent {} also votes on every claim.", cut(&agent.username))));
        }
        (Some(agent), ClaimPolicy::Auto) => {
            all.push(says(format!("Its agent {} publishes attributes, and does not vote.", cut(&agent.username))));
        }
        (None, _) => {}
    }
    let hidden = ad.private.iter().flatten().map(|name| cut(name)).collect::<Vec<_>>();
    if !hidden.is_empty() {
        all.push(says(format!("Expressions of partners cannot read {}.", hidden.join(", "))));
    }
    all.push(says(match offer.disclosure {
        Disclosure::Counts => "Explanations to users of other namespaces count it, and show none of its values.",
        Disclosure::Full => "Explanations to users of other namespaces may show its values.",
    }));
    all
}

fn stop_words(policy: StopPolicy) -> &'static str {
    match policy {
        StopPolicy::None => "It accepts new claims.",
        StopPolicy::Hold => "Its owner has stopped new claims (Hold). Existing claims continue.",
        StopPolicy::HoldAndDrain => {
            "Its owner is draining it (HoldAndDrain): no new claims, and existing claims are ended."
        }
    }
}

fn allowed(namespace: &str, offer: &OfferFields) -> String {
    let trusted = format!("if the namespace {namespace} has the label gangmatch.dev/offers=cluster");
    match &offer.allowed_namespaces {
        Some(allowed) => match (allowed.from, &allowed.selector) {
            (NamespacesFrom::All, _) => format!("Jobs of all namespaces can claim it, {trusted}."),
            (NamespacesFrom::Selector, Some(selector)) => {
                format!("Jobs of namespaces with {} can claim it, {trusted}.", labels(selector))
            }
            (NamespacesFrom::Selector, None) | (NamespacesFrom::Same, _) => only_here(namespace),
        },
        None => only_here(namespace),
    }
}

fn only_here(namespace: &str) -> String {
    format!("Only jobs of its own namespace, {namespace}, can claim it.")
}

fn labels(selector: &LabelSelector) -> String {
    let exact = selector.match_labels.iter().flatten().map(|(name, value)| format!("{name}={value}"));
    let others = selector.match_expressions.iter().flatten().map(|wanted| {
        let values = wanted.values.iter().flatten().cloned().collect::<Vec<_>>().join(", ");
        if values.is_empty() {
            format!("{} {}", wanted.key, wanted.operator)
        } else {
            format!("{} {} ({values})", wanted.key, wanted.operator)
        }
    });
    let all: Vec<String> = exact.chain(others).collect();
    if all.is_empty() { "any labels".to_owned() } else { cut(&format!("the labels {}", all.join(" and "))) }
}

/// What the ad asks of jobs, each condition by itself.
fn conditions(ad: &AdFields) -> Vec<Sentence> {
    let mut all = Vec::new();
    if let Some(constraint) = &ad.constraint {
        let parts = parts(&constraint.text());
        let words = match parts.as_slice() {
            [one] if one == "true" => "It accepts jobs of every kind.",
            [_] => "It accepts a job only if this is true of it:",
            _ => "It accepts a job only if all of these are true of it:",
        };
        all.push(says_of(words, parts.into_iter().filter(|part| part != "true").collect()));
    }
    for port in ad.ports.iter().flatten() {
        let parts = port.constraint.as_ref().map(|text| parts(&text.text())).unwrap_or_default();
        all.push(says_of(&format!("The partner at its port {} must satisfy:", cut(&port.label)), parts));
    }
    match &ad.classad {
        Some(source) => all.push(says_of("Its owner has written its conditions as this ad:", vec![cut(source)])),
        None if all.is_empty() => all.push(says("It accepts jobs of every kind.")),
        None => {}
    }
    all
}

/// The conditions of an expression that are joined by `&&`; the text itself if it is none.
fn parts(source: &str) -> Vec<String> {
    let Ok(expr) = parse_expr(source, Dialect::Gangmatch) else { return vec![cut(source)] };
    conjuncts(&expr).iter().take(CONDITIONS_MAX).map(|part| part.excerpt(TEXT_MAX)).collect()
}

fn text(source: &ExprText) -> String {
    cut(&source.text())
}

/// Amounts in words: `1 seats, 1024 memory`.
pub(crate) fn amounts(amounts: &Res) -> String {
    let all = amounts.iter().map(|(name, amount)| format!("{amount} {}", of_resource(name, *amount)));
    all.collect::<Vec<_>>().join(", ")
}

/// A resource behind an amount of it: memory is counted in MiB, and one of something is no plural.
pub(crate) fn of_resource(name: &str, amount: i64) -> &str {
    match (name, amount) {
        ("memory", _) => "MiB of memory",
        ("seats" | "slots" | "cpus" | "gpus", 1) => name.trim_end_matches('s'),
        _ => name,
    }
}

/// The beginning of a text.
fn cut(text: &str) -> String {
    let mut characters = text.chars();
    let begin: String = characters.by_ref().take(TEXT_MAX).collect();
    if characters.next().is_some() { format!("{begin}...") } else { begin }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::fixtures::license;

    fn of(spec: &Value) -> Vec<String> {
        let license = license(spec, &json!({}));
        let spec = &license.spec;
        let all = policy("eda", &spec.ad, &spec.offer, spec.shared_by.as_ref());
        all.into_iter()
            .map(|one| format!("{} {}", one.words, one.expressions.join(" | ")).trim_end().to_owned())
            .collect()
    }

    #[test]
    fn the_terms_are_sentences() {
        let all = of(&json!({
            "constraint": "other.Type == \"Job\" && (other.Owner == \"raman\" && hour() >= 18)", "rank": "other.Priority",
            "sharedBy": "requester.Members[0].NodeName", "defaultRequest": {"seats": 2}, "stopPolicy": "Hold",
            "allowedNamespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "eda"}}}, "claimPolicy": "Agent",
            "agent": {"username": "system:serviceaccount:eda:agent"}, "private": ["Price"]}));
        assert_eq!(
            all,
            [
                "Its owner has stopped new claims (Hold). Existing claims continue.",
                "Jobs of namespaces with the labels team=eda can claim it, if the namespace eda has the label gangmatch.dev/offers=cluster.",
                "It accepts a job only if all of these are true of it: other.Type == \"Job\" | other.Owner == \"raman\" | hour() >= 18",
                "Of several jobs, its owner prefers the one for which this is largest: other.Priority",
                "Claims for which this has the same value hold one seat together: requester.Members[0].NodeName",
                "A claim that asks for no amount holds 2 seats.",
                "Its agent system:serviceaccount:eda:agent also votes on every claim.",
                "Expressions of partners cannot read Price.",
                "Explanations to users of other namespaces count it, and show none of its values.",
            ]
        );
    }

    #[test]
    fn what_is_not_said_is_said_too() {
        let all = of(&json!({"disclosure": "Full"}));
        assert_eq!(
            all,
            [
                "It accepts new claims.",
                "Only jobs of its own namespace, eda, can claim it.",
                "It accepts jobs of every kind.",
                "Explanations to users of other namespaces may show its values.",
            ]
        );
        let broken = of(&json!({"constraint": "other.Type =="}));
        assert_eq!(broken[2], "It accepts a job only if this is true of it: other.Type ==");
        let long = of(&json!({"classad": "x".repeat(5000)}));
        assert!(long[2].len() < 2100, "{}", long[2].len());
    }
}
