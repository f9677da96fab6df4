//! A complete tree into a verdict: is it a gang, what does it take, how good is it.

use std::collections::BTreeMap;

use classad::{Ad, Context, Env, Expr, FrameId, Name, Value, eval};
use matchmaker::{AdKey, Ask, Config, PoolAd, Res, Snapshot, share_key};

use super::trees::Tree;

/// A tree in which everything holds.
pub(crate) struct Judged {
    pub(crate) tree: Tree,
    pub(crate) asks: Vec<Ask>,
    /// The root's wish, its partners' wish, everybody else's, each in units of 2^-64.
    pub(crate) score: [i128; 3],
}

impl Judged {
    pub(crate) fn keys(&self, pool: &Snapshot) -> Vec<AdKey> {
        let ads: Vec<&PoolAd> = pool.ads().map(|(_, ad)| ad).collect();
        self.tree.nodes.iter().skip(1).map(|(place, _)| ads[*place].key.clone()).collect()
    }

    /// What is larger for the better of two gangs.
    pub(crate) fn preference(&self) -> ([i128; 3], std::cmp::Reverse<Vec<(usize, usize)>>) {
        let ids = self.tree.nodes.iter().map(|(place, edge)| (*place, edge.map_or(0, |edge| edge.2)));
        (self.score, std::cmp::Reverse(ids.collect()))
    }
}

/// Everything that the expressions of a whole tree can see.
struct Bench<'t> {
    tree: &'t Tree,
    ads: Vec<&'t PoolAd>,
    env: Env<'t>,
    bodies: Vec<FrameId>,
    ports: Vec<Vec<FrameId>>,
    context: Context,
}

pub(crate) fn judge(pool: &Snapshot, tree: &Tree, config: &Config, now: i64) -> Option<Judged> {
    let blank = Ad::new();
    let mut bench = Bench::of(pool, tree, config, now);
    let root_namespace = &bench.ads[0].key.namespace;
    for ad in &bench.ads[1..] {
        if let Some(offer) = ad.offer() {
            let met = offer.open && offer.consent.admits(root_namespace);
            met.then_some(())?;
        }
    }
    for (node, (_, edge)) in tree.nodes.iter().enumerate() {
        let Some((parent, port, via)) = *edge else { continue };
        (bench.holds(parent, port) && bench.holds(node, via)).then_some(())?;
    }
    let mut asks = vec![Ask::default()];
    for node in 1..tree.nodes.len() {
        asks.push(bench.ask(node, &blank)?);
    }
    let score = bench.score(&blank);
    Some(Judged { tree: tree.clone(), asks, score })
}

