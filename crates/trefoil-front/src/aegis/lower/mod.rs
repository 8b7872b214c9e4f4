//! From manifests to flows. One program's worth of work: the document that is run, and every agent and workflow that it
//! names, each lowered once per way of calling it. One file a concern; `states/` has one a kind of state.

mod agent;
mod condition;
mod directory;
mod given;
mod input;
mod judge;
mod names;
mod output;
mod paths;
mod pieces;
mod prompt;
mod shell;
mod states;
mod transition;
mod validator;
mod workflow;

use std::cell::RefCell;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use indexmap::IndexMap;
use trefoil_ir::{Flow, FlowId, Intake, Refused, Slot, SlotId, StepKind};
use trefoil_syntax::yaml::Text;
use trefoil_syntax::{Diagnostic, Diagnostics, Location};

use self::directory::Directory;
use super::manifest::{self, Unit};
use crate::build::plain;
use crate::learn;
use crate::{Builder, Findings, Lowered, Project, Reader};

/// Lowers a document as the entry of a program.
pub fn program(project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
    let root = &project.documents.get(document)?.root;
    let key = match manifest::unit(root) {
        Some(Unit::Workflow) => FlowKey::Workflow(document),
        // What is neither is read as what it looks like, to report what is wrong with its header.
        None if manifest::looks_like(root) == Some(Unit::Workflow) => FlowKey::Workflow(document),
        Some(Unit::Agent) | None => FlowKey::Agent { document, intent: false },
    };
    let mut lowering = Lowering::new(project, document);
    let entry = lowering.flow(key);
    while let Some(next) = lowering.queue.pop_front().or_else(|| lowering.candidates.pop_front()) {
        lowering.lower(next, findings);
    }
    lowering.report_cycles(&mut findings.diagnostics);
    let texts = lowering.texts();
    let program = lowering.builder.finish(entry, texts.iter().map(|t| &**t))?;
    Some(Lowered { program, env_files: Vec::new() })
}

/// A flow that may be called: a unit, and how its input comes.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FlowKey {
    /// An agent; with `intent` its input is an object of `input` and `intent`.
    Agent { document: usize, intent: bool },
    /// An agent that nobody declares (decision E5).
    Missing(Arc<str>),
    /// A workflow.
    Workflow(usize),
}

struct Work {
    key: FlowKey,
    id: FlowId,
    /// Only named by a template: its mistakes are its own file's business.
    candidate: bool,
}

struct CallSite {
    from: FlowId,
    to: FlowId,
    name: Arc<str>,
    at: Location,
}

/// A program under construction.
struct Lowering<'p> {
    project: &'p Project,
    builder: Builder,
    directory: Directory,
    flows: IndexMap<FlowKey, FlowId>,
    queue: VecDeque<Work>,
    candidates: VecDeque<Work>,
    /// The flow being lowered, and whether it is a candidate.
    current: Option<(FlowId, bool)>,
    calls: Vec<CallSite>,
    used: BTreeSet<usize>,
    /// Texts beside the documents that ended up in the program.
    baked: Vec<Arc<str>>,
}

impl<'p> Lowering<'p> {
    fn new(project: &'p Project, document: usize) -> Self {
        Self {
            project,
            builder: Builder::default(),
            directory: Directory::of(project, document),
            flows: IndexMap::new(),
            queue: VecDeque::new(),
            candidates: VecDeque::new(),
            current: None,
            calls: Vec::new(),
            used: BTreeSet::new(),
            baked: Vec::new(),
        }
    }

