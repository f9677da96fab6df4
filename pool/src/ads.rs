//! An object into its ad with the ports taken apart, or into the reason why it has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use classad::{Expr, Never, is_condition, never_true};
use crds::ad::{Advertised, NotAccepted, Size};
use crds::conditions::{is_true, reasons, types};
use crds::{AdFields, AdKind, Job, License, Machine, Offer, OfferFields, OfferKind, OfferStatus};
use kube::ResourceExt;
use kube::core::object::HasSpec;
use matchmaker::{EXCERPT_MAX, PoolAd, Port, Ports, Role};
use serde_json::Value;

use crate::key::{ObjectKey, ad_key};

/// An ad that was accepted.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The ad, its ports taken apart.
    pub ports: Arc<Ports>,
    /// A License's `sharedBy`.
    pub shared_by: Option<Expr>,
    /// What a claim on an offer costs: its `chargeWeight`.
    pub charge_weight: Option<Expr>,
    /// Warnings for the author: they are no reason to reject the ad.
    pub warnings: Vec<String>,
    /// The ad of a job as the engine sees it; `None` for an offer, whose ad also depends on other objects.
    pub(crate) root: Option<Arc<PoolAd>>,
}

/// A kind whose objects have ads, and how each becomes an ad.
pub trait Advertises: ResourceExt<DynamicType = ()> + HasSpec<Spec: PartialEq> + Clone + PartialEq {
    /// The kind.
    const KIND: AdKind;

    /// The ad of the object.
    ///
    /// # Errors
    /// The object's text is no ad; the message says where and what to write instead.
    fn advertise(&self) -> Result<Advertised, NotAccepted>;

    /// The fields in which the ad is written.
    fn ad_fields_mut(&mut self) -> &mut AdFields;

    /// What an agent has published of it, which is part of the ad.
    fn published(&self) -> Option<&BTreeMap<String, Value>> {
        None
    }

    /// The name of the node that it stands for, if any.
    fn node(&self) -> Option<&str> {
        None
    }

    /// Whether a workload is to be started for it.
    fn has_workload(&self) -> bool {
        false
    }

    /// The ad of a root as the engine sees it, which depends on nothing but the object; `None` for an offer.
    fn root_ad(&self, _ports: &Arc<Ports>) -> Option<PoolAd> {
        None
    }

    /// How large its text is.
    fn size(&self) -> Size;

    /// Clears what may be large and only this kind has.
    fn strip_own(&mut self);

    /// Clears what the ad is made of, and everything else that may be large. What is left is enough for existing claims.
    fn strip(&mut self) {
        let metadata = self.meta_mut();
        metadata.annotations = None;
        metadata.labels.iter_mut().for_each(|labels| labels.retain(|name, _| name.starts_with(crds::GROUP)));
        metadata.finalizers.iter_mut().for_each(|names| names.truncate(LIST_MAX));
        metadata.owner_references.iter_mut().for_each(|owners| owners.truncate(LIST_MAX));
        let fields = self.ad_fields_mut();
        *fields = AdFields { owner: fields.owner.take(), ..AdFields::default() };
        self.strip_own();
    }

    /// Whether a cycle sees no difference between two states of this object: at most what is reported on it differs.
    fn differs_in_report_only(&self, _other: &Self) -> bool {
        false
    }

    /// Whether both have the same ad: nothing that it is made of differs.
    fn same_ad(&self, other: &Self) -> bool {
        self.uid() == other.uid()
            && self.labels() == other.labels()
            && self.spec() == other.spec()
            && self.published().filter(|all| !all.is_empty()) == other.published().filter(|all| !all.is_empty())
    }
}

impl Advertises for Job {
    const KIND: AdKind = AdKind::Job;

    fn advertise(&self) -> Result<Advertised, NotAccepted> {
        crds::ad::job_ad(self)
    }

    fn ad_fields_mut(&mut self) -> &mut AdFields {
        &mut self.spec.ad
    }

    fn has_workload(&self) -> bool {
        self.spec.workload.is_some()
    }

