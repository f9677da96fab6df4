//! The ports of an ad: the bilateral matches that it needs before it can be part of a gang.

use std::sync::{Arc, LazyLock, OnceLock};

use classad::{Ad, Expr, Name, equated, is_language_word};

use crate::early::Early;
use crate::sets::SetTerms;
use crate::timely::reads_clock;

/// One port of an ad.
#[derive(Clone, Debug)]
pub struct Port {
    /// The name of the partner in this ad, from this port on.
    pub label: Name,
    /// The attributes of the port itself: what a partner sees before the ad's own. Empty for the implicit port.
    pub attributes: Ad,
    /// Must be true of a partner; none is true for an explicit port and no match for the implicit one.
    pub constraint: Option<Expr>,
    /// How much a partner is preferred.
    pub rank: Option<Expr>,
    /// What is asked of an offer: a nested ad of amounts.
    pub request: Option<Expr>,
    /// What it says of its set of partners, if it has a count; else it binds one partner.
    pub set: Option<Arc<SetTerms>>,
}

/// An ad and its ports.
#[derive(Clone, Debug)]
pub struct Ports {
    /// The whole ad.
    pub body: Ad,
    /// Its ports, in order. Other ads may have the same list.
    pub list: Arc<[Port]>,
    /// The one port is the implicit one: label `other`, constraint and rank of the ad itself.
    pub implicit: bool,
    /// Why the ad can take no part, if it cannot.
    pub problem: Option<String>,
    /// What of each port can be evaluated before earlier ports are bound; computed when it is first needed.
    early: OnceLock<Vec<Early>>,
    /// Whether the ad reads the clock or chance; computed when it is first needed.
    timely: OnceLock<bool>,
}

// Attributes that are looked up in every ad.
static PORTS: LazyLock<Name> = LazyLock::new(|| Name::new("Ports"));
static LABEL: LazyLock<Name> = LazyLock::new(|| Name::new("Label"));
static CONSTRAINT: LazyLock<Name> = LazyLock::new(|| Name::new("Constraint"));
static REQUIREMENTS: LazyLock<Name> = LazyLock::new(|| Name::new("Requirements"));
static RANK: LazyLock<Name> = LazyLock::new(|| Name::new("Rank"));
static REQUEST: LazyLock<Name> = LazyLock::new(|| Name::new("Request"));
/// The label of the implicit port, and its attributes.
static OTHER: LazyLock<Name> = LazyLock::new(|| Name::new("other"));
static NOTHING: LazyLock<Ad> = LazyLock::new(Ad::new);

impl Ports {
    /// The ports of an ad: its `Ports` list, or the implicit port if it has none.
    pub fn of(ad: &Ad) -> Ports {
        let (mut list, problem) = ad.get_name(&PORTS).map(listed).unwrap_or_default();
        let implicit = list.is_empty() && problem.is_none();
        if implicit {
            list = Arc::new([Port::implicit(ad)]);
        }
        Ports { body: ad.clone(), list, implicit, problem, early: OnceLock::new(), timely: OnceLock::new() }
    }

    /// The ports through which the ad can be bound to a parent: a counted port needs a set of partners, and a parent is one.
    pub fn entries(&self) -> impl Iterator<Item = usize> {
        self.list.iter().enumerate().filter(|(_, port)| port.set.is_none()).map(|(place, _)| place)
    }

    /// Whether some port has a count.
    pub fn has_sets(&self) -> bool {
        self.list.iter().any(|port| port.set.is_some())
    }

    /// Whether what a port asks of one partner, and says to it, is the same whatever earlier ports are bound to.
    pub fn stands_alone(&self, port: usize) -> bool {
        self.early(port).is_some_and(Early::stands_alone)
    }

    /// Whether the count of a port may depend on earlier partners.
    pub(crate) fn has_late_count(&self, port: usize) -> bool {
        self.early(port).is_none_or(Early::has_late_count)
    }

    /// Whether the partner at port `at` of `other` reads something of this ad, through a port, that is known only when the earlier ports
    /// of this ad are bound.
    pub fn is_seen_late(&self, port: usize, other: &Ports, at: usize) -> bool {
        let both = || Some((self.early(port)?, other.early(at)?));
        both().is_some_and(|(own, other)| !own.seen_from(other))
    }

