//! Builds the events that watchers get. Each is a function of a journal entry and the machine's reaction to it, so a replay
//! produces the same events as the live run. Values are shown without secrets: unset holes are empty, all others are `***`.
//!
//! Some events are only about this process, and no replay repeats them: text that arrives while a model answers, waiting for a
//! provider, the start of a resume, and the end of a process whose run continues later.

use std::sync::Arc;

use super::DriverOptions;
use super::displayed_messages;
use super::run_context::RunContext;
use crate::ports::Meter;
use trefoil_coordinator::outcome::STOPPED;
use trefoil_machine::deadline::AnswerDeadline;
use trefoil_machine::error::RunError;
use trefoil_machine::event::{AwaitedActivity, EventKind};
use trefoil_machine::guard::{self, Verdict};
use trefoil_machine::journal::{ActivityMetadata, CalledRun, LostModelCall, RunStart};
use trefoil_machine::private::PrivateValue;
use trefoil_machine::receipt::AnswerReceipt;
use trefoil_machine::request::{Activity, CommandRequest, HumanRequest, ModelRequest, Request, ToolRequest};
use trefoil_machine::text::script_line;
use trefoil_machine::turn_content;
use trefoil_machine::{MachineEvent, effective_input};
use trefoil_syntax::Location;
use trefoil_template::Value;

/// The events for warnings about the whole run.
pub fn warning_events(warnings: &[String]) -> impl Iterator<Item = MachineEvent> {
    warnings.iter().map(|message| MachineEvent::for_run(EventKind::Warning { message: message.clone() }))
}

impl RunContext {
    /// The events for the start of the run: that it started, and its warnings.
    pub fn run_start_events(&self, started: &RunStart, options: &DriverOptions) -> Vec<MachineEvent> {
        let input = started.input.as_ref();
        if let Some(input) = input {
            // From now on, the private parts of the input are replaced in everything that is shown.
            self.masking.hide_parts_of(input);
        }
        let effective_input = if self.ports.events.wants_provenance() {
            effective_input(&self.prepared, input.map(PrivateValue::exact_value))
        } else {
            None
        };
        let run_started = EventKind::RunStarted {
            flow: started.program.flow.clone(),
            at: started.at,
            input: self.conceal_value(input.map(PrivateValue::visible_value)),
            effective_input: self.conceal_value(effective_input),
            answers_from: options.answers_from.clone(),
            placeholder: options.placeholder,
        };
        let mut events = vec![MachineEvent::for_run(run_started)];
        events.extend(warning_events(&started.warnings));
        events
    }

    /// Takes an event of the machine, as it may be shown. Moves its data, which may be large; an empty warning takes its place.
    pub fn take_displayed_event(&self, event: &mut MachineEvent) -> MachineEvent {
        match &mut event.kind {
            EventKind::StepFinished { output, .. } => *output = self.displayed_result(std::mem::take(output)),
            EventKind::ItemStarted { item, .. } => *item = self.conceal_value(item.take()),
            _ => {}
        }
        std::mem::replace(event, MachineEvent::for_run(EventKind::Warning { message: String::new() }))
    }

    /// Data that no guardrail has checked yet, without what the guardrails of the program redact.
    fn conceal_value(&self, value: Option<Value>) -> Option<Value> {
        value.map(|value| guard::hide_value(&self.prepared.conceals, value))
    }

    /// The result of a step as it may be shown: unset holes are null or empty, all others are `***`.
    fn displayed_result(&self, value: Value) -> Value {
        if self.prepared.has_holes { self.displayed_value(&value) } else { value }
    }

    /// Passes the events for the start of an activity to `emit`. The caller sends them after the entry is stored. `given_by`: who
    /// decided that it is repeated.
    pub fn report_start(
        &self,
        activity: &Activity,
        given_by: Option<&AnswerReceipt>,
        emit: &mut dyn FnMut(MachineEvent),
    ) {
        if !self.watch.wants_events() {
            return;
        }
        let kind = match &activity.request {
            Request::Model(request) => EventKind::ModelStarted {
                agent: request.speaker.clone(),
                model: self.ports.models.label(request),
                messages: request.messages.iter().map(|m| displayed_messages::displayed_message(self, m)).collect(),
                parameters: self.displayed_parameters(request),
                again: activity.again,
            },
            Request::Describe(tool_sources) => {
                let detail = tool_sources.iter().map(|source| Value::from(source.source_name())).collect();
                EventKind::EffectStarted { effect: "describe", detail, given_by: None }
            }
            Request::Human(request @ HumanRequest { step, prompt, accepts, choices, refused, .. }) => {
                EventKind::SignalWanted {
                    label: step.to_string(),
                    prompt: self.displayed_value(prompt).to_text().to_string(),
                    accepts: answer_texts(accepts),
                    choices: answer_texts(choices),
                    refused: refused.as_ref().map(ToString::to_string),
                    deadline: AnswerDeadline::from_request(request),
                }
            }
            Request::Decide(question) if !question.is_silent() => {
                let detail = Value::from(question.display_text());
                EventKind::EffectStarted { effect: "decide", detail, given_by: None }
            }
            // No events: retries and time limits have their own. If a check finds that a value is missing, the failure of the step
            // says so.
            Request::Timer { .. } | Request::Decide(_) => return,
            request @ (Request::Tool(_) | Request::Command(_)) => {
                let Some((effect, detail)) = self.describe_call(request) else { return };
                let given_by = given_by.map(|given_by| Box::new(given_by.clone()));
                EventKind::EffectStarted { effect, detail, given_by }
            }
        };
        emit(self.activity_event(activity, kind));
    }

