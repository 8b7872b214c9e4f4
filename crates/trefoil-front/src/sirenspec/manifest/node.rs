//! `nodes`: what a workflow does. One struct a type, chosen by `type`.

use trefoil_ir::Retry;
use trefoil_syntax::yaml::{Entry, Text};
use trefoil_syntax::{Diagnostic, Span};

use super::call::{self, CallNode};
use super::factory::{self, FactoryNode};
use super::human::{self, HumanNode};
use super::policy::{self, OnFailure};
use super::scalar;
use super::swrm::{self, Swrm};
use super::tool::{self, ToolNode};
use super::write::{self, Write};
use crate::learn::whole;
use crate::{Fields, Reader};

/// A node.
#[derive(Debug, Clone)]
pub struct Node<'n> {
    /// Its id.
    pub id: &'n Text,
    /// All of it.
    pub span: Span,
    /// What it does.
    pub kind: NodeKind<'n>,
}

/// The types of node.
#[derive(Debug, Clone)]
pub enum NodeKind<'n> {
    /// One agent call.
    Agent(AgentNode<'n>),
    /// Several agents and a synthesis.
    Swrm(Swrm<'n>),
    /// A fan-out.
    Factory(FactoryNode<'n>),
    /// Another workflow.
    Call(CallNode<'n>),
    /// A person.
    Human(HumanNode<'n>),
    /// A tool.
    Tool(ToolNode<'n>),
    /// Unreadable; already reported.
    Broken,
}

/// An agent node.
#[derive(Debug, Clone)]
pub struct AgentNode<'n> {
    /// Who speaks.
    pub agent: Option<&'n Text>,
    /// Where the answer goes.
    pub writes: Option<Write<'n>>,
    /// Whether text is shown while it arrives.
    pub streaming: bool,
    /// Tries; none: the workflow's default.
    pub retry: Option<Retry>,
    /// What a failure does; none: the workflow's default.
    pub on_failure: Option<OnFailure<'n>>,
    /// Tokens of the answer.
    pub max_tokens: Option<u32>,
}

/// A reader of the keys of one type of node.
type ReadKind = for<'n, 'd> fn(&mut Fields<'n, 'd>) -> NodeKind<'n>;

const TYPES: [(&str, ReadKind); 6] = [
    ("agent", |f| NodeKind::Agent(agent(f))),
    ("swrm", |f| NodeKind::Swrm(swrm::node(f))),
    ("factory", |f| NodeKind::Factory(factory::read(f))),
    ("workflow", |f| NodeKind::Call(call::read(f))),
    ("human", |f| NodeKind::Human(human::read(f))),
    ("tool", |f| NodeKind::Tool(tool::read(f))),
];

/// The entries of `nodes`.
pub fn read<'n>(fields: &mut Fields<'n, '_>) -> Vec<Node<'n>> {
    let reader = fields.reader;
    let Some(nodes) = fields.require("nodes").and_then(|e| reader.fields(&e.value, "nodes")) else {
        return Vec::new();
    };
    nodes.entries().iter().for_each(|entry| reserved(reader, &entry.key));
    nodes.entries().iter().map(|entry| Node { id: &entry.key, span: whole(entry), kind: kind(reader, entry) }).collect()
}

/// Names that mean something else in templates and conditions.
const RESERVED: [&str; 8] = ["inputs", "env", "item", "index", "total", "working", "output", "_budget"];

fn reserved(reader: &Reader<'_>, id: &Text) {
    if RESERVED.contains(&&*id.value) {
        let message =
            format!("templates cannot read what a node called `{}` leaves: the name means something else", id.value);
        reader.report(
            Diagnostic::warning("reserved-name", reader.at(id.span), message).help("give the node another name"),
        );
    }
}

fn kind<'n>(reader: &'n Reader<'_>, entry: &'n Entry) -> NodeKind<'n> {
    let Some(mut fields) = reader.fields(&entry.value, &format!("node `{}`", entry.key.value)) else {
        return NodeKind::Broken;
    };
    let read = match fields.take("type") {
        None => TYPES.first().map(|(_, read)| *read),
        Some(written) => reader.word(&written.value, "type", &TYPES),
    };
    let Some(read) = read else { return NodeKind::Broken };
    let kind = read(&mut fields);
    fields.finish();
    kind
}

fn agent<'n>(fields: &mut Fields<'n, '_>) -> AgentNode<'n> {
    AgentNode {
        agent: fields.require_text("agent"),
        writes: write::require(fields),
        streaming: scalar::flag(fields, "streaming").unwrap_or(true),
        retry: policy::retry(fields),
        on_failure: policy::on_failure(fields),
        max_tokens: scalar::count(fields, "max_tokens_per_call", 1),
    }
}
