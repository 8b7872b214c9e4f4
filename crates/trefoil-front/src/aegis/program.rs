//! Compiles documents, and every agent and workflow that they call, to one program. Each unit is read, its names are
//! collected and its texts are bound; then it is lowered, which determines the units that it calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{Flow, FlowId};
use trefoil_syntax::FileId;

use super::callees::{Callee, mention, mention_states};
use super::directory::Directory;
use super::lower::{self, CallSite, FlowKey, Lowering, Work};
use super::manifest::{self, Unit as Sort};
use super::names::{AgentNames, FlowSlots, WorkflowNames, declare_agent, declare_workflow};
use super::texts::Texts;
use crate::bound::BoundText;
use crate::{Compiled, CompiledUnits, Document, Findings, Project, Reader, learn};

/// The agents and workflows that can be reached from entries.
pub struct Units<'p> {
    /// The project.
    pub project: &'p Project,
    /// The units that can be called.
    pub directory: Directory<'p>,
    /// Each document once, in the order in which they were found. The names available in a document do not depend on
    /// how it is called.
    pub all: Vec<Unit>,
    /// The calls with literal names.
    pub calls: Vec<CallSite>,
}

impl Units<'_> {
    /// Every text of every unit.
    pub fn texts(&self) -> Vec<&BoundText> {
        let texts = |unit| match unit {
            &Unit { content: Content::Agent { ref texts, .. } | Content::Workflow { ref texts, .. }, .. } => texts,
        };
        self.all.iter().map(texts).flat_map(Texts::all).collect()
    }
}

/// A document read as an agent or as a workflow.
pub struct Unit {
    /// The document.
    pub document: usize,
    /// The manifest, with its names and texts.
    pub content: Content,
}

/// What a unit is.
pub enum Content {
    /// An agent.
    Agent {
        /// The manifest.
        agent: Arc<manifest::agent::Agent>,
        /// The names available in its prompt.
        names: AgentNames,
        /// Its texts.
        texts: Texts,
    },
    /// A workflow.
    Workflow {
        /// The manifest.
        workflow: Arc<manifest::workflow::Workflow>,
        /// The names available in its texts.
        names: Arc<WorkflowNames>,
        /// Its texts.
        texts: Texts,
    },
}

/// Compiles documents as the entries of a program.
pub fn compile<'p>(project: &'p Project, entries: &[usize], found: Findings) -> Compiled<'p> {
    let mut lowering = Lowering::new(project);
    let entries: Vec<_> = entries.iter().filter_map(|at| Some((*at, entry(&mut lowering, project, *at)?))).collect();
    let mut reading =
        DocumentReading { project, found, files: HashMap::default(), units: Vec::new(), named: BTreeSet::new() };
    let mut aside = BTreeSet::new();
    while let Some(work) = lowering.next() {
        let flow = reading.unit(&mut lowering, &work);
        if let Some(document) = work.key.document().and_then(|at| project.documents.get(at)) {
            let files = if work.candidate { &mut aside } else { &mut reading.named };
            files.insert(document.file);
        }
        lowering.done(&work, flow);
    }
    let DocumentReading { found, units: all, named, .. } = reading;
    let (directory, calls) = (lowering.directory.clone(), std::mem::take(&mut lowering.calls));
    let program = lowering.finish(&entries);
    let aside = aside.difference(&named).copied().collect();
    let units = CompiledUnits::Aegis(Units { project, directory, all, calls });
    Compiled { units, program, entries, env_files: Vec::new(), found, aside }
}

fn entry(lowering: &mut Lowering<'_>, project: &Project, document: usize) -> Option<FlowId> {
    let root = &project.documents.get(document)?.root;
    let key = match manifest::unit(root) {
        Some(Sort::Workflow) => FlowKey::Workflow(document),
        // Any other file is read as the kind of unit that it resembles, to report mistakes in its header.
        None if manifest::looks_like(root) == Some(Sort::Workflow) => FlowKey::Workflow(document),
        Some(Sort::Agent) | None => FlowKey::Agent { document, intent: false },
    };
    Some(lowering.entry(key))
}

