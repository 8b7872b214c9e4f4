//! Where the names of a workflow are declared and what they hold: for editors, not for binding (`names`, `scope`).

use std::collections::BTreeMap;
use std::sync::Arc;

use trefoil_ir::{Declaration, DeclarationKind, Defined, Name};
use trefoil_syntax::yaml::{Node as Yaml, Text};
use trefoil_syntax::{Location, Span};
use trefoil_template::Value;

use super::Child;
use super::inputs::Inputs;
use super::links::Links;
use super::names::Names;
use super::order::Order;
use crate::Reader;
use crate::learn::{self, Member, Members, whole};
use crate::sirenspec::manifest::{Manifest, Node, NodeKind, OnFailure, Root, Swrm, Worker, Write};

/// The names of a workflow with their declarations. Without borrows: what is visible in a place is worked out from it
/// when somebody asks.
#[derive(Default)]
pub struct Known {
    /// The name of the workflow: none in its file, so this is its first byte.
    pub workflow: Option<Location>,
    /// Input fields.
    pub inputs: Vec<Name>,
    /// Nodes, as [`Names`] has them.
    pub nodes: Vec<KnownNode>,
    /// Written and seeded paths, each part of them: where they are written first.
    pub keys: BTreeMap<(Root, Vec<Arc<str>>), Key>,
    /// Who ends before whom.
    pub order: Option<Arc<Order>>,
}

/// A node.
pub struct KnownNode {
    /// Its id.
    pub name: Arc<str>,
    /// Where it is declared.
    pub at: Location,
    /// The type of its context.
    pub schema: Value,
    /// Where what is in the context is declared.
    pub members: Members,
    /// It runs in every run, and leaves something.
    pub always: bool,
    /// One line about it.
    pub note: Arc<str>,
}

/// A part of a written or seeded path.
pub struct Key {
    /// Where it is written first.
    pub at: Location,
    /// The type of what is there.
    pub schema: Value,
    /// It is there from the start.
    pub seeded: bool,
    /// Who writes it.
    pub writers: Vec<usize>,
}

impl Known {
    /// Of a workflow whose names and order are known; declares them.
    pub fn new(
        reader: &Reader<'_>,
        manifest: &Manifest<'_>,
        names: &Names<'_>,
        links: &Links<'_>,
        children: &[Option<Child>],
        inputs: &Inputs,
        (stem, extent): (&str, Span),
    ) -> Self {
        let mut known = Self { order: links.order.clone(), ..Self::default() };
        if !reader.wants_facts() {
            return known;
        }
        let workflow = reader.at(Span::new(0, 0));
        known.workflow = Some(workflow);
        declare(reader, DeclarationKind::Workflow, stem, workflow, extent, None, learn::object_type(), "a workflow");
        known.inputs = inputs.known();
        for field in &manifest.input {
            let (schema, note) = match &field.default {
                Some(default) => (learn::type_of(default), format!("an input, `{}` unless given", default.to_text())),
                None if &*field.name.value == "message" => (learn::text_type(), "the message of the run".into()),
                None => (Value::Bool(true), "an input".into()),
            };
            let (kind, at) = (DeclarationKind::Input, reader.at(field.name.content()));
            declare(reader, kind, &field.name.value, at, field.span, Some(workflow), schema, &note);
        }
        for agent in &manifest.agents {
            let note = agent.model.as_ref().map_or("an agent".into(), |m| format!("an agent on `{}`", m.text.value));
            let (kind, at) = (DeclarationKind::Agent, reader.at(agent.id.content()));
            declare(reader, kind, &agent.id.value, at, agent.span, Some(workflow), learn::text_type(), &note);
        }
        for (at, node) in manifest.nodes.iter().enumerate() {
            known.node(reader, names, links, at, node, children.get(at).and_then(Option::as_ref));
        }
        for (root, tree) in &manifest.state.written {
            known.seeds(reader, *root, tree, &mut Vec::new(), workflow);
        }
        for (at, node) in manifest.nodes.iter().enumerate() {
            if let Some(write) = node.kind.writes() {
                // In the order of the nodes.
                let from = names.writes.partition_point(|w| w.node < at);
                let mut own = names.writes.iter().skip(from).take_while(|w| w.node == at);
                let found = own.find(|w| w.root == write.root && w.path == write.path);
                let schema = found.map_or(Value::Bool(true), |w| w.shape.schema());
                known.write(reader, write, at, &schema);
            }
            if matches!(node.kind, NodeKind::Swrm(_) | NodeKind::Call(_)) {
                known.implied(at);
            }
        }
        known.references(reader, manifest, names, children);
        known
    }

