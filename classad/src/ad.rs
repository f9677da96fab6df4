//! The ad: named expressions in source order, with a hash table for lookup.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use triomphe::ThinArc;

use crate::expr::Expr;
use crate::name::{self, Name};

/// A classified advertisement: attributes in source order, looked up without regard to case.
///
/// Cloning is O(1); changing a shared ad copies it first.
// One allocation, because a pool consists of ads. INVARIANT: as many expressions as the shape has names, in its order.
#[derive(Clone)]
pub struct Ad(ThinArc<Shape, Expr>);

/// The names of an ad. Ads with the same names in the same order may share one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape(Arc<Names>);

#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<Name>,
    /// How many of them are hidden.
    hidden: usize,
    // INVARIANT: one entry for each name, ordered by hash, then by name; no two names are equal.
    index: Vec<Entry>,
    /// Hash table with linear probing, for ads of usual size: the place of each name plus one; 0 for a free entry.
    /// Larger ads use the index, which no choice of names can make slow.
    table: Vec<u8>,
    /// The place of the name that was first removed from this shape while it was shared, and the remaining shape: when the same name is
    /// removed from other ads of this shape, they share the result, too.
    smaller: OnceLock<(usize, Shape)>,
}

/// How many names an ad with a table may have.
const TABLE_NAMES_MAX: usize = 100;

/// How many entries a table has for each name, at least: with so many free entries, most searches end at the first.
const TABLE_SPARSE: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u64,
    place: usize,
}

/// The entry in a table of this size where a search for a hash begins.
fn slot(hash: u64, size: usize) -> usize {
    let mixed = usize::try_from(hash ^ (hash >> 32)).unwrap_or(usize::MAX);
    mixed & size.wrapping_sub(1)
}

impl Ad {
    /// An ad without attributes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// An ad with these names and as many values.
    pub(crate) fn of_shape(shape: Shape, values: impl ExactSizeIterator<Item = Expr>) -> Self {
        debug_assert_eq!(shape.0.list.len(), values.len(), "each name has a value");
        Self(ThinArc::from_header_and_iter(shape, values))
    }

    fn names(&self) -> &Names {
        &self.0.header.header.0
    }

    fn values(&self) -> &[Expr] {
        &self.0.slice
    }

    /// The shape of an ad that is about to be replaced. It is not shared if the ad is not shared.
    fn take_shape(&mut self) -> Shape {
        let own = ThinArc::with_arc_mut(&mut self.0, |ad| {
            triomphe::Arc::get_mut(ad).map(|ad| std::mem::take(ad.header_mut()))
        });
        own.unwrap_or_else(|| self.shape())
    }

    /// Sets an attribute. A name that is there already keeps its place and spelling; its old expression is returned.
    ///
    /// This copies the list of expressions; to put many together, collect them.
    pub fn insert(&mut self, name: Name, expr: Expr) -> Option<Expr> {
        let mut values = self.values().to_vec();
        let found = self.names().find(name.as_str(), name.folded());
        let mut shape = self.take_shape();
        let old = match found {
            Ok(at) => {
                let place = shape.0.index.get(at).map_or(usize::MAX, |entry| entry.place);
                values.get_mut(place).map(|old| std::mem::replace(old, expr))
            }
            Err(at) => {
                Arc::make_mut(&mut shape.0).add(at, name);
                values.push(expr);
                None
            }
        };
        *self = Self::of_shape(shape, values.into_iter());
        old
    }

    /// Removes an attribute and returns its expression.
    pub fn remove(&mut self, name: &str) -> Option<Expr> {
        let at = self.names().find(name, name::folded_hash(name)).ok()?;
        let mut values = self.values().to_vec();
        let mut shape = self.take_shape();
        let removed = values.remove(shape.remove(at));
        *self = Self::of_shape(shape, values.into_iter());
        Some(removed)
    }

