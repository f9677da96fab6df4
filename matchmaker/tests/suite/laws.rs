//! What must hold of every cycle and every explanation, whatever the pool.

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::Arc;

    use classad::{Context, Env, conjuncts, eval};
    use matchmaker::{
        AdKey, Answer, Asked, Cycle, CycleCosts, Gang, Offer, PoolAd, Role, Root, Snapshot, Verdict, WhyNot, plain,
        tried, verify,
    };
    use proptest::prelude::*;

    use crate::negotiate;

    use crate::suite::pools::{emptied, rebuilt};
    use crate::world::{World, runs, world};

    const NOW: i64 = 7;

    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::vec(any::<u8>(), 20..320)
    }

    fn why_not(pool: &Snapshot, root: &Root, world: &World) -> Arc<WhyNot> {
        let asked = Asked { root, number: 0, gave_up: false, steps_max: u64::MAX, last: true };
        let Answer { why, .. } = tried(&asked, pool, &world.config, NOW, &|_, _| None);
        why.unwrap()
    }

    fn best(pool: &Snapshot, root: &Root, world: &World) -> Option<Gang> {
        plain::best(pool, root.ad, &root.exclusions, &world.config, NOW).gang
    }

    fn offer_of<'s>(pool: &'s Snapshot, member: &matchmaker::Member) -> Option<&'s Offer> {
        pool.ad(member.ad).and_then(PoolAd::offer)
    }

    type Amounts = BTreeMap<String, i64>;

    /// Amounts by name, added up.
    fn add(sum: &mut Amounts, more: &Amounts) {
        for (name, amount) in more {
            *sum.entry(name.clone()).or_default() += amount;
        }
    }

    /// What is held of each offer after the cycle, counted from the gangs alone: a shared seat once for its key, at its largest.
    fn held(pool: &Snapshot, cycle: &Cycle) -> BTreeMap<usize, Amounts> {
        let mut own: BTreeMap<usize, Amounts> = BTreeMap::new();
        let mut seats: BTreeMap<(usize, String), Amounts> = BTreeMap::new();
        for (id, ad) in pool.ads() {
            let Some(offer) = ad.offer() else { continue };
            add(own.entry(id.place()).or_default(), &offer.usage.own);
            add(own.entry(id.place()).or_default(), &offer.usage.external);
            for (key, amounts) in &offer.usage.shared {
                seats.insert((id.place(), key.clone()), (**amounts).clone());
            }
        }
        for member in cycle.gangs.iter().flat_map(|gang| &gang.members) {
            match &member.ask.share {
                None => add(own.entry(member.ad.place()).or_default(), &member.ask.allocation),
                Some(key) => {
                    let seat = seats.entry((member.ad.place(), key.clone())).or_default();
                    for (name, amount) in &member.ask.allocation {
                        let most = seat.entry(name.clone()).or_default();
                        *most = (*most).max(*amount);
                    }
                }
            }
        }
        for ((place, _), amounts) in &seats {
            add(own.entry(*place).or_default(), amounts);
        }
        own
    }

    /// A cycle without what it cost: hash tables of random seeds do not cost the same each time.
    fn without_costs(cycle: Cycle) -> Cycle {
        let costs = CycleCosts { fruitless: Vec::new(), spent: 0, owners_fuel: Default::default(), ..cycle.costs };
        Cycle { costs, ..cycle }
    }

    proptest! {
        #![proptest_config(runs(1500))]

        #[test]
        fn the_same_snapshot_gives_the_same_cycle(bytes in bytes()) {
            let world = world(&bytes, 8, false);
            let once = without_costs(negotiate(&world.snapshot, &world.config, NOW));
            prop_assert_eq!(&once, &without_costs(negotiate(&world.snapshot, &world.config, NOW)));
            prop_assert_eq!(once.gangs.len() + once.unmatched.len(), world.snapshot.roots.len());
        }

        #[test]
        fn the_order_of_the_input_does_not_matter(bytes in bytes(), by in 1usize..7, sets in any::<bool>()) {
            let world = world(&bytes, 8, sets);
            let mut ads: Vec<PoolAd> = world.snapshot.ads().map(|(_, ad)| ad.clone()).collect();
            let turn = by % ads.len();
            ads.rotate_left(turn);
            ads.reverse();
            let mut other = Snapshot::new(ads);
            other.roots = world.snapshot.roots.iter().rev().cloned().collect();
            let place = by % other.roots.len();
            other.roots.rotate_left(place);
            let (one, two) = (negotiate(&world.snapshot, &world.config, NOW), negotiate(&other, &world.config, NOW));
            prop_assert_eq!(without_costs(one), without_costs(two), "{}", world.text);
        }

        #[test]
        fn a_cycle_keeps_its_promises(bytes in bytes(), sets in any::<bool>()) {
            let world = world(&bytes, 8, sets);
            let pool = &world.snapshot;
            let cycle = negotiate(pool, &world.config, NOW);
            for gang in &cycle.gangs {
                let ads: BTreeSet<_> = gang.members.iter().map(|member| member.ad).collect();
                prop_assert_eq!(ads.len(), gang.members.len(), "an ad twice in a gang");
                let root = pool.roots.iter().find(|root| Some(root.ad) == gang.root()).unwrap();
                for member in &gang.members[1..] {
                    let ad = pool.ad(member.ad).unwrap();
                    let offer = offer_of(pool, member).unwrap();
                    prop_assert!(!root.exclusions.contains(&ad.key), "excluded: {}", world.text);
                    prop_assert!(offer.open && offer.consent.admits(&pool.ad(root.ad).unwrap().key.namespace));
                }
                // A gang is looked at again as it would stand alone: what it holds itself does not stand in its way.
                prop_assert_eq!(verify(&emptied(pool), gang, &world.config, NOW), Ok(()), "{}", world.text);
            }
            for (place, amounts) in held(pool, &cycle) {
                let (_, ad) = pool.ads().nth(place).unwrap();
                let Some(offer) = ad.offer() else { continue };
                let taken = |member: &&matchmaker::Member| member.ad.place() == place;
                let touched = cycle.gangs.iter().flat_map(|gang| &gang.members).any(|member| taken(&member));
                for (name, amount) in amounts.iter().filter(|_| touched) {
                    let had: i64 = [&offer.usage.own, &offer.usage.external].iter().filter_map(|held| held.get(name)).sum();
                    let had = had + offer.usage.shared.values().filter_map(|held| held.get(name)).sum::<i64>();
                    let most = offer.capacity.get(name).copied().unwrap_or(0).max(had);
                    prop_assert!(*amount <= most, "{}: {amount} {name} of {most}: {}", ad.key, world.text);
                }
            }
        }

        #[test]
        fn asking_for_less_never_loses_a_gang(bytes in bytes(), which in 0usize..4, sets in any::<bool>()) {
            let world = world(&bytes, 6, sets);
            let Some(root) = world.snapshot.roots.first().cloned() else { return Ok(()) };
            if best(&world.snapshot, &root, &world).is_none() {
                return Ok(());
            }
            let key = world.snapshot.ad(root.ad).unwrap().key.clone();
            let relaxed = rebuilt(&world.snapshot, |ad| {
                if ad.key == key {
                    ad.ports = std::sync::Arc::new(relaxed(&ad.ports, which));
                }
            });
            prop_assert!(best(&relaxed, &root, &world).is_some(), "{}", world.text);
        }

        #[test]
        fn one_offer_more_never_loses_a_gang(bytes in bytes(), which in 0usize..8, sets in any::<bool>()) {
            let world = world(&bytes, 7, sets);
            let more = &world.snapshot;
            // One offer less: if there is a gang without it, there is one with it.
            let keys: Vec<AdKey> = more.ads().filter(|(_, ad)| ad.offer().is_some()).map(|(_, ad)| ad.key.clone()).collect();
            let Some(left_out) = keys.get(which % keys.len().max(1)) else { return Ok(()) };
            let fewer = Snapshot::new(more.ads().map(|(_, ad)| ad.clone()).filter(|ad| ad.key != *left_out).collect());
            for root in &more.roots {
                let mut same = root.clone();
                same.ad = fewer.find(&more.ad(root.ad).unwrap().key).unwrap();
                if let Some(gang) = best(&fewer, &same, &world) {
                    let now = best(more, root, &world);
                                        prop_assert!(now.is_some_and(|now| now.score >= gang.score), "{}", world.text);
                }
            }
        }

        #[test]
        fn explanations_are_true(bytes in bytes(), sets in any::<bool>()) {
            let world = world(&bytes, 7, sets);
            let pool = &world.snapshot;
            let free = emptied(pool);
            for root in &pool.roots {
                if best(pool, root, &world).is_some() {
                    continue;
                }
                let why = why_not(pool, root, &world);
                let ever = best(&free, root, &world).is_some();
                prop_assert_eq!(why.verdict == Verdict::WaitingForCapacity, ever, "{:?} {}", why, world.text);
                let forgiven = Root { exclusions: BTreeSet::new(), ..root.clone() };
                let backs_off = !ever && best(&free, &forgiven, &world).is_some();
                prop_assert_eq!(why.verdict == Verdict::BackingOff, backs_off, "{:?} {}", why, world.text);
                for port in &why.ports {
                    let spoken_of = port.refused_by_job + port.refused_by_offer.ads + port.too_small.ads + port.busy + port.excluded;
                    let spoken_of = spoken_of + port.incomplete;
                    prop_assert!(spoken_of <= port.candidates, "{:?}", port);
                    prop_assert!(port.conjuncts.iter().all(|part| part.rejects <= port.candidates));
                }
                if let Verdict::NoCandidates { port } = why.verdict {
                    let count = &why.ports[port];
                    prop_assert!(count.candidates - count.refused_by_job < count.need(), "{:?} {}", why, world.text);
                    prop_assert!(port == 0 || count.is_reached(), "{:?}", why);
                }
            }
        }

        #[test]
        fn a_port_without_candidates_has_none_alone_either(bytes in bytes()) {
            let world = world(&bytes, 7, false);
            // Offers with one port only: others may lack partners of their own.
            let single = |ad: &PoolAd| ad.offer().is_none() || ad.ports.list.len() == 1;
            let pool = Snapshot::new(world.snapshot.ads().map(|(_, ad)| ad.clone()).filter(single).collect());
            for (id, ad) in pool.ads().filter(|(_, ad)| ad.offer().is_none() && ad.ports.problem.is_none()) {
                let root =
                    Root { ad: id, submitter: Default::default(), priority: 0, since: 0, exclusions: BTreeSet::new() };
                if ad.ports.list.len() < 2 || best(&pool, &root, &world).is_some() {
                    continue;
                }
                let why = why_not(&pool, &root, &world);
                let (Verdict::NoCandidates { port } | Verdict::RefusedByOffers { port }) = why.verdict else { continue };
                if !ad.ports.stands_alone(port) {
                    continue;
                }
                let only = rebuilt(&emptied(&pool), |own| {
                    if own.key == ad.key {
                        let mut ports = (*own.ports).clone();
                        ports.list = ports.list.iter().skip(port).take(1).cloned().collect();
                        own.ports = Arc::new(ports);
                    }
                });
                prop_assert!(best(&only, &root, &world).is_none(), "{:?} {}", why, world.text);
            }
        }

        #[test]
        fn each_part_is_not_true_of_as_many_ads_as_is_said(bytes in bytes()) {
            let world = world(&bytes, 7, false);
            // Offers with one port only: then there is one way to look at each of them.
            let single = |ad: &PoolAd| ad.offer().is_none() || ad.ports.list.len() == 1;
            let ads = world.snapshot.ads().map(|(_, ad)| ad.clone()).filter(single).collect();
            let pool = Snapshot::new(ads);
            for (id, ad) in pool.ads().filter(|(_, ad)| ad.offer().is_none() && ad.ports.list.len() == 1) {
                let root =
                    Root { ad: id, submitter: Default::default(), priority: 0, since: 0, exclusions: BTreeSet::new() };
                if ad.ports.problem.is_some() || best(&pool, &root, &world).is_some() {
                    continue;
                }
                let why = why_not(&pool, &root, &world);
                let parts = ad.ports.list[0].constraint.as_ref().map(conjuncts).unwrap_or_default();
                let told: Vec<u64> = why.ports[0].conjuncts.iter().map(|part| part.rejects).collect();
                let counted: Vec<u64> = parts.iter().map(|part| rejects(&pool, ad, part, &world)).collect();
                prop_assert_eq!(told, counted, "{} {}", ad.key, world.text);
            }
        }
    }

    /// The same ports with one part of each constraint left out.
    fn relaxed(ports: &matchmaker::Ports, which: usize) -> matchmaker::Ports {
        let mut ports = ports.clone();
        for port in std::sync::Arc::make_mut(&mut ports.list) {
            let Some(constraint) = &port.constraint else { continue };
            let parts: Vec<String> = conjuncts(constraint).iter().map(ToString::to_string).collect();
            let kept: Vec<&str> =
                parts.iter().enumerate().filter(|(place, _)| *place != which).map(|(_, part)| part.as_str()).collect();
            let text = if kept.is_empty() { "true".to_owned() } else { kept.join(" && ") };
            port.constraint = Some(classad::parse_expr(&text, classad::Dialect::Gangmatch).unwrap());
        }
        ports
    }

    /// Of how many open and willing offers with a single port a part of a job's only constraint is not true.
    fn rejects(pool: &Snapshot, job: &PoolAd, part: &classad::Expr, world: &World) -> u64 {
        let context = Context { now: NOW, seed: world.config.seed, limits: world.config.limits, ..Context::default() };
        let met = pool.ads().filter(|(_, ad)| {
            let willing = |offer: &Offer| offer.open && offer.consent.admits(&job.key.namespace);
            ad.ports.problem.is_none() && matches!(&ad.role, Role::Offers(offer) if willing(offer))
        });
        let not_true = met.filter(|(_, ad)| {
            let mut env = Env::new();
            let mut frames = [job, *ad].map(|ad| {
                let body = env.frame(&ad.ports.body, None);
                if ad.ports.implicit { body } else { env.frame(&ad.ports.list[0].attributes, Some(body)) }
            });
            for (side, ad) in [job, *ad].into_iter().enumerate() {
                let (own, other) = (frames[0], frames[1]);
                if ad.ports.implicit {
                    env.partner(own, other)
                } else {
                    env.bind(own, &ad.ports.list[0].label, other)
                }
                env.define(own, "Members".into(), classad::Value::list([]));
                frames.reverse();
                assert!(side < 2);
            }
            !eval(part, &env, frames[0], &context).is_ok_and(|value| value.is_true())
        });
        not_true.count() as u64
    }
}
