//! What one member of a gang reads of another: the attributes that its expressions name, with their values. That is a convenience, computed for
//! every claim, and no namespace is charged for it, so that reading for one gang takes no more than [`SMALL_FUEL`].

use std::collections::{BTreeMap, BTreeSet};

use classad::{Expr, Kind, Name, Value, references};

use crate::assembly::Assembly;
use crate::gang::{Edge, Gang};
use crate::model::{Config, PoolAd, SMALL_FUEL, Snapshot};
use crate::ports::Ports;
use crate::verify::assembled;

/// The attributes of a member's parent that the member's ad mentions, with their values: what an agent that decides for
/// the member needs to judge. Nothing for the root, nothing that is undefined or an error, and nothing once the fuel for one gang is used up.
pub fn introduce(snapshot: &Snapshot, gang: &Gang, config: &Config, now: i64, member: usize) -> Vec<(Name, Value)> {
    let Some(bound) = gang.members.get(member) else { return Vec::new() };
    let (Some(edge), Some(ad)) = (bound.edge, snapshot.ad(bound.ad)) else { return Vec::new() };
    let Some(label) = ad.ports.list.get(edge.child_port()).map(|port| port.label.clone()) else { return Vec::new() };
    let config = config.with_small_limits();
    let Some(assembly) = assembled(snapshot, gang, &config, now) else { return Vec::new() };
    let names = mentioned(&ad.ports, &label);
    values(&assembly, |attribute| assembly.value_at(member, edge.child_port(), attribute), &label, names)
}

/// The attributes of each member that the root's ad reads, with their values: of the members at the root's own ports, in the order of
/// the gang. Nothing that is undefined or an error, and nothing once the fuel for one gang is used up.
pub fn read_by_root(snapshot: &Snapshot, gang: &Gang, config: &Config, now: i64) -> Vec<Vec<(Name, Value)>> {
    let nothing = || vec![Vec::new(); gang.members.len()];
    let Some(root) = gang.root().and_then(|root| snapshot.ad(root)) else { return nothing() };
    let config = config.with_small_limits();
    let Some(assembly) = assembled(snapshot, gang, &config, now) else { return nothing() };
    // The members of a set are read alike.
    let mut of_ports: BTreeMap<usize, Vec<Name>> = BTreeMap::new();
    let mut of_partner = |member: usize, edge: Edge, partner: &PoolAd| {
        let label = &root.ports.list.get(edge.port())?.label;
        let names = of_ports.entry(edge.port()).or_insert_with(|| {
            let mut names = mentioned(&root.ports, label);
            names.extend(fallen_through(&root.ports));
            names
        });
        let names = names.iter().cloned();
        let spelled = |name: Name| spelling(partner, edge.child_port(), &name).unwrap_or(name);
        let names: BTreeSet<Name> = names.map(spelled).collect();
        Some(values(&assembly, |attribute| assembly.value_at_parent(member, attribute), label, names))
    };
    let read = gang.members.iter().enumerate().map(|(number, member)| {
        let edge = member.edge.filter(|edge| edge.parent() == 0)?;
        of_partner(number, edge, snapshot.ad(member.ad)?)
    });
    read.map(Option::unwrap_or_default).collect()
}

/// The values of these attributes of the partner with this label, as `value_of` gives them where that partner is seen; those that the
/// assembly has fuel for.
fn values(
    assembly: &Assembly<'_>,
    value_of: impl Fn(&Expr) -> Option<Value>,
    label: &Name,
    names: impl IntoIterator<Item = Name>,
) -> Vec<(Name, Value)> {
    let mut all = Vec::new();
    for name in names {
        if assembly.fuel_used() >= SMALL_FUEL {
            break;
        }
        let attribute = Expr::new(
            Kind::Select { base: Expr::attribute(label.clone()), name: name.clone() },
            classad::Span::default(),
        );
        match value_of(&attribute) {
            None | Some(Value::Undefined | Value::Error) => {}
            Some(value) => all.push((name, value)),
        }
    }
    all
}

/// The names that an ad's expressions read of the partner with this label, each once.
fn mentioned(ports: &Ports, label: &Name) -> Vec<Name> {
    let is_partner = |name: &Name| {
        let implicit =
            ports.implicit && ["other", "target"].iter().any(|word| name.as_str().eq_ignore_ascii_case(word));
        name == label || implicit
    };
    let mut all: Vec<Name> = Vec::new();
    let mut known: BTreeSet<Name> = BTreeSet::new();
    for (_, expr) in ports.body.iter() {
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

/// The bare names in an ad without listed ports that the ad does not define: they mean attributes of the partner.
fn fallen_through(ports: &Ports) -> Vec<Name> {
    let exprs = ports.body.iter().filter(|_| ports.implicit).map(|(_, expr)| expr);
    let first = exprs.flat_map(references).filter_map(|path| path.into_iter().next());
    first.filter(|name| ports.body.place(name).is_none()).collect()
}

/// A name as the ad that defines it spells it; the ad is seen through one of its ports.
fn spelling(ad: &PoolAd, port: usize, name: &Name) -> Option<Name> {
    let in_port = ad.ports.list.get(port).and_then(|port| port.attributes.entry(name.as_str()));
    in_port.or_else(|| ad.ports.body.entry(name.as_str())).map(|(name, _)| name.clone())
}
