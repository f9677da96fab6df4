//! An offer's ledger into what is taken of it, and into the words for it.

use crds::{OfferStatus, Res};
use matchmaker::{Ask, Usage};

/// What is taken of an offer.
pub fn usage(status: Option<&OfferStatus>) -> Usage {
    usage_without(status, "")
}

/// What is taken of an offer by all Matches but this one (by uid): a gang that is looked at again does not stand in its
/// own way.
pub fn usage_without(status: Option<&OfferStatus>, match_uid: &str) -> Usage {
    let Some(status) = status else { return Usage::default() };
    let mut usage = Usage { outside: status.outside.clone(), ..Usage::default() };
    for (uid, entry) in &status.claims {
        if uid == match_uid {
            continue;
        }
        match &entry.share {
            None => usage.take(&Ask { takes: entry.takes.clone(), share: None }),
            Some(key) => {
                let held = status.shared.get(key).unwrap_or(&entry.takes).clone();
                usage.take(&Ask { takes: held, share: Some(key.clone()) });
            }
        }
    }
    usage
}

/// What is taken of what there is: `3/10 seats`, `1/1 slots`, `4/8 cpus, 1024/2048 memory`.
pub fn used_text(capacity: &Res, usage: &Usage) -> String {
    let one = |(name, all): (&String, &i64)| {
        format!("{}/{all} {name}", usage.used(name).saturating_sub(outside(usage, name)))
    };
    capacity.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn outside(usage: &Usage, name: &str) -> i64 {
    usage.outside.get(name).copied().unwrap_or(0)
}
