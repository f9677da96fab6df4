//! Summaries of pools: what is certainly not there. A summary says of each attribute which values may stand in the offers of a pool, and how
//! much is free, in a few kilobytes. An exchange of pools reads it instead of the pool, and does not ask those that cannot help.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use classad::{Dialect, Name, parse_ad, parse_expr};
//! use summary::{Job, JobPort, Limits, Offer, OfferFacts, Pool, Verdict, verdict};
//!
//! let machine = parse_ad(r#"[ Type = "Machine"; Memory = 64; Arch = "x86_64" ]"#, Dialect::Gangmatch)?;
//! let free = BTreeMap::from([("slots".to_owned(), 4)]);
//! let offer = Offer { kind: "Machine", body: &machine, ports: &[], opaque: &[], free, shared: false };
//! let mut pool = Pool::new();
//! pool.put("foo", OfferFacts::of(&offer));
//! let published = pool.summary(&Limits::default());
//!
//! let job = parse_ad("[ Image = 100 ]", Dialect::Gangmatch)?;
//! let constraint = parse_expr(r#"cpu.Arch == "x86_64" && cpu.Memory >= Image"#, Dialect::Gangmatch)?;
//! let (label, nothing) = (Name::new("cpu"), classad::Ad::new());
//! let ports = [JobPort { label: &label, attributes: &nothing, constraint: Some(&constraint), request: None, counted: false }];
//! let said = verdict(&Job { body: &job, ports: &ports, implicit: false }, &published);
//! assert_eq!(said, Verdict::Cannot { port: 0, conjunct: Some("cpu.Memory >= Image".to_owned()) });
//! # Ok::<(), classad::Diagnostics>(())
//! ```
//!
//! [`Pool`] keeps what a summary is made of while offers come, change and go; [`Summary`] is what is published; [`verdict`] reads it.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bloom;
mod bounded;
mod check;
mod closed;
mod fact;
mod limits;
mod may;
mod never;
mod numbers;
mod offer;
mod operators;
mod pool;
mod real;
mod scope;
mod summary;
mod texts;
mod truth;
mod values;
mod verdict;

pub use bloom::Bloom;
pub use check::Problem;
pub use limits::Limits;
pub use numbers::Numbers;
pub use offer::{Offer, OfferFacts, OfferPort};
pub use pool::Pool;
pub use real::Real;
pub use summary::{Free, KindSummary, Rest, Summary};
pub use texts::Texts;
pub use values::Values;
pub use verdict::{Job, JobPort, Verdict, may, verdict};
