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
mod claims;
mod edits;
mod examples;
mod gangs;
mod held;
mod idle;
mod job_set;
mod leader;
mod least_privilege;
mod metrics;
mod nodes;
mod page;
mod reasons;
mod repairs;
mod requests;
mod rights;
mod round_trip;
mod schema;
mod stage;
mod tenants;
mod upgrade;
mod work;
