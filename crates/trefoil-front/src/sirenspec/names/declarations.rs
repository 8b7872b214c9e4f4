//! The declarations of a workflow, and which of them its keys mention: for editors and rules about names. Mentions in
//! texts are recorded when the texts are bound.

use std::sync::Arc;

use trefoil_ir::DeclarationKind;
use trefoil_ir::types::ValueType;
use trefoil_syntax::yaml::{YamlNode as Yaml, YamlText};
use trefoil_syntax::{Location, Span};

use super::callee::SirenCallee;
use super::keys::part_locations;
use super::workflow_names::SirenNames;
use crate::ManifestReader;
use crate::name_facts::{self, key_value_span};
use crate::sirenspec::manifest::{
    FactoryWorker, NodeFailurePolicy, NodeKind, SirenManifest, SirenNode, SirenSwarm, StateTree,
};
use crate::types::type_of;

/// Records everything. A file does not contain the name of its workflow, so its place is the first byte; `extent` is
/// the whole file.
pub fn record_declarations(
    reader: &ManifestReader<'_>,
    manifest: &SirenManifest<'_>,
    known: &SirenNames,
    children: &[Option<SirenCallee>],
    (name, extent): (&str, Span),
) {
    if !reader.wants_facts() {
        return;
    }
    let workflow = reader.location_of(Span::new(0, 0));
    let say = DeclarationRecorder { reader, manifest, known, children, workflow };
    name_facts::record_declaration(
        reader,
        DeclarationKind::Workflow,
        name,
        (workflow, extent, None),
        ValueType::OBJECT,
        "a workflow",
    );
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

struct DeclarationRecorder<'s, 'd> {
    reader: &'s ManifestReader<'d>,
    manifest: &'s SirenManifest<'s>,
    known: &'s SirenNames,
    children: &'s [Option<SirenCallee>],
    workflow: Location,
}

impl DeclarationRecorder<'_, '_> {
    fn child(&self, node: usize) -> Option<&SirenCallee> {
        self.children.get(node)?.as_ref()
    }

    fn inputs(&self) {
        for field in &self.manifest.input {
            let (schema, note) = match &field.default {
                Some(default) => (type_of(default), format!("an input with the default `{}`", default.to_text())),
                None if &*field.name.value == "message" => (ValueType::TEXT, "the message that starts the run".into()),
                None => (ValueType::Any, "an input".into()),
            };
            let place = (self.reader.location_of(field.name.content_span()), field.span, Some(self.workflow));
            name_facts::record_declaration(
                self.reader,
                DeclarationKind::Input,
                &*field.name.value,
                place,
                schema,
                &note,
            );
        }
    }

    fn agents(&self) {
        for agent in &self.manifest.agents {
            let note = match &agent.model {
                Some(model) => format!("an agent on `{}`", model.text.value),
                None => "an agent".into(),
            };
            let place = (self.reader.location_of(agent.id.content_span()), agent.span, Some(self.workflow));
            name_facts::record_declaration(
                self.reader,
                DeclarationKind::Agent,
                &*agent.id.value,
                place,
                ValueType::TEXT,
                &note,
            );
        }
    }

    fn node(&self, at: usize, node: &SirenNode<'_>) {
        let Some(known) = self.known.nodes.get(at) else { return };
        match &node.kind {
            NodeKind::Swrm(swrm) => self.swarm(swrm, known.at),
            NodeKind::Factory(factory) => {
                for entry in &factory.inputs {
                    let note = format!("an input of every instance of `{}`", node.id.value);
                    let place =
                        (self.reader.location_of(entry.key.content_span()), key_value_span(entry), Some(known.at));
                    name_facts::record_declaration(
                        self.reader,
                        DeclarationKind::Input,
                        &*entry.key.value,
                        place,
                        ValueType::Any,
                        &note,
                    );
                }
                if let Some(FactoryWorker::Swrm(swrm)) = &factory.worker {
                    self.swarm(swrm, known.at);
                }
            }
            _ => {}
        }
        let place = (known.at, node.span, Some(self.workflow));
        name_facts::record_declaration(
            self.reader,
            DeclarationKind::Node,
            &*known.id,
            place,
            known.schema.clone(),
            &known.note,
        );
    }

    fn swarm(&self, swrm: &SirenSwarm<'_>, node: Location) {
        for member in &swrm.members {
            let place = (self.reader.location_of(member.id.content_span()), member.span, Some(node));
            let name = &*member.id.value;
            name_facts::record_declaration(
                self.reader,
                DeclarationKind::Agent,
                name,
                place,
                ValueType::TEXT,
                "an agent of a swarm",
            );
        }
    }

    fn seeds(&self, root: StateTree, tree: &Yaml, parent: Location) {
        let Some(mapping) = tree.as_mapping() else { return };
        for entry in &mapping.entries {
            let at = self.reader.location_of(entry.key.content_span());
            let schema = type_of(&crate::yaml_reader::to_value(&entry.value));
            let (place, note) =
                ((at, key_value_span(entry), Some(parent)), format!("in `{}` from the start", root.tree_name()));
            name_facts::record_declaration(self.reader, DeclarationKind::Key, &*entry.key.value, place, schema, &note);
            self.seeds(root, &entry.value, at);
        }
    }

    /// A written path: each part is declared where it is written first, and mentioned where it is written again.
    fn write(&self, node: usize, written: &SirenNode<'_>) {
        let Some(write) = written.kind.node_write() else { return };
        let Some(text) = write.text else { return };
        let mut parent = Some(self.workflow);
        for (depth, at) in part_locations(write, &|span| self.reader.location_of(span)) {
            let Some(path) = write.path.get(..=depth) else { return };
            let (Some(name), Some(key)) = (path.last(), self.known.keys.get(write.root, path)) else { return };
            if key.at == at {
                let schema = if depth + 1 == write.path.len() { key.first.clone() } else { ValueType::OBJECT };
                let note = format!("written by `{}`", self.known.node_id(node));
                name_facts::record_declaration(
                    self.reader,
                    DeclarationKind::Key,
                    &**name,
                    (at, text.span, parent),
                    schema,
                    &note,
                );
            } else {
                name_facts::names_at(self.reader, at, Some(key.at));
            }
            parent = Some(key.at);
        }
    }

    /// Records names outside templates.
    fn references(&self) {
        for edge in &self.manifest.edges {
            self.mention_node(edge.from);
            self.mention_node(edge.to);
        }
        self.mention_fallback(self.manifest.defaults.on_failure.as_ref());
        for (at, written) in self.manifest.nodes.iter().enumerate() {
            match &written.kind {
                NodeKind::Agent(kind) => {
                    if let Some(agent) = kind.agent {
                        self.mention_agent(agent);
                    }
                    self.mention_fallback(kind.on_failure.as_ref());
                }
                NodeKind::Factory(kind) => {
                    if let Some(FactoryWorker::Agent(agent)) = &kind.worker {
                        self.mention_agent(agent);
                    }
                }
                NodeKind::Call(kind) => {
                    if let Some(reference) = kind.reference {
                        let file = self.child(at).map(|child| Location::new(child.file, Span::new(0, 0)));
                        name_facts::record_mention(self.reader, reference, file);
                    }
                    for entry in &kind.inputs {
                        if let Some(declared) = self.input_of_child(at, &entry.key.value) {
                            name_facts::record_mention(self.reader, &entry.key, Some(declared));
                        }
                    }
                }
                _ => {}
            }
        }
    }

    fn mention_node(&self, text: &YamlText) {
        let node = match self.known.node_of(&text.value) {
            Some(at) => self.known.nodes.get(at),
            None => None,
        };
        name_facts::record_mention(self.reader, text, node.map(|node| node.at));
    }

    fn mention_agent(&self, text: &YamlText) {
        let agent = self.manifest.find_agent(&text.value);
        let declared = agent.map(|agent| self.reader.location_of(agent.id.content_span()));
        name_facts::record_mention(self.reader, text, declared);
    }

    fn mention_fallback(&self, on_failure: Option<&NodeFailurePolicy<'_>>) {
        if let Some(NodeFailurePolicy::Fallback(target)) = on_failure {
            self.mention_node(target);
        }
    }

    /// Where the workflow that a node calls declares an input.
    fn input_of_child(&self, node: usize, name: &Arc<str>) -> Option<Location> {
        let (_, at) = self.child(node)?.wanted.places.iter().find(|(known, _)| known == name)?;
        Some(*at)
    }
}
