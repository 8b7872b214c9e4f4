//! Steps as text: one line of head, then what belongs to it, indented.

use std::fmt::Write as _;

use super::Printer;
use super::expr::{consensus_text, json, list};
use crate::effect::{AnswerFormat, CommandCall, Guard, HumanCall, ModelCall, OnTimeout, ToolKind};
use crate::ids::StepId;
use crate::judge::{Validator, ValidatorKind};
use crate::policy::{Backoff, OnFailure, RetryOn};
use crate::step::{
    Attempts, Callee, ForEach, Graph, Items, OnItemFailure, Parallel, StateMachine, Step, StepKind, Takes,
};

impl Printer<'_> {
    /// A step and all that is in it.
    pub(super) fn step(&mut self, id: StepId) {
        let program = self.program;
        let Some(step) = program.step(id) else {
            self.line(format!("step {} (not there)", id.0));
            return;
        };
        let mut head = String::new();
        if let Some(label) = &step.label {
            let _ = write!(head, "`{label}` ");
        }
        head.push_str(&self.kind_head(&step.kind));
        if let Some(out) = step.out {
            let _ = write!(head, " -> {}", self.slot(out));
        }
        if step.label.is_some() {
            head.push_str(&self.place(step.origin));
        }
        self.line(head);
        self.nested(|p| {
            if let Some(when) = &step.when {
                let line = format!("when {}", p.cond(when));
                p.line(line);
            }
            p.kind_body(&step.kind);
            if let Some(shape) = &step.shape {
                let line = format!("shape {}", p.expr(shape));
                p.line(line);
            }
            p.policy(step);
        });
    }
    fn kind_head(&self, kind: &StepKind) -> String {
        match kind {
            StepKind::Model(call) => {
                let provider = call.model.provider.as_ref().map(|p| format!("{p}:")).unwrap_or_default();
                format!("model {provider}{} as `{}`", call.model.name, call.speaker)
            }
            StepKind::Tool(call) => match &call.kind {
                ToolKind::Local => format!("tool `{}` local", call.name),
                ToolKind::Http => format!("tool `{}` http", call.name),
                ToolKind::Mcp { server } => format!("tool `{}` mcp {server}", call.name),
                ToolKind::Python => format!("tool `{}` python", call.name),
            },
            StepKind::Command(call) => format!("command {}", json(&call.script.as_ref().into())),
            StepKind::Human(_) => "human".to_owned(),
            StepKind::Wait { ms } => format!("wait {ms} ms"),
            StepKind::Compute(value) => format!("compute {}", self.expr(value)),
            StepKind::Sequence(_) => "sequence".to_owned(),
            StepKind::Parallel(Parallel { concurrency, on_failure, .. }) => {
                format!("parallel{}", width(*concurrency, *on_failure))
            }
            StepKind::Branch { .. } => "branch".to_owned(),
            StepKind::Loop(it) => format!("loop until {} max {}", self.cond(&it.until), it.max),
            StepKind::ForEach(each) => {
                let items = match &each.items {
                    Items::List(list) => format!("in {}", self.expr(list)),
                    Items::Count(count, max) => format!("times {} max {max}", self.expr(count)),
                };
                format!("for_each {items}{}", width(each.concurrency, each.on_failure))
            }
            StepKind::Graph(_) => "graph".to_owned(),
            StepKind::StateMachine(machine) => {
                format!("states from {} max {} entries", self.state(machine, machine.initial.0), machine.max_entries)
            }
            StepKind::Attempts(attempts) => format!("attempts max {}", attempts.max),
            StepKind::Call(call) => match &call.callee {
                Callee::Flow(flow) => format!("call {}", self.flow_name(flow.0)),
                Callee::Named { name, flows } => {
                    let choice: Vec<_> = flows.iter().map(|(_, f)| self.flow_name(f.0)).collect();
                    format!("call named {} of {}", self.text(name), choice.join(", "))
                }
            },
            StepKind::Refused(refused) => format!("refused {}", refused.feature),
        }
    }
    fn kind_body(&mut self, kind: &StepKind) {
        match kind {
            StepKind::Model(call) => self.model(call),
            StepKind::Tool(call) => {
                let line = format!("arguments {}", self.expr(&call.arguments));
                self.line(line);
            }
            StepKind::Command(call) => self.command(call),
            StepKind::Human(call) => self.human(call),
            StepKind::Wait { .. } | StepKind::Compute(_) => {}
            StepKind::Sequence(steps) | StepKind::Parallel(Parallel { branches: steps, .. }) => {
                for step in steps {
                    self.step(*step);
                }
            }
            StepKind::Branch { arms, otherwise } => {
                for arm in arms {
                    let line = format!("if {}", self.cond(&arm.when));
                    self.line(line);
                    self.nested(|p| p.step(arm.step));
                }
                if let Some(step) = otherwise {
                    self.line("else");
                    self.nested(|p| p.step(*step));
                }
            }
            StepKind::Loop(it) => self.step(it.body),
            StepKind::ForEach(each) => self.for_each(each),
            StepKind::Graph(graph) => self.graph(graph),
            StepKind::StateMachine(machine) => self.machine(machine),
            StepKind::Attempts(attempts) => self.attempts(attempts),
            StepKind::Call(call) => {
                if let Some(input) = &call.input {
                    let line = format!("input {}", self.expr(input));
                    self.line(line);
                }
                if let Some(exports) = call.exports {
                    let line = format!("exports -> {}", self.slot(exports));
                    self.line(line);
                }
            }
            StepKind::Refused(refused) => self.line(&*refused.message),
        }
    }
    fn model(&mut self, call: &ModelCall) {
        if let Some(system) = &call.system {
            let line = format!("system {}", self.expr(system));
            self.line(line);
        }
        for example in &call.examples {
            let line = format!("example {} => {}", json(&(&*example.input).into()), json(&(&*example.output).into()));
            self.line(line);
        }
        let line = format!("user {}", self.expr(&call.user));
        self.line(line);
        match &call.format {
            AnswerFormat::Text => {}
            AnswerFormat::Json(schema) => self.line(format!("answer schema {}", schema.0)),
            AnswerFormat::JsonOrText => self.line("answer json or text"),
        }
        let p = &call.parameters;
        let numbers = [
            ("temperature", p.temperature.map(|v| v.to_string())),
            ("top_p", p.top_p.map(|v| v.to_string())),
            ("top_k", p.top_k.map(|v| v.to_string())),
            ("max_tokens", p.max_tokens.map(|v| v.to_string())),
            ("presence_penalty", p.presence_penalty.map(|v| v.to_string())),
            ("frequency_penalty", p.frequency_penalty.map(|v| v.to_string())),
            ("seed", p.seed.map(|v| v.to_string())),
            ("stop", (!p.stop.is_empty()).then(|| list(&p.stop))),
            ("provider_options", p.provider_options.as_ref().map(json)),
            ("timeout_ms", p.timeout_ms.map(|v| v.to_string())),
        ];
        let set: Vec<_> = numbers.iter().filter_map(|(k, v)| v.as_ref().map(|v| format!("{k} {v}"))).collect();
        if !set.is_empty() {
            self.line(format!("parameters {}", set.join(", ")));
        }
        for guard in &call.guards {
            let line = match guard {
                Guard::Injection => "guard injection".to_owned(),
                Guard::Length { max_chars, refuse } => {
                    format!("guard length {max_chars} {}", if *refuse { "refuse" } else { "cut" })
                }
                Guard::Pii { entities, action, replacement } => {
                    format!("guard pii {entities:?} {action:?} `{replacement}`").to_lowercase()
                }
                Guard::Schema(schema) => format!("guard schema {}", schema.0),
                Guard::TokenCap { max_tokens, warn } => {
                    format!("guard tokens {max_tokens} {}", if *warn { "warn" } else { "refuse" })
                }
            };
            self.line(line);
        }
        if !call.stream {
            self.line("held back");
        }
    }
    fn command(&mut self, call: &CommandCall) {
        for (index, argument) in call.arguments.iter().enumerate() {
            let line = format!("${{{}}} = {}", index + 1, self.expr(argument));
            self.line(line);
        }
        for (name, value) in &call.env {
            let line = format!("env {name} = {}", self.expr(value));
            self.line(line);
        }
        if let Some(dir) = &call.workdir {
            let line = format!("in {}", self.expr(dir));
            self.line(line);
        }
    }
    fn human(&mut self, call: &HumanCall) {
        let line = format!("prompt {}", self.expr(&call.prompt));
        self.line(line);
        if let Some(ms) = call.timeout_ms {
            self.line(format!("timeout {ms} ms"));
        }
        match &call.on_timeout {
            OnTimeout::Fail => {}
            OnTimeout::Answer(answer) => self.line(format!("default {}", json(&(&**answer).into()))),
        }
    }
    fn for_each(&mut self, each: &ForEach) {
        let line = format!("body {}", self.flow_name(each.body.0));
        self.line(line);
        for (slot, source) in &each.captures {
            let line = format!("capture {} <- {}", self.slot_of(each.body.0, slot.0), self.source(source));
            self.line(line);
        }
        if let Some(ms) = each.timeout_ms {
            self.line(format!("timeout {ms} ms each"));
        }
        if each.on_failure == OnItemFailure::Continue {
            self.line(format!("failed item {}", json(&each.failed)));
        }
    }
    fn graph(&mut self, graph: &Graph) {
        let names: Vec<String> = graph
            .nodes
            .iter()
            .enumerate()
            .map(|(i, n)| {
                let label = self.program.step(n.step).and_then(|s| s.label.as_ref());
                label.map_or_else(|| i.to_string(), |l| l.to_string())
            })
            .collect();
        let name = |id: u32| names.get(id as usize).cloned().unwrap_or_else(|| id.to_string());
        for (index, node) in graph.nodes.iter().enumerate() {
            let mut head = format!("node {}", name(index as u32));
            if let Some(fallback) = node.fallback {
                let _ = write!(head, ", on failure {}", name(fallback.0));
            }
            self.line(head);
            self.nested(|p| {
                for edge in &node.incoming {
                    let mut line = format!("from {}", name(edge.from.0));
                    if let Some(when) = &edge.when {
                        let _ = write!(line, " when {}", p.cond(when));
                    }
                    if let Some((slot, source)) = &edge.carry {
                        let _ = write!(line, " carry {} <- {}", p.slot(*slot), p.source(source));
                    }
                    p.line(line);
                }
                if !node.after.is_empty() {
                    let all: Vec<_> = node.after.iter().map(|n| name(n.0)).collect();
                    p.line(format!("after {}", all.join(", ")));
                }
                if !node.fallback_of.is_empty() {
                    let all: Vec<_> = node.fallback_of.iter().map(|n| name(n.0)).collect();
                    p.line(format!("only when {} failed", all.join(", ")));
                }
                p.step(node.step);
            });
        }
    }
    fn machine(&mut self, machine: &StateMachine) {
        for (what, slot) in
            [("feedback", machine.feedback), ("previous error", machine.previous_error), ("visit", machine.visit)]
        {
            if let Some(slot) = slot {
                let line = format!("{what} -> {}", self.slot(slot));
                self.line(line);
            }
        }
        for state in &machine.states {
            self.line(format!("state {} max {} visits", state.name, state.max_visits));
            self.nested(|p| {
                p.step(state.step);
                if let Some(failed) = &state.failed {
                    let line = format!("when failed {}", p.expr(failed));
                    p.line(line);
                }
                for transition in &state.transitions {
                    let takes = match transition.takes {
                        Takes::Success => "",
                        Takes::Failure => "on failure ",
                        Takes::Both => "either way ",
                    };
                    let mut line = format!("{takes}{} => {}", transition.text, p.state(machine, transition.target.0));
                    if let Some(when) = &transition.when {
                        let _ = write!(line, " when {}", p.cond(when));
                    }
                    if let Some(feedback) = &transition.feedback {
                        let _ = write!(line, " feedback {}", p.text(feedback));
                    }
                    p.line(line);
                }
                if state.ends_unmatched {
                    p.line("ends when it succeeds and nothing matches");
                }
                if let Some(fails) = &state.fails_when {
                    let line = format!("run fails when {}", p.cond(fails));
                    p.line(line);
                }
            });
        }
    }
    fn attempts(&mut self, attempts: &Attempts) {
        let line = format!(
            "iteration {} previous error {}{}",
            self.slot(attempts.iteration),
            self.slot(attempts.previous_error),
            if attempts.retry_failures { " failures count" } else { "" }
        );
        self.line(line);
        self.step(attempts.body);
        for validator in &attempts.validators {
            self.validator(validator);
        }
    }
    fn validator(&mut self, validator: &Validator) {
        let what = match &validator.kind {
            ValidatorKind::ExitCode { expected } => format!("exit code {expected}"),
            ValidatorKind::JsonSchema(schema) => format!("schema {}", schema.0),
            ValidatorKind::Regex { pattern, stderr } => {
                format!("matches {}{}", json(&(&**pattern).into()), if *stderr { " on stderr" } else { "" })
            }
            ValidatorKind::Judges { consensus, .. } => format!("judges {}", consensus_text(consensus).trim_end()),
        };
        self.line(format!(
            "validate `{}` {what}, score {} confidence {}",
            validator.name, validator.min_score, validator.min_confidence
        ));
        if let ValidatorKind::Judges { judges, .. } = &validator.kind {
            self.nested(|p| {
                for judge in judges {
                    let mut line = format!("judge `{}` {}", judge.name, p.flow_name(judge.flow.0));
                    let _ = write!(line, " weight {} input {}", judge.weight, p.expr(&judge.input));
                    if let Some(ms) = judge.timeout_ms {
                        let _ = write!(line, " timeout {ms} ms");
                    }
                    p.line(line);
                }
            });
        }
    }
    fn policy(&mut self, step: &Step) {
        if let Some(retry) = &step.policy.retry {
            let backoff = match retry.backoff {
                Backoff::Constant => "constant",
                Backoff::Linear => "linear",
                Backoff::Exponential => "exponential",
            };
            let on: Vec<_> = retry
                .on
                .iter()
                .map(|on| match on {
                    RetryOn::Status(status) => status.to_string(),
                    RetryOn::Network => "network".to_owned(),
                    RetryOn::Guardrail => "guardrail".to_owned(),
                    RetryOn::Timeout => "timeout".to_owned(),
                    RetryOn::Code(code) => code.to_string(),
                })
                .collect();
            self.line(format!(
                "retry {} tries {backoff} {} to {} ms{} on {}",
                retry.max_attempts,
                retry.base_delay_ms,
                retry.max_delay_ms,
                if retry.jitter { " jitter" } else { "" },
                on.join(", ")
            ));
        }
        if let Some(ms) = step.policy.timeout_ms {
            self.line(format!("timeout {ms} ms"));
        }
        match &step.policy.on_failure {
            OnFailure::Fail => {}
            OnFailure::Skip => self.line("on failure skip"),
            OnFailure::Use(value) => {
                let line = format!("on failure use {}", self.expr(value));
                self.line(line);
            }
        }
    }
    fn flow_name(&self, index: u32) -> String {
        match self.program.flows.get(index as usize) {
            Some(flow) => format!("flow {index} `{}`", flow.name),
            None => format!("flow {index} (not there)"),
        }
    }
    fn state(&self, machine: &StateMachine, index: u32) -> String {
        machine.states.get(index as usize).map_or_else(|| index.to_string(), |s| s.name.to_string())
    }
    /// A slot of another flow.
    fn slot_of(&self, flow: u32, slot: u32) -> String {
        let names = self.program.flows.get(flow as usize).map(super::slot_names).unwrap_or_default();
        names.get(slot as usize).cloned().unwrap_or_else(|| format!("${slot}"))
    }
}

fn width(concurrency: Option<u32>, on_failure: OnItemFailure) -> String {
    let mut text = concurrency.map(|n| format!(" {n} at a time")).unwrap_or_default();
    if on_failure == OnItemFailure::Continue {
        text.push_str(" continue on failure");
    }
    text
}
