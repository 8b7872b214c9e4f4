//! Events. Each is a function of a journal entry and the machine's reaction to it, so a replay produces the same events as the live
//! run. The exceptions are about this process only: text that arrives while a model answers, waiting for a provider, what a resume
//! begins with, and the end of a process whose run goes on.

use std::sync::Arc;

use super::DriverOptions;
use super::displayed_messages;
use super::run_context::RunContext;
use crate::ports::Meter;
use trefoil_coordinator::outcome::STOPPED;
use trefoil_machine::error::RunError;
use trefoil_machine::event::{AnswerDeadline, AwaitedActivity, EventKind};
use trefoil_machine::guard::{self, Verdict};
use trefoil_machine::journal::{ActivityMetadata, CalledRun, LostModelCall, RunStart};
use trefoil_machine::key::Key;
use trefoil_machine::private::PrivateValue;
use trefoil_machine::request::{Activity, CommandRequest, HumanRequest, ModelRequest, Request, ToolRequest};
use trefoil_machine::text::script_line;
use trefoil_machine::turn_content;
use trefoil_machine::{MachineEvent, effective_input};
use trefoil_syntax::Location;
use trefoil_template::Value;

/// The events for warnings about the whole run.
pub fn warning_events(warnings: &[String]) -> impl Iterator<Item = UnnumberedEvent> {
    warnings.iter().map(|message| (None, None, EventKind::Warning { message: message.clone() }))
}

/// An event that has no number yet.
pub type UnnumberedEvent = (Option<Key>, Option<Location>, EventKind);

impl RunContext {
    /// The run started, with these warnings.
    pub fn began_run(&self, started: &RunStart, options: &DriverOptions) -> Vec<UnnumberedEvent> {
        let input = started.input.as_ref();
        if let Some(input) = input {
            self.masking.hide_parts_of(input);
        }
        let is_wanted = self.ports.events.wants_provenance();
        let exact = input.map(PrivateValue::exact_value);
        let effective_input = if is_wanted { effective_input(&self.prepared, exact) } else { None };
        let (answers_from, placeholder) = (options.answers_from.clone(), options.placeholder);
        let (flow, input) = (started.program.flow.clone(), input.map(PrivateValue::visible_value));
        let (input, effective_input) = (self.conceal_value(input), self.conceal_value(effective_input));
        let began = EventKind::RunStarted { flow, at: started.at, input, effective_input, answers_from, placeholder };
        let mut events = vec![(None, None, began)];
        events.extend(warning_events(&started.warnings));
        events
    }

    /// Takes an event of the machine, as it may be shown.
    pub fn noted_event(&self, noted: &mut MachineEvent) -> UnnumberedEvent {
        match &mut noted.kind {
            EventKind::StepFinished { output, .. } => *output = self.displayed_result(std::mem::take(output)),
            EventKind::ItemStarted { item, .. } => *item = self.conceal_value(item.take()),
            _ => {}
        }
        let taken = EventKind::Warning { message: String::new() };
        (noted.key.take(), noted.location, std::mem::replace(&mut noted.kind, taken))
    }

    /// Data that no guardrail has checked yet, as it may be shown.
    fn conceal_value(&self, value: Option<Value>) -> Option<Value> {
        value.map(|value| guard::hide_value(&self.prepared.conceals, value))
    }

    /// The result of a step as it may be shown: unset holes are null or empty, all others are `***`.
    fn displayed_result(&self, value: Value) -> Value {
        if self.prepared.has_holes { self.displayed_value(&value) } else { value }
    }

    /// An activity started. Its entry is stored before the events are sent.
    pub fn report_start(&self, activity: &Activity, tell: &mut dyn FnMut(UnnumberedEvent)) {
        if !self.watch.wants_events() {
            return;
        }
        let kind = match &activity.request {
            Request::Model(request) => EventKind::ModelStarted {
                agent: request.speaker.clone(),
                model: self.ports.models.label(request),
                messages: request.messages.iter().map(|m| displayed_messages::displayed_message(self, m)).collect(),
                parameters: self.parameters(request),
                again: activity.again,
            },
            Request::Describe(wanted) => {
                let detail = wanted.iter().map(|tools| Value::from(tools.source_name())).collect();
                EventKind::EffectStarted { effect: "describe", detail }
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
                EventKind::EffectStarted { effect: "decide", detail: Value::from(question.display_text()) }
            }
            // Retries and time limits have their own events. Checks for presence have none: if a value is missing, the failure of
            // the step says so.
            Request::Timer { .. } | Request::Decide(_) => return,
            request @ (Request::Tool(_) | Request::Command(_)) => {
                let Some((effect, detail)) = self.describe_call(request) else { return };
                EventKind::EffectStarted { effect, detail }
            }
        };
        tell((Some(activity.key.clone()), self.step_location(activity), kind));
    }

    /// The request of a tool or a command, as it may be shown.
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

    /// The outcome of a model call is unknown, because its process ended.
    pub fn lost_event(&self, activity: &Activity, lost: &LostModelCall) -> UnnumberedEvent {
        let kind = EventKind::ModelStopped { usage: lost.usage, partial: lost.partial.clone(), answer_metadata: Box::default() };
        (Some(activity.key.clone()), self.step_location(activity), kind)
    }

