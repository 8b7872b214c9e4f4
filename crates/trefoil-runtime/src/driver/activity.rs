//! Performs one activity, from its request to its result.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::sync::Arc;

use trefoil_ir::{OnTimeout, StepKind, ToolKind, credential};
use trefoil_syntax::Location;
use trefoil_template::{Hole, HoleKind, Question, Value};

use super::Options;
use super::drafts::Drafts;
use super::fill::SeenValues;
use super::model;
use super::watch::Watch;
use crate::allowance::Share;
use crate::limits::{CallPermit, Delay};
use crate::ports::{
    Asked, CallSite, CommandOutput, Decided, Letters, Meter, Ports, Received, SeenTools, SuspendedCall, ToolError,
};
use trefoil_machine::error::{Cause, RunError};
use trefoil_machine::event::{EventKind, Told};
use trefoil_machine::guard::Verdict;
use trefoil_machine::journal::About;
use trefoil_machine::key::Key;
use trefoil_machine::machine::Prepared;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{
    Activity, CommandRequest, HumanRequest, Request, ToolRequest, ToolSpec, ToolsRequest, Usage,
};
use trefoil_machine::schemas::ForeignSchema;

/// Maximum number of arguments named in the error of a tool call.
const NAMED: usize = 10;

/// The context in which a run's activities are performed.
pub struct World {
    /// The program.
    pub prepared: Arc<Prepared>,
    /// The ports.
    pub ports: Ports,
    /// The clock and the events.
    pub watch: Watch,
    /// How often the run has been resumed.
    pub execution: u32,
    /// Values to be hidden.
    pub secrets: Arc<SeenValues>,
    /// When to write drafts. `None`: the journal stores no drafts.
    pub drafts: Option<Drafts>,
    /// Usage already counted for tool calls that may be made again.
    pub counted: BTreeMap<Key, Usage>,
    /// The descriptions of tools that the run has seen.
    pub seen: Arc<SeenTools>,
}

impl World {
    /// Creates the context of one run.
    pub fn new(prepared: Arc<Prepared>, ports: Ports, run: Arc<str>, execution: u32) -> Self {
        let secrets = Arc::new(SeenValues::of(&*ports.secrets, &prepared.holes));
        let watch = Watch::new(run, ports.events.clone(), ports.clock.clone(), secrets.clone());
        let drafts = ports.journal.keeps_drafts().then(Drafts::default);
        Self { prepared, ports, watch, execution, secrets, drafts, counted: BTreeMap::new(), seen: Arc::default() }
    }

    /// Adds the values that the options declare to be hidden.
    pub fn with(mut self, options: &Options) -> Self {
        if let Some(seen) = &options.seen {
            self.watch.hides(seen.clone());
            self.secrets = seen.clone();
        }
        self.secrets.protect(options.credentials.iter().cloned());
        self.secrets.also(&*self.ports.secrets, &self.prepared.holes);
        self.secrets.also(&*self.ports.secrets, &options.holes);
        self.secrets.keep(&options.keys);
        options.memo.iter().for_each(|memo| memo.tell_hidden(&self.secrets));
        self
    }

    /// The value as it may be shown.
    pub fn shown(&self, value: &Value) -> Value {
        self.secrets.shown(&*self.ports.secrets, value)
    }

    /// The decision about an activity whose outcome is unknown, if there is one.
    pub async fn decided(&self, activity: &Activity) -> Option<Received<Decided>> {
        self.ports.humans.decided(self.site(activity, &Meter::default())).await
    }

    /// Tells the ports of a call that ended in another process.
    pub fn recall(&self, activity: &Activity, error: Option<&RunError>) {
        let meter = Meter::default();
        let at = self.site(activity, &meter);
        match &activity.request {
            Request::Model(request) => self.ports.models.recall(at, request, error),
            Request::Tool(request) => self.ports.tools.recall(at, request, error),
            _ => {}
        }
    }

    /// The model's label, for a model call.
    pub fn model(&self, activity: &Activity) -> Option<String> {
        let Request::Model(request) = &activity.request else { return None };
        Some(self.ports.models.label(request))
    }

