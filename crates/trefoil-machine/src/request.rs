//! The requests of the machine: plain data, in which masked texts are still masked.

use std::sync::Arc;

use trefoil_ir::prices::{CallTokens, ModelPrice};
use trefoil_ir::{AnswerFormat, Guard, ModelParameters, OnTimeout, StepId, ToolCall, ToolKind, ValueExpression};
use trefoil_template::{HoleQuestion, Value, ValueObject};

use crate::blocks;
use crate::clock::DueTime;
use crate::key::{ContentKey, Key};
use crate::provenance::TextPart;
use crate::run_limits::UsedAmounts;

/// One attempt at an effect.
#[derive(Debug, Clone)]
pub struct Activity {
    /// The key.
    pub key: Key,
    /// The step of the program.
    pub step: StepId,
    /// The hash of what it depends on.
    pub content: ContentKey,
    /// The labels of the enclosing steps and its own, outermost first.
    pub labels: Arc<[Arc<str>]>,
    /// Whether this is another try of a model call that was already counted, because the manifest did not request it.
    pub again: bool,
    /// The request.
    pub request: Request,
}

/// The effects.
#[derive(Debug, Clone)]
pub enum Request {
    /// A model call.
    Model(Box<ModelRequest>),
    /// A tool call.
    Tool(ToolRequest),
    /// The descriptions of tools: a list of lists of [`ToolSpec`]s as objects, in the order of the request.
    Describe(Vec<ToolsRequest>),
    /// A command.
    Command(CommandRequest),
    /// A question to a person.
    Human(HumanRequest),
    /// A delay: for retries, timeouts, waits.
    Timer {
        /// The duration in milliseconds.
        ms: u64,
        /// When it ends. A process that resumes the run waits for the remaining time.
        due: DueTime,
    },
    /// A condition on something that only the driver knows. Its boolean is journaled.
    Decide(HoleQuestion),
}

impl Request {
    /// The names of all kinds.
    pub const SORTS: [&str; 7] = ["model", "tool", "describe", "command", "human", "timer", "decide"];

    /// The name of its kind in entries and messages.
    pub fn sort_name(&self) -> &'static str {
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

    /// Calls `see` with the texts and values that it consists of.
    pub fn visit_texts(&self, see: &mut dyn FnMut(&Value)) {
        match self {
            Self::Model(request) => request.messages.iter().for_each(|message| see(&message.content)),
            Self::Tool(request) => see(&request.arguments),
            Self::Command(request) => request.arguments_and_env().chain(&request.workdir).for_each(see),
            Self::Human(request) => see(&request.prompt),
            Self::Describe(_) | Self::Timer { .. } | Self::Decide(_) => {}
        }
    }

    /// The bytes that only it holds: its prompts and arguments, directly after they were composed.
    pub fn fresh_weight(&self) -> u64 {
        match self {
            Self::Model(request) => request.messages.iter().map(|m| m.content.fresh_weight()).sum(),
            Self::Tool(request) => request.arguments.fresh_weight(),
            Self::Command(request) => request.arguments_and_env().map(Value::fresh_weight).sum(),
            Self::Human(request) => request.prompt.fresh_weight(),
            Self::Describe(_) | Self::Timer { .. } | Self::Decide(_) => 0,
        }
    }
}

/// The role of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs, reason = "each is the role of its name")]
pub enum MessageRole {
    System,
    User,
    Assistant,
    /// The result of a tool call.
    Tool,
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelMessage {
    /// The role.
    pub role: MessageRole,
    /// Text, or masked text until the driver has filled it, or a list of content blocks ([`blocks`]).
    pub content: Value,
    /// The origin of each part, if the run records provenance; otherwise empty. Does not affect the content key.
    pub parts: Vec<TextPart>,
    /// For a model's message: the tool calls that it requested, in order.
    pub calls: Vec<ModelToolCall>,
    /// For a tool's message: the call that it answers, by [`ModelToolCall::id`].
    pub answers: Option<Arc<str>>,
}

impl ModelMessage {
    /// A message that neither requests nor answers tool calls.
    pub fn new(role: MessageRole, content: Value) -> Self {
        Self { role, content, parts: Vec::new(), calls: Vec::new(), answers: None }
    }
}

/// A tool call requested by a model.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ModelToolCall {
    /// The provider's name for the call; unique in its turn.
    pub id: Arc<str>,
    /// The tool, by its name for the model.
    pub name: Arc<str>,
    /// The arguments: an object, or the original text if the model sent something else.
    #[serde(with = "trefoil_template::wire")]
    pub arguments: Value,
    /// Opaque data that its provider needs back with the call, such as signed thoughts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sealed: Option<Arc<str>>,
}

