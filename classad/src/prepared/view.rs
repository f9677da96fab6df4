//! A candidate as it shows itself, and where its attributes stand.

use crate::ad::{Ad, Shape};
use crate::expr::Kind;
use crate::name::Name;
use crate::text::Dialect;
use crate::value::Value;

/// What a candidate shows: a port's attributes, then those of the ad around it. Nothing may be [defined](crate::Env::define)
/// in its frames.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    ad: &'a Ad,
    body: Option<&'a Ad>,
}

impl<'a> View<'a> {
    /// A port with these attributes of an ad.
    #[must_use]
    pub fn port(attributes: &'a Ad, body: &'a Ad) -> Self {
        Self { ad: attributes, body: Some(body) }
    }

    /// An ad by itself.
    #[must_use]
    pub fn ad(ad: &'a Ad) -> Self {
        Self { ad, body: None }
    }
}

/// How long a text of the candidate's may be to be looked at here.
const TEXT_MAX: usize = 1_000;

/// How many kinds of candidates are told apart before everything is forgotten.
const SHAPES_MAX: usize = 16;

/// Where the attributes stand in candidates of the shapes seen so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    lines: Vec<Line>,
    /// The line of the candidate before: most have the same shape.
    latest: usize,
}

#[derive(Clone, Debug)]
struct Line {
    // The shapes themselves, not only their numbers, which would be given again once nobody holds them.
    ad: Shape,
    body: Option<Shape>,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Port(usize),
    Body(usize),
    Nowhere,
}

impl Line {
    fn fits(&self, view: View<'_>) -> bool {
        self.ad.id() == view.ad.shape_id() && self.body.as_ref().map(Shape::id) == view.body.map(Ad::shape_id)
    }
}

impl Places {
    /// Where these names stand in a candidate like this.
    pub(super) fn of(&mut self, view: View<'_>, names: &[Name]) -> &[Place] {
        if !self.lines.get(self.latest).is_some_and(|line| line.fits(view)) {
            self.latest = self.lines.iter().position(|line| line.fits(view)).unwrap_or_else(|| self.add(view, names));
        }
        self.lines.get(self.latest).map_or(&[], |line| &line.places)
    }

    fn add(&mut self, view: View<'_>, names: &[Name]) -> usize {
        if self.lines.len() >= SHAPES_MAX {
            self.lines.clear();
        }
        let place = |name: &Name| match (view.ad.place(name), view.body.and_then(|body| body.place(name))) {
            (Some(place), _) => Place::Port(place),
            (None, Some(place)) => Place::Body(place),
            (None, None) => Place::Nowhere,
        };
        let places = names.iter().map(place).collect();
        self.lines.push(Line { ad: view.ad.shape(), body: view.body.map(Ad::shape), places });
        self.lines.len() - 1
    }
}

/// A candidate that is being looked at.
pub(super) struct Seen<'v> {
    pub(super) view: View<'v>,
    pub(super) places: &'v [Place],
    pub(super) dialect: Dialect,
}

impl<'v> Seen<'v> {
    /// The candidate's attribute with this number, if it is a literal or missing.
    pub(super) fn literal(&self, number: usize) -> Option<&'v Value> {
        static MISSING: Value = Value::Undefined;
        let expr = match *self.places.get(number)? {
            Place::Port(place) => self.view.ad.at(place)?,
            Place::Body(place) => self.view.body?.at(place)?,
            Place::Nowhere => return Some(&MISSING),
        };
        match expr.kind() {
            // Comparing long texts takes steps of its own.
            Kind::Literal(Value::String(text)) if text.len() > TEXT_MAX => None,
            Kind::Literal(value) => Some(value),
            _ => None,
        }
    }
}
