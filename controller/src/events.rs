//! What happened to a claim into Events on its job.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, Resource};

use crate::api::MANAGER;

/// Writes Events.
pub(crate) struct Events(Recorder);

impl Events {
    pub(crate) fn new(client: Client) -> Events {
        let reporter = Reporter { controller: format!("{MANAGER}.dev/controller"), instance: None };
        Events(Recorder::new(client, reporter))
    }

    /// Tells a job what became of its claim. An Event that cannot be written is lost: the conditions say the same.
    pub(crate) async fn tell(&self, job: &crds::Job, type_: EventType, reason: &str, note: &str) {
        let event = Event {
            type_,
            reason: reason.to_owned(),
            note: Some(note.to_owned()).filter(|note| !note.is_empty()),
            action: "Claiming".to_owned(),
            secondary: None,
        };
        let about: ObjectReference = job.object_ref(&());
        if let Err(error) = self.0.publish(&event, &about).await {
            tracing::debug!(%error, reason, "event not written");
        }
    }
}
