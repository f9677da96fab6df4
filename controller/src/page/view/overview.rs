//! The pool at a glance, as far as a viewer may see it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crds::conditions;
use crds::conditions::{reasons, types};

use super::jobs::{JobRow, PHASES, phase, place, row};
use super::offers::{Amount, OfferRow, license_row, state, taken};
use super::visible;
use crate::page::picture::Picture;
use crate::page::sight::{Kind, Sight};

/// How many rows of each list the overview has.
const ROWS: usize = 12;

/// What the first page shows; a part is none if the viewer may list nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Overview {
    pub(crate) jobs: Option<JobsPart>,
    pub(crate) licenses: Option<LicensesPart>,
    pub(crate) machines: Option<MachinesPart>,
}

/// The jobs: how many, in which phases, and why some wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JobsPart {
    pub(crate) total: usize,
    /// Phases in their order, with the number of jobs; those without jobs are left out.
    pub(crate) phases: Vec<(String, usize)>,
    /// The reasons of jobs that wait, most frequent first.
    pub(crate) reasons: Vec<(String, usize)>,
    /// The jobs at the head of the queue.
    pub(crate) first: Vec<JobRow>,
}

/// The Licenses: how many, and how many of their seats are taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LicensesPart {
    pub(crate) total: usize,
    pub(crate) seats: Amount,
    /// Those of which most is taken.
    pub(crate) fullest: Vec<OfferRow>,
}

/// The Machines: how many, in which states, and how much of their capacity is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MachinesPart {
    pub(crate) total: usize,
    pub(crate) states: Vec<(String, usize)>,
    /// The sums of the resources that most machines have.
    pub(crate) amounts: Vec<Amount>,
}

/// The overview of one namespace, or of all that the viewer may see.
pub(crate) fn overview(picture: &Picture, sight: &Sight, namespace: Option<&str>) -> Overview {
    Overview {
        jobs: sight.sees_some(Kind::Job).then(|| jobs(picture, sight, namespace)),
        licenses: sight.sees_some(Kind::License).then(|| licenses(picture, sight, namespace)),
        machines: sight.sees_some(Kind::Machine).then(|| machines(picture, sight, namespace)),
    }
}

fn jobs(picture: &Picture, sight: &Sight, namespace: Option<&str>) -> JobsPart {
    let (mut phases, mut reasons) = (BTreeMap::<&str, usize>::new(), BTreeMap::<String, usize>::new());
    let (mut total, mut waiting) = (0, Vec::new());
    for job in visible(&picture.jobs, Kind::Job, sight, namespace) {
        total += 1;
        let phase = phase(job);
        *phases.entry(phase).or_default() += 1;
        if matches!(phase, "New" | "Pending") {
            let matched = job.status.as_ref().map(|status| &status.conditions);
            let matched = matched.and_then(|all| conditions::find(all, types::MATCHED));
            let reason =
                matched.map_or_else(|| reasons::PENDING_EVALUATION.to_owned(), |matched| matched.reason.clone());
            *reasons.entry(reason).or_default() += 1;
            waiting.push(job);
        }
    }
    waiting.sort_by_cached_key(|job| place(job));
    let shown = |name: &&str| phases.get(name).map(|count| ((*name).to_owned(), *count));
    JobsPart {
        total,
        phases: PHASES.iter().filter_map(shown).collect(),
        reasons: most_frequent(reasons),
        first: waiting.into_iter().take(ROWS).map(|job| row(job, picture.taken_at)).collect(),
    }
}

fn most_frequent(counts: BTreeMap<String, usize>) -> Vec<(String, usize)> {
    let mut all: Vec<(String, usize)> = counts.into_iter().collect();
    all.sort_by_key(|(_, count)| Reverse(*count));
    all
}

fn licenses(picture: &Picture, sight: &Sight, namespace: Option<&str>) -> LicensesPart {
    let here = visible(&picture.licenses, Kind::License, sight, namespace);
    let mut all: Vec<_> = here.map(|license| (license, taken(license))).collect();
    let mut seats = Amount { resource: "seats".to_owned(), all: 0, claimed: 0, external: 0 };
    for amount in all.iter().flat_map(|(_, amounts)| amounts).filter(|amount| amount.resource == "seats") {
        add(&mut seats, amount);
    }
    // Whole thousandths: numbers without an order do not sort.
    let share = |amounts: &[Amount]| {
        let seats = amounts.iter().find(|amount| amount.resource == "seats");
        seats.map_or(0, |seats| (seats.claimed.saturating_add(seats.external)).saturating_mul(1000) / seats.all.max(1))
    };
    all.sort_by_cached_key(|(_, amounts)| Reverse(share(amounts)));
    let fullest = all.iter().take(ROWS).map(|(license, _)| license_row(license, picture)).collect();
    LicensesPart { total: all.len(), seats, fullest }
}

fn machines(picture: &Picture, sight: &Sight, namespace: Option<&str>) -> MachinesPart {
    let here = visible(&picture.machines, Kind::Machine, sight, namespace);
    let (mut total, mut states) = (0, BTreeMap::<String, usize>::new());
    let mut sums = BTreeMap::<String, (usize, Amount)>::new();
    for machine in here {
        total += 1;
        *states.entry(state(machine)).or_default() += 1;
        for amount in taken(machine) {
            let none = || (0, Amount { all: 0, claimed: 0, external: 0, ..amount.clone() });
            let (count, sum) = sums.entry(amount.resource.clone()).or_insert_with(none);
            *count += 1;
            add(sum, &amount);
        }
    }
    let mut sums: Vec<(usize, Amount)> = sums.into_values().collect();
    sums.sort_by_key(|(count, _)| Reverse(*count));
    let amounts = sums.into_iter().take(4).map(|(_, sum)| sum).collect();
    MachinesPart { total, states: most_frequent(states), amounts }
}

fn add(sum: &mut Amount, amount: &Amount) {
    sum.all = sum.all.saturating_add(amount.all);
    sum.claimed = sum.claimed.saturating_add(amount.claimed);
    sum.external = sum.external.saturating_add(amount.external);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::page::sight::Allowed;
    use crate::testing::fixtures::world;

    #[test]
    fn each_part_is_there_for_those_who_may_list_its_kind() {
        let objects = world(&json!({"decision": "Committed"}));
        let picture = Picture::of(&objects, std::sync::Arc::default(), jiff::Timestamp::UNIX_EPOCH);
        let here = Allowed::In(BTreeSet::from(["ns".to_owned()]));
        let mut sight = Sight::default();
        assert_eq!(overview(&picture, &sight, None), Overview::default());
        sight.allowed.insert(Kind::License, here.clone());
        let seen = overview(&picture, &sight, None);
        assert_eq!((seen.jobs, seen.machines), (None, None));
        let licenses = seen.licenses.unwrap();
        assert_eq!((licenses.total, licenses.seats.claimed, licenses.seats.all), (1, 1, 1));
        sight.allowed.insert(Kind::Job, here);
        let jobs = overview(&picture, &sight, None).jobs.unwrap();
        assert_eq!((jobs.total, jobs.reasons), (1, vec![("PendingEvaluation".to_owned(), 1)]));
        assert_eq!(overview(&picture, &sight, Some("other")).jobs.unwrap().total, 0);
    }
}
