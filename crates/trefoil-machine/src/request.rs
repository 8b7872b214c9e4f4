//! What the machine asks for: plain data, masked texts still masked.

use std::sync::Arc;

use trefoil_ir::{AnswerFormat, Guard, ModelParameters, OnTimeout, StepId, ToolKind};
use trefoil_prices::{Price, Tokens};
use trefoil_template::{Question, Value};

use crate::blocks;
use crate::key::{ContentKey, Key};
use crate::provenance::TextPart;

/// One attempt at an effect.
#[derive(Debug, Clone)]
pub struct Activity {
    /// Where.
    pub key: Key,
    /// Which step of the program.
    pub step: StepId,
    /// What it depends on.
    pub content: ContentKey,
    /// The labels of the enclosing steps and its own, outermost first.
    pub labels: Arc<[Arc<str>]>,
    /// Another try of a model call that has been counted: the manifest did not request it.
    pub again: bool,
    /// What to do.
    pub request: Request,
}

/// The effects.
#[derive(Debug, Clone)]
pub enum Request {
    /// A model call.
    Model(Box<ModelRequest>),
    /// A tool call.
    Tool(ToolRequest),
    /// What tools say about themselves: a list of lists, of [`ToolSpec`]s as objects, in the order of what is requested.
    Describe(Vec<ToolsRequest>),
    /// A command.
    Command(CommandRequest),
    /// A person's answer.
    Human(HumanRequest),
    /// Time passes: retry delays, timeouts, waits.
    Timer {
        /// Milliseconds.
        ms: u64,
        /// When that is over, on the run's clock: a process that continues with the run waits for what is left.
        due_ms: u64,
    },
    /// A condition on something that only the driver knows (decision C8). Its boolean is journaled.
    Decide(Question),
}

impl Request {
    /// Its sort, as entries and messages name it.
    pub fn sort(&self) -> &'static str {
        match self {
            Self::Model(_) => "model",
            Self::Tool(_) => "tool",
            Self::Describe(_) => "describe",
            Self::Command(_) => "command",
            Self::Human(_) => "human",
            Self::Timer { .. } => "timer",
            Self::Decide(_) => "decide",
        }
    }

    /// Bytes that it holds and nothing else does: its prompts and arguments, right after they were put together.
    pub fn weight(&self) -> u64 {
        match self {
            Self::Model(request) => request.messages.iter().map(|m| m.content.fresh_weight()).sum(),
            Self::Tool(request) => request.arguments.fresh_weight(),
            Self::Command(request) => {
                let env = request.env.iter().map(|(_, value)| value);
                request.arguments.iter().chain(env).map(Value::fresh_weight).sum()
            }
            Self::Human(request) => request.prompt.fresh_weight(),
            Self::Describe(_) | Self::Timer { .. } | Self::Decide(_) => 0,
        }
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "each is the role of its name")]
pub enum Role {
    System,
    User,
    Assistant,
    /// What came of a tool call.
    Tool,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// Text, or masked text until the driver has filled it; or a list of content blocks ([`blocks`]).
    pub content: Value,
    /// Where each part of it came from, in a run that is watched for it; else empty. No part of what the call depends on.
    pub parts: Vec<TextPart>,
    /// Of the model: the tools that it called in this turn, in its order.
    pub calls: Vec<ToolUse>,
    /// Of a tool: which call this came of, by [`ToolUse::id`].
    pub answers: Option<Arc<str>>,
}

impl Message {
    /// A message that calls no tool and came of none.
    pub fn new(role: Role, content: Value) -> Self {
        Self { role, content, parts: Vec::new(), calls: Vec::new(), answers: None }
    }
}

/// A tool call as a model wants it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ToolUse {
    /// The provider's name for the call; unique in its turn.
    pub id: Arc<str>,
    /// The tool, by the name that the model was told.
    pub name: Arc<str>,
    /// An object. Text, as it came, where the model sent something that is not one.
    #[serde(with = "trefoil_template::wire")]
    pub arguments: Value,
    /// What its provider wants to see again beside the call, as it came: thoughts, signed. Means nothing to anybody else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Arc<str>>,
}

