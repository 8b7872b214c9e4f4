//! One activity, from its request to what came of it.

use std::sync::Arc;

use futures_util::future::{Either, select};
use trefoil_ir::OnTimeout;
use trefoil_syntax::Location;
use trefoil_template::{Hole, Value};

use super::fill::SeenValues;
use super::model;
use super::watch::Watch;
use crate::ports::{CallSite, Clock, CommandOutput, Meter, Ports, ToolError};
use trefoil_machine::error::{Cause, RunError};
use trefoil_machine::event::{EventKind, Told};
use trefoil_machine::journal::About;
use trefoil_machine::key::Key;
use trefoil_machine::machine::Prepared;
use trefoil_machine::request::{Activity, CommandRequest, HumanRequest, Request, ToolRequest, Usage};

/// What activities work with.
pub struct World {
    /// The program.
    pub prepared: Arc<Prepared>,
    /// The ports.
    pub ports: Ports,
    /// The clock and the events.
    pub watch: Watch,
    /// How often the run has been gone on with.
    pub execution: u32,
    /// Secrets used so far.
    pub secrets: Arc<SeenValues>,
}

/// What came of an activity.
pub struct Done {
    /// Which.
    pub key: Key,
    /// Its step's place.
    pub location: Option<Location>,
    /// What.
    pub result: Result<Value, RunError>,
    /// What else is known about it.
    pub about: About,
    /// What to say once it is journaled.
    pub events: Vec<EventKind>,
}

/// What an effect gives before it is wrapped up.
pub struct Came {
    /// What.
    pub result: Result<Value, RunError>,
    /// What it used.
    pub usage: Option<Usage>,
    /// Things to say before its end.
    pub warnings: Vec<String>,
    /// Of a model call: what its provider said beside the answer.
    pub told: Told,
    /// Of a model call that failed: the text that had come.
    pub partial: Option<String>,
}

impl From<Result<Value, RunError>> for Came {
    fn from(result: Result<Value, RunError>) -> Self {
        Self { result, usage: None, warnings: Vec::new(), told: Told::default(), partial: None }
    }
}

/// Does it.
pub async fn perform(world: Arc<World>, activity: Activity, meter: Arc<Meter>) -> Done {
    let location = world.prepared.program.step(activity.step).map(|s| s.origin);
    let at = At { world: &world, activity: &activity, location, meter: &meter };
    let began = world.watch.now_ms();
    let mut came = match &activity.request {
        Request::Model(request) => model::call(&at, request).await,
        Request::Tool(request) => tool(&at, request).await.into(),
        Request::Command(request) => command(&at, request).await.into(),
        Request::Human(request) => human(&at, request).await.into(),
        Request::Timer { due_ms, .. } => {
            world.ports.clock.sleep(due_ms.saturating_sub(began)).await;
            Ok(Value::Null).into()
        }
        Request::Decide(question) => {
            if !question.presence {
                at.begin("decide", || Value::from(question.shown()));
            }
            question.answer(&mut |hole: &Hole| at.hole(hole)).map(Value::from).into()
        }
    };
    came.result = match came.result {
        Ok(value) if !value.is_within_limits() => Err(RunError::too_large("what came back")),
        Ok(value) => Ok(world.secrets.scrub_value(value)),
        Err(error) => Err(world.secrets.hide_error(error)),
    };
    let duration_ms = world.watch.now_ms().saturating_sub(began);
    let effect = !matches!(activity.request, Request::Timer { .. } | Request::Decide(_));
    let about = About {
        usage: came.usage,
        duration_ms: effect.then_some(duration_ms),
        told: came.told.clone(),
        warnings: std::mem::take(&mut came.warnings),
        partial: came.partial.clone(),
    };
    let warnings = about.warnings.iter().cloned().map(|message| EventKind::Warning { message });
    let mut events: Vec<EventKind> = warnings.collect();
    let result = came.result.clone();
    events.extend(ending(&activity.request, came, duration_ms));
    Done { key: activity.key, location, result, about, events }
}

fn ending(request: &Request, came: Came, duration_ms: u64) -> Option<EventKind> {
    let Came { result, usage, told, partial, .. } = came;
    Some(match (request, result) {
        // A retry or a time limit has its own event.
        (Request::Timer { .. }, _) => return None,
        // Nobody asked to see these; where one is unset, the step's failure says so.
        (Request::Decide(question), _) if question.presence => return None,
        (Request::Model(_), Ok(answer)) => {
            EventKind::ModelFinished { answer, usage: usage.unwrap_or_default(), duration_ms, told }
        }
        (_, Ok(value)) => EventKind::EffectFinished { value, duration_ms },
        (_, Err(error)) => EventKind::EffectFailed { error, duration_ms, usage, partial, told },
    })
}

