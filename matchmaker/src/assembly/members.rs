//! `Members`, the attribute that lists the members bound at earlier ports and that no ad can forge.

use classad::{FrameId, Name, Value};

use super::{Assembly, BoundMember};

impl Assembly<'_> {
    /// Defines `Members` in a port's frame: a list of `[Type; Namespace; Name; NodeName; Uid]`, one for each member bound
    /// at an earlier port of the same ad. A license can trust it to say which machine it is for.
    pub(super) fn tell_members(&mut self, member: usize, port: usize, frame: FrameId) {
        let children = self.seats.iter().filter_map(|seat| {
            let edge = seat.edge.filter(|edge| edge.parent() == member && edge.port() < port)?;
            Some((edge.port(), describe(seat)))
        });
        let own = self.seats.get(member).and_then(|seat| seat.edge).filter(|edge| edge.child_port() < port);
        let parent = own.and_then(|edge| Some((edge.child_port(), describe(self.seats.get(edge.parent())?))));
        let mut list: Vec<(usize, Value)> = children.chain(parent).collect();
        list.sort_by_key(|(port, _)| *port);
        let list = Value::list(list.into_iter().map(|(_, value)| value));
        self.env.define(frame, Name::new("Members"), list);
    }
}

fn describe(seat: &BoundMember<'_>) -> Value {
    let text = |text: &str| Value::string(text);
    let node = seat.ad.node_name.as_deref().map_or(Value::Undefined, text);
    let key = &seat.ad.key;
    let fields = [
        ("Type", text(&key.kind)),
        ("Namespace", text(&key.namespace)),
        ("Name", text(&key.name)),
        ("NodeName", node),
        ("Uid", text(&seat.ad.uid)),
    ];
    Value::ad(fields.into_iter().map(|(name, value)| (Name::new(name), value)))
}