/// A model call.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The agent that speaks.
    pub speaker: Arc<str>,
    /// The provider; none: an alias that the run's `--model` resolves.
    pub provider: Option<Arc<str>>,
    /// The provider's model name, or the alias.
    pub model: Arc<str>,
    /// In order.
    pub messages: Vec<Message>,
    /// Sampling and limits.
    pub parameters: ModelParameters,
    /// What the answer is read as.
    pub format: AnswerFormat,
    /// The schema of the format (or of a schema guardrail), for the provider: name and JSON Schema.
    pub schema: Option<(Arc<str>, Value)>,
    /// Output side applied by the driver before the answer is journaled; the input side is already applied.
    pub guards: Vec<Guard>,
    /// Whether text is shown while it arrives.
    pub stream: bool,
    /// A guardrail looks at the whole answer before the workflow sees any of it: text shown before is provisional.
    pub provisional: bool,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
}

impl ModelRequest {
    /// Bytes of the prompt and of the schema.
    pub fn bytes(&self) -> u64 {
        let schema = self.schema.as_ref().map_or(0, |(_, schema)| schema.to_json().to_string().len());
        let json = |value: &Value| value.to_json().to_string().len();
        let call = |c: &ToolUse| c.name.len() + json(&c.arguments) + c.sealed.as_ref().map_or(0, |sealed| sealed.len());
        let calls = |m: &Message| m.calls.iter().map(call).sum::<usize>();
        let text = |m: &Message| blocks::bytes(&m.content).unwrap_or_else(|| m.content.to_text().len());
        let texts: usize = self.messages.iter().map(|m| text(m) + calls(m)).sum();
        let tools: usize = self.tools.iter().map(|t| t.name.len() + t.description.len() + json(&t.parameters)).sum();
        (texts as u64).saturating_add(schema as u64).saturating_add(tools as u64)
    }
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct ToolRequest {
    /// Name.
    pub name: Arc<str>,
    /// Which sort.
    pub kind: ToolKind,
    /// An object.
    pub arguments: Value,
}

impl ToolUse {
    /// A call.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments, sealed: None }
    }
}

/// Tools of one place.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsRequest {
    /// Where they are.
    pub kind: ToolKind,
    /// Their names there; none: all.
    pub names: Option<Vec<Arc<str>>>,
}

impl ToolsRequest {
    /// Where they are, in a word: the server, or the sort.
    pub fn place(&self) -> &str {
        match &self.kind {
            ToolKind::Mcp { server, .. } => server,
            ToolKind::Local => "local",
            ToolKind::Http => "http",
            ToolKind::Python => "python",
        }
    }
}

/// A tool as whoever has it describes it.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ToolSpec {
    /// The name that it is called by.
    pub name: Arc<str>,
    /// What it does, for a model to read; may be empty.
    pub description: Arc<str>,
    /// A JSON Schema of its arguments: an object.
    #[serde(with = "trefoil_template::wire")]
    pub parameters: Value,
    /// What a call of it changes.
    pub effects: Effects,
}

impl ToolSpec {
    /// A tool that says nothing about itself: it takes any object, and what it changes is not known.
    pub fn bare(name: impl Into<Arc<str>>) -> Self {
        let parameters = [("type", Value::from("object"))].into_iter().collect();
        Self { name: name.into(), description: "".into(), parameters, effects: Effects::Writes }
    }

    /// As an object: `{name, description, parameters, effects}`.
    pub fn value(&self) -> Value {
        let members: [(&str, Value); 4] = [
            ("name", Value::Str(self.name.clone())),
            ("description", Value::Str(self.description.clone())),
            ("parameters", self.parameters.clone()),
            ("effects", self.effects.name().into()),
        ];
        members.into_iter().collect()
    }

    /// Back from such an object.
    pub fn read(value: &Value) -> Option<Self> {
        let text = |name: &str| match value.get(name) {
            Some(Value::Str(text)) => Some(text.clone()),
            _ => None,
        };
        let effects = text("effects").and_then(|name| Effects::ALL.into_iter().find(|e| e.name() == &*name));
        Some(Self {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            parameters: value.get("parameters").cloned().unwrap_or_default(),
            effects: effects.unwrap_or(Effects::Writes),
        })
    }
}

/// What a call of a tool changes, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// Nothing.
    ReadOnly,
    /// Something, and the same if it is called twice.
    Idempotent,
    /// Something, each time that it is called. So does a tool of which nothing is known.
    Writes,
}

impl Effects {
    const ALL: [Self; 3] = [Self::ReadOnly, Self::Idempotent, Self::Writes];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Writes => "writes",
        }
    }

    /// Whether calling twice is the same as calling once (decision C15).
    pub fn is_idempotent(self) -> bool {
        self != Self::Writes
    }
}

