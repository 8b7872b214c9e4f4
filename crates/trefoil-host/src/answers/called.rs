//! The people whom a called flow asks: they are told which call asks.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_machine::step_path::joined;
use trefoil_runtime::ports::{CallSite, Received};
use trefoil_runtime::{Arrived, Asked, Decided, HumanInbox, HumanRequest};

/// Those of the calling run. Steps are named as that one names them: `CALL/STEP`.
pub(crate) struct CalledPeople {
    /// The call.
    pub call: String,
    /// The people.
    pub people: Arc<dyn HumanInbox>,
}

#[async_trait]
impl HumanInbox for CalledPeople {
    async fn ask(&self, at: CallSite<'_>, request: &HumanRequest) -> Asked {
        let step = joined(&self.call, &request.step).into();
        self.people.ask(at, &HumanRequest { step, ..request.clone() }).await
    }
    async fn decided(&self, at: CallSite<'_>) -> Option<Received<Decided>> {
        self.people.decided(at).await
    }
    async fn arrived(&self, run: &str) -> Received<Arrived> {
        self.people.arrived(run).await
    }
    async fn waiting(&self, run: &str) -> Option<Received<Arrived>> {
        self.people.waiting(run).await
    }
}
