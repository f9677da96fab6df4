//! Turns pods on nodes that kwok plays into what the product makes of them. These tests have a stage with nodes, whose machines other tests
//! would see.

mod examples;
pub(crate) mod held;
mod least_privilege;
pub(crate) mod nodes;
pub(crate) mod set_pods;
mod work;
