//! The part of a request that affects the answer, of which its content key is made.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use trefoil_ir::{ModelParameters, PiiAction, PiiEntity};
use trefoil_template::{ConditionGrammar, Expression, Value, wire};

use crate::request::{Message, ToolSpec, ToolsRequest};

/// A model call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskModel {
    /// The provider; `None`: an alias that the run's model plan resolves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<Arc<str>>,
    /// The provider's model name, or the alias.
    pub model: Arc<str>,
    /// The messages in order.
    pub messages: Vec<Message>,
    /// The parameters that are set.
    #[serde(default, skip_serializing_if = "sets_nothing")]
    pub parameters: ModelParameters,
    /// How the answer is interpreted.
    #[serde(default, skip_serializing_if = "WireFormat::is_default")]
    pub format: WireFormat,
    /// The JSON Schema for the provider.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "wire::optional")]
    pub schema: Option<Value>,
    /// The tools that the model may call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<ToolSpec>,
}

/// Whether no parameter is set that affects the answer.
pub(super) fn sets_nothing(parameters: &ModelParameters) -> bool {
    parameters.without_timeout() == ModelParameters::default()
}

/// How an answer is interpreted; a schema is in [`AskModel::schema`].
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
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// A guardrail with its schema.
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
    /// The name by which its host knows it. Tools that say in their arguments what they do have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// The kind of tool.
    pub tool: WireTool,
    /// The arguments, an object.
    #[serde(with = "wire")]
    pub arguments: Value,
}

/// The kinds of tool.
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

/// A request for the descriptions of tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskDescribe {
    /// The tools.
    pub tools: Vec<AskTools>,
}

/// Tools of one source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskTools {
    /// The source.
    pub tool: WireTool,
    /// Their names there; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<Arc<str>>>,
}

impl AskTools {
    /// The wire form.
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
    /// Environment variables, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Vec<WireEntry>,
    /// Working directory.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "wire::optional")]
    pub workdir: Option<Value>,
}

/// An environment variable.
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
    /// The question.
    #[serde(with = "wire")]
    pub prompt: Value,
    /// The answer used on timeout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Arc<str>>,
    /// The rejected answer to the previous question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Arc<str>>,
}

/// A delay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AskTimer {
    /// The duration in milliseconds.
    pub ms: u64,
}

/// A condition on something that only the driver knows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AskDecide {
    /// The grammar, which determines how it is evaluated.
    pub grammar: ConditionGrammar,
    /// Without references; see [`trefoil_template::Question`].
    pub expression: Arc<Expression>,
    /// Whether it only asks if all holes can be filled.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub presence: bool,
    /// Asks whether the expression, a value, matches this schema.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "wire::optional")]
    pub schema: Option<Value>,
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