    /// Whether what the ad says may change without the ad: some expression reads the clock, chance, or a text that is not known.
    pub fn is_timely(&self) -> bool {
        *self.timely.get_or_init(|| self.body.iter().any(|(_, expr)| reads_clock(expr)))
    }

    /// Whether an expression of a port may depend on the partners at earlier ports.
    pub fn may_read_late(&self, port: usize, expr: &Expr) -> bool {
        self.early(port).is_some_and(|early| early.may_read_late(expr))
    }

    /// Whether some attribute of a port may depend on the partners at earlier ports.
    pub fn has_late(&self, port: usize) -> bool {
        self.early(port).is_some_and(Early::has_late)
    }

    /// What of a port can be evaluated before earlier ports are bound.
    pub(crate) fn early(&self, port: usize) -> Option<&Early> {
        let all = self.early.get_or_init(|| {
            if self.implicit {
                return vec![Early::implicit(&self.body)];
            }
            let earlier = |place: usize| self.list.iter().take(place).map(|port| &port.label);
            let one = |(place, port): (usize, &Port)| Early::of(&port.attributes, earlier(place));
            self.list.iter().enumerate().map(one).collect()
        });
        all.get(port)
    }
}

/// The ports of a `Ports` list, up to the first invalid one, and what is wrong with that.
fn listed(expr: &Expr) -> (Arc<[Port]>, Option<String>) {
    let Some(entries) = expr.as_list() else {
        let problem = format!("`Ports` is `{expr}`; write a list of ads: `{{ [Label = cpu; ...] }}`");
        return (Arc::default(), Some(problem));
    };
    let mut list = Vec::with_capacity(entries.len());
    for (number, entry) in entries.iter().enumerate() {
        match Port::explicit(entry) {
            Ok(port) => list.push(port),
            Err(problem) => return (list.into(), Some(format!("port {number}: {problem}"))),
        }
    }
    let problem = same_label_twice(&list);
    (list.into(), problem)
}

impl Port {
    /// The kind of partner that it asks for with a part of its constraint such as `cpu.Type == "Machine"`, and the number of that part.
    pub fn wanted_kind(&self) -> Option<(usize, String)> {
        equated(self.constraint.as_ref()?, &self.label, "Type")
    }

    fn implicit(ad: &Ad) -> Port {
        Port {
            label: OTHER.clone(),
            attributes: NOTHING.clone(),
            constraint: ad.get_name(&REQUIREMENTS).or_else(|| ad.get_name(&CONSTRAINT)).cloned(),
            rank: ad.get_name(&RANK).cloned(),
            request: ad.get_name(&REQUEST).cloned(),
            set: None,
        }
    }

    fn explicit(entry: &Expr) -> Result<Port, String> {
        let Some(attributes) = entry.as_ad() else {
            return Err(format!("`{entry}` is no ad; write `[Label = cpu; Constraint = ...]`"));
        };
        let label = match attributes.get_name(&LABEL) {
            None => return Err("no `Label`; add one, such as `Label = cpu`".to_owned()),
            Some(expr) => label_of(expr).ok_or_else(|| format!("`Label` is `{expr}`; write a name, such as `cpu`"))?,
        };
        if is_language_word(label.as_str()) {
            return Err(format!("`{label}` is a reserved word and cannot be a label; choose another, such as `cpu`"));
        }
        Ok(Port {
            set: SetTerms::of(&label, attributes)?.map(Arc::new),
            label,
            constraint: attributes.get_name(&CONSTRAINT).or_else(|| attributes.get_name(&REQUIREMENTS)).cloned(),
            rank: attributes.get_name(&RANK).cloned(),
            request: attributes.get_name(&REQUEST).cloned(),
            attributes: attributes.clone(),
        })
    }
}

/// A label is written as a bare name or as a string.
fn label_of(expr: &Expr) -> Option<Name> {
    if let Some(name) = expr.as_attribute() {
        return Some(name.clone());
    }
    match expr.as_literal() {
        Some(classad::Value::String(text)) if !text.is_empty() => Some(Name::new(text.clone())),
        _ => None,
    }
}

fn same_label_twice(list: &[Port]) -> Option<String> {
    let twice = |place: &usize| {
        let (before, here) = list.split_at(*place);
        here.first().is_some_and(|port| before.iter().any(|earlier| earlier.label == port.label))
    };
    let place = (0..list.len()).find(twice)?;
    let label = &list.get(place)?.label;
    Some(format!("port {place}: the label `{label}` is given twice; give each port its own"))
}