/// A model call.
#[derive(Debug, Clone, Default)]
pub struct ModelRequest {
    /// The agent that speaks.
    pub speaker: Arc<str>,
    /// The provider; `None`: an alias that the run's `--model` resolves.
    pub provider: Option<Arc<str>>,
    /// The provider's model name, or the alias.
    pub model: Arc<str>,
    /// The messages in order.
    pub messages: Vec<ModelMessage>,
    /// Sampling and limits.
    pub parameters: ModelParameters,
    /// How the answer is interpreted.
    pub format: AnswerFormat,
    /// The schema of the format (or of a schema guardrail) for the provider: its name and JSON Schema.
    pub schema: Option<(Arc<str>, Value)>,
    /// The guardrails. The driver applies them to the answer before it is journaled; they were already applied to the
    /// messages.
    pub guards: Vec<Guard>,
    /// Whether text is shown while it arrives.
    pub stream: bool,
    /// Whether a guardrail checks the whole answer before the workflow gets it, so that text shown before is
    /// provisional.
    pub provisional: bool,
    /// The tools that the model may call.
    pub tools: Vec<ToolSpec>,
}

impl ModelRequest {
    /// The number of bytes of the prompt and of the schema.
    pub fn prompt_size(&self) -> u64 {
        let json_size = |value: &Value| value.to_json().to_string().len();
        let mut size = 0;
        for message in &self.messages {
            size += match blocks::content_size(&message.content) {
                Some(size) => size,
                None => message.content.to_text().len(),
            };
            for call in &message.calls {
                size += call.name.len() + json_size(&call.arguments);
                if let Some(sealed) = &call.sealed {
                    size += sealed.len();
                }
            }
        }
        for tool in &self.tools {
            size += tool.name.len() + tool.description.len() + json_size(&tool.parameters);
        }
        if let Some((_, schema)) = &self.schema {
            size += json_size(schema);
        }
        size as u64
    }
}

/// A tool call.
#[derive(Debug, Clone)]
pub struct ToolRequest {
    /// The name.
    pub name: Arc<str>,
    /// The kind of tool.
    pub kind: ToolKind,
    /// The arguments, an object.
    pub arguments: Value,
}

impl ToolRequest {
    /// The request of a step, with those arguments that the program gives itself.
    pub fn from_declaration(call: &ToolCall) -> Self {
        let mut arguments = ValueObject::default();
        if let ValueExpression::Object(members) = &call.arguments {
            for (name, member) in members {
                if let ValueExpression::Const(value) = member {
                    arguments.insert(name.clone(), value.clone());
                }
            }
        }
        Self { name: call.name.clone(), kind: call.kind.clone(), arguments: arguments.into() }
    }

    /// Whether both call the same tool, whatever their arguments. HTTP requests are calls of one tool, and so are Python functions:
    /// their names may be those of their steps.
    pub fn calls_same(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (ToolKind::Http, ToolKind::Http) | (ToolKind::Python, ToolKind::Python) => true,
            (ToolKind::Local, ToolKind::Local) => self.name == other.name,
            (ToolKind::Mcp { server, .. }, ToolKind::Mcp { server: there, .. }) => {
                server == there && self.name == other.name
            }
            _ => false,
        }
    }
}

impl ModelToolCall {
    /// A tool call without opaque data.
    pub fn new(id: impl Into<Arc<str>>, name: impl Into<Arc<str>>, arguments: Value) -> Self {
        Self { id: id.into(), name: name.into(), arguments, sealed: None }
    }
}

