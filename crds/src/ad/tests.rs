//! Manifests and what becomes of them: the ad, the warnings, or the sentence that says what to change.

use serde_json::{Value as Json, json};

use super::{Advertised, MESSAGE_LENGTH_MAX, Rejected, WARNINGS_MAX, job_ad, license_ad, machine_ad, shared_by};
use crate::{Job, License, Machine};

fn object(kind: &str, metadata: &Json, spec: &Json, status: &Json) -> Json {
    let mut meta = json!({"name": "sim", "namespace": "grid", "uid": "u-1"});
    meta.as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    json!({"apiVersion": "gangmatch.dev/v1alpha1", "kind": kind, "metadata": meta, "spec": spec, "status": status})
}

fn job(spec: Json) -> Result<Advertised, Rejected> {
    job_ad(&serde_json::from_value::<Job>(object("Job", &json!({}), &spec, &json!({}))).unwrap())
}

fn machine(spec: Json, status: Json) -> Result<Advertised, Rejected> {
    machine_ad(&serde_json::from_value::<Machine>(object("Machine", &json!({}), &spec, &status)).unwrap())
}

fn license(spec: Json) -> Result<Advertised, Rejected> {
    license_ad(&serde_json::from_value::<License>(object("License", &json!({}), &spec, &json!({}))).unwrap())
}

/// The attribute as HTCondor would print it.
fn shown(found: &Advertised, name: &str) -> String {
    found.ad.get(name).map_or_else(|| "absent".to_owned(), |expr| expr.canonical())
}

fn refused(spec: Json) -> (&'static str, String) {
    let found = job(spec).unwrap_err();
    assert!(found.message.len() <= MESSAGE_LENGTH_MAX && !found.message.contains('\n'), "{}", found.message);
    (found.reason, found.message)
}

/// The spec is refused for this reason, and the message has all these parts.
fn check_refused(spec: Json, reason: &str, parts: &[&str]) {
    let (found, message) = refused(spec);
    assert_eq!(found, reason, "{message}");
    for part in parts {
        assert!(message.contains(part), "`{part}` is missing in: {message}");
    }
}

fn check_warned(found: &Advertised, parts: &[&str]) {
    let fits = |warning: &&String| parts.iter().all(|part| warning.contains(part));
    assert!(found.warnings.iter().any(|warning| fits(&warning)), "{parts:?} in no warning of {:#?}", found.warnings);
}

#[test]
fn attributes_are_literals_of_their_types() {
    let ad = job(json!({"attributes": {
        "Cmd": "sim_app", "ImageSize": 28_000_000, "Fast": true, "Load": 0.5, "Tags": ["a", 1], "Disk": {"Free": 3, "Kind": "ssd"}
    }}))
    .unwrap();
    assert_eq!(shown(&ad, "cmd"), "\"sim_app\"");
    assert_eq!(shown(&ad, "ImageSize"), "28000000");
    assert_eq!(shown(&ad, "Fast"), "true");
    assert_eq!(shown(&ad, "Load"), "5.000000000000000E-01");
    assert_eq!(shown(&ad, "Tags"), "{ \"a\",1 }");
    assert_eq!(shown(&ad, "Disk"), "[ Free = 3; Kind = \"ssd\" ]");
    assert_eq!(ad.warnings, Vec::<String>::new());
}

#[test]
fn expressions_are_parsed_and_integers_stand_for_themselves() {
    let ad = job(json!({"expressions": {"RequestMemory": "ImageSize / 1000000", "One": "1.0", "Seven": 7}})).unwrap();
    assert_eq!(shown(&ad, "RequestMemory"), "ImageSize / 1000000");
    assert_eq!(shown(&ad, "One"), "1.000000000000000E+00");
    assert_eq!(shown(&ad, "Seven"), "7");
}

#[test]
fn the_implicit_port_is_written_as_htcondor_does() {
    let ad =
        job(json!({"constraint": "other.Memory >= 64", "rank": 0, "request": {"cpus": 2, "memory": "Memory / 2"}}))
            .unwrap();
    assert_eq!(shown(&ad, "Requirements"), "other.Memory >= 64");
    assert_eq!(shown(&ad, "Rank"), "0");
    assert_eq!(shown(&ad, "Request"), "[ cpus = 2; memory = Memory / 2 ]");
    assert_eq!(shown(&ad, "Ports"), "absent");
}