    /// Tells watchers that a model call waits for a rate limit, or for its provider.
    pub fn delayed(&self, activity: &Activity, delay: Delay) {
        let Request::Model(request) = &activity.request else { return };
        let (agent, Delay { provider, limit, wait, why }) = (request.speaker.to_string(), delay);
        let why = why.map(|why| self.secrets.hide(&why));
        let delay_ms = wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        let location = self.prepared.program.step(activity.step).map(|s| s.origin);
        let kind = EventKind::ModelWaiting { agent, provider, limit, delay_ms, why };
        self.watch.delta(Some(activity.key.clone()), location, kind);
    }

    /// The call site that is passed to the ports.
    fn site<'a>(&'a self, activity: &'a Activity, meter: &'a Meter) -> CallSite<'a> {
        let Activity { key, step, labels, .. } = activity;
        let discloses = matches!(&activity.request, Request::Tool(request) if request.arguments.is_masked());
        let limit_ms = self.prepared.program.step(*step).and_then(|step| step.policy.timeout_ms);
        CallSite {
            run: &self.watch.run,
            execution: self.execution,
            key,
            step: *step,
            labels,
            meter,
            discloses,
            limit_ms,
        }
    }
}

/// An activity that has ended.
pub struct Done {
    /// The activity.
    pub activity: Arc<Activity>,
    /// Its result.
    pub result: Result<PrivateValue, RunError>,
    /// Metadata of the result.
    pub about: About,
    /// The letters that it comes from: the entry that ends the activity acts on them.
    pub letters: Letters,
}

impl Done {
    /// Without metadata.
    pub fn of(activity: Arc<Activity>, result: Result<PrivateValue, RunError>, letters: Letters) -> Self {
        Self { activity, result, about: About::default(), letters }
    }
}

/// The outcome of performing an activity.
pub enum Performed {
    /// It has ended. A model call keeps its permit until the machine knows the result. Otherwise the next call in the queue could
    /// start, although the machine may no longer want it.
    Done(Box<Done>, Option<Arc<CallPermit>>),
    /// It is a question that was stored. The answer arrives later.
    Kept(Key),
    /// It is a tool call that started a run, and that run is suspended.
    Called(Key, Box<SuspendedCall>),
}

