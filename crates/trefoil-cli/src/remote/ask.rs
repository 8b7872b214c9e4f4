//! Questions of a run of a server, asked on the terminal where it is followed, with the prompt of runs of this process.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use trefoil_ir::OnTimeout;
use trefoil_machine::event::AwaitedActivity;
use trefoil_runtime::HumanRequest;
use trefoil_server::{RunDetail, RunSummary};

use super::client::ServerClient;
use super::failure::RemoteFailure;
use super::run_lookup::read_detail;
use super::waits::RemoteWait;
use crate::output;
use crate::run::{RunDisplay, TerminalInbox, TypedAnswer};

/// Time between two looks whether somebody else has answered.
const LOOK_AGAIN: Duration = Duration::from_secs(2);

/// Asks the questions of a run on this terminal.
pub struct RemoteAsker<'a> {
    client: &'a ServerClient,
    shown: Arc<RunDisplay>,
    inbox: TerminalInbox,
}

impl<'a> RemoteAsker<'a> {
    /// Uses the terminal on which the run is shown. `None`: nobody is there.
    pub fn for_display(client: &'a ServerClient, shown: &Arc<RunDisplay>) -> Option<Self> {
        let inbox = output::is_interactive().then(|| TerminalInbox::new(shown.clone(), true))?;
        Some(Self { client, shown: shown.clone(), inbox })
    }

    /// Asks the first open question of a run, and sends the answer. Returns whether the run goes on with an answer, whoever gave it.
    ///
    /// # Errors
    ///
    /// Why the answer was refused.
    pub async fn ask_first(&self, detail: &RunDetail) -> Result<bool, RemoteFailure> {
        let wait = RemoteWait::of_members(&detail.wait);
        let is_question = |one: &&AwaitedActivity| one.prompt.is_some() && one.settled.is_none();
        let Some(one) = wait.waiting.iter().find(is_question) else { return Ok(false) };
        let run = detail.summary.run.as_str();
        let mut request = to_request(one);
        loop {
            // One of a later pass is asked again.
            let visit = format!("{run} {} {}", one.step_path(), detail.summary.entries);
            let typed = tokio::select! {
                typed = self.inbox.read_answer(visit, &request) => typed,
                () = self.wait_closed(run, one) => return Ok(true),
            };
            let value = match (typed, &request.on_timeout) {
                (TypedAnswer::Given(text), _) => text,
                (TypedAnswer::Default, OnTimeout::Answer(default)) => default.to_string(),
                (TypedAnswer::Default | TypedAnswer::EndOfInput, _) => return Ok(false),
            };
            if value.trim().is_empty() {
                request.refused = Some(value.into());
                continue;
            }
            let body = json!({ "step": one.step_path(), "value": value });
            let sent: Result<RunSummary, _> = self.client.post_json(&["runs", run, "answers"], &body).await;
            match sent {
                Ok(_) => return Ok(true),
                Err(failure) => match failure.problem_code() {
                    "ANSWER_NOT_ACCEPTED" => request.refused = Some(value.into()),
                    "ALREADY_ANSWERED" | "ANSWER_LATE" | "NOT_ASKED" | "RUN_ENDED" => {
                        let _paused = self.shown.pause_drawing();
                        output::print_note(format!("the answer came too late: {}", failure.short_reason()));
                        return Ok(true);
                    }
                    _ => return Err(failure),
                },
            }
        }
    }

    /// Waits until a question is not open any more: somebody else was faster, or the run has ended.
    async fn wait_closed(&self, run: &str, question: &AwaitedActivity) {
        loop {
            tokio::time::sleep(LOOK_AGAIN).await;
            // A server that is away for a moment has not closed it.
            let Ok(detail) = read_detail(self.client, run).await else { continue };
            let wait = RemoteWait::of_members(&detail.wait);
            let is_same = |one: &&AwaitedActivity| one.key == question.key && one.run == question.run;
            match wait.waiting.iter().find(is_same) {
                Some(one) if one.settled.is_none() => {}
                _ => return,
            }
        }
    }
}

/// The question as the prompt shows it.
fn to_request(one: &AwaitedActivity) -> HumanRequest {
    let words = |list: &[String]| list.iter().map(|word| word.as_str().into()).collect();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = u64::try_from(now.as_millis()).unwrap_or(u64::MAX);
    let (mut timeout_ms, mut on_timeout) = (None, OnTimeout::Fail);
    if let Some(deadline) = &one.deadline {
        timeout_ms = Some(deadline.answer_by.saturating_sub(now));
        if let Some(default) = &deadline.otherwise {
            on_timeout = OnTimeout::Answer(default.as_str().into());
        }
    }
    let step = if one.run.is_some() { one.step_path() } else { one.step.clone() };
    HumanRequest {
        step: step.into(),
        prompt: one.prompt.clone().unwrap_or_default().into(),
        accepts: words(&one.accepts),
        choices: words(&one.choices),
        refused: None,
        timeout_ms,
        on_timeout,
        answer_by: None,
    }
}