#[test]
fn without_a_constraint_everybody_is_accepted_in_fields_and_nobody_in_text() {
    assert_eq!(shown(&job(json!({"attributes": {"A": 1}})).unwrap(), "Requirements"), "true");
    assert_eq!(shown(&job(json!({"attributes": {"A": 1}, "ports": []})).unwrap(), "Requirements"), "true");
    assert_eq!(shown(&job(json!({"classad": "[ A = 1 ]"})).unwrap(), "Requirements"), "absent");
    let named = job(json!({"expressions": {"Requirements": "other.A"}})).unwrap();
    assert_eq!(shown(&named, "Requirements"), "other.A");
}

#[test]
fn ports_keep_their_order_and_their_parts() {
    let ad = job(json!({"ports": [
        {"label": "cpu", "constraint": "cpu.Memory >= 64", "rank": "cpu.KFlops"},
        {"label": "license", "attributes": {"Zone": "a"}, "expressions": {"Host": "cpu.Name"}, "request": {"seats": 2}}
    ]}))
    .unwrap();
    let ports = ad.ad.get("Ports").unwrap().as_list().unwrap();
    let names = |index: usize| -> Vec<String> {
        ports[index].as_ad().unwrap().iter().map(|(name, expr)| format!("{name} = {}", expr.canonical())).collect()
    };
    assert_eq!(names(0), ["Label = \"cpu\"", "Constraint = cpu.Memory >= 64", "Rank = cpu.KFlops"]);
    assert_eq!(names(1), ["Label = \"license\"", "Zone = \"a\"", "Host = cpu.Name", "Request = [ seats = 2 ]"]);
    assert_eq!(shown(&ad, "Requirements"), "absent");
}

#[test]
fn gang_rank_is_an_attribute_in_both_forms() {
    assert_eq!(
        shown(&job(json!({"ports": [{"label": "cpu"}], "gangRank": "cpu.A + license.B"})).unwrap(), "GangRank"),
        "cpu.A + license.B"
    );
    assert_eq!(shown(&job(json!({"classad": "[ A = 1 ]", "gangRank": 3})).unwrap(), "GangRank"), "3");
    check_refused(
        json!({"classad": "[ GangRank = 1 ]", "gangRank": 3}),
        "DuplicateAttribute",
        &["spec.gangRank: `GangRank`", "spec.classad: GangRank"],
    );
}

#[test]
fn text_is_read_in_brackets_in_long_form_and_in_json() {
    for text in [
        "[ Memory = 64; Requirements = other.Memory >= Memory ]",
        "Memory = 64\nRequirements = other.Memory >= Memory\n",
        r#"{"Memory": 64, "Requirements": "\/Expr(other.Memory >= Memory)\/"}"#,
        "[ Memory = 64; Constraint = other.Memory >= Memory ]",
    ] {
        let ad = job(json!({"classad": text})).unwrap();
        assert_eq!(shown(&ad, "Memory"), "64", "{text}");
        assert_eq!(shown(&ad, "Requirements"), "other.Memory >= Memory", "{text}");
        assert_eq!(shown(&ad, "Constraint"), "absent", "{text}");
        assert_eq!(ad.warnings, Vec::<String>::new(), "{text}");
    }
    let both = job(json!({"classad": "[ Constraint = false; Requirements = true ]"})).unwrap();
    assert_eq!(shown(&both, "Requirements"), "true");
    check_warned(&both, &["spec.classad: Constraint is ignored"]);
}

