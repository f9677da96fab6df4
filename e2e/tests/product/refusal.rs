//! Turns a wish into an admission policy for one namespace: which writes are refused there, and until when.

use serde_json::{Value, json};

use crate::stage::{Namespace, list};

/// Requests that a policy is asked about.
pub(crate) fn requests(operation: &str, group: &str, resource: &str) -> Value {
    json!({"apiGroups": [group], "apiVersions": ["*"], "operations": [operation], "resources": [resource]})
}

/// Refuses such requests in this namespace unless this is true; the name of the policy. It takes effect a moment later.
pub(crate) fn refuse(here: &Namespace, rules: &[Value], unless: &str, message: &str) -> String {
    let policy = format!("refuse-{}", here.name);
    let validations = json!([{"expression": unless, "reason": "Forbidden", "message": message}]);
    let spec = json!({"matchConstraints": {"resourceRules": rules}, "validations": validations});
    let labels = json!({"kubernetes.io/metadata.name": here.name});
    let binding = json!({"policyName": policy, "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": {"matchLabels": labels}}});
    let of = |kind: &str, spec: &Value| json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": policy}, "spec": spec});
    let both = [of("ValidatingAdmissionPolicy", &spec), of("ValidatingAdmissionPolicyBinding", &binding)];
    here.access().apply(&list(&both)).unwrap();
    policy
}

/// Takes the policy out again.
pub(crate) fn lift(here: &Namespace, policy: &str) {
    for kind in ["validatingadmissionpolicybinding", "validatingadmissionpolicy"] {
        here.access().kubectl_text(&["delete", kind, policy], None).unwrap();
    }
}

/// Refuses writes of everybody but the admin of which this is true. It takes effect a moment later: see [`Namespace::until_held_up`].
pub(crate) fn hold_up(here: &Namespace, resource: &str, writes: &str) -> String {
    let unless = format!("request.userInfo.username == 'admin' || !({writes})");
    refuse(here, &[requests("UPDATE", "gangmatch.dev", resource)], &unless, "held up")
}

/// Refuses the reserves of licenses, so that a claim stands half way.
pub(crate) fn hold_up_reserves(here: &Namespace) -> String {
    let policy = hold_up(here, "licenses/status", "object.status.claims.size() > oldObject.status.claims.size()");
    let entry =
        r#"{"status": {"claims": {"probe": {"match": "a/b", "allocation": {"seats": 1}, "vote": "Accepted"}}}}"#;
    let patch = ["patch", "gml/cheap", "--subresource=status", "--type=merge", "--dry-run=server", "-p", entry];
    here.until_held_up(&patch);
    policy
}
