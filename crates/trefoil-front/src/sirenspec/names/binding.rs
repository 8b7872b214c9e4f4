//! Every text of a workflow, bound where it stands: what rules look at, and what lowering puts into the program.

use std::sync::Arc;

use trefoil_ir::{Cond, Position, Text};
use trefoil_syntax::hash::{HashMap, HashSet};
use trefoil_syntax::{Span, yaml};
use trefoil_template::Policy;

use super::inputs::{Inputs, Reads};
use super::known::Known;
use super::links::Links;
use super::place::Here;
use super::stand::{Reading, Stand};
use super::texts::{self, Template};
use crate::names::{Binder, End, Use};
use crate::sirenspec::manifest::{Agent, Manifest, NodeKind, Worker};
use crate::{Reader, build};

/// The texts of a workflow.
pub struct Texts<'m> {
    all: Vec<Bound<'m>>,
    by_place: HashMap<(Reading, Stand, Span), usize>,
}

/// A bound text.
pub struct Bound<'m> {
    /// Where it stands.
    pub here: Here,
    /// As written.
    pub text: &'m yaml::Text,
    /// What came of it.
    pub made: Made,
    /// What it reads.
    pub uses: Vec<Use>,
}

/// What came of a text; none where it does not parse, which was reported.
pub enum Made {
    /// A template.
    Template(Option<Text>),
    /// A condition.
    Condition(Option<Cond>),
}

impl<'m> Texts<'m> {
    /// Binds all of them. Reports those that do not parse.
    pub fn new(reader: &Reader<'_>, manifest: &'m Manifest<'m>, known: &Arc<Known>, links: &Arc<Links>) -> Self {
        let mut texts = Self { all: Vec::new(), by_place: HashMap::default() };
        let here = |who, stand, position| Here { known: known.clone(), links: links.clone(), who, stand, position };
        for (at, node) in manifest.nodes.iter().enumerate() {
            for Template { text, stand, position } in texts::of_node(manifest, node) {
                texts.template(reader, here(Reading::Node(at), stand, position), text);
            }
        }
        for link in &links.edges {
            if let Some(when) = manifest.edges.get(link.edge).and_then(|edge| edge.when) {
                texts.condition(reader, here(Reading::EdgeFrom(link.from), Stand::Plain, Position::Condition), when);
            }
        }
        for text in unused(manifest).filter_map(|agent| agent.system) {
            texts.template(reader, here(Reading::Nobody, Stand::Plain, Position::System), text);
        }
        texts
    }

    fn template(&mut self, reader: &Reader<'_>, here: Here, text: &'m yaml::Text) {
        self.add(here, text, |here| {
            let mut binder = Binder::new(here);
            let made = build::text(reader, text, &Policy::SIRENSPEC, &mut binder);
            (Made::Template(made), binder.uses)
        });
    }

    fn condition(&mut self, reader: &Reader<'_>, here: Here, text: &'m yaml::Text) {
        self.add(here, text, |here| {
            let mut binder = Binder::new(here);
            let made = build::condition(reader, text, &Policy::SIRENSPEC, &mut binder);
            (Made::Condition(made), binder.uses)
        });
    }

    /// A text that stands in several places at once (an alias of YAML) is bound once where they see the same.
    fn add(&mut self, here: Here, text: &'m yaml::Text, bind: impl FnOnce(&Here) -> (Made, Vec<Use>)) {
        let key = (here.who, here.stand, text.span);
        if self.by_place.contains_key(&key) {
            return;
        }
        let (made, uses) = bind(&here);
        self.by_place.insert(key, self.all.len());
        self.all.push(Bound { here, text, made, uses });
    }

    /// All of them: those of the nodes in the order of the file, those of the edges, those that nobody reads.
    pub fn all(&self) -> &[Bound<'m>] {
        &self.all
    }

    /// Which fields of the input they read.
    pub fn reads(&self, inputs: &Inputs) -> Reads {
        let mut reads = Reads::default();
        for Bound { here, uses, .. } in self.all.iter().filter(|text| !text.here.is_condition()) {
            for used in uses {
                let [root, field, ..] = used.reference.path.as_slice() else { continue };
                let own = || here.own_inputs().iter().any(|(name, _)| *name == field.name);
                if *root.name != *"inputs" || own() {
                    continue;
                }
                let needed = used.reference.default.is_none();
                match inputs.field(&field.name) {
                    Some(_) if matches!(used.bound.end, End::Nothing(_)) => {}
                    Some(_) => reads.field(&field.name, used.at, needed),
                    // Perhaps a factory's input, if anybody used the agent.
                    None if here.who == Reading::Nobody && !here.is_slip(&field.name) => {}
                    None if needed => reads.lack(&field.name),
                    None => {}
                }
            }
        }
        reads
    }

    /// A text by its place.
    pub fn get(&self, who: Reading, stand: Stand, text: &yaml::Text) -> Option<&Bound<'m>> {
        self.by_place.get(&(who, stand, text.span)).and_then(|at| self.all.get(*at))
    }
}

impl Bound<'_> {
    /// The template that it is.
    pub fn template(&self) -> Option<&Text> {
        match &self.made {
            Made::Template(text) => text.as_ref(),
            Made::Condition(_) => None,
        }
    }

    /// The condition that it is.
    pub fn condition(&self) -> Option<&Cond> {
        match &self.made {
            Made::Condition(cond) => cond.as_ref(),
            Made::Template(_) => None,
        }
    }
}

/// The agents that no node names.
pub fn unused<'m>(manifest: &'m Manifest<'m>) -> impl Iterator<Item = &'m Agent<'m>> {
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
