//! What is read of each kind. Kinds of gangmatch are read as a whole, as their schemas say; of Kubernetes' kinds only the used fields are.
//! Pods, workloads and Leases are read leniently: a running workload must not be lost because its author has written an unusual value.

use std::collections::BTreeMap;

use crds::{
    Account, AccountSpec, AccountStatus, Job, JobSpec, JobStatus, License, LicenseSpec, Machine, MachineClass,
    MachineClassSpec, MachineClassStatus, MachineSpec, Match, MatchSpec, MatchStatus, OfferStatus, PoolPolicy,
    PoolPolicySpec, PoolPolicyStatus,
};
use jiff::Timestamp;
use k8s_openapi::api::batch::v1::{Job as Batch, JobCondition, JobSpec as BatchSpec, JobStatus as BatchStatus};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::{
    Namespace, Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Pod, PodCondition, PodSchedulingGate,
    PodSpec, PodStatus, Taint,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use serde::{Deserialize, Deserializer};

use super::lenient::{As, Moment, lenient_fields};
use super::meta::{AllTexts, Meta, OwnTexts};
use super::{ObjectParts, ReadTrimmed};
use crate::job_set::{JobSet, JobSetCondition, JobSetSpec, JobSetStatus, ReplicatedJobStatus};

macro_rules! read_whole {
    ($kind:ty, $spec:ty, $status:ty) => {
        impl ReadTrimmed for $kind {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let ObjectParts { metadata, spec, status } =
                    ObjectParts::<OwnTexts, $spec, $status>::deserialize(from)?;
                Ok(Self { metadata: metadata.0.into(), spec, status })
            }
        }
    };
}

read_whole!(Job, JobSpec, JobStatus);
read_whole!(Machine, MachineSpec, OfferStatus);
read_whole!(License, LicenseSpec, OfferStatus);
read_whole!(Match, MatchSpec, MatchStatus);
read_whole!(MachineClass, MachineClassSpec, MachineClassStatus);
read_whole!(Account, AccountSpec, AccountStatus);
read_whole!(PoolPolicy, PoolPolicySpec, PoolPolicyStatus);

macro_rules! read_in_part {
    ($kind:ty, $texts:ty, $spec:ty, $status:ty) => {
        impl ReadTrimmed for $kind {
            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let parts = ObjectParts::<$texts, Option<$spec>, $status>::deserialize(from)?;
                let (spec, status) = (parts.spec.map(Into::into), parts.status.map(Into::into));
                Ok(Self { metadata: parts.metadata.0.into(), spec, status })
            }
        }
    };
}

read_in_part!(Pod, OwnTexts, As<PodFields>, As<PodStatusFields>);
read_in_part!(Batch, OwnTexts, As<BatchFields>, As<BatchStatusFields>);
read_in_part!(Node, OwnTexts, NodeFields, NodeStatusFields);

impl ReadTrimmed for Namespace {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let MetadataOnly { metadata } = MetadataOnly::deserialize(from)?;
        Ok(Namespace { metadata: metadata.0.into(), ..Namespace::default() })
    }
}

#[derive(Deserialize)]
struct MetadataOnly {
    #[serde(default)]
    metadata: As<Meta<OwnTexts>>,
}

/// It is written, too, so that all its annotations are kept.
impl ReadTrimmed for Lease {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let parts = ObjectParts::<AllTexts, Option<As<LeaseFields>>, serde::de::IgnoredAny>::deserialize(from)?;
        Ok(Lease { metadata: parts.metadata.0.into(), spec: parts.spec.map(Into::into) })
    }
}

