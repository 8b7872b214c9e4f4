//! From manifests to flows: each agent and workflow that a program needs is lowered once for each way of calling it.
//! The input is manifests, names and bound texts; nothing is reported. One file for each concern; `states/` has one for
//! each kind of state.

mod agent;
mod condition;
mod input;
mod judge;
mod output;
mod pieces;
mod scene;
mod states;
mod transition;
mod validator;
mod workflow;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use trefoil_ir::{Flow, FlowId, ProgramParts};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{FileId, Location};

use super::directory::Directory;
use super::manifest::Unit;
use crate::{Builder, Project};

pub use agent::{lower as agent, missing as missing_agent};
pub use workflow::lower as workflow;

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
    pub fn document(&self) -> Option<usize> {
        match self {
            Self::Agent { document, .. } | Self::Workflow(document) => Some(*document),
            Self::Missing(..) => None,
        }
    }
}

/// A flow to be lowered.
pub struct Work {
    /// Its key.
    pub key: FlowKey,
    /// Its id, which calls refer to.
    pub id: FlowId,
    /// Whether only a template may name it. Mistakes in it then belong to its own file.
    pub candidate: bool,
}

/// A place where a flow is called by name.
pub struct CallSite {
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
pub struct Lowering<'p> {
    /// The documents that may be called.
    pub project: &'p Project,
    /// The documents by name, as seen from the current document.
    pub directory: Directory<'p>,
    /// The calls with literal names.
    pub calls: Vec<CallSite>,
    builder: Builder,
    flows: IndexMap<FlowKey, FlowId>,
    queue: VecDeque<Work>,
    candidates: VecDeque<Work>,
    /// The current flow, and whether it is a candidate.
    current: Option<(FlowId, bool)>,
    /// The flows that a run can start.
    entries: BTreeSet<FlowId>,
    used: BTreeSet<usize>,
    /// Texts from outside the documents that became part of the program.
    baked: Vec<Arc<str>>,
}

impl<'p> Lowering<'p> {
    /// A program of this project.
    pub fn new(project: &'p Project) -> Self {
        Self {
            project,
            builder: Builder::default(),
            directory: Directory::of(project),
            flows: IndexMap::new(),
            queue: VecDeque::new(),
            candidates: VecDeque::new(),
            current: None,
            calls: Vec::new(),
            entries: BTreeSet::new(),
            used: BTreeSet::new(),
            baked: Vec::new(),
        }
    }

    /// The flow with this key. A new one is added to the list of flows to be lowered.
    pub fn flow(&mut self, key: FlowKey) -> FlowId {
        let candidate = self.current.is_some_and(|(_, candidate)| candidate);
        self.flow_as(key, candidate)
    }

    /// The same for a flow that a run can start.
    pub fn entry(&mut self, key: FlowKey) -> FlowId {
        let id = self.flow(key);
        self.entries.insert(id);
        id
    }

    /// The next flow to be lowered.
    pub fn next(&mut self) -> Option<Work> {
        let next = self.queue.pop_front().or_else(|| self.candidates.pop_front())?;
        self.current = Some((next.id, next.candidate));
        if let Some(document) = next.key.document() {
            self.used.insert(document);
            self.directory = self.directory.seen_from(document);
        }
        Some(next)
    }

    /// Stores a lowered flow. If there is none because of mistakes, a stand-in takes its place, so that ids stay in
    /// range.
    pub fn done(&mut self, work: &Work, flow: Option<Flow>) {
        let sort = if matches!(work.key, FlowKey::Workflow(_)) { "workflow" } else { "agent" };
        let origin = self.directory.origin(work.key.document().unwrap_or(0));
        let flow = flow.unwrap_or_else(|| self.builder.stand_in(sort, origin));
        self.builder.set_flow(work.id, flow);
        self.current = None;
    }

    /// The program; a run starts the first entry.
    pub fn finish(self, entries: &[(usize, FlowId)]) -> Option<ProgramParts> {
        let documents = self.used.iter().filter_map(|d| self.project.documents.get(*d));
        let files = documents.filter_map(|d| self.project.files.get(d.file)).map(|f| f.text().clone());
        let texts: Vec<Arc<str>> = files.chain(self.baked.iter().cloned()).collect();
        self.builder.finish(entries.first()?.1, texts.iter().map(|t| &**t))
    }

    fn flow_as(&mut self, key: FlowKey, candidate: bool) -> FlowId {
        if let Some(id) = self.flows.get(&key) {
            if !candidate && let Some(at) = self.candidates.iter().position(|w| w.key == key) {
                self.queue.extend(self.candidates.remove(at).map(|w| Work { candidate: false, ..w }));
            }
            return *id;
        }
        let id = self.builder.reserve_flow();
        self.flows.insert(key.clone(), id);
        let work = Work { key, id, candidate };
        if candidate {
            self.candidates.push_back(work)
        } else {
            self.queue.push_back(work)
        }
        id
    }

    /// Whether the current flow is one that a run can start.
    fn is_entry(&self) -> bool {
        self.current.is_some_and(|(id, _)| self.entries.contains(&id))
    }

    /// The agent with this name; the first one if there are several.
    fn agent(&mut self, file: FileId, name: &Text, intent: bool) -> FlowId {
        let at = Location::new(file, name.span);
        let Some(document) = self.directory.find(Unit::Agent, &name.value).first().copied() else {
            self.builder.missing_agent(&name.value, at);
            // It reads only its input; the caller adds the intent to it.
            return self.flow(FlowKey::Missing(name.value.clone()));
        };
        let id = self.flow(FlowKey::Agent { document, intent });
        self.note_call(id, &name.value, at);
        id
    }

    /// Whether an agent with this name is declared.
    fn declares_agent(&self, name: &str) -> bool {
        self.directory.document(Unit::Agent, name).is_some()
    }

    /// The workflow with this name, if there is one.
    fn workflow(&mut self, file: FileId, name: &Text) -> Option<FlowId> {
        let document = *self.directory.find(Unit::Workflow, &name.value).first()?;
        let id = self.flow(FlowKey::Workflow(document));
        self.note_call(id, &name.value, Location::new(file, name.span));
        Some(id)
    }

    /// All agents (or workflows) by name, from which a template selects one.
    fn choice(&mut self, unit: Unit) -> Vec<(Arc<str>, FlowId)> {
        let all = self.directory.all(unit);
        all.into_iter()
            .map(|(name, document)| {
                let key = match unit {
                    Unit::Agent => FlowKey::Agent { document, intent: false },
                    Unit::Workflow => FlowKey::Workflow(document),
                };
                (name, self.flow_as(key, true))
            })
            .collect()
    }

    fn note_call(&mut self, to: FlowId, name: &Arc<str>, at: Location) {
        if let Some((from, _)) = self.current {
            self.calls.push(CallSite { from, to, name: name.clone(), at });
        }
    }
}