/// The result of an effect, before secrets are masked and the metadata is complete.
pub struct Came {
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

impl From<Result<Value, RunError>> for Came {
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

/// Performs an activity. `place`: the permit of a model call.
pub async fn perform(
    world: Arc<World>,
    activity: Arc<Activity>,
    meter: Arc<Meter>,
    place: Option<Arc<CallPermit>>,
) -> Performed {
    if let Some(place) = &place {
        meter.placed(place);
    }
    let location = world.prepared.program.step(activity.step).map(|s| s.origin);
    let at = At { world: &world, activity: &activity, location, meter: &meter };
    let began = world.watch.now_ms();
    let mut letters = Letters::default();
    let came = match &activity.request {
        Request::Model(request) => model::call(&at, request).await,
        Request::Tool(request) => {
            let (result, repeatable) = match tool(&at, request).await {
                Ok(ended) => ended,
                Err(suspended) => return Performed::Called(activity.key.clone(), suspended),
            };
            let counted = meter.part().map(Share::counted).unwrap_or_default();
            let warnings = meter.take_warnings().iter().map(|warning| world.secrets.hide(warning)).collect();
            Came { usage: meter.told().map(|usage| usage.beyond(counted)), repeatable, warnings, ..result.into() }
        }
        Request::Describe(wanted) => describe(&at, wanted).await,
        Request::Command(request) => command(&at, request).await.into(),
        Request::Human(request) => match human(&at, request, &mut letters).await {
            Some(answer) => answer.into(),
            None => return Performed::Kept(activity.key.clone()),
        },
        Request::Timer { due, .. } => {
            world.ports.clock.sleep(world.watch.left(*due)).await;
            Ok(Value::Null).into()
        }
        Request::Decide(question) => decide(&at, question).map(Value::from).into(),
    };
    world.secrets.keep(&meter.secrets());
    let mut replaced = Vec::new();
    let result = match came.result {
        Ok(value) if !value.is_within_limits() => Err(RunError::too_large("what came back")),
        Ok(value) => {
            let incoming = world.secrets.take_in(value);
            replaced = incoming.replaced;
            Ok(incoming.value)
        }
        Err(error) => Err(world.secrets.hide_error(error)),
    };
    if let Some(place) = &place {
        // The models that were called before have told their own when the call moved on.
        place.used(came.usage);
    }
    let duration_ms = world.watch.now_ms().saturating_sub(began);
    let effect = !matches!(activity.request, Request::Timer { .. } | Request::Decide(_));
    let Came { result: _, usage, repeatable, warnings, verdicts, told, partial, sent } = came;
    let model = told.instead.clone().or_else(|| world.model(&activity));
    let duration_ms = effect.then_some(duration_ms);
    // A failed call binds nothing: its server may be repaired before the run continues.
    let tools = if result.is_ok() { meter.take_seen() } else { Vec::new() };
    let (kept, from, called) = (None, None, meter.called());
    let changed_by = model::changed_by(&activity, verdicts.as_deref());
    let about = About {
        model,
        usage,
        repeatable,
        duration_ms,
        told,
        replaced,
        warnings,
        verdicts,
        changed_by,
        partial,
        sent,
        kept,
        from,
        tools,
        called,
    };
    Performed::Done(Box::new(Done { activity, result, about, letters }), place)
}

/// The answer to a question about values that only the driver knows.
fn decide(at: &At<'_>, question: &Question) -> Result<bool, RunError> {
    let mut hole = |hole: &Hole| at.hole(hole);
    match question.matched(&mut hole)? {
        Some((value, schema)) => Ok(ForeignSchema::default().suits(schema, &value).is_ok()),
        None => question.answer(&mut hole),
    }
}

/// An activity in progress.
pub struct At<'a> {
    /// The run's context.
    pub world: &'a World,
    /// The activity.
    pub activity: &'a Activity,
    /// The location of its step.
    pub location: Option<Location>,
    /// Its usage so far.
    pub meter: &'a Meter,
}

impl At<'_> {
    /// The call site that is passed to the ports.
    pub fn site(&self) -> CallSite<'_> {
        self.world.site(self.activity, self.meter)
    }

    /// Reports received text of the activity.
    pub fn delta(&self, kind: EventKind) {
        if let Some(drafts) = &self.world.drafts {
            drafts.came();
        }
        self.world.watch.delta(Some(self.activity.key.clone()), self.location, kind);
    }

    /// Fills the holes of a value.
    pub fn fill(&self, value: &Value) -> Result<Value, RunError> {
        value.fill(&mut |hole: &Hole| self.hole(hole))
    }

    /// The value of a hole.
    pub fn hole(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.world.secrets.fill(&*self.world.ports.secrets, hole)
    }
}

/// Returns the result and whether the tool may be called again, or the run that the call waits for.
async fn tool(at: &At<'_>, request: &ToolRequest) -> Result<(Result<Value, RunError>, bool), Box<SuspendedCall>> {
    let tools = &at.world.ports.tools;
    if !tools.offers(&request.name, &request.kind) {
        let error = RunError::new("TOOL_ERROR", format!("no implementation for the tool `{}`", request.name));
        let error = error.help("declare it under `[tools.NAME]` or `[mcp.NAME]` in the settings");
        return Ok((Err(error), false));
    }
    // An embedder's program may not have been searched for these before the run.
    let credentials = credential::in_arguments(&request.kind, &request.arguments).into_iter();
    at.world.secrets.protect(credentials.filter(|hole| hole.kind == HoleKind::Env).map(|hole| hole.name.clone()));
    let arguments = match at.fill(&request.arguments) {
        Ok(arguments) => arguments,
        Err(error) => return Ok((Err(error), false)),
    };
    let filled = ToolRequest { arguments, ..request.clone() };
    at.meter.show(at.world.shown(&request.arguments));
    let came = match tools.call(at.site(), &filled).await {
        Err(ToolError::Suspended(suspended)) => return Err(suspended),
        came => came,
    };
    let repeatable = tools.is_idempotent(&filled) && came.is_err();
    let sent = || at.meter.sent().unwrap_or_else(|| sent(request, at.meter.shown().unwrap_or(&Value::Null)));
    let failed = |error| tool_error(&request.name, error).sent_as(Some(sent()));
    Ok((came.map_err(failed), repeatable))
}

