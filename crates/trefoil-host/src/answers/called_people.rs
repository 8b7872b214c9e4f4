//! The people whom a called flow asks: they are told which call asks.

use std::sync::Arc;

use async_trait::async_trait;
use trefoil_machine::step_path::join_path;
use trefoil_runtime::ports::{CallSite, ReceivedMessage};
use trefoil_runtime::{HumanInbox, HumanRequest, QuestionState, RawDecision, RawRunMessage};

/// Those of the calling run. Steps are named as that one names them: `CALL/STEP`.
pub(crate) struct CalledPeople {
    /// The call.
    pub call: String,
    /// The people.
    pub people: Arc<dyn HumanInbox>,
}

#[async_trait]
impl HumanInbox for CalledPeople {
    async fn ask_question(&self, at: CallSite<'_>, request: &HumanRequest) -> QuestionState {
        let step = join_path(&self.call, &request.step).into();
        self.people.ask_question(at, &HumanRequest { step, ..request.clone() }).await
    }
    async fn find_decision(&self, at: CallSite<'_>) -> Option<ReceivedMessage<RawDecision>> {
        self.people.find_decision(at).await
    }
    async fn next_message(&self, run: &str) -> ReceivedMessage<RawRunMessage> {
        self.people.next_message(run).await
    }
    async fn waiting_message(&self, run: &str) -> Option<ReceivedMessage<RawRunMessage>> {
        self.people.waiting_message(run).await
    }
}