    /// An activity ended. Its entry is stored before the events are sent.
    pub fn report_end(
        &self,
        activity: &Activity,
        result: &Result<PrivateValue, RunError>,
        about: &ActivityMetadata,
        tell: &mut dyn FnMut(UnnumberedEvent),
    ) {
        if let Ok(value) = result {
            self.masking.hide_parts_of(value);
        }
        let ActivityMetadata { usage, duration_ms, answer_metadata, warnings, verdicts, partial, .. } = about;
        let duration_ms = duration_ms.unwrap_or_default();
        let called = about.called.clone();
        let reused_from = about.from.as_deref().map(|cited| Box::new(cited.reused_from()));
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
                let (usage, partial, answer_metadata) = (usage.unwrap_or_default(), partial.clone(), Box::new(answer_metadata.clone()));
                EventKind::ModelStopped { usage, partial, answer_metadata }
            }
            (_, Ok(value)) => {
                EventKind::EffectFinished { value: value.visible_value(), duration_ms, reused_from, called }
            }
            (_, Err(error)) => EventKind::EffectFailed {
                error: error.clone(),
                duration_ms,
                usage: *usage,
                partial: partial.clone(),
                answer_metadata: Box::new(answer_metadata.clone()),
                called,
            },
        };
        let verdicts: Vec<Verdict> = match (&activity.request, verdicts) {
            (Request::Model(request), Some(none)) if none.is_empty() => guard::all_passed(&request.guards).collect(),
            (_, verdicts) => verdicts.clone().unwrap_or_default(),
        };
        let place = self.step_location(activity);
        let mut tell = |kind| tell((Some(activity.key.clone()), place, kind));
        for message in warnings {
            tell(EventKind::Warning { message: message.clone() });
        }
        for verdict in verdicts {
            tell(EventKind::Verdict(verdict));
        }
        tell(kind);
    }

    /// The text received so far by a model call, with the text hidden that guardrails redact.
    pub fn partial_text(&self, activity: &Activity, meter: &Meter) -> Option<String> {
        let Request::Model(request) = &activity.request else { return None };
        let text = self.masking.mask_text(&guard::hide_personal_data(&request.guards, meter.received_text()));
        if text.is_empty() { None } else { Some(text) }
    }

    /// The run was suspended.
    pub fn suspension_event<'a>(
        &self,
        waiting: impl Iterator<Item = &'a Activity>,
        called: &[CalledRun],
        wake_at: Option<u64>,
        why: Option<&RunError>,
    ) -> UnnumberedEvent {
        let one = |activity: &Activity| match called.iter().find(|called| called.key == activity.key) {
            Some(called) => self.waiting_for(activity, &called.run),
            None => self.describe_waiting(activity),
        };
        let mut waiting: Vec<AwaitedActivity> = waiting.map(one).collect();
        waiting.sort_by(|a, b| a.key.cmp(&b.key));
        (None, None, EventKind::RunSuspended { waiting, wake_at, why: why.cloned() })
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

    /// Why an activity does not start in this process: a permission that its operator has not given.
    pub fn not_allowed(&self, activity: &Activity) -> Option<RunError> {
        let tools = &self.ports.tools;
        let refusal = match &activity.request {
            Request::Command(_) if self.ports.commands.is_none() => None,
            Request::Tool(request) => Some(tools.tool_refusal(&request.name, &request.kind, &request.arguments)?),
            Request::Describe(wanted) if self.ports.models.calls_tools() => {
                Some(wanted.iter().find_map(|wanted| tools.tool_refusal("", &wanted.kind, &Value::Null))?)
            }
            _ => return None,
        };
        let error = match refusal {
            Some(refusal) => RunError::new("REFUSED", refusal.why).with_help(refusal.help),
            None => not_allowed(),
        };
        let mut error = error.at_step(Some(activity.key.clone()), self.step_location(activity));
        if let Request::Command(command) = &activity.request {
            let cut = script_line(&command.script, command.arguments.len());
            error.message =
                format!("it runs `{}`, and commands are not allowed in this run", self.masking.mask_text(&cut));
        }
        Some(error)
    }

    /// Describes a tool call that waits for the run that it started.
    pub fn waiting_for(&self, activity: &Activity, run: &str) -> AwaitedActivity {
        AwaitedActivity { sort: "run", run: Some(run.to_owned()), call: None, ..self.describe_waiting(activity) }
    }

    /// The location of the activity's step.
    fn step_location(&self, activity: &Activity) -> Option<Location> {
        Some(self.prepared.program.steps[activity.step].origin)
    }

    /// The request's parameters, as they may be shown. Unset parameters are skipped.
    fn parameters(&self, request: &ModelRequest) -> Value {
        let mut set = request.parameters.values_by_name();
        for (_, value) in &mut set {
            *value = self.displayed_value(value);
        }
        if !request.tools.is_empty() {
            set.push(("tools", request.tools.iter().map(|tool| Value::Str(tool.name.clone())).collect()));
        }
        if let Some((name, _)) = &request.schema {
            set.push(("schema", Value::Str(name.clone())));
        }
        set.into_iter().collect()
    }
}

fn answer_texts(answers: &[Arc<str>]) -> Vec<String> {
    answers.iter().map(ToString::to_string).collect()
}

/// The error for a command in a process that may not run commands.
pub fn not_allowed() -> RunError {
    RunError::new("REFUSED", "commands are not allowed in this run").with_help("allow them with `--allow-command`")
}
