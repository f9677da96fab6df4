//! The kind License (gml): turns the seats of a program, and the hosts on which they are valid, into fields.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{AdFields, ExprText, Offer, OfferFields, OfferKind, OfferStatus, Res, rules, schemas};

/// The spec of a License: its ad, the number of seats, and the terms on which they can be claimed.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "gangmatch.dev",
    version = "v1alpha1",
    kind = "License",
    plural = "licenses",
    namespaced,
    shortname = "gml",
    category = "gangmatch",
    status = "OfferStatus",
    derive = "PartialEq",
    doc = "A License (gml) is a classified ad that offers seats of a program. It states who may use them and on which hosts they are valid.",
    printcolumn = r#"{"name":"State","type":"string","jsonPath":".status.state"}"#,
    printcolumn = r#"{"name":"Used","type":"string","jsonPath":".status.used"}"#,
    printcolumn = r#"{"name":"External","type":"integer","jsonPath":".status.externalUsage.seats"}"#,
    printcolumn = r#"{"name":"Policy","type":"string","jsonPath":".spec.claimPolicy","priority":1}"#,
    printcolumn = r#"{"name":"StopPolicy","type":"string","jsonPath":".spec.stopPolicy","priority":1}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::offer_spec()))]
pub struct LicenseSpec {
    /// The ad.
    #[serde(flatten)]
    pub ad: AdFields,

    /// The amount of each resource; at most 8 resources. Units: seats are whole numbers, the owner chooses the
    /// others. Can be changed at any time; existing claims are kept. Example: {seats: 10}
    #[serde(default = "one_seat")]
    #[schemars(schema_with = "schemas::amounts")]
    pub capacity: Res,

    /// The terms on which it can be claimed.
    #[serde(flatten)]
    pub offer: OfferFields,

    /// An expression over requester. Claims for which it has the same value hold one seat together. Undefined: the
    /// claim holds a seat of its own. Error: no match. At most 4096 characters. Example:
    /// `requester.Members[0].NodeName`
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 4096))]
    pub shared_by: Option<ExprText>,
}

impl Default for LicenseSpec {
    fn default() -> Self {
        Self { ad: AdFields::default(), capacity: one_seat(), offer: OfferFields::default(), shared_by: None }
    }
}

impl Offer for License {
    const KIND: OfferKind = OfferKind::License;

    fn ad_fields(&self) -> &AdFields {
        &self.spec.ad
    }

    fn offer_fields(&self) -> &OfferFields {
        &self.spec.offer
    }

    fn capacity(&self) -> &Res {
        &self.spec.capacity
    }
}

fn one_seat() -> Res {
    Res::from([("seats".to_owned(), 1)])
}
