//! An ad into its ports: the bilateral matches it needs before it can be part of a gang.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, OnceLock};

use classad::{Ad, Expr, Name};
use foldhash::fast::RandomState;

use crate::early::Early;

/// One port of an ad.
#[derive(Clone, Debug)]
pub struct Port {
    /// The partner's name in this ad, from this port on.
    pub label: Name,
    /// The attributes of the port itself: what a partner sees before the ad's own. Empty for the implicit port.
    pub attributes: Ad,
    /// Must be true of a partner; none is true for an explicit port and no match for the implicit one.
    pub constraint: Option<Expr>,
    /// How much a partner is preferred.
    pub rank: Option<Expr>,
    /// What is asked of an offer: a nested ad of amounts.
    pub request: Option<Expr>,
}

/// An ad, taken apart.
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
    /// What of each port can be looked at before earlier ones are bound; worked out when it is first asked for.
    early: OnceLock<Vec<Early>>,
}

/// Names that mean something else inside an expression, so that a label of that name could never be read.
const RESERVED: [&str; 13] = [
    "my",
    "self",
    "target",
    "other",
    "parent",
    "root",
    "toplevel",
    "true",
    "false",
    "undefined",
    "error",
    "is",
    "isnt",
];

// Names that are looked for in every ad.
static PORTS: LazyLock<Name> = LazyLock::new(|| Name::new("Ports"));
static LABEL: LazyLock<Name> = LazyLock::new(|| Name::new("Label"));
static CONSTRAINT: LazyLock<Name> = LazyLock::new(|| Name::new("Constraint"));
static REQUIREMENTS: LazyLock<Name> = LazyLock::new(|| Name::new("Requirements"));
static RANK: LazyLock<Name> = LazyLock::new(|| Name::new("Rank"));
static REQUEST: LazyLock<Name> = LazyLock::new(|| Name::new("Request"));
/// The label of the implicit port, and its attributes.
static OTHER: LazyLock<Name> = LazyLock::new(|| Name::new("other"));
static NOTHING: LazyLock<Ad> = LazyLock::new(Ad::new);

/// The expression of an attribute that is looked for in every ad.
fn expr<'a>(ad: &'a Ad, name: &Name) -> Option<&'a Expr> {
    ad.at(ad.place(name)?)
}

impl Ports {
    /// The ports of an ad: its `Ports` list, or the implicit port if it has none.
    pub fn of(ad: &Ad) -> Ports {
        let listed = expr(ad, &PORTS).map(Listed::of).unwrap_or_default();
        Ports::from(ad, listed)
    }

    fn from(ad: &Ad, Listed { mut list, problem }: Listed) -> Ports {
        let implicit = list.is_empty() && problem.is_none();
        if implicit {
            list = Arc::new([Port::implicit(ad)]);
        }
        Ports { body: ad.clone(), list, implicit, problem, early: OnceLock::new() }
    }

    /// Whether what this ad shows through a port is known only when its earlier ports are bound, to those that read what port `at`
    /// of `other` reads.
    pub fn is_seen_late(&self, port: usize, other: &Ports, at: usize) -> bool {
        let both = || Some((self.early(port)?, other.early(at)?));
        both().is_some_and(|(own, other)| !own.seen_from(other))
    }

    /// What of a port can be looked at before earlier ones are bound.
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

/// What a `Ports` list comes to.
#[derive(Clone, Debug, Default)]
struct Listed {
    /// The ports before the first that is not in order.
    list: Arc<[Port]>,
    problem: Option<String>,
}

impl Listed {
    fn of(expr: &Expr) -> Listed {
        let Some(entries) = expr.as_list() else {
            let problem = format!("`Ports` is `{expr}`; write a list of ads: `{{ [Label = cpu; ...] }}`");
            return Listed { problem: Some(problem), ..Listed::default() };
        };
        let mut list = Vec::with_capacity(entries.len());
        for (number, entry) in entries.iter().enumerate() {
            match Port::explicit(entry) {
                Ok(port) => list.push(port),
                Err(problem) => {
                    return Listed { list: list.into(), problem: Some(format!("port {number}: {problem}")) };
                }
            }
        }
        let problem = same_label_twice(&list);
        Listed { list: list.into(), problem }
    }
}

/// Takes many ads apart: of those from one [`Reader`](classad::Reader), ads with the same list of ports share what it comes to.
#[derive(Debug, Default)]
pub struct PortLists {
    /// By identity; the expression is kept so that its identity is not taken by another.
    known: HashMap<usize, (Expr, Listed), RandomState>,
}

/// How many lists are remembered before all are forgotten.
const LISTS_MAX: usize = 10_000;

impl PortLists {
    /// No list has been met yet.
    pub fn new() -> PortLists {
        PortLists::default()
    }

    /// The same as [`Ports::of`].
    pub fn ports_of(&mut self, ad: &Ad) -> Ports {
        let Some(list) = expr(ad, &PORTS) else { return Ports::from(ad, Listed::default()) };
        if self.known.len() >= LISTS_MAX {
            self.known.clear();
        }
        let of_list = || (list.clone(), Listed::of(list));
        let (_, listed) = self.known.entry(list.id()).or_insert_with(of_list);
        Ports::from(ad, listed.clone())
    }
}

impl Port {
    fn implicit(ad: &Ad) -> Port {
        Port {
            label: OTHER.clone(),
            attributes: NOTHING.clone(),
            constraint: expr(ad, &REQUIREMENTS).or_else(|| expr(ad, &CONSTRAINT)).cloned(),
            rank: expr(ad, &RANK).cloned(),
            request: expr(ad, &REQUEST).cloned(),
        }
    }

    fn explicit(entry: &Expr) -> Result<Port, String> {
        let Some(attributes) = entry.as_ad() else {
            return Err(format!("`{entry}` is no ad; write `[Label = cpu; Constraint = ...]`"));
        };
        let label = match expr(attributes, &LABEL) {
            None => return Err("no `Label`; add one, such as `Label = cpu`".to_owned()),
            Some(expr) => label_of(expr).ok_or_else(|| format!("`Label` is `{expr}`; write a name, such as `cpu`"))?,
        };
        if RESERVED.iter().any(|word| label.as_str().eq_ignore_ascii_case(word)) {
            return Err(format!("`{label}` is a reserved word and cannot be a label; choose another, such as `cpu`"));
        }
        Ok(Port {
            label,
            constraint: expr(attributes, &CONSTRAINT).or_else(|| expr(attributes, &REQUIREMENTS)).cloned(),
            rank: expr(attributes, &RANK).cloned(),
            request: expr(attributes, &REQUEST).cloned(),
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
