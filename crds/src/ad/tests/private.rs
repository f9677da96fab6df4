//! Attributes that partners cannot read.

use super::*;

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
