//! What one member of a gang may know of its parent: the values that its own ad reads.

use std::collections::BTreeSet;

use classad::{Expr, Kind, Name, Value, references};

use crate::gang::Gang;
use crate::model::{Config, PoolAd, Snapshot};
use crate::verify::assembled;

/// The attributes of a member's parent that the member's ad mentions, with their values: what an agent that decides for
/// the member needs to judge. Nothing for the root, and nothing that is undefined or an error.
pub fn introduce(snapshot: &Snapshot, gang: &Gang, config: &Config, now: i64, member: usize) -> Vec<(Name, Value)> {
    let Some(bound) = gang.members.get(member) else { return Vec::new() };
    let (Some(edge), Some(ad)) = (bound.edge, snapshot.ad(bound.ad)) else { return Vec::new() };
    let Some(label) = ad.ports.list.get(edge.child_port()).map(|port| port.label.clone()) else { return Vec::new() };
    let Some(assembly) = assembled(snapshot, gang, config, now) else { return Vec::new() };
    let mut all = Vec::new();
    for name in mentioned(ad, &label) {
        let attribute = Expr::new(
            Kind::Select { base: Expr::attribute(label.clone()), name: name.clone() },
            classad::Span::default(),
        );
        match assembly.value_at(member, edge.child_port(), &attribute) {
            None | Some(Value::Undefined | Value::Error) => {}
            Some(value) => all.push((name, value)),
        }
    }
    all
}

/// The names that an ad's expressions read of the partner with this label, each once.
fn mentioned(ad: &PoolAd, label: &Name) -> Vec<Name> {
    let is_partner = |name: &Name| {
        let implicit =
            ad.ports.implicit && ["other", "target"].iter().any(|word| name.as_str().eq_ignore_ascii_case(word));
        name == label || implicit
    };
    let mut all: Vec<Name> = Vec::new();
    let mut known: BTreeSet<Name> = BTreeSet::new();
    for (_, expr) in ad.ports.body.iter() {
        for path in references(expr) {
            if let [first, second, ..] = path.as_slice()
                && is_partner(first)
                && known.insert(second.clone())
            {
                all.push(second.clone());
            }
        }
    }
    all
}
