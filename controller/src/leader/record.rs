//! A Lease object into what of it counts, and back; and one duration into all the others.

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::ResourceExt;

/// What a Lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Record {
    /// Its holder; empty: none.
    pub(crate) holder: String,
    /// How long it counts after it was last seen to change.
    pub(crate) duration_ms: u64,
    /// When its holder got it, and when it was last renewed, by the holder's clock, in microseconds since 1970.
    pub(crate) acquired_us: i64,
    pub(crate) renewed_us: i64,
    /// How often it went from one holder to another.
    pub(crate) transitions: i32,
}

/// A Lease as the server has it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stored {
    /// Its resourceVersion.
    pub(crate) version: String,
    pub(crate) record: Record,
}

/// How long a Lease counts, and what follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timing {
    /// After this long without a change any candidate may take it.
    pub(crate) lease_ms: u64,
}

impl Timing {
    /// A leader that has not renewed for this long writes nothing any more: two thirds, so that requests under way are over,
    /// and clocks may run apart, before another replica leads.
    pub(crate) fn deadline_ms(self) -> u64 {
        self.lease_ms.saturating_mul(2) / 3
    }

    /// How often a leader renews: five times before its deadline.
    pub(crate) fn renew_ms(self) -> u64 {
        self.deadline_ms() / 5
    }

    /// How often the others look: a Lease that was given back is taken after this long.
    pub(crate) fn look_ms(self) -> u64 {
        self.renew_ms() / 2
    }

    /// How long one request for the Lease may take: three fit before the deadline.
    pub(crate) fn request_ms(self) -> u64 {
        self.deadline_ms() / 4
    }
}

/// What counts of a Lease.
pub(crate) fn stored(lease: &Lease) -> Stored {
    let spec = lease.spec.clone().unwrap_or_default();
    let micros = |time: Option<MicroTime>| time.map_or(0, |time| time.0.as_microsecond());
    let seconds = u64::try_from(spec.lease_duration_seconds.unwrap_or(0)).unwrap_or(0);
    let record = Record {
        holder: spec.holder_identity.unwrap_or_default(),
        duration_ms: seconds.saturating_mul(1000),
        acquired_us: micros(spec.acquire_time),
        renewed_us: micros(spec.renew_time),
        transitions: spec.lease_transitions.unwrap_or(0),
    };
    Stored { version: lease.resource_version().unwrap_or_default(), record }
}

/// The Lease of this name that says `record`; with a version, it replaces exactly that one. What others have put on it, such as
/// labels, is kept from `last`.
pub(crate) fn lease(name: &str, last: Option<&Lease>, version: Option<&str>, record: &Record) -> Lease {
    let time = |micros: i64| Timestamp::from_microsecond(micros).ok().map(MicroTime);
    let mut lease = last.cloned().unwrap_or_default();
    lease.metadata.name = Some(name.to_owned());
    lease.metadata.resource_version = version.map(str::to_owned);
    lease.metadata.managed_fields = None;
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: i32::try_from(record.duration_ms / 1000).ok(),
        acquire_time: time(record.acquired_us),
        renew_time: time(record.renewed_us),
        lease_transitions: Some(record.transitions),
        ..LeaseSpec::default()
    });
    lease
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_reads_back_as_it_was_written() {
        let record = Record {
            holder: "a".into(),
            duration_ms: 15_000,
            acquired_us: 1_795_000_000_000_001,
            renewed_us: 1_795_000_000_000_002,
            transitions: 3,
        };
        let written = lease("gangmatch", None, Some("7"), &record);
        assert_eq!(stored(&written), Stored { version: "7".into(), record });
        assert_eq!(stored(&Lease::default()).record, Record::default(), "one that somebody made by hand is nobody's");
    }

    #[test]
    fn a_leader_has_stopped_before_anybody_takes_over() {
        for lease_ms in [3_000, 15_000, 60_000] {
            let timing = Timing { lease_ms };
            assert!(timing.request_ms() * 3 < timing.deadline_ms());
            assert!(timing.deadline_ms() + timing.request_ms() < lease_ms);
            assert!(timing.look_ms() <= lease_ms / 15);
        }
    }
}
