//! Evaluates a port's request to an offer: amounts and a share key.

use classad::{FrameId, Name, Value};

use super::Assembly;
use crate::capacity::{Ask, Misfit, Res, default_amount};
use crate::gang::Edge;
use crate::model::Offer;
use crate::share::share_key;

impl Assembly<'_> {
    /// What the parent's port takes of the offer: `Request` of the port, else its attribute `Request<resource>`, else the
    /// offer's default, else 1 of `seats` and `slots` and the whole of everything else.
    ///
    /// # Errors
    /// Why it can never be had, of whatever the offer has in all.
    pub(super) fn ask(
        &mut self,
        edge: Edge,
        offer: &Offer,
        parent_port: FrameId,
        child_port: FrameId,
    ) -> Result<Ask, Misfit> {
        let mut allocation = self.requested(edge, offer, parent_port)?;
        for (name, all) in &offer.capacity {
            if allocation.contains_key(name) {
                continue;
            }
            let amount = match self.request_attribute(edge, name, parent_port) {
                Some(value) => amount(&value).ok_or(Misfit::NoAmount)?,
                None => default_amount(&offer.default_request, name, *all),
            };
            allocation.insert(name.clone(), amount);
        }
        // A claim holds something, so an offer without amounts can serve none.
        if allocation.is_empty() || allocation.values().any(|amount| *amount < 1) {
            return Err(Misfit::TooMuch);
        }
        let share = self.share(offer, parent_port, child_port).ok_or(Misfit::NoSeat)?;
        Ok(Ask { allocation, share })
    }

    /// The port's `Request`, under the offer's names; empty if it has none.
    fn requested(&self, edge: Edge, offer: &Offer, frame: FrameId) -> Result<Res, Misfit> {
        let Some(request) = self.port(edge.parent(), edge.port()).and_then(|port| port.request.as_ref()) else {
            return Ok(Res::new());
        };
        let value = self.value(request, frame).ok_or(Misfit::NoAmount)?;
        let amounts: Option<Vec<(&Name, i64)>> =
            value.as_ad().and_then(|ad| ad.iter().map(|(name, value)| Some((name, amount(value)?))).collect());
        let offered = |name: &Name| offer.capacity.keys().find(|own| name.as_str().eq_ignore_ascii_case(own)).cloned();
        let named = |(name, amount)| Some((offered(name)?, amount));
        amounts.ok_or(Misfit::NoAmount)?.into_iter().map(named).collect::<Option<Res>>().ok_or(Misfit::NotOffered)
    }

    /// The value of `RequestCpus` and its like, if the port or its ad has that attribute.
    fn request_attribute(&self, edge: Edge, resource: &str, frame: FrameId) -> Option<Value> {
        let seat = self.seats.get(edge.parent())?;
        let name = format!("Request{resource}");
        let in_port = self.port(edge.parent(), edge.port())?.attributes.get(&name);
        let (expr, at) = match in_port {
            Some(expr) => (expr, frame),
            None => (seat.ad.ports.body.get(&name)?, seat.frames.body),
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
