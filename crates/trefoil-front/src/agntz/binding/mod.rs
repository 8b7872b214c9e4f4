//! From manifests to bound agents: resolves references within the project, collects the names of every agent, and binds
//! each text in its place. What cannot be resolved is recorded; `lint` reports the mistakes.

mod agent;
mod binding_subject;
mod declarations;
mod id_index;
mod pipeline;
mod reachable_documents;
mod reference;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::types::ValueType;
use trefoil_ir::{FlowId, IndexVec, Slot, SlotId, Source, TextRole};
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{Location, Span};
use trefoil_template::Policy;

use crate::agntz::manifest::AgntzAgentManifest;
use crate::agntz::names::{AgntzAgentNames, AgntzScope, AgntzTextPurpose, PipelinePosition};
use crate::agntz::signature::{AgentSignature, CycleLink, PromptedInputs};
use crate::bound_text::BoundText;
use crate::name_facts;
use crate::project::Project;
use crate::yaml_reader::{CompileFindings, ManifestReader};

pub use id_index::{AgntzIdIndex, id_of};
use reachable_documents::ReachableDocuments;
pub use reference::{LostReference, NoAgent, file_stem};

/// The agents that can be reached from entries, by document.
pub struct AgntzUnits<'p> {
    /// The project.
    pub project: &'p Project,
    /// Each agent once, by document; `None`: the document is not an agent (reported).
    pub agents: BTreeMap<usize, Option<BoundAgent<'p>>>,
    /// The number of flows that they need.
    pub flows: u32,
    /// The findings of reading and binding.
    pub findings: CompileFindings,
    /// References that do not resolve to a single agent, in the order in which they were found.
    pub lost: Vec<LostReference<'p>>,
    /// The index of ids.
    pub ids: AgntzIdIndex<'p>,
    /// The document being bound, and its id.
    current: Option<(usize, Arc<str>)>,
    /// The flows of its agents, in file order.
    own_flows: VecDeque<FlowId>,
    /// References that close a cycle, by document and span.
    rings: HashMap<(usize, Span), Vec<CycleLink>>,
    /// The depth of calls at the agent being bound.
    depth: usize,
}

/// An agent, its names and its texts.
pub struct BoundAgent<'p> {
    /// The agent as written.
    pub agent: Arc<AgntzAgentManifest<'p>>,
    /// Its id.
    pub id: Arc<str>,
    /// Where it is declared.
    pub origin: Location,
    /// The place of its name in the manifest.
    pub at: Location,
    /// Whether it is an entry, so no step is named after it.
    pub entry: bool,
    /// Its names.
    pub names: Arc<AgntzAgentNames>,
    /// Its slots.
    pub slots: IndexVec<SlotId, Slot>,
    /// The agents that its steps call, in order.
    pub callees: Vec<AgntzCallee<'p>>,
    /// What its callers need to know.
    pub signature: Arc<AgentSignature>,
    /// Its texts.
    pub texts: AgntzTexts,
}

/// The agent that a step calls.
pub enum AgntzCallee<'p> {
    /// The agent of a document.
    Document(usize),
    /// An agent written in the step.
    Inline(Box<BoundAgent<'p>>),
    /// No agent; reported.
    Nobody,
}

/// A text of an agent.
pub struct AgentText {
    /// Its place.
    pub here: Arc<AgntzScope>,
    /// The text.
    pub bound: BoundText,
}

/// The texts of an agent, and what they read.
#[derive(Default)]
pub struct AgntzTexts {
    /// In the order in which they were bound. Boxed: most agents have one or two texts, but a vector initially
    /// allocates room for four.
    pub all: Vec<Box<AgentText>>,
    by_place: HashMap<(Span, Option<usize>), usize>,
    /// Whether any text reads the input.
    pub reads_input: bool,
    /// The parts of the input that reach a model.
    pub prompted: PromptedInputs,
}

impl AgntzTexts {
    /// A text of the manifest, in the step with this index or after all steps.
    pub fn get(&self, source: &YamlText, at: PipelinePosition) -> Option<&BoundText> {
        let index = self.by_place.get(&(source.span, step(at)))?;
        Some(&self.all.get(*index)?.bound)
    }

    /// The type of a text's value in a typed position.
    pub fn value_type(&self, source: &YamlText, at: PipelinePosition) -> ValueType {
        match self.get(source, at) {
            Some(bound) => bound.value_type(),
            None => ValueType::Any,
        }
    }

    /// Binds a text.
    pub fn bind_text(
        &mut self,
        reader: &ManifestReader<'_>,
        names: &Arc<AgntzAgentNames>,
        source: &YamlText,
        (at, purpose, position): (PipelinePosition, AgntzTextPurpose, TextRole),
    ) {
        let here = Arc::new(AgntzScope { names: names.clone(), at, purpose, position });
        let make =
            if purpose == AgntzTextPurpose::Condition { BoundText::from_condition } else { BoundText::from_template };
        let bound = make(reader.file, source, &Policy::AGNTZ, here.clone());
        name_facts::record_text(reader, &bound);
        for used in &bound.uses {
            let reads_input = match used.bound.source {
                Source::Slot(slot) => slot == names.input || Some(slot) == names.query,
                _ => false,
            };
            self.reads_input |= reads_input;
            if reads_input && purpose == AgntzTextPurpose::Prompt {
                self.prompted.add_name(match used.reference.path.first() {
                    Some(segment) => &segment.name,
                    None => "userQuery",
                });
            }
        }
        self.by_place.insert((source.span, step(at)), self.all.len());
        self.all.push(Box::new(AgentText { here, bound }));
    }
}

fn step(at: PipelinePosition) -> Option<usize> {
    match at {
        PipelinePosition::Step(index) => Some(index),
        PipelinePosition::End => None,
    }
}

/// Binds documents and everything that they reach, each document once, after those that it calls.
pub fn bind_documents<'p>(project: &'p Project, entries: &[usize], findings: &CompileFindings) -> AgntzUnits<'p> {
    let ids = AgntzIdIndex::for_project(project);
    let ReachableDocuments { documents, order, rings, flows } =
        reachable_documents::gather_documents(project, &ids, entries, findings);
    let mut units = AgntzUnits {
        project,
        agents: BTreeMap::new(),
        flows,
        findings: findings.empty_copy(),
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
        let reader = ManifestReader::for_document(project, found, opened.findings);
        let agent = opened.agent.map(|agent| {
            units.current = Some((at, agent.name().into()));
            (units.own_flows, units.depth) = (opened.flows, opened.depths.max_depth());
            agent::bind_agent(&mut units, &reader, agent, None, entries.contains(&at))
        });
        units.findings.add_findings(reader.into_findings());
        units.agents.insert(at, agent);
    }
    units
}

impl AgntzUnits<'_> {
    /// Every text of every agent, of those in steps too.
    pub fn bound_texts(&self) -> Vec<&BoundText> {
        let mut texts = Vec::new();
        let mut next: Vec<&BoundAgent<'_>> = self.agents.values().rev().flatten().collect();
        while let Some(agent) = next.pop() {
            texts.extend(agent.texts.all.iter().map(|text| &text.bound));
            for callee in agent.callees.iter().rev() {
                if let AgntzCallee::Inline(inner) = callee {
                    next.push(inner);
                }
            }
        }
        texts
    }
    /// The flow of the next agent in the document.
    fn flow(&mut self) -> FlowId {
        if let Some(flow) = self.own_flows.pop_front() {
            return flow;
        }
        self.flows += 1;
        FlowId(self.flows - 1)
    }
}
