//! What a cycle found about a job that it could not match, into the words of the job's status.

use crds::{Unmatched, UnmatchedConjunct, UnmatchedPort};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use pool::{ClosedMatches, matched_reason};

/// Why a job has no gang.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// The reason of its condition `Matched`.
    pub(crate) reason: &'static str,
    /// The same in one sentence.
    pub(crate) why: String,
    /// The counts.
    pub(crate) counts: Unmatched,
}

impl Finding {
    /// Whether the other one says the same, whenever it was found.
    pub(crate) fn says(&self, other: &Finding) -> bool {
        let Finding { reason, why, counts } = self;
        (*reason, why) == (other.reason, &other.why)
            && counts.conjuncts == other.counts.conjuncts
            && counts.ports == other.counts.ports
            && counts.hint == other.counts.hint
    }
}

const WHY_MAX: usize = 256;
const CONJUNCTS_MAX: usize = 16;
const PORTS_MAX: usize = 8;

/// The engine's answer in the terms of the API. `closed`: offers that would match if they accepted claims.
pub(crate) fn finding(unmatched: &matchmaker::Unmatched, closed: Option<ClosedMatches>, now: Timestamp) -> Finding {
    let ports = unmatched.ports.iter().take(PORTS_MAX);
    let conjuncts = ports.clone().flat_map(|port| {
        let parts = port.conjuncts.iter().filter(|part| part.rejects > 0);
        parts.map(|part| UnmatchedConjunct {
            port: port.label.clone(),
            text: cut(&part.text, 256),
            rejects: count(part.rejects),
        })
    });
    let told = closed.as_ref().map_or("", |closed| closed.told.as_str());
    let why = with_closed(&matchmaker::why(unmatched), told);
    let hint = closed.map_or_else(|| matchmaker::hint(unmatched), |closed| closed.hint);
    let counts = Unmatched {
        at: Some(Time(now)),
        conjuncts: conjuncts.take(CONJUNCTS_MAX).collect(),
        ports: ports
            .map(|port| UnmatchedPort {
                label: port.label.clone(),
                candidates: count(port.candidates),
                refused_by_job: count(port.refused_by_job),
                refused_by_offer: count(port.refused_by_offer + port.too_small + port.incomplete),
                busy: count(port.busy.saturating_add(port.excluded)),
            })
            .collect(),
        hint: Some(cut(&hint, 512)).filter(|hint| !hint.is_empty()),
    };
    Finding { reason: matched_reason(&unmatched.verdict), why, counts }
}

/// The sentence, and what is told of closed offers, which is not cut.
fn with_closed(why: &str, told: &str) -> String {
    format!("{}{told}", cut(why, WHY_MAX.saturating_sub(told.chars().count())))
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// At most this many characters, as the schema counts them.
pub(crate) fn cut(text: &str, characters_max: usize) -> String {
    if text.chars().count() <= characters_max {
        return text.to_owned();
    }
    text.chars().take(characters_max.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_closed_offers_is_not_cut() {
        let told = "; License eda/vcs would match, but accepts no claims now: see its condition Ready";
        assert_eq!(with_closed("none of 2 ads", told), format!("none of 2 ads{told}"));
        assert_eq!(with_closed("taken", ""), "taken");
        let long = with_closed(&"ü".repeat(300), told);
        assert!(long.chars().count() == 256 && long.ends_with(told), "{long}");
    }
}
