//! The kinds of ads: the one place where their names are read and written.

use std::fmt;

/// The kind of an ad.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AdKind {
    /// A Job: the root of a gang.
    Job,
    /// An offer.
    Offer(OfferKind),
}

/// The kind of an offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OfferKind {
    /// A Machine.
    Machine,
    /// A License.
    License,
}

/// A name that is not that of a kind of ad, or of a kind of offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownKind;

impl AdKind {
    /// Its name in the API, and the `Type` of its ads.
    pub const fn as_str(self) -> &'static str {
        match self {
            AdKind::Job => "Job",
            AdKind::Offer(kind) => kind.as_str(),
        }
    }
}

impl OfferKind {
    /// All kinds of offers.
    pub const ALL: [OfferKind; 2] = [OfferKind::Machine, OfferKind::License];

    /// Its name in the API, and the `Type` of its ads.
    pub const fn as_str(self) -> &'static str {
        match self {
            OfferKind::Machine => "Machine",
            OfferKind::License => "License",
        }
    }
}

impl From<OfferKind> for AdKind {
    fn from(kind: OfferKind) -> AdKind {
        AdKind::Offer(kind)
    }
}

impl TryFrom<&str> for OfferKind {
    type Error = UnknownKind;

    fn try_from(name: &str) -> Result<OfferKind, UnknownKind> {
        OfferKind::ALL.into_iter().find(|kind| kind.as_str() == name).ok_or(UnknownKind)
    }
}

impl TryFrom<&String> for OfferKind {
    type Error = UnknownKind;

    fn try_from(name: &String) -> Result<OfferKind, UnknownKind> {
        OfferKind::try_from(name.as_str())
    }
}

impl TryFrom<&str> for AdKind {
    type Error = UnknownKind;

    fn try_from(name: &str) -> Result<AdKind, UnknownKind> {
        if name == AdKind::Job.as_str() { Ok(AdKind::Job) } else { OfferKind::try_from(name).map(AdKind::Offer) }
    }
}

impl fmt::Display for AdKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

impl fmt::Display for OfferKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use kube::Resource;

    use super::*;
    use crate::{Job, License, Machine};

    #[test]
    fn every_name_is_read_as_what_it_was_written_from() {
        for kind in [AdKind::Job, OfferKind::Machine.into(), OfferKind::License.into()] {
            assert_eq!(AdKind::try_from(kind.as_str()), Ok(kind));
        }
        assert_eq!(OfferKind::try_from("Job"), Err(UnknownKind));
        assert_eq!(AdKind::try_from("machine"), Err(UnknownKind));
    }

    #[test]
    fn the_names_are_those_of_the_api() {
        assert_eq!(Job::kind(&()), AdKind::Job.as_str());
        assert_eq!(Machine::kind(&()), OfferKind::Machine.as_str());
        assert_eq!(License::kind(&()), OfferKind::License.as_str());
    }
}
