//! Texts of ads into a pool in which the first one asks.

use std::collections::BTreeSet;

use matchmaker::{AdKey, Config, Offer, PoolAd, Res, Role, Root, Snapshot};

use crate::world::World;

/// A pool of these ads: the first one asks, the others offer themselves.
pub(crate) fn chain(texts: &[&str]) -> World {
    let ads = texts.iter().enumerate().map(|(number, text)| {
        let kind = if number == 0 { "Job" } else { "Machine" };
        let key = AdKey { kind: kind.to_owned(), namespace: "n".to_owned(), name: format!("a{number}") };
        let ad = classad::parse_ad(text, classad::Dialect::Gangmatch).expect(text);
        let mut ad = PoolAd::asking(key, &format!("uid-{number}"), &ad);
        if number > 0 {
            ad.role = Role::Offers(Box::new(Offer {
                default_request: Res::new(),
                ..Offer::of(Res::from([("slots".to_owned(), 1)]))
            }));
        }
        ad
    });
    let mut snapshot = Snapshot::new(ads.collect());
    let ad = snapshot.ads().next().map(|(id, _)| id).unwrap();
    let root = Root { ad, submitter: Default::default(), priority: 0, since: 0, exclusions: BTreeSet::new() };
    snapshot.roots.push(root);
    World { snapshot, config: Config::product(), text: texts.join("\n") }
}
