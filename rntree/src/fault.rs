//! Mistakes that an implementation could make, for the tests that must find them.

/// A mistake that is made on purpose. Nothing but tests sets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A node never forgets a child that has gone, so its aggregate stays what it was.
    KeepsDeparted,
    /// An owner does not notice that heartbeats stay away, and a run node does not notice that its own are not taken.
    IgnoresSilence,
}
