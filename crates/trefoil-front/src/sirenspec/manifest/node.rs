//! `nodes`: the nodes of a workflow. One struct for each `type`.

use trefoil_ir::Retry;
use trefoil_syntax::yaml::{YamlEntry, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};

use super::call::{self, CallNode};
use super::factory::{self, FactoryNode};
use super::human::{self, HumanNode};
use super::named_items::{self, NamedItem};
use super::policy::{self, NodeFailurePolicy};
use super::scalar;
use super::swrm::{self, SirenSwarm};
use super::tool::{self, ToolNode};
use super::write::{self, NodeWrite};

use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader};

/// A node.
#[derive(Debug, Clone)]
pub struct SirenNode<'n> {
    /// Its id.
    pub id: &'n YamlText,
    /// The span of the whole node.
    pub span: Span,
    /// Its type.
    pub kind: NodeKind<'n>,
}

/// The types of node.
#[derive(Debug, Clone)]
pub enum NodeKind<'n> {
    /// One agent call.
    Agent(AgentNode<'n>),
    /// Several agents and a synthesis.
    Swrm(SirenSwarm<'n>),
    /// A fan-out.
    Factory(FactoryNode<'n>),
    /// Another workflow.
    Call(CallNode<'n>),
    /// A question to a person.
    Human(HumanNode<'n>),
    /// A tool.
    Tool(ToolNode<'n>),
    /// Invalid; already reported.
    Broken,
}

impl<'n> NodeKind<'n> {
    /// Its `writes`, if it has one.
    pub fn node_write(&self) -> Option<&NodeWrite<'n>> {
        match self {
            Self::Agent(kind) => kind.writes.as_ref(),
            Self::Human(kind) => kind.writes.as_ref(),
            Self::Factory(kind) => kind.writes.as_ref(),
            Self::Call(kind) => kind.writes.as_ref(),
            Self::Swrm(_) | Self::Tool(_) | Self::Broken => None,
        }
    }
}

/// An agent node.
#[derive(Debug, Clone)]
pub struct AgentNode<'n> {
    /// The agent.
    pub agent: Option<&'n YamlText>,
    /// The path for the answer.
    pub writes: Option<NodeWrite<'n>>,
    /// Whether text is shown while it arrives.
    pub streaming: bool,
    /// Retries; `None`: the workflow's default.
    pub retry: Option<Retry>,
    /// What happens on failure; `None`: the workflow's default.
    pub on_failure: Option<NodeFailurePolicy<'n>>,
    /// The maximum number of tokens in the answer.
    pub max_tokens: Option<u32>,
    /// Where it is written.
    pub max_tokens_at: Option<Span>,
}

/// A reader of the keys of one type of node.
type ReadKind = for<'n, 'd> fn(&mut MappingReader<'n, 'd>) -> NodeKind<'n>;

const TYPES: [(&str, ReadKind); 6] = [
    ("agent", |f| NodeKind::Agent(agent(f))),
    ("swrm", |f| NodeKind::Swrm(swrm::read_swarm_node(f))),
    ("factory", |f| NodeKind::Factory(factory::read_factory_node(f))),
    ("workflow", |f| NodeKind::Call(call::read_call_node(f))),
    ("human", |f| NodeKind::Human(human::read_human_node(f))),
    ("tool", |f| NodeKind::Tool(tool::read_tool_node(f))),
];

/// The entries of `nodes`.
pub fn read_nodes<'n>(fields: &mut MappingReader<'n, '_>) -> Vec<SirenNode<'n>> {
    let reader = fields.reader;
    let Some(nodes) = fields.require_entry("nodes") else { return Vec::new() };
    let nodes = named_items::read_named_items(reader, &nodes.value, "nodes");
    for named in &nodes {
        reserved(reader, named.id);
    }
    nodes.iter().map(|named| SirenNode { id: named.id, span: named.span, kind: kind(reader, named) }).collect()
}

/// Names with another meaning in templates and conditions.
const RESERVED: [&str; 8] = ["inputs", "env", "item", "index", "total", "working", "output", "_budget"];

fn reserved(reader: &ManifestReader<'_>, id: &YamlText) {
    if RESERVED.contains(&&*id.value) {
        let message =
            format!("templates cannot read the result of a node named `{}`: the name means something else", id.value);
        reader.report_finding(
            Diagnostic::new_warning("reserved-name", reader.location_of(id.span), message).with_help("rename the node"),
        );
    }
}

fn kind<'n>(reader: &ManifestReader<'_>, named: &NamedItem<'n>) -> NodeKind<'n> {
    let Some(mut fields) = named.keys_of(reader, "node") else { return NodeKind::Broken };
    fields.also_called(&OTHERS);
    fields.set_foreign_keys(&ELSEWHERE);
    let read = read_type(&mut fields, named);
    let read = match swarm_of_agent(&mut fields) {
        Some(at) => {
            let d = Diagnostic::new_error(
                "missing-key",
                reader.location_of(at.span),
                "an agent node has one `agent`; a swarm has `agents`",
            );
            let near = suggestions::NearMatch { name: "swrm", distance: usize::MAX, sure: false };
            reader.report_finding(fix_spelling(
                d.with_help("write `type: swrm`"),
                reader.location_of(at.span),
                at,
                near,
            ));
            type_reader("swrm")
        }
        None => read,
    };
    let Some(read) = read else { return NodeKind::Broken };
    let kind = read(&mut fields);
    fields.finish_mapping();
    kind
}

/// The reader of the keys of a node, by its `type`; without one, by its keys.
fn read_type(fields: &mut MappingReader<'_, '_>, named: &NamedItem<'_>) -> Option<ReadKind> {
    let Some(written) = fields.take("type") else {
        return match unsaid(fields) {
            Some(key) => untyped(fields, &named.id.value, key),
            None => type_reader("agent"),
        };
    };
    if let Some(text) = written.value.as_string()
        && let Some(read) = other_type(fields.reader, text)
    {
        return Some(read);
    }
    fields.reader.read_word(&written.value, "type", &TYPES)
}

fn type_reader(kind: &str) -> Option<ReadKind> {
    let (_, read) = TYPES.iter().find(|(name, _)| *name == kind)?;
    Some(*read)
}

/// Where keys belong that people write in nodes.
const ELSEWHERE: [(&str, &str); 4] = [
    ("when", "on an edge that leads to the node"),
    ("prompt", "in the agent, as `system`"),
    ("system", "in the agent"),
    ("model", "in the agent"),
];

/// Common wrong names for the keys of nodes.
const OTHERS: [(&str, &str); 17] = [
    ("kind", "type"),
    ("output", "output_key"),
    ("output", "writes"),
    ("output_to", "writes"),
    ("stream", "streaming"),
    ("retries", "retry"),
    ("max_tokens", "max_tokens_per_call"),
    ("on_error", "on_failure"),
    ("parallelism", "concurrency"),
    ("max_concurrency", "concurrency"),
    ("timeout", "timeout_per_instance"),
    ("message", "prompt"),
    ("question", "prompt"),
    ("reference", "ref"),
    ("path", "ref"),
    ("workflow", "ref"),
    ("depth", "max_depth"),
];

/// Names of other systems for the types of nodes.
const OTHER_TYPES: [(&str, &str); 12] = [
    ("llm", "agent"),
    ("model", "agent"),
    ("loop", "factory"),
    ("map", "factory"),
    ("foreach", "factory"),
    ("for_each", "factory"),
    ("parallel", "swrm"),
    ("approval", "human"),
    ("hitl", "human"),
    ("http", "tool"),
    ("python", "tool"),
    ("call", "workflow"),
];

/// Reports a type with the name of another system; the node is read as the equivalent type.
fn other_type(reader: &ManifestReader<'_>, text: &YamlText) -> Option<ReadKind> {
    let (_, name) = OTHER_TYPES.iter().find(|(word, _)| *word == &*text.value)?;
    let at = reader.location_of(text.span);
    let all = TYPES.map(|(t, _)| format!("`{t}`")).join(", ");
    let d = Diagnostic::new_error("unknown-value", at, format!("`type` cannot be `{}`", text.value));
    let d = d.with_help(format!("did you mean `{name}`? available: {all}"));
    reader.report_finding(fix_spelling(
        d,
        at,
        text,
        suggestions::NearMatch { name, distance: usize::MAX, sure: false },
    ));
    type_reader(name)
}

/// The `type` of a node that says it has one agent but lists several.
fn swarm_of_agent<'n>(fields: &mut MappingReader<'n, '_>) -> Option<&'n YamlText> {
    let kind = fields.take("type")?.value.as_string()?;
    if &*kind.value != "agent" {
        return None;
    }
    let entries = fields.entries();
    let lists_agents = entries.iter().any(|e| &*e.key.value == "agents" && e.value.as_sequence().is_some());
    let has_agent = entries.iter().any(|e| &*e.key.value == "agent");
    if lists_agents && !has_agent { Some(kind) } else { None }
}

/// Keys that only nodes of one type have, and the type.
const TELLING: [(&str, &str); 8] = [
    ("for_each", "factory"),
    ("swarm_size", "factory"),
    ("swrm", "factory"),
    ("synthesis", "swrm"),
    ("ref", "workflow"),
    ("tool", "tool"),
    ("on_timeout", "human"),
    ("prompt", "human"),
];

/// The key that shows the type of a node without `type`, if it cannot be an agent node.
fn unsaid<'n>(fields: &MappingReader<'n, '_>) -> Option<(&'n YamlEntry, &'static str)> {
    let entries = fields.entries();
    let find = |key: &str| entries.iter().find(|e| &*e.key.value == key && !e.value.is_null());
    let fans = find("for_each").is_some() || find("swarm_size").is_some();
    if find("agent").is_some() && !fans {
        return None;
    }
    for (key, kind) in TELLING {
        if let Some(entry) = find(key) {
            return Some((entry, kind));
        }
    }
    let agents = find("agents")?;
    if agents.value.as_sequence().is_some() { Some((agents, "swrm")) } else { None }
}

/// Reports such a node; it is read as the type that the key shows.
fn untyped(fields: &MappingReader<'_, '_>, id: &str, (tells, kind): (&YamlEntry, &str)) -> Option<ReadKind> {
    let reader = fields.reader;
    let message = format!("node `{id}` needs `type: {kind}`: agent nodes have no `{}`", tells.key.value);
    let head = fields.head_span();
    let d = Diagnostic::new_error("missing-key", reader.location_of(fields.missing_key_span(&["type"])), message);
    let d = d.with_label(reader.location_of(tells.key.span), format!("only for {kind} nodes"));
    // A `type` that is misspelt or has no value is fixed at its place.
    let begun = fields
        .entries()
        .iter()
        .any(|e| &*e.key.value == "kind" || suggestions::find_near_match(&e.key.value, ["type"]).is_some());
    reader.report_finding(match reader.leading_spaces(head) {
        Some(indent) if !begun => {
            let place = reader.location_of(Span::new(head.start, head.start));
            d.with_suggestion(format!("write `type: {kind}` above it"), place, format!("type: {kind}\n{indent}"))
        }
        _ => d.with_help(format!("write `type: {kind}`")),
    });
    type_reader(kind)
}

fn agent<'n>(fields: &mut MappingReader<'n, '_>) -> AgentNode<'n> {
    AgentNode {
        agent: fields.require_text("agent"),
        writes: write::require_write(fields),
        streaming: scalar::read_flag(fields, "streaming").unwrap_or(true),
        retry: policy::read_retry(fields),
        on_failure: policy::on_failure(fields),
        max_tokens: scalar::read_count(fields, "max_tokens_per_call", 1),
        max_tokens_at: fields.peek_entry("max_tokens_per_call").map(|e| e.value.span),
    }
}
