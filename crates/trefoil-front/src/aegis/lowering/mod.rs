//! From manifests to flows: each agent and workflow that a program needs is lowered once for each way of calling it.
//! The input is manifests, names and bound texts. Nothing is reported here: mistakes were reported when these were made. Each
//! file has one concern; `states/` has one for each kind of state.

mod agent;
mod condition;
mod expressions;
mod input;
mod judge;
mod lowering_context;
mod output;
mod states;
mod transition;
mod validator;
mod workflow;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use trefoil_ir::{FlowDefinition, FlowId, ProgramParts};
use trefoil_syntax::yaml::YamlText;
use trefoil_syntax::{FileId, Location};

use super::directory::AegisDirectory;
use super::manifest::AegisUnitKind;
use crate::{ProgramBuilder, Project};

pub use agent::{lower_agent as agent, lower_missing_agent as missing_agent};
pub use workflow::lower_workflow as workflow;

/// A flow that may be called: a unit, and the form of its input.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FlowKey {
    /// An agent; with `intent`, its input is an object with `input` and `intent`.
    Agent { document: usize, intent: bool },
    /// An agent that is not defined. Only the embedded model answers for it.
    Missing(Arc<str>),
    /// A workflow.
    Workflow(usize),
}

impl FlowKey {
    /// The document that it is made from.
    pub fn source_document(&self) -> Option<usize> {
        match self {
            Self::Agent { document, .. } | Self::Workflow(document) => Some(*document),
            Self::Missing(..) => None,
        }
    }
}

/// A flow to be lowered.
pub struct PendingFlow {
    /// Its key.
    pub key: FlowKey,
    /// Its id, which calls refer to.
    pub id: FlowId,
    /// Whether it is only a candidate: a template selects the called flow by its name at run time, and might select this one.
    /// Mistakes in a candidate are reported only for its own file.
    pub candidate: bool,
}

/// A place where a flow is called by name.
pub struct NamedFlowCall {
    /// The calling flow.
    pub from: FlowId,
    /// The called flow.
    pub to: FlowId,
    /// The name.
    pub name: Arc<str>,
    /// Where the name is written.
    pub at: Location,
}

/// A program under construction.
pub struct AegisLowering<'p> {
    /// The documents that may be called.
    pub project: &'p Project,
    /// The documents by name, as seen from the current document.
    pub directory: AegisDirectory<'p>,
    /// The calls with literal names.
    pub calls: Vec<NamedFlowCall>,
    builder: ProgramBuilder,
    /// The flows that have an id, lowered or not.
    flows: IndexMap<FlowKey, FlowId>,
    /// The flows to be lowered that are certainly named by a document.
    queue: VecDeque<PendingFlow>,
    /// The flows to be lowered that are only candidates. They come after those in `queue`, which may still turn some of them into
    /// certain ones.
    candidates: VecDeque<PendingFlow>,
    /// The current flow, and whether it is a candidate.
    current: Option<(FlowId, bool)>,
    /// The flows that a run can start.
    entries: BTreeSet<FlowId>,
    /// The documents of the lowered flows.
    used_documents: BTreeSet<usize>,
    /// Texts from outside the documents that became part of the program.
    embedded_texts: Vec<Arc<str>>,
}

impl<'p> AegisLowering<'p> {
    /// A program of this project.
    pub fn new(project: &'p Project) -> Self {
        Self {
            project,
            builder: ProgramBuilder::default(),
            directory: AegisDirectory::for_project(project),
            flows: IndexMap::new(),
            queue: VecDeque::new(),
            candidates: VecDeque::new(),
            current: None,
            calls: Vec::new(),
            entries: BTreeSet::new(),
            used_documents: BTreeSet::new(),
            embedded_texts: Vec::new(),
        }
    }

    /// The flow with this key. A new one is added to the list of flows to be lowered. What a candidate calls is a candidate, too.
    pub fn flow_for(&mut self, key: FlowKey) -> FlowId {
        let is_candidate = matches!(self.current, Some((_, true)));
        self.find_or_add_flow(key, is_candidate)
    }

    /// The same for a flow that a run can start.
    pub fn entry_flow(&mut self, key: FlowKey) -> FlowId {
        let id = self.flow_for(key);
        self.entries.insert(id);
        id
    }

