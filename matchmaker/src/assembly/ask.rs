//! A port's request, seen by an offer, into amounts and a share key.

use classad::{FrameId, Name, Value};

use super::Assembly;
use crate::capacity::{Ask, Res};
use crate::gang::Bond;
use crate::model::Offer;
use crate::share::share_key;

impl Assembly<'_> {
    /// What the parent's port takes of the offer: `Request` of the port, else its attribute `Request<resource>`, else the
    /// offer's default, else 1 of `seats` and `slots` and the whole of everything else.
    ///
    /// `None`: an amount is no integer of at least 1, names what the offer does not have, or `sharedBy` is an error.
    pub(super) fn ask(&mut self, bond: Bond, offer: &Offer, parent_port: FrameId, child_port: FrameId) -> Option<Ask> {
        let mut takes = self.requested(bond, offer, parent_port)?;
        for (name, all) in &offer.capacity {
            if takes.contains_key(name) {
                continue;
            }
            let amount = match self.request_attribute(bond, name, parent_port) {
                Some(value) => amount(&value)?,
                None => match (offer.default_request.get(name), name.as_str()) {
                    (Some(default), _) => *default,
                    (None, "seats" | "slots") => 1,
                    (None, _) => *all,
                },
            };
            takes.insert(name.clone(), amount);
        }
        // Who has nothing has nothing to give: a claim holds something.
        if takes.is_empty() || takes.values().any(|amount| *amount < 1) {
            return None;
        }
        Some(Ask { takes, share: self.share(offer, parent_port, child_port)? })
    }

    /// The port's `Request`, under the offer's names; empty if it has none, `None` if it is anything but a nested ad of
    /// amounts of what the offer has.
    fn requested(&self, bond: Bond, offer: &Offer, frame: FrameId) -> Option<Res> {
        let Some(request) = self.port(bond.parent, bond.port)?.request.as_ref() else {
            return Some(Res::new());
        };
        let value = self.value(request, frame)?;
        let offered = |name: &Name| offer.capacity.keys().find(|own| name.as_str().eq_ignore_ascii_case(own)).cloned();
        value.as_ad()?.iter().map(|(name, value)| Some((offered(name)?, amount(value)?))).collect()
    }

    /// The value of `RequestCpus` and its like, if the port or its ad has that attribute.
    fn request_attribute(&self, bond: Bond, resource: &str, frame: FrameId) -> Option<Value> {
        let seat = self.seats.get(bond.parent)?;
        let name = format!("Request{resource}");
        let in_port = self.port(bond.parent, bond.port)?.attributes.get(&name);
        let (expr, at) = match in_port {
            Some(expr) => (expr, frame),
            None => (seat.ad.ports.body.get(&name)?, seat.body),
        };
        Some(self.value(expr, at).unwrap_or(Value::Error))
    }

    /// The seat that the claim shares: `sharedBy` evaluated with `requester` as the parent's view.
    fn share(&mut self, offer: &Offer, parent_port: FrameId, child_port: FrameId) -> Option<Option<String>> {
        let Some(shared_by) = &offer.shared_by else { return Some(None) };
        let mark = self.env.mark();
        let frame = self.env.frame(&self.snapshot.blank, Some(child_port));
        self.env.bind(frame, &Name::new("requester"), parent_port);
        let value = self.value(shared_by, frame);
        self.env.reset(mark);
        share_key(&value?).ok()
    }
}

fn amount(value: &Value) -> Option<i64> {
    match value {
        Value::Integer(amount) if *amount >= 1 => Some(*amount),
        _ => None,
    }
}
