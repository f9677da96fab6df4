//! An object into its ad with the ports taken apart, or into the reason why it has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use classad::{Expr, Never, never_true};
use crds::ad::{Advertised, Rejected, Size};
use crds::conditions::reasons;
use crds::{AdFields, AdKind, Job, License, Machine, OfferKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use matchmaker::{PoolAd, Ports, Role};

use crate::key::ObjectKey;
use crate::snapshot::ad_key;

/// An ad that was accepted.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// The ad, its ports taken apart.
    pub ports: Arc<Ports>,
    /// A License's `sharedBy`.
    pub shared_by: Option<Expr>,
    /// What its author should know, though it is no reason to reject the ad.
    pub warnings: Vec<String>,
    /// A job as the engine sees it, which depends on nothing else.
    pub(crate) asks: Option<Arc<PoolAd>>,
}

/// A kind whose objects carry an ad.
pub trait Advertises: ResourceExt + PartialEq {
    /// The kind.
    const KIND: AdKind;

    /// Its ad.
    ///
    /// # Errors
    /// The object's text is no ad; the message says where and what to write instead.
    fn advertise(&self) -> Result<Advertised, Rejected>;

    /// What claims on it share a seat by.
    ///
    /// # Errors
    /// `sharedBy` is no expression.
    fn shared_by(&self) -> Result<Option<Expr>, Rejected> {
        Ok(None)
    }

    /// Takes out who is said to own it.
    fn disown(&mut self);

    /// The node that it is, if any.
    fn node(&self) -> Option<&str> {
        None
    }

    /// Whether it wants something started for it.
    fn wants_work(&self) -> bool {
        false
    }

    /// How the engine sees it, if that depends on nothing but its ad.
    fn asks(&self, _ports: &Arc<Ports>) -> Option<PoolAd> {
        None
    }

    /// How large its text is.
    fn size(&self) -> Size;

    /// Takes out what an ad is made of, and all else that may be large: what is left is enough for the claims that stand.
    fn strip(&mut self);

    /// Whether the ad of `self` is that of `other`: nothing that it is made of has changed.
    fn same_ad(&self, other: &Self) -> bool;
}

impl Advertises for Job {
    const KIND: AdKind = AdKind::Job;

    fn advertise(&self) -> Result<Advertised, Rejected> {
        crds::ad::job_ad(self)
    }

    fn disown(&mut self) {
        self.spec.ad.owner = None;
    }

    fn wants_work(&self) -> bool {
        self.spec.workload.is_some()
    }

    fn asks(&self, ports: &Arc<Ports>) -> Option<PoolAd> {
        let (key, uid) = (ad_key(Job::KIND, &ObjectKey::of(self)), self.uid().unwrap_or_default());
        Some(PoolAd { key, uid, node_name: None, ports: ports.clone(), role: Role::Asks })
    }

    fn size(&self) -> Size {
        Size::of_job(self)
    }

    fn strip(&mut self) {
        strip_metadata(&mut self.metadata);
        strip_fields(&mut self.spec.ad);
        self.spec.gang_rank = None;
        if let Some(workload) = &mut self.spec.workload {
            workload.job_template.iter_mut().for_each(BTreeMap::clear);
            workload.env.clear();
        }
    }

    fn same_ad(&self, other: &Self) -> bool {
        self.uid() == other.uid() && self.labels() == other.labels() && self.spec == other.spec
    }
}

impl Advertises for Machine {
    const KIND: AdKind = AdKind::Offer(OfferKind::Machine);

    fn advertise(&self) -> Result<Advertised, Rejected> {
        crds::ad::machine_ad(self)
    }

    fn disown(&mut self) {
        self.spec.ad.owner = None;
    }

    fn node(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }

    fn size(&self) -> Size {
        Size::of_offer(self)
    }

    fn strip(&mut self) {
        strip_metadata(&mut self.metadata);
        strip_fields(&mut self.spec.ad);
        self.spec.offer.dynamic_attributes.clear();
        self.status.iter_mut().for_each(|status| status.attributes.clear());
    }