    /// The next flow to be lowered.
    pub fn next(&mut self) -> Option<PendingFlow> {
        let next = self.queue.pop_front().or_else(|| self.candidates.pop_front())?;
        self.current = Some((next.id, next.candidate));
        if let Some(document) = next.key.source_document() {
            self.used_documents.insert(document);
            self.directory = self.directory.seen_from(document);
        }
        Some(next)
    }

    /// Stores a lowered flow. If there is none because of mistakes, a stand-in takes its place, so that ids stay in
    /// range.
    pub fn store_flow(&mut self, pending: &PendingFlow, flow: Option<FlowDefinition>) {
        let sort = if matches!(pending.key, FlowKey::Workflow(_)) { "workflow" } else { "agent" };
        let origin = self.directory.document_location(pending.key.source_document().unwrap_or(0));
        let flow = flow.unwrap_or_else(|| self.builder.stand_in(sort, origin));
        self.builder.set_flow(pending.id, flow);
        self.current = None;
    }

    /// The program; a run starts the first entry.
    pub fn finish_program(self, entries: &[(usize, FlowId)]) -> Option<ProgramParts> {
        let mut texts: Vec<Arc<str>> = Vec::new();
        for index in &self.used_documents {
            if let Some(document) = self.project.documents.get(*index)
                && let Some(file) = self.project.files.get(document.file)
            {
                texts.push(file.text().clone());
            }
        }
        texts.extend(self.embedded_texts);
        self.builder.finish_program(entries.first()?.1, texts.iter().map(|text| &**text))
    }

    fn find_or_add_flow(&mut self, key: FlowKey, is_candidate: bool) -> FlowId {
        if let Some(id) = self.flows.get(&key) {
            // A candidate that is not lowered yet, and is now certainly called, is no longer only a candidate.
            if !is_candidate
                && let Some(index) = self.candidates.iter().position(|pending| pending.key == key)
                && let Some(pending) = self.candidates.remove(index)
            {
                self.queue.push_back(PendingFlow { candidate: false, ..pending });
            }
            return *id;
        }
        let id = self.builder.reserve_flow();
        self.flows.insert(key.clone(), id);
        let pending = PendingFlow { key, id, candidate: is_candidate };
        if is_candidate {
            self.candidates.push_back(pending);
        } else {
            self.queue.push_back(pending);
        }
        id
    }

    /// Whether the current flow is one that a run can start.
    fn is_entry(&self) -> bool {
        matches!(&self.current, Some((id, _)) if self.entries.contains(id))
    }

    /// The agent with this name, for a call; the first one if there are several. An agent that is not defined gets a flow, too.
    fn agent_flow(&mut self, file: FileId, name: &YamlText, intent: bool) -> FlowId {
        let at = Location::new(file, name.span);
        let Some(document) = self.directory.find_documents(AegisUnitKind::Agent, &name.value).first().copied() else {
            self.builder.missing_agent(&name.value, at);
            // It reads only its input; the caller adds the intent to it.
            return self.flow_for(FlowKey::Missing(name.value.clone()));
        };
        let id = self.flow_for(FlowKey::Agent { document, intent });
        self.record_call(id, &name.value, at);
        id
    }

    /// Whether an agent with this name is declared.
    fn declares_agent(&self, name: &str) -> bool {
        self.directory.document_of(AegisUnitKind::Agent, name).is_some()
    }

    /// The workflow with this name, for a call. `None` if it is not defined.
    fn workflow_flow(&mut self, file: FileId, name: &YamlText) -> Option<FlowId> {
        let document = *self.directory.find_documents(AegisUnitKind::Workflow, &name.value).first()?;
        let id = self.flow_for(FlowKey::Workflow(document));
        self.record_call(id, &name.value, Location::new(file, name.span));
        Some(id)
    }

    /// All agents (or all workflows) by name, for a call in which a template selects one of them at run time.
    fn candidate_flows(&mut self, unit: AegisUnitKind) -> Vec<(Arc<str>, FlowId)> {
        let mut flows = Vec::new();
        for (name, document) in self.directory.list_units(unit) {
            let key = match unit {
                AegisUnitKind::Agent => FlowKey::Agent { document, intent: false },
                AegisUnitKind::Workflow => FlowKey::Workflow(document),
            };
            flows.push((name, self.find_or_add_flow(key, true)));
        }
        flows
    }

    /// Records that the current flow calls another one by its name.
    fn record_call(&mut self, to: FlowId, name: &Arc<str>, at: Location) {
        if let Some((from, _)) = self.current {
            self.calls.push(NamedFlowCall { from, to, name: name.clone(), at });
        }
    }
}
