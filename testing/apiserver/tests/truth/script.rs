//! What both servers are asked, in this order.

/// How much of an object is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compared {
    /// All of it.
    Whole,
    /// Generation, and whether there is a new version: of Kubernetes' own kinds, whose defaults are left out here.
    Metadata,
    /// The header of a table and its cells but for the age, which is in the last column that is not wide.
    Table,
    /// Of the resources of a group those that are served here, in either form of discovery.
    Resources,
    /// How kubectl finds a document and what it reads there: operations by path, and one schema.
    Documents,
    /// What is said of the user.
    Review,
}

/// One request.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) what: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    pub(crate) body: &'static str,
    pub(crate) compared: Compared,
    /// The content type of the body; empty for JSON, and for the patch that it looks like.
    pub(crate) sent_as: &'static str,
    pub(crate) accept: &'static str,
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

impl Step {
    pub(crate) fn content_type(&self) -> &'static str {
        if !self.sent_as.is_empty() {
            return self.sent_as;
        }
        match (self.method, self.body.starts_with('[')) {
            ("PATCH", true) => "application/json-patch+json",
            ("PATCH", false) => "application/merge-patch+json",
            _ => "application/json",
        }
    }
}

const fn ask(what: &'static str, method: &'static str, path: &'static str, body: &'static str) -> Step {
    Step { what, method, path, body, compared: Compared::Whole, sent_as: "", accept: "application/json" }
}

/// A read, of which this is compared.
const fn look(what: &'static str, path: &'static str, accept: &'static str, compared: Compared) -> Step {
    Step { compared, accept, ..ask(what, "GET", path, "") }
}

/// A server-side apply.
const fn apply(what: &'static str, path: &'static str, body: &'static str) -> Step {
    Step { sent_as: "application/apply-patch+yaml", ..ask(what, "PATCH", path, body) }
}

/// A strategic merge patch.
const fn merge(what: &'static str, path: &'static str, body: &'static str) -> Step {
    Step { sent_as: "application/strategic-merge-patch+json", ..outline(what, "PATCH", path, body) }
}

const fn outline(what: &'static str, method: &'static str, path: &'static str, body: &'static str) -> Step {
    Step { compared: Compared::Metadata, ..ask(what, method, path, body) }
}

macro_rules! at {
    ($rest:literal) => {
        concat!("/apis/gangmatch.dev/v1alpha1/namespaces/truth/", $rest)
    };
}

macro_rules! license {
    ($name:literal, $spec:literal) => {
        concat!(
            r#"{"apiVersion":"gangmatch.dev/v1alpha1","kind":"License","metadata":{"name":""#,
            $name,
            r#""},"spec":"#,
            $spec,
            "}"
        )
    };
}

macro_rules! entry {
    ($uid:literal) => {
        concat!(
            r#"{"op":"add","path":"/status/claims/"#,
            $uid,
            r#"","value":{"match":"m","allocation":{"seats":1},"vote":"Accepted","epoch":1}}"#
        )
    };
}

const BATCH: &str = r#"{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"b"},"spec":{"suspend":true,
    "template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}"#;
const LEASE: &str =
    r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"e"},"spec":{"holderIdentity":"a"}}"#;
const MATCH: &str = r#"{"apiVersion":"gangmatch.dev/v1alpha1","kind":"Match","metadata":{"name":"m"},"spec":{
    "attempt":1,"epoch":1,"summary":"s","cycle":{"id":"c","seed":1,"time":"2026-11-21T14:00:00Z"},"members":[
    {"id":0,"kind":"Job","namespace":"truth","name":"j","uid":"x","generation":1},
    {"id":1,"parent":0,"port":"p","kind":"License","namespace":"truth","name":"l","uid":"y","generation":1,"allocation":{"seats":1}}]}}"#;