/// Describes the arguments sent to a tool by their names and size, if the tool does not. Their values are in the trace.
fn sent(request: &ToolRequest, shown: &Value) -> String {
    let names: Vec<&str> = shown.as_object().into_iter().flat_map(|object| object.keys()).map(|name| &**name).collect();
    let more = names.len().saturating_sub(NAMED);
    let mut all = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if more > 0 {
        all.push_str(&format!(" and {more} more"));
    }
    let with = if names.is_empty() { "no arguments".to_owned() } else { all };
    format!("`{}` with {with}, {} bytes", request.name, shown.to_json().to_string().len())
}

/// The descriptions of tools, in the order of the requests, with a warning for each that cannot be offered.
async fn describe(at: &At<'_>, wanted: &[ToolsRequest]) -> Came {
    let mut warnings = Vec::new();
    let result = described(at, wanted, &mut warnings).await;
    Came { warnings: warnings.iter().map(|warning| at.world.secrets.hide(warning)).collect(), ..result.into() }
}

async fn described(at: &At<'_>, wanted: &[ToolsRequest], warnings: &mut Vec<String>) -> Result<Value, RunError> {
    if !at.world.ports.models.calls_tools() {
        return Ok(wanted.iter().map(|_| Value::List(Vec::new().into())).collect());
    }
    let mut all = Vec::with_capacity(wanted.len());
    for request in wanted {
        let ToolsRequest { kind, names } = request;
        let is_wanted = |name: &str| names.as_ref().is_none_or(|names| names.iter().any(|wanted| **wanted == *name));
        let placed = |error: RunError, name: Option<&str>| error.at_step(None, offered(at, kind, name));
        let listed = at.world.ports.tools.list(at.site(), kind).await;
        let skipped = at.meter.take_skipped();
        warnings.extend(at.meter.take_warnings());
        let failed = |error| tool_error(request.place(), error).sent_as(at.meter.sent());
        let mut tools = listed.map_err(|e| placed(unlisted(failed(e)), None))?;
        if let (true, Some(one)) = (names.is_some(), skipped.iter().find(|one| is_wanted(&one.name))) {
            let error = tool_error(request.place(), ToolError::Failed(one.why.clone()));
            return Err(placed(error, Some(&one.name)));
        }
        if names.is_none() {
            warnings.extend(skipped.into_iter().map(|one| format!("{}; the tool is not offered", one.why)));
        }
        let missing = names.iter().flatten().find(|name| tools.iter().all(|tool| tool.name != **name));
        if let (Some(name), ToolKind::Mcp { server, .. }) = (missing, kind) {
            let has: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
            let error = RunError::new("TOOL_ERROR", format!("the MCP server `{server}` has no tool `{name}`"));
            return Err(placed(error.help(format!("available: {}", has.join(", "))), Some(name)));
        }
        tools.retain(|tool| is_wanted(&tool.name));
        all.push(tools.iter().map(ToolSpec::value).collect());
    }
    Ok(Value::List(all.into()))
}

/// Adds advice to the failure of a request for tools, which has no arguments to try by hand.
fn unlisted(error: RunError) -> RunError {
    let is_plain = error.help.is_none() && matches!(error.cause, None | Some(Cause::Network | Cause::Unusable));
    if is_plain { error.help("start or call the server by hand to see what is wrong") } else { error }
}

/// Where a conversation offers the tools of a place, or one of them.
fn offered(at: &At<'_>, kind: &ToolKind, name: Option<&str>) -> Option<Location> {
    let program = &at.world.prepared.program;
    let StepKind::Conversation(talk) = &program.step(at.activity.step)?.kind else { return None };
    let offer = talk.offers.iter().find(|offer| match program.step(offer.step).map(|step| &step.kind) {
        Some(StepKind::Tool(call)) => call.kind == *kind && name.is_none_or(|name| *call.name == *name),
        _ => false,
    });
    offer.map(|offer| offer.origin)
}