    /// The expression of the attribute `name`, in any case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Expr> {
        let place = self.names().place(name, name::folded_hash(name), |own| own == name)?;
        self.values().get(place)
    }

    /// The expression of the attribute `name`, whose hash is known.
    #[must_use]
    pub fn get_name(&self, name: &Name) -> Option<&Expr> {
        self.values().get(self.place(name)?)
    }

    /// The place of the attribute `name` among all, in source order.
    #[must_use]
    pub fn place(&self, name: &Name) -> Option<usize> {
        self.names().place(name.as_str(), name.folded(), |own| own == name)
    }

    /// The expression at a place, see [`Ad::place`].
    #[must_use]
    pub fn at(&self, place: usize) -> Option<&Expr> {
        self.values().get(place)
    }

    /// A number that identifies the list of names while the ad lives: in ads with equal numbers, every name has the same
    /// [`Ad::place`]. Copies of an ad share it.
    #[must_use]
    pub fn shape_id(&self) -> usize {
        self.0.header.header.id()
    }

    /// The names of the ad, shared with other ads of the same names.
    pub(crate) fn shape(&self) -> Shape {
        self.0.header.header.clone()
    }

    /// The attribute `name` with its spelling in this ad.
    #[must_use]
    pub fn entry(&self, name: &str) -> Option<(&Name, &Expr)> {
        let place = self.names().place(name, name::folded_hash(name), |own| own == name)?;
        Some((self.names().list.get(place)?, self.values().get(place)?))
    }

    /// The attributes in source order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Name, &Expr)> + Clone {
        self.names().list.iter().zip(self.values())
    }

    /// The attributes that are not hidden, in source order: what is printed, and what a value of the ad contains.
    pub fn shown(&self) -> impl Iterator<Item = (&Name, &Expr)> + Clone {
        self.iter().filter(|(name, _)| !name.is_hidden())
    }

    /// How many attributes are not hidden.
    pub(crate) fn shown_len(&self) -> usize {
        self.len().saturating_sub(self.names().hidden)
    }

    /// Whether there are hidden attributes.
    pub(crate) fn hides(&self) -> bool {
        self.names().hidden > 0
    }

    /// The attributes in an order that does not depend on the source order.
    pub(crate) fn by_name(&self) -> impl Iterator<Item = (&Name, &Expr)> {
        let names = self.names();
        names.index.iter().filter_map(|entry| Some((names.list.get(entry.place)?, self.at(entry.place)?)))
    }

    /// How many attributes there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Whether there is no attribute.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values().is_empty()
    }

    /// The text as HTCondor prints it, byte for byte: attributes by length of the name, then by name.
    #[must_use]
    pub fn canonical(&self) -> String {
        Expr::ad(self.clone()).canonical()
    }
}

impl Shape {
    /// The shape of an ad with these names, in this order; none if two are equal.
    pub(crate) fn new(names: Vec<Name>) -> Option<Self> {
        let mut index: Vec<Entry> =
            names.iter().enumerate().map(|(place, name)| Entry { hash: name.folded(), place }).collect();
        let spelling = |entry: &Entry| names.get(entry.place).map_or("", Name::as_str);
        index.sort_unstable_by(|left, right| {
            left.hash.cmp(&right.hash).then_with(|| name::compare(spelling(left), spelling(right)))
        });
        let equal = |pair: &[Entry]| match pair {
            [left, right] => left.hash == right.hash && spelling(left).eq_ignore_ascii_case(spelling(right)),
            _ => false,
        };
        if index.windows(2).any(equal) {
            return None;
        }
        let hidden = names.iter().filter(|name| name.is_hidden()).count();
        let mut names = Names { list: names, hidden, index, table: Vec::new(), smaller: OnceLock::new() };
        names.fill_table();
        Some(Self(Arc::new(names)))
    }

    /// See [`Ad::shape_id`].
    pub(crate) fn id(&self) -> usize {
        Arc::as_ptr(&self.0) as usize
    }

