//! The seats of Licenses over the last hours, in memory, with a bound on how much is kept.

use std::collections::{BTreeMap, VecDeque};

use crds::License;
use kube::ResourceExt;
use pool::{ObjectKey, usage};

/// How often the seats are looked at, in seconds.
pub(crate) const EVERY_SECONDS: u64 = 60;
/// How many samples are kept of a License: four hours.
pub(crate) const SAMPLES_MAX: usize = 240;
/// How many Licenses are followed, in all and in one namespace.
const LICENSES_MAX: usize = 1000;
const NAMESPACE_MAX: usize = 100;

/// The seats of a License at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SeatSample {
    /// How many there are.
    pub(crate) all: i64,
    /// How many are claimed.
    pub(crate) claimed: i64,
    /// How many are used outside the cluster.
    pub(crate) external: i64,
}

impl SeatSample {
    /// The seats of a License now.
    pub(crate) fn of(license: &License) -> SeatSample {
        let used = usage(license.status.as_ref());
        let external = used.external.get("seats").copied().unwrap_or(0);
        let all = license.spec.capacity.get("seats").copied().unwrap_or(0);
        SeatSample { all, claimed: used.used("seats").saturating_sub(external), external }
    }

    /// How many are taken.
    pub(crate) fn taken(self) -> i64 {
        self.claimed.saturating_add(self.external)
    }
}

/// The samples of the Licenses, oldest first. A License that was created again begins anew.
#[derive(Clone, Debug, Default)]
pub(crate) struct History {
    of_license: BTreeMap<ObjectKey, (String, VecDeque<SeatSample>)>,
}

impl History {
    /// Takes in the seats of all Licenses at one time; what is gone is forgotten.
    pub(crate) fn sample<'l>(&mut self, licenses: impl Iterator<Item = &'l License>) {
        let (mut kept, mut of_namespace) = (BTreeMap::new(), BTreeMap::<String, usize>::new());
        for license in licenses {
            let key = ObjectKey::of(license);
            let count = of_namespace.entry(key.namespace.clone()).or_default();
            *count += 1;
            if *count > NAMESPACE_MAX || kept.len() >= LICENSES_MAX {
                continue;
            }
            let uid = license.uid().unwrap_or_default();
            let before = self.of_license.remove(&key).filter(|(known, _)| *known == uid);
            let (_, mut samples) = before.unwrap_or_default();
            if samples.len() >= SAMPLES_MAX {
                samples.pop_front();
            }
            samples.push_back(SeatSample::of(license));
            kept.insert(key, (uid, samples));
        }
        self.of_license = kept;
    }

    /// The samples of a License, oldest first.
    pub(crate) fn of(&self, key: &ObjectKey) -> Vec<SeatSample> {
        self.of_license.get(key).map(|(_, samples)| samples.iter().copied().collect()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::fixtures::{entry, license};

    fn named(namespace: &str, name: &str, uid: &str) -> License {
        let mut license = license(&json!({"capacity": {"seats": 4}}), &entry("seats"));
        license.metadata.namespace = Some(namespace.to_owned());
        license.metadata.name = Some(name.to_owned());
        license.metadata.uid = Some(uid.to_owned());
        license
    }

    #[test]
    fn so_many_samples_are_kept_and_no_more() {
        let (mut history, one) = (History::default(), named("ns", "sim", "u"));
        (0..SAMPLES_MAX + 7).for_each(|_| history.sample(std::iter::once(&one)));
        let samples = history.of(&ObjectKey::new("ns", "sim"));
        assert_eq!(
            (samples.len(), samples.last()),
            (SAMPLES_MAX, Some(&SeatSample { all: 4, claimed: 1, external: 0 }))
        );
        history.sample(std::iter::once(&named("ns", "sim", "another")));
        assert_eq!(history.of(&ObjectKey::new("ns", "sim")).len(), 1, "it was created again");
        history.sample(std::iter::empty());
        assert!(history.of(&ObjectKey::new("ns", "sim")).is_empty());
    }

    #[test]
    fn one_namespace_does_not_crowd_out_the_others() {
        let mut history = History::default();
        let many: Vec<License> = (0..3000).map(|number| named("many", &format!("l{number:04}"), "u")).collect();
        let few = [named("other", "sim", "u")];
        history.sample(many.iter().chain(&few));
        assert_eq!(history.of_license.len(), NAMESPACE_MAX + 1);
        assert_eq!(history.of(&ObjectKey::new("other", "sim")).len(), 1);
    }
}
