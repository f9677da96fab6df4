//! The ledger of an offer into how much of it is taken, as numbers and as text.

use crds::{OfferStatus, Res};
use matchmaker::{Ask, Usage};

/// How much of an offer is taken.
pub fn usage(status: Option<&OfferStatus>) -> Usage {
    usage_without(status, "")
}

/// How much of an offer is taken by all Matches except the one with this uid: a gang that is verified again is not in its own way. A
/// shared seat without claims is taken as long as it is in the ledger, as in the rules of the API server.
pub fn usage_without(status: Option<&OfferStatus>, match_uid: &str) -> Usage {
    let Some(status) = status else { return Usage::default() };
    let mut usage = Usage { external: status.external_usage.clone().into(), ..Usage::default() };
    let own_key = status.claims.get(match_uid).and_then(|entry| entry.share.as_ref());
    let others = || status.claims.iter().filter(|(uid, _)| *uid != match_uid).map(|(_, entry)| entry);
    for (key, held) in &status.shared {
        let alone = own_key == Some(key) && !others().any(|entry| entry.share.as_ref() == Some(key));
        if !alone {
            usage.take(&Ask { allocation: held.clone().into(), share: Some(key.clone()) });
        }
    }
    for entry in others() {
        usage.take(&Ask { allocation: entry.allocation.clone().into(), share: entry.share.clone() });
    }
    usage
}

/// How much of each resource is taken: `3/10 seats`, `1/1 slots`, `4/8 cpus, 1024/2048 memory`.
pub fn used_text(capacity: &Res, usage: &Usage) -> String {
    let one = |(name, all): (&String, &i64)| {
        format!("{}/{all} {name}", usage.used(name).saturating_sub(external(usage, name)))
    };
    capacity.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn external(usage: &Usage, name: &str) -> i64 {
    usage.external.get(name).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crds::ClaimEntry;

    fn seats(amount: i64) -> Res {
        Res::from([("seats".to_owned(), amount)])
    }

    fn status(entries: &[(&str, Option<&str>)], shared: &[(&str, i64)]) -> OfferStatus {
        let entry = |share: &Option<&str>| ClaimEntry {
            allocation: seats(1),
            share: share.map(str::to_owned),
            ..ClaimEntry::default()
        };
        OfferStatus {
            claims: entries.iter().map(|(uid, share)| ((*uid).to_owned(), entry(share))).collect(),
            shared: shared.iter().map(|(key, amount)| ((*key).to_owned(), seats(*amount))).collect(),
            ..OfferStatus::default()
        }
    }

    #[test]
    fn a_seat_without_sitters_is_taken() {
        let status = status(&[("u", None)], &[("a", 2)]);
        assert_eq!(usage(Some(&status)).used("seats"), 3);
        assert_eq!(usage_without(Some(&status), "u").used("seats"), 2);
    }

    #[test]
    fn a_claim_does_not_stand_in_its_own_way() {
        let shared = status(&[("u", Some("a")), ("v", Some("b"))], &[("a", 1), ("b", 1)]);
        assert_eq!(usage_without(Some(&shared), "u").used("seats"), 1, "its seat is its own");
        let together = status(&[("u", Some("a")), ("v", Some("a"))], &[("a", 1)]);
        assert_eq!(usage_without(Some(&together), "u").used("seats"), 1, "the other one keeps it");
        let unseated = status(&[("u", Some("a"))], &[]);
        assert_eq!(usage(Some(&unseated)).used("seats"), 1, "a seat that was wiped is taken all the same");
    }
}
