//! A job and a summary into a verdict: the pool certainly has no gang, it has none that is free, or it may have one now.

use std::collections::BTreeMap;

use classad::{Ad, Expr, Name, conjuncts, references};

use crate::closed::is_special;
use crate::may::{may_hold, values};
use crate::never::contradiction;
use crate::scope::{Partner, Scope};
use crate::summary::{Free, KindSummary, Summary};

/// One port of a job.
#[derive(Clone, Debug)]
pub struct JobPort<'a> {
    /// The partner's name.
    pub label: &'a Name,
    /// The attributes of the port itself; without any for an implicit port.
    pub attributes: &'a Ad,
    /// Must be true of the partner; none is true, but for an implicit port.
    pub constraint: Option<&'a Expr>,
    /// What is asked of the partner: an ad of amounts.
    pub request: Option<&'a Expr>,
    /// Whether it binds several partners: to the ports after it, its label is a list, of which a summary knows nothing.
    pub counted: bool,
}

/// A job, taken apart.
#[derive(Clone, Debug)]
pub struct Job<'a> {
    /// Its ad.
    pub body: &'a Ad,
    /// Its ports, in order; the implicit one if it lists none.
    pub ports: &'a [JobPort<'a>],
    /// Whether the one port is the implicit one, whose partner is `other`.
    pub implicit: bool,
}

/// What a summary says of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The pool has no gang for the job, whatever is free.
    Cannot {
        /// The port that nothing in the pool can fill.
        port: usize,
        /// The conjunct of its constraint that rules out what the conjuncts before it leave; none if there is nothing to rule out.
        conjunct: Option<String>,
    },
    /// The pool may have a gang, but none that is free.
    Full {
        /// The port for which too little is free.
        port: usize,
    },
    /// The pool may have a gang that is free.
    Now,
}

/// What one port may be bound to.
struct Bindable<'s> {
    /// The kinds of which nothing rules out all offers, by name.
    kinds: Vec<(&'s str, &'s KindSummary)>,
    /// It may be of a kind that the summary does not list.
    unlisted: bool,
    /// Amounts that are asked for, by resource in small letters, where they are known.
    requested: BTreeMap<String, i64>,
}

/// What a summary says of a job. It never says [`Verdict::Cannot`] of a pool that has a gang for the job, and says [`Verdict::Now`] of
/// one that has a free gang. Partners of partners are not looked at.
#[must_use]
pub fn verdict(job: &Job<'_>, summary: &Summary) -> Verdict {
    let labels: Vec<Name> = job.ports.iter().map(|port| port.label.clone()).collect();
    let mut bound: Vec<Bindable<'_>> = Vec::new();
    let mut partners: Vec<(Name, Partner<'_>)> = Vec::new();
    for (place, port) in job.ports.iter().enumerate() {
        // A label is bound from its own port on; before that, it is a name like any other.
        let labels = labels.get(..=place).unwrap_or(&labels);
        let asking = Asking { job, port, labels, earlier: &partners };
        match asking.bindable(summary) {
            Ok(found) => {
                let kinds = found.kinds.iter().map(|(_, kind)| *kind).collect();
                partners.push((port.label.clone(), Partner { kinds, unlisted: found.unlisted || port.counted }));
                bound.push(found);
            }
            Err(conjunct) => return Verdict::Cannot { port: place, conjunct: conjunct.map(|expr| expr.to_string()) },
        }
    }
    match bound.iter().position(|port| !port.fits()).or_else(|| too_much_together(&bound)) {
        Some(port) => Verdict::Full { port },
        None => Verdict::Now,
    }
}

/// A port of a job that is about to be bound.
struct Asking<'a> {
    job: &'a Job<'a>,
    port: &'a JobPort<'a>,
    labels: &'a [Name],
    earlier: &'a [(Name, Partner<'a>)],
}

