//! For which jobs offers are held that a job could have. Jobs of other namespaces are counted, and not named.

use jiff::Timestamp;
use matchmaker::{AdId, Config, StoredReservation};
use pool::ObjectKey;

use super::answer::ReservedAnswer;
use super::case::Case;
use crate::amounts::listed;

/// For which jobs the offers are held that a waiting root would have; none if it would have no gang without that.
pub(crate) fn reserved_answer(case: &mut Case<'_>, root: AdId, key: &ObjectKey) -> Option<ReservedAnswer> {
    let config = Config { explains: false, ..case.config.clone() };
    let now = case.now.as_second();
    let keeping = case.reserved.keeping(root, (&case.snapshot, &case.cycle), (&config, now), &mut case.finder);
    if keeping.is_empty() {
        return None;
    }
    let nominees = || keeping.iter().filter_map(|one| case.snapshot.ad(one.root)).map(|ad| &ad.key);
    let mut own: Vec<String> = nominees()
        .filter(|job| job.namespace == key.namespace)
        .map(|job| format!("{}/{}", job.namespace, job.name))
        .collect();
    own.sort();
    let others = keeping.len() - own.len();
    let free_at: Option<Vec<i64>> = keeping.iter().map(|one: &&StoredReservation| one.free_at).collect();
    let until = free_at.and_then(|all| Timestamp::from_second(all.into_iter().max()?).ok());
    let mut answer = ReservedAnswer { own, others, until: until.map(|at| at.to_string()), message: String::new() };
    answer.message = sentence(&answer);
    Some(answer)
}

/// `eda/big`, `eda/big and 2 jobs of other namespaces`
fn nominees(answer: &ReservedAnswer) -> String {
    let mut all = answer.own.clone();
    match answer.others {
        0 => {}
        1 => all.push("1 job of another namespace".to_owned()),
        others => all.push(format!("{others} jobs of other namespaces")),
    }
    listed(&all)
}

fn sentence(answer: &ReservedAnswer) -> String {
    let has = if answer.own.len() + answer.others == 1 { "has" } else { "have" };
    let held = format!("Offers that it could have are held for {}, which {has} waited long.", nominees(answer));
    match &answer.until {
        Some(until) => format!(
            "{held} They are free at {until} at the latest; until then, a job may use them if its activeDeadlineSeconds \
             and reserveTimeoutSeconds end before that."
        ),
        None => format!("{held} It is not known when all of them are free, so no job uses them meanwhile."),
    }
}
