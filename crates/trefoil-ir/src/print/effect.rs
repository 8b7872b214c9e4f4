//! Calls of models, tools, commands and people as text.

use super::expr::{json, list};
use super::{Printer, ticked, word};
use crate::effect::{AnswerFormat, CommandCall, Example, Guard, HumanCall, ModelCall, ModelParameters, OnTimeout};

impl Printer<'_> {
    pub(super) fn model(&mut self, call: &ModelCall) {
        // The name and the model are in the first line.
        let ModelCall { speaker: _, model: _, system, examples, user, parameters, places: _, format, guards, stream } =
            call;
        if let Some(system) = system {
            self.line(format!("system {}", self.expr(system)));
        }
        for Example { input, output } in examples {
            self.line(format!("example {} => {}", json(&(&**input).into()), json(&(&**output).into())));
        }
        self.line(format!("user {}", self.expr(user)));
        match format {
            AnswerFormat::Text => {}
            AnswerFormat::Json(schema) => self.line(format!("answer schema {}", schema.0)),
            AnswerFormat::JsonOrText => self.line("answer json or text"),
        }
        self.parameters(parameters);
        for guard in guards {
            self.line(guard_text(guard));
        }
        if !stream {
            self.line("held back");
        }
    }
    fn parameters(&mut self, parameters: &ModelParameters) {
        let shown = |(name, value)| match name {
            "stop" => format!("stop {}", list(&parameters.stop)),
            _ => format!("{name} {}", json(&value)),
        };
        let set: Vec<_> = parameters.named().into_iter().map(shown).collect();
        if !set.is_empty() {
            self.line(format!("parameters {}", set.join(", ")));
        }
    }
    pub(super) fn command(&mut self, call: &CommandCall) {
        let CommandCall { script: _, arguments, env, workdir } = call;
        for (index, argument) in arguments.iter().enumerate() {
            self.line(format!("${{{}}} = {}", index + 1, self.expr(argument)));
        }
        for (name, value) in env {
            self.line(format!("env {} = {}", word(name), self.expr(value)));
        }
        if let Some(dir) = workdir {
            self.line(format!("in {}", self.expr(dir)));
        }
    }
    pub(super) fn human(&mut self, call: &HumanCall) {
        let HumanCall { prompt, timeout_ms, on_timeout, answer_at: _ } = call;
        self.line(format!("prompt {}", self.expr(prompt)));
        if let Some(ms) = timeout_ms {
            self.line(format!("timeout {ms} ms"));
        }
        match on_timeout {
            OnTimeout::Fail => {}
            OnTimeout::Answer(answer) => self.line(format!("default {}", json(&(&**answer).into()))),
        }
    }
}

fn guard_text(guard: &Guard) -> String {
    match guard {
        Guard::Injection => "guard injection".to_owned(),
        Guard::Length { max_chars, refuse } => {
            format!("guard length {max_chars} {}", if *refuse { "refuse" } else { "cut" })
        }
        Guard::Pii { entities, action, replacement } => {
            let entities: Vec<String> = entities.iter().map(stored).collect();
            let what = format!("[{}] {}", entities.join(", "), stored(action));
            format!("guard pii {what} {}", ticked(replacement))
        }
        Guard::Schema(schema) => format!("guard schema {}", schema.0),
        Guard::TokenCap { max_tokens, warn } => {
            format!("guard tokens {max_tokens} {}", if *warn { "warn" } else { "refuse" })
        }
        Guard::CostCap { max_micro, warn } => {
            format!("guard micro-dollars {max_micro} {}", if *warn { "warn" } else { "refuse" })
        }
    }
}

/// A word as serialized in the content of requests.
fn stored(word: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(word).unwrap_or_default();
    json.trim_matches('"').to_owned()
}
