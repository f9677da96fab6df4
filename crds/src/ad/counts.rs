//! Checks how many partners the ports of an ad bind, as far as that can be known of the ad alone.

use classad::{Ad, Expr, Value, constant};

use super::Rejected;
use super::message;
use super::ports::invalid;

/// The most partners of one port, and of all ports of an ad: with the ad itself, the most members of a gang.
const PARTNERS_MAX: i64 = 63;

/// Checks the counts of ports that are constants.
///
/// # Errors
/// If one is no integer from 1 to 63, if the fewest are more than the most, or if the ports need more than 63 partners together.
pub(super) fn check(place: &str, ports: &[Expr]) -> Result<(), Rejected> {
    let mut all = 0_i64;
    for (index, port) in ports.iter().enumerate() {
        let port_place = format!("{place}[{index}]");
        let Some(ad) = port.as_ad() else { continue };
        let [count, least, most] = [written(&port_place, ad, "Count")?, written(&port_place, ad, "MinCount")?, written(&port_place, ad, "MaxCount")?];
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            let what = format!("minCount is {least} and maxCount {most}; write a maxCount that is not smaller");
            return Err(invalid(&port_place, &what));
        }
        all = all.saturating_add(count.or(least).unwrap_or(1));
    }
    if all > PARTNERS_MAX {
        let what = format!("the ports need at least {all} partners together; a gang has at most {PARTNERS_MAX} besides the ad itself");
        return Err(invalid(place, &what));
    }
    Ok(())
}

/// A count, if it is written and constant.
fn written(place: &str, port: &Ad, name: &str) -> Result<Option<i64>, Rejected> {
    let Some((expr, value)) = port.get(name).and_then(|expr| Some((expr, constant(expr)?))) else { return Ok(None) };
    match value {
        Value::Integer(count) if (1..=PARTNERS_MAX).contains(&count) => Ok(Some(count)),
        _ => {
            let field = match place.starts_with("spec.ports") {
                true => format!("{}{}", name.get(..1).unwrap_or("").to_ascii_lowercase(), name.get(1..).unwrap_or("")),
                false => name.to_owned(),
            };
            let what = format!("found {}; write an integer from 1 to {PARTNERS_MAX}", message::quote(&expr.to_string()));
            Err(invalid(&format!("{place}.{field}"), &what))
        }
    }
}