/// A command: `sh -c script trefoil arguments...`.
#[derive(Debug, Clone)]
pub struct CommandRequest {
    /// The script.
    pub script: Arc<str>,
    /// Positional parameters from 1.
    pub arguments: Vec<Value>,
    /// Environment entries.
    pub env: Vec<(Arc<str>, Value)>,
    /// Working directory.
    pub workdir: Option<Value>,
}

/// A question to a person.
#[derive(Debug, Clone)]
pub struct HumanRequest {
    /// The step's label: what `--answer STEP=VALUE` names.
    pub step: Arc<str>,
    /// The question.
    pub prompt: Value,
    /// The answers that lead on, where only some do.
    pub accepts: Vec<Arc<str>>,
    /// The answer before this question, which led nowhere: only a person is asked again, and no default answers then.
    pub refused: Option<Arc<str>>,
    /// Milliseconds until `on_timeout`.
    pub timeout_ms: Option<u64>,
    /// What then.
    pub on_timeout: OnTimeout,
}

/// Why a model stopped, as its provider says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It had said all.
    Stop,
    /// It wants what comes of the tools that it called.
    Tools,
    /// It reached its limit of tokens: the answer is cut off.
    Length,
    /// It would not answer.
    Refused,
    /// The provider's content filter held the answer back, or a part of it.
    Filtered,
}

/// What a call used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// Tokens in.
    pub input_tokens: u64,
    /// Tokens out.
    pub output_tokens: u64,
    /// Of the tokens in: read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// Of the tokens in: written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_tokens: u64,
    /// Calls whose provider did not say what they used: the figures above do not hold theirs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_calls: u64,
    /// Micro-dollars of the calls whose cost is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micro: u64,
    /// Calls whose cost is not known, or not all of it: their model has no known price, or their provider did not say what they
    /// used. They are not free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Model calls of runs that a tool started. What those used is in the figures above; the calls are counted nowhere else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls_beneath: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// One call that used an unknown amount.
    pub fn unknown() -> Self {
        Self { unknown_calls: 1, ..Self::default() }
    }
    /// One call in words for tokens, where no provider counts them.
    pub fn in_words(request: &ModelRequest, answer: &str) -> Self {
        let words = |text: &str| text.split_whitespace().count() as u64;
        Self {
            input_tokens: request.messages.iter().map(|m| words(&m.content.to_text())).sum(),
            output_tokens: words(answer),
            ..Self::default()
        }
    }
    /// What one call used, with what that costs; none: the price of its model is not known.
    #[must_use]
    pub fn priced(self, price: Option<&Price>) -> Self {
        let Some(price) = price else { return Self { cost_micro: 0, unpriced_calls: 1, ..self } };
        let tokens = Tokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cached_tokens,
            cache_write: self.written_tokens,
        };
        let unpriced_calls = if price.is_free() { 0 } else { self.unknown_calls };
        Self { cost_micro: price.of(tokens), unpriced_calls, ..self }
    }
    /// Whether every call said what it used. Where not, the figures are a lower bound and are shown with a `?`.
    pub fn is_known(&self) -> bool {
        self.unknown_calls == 0
    }
    /// Both together. What providers say is not trusted to be of any size.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
    /// Adds another call's.
    pub fn add(&mut self, other: Usage) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.written_tokens = self.written_tokens.saturating_add(other.written_tokens);
        self.unknown_calls = self.unknown_calls.saturating_add(other.unknown_calls);
        self.cost_micro = self.cost_micro.saturating_add(other.cost_micro);
        self.unpriced_calls = self.unpriced_calls.saturating_add(other.unpriced_calls);
        self.calls_beneath = self.calls_beneath.saturating_add(other.calls_beneath);
    }
    /// Without what was told before.
    #[must_use]
    pub fn beyond(self, before: Usage) -> Self {
        Self {
            input_tokens: self.input_tokens.saturating_sub(before.input_tokens),
            output_tokens: self.output_tokens.saturating_sub(before.output_tokens),
            cached_tokens: self.cached_tokens.saturating_sub(before.cached_tokens),
            written_tokens: self.written_tokens.saturating_sub(before.written_tokens),
            unknown_calls: self.unknown_calls.saturating_sub(before.unknown_calls),
            cost_micro: self.cost_micro.saturating_sub(before.cost_micro),
            unpriced_calls: self.unpriced_calls.saturating_sub(before.unpriced_calls),
            calls_beneath: self.calls_beneath.saturating_sub(before.calls_beneath),
        }
    }
}
