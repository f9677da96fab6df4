//! Turns a checkout into a running Kubernetes API with gangmatch on it, for the end-to-end tests and for `cargo xtask`.
//!
//! [`control_plane`] is the API itself: etcd, kube-apiserver and their companions as plain processes, without
//! containers. [`cluster`] picks between that, kind and a cluster that is already there; all of them end in an
//! [`Access`]. [`embedded`] is a small stand-in of it for demonstrations. [`product`] puts the chart and the controller onto whatever was picked, [`tenants`]
//! users with ordinary rights. [`real_node`] adds a kubelet with containers, [`image`] makes what runs in them.

pub mod cluster;
pub mod control_plane;
pub mod embedded;
pub mod image;
pub mod polling;
pub mod product;
pub mod real_node;
pub mod repository;
pub mod requests;
pub mod tenants;

pub use cluster::Cluster;
pub use control_plane::{Access, Component, ControlPlane, Options, Release, User};
pub use embedded::EmbeddedServer;
pub use polling::until;
pub use real_node::RealNode;
pub use requests::{Requests, ServerRefusal};
