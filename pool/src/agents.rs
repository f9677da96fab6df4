//! The Leases by which the agents of offers show that they are alive.

use crds::OfferKind;

use crate::key::ObjectKey;

/// Whether the agent of an offer is alive, as its Lease shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum AgentLiveness {
    /// No Lease was seen yet, or not for longer than the offer allows.
    #[default]
    Unknown,
    /// The Lease was renewed within its time.
    Renewed,
    /// The Lease was not renewed for longer than the offer allows.
    Expired,
    /// There has been no Lease for longer than the offer allows.
    Absent,
}

impl AgentLiveness {
    /// Whether the agent counts as lost. By its own clock it has stopped its work by then.
    pub fn is_silent(self) -> bool {
        matches!(self, AgentLiveness::Expired | AgentLiveness::Absent)
    }
}

/// The key of the Lease that the agent of an offer renews.
pub fn lease_key(kind: OfferKind, offer: &ObjectKey) -> ObjectKey {
    ObjectKey::new(&offer.namespace, &format!("{}{}", lease_prefix(kind), offer.name))
}

/// Whether the name is that of an agent's Lease.
pub fn is_lease_of_agent(name: &str) -> bool {
    OfferKind::ALL.into_iter().any(|kind| name.starts_with(&lease_prefix(kind)))
}

fn lease_prefix(kind: OfferKind) -> String {
    format!("gangmatch-{}-", kind.as_str().to_ascii_lowercase())
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