    /// An event of an activity.
    fn activity_event(&self, activity: &Activity, kind: EventKind) -> MachineEvent {
        MachineEvent { key: Some(activity.key.clone()), location: self.step_location(activity), kind }
    }

    /// For a call of a tool or a command: which of the two, and its request as it may be shown.
    fn describe_call(&self, request: &Request) -> Option<(&'static str, Value)> {
        match request {
            Request::Tool(ToolRequest { name, arguments, .. }) => {
                let detail = [("name", Value::Str(name.clone())), ("arguments", self.displayed_value(arguments))];
                Some(("tool", detail.into_iter().collect()))
            }
            Request::Command(CommandRequest { script, arguments, .. }) => {
                let arguments: Value = arguments.iter().map(|a| self.displayed_value(a)).collect();
                let detail = [("script", Value::Str(script.clone())), ("arguments", arguments)];
                Some(("command", detail.into_iter().collect()))
            }
            _ => None,
        }
    }

    /// The event for a model call whose outcome is unknown, because its process ended.
    pub fn lost_call_event(&self, activity: &Activity, lost: &LostModelCall) -> MachineEvent {
        let (partial, answer_metadata) = (lost.partial.clone(), Box::default());
        self.activity_event(activity, EventKind::ModelStopped { usage: lost.usage, partial, answer_metadata })
    }

    /// Passes the events for the end of an activity to `emit`. The caller sends them after the entry is stored.
    pub fn report_end(
        &self,
        activity: &Activity,
        result: &Result<PrivateValue, RunError>,
        metadata: &ActivityMetadata,
        emit: &mut dyn FnMut(MachineEvent),
    ) {
        if let Ok(value) = result {
            self.masking.hide_parts_of(value);
        }
        let ActivityMetadata { usage, duration_ms, answer_metadata, warnings, verdicts, partial, .. } = metadata;
        let duration_ms = duration_ms.unwrap_or_default();
        let (called, given_by) = (metadata.called.clone(), metadata.given_by.clone());
        let reused_from = metadata.from.as_deref().map(|cited| Box::new(cited.reused_from()));
        let kind = match (&activity.request, result) {
            (Request::Timer { .. }, _) => return,
            (Request::Decide(question), _) if question.is_silent() => return,
            (Request::Model(_), Ok(answer)) => EventKind::ModelFinished {
                answer: turn_content::visible_turn(&answer.visible_value()),
                usage: usage.unwrap_or_default(),
                duration_ms,
                answer_metadata: Box::new(answer_metadata.clone()),
                reused_from,
            },
            (Request::Model(_), Err(error)) if error.code == STOPPED => {
                let (usage, partial, answer_metadata) =
                    (usage.unwrap_or_default(), partial.clone(), Box::new(answer_metadata.clone()));
                EventKind::ModelStopped { usage, partial, answer_metadata }
            }
            (_, Ok(value)) => {
                EventKind::EffectFinished { value: value.visible_value(), duration_ms, reused_from, called, given_by }
            }
            (_, Err(error)) => EventKind::EffectFailed {
                error: error.clone(),
                duration_ms,
                usage: *usage,
                partial: partial.clone(),
                answer_metadata: Box::new(answer_metadata.clone()),
                called,
                given_by,
            },
        };
        let mut emit_kind = |kind| emit(self.activity_event(activity, kind));
        for message in warnings {
            emit_kind(EventKind::Warning { message: message.clone() });
        }
        for verdict in answer_verdicts(&activity.request, verdicts.as_deref()) {
            emit_kind(EventKind::Verdict(verdict));
        }
        emit_kind(kind);
    }

    /// The text received so far by a model call, with the text hidden that guardrails redact.
    pub fn partial_text(&self, activity: &Activity, meter: &Meter) -> Option<String> {
        let Request::Model(request) = &activity.request else { return None };
        let text = self.masking.mask_text(&guard::hide_personal_data(&request.guards, meter.received_text()));
        if text.is_empty() { None } else { Some(text) }
    }

