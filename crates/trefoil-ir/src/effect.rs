//! Effects: what the machine asks the world for.

use std::sync::Arc;

use trefoil_syntax::Location;
use trefoil_template::Value;

use crate::expr::Expr;
use crate::ids::SchemaId;

/// One model call. Messages: `system`, then each example as a user and an assistant turn, then `user`.
#[derive(Debug, Clone)]
pub struct ModelCall {
    /// The agent that speaks: traces, the embedded model and scripted answers go by it.
    pub speaker: Arc<str>,
    /// Which model.
    pub model: ModelChoice,
    /// The system message; none or empty text: no system message.
    pub system: Option<Expr>,
    /// Few-shot turns.
    pub examples: Vec<Example>,
    /// The user message.
    pub user: Expr,
    /// Sampling and limits.
    pub parameters: ModelParameters,
    /// Where some of them are written, by their names there: for findings about one of them.
    pub places: Vec<(&'static str, Location)>,
    /// What the answer is read as.
    pub format: AnswerFormat,
    /// Applied before the call to the user message and to what data puts into the system prompt (not to the author's own words
    /// there), and to the answer after it, in order.
    pub guards: Vec<Guard>,
    /// Text may be shown while it arrives. Guards that can change or refuse the answer hold it back.
    pub stream: bool,
}

/// Which model answers.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelChoice {
    /// `openai`, `anthropic`, `ollama`, ...; none: an alias that the run's `--model` resolves.
    pub provider: Option<Arc<str>>,
    /// The provider's model name, or the alias.
    pub name: Arc<str>,
    /// Where it is declared.
    pub origin: Location,
}

/// A few-shot turn pair.
#[derive(Debug, Clone, PartialEq)]
pub struct Example {
    /// The user's side.
    pub input: Arc<str>,
    /// The assistant's.
    pub output: Arc<str>,
}

/// Sampling parameters and limits; unset means the provider's default.
#[derive(Debug, Clone, Default, PartialEq)]
#[allow(missing_docs, reason = "each is the parameter of its name")]
pub struct ModelParameters {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    pub top_k: Option<u32>,
    /// Tokens of the answer.
    pub max_tokens: Option<u32>,
    pub presence_penalty: Option<f64>,
    pub frequency_penalty: Option<f64>,
    pub seed: Option<i64>,
    pub stop: Vec<Arc<str>>,
    /// Merged into the provider's request body.
    pub provider_options: Option<Value>,
    /// Milliseconds for one call.
    pub timeout_ms: Option<u64>,
}

/// What an answer is read as.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerFormat {
    /// Text, verbatim.
    Text,
    /// JSON that fits the schema, also out of one code fence or out of prose. What does not fit is requested again (see
    /// [`Step::asks_again`](crate::Step::asks_again)), then it is `STRUCTURED_OUTPUT_INVALID`.
    Json(SchemaId),
    /// A JSON object or list where the answer is one (one code fence is stripped), else the text.
    JsonOrText,
}

/// A guardrail (SirenSpec).
#[derive(Debug, Clone, PartialEq)]
pub enum Guard {
    /// Refuses phrases that try to take over, in the user message and in the answer.
    Injection,
    /// Cuts or refuses answers longer than this many characters.
    Length {
        /// Unicode scalar values.
        max_chars: usize,
        /// Refuse instead of cutting.
        refuse: bool,
    },
    /// Personal data, in the user message and in the answer.
    Pii {
        /// Which.
        entities: Vec<PiiEntity>,
        /// What then.
        action: PiiAction,
        /// Put in its place.
        replacement: Arc<str>,
    },
    /// The answer must be JSON that fits.
    Schema(SchemaId),
    /// Tokens spent by the run so far, the call included.
    TokenCap {
        /// Ceiling.
        max_tokens: u64,
        /// Only an event.
        warn: bool,
    },
    /// Money spent by the run so far, the call included.
    CostCap {
        /// Ceiling, in micro-dollars.
        max_micro: u64,
        /// Only an event.
        warn: bool,
    },
}

/// A sort of personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the entity of its name")]
pub enum PiiEntity {
    Email,
    Phone,
    Ssn,
    CreditCard,
}

/// What to do with personal data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PiiAction {
    /// Replace it.
    Redact,
    /// Refuse the call.
    Block,
    /// Say so in an event.
    Flag,
}

/// One tool call.
#[derive(Debug, Clone)]
pub struct ToolCall {
    /// Name, as the tool host knows it.
    pub name: Arc<str>,
    /// Which sort.
    pub kind: ToolKind,
    /// Its arguments, an object.
    pub arguments: Expr,
}

/// Which sort of tool. Only what a tool host offers by name runs (scripted answers, embedding); else the run is refused.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolKind {
    /// A function registered by the embedder.
    Local,
    /// HTTP request: `url`, `method`, `headers`, `body`, and more. `url` is evaluated as a web address: what placeholders
    /// bring is percent-encoded after the host, so that data opens no part of it.
    Http,
    /// MCP server.
    Mcp {
        /// URL or name of the server.
        server: Arc<str>,
        /// Sent to it with each request: texts, with holes for secrets. The same for all calls.
        headers: Vec<(Arc<str>, Value)>,
    },
    /// Python function.
    Python,
}

impl ToolKind {
    /// Of an MCP server that is sent no headers of the manifest.
    pub fn mcp(server: impl Into<Arc<str>>) -> Self {
        Self::Mcp { server: server.into(), headers: Vec::new() }
    }
}

/// One command, run as `sh -c script` with positional parameters (decision E11).
#[derive(Debug, Clone)]
pub struct CommandCall {
    /// The script, placeholders replaced by quoted positional parameters `"${1}"`, ...
    pub script: Arc<str>,
    /// The parameters' values.
    pub arguments: Vec<Expr>,
    /// Environment entries.
    pub env: Vec<(Arc<str>, Expr)>,
    /// Working directory.
    pub workdir: Option<Expr>,
}

/// A person's answer.
#[derive(Debug, Clone)]
pub struct HumanCall {
    /// Shown to them.
    pub prompt: Expr,
    /// Milliseconds.
    pub timeout_ms: Option<u64>,
    /// When it runs out, and what a run without anybody to ask uses.
    pub on_timeout: OnTimeout,
    /// Where the answer of that is written.
    pub answer_at: Option<Location>,
}

/// A Human step without an answer in time.
#[derive(Debug, Clone, PartialEq)]
pub enum OnTimeout {
    /// Fails with `HUMAN_TIMEOUT`.
    Fail,
    /// This answer.
    Answer(Arc<str>),
}
