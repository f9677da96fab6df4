//! Writes to the API server: from the layers that every request passes, over requests and their answers, to the writers that pace
//! what they write, round robin over namespaces.

pub(crate) mod answer;
pub(crate) mod background;
pub(crate) mod events;
pub(crate) mod fair;
pub(crate) mod gate;
pub(crate) mod job_creator;
pub(crate) mod lane;
pub(crate) mod layers;
pub(crate) mod pacing;
pub(crate) mod patch;
pub(crate) mod pod_placer;
mod rate;
pub(crate) mod requests;
pub(crate) mod statuses;
pub(crate) mod work_requests;
