//! The top level of a file.

use trefoil_syntax::hash::HashMap;

use trefoil_ir::{Budget, Retry};
use trefoil_syntax::yaml::{self, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};

use super::agent::{self, SirenAgent};
use super::budget;
use super::edge::{self, SirenEdge};
use super::guardrail::{self, GuardList};
use super::input::{self, DeclaredInputField, SeededState};
use super::node::{self, SirenNode};
use super::policy::{self, NodeFailurePolicy};
use super::scalar;
use crate::{ManifestReader, MappingReader};

/// A workflow as written.
#[derive(Debug, Clone)]
pub struct SirenManifest<'n> {
    /// The agents.
    pub agents: Vec<SirenAgent<'n>>,
    /// The nodes, in file order.
    pub nodes: Vec<SirenNode<'n>>,
    /// The edges.
    pub edges: Vec<SirenEdge<'n>>,
    /// Declared input fields.
    pub input: Vec<DeclaredInputField<'n>>,
    /// Values that exist from the start.
    pub state: SeededState<'n>,
    /// The workflow's guardrails; `None`: the default.
    pub guardrails: Option<GuardList>,
    /// Defaults for agent nodes.
    pub defaults: NodeDefaults<'n>,
    /// The limits of a run.
    pub budget: Option<Budget>,
    /// A file of environment variables.
    pub env_file: Option<&'n YamlText>,
    by_id: HashMap<&'n str, usize>,
}

impl<'n> SirenManifest<'n> {
    /// The agent with this id.
    pub fn find_agent(&self, id: &str) -> Option<&SirenAgent<'n>> {
        self.agents.get(*self.by_id.get(id)?)
    }

    /// The id of the first node, as the place of what concerns the whole workflow.
    pub fn first_node_span(&self) -> Span {
        match self.nodes.first() {
            Some(node) => node.id.span,
            None => Span::default(),
        }
    }
}

/// Policies of agent nodes that have none themselves.
#[derive(Debug, Clone, Default)]
pub struct NodeDefaults<'n> {
    /// Retries.
    pub retry: Option<Retry>,
    /// What happens on failure.
    pub on_failure: Option<NodeFailurePolicy<'n>>,
}

/// Reads a file's root; `None` if it is not a mapping.
pub fn read_manifest<'n>(reader: &ManifestReader<'_>, root: &'n yaml::YamlNode) -> Option<SirenManifest<'n>> {
    let mut fields = reader.read_mapping(root, "the workflow")?;
    fields.set_deciding_keys(&[("edges", "the nodes run in the order of the file")]);
    fields.also_called(&[("steps", "nodes"), ("tasks", "nodes"), ("transitions", "edges"), ("context", "state")]);
    version(&mut fields);
    let agents = agent::read_agents(&mut fields);
    let manifest = SirenManifest {
        by_id: agents.iter().enumerate().map(|(at, agent)| (&*agent.id.value, at)).collect(),
        agents,
        nodes: node::read_nodes(&mut fields),
        edges: edge::read_edges(&mut fields),
        input: input::read_input(&mut fields),
        state: input::read_seeded_state(&mut fields),
        guardrails: guardrail::read_guardrails(&mut fields),
        defaults: defaults(&mut fields),
        budget: budget::read_budget(&mut fields),
        env_file: scalar::read_plain_text(&mut fields, "env_file"),
    };
    if let Some(memory) = fields.take("memory") {
        reader.report_finding(
            Diagnostic::new_warning(
                "no-effect",
                reader.location_of(memory.key.span),
                "`memory` has no effect: nothing is kept between runs",
            )
            .with_help("pass what a run needs as a field of `input`"),
        );
    }
    fields.finish_mapping();
    Some(manifest)
}

fn version(fields: &mut MappingReader<'_, '_>) {
    let reader = fields.reader;
    if fields.take_nullable("version").is_none() {
        return no_version(fields);
    }
    let Some(entry) = fields.require_entry("version") else { return };
    match entry.value.as_scalar() {
        Some((YamlScalar::Str, text)) if &*text.value != "0.1" => reader.report_finding(
            Diagnostic::new_warning(
                "unknown-value",
                reader.location_of(entry.value.span),
                format!("unknown version `{}`: the file is read as `0.1`", text.value),
            )
            .with_help("write `version: \"0.1\"`"),
        ),
        Some((YamlScalar::Str, _)) => {}
        Some((YamlScalar::Int(_) | YamlScalar::Float(_), text)) => reader.report_finding(
            Diagnostic::new_error(
                "wrong-type",
                reader.location_of(entry.value.span),
                "`version` must be text, not a number",
            )
            .with_help(format!("put it in quotes: `\"{}\"`", text.value))
            .with_safe_fix(
                "put quotes around it",
                reader.location_of(entry.value.span),
                format!("\"{}\"", text.value),
            ),
        ),
        _ => reader.wrong_type(&entry.value, "version", "text"),
    }
}

/// Reports a missing version at the top level.
fn no_version(fields: &MappingReader<'_, '_>) {
    let reader = fields.reader;
    let d = Diagnostic::new_error("missing-key", reader.location_of(Span::new(0, 0)), "the workflow needs `version`");
    let head = fields.head_span();
    // A misspelt key is fixed at its place.
    let misspelt = fields.entries().iter().any(|e| suggestions::nearest_name(&e.key.value, ["version"]).is_some());
    let block = reader.leading_spaces(head) == Some("") && !misspelt;
    reader.report_finding(match block {
        // Adding a required key needs review, because the file may belong to another system.
        true => d.with_suggestion(
            "write `version: \"0.1\"` above it",
            reader.location_of(Span::new(head.start, head.start)),
            "version: \"0.1\"\n",
        ),
        false => d.with_help("write `version: \"0.1\"`"),
    });
}

fn defaults<'n>(fields: &mut MappingReader<'n, '_>) -> NodeDefaults<'n> {
    let Some(mut defaults) = fields.read_mapping("defaults") else { return NodeDefaults::default() };
    defaults.also_called(&[("retries", "retry"), ("on_error", "on_failure")]);
    let result =
        NodeDefaults { retry: policy::read_retry(&mut defaults), on_failure: policy::on_failure(&mut defaults) };
    defaults.no_effect(&["budget"], "a budget goes at the top of the file");
    defaults.finish_mapping();
    result
}
