//! What the system says of an ad, and what an offer has.

use super::*;

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
    assert_eq!(shown(&job(json!({"constraint": "other.A", "attributes": {"A": 1}})).unwrap(), "Owner"), "absent");
    assert_eq!(shown(&job(json!({"constraint": "other.A", "attributes": {"Name": "x"}})).unwrap(), "Name"), "\"x\"");
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
    assert!(job(json!({"constraint": "other.A", "attributes": {"Type": "Job"}})).unwrap().warnings.is_empty());
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
    let read = |spec: Json| license(spec).map(|advertised| advertised.shared_by);
    assert_eq!(
        read(json!({"sharedBy": "requester.Members[0].NodeName"})).unwrap().unwrap().canonical(),
        "requester.Members[0].NodeName"
    );
    assert!(read(json!({})).unwrap().is_none());
    let found = license(json!({"sharedBy": "requester."})).unwrap_err();
    assert_eq!(found.reason, "ParseError");
    assert!(found.message.starts_with("spec.sharedBy: line 1, column "), "{}", found.message);
}
