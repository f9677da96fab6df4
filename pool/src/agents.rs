//! Signs of life of the agents that speak for offers: where they are, and what they say.

use crds::OfferKind;

use crate::key::ObjectKey;
use crate::objects::OfferRef;

/// What is known of an offer's agent, by its Lease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Life {
    /// No Lease is seen, and not for long.
    #[default]
    Unknown,
    /// The Lease was renewed within its time.
    Renewed,
    /// It was not, for longer than the offer allows.
    Expired,
    /// There has been no Lease for longer than that.
    Absent,
}

impl Life {
    /// Whether the agent counts as lost: by then it has stopped, by its own clock.
    pub fn is_silent(self) -> bool {
        matches!(self, Life::Expired | Life::Absent)
    }
}

/// Where an offer's agent shows that it is alive.
pub fn lease_key(kind: OfferKind, offer: &ObjectKey) -> ObjectKey {
    ObjectKey::new(&offer.namespace, &format!("{}{}", lease_prefix(kind), offer.name))
}

/// Whether a Lease of this name may be an agent's.
pub fn is_lease_of_agent(name: &str) -> bool {
    OfferKind::ALL.into_iter().any(|kind| name.starts_with(&lease_prefix(kind)))
}

fn lease_prefix(kind: OfferKind) -> String {
    format!("gangmatch-{}-", kind.as_str().to_ascii_lowercase())
}

impl OfferRef<'_> {
    /// How long its agent may be silent, in seconds; `None` if it has none.
    pub fn silence_seconds(self) -> Option<u64> {
        let agent = self.fields().agent.as_ref()?;
        Some(u64::try_from(agent.lease_duration_seconds).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_named_after_its_offer() {
        let key = lease_key(OfferKind::Machine, &ObjectKey::new("grid", "foo"));
        assert_eq!(key, ObjectKey::new("grid", "gangmatch-machine-foo"));
        assert!(is_lease_of_agent(&key.name) && !is_lease_of_agent("gangmatch"), "the controller's own is none");
    }
}