    /// Removes the name at a place of the index and says at which place of the list it was.
    fn remove(&mut self, at: usize) -> usize {
        let names = &self.0;
        let place = names.index.get(at).map_or(usize::MAX, |entry| entry.place);
        // Not for large ads: taken apart name by name, they would leave a long trail.
        if Arc::strong_count(names) == 1 || names.list.len() > TABLE_NAMES_MAX {
            return Arc::make_mut(&mut self.0).remove(at);
        }
        let without = || {
            let mut smaller = Names::clone(names);
            smaller.remove(at);
            Self(Arc::new(smaller))
        };
        let (known, smaller) = names.smaller.get_or_init(|| (place, without()));
        *self = if *known == place { smaller.clone() } else { without() };
        place
    }
}

impl Names {
    /// Where a name stands in the index, or would stand.
    fn find(&self, name: &str, hash: u64) -> Result<usize, usize> {
        self.index.binary_search_by(|entry| {
            // Names are compared only where hashes are equal: once, unless names were chosen to collide.
            entry.hash.cmp(&hash).then_with(|| {
                self.list.get(entry.place).map_or(Ordering::Less, |own| name::compare(own.as_str(), name))
            })
        })
    }

    /// The place in the list of the name with this hash that `is_it`, spelled `name`.
    fn place(&self, name: &str, hash: u64, is_it: impl Fn(&Name) -> bool) -> Option<usize> {
        if self.table.is_empty() {
            if self.list.is_empty() {
                return None;
            }
            let at = self.find(name, hash).ok()?;
            return self.index.get(at).map(|entry| entry.place);
        }
        let mut at = slot(hash, self.table.len());
        loop {
            let place = usize::from(*self.table.get(at)?).checked_sub(1)?;
            let own = self.list.get(place)?;
            if is_it(own) {
                return Some(place);
            }
            at = (at + 1) & (self.table.len() - 1);
        }
    }

    fn fill_table(&mut self) {
        self.table.clear();
        if self.list.is_empty() || self.list.len() > TABLE_NAMES_MAX {
            return;
        }
        let size = (self.list.len() * TABLE_SPARSE).next_power_of_two();
        self.table.resize(size, 0);
        for (place, name) in (1..).zip(&self.list) {
            let mut at = slot(name.folded(), size);
            while self.table.get(at).is_some_and(|taken| *taken != 0) {
                at = (at + 1) & (size - 1);
            }
            if let Some(free) = self.table.get_mut(at) {
                *free = place;
            }
        }
    }

    fn add(&mut self, at: usize, name: Name) {
        self.smaller.take();
        self.index.insert(at, Entry { hash: name.folded(), place: self.list.len() });
        self.hidden += usize::from(name.is_hidden());
        self.list.push(name);
        self.fill_table();
    }

    /// Removes the name at a place of the index and says at which place of the list it was.
    fn remove(&mut self, at: usize) -> usize {
        self.smaller.take();
        let place = self.index.remove(at).place;
        for later in &mut self.index {
            if later.place > place {
                later.place -= 1;
            }
        }
        let removed = self.list.remove(place);
        self.hidden -= usize::from(removed.is_hidden());
        self.fill_table();
        place
    }
}

/// Two ads are equal if the same names stand for equal expressions, in any order.
impl PartialEq for Ad {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().all(|(name, expr)| other.get_name(name) == Some(expr))
    }
}

/// A name that comes again keeps its place and spelling and takes the later expression.
impl FromIterator<(Name, Expr)> for Ad {
    fn from_iter<I: IntoIterator<Item = (Name, Expr)>>(attributes: I) -> Self {
        let (names, mut values): (Vec<Name>, Vec<Expr>) = attributes.into_iter().unzip();
        if let Some(shape) = Shape::new(names.clone()) {
            return Self::of_shape(shape, values.into_iter());
        }
        let mut places: HashMap<&Name, usize> = HashMap::new();
        let mut once = Vec::new();
        for (from, name) in names.iter().enumerate() {
            let to = *places.entry(name).or_insert_with(|| {
                once.push(name.clone());
                once.len() - 1
            });
            values.swap(to, from);
        }
        values.truncate(once.len());
        Self::of_shape(Shape::new(once).unwrap_or_default(), values.into_iter())
    }
}

impl Default for Ad {
    fn default() -> Self {
        Self::of_shape(Shape::default(), [].into_iter())
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