impl ReadTrimmed for JobSet {
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let parts = ObjectParts::<OwnTexts, Option<As<JobSetSpec>>, As<JobSetStatus>>::deserialize(from)?;
        let (As(spec), status) = (parts.spec.unwrap_or_default(), parts.status.map(|As(status)| status));
        Ok(JobSet { metadata: parts.metadata.0.into(), spec, status })
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PodFields {
    scheduling_gates: As<Option<Vec<Named>>>,
    termination_grace_period_seconds: As<Option<i64>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    name: As<Option<String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PodStatusFields {
    conditions: As<Option<Vec<ConditionFields>>>,
    message: As<Option<String>>,
    phase: As<Option<String>>,
    reason: As<Option<String>>,
}

/// Of a condition of any kind.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ConditionFields {
    #[serde(rename = "type")]
    type_: As<Option<String>>,
    status: As<Option<String>>,
    message: As<Option<String>>,
}

impl ConditionFields {
    fn texts(self) -> (String, String, Option<String>) {
        (self.type_.0.unwrap_or_default(), self.status.0.unwrap_or_default(), self.message.0)
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BatchFields {
    suspend: As<Option<bool>>,
    managed_by: As<Option<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct BatchStatusFields {
    active: As<Option<i32>>,
    conditions: As<Option<Vec<ConditionFields>>>,
    failed: As<Option<i32>>,
    ready: As<Option<i32>>,
    start_time: As<Option<Moment<Time>>>,
    succeeded: As<Option<i32>>,
    terminating: As<Option<i32>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LeaseFields {
    acquire_time: As<Option<Moment<MicroTime>>>,
    holder_identity: As<Option<String>>,
    lease_duration_seconds: As<Option<i32>>,
    lease_transitions: As<Option<i32>>,
    renew_time: As<Option<Moment<MicroTime>>>,
}

lenient_fields!(PodFields, Named, PodStatusFields, ConditionFields, BatchFields, BatchStatusFields, LeaseFields);
lenient_fields!(JobSetSpec, JobSetStatus, JobSetCondition, ReplicatedJobStatus);

/// Nodes, which tenants do not write, are read strictly. Times, addresses, images, messages of conditions and all other fields that are
/// not listed here are left out.
#[derive(Deserialize)]
struct NodeFields {
    unschedulable: Option<bool>,
    taints: Option<Vec<TaintFields>>,
}

#[derive(Deserialize)]
struct TaintFields {
    key: String,
    value: Option<String>,
    effect: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NodeStatusFields {
    allocatable: Option<BTreeMap<String, Quantity>>,
    conditions: Option<Vec<NodeConditionFields>>,
    node_info: Option<NodeSystemInfo>,
}

#[derive(Deserialize)]
struct NodeConditionFields {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

impl From<As<PodFields>> for PodSpec {
    fn from(As(fields): As<PodFields>) -> PodSpec {
        let gate = |gate: Named| PodSchedulingGate { name: gate.name.0.unwrap_or_default() };
        PodSpec {
            scheduling_gates: fields.scheduling_gates.0.map(|all| all.into_iter().map(gate).collect()),
            termination_grace_period_seconds: fields.termination_grace_period_seconds.0,
            ..PodSpec::default()
        }
    }
}

impl From<As<PodStatusFields>> for PodStatus {
    fn from(As(fields): As<PodStatusFields>) -> PodStatus {
        let condition = |found: ConditionFields| {
            let (type_, status, message) = found.texts();
            PodCondition { type_, status, message, ..PodCondition::default() }
        };
        PodStatus {
            conditions: fields.conditions.0.map(|all| all.into_iter().map(condition).collect()),
            message: fields.message.0,
            phase: fields.phase.0,
            reason: fields.reason.0,
            ..PodStatus::default()
        }
    }
}

impl From<As<BatchFields>> for BatchSpec {
    fn from(As(fields): As<BatchFields>) -> BatchSpec {
        BatchSpec { suspend: fields.suspend.0, managed_by: fields.managed_by.0, ..BatchSpec::default() }
    }
}

impl From<As<BatchStatusFields>> for BatchStatus {
    fn from(As(fields): As<BatchStatusFields>) -> BatchStatus {
        let condition = |found: ConditionFields| {
            let (type_, status, message) = found.texts();
            JobCondition { type_, status, message, ..JobCondition::default() }
        };
        BatchStatus {
            active: fields.active.0,
            conditions: fields.conditions.0.map(|all| all.into_iter().map(condition).collect()),
            failed: fields.failed.0,
            ready: fields.ready.0,
            start_time: fields.start_time.0.map(|time| time.or(Time(Timestamp::UNIX_EPOCH))),
            succeeded: fields.succeeded.0,
            terminating: fields.terminating.0,
            ..BatchStatus::default()
        }
    }
}

impl From<As<LeaseFields>> for LeaseSpec {
    fn from(As(fields): As<LeaseFields>) -> LeaseSpec {
        LeaseSpec {
            acquire_time: fields.acquire_time.0.and_then(Moment::read),
            holder_identity: fields.holder_identity.0,
            lease_duration_seconds: fields.lease_duration_seconds.0,
            lease_transitions: fields.lease_transitions.0,
            renew_time: fields.renew_time.0.and_then(Moment::read),
            ..LeaseSpec::default()
        }
    }
}

impl From<NodeFields> for NodeSpec {
    fn from(fields: NodeFields) -> NodeSpec {
        let taint =
            |taint: TaintFields| Taint { key: taint.key, value: taint.value, effect: taint.effect, ..Taint::default() };
        NodeSpec {
            unschedulable: fields.unschedulable,
            taints: fields.taints.map(|all| all.into_iter().map(taint).collect()),
            ..NodeSpec::default()
        }
    }
}

impl From<NodeStatusFields> for NodeStatus {
    fn from(fields: NodeStatusFields) -> NodeStatus {
        let condition = |found: NodeConditionFields| NodeCondition {
            type_: found.type_,
            status: found.status,
            ..NodeCondition::default()
        };
        NodeStatus {
            allocatable: fields.allocatable,
            conditions: fields.conditions.map(|all| all.into_iter().map(condition).collect()),
            node_info: fields.node_info,
            ..NodeStatus::default()
        }
    }
}
