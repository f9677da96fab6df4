//! The batch Job of a claim: what the objects show of it, and the writes about it.

use claiming::{Action, Event, Work};
use pool::Objects;

use crate::claims::drive::Driver;
use crate::claims::view::View;

/// What is known of the batch Job that works for a claim: nobody makes one, so there is none.
pub(super) fn work(_view: &View, _objects: &Objects) -> Work {
    Work::None
}

impl Driver {
    /// An action about the batch Job. No claim asks for one, as long as [`work`] knows of none.
    pub(super) async fn do_work(&self, _view: &View, action: Action) -> Event {
        Event::Failed(action)
    }
}
