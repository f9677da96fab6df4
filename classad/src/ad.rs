//! Named expressions into an ad: source order for printing, a sorted index for lookup.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use crate::expr::Expr;
use crate::name::{self, Name};

/// A classified advertisement: attributes in source order, looked up without regard to case.
///
/// Cloning is O(1); changing a shared ad copies it first.
#[derive(Clone, Default)]
pub struct Ad(Arc<Attributes>);

#[derive(Clone, Default)]
struct Attributes {
    entries: Vec<(Name, Expr)>,
    // INVARIANT: positions in `entries`, ordered by length of the name (cheap, and decides most comparisons), then by name;
    // no two names are equal.
    order: Vec<usize>,
}

impl Ad {
    /// An ad without attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an attribute. A name that is there already keeps its place and spelling; its old expression is returned.
    pub fn insert(&mut self, name: Name, expr: Expr) -> Option<Expr> {
        let attributes = Arc::make_mut(&mut self.0);
        match attributes.position(name.as_str()) {
            Ok(at) => {
                let entry = attributes.order.get(at).and_then(|&entry| attributes.entries.get_mut(entry));
                entry.map(|(_, old)| std::mem::replace(old, expr))
            }
            Err(at) => {
                attributes.order.insert(at, attributes.entries.len());
                attributes.entries.push((name, expr));
                None
            }
        }
    }

    /// Takes an attribute out and returns its expression.
    pub fn remove(&mut self, name: &str) -> Option<Expr> {
        let at = self.0.position(name).ok()?;
        let attributes = Arc::make_mut(&mut self.0);
        let entry = attributes.order.remove(at);
        for later in &mut attributes.order {
            if *later > entry {
                *later -= 1;
            }
        }
        Some(attributes.entries.remove(entry).1)
    }

    /// The expression of the attribute `name`, in any case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Expr> {
        self.entry(name).map(|(_, expr)| expr)
    }

    /// The attribute `name` with its spelling in this ad.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<(&Name, &Expr)> {
        let at = self.0.position(name).ok()?;
        let (name, expr) = self.0.order.get(at).and_then(|&entry| self.0.entries.get(entry))?;
        Some((name, expr))
    }

    /// The attributes in source order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Expr)> + Clone {
        self.0.entries.iter().map(|(name, expr)| (name, expr))
    }

    /// How many attributes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.entries.len()
    }

    /// Whether there is no attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.entries.is_empty()
    }

    /// The text as HTCondor prints it, byte for byte: attributes by length of the name, then by name.
    #[must_use]
    pub fn canonical(&self) -> String {
        Expr::ad(self.clone()).canonical()
    }
}

impl Attributes {
    /// Where `name` stands in the order, or would stand.
    fn position(&self, name: &str) -> Result<usize, usize> {
        self.order.binary_search_by(|&entry| {
            self.entries.get(entry).map_or(Ordering::Less, |(own, _)| {
                let own = own.as_str();
                own.len().cmp(&name.len()).then_with(|| name::compare(own, name))
            })
        })
    }
}

/// Two ads are equal if the same names stand for equal expressions, in any order.
impl PartialEq for Ad {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, expr)| other.get(name.as_str()) == Some(expr))
    }
}

impl FromIterator<(Name, Expr)> for Ad {
    fn from_iter<I: IntoIterator<Item = (Name, Expr)>>(attributes: I) -> Self {
        let mut ad = Self::new();
        for (name, expr) in attributes {
            ad.insert(name, expr);
        }
        ad
    }
}

impl fmt::Display for Ad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Expr::ad(self.clone()), f)
    }
}

impl fmt::Debug for Ad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
