//! The attributes of a root that a compilation has read.

use classad::Name;

/// An attribute of a root: of one of its ports, by number, or of the ad itself.
pub(crate) type Attribute = (Option<usize>, Name);

/// The attributes of a root that were read while something was computed from its expressions.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    /// Each attribute once.
    pub(crate) names: Vec<Attribute>,
    /// More was read than `names` contains.
    pub(crate) more: bool,
}

impl ReadSet {
    /// Adds an attribute that was looked up, whether it exists or not.
    pub(crate) fn read(&mut self, port: Option<usize>, name: &Name) {
        if !self.names.iter().any(|(known, own)| *known == port && own == name) {
            self.names.push((port, name.clone()));
        }
    }

    /// Adds all of another set.
    pub(crate) fn add(&mut self, other: ReadSet) {
        self.more |= other.more;
        for (port, name) in &other.names {
            self.read(*port, name);
        }
    }
}
