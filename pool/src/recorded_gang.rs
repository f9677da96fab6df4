//! A Match and its members as they are now into a gang that can be verified again.

use crds::{Match, Member};
use kube::ResourceExt;
use matchmaker::{AdId, Edge, Gang, PoolAd, Role, Score, Snapshot};

use crate::cycle_inputs::CycleInputs;
use crate::key::{ObjectKey, ask_of, key_of};
use crate::objects::Objects;
use crate::snapshot::offer_ad;
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
    let gang = gang_over(&found.spec.members, &snapshot)?;
    Some(RecordedGang { snapshot, gang })
}

/// The gang of these members over the ads of a snapshot, as it was recorded. `None` if one is not there, or has lost its port.
pub(crate) fn gang_over(members: &[Member], snapshot: &Snapshot) -> Option<Gang> {
    let ads: Vec<AdId> = members.iter().map(|member| place(member, snapshot)).collect::<Option<_>>()?;
    let mut bound = Vec::new();
    for (member, ad) in members.iter().zip(&ads) {
        bound.push(bound_member(member, *ad, edge(member, *ad, &ads, snapshot)?));
    }
    Some(Gang { members: bound.into(), score: Score::default() })
}

/// What the members of a Match hold of the offers of a snapshot, and these members, the root first. That does not depend on the ads as they are
/// now: a job that is edited goes on holding what was claimed. An offer that is not in the snapshot is left out, because no other job can have it. Ports
/// that are not there any more are taken for the first ones.
pub(crate) fn held_over<'m>(members: &'m [Member], snapshot: &Snapshot) -> (Gang, Vec<&'m Member>) {
    if let Some(gang) = gang_over(members, snapshot) {
        return (gang, members.iter().collect());
    }
    let root = members.first().map(|root| (root, place(root, snapshot).unwrap_or(AdId::at(usize::MAX)), None));
    let offers = members.iter().skip(1);
    let offers = offers.filter_map(|offer| Some((offer, place(offer, snapshot)?, Some(Edge::new(0, 0, 0)))));
    let (mut held, mut bound) = (Vec::new(), Vec::new());
    for (member, ad, edge) in root.into_iter().chain(offers) {
        held.push(member);
        bound.push(bound_member(member, ad, edge));
    }
    (Gang { members: bound.into(), score: Score::default() }, held)
}

/// The place of a member in a snapshot, if it is there.
fn place(member: &Member, snapshot: &Snapshot) -> Option<AdId> {
    snapshot.find(&key_of(member)).filter(|id| snapshot.ad(*id).is_some_and(|ad| ad.uid == member.uid))
}

fn bound_member(member: &Member, ad: AdId, edge: Option<Edge>) -> matchmaker::Member {
    matchmaker::Member { ad, edge, ask: ask_of(member) }
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
fn edge(member: &Member, ad: AdId, ads: &[AdId], snapshot: &Snapshot) -> Option<Option<Edge>> {
    let Some(parent) = member.parent else { return Some(None) };
    let parent = usize::try_from(parent).ok()?;
    let place = |ad: AdId, label: &Option<String>| {
        let label = label.as_deref()?;
        snapshot.ad(ad)?.ports.list.iter().position(|port| port.label.as_str().eq_ignore_ascii_case(label))
    };
    let port = place(*ads.get(parent)?, &member.parent_port)?;
    let via = place(ad, &member.port)?;
    Some(Some(Edge::new(parent, port, via)))
}
