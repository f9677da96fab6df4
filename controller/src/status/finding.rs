//! What a cycle found about a job that it could not match, into the words of the job's status.

use crds::{Unmatched, UnmatchedConjunct, UnmatchedPort};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use matchmaker::Verdict;
use pool::{Obstacle, explained};

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
            && counts.preemption == other.counts.preemption
    }
}

/// How many characters the sentence may have.
pub(crate) const WHY_MAX: usize = 256;
const CONJUNCTS_MAX: usize = 16;
const PORTS_MAX: usize = 8;

/// The engine's answer in the terms of the API, with the offers that stand in the way. Where these are not known, it says that `closed`
/// offers were not tried.
pub(crate) fn finding(
    unmatched: &matchmaker::Unmatched,
    obstacles: Option<&[Obstacle]>,
    closed: usize,
    now: Timestamp,
) -> Finding {
    let ports = unmatched.ports.iter().take(PORTS_MAX);
    let conjuncts = ports.clone().flat_map(|port| {
        let parts = port.conjuncts.iter().filter(|part| part.rejects > 0);
        parts.map(|part| UnmatchedConjunct {
            port: port.label.clone(),
            text: cut(&part.text, 256),
            rejects: count(part.rejects),
        })
    });
    let said = explained(unmatched, obstacles.unwrap_or_default());
    let counts = Unmatched {
        at: Some(Time(now)),
        conjuncts: conjuncts.take(CONJUNCTS_MAX).collect(),
        ports: ports
            .map(|port| UnmatchedPort {
                label: port.label.clone(),
                candidates: count(port.candidates),
                refused_by_job: count(port.refused_by_job),
                refused_by_offer: count(port.refused_by_offer.ads + port.too_small.ads + port.incomplete),
                busy: count(port.busy.saturating_add(port.excluded)),
                need: port.set.as_ref().map(|set| count(set.need)),
                largest: port.set.as_ref().map(|set| count(set.largest)),
            })
            .collect(),
        hint: Some(cut(&said.hint, 512)).filter(|hint| !hint.is_empty()),
        preemption: None,
    };
    let (reason, why) = match obstacles {
        Some(_) => (said.reason, cut(&said.why, WHY_MAX)),
        None => (said.reason, with_closed(&said.why, &unmatched.verdict, closed)),
    };
    Finding { reason, why, counts }
}

/// The sentence, with the number of closed offers if there are no candidates.
fn with_closed(why: &str, verdict: &Verdict, closed: usize) -> String {
    if closed == 0 || !matches!(verdict, Verdict::NoCandidates { .. }) {
        return cut(why, WHY_MAX);
    }
    let are = if closed == 1 { "offer is" } else { "offers are" };
    let told = format!("; {closed} {are} not available and were not tried: see their condition Ready");
    format!("{}{told}", cut(why, WHY_MAX.saturating_sub(told.len())))
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
    fn closed_offers_are_told_of_where_there_are_no_others() {
        let (none, busy) = (Verdict::NoCandidates { port: 0 }, Verdict::WaitingForCapacity);
        let why = with_closed("nobody", &none, 2);
        assert_eq!(why, "nobody; 2 offers are not available and were not tried: see their condition Ready");
        assert_eq!(with_closed("nobody", &none, 0), "nobody");
        assert_eq!(with_closed("taken", &busy, 2), "taken");
        assert_eq!(with_closed(&"ü".repeat(300), &none, 1).chars().count(), 256);
    }
}