impl Asking<'_> {
    /// What the port may be bound to.
    ///
    /// # Errors
    /// Nothing: the conjunct that rules out what is left, of the kind that meets the most conjuncts before that.
    fn bindable<'s>(&self, summary: &'s Summary) -> Result<Bindable<'s>, Option<Expr>> {
        let parts = match self.port.constraint {
            Some(constraint) => conjuncts(constraint),
            // Without a constraint, an implicit port accepts nothing.
            None if self.job.implicit => return Err(None),
            None => Vec::new(),
        };
        let unlisted = Partner { kinds: Vec::new(), unlisted: true };
        let mut found = Bindable { kinds: Vec::new(), unlisted: false, requested: BTreeMap::new() };
        let mut furthest = None;
        let mut rule_out = |place: Option<usize>| furthest = furthest.max(place);
        for (name, kind) in &summary.kinds {
            match self.ruled_out(&parts, &Partner { kinds: vec![kind], unlisted: false }) {
                None => found.kinds.push((name.as_str(), kind)),
                place => rule_out(place),
            }
        }
        if summary.rest.is_some() {
            match self.ruled_out(&parts, &unlisted) {
                None => found.unlisted = true,
                place => rule_out(place),
            }
        }
        let nothing = |place: Option<usize>| Err(place.and_then(|place| parts.get(place).cloned()));
        if found.kinds.is_empty() && !found.unlisted {
            return nothing(furthest);
        }
        let side = Scope::side(self.job.body, self.own_attributes(), self.labels);
        if let excluded @ Some(_) = contradiction(&parts, &side) {
            return nothing(excluded);
        }
        found.requested = self.requested();
        Ok(found)
    }

    /// The place of the first conjunct that cannot be true of a partner.
    fn ruled_out(&self, parts: &[Expr], partner: &Partner<'_>) -> Option<usize> {
        self.in_scope(partner, |scope| parts.iter().position(|part| !may_hold(part, scope)))
    }

    /// The amounts of the request that are known before the partner is.
    fn requested(&self) -> BTreeMap<String, i64> {
        let Some(request) = self.port.request.and_then(Expr::as_ad) else { return BTreeMap::new() };
        let partner = Partner { kinds: Vec::new(), unlisted: true };
        // Names in the request mean its own amounts first; such amounts are not worked out.
        let outside = |expr: &Expr| {
            let first = |path: Vec<Name>| path.into_iter().next();
            let mut names = references(expr).into_iter().filter_map(first);
            names.all(|name| !is_special(&name) && request.place(&name).is_none())
        };
        self.in_scope(&partner, |scope| {
            let least = |expr: &Expr| values(expr, scope).numbers.and_then(|numbers| numbers.min.ceil());
            let known = request.iter().filter(|(_, expr)| outside(expr));
            known.filter_map(|(name, expr)| Some((name.as_str().to_ascii_lowercase(), least(expr)?))).collect()
        })
    }

    fn in_scope<T>(&self, partner: &Partner<'_>, then: impl FnOnce(&Scope<'_>) -> T) -> T {
        let here = (self.port.label.clone(), partner.clone());
        let partners: Vec<(Name, Partner<'_>)> = self.earlier.iter().cloned().chain([here]).collect();
        let implicit = self.job.implicit.then_some(partner);
        let side = Scope::side(self.job.body, self.own_attributes(), self.labels);
        then(&Scope { side, partners: &partners, implicit })
    }

    /// The attributes of the port; none if it is the implicit one.
    fn own_attributes(&self) -> Option<&Ad> {
        (!self.job.implicit).then_some(self.port.attributes)
    }
}

impl Bindable<'_> {
    /// Whether some kind has an offer with enough of everything that is asked for. A claim takes at least one of something.
    fn fits(&self) -> bool {
        let has = |kind: &KindSummary| {
            let something = kind.free_rest.is_some() || kind.free.values().any(|free| free.max >= 1);
            something && self.requested.iter().all(|(name, amount)| kind.may_have(name, *amount))
        };
        self.unlisted || self.kinds.iter().any(|(_, kind)| has(kind))
    }

    /// The one kind that the port must be bound to.
    fn only_kind(&self) -> Option<(&str, &KindSummary)> {
        match self.kinds.as_slice() {
            [(name, kind)] if !self.unlisted => Some((*name, *kind)),
            _ => None,
        }
    }

    /// How much of a resource the port takes at least.
    fn takes(&self, kind: &KindSummary, resource: &str) -> i64 {
        match self.requested.get(resource) {
            Some(amount) => (*amount).max(1),
            // Without a request a claim takes some of what the offer has.
            None if kind.free.len() == 1 && kind.free_rest.is_none() => 1,
            None => 0,
        }
    }
}

/// The last of some ports that take more of a resource together than all offers of the kind have.
fn too_much_together(bound: &[Bindable<'_>]) -> Option<usize> {
    let mut taken: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for (place, port) in bound.iter().enumerate() {
        let Some((name, kind)) = port.only_kind() else { continue };
        for (resource, Free { sum, shared, .. }) in &kind.free {
            let all = taken.entry((name, resource.as_str())).or_default();
            *all = all.saturating_add(port.takes(kind, resource));
            if *all > *sum && !shared {
                return Some(place);
            }
        }
    }
    None
}

/// Whether some offers could make a condition true, each label bound to some offer of one kind: what a summary says of one constraint
/// by itself. `own` are the attributes of the job.
#[must_use]
pub fn may(condition: &Expr, own: &Ad, labels: &BTreeMap<Name, String>, summary: &Summary) -> bool {
    let mut partners = Vec::new();
    for (label, kind) in labels {
        match (summary.kinds.get(&kind.to_ascii_lowercase()), summary.rest) {
            (Some(kind), _) => partners.push((label.clone(), Partner { kinds: vec![kind], unlisted: false })),
            (None, Some(_)) => partners.push((label.clone(), Partner { kinds: Vec::new(), unlisted: true })),
            (None, None) => return false,
        }
    }
    let names: Vec<Name> = labels.keys().cloned().collect();
    let nothing = Ad::new();
    let side = Scope::side(own, Some(&nothing), &names);
    conjuncts(condition).iter().all(|part| may_hold(part, &Scope { side, partners: &partners, implicit: None }))
}