/// The documents being read, each once, however it is called.
struct DocumentReading<'p> {
    project: &'p Project,
    found: Findings,
    files: HashMap<(usize, Sort), Option<ReadUnit>>,
    units: Vec<Unit>,
    named: BTreeSet<FileId>,
}

/// The result of reading a document.
#[derive(Clone)]
enum ReadUnit {
    Agent(Arc<manifest::agent::Agent>),
    Workflow(Arc<manifest::workflow::Workflow>),
}

impl DocumentReading<'_> {
    fn unit(&mut self, lowering: &mut Lowering<'_>, work: &Work) -> Option<Flow> {
        let (at, sort, intent) = match &work.key {
            FlowKey::Missing(name) => return Some(lower::missing_agent(lowering, name)),
            FlowKey::Agent { document, intent } => (*document, Sort::Agent, *intent),
            FlowKey::Workflow(document) => (*document, Sort::Workflow, false),
        };
        let project = self.project;
        let document = project.documents.get(at)?;
        let reader = Reader::of(project, document, self.found.apart());
        let known = self.files.get(&(at, sort)).cloned();
        let first = known.is_none();
        let read = known.unwrap_or_else(|| read(&reader, document, sort));
        self.files.insert((at, sort), read.clone());
        let unit = read.map(|read| match read {
            ReadUnit::Agent(agent) => self::agent(lowering, &reader, (document, intent), agent),
            ReadUnit::Workflow(workflow) => self::workflow(lowering, &reader, document, workflow),
        });
        let (content, flow) = unit.unzip();
        let mut findings = reader.into_findings();
        if first {
            self.units.extend(content.map(|content| Unit { document: at, content }));
        } else {
            // The document was already read; its texts have the same names in each role, so its findings are not
            // repeated.
            findings.diagnostics = Default::default();
        }
        if work.candidate {
            findings.facts = Default::default();
        }
        self.found.absorb(findings);
        flow
    }
}

fn read(reader: &Reader<'_>, document: &Document, sort: Sort) -> Option<ReadUnit> {
    let mut fields = reader.fields(&document.root, "an AEGIS manifest")?;
    manifest::header(&mut fields, sort);
    let read = match sort {
        Sort::Agent => ReadUnit::Agent(Arc::new(manifest::agent::read(reader, &mut fields))),
        Sort::Workflow => ReadUnit::Workflow(Arc::new(manifest::workflow::read(reader, &mut fields))),
    };
    fields.finish();
    Some(read)
}

fn agent(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    (document, intent): (&Document, bool),
    agent: Arc<manifest::agent::Agent>,
) -> (Content, Flow) {
    declare_agent(reader, &agent);
    let names = AgentNames::of(lowering.project, document, &agent, intent);
    let texts = Texts::of_agent(document.file, &agent, &names.prompt);
    texts.all().for_each(|text| learn::text(reader, text));
    mention(reader, &Callee::of_agent(&agent), &lowering.directory);
    let flow = lower::agent(lowering, document.file, &agent, &names, &texts);
    (Content::Agent { agent, names, texts }, flow)
}

fn workflow(
    lowering: &mut Lowering<'_>,
    reader: &Reader<'_>,
    document: &Document,
    workflow: Arc<manifest::workflow::Workflow>,
) -> (Content, Flow) {
    let mut slots = FlowSlots::default();
    let names = Arc::new(WorkflowNames::of(document.file, &workflow, &lowering.directory, &mut slots));
    declare_workflow(reader, &workflow, &names);
    let texts = Texts::of_workflow(document.file, &workflow, &names);
    texts.all().for_each(|text| learn::text(reader, text));
    mention(reader, &Callee::of_workflow(&workflow, &texts), &lowering.directory);
    mention_states(reader, &workflow, &names);
    let flow = lower::workflow(lowering, document.file, &workflow, &names, &texts, slots);
    (Content::Workflow { workflow, names, texts }, flow)
}
