//! Performs one activity, from its request to its result.

use std::num::NonZeroU32;
use std::sync::Arc;

use trefoil_coordinator::{EndedWork, InboxMessageIds, ReceivedMessage, Share, WorkId, WorkOutcome};
use trefoil_ir::{OnTimeout, StepKind, ToolKind, credential};
use trefoil_syntax::Location;
use trefoil_template::{Hole, HoleKind, HoleQuestion, Value};

use super::activity_events::commands_not_allowed;
use super::masking::{RawOutcome, command_result};
use super::model;
use super::run_context::{ActivityContext, RunContext};
use crate::limits::CallPermit;
use crate::ports::{Meter, QuestionState, RawSuspension, ToolError};
use trefoil_machine::error::{FailureCause, RunError};
use trefoil_machine::journal::ActivityMetadata;
use trefoil_machine::key::Key;
use trefoil_machine::receipt::AnswerReceipt;
use trefoil_machine::request::{Activity, CommandRequest, HumanRequest, Request, ToolRequest, ToolSpec, ToolsRequest};
use trefoil_machine::schemas::ForeignSchema;

/// Maximum number of arguments named in the error of a tool call.
const NAMED: usize = 10;

/// The outcome of performing an activity.
pub struct PerformedActivity {
    /// How it ended.
    pub ended: EndedWork,
    /// The permit of a model call, which is kept until the machine knows the result.
    pub permit: Option<Arc<CallPermit>>,
}

impl PerformedActivity {
    fn for_work(work: WorkId, key: &Key, how: WorkOutcome) -> Self {
        Self { ended: EndedWork { work, key: key.clone(), how }, permit: None }
    }
}

/// Performs an activity. `permit`: that of a model call.
pub async fn perform_activity(
    context: Arc<RunContext>,
    (work, activity): (WorkId, Arc<Activity>),
    meter: Arc<Meter>,
    permit: Option<Arc<CallPermit>>,
) -> PerformedActivity {
    if let Some(permit) = &permit {
        meter.set_permit(permit);
    }
    let location = Some(context.prepared.program.steps[activity.step].origin);
    let at = ActivityContext { context: &context, activity: &activity, location, meter: &meter };
    let began = context.watch.now_ms();
    let (mut message_ids, mut given_by) = (InboxMessageIds::default(), None);
    let mut came = match &activity.request {
        Request::Model(request) => model::call_model(&at, request).await,
        Request::Tool(request) => {
            let (result, repeatable) = match tool(&at, request).await {
                Ok(ended) => ended,
                Err(raw) => {
                    let suspended = Box::new(at.context.masking.mask_suspension(*raw));
                    return PerformedActivity::for_work(work, &activity.key, WorkOutcome::Called(suspended));
                }
            };
            let counted = meter.allowance_share().map(Share::counted_usage).unwrap_or_default();
            let usage = meter.reported_usage().map(|usage| usage.difference_from(counted));
            RawOutcome { usage, repeatable, warnings: meter.take_warnings(), ..result.into() }
        }
        Request::Describe(wanted) => describe(&at, wanted).await,
        Request::Command(request) => command(&at, request).await.into(),
        Request::Human(request) => match human(&at, request).await {
            Some(Ok(ReceivedMessage { what: answer, message_ids: of, receipt })) => {
                message_ids.append_ids(of);
                given_by = receipt.map(Box::new);
                RawOutcome::from(Ok(Value::from(answer)))
            }
            Some(Err(error)) => RawOutcome::from(Err(error)),
            None => return PerformedActivity::for_work(work, &activity.key, WorkOutcome::Kept),
        },
        Request::Timer { due, .. } => {
            context.ports.clock.sleep_ms(context.watch.remaining_ms(*due)).await;
            Ok(Value::Null).into()
        }
        Request::Decide(question) => decide(&at, question).map(Value::from).into(),
    };
    if let Ok(value) = &came.result
        && !value.is_within_limits()
    {
        came.result = Err(RunError::too_large("what came back"));
    }
    context.masking.hide_secrets(&meter.take_secrets());
    if let Some(permit) = &permit {
        // The models that were called before have told their own when the call moved on.
        permit.report_usage(came.usage);
        came.warnings.extend(permit.limit_warning());
    }
    let is_effect = !matches!(activity.request, Request::Timer { .. } | Request::Decide(_));
    let about = ActivityMetadata {
        model: match &came.answer_metadata.instead {
            Some(instead) => Some(instead.clone()),
            None => context.model_label(&activity),
        },
        duration_ms: if is_effect { Some(context.watch.now_ms().saturating_sub(began)) } else { None },
        // A failed call binds nothing: its server may be repaired before the run continues.
        tools: if came.result.is_ok() { meter.take_digests() } else { Vec::new() },
        called: meter.called_run(),
        changed_by: model::changed_by(&activity, came.verdicts.as_deref()),
        given_by,
        ..ActivityMetadata::default()
    };
    let key = activity.key.clone();
    let done = context.masking.mask_completion(activity, came, about, message_ids);
    PerformedActivity { permit, ..PerformedActivity::for_work(work, &key, WorkOutcome::Done(Box::new(done))) }
}

