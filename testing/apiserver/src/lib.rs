//! An API server in this process: requests of kube's client into answers, as kube-apiserver would give them.
//!
//! It is for tests of the whole controller under a clock that stands still: nothing here waits, but for watches, which wait for
//! the next change. It serves the kinds that the controller uses and knows of Kubernetes what the protocol depends on: one
//! order over all writes, uids, generations, the status subresource, JSON Patches that test, the schemas and rules of our
//! CRDs, finalizers, preconditions, watches that resume or are told that it is too late. What it leaves out is said in
//! `docs/testing.md`; that the rest is no fantasy, by `apiserver/tests/truth`, which asks it and the real one the same.
//!
//! Start at [`Server::answer`]; [`Server::service`] is the same for `kube::Client::new`.

mod admission;
mod age;
mod answer;
mod apply;
mod batch;
mod call;
mod columns;
mod controllers;
mod core_event;
mod discovery;
mod garbage;
mod kinds;
mod object;
mod openapi;
mod patch;
mod protobuf;
mod reviews;
mod schema;
mod seed;
mod select;
mod serve;
mod service;
mod store;
mod strategic;
mod table;
mod watch;
mod write;

pub use answer::Answer;
pub use call::{Call, Verb};
pub use kinds::{Kind, Kinds};
pub use schema::{Cause, Schema};
pub use serve::Server;
pub use service::{Reply, Service, UserName};
pub use store::{Event, StoredKey};
