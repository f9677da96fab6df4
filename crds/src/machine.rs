//! The kind Machine (gmm): turns a host, and the terms on which it can be claimed, into fields.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AdFields, Offer, OfferFields, OfferKind, OfferStatus, Res, rules, schemas};

/// The spec of a Machine: its ad, its capacity, and the terms on which it can be claimed.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "Machine",
    plural = "machines",
    namespaced,
    shortname = "gmm",
    category = "gangmatch",
    status = "OfferStatus",
    derive = "PartialEq",
    doc = "A Machine (gmm) is a classified ad that offers a host. It describes the host, and states who may use it and which jobs its owner prefers.",
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Used","type":"string","jsonPath":".status.used"}"#,
    printcolumn = r#"{"name":"Owner","type":"string","jsonPath":".spec.owner"}"#,
    printcolumn = r#"{"name":"Node","type":"string","jsonPath":".spec.nodeName","priority":1}"#,
    printcolumn = r#"{"name":"Policy","type":"string","jsonPath":".spec.claimPolicy","priority":1}"#,
    printcolumn = r#"{"name":"StopPolicy","type":"string","jsonPath":".spec.stopPolicy","priority":1}"#,
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::machine_spec()))]
pub struct MachineSpec {
    /// The ad.
    #[serde(flatten)]
    pub ad: AdFields,

    /// The amount of each resource; at most 8 resources. Units: slots and cpus are whole numbers, memory is in MiB,
    /// the owner chooses the others. Can be changed at any time; existing claims are kept. Example: {cpus: 16,
    /// memory: 65536}
    #[serde(default = "one_slot")]
    #[schemars(schema_with = "schemas::amounts")]
    pub capacity: Res,

    /// The terms on which it can be claimed.
    #[serde(flatten)]
    pub offer: OfferFields,

    /// The name of the node of the cluster that this machine is; immutable. To set it, a user needs the verb
    /// advertise on that node. Example: node-17
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub node_name: Option<String>,
}

impl Default for MachineSpec {
    fn default() -> Self {
        Self { ad: AdFields::default(), capacity: one_slot(), offer: OfferFields::default(), node_name: None }
    }
}

impl Offer for Machine {
    const KIND: OfferKind = OfferKind::Machine;

    fn ad_fields(&self) -> &AdFields {
        &self.spec.ad
    }

    fn offer_fields(&self) -> &OfferFields {
        &self.spec.offer
    }

    fn capacity(&self) -> &Res {
        &self.spec.capacity
    }

    fn node_name(&self) -> Option<&str> {
        self.spec.node_name.as_deref()
    }
}

fn one_slot() -> Res {
    Res::from([("slots".to_owned(), 1)])
}
