//! `kind: llm` as written.

use std::sync::Arc;

use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::examples::AgntzExample;
use super::{AgntzModel, HttpToolRequest, StepTarget};
use crate::agntz::schema::AgntzSchema;
use crate::yaml_reader::ManifestReader;

/// An agent that is one model call.
pub struct LlmAgent<'n> {
    /// The model.
    pub model: Option<AgntzModel<'n>>,
    /// The template of the system message.
    pub instruction: Option<&'n YamlText>,
    /// The template of the user message; an empty text counts as absent.
    pub prompt: Option<&'n YamlText>,
    /// Few-shot turns.
    pub examples: Vec<AgntzExample<'n>>,
    /// The schema of the answer.
    pub output: Option<AgntzSchema<'n>>,
    /// Unsupported features that change what the agent does.
    pub refusals: Vec<AgntzRefusal>,
    /// The tools that the model may call.
    pub tools: Vec<LlmTool<'n>>,
    /// The instructions of the agents that it may start.
    pub spawned: Vec<&'n YamlText>,
    /// Agents that the model may start with `spawn_agent`.
    pub spawnable: Vec<StepTarget<'n>>,
    /// The span of that key.
    pub spawnable_at: Option<Span>,
}

/// A tool that a model may call.
pub enum LlmTool<'n> {
    /// Functions and commands of the operator, by name.
    Local(Vec<&'n YamlText>),
    /// One of these, described in the manifest.
    Client {
        /// Its name.
        name: &'n YamlText,
        /// Its description.
        description: Option<&'n YamlText>,
        /// Its parameters.
        input: AgntzSchema<'n>,
        /// How long the client may take, in milliseconds.
        timeout_ms: Option<u64>,
    },
    /// A request.
    Http {
        /// Its name.
        name: &'n YamlText,
        /// Its description.
        description: Option<&'n YamlText>,
        /// The request.
        http: HttpToolRequest<'n>,
    },
    /// Tools of an MCP server.
    Mcp {
        /// The server's address, or the name of a connection.
        server: &'n YamlText,
        /// The offered tools; `None`: all.
        tools: Option<Vec<McpTool<'n>>>,
        /// Headers sent with each request.
        headers: Vec<(Arc<str>, Value)>,
    },
    /// Another agent.
    Agent {
        /// The reference.
        target: &'n YamlText,
        /// Its version, if it is not part of the reference.
        version: Option<&'n YamlText>,
    },
}

/// A tool of an MCP server.
pub struct McpTool<'n> {
    /// Its name on the server.
    pub tool: &'n YamlText,
    /// Its name for the model.
    pub name: Option<&'n YamlText>,
    /// Its description in the manifest.
    pub description: Option<&'n YamlText>,
    /// Parameters that the model neither sees nor sets.
    pub params: Vec<(&'n YamlText, &'n YamlText)>,
}

/// A feature that is recognised but not supported.
#[derive(Debug, Clone)]
pub struct AgntzRefusal {
    /// Its name in the warning.
    pub feature: &'static str,
    /// Where it is.
    pub span: Span,
    /// What to do instead.
    pub help: &'static str,
}

impl AgntzRefusal {
    /// Reports a feature, and keeps the data for the step.
    pub fn report_feature(reader: &ManifestReader<'_>, feature: &'static str, span: Span, help: &'static str) -> Self {
        let message = format!("`{feature}` is not supported yet: a run that can reach it does not start");
        reader.report_finding(Diagnostic::new_warning("refused", reader.location_of(span), message).with_help(help));
        Self { feature, span, help }
    }
}
