//! Every text of a workflow, bound in its place. Used by rules and by lowering.

use std::sync::Arc;

use trefoil_ir::Position;
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Span, yaml};
use trefoil_template::Policy;

use super::inputs::{Inputs, Reads};
use super::known::Known;
use super::links::Links;
use super::place::Here;
use super::stand::{Reading, Stand};
use super::texts::OfNode;
use crate::bound::{BoundText, Parsed};
use crate::names::End;
use crate::sirenspec::manifest::{Agent, Manifest, NodeKind, Worker};

/// The texts of a workflow.
pub struct Texts {
    all: Vec<Bound>,
    by_place: HashMap<(Reading, Stand, Span), usize>,
}

/// A text of a workflow.
pub struct Bound {
    /// Its place.
    pub here: Arc<Here>,
    /// The text.
    pub text: BoundText,
}

impl Texts {
    /// Binds all texts; those of nodes are already parsed.
    pub fn new(manifest: &Manifest<'_>, known: &Arc<Known>, links: &Arc<Links>, nodes: Vec<OfNode>) -> Self {
        let mut texts = Self { all: Vec::with_capacity(nodes.len() + links.edges.len()), by_place: HashMap::default() };
        let here = |who, stand, position| Here { known: known.clone(), links: links.clone(), who, stand, position };
        for OfNode { node, stand, position, text } in nodes {
            texts.add(here(Reading::Node(node), stand, position), text);
        }
        for link in &links.edges {
            if let Some(when) = manifest.edges.get(link.edge).and_then(|edge| edge.when) {
                let here = here(Reading::EdgeFrom(link.from), Stand::Plain, Position::Condition);
                texts.add(here, Parsed::condition(known.file, when, &Policy::SIRENSPEC));
            }
        }
        for text in unused(manifest).filter_map(|agent| agent.system) {
            let here = here(Reading::Nobody, Stand::Plain, Position::System);
            texts.add(here, Parsed::template(known.file, text, &Policy::SIRENSPEC));
        }
        texts
    }

    /// A text in several places (a YAML alias) is bound once if the same names are available there.
    fn add(&mut self, here: Here, text: Parsed) {
        let key = (here.who, here.stand, text.source.span);
        if self.by_place.contains_key(&key) {
            return;
        }
        let here = Arc::new(here);
        self.by_place.insert(key, self.all.len());
        self.all.push(Bound { text: text.bind(here.clone()), here });
    }

    /// All texts: those of nodes in file order, those of edges, and unused ones.
    pub fn all(&self) -> &[Bound] {
        &self.all
    }

    /// The input fields that the texts read.
    pub fn reads(&self, inputs: &Inputs) -> Reads {
        let mut reads = Reads::default();
        for Bound { here, text } in self.all.iter().filter(|text| !text.here.is_condition()) {
            for used in &text.uses {
                let [root, field, ..] = used.reference.path.as_slice() else { continue };
                let own = || here.own_inputs().iter().any(|(name, _)| *name == field.name);
                if *root.name != *"inputs" || own() {
                    continue;
                }
                let needed = used.reference.default.is_none();
                match inputs.field(&field.name) {
                    Some(_) if matches!(used.bound.end, End::Nothing(_)) => {}
                    Some(_) => reads.field(&field.name, used.at, needed),
                    // It may be an input of a factory if the agent is used in one.
                    None if here.who == Reading::Nobody && !here.is_slip(&field.name) => {}
                    None if needed => reads.lack(&field.name),
                    None => {}
                }
            }
        }
        reads
    }

    /// The text at a place.
    pub fn get(&self, who: Reading, stand: Stand, text: &yaml::Text) -> Option<&Bound> {
        self.by_place.get(&(who, stand, text.span)).and_then(|at| self.all.get(*at))
    }
}

/// The agents that no node uses.
pub fn unused<'a, 'm>(manifest: &'a Manifest<'m>) -> impl Iterator<Item = &'a Agent<'m>> {
    let named = manifest.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Agent(kind) => kind.agent,
        NodeKind::Factory(kind) => match &kind.worker {
            Some(Worker::Agent(agent)) => Some(*agent),
            _ => None,
        },
        _ => None,
    });
    let used: HashSet<&str> = named.map(|text| &*text.value).collect();
    manifest.agents.iter().filter(move |agent| !used.contains(&*agent.id.value))
}
