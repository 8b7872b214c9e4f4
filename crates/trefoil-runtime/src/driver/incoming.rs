//! What comes in from other processes, without secrets: messages and decisions.

use trefoil_coordinator::{OutcomeDecision, Received, RunCoordinator, RunMessage};
use trefoil_machine::request::{Activity, Request};
use trefoil_template::Value;

use super::world::World;
use crate::ports::{Arrived, CommandOutput, Decided};

impl World {
    /// A decision as the run gets it. `activity`: what it is about.
    pub fn decision(&self, activity: Option<&Activity>, decided: Received<Decided>) -> Received<OutcomeDecision> {
        let Received { what, letters } = decided;
        let what = match what {
            Decided::Retry => OutcomeDecision::Retry,
            Decided::Fail => OutcomeDecision::Fail,
            Decided::Done(value) => {
                let is_command = activity.is_some_and(|one| matches!(one.request, Request::Command(_)));
                let value = if is_command { succeeded(value.to_text().to_string()) } else { value };
                OutcomeDecision::Done(self.secrets.take_in(value))
            }
        };
        Received { what, letters }
    }

    /// A message as the run gets it.
    pub fn message(&self, received: Received<Arrived>, run: &RunCoordinator) -> Received<RunMessage> {
        let Received { what, letters } = received;
        let what = match what {
            Arrived::Cancel => RunMessage::Cancel,
            Arrived::Continue(run) => RunMessage::Continue(run),
            Arrived::Answer { key, text, at } => {
                RunMessage::Answer { key, answer: self.secrets.take_in(text.into()), at }
            }
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
