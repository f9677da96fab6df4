//! A page for people: the pool, the queue and the gangs, as far as the viewer may list them with kubectl. It changes nothing.
//!
//! A request goes through the modules in this order: [`server`] finds out who asks ([`access`], [`viewers`], [`sessions`]) and what the viewer
//! may list ([`sight`]); [`view`] makes values of a [`picture`] of the cache; [`html`] makes text of them. Only `server` and `access` wait for
//! anything. It has a thread of its own, which holds the lock of the cache for no longer than it takes to copy pointers.

mod access;
#[cfg(test)]
mod browser;
#[cfg(test)]
mod browser_tests;
mod headers;
mod history;
mod html;
#[cfg(test)]
mod large_tests;
mod limits;
mod picture;
mod policy;
#[cfg(test)]
mod rights_tests;
mod server;
mod sessions;
mod sight;
mod view;
mod viewers;

pub(crate) use server::{Source, run};
