//! Turns pinned Go modules into a real Kubernetes control plane of local processes, without containers.
//!
//! In order: sources become [`binaries`]; keys and certificates come from `pki`; free `ports` are probed; `components`
//! says with which flags each process runs; [`processes`] runs them and a `watchdog` ends them whatever happens to us;
//! [`Access`] is what a caller then holds: a kubeconfig and the tools that use it.

mod access;
pub mod binaries;
mod components;
pub(crate) mod kubeconfig;
pub(crate) mod pki;
mod plane;
mod ports;
pub mod processes;
mod recipe;
pub mod stages;
mod watchdog;

pub use access::{Access, Tools};
pub use components::{Component, Options, Release, User};
pub(crate) use pki::{hexadecimal, write_private};
pub use plane::ControlPlane;
pub use ports::free as free_port;
pub(crate) use ports::random;