    /// The flow of a key, to be lowered if it is new.
    fn flow(&mut self, key: FlowKey) -> FlowId {
        let candidate = self.current.is_some_and(|(_, candidate)| candidate);
        self.flow_as(key, candidate)
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

    /// Whether the flow being lowered is the one that a run starts.
    fn is_entry(&self) -> bool {
        self.current.is_some_and(|(id, _)| id == FlowId(0))
    }

    /// The agent of a name (decision E5).
    fn agent(&mut self, reader: &Reader<'_>, name: &Text, intent: bool) -> FlowId {
        let at = reader.at(name.span);
        let found = self.directory.agents(&name.value);
        learn::names(reader, name, found.first().and_then(|d| self.directory.place(*d)));
        let id = match found.as_slice() {
            [] => {
                // Said once, where it is named first.
                if self.builder.missing_agent_location(&name.value).is_none() {
                    self.builder.missing_agent(&name.value, at);
                    reader.report(self.directory.missing_agent(name, at));
                }
                // It reads its input only: an intent is laid out for it by whoever calls.
                return self.flow(FlowKey::Missing(name.value.clone()));
            }
            [one] => self.flow(FlowKey::Agent { document: *one, intent }),
            [first, ..] => {
                reader.report(self.directory.ambiguous("agents", &name.value, at, &found));
                self.flow(FlowKey::Agent { document: *first, intent })
            }
        };
        self.note_call(id, &name.value, at);
        id
    }

    /// Whether an agent of this name is declared.
    fn declares_agent(&self, name: &str) -> bool {
        !self.directory.agents(name).is_empty()
    }

    /// The workflow of a name, unless there is none (reported as refused by the caller).
    fn workflow(&mut self, reader: &Reader<'_>, name: &Text) -> Option<FlowId> {
        let at = reader.at(name.span);
        let found = self.directory.workflows(&name.value);
        learn::names(reader, name, found.first().and_then(|d| self.directory.place(*d)));
        if found.len() > 1 {
            reader.report(self.directory.ambiguous("workflows", &name.value, at, &found));
        }
        let id = self.flow(FlowKey::Workflow(*found.first()?));
        self.note_call(id, &name.value, at);
        Some(id)
    }

    /// Every agent (or workflow) by name, for a template to choose from.
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

    fn lower(&mut self, work: Work, findings: &mut Findings) {
        self.current = Some((work.id, work.candidate));
        let own = RefCell::new(findings.apart());
        let flow = self.lower_unit(&work.key, &own);
        let own = own.into_inner();
        let broken = own.diagnostics.has_errors();
        if !work.candidate {
            findings.diagnostics.extend(own.diagnostics.into_sorted());
            findings.facts.merge(own.facts);
        }
        let flow = match flow {
            Some(flow) if !(broken && work.candidate) => flow,
            _ => self.stand_in(&work.key),
        };
        self.builder.set_flow(work.id, flow);
        self.current = None;
    }

    fn lower_unit(&mut self, key: &FlowKey, findings: &RefCell<Findings>) -> Option<Flow> {
        match key {
            FlowKey::Agent { document, intent } => {
                self.used.insert(*document);
                let document = self.project.documents.get(*document)?;
                let text = self.project.files.get(document.file).map(|f| &**f.text());
                let reader = Reader::new(document.file, findings).with_text(text);
                agent::lower(self, &reader, document, *intent)
            }
            FlowKey::Missing(name) => Some(agent::missing(self, name)),
            FlowKey::Workflow(document) => {
                self.used.insert(*document);
                let document = self.project.documents.get(*document)?;
                let text = self.project.files.get(document.file).map(|f| &**f.text());
                let reader = Reader::new(document.file, findings).with_text(text);
                workflow::lower(self, &reader, document)
            }
        }
    }

    /// A flow that cannot be made, so that ids stay in range. A program with errors is not run; a candidate is refused.
    fn stand_in(&mut self, key: &FlowKey) -> Flow {
        let origin = match key {
            FlowKey::Agent { document, .. } | FlowKey::Workflow(document) => self.directory.origin(*document),
            FlowKey::Missing(_) => self.directory.origin(0),
        };
        let refused = Refused { feature: "a manifest with errors".into(), message: "fix the manifest first".into() };
        Flow {
            name: "?".into(),
            sort: if matches!(key, FlowKey::Workflow(_)) { "workflow" } else { "agent" },
            origin,
            slots: vec![Slot::new("input")],
            intake: plain_intake(SlotId(0)),
            init: Vec::new(),
            body: self.builder.step(plain(StepKind::Refused(refused), origin)),
            output: None,
            exports: Vec::new(),
            budget: None,
        }
    }

    /// A chain of calls that comes back: it would never end.
    fn report_cycles(&self, diagnostics: &mut Diagnostics) {
        let edges = self.calls.iter().map(|call| (call.from.0, call.to.0));
        let graph = petgraph::graph::DiGraph::<(), ()>::from_edges(edges);
        let cycles: Vec<BTreeSet<u32>> = petgraph::algo::tarjan_scc(&graph)
            .into_iter()
            .filter(|scc| scc.len() > 1 || scc.iter().any(|n| graph.contains_edge(*n, *n)))
            .map(|scc| scc.into_iter().map(|n| n.index() as u32).collect())
            .collect();
        for cycle in cycles {
            let inside: Vec<_> =
                self.calls.iter().filter(|c| cycle.contains(&c.from.0) && cycle.contains(&c.to.0)).collect();
            let [first, rest @ ..] = inside.as_slice() else { continue };
            let message = format!("`{}` comes back to itself", first.name);
            let mut d = Diagnostic::error("reference-cycle", first.at, message);
            for call in rest {
                d = d.label(call.at, format!("calls `{}`", call.name));
            }
            diagnostics.push(d.help("a judge cannot be judged by itself, nor a workflow wait for itself"));
        }
    }

    /// The texts that the program was made of.
    fn texts(&self) -> Vec<Arc<str>> {
        let documents = self.used.iter().filter_map(|d| self.project.documents.get(*d));
        let files = documents.filter_map(|d| self.project.files.get(d.file)).map(|f| f.text().clone());
        files.chain(self.baked.iter().cloned()).collect()
    }
}

/// The slots of one flow.
#[derive(Default)]
struct Slots(Vec<Slot>);

impl Slots {
    fn add(&mut self, name: impl Into<Arc<str>>) -> SlotId {
        self.0.push(Slot::new(name));
        SlotId(self.0.len() as u32 - 1)
    }
}

/// Input taken as it comes.
fn plain_intake(slot: SlotId) -> Intake {
    Intake { slot, wrap: None, fields: Vec::new(), closed: false, tolerated: &[], schema: None, raw: None }
}
