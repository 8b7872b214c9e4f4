//! `kind: llm`: what is written.

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
    /// Which model.
    pub model: Option<Model<'n>>,
    /// The system message's template.
    pub instruction: Option<&'n Text>,
    /// The user message's template; empty text counts as absent.
    pub prompt: Option<&'n Text>,
    /// Few-shot turns.
    pub examples: Vec<Example<'n>>,
    /// What the answer must fit.
    pub output: Option<Schema<'n>>,
    /// Features that change what the agent does and are not run by this version.
    pub refusals: Vec<Refusal>,
    /// What the model may call.
    pub tools: Vec<Tool<'n>>,
    /// What is called back, which this version does not do.
    pub callbacks: Vec<Callback<'n>>,
    /// The instructions of the agents that it may start.
    pub spawned: Vec<&'n Text>,
    /// Agents that the model may start, by `spawn_agent`.
    pub spawnable: Vec<Target<'n>>,
    /// Where that is.
    pub spawnable_at: Option<Span>,
}

/// A callback tool: where it is called, and the name of what it is signed with.
pub struct Callback<'n> {
    /// The address.
    pub url: Option<&'n Text>,
    /// The name of the secret.
    pub secret: Option<&'n Text>,
}

/// What a model may call.
pub enum Tool<'n> {
    /// Functions and commands of whoever runs the agent, by name.
    Local(Vec<&'n Text>),
    /// One of these that the manifest describes.
    Client {
        /// Its name.
        name: &'n Text,
        /// What it does.
        description: Option<&'n Text>,
        /// What it takes.
        input: Schema<'n>,
    },
    /// A request.
    Http {
        /// Its name.
        name: &'n Text,
        /// What it does.
        description: Option<&'n Text>,
        /// The request.
        http: Http<'n>,
    },
    /// Tools of an MCP server.
    Mcp {
        /// Its address, or the name of a connection.
        server: &'n Text,
        /// Which; none: all.
        tools: Option<Vec<McpTool<'n>>>,
        /// What is sent with each request.
        headers: Vec<(Arc<str>, Value)>,
    },
    /// Another agent.
    Agent {
        /// The reference.
        target: &'n Text,
        /// Its version, where that is not in the reference.
        version: Option<&'n Text>,
    },
}

/// A tool of an MCP server.
pub struct McpTool<'n> {
    /// What the server calls it.
    pub tool: &'n Text,
    /// What the model calls it.
    pub name: Option<&'n Text>,
    /// What it does, in words of the manifest.
    pub description: Option<&'n Text>,
    /// Parameters that the model neither sees nor sets.
    pub params: Vec<(&'n Text, &'n Text)>,
}

/// A feature that is recognised and not run.
#[derive(Debug, Clone)]
pub struct Refusal {
    /// As the warning names it.
    pub feature: &'static str,
    /// Where it is.
    pub span: Span,
    /// What to do instead.
    pub help: &'static str,
}

impl Refusal {
    /// Reports a feature, and keeps what the step needs to say.
    pub fn report(reader: &Reader<'_>, feature: &'static str, span: Span, help: &'static str) -> Self {
        let message = format!("`{feature}` is not supported yet: a run that can reach it does not start");
        reader.report(Diagnostic::warning("refused", reader.at(span), message).help(help));
        Self { feature, span, help }
    }
}
