//! The ports of an ad after its author has changed it.

use classad::{Ad, BinaryOp, Expr, Name, Value, conjuncts};
use matchmaker::Ports;

use super::Change;

/// The ports of the ad that its author would write with these changes. None if a change does not fit the ad.
pub fn with_changes(ports: &Ports, changes: &[Change]) -> Option<Ports> {
    let mut body = ports.body.clone();
    if ports.implicit {
        edit(&mut body, 0, changes)?;
        return Some(Ports::of(&body));
    }
    let mut list: Vec<Expr> = body.get("Ports")?.as_list()?.to_vec();
    for (port, entry) in list.iter_mut().enumerate() {
        if changes.iter().any(|change| change.port() == port) {
            let mut attributes = entry.as_ad()?.clone();
            edit(&mut attributes, port, changes)?;
            *entry = Expr::ad(attributes);
        }
    }
    body.insert(Name::new("Ports"), Expr::list(list));
    Some(Ports::of(&body))
}

/// Changes the constraint and the request that stand in an ad, or in a port.
fn edit(ad: &mut Ad, port: usize, changes: &[Change]) -> Option<()> {
    let mut names = ["Requirements", "Constraint"].into_iter();
    let name = names.find(|name| ad.get(name).is_some());
    let mut parts: Vec<Option<Expr>> =
        name.and_then(|name| ad.get(name)).map(conjuncts).unwrap_or_default().into_iter().map(Some).collect();
    let mut is_new = false;
    for change in changes.iter().filter(|change| change.port() == port) {
        match change {
            Change::Drop { conjunct, .. } => *parts.get_mut(*conjunct)? = None,
            Change::Replace { conjunct, with, .. } => *parts.get_mut(*conjunct)? = Some(with.clone()),
            Change::Request { resource, amount, .. } => {
                request(ad, resource, *amount);
                continue;
            }
        }
        is_new = true;
    }
    if is_new {
        let all = parts.into_iter().flatten().reduce(|one, other| Expr::binary(BinaryOp::And, one, other));
        ad.insert(Name::new(name?), all.unwrap_or_else(|| Expr::literal(Value::Boolean(true))));
    }
    Some(())
}

fn request(ad: &mut Ad, resource: &str, amount: i64) {
    let mut amounts = ad.get("Request").and_then(Expr::as_ad).cloned().unwrap_or_default();
    amounts.insert(Name::new(resource), Expr::literal(Value::Integer(amount)));
    ad.insert(Name::new("Request"), Expr::ad(amounts));
}