#[test]
fn the_gangmatching_papers_figure_is_an_ad() {
    let ad = job(json!({"classad": r#"[
        Type = "Job"; Owner = "raman"; QDate = absTime("2000-02-28T14:22:22-06:00"); Cmd = "run_sim";
        ImageSize = 28M;
        Ports = {
            [ Label = cpu; ImageSize = 28M; Rank = cpu.KFlops/1E3 + cpu.Memory/32;
              Constraint = cpu.Type == "Machine" && cpu.Arch == "INTEL" && cpu.OpSys == "SOLARIS251" ],
            [ Label = license; Host = cpu.Name; Rank = 0;
              Constraint = license.Type == "License" && license.App == Cmd ]
        }
    ]"#}))
    .unwrap();
    assert_eq!(ad.ad.get("Ports").unwrap().as_list().unwrap().len(), 2);
    check_warned(&ad, &["spec.classad: Owner", "`\"raman\"`", "`undefined`"]);
    assert_eq!(ad.warnings.len(), 1, "{:?}", ad.warnings);
}

#[test]
fn the_system_says_who_it_is() {
    let spec = json!({"owner": "alice", "constraint": "other.A"});
    let ad = job_ad(
        &serde_json::from_value(object("Job", &json!({"labels": {"a.b/team": "eda"}}), &spec, &json!({}))).unwrap(),
    )
    .unwrap();
    let values = [
        ("Type", "\"Job\""),
        ("MyType", "\"Job\""),
        ("Namespace", "\"grid\""),
        ("Name", "\"sim\""),
        ("Uid", "\"u-1\""),
        ("Owner", "\"alice\""),
        ("Labels", "[ 'a.b/team' = \"eda\" ]"),
        ("Members", "absent"),
        ("Capacity", "absent"),
    ];
    for (name, value) in values {
        assert_eq!(shown(&ad, name), value, "{name}");
    }
    assert_eq!(shown(&job(json!({"attributes": {"A": 1}})).unwrap(), "Owner"), "absent");
    assert_eq!(shown(&job(json!({"attributes": {"Name": "x"}})).unwrap(), "Name"), "\"x\"");
}

#[test]
fn offers_say_what_they_have() {
    let ad = machine(json!({"capacity": {"cpus": 4, "memory": 1024}, "nodeName": "node-17"}), json!({})).unwrap();
    assert_eq!(shown(&ad, "Capacity"), "[ cpus = 4; memory = 1024 ]");
    assert_eq!(shown(&ad, "NodeName"), "\"node-17\"");
    assert_eq!(shown(&ad, "Type"), "\"Machine\"");
    let ad = license(json!({})).unwrap();
    assert_eq!(shown(&ad, "Capacity"), "[ seats = 1 ]");
    assert_eq!(shown(&ad, "NodeName"), "absent");
    assert_eq!(shown(&ad, "Type"), "\"License\"");
}

#[test]
fn what_the_system_says_cannot_be_forged() {
    let ad = machine(
        json!({"owner": "alice", "attributes": {"type": "License", "Uid": "x", "Free": {"slots": 9}, "Members": []},
            "expressions": {"OWNER": "\"root\"", "NodeName": "\"node-1\"", "Capacity": "[ slots = 99 ]"}}),
        json!({}),
    )
    .unwrap();
    assert_eq!(shown(&ad, "Type"), "\"Machine\"");
    assert_eq!(shown(&ad, "Uid"), "\"u-1\"");
    assert_eq!(shown(&ad, "Owner"), "\"alice\"");
    assert_eq!(shown(&ad, "Capacity"), "[ slots = 1 ]");
    for name in ["Free", "Members", "NodeName"] {
        assert_eq!(shown(&ad, name), "absent", "{name}");
    }
    check_warned(&ad, &["spec.attributes.type is `\"License\"`", "`\"Machine\"`"]);
    check_warned(&ad, &["spec.expressions.OWNER is `\"root\"`", "`\"alice\"`"]);
    check_warned(&ad, &["spec.attributes.Members is", "in each match"]);
    check_warned(&ad, &["spec.expressions.NodeName is `\"node-1\"`", "`undefined`"]);
    assert_eq!(ad.warnings.len(), 7, "{:#?}", ad.warnings);
}

#[test]
fn a_port_cannot_forge_either() {
    let ad =
        job(json!({"ports": [{"label": "a"}, {"label": "b", "expressions": {"Owner": "\"root\"", "Host": "a.Name"}}]}))
            .unwrap();
    assert_eq!(ad.ad.get("Ports").unwrap().as_list().unwrap()[1].canonical(), "[ Host = a.Name; Label = \"b\" ]");
    check_warned(&ad, &["spec.ports[1]: Owner is `\"root\"`"]);
    let ad = job(json!({"classad": "[ Ports = { [ Label = a; Members = {} ] } ]"})).unwrap();
    assert_eq!(ad.ad.get("Ports").unwrap().as_list().unwrap()[0].canonical(), "[ Label = a ]");
    check_warned(&ad, &["spec.classad: Ports[0]: Members is"]);
}

#[test]
fn the_same_value_as_the_systems_is_no_mistake() {
    assert!(job(json!({"attributes": {"Type": "Job"}})).unwrap().warnings.is_empty());
}

#[test]
fn agents_publish_what_is_declared() {
    let declared = json!([
        {"name": "LoadAvg", "type": "Real"}, {"name": "LastInput", "type": "Time"}, {"name": "Since", "type": "Time"},
        {"name": "Users", "type": "Integer"}, {"name": "Busy", "type": "Boolean"}, {"name": "Mode", "type": "String"},
        {"name": "Arch", "type": "String"}, {"name": "Bad", "type": "Integer"}, {"name": "Owner", "type": "String"}
    ]);
    let ad = machine(
        json!({"attributes": {"arch": "INTEL"}, "dynamicAttributes": declared}),
        json!({"attributes": {"loadavg": 1, "LastInput": "2026-01-01T00:00:00Z", "Since": 5, "Users": 3, "Busy": false, "Mode": "idle",
            "Arch": "ARM", "Bad": 1.5, "Owner": "root", "Extra": 1}}),
    )
    .unwrap();
    assert_eq!(shown(&ad, "LoadAvg"), "1.000000000000000E+00");
    assert_eq!(shown(&ad, "LastInput"), "1767225600");
    assert_eq!(shown(&ad, "Since"), "5");
    assert_eq!(shown(&ad, "Users"), "3");
    assert_eq!(shown(&ad, "Busy"), "false");
    assert_eq!(shown(&ad, "Mode"), "\"idle\"");
    assert_eq!(shown(&ad, "Arch"), "\"INTEL\"");
    for name in ["Bad", "Owner", "Extra"] {
        assert_eq!(shown(&ad, name), "absent", "{name}");
    }
    check_warned(&ad, &["status.attributes.Bad is `1.5`", "Integer"]);
    check_warned(&ad, &["status.attributes.Owner", "system"]);
    check_warned(&ad, &["status.attributes.Extra", "spec.dynamicAttributes"]);
    assert_eq!(ad.warnings.len(), 3, "{:#?}", ad.warnings);
}

#[test]
fn seats_are_shared_by_an_expression() {
    let read = |spec: Json| {
        shared_by(&serde_json::from_value::<License>(object("License", &json!({}), &spec, &json!({}))).unwrap())
    };
    assert_eq!(
        read(json!({"sharedBy": "requester.Members[0].NodeName"})).unwrap().unwrap().canonical(),
        "requester.Members[0].NodeName"
    );
    assert!(read(json!({})).unwrap().is_none());
    let found = license(json!({"sharedBy": "requester."})).unwrap_err();
    assert_eq!(found.reason, "ParseError");
    assert!(found.message.starts_with("spec.sharedBy: line 1, column "), "{}", found.message);
}

#[test]
fn mistakes_in_expressions_name_field_line_and_column() {
    check_refused(json!({"constraint": "a &&"}), "ParseError", &["spec.constraint: line 1, column 5"]);
    check_refused(json!({"rank": "1 +\n  )"}), "ParseError", &["spec.rank: line 2, column 3", "`)`"]);
    check_refused(json!({"expressions": {"A": "1 2"}}), "ParseError", &["spec.expressions.A: line 1, column 3", "`2`"]);
    check_refused(json!({"expressions": {"a b": "("}}), "ParseError", &["spec.expressions[\"a b\"]: line 1, column 2"]);
    check_refused(json!({"request": {"cpus": "/"}}), "ParseError", &["spec.request.cpus: line 1, column 1"]);
    check_refused(
        json!({"gangRank": "'00:15'"}),
        "ParseError",
        &["spec.gangRank: line 1, column 1", "relTime(\"00:15:00\")"],
    );
    check_refused(
        json!({"constraint": " "}),
        "ParseError",
        &["spec.constraint: line 1, column 1", "found nothing", "`true`"],
    );
    check_refused(
        json!({"ports": [{"label": "a"}, {"label": "b", "constraint": "b.x = 1"}]}),
        "ParseError",
        &["spec.ports[1].constraint: line 1, column 5"],
    );
    check_refused(
        json!({"ports": [{"label": "a", "rank": "\"x"}]}),
        "ParseError",
        &["spec.ports[0].rank: line 1, column 1"],
    );
    check_refused(
        json!({"ports": [{"label": "a", "request": {"seats": "}"}}]}),
        "ParseError",
        &["spec.ports[0].request.seats: line 1"],
    );
    check_refused(
        json!({"ports": [{"label": "a", "expressions": {"Host": "cpu."}}]}),
        "ParseError",
        &["spec.ports[0].expressions.Host: line 1"],
    );
    let found = machine(json!({"dynamicAttributes": [{"name": "A", "type": "Real", "minChange": "0.1 0"}]}), json!({}))
        .unwrap_err();
    assert!(found.message.starts_with("spec.dynamicAttributes[0].minChange: line 1, column 5"), "{}", found.message);
}

#[test]
fn mistakes_in_text_name_line_and_column_in_it() {
    check_refused(json!({"classad": "[ A = 1;\n  B = ; ]"}), "ParseError", &["spec.classad: line 2, column 7"]);
    check_refused(json!({"classad": "A = 1\nB = )\n"}), "ParseError", &["spec.classad: line 2, column 5", "`)`"]);
    check_refused(json!({"classad": "{\"A\": nul}"}), "ParseError", &["spec.classad: line 1"]);
    check_refused(json!({"classad": "[ A = 1"}), "ParseError", &["spec.classad: line 1"]);
    check_refused(json!({"classad": "[ A = 1; ] x"}), "ParseError", &["spec.classad: line 1, column 12"]);
}

#[test]
fn literals_that_the_language_lacks_are_refused() {
    check_refused(
        json!({"attributes": {"A": null}}),
        "ParseError",
        &["spec.attributes.A: found null", "spec.expressions"],
    );
    check_refused(
        json!({"attributes": {"A": {"b": [1, null]}}}),
        "ParseError",
        &["spec.attributes.A.b[1]: found null"],
    );
    check_refused(
        json!({"attributes": {"A": u64::MAX}}),
        "ParseError",
        &["spec.attributes.A: found 18446744073709551615", ".0`"],
    );
    check_refused(
        json!({"attributes": {"A": "a\u{0}b"}}),
        "ParseError",
        &["spec.attributes.A: found the character NUL"],
    );
    check_refused(json!({"attributes": {"": 1}}), "ParseError", &["spec.attributes[\"\"]", "`Memory`"]);
    check_refused(
        json!({"ports": [{"label": "a", "attributes": {"A": null}}]}),
        "ParseError",
        &["spec.ports[0].attributes.A"],
    );
    let deep = (0..100).fold(json!(1), |inner, _| json!([inner]));
    check_refused(json!({"attributes": {"A": deep}}), "ParseError", &["spec.attributes.A[0]", "nested deeper than 64"]);
}

#[test]
fn a_name_written_twice_names_both_places() {
    check_refused(
        json!({"attributes": {"Memory": 1, "memory": 2}}),
        "DuplicateAttribute",
        &["spec.attributes.memory: `memory`", "spec.attributes.Memory"],
    );
    check_refused(
        json!({"attributes": {"Memory": 1}, "expressions": {"MEMORY": "2"}}),
        "DuplicateAttribute",
        &["spec.expressions.MEMORY", "spec.attributes.Memory"],
    );
    check_refused(
        json!({"expressions": {"Requirements": "true"}, "constraint": "true"}),
        "DuplicateAttribute",
        &["spec.constraint", "spec.expressions.Requirements"],
    );
    check_refused(
        json!({"attributes": {"rank": 1}, "rank": 2}),
        "DuplicateAttribute",
        &["spec.rank", "spec.attributes.rank"],
    );
    check_refused(
        json!({"attributes": {"A": {"x": 1, "X": 2}}}),
        "DuplicateAttribute",
        &["spec.attributes.A.X: `X`", "spec.attributes.A.x"],
    );
    check_refused(
        json!({"request": {"cpus": 1, "Cpus": 2}}),
        "DuplicateAttribute",
        &["spec.request.cpus", "spec.request.Cpus"],
    );
    check_refused(
        json!({"ports": [{"label": "a", "attributes": {"A": 1}, "expressions": {"a": "1"}}]}),
        "DuplicateAttribute",
        &["spec.ports[0].expressions.a", "spec.ports[0].attributes.A"],
    );
}

#[test]
fn ports_that_are_not_well_formed_say_what_to_write() {
    for name in ["label", "Constraint", "REQUIREMENTS", "rank", "Request"] {
        let field = if name == "REQUIREMENTS" { "constraint".to_owned() } else { name.to_ascii_lowercase() };
        check_refused(
            json!({"ports": [{"label": "a", "attributes": {name: 1}}]}),
            "InvalidPort",
            &[&format!("spec.ports[0].attributes.{name}: "), &format!("write it as spec.ports[0].{field}")],
        );
    }
    check_refused(
        json!({"ports": [{"label": "a"}, {"label": "A"}]}),
        "InvalidPort",
        &["spec.ports[1]", "`A`", "port 0"],
    );
    check_refused(json!({"ports": [{"label": "Self"}]}), "InvalidPort", &["spec.ports[0]", "`Self`", "`cpu`"]);
    check_refused(json!({"ports": [{"label": "1a"}]}), "InvalidPort", &["spec.ports[0]", "`1a`", "letter"]);
    check_refused(json!({"ports": [{"label": ""}]}), "InvalidPort", &["spec.ports[0]"]);
    check_refused(
        json!({"ports": [{"label": "a"}], "constraint": "true"}),
        "InvalidPort",
        &["spec.constraint", "spec.ports[0].constraint"],
    );
    check_refused(json!({"expressions": {"Ports": "{}"}}), "InvalidPort", &["spec.expressions.Ports", "spec.ports"]);
    let many: Vec<Json> = (0..9).map(|index| json!({"label": format!("p{index}")})).collect();
    check_refused(json!({"ports": many}), "InvalidPort", &["found 9 ports", "at most 8"]);
}

#[test]
fn ports_in_text_are_checked_alike() {
    let refused = |text: &str, parts: &[&str]| check_refused(json!({"classad": text}), "InvalidPort", parts);
    refused("[ Ports = 3 ]", &["spec.classad: Ports: found `3`", "[ Label = cpu"]);
    refused("[ Ports = { 3 } ]", &["spec.classad: Ports[0]: found `3`"]);
    refused("[ Ports = { [ Rank = 0 ] } ]", &["spec.classad: Ports[0]: found no Label", "`Label = cpu`"]);
    refused("[ Ports = { [ Label = 1 + 1 ] } ]", &["spec.classad: Ports[0]", "`1 + 1`"]);
    refused("[ Ports = { [ Label = a ], [ Label = \"A\" ] } ]", &["spec.classad: Ports[1]", "port 0"]);
    refused("[ Ports = { [ Label = other ] } ]", &["`other`"]);
    refused(
        "[ Ports = { [ Label = a; Constraint = 1; Requirements = 1 ] } ]",
        &["spec.classad: Ports[0]", "remove one"],
    );
    let ad = job(json!({"classad": "[ Requirements = true; Ports = { [ Label = a ] } ]"})).unwrap();
    check_warned(&ad, &["spec.classad: Requirements: has no effect"]);
}

#[test]
fn there_is_one_form_of_an_ad() {
    check_refused(json!({"classad": "[]", "rank": 1}), "ParseError", &["spec.rank", "spec.classad"]);
    check_refused(json!({"classad": "[]", "ports": []}), "ParseError", &["spec.ports", "spec.classad"]);
}

#[test]
fn odd_names_are_accepted_with_a_warning() {
    let ad = job(json!({"attributes": {"two words": 1, "true": 2, "Constraint": 3}})).unwrap();
    assert_eq!(shown(&ad, "two words"), "1");
    check_warned(&ad, &["spec.attributes[\"two words\"]", "`'two words'`"]);
    check_warned(&ad, &["spec.attributes.true", "`'true'`"]);
    check_warned(&ad, &["spec.attributes.Constraint", "spec.constraint"]);
}

#[test]
fn messages_are_short_and_show_no_control_characters() {
    let (_, message) = refused(json!({"constraint": format!("\u{1b}[2J\u{202e} {}", "&& ".repeat(2000))}));
    assert!(!message.contains('\u{1b}') && !message.contains('\u{202e}'), "{message}");
    let (_, message) = refused(json!({"attributes": {"x".repeat(5000): null}}));
    assert_eq!(message.len(), MESSAGE_LENGTH_MAX);
    let many: serde_json::Map<String, Json> = (0..40).map(|index| (format!("odd name {index}"), json!(1))).collect();
    let warnings = job(json!({"attributes": many})).unwrap().warnings;
    assert_eq!(warnings.len(), WARNINGS_MAX);
    assert_eq!(warnings[WARNINGS_MAX - 1], "and 25 more warnings");
}

#[test]
fn m7_a_job_that_names_no_partner_is_not_accepted() {
    let names = |spec: Json| job(spec).map(drop);
    for spec in [json!({}), json!({"attributes": {}}), json!({"request": {}}), json!({"ports": []})] {
        let rejected = names(spec).unwrap_err();
        assert_eq!(rejected.reason, "InvalidPort");
        assert!(rejected.message.starts_with("spec: the job asks for no partner; write `constraint`"), "{rejected}");
    }
    for spec in [
        json!({"constraint": "true"}),
        json!({"request": {"cpus": 2}}),
        json!({"ports": [{"label": "cpu"}]}),
        json!({"expressions": {"Requirements": "other.Memory > 3"}}),
        json!({"classad": "[ Requirements = other.Memory > 3 ]"}),
    ] {
        assert_eq!(names(spec.clone()), Ok(()), "{spec}");
    }
}

#[test]
fn m7_a_constraint_is_a_condition_and_no_number() {
    for (spec, place) in [
        (json!({"constraint": 5}), "spec.constraint: found `5`, which is a number"),
        (json!({"constraint": "2 + 3"}), "spec.constraint: found `2 + 3`, which is a number"),
        (json!({"constraint": "\"yes\""}), "spec.constraint: found `\"yes\"`, which is a text"),
        (json!({"ports": [{"label": "a", "constraint": "1.5"}]}), "spec.ports[0].constraint: found `1.5`"),
        (json!({"classad": "[ Requirements = 5 ]"}), "spec.classad: Requirements: found `5`"),
        (
            json!({"classad": "[ Ports = { [ Label = a; Constraint = 1 ] } ]"}),
            "spec.classad: Ports[0].Constraint: found `1`",
        ),
    ] {
        let rejected = job(spec).unwrap_err();
        assert!(rejected.reason == "InvalidPort" && rejected.message.starts_with(place), "{rejected}");
    }
    check_warned(&job(json!({"constraint": "true"})).unwrap(), &["spec.constraint: accepts any offer"]);
    assert!(job(json!({"attributes": {"App": "sim"}})).is_ok(), "it says what it is");
}

#[test]
fn m4_names_that_are_no_labels_and_kinds_that_do_not_exist_are_told() {
    let ports = |constraint: &str| {
        json!({"attributes": {"Site": {"Lab": 1}}, "ports": [
            {"label": "cpu", "constraint": constraint}, {"label": "license", "constraint": "license.Host == cpu.Name"}]})
    };
    for (constraint, warning) in [
        (
            "machine.Type == \"Machine\"",
            "spec.ports[0].constraint: `machine` is neither a label nor an attribute; the labels are cpu, license",
        ),
        (
            "license.Host == 1",
            "spec.ports[0].constraint: `license` is the label of a later port, which is not bound yet; move port `cpu` behind it",
        ),
        ("cpu.Type == \"machin\"", "spec.ports[0].constraint: no ad has the Type `machin`; did you mean Machine?"),
        (
            "cpu.Type == \"Printer\"",
            "spec.ports[0].constraint: no ad has the Type `Printer`; there are Job, Machine, License",
        ),
    ] {
        assert_eq!(job(ports(constraint)).unwrap().warnings, [warning]);
    }
    let warnings = job(json!({"constraint": "other.Type == \"machin\""})).unwrap().warnings;
    assert_eq!(warnings, ["spec.constraint: no ad has the Type `machin`; did you mean Machine?"]);
    for fine in [
        "cpu.Type == \"Machine\" && cpu.Lab == Site.Lab",
        "other.Memory > 3 && my.Site.Lab == 1",
        "Labels.team == cpu.Team",
    ] {
        assert!(job(ports(fine)).unwrap().warnings.is_empty(), "{fine}");
    }
}

#[test]
fn m10_quantities_in_requests_are_converted_or_refused() {
    let port = |request: Json| json!({"ports": [{"label": "cpu", "constraint": "cpu.Type == \"Machine\"", "request": request}]});
    let ad = job(port(json!({"memory": "4Gi", "cpus": "2000m"}))).unwrap();
    let own = ad.ad.get("Ports").unwrap().as_list().unwrap()[0].canonical();
    assert!(own.contains("Request = [ cpus = 2; memory = 4096 ]"), "{own}");
    let rejected = job(port(json!({"cpus": "500m"}))).unwrap_err();
    assert_eq!(rejected.message, "spec.ports[0].request.cpus: found 500m, which is not a whole number; write 1");
    let rejected = job(json!({"request": {"memory": "1G"}})).unwrap_err();
    assert_eq!(
        rejected.message,
        "spec.request.memory: found 1G, which is not a whole number of MiB; write 954 or 954Mi"
    );
    let warned = job(port(json!({"memory": 4294967296_i64}))).unwrap();
    assert!(warned.warnings[0].contains("if bytes are meant, write 4096"), "{:?}", warned.warnings);
}

#[test]
fn private_attributes_are_hidden_in_every_form_of_an_ad() {
    let fields = json!({"attributes": {"Cost": 7}, "expressions": {"Price": "cost * 2"}, "constraint": "other.Bid > Cost",
        "private": ["COST", "Nosuch"]});
    let text = json!({"classad": "[Cost = 7; Price = cost * 2; Requirements = other.Bid > Cost]", "private": ["Cost"]});
    let ports = json!({"attributes": {"Cost": 7}, "private": ["Cost"],
        "ports": [{"label": "cpu", "expressions": {"Sum": "Cost + 1"}, "constraint": "cpu.Bid > Cost", "request": {"cpus": "Cost"}}]});
    for spec in [fields, text] {
        let ad = job(spec).unwrap();
        assert_eq!((shown(&ad, "Cost"), shown(&ad, "Price")), ("absent".to_owned(), "private * 2".to_owned()));
        assert_eq!(shown(&ad, "Requirements"), "other.Bid > private");
        assert!(ad.warnings.is_empty(), "{:?}", ad.warnings);
    }
    let ad = job(ports).unwrap();
    let own = ad.ad.get("Ports").unwrap().as_list().unwrap()[0].canonical();
    assert_eq!(
        own,
        "[ Sum = private + 1; Label = \"cpu\"; Request = [ cpus = private ]; Constraint = cpu.Bid > private ]"
    );
    let spec = json!({"private": ["LoadAvg"], "dynamicAttributes": [{"name": "LoadAvg", "type": "Real"}],
        "constraint": "LoadAvg < 0.3"});
    let ad = machine(spec, json!({"attributes": {"LoadAvg": 0.25}})).unwrap();
    assert_eq!(
        (shown(&ad, "LoadAvg"), shown(&ad, "Requirements")),
        ("absent".to_owned(), "private < 3.000000000000000E-01".to_owned())
    );
}

#[test]
fn what_others_have_to_read_cannot_be_private() {
    for (name, parts) in [
        ("requirements", ["spec.private[1]: `requirements`", "make the attributes that it reads private"]),
        ("Ports", ["spec.private[1]: `Ports`", "make the attributes that the ports read private"]),
        ("GangRank", ["spec.private[1]: `GangRank`", "cannot be private"]),
        ("RequestCpus", ["spec.private[1]: `RequestCpus` says how much is requested", "reads private"]),
        ("Owner", ["spec.private[1]: `Owner` is set by the system", "remove it"]),
        ("capacity", ["spec.private[1]: `capacity` is set by the system", "remove it"]),
        ("other", ["spec.private[1]: `other` means an ad", "write the name of an attribute"]),
        ("CPU", ["spec.private[1]: `CPU` is the label of a port, too", "choose another label"]),
        ("", ["spec.private[1]: a name must not be empty", "such as `Cost`"]),
        ("a\0", ["spec.private[1]: a name must not be empty or contain the character NUL", "such as `Cost`"]),
    ] {
        let spec =
            json!({"private": ["Cost", name], "ports": [{"label": "cpu", "constraint": "cpu.Type == \"Machine\""}]});
        check_refused(spec, "ParseError", &parts);
    }
}
