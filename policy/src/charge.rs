//! What claims cost while they are held.

use std::collections::BTreeMap;

use crate::amounts::{Amount, LEAST_CHARGE};

/// What a Match records of a claim for accounting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// When it was committed, in seconds.
    pub from: i64,
    /// When its last entry was freed; absent while it is held.
    pub to: Option<i64>,
    /// What each of its offers costs.
    pub members: Vec<MemberCharge>,
}

/// What one offer of a claim costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberCharge {
    /// The offer.
    pub offer: String,
    /// In micros.
    pub charge: Amount,
    /// The share key, if the seat can be held together with other claims.
    pub share: Option<String>,
}

impl Claim {
    /// The same claim, in which times that are ahead count as now: another leader's clock was wrong.
    #[must_use]
    pub fn by(self, now: i64) -> Claim {
        Claim { from: self.from.min(now), to: self.to.map(|to| to.min(now)), ..self }
    }

    /// Whether it is held at a time: from its start until before its end.
    pub(crate) fn is_held(&self, time: i64) -> bool {
        self.from <= time && self.to.is_none_or(|to| time < to)
    }
}

/// What the claims of one account cost together, in micros. A seat that some of them share is paid once, with the largest of their
/// charges; all together cost at least 1000 micros for each claim.
#[must_use]
pub fn charge<'c>(claims: impl IntoIterator<Item = &'c Claim>) -> Amount {
    let (mut alone, mut least) = (0, 0);
    let mut shared: BTreeMap<(&str, &str), Amount> = BTreeMap::new();
    for claim in claims {
        least += LEAST_CHARGE;
        for member in &claim.members {
            match &member.share {
                None => alone += member.charge,
                Some(key) => {
                    let seat = shared.entry((&member.offer, key)).or_default();
                    *seat = member.charge.max(*seat);
                }
            }
        }
    }
    least.max(alone + shared.values().sum::<Amount>())
}