/// How far an activity is.
pub struct At<'a> {
    /// What it works with.
    pub world: &'a World,
    /// The activity.
    pub activity: &'a Activity,
    /// Its step's place.
    pub location: Option<Location>,
    /// What it is known to have used.
    pub meter: &'a Meter,
}

impl At<'_> {
    /// What ports go by.
    pub fn site(&self) -> CallSite<'_> {
        let Activity { key, step, labels, .. } = self.activity;
        let (run, execution) = (&*self.world.watch.run, self.world.execution);
        CallSite { run, execution, key, step: *step, labels, meter: self.meter }
    }

    /// Says something about the activity while it runs.
    pub fn note(&self, kind: EventKind) {
        self.world.watch.note(Some(self.activity.key.clone()), self.location, kind);
    }

    /// Fills the holes of a value.
    pub fn fill(&self, value: &Value) -> Result<Value, RunError> {
        value.fill(&mut |hole: &Hole| self.hole(hole))
    }

    /// The value as it may be shown.
    pub fn shown(&self, value: &Value) -> Value {
        self.world.secrets.shown(&*self.world.ports.secrets, value)
    }

    fn hole(&self, hole: &Hole) -> Result<Option<String>, RunError> {
        self.world.secrets.fill(&*self.world.ports.secrets, hole)
    }

    fn begin(&self, effect: &'static str, detail: impl FnOnce() -> Value) {
        self.note(EventKind::EffectStarted { effect, detail: detail() });
    }
}

/// A future with a time limit; none: the limit was first.
pub async fn within<T>(clock: &dyn Clock, ms: Option<u64>, future: impl Future<Output = T> + Unpin) -> Option<T> {
    let Some(ms) = ms else { return Some(future.await) };
    match select(future, clock.sleep(ms)).await {
        Either::Left((value, _)) => Some(value),
        Either::Right(_) => None,
    }
}

async fn tool(at: &At<'_>, request: &ToolRequest) -> Result<Value, RunError> {
    at.begin("tool", || {
        [("name", Value::Str(request.name.clone())), ("arguments", at.shown(&request.arguments))].into_iter().collect()
    });
    let tools = &at.world.ports.tools;
    if !tools.offers(&request.name) {
        return Err(RunError::new("TOOL_ERROR", format!("no implementation for the tool `{}`", request.name)));
    }
    let request = ToolRequest { arguments: at.fill(&request.arguments)?, ..request.clone() };
    tools.call(at.site(), &request).await.map_err(|e| tool_error(&request.name, e))
}

fn tool_error(name: &str, error: ToolError) -> RunError {
    match error {
        ToolError::Timeout => RunError::new("TOOL_TIMEOUT", format!("`{name}` timed out")).cause(Cause::Timeout),
        ToolError::Failed(why) => RunError::new("TOOL_ERROR", format!("`{name}` failed: {why}")),
    }
}

async fn command(at: &At<'_>, request: &CommandRequest) -> Result<Value, RunError> {
    at.begin("command", || {
        let arguments: Value = request.arguments.iter().map(|a| at.shown(a)).collect();
        [("script", Value::Str(request.script.clone())), ("arguments", arguments)].into_iter().collect()
    });
    let Some(host) = &at.world.ports.commands else {
        let error = RunError::new("REFUSED", "commands are not allowed in this run");
        return Err(error.help("allow them with `--allow-command`"));
    };
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
        Err(ToolError::Failed(why)) => Err(RunError::new("COMMAND_FAILED", why)),
    }
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

async fn human(at: &At<'_>, request: &HumanRequest) -> Result<Value, RunError> {
    let prompt = at.shown(&request.prompt).to_text().to_string();
    at.note(EventKind::SignalWanted {
        label: request.step.to_string(),
        prompt,
        accepts: request.accepts.iter().map(ToString::to_string).collect(),
        refused: request.refused.as_ref().map(ToString::to_string),
    });
    let filled = HumanRequest { prompt: at.fill(&request.prompt)?, ..request.clone() };
    match (at.world.ports.humans.ask(at.site(), &filled).await, &request.on_timeout) {
        (Some(answer), _) => Ok(answer.into()),
        (None, OnTimeout::Answer(default)) if request.refused.is_none() => Ok(Value::Str(default.clone())),
        (None, _) => {
            let message = format!("`{}` needs a human answer, but there is no one to ask", request.step);
            let help = format!("answer it with `--answer {}=VALUE`, or give it a default", request.step);
            Err(RunError::new("HUMAN_TIMEOUT", message).help(help))
        }
    }
}
