//! Mistakes, and the sentences that say what to write instead.

use super::*;

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
fn odd_names_are_accepted_with_a_warning() {
    let ad = job(json!({"attributes": {"two words": 1, "true": 2, "Constraint": 3}, "request": {"slots": 1}})).unwrap();
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
    let warnings = job(json!({"attributes": many, "request": {"slots": 1}})).unwrap().warnings;
    assert_eq!(warnings.len(), WARNINGS_MAX);
    assert_eq!(warnings[WARNINGS_MAX - 1], "and 25 more warnings");
}

#[test]
fn m7_a_job_that_names_no_partner_is_not_accepted() {
    let names = |spec: Json| job(spec).map(drop);
    for spec in [json!({}), json!({"attributes": {}}), json!({"request": {}}), json!({"ports": []})] {
        let problem = names(spec).unwrap_err();
        assert_eq!(problem.reason, "InvalidPort");
        assert!(problem.message.starts_with("spec: the job asks for no partner; write `constraint`"), "{problem}");
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
        let problem = job(spec).unwrap_err();
        assert!(problem.reason == "InvalidPort" && problem.message.starts_with(place), "{problem}");
    }
    check_warned(&job(json!({"constraint": "true"})).unwrap(), &["spec.constraint: accepts any offer"]);
}

/// A misspelled `constraint` is cut off by the API server, and what is left accepts everything.
#[test]
fn a_job_of_attributes_alone_and_a_port_without_a_condition_are_warned_of() {
    for spec in [
        json!({"attributes": {"App": "vcs"}}),
        json!({"attributes": {"App": "vcs"}, "ports": []}),
        json!({"expressions": {"Doubled": "2 * Size"}, "rank": 1}),
    ] {
        check_warned(&job(spec).unwrap(), &["spec: has no constraint, so the job accepts any offer"]);
    }
    let ports = json!({"ports": [{"label": "cpu"}, {"label": "seat", "request": {"seats": 1}}, {"label": "b", "constraint": "b.Cpus > 1"}]});
    let ad = job(ports).unwrap();
    check_warned(&ad, &["spec.ports[0]: has no constraint, so it accepts any offer", "cpu.Type == \"Machine\""]);
    assert_eq!(ad.warnings.len(), 1, "{:#?}", ad.warnings);
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
fn an_ad_as_text_without_requirements_is_warned_of() {
    let warnings = |text: &str| job(json!({"classad": text})).unwrap().warnings;
    let none = "spec.classad: the ad has no Requirements, which accepts no partner; ";
    assert_eq!(warnings("[ Requirments = other.A ]"), [format!("{none}is `Requirments` misspelled?")]);
    assert_eq!(warnings("[ A = 1 ]"), [format!("{none}to accept every partner, write `Requirements = true`")]);
    assert!(warnings("[ Constraint = other.A ]").is_empty());
}