/// The answer to a question about values that only the driver knows.
fn decide(at: &ActivityContext<'_>, question: &HoleQuestion) -> Result<bool, RunError> {
    let mut hole = |hole: &Hole| at.fill_hole(hole);
    match question.filled_with_schema(&mut hole)? {
        Some((value, schema)) => Ok(ForeignSchema::default().check_value(schema, &value).is_ok()),
        None => question.answer_with(&mut hole),
    }
}

/// Returns the result and whether the tool may be called again, or the run that the call waits for.
async fn tool(
    at: &ActivityContext<'_>,
    request: &ToolRequest,
) -> Result<(Result<Value, RunError>, bool), Box<RawSuspension>> {
    let tools = &at.context.ports.tools;
    if !tools.offers_tool(&request.name, &request.kind) {
        let error = RunError::new("TOOL_ERROR", format!("no implementation for the tool `{}`", request.name));
        let error = error.with_help("declare it under `[tools.NAME]` or `[mcp.NAME]` in the settings");
        return Ok((Err(error), false));
    }
    // An embedder's program may not have been searched for these before the run.
    let credentials = credential::in_arguments(&request.kind, &request.arguments).into_iter();
    at.context
        .masking
        .protect_variables(credentials.filter(|hole| hole.kind == HoleKind::Env).map(|hole| hole.name.clone()));
    let arguments = match at.fill_holes(&request.arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Ok((Err(error), false)),
    };
    let filled = ToolRequest { arguments, ..request.clone() };
    at.meter.set_displayed_arguments(at.context.displayed_value(&request.arguments));
    let came = match tools.call_tool(at.call_site(), &filled).await {
        Err(ToolError::Suspended(suspended)) => return Err(suspended),
        came => came,
    };
    let repeatable = tools.is_idempotent(&filled) && came.is_err();
    let sent = || match at.meter.last_request() {
        Some(sent) => sent,
        None => describe_arguments(request, at.meter.displayed_arguments().unwrap_or(&Value::Null)),
    };
    let failed = |error| tool_error(&request.name, error).sent_as(Some(sent()));
    Ok((came.map_err(failed), repeatable))
}

/// Describes the arguments sent to a tool by their names and size, if the tool does not. Their values are in the trace.
fn describe_arguments(request: &ToolRequest, shown: &Value) -> String {
    let names: Vec<&str> = match shown.as_object() {
        Some(object) => object.keys().map(|name| &**name).collect(),
        None => Vec::new(),
    };
    let more = names.len().saturating_sub(NAMED);
    let mut all = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        all.push_str(&format!(" and {more} more"));
    }
    let with = if names.is_empty() { "no arguments".to_owned() } else { all };
    format!("`{}` with {with}, {} bytes", request.name, shown.to_json().to_string().len())
}

