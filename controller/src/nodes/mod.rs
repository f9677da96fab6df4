//! Nodes and classes into the Machines that there ought to be, and the writes that create them.
//!
//! What a node and a class give is a value; so is the list of what differs from what is there. Only the reconciler makes requests.

mod changes;
mod reconciler;

pub(crate) use reconciler::MachineReconciler;
