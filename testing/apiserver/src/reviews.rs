//! Who somebody is and what they may do: everybody may do everything here, since rights are not checked.

use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::{Call, Verb};

/// Group, plural and kind of what is asked by creating it.
pub(crate) const REVIEWS: [(&str, &str, &str); 4] = [
    ("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"),
    ("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview"),
    ("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview"),
    ("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
];

/// The groups of everybody who has authenticated.
const GROUPS: [&str; 2] = ["system:masters", "system:authenticated"];

/// The answer to a review; `None` if the call is none.
pub(crate) fn answer(call: &Call) -> Option<Answer> {
    let is_asked = |(group, plural, _): &&(&str, &str, &str)| call.group == *group && call.plural == *plural;
    let (group, plural, kind) = REVIEWS.iter().find(is_asked)?;
    if call.verb != Verb::Create {
        return Some(Answer::unknown_path());
    }
    let every = json!(["*"]);
    let status = match *plural {
        "selfsubjectreviews" => json!({"userInfo": {"username": call.user, "groups": GROUPS}}),
        "selfsubjectrulesreviews" => json!({"incomplete": false,
            "resourceRules": [{"verbs": every, "apiGroups": every, "resources": every}],
            "nonResourceRules": [{"verbs": every, "nonResourceURLs": every}]}),
        _ => json!({"allowed": true, "reason": "rights are not checked here"}),
    };
    let spec = call.json().and_then(|asked| asked.get("spec").cloned()).unwrap_or_else(|| json!({}));
    let mut body: Value = json!({"kind": kind, "apiVersion": format!("{group}/v1"), "metadata": {}, "spec": spec,
        "status": status});
    if let (Some(fields), "selfsubjectreviews") = (body.as_object_mut(), *plural) {
        fields.shift_remove("spec");
    }
    Some(Answer::done(201, body))
}