pub(crate) const STEPS: &[Step] = &[
    outline(
        "a namespace",
        "POST",
        "/api/v1/namespaces",
        r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"truth"}}"#,
    ),
    // creation
    ask(
        "in no namespace",
        "POST",
        "/apis/gangmatch.dev/v1alpha1/namespaces/none/licenses",
        license!("l", r#"{"capacity":{"seats":1}}"#),
    ),
    ask("a license", "POST", at!("licenses"), license!("l", r#"{"capacity":{"seats":1}}"#)),
    ask("again", "POST", at!("licenses"), license!("l", r#"{"capacity":{"seats":1}}"#)),
    ask(
        "an unknown field, cut off",
        "POST",
        at!("licenses"),
        license!("k", r#"{"capacity":{"seats":1},"colour":"red"}"#),
    ),
    ask(
        "an unknown field, refused",
        "POST",
        at!("licenses?fieldValidation=Strict"),
        license!("n", r#"{"colour":"red"}"#),
    ),
    ask("a wrong type", "POST", at!("licenses"), license!("n", r#"{"capacity":{"seats":"two"}}"#)),
    ask("a wrong word", "POST", at!("licenses"), license!("n", r#"{"stopPolicy":"Perhaps"}"#)),
    ask("too small a number", "POST", at!("licenses"), license!("n", r#"{"capacity":{"seats":-1}}"#)),
    ask("a rule about one object", "POST", at!("licenses"), license!("n", r#"{"claimPolicy":"Agent"}"#)),
    ask("a port without its label", "POST", at!("licenses"), license!("n", r#"{"ports":[{"constraint":"true"}]}"#)),
    ask("a reserved label", "POST", at!("licenses"), license!("n", r#"{"ports":[{"label":"TARGET"}]}"#)),
    ask("read", "GET", at!("licenses/l"), ""),
    ask("read what is not there", "GET", at!("licenses/none"), ""),
    // JSON patches that test
    ask(
        "reserve",
        "PATCH",
        at!("licenses/l/status"),
        concat!(
            r#"[{"op":"test","path":"/metadata/uid","value":"{uid:License/l}"},
        {"op":"test","path":"/metadata/generation","value":1},{"op":"test","path":"/status/claims/u","value":null},"#,
            entry!("u"),
            "]"
        ),
    ),
    ask(
        "reserve twice",
        "PATCH",
        at!("licenses/l/status"),
        concat!(r#"[{"op":"test","path":"/status/claims/u","value":null},"#, entry!("u"), "]"),
    ),
    ask("the same without test", "PATCH", at!("licenses/l/status"), concat!("[", entry!("u"), "]")),
    ask("a second claim on one seat", "PATCH", at!("licenses/l/status"), concat!("[", entry!("v"), "]")),
    ask(
        "another uid",
        "PATCH",
        at!("licenses/l/status"),
        concat!(r#"[{"op":"test","path":"/metadata/uid","value":"other"},"#, entry!("v"), "]"),
    ),
    ask(
        "other terms",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"add","path":"/status/claims/u/allocation","value":{"seats":0}}]"#,
    ),
    ask(
        "another name",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"add","path":"/status/claims/u/match","value":"other"}]"#,
    ),
    ask(
        "a second vote",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"replace","path":"/status/claims/u/vote","value":"Rejected"}]"#,
    ),
    ask(
        "work before the commit",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"add","path":"/status/claims/u/activity","value":"Active"}]"#,
    ),
    ask(
        "below what is not there",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"add","path":"/status/claims/w/vote","value":"Accepted"}]"#,
    ),
    ask(
        "remove what is not there",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"remove","path":"/status/claims/w"}]"#,
    ),
    ask(
        "replace what is not there",
        "PATCH",
        at!("licenses/l"),
        r#"[{"op":"replace","path":"/spec/rank","value":"1"}]"#,
    ),
    ask(
        "an unknown field by a patch",
        "PATCH",
        at!("licenses/l/status?fieldValidation=Strict"),
        r#"[{"op":"add","path":"/status/colour","value":1}]"#,
    ),
    ask(
        "the first of two fails",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"add","path":"/status/epoch","value":5},{"op":"test","path":"/status/epoch","value":6}]"#,
    ),
    ask("an epoch", "PATCH", at!("licenses/l/status"), r#"[{"op":"add","path":"/status/epoch","value":5}]"#),
    ask("an older epoch", "PATCH", at!("licenses/l/status"), r#"[{"op":"add","path":"/status/epoch","value":4}]"#),
    ask("no list of operations", "PATCH", at!("licenses/l/status"), r#"[{"op":"fly","path":"/status"}]"#),
    // generation, versions, the status apart
    ask("another spec", "PATCH", at!("licenses/l"), r#"{"spec":{"capacity":{"seats":2}}}"#),
    ask("the same spec", "PATCH", at!("licenses/l"), r#"{"spec":{"capacity":{"seats":2}}}"#),
    ask("a label", "PATCH", at!("licenses/l"), r#"{"metadata":{"labels":{"x":"1","y":"2"}}}"#),
    ask("a status beside the subresource", "PATCH", at!("licenses/l"), r#"{"status":{"epoch":9}}"#),
    ask("a spec by the subresource", "PATCH", at!("licenses/l/status"), r#"{"spec":{"capacity":{"seats":7}}}"#),
    ask("a label by the subresource", "PATCH", at!("licenses/l/status"), r#"{"metadata":{"labels":{"x":"9"}}}"#),
    ask(
        "an older generation",
        "PATCH",
        at!("licenses/l/status"),
        r#"[{"op":"test","path":"/metadata/generation","value":1}]"#,
    ),
    ask("capacity below use", "PATCH", at!("licenses/l"), r#"{"spec":{"capacity":{"seats":0}}}"#),
    ask(
        "a version that is not the last",
        "PATCH",
        at!("licenses/l"),
        r#"{"metadata":{"resourceVersion":"1"},"spec":{"rank":"2"}}"#,
    ),
    ask("a uid that is another", "PATCH", at!("licenses/l"), r#"{"metadata":{"uid":"other"},"spec":{"rank":"2"}}"#),
    ask("no version", "PUT", at!("licenses/l"), license!("l", "{}")),
    ask("free", "PATCH", at!("licenses/l/status"), r#"{"status":{"claims":{"u":null}}}"#),
    ask("free twice", "PATCH", at!("licenses/l/status"), r#"{"status":{"claims":{"u":null}}}"#),
    // Jobs and Matches
    ask(
        "a job",
        "POST",
        at!("jobs"),
        r#"{"apiVersion":"gangmatch.dev/v1alpha1","kind":"Job","metadata":{"name":"j"},"spec":{"ports":[{"label":"p","constraint":"true"}]}}"#,
    ),
    ask(
        "claimed",
        "PATCH",
        at!("jobs/j/status"),
        r#"[{"op":"test","path":"/status/claim","value":null},{"op":"add","path":"/status/claim","value":{"match":"m","uid":"1"}}]"#,
    ),
    ask(
        "claimed by another",
        "PATCH",
        at!("jobs/j/status"),
        r#"[{"op":"add","path":"/status/claim","value":{"match":"n","uid":"2"}}]"#,
    ),
    ask(
        "claimed by another, tested",
        "PATCH",
        at!("jobs/j/status"),
        r#"[{"op":"test","path":"/status/claim","value":null},{"op":"add","path":"/status/claim","value":{"match":"n","uid":"2"}}]"#,
    ),
    ask("done", "PATCH", at!("jobs/j"), r#"{"spec":{"done":true}}"#),
    ask("not done", "PATCH", at!("jobs/j"), r#"{"spec":{"done":false}}"#),
    ask("a match", "POST", at!("matches"), MATCH),
    ask("another spec of a match", "PATCH", at!("matches/m"), r#"{"spec":{"summary":"t"}}"#),
    ask(
        "committed",
        "PATCH",
        at!("matches/m/status"),
        r#"[{"op":"test","path":"/status/decision","value":"Pending"},{"op":"replace","path":"/status/decision","value":"Committed"}]"#,
    ),
    ask(
        "committed twice",
        "PATCH",
        at!("matches/m/status"),
        r#"[{"op":"test","path":"/status/decision","value":"Pending"},{"op":"replace","path":"/status/decision","value":"Committed"}]"#,
    ),
    ask(
        "aborted after the commit",
        "PATCH",
        at!("matches/m/status"),
        r#"[{"op":"replace","path":"/status/decision","value":"Aborted"}]"#,
    ),
    ask(
        "a match with a member twice",
        "POST",
        at!("matches"),
        r#"{"apiVersion":"gangmatch.dev/v1alpha1","kind":"Match","metadata":{"name":"n"},"spec":{
        "attempt":1,"epoch":1,"summary":"s","cycle":{"id":"c","seed":1,"time":"2026-11-21T14:00:00Z"},"members":[
        {"id":0,"kind":"Job","namespace":"truth","name":"j","uid":"x","generation":1},
        {"id":1,"parent":0,"kind":"License","namespace":"truth","name":"l","uid":"x","generation":1}]}}"#,
    ),
    // Leases, batch Jobs
    outline("a lease", "POST", "/apis/coordination.k8s.io/v1/namespaces/truth/leases", LEASE),
    outline("a lease, no version", "PUT", "/apis/coordination.k8s.io/v1/namespaces/truth/leases/e", LEASE),
    outline(
        "a lease, replaced",
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/truth/leases/e",
        r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
        "metadata":{"name":"e","resourceVersion":"{version:Lease/e}"},"spec":{"holderIdentity":"b"}}"#,
    ),
    outline(
        "a lease, too late",
        "PUT",
        "/apis/coordination.k8s.io/v1/namespaces/truth/leases/e",
        r#"{"apiVersion":"coordination.k8s.io/v1","kind":"Lease",
        "metadata":{"name":"e","resourceVersion":"1"},"spec":{"holderIdentity":"c"}}"#,
    ),
    outline("a batch Job", "POST", "/apis/batch/v1/namespaces/truth/jobs", BATCH),
    outline("a batch Job again", "POST", "/apis/batch/v1/namespaces/truth/jobs", BATCH),
    outline(
        "started, another uid",
        "PATCH",
        "/apis/batch/v1/namespaces/truth/jobs/b",
        r#"[{"op":"test","path":"/metadata/uid","value":"other"},{"op":"add","path":"/spec/suspend","value":false}]"#,
    ),
    outline(
        "started, though not suspended",
        "PATCH",
        "/apis/batch/v1/namespaces/truth/jobs/b",
        r#"[{"op":"test","path":"/spec/suspend","value":false}]"#,
    ),
    // lists
    ask("a page", "GET", at!("licenses?limit=1"), ""),
    ask("the next page", "GET", at!("licenses?limit=1&continue={token}"), ""),
    ask("by label", "GET", at!("licenses?labelSelector=x%3D1"), ""),
    ask("by another label", "GET", at!("licenses?labelSelector=x%3D2"), ""),
    ask("by the presence of a label", "GET", at!("licenses?labelSelector=y"), ""),
    ask("by name", "GET", at!("licenses?fieldSelector=metadata.name%3Dk"), ""),
    ask("by phase", "GET", at!("jobs?fieldSelector=status.phase%3DPending"), ""),
    ask("by user", "GET", at!("jobs?fieldSelector=spec.owner%3Dnobody"), ""),
    // what kubectl asks for
    look("a table", at!("licenses"), TABLE, Compared::Table),
    look("a table of one object", at!("jobs/j"), TABLE, Compared::Table),
    look("a table of matches", at!("matches"), TABLE, Compared::Table),
    look("a table of what is not there", at!("jobs/none"), TABLE, Compared::Whole),
    look("a table of namespaces", "/api/v1/namespaces?fieldSelector=metadata.name%3Dtruth", TABLE, Compared::Table),
    look("a table of leases", "/apis/coordination.k8s.io/v1/namespaces/truth/leases", TABLE, Compared::Table),
    look("a table of batch Jobs", "/apis/batch/v1/namespaces/truth/jobs", TABLE, Compared::Table),
    look("a table of pods", "/api/v1/namespaces/truth/pods", TABLE, Compared::Table),
    look("a table of nodes", "/api/v1/nodes", TABLE, Compared::Table),
    look(
        "a table with every change",
        at!("licenses?watch=true&timeoutSeconds=1&resourceVersion={version:Namespace/truth}"),
        TABLE,
        Compared::Table,
    ),
    look("our group", "/apis/gangmatch.dev/v1alpha1", "application/json", Compared::Resources),
    look("the core group", "/api/v1", "application/json", Compared::Resources),
    look("the group of batch Jobs", "/apis/batch/v1", "application/json", Compared::Resources),
    look("the group of reviews", "/apis/authorization.k8s.io/v1", "application/json", Compared::Resources),
    look("all groups, aggregated", "/apis", AGGREGATED, Compared::Resources),
    look("the core group, aggregated", "/api", AGGREGATED, Compared::Resources),
    look("where the documents are", "/openapi/v3", "application/json", Compared::Documents),
    look(
        "the document of our group",
        "/openapi/v3/apis/gangmatch.dev/v1alpha1",
        "application/json",
        Compared::Documents,
    ),
    Step {
        compared: Compared::Review,
        ..ask(
            "who am I",
            "POST",
            "/apis/authentication.k8s.io/v1/selfsubjectreviews",
            r#"{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}"#,
        )
    },
    Step {
        compared: Compared::Review,
        ..ask(
            "may I",
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{"verb":"get","resource":"pods"}}}"#,
        )
    },
    ask("a dry run", "POST", at!("licenses?dryRun=All"), license!("dry", r#"{"capacity":{"seats":1}}"#)),
    ask("what a dry run has left", "GET", at!("licenses/dry"), ""),
    apply(
        "applied, and created",
        at!("licenses/s?fieldManager=one"),
        license!("s", r#"{"rank":"1","ports":[{"label":"p","rank":"2"}],"allowedNamespaces":{"from":"All"}}"#),
    ),
    apply(
        "applied again",
        at!("licenses/s?fieldManager=one"),
        license!("s", r#"{"rank":"1","ports":[{"label":"p","rank":"2"}],"allowedNamespaces":{"from":"All"}}"#),
    ),
    apply(
        "applied by another",
        at!("licenses/s?fieldManager=two"),
        license!("s", r#"{"rank":"1","ports":[{"label":"q"}]}"#),
    ),
    apply("a conflict", at!("licenses/s?fieldManager=two"), license!("s", r#"{"rank":"2","ports":[{"label":"q"}]}"#)),
    apply(
        "a conflict that is won",
        at!("licenses/s?fieldManager=two&force=true"),
        license!("s", r#"{"rank":"2","ports":[{"label":"q"}]}"#),
    ),
    apply("less applied", at!("licenses/s?fieldManager=one"), license!("s", r#"{"ports":[{"label":"p"}]}"#)),
    apply("applied by no one", at!("licenses/s"), license!("s", "{}")),
    Step { compared: Compared::Whole, ..merge("a strategic merge of our kind", at!("licenses/s"), "{}") },
    merge(
        "a strategic merge",
        "/apis/batch/v1/namespaces/truth/jobs/b",
        r#"{"metadata":{"labels":{"a":"b"}},"spec":{"suspend":true}}"#,
    ),
    // ends
    ask("delete another", "DELETE", at!("licenses/k"), r#"{"preconditions":{"uid":"other"}}"#),
    ask(
        "delete",
        "DELETE",
        at!("licenses/k"),
        r#"{"preconditions":{"uid":"{uid:License/k}"},"propagationPolicy":"Background"}"#,
    ),
    ask("delete again", "DELETE", at!("licenses/k"), ""),
    ask("a finalizer", "PATCH", at!("licenses/l"), r#"{"metadata":{"finalizers":["example.org/wait"]}}"#),
    ask("an end that is waited for", "DELETE", at!("licenses/l"), ""),
    ask("the same again", "DELETE", at!("licenses/l"), ""),
    ask("a status of one that is ending", "PATCH", at!("licenses/l/status"), r#"{"status":{"epoch":7}}"#),
    ask("no finalizer any more", "PATCH", at!("licenses/l"), r#"{"metadata":{"finalizers":null}}"#),
    ask("gone", "GET", at!("licenses/l"), ""),
    // watches: all that has happened since the first license was there
    ask(
        "what has happened to licenses",
        "GET",
        at!("licenses?watch=true&timeoutSeconds=1&resourceVersion={version:Namespace/truth}"),
        "",
    ),
    ask(
        "what has happened to those with a label",
        "GET",
        at!("licenses?watch=true&timeoutSeconds=1&labelSelector=x%3D1&resourceVersion={version:Namespace/truth}"),
        "",
    ),
    ask("what there is", "GET", at!("matches?watch=true&timeoutSeconds=1&resourceVersion=0"), ""),
];

/// Asked last, when what was before is forgotten.
pub(crate) const TOO_LATE: Step =
    ask("what has happened since long ago", "GET", at!("licenses?watch=true&timeoutSeconds=1&resourceVersion=1"), "");
