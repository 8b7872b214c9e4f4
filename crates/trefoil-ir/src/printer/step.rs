//! Steps as text: one line for the head, then its parts, indented.

use std::fmt::Write as _;

use super::expr::{consensus_text, value_json};
use super::{ProgramPrinter, ticked, word};
use crate::conversation::{Conversation, Offer, ToolCallRules};
use crate::effect::{ModelChoice, ToolCall, ToolKind};
use crate::ids::{FlowId, NodeId, SlotId, StateId, StepId};
use crate::judge::{Judge, Validator, ValidatorKind};
use crate::policy::{OnStepFailure, Retry, RetryBackoff, RetryOn, StepPolicy};
use crate::step::{
    Attempts, BranchArm, FanOutItems, FlowCallee, ForEach, GraphEdge, GraphNode, MatchedOutcome, OnItemFailure,
    ParallelSteps, StateMachine, StateTransition, Step, StepGraph, StepKind, StepLoop, SubflowCall, UnsupportedFeature,
    WorkflowState,
};

impl ProgramPrinter<'_> {
    /// A step and everything in it.
    pub(super) fn print_step(&mut self, id: StepId) {
        let program = self.program;
        let Step { kind, label, origin, when, out, shape, policy } = &program.steps[id];
        let mut head = String::new();
        if let Some(label) = label {
            let _ = write!(head, "{} ", ticked(label));
        }
        head.push_str(&self.kind_head(kind));
        if let Some(out) = out {
            let _ = write!(head, " -> {}", self.slot(*out));
        }
        if label.is_some() {
            head.push_str(&self.location_suffix(*origin));
        }
        self.line(head);
        self.nested(|p| {
            if let Some(when) = when {
                p.line(format!("when {}", p.format_condition(when)));
            }
            p.kind_body(kind);
            if let Some(shape) = shape {
                p.line(format!("shape {}", p.format_expression(shape)));
            }
            p.policy(policy);
        });
    }
    fn kind_head(&self, kind: &StepKind) -> String {
        match kind {
            StepKind::Model(call) => format!("model {} as {}", model_name(&call.model), ticked(&call.speaker)),
            StepKind::Tool(call) => {
                let ToolCall { name, kind, arguments: _ } = &**call;
                let kind = match kind {
                    ToolKind::Local => "local".to_owned(),
                    ToolKind::Http => "http".to_owned(),
                    ToolKind::Mcp { server, headers } => {
                        let headers =
                            headers.iter().map(|(name, text)| format!(" header {} {}", ticked(name), value_json(text)));
                        format!("mcp {}{}", ticked(server), headers.collect::<String>())
                    }
                    ToolKind::Python => "python".to_owned(),
                };
                format!("tool {} {kind}", ticked(name))
            }
            StepKind::Command(call) => format!("command {}", value_json(&call.script.as_ref().into())),
            StepKind::Human(_) => "human".to_owned(),
            StepKind::Wait { ms } => format!("wait {ms} ms"),
            StepKind::Compute(value) => format!("compute {}", self.format_expression(value)),
            StepKind::Sequence(_) => "sequence".to_owned(),
            StepKind::Parallel(ParallelSteps { branches: _, concurrency, on_failure }) => {
                format!("parallel{}", width(*concurrency, *on_failure))
            }
            StepKind::Branch { .. } => "branch".to_owned(),
            StepKind::Loop(it) => {
                let StepLoop { body: _, until, max } = &**it;
                format!("loop until {} max {max}", self.format_condition(until))
            }
            StepKind::ForEach(each) => {
                let items = match &each.items {
                    FanOutItems::List(list) => format!("in {}", self.format_expression(list)),
                    FanOutItems::Count(count, max) => format!("times {} max {max}", self.format_expression(count)),
                };
                format!("for_each {items}{}", width(each.concurrency, each.on_failure))
            }
            StepKind::Graph(_) => "graph".to_owned(),
            StepKind::StateMachine(machine) => {
                format!("states from {} max {} entries", self.state(machine, machine.initial), machine.max_entries)
            }
            StepKind::Attempts(attempts) => format!("attempts max {}", attempts.max),
            StepKind::Conversation(it) => format!("conversation max {} turns", it.max_turns),
            StepKind::Call(call) => match &call.callee {
                FlowCallee::Flow(flow) => format!("call {}", self.flow_name(*flow)),
                FlowCallee::Named { name, flows } => {
                    let choice: Vec<_> = flows
                        .iter()
                        .map(|(name, flow)| match self.program.flows[*flow].name == *name {
                            true => self.flow_name(*flow),
                            false => format!("{} is {}", ticked(name), self.flow_name(*flow)),
                        })
                        .collect();
                    format!("call named {} of {}", self.format_template(name), choice.join(", "))
                }
            },
            StepKind::Refused(UnsupportedFeature { feature, .. }) => format!("refused {}", word(feature)),
        }
    }
    fn kind_body(&mut self, kind: &StepKind) {
        match kind {
            StepKind::Model(call) => self.print_model(call),
            StepKind::Tool(call) => {
                self.line(format!("arguments {}", self.format_expression(&call.arguments)));
            }
            StepKind::Command(call) => self.print_command(call),
            StepKind::Human(call) => self.print_human(call),
            StepKind::Wait { .. } | StepKind::Compute(_) => {}
            StepKind::Sequence(steps) | StepKind::Parallel(ParallelSteps { branches: steps, .. }) => {
                steps.iter().for_each(|step| self.print_step(*step));
            }
            StepKind::Branch { arms, otherwise } => {
                for BranchArm { when, step } in arms {
                    self.line(format!("if {}", self.format_condition(when)));
                    self.nested(|p| p.print_step(*step));
                }
                if let Some(step) = otherwise {
                    self.line("else");
                    self.nested(|p| p.print_step(*step));
                }
            }
            StepKind::Loop(it) => self.print_step(it.body),
            StepKind::ForEach(each) => self.for_each(each),
            StepKind::Graph(graph) => self.graph(graph),
            StepKind::StateMachine(machine) => self.machine(machine),
            StepKind::Attempts(attempts) => self.attempts(attempts),
            StepKind::Conversation(it) => self.conversation(it),
            StepKind::Call(call) => {
                let SubflowCall { callee: _, input, exports, span } = &**call;
                if let Some(span) = span {
                    self.line(format!("span {span}"));
                }
                if let Some(input) = input {
                    self.line(format!("input {}", self.format_expression(input)));
                }
                if let Some(exports) = exports {
                    self.line(format!("exports -> {}", self.slot(*exports)));
                }
            }
            StepKind::Refused(UnsupportedFeature { message, .. }) => self.line(&**message),
        }
    }
    fn for_each(&mut self, each: &ForEach) {
        let ForEach { items: _, body, item, index, total, captures, concurrency: _, timeout_ms, on_failure: _, failed } =
            each;
        self.line(format!("body {}", self.flow_name(*body)));
        let inner = self.slot_names(&self.program.flows[*body]);
        let slot = |id: SlotId| inner.get(id.index()).cloned().unwrap_or_else(|| format!("${}", id.0));
        let item = item.map(|item| format!("item {} ", slot(item))).unwrap_or_default();
        self.line(format!("{item}index {} total {}", slot(*index), slot(*total)));
        for (id, source) in captures {
            self.line(format!("capture {} <- {}", slot(*id), self.format_source(source)));
        }
        if let Some(ms) = timeout_ms {
            self.line(format!("timeout {ms} ms each"));
        }
        if each.on_failure == OnItemFailure::Continue {
            self.line(format!("failed item {}", value_json(failed)));
        }
    }
    fn graph(&mut self, graph: &StepGraph) {
        let StepGraph { nodes } = graph;
        let label = |node: &GraphNode| self.program.steps[node.step].label.as_deref();
        let names: Vec<String> = nodes.iter().enumerate().map(|(i, n)| self.part_name(i, label(n))).collect();
        let name = |id: NodeId| names.get(id.index()).cloned().unwrap_or_else(|| id.0.to_string());
        let all = |ids: &[NodeId]| ids.iter().map(|id| name(*id)).collect::<Vec<_>>().join(", ");
        for (node, own) in nodes.iter().zip(&names) {
            let GraphNode { step, incoming, after, fallback_of, fallback } = node;
            let fallback = fallback.map(|id| format!(", on failure {}", name(id))).unwrap_or_default();
            self.line(format!("node {own}{fallback}"));
            self.nested(|p| {
                for GraphEdge { from, when, carry, origin: _ } in incoming {
                    let mut line = format!("from {}", name(*from));
                    if let Some(when) = when {
                        let _ = write!(line, " when {}", p.format_condition(when));
                    }
                    if let Some((slot, source)) = carry {
                        let _ = write!(line, " carry {} <- {}", p.slot(*slot), p.format_source(source));
                    }
                    p.line(line);
                }
                if !after.is_empty() {
                    p.line(format!("after {}", all(after)));
                }
                if !fallback_of.is_empty() {
                    p.line(format!("only when {} failed", all(fallback_of)));
                }
                p.print_step(*step);
            });
        }
    }
    fn machine(&mut self, machine: &StateMachine) {
        let StateMachine { states, initial: _, max_entries: _, max_entries_at: _, feedback, previous_error, visit } =
            machine;
        for (what, slot) in [("feedback", feedback), ("previous error", previous_error), ("visit", visit)] {
            if let Some(slot) = slot {
                self.line(format!("{what} -> {}", self.slot(*slot)));
            }
        }
        for WorkflowState {
            name,
            step,
            failed,
            max_visits,
            max_visits_at: _,
            transitions,
            ends_unmatched,
            fails_when,
        } in states
        {
            self.line(format!("state {} max {max_visits} visits", word(name)));
            self.nested(|p| {
                p.print_step(*step);
                if let Some(failed) = failed {
                    p.line(format!("when failed {}", p.format_expression(failed)));
                }
                transitions.iter().for_each(|transition| p.transition(machine, transition));
                if *ends_unmatched {
                    p.line("ends when it succeeds and nothing matches");
                }
                if let Some(fails) = fails_when {
                    p.line(format!("run fails when {}", p.format_condition(fails)));
                }
            });
        }
    }
    fn transition(&mut self, machine: &StateMachine, transition: &StateTransition) {
        let StateTransition { takes, when, target, target_at: _, feedback, origin: _, text } = transition;
        let takes = match takes {
            MatchedOutcome::Success => "",
            MatchedOutcome::Failure => "on failure ",
            MatchedOutcome::Both => "either way ",
        };
        let plain = text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | ' ' | '.' | '-'));
        let text = if plain { text.to_string() } else { ticked(text) };
        let mut line = format!("{takes}{text} => {}", self.state(machine, *target));
        if let Some(when) = when {
            let _ = write!(line, " when {}", self.format_condition(when));
        }
        if let Some(feedback) = feedback {
            let _ = write!(line, " feedback {}", self.format_template(feedback));
        }
        self.line(line);
    }
    fn conversation(&mut self, conversation: &Conversation) {
        let Conversation { turn, offers, gate, max_turns: _, max_turns_at: _, calls } = conversation;
        let ToolCallRules { needed, most, most_at: _ } = calls;
        if *needed {
            self.line("calls needed");
        }
        if let Some(most) = most {
            self.line(format!("calls max {most}"));
        }
        self.print_step(*turn);
        for Offer { name, description, parameters, pinned, member, all, step, origin: _ } in offers {
            let what = if *all { "tools" } else { "tool" };
            let description = description.as_ref().map(|text| format!(" {}", value_json(&text.as_ref().into())));
            self.line(format!("offers {what} {}{}", ticked(name), description.unwrap_or_default()));
            self.nested(|p| {
                if let Some(schema) = parameters {
                    p.line(format!("parameters schema {}", schema.0));
                }
                if !pinned.is_empty() {
                    p.line(format!("pinned {}", pinned.join(", ")));
                }
                if let Some(member) = member {
                    p.line(format!("gives {}", word(member)));
                }
                p.print_step(*step);
            });
        }
        if let Some(gate) = gate {
            self.line("each call must pass");
            self.nested(|p| p.print_step(*gate));
        }
    }
    fn attempts(&mut self, attempts: &Attempts) {
        let Attempts { body, max: _, validators, iteration, previous_error, retry_failures } = attempts;
        self.line(format!(
            "iteration {} previous error {}{}",
            self.slot(*iteration),
            self.slot(*previous_error),
            if *retry_failures { " failures count" } else { "" }
        ));
        self.print_step(*body);
        for validator in validators {
            self.validator(validator);
        }
    }
    fn validator(&mut self, validator: &Validator) {
        let Validator { kind, min_score, min_confidence, origin: _, name } = validator;
        let what = match kind {
            ValidatorKind::ExitCode { expected } => format!("exit code {expected}"),
            ValidatorKind::JsonSchema(schema) => format!("schema {}", schema.0),
            ValidatorKind::Regex { pattern, stderr } => {
                format!("matches {}{}", value_json(&(&**pattern).into()), if *stderr { " on stderr" } else { "" })
            }
            ValidatorKind::Judges { consensus, judges: _ } => {
                format!("judges {}", consensus_text(consensus).trim_end())
            }
        };
        self.line(format!("validate {} {what}, score {min_score} confidence {min_confidence}", ticked(name)));
        if let ValidatorKind::Judges { judges, .. } = kind {
            self.nested(|p| {
                for Judge { name, flow, input, weight, timeout_ms, timeout_at: _ } in judges {
                    let mut line = format!("judge {} {}", ticked(name), p.flow_name(*flow));
                    let _ = write!(line, " weight {weight} input {}", p.format_expression(input));
                    if let Some(ms) = timeout_ms {
                        let _ = write!(line, " timeout {ms} ms");
                    }
                    p.line(line);
                }
            });
        }
    }
    fn policy(&mut self, policy: &StepPolicy) {
        let StepPolicy { retry, timeout_ms, timeout_at: _, on_failure } = policy;
        if let Some(Retry { max_attempts, backoff, base_delay_ms, max_delay_ms, jitter, on }) = retry {
            let backoff = match backoff {
                RetryBackoff::Constant => "constant",
                RetryBackoff::Linear => "linear",
                RetryBackoff::Exponential => "exponential",
            };
            let on: Vec<_> = on
                .iter()
                .map(|on| match on {
                    RetryOn::Status(status) => status.to_string(),
                    RetryOn::Network => "network".to_owned(),
                    RetryOn::Guardrail => "guardrail".to_owned(),
                    RetryOn::Timeout => "timeout".to_owned(),
                    RetryOn::Code(code) => word(code),
                })
                .collect();
            let jitter = if *jitter { " jitter" } else { "" };
            self.line(format!(
                "retry {max_attempts} tries {backoff} {base_delay_ms} to {max_delay_ms} ms{jitter} on {}",
                on.join(", ")
            ));
        }
        if let Some(ms) = timeout_ms {
            self.line(format!("timeout {ms} ms"));
        }
        match on_failure {
            OnStepFailure::Fail => {}
            OnStepFailure::Skip => self.line("on failure skip"),
            OnStepFailure::Use(value) => self.line(format!("on failure use {}", self.format_expression(value))),
        }
    }
    fn flow_name(&self, flow: FlowId) -> String {
        format!("flow {} {}", flow.0, ticked(&self.program.flows[flow].name))
    }
    fn state(&self, machine: &StateMachine, state: StateId) -> String {
        self.part_name(state.index(), Some(&machine.states[state].name))
    }
}

/// `provider:name`, or the alias.
fn model_name(model: &ModelChoice) -> String {
    let ModelChoice { provider, name, origin: _ } = model;
    match provider {
        Some(provider) => format!("{}:{}", word(provider), line_of(name)),
        None => word(name),
    }
}

/// A name that extends to the end of the line or to a word in backticks, so it may contain colons, dots and the like.
fn line_of(name: &str) -> String {
    if name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') { word(name) } else { name.to_owned() }
}

fn width(concurrency: Option<u32>, on_failure: OnItemFailure) -> String {
    let mut text = concurrency.map(|n| format!(" {n} at a time")).unwrap_or_default();
    if on_failure == OnItemFailure::Continue {
        text.push_str(" continue on failure");
    }
    text
}