impl<'t> Bench<'t> {
    fn of(pool: &'t Snapshot, tree: &'t Tree, config: &Config, now: i64) -> Bench<'t> {
        let all: Vec<&PoolAd> = pool.ads().map(|(_, ad)| ad).collect();
        let ads: Vec<&PoolAd> = tree.nodes.iter().map(|(place, _)| all[*place]).collect();
        let context = Context { now, seed: config.seed, limits: config.limits, ..Context::default() };
        let mut bench = Bench { tree, ads, env: Env::new(), bodies: Vec::new(), ports: Vec::new(), context };
        for ad in bench.ads.clone() {
            let body = bench.env.frame(&ad.ports.body, None);
            bench.bodies.push(body);
            bench.ports.push(match ad.ports.implicit {
                true => vec![body],
                false => ad.ports.list.iter().map(|port| bench.env.frame(&port.attributes, Some(body))).collect(),
            });
        }
        for node in 0..tree.nodes.len() {
            for port in 0..bench.ports[node].len() {
                bench.introduce(node, port);
            }
        }
        bench
    }

    /// Who is at a port: the partner and the partner's port.
    fn partner(&self, node: usize, port: usize) -> (usize, usize) {
        if let Some((parent, parent_port, via)) = self.tree.nodes[node].1
            && via == port
        {
            return (parent, parent_port);
        }
        let at = |edge: &Option<(usize, usize, usize)>| edge.is_some_and(|edge| edge.0 == node && edge.1 == port);
        let child = self.tree.nodes.iter().position(|(_, edge)| at(edge)).unwrap();
        (child, self.tree.nodes[child].1.unwrap().2)
    }

    /// Makes the partner at a port known to this port and to the ports after it.
    fn introduce(&mut self, node: usize, port: usize) {
        let (other, other_port) = self.partner(node, port);
        let (ad, view) = (self.ads[node], self.ports[other][other_port]);
        if ad.ports.implicit {
            self.env.partner(self.bodies[node], view);
        } else {
            for frame in &self.ports[node][port..] {
                self.env.bind(*frame, &ad.ports.list[port].label, view);
            }
        }
        let earlier = (0..port).map(|port| {
            let ad = self.ads[self.partner(node, port).0];
            let text = |text: &str| Value::string(text);
            let fields = [
                ("Type", text(&ad.key.kind)),
                ("Namespace", text(&ad.key.namespace)),
                ("Name", text(&ad.key.name)),
                ("NodeName", ad.node_name.as_deref().map_or(Value::Undefined, text)),
                ("Uid", text(&ad.uid)),
            ];
            Value::ad(fields.map(|(name, value)| (Name::new(name), value)))
        });
        let members = Value::list(earlier.collect::<Vec<_>>());
        self.env.define(self.ports[node][port], Name::new("Members"), members);
    }

    fn value(&self, expr: &Expr, at: FrameId) -> Option<Value> {
        eval(expr, &self.env, at, &self.context).ok()
    }

    fn holds(&self, node: usize, port: usize) -> bool {
        let ad = self.ads[node];
        let Some(constraint) = &ad.ports.list[port].constraint else { return !ad.ports.implicit };
        self.value(constraint, self.ports[node][port]).is_some_and(|value| match value {
            Value::Boolean(truth) => truth,
            Value::Integer(number) => number != 0,
            Value::Real(number) | Value::RelTime(number) => number != 0.0,
            _ => false,
        })
    }

    fn ask(&mut self, node: usize, blank: &'t Ad) -> Option<Ask> {
        let (parent, port, via) = self.tree.nodes[node].1?;
        let Some(offer) = self.ads[node].offer() else { return Some(Ask::default()) };
        let (asker, frame) = (self.ads[parent], self.ports[parent][port]);
        let mut asked: BTreeMap<String, Value> = BTreeMap::new();
        if let Some(request) = &asker.ports.list[port].request {
            let Value::Ad(amounts) = self.value(request, frame)? else { return None };
            asked = amounts.iter().map(|(name, value)| (name.as_str().to_lowercase(), value.clone())).collect();
        }
        let mut takes = BTreeMap::new();
        for (resource, all) in &offer.capacity {
            let attribute = format!("Request{resource}");
            let value = if let Some(value) = asked.remove(&resource.to_lowercase()) {
                value
            } else if let Some(expr) = asker.ports.list[port].attributes.get(&attribute) {
                self.value(expr, frame)?
            } else if let Some(expr) = asker.ports.body.get(&attribute) {
                self.value(expr, self.bodies[parent])?
            } else if let Some(default) = offer.default_request.get(resource) {
                Value::Integer(*default)
            } else {
                Value::Integer(if ["seats", "slots"].contains(&resource.as_str()) { 1 } else { *all })
            };
            let Value::Integer(amount @ 1..) = value else { return None };
            takes.insert(resource.clone(), amount);
        }
        (asked.is_empty() && !takes.is_empty()).then_some(())?;
        let mut share = None;
        if let Some(shared_by) = &offer.shared_by {
            let mark = self.env.mark();
            let here = self.env.frame(blank, Some(self.ports[node][via]));
            self.env.bind(here, &Name::new("requester"), frame);
            let value = self.value(shared_by, here);
            self.env.reset(mark);
            share = share_key(&value?).ok()?;
        }
        // What others hold is held once for each key; a sharer needs no more than its key holds already.
        let held = share.as_ref().and_then(|key| offer.usage.shared.get(key));
        for (resource, amount) in &takes {
            let shared = offer.usage.shared.values().map(|held| held.get(resource).copied().unwrap_or(0)).sum::<i64>();
            let of = |amounts: &Res| amounts.get(resource).copied().unwrap_or(0);
            let free = offer.capacity[resource] - shared - of(&offer.usage.own) - of(&offer.usage.external);
            let room = held.map_or(free, of);
            (*amount <= room.min(offer.capacity[resource])).then_some(())?;
        }
        Some(Ask { allocation: takes.into_iter().collect(), share })
    }

    fn rank(&self, node: usize, port: usize) -> i128 {
        let rank = self.ads[node].ports.list[port].rank.as_ref();
        rank.and_then(|rank| self.value(rank, self.ports[node][port])).map_or(0, |value| fixed(&value))
    }

    fn score(&mut self, blank: &'t Ad) -> [i128; 3] {
        let mut score = [0; 3];
        for (node, (_, edge)) in self.tree.nodes.iter().enumerate() {
            match *edge {
                Some((0, port, via)) => {
                    score[0] += self.rank(0, port);
                    score[1] += self.rank(node, via);
                }
                Some((parent, port, via)) => score[2] += self.rank(parent, port) + self.rank(node, via),
                None => {}
            }
        }
        let root = self.ads[0];
        if let Some(rank) = root.ports.body.get("GangRank") {
            let here = self.env.frame(blank, Some(self.bodies[0]));
            for (port, declared) in root.ports.list.iter().enumerate() {
                let (child, via) = self.partner(0, port);
                self.env.bind(here, &declared.label, self.ports[child][via]);
            }
            score[0] = self.value(rank, here).map_or(0, |value| fixed(&value));
        }
        score
    }
}

/// A rank in units of 2^-64, cut at 2^56: whole part and fraction apart, both exact.
fn fixed(value: &Value) -> i128 {
    let limit = 1i64 << 56;
    match value {
        Value::Integer(number) => i128::from(*number.min(&limit).max(&-limit)) * (1 << 64),
        Value::Real(number) if number.is_finite() => {
            let number = number.min(limit as f64).max(-(limit as f64));
            let unit = 2f64.powi(64);
            number.trunc() as i128 * (1 << 64) + (number.fract() * unit) as i128
        }
        _ => 0,
    }
}
