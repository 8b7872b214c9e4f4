//! The declarations of a workflow, and which of them its keys mention: for editors and rules about names. Mentions in
//! texts are recorded when the texts are bound.

use std::sync::Arc;

use trefoil_ir::DeclarationKind;
use trefoil_ir::types::Type;
use trefoil_syntax::yaml::{Node as Yaml, Text};
use trefoil_syntax::{Location, Span};

use super::child::Child;
use super::keys::places;
use super::known::Known;
use crate::Reader;
use crate::learn::{self, whole};
use crate::sirenspec::manifest::{Manifest, Node, NodeKind, OnFailure, Root, Swrm, Worker};
use crate::types::type_of;

/// Records everything. A file does not contain the name of its workflow, so its place is the first byte; `extent` is
/// the whole file.
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
    learn::declare(reader, DeclarationKind::Workflow, name, (workflow, extent, None), Type::OBJECT, "a workflow");
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

impl Say<'_, '_> {
    fn child(&self, node: usize) -> Option<&Child> {
        self.children.get(node).and_then(Option::as_ref)
    }

    fn inputs(&self) {
        for field in &self.manifest.input {
            let (schema, note) = match &field.default {
                Some(default) => (type_of(default), format!("an input with the default `{}`", default.to_text())),
                None if &*field.name.value == "message" => (Type::TEXT, "the message that starts the run".into()),
                None => (Type::Any, "an input".into()),
            };
            let place = (self.reader.at(field.name.content()), field.span, Some(self.workflow));
            learn::declare(self.reader, DeclarationKind::Input, &*field.name.value, place, schema, &note);
        }
    }

    fn agents(&self) {
        for agent in &self.manifest.agents {
            let note = agent.model.as_ref().map_or("an agent".into(), |m| format!("an agent on `{}`", m.text.value));
            let place = (self.reader.at(agent.id.content()), agent.span, Some(self.workflow));
            learn::declare(self.reader, DeclarationKind::Agent, &*agent.id.value, place, Type::TEXT, &note);
        }
    }

    fn node(&self, at: usize, node: &Node<'_>) {
        let Some(known) = self.known.nodes.get(at) else { return };
        match &node.kind {
            NodeKind::Swrm(swrm) => self.swarm(swrm, known.at),
            NodeKind::Factory(factory) => {
                for entry in &factory.inputs {
                    let note = format!("an input of every instance of `{}`", node.id.value);
                    let place = (self.reader.at(entry.key.content()), whole(entry), Some(known.at));
                    learn::declare(self.reader, DeclarationKind::Input, &*entry.key.value, place, Type::Any, &note);
                }
                if let Some(Worker::Swrm(swrm)) = &factory.worker {
                    self.swarm(swrm, known.at);
                }
            }
            _ => {}
        }
        let place = (known.at, node.span, Some(self.workflow));
        learn::declare(self.reader, DeclarationKind::Node, &*known.id, place, known.schema.clone(), &known.note);
    }

    fn swarm(&self, swrm: &Swrm<'_>, node: Location) {
        for member in &swrm.members {
            let place = (self.reader.at(member.id.content()), member.span, Some(node));
            let name = &*member.id.value;
            learn::declare(self.reader, DeclarationKind::Agent, name, place, Type::TEXT, "an agent of a swarm");
        }
    }

    fn seeds(&self, root: Root, tree: &Yaml, parent: Location) {
        for entry in tree.mapping().map(|m| m.entries.as_slice()).unwrap_or_default() {
            let at = self.reader.at(entry.key.content());
            let schema = type_of(&crate::read::to_value(&entry.value));
            let (place, note) = ((at, whole(entry), Some(parent)), format!("in `{}` from the start", root.word()));
            learn::declare(self.reader, DeclarationKind::Key, &*entry.key.value, place, schema, &note);
            self.seeds(root, &entry.value, at);
        }
    }

    /// A written path: each part is declared where it is written first, and mentioned where it is written again.
    fn write(&self, node: usize, written: &Node<'_>) {
        let Some((write, text)) = written.kind.writes().and_then(|write| Some((write, write.text?))) else { return };
        let mut parent = Some(self.workflow);
        for (depth, at) in places(write, &|span| self.reader.at(span)) {
            let Some(key) = write.path.get(..=depth).and_then(|path| self.known.keys.get(write.root, path)) else {
                return;
            };
            let name: &str = write.path.get(depth).map_or("", |name| name);
            if key.at == at {
                let schema = if depth + 1 == write.path.len() { key.first.clone() } else { Type::OBJECT };
                let note = format!("written by `{}`", self.known.id(node));
                learn::declare(self.reader, DeclarationKind::Key, name, (at, text.span, parent), schema, &note);
            } else {
                learn::names_at(self.reader, at, Some(key.at));
            }
            parent = Some(key.at);
        }
    }

    /// Records names outside templates.
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
