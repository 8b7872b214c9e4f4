//! Calls of models, tools, commands and people as text.

use super::expr::{name_list, value_json};
use super::{ProgramPrinter, ticked, word};
use crate::effect::{
    AnswerFormat, CommandCall, Guard, HumanCall, ModelCall, ModelCallExample, ModelParameters, OnTimeout,
};

impl ProgramPrinter<'_> {
    pub(super) fn print_model(&mut self, call: &ModelCall) {
        // The name and the model are in the first line.
        let ModelCall { speaker: _, model: _, system, examples, user, parameters, places: _, format, guards, stream } =
            call;
        if let Some(system) = system {
            self.line(format!("system {}", self.format_expression(system)));
        }
        for ModelCallExample { input, output } in examples {
            self.line(format!("example {} => {}", value_json(&(&**input).into()), value_json(&(&**output).into())));
        }
        self.line(format!("user {}", self.format_expression(user)));
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
            "stop" => format!("stop {}", name_list(&parameters.stop)),
            _ => format!("{name} {}", value_json(&value)),
        };
        let set: Vec<_> = parameters.values_by_name().into_iter().map(shown).collect();
        if !set.is_empty() {
            self.line(format!("parameters {}", set.join(", ")));
        }
    }
    pub(super) fn print_command(&mut self, call: &CommandCall) {
        let CommandCall { script: _, arguments, env, workdir } = call;
        for (index, argument) in arguments.iter().enumerate() {
            self.line(format!("${{{}}} = {}", index + 1, self.format_expression(argument)));
        }
        for (name, value) in env {
            self.line(format!("env {} = {}", word(name), self.format_expression(value)));
        }
        if let Some(dir) = workdir {
            self.line(format!("in {}", self.format_expression(dir)));
        }
    }
    pub(super) fn print_human(&mut self, call: &HumanCall) {
        let HumanCall { prompt, timeout_ms, on_timeout, answer_at: _ } = call;
        self.line(format!("prompt {}", self.format_expression(prompt)));
        if let Some(ms) = timeout_ms {
            self.line(format!("timeout {ms} ms"));
        }
        match on_timeout {
            OnTimeout::Fail => {}
            OnTimeout::Answer(answer) => self.line(format!("default {}", value_json(&(&**answer).into()))),
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
            let entities: Vec<String> = entities.iter().map(serialized_word).collect();
            let what = format!("[{}] {}", entities.join(", "), serialized_word(action));
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
fn serialized_word(word: &impl serde::Serialize) -> String {
    let json = serde_json::to_string(word).unwrap_or_default();
    json.trim_matches('"').to_owned()
}
