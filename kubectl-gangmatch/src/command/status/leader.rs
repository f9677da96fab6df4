//! The Lease of the controllers into the answer to "does one of them lead?".

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use serde::Serialize;

use crate::ages::age;
use crate::cluster::{Failure, Kubectl};

/// The name of the Lease.
const LEASE: &str = "gangmatch";
/// How far the clocks of a controller and of this machine may be apart.
const CLOCKS_APART: SignedDuration = SignedDuration::from_secs(10);

/// Which controller leads.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Leader {
    /// `None`: it is not known.
    pub(crate) leads: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) holder: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) renewed: Option<Timestamp>,
    /// The same in a sentence.
    #[serde(rename = "message")]
    pub(crate) said: String,
}

impl Leader {
    /// Reads the Lease, if the user may.
    pub(crate) fn read(kubectl: &Kubectl<'_>, namespace: &str, now: Timestamp) -> Leader {
        let found = kubectl.get("leases.coordination.k8s.io", namespace, LEASE);
        match found.map(|found| found.map(serde_json::from_value::<Lease>)) {
            Ok(Some(Ok(lease))) => leader(&lease, namespace, now),
            Ok(None) => Leader {
                leads: Some(false),
                said: format!(
                    "none: there is no Lease `{LEASE}` in namespace {namespace}; if the controller is elsewhere, name its namespace with \
                     --controller-namespace"
                ),
                ..Leader::default()
            },
            Ok(Some(Err(error))) => unknown(&format!("its Lease cannot be read: {error}")),
            Err(Failure::Forbidden(right)) => unknown(&right.to_string()),
            Err(failure) => unknown(&failure.to_string()),
        }
    }
}

fn unknown(why: &str) -> Leader {
    Leader { said: format!("not known: {why}"), ..Leader::default() }
}

fn leader(lease: &Lease, namespace: &str, now: Timestamp) -> Leader {
    let spec = lease.spec.clone().unwrap_or_default();
    let holder = spec.holder_identity.filter(|holder| !holder.is_empty());
    let renewed = spec.renew_time.map(|time| time.0);
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or(15).into());
    let is_current = renewed.is_some_and(|renewed| now.duration_since(renewed) <= lasts + CLOCKS_APART);
    let ago = renewed.map_or("never".to_owned(), |renewed| format!("{} ago", age(renewed, now)));
    let said = match &holder {
        Some(holder) if is_current => format!("{holder} leads (Lease {namespace}/{LEASE}, renewed {ago})"),
        Some(holder) => format!(
            "none: {holder} renewed the Lease {namespace}/{LEASE} {ago}, so nothing is matched or released; see kubectl get pods -n \
             {namespace}"
        ),
        None => {
            format!("none: the Lease {namespace}/{LEASE} was given back {ago}; see kubectl get pods -n {namespace}")
        }
    };
    Leader { leads: Some(is_current && holder.is_some()), holder, renewed, said }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_counts_as_long_as_it_says() {
        let lease = |holder: &str, renewed: &str| -> Lease {
            serde_json::from_value(serde_json::json!({"metadata": {"name": "gangmatch"}, "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed}}))
            .unwrap()
        };
        let now: Timestamp = "2026-11-21T14:00:30Z".parse().unwrap();
        let said = |holder: &str, renewed: &str| {
            let leader = leader(&lease(holder, renewed), "ns", now);
            (leader.leads, leader.said)
        };
        assert_eq!(
            said("pod-1", "2026-11-21T14:00:28.000000Z"),
            (Some(true), "pod-1 leads (Lease ns/gangmatch, renewed 2s ago)".to_owned())
        );
        let (leads, text) = said("pod-1", "2026-11-21T13:00:00.000000Z");
        assert!(
            leads == Some(false) && text.starts_with("none: pod-1 renewed the Lease ns/gangmatch 60m ago"),
            "{text}"
        );
        assert_eq!(said("", "2026-11-21T14:00:29.000000Z").0, Some(false));
    }

    #[test]
    fn a_lease_that_was_renewed_at_the_end_of_all_time_is_read() {
        let lease: Lease = serde_json::from_value(serde_json::json!({"metadata": {"name": "gangmatch"}, "spec": {
            "holderIdentity": "pod-1", "leaseDurationSeconds": i32::MAX, "renewTime": "9999-12-30T00:00:00.000000Z"}}))
        .unwrap();
        let now: Timestamp = "2026-11-21T14:00:30Z".parse().unwrap();
        assert_eq!(leader(&lease, "ns", now).leads, Some(true));
    }
}
