//! Facts about an object into its status: conditions, the words for people, and nothing that did not change.

mod draft;
mod finding;
mod job;
mod matches;
mod news;
mod offer;
mod pending;
#[cfg(test)]
mod tests;
mod waiting;
mod work;
mod write;

pub(crate) use finding::{Finding, WHY_MAX, cut, finding};
pub(crate) use job::{Ended, count_gave_up, job_claimed, job_freed, job_nominated, job_reserving, job_waiting};
pub(crate) use matches::decision_conditions;
pub(crate) use news::{EventText, news};
pub(crate) use offer::offer_status;
#[cfg(test)]
pub(crate) use pending::updates;
pub(crate) use pending::{ObjectId, Pending};
pub(crate) use work::job_working;
pub(crate) use write::{Findings, StatusWrite, Update};
