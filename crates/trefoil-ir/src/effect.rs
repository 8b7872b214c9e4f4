//! Effects: requests from the machine to the outside world.

use std::sync::Arc;

use serde::Serialize;
use trefoil_syntax::Location;
use trefoil_template::{Value, wire};

use crate::expr::ValueExpression;
use crate::ids::SchemaId;

/// One model call. Messages: `system`, then each example as a user and an assistant turn, then `user`.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// The agent that speaks. Used by traces, the embedded model and scripted answers.
    pub speaker: Arc<str>,
    /// The model to call.
    pub model: ModelChoice,
    /// The system message. `None` or an empty text: no system message.
    pub system: Option<ValueExpression>,
    /// Few-shot turns.
    pub examples: Vec<ModelCallExample>,
    /// The user message.
    pub user: ValueExpression,
    /// Sampling and limits.
    pub parameters: ModelParameters,
    /// Where parameters are written, by name, so that findings can point at them.
    pub places: Vec<(&'static str, Location)>,
    /// How the answer is interpreted.
    pub format: AnswerFormat,
    /// Guardrails, in order. Before the call, they check the user message and data inserted in the system prompt (not
    /// the author's own text there); after the call, the answer.
    pub guards: Vec<Guard>,
    /// Whether text may be shown while it arrives. Guards that can change or reject the answer hold it back.
    pub stream: bool,
}

/// The model that answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// `openai`, `anthropic`, `ollama`, ...; `None`: an alias that the run's `--model` resolves.
    pub provider: Option<Arc<str>>,
    /// The provider's model name, or the alias.
    pub name: Arc<str>,
    /// Where it is declared.
    pub origin: Location,
}

/// A few-shot turn pair.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelCallExample {
    /// The user message.
    pub input: Arc<str>,
    /// The assistant's answer.
    pub output: Arc<str>,
}

/// Sampling parameters and limits. An unset one uses the provider's default. Its serialized form
/// is part of the content of requests in the machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[allow(missing_docs, reason = "each is the parameter of its name")]
pub struct ModelParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    /// The maximum number of tokens in the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "seed_text")]
    pub seed: Option<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Arc<str>>,
    /// Merged into the provider's request body.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "wire::serialize_optional")]
    pub provider_options: Option<Value>,
    /// The timeout of one call in milliseconds. Does not affect the answer.
    #[serde(skip)]
    pub timeout_ms: Option<u64>,
}

impl ModelParameters {
    /// Those that affect the answer.
    #[must_use]
    pub fn without_timeout(&self) -> Self {
        Self { timeout_ms: None, ..self.clone() }
    }
    /// Those that are set, by name.
    pub fn values_by_name(&self) -> Vec<(&'static str, Value)> {
        let Self {
            temperature,
            top_p,
            top_k,
            max_tokens,
            presence_penalty,
            frequency_penalty,
            seed,
            stop,
            provider_options,
            timeout_ms,
        } = self;
        let stop = (!stop.is_empty()).then(|| stop.iter().map(|word| Value::Str(word.clone())).collect());
        let all = [
            ("temperature", temperature.map(Value::from)),
            ("top_p", top_p.map(Value::from)),
            ("top_k", top_k.map(|k| Value::from(u64::from(k)))),
            ("max_tokens", max_tokens.map(|tokens| Value::from(u64::from(tokens)))),
            ("presence_penalty", presence_penalty.map(Value::from)),
            ("frequency_penalty", frequency_penalty.map(Value::from)),
            ("seed", seed.map(Value::from)),
            ("stop", stop),
            ("timeout_ms", timeout_ms.map(Value::from)),
            ("provider_options", provider_options.clone()),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }
}

/// A seed as text, because not every JSON reader preserves 64 bits.
fn seed_text<S: serde::Serializer>(seed: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&seed.unwrap_or_default())
}

