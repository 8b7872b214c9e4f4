//! What decides an answer: the half of a request that its content key is made of.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trefoil_ir::{PiiAction, PiiEntity};
use trefoil_template::{ConditionGrammar, Expression, Value, wire};

use crate::request::{Role, ToolSpec, ToolUse, ToolsRequest};

/// A model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskModel {
    /// None: an alias that the run's model plan resolves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// The provider's name for it, or the alias.
    pub model: Arc<str>,
    /// In order.
    pub messages: Vec<WireMessage>,
    /// What is set.
    #[serde(default, skip_serializing_if = "WireParameters::is_default")]
    pub parameters: WireParameters,
    /// What the answer is read as.
    #[serde(default, skip_serializing_if = "WireFormat::is_default")]
    pub format: WireFormat,
    /// The JSON Schema for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::optional")]
    pub schema: Option<Value>,
    /// What the answer goes through before it is journaled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guards: Vec<WireGuard>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
}

/// One message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WireMessage {
    /// Who speaks.
    pub role: Role,
    /// Text, with holes or without.
    #[serde(with = "wire")]
    pub content: Value,
    /// The tools that the model called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<ToolUse>,
    /// The call that this came of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Arc<str>>,
}

/// Sampling and limits; what is not set is not there.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "each is the parameter of its name")]
pub struct WireParameters {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// As text: not every reader of JSON keeps 64 bits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop: Vec<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::optional")]
    pub provider_options: Option<Value>,
}

impl WireParameters {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What an answer is read as; a schema is in [`AskModel::schema`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "each is the format of its name")]
pub enum WireFormat {
    #[default]
    Text,
    Json,
    JsonOrText,
}

impl WireFormat {
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A guardrail, its schema with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "as `trefoil_ir::Guard` has them")]
pub enum WireGuard {
    Injection {},
    Length {
        max_chars: u64,
        refuse: bool,
    },
    Pii {
        entities: Vec<PiiEntity>,
        action: PiiAction,
        replacement: Arc<str>,
    },
    Schema {
        #[serde(with = "wire")]
        schema: Value,
    },
    TokenCap {
        max_tokens: u64,
        warn: bool,
    },
    CostCap {
        max_micro: u64,
        warn: bool,
    },
}

/// A tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskTool {
    /// Its name.
    pub name: Arc<str>,
    /// Which sort.
    pub tool: WireTool,
    /// An object.
    #[serde(with = "wire")]
    pub arguments: Value,
}

/// The sorts of tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "as `trefoil_ir::ToolKind` has them")]
pub enum WireTool {
    Local {},
    Http {},
    Mcp {
        server: Arc<str>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        headers: Vec<WireEntry>,
    },
    Python {},
}

/// What tools say about themselves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskDescribe {
    /// Which.
    pub tools: Vec<AskTools>,
}

/// Tools of one place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskTools {
    /// Where they are.
    pub tool: WireTool,
    /// Their names there; none: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<Arc<str>>>,
}

impl AskTools {
    /// On the wire.
    pub fn of(wanted: &ToolsRequest) -> Self {
        Self { tool: WireTool::of(&wanted.kind), names: wanted.names.clone() }
    }
}

/// A command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskCommand {
    /// The script.
    pub script: Arc<str>,
    /// Positional parameters from 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "list")]
    pub arguments: Vec<Value>,
    /// Environment entries, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<WireEntry>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "super::optional")]
    pub workdir: Option<Value>,
}

/// One entry of an environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WireEntry {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    #[serde(with = "wire")]
    pub value: Value,
}

/// A question to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskHuman {
    /// The step's label.
    pub step: Arc<str>,
    /// The question.
    #[serde(with = "wire")]
    pub prompt: Value,
    /// The answer when nobody gives one in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Arc<str>>,
    /// The answer before this question, which led nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Arc<str>>,
}

/// Time that passes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskTimer {
    /// Milliseconds.
    pub ms: u64,
}

/// A condition on what only the driver knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskDecide {
    /// By whose rules it is evaluated.
    pub grammar: ConditionGrammar,
    /// Without references; see [`trefoil_template::Question`].
    pub expression: Arc<Expression>,
    /// Only whether all holes can be filled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub presence: bool,
}

/// Lists of values.
mod list {
    use serde::{Deserialize, Deserializer, Serializer};
    use trefoil_template::{Value, wire};

    pub fn serialize<S: Serializer>(values: &[Value], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(values.iter().map(wire::Wire))
    }
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
        Ok(Vec::<wire::Wired>::deserialize(deserializer)?.into_iter().map(|read| read.0).collect())
    }
}
