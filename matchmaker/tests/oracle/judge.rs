//! A complete tree into a verdict: is it a gang, what does it take, how good is it.

use std::cmp::Reverse;
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
    /// How many members sets have.
    pub(crate) members: usize,
}

/// Where an ad is bound, and through which of its own ports; a set that ends before another does comes first.
type Place = (usize, Reverse<usize>, usize, usize);

impl Judged {
    pub(crate) fn keys(&self, pool: &Snapshot) -> Vec<AdKey> {
        let ads: Vec<&PoolAd> = pool.ads().map(|(_, ad)| ad).collect();
        self.tree.nodes.iter().skip(1).map(|(place, _)| ads[*place].key.clone()).collect()
    }

    /// What is larger for the better of two gangs.
    pub(crate) fn preference(&self) -> ([i128; 3], usize, Reverse<Vec<Place>>) {
        let places = self.tree.nodes.iter().map(|(place, edge)| {
            let (parent, port, via) = edge.unwrap_or_default();
            (parent, Reverse(port), *place, via)
        });
        (self.score, self.members, Reverse(places.collect()))
    }
}

/// Everything that the expressions of a whole tree can see.
struct Bench<'t> {
    tree: &'t Tree,
    ads: Vec<&'t PoolAd>,
    env: Env<'t>,
    bodies: Vec<FrameId>,
    ports: Vec<Vec<FrameId>>,
    /// The frame in which a node's parent sees that node alone, if it is in a set.
    askers: Vec<Option<FrameId>>,
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
        let wish = &bench.ads[parent].ports.list[port];
        let agreed = bench.holds(bench.ads[parent], &wish.constraint, bench.asker(node)) && bench.accepts(node, via);
        agreed.then_some(())?;
    }
    for node in 0..tree.nodes.len() {
        (0..bench.ports[node].len()).all(|port| bench.is_set(node, port)).then_some(())?;
    }
    let mut asks = vec![Ask::default()];
    for node in 1..tree.nodes.len() {
        asks.push(bench.ask(node, &blank)?);
    }
    let (score, members) = (bench.score(&blank), bench.askers.iter().flatten().count());
    Some(Judged { tree: tree.clone(), asks, score, members })
}

