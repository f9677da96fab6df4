//! A Match and its members as they are now into a gang that can be verified again.

use crds::{Match, Member};
use kube::ResourceExt;
use matchmaker::{Ask, Edge, Gang, PoolAd, Role, Score, Snapshot};

use crate::key::ObjectKey;
use crate::objects::Objects;
use crate::snapshot::{CycleInputs, offer_ad};
use crate::usage::usage_without;

/// The gang of a Match, over a snapshot of its members only.
pub struct RecordedGang {
    /// The members as they are now; what this Match itself holds of them counts as free.
    pub snapshot: Snapshot,
    /// The gang as it was recorded.
    pub gang: Gang,
}

/// The gang of a Match over its members as they are now. `None` if a member does not exist any more, is another object of the same
/// name, has no accepted ad, or has lost the port through which it was bound.
pub fn gang_of(found: &Match, objects: &Objects) -> Option<RecordedGang> {
    let uid = found.uid().unwrap_or_default();
    let ads: Option<Vec<PoolAd>> = found.spec.members.iter().map(|member| ad_of(member, objects, &uid)).collect();
    let snapshot = Snapshot::new(ads?);
    let mut members = Vec::new();
    for member in &found.spec.members {
        members.push(matchmaker::Member {
            ad: snapshot.ads().find(|(_, ad)| ad.uid == member.uid).map(|(id, _)| id)?,
            edge: edge(member, found, &snapshot)?,
            ask: Ask { allocation: member.allocation.clone().unwrap_or_default().into(), share: member.share.clone() },
        });
    }
    Some(RecordedGang { snapshot, gang: Gang { members: members.into(), score: Score::default() } })
}

fn ad_of(member: &Member, objects: &Objects, match_uid: &str) -> Option<PoolAd> {
    let key = ObjectKey::new(&member.namespace, &member.name);
    let ad = match objects.offer_of(member) {
        Some(found) => {
            let mut ad = offer_ad(found, objects, &CycleInputs::default())?;
            if let Role::Offers(offer) = &mut ad.role {
                offer.usage = usage_without(found.status, match_uid);
            }
            ad
        }
        None => PoolAd::clone(objects.jobs.get(&key)?.ad.as_ref().ok()?.root.as_ref()?),
    };
    (ad.uid == member.uid).then_some(ad)
}

/// The edge from a member to its parent. The inner `None`: the member is the root.
#[expect(clippy::option_option, reason = "no edge at all is the root, an edge that cannot be read is a failure")]
fn edge(member: &Member, found: &Match, snapshot: &Snapshot) -> Option<Option<Edge>> {
    let Some(parent) = member.parent else { return Some(None) };
    let parent = usize::try_from(parent).ok()?;
    let of = |member: &Member| snapshot.ads().find(|(_, ad)| ad.uid == member.uid).map(|(_, ad)| ad);
    let place = |ad: &PoolAd, label: &Option<String>| {
        let label = label.as_deref()?;
        ad.ports.list.iter().position(|port| port.label.as_str().eq_ignore_ascii_case(label))
    };
    let port = place(of(found.spec.members.get(parent)?)?, &member.parent_port)?;
    let via = place(of(member)?, &member.port)?;
    Some(Some(Edge::new(parent, port, via)))
}
