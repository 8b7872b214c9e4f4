//! What comes in from ports, without secrets: results, messages and decisions.

use std::sync::Arc;

use trefoil_coordinator::{
    Done, IncomingValue, Letters, OutcomeDecision, Received, RunCoordinator, RunMessage, SuspendedCall,
};
use trefoil_machine::error::RunError;
use trefoil_machine::event::Told;
use trefoil_machine::guard::Verdict;
use trefoil_machine::journal::About;
use trefoil_machine::request::{Activity, Request, Usage};
use trefoil_template::Value;

use super::MaskingLayer;
use crate::ports::{Arrived, CommandOutput, Decided, RawSuspension};

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
    /// For an answer checked by guardrails: as [`About::verdicts`].
    pub verdicts: Option<Vec<Verdict>>,
    /// For a model call: the provider's metadata.
    pub told: Told,
    /// For a failed model call: the text received so far.
    pub partial: Option<String>,
    /// For an answer that does not match its schema: as [`About::sent`].
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
            told: Told::default(),
            partial: None,
            sent: None,
        }
    }
}

impl MaskingLayer {
    /// A tool call that waits for a run.
    pub fn suspended(&self, RawSuspension(call): RawSuspension) -> SuspendedCall {
        let waiting = call.waiting.into_iter().map(|one| self.waiting(one)).collect();
        SuspendedCall { waiting, ..call }
    }

    /// Data as the run gets and stores it.
    pub fn incoming(&self, value: Value) -> IncomingValue {
        self.seen.take_in(value)
    }

    /// An activity that has ended. `about`: what else is known of it.
    pub fn done(&self, activity: Arc<Activity>, raw: RawOutcome, about: About, letters: Letters) -> Done {
        let RawOutcome { result, usage, repeatable, warnings, verdicts, told, partial, sent } = raw;
        let mut about = About { usage, repeatable, warnings, verdicts, told, partial, sent, ..about };
        let result = match result {
            Ok(value) => {
                let IncomingValue { value, replaced } = self.incoming(value);
                about.replaced = replaced;
                Ok(value)
            }
            Err(error) => Err(self.error(error)),
        };
        Done { activity, result, about: self.about(about), letters }
    }

    /// A decision. `activity`: what it is about.
    pub fn decision(&self, activity: Option<&Activity>, decided: Received<Decided>) -> Received<OutcomeDecision> {
        let Received { what, letters } = decided;
        let what = match what {
            Decided::Retry => OutcomeDecision::Retry,
            Decided::Fail => OutcomeDecision::Fail,
            Decided::Done(value) => {
                let is_command = activity.is_some_and(|one| matches!(one.request, Request::Command(_)));
                let value = if is_command { succeeded(value.to_text().to_string()) } else { value };
                OutcomeDecision::Done(self.incoming(value))
            }
        };
        Received { what, letters }
    }

    /// A message.
    pub fn message(&self, received: Received<Arrived>, run: &RunCoordinator) -> Received<RunMessage> {
        let Received { what, letters } = received;
        let what = match what {
            Arrived::Cancel => RunMessage::Cancel,
            Arrived::Continue(run) => RunMessage::Continue(run),
            Arrived::Answer { key, text, at } => RunMessage::Answer { key, answer: self.incoming(text.into()), at },
            Arrived::Decided(key, decided) => {
                let activity = run.activity(&key).map(|activity| &**activity);
                let decided = self.decision(activity, Received::here(decided));
                RunMessage::Decided(key, decided.what)
            }
            Arrived::Unknown => RunMessage::Unknown,
        };
        Received { what, letters }
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