impl<'t> Bench<'t> {
    fn of(pool: &'t Snapshot, tree: &'t Tree, config: &Config, now: i64) -> Bench<'t> {
        let all: Vec<&PoolAd> = pool.ads().map(|(_, ad)| ad).collect();
        let ads: Vec<&PoolAd> = tree.nodes.iter().map(|(place, _)| all[*place]).collect();
        let context = Context { now, seed: config.seed, limits: config.limits, ..Context::default() };
        let mut bench =
            Bench { tree, ads, env: Env::new(), bodies: Vec::new(), ports: Vec::new(), askers: Vec::new(), context };
        for ad in bench.ads.clone() {
            let body = bench.env.frame(&ad.ports.body, None);
            bench.bodies.push(body);
            bench.ports.push(match ad.ports.implicit {
                true => vec![body],
                false => ad.ports.list.iter().map(|port| bench.env.frame(&port.attributes, Some(body))).collect(),
            });
        }
        for (_, edge) in &tree.nodes {
            let counted = edge.filter(|(parent, port, _)| bench.ads[*parent].ports.list[*port].set.is_some());
            let asker = counted.map(|(parent, port, _)| {
                let attributes = &bench.ads[parent].ports.list[port].attributes;
                bench.env.frame(attributes, Some(bench.bodies[parent]))
            });
            bench.askers.push(asker);
        }
        for node in 0..tree.nodes.len() {
            for port in 0..bench.ports[node].len() {
                bench.introduce(node, port);
            }
        }
        bench
    }

    /// The nodes bound at a port of a node, which is not the port to its parent.
    fn children(&self, node: usize, port: usize) -> Vec<usize> {
        let at = |edge: &Option<(usize, usize, usize)>| edge.is_some_and(|edge| edge.0 == node && edge.1 == port);
        (0..self.tree.nodes.len()).filter(|child| at(&self.tree.nodes[*child].1)).collect()
    }

    /// The frame in which a node's parent asks for it.
    fn asker(&self, node: usize) -> FrameId {
        let (parent, port, _) = self.tree.nodes[node].1.unwrap();
        self.askers[node].unwrap_or(self.ports[parent][port])
    }

    /// What a node shows to its parent.
    fn shown(&self, node: usize) -> FrameId {
        self.ports[node][self.tree.nodes[node].1.unwrap().2]
    }

    /// Whether what is bound at a port is what a counted port asks for as a whole; any other port is fine.
    fn is_set(&self, node: usize, port: usize) -> bool {
        let Some(set) = &self.ads[node].ports.list[port].set else { return true };
        let (children, frame) = (self.children(node, port), self.ports[node][port]);
        let count = |expr: &Expr| match self.value(expr, frame) {
            Some(Value::Integer(count @ 1..=63)) => usize::try_from(count).ok(),
            _ => None,
        };
        let sized = count(&set.least)
            .zip(count(&set.most))
            .is_some_and(|(least, most)| least <= children.len() && children.len() <= most);
        let values = |attribute: &matchmaker::MemberAttribute| -> Vec<Value> {
            let value = |child: &usize| self.value(&attribute.of_member, self.asker(*child)).unwrap_or(Value::Error);
            children.iter().map(value).collect()
        };
        let plain =
            |value: &Value| matches!(value, Value::Boolean(_) | Value::Integer(_) | Value::Real(_) | Value::String(_));
        let same = set.same.iter().map(values).all(|all| all.iter().all(|own| plain(own) && *own == all[0]));
        let differ = |all: &[Value]| (1..all.len()).all(|place| !all[..place].contains(&all[place]));
        let distinct = set.distinct.iter().map(values).all(|all| all.iter().all(plain) && differ(&all));
        sized && same && distinct && set.constraint.as_ref().is_none_or(|own| self.truth(own, frame))
    }

    /// The ads at a port: the parent, or the children.
    fn partners(&self, node: usize, port: usize) -> Vec<usize> {
        match self.tree.nodes[node].1 {
            Some((parent, _, via)) if via == port => vec![parent],
            _ => self.children(node, port),
        }
    }

    /// Makes the partner at a port known to this port and to the ports after it.
    fn introduce(&mut self, node: usize, port: usize) {
        let ad = self.ads[node];
        let to_parent = self.tree.nodes[node].1.is_some_and(|edge| edge.2 == port);
        let views: Vec<FrameId> = match to_parent {
            true => vec![self.asker(node)],
            false => self.children(node, port).into_iter().map(|child| self.shown(child)).collect(),
        };
        let label = &ad.ports.list[port].label;
        // The frames in which the node asks at this port and at later ones.
        let askers: Vec<(usize, FrameId)> = (port..self.ports[node].len())
            .flat_map(|at| self.children(node, at).into_iter().map(move |child| (at, child)))
            .filter_map(|(at, child)| Some((at, self.askers[child]?)))
            .collect();
        let frames: Vec<FrameId> = self.ports[node][port..].to_vec();
        let later = askers.iter().filter(|(at, _)| *at > port).map(|(_, frame)| *frame);
        for frame in frames.into_iter().chain(later) {
            match &ad.ports.list[port].set {
                _ if ad.ports.implicit => self.env.partner(self.bodies[node], views[0]),
                Some(_) => self.env.bind_each(frame, label, views.clone()),
                None => self.env.bind(frame, label, views[0]),
            }
        }
        let own: Vec<FrameId> = askers.iter().filter(|(at, _)| *at == port).map(|(_, frame)| *frame).collect();
        for (frame, view) in own.iter().zip(&views) {
            self.env.bind(*frame, label, *view);
        }
        let earlier = (0..port).flat_map(|port| self.partners(node, port)).map(|partner| {
            let ad = self.ads[partner];
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
        for frame in own.into_iter().chain([self.ports[node][port]]) {
            self.env.define(frame, Name::new("Members"), members.clone());
        }
    }

    fn value(&self, expr: &Expr, at: FrameId) -> Option<Value> {
        eval(expr, &self.env, at, &self.context).ok()
    }

    fn accepts(&self, node: usize, port: usize) -> bool {
        self.holds(self.ads[node], &self.ads[node].ports.list[port].constraint, self.ports[node][port])
    }

    fn holds(&self, ad: &PoolAd, constraint: &Option<Expr>, at: FrameId) -> bool {
        constraint.as_ref().map_or(!ad.ports.implicit, |constraint| self.truth(constraint, at))
    }

    fn truth(&self, expr: &Expr, at: FrameId) -> bool {
        self.value(expr, at).is_some_and(|value| match value {
            Value::Boolean(truth) => truth,
            Value::Integer(number) => number != 0,
            Value::Real(number) | Value::RelTime(number) => number != 0.0,
            _ => false,
        })
    }

    fn ask(&mut self, node: usize, blank: &'t Ad) -> Option<Ask> {
        let (parent, port, via) = self.tree.nodes[node].1?;
        let Some(offer) = self.ads[node].offer() else { return Some(Ask::default()) };
        let (asker, frame) = (self.ads[parent], self.asker(node));
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

    fn rank(&self, rank: Option<&Expr>, at: FrameId) -> i128 {
        rank.and_then(|rank| self.value(rank, at)).map_or(0, |value| fixed(&value))
    }

    fn score(&mut self, blank: &'t Ad) -> [i128; 3] {
        let mut score = [0; 3];
        for (node, (_, edge)) in self.tree.nodes.iter().enumerate() {
            let Some((parent, port, via)) = *edge else { continue };
            let wish = &self.ads[parent].ports.list[port];
            let by_set = wish.set.as_ref().is_some_and(|set| set.rank.is_some());
            let asked = if by_set { 0 } else { self.rank(wish.rank.as_ref(), self.asker(node)) };
            let given = self.rank(self.ads[node].ports.list[via].rank.as_ref(), self.ports[node][via]);
            match parent {
                0 => (score[0], score[1]) = (score[0] + asked, score[1] + given),
                _ => score[2] += asked + given,
            }
        }
        for (node, ad) in self.ads.iter().enumerate() {
            for (port, declared) in ad.ports.list.iter().enumerate() {
                if let Some(rank) = declared.set.as_ref().and_then(|set| set.rank.as_ref()) {
                    score[if node == 0 { 0 } else { 2 }] += self.rank(Some(rank), self.ports[node][port]);
                }
            }
        }
        let root = self.ads[0];
        if let Some(rank) = root.ports.body.get("GangRank") {
            let here = self.env.frame(blank, Some(self.bodies[0]));
            for (port, declared) in root.ports.list.iter().enumerate() {
                let views: Vec<FrameId> = self.children(0, port).into_iter().map(|child| self.shown(child)).collect();
                match &declared.set {
                    Some(_) => self.env.bind_each(here, &declared.label, views),
                    None => self.env.bind(here, &declared.label, views[0]),
                }
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
