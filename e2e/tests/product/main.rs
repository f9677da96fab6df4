//! Turns what the product promises into checks on a real control plane: gangs, claims and their ends, and quiet.
#![cfg(test)]

mod accounts;
mod admission;
mod agent_token;
mod agents;
mod attack_claims;
mod attack_engine;
mod attack_held;
mod attack_identity;
mod attack_lang;
mod attack_pacing;
mod attack_untried;
mod attack_workloads;
mod claims;
mod edits;
mod gangs;
mod idle;
mod job_set;
mod leader;
mod metrics;
mod page;
mod paths;
mod pods;
mod preemption;
mod reasons;
mod refusal;
mod repairs;
mod reservation;
mod rights;
mod round_trip;
mod schema;
mod sets;
mod stage;
mod tenants;
mod together;
mod upgrade;
