//! Checks whether the run continues with an answer before it is sent: the machine gets it after a replay, without side
//! effects.

use std::sync::Arc;

use trefoil_machine::{ActivityCompletion, Key, MachineCommand, Request};
use trefoil_runtime::RunError;
use trefoil_store::Store;
use trefoil_template::Value;

use super::StoredRun;
use super::last_state;

/// The effect of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerEffect {
    /// The run continues with it.
    LeadsOn,
    /// The question would be asked again. Contains the accepted answers, if they are known words.
    Refused(Vec<Arc<str>>),
}

/// Tries an answer to a question of a stored run.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read, `NONDETERMINISM` if this version would not do the same.
pub async fn try_answer(
    store: Arc<dyn Store>,
    stored: &StoredRun,
    key: &Key,
    answer: Value,
) -> Result<AnswerEffect, RunError> {
    let resumed = last_state(store, stored).await?;
    let mut machine = resumed.machine;
    let completion = ActivityCompletion::new(key.clone(), resumed.at_ms, Ok(answer));
    let mut output = machine.complete_activity(completion);
    loop {
        for command in &output.commands {
            if let MachineCommand::Start(activity) = command
                && let Request::Human(request) = &activity.request
                && request.refused.is_some()
                && activity.key.without_try() == key.without_try()
            {
                return Ok(AnswerEffect::Refused(request.accepts.clone()));
            }
        }
        if !output.more {
            return Ok(AnswerEffect::LeadsOn);
        }
        output = machine.next_piece();
    }
}