/// Tools of one source.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolsRequest {
    /// The source.
    pub kind: ToolKind,
    /// Their names there; `None`: all.
    pub names: Option<Vec<Arc<str>>>,
}

impl ToolsRequest {
    /// The source in one word: the server, or the kind.
    pub fn source_name(&self) -> &str {
        match &self.kind {
            ToolKind::Mcp { server, .. } => server,
            ToolKind::Local => "local",
            ToolKind::Http => "http",
            ToolKind::Python => "python",
        }
    }
}

/// A tool as described by its provider. Its serialized form is part of [the content of a request](crate::content).
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ToolSpec {
    /// The name by which it is called.
    pub name: Arc<str>,
    /// What it does, for a model; may be empty.
    pub description: Arc<str>,
    /// A JSON Schema of its arguments: an object.
    #[serde(serialize_with = "trefoil_template::wire::serialize")]
    pub parameters: Value,
    /// The effects of a call.
    pub effects: Effects,
}

impl ToolSpec {
    /// A tool without a description: it accepts any object, and its effects are unknown.
    pub fn without_description(name: impl Into<Arc<str>>) -> Self {
        let parameters = [("type", Value::from("object"))].into_iter().collect();
        Self { name: name.into(), description: "".into(), parameters, effects: Effects::Writes }
    }

    /// As an object: `{name, description, parameters, effects}`.
    pub fn to_value(&self) -> Value {
        let members: [(&str, Value); 4] = [
            ("name", Value::Str(self.name.clone())),
            ("description", Value::Str(self.description.clone())),
            ("parameters", self.parameters.clone()),
            ("effects", self.effects.name().into()),
        ];
        members.into_iter().collect()
    }

    /// Reads such an object.
    pub fn from_value(value: &Value) -> Option<Self> {
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

/// The effects of a tool call, as far as known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effects {
    /// It changes nothing.
    ReadOnly,
    /// It changes something; calling it twice has the same effect as calling it once.
    Idempotent,
    /// It changes something at each call. Also for tools whose effects are unknown.
    Writes,
}

impl Effects {
    const ALL: [Self; 3] = [Self::ReadOnly, Self::Idempotent, Self::Writes];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::Idempotent => "idempotent",
            Self::Writes => "writes",
        }
    }

    /// Whether calling it twice has the same effect as calling it once.
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
    /// Environment variables.
    pub env: Vec<(Arc<str>, Value)>,
    /// Working directory.
    pub workdir: Option<Value>,
}

impl CommandRequest {
    fn arguments_and_env(&self) -> impl Iterator<Item = &Value> {
        self.arguments.iter().chain(self.env.iter().map(|(_, value)| value))
    }
}

/// A question to a person.
#[derive(Debug, Clone)]
pub struct HumanRequest {
    /// The step's label, as in `--answer STEP=VALUE`.
    pub step: Arc<str>,
    /// The question.
    pub prompt: Value,
    /// The accepted answers, if only some are.
    pub accepts: Vec<Arc<str>>,
    /// The answers with a transition of their own, if every other one is accepted as well.
    pub choices: Vec<Arc<str>>,
    /// The rejected answer to the previous question. Only a person is asked again; a default is not used then.
    pub refused: Option<Arc<str>>,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// What happens on timeout.
    pub on_timeout: OnTimeout,
    /// When the time is over, in milliseconds since 1970-01-01 UTC, if that is known: the question's timer is due then, and no later
    /// answer counts.
    pub answer_by: Option<u64>,
}

/// Why a model stopped, according to its provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// The answer is complete.
    Stop,
    /// It waits for the results of its tool calls.
    Tools,
    /// It reached the limit of tokens, so the answer is truncated.
    Length,
    /// It refused to answer.
    Refused,
    /// The provider's content filter blocked the answer or a part of it.
    Filtered,
}