    fn root_ad(&self, ports: &Arc<Ports>) -> Option<PoolAd> {
        let (key, uid) = (ad_key(Job::KIND, &ObjectKey::of(self)), self.uid().unwrap_or_default());
        Some(PoolAd { key, uid, node_name: None, ports: ports.clone(), role: Role::Asks })
    }

    fn differs_in_report_only(&self, other: &Self) -> bool {
        let metadata = |job: &Job| (job.metadata.deletion_timestamp.is_some(), job.metadata.annotations.clone());
        self.same_ad(other) && metadata(self) == metadata(other) && facts(self) == facts(other)
    }

    fn size(&self) -> Size {
        Size::of_job(self)
    }

    fn strip_own(&mut self) {
        self.spec.gang_rank = None;
        if let Some(workload) = &mut self.spec.workload {
            workload.job_template.iter_mut().for_each(BTreeMap::clear);
            workload.env.clear();
        }
    }
}

impl Advertises for Machine {
    const KIND: AdKind = AdKind::Offer(OfferKind::Machine);

    fn advertise(&self) -> Result<Advertised, NotAccepted> {
        crds::ad::machine_ad(self)
    }

    fn ad_fields_mut(&mut self) -> &mut AdFields {
        &mut self.spec.ad
    }

    fn published(&self) -> Option<&BTreeMap<String, Value>> {
        self.status.as_ref().map(|status| &status.attributes)
    }

    fn node(&self) -> Option<&str> {
        self.node_name()
    }

    fn size(&self) -> Size {
        Size::of_offer(self)
    }

    fn strip_own(&mut self) {
        strip_offer(&mut self.spec.offer, &mut self.status);
    }
}

impl Advertises for License {
    const KIND: AdKind = AdKind::Offer(OfferKind::License);

    fn advertise(&self) -> Result<Advertised, NotAccepted> {
        crds::ad::license_ad(self)
    }

    fn ad_fields_mut(&mut self) -> &mut AdFields {
        &mut self.spec.ad
    }

    fn published(&self) -> Option<&BTreeMap<String, Value>> {
        self.status.as_ref().map(|status| &status.attributes)
    }

    fn size(&self) -> Size {
        Size::of_offer(self)
    }

    fn strip_own(&mut self) {
        self.spec.shared_by = None;
        strip_offer(&mut self.spec.offer, &mut self.status);
    }
}

/// What of a job's status is not only said to people.
fn facts(job: &Job) -> Option<impl PartialEq + '_> {
    let status = job.status.as_ref()?;
    let finished = is_true(&status.conditions, types::FINISHED) || status.finished_at.is_some();
    Some((&status.claim, status.attempts, &status.refusals, &status.workload, &status.started_at, finished))
}

/// How many items of a list that may be long are kept of a stripped object.
const LIST_MAX: usize = 16;

fn strip_offer(fields: &mut OfferFields, status: &mut Option<OfferStatus>) {
    fields.dynamic_attributes.clear();
    fields.charge_weight = None;
    status.iter_mut().for_each(|status| status.attributes.clear());
}

/// Makes the ad of an object, and takes its ports apart.
///
/// # Errors
/// The object's text is no ad, a port is not well formed or can never be matched, or `sharedBy` does not parse.
pub(crate) fn prepare<K: Advertises>(object: &K) -> Result<Prepared, NotAccepted> {
    let advertised = object.advertise()?;
    let ports = Ports::of(&advertised.ad);
    if let Some(problem) = &ports.problem {
        return Err(NotAccepted { reason: reasons::INVALID_PORT, message: problem.clone() });
    }
    for port in ports.list.iter() {
        let of_set = port.set.as_ref().and_then(|set| set.constraint.as_ref());
        for (name, constraint) in [("constraint", port.constraint.as_ref()), ("group constraint", of_set)] {
            if let Some(never) = constraint.and_then(never_true) {
                let message = format!("port `{}`: the {name} can never be true: {}", port.label, because(&never));
                return Err(NotAccepted { reason: reasons::NEVER_TRUE, message });
            }
        }
    }
    let Advertised { shared_by, charge_weight, mut warnings, .. } = advertised;
    warnings.extend(ports.list.iter().filter_map(rank_without_effect));
    let own = |expr: Expr| ports.body.own_expression(&expr);
    let (shared_by, charge_weight) = (shared_by.map(own), charge_weight.map(own));
    let ports = Arc::new(ports);
    let root = object.root_ad(&ports).map(Arc::new);
    Ok(Prepared { ports, shared_by, charge_weight, warnings, root })
}

