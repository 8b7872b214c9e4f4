//! How a run of a server stands: what it waits for, and what can be done with it next, as commands that name the server.

use serde_json::{Map, Value as Json};
use trefoil::store::Status;
use trefoil_host::command::{PrintedCommand, RunOptions, option_text};
use trefoil_host::waiting_messages::{StoppedRun, waiting_lines};
use trefoil_machine::RunLimits;
use trefoil_machine::event::{AwaitedActivity, QuestionClosure};
use trefoil_runtime::{Key, RunError, Usage};
use trefoil_server::{CostCompleteness, RunDetail, RunSummary};
use trefoil_view::trace::{OpenWait, SuggestedCommand};

use super::run_events::read_waiting;

/// The code of a run that has reached a limit.
const LIMIT: &str = "BUDGET_EXCEEDED";

/// What a run of a server waits for.
#[derive(Debug, Default)]
pub struct RemoteWait {
    /// The questions and decisions.
    pub waiting: Vec<AwaitedActivity>,
    /// Why it stopped, if somebody has to allow something: the code, and a sentence.
    pub stopped: Option<StoppedReason>,
}

/// Why a run stopped.
#[derive(Debug)]
pub struct StoppedReason {
    /// The step.
    pub step: Option<String>,
    /// The code.
    pub code: String,
    /// What happened.
    pub message: String,
    /// All of it in one sentence, with what allows it.
    pub text: String,
}

impl RemoteWait {
    /// What the members of a run say.
    pub fn of_members(members: &Map<String, Json>) -> Self {
        let waiting = read_waiting(members.get("waiting"));
        let stopped = members.get("stopped").map(|why| {
            let text = |name: &str| why.get(name).and_then(Json::as_str).unwrap_or_default().to_owned();
            let step = why.get("step").and_then(Json::as_str).map(str::to_owned);
            StoppedReason { step, code: text("code"), message: text("message"), text: text("text") }
        });
        Self { waiting, stopped }
    }

    /// Whether it waits for an answer or a permission that has not come.
    pub fn is_open(&self) -> bool {
        let is_asked = self.waiting.iter().any(|one| one.settled.is_none());
        self.stopped.is_some() || (is_asked && !self.is_answered())
    }

    /// The same as of a run of a store.
    pub fn to_open_wait(&self) -> OpenWait {
        let stopped = self.stopped.as_ref().map(|why| {
            let key = why.step.as_deref().map(Key::from);
            RunError::new(&why.code, why.message.as_str()).at_step(key, None)
        });
        OpenWait { waiting: self.waiting.clone(), stopped }
    }

    /// Whether something of it is answered, so that the run goes on.
    pub fn is_answered(&self) -> bool {
        self.waiting.iter().any(|one| matches!(one.settled, Some(QuestionClosure::Answered(_))))
    }
}

/// How a run stands. A word of a newer server is none of the known ones, and such a run is taken for one in progress.
pub fn run_status(summary: &RunSummary) -> Status {
    summary.status.parse().unwrap_or(Status::Running)
}

/// What a run has used, as far as the server says it.
pub fn run_usage(summary: &RunSummary) -> Usage {
    let RunSummary { tokens, cost, .. } = summary;
    let micro = cost.usd.unwrap_or_default() * 1e6;
    Usage {
        input_tokens: tokens.input,
        output_tokens: tokens.output,
        cached_tokens: tokens.cached,
        unknown_calls: tokens.unknown_calls,
        // Negative amounts and NaN become 0.
        cost_micro: micro.round() as u64,
        unpriced_calls: match cost.completeness {
            CostCompleteness::Known => 0,
            _ => cost.unpriced_calls.max(1),
        },
        ..Usage::default()
    }
}

/// What can be done with a run next. `raise`: the limits that would have been enough, if it has reached one and says so.
pub fn next_commands(
    detail: &RunDetail,
    wait: &RemoteWait,
    raise: Option<RunLimits>,
    options: &RunOptions,
) -> Vec<SuggestedCommand> {
    let status = run_status(&detail.summary);
    let run = detail.summary.run.as_str();
    let open = matches!(status, Status::Failed | Status::Waiting | Status::Interrupted);
    let error = detail.summary.error.as_ref().map(|error| RunError::new(&error.code, error.message.as_str()));
    let at_limit = has_reached_limit(detail, wait);
    let stopped = StoppedRun {
        run,
        waiting: &wait.waiting,
        why: error.as_ref(),
        called: None,
        // A server does not raise the limits of a run, which would stop again.
        open: open && !at_limit,
        has_failed_items: detail.summary.items.is_some(),
        edited: None,
        needs_project: false,
        model: None,
        again: None,
    };
    let mut next = stopped.next_commands(options);
    // A limit that does not say what would be enough is not one of the run, but of a budget or of the manifest: a new run would stop there
    // as well.
    if at_limit && let Some(raise) = raise {
        let fork = PrintedCommand::Fork { run, from: None, model: None };
        let mut command = options.render_command(fork);
        for (kind, limit) in raise.limit_rows() {
            if let Some(name) = kind.option_name() {
                command.push_str(&option_text(name, &kind.format_amount(limit)));
            }
        }
        next.push(SuggestedCommand { command, purpose: "to continue in a new run".to_owned() });
    }
    next
}

/// Whether a run stopped at a limit.
fn has_reached_limit(detail: &RunDetail, wait: &RemoteWait) -> bool {
    let failed = matches!(&detail.summary.error, Some(error) if error.code == LIMIT);
    failed || matches!(&wait.stopped, Some(why) if why.code == LIMIT)
}

/// What a run waits for, with the commands that answer it, on lines.
pub fn wait_lines(
    detail: &RunDetail,
    wait: &RemoteWait,
    raise: Option<RunLimits>,
    options: &RunOptions,
) -> Vec<String> {
    let run = detail.summary.run.as_str();
    let mut lines = Vec::new();
    if !wait.waiting.is_empty() {
        lines.extend(waiting_lines(run, &wait.waiting, options));
    }
    if let Some(why) = &wait.stopped {
        lines.push(format!("waiting: {}", why.text));
        for next in next_commands(detail, wait, raise, options) {
            lines.push(format!("{}: {}", next.purpose, next.command));
        }
    }
    lines
}