/// The descriptions of tools, in the order of the requests, with a warning for each that cannot be offered.
async fn describe(at: &ActivityContext<'_>, wanted: &[ToolsRequest]) -> RawOutcome {
    let mut warnings = Vec::new();
    let result = described(at, wanted, &mut warnings).await;
    RawOutcome { warnings, ..result.into() }
}

async fn described(
    at: &ActivityContext<'_>,
    wanted: &[ToolsRequest],
    warnings: &mut Vec<String>,
) -> Result<Value, RunError> {
    if !at.context.ports.models.calls_tools() {
        return Ok(wanted.iter().map(|_| Value::List(Vec::new().into())).collect());
    }
    let mut all = Vec::with_capacity(wanted.len());
    for request in wanted {
        let ToolsRequest { kind, names } = request;
        let is_wanted = |name: &str| match names {
            Some(names) => names.iter().any(|wanted| **wanted == *name),
            None => true,
        };
        let placed = |error: RunError, name: Option<&str>| error.at_step(None, offered(at, kind, name));
        let listed = at.context.ports.tools.list_tools(at.call_site(), kind).await;
        let skipped = at.meter.take_skipped();
        warnings.extend(at.meter.take_warnings());
        let failed = |error| tool_error(request.source_name(), error).sent_as(at.meter.last_request());
        let mut tools = listed.map_err(|e| placed(unlisted(failed(e)), None))?;
        if let (true, Some(one)) = (names.is_some(), skipped.iter().find(|one| is_wanted(&one.name))) {
            let error = tool_error(request.source_name(), ToolError::Failed(one.why.clone()));
            return Err(placed(error, Some(&one.name)));
        }
        if names.is_none() {
            for tool in skipped {
                warnings.push(format!("{}; the tool is not offered", tool.why));
            }
        }
        let missing = names.iter().flatten().find(|name| tools.iter().all(|tool| tool.name != **name));
        if let (Some(name), ToolKind::Mcp { server, .. }) = (missing, kind) {
            let has: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            let error = RunError::new("TOOL_ERROR", format!("the MCP server `{server}` has no tool `{name}`"));
            return Err(placed(error.with_help(format!("available: {}", has.join(", "))), Some(name)));
        }
        tools.retain(|tool| is_wanted(&tool.name));
        all.push(tools.iter().map(ToolSpec::to_value).collect());
    }
    Ok(Value::List(all.into()))
}

/// Adds advice to the failure of a request for tools, which has no arguments to try by hand.
fn unlisted(error: RunError) -> RunError {
    let is_plain =
        error.help.is_none() && matches!(error.cause, None | Some(FailureCause::Network | FailureCause::Unusable));
    if is_plain { error.with_help("start or call the server by hand to see what is wrong") } else { error }
}

/// Where a conversation offers the tools of a place, or one of them.
fn offered(at: &ActivityContext<'_>, kind: &ToolKind, name: Option<&str>) -> Option<Location> {
    let program = &at.context.prepared.program;
    let StepKind::Conversation(talk) = &program.steps[at.activity.step].kind else { return None };
    for offer in &talk.offers {
        let StepKind::Tool(call) = &program.steps[offer.step].kind else { continue };
        let is_named = match name {
            Some(name) => *call.name == *name,
            None => true,
        };
        if is_named && call.kind == *kind {
            return Some(offer.origin);
        }
    }
    None
}

