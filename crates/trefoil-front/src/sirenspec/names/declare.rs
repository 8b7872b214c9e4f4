//! What a workflow declares and which declarations its keys name: for editors and rules about names. Texts tell what they
//! mention when they are bound.

use std::sync::Arc;

use trefoil_ir::{Declaration, DeclarationKind, types as ir};
use trefoil_syntax::yaml::{Node as Yaml, Text};
use trefoil_syntax::{Location, Span};
use trefoil_template::Value;

use super::child::Child;
use super::keys::places;
use super::known::Known;
use crate::Reader;
use crate::learn::{self, whole};
use crate::sirenspec::manifest::{Manifest, Node, NodeKind, OnFailure, Root, Swrm, Worker};
use crate::types::{object_type, text_type, type_of};

/// Notes all of it. A workflow's name is none in its file, so this is its first byte; `extent` is all of it.
pub fn note(
    reader: &Reader<'_>,
    manifest: &Manifest<'_>,
    known: &Known,
    children: &[Option<Child>],
    (name, extent): (&str, Span),
) {
    if !reader.wants_facts() {
        return;
    }
    let workflow = reader.at(Span::new(0, 0));
    let say = Say { reader, manifest, known, children, workflow };
    let of = Thing { kind: DeclarationKind::Workflow, name, at: workflow, extent, parent: None };
    say.declare(of, object_type(), "a workflow");
    say.inputs();
    say.agents();
    for (at, node) in manifest.nodes.iter().enumerate() {
        say.node(at, node);
    }
    for (root, tree) in &manifest.state.written {
        say.seeds(*root, tree, workflow);
    }
    for (at, node) in manifest.nodes.iter().enumerate() {
        say.write(at, node);
    }
    say.references();
}

struct Say<'s, 'd> {
    reader: &'s Reader<'d>,
    manifest: &'s Manifest<'s>,
    known: &'s Known,
    children: &'s [Option<Child>],
    workflow: Location,
}

/// Something with a name.
struct Thing<'t> {
    kind: DeclarationKind,
    name: &'t str,
    at: Location,
    extent: Span,
    parent: Option<Location>,
}

impl Say<'_, '_> {
    fn declare(&self, thing: Thing<'_>, schema: Value, note: &str) {
        let Thing { kind, name, at, extent, parent } = thing;
        let note = (!note.is_empty()).then(|| note.into());
        self.reader.facts(|f| f.declare(Declaration { kind, name: name.into(), at, extent, parent, schema, note }));
    }

    fn child(&self, node: usize) -> Option<&Child> {
        self.children.get(node).and_then(Option::as_ref)
    }

    fn inputs(&self) {
        for field in &self.manifest.input {
            let (schema, note) = match &field.default {
                Some(default) => (type_of(default), format!("an input with the default `{}`", default.to_text())),
                None if &*field.name.value == "message" => (text_type(), "the message that starts the run".into()),
                None => (ir::any(), "an input".into()),
            };
            let (name, at) = (&*field.name.value, self.reader.at(field.name.content()));
            let parent = Some(self.workflow);
            self.declare(Thing { kind: DeclarationKind::Input, name, at, extent: field.span, parent }, schema, &note);
        }
    }

    fn agents(&self) {
        for agent in &self.manifest.agents {
            let note = agent.model.as_ref().map_or("an agent".into(), |m| format!("an agent on `{}`", m.text.value));
            let (name, at) = (&*agent.id.value, self.reader.at(agent.id.content()));
            let parent = Some(self.workflow);
            let thing = Thing { kind: DeclarationKind::Agent, name, at, extent: agent.span, parent };
            self.declare(thing, text_type(), &note);
        }
    }

    fn node(&self, at: usize, node: &Node<'_>) {
        let Some(known) = self.known.nodes.get(at) else { return };
        match &node.kind {
            NodeKind::Swrm(swrm) => self.swarm(swrm, known.at),
            NodeKind::Factory(factory) => {
                for entry in &factory.inputs {
                    let note = format!("an input of every instance of `{}`", node.id.value);
                    let (name, at) = (&*entry.key.value, self.reader.at(entry.key.content()));
                    let (kind, extent, parent) = (DeclarationKind::Input, whole(entry), Some(known.at));
                    self.declare(Thing { kind, name, at, extent, parent }, ir::any(), &note);
                }
                if let Some(Worker::Swrm(swrm)) = &factory.worker {
                    self.swarm(swrm, known.at);
                }
            }
            _ => {}
        }
        let (kind, name, parent) = (DeclarationKind::Node, &*known.id, Some(self.workflow));
        self.declare(Thing { kind, name, at: known.at, extent: node.span, parent }, known.schema.clone(), &known.note);
    }

    fn swarm(&self, swrm: &Swrm<'_>, node: Location) {
        for member in &swrm.members {
            let (name, at) = (&*member.id.value, self.reader.at(member.id.content()));
            let thing = Thing { kind: DeclarationKind::Agent, name, at, extent: member.span, parent: Some(node) };
            self.declare(thing, text_type(), "an agent of a swarm");
        }
    }

    fn seeds(&self, root: Root, tree: &Yaml, parent: Location) {
        for entry in tree.mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
            let (name, at) = (&*entry.key.value, self.reader.at(entry.key.content()));
            let schema = type_of(&crate::read::to_value(&entry.value));
            let thing = Thing { kind: DeclarationKind::Key, name, at, extent: whole(entry), parent: Some(parent) };
            self.declare(thing, schema, &format!("in `{}` from the start", root.word()));
            self.seeds(root, &entry.value, at);
        }
    }

    /// A written path: its parts are declared where they are written first, and named wherever they are written again.
    fn write(&self, node: usize, written: &Node<'_>) {
        let Some((write, text)) = written.kind.writes().and_then(|write| Some((write, write.text?))) else { return };
        let mut parent = Some(self.workflow);
        for (depth, at) in places(write, &|span| self.reader.at(span)) {
            let Some(key) = write.path.get(..=depth).and_then(|path| self.known.keys.get(write.root, path)) else {
                return;
            };
            let name: &str = write.path.get(depth).map_or("", |name| name);
            if key.at == at {
                let schema = if depth + 1 == write.path.len() { key.first.clone() } else { object_type() };
                let note = format!("written by `{}`", self.known.id(node));
                self.declare(Thing { kind: DeclarationKind::Key, name, at, extent: text.span, parent }, schema, &note);
            } else {
                learn::names_at(self.reader, at, Some(key.at));
            }
            parent = Some(key.at);
        }
    }

    /// What names something outside of templates.
    fn references(&self) {
        let (reader, manifest) = (self.reader, self.manifest);
        let node = |text: &Text| self.known.node_of(&text.value).and_then(|at| self.known.nodes.get(at)).map(|n| n.at);
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
                    let to = self.child(at).map(|c| Location::new(c.file, Span::new(0, 0)));
                    kind.reference.into_iter().for_each(|text| learn::names(reader, text, to));
                    let place = |name: &Arc<str>| self.child(at)?.wanted.places.iter().find(|(n, _)| n == name);
                    for (entry, (_, to)) in kind.inputs.iter().filter_map(|e| Some((e, place(&e.key.value)?))) {
                        learn::names(reader, &entry.key, Some(*to));
                    }
                }
                _ => {}
            }
        }
    }
}
