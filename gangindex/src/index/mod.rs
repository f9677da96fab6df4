//! What is known of a pool before the search: conditions answered, ranks sorted, equal roots grouped.

pub(crate) mod asks;
pub(crate) mod availability;
pub(crate) mod classes;
mod job_codes;
pub(crate) mod job_columns;
pub(crate) mod memo;
pub(crate) mod plan;
pub(crate) mod preds;
pub(crate) mod ranks;
pub(crate) mod sort;
mod unmet;
