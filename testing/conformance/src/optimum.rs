//! Requests for collective placing into answers, under the rules of the paper: every ad is one claim.

use std::collections::BTreeSet;

use matchmaker::{AdId, Collective, Gang, Plain, Root, negotiate_together};
use serde_json::{Value, json};

use crate::gangs;

/// The answer, or what is wrong with the request.
pub(crate) fn answer(request: &Value) -> Value {
    gangs_of(request).unwrap_or_else(|problem| json!({ "unsupported": problem }))
}

fn gangs_of(request: &Value) -> Result<Value, String> {
    let (pool, ids) = gangs::pool(request, gangs::rank_of)?;
    let place = |id: &Value| ids.iter().position(|known| id == known).map(AdId::at).ok_or("a root is no ad");
    let roots = request["roots"].as_array().ok_or("no roots")?;
    let jobs = roots.iter().map(|root| place(&root["id"])).collect::<Result<BTreeSet<AdId>, _>>()?;
    let (mut snapshot, config) = pool.with_jobs(&jobs);
    let mut collective = Collective { fair: request["fair"] == true, ..Collective::default() };
    for root in roots {
        let ad = place(&root["id"])?;
        let number = |name: &str| root[name].as_i64().unwrap_or(0);
        let small = |name: &str| i32::try_from(number(name)).map_err(|wrong| wrong.to_string());
        snapshot.bands.insert(ad, small("band")?);
        if root["pinned"] == true {
            collective.pinned.insert(ad);
        }
        snapshot.roots.push(Root {
            ad,
            submitter: root["submitter"].as_str().unwrap_or_default().into(),
            priority: small("priority")?,
            since: number("since"),
            exclusions: BTreeSet::new(),
        });
    }
    let together = negotiate_together(&snapshot, config, 0, &mut Plain::default(), &collective);
    let name = |ad: AdId| ids.get(ad.place()).map_or("", String::as_str);
    let gang =
        |gang: &Gang| json!({ "root": gang.root().map(name), "members": members(gang).map(name).collect::<Vec<_>>() });
    Ok(json!({
        "gangs": together.cycle.gangs.iter().map(gang).collect::<Vec<_>>(),
        "proven": together.proven,
        "steps": together.effort.steps,
    }))
}

/// The partners of a root, by port.
fn members(gang: &Gang) -> impl Iterator<Item = AdId> {
    let mut partners: Vec<(usize, AdId)> = gang
        .members
        .iter()
        .filter_map(|member| Some((member.edge.filter(|edge| edge.parent() == 0)?.port(), member.ad)))
        .collect();
    partners.sort_unstable();
    partners.into_iter().map(|(_, ad)| ad)
}
