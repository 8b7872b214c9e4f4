//! The top level of a file.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::{Budget, Retry};
use trefoil_syntax::yaml::{self, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span, suggest};

use super::agent::{self, Agent};
use super::budget;
use super::edge::{self, Edge};
use super::guardrail::{self, GuardList};
use super::input::{self, InputField, SeededState};
use super::node::{self, Node};
use super::policy::{self, OnFailure};
use super::scalar;
use crate::{Fields, Reader};

/// A workflow as written.
#[derive(Debug, Clone)]
pub struct Manifest<'n> {
    /// The agents.
    pub agents: Vec<Agent<'n>>,
    /// The nodes, in file order.
    pub nodes: Vec<Node<'n>>,
    /// The edges.
    pub edges: Vec<Edge<'n>>,
    /// Declared input fields.
    pub input: Vec<InputField<'n>>,
    /// Values that exist from the start.
    pub state: SeededState<'n>,
    /// The workflow's guardrails; `None`: the default.
    pub guardrails: Option<GuardList>,
    /// Defaults for agent nodes.
    pub defaults: Defaults<'n>,
    /// The limits of a run.
    pub budget: Option<Budget>,
    /// A file of environment variables.
    pub env_file: Option<&'n Text>,
    by_id: HashMap<&'n str, usize>,
}

impl<'n> Manifest<'n> {
    /// The agent with this id.
    pub fn agent(&self, id: &str) -> Option<&Agent<'n>> {
        self.by_id.get(id).and_then(|at| self.agents.get(*at))
    }
}

/// Policies of agent nodes that have none themselves.
#[derive(Debug, Clone, Default)]
pub struct Defaults<'n> {
    /// Retries.
    pub retry: Option<Retry>,
    /// What happens on failure.
    pub on_failure: Option<OnFailure<'n>>,
}

/// Reads a file's root; `None` if it is not a mapping.
pub fn read<'n>(reader: &Reader<'_>, root: &'n yaml::Node) -> Option<Manifest<'n>> {
    let mut fields = reader.fields(root, "the workflow")?;
    fields.deciding(&[("edges", "the nodes run in the order of the file")]);
    fields.also_called(&[("steps", "nodes"), ("tasks", "nodes"), ("transitions", "edges"), ("context", "state")]);
    version(&mut fields);
    let agents = agent::read(&mut fields);
    let manifest = Manifest {
        by_id: agents.iter().enumerate().map(|(at, agent)| (&*agent.id.value, at)).collect(),
        agents,
        nodes: node::read(&mut fields),
        edges: edge::read(&mut fields),
        input: input::input(&mut fields),
        state: input::state(&mut fields),
        guardrails: guardrail::read(&mut fields),
        defaults: defaults(&mut fields),
        budget: budget::read(&mut fields),
        env_file: scalar::plain(&mut fields, "env_file"),
    };
    if let Some(memory) = fields.take("memory") {
        reader.report(
            Diagnostic::warning(
                "no-effect",
                reader.at(memory.key.span),
                "`memory` has no effect: nothing is kept between runs",
            )
            .help("pass what a run needs as a field of `input`"),
        );
    }
    fields.finish();
    Some(manifest)
}

fn version(fields: &mut Fields<'_, '_>) {
    let reader = fields.reader;
    if fields.take_nullable("version").is_none() {
        return no_version(fields);
    }
    let Some(entry) = fields.require("version") else { return };
    match entry.value.scalar() {
        Some((Scalar::Str, text)) if &*text.value != "0.1" => reader.report(
            Diagnostic::warning(
                "unknown-value",
                reader.at(entry.value.span),
                format!("unknown version `{}`: the file is read as `0.1`", text.value),
            )
            .help("write `version: \"0.1\"`"),
        ),
        Some((Scalar::Str, _)) => {}
        Some((Scalar::Int(_) | Scalar::Float(_), text)) => reader.report(
            Diagnostic::error("wrong-type", reader.at(entry.value.span), "`version` must be text, not a number")
                .help(format!("put it in quotes: `\"{}\"`", text.value))
                .fix("put quotes around it", reader.at(entry.value.span), format!("\"{}\"", text.value)),
        ),
        _ => reader.wrong_type(&entry.value, "version", "text"),
    }
}

/// Reports a missing version at the top level.
fn no_version(fields: &Fields<'_, '_>) {
    let reader = fields.reader;
    let d = Diagnostic::error("missing-key", reader.at(Span::new(0, 0)), "the workflow needs `version`");
    let head = fields.head();
    // A misspelt key is fixed at its place.
    let misspelt = fields.entries().iter().any(|e| suggest::nearest(&e.key.value, ["version"]).is_some());
    let block = reader.indent(head) == Some("") && !misspelt;
    reader.report(match block {
        // Adding a required key needs review, because the file may belong to another system.
        true => d.suggestion(
            "write `version: \"0.1\"` above it",
            reader.at(Span::new(head.start, head.start)),
            "version: \"0.1\"\n",
        ),
        false => d.help("write `version: \"0.1\"`"),
    });
}

fn defaults<'n>(fields: &mut Fields<'n, '_>) -> Defaults<'n> {
    let Some(mut defaults) = fields.fields("defaults") else { return Defaults::default() };
    defaults.also_called(&[("retries", "retry"), ("on_error", "on_failure")]);
    let result = Defaults { retry: policy::retry(&mut defaults), on_failure: policy::on_failure(&mut defaults) };
    defaults.no_effect(&["budget"], "a budget goes at the top of the file");
    defaults.finish();
    result
}
