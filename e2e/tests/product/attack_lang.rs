//! A tenant's costly expressions, on a real API server: the jobs of others are claimed, and the tenant is told what is too
//! expensive.

use serde_json::json;

use crate::stage::{Namespace, Stage, condition, machine};

/// A tenant's job with this ad, beside a machine of its own; then the job of another tenant, which must be claimed.
fn beside(stage: &'static Stage, test: &str, ad: &str) -> Namespace {
    let (tenant, other) = (stage.namespace(test), stage.namespace(&format!("{test}-other")));
    let job = |name: &str, ad: &str| {
        json!({
            "apiVersion": "gangmatch.dev/v1alpha1", "kind": "Job", "metadata": { "name": name },
            "spec": { "classad": ad },
        })
        .to_string()
    };
    tenant.apply(&machine("own"));
    tenant.apply(&job("costly", ad));
    tenant.until("a cycle to have looked at the costly job", || {
        let (status, reason, _) = condition(&tenant.get("gmj/costly"), "Matched");
        (status == "True" || (!reason.is_empty() && reason != "PendingEvaluation")).then_some(())
    });
    other.apply(&machine("own"));
    other.apply(&job("good", "[ Requirements = other.Memory >= 1 ]"));
    other.wait("gmj/good", "Claimed");
    tenant
}

#[test]
fn b4_names_that_lead_to_names_keep_nobody_waiting() {
    let level = |level: usize| format!("s{level} = {{s{0}, s{0}, s{0}, s{0}}}; ", level - 1);
    let names: String = (1..=39).map(level).collect();
    let tenant =
        beside(Stage::attacked(), "b4", &format!("[ s0 = 1; {names} Requirements = size(s39) > other.Memory ]"));
    let reason = condition(&tenant.get("gmj/costly"), "Matched").1;
    assert!(["NoCandidates", "RefusedByOffers"].contains(&reason.as_str()), "{reason}");
}

#[test]
fn b6_a_list_for_each_element_of_a_list_keeps_nobody_waiting_and_is_too_expensive() {
    let list = vec!["[ a = 5 ]"; 800].join(", ");
    let constraint = "size(evalInEachContext(countMatches(a > 3, L), L)) > other.Memory";
    // With a stage of its own: jobs that other tests leave waiting take steps of the cycle.
    let tenant = beside(Stage::own(), "b6", &format!("[ L = {{ {list} }}; Requirements = {constraint} ]"));
    let message = tenant.wait_reason("gmj/costly", "Matched", "ExpressionTooExpensive");
    assert!(message.contains("more than 16,777,216 bytes") && message.contains("countMatches(a > 3,L)"), "{message}");
}
