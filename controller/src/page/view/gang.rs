//! One gang: the members of a Match as a tree, and where each stands in a drawing.

use std::collections::BTreeMap;

use crds::Match;
use pool::ObjectKey;

use crate::page::picture::{Picture, find};
use crate::page::policy::amounts;
use crate::page::sight::{Kind, Sight};

/// The gang of a Match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GangView {
    pub(crate) key: ObjectKey,
    pub(crate) decision: String,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) rank: String,
    /// Parents before children; the first is the job.
    pub(crate) members: Vec<GangMember>,
}

/// A member of a gang.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GangMember {
    pub(crate) kind: String,
    pub(crate) key: ObjectKey,
    /// The index of its parent among the members.
    pub(crate) parent: Option<usize>,
    /// The port of its parent that it fills.
    pub(crate) port: String,
    pub(crate) allocation: String,
    /// Whether the viewer may list the member itself, so that there is a page about it.
    pub(crate) is_seen: bool,
}

/// Where a member stands in the drawing: how many leaves are before it, in halves, and how far it is from the root.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    pub(crate) across: usize,
    pub(crate) down: usize,
}

impl GangView {
    /// The gang of a Match; none if there is none, or if the viewer may not list Matches there.
    pub(crate) fn of(picture: &Picture, sight: &Sight, namespace: &str, name: &str) -> Option<GangView> {
        let found = find(&picture.matches, namespace, name).filter(|_| sight.sees(Kind::Match, namespace))?;
        let status = found.status.clone().unwrap_or_default();
        Some(GangView {
            key: ObjectKey::of(found),
            decision: format!("{:?}", status.decision),
            reason: status.reason.unwrap_or_default(),
            message: status.message.unwrap_or_default(),
            rank: found.spec.rank.clone(),
            members: members(found, sight),
        })
    }

    /// Where each member stands: leaves side by side, a parent in the middle above its children.
    pub(crate) fn positions(&self) -> Vec<Position> {
        let mut children: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, member) in self.members.iter().enumerate() {
            if let Some(parent) = member.parent {
                children.entry(parent).or_default().push(index);
            }
        }
        let mut positions = vec![Position::default(); self.members.len()];
        for (index, member) in self.members.iter().enumerate() {
            let above = member.parent.and_then(|parent| positions.get(parent)).map_or(0, |parent| parent.down + 1);
            if let Some(position) = positions.get_mut(index) {
                position.down = if member.parent.is_some() { above } else { 0 };
            }
        }
        let mut leaves = 0;
        place(0, &children, &mut positions, &mut leaves);
        positions
    }
}

/// Places a member and all below it; parents come before children, so this ends.
fn place(at: usize, children: &BTreeMap<usize, Vec<usize>>, positions: &mut [Position], leaves: &mut usize) {
    let below = children.get(&at).map(Vec::as_slice).unwrap_or_default();
    for child in below {
        place(*child, children, positions, leaves);
    }
    let across = |index: Option<&usize>| index.and_then(|index| positions.get(*index)).map(|position| position.across);
    let across = match (across(below.first()), across(below.last())) {
        (Some(first), Some(last)) => usize::midpoint(first, last),
        _ => {
            *leaves += 1;
            2 * (*leaves - 1)
        }
    };
    if let Some(position) = positions.get_mut(at) {
        position.across = across;
    }
}

fn members(found: &Match, sight: &Sight) -> Vec<GangMember> {
    let all = &found.spec.members;
    let each = all.iter().enumerate().map(|(index, member)| {
        let kind = Kind::of(&member.kind);
        // A parent comes before its children: anything else is no tree.
        let parent = all.iter().take(index).position(|before| Some(before.id) == member.parent);
        GangMember {
            kind: member.kind.clone(),
            key: ObjectKey::new(&member.namespace, &member.name),
            parent: parent.or((index > 0).then_some(0)),
            port: member.parent_port.clone().unwrap_or_default(),
            allocation: member.allocation.as_ref().map(amounts).unwrap_or_default(),
            is_seen: kind.is_some_and(|kind| sight.sees(kind, &member.namespace)),
        }
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::sight::Allowed;
    use crate::testing::fixtures::world;

    fn everywhere() -> Sight {
        let allowed = Kind::ALL.into_iter().map(|kind| (kind, Allowed::Everywhere)).collect();
        Sight { allowed, is_partial: false }
    }

    fn picture() -> Picture {
        Picture::of(&world(&json!({"decision": "Committed"})), std::sync::Arc::default(), jiff::Timestamp::UNIX_EPOCH)
    }

    #[test]
    fn a_gang_is_seen_by_those_who_may_list_matches() {
        let mut sight = everywhere();
        let gang = GangView::of(&picture(), &sight, "ns", "match").unwrap();
        assert_eq!(gang.decision, "Committed");
        assert_eq!(gang.members[2].allocation, "1 seat");
        assert!(gang.members.iter().all(|member| member.is_seen));
        sight.allowed.insert(Kind::License, Allowed::default());
        assert!(!GangView::of(&picture(), &sight, "ns", "match").unwrap().members[2].is_seen);
        sight.allowed.insert(Kind::Match, Allowed::default());
        assert_eq!(GangView::of(&picture(), &sight, "ns", "match"), None);
    }

    #[test]
    fn a_parent_stands_above_the_middle_of_its_children() {
        let gang = GangView::of(&picture(), &everywhere(), "ns", "match").unwrap();
        let at = |across, down| Position { across, down };
        assert_eq!(gang.positions(), [at(1, 0), at(0, 1), at(2, 1)]);
        let mut deep = gang.clone();
        deep.members[2].parent = Some(1);
        assert_eq!(deep.positions(), [at(0, 0), at(0, 1), at(0, 2)]);
    }
}