fn tool_error(name: &str, error: ToolError) -> RunError {
    match error {
        ToolError::Timeout => RunError::new("TOOL_TIMEOUT", format!("`{name}` timed out")).cause(Cause::Timeout),
        ToolError::Unready(why) => {
            let help = "raise `start_timeout` of the server, or make it start faster";
            RunError::new("TOOL_TIMEOUT", format!("`{name}` timed out: {why}")).help(help)
        }
        ToolError::Failed(why) => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")),
        ToolError::Advised { why, help } => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).help(help),
        ToolError::UnusableResult { why, help } => {
            RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).cause(Cause::Unusable).help(help)
        }
        ToolError::Suspended(call) => {
            RunError::new("TOOL_ERROR", format!("`{name}` has not ended: its run {} is waiting", call.run))
        }
        ToolError::Limit { why, raise } => {
            let ended = RunError::new("BUDGET_EXCEEDED", format!("`{name}` ended: {why}"));
            ended.raising(raise)
        }
        ToolError::Network(why) => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).cause(Cause::Network),
        ToolError::Broken(why) => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).cause(Cause::Broken),
        ToolError::Unusable(why) => {
            RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")).cause(Cause::Unusable)
        }
        ToolError::Status { status, message, retry_after_ms } => {
            let mut error = RunError::new("TOOL_ERROR", format!("`{name}` {message}")).cause(Cause::Status(status));
            error.retry_after_ms = retry_after_ms.and_then(|ms| NonZeroU32::new(u32::try_from(ms).unwrap_or(u32::MAX)));
            error
        }
    }
}

async fn command(at: &At<'_>, request: &CommandRequest) -> Result<Value, RunError> {
    let Some(host) = &at.world.ports.commands else { return Err(not_allowed()) };
    let env = request.env.iter().map(|(name, value)| Ok((name.clone(), at.fill(value)?)));
    let request = CommandRequest {
        script: request.script.clone(),
        arguments: request.arguments.iter().map(|a| at.fill(a)).collect::<Result<_, RunError>>()?,
        env: env.collect::<Result<_, RunError>>()?,
        workdir: request.workdir.as_ref().map(|w| at.fill(w)).transpose()?,
    };
    match host.run(at.site(), &request).await {
        Ok(output) => Ok(command_result(output)),
        Err(ToolError::Timeout) => Err(RunError::new("TIMEOUT", "the command timed out").cause(Cause::Timeout)),
        Err(error) => {
            let mut failed = RunError::new("COMMAND_FAILED", error.to_string());
            failed.cause = tool_error("", error).into_data().cause;
            Err(failed)
        }
    }
}

/// The error for a command in a process that may not run commands.
pub fn not_allowed() -> RunError {
    RunError::new("REFUSED", "commands are not allowed in this run").help("allow them with `--allow-command`")
}

/// The result of a command that a person has declared to be done.
pub fn succeeded(stdout: String) -> Value {
    command_result(CommandOutput { exit_code: 0, stdout, stderr: String::new() })
}

/// `{status, exit_code, stdout, stderr}`.
fn command_result(output: CommandOutput) -> Value {
    let status = if output.exit_code == 0 { "success" } else { "failed" };
    let members: [(&str, Value); 4] = [
        ("status", status.into()),
        ("exit_code", output.exit_code.into()),
        ("stdout", output.stdout.into()),
        ("stderr", output.stderr.into()),
    ];
    members.into_iter().collect()
}

/// `None`: the question was stored, or its time has ended. `letters` get those of the answer.
async fn human(at: &At<'_>, request: &HumanRequest, letters: &mut Letters) -> Option<Result<Value, RunError>> {
    // Answers that came in time were read before. Nobody is asked for one that does not count: the timer is due.
    if request.is_late(at.world.ports.clock.wall_ms()) {
        return None;
    }
    let prompt = match at.fill(&request.prompt) {
        Ok(prompt) => prompt,
        Err(error) => return Some(Err(error)),
    };
    let filled = HumanRequest { prompt, ..request.clone() };
    Some(match (at.world.ports.humans.ask(at.site(), &filled).await, &request.on_timeout) {
        (Asked::Later, _) => return None,
        (Asked::Answer(answer), _) => Ok(answer.into()),
        (Asked::Written(answer, of), _) => {
            letters.join(of);
            Ok(answer.into())
        }
        (Asked::Nobody, OnTimeout::Answer(default)) if request.refused.is_none() => Ok(Value::Str(default.clone())),
        (Asked::Nobody, _) => {
            let message = format!("`{}` needs a human answer, but there is no one to ask", request.step);
            let help = format!("answer it with `--answer {}=VALUE`, or set a default", request.step);
            Err(RunError::new("HUMAN_TIMEOUT", message).help(help))
        }
    })
}