fn tool_error(name: &str, error: ToolError) -> RunError {
    match error {
        ToolError::Timeout => {
            RunError::new("TOOL_TIMEOUT", format!("`{name}` timed out")).with_cause(FailureCause::Timeout)
        }
        ToolError::Unready(why) => {
            let help = "raise `start_timeout` of the server, or make it start faster";
            RunError::new("TOOL_TIMEOUT", format!("`{name}` timed out: {why}")).with_help(help)
        }
        ToolError::Failed(why) => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")),
        ToolError::Advised { why, help } => {
            RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).with_help(help)
        }
        ToolError::Arguments { why, help } => {
            let message = format!("`{name}` failed: invalid arguments: {why}");
            RunError::new("TOOL_ERROR", message).with_cause(FailureCause::Arguments).with_help(help)
        }
        ToolError::UnusableResult { why, help } => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}"))
            .with_cause(FailureCause::Unusable)
            .with_help(help),
        ToolError::Suspended(call) => {
            RunError::new("TOOL_ERROR", format!("`{name}` has not ended: its run {} is waiting", call.0.run))
        }
        ToolError::Limit { why, raise } => {
            let ended = RunError::new("BUDGET_EXCEEDED", format!("`{name}` ended: {why}"));
            ended.with_raise(raise)
        }
        ToolError::Network(why) => {
            RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).with_cause(FailureCause::Network)
        }
        ToolError::Broken(why) => {
            RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).with_cause(FailureCause::Broken)
        }
        ToolError::Unusable(why) => {
            RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).with_cause(FailureCause::Unusable)
        }
        ToolError::Status { status, message, retry_after_ms } => {
            let mut error =
                RunError::new("TOOL_ERROR", format!("`{name}` {message}")).with_cause(FailureCause::Status(status));
            error.retry_after_ms = retry_after_ms.and_then(|ms| NonZeroU32::new(u32::try_from(ms).unwrap_or(u32::MAX)));
            error
        }
    }
}

async fn command(at: &ActivityContext<'_>, request: &CommandRequest) -> Result<Value, RunError> {
    let Some(host) = &at.context.ports.commands else { return Err(commands_not_allowed()) };
    let env = request.env.iter().map(|(name, value)| Ok((name.clone(), at.fill_holes(value)?)));
    let request = CommandRequest {
        script: request.script.clone(),
        arguments: request.arguments.iter().map(|a| at.fill_holes(a)).collect::<Result<_, RunError>>()?,
        env: env.collect::<Result<_, RunError>>()?,
        workdir: match &request.workdir {
            Some(workdir) => Some(at.fill_holes(workdir)?),
            None => None,
        },
    };
    match host.run_command(at.call_site(), &request).await {
        Ok(output) => Ok(command_result(output)),
        Err(ToolError::Timeout) => {
            Err(RunError::new("TIMEOUT", "the command timed out").with_cause(FailureCause::Timeout))
        }
        Err(error) => {
            let mut failed = RunError::new("COMMAND_FAILED", error.to_string());
            failed.cause = tool_error("", error).into_data().cause;
            Err(failed)
        }
    }
}

/// The answer of a person. `None`: the question was stored, or its time has ended.
async fn human(at: &ActivityContext<'_>, request: &HumanRequest) -> Option<Result<ReceivedMessage<String>, RunError>> {
    let clock = &at.context.ports.clock;
    // Answers that came in time were read before. Nobody is asked for one that does not count: the timer is due.
    if request.is_late(clock.wall_ms()) {
        return None;
    }
    let prompt = match at.fill_holes(&request.prompt) {
        Ok(prompt) => prompt,
        Err(error) => return Some(Err(error)),
    };
    let filled = HumanRequest { prompt, ..request.clone() };
    Some(match (at.context.ports.humans.ask_question(at.call_site(), &filled).await, &request.on_timeout) {
        (QuestionState::Later, _) => return None,
        (QuestionState::Answer(answer), _) => Ok(ReceivedMessage::without_inbox(answer)),
        (QuestionState::AnswerFrom(answer, sender), _) => {
            let receipt = Some(AnswerReceipt { sender, at: clock.wall_ms() });
            Ok(ReceivedMessage { receipt, ..ReceivedMessage::without_inbox(answer) })
        }
        (QuestionState::Written(answer), _) => Ok(answer),
        (QuestionState::Nobody, OnTimeout::Answer(default)) if request.refused.is_none() => {
            Ok(ReceivedMessage::without_inbox(default.to_string()))
        }
        (QuestionState::Nobody, _) => {
            let message = format!("`{}` needs a human answer, but there is no one to ask", request.step);
            let help = format!("answer it with `--answer {}=VALUE`, or set a default", request.step);
            Err(RunError::new("HUMAN_TIMEOUT", message).with_help(help))
        }
    })
}
