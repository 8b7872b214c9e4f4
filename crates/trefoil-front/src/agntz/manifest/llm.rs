//! `kind: llm` as written.

use std::sync::Arc;

use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Span};
use trefoil_template::Value;

use super::examples::Example;
use super::{Http, Model, Target};
use crate::agntz::schema::Schema;
use crate::read::Reader;

/// An agent that is one model call.
pub struct Llm<'n> {
    /// The model.
    pub model: Option<Model<'n>>,
    /// The template of the system message.
    pub instruction: Option<&'n Text>,
    /// The template of the user message; an empty text counts as absent.
    pub prompt: Option<&'n Text>,
    /// Few-shot turns.
    pub examples: Vec<Example<'n>>,
    /// The schema of the answer.
    pub output: Option<Schema<'n>>,
    /// Unsupported features that change what the agent does.
    pub refusals: Vec<Refusal>,
    /// The tools that the model may call.
    pub tools: Vec<Tool<'n>>,
    /// Callback tools, which are not supported yet.
    pub callbacks: Vec<Callback<'n>>,
    /// The instructions of the agents that it may start.
    pub spawned: Vec<&'n Text>,
    /// Agents that the model may start with `spawn_agent`.
    pub spawnable: Vec<Target<'n>>,
    /// The span of that key.
    pub spawnable_at: Option<Span>,
}

/// A callback tool: its address, and the name of the secret for its signature.
pub struct Callback<'n> {
    /// The address.
    pub url: Option<&'n Text>,
    /// The name of the secret.
    pub secret: Option<&'n Text>,
}

/// A tool that a model may call.
pub enum Tool<'n> {
    /// Functions and commands of the operator, by name.
    Local(Vec<&'n Text>),
    /// One of these, described in the manifest.
    Client {
        /// Its name.
        name: &'n Text,
        /// Its description.
        description: Option<&'n Text>,
        /// Its parameters.
        input: Schema<'n>,
    },
    /// A request.
    Http {
        /// Its name.
        name: &'n Text,
        /// Its description.
        description: Option<&'n Text>,
        /// The request.
        http: Http<'n>,
    },
    /// Tools of an MCP server.
    Mcp {
        /// The server's address, or the name of a connection.
        server: &'n Text,
        /// The offered tools; `None`: all.
        tools: Option<Vec<McpTool<'n>>>,
        /// Headers sent with each request.
        headers: Vec<(Arc<str>, Value)>,
    },
    /// Another agent.
    Agent {
        /// The reference.
        target: &'n Text,
        /// Its version, if it is not part of the reference.
        version: Option<&'n Text>,
    },
}

/// A tool of an MCP server.
pub struct McpTool<'n> {
    /// Its name on the server.
    pub tool: &'n Text,
    /// Its name for the model.
    pub name: Option<&'n Text>,
    /// Its description in the manifest.
    pub description: Option<&'n Text>,
    /// Parameters that the model neither sees nor sets.
    pub params: Vec<(&'n Text, &'n Text)>,
}

/// A feature that is recognised but not supported.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// Its name in the warning.
    pub feature: &'static str,
    /// Where it is.
    pub span: Span,
    /// What to do instead.
    pub help: &'static str,
}

impl Refusal {
    /// Reports a feature, and keeps the data for the step.
    pub fn report(reader: &Reader<'_>, feature: &'static str, span: Span, help: &'static str) -> Self {
        let message = format!("`{feature}` is not supported yet: a run that can reach it does not start");
        reader.report(Diagnostic::warning("refused", reader.at(span), message).help(help));
        Self { feature, span, help }
    }
}
