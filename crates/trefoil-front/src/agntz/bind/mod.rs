//! From manifests to bound agents: references resolved over the project, the names of every agent, each text bound where it
//! is. What cannot be resolved is noted; the mistakes in it are for `lint` to find.

mod agent;
mod declare;
mod gather;
mod index;
mod pipeline;
mod reference;
mod subject;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{FlowId, Position, Slot, SlotId, Source, types};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Location, Span};
use trefoil_template::{Policy, Value};

use crate::agntz::manifest::Agent;
use crate::agntz::names::{AgentNames, At, Here, Purpose};
use crate::agntz::signature::{Link, Prompted, Signature};
use crate::bound::BoundText;
use crate::learn;
use crate::project::Project;
use crate::read::{Findings, Reader};

use gather::Gathered;
pub use index::{Ids, id_of};
pub use reference::{LostReference, NoAgent, file_stem};

/// The agents that entries reach, by document.
pub struct Units<'p> {
    /// The project.
    pub project: &'p Project,
    /// By document, each once; none: it is not even an agent (reported).
    pub agents: BTreeMap<usize, Option<BoundAgent<'p>>>,
    /// How many flows they take.
    pub flows: u32,
    /// What reading and binding found.
    pub findings: Findings,
    /// References that lead to no single agent, in the order of finding.
    pub lost: Vec<LostReference<'p>>,
    /// Who is called what.
    pub ids: Ids<'p>,
    /// The document that is being bound, and its id.
    current: Option<(usize, Arc<str>)>,
    /// The flows of its agents, in the order in which they are written.
    own_flows: VecDeque<FlowId>,
    /// References that close a ring, by their document and place.
    rings: HashMap<(usize, Span), Vec<Link>>,
    /// How many agents call the one that is being bound, one above the other.
    depth: usize,
}

/// An agent, its names, and its texts.
pub struct BoundAgent<'p> {
    /// As it is written.
    pub agent: Arc<Agent<'p>>,
    /// Its id.
    pub id: Arc<str>,
    /// Where it is declared.
    pub origin: Location,
    /// Its name in the manifest.
    pub at: Location,
    /// It is what the run starts, so that no step around it carries its name.
    pub entry: bool,
    /// Its names.
    pub names: Arc<AgentNames>,
    /// Its slots.
    pub slots: Vec<Slot>,
    /// Whom its steps call, in their order.
    pub callees: Vec<Callee<'p>>,
    /// What its callers have to know.
    pub signature: Arc<Signature>,
    /// Its texts.
    pub texts: Texts,
}

/// Whom a step calls.
pub enum Callee<'p> {
    /// The agent of a document.
    Document(usize),
    /// One that is written in the step.
    Inline(Box<BoundAgent<'p>>),
    /// Nobody; reported.
    Nobody,
}

/// A text of an agent.
pub struct AgentText {
    /// Its place.
    pub here: Arc<Here>,
    /// The text.
    pub bound: BoundText,
}

/// The texts of an agent, and what they read.
#[derive(Default)]
pub struct Texts {
    /// In the order in which they were bound. Most agents have one or two, and a vector begins with room for four.
    pub all: Vec<Box<AgentText>>,
    by_place: HashMap<(Span, Option<usize>), usize>,
    /// Whether any reads the input.
    pub reads_input: bool,
    /// What of the input reaches a model.
    pub prompted: Prompted,
    /// Where the secret store is read first, which this version does not have.
    pub secret: Option<Location>,
}

impl Texts {
    /// A text of the manifest, in the step of this index or after all of them.
    pub fn get(&self, source: &Text, at: At) -> Option<&BoundText> {
        let text = self.by_place.get(&(source.span, step(at))).and_then(|i| self.all.get(*i))?;
        Some(&text.bound)
    }

    /// The type of the value of a text that is handed on with it.
    pub fn value_type(&self, source: &Text, at: At) -> Value {
        self.get(source, at).map_or_else(types::any, BoundText::value_type)
    }

    /// Binds a text.
    pub fn bind(
        &mut self,
        reader: &Reader<'_>,
        names: &Arc<AgentNames>,
        source: &Text,
        (at, purpose, position): (At, Purpose, Position),
    ) {
        let here = Arc::new(Here { names: names.clone(), at, purpose, position });
        let make = if purpose == Purpose::Condition { BoundText::condition } else { BoundText::template };
        let bound = make(reader.file, source, &Policy::AGNTZ, here.clone());
        learn::text(reader, &bound);
        for one in &bound.uses {
            let slot = match one.bound.source {
                Source::Slot(slot) => Some(slot).filter(|s| *s == names.input || Some(*s) == names.query),
                _ => None,
            };
            self.reads_input |= slot.is_some();
            if slot.is_some() && purpose == Purpose::Prompt {
                self.prompted.add(one.reference.path.first().map_or("userQuery", |s| &s.name));
            }
            if one.bound.source == Source::Secrets && purpose != Purpose::Unused && self.secret.is_none() {
                self.secret = Some(one.at);
            }
        }
        self.by_place.insert((source.span, step(at)), self.all.len());
        self.all.push(Box::new(AgentText { here, bound }));
    }
}

fn step(at: At) -> Option<usize> {
    match at {
        At::Step(index) => Some(index),
        At::End => None,
    }
}

/// The slots of a flow being made.
#[derive(Default)]
pub struct Slots(Vec<Slot>);

impl Slots {
    /// A new slot.
    pub fn add(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.0.push(Slot::new(name));
        SlotId(self.0.len() as u32 - 1)
    }
}

/// Binds documents and all that they reach, each document once, after those that it calls.
pub fn bind<'p>(project: &'p Project, entries: &[usize], findings: &Findings) -> Units<'p> {
    let ids = Ids::of(project);
    let Gathered { documents, order, rings, flows } = gather::gather(project, &ids, entries, findings);
    let mut units = Units {
        project,
        agents: BTreeMap::new(),
        flows,
        findings: findings.apart(),
        lost: Vec::new(),
        ids,
        current: None,
        own_flows: VecDeque::new(),
        rings,
        depth: 0,
    };
    let mut documents = documents;
    for at in order {
        let (Some(opened), Some(found)) = (documents.remove(&at), project.documents.get(at)) else { continue };
        let reader = Reader::of(project, found, opened.findings);
        let agent = opened.agent.map(|agent| {
            units.current = Some((at, agent.name().into()));
            (units.own_flows, units.depth) = (opened.flows, opened.depths.deepest());
            agent::bind(&mut units, &reader, agent, None, entries.contains(&at))
        });
        units.findings.absorb(reader.into_findings());
        units.agents.insert(at, agent);
    }
    units
}

impl Units<'_> {
    /// The flow of the next agent in the document.
    fn flow(&mut self) -> FlowId {
        self.own_flows.pop_front().unwrap_or_else(|| {
            self.flows += 1;
            FlowId(self.flows - 1)
        })
    }
}
