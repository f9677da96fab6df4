//! A string of random bytes into a small pool: every byte decides one thing, and zero is always the plainest choice, so that
//! proptest shrinks a failing pool to the few decisions that matter.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;

use classad::Name;
use matchmaker::{AdKey, Ask, Config, Consent, Offer, PoolAd, Ports, Res, Role, Root, Snapshot, Usage, share_key};
use proptest::test_runner::{Config as Runs, RngSeed};

mod expressions;
use expressions::Draw;

/// A pool, and how it was written, for messages.
pub(crate) struct World {
    pub(crate) snapshot: Snapshot,
    pub(crate) config: Config,
    pub(crate) text: String,
}

/// Of the random pools, one in so many is tried, or all with `GANGMATCH_CASES=all`.
const THINNED: u32 = 3;

/// How many random pools; the same ones each time, unless `PROPTEST_RNG_SEED` asks for others.
pub(crate) fn runs(cases: u32) -> Runs {
    let runs = Runs::default();
    let rng_seed = if runs.rng_seed == RngSeed::Random { RngSeed::Fixed(20_040_628) } else { runs.rng_seed };
    let all = std::env::var("GANGMATCH_CASES").is_ok_and(|cases| cases == "all");
    let cases = if all { cases } else { cases / THINNED };
    Runs { cases, rng_seed, failure_persistence: None, max_shrink_iters: 4000, ..runs }
}

/// The pool that these bytes decide. Every ad that asks is a root. With `sets`, many ports are counted.
pub(crate) fn world(bytes: &[u8], ads_max: usize, sets: bool) -> World {
    let mut draw = Draw::new(bytes, sets);
    let mut config = Config::product();
    let count = 2 + draw.below(ads_max - 1);
    let mut text = String::new();
    let mut ads = Vec::new();
    for number in 0..count {
        ads.push(ad(&mut draw, number, &mut text));
    }
    if draw.percent(20) {
        config.members_max = 2 + draw.below(count);
        config.depth_max = 1 + draw.below(3);
        let _ = write!(text, "\nmembers_max {} depth_max {}", config.members_max, config.depth_max);
    }
    let keys: Vec<AdKey> = ads.iter().map(|ad| ad.key.clone()).collect();
    let mut snapshot = Snapshot::new(ads);
    let asking: Vec<_> = snapshot.ads().filter(|(_, ad)| ad.offer().is_none()).map(|(id, _)| id).collect();
    for ad in asking {
        let mut exclusions = BTreeSet::new();
        if draw.percent(25) {
            exclusions.insert(draw.pick(&keys).clone());
        }
        let root = Root {
            ad,
            submitter: (*draw.pick(&["ann", "bob"])).into(),
            priority: i32::try_from(draw.below(3)).unwrap_or(0),
            since: i64::try_from(draw.below(3)).unwrap_or(0),
            exclusions,
        };
        let _ = write!(text, "\n{root:?}");
        snapshot.roots.push(root);
    }
    World { snapshot, config, text }
}

fn ad(draw: &mut Draw<'_>, number: usize, text: &mut String) -> PoolAd {
    let asks = number == 0 || draw.percent(20);
    let kind = if asks { "Job" } else { *draw.pick(&["Machine", "License"]) };
    let key = AdKey {
        kind: kind.to_owned(),
        namespace: (*draw.pick(&["n", "n", "n", "m"])).to_owned(),
        name: format!("a{number}"),
    };
    let written = draw.ad(asks);
    let _ = write!(text, "\n{key}: {written}");
    let mut parsed = classad::parse_ad(&written, classad::Dialect::Gangmatch).expect(&written);
    let mut role = if asks { Role::Asks } else { Role::Offers(Box::new(offer(draw, &key.namespace, text))) };
    if draw.percent(25) {
        let names = *draw.pick(&[&["B"][..], &["A"], &["C"], &["A", "B", "C"]]);
        let names: Vec<Name> =
            names.iter().filter(|name| !is_label(name, &parsed)).map(|name| Name::new(*name)).collect();
        let _ = write!(text, "\n    private: {names:?}");
        parsed = parsed.hide(&names);
        if let Role::Offers(offer) = &mut role {
            offer.shared_by = offer.shared_by.take().map(|expr| parsed.own_expression(&expr));
        }
    }
    let node_name = if draw.percent(30) { Some(format!("node{number}")) } else { None };
    PoolAd { uid: format!("uid-{number}"), key, node_name, ports: Arc::new(Ports::of(&parsed)), role }
}

/// Whether a port of the ad has this label, which keeps an attribute of the name from being private.
fn is_label(name: &str, ad: &classad::Ad) -> bool {
    Ports::of(ad).list.iter().any(|port| port.label.as_str().eq_ignore_ascii_case(name))
}

fn offer(draw: &mut Draw<'_>, namespace: &str, text: &mut String) -> Offer {
    let amount = |draw: &mut Draw<'_>| [1, 2, 4][draw.below(3)];
    let mut capacity = Res::new();
    for name in *draw.pick(&[&["slots"][..], &["seats"], &["cpus"], &["seats", "cpus"], &["Cpus"], &[]]) {
        capacity.insert((*name).to_owned(), amount(draw));
    }
    let mut default_request = Res::new();
    if draw.percent(20) {
        default_request.insert("cpus".to_owned(), amount(draw));
    }
    let shared_by = if draw.percent(30) {
        let source = draw.pick(&["requester.A", "requester.H", "requester.Members[0].Name", "1/0", "A", "nosuch"]);
        Some(classad::parse_expr(source, classad::Dialect::Gangmatch).expect(source))
    } else {
        None
    };
    let consent = match draw.below(6) {
        0..=3 => Consent::Everybody,
        4 => Consent::same(namespace),
        _ => Consent::same("m"),
    };
    let mut usage = Usage::default();
    if draw.percent(30) {
        let takes: Res = capacity.keys().map(|name| (name.clone(), 1)).collect();
        let share = draw.percent(50).then(|| {
            let value = classad::Value::string(*draw.pick(&["x", "a1", "y"]));
            share_key(&value).ok().flatten().unwrap_or_default()
        });
        usage.take(&Ask { allocation: takes.clone(), share });
        if draw.percent(30) {
            usage.external = takes;
        }
    }
    let open = !draw.percent(8);
    let offer = Offer { capacity, default_request, usage, shared_by, consent, open, disclosed: draw.percent(50) };
    let _ = write!(text, "\n    {offer:?}");
    offer
}
