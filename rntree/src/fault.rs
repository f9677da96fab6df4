//! Mistakes that an implementation could make, for the tests that must find them.

/// A mistake that is made on purpose. Nothing but tests sets one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A node does not update its aggregate when a child says that it leaves; it drops the child later, when it is silent.
    KeepsLeft,
    /// A node never drops a child that is silent.
    KeepsSilent,
    /// An owner does not notice that heartbeats stay away.
    OwnerIgnoresSilence,
    /// A run node does not notice that its heartbeats are not taken.
    RunNodeIgnoresSilence,
    /// Both of these.
    BothIgnoreSilence,
    /// A run node sends each heartbeat twice.
    SendsHeartbeatsTwice,
}
