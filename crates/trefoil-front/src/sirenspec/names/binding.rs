//! Every text of a workflow, bound in its place. Used by rules and by lowering.

use std::sync::Arc;

use trefoil_ir::TextRole;
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Span, yaml};
use trefoil_template::Policy;

use super::inputs::{InputReads, SirenInputs};
use super::links::NodeLinks;
use super::name_scope::SirenScope;
use super::node_part::{NodePart, ReadingPoint};
use super::texts::ParsedNodeText;
use super::workflow_names::SirenNames;
use crate::bound_text::{BoundText, ParsedText};
use crate::names::PathResolution;
use crate::sirenspec::manifest::{FactoryWorker, NodeKind, SirenAgent, SirenManifest};

/// The texts of a workflow.
pub struct SirenTexts {
    all: Vec<SirenText>,
    by_place: HashMap<(ReadingPoint, NodePart, Span), usize>,
}

/// A text of a workflow.
pub struct SirenText {
    /// Its place.
    pub here: Arc<SirenScope>,
    /// The text.
    pub text: BoundText,
}

impl SirenTexts {
    /// Binds all texts; those of nodes are already parsed.
    pub fn new(
        manifest: &SirenManifest<'_>,
        known: &Arc<SirenNames>,
        links: &Arc<NodeLinks>,
        nodes: Vec<ParsedNodeText>,
    ) -> Self {
        let mut texts = Self { all: Vec::with_capacity(nodes.len() + links.edges.len()), by_place: HashMap::default() };
        let here =
            |who, stand, position| SirenScope { known: known.clone(), links: links.clone(), who, stand, position };
        for ParsedNodeText { node, stand, position, text } in nodes {
            texts.add(here(ReadingPoint::Node(node), stand, position), text);
        }
        for link in &links.edges {
            if let Some(edge) = manifest.edges.get(link.edge)
                && let Some(when) = edge.when
            {
                let here = here(ReadingPoint::EdgeFrom(link.from), NodePart::Plain, TextRole::Condition);
                texts.add(here, ParsedText::from_condition(known.file, when, &Policy::SIRENSPEC));
            }
        }
        for agent in unused_agents(manifest) {
            if let Some(text) = agent.system {
                let here = here(ReadingPoint::Nobody, NodePart::Plain, TextRole::System);
                texts.add(here, ParsedText::from_template(known.file, text, &Policy::SIRENSPEC));
            }
        }
        texts
    }

    /// A text in several places (a YAML alias) is bound once if the same names are available there.
    fn add(&mut self, here: SirenScope, text: ParsedText) {
        let key = (here.who, here.stand, text.source.span);
        if self.by_place.contains_key(&key) {
            return;
        }
        let here = Arc::new(here);
        self.by_place.insert(key, self.all.len());
        self.all.push(SirenText { text: text.bind_in_scope(here.clone()), here });
    }

    /// All texts: those of nodes in file order, those of edges, and unused ones.
    pub fn all_texts(&self) -> &[SirenText] {
        &self.all
    }

    /// The input fields that the texts read.
    pub fn input_reads(&self, inputs: &SirenInputs) -> InputReads {
        let mut reads = InputReads::default();
        for SirenText { here, text } in &self.all {
            if here.is_condition() {
                continue;
            }
            for used in &text.uses {
                let [root, field, ..] = used.reference.path.as_slice() else { continue };
                if *root.name != *"inputs" || here.own_inputs().iter().any(|(name, _)| *name == field.name) {
                    continue;
                }
                let needed = used.reference.default.is_none();
                match inputs.find_field(&field.name) {
                    Some(_) if matches!(used.bound.end, PathResolution::Nothing(_)) => {}
                    Some(_) => reads.note_field(&field.name, used.at, needed),
                    // It may be an input of a factory if the agent is used in one.
                    None if here.who == ReadingPoint::Nobody && !here.is_slip(&field.name) => {}
                    None if needed => reads.note_missing(&field.name),
                    None => {}
                }
            }
        }
        reads
    }

    /// The text at a place.
    pub fn get(&self, who: ReadingPoint, stand: NodePart, text: &yaml::YamlText) -> Option<&SirenText> {
        self.all.get(*self.by_place.get(&(who, stand, text.span))?)
    }
}

/// The agents that no node uses.
pub fn unused_agents<'a, 'm>(manifest: &'a SirenManifest<'m>) -> impl Iterator<Item = &'a SirenAgent<'m>> {
    let mut used: HashSet<&str> = HashSet::default();
    for node in &manifest.nodes {
        let agent = match &node.kind {
            NodeKind::Agent(kind) => kind.agent,
            NodeKind::Factory(kind) => match &kind.worker {
                Some(FactoryWorker::Agent(agent)) => Some(*agent),
                _ => None,
            },
            _ => None,
        };
        if let Some(agent) = agent {
            used.insert(&agent.value);
        }
    }
    manifest.agents.iter().filter(move |agent| !used.contains(&*agent.id.value))
}
