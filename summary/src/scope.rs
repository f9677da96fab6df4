//! What the expressions of a job can name, where partners are known by their summary alone.

use classad::{Ad, Expr, Name};

use crate::closed::{Closedness, Side, is_special};
use crate::operators::WORKING;
use crate::summary::KindSummary;
use crate::values::Values;

/// A partner: an offer of one of these kinds. None of them: any offer at all, of which nothing is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partner<'s> {
    pub(crate) kinds: Vec<&'s KindSummary>,
    /// It may also be of a kind that the summary does not list.
    pub(crate) unlisted: bool,
}

impl Partner<'_> {
    /// Which values the attribute of this name may have.
    pub(crate) fn attribute(&self, name: &Name) -> Values {
        // `Members` is made for each match; the others are no attributes, or may be none.
        if self.unlisted || is_special(name) {
            return Values::any();
        }
        let name = name.as_str().to_ascii_lowercase();
        let values = self.kinds.iter().map(|kind| kind.values(&name));
        values.reduce(|one, two| one.join(&two, &WORKING)).unwrap_or_else(Values::any)
    }
}

/// Everything that the constraint of a job's port can name.
pub(crate) struct Scope<'a> {
    /// The job's own attributes, and those of the port.
    pub(crate) side: Side<'a>,
    /// The partners bound so far: at this port and at those before it.
    pub(crate) partners: &'a [(Name, Partner<'a>)],
    /// The one partner of a job without listed ports: names that the job lacks are looked for there.
    pub(crate) implicit: Option<&'a Partner<'a>>,
}

/// What a name stands for.
pub(crate) enum Meaning<'a> {
    /// An expression of the job, and where it stands.
    Own(&'a Expr, Side<'a>),
    /// A partner.
    Partner(&'a Partner<'a>),
    /// The job itself, from here: `my`.
    Myself,
    /// An attribute of the partner.
    Attribute(&'a Partner<'a>),
    Undefined,
    /// It is not known here.
    Unknown,
}

impl<'a> Scope<'a> {
    /// The attributes of a job as a constraint in one of its ports sees them; without a port if it is the implicit one.
    pub(crate) fn side(body: &'a Ad, port: Option<&'a Ad>, labels: &'a [Name]) -> Side<'a> {
        Side { body, port, labels, closedness: Closedness { functions: true, falls_through: port.is_none() } }
    }

    /// What a bare name stands for at one side of the job: the port's attributes, labels, the job's attributes, the implicit partner.
    pub(crate) fn meaning(&self, name: &Name, side: &Side<'a>) -> Meaning<'a> {
        if name == "members" {
            return Meaning::Unknown;
        }
        if side.is_label(name) {
            // A label is bound from its own port on; before that, it is a name like any other.
            if let Some((_, partner)) = self.partners.iter().find(|(label, _)| label == name) {
                return Meaning::Partner(partner);
            }
        }
        if let Some((expr, found)) = side.attribute(name) {
            // In a port, the names that every ad has come before the attributes around it; `other` is no such name there.
            let of_every_ad = is_special(name) && name != "other" && name != "target";
            let hidden = of_every_ad && side.port.is_some() && found.port.is_none();
            return if hidden { Meaning::Unknown } else { Meaning::Own(expr, found) };
        }
        match (name.as_str().to_ascii_lowercase().as_str(), self.implicit) {
            ("my" | "self", _) => Meaning::Myself,
            ("other" | "target", Some(partner)) => Meaning::Partner(partner),
            ("other" | "target", None) => Meaning::Undefined,
            _ if is_special(name) => Meaning::Unknown,
            (_, Some(partner)) => Meaning::Attribute(partner),
            _ => Meaning::Undefined,
        }
    }
}