    /// The event for a suspended run: what it waits for, in the order of the keys, and when it continues at the latest.
    pub fn suspension_event<'a>(
        &self,
        waiting: impl Iterator<Item = &'a Activity>,
        called_runs: &[CalledRun],
        wake_at: Option<u64>,
        why: Option<&RunError>,
    ) -> MachineEvent {
        let describe = |activity: &Activity| match called_runs.iter().find(|called| called.key == activity.key) {
            Some(called) => self.describe_waiting_call(activity, &called.run),
            None => self.describe_waiting(activity),
        };
        let mut waiting: Vec<AwaitedActivity> = waiting.map(describe).collect();
        waiting.sort_by(|a, b| a.key.cmp(&b.key));
        MachineEvent::for_run(EventKind::RunSuspended { waiting, wake_at, why: why.cloned() })
    }

    /// Describes an activity that the run waits for.
    pub fn describe_waiting(&self, activity: &Activity) -> AwaitedActivity {
        let step = activity.labels.last().unwrap_or(&self.prepared.program.name).to_string();
        let (key, sort) = (activity.key.clone(), activity.request.sort_name());
        let call = self.describe_call(&activity.request).map(|(_, call)| call);
        let waiting = AwaitedActivity { key, step, sort, call, ..AwaitedActivity::default() };
        let Request::Human(request) = &activity.request else { return waiting };
        AwaitedActivity {
            prompt: Some(self.displayed_value(&request.prompt).to_text().to_string()),
            accepts: answer_texts(&request.accepts),
            choices: answer_texts(&request.choices),
            deadline: AnswerDeadline::from_request(request),
            ..waiting
        }
    }

    /// Why an activity may not start in this process: the operator has not allowed commands or this tool. `None` if it may start.
    pub fn permission_error(&self, activity: &Activity) -> Option<RunError> {
        let tools = &self.ports.tools;
        let refusal = match &activity.request {
            Request::Command(_) => match &self.ports.commands {
                Some(commands) => Some(commands.command_refusal()?),
                None => None,
            },
            Request::Tool(request) => Some(tools.tool_refusal(&request.name, &request.kind, &request.arguments)?),
            Request::Describe(tool_sources) if self.ports.models.calls_tools() => {
                Some(tool_sources.iter().find_map(|source| tools.tool_refusal("", &source.kind, &Value::Null))?)
            }
            _ => return None,
        };
        let error = match refusal {
            Some(refusal) => RunError::new("REFUSED", refusal.why).with_help(refusal.help),
            None => commands_not_allowed(),
        };
        let mut error = error.at_step(Some(activity.key.clone()), self.step_location(activity));
        if let Request::Command(command) = &activity.request {
            let script = self.masking.mask_text(&script_line(&command.script, command.arguments.len()));
            error.message = format!("it runs `{script}`, and {}", error.message);
        }
        Some(error)
    }

    /// Describes a tool call that waits for the run that it started.
    fn describe_waiting_call(&self, activity: &Activity, run: &str) -> AwaitedActivity {
        AwaitedActivity { sort: "run", run: Some(run.to_owned()), call: None, ..self.describe_waiting(activity) }
    }

    /// The location of the activity's step.
    fn step_location(&self, activity: &Activity) -> Option<Location> {
        Some(self.prepared.program.steps[activity.step].origin)
    }

    /// The request's parameters, as they may be shown. Unset parameters are skipped.
    fn displayed_parameters(&self, request: &ModelRequest) -> Value {
        let mut parameters = request.parameters.values_by_name();
        for (_, value) in &mut parameters {
            *value = self.displayed_value(value);
        }
        if !request.tools.is_empty() {
            parameters.push(("tools", request.tools.iter().map(|tool| Value::Str(tool.name.clone())).collect()));
        }
        if let Some((name, _)) = &request.schema {
            parameters.push(("schema", Value::Str(name.clone())));
        }
        parameters.into_iter().collect()
    }
}

fn answer_texts(answers: &[Arc<str>]) -> Vec<String> {
    answers.iter().map(ToString::to_string).collect()
}

/// The verdicts on a model's answer. The journal stores an empty list if every guardrail accepted it.
fn answer_verdicts(request: &Request, stored: Option<&[Verdict]>) -> Vec<Verdict> {
    match (request, stored) {
        (Request::Model(request), Some([])) => guard::all_passed(&request.guards).collect(),
        (_, stored) => stored.unwrap_or_default().to_vec(),
    }
}

/// The error for a command in a process that may not run commands.
pub fn commands_not_allowed() -> RunError {
    RunError::new("REFUSED", "commands are not allowed in this run").with_help("allow them with `--allow-command`")
}