/// How an answer is interpreted.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum AnswerFormat {
    /// Text, verbatim.
    #[default]
    Text,
    /// JSON that matches the schema, also inside a code fence or prose. If it does not match, it is requested again
    /// (see [`Step::asks_again`](crate::Step::asks_again)); then the step fails with `STRUCTURED_OUTPUT_INVALID`.
    Json(SchemaId),
    /// A JSON object or list if the answer is one (one code fence is stripped), otherwise the text.
    JsonOrText,
}

/// A guardrail (SirenSpec).
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// Rejects prompt injection phrases in the user message and in the answer.
    Injection,
    /// Truncates or rejects answers longer than this many characters.
    Length {
        /// The maximum number of Unicode scalar values.
        max_chars: usize,
        /// Reject instead of truncating.
        refuse: bool,
    },
    /// Detects personal data in the user message and in the answer.
    Pii {
        /// The kinds to detect.
        entities: Vec<PiiEntity>,
        /// What to do with it.
        action: PiiAction,
        /// The replacement text.
        replacement: Arc<str>,
    },
    /// The answer must be JSON that matches the schema.
    Schema(SchemaId),
    /// Limits the tokens used by the run so far, including this call.
    TokenCap {
        /// The limit.
        max_tokens: u64,
        /// Only emit an event.
        warn: bool,
    },
    /// Limits the cost of the run so far, including this call.
    CostCap {
        /// The limit in micro-dollars.
        max_micro: u64,
        /// Only emit an event.
        warn: bool,
    },
}

/// A kind of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the entity of its name")]
pub enum PiiEntity {
    Email,
    Phone,
    Ssn,
    CreditCard,
}

/// What to do with personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PiiAction {
    /// Replace it.
    Redact,
    /// Reject the call.
    Block,
    /// Emit an event.
    Flag,
}

/// The longest time limit of a single HTTP request, in milliseconds, unless the operator's default is longer.
pub const LONGEST_REQUEST_MS: u64 = 600_000;

/// One tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// The name in the tool host.
    pub name: Arc<str>,
    /// The kind of tool.
    pub kind: ToolKind,
    /// The arguments, an object.
    pub arguments: ValueExpression,
}

/// The kind of tool. A run can only use tools that a tool host offers by name (scripted answers, embedding); otherwise
/// the run is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    /// A function registered by the embedder.
    Local,
    /// An HTTP request: `url`, `method`, `headers`, `body`, and more. `url` is evaluated as a web address: values of
    /// placeholders after the host are percent-encoded, so that data cannot change its structure.
    Http,
    /// A tool of an MCP server.
    Mcp {
        /// The URL or name of the server.
        server: Arc<str>,
        /// Headers sent with each request: texts, with holes for secrets. The same for all calls.
        headers: Vec<(Arc<str>, Value)>,
    },
    /// A Python function.
    Python,
}

impl ToolKind {
    /// A tool of an MCP server without headers from the manifest.
    pub fn for_mcp_server(server: impl Into<Arc<str>>) -> Self {
        Self::Mcp { server: server.into(), headers: Vec::new() }
    }
}

/// One command, run as `sh -c script` with positional parameters, so that a value is never read as shell code.
#[derive(Debug, Clone)]
pub struct CommandCall {
    /// The script, with placeholders replaced by quoted positional parameters `"${1}"`, ...
    pub script: Arc<str>,
    /// The values of the positional parameters.
    pub arguments: Vec<ValueExpression>,
    /// Environment variables.
    pub env: Vec<(Arc<str>, ValueExpression)>,
    /// Working directory.
    pub workdir: Option<ValueExpression>,
}

/// A question to a person.
#[derive(Debug, Clone)]
pub struct HumanCall {
    /// The question.
    pub prompt: ValueExpression,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// What happens on timeout, and in a run without a person to ask.
    pub on_timeout: OnTimeout,
    /// Where that answer is written.
    pub answer_at: Option<Location>,
}

/// What a Human step does without an answer in time.
#[derive(Debug, Clone, PartialEq)]
pub enum OnTimeout {
    /// It fails with `HUMAN_TIMEOUT`.
    Fail,
    /// It uses this answer.
    Answer(Arc<str>),
}
