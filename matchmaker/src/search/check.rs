//! A gang that the index found into the evaluator's word on it: are all its constraints true?
//!
//! For star-shaped gangs of offers without other ports, of which the index has decided that nobody reads `Members`. One
//! environment serves a whole cycle.

use classad::{Context, Env, FrameId, eval};

use crate::gang::Gang;
use crate::model::{Config, PoolAd, Snapshot};

/// Looks at gangs again.
pub(crate) struct Checker<'s> {
    snapshot: &'s Snapshot,
    env: Env<'s>,
    context: Context,
}

impl<'s> Checker<'s> {
    pub(crate) fn new(snapshot: &'s Snapshot, config: &Config, now: i64) -> Checker<'s> {
        let context = Context { now, seed: config.seed, limits: config.limits, ..Context::default() };
        Checker { snapshot, env: Env::new(), context }
    }

    /// Whether both constraints are true on every edge of a gang.
    pub(crate) fn holds(&mut self, gang: &Gang) -> bool {
        let mark = self.env.mark();
        let holds = self.edges(gang).unwrap_or(false);
        self.env.reset(mark);
        holds
    }

    /// None if the gang is not of the shape that it should have.
    fn edges(&mut self, gang: &Gang) -> Option<bool> {
        let snapshot = self.snapshot;
        let (root, members) = gang.members.split_first()?;
        let root = snapshot.ad(root.ad)?;
        let body = self.env.frame(&root.ports.body, None);
        for (number, (member, port)) in members.iter().zip(&root.ports.list).enumerate() {
            let partner = snapshot.ad(member.ad)?;
            let via = partner.ports.list.get(member.bond.filter(|bond| bond.port == number)?.via)?;
            let theirs = self.frame(partner);
            let own = if root.ports.implicit { body } else { self.env.frame(&port.attributes, Some(body)) };
            // What earlier ports were bound to is seen from this one on.
            for (earlier, port) in members.iter().zip(&root.ports.list).take(number) {
                let earlier = self.frame(snapshot.ad(earlier.ad)?);
                self.env.bind(own, &port.label, earlier);
            }
            for (ad, label, frame, view) in [(root, &port.label, own, theirs), (partner, &via.label, theirs, own)] {
                match ad.ports.implicit {
                    true => self.env.partner(frame, view),
                    false => self.env.bind(frame, label, view),
                }
            }
            for (ad, port, frame) in [(root, port, own), (partner, via, theirs)] {
                let holds = match &port.constraint {
                    Some(constraint) => {
                        eval(constraint, &self.env, frame, &self.context).is_ok_and(|value| value.is_true())
                    }
                    None => !ad.ports.implicit,
                };
                if !holds {
                    return Some(false);
                }
            }
        }
        Some(members.len() == root.ports.list.len())
    }

    /// The view of an offer with one port.
    fn frame(&mut self, ad: &'s PoolAd) -> FrameId {
        let body = self.env.frame(&ad.ports.body, None);
        match ad.ports.list.first().filter(|_| !ad.ports.implicit) {
            Some(port) => self.env.frame(&port.attributes, Some(body)),
            None => body,
        }
    }
}