    fn same_ad(&self, other: &Self) -> bool {
        let published = |object: &Machine| object.status.as_ref().map(|status| status.attributes.clone());
        self.uid() == other.uid()
            && self.labels() == other.labels()
            && self.spec == other.spec
            && published(self).unwrap_or_default() == published(other).unwrap_or_default()
    }
}

impl Advertises for License {
    const KIND: AdKind = AdKind::Offer(OfferKind::License);

    fn advertise(&self) -> Result<Advertised, Rejected> {
        crds::ad::license_ad(self)
    }

    fn shared_by(&self) -> Result<Option<Expr>, Rejected> {
        crds::ad::shared_by(self)
    }

    fn disown(&mut self) {
        self.spec.ad.owner = None;
    }

    fn size(&self) -> Size {
        Size::of_offer(self)
    }

    fn strip(&mut self) {
        strip_metadata(&mut self.metadata);
        strip_fields(&mut self.spec.ad);
        self.spec.shared_by = None;
        self.spec.offer.dynamic_attributes.clear();
        self.status.iter_mut().for_each(|status| status.attributes.clear());
    }

    fn same_ad(&self, other: &Self) -> bool {
        let published = |object: &License| object.status.as_ref().map(|status| status.attributes.clone());
        self.uid() == other.uid()
            && self.labels() == other.labels()
            && self.spec == other.spec
            && published(self).unwrap_or_default() == published(other).unwrap_or_default()
    }
}

/// Of lists that may be long, so much is kept.
const KEPT_MAX: usize = 16;

fn strip_metadata(metadata: &mut ObjectMeta) {
    metadata.annotations = None;
    metadata.labels.iter_mut().for_each(|labels| labels.retain(|name, _| name.starts_with(crds::GROUP)));
    metadata.finalizers.iter_mut().for_each(|names| names.truncate(KEPT_MAX));
    metadata.owner_references.iter_mut().for_each(|owners| owners.truncate(KEPT_MAX));
}

fn strip_fields(fields: &mut AdFields) {
    *fields = AdFields { owner: fields.owner.take(), ..AdFields::default() };
}

/// The ad of an object, ready to be matched.
///
/// # Errors
/// The object's text is no ad, its ports are none, or `sharedBy` does not parse.
pub(crate) fn prepare<K: Advertises>(object: &K) -> Result<Prepared, Rejected> {
    let advertised = object.advertise()?;
    let ports = Ports::of(&advertised.ad);
    if let Some(problem) = &ports.problem {
        return Err(Rejected { reason: reasons::INVALID_PORT, message: problem.clone() });
    }
    for port in ports.list.iter() {
        if let Some(never) = port.constraint.as_ref().and_then(never_true) {
            let message = format!("port `{}`: the constraint can never be true: {}", port.label, because(&never));
            return Err(Rejected { reason: reasons::NEVER_TRUE, message });
        }
    }
    let ports = Arc::new(ports);
    let asks = object.asks(&ports).map(Arc::new);
    Ok(Prepared { ports, shared_by: object.shared_by()?, warnings: advertised.warnings, asks })
}

fn because(never: &Never) -> String {
    match never {
        Never::Constant { condition, value } => format!("`{condition}` is always {value}"),
        Never::Impossible { condition } => {
            format!(
                "`{condition}` is true of no value; to ask whether there is one, write `is undefined` or `isnt undefined`"
            )
        }
        Never::Contradiction { first, second, .. } => format!("`{first}` and `{second}` exclude each other; drop one"),
        Never::Alternatives { condition } => format!("no alternative of `{condition}` can be true"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(constraint: &str) -> Rejected {
        let spec = crds::JobSpec {
            ad: crds::AdFields { constraint: serde_json::from_value(constraint.into()).ok(), ..Default::default() },
            ..Default::default()
        };
        prepare(&Job::new("j", spec)).unwrap_err()
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
            let rejected = rejected(constraint);
            assert_eq!(rejected.reason, reasons::NEVER_TRUE);
            assert_eq!(rejected.message, format!("port `other`: the constraint can never be true: {because}"));
        }
    }
}