    fn node(
        &mut self,
        reader: &Reader<'_>,
        names: &Names<'_>,
        links: &Links<'_>,
        at: usize,
        node: &Node<'_>,
        child: Option<&Child>,
    ) {
        let place = reader.at(node.id.content());
        let schema = names.nodes.get(at).map_or(Value::Bool(true), |n| n.shape.schema());
        let mut members = Vec::new();
        let note = match &node.kind {
            NodeKind::Agent(kind) => match kind.agent {
                Some(agent) => format!("the answer of agent `{}`", agent.value),
                None => "an agent's answer".into(),
            },
            NodeKind::Swrm(swrm) => {
                members.push(swarm(reader, swrm, place));
                format!("what {} agents answered", swrm.members.len())
            }
            NodeKind::Factory(factory) => {
                for entry in &factory.inputs {
                    let (kind, at) = (DeclarationKind::Input, reader.at(entry.key.content()));
                    let note = format!("an input of every instance of `{}`", node.id.value);
                    let schema = Value::Bool(true);
                    declare(reader, kind, &entry.key.value, at, whole(entry), Some(place), schema, &note);
                }
                if let Some(Worker::Swrm(swrm)) = &factory.worker {
                    members.push(swarm(reader, swrm, place));
                }
                "what the instances answered: `outputs` is the list, `output` its text".into()
            }
            NodeKind::Call(call) => {
                if let Some(child) = child {
                    members.push(("output".into(), None, child.members.clone()));
                }
                match call.reference {
                    Some(reference) => format!("the output of workflow `{}`", reference.value),
                    None => "the output of a workflow".into(),
                }
            }
            NodeKind::Human(_) => "what a person answered".into(),
            NodeKind::Tool(_) => "the result of a tool".into(),
            NodeKind::Broken => "a node".into(),
        };
        let (kind, workflow) = (DeclarationKind::Node, self.workflow);
        declare(reader, kind, &node.id.value, place, node.span, workflow, schema.clone(), &note);
        self.nodes.push(KnownNode {
            name: node.id.value.clone(),
            at: place,
            schema,
            members: Members::of(members),
            always: links.runs(at) && links.leaves(at),
            note: note.into(),
        });
    }

