//! Documents and every agent and workflow that they name, as one program. Each unit is read, its names are gathered, its texts
//! bound, and then it is lowered, which is what tells whom it calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{Flow, FlowId, Program};
use trefoil_syntax::FileId;

use super::callees::{Callee, mention, mention_states};
use super::directory::Directory;
use super::lower::{self, CallSite, FlowKey, Lowering, Work};
use super::manifest::{self, Unit as Sort};
use super::names::{AgentNames, FlowSlots, WorkflowNames, declare_agent, declare_workflow};
use super::texts::Texts;
use crate::{Document, Findings, Project, Reader, learn};

/// The agents and workflows that entries lead to.
pub struct Units<'p> {
    /// The project.
    pub project: &'p Project,
    /// Who can be called.
    pub directory: Directory<'p>,
    /// Each document once, in the order of finding: what can be named in it does not depend on what it is called with.
    pub all: Vec<Unit>,
    /// Who calls whom, by literal names.
    pub calls: Vec<CallSite>,
}

/// A document as an agent or as a workflow.
pub struct Unit {
    /// The document.
    pub document: usize,
    /// What is written, with its names and texts.
    pub content: Content,
}

/// What a unit is.
pub enum Content {
    /// An agent.
    Agent {
        /// As written.
        agent: Arc<manifest::agent::Agent>,
        /// What its prompt can name.
        names: AgentNames,
        /// Its texts.
        texts: Texts,
    },
    /// A workflow.
    Workflow {
        /// As written.
        workflow: Arc<manifest::workflow::Workflow>,
        /// What its texts can name.
        names: Arc<WorkflowNames>,
        /// Its texts.
        texts: Texts,
    },
}

/// What was made of documents.
pub struct Made<'p> {
    /// The units.
    pub units: Units<'p>,
    /// All of them as flows.
    pub program: Option<Program>,
    /// The flow of each entry.
    pub entries: Vec<(usize, FlowId)>,
    /// What reading and binding found.
    pub found: Findings,
    /// Files that only a template may name.
    pub aside: BTreeSet<FileId>,
}

/// Compiles documents as the entries of a program.
pub fn compile<'p>(project: &'p Project, entries: &[usize], found: Findings) -> Made<'p> {
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
    Made { units: Units { project, directory, all, calls }, program, entries, found, aside }
}

fn entry(lowering: &mut Lowering<'_>, project: &Project, document: usize) -> Option<FlowId> {
    let root = &project.documents.get(document)?.root;
    let key = match manifest::unit(root) {
        Some(Sort::Workflow) => FlowKey::Workflow(document),
        // Any other file is read as the unit that it looks like, to report what is wrong with its header.
        None if manifest::looks_like(root) == Some(Sort::Workflow) => FlowKey::Workflow(document),
        Some(Sort::Agent) | None => FlowKey::Agent { document, intent: false },
    };
    Some(lowering.entry(key))
}

/// Documents being read, each once whatever it is called as.
struct DocumentReading<'p> {
    project: &'p Project,
    found: Findings,
    files: HashMap<(usize, Sort), Option<ReadUnit>>,
    units: Vec<Unit>,
    named: BTreeSet<FileId>,
}

/// What a document says.
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
            // Whatever it is called as, its texts name the same, and there is nothing else to be said about them.
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
