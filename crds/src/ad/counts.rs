//! Checks how many partners the ports of an ad bind, as far as that can be known of the ad alone.

use classad::{Ad, Expr, Value, constant};

use super::NotAccepted;
use super::message;

/// The most partners of one port, and of all ports of an ad: with the ad itself, the most members of a gang.
const PARTNERS_MAX: i64 = 63;

/// Checks the counts of ports that are constants.
///
/// # Errors
/// If one is no integer from 1 to 63, if the fewest are more than the most, or if the ports need more than 63 partners together.
pub(super) fn check(place: &str, ports: &[Expr]) -> Result<(), NotAccepted> {
    let mut all = 0_i64;
    for (index, port) in ports.iter().enumerate() {
        let port_place = format!("{place}[{index}]");
        let Some(ad) = port.as_ad() else { continue };
        let [count, least, most] = [
            written(&port_place, ad, "Count")?,
            written(&port_place, ad, "MinCount")?,
            written(&port_place, ad, "MaxCount")?,
        ];
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            let what = format!("minCount is {least} and maxCount {most}; write a maxCount that is not smaller");
            return Err(NotAccepted::port(&port_place, &what));
        }
        all = all.saturating_add(count.or(least).unwrap_or(1));
    }
    if all > PARTNERS_MAX {
        let what = format!(
            "the ports need at least {all} partners together; a gang has at most {PARTNERS_MAX} besides the ad itself"
        );
        return Err(NotAccepted::port(place, &what));
    }
    Ok(())
}

/// A count, if it is written and constant.
fn written(place: &str, port: &Ad, name: &str) -> Result<Option<i64>, NotAccepted> {
    let Some((expr, value)) = port.get(name).and_then(|expr| Some((expr, constant(expr)?))) else { return Ok(None) };
    match value {
        Value::Integer(count) if (1..=PARTNERS_MAX).contains(&count) => Ok(Some(count)),
        _ => {
            let field = match place.starts_with("spec.ports") {
                true => format!("{}{}", name.get(..1).unwrap_or("").to_ascii_lowercase(), name.get(1..).unwrap_or("")),
                false => name.to_owned(),
            };
            let what =
                format!("found {}; write an integer from 1 to {PARTNERS_MAX}", message::quote(&expr.to_string()));
            Err(NotAccepted::port(&format!("{place}.{field}"), &what))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use crate::ad::{Advertised, NotAccepted, job_ad};

    fn job(spec: Json) -> Result<Advertised, NotAccepted> {
        job_ad(&serde_json::from_value(json!({"metadata": {"name": "sim", "namespace": "ns"}, "spec": spec})).unwrap())
    }

    fn check_refused(spec: Json, reason: &str, parts: &[&str]) {
        let refused = job(spec).unwrap_err();
        assert_eq!(refused.reason, reason);
        parts.iter().for_each(|part| assert!(refused.message.contains(part), "{part} is not in {}", refused.message));
    }

    #[test]
    fn a_counted_port_says_how_many_and_what_holds_of_them_together() {
        let port = json!({"label": "node", "minCount": "N / 2", "maxCount": 8, "same": ["Rack"], "distinct": ["Switch"],
            "groupConstraint": "sum(node.Memory) >= 64", "groupRank": "-size(node)"});
        let ad = job(json!({"attributes": {"N": 4}, "ports": [port]})).unwrap();
        let ports = ad.ad.get("Ports").unwrap().to_string();
        for part in [
            "MinCount = N / 2",
            "MaxCount = 8",
            "Same = { \"Rack\" }",
            "Distinct = { \"Switch\" }",
            "GroupRank =  -size(node)",
        ] {
            assert!(ports.contains(part), "{part} is not in {ports}");
        }
        assert!(ports.contains("GroupConstraint = sum(node.Memory) >= 64"), "{ports}");
    }

    #[test]
    fn a_count_that_cannot_be_one_is_refused_at_once() {
        for count in
            [json!(0), json!(64), json!(-1), json!("1.5"), json!("\"two\""), json!("8 * 8"), json!("undefined")]
        {
            let port = json!({"label": "node", "count": count});
            check_refused(json!({"ports": [{"label": "a"}, port]}), "InvalidPort", &["spec.ports[1].count", "1 to 63"]);
        }
        let text = json!({"classad": "[ Ports = { [ Label = node; MinCount = 64; MaxCount = N ] } ]"});
        check_refused(text, "InvalidPort", &["spec.classad: Ports[0].MinCount", "1 to 63"]);
        let port = json!({"label": "node", "minCount": 3, "maxCount": 2});
        check_refused(json!({"ports": [port]}), "InvalidPort", &["spec.ports[0]", "minCount is 3 and maxCount 2"]);
        let port = |label: &str| json!({"label": label, "count": 31});
        assert!(job(json!({"ports": [port("a"), port("b"), {"label": "c"}]})).is_ok());
        check_refused(
            json!({"ports": [port("a"), port("b"), {"label": "c"}, {"label": "d"}]}),
            "InvalidPort",
            &["spec.ports: ", "64 partners", "at most 63"],
        );
        assert!(job(json!({"ports": [{"label": "a", "count": "N"}]})).is_ok(), "it is known when the port is filled");
    }

    #[test]
    fn a_count_is_a_field_of_a_port_and_an_attribute_of_everything_else() {
        for (written, field) in [("count", "count"), ("MinCount", "minCount"), ("MAXCOUNT", "maxCount")] {
            for of in ["attributes", "expressions"] {
                let port = json!({"label": "node", of: {written: 2}});
                let instead = format!("write it as spec.ports[1].{field}");
                check_refused(json!({"ports": [{"label": "a"}, port]}), "InvalidPort", &[&instead]);
            }
        }
        let port = json!({"label": "node", "count": 2, "attributes": {"Same": "x"}});
        check_refused(
            json!({"ports": [port]}),
            "InvalidPort",
            &["spec.ports[0].attributes.Same", "spec.ports[0].same"],
        );
        assert!(job(json!({"ports": [{"label": "node", "attributes": {"Same": "x"}}]})).is_ok(), "there is no set");
        assert!(job(json!({"attributes": {"Count": 2}, "ports": [{"label": "a"}]})).is_ok(), "it is no port's");
        assert!(
            job(json!({"constraint": "true", "expressions": {"Count": "2"}})).is_ok(),
            "the implicit port has no count"
        );
    }
}
