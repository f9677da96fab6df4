//! The offers that a job would be matched with if they accepted claims now, in a sentence.

use matchmaker::{AdId, Config, PoolAd, Snapshot, Unmatched, Verdict, inspect_offer};

/// What is said of them, beside the reason why a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosedMatches {
    /// A clause to be added to the reason: `; License eda/vcs would match, but accepts no claims now: see its condition Ready`.
    pub told: String,
    /// What can be done.
    pub hint: String,
}

/// How many of them are named.
const NAMED_MAX: usize = 2;

/// The offers that accept no claims now, and would match at the port at which the job finds none. `most` is how many offers may still be
/// looked at, for all jobs together; `may_name` says which of them may be named to the reader.
pub fn closed_matches(
    unmatched: &Unmatched,
    snapshot: &Snapshot,
    (config, now): (&Config, i64),
    most: &mut usize,
    may_name: &dyn Fn(&PoolAd) -> bool,
) -> Option<ClosedMatches> {
    let (Verdict::NoCandidates { port } | Verdict::RefusedByOffers { port }) = unmatched.verdict else { return None };
    let root = snapshot.ad(unmatched.root)?;
    let is_closed =
        |ad: &PoolAd| ad.offer().is_some_and(|offer| !offer.open && offer.consent.admits(&root.key.namespace));
    let mut found: Vec<&PoolAd> = Vec::new();
    for (id, ad) in snapshot.ads().filter(|(_, ad)| is_closed(ad)) {
        if *most == 0 {
            break;
        }
        *most -= 1;
        found.extend(would_match(snapshot, unmatched.root, (id, port), config, now).then_some(ad));
    }
    let names: Vec<String> =
        found.iter().filter(|ad| may_name(ad)).take(NAMED_MAX).map(|ad| ad.key.to_string()).collect();
    let told = match (found.len(), names.as_slice()) {
        (0, _) => return None,
        (1, [name]) => format!("; {name} would match, but accepts no claims now: see its condition Ready"),
        (1, _) => "; 1 offer would match, but accepts no claims now".to_owned(),
        (count, []) => format!("; {count} offers would match, but accept no claims now"),
        (count, names) if count == names.len() => {
            format!("; {} would match, but accept no claims now: see their condition Ready", names.join(" and "))
        }
        (count, names) => format!(
            "; {count} offers would match, such as {}, but accept no claims now: see their condition Ready",
            names.join(" and ")
        ),
    };
    Some(ClosedMatches { told, hint: "wait until the offer accepts claims again, or ask its owner".to_owned() })
}

fn would_match(snapshot: &Snapshot, root: AdId, (offer, port): (AdId, usize), config: &Config, now: i64) -> bool {
    inspect_offer(snapshot, root, offer, config, now).get(port).is_some_and(|(_, pair)| pair.agrees())
}
