//! Requests of the cases for `policy` into answers.

use std::collections::{BTreeMap, BTreeSet};

use policy::{
    Account, Amount, Amounts, Candidate, Claim, ClaimedGang, Counter, GangMember, MemberCharge, Mode, NoVictims, Pass,
    Permitted, Preemption, Preemptor, Quota, Quotas, Tree, Unserved, Usage, Waiting, serve, shares, taken_by_gang,
};
use serde_json::{Map, Value, json};

/// Answer to one request.
pub(crate) fn answer(request: &Value) -> Value {
    match request["op"].as_str() {
        Some("decay") => decay(request),
        Some("quota") => quota(request),
        Some("shares") => share(request),
        Some("order") => order(request),
        Some("victims") => victims(request),
        _ => json!({ "unsupported": request.get("op") }),
    }
}

fn decay(request: &Value) -> Value {
    let stored = &request["stored"];
    let mut usage = Usage::stored(amount(&stored["usage"]), whole(&stored["at"]), amount(&stored["charge"]))
        .with_half_life(whole(&request["halfLifeSeconds"]));
    let asked = || list(&request["ask"]).iter().map(whole);
    if request.get("claims").is_some() {
        let claims: Vec<Claim> = list(&request["claims"]).iter().map(claim).collect();
        let now = asked().next().unwrap_or(0);
        usage = usage.taken_over(&claims, now);
        return json!({ "usage": [number(usage.at(now))], "charge": number(usage.held()) });
    }
    // The usage after each event, and from when on it is that.
    let mut usages = vec![(i64::MIN, usage)];
    for event in list(&request["events"]) {
        usage.hold(whole(&event["at"]), amount(&event["charge"]));
        usages.push((usage.since(), usage));
    }
    let at = |time: i64| usages.iter().rfind(|(since, _)| *since <= time).map(|(_, usage)| number(usage.at(time)));
    json!({ "usage": asked().map(at).collect::<Vec<_>>() })
}

fn claim(value: &Value) -> Claim {
    let member = |member: &Value| MemberCharge {
        offer: text(&member["offer"]),
        charge: amount(&member["charge"]),
        share: member["share"].as_str().map(str::to_owned),
    };
    Claim {
        from: whole(&value["from"]),
        to: value["to"].as_i64(),
        members: list(&value["members"]).iter().map(member).collect(),
    }
}

fn quota(request: &Value) -> Value {
    let tree = tree(request, &[]);
    let quotas = Quotas::new(&tree, &amounts(&request["total"]));
    let counters: Vec<String> = list(&request["counters"]).iter().map(text).collect();
    let by_account = |of: &dyn Fn(&str, &str) -> Value| -> Value {
        let by_counter = |account: &Account| -> Value {
            counters.iter().map(|counter| (counter.clone(), of(&account.name, counter))).collect::<Map<_, _>>().into()
        };
        tree.accounts().iter().map(|account| (account.name.clone(), by_counter(account))).collect::<Map<_, _>>().into()
    };
    json!({
        "grant": by_account(&|name, counter| tree.account(name).map(|node| number(quotas.grant(node, counter))).into()),
        "aside": by_account(&|name, counter| tree.account(name).map(|node| number(quotas.aside(node, counter))).into()),
        "avail": by_account(&|name, counter| {
            tree.leaf(name).and_then(|node| quotas.available(node, counter)).map(number).into()
        }),
    })
}

fn share(request: &Value) -> Value {
    let demands: BTreeMap<String, Amount> =
        list(&request["accounts"]).iter().map(|account| (text(&account["name"]), amount(&account["demand"]))).collect();
    let tree = tree(request, &[]);
    let shares = shares(&tree, amount(&request["total"]), &demands);
    json!({ "share": shares.into_iter().map(|(name, share)| (name.to_owned(), number(share))).collect::<Map<_, _>>() })
}

fn order(request: &Value) -> Value {
    let list = list(&request["jobs"]);
    let job = |job: &Value| Waiting {
        key: text(&job["id"]),
        account: text(&job["account"]),
        priority: whole(&job["priority"]),
        since: whole(&job["since"]),
    };
    let jobs: Vec<Waiting> = list.iter().map(job).collect();
    let takes: Vec<Amounts> = list.iter().map(taken_by).collect();
    let tree = tree(request, &jobs.iter().map(|job| job.account.as_str()).collect::<Vec<_>>());
    let cycle = serve(Quotas::new(&tree, &amounts(&request["total"])), &jobs, &takes);
    let key = |place: &usize| jobs.get(*place).map_or("", |job| job.key.as_str());
    let pass = |pass: &Pass| match pass {
        Pass::Guarantee => "Guarantee",
        Pass::Fair => "Fair",
    };
    let reason = |reason: &Unserved| match reason {
        Unserved::WaitingForCapacity => "WaitingForCapacity",
        Unserved::QuotaExceeded => "QuotaExceeded",
    };
    json!({
        "served": cycle.served.iter().map(|(job, _)| key(job)).collect::<Vec<_>>(),
        "pass": cycle.served.iter().map(|(_, served_in)| pass(served_in)).collect::<Vec<_>>(),
        "unserved": cycle.unserved.iter().map(|(job, why)| (key(job).to_owned(), reason(why).into())).collect::<Map<_, _>>(),
    })
}