    fn seeds(&mut self, reader: &Reader<'_>, root: Root, tree: &Yaml, path: &mut Vec<Arc<str>>, parent: Location) {
        for entry in tree.mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
            path.push(entry.key.value.clone());
            let at = reader.at(entry.key.content());
            let schema = learn::type_of(&crate::read::to_value(&entry.value));
            let note = format!("in `{}` from the start", root.word());
            let kind = DeclarationKind::Key;
            declare(reader, kind, &entry.key.value, at, whole(entry), Some(parent), schema.clone(), &note);
            self.keys.insert((root, path.clone()), Key { at, schema, seeded: true, writers: Vec::new() });
            self.seeds(reader, root, &entry.value, path, at);
            path.pop();
        }
    }

    /// A written path: its parts are declared where they are written first, and named wherever they are written again.
    fn write(&mut self, reader: &Reader<'_>, write: &Write<'_>, node: usize, schema: &Value) {
        let Some(text) = write.text else { return };
        // After `working.`; a lone root is the key of its own name.
        let mut start = if &*text.value == write.root.word() { 0 } else { write.root.word().len() + 1 };
        let mut parent = self.workflow;
        for (depth, segment) in write.path.iter().enumerate() {
            let at = reader.at(text.source(start as u32..(start + segment.len()) as u32));
            start += segment.len() + 1;
            let path = write.path.get(..=depth).unwrap_or_default().to_vec();
            let last = depth + 1 == write.path.len();
            let schema = if last { schema.clone() } else { learn::object_type() };
            match self.keys.get_mut(&(write.root, path.clone())) {
                Some(key) => {
                    learn::names_at(reader, at, Some(key.at));
                    if last {
                        key.writers.push(node);
                        if key.schema != schema {
                            key.schema = Value::Bool(true);
                        }
                    }
                    parent = Some(key.at);
                }
                None => {
                    let who = self.nodes.get(node).map_or("", |n| &*n.name);
                    let note = format!("written by `{who}`");
                    declare(reader, DeclarationKind::Key, segment, at, text.span, parent, schema.clone(), &note);
                    let writers = if last { vec![node] } else { Vec::new() };
                    self.keys.insert((write.root, path), Key { at, schema, seeded: false, writers });
                    parent = Some(at);
                }
            }
        }
    }

    /// `output.<id>` of a node that writes it unasked.
    fn implied(&mut self, node: usize) {
        let Some(known) = self.nodes.get(node) else { return };
        let schema = learn::member_type(&known.schema, "output");
        let key = Key { at: known.at, schema, seeded: false, writers: vec![node] };
        self.keys.entry((Root::Output, vec![known.name.clone()])).or_insert(key);
    }

    /// What names something outside of templates.
    fn references(&self, reader: &Reader<'_>, manifest: &Manifest<'_>, names: &Names<'_>, children: &[Option<Child>]) {
        let node = |text: &Text| names.node_of(&text.value).and_then(|at| self.nodes.get(at)).map(|n| n.at);
        let agent = |text: &Text| manifest.agent(&text.value).map(|a| reader.at(a.id.content()));
        for edge in &manifest.edges {
            learn::names(reader, edge.from, node(edge.from));
            learn::names(reader, edge.to, node(edge.to));
        }
        let fallback = |choice: Option<&OnFailure<'_>>| {
            if let Some(OnFailure::Fallback(target)) = choice {
                learn::names(reader, target, node(target));
            }
        };
        fallback(manifest.defaults.on_failure.as_ref());
        for (at, written) in manifest.nodes.iter().enumerate() {
            match &written.kind {
                NodeKind::Agent(kind) => {
                    kind.agent.into_iter().for_each(|text| learn::names(reader, text, agent(text)));
                    fallback(kind.on_failure.as_ref());
                }
                NodeKind::Factory(kind) => {
                    if let Some(Worker::Agent(text)) = &kind.worker {
                        learn::names(reader, text, agent(text));
                    }
                }
                NodeKind::Call(kind) => {
                    let child = children.get(at).and_then(Option::as_ref);
                    let to = child.map(|c| Location::new(c.file, Span::new(0, 0)));
                    kind.reference.into_iter().for_each(|text| learn::names(reader, text, to));
                    for entry in &kind.inputs {
                        let place =
                            |c: &Child| c.wanted.places.iter().find(|(n, _)| *n == entry.key.value).map(|p| p.1);
                        if let Some(place) = child.and_then(place) {
                            learn::names(reader, &entry.key, Some(place));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Where callers find what is in the output tree, and the nodes beneath it.
    pub fn members(&self) -> Members {
        let inside = |path: &[Arc<str>]| self.inside(Root::Output, path);
        let mut members = inside(&[]);
        let nodes = self.nodes.iter().filter(|n| !self.keys.contains_key(&(Root::Output, vec![n.name.clone()])));
        members.extend(nodes.map(|n| (n.name.clone(), Some(n.at), Members::default())));
        Members::of(members)
    }

    fn inside(&self, root: Root, path: &[Arc<str>]) -> Vec<(Arc<str>, Option<Location>, Members)> {
        let start = (root, path.to_vec());
        let under = self.keys.range(start..).take_while(|((r, p), _)| *r == root && p.starts_with(path));
        let direct = under.filter(|((_, p), _)| p.len() == path.len() + 1);
        let member = |((_, p), key): (&(Root, Vec<Arc<str>>), &Key)| {
            let name = p.last().cloned().unwrap_or_default();
            (name, Some(key.at), Members::of(self.inside(root, p)))
        };
        direct.map(member).collect()
    }

    /// The names that begin with a root's keys, for a place where these nodes have ended.
    pub fn key_names(&self, root: Root, prefix: &str, ended: &dyn Fn(usize) -> Option<Defined>) -> Vec<Name> {
        let first = |((r, path), key): (&(Root, Vec<Arc<str>>), &Key)| {
            let [name] = path.as_slice() else { return None };
            if *r != root {
                return None;
            }
            let under =
                self.keys.range((root, path.clone())..).take_while(|((r, p), _)| *r == root && p.starts_with(path));
            let writers = under.flat_map(|(_, k)| k.writers.iter()).filter_map(|w| ended(*w));
            let defined = match key.seeded {
                true => Defined::Always,
                false => writers.min_by_key(|d| *d != Defined::Always)?,
            };
            let name = format!("{prefix}{name}");
            Some(Name::new(name, defined).declared(key.at).schema(key.schema.clone()))
        };
        self.keys.iter().filter_map(first).collect()
    }
}

/// Declares the agents of a swarm: what `agents` of its node has.
fn swarm(reader: &Reader<'_>, swrm: &Swrm<'_>, node: Location) -> Member {
    let agents = swrm.members.iter().map(|member| {
        let (id, at) = (&member.id.value, reader.at(member.id.content()));
        let (kind, note) = (DeclarationKind::Agent, "an agent of a swarm");
        declare(reader, kind, id, at, member.span, Some(node), learn::text_type(), note);
        (id.clone(), Some(at), Members::default())
    });
    ("agents".into(), None, Members::of(agents.collect()))
}

#[allow(clippy::too_many_arguments, reason = "one line a field of a declaration")]
fn declare(
    reader: &Reader<'_>,
    kind: DeclarationKind,
    name: &str,
    at: Location,
    extent: Span,
    parent: Option<Location>,
    schema: Value,
    note: &str,
) {
    let note = (!note.is_empty()).then(|| note.into());
    reader.facts(|f| f.declare(Declaration { kind, name: name.into(), at, extent, parent, schema, note }));
}
