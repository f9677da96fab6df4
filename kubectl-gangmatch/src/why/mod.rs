//! Why a job waits or where it runs, and which jobs use an offer: a pool and a name into an answer, as data and in words.

mod answer;
mod case;
mod displaced;
mod facts;
mod if_free;
mod job;
mod offer;
mod pauses;
mod ports;
mod reserved;
mod text;
mod too_small;

pub(crate) use case::Case;
pub(crate) use job::job_answer;
pub(crate) use offer::offer_answer;
pub(crate) use text::{job_text, offer_text};