fn victims(request: &Value) -> Value {
    let gangs: Vec<ClaimedGang> = list(&request["claims"]).iter().map(gang).collect();
    let asking = &request["preemptor"];
    let preemptor = Preemptor { account: text(&asking["account"]), priority: whole(&asking["priority"]) };
    let candidates: Vec<Candidate> = list(&asking["candidates"]).iter().map(candidate).collect();
    let offers = list(&request["offers"]);
    let free = offers.iter().map(|offer| (text(&offer["name"]), resources(&offer["free"]))).collect();
    let permitted = &request["policy"];
    let permitted = Permitted {
        reasons: list(&permitted["reasons"]).iter().filter_map(mode).collect::<BTreeSet<_>>(),
        min_runtime_seconds: whole(&permitted["minRuntimeSeconds"]),
        max_victims: permitted["maxVictims"].as_u64().and_then(|most| usize::try_from(most).ok()).unwrap_or(0),
        leaves_above: false,
    };
    let mut charged: Vec<&str> = gangs.iter().map(|gang| gang.account.as_str()).collect();
    charged.push(&preemptor.account);
    let tree = tree(request, &charged);
    let quotas = Quotas::new(&tree, &amounts(&request["total"]));
    let preemption =
        Preemption { permitted: &permitted, now: whole(&request["now"]), quotas: &quotas, free: &free, gangs: &gangs };
    match preemption.choose(&preemptor, &candidates) {
        Ok(choice) => {
            let victims = choice.victims.iter().filter_map(|place| gangs.get(*place));
            let names: Vec<&str> = victims.map(|gang| gang.name.as_str()).collect();
            json!({ "candidate": choice.candidate, "victims": names, "mode": mode_name(choice.mode) })
        }
        Err(refusal) => json!({ "none": match refusal {
            NoVictims::NoCandidate => "NoCandidate",
            NoVictims::NotEnoughVictims => "NotEnoughVictims",
            NoVictims::TooManyVictims => "TooManyVictims",
            NoVictims::QuotaExceeded => "QuotaExceeded",
        }}),
    }
}

const MODES: [(Mode, &str); 5] = [
    (Mode::None, "None"),
    (Mode::Rank, "Rank"),
    (Mode::Reclaim, "Reclaim"),
    (Mode::Share, "Share"),
    (Mode::Priority, "Priority"),
];

fn mode(name: &Value) -> Option<Mode> {
    MODES.iter().find(|(_, text)| name == text).map(|(mode, _)| *mode)
}

fn mode_name(mode: Mode) -> &'static str {
    MODES.iter().find(|(other, _)| *other == mode).map_or("", |(_, text)| text)
}

fn gang(value: &Value) -> ClaimedGang {
    ClaimedGang {
        name: text(&value["gang"]),
        account: text(&value["account"]),
        priority: whole(&value["priority"]),
        since: whole(&value["since"]),
        preemptions: value["preemptions"].as_u64().and_then(|times| u32::try_from(times).ok()).unwrap_or(0),
        takes: amounts(&value["takes"]),
        rank: amount(&value["preemptionRank"]),
        requirements: value["requirements"].as_bool().unwrap_or(false),
        members: members(value, "frees"),
    }
}

fn candidate(value: &Value) -> Candidate {
    Candidate { own: amount(&value["own"]), takes: taken_by(value), members: members(value, "takes") }
}

fn members(value: &Value, amounts: &str) -> Vec<GangMember> {
    let member = |member: &Value| GangMember {
        offer: text(&member["offer"]),
        amounts: resources(&member[amounts]),
        rank: amount(&member["rank"]),
    };
    list(&value["members"]).iter().map(member).collect()
}

/// What the gang of a job or of a candidate takes.
fn taken_by(value: &Value) -> Amounts {
    taken_by_gang(amount(&value["charge"]), amounts(&value["takes"]))
}

/// The tree of a request, with an account for each of those charged that has none.
fn tree(request: &Value, charged: &[&str]) -> Tree {
    let stated = list(&request["accounts"]).iter().map(account);
    Tree::new(charged.iter().map(|name| Account::named(name)).chain(stated))
}

fn account(value: &Value) -> Account {
    let limit = |quota: &Value, name: &str| quota.get(name).filter(|limit| !limit.is_null()).map(amount);
    let quota = |quota: &Value| {
        let limits = Quota { min: limit(quota, "min"), max: limit(quota, "max"), lend: limit(quota, "lend") };
        (Counter::from(text(&quota["counter"])), limits)
    };
    Account {
        name: text(&value["name"]),
        parent: value["parent"].as_str().map(str::to_owned),
        weight: value["weight"].as_i64().unwrap_or(Account::WEIGHT),
        usage: amount(&value["usage"]),
        held: amounts(&value["held"]),
        quotas: list(&value["quotas"]).iter().map(quota).collect(),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn whole(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// 0 where it is absent.
fn amount(value: &Value) -> Amount {
    value.as_number().and_then(serde_json::Number::as_i128).unwrap_or(0)
}

fn resources(value: &Value) -> BTreeMap<String, Amount> {
    value.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), amount(value))).collect()
}

fn amounts(value: &Value) -> Amounts {
    value.as_object().into_iter().flatten().map(|(name, value)| (Counter::from(name.as_str()), amount(value))).collect()
}

/// A number; null beyond 64 bits.
fn number(amount: Amount) -> Value {
    serde_json::Number::from_i128(amount).map_or(Value::Null, Value::Number)
}
