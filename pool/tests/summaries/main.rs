//! Summaries of pools as the engine sees them: what they publish, and that no search finds what they rule out.

#[cfg(test)]
#[path = "../cluster/mod.rs"]
mod cluster;
#[cfg(test)]
mod free;
#[cfg(test)]
mod law;
#[cfg(test)]
mod page;
#[cfg(test)]
mod pools;
#[cfg(test)]
mod published;
#[cfg(test)]
mod workloads;
#[cfg(test)]
#[path = "../../../matchmaker/tests/world/mod.rs"]
mod world;
