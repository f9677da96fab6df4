//! Fields and text into the ad that they mean.

use super::*;

#[test]
fn attributes_are_literals_of_their_types() {
    let ad = job(json!({"attributes": {
        "Cmd": "sim_app", "ImageSize": 28_000_000, "Fast": true, "Load": 0.5, "Tags": ["a", 1], "Disk": {"Free": 3, "Kind": "ssd"}
    }, "request": {"slots": 1}}))
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
    let ad = job(json!({"expressions": {"RequestMemory": "ImageSize / 1000000", "One": "1.0", "Seven": 7}, "request": {"slots": 1}})).unwrap();
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
    let request = json!({"slots": 1});
    assert_eq!(shown(&job(json!({"attributes": {"A": 1}, "request": request})).unwrap(), "Requirements"), "true");
    assert_eq!(shown(&job(json!({"request": request, "ports": []})).unwrap(), "Requirements"), "true");
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
fn m10_quantities_in_requests_are_converted_or_refused() {
    let port = |request: Json| json!({"ports": [{"label": "cpu", "constraint": "cpu.Type == \"Machine\"", "request": request}]});
    let ad = job(port(json!({"memory": "4Gi", "cpus": "2000m"}))).unwrap();
    let own = ad.ad.get("Ports").unwrap().as_list().unwrap()[0].canonical();
    assert!(own.contains("Request = [ cpus = 2; memory = 4096 ]"), "{own}");
    let problem = job(port(json!({"cpus": "500m"}))).unwrap_err();
    assert_eq!(problem.message, "spec.ports[0].request.cpus: found 500m, which is not a whole number; write 1");
    let problem = job(json!({"request": {"memory": "1G"}})).unwrap_err();
    assert_eq!(
        problem.message,
        "spec.request.memory: found 1G, which is not a whole number of MiB; write 954 or 954Mi"
    );
    let warned = job(port(json!({"memory": 4294967296_i64}))).unwrap();
    assert!(warned.warnings[0].contains("if bytes are meant, write 4096"), "{:?}", warned.warnings);
}
