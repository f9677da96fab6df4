//! What the main loop reads and writes beside claims: each begins what is due, and goes on when the server has answered.

use crate::accounts::Accounting;
use crate::context::Context;
use crate::nodes::MachineReconciler;
use crate::watch::rereader::Rereader;
use crate::write::job_creator::JobCreator;
use crate::write::pod_placer::PodPlacer;
use crate::write::statuses::Statuses;

/// Those that write beside claims.
#[derive(Default)]
pub(super) struct Writers {
    pub(super) statuses: Statuses,
    pub(super) nodes: MachineReconciler,
    pub(super) accounts: Accounting,
    pub(super) job_creator: JobCreator,
    pub(super) pod_placer: PodPlacer,
    /// Reads stripped objects again.
    pub(super) rereader: Rereader,
}

impl Writers {
    /// Ends when some request of one of them is answered.
    pub(super) async fn answered(&mut self, context: &Context) {
        tokio::select! {
            biased;
            () = self.statuses.written(context) => {}
            () = self.nodes.written(context) => {}
            () = self.accounts.written(context) => {}
            () = self.job_creator.made() => {}
            () = self.pod_placer.placed() => {}
            () = self.rereader.read() => {}
        }
    }
}
