//! What comes in from ports, without secrets: results, messages and decisions.

use std::sync::Arc;

use trefoil_coordinator::{
    EndedActivity, InboxMessageIds, IncomingValue, OutcomeDecision, ReceivedMessage, RunCoordinator, RunMessage,
    SuspendedCall,
};
use trefoil_machine::error::RunError;
use trefoil_machine::event::AnswerMetadata;
use trefoil_machine::guard::Verdict;
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::receipt::AnswerReceipt;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_template::Value;

use super::MaskingLayer;
use crate::ports::{CommandOutput, RawDecision, RawRunMessage, RawSuspension};

/// What an activity came to, as its port said it: no secret is masked yet.
pub struct RawOutcome {
    /// The result.
    pub result: Result<Value, RunError>,
    /// Its usage.
    pub usage: Option<Usage>,
    /// For a tool that failed: it is safe to call it again.
    pub repeatable: bool,
    /// Warnings to report before the end of the activity.
    pub warnings: Vec<String>,
    /// For an answer checked by guardrails: as [`ActivityMetadata::verdicts`].
    pub verdicts: Option<Vec<Verdict>>,
    /// For a model call: the provider's metadata.
    pub answer_metadata: AnswerMetadata,
    /// For a failed model call: the text received so far.
    pub partial: Option<String>,
    /// For an answer that does not match its schema: as [`ActivityMetadata::sent`].
    pub sent: Option<String>,
}

impl From<Result<Value, RunError>> for RawOutcome {
    fn from(result: Result<Value, RunError>) -> Self {
        Self {
            result,
            usage: None,
            repeatable: false,
            warnings: Vec::new(),
            verdicts: None,
            answer_metadata: AnswerMetadata::default(),
            partial: None,
            sent: None,
        }
    }
}

impl MaskingLayer {
    /// A tool call that waits for a run.
    pub fn mask_suspension(&self, RawSuspension(call): RawSuspension) -> SuspendedCall {
        let waiting = call.waiting.into_iter().map(|one| self.mask_waiting(one)).collect();
        SuspendedCall { waiting, ..call }
    }

    /// Data as the run gets and stores it.
    pub fn mask_incoming(&self, value: Value) -> IncomingValue {
        self.hidden_values.take_in(value)
    }

    /// An activity that has ended. `about`: what else is known of it.
    pub fn mask_completion(
        &self,
        activity: Arc<Activity>,
        raw: RawOutcome,
        about: ActivityMetadata,
        message_ids: InboxMessageIds,
    ) -> EndedActivity {
        let RawOutcome { result, usage, repeatable, warnings, verdicts, answer_metadata, partial, sent } = raw;
        let mut about =
            ActivityMetadata { usage, repeatable, warnings, verdicts, answer_metadata, partial, sent, ..about };
        let result = match result {
            Ok(value) => {
                let IncomingValue { value, replaced } = self.mask_incoming(value);
                about.replaced = replaced;
                Ok(value)
            }
            Err(error) => Err(self.mask_error(error)),
        };
        EndedActivity { activity, result, about: self.mask_about(about), message_ids }
    }

    /// A decision. `activity`: what it is about.
    pub fn mask_decision(
        &self,
        activity: Option<&Activity>,
        decided: ReceivedMessage<RawDecision>,
    ) -> ReceivedMessage<OutcomeDecision> {
        let ReceivedMessage { what, message_ids, receipt } = decided;
        let what = match what {
            RawDecision::Retry => OutcomeDecision::Retry,
            RawDecision::Fail => OutcomeDecision::Fail,
            RawDecision::Done(value) => {
                let is_command = activity.is_some_and(|one| matches!(one.request, Request::Command(_)));
                let value = if is_command { succeeded(value.to_text().to_string()) } else { value };
                OutcomeDecision::Done(self.mask_incoming(value))
            }
        };
        ReceivedMessage { what, message_ids, receipt: self.mask_receipt(receipt) }
    }

    /// Who gave an answer.
    fn mask_receipt(&self, mut receipt: Option<AnswerReceipt>) -> Option<AnswerReceipt> {
        if let Some(receipt) = &mut receipt {
            for text in receipt.sender.texts_mut() {
                *text = self.mask_text(text);
            }
        }
        receipt
    }

    /// A message.
    pub fn mask_message(
        &self,
        received: ReceivedMessage<RawRunMessage>,
        run: &RunCoordinator,
    ) -> ReceivedMessage<RunMessage> {
        let ReceivedMessage { what, message_ids, receipt } = received;
        let what = match what {
            RawRunMessage::Cancel => RunMessage::Cancel,
            RawRunMessage::Continue(run) => RunMessage::Continue(run),
            RawRunMessage::Answer { key, text, at } => {
                RunMessage::Answer { key, answer: self.mask_incoming(text.into()), at }
            }
            RawRunMessage::Decided(key, decided) => {
                let activity = run.running_activity(&key).map(|activity| &**activity);
                let decided = self.mask_decision(activity, ReceivedMessage::without_inbox(decided));
                RunMessage::Decided(key, decided.what)
            }
            RawRunMessage::Unknown => RunMessage::Unknown,
        };
        ReceivedMessage { what, message_ids, receipt: self.mask_receipt(receipt) }
    }
}

/// The result of a command that a person has declared to be done.
fn succeeded(stdout: String) -> Value {
    command_result(CommandOutput { exit_code: 0, stdout, stderr: String::new() })
}

/// `{status, exit_code, stdout, stderr}`.
pub fn command_result(output: CommandOutput) -> Value {
    let status = if output.exit_code == 0 { "success" } else { "failed" };
    let members: [(&str, Value); 4] = [
        ("status", status.into()),
        ("exit_code", output.exit_code.into()),
        ("stdout", output.stdout.into()),
        ("stderr", output.stderr.into()),
    ];
    members.into_iter().collect()
}
