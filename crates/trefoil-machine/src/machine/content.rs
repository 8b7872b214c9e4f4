//! Content keys: a stable 128-bit hash of what an activity depends on.
//!
//! Fields are written by name with their lengths, so that no two different requests give the same bytes. Values go in
//! by their canonical text, in which holes have names. Not part of it: who asks and where, and whether text is streamed.

use std::hash::Hasher as _;

use siphasher::sip128::{Hasher128, SipHasher13};
use trefoil_ir::{AnswerFormat, Guard, ModelParameters, OnTimeout, PiiAction, PiiEntity, ToolKind};
use trefoil_template::Value;

use super::prepared::Prepared;
use crate::key::{ContentKey, Key};
use crate::request::{CommandRequest, ModelRequest, Request, Role};

/// The content key of a request.
pub fn key(request: &Request, prepared: &Prepared) -> ContentKey {
    let mut to = Canon(SipHasher13::new());
    match request {
        Request::Model(model) => to.model(model, prepared),
        Request::Tool(tool) => {
            to.field("tool", &tool.name);
            match &tool.kind {
                ToolKind::Local => to.field("kind", "local"),
                ToolKind::Http => to.field("kind", "http"),
                ToolKind::Python => to.field("kind", "python"),
                ToolKind::Mcp { server } => to.field("mcp", server),
            }
            to.value("arguments", &tool.arguments);
        }
        Request::Command(command) => to.command(command),
        Request::Human(human) => {
            to.field("human", &human.step);
            to.value("prompt", &human.prompt);
            if let OnTimeout::Answer(answer) = &human.on_timeout {
                to.field("default", answer);
            }
            if let Some(refused) = &human.refused {
                to.field("refused", refused);
            }
        }
        Request::Timer { ms } => to.number("timer", *ms as f64),
        Request::Decide(question) => to.field("decide", &question.canonical()),
    }
    ContentKey(to.0.finish128().as_u128())
}

/// Sixty-four bits of a text's hash.
pub fn digest(text: &str) -> u64 {
    let mut to = Canon(SipHasher13::new());
    to.field("text", text);
    to.0.finish128().h1
}

/// A number from 0 to 1 that depends on the seed and the key alone.
pub fn fraction(seed: u64, key: &Key) -> f64 {
    let mut to = Canon(SipHasher13::new_with_keys(seed, 0));
    to.field("jitter", &key.0);
    // The upper 53 bits: as many as a float holds.
    (to.0.finish128().h1 >> 11) as f64 / (1u64 << 53) as f64
}

struct Canon(SipHasher13);

impl Canon {
    fn field(&mut self, name: &str, text: &str) {
        for part in [name, text] {
            self.0.write(&(part.len() as u64).to_le_bytes());
            self.0.write(part.as_bytes());
        }
    }

    fn value(&mut self, name: &str, value: &Value) {
        // The common case without the copy that a canonical text is.
        match value {
            Value::Str(text) => self.field(name, text),
            other => {
                self.field("canonical", name);
                self.field(other.describe(), &other.canonical());
            }
        }
    }

    fn number(&mut self, name: &str, number: f64) {
        self.field(name, "");
        self.0.write(&number.to_bits().to_le_bytes());
    }

    fn model(&mut self, request: &ModelRequest, prepared: &Prepared) {
        self.field("model", request.provider.as_deref().unwrap_or(""));
        self.field("name", &request.model);
        for message in &request.messages {
            let role = match message.role {
                Role::System => "system",
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            self.value(role, &message.content);
        }
        self.parameters(&request.parameters);
        match &request.format {
            AnswerFormat::Text => self.field("format", "text"),
            AnswerFormat::JsonOrText => self.field("format", "json or text"),
            AnswerFormat::Json(_) => self.field("format", "json"),
        }
        if let Some((_, schema)) = &request.schema {
            self.value("schema", schema);
        }
        for guard in &request.guards {
            self.guard(guard, prepared);
        }
    }

    fn parameters(&mut self, parameters: &ModelParameters) {
        let p = parameters;
        let numbers = [
            ("temperature", p.temperature),
            ("top_p", p.top_p),
            ("top_k", p.top_k.map(f64::from)),
            ("max_tokens", p.max_tokens.map(f64::from)),
            ("presence_penalty", p.presence_penalty),
            ("frequency_penalty", p.frequency_penalty),
        ];
        for (name, number) in numbers {
            if let Some(number) = number {
                self.number(name, number);
            }
        }
        if let Some(seed) = p.seed {
            self.field("seed", &seed.to_string());
        }
        for stop in &p.stop {
            self.field("stop", stop);
        }
        if let Some(options) = &p.provider_options {
            self.value("provider_options", options);
        }
    }

    fn guard(&mut self, guard: &Guard, prepared: &Prepared) {
        match guard {
            Guard::Injection => self.field("guard", "injection"),
            Guard::Length { max_chars, refuse } => {
                self.number(if *refuse { "length refuse" } else { "length cut" }, *max_chars as f64);
            }
            Guard::Pii { entities, action, replacement } => {
                let action = match action {
                    PiiAction::Redact => "redact",
                    PiiAction::Block => "block",
                    PiiAction::Flag => "flag",
                };
                self.field("pii", action);
                self.field("replacement", replacement);
                for entity in entities {
                    self.field(
                        "entity",
                        match entity {
                            PiiEntity::Email => "email",
                            PiiEntity::Phone => "phone",
                            PiiEntity::Ssn => "ssn",
                            PiiEntity::CreditCard => "credit_card",
                        },
                    );
                }
            }
            Guard::Schema(schema) => {
                if let Some(schema) = prepared.program.schema(*schema) {
                    self.value("guard schema", &schema.json);
                }
            }
            Guard::TokenCap { max_tokens, warn } => {
                self.number(if *warn { "tokens warn" } else { "tokens" }, *max_tokens as f64);
            }
        }
    }

    fn command(&mut self, command: &CommandRequest) {
        self.field("command", &command.script);
        for argument in &command.arguments {
            self.value("argument", argument);
        }
        for (name, value) in &command.env {
            self.field("env", name);
            self.value("is", value);
        }
        if let Some(workdir) = &command.workdir {
            self.value("workdir", workdir);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_stay_what_they_are_from_version_to_version() {
        assert_eq!(format!("{:016x}", digest("trefoil")), DIGEST);
        let jitter = fraction(7, &Key("a/b".into()));
        assert!((0.0..1.0).contains(&jitter));
        assert_eq!(jitter, fraction(7, &Key("a/b".into())));
        assert_ne!(jitter, fraction(8, &Key("a/b".into())));
    }

    /// Written once: journals hold content keys, so the function may not change without a new journal version.
    const DIGEST: &str = "e0a02946fe01c055";
}