/// HTCondor counts a rank that is true as 1; here, as in the papers, only numbers count.
fn rank_without_effect(port: &Port) -> Option<String> {
    let rank = port.rank.as_ref().filter(|rank| is_condition(rank))?;
    let text = rank.excerpt(EXCERPT_MAX);
    Some(format!("port `{}`: the rank `{text}` is a boolean, which counts as 0; write `({text}) ? 1 : 0`", port.label))
}

fn because(never: &Never) -> String {
    match never {
        Never::Constant { condition, value } => format!("`{condition}` is always {value}"),
        Never::Impossible { condition } => {
            format!(
                "`{condition}` is true of no value; to ask whether there is one, write `is undefined` or `isnt undefined`"
            )
        }
        Never::Contradiction { first, second } => format!("`{first}` and `{second}` exclude each other; drop one"),
        Never::Alternatives { condition } => format!("no alternative of `{condition}` can be true"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn problem(constraint: &str) -> NotAccepted {
        let spec = crds::JobSpec {
            ad: crds::AdFields { constraint: serde_json::from_value(constraint.into()).ok(), ..Default::default() },
            ..Default::default()
        };
        prepare(&Job::new("j", spec)).unwrap_err()
    }

    #[test]
    fn b14_what_is_only_reported_on_a_job_makes_no_cycle_due() {
        let job: Job =
            serde_json::from_value(json!({"metadata": {"name": "j", "namespace": "n", "uid": "u"}, "spec": {},
            "status": {"phase": "Pending"}}))
            .unwrap();
        let with = |part: &str, value: Value| {
            let mut all = serde_json::to_value(&job).unwrap();
            *all.pointer_mut(part).unwrap() = value;
            serde_json::from_value::<Job>(all).unwrap()
        };
        let told = json!({"phase": "Pending", "why": "no machine", "observedGeneration": 3, "conditions": [
            {"type": "Matched", "status": "False", "reason": "NoOffer", "message": "", "lastTransitionTime": "2026-11-23T00:00:00Z"}]});
        assert!(job.differs_in_report_only(&with("/status", told)));
        for (part, value) in [
            ("/status", json!({"claim": {"uid": "m", "match": "m"}})),
            ("/status", json!({"attempts": 1})),
            ("/status", json!({"finishedAt": "2026-11-23T00:00:00Z"})),
            ("/metadata", json!({"name": "j", "namespace": "n", "uid": "v"})),
            ("/metadata", json!({"name": "j", "namespace": "n", "uid": "u", "labels": {"a": "b"}})),
            (
                "/metadata",
                json!({"name": "j", "namespace": "n", "uid": "u", "deletionTimestamp": "2026-11-23T00:00:00Z"}),
            ),
            ("/spec", json!({"suspend": true})),
        ] {
            assert!(!job.differs_in_report_only(&with(part, value.clone())), "{value}");
        }
    }

    #[test]
    fn what_can_never_be_true_of_a_set_is_not_waited_for() {
        let spec = json!({"ports": [{"label": "node", "count": 2, "groupConstraint": "size(node) == 2 && 1 > 2"}]});
        let problem = prepare(&Job::new("j", serde_json::from_value(spec).unwrap())).unwrap_err();
        let message = "port `node`: the group constraint can never be true: `1 > 2` is always false";
        assert_eq!((problem.reason, problem.message.as_str()), (reasons::NEVER_TRUE, message));
    }

    #[test]
    fn what_can_never_be_true_is_not_waited_for() {
        for (constraint, because) in [
            (
                "other.Memory > 5 && other.Memory < 3",
                "`other.Memory > 5` and `other.Memory < 3` exclude each other; drop one",
            ),
            ("1 > 2", "`1 > 2` is always false"),
        ] {
            let problem = problem(constraint);
            assert_eq!(problem.reason, reasons::NEVER_TRUE);
            assert_eq!(problem.message, format!("port `other`: the constraint can never be true: {because}"));
        }
    }
}