/// The usage of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Usage {
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
    /// The input tokens that were read from the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    /// The input tokens that were written to the provider's cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub written_tokens: u64,
    /// Calls whose provider did not report their usage, which is missing in the numbers above.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unknown_calls: u64,
    /// The cost, in micro-dollars, of the calls whose cost is known.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cost_micro: u64,
    /// Calls whose cost is not fully known, because their model has no known price or their provider did not report
    /// their usage. They are not free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub unpriced_calls: u64,
    /// Model calls of runs that a tool started. Their usage is included in the numbers above, but the calls are only
    /// counted here.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub calls_beneath: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Usage {
    /// The largest number that every reader of a journal preserves. No call uses that much, so a larger number is a
    /// mistake of the provider (often `-1`).
    pub const MOST: u64 = 1 << 53;

    /// As limits count it. Of the model calls, those of runs that a tool started.
    pub fn used_amounts(&self) -> UsedAmounts {
        UsedAmounts { calls: self.calls_beneath, tokens: self.total_tokens(), cost_micro: self.cost_micro }
    }

    /// The same, with impossible numbers as unknown ones.
    #[must_use]
    pub fn without_impossible(mut self) -> Self {
        let is_known = |number: &mut u64| match *number > Self::MOST {
            true => std::mem::take(number) == 0,
            false => true,
        };
        let all = [&mut self.input_tokens, &mut self.output_tokens, &mut self.cached_tokens, &mut self.written_tokens];
        // Each of them is looked at, also after an impossible one.
        let are_tokens_known = all.map(is_known) == [true; 4];
        let is_cost_known = is_known(&mut self.cost_micro);
        let counts = [&mut self.unknown_calls, &mut self.unpriced_calls, &mut self.calls_beneath];
        counts.into_iter().for_each(|count| *count = (*count).min(Self::MOST));
        if !are_tokens_known {
            self.unknown_calls = self.unknown_calls.max(1);
        }
        if !is_cost_known {
            self.unpriced_calls = self.unpriced_calls.max(1);
        }
        self
    }

    /// One call with unknown usage.
    pub fn for_unknown_call() -> Self {
        Self { unknown_calls: 1, ..Self::default() }
    }
    /// One call with its words as tokens, if no provider counts them.
    pub fn in_words(request: &ModelRequest, answer: &str) -> Self {
        let words = |text: &str| text.split_whitespace().count() as u64;
        Self {
            input_tokens: request.messages.iter().map(|m| words(&m.content.to_text())).sum(),
            output_tokens: words(answer),
            ..Self::default()
        }
    }
    /// The usage of one call with its cost; `None`: the price of its model is unknown.
    #[must_use]
    pub fn with_price(self, price: Option<&ModelPrice>) -> Self {
        let Some(price) = price else { return Self { cost_micro: 0, unpriced_calls: 1, ..self } };
        let tokens = CallTokens {
            input: self.input_tokens,
            output: self.output_tokens,
            cache_read: self.cached_tokens,
            cache_write: self.written_tokens,
        };
        let unpriced_calls = if price.is_free() { 0 } else { self.unknown_calls };
        Self { cost_micro: price.call_cost(tokens), unpriced_calls, ..self }
    }
    /// Whether every call reported its usage. If not, the numbers are lower bounds, shown with a `?`.
    pub fn is_known(&self) -> bool {
        self.unknown_calls == 0
    }
    /// Input and output together. Saturates, because providers may report any numbers.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
    /// Adds the usage of another call.
    pub fn add_usage(&mut self, other: Usage) {
        *self = self.with(other, |all, more| all.saturating_add(more).min(Self::MOST));
    }
    /// The difference to usage that was reported before.
    #[must_use]
    pub fn difference_from(self, before: Usage) -> Self {
        self.with(before, u64::saturating_sub)
    }
    /// Each number with that of other usage.
    fn with(self, other: Usage, of: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            input_tokens: of(self.input_tokens, other.input_tokens),
            output_tokens: of(self.output_tokens, other.output_tokens),
            cached_tokens: of(self.cached_tokens, other.cached_tokens),
            written_tokens: of(self.written_tokens, other.written_tokens),
            unknown_calls: of(self.unknown_calls, other.unknown_calls),
            cost_micro: of(self.cost_micro, other.cost_micro),
            unpriced_calls: of(self.unpriced_calls, other.unpriced_calls),
            calls_beneath: of(self.calls_beneath, other.calls_beneath),
        }
    }
}
