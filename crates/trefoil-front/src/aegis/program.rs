//! Compiles documents, and every agent and workflow that they call, to one program. Each unit is read, its names are
//! collected and its texts are bound; then it is lowered, which determines the units that it calls.

use std::collections::BTreeSet;
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::{FlowDefinition, FlowId};
use trefoil_syntax::FileId;

use super::callees::{AegisCallee, mention_states, record_mentions};
use super::directory::AegisDirectory;
use super::lowering::{self, AegisLowering, FlowKey, NamedFlowCall, PendingFlow};
use super::manifest::{self, AegisUnitKind as Sort};
use super::names::{AegisAgentNames, FlowSlots, WorkflowNames, declare_agent, declare_workflow};
use super::texts::AegisTexts;
use crate::bound_text::BoundText;
use crate::{
    CompileFindings, CompiledUnits, DialectCompilation, ManifestDocument, ManifestReader, Project, name_facts,
};

/// The agents and workflows that can be reached from entries.
pub struct AegisUnits<'p> {
    /// The project.
    pub project: &'p Project,
    /// The units that can be called.
    pub directory: AegisDirectory<'p>,
    /// Each document once, in the order in which they were found. The names available in a document do not depend on
    /// how it is called.
    pub all: Vec<AegisUnit>,
    /// The calls with literal names.
    pub calls: Vec<NamedFlowCall>,
}

impl AegisUnits<'_> {
    /// Every text of every unit.
    pub fn bound_texts(&self) -> Vec<&BoundText> {
        let mut all = Vec::new();
        for unit in &self.all {
            match &unit.content {
                AegisUnitContent::Agent { texts, .. } | AegisUnitContent::Workflow { texts, .. } => {
                    all.extend(texts.all_texts());
                }
            }
        }
        all
    }
}

/// A document read as an agent or as a workflow.
pub struct AegisUnit {
    /// The document.
    pub document: usize,
    /// The manifest, with its names and texts.
    pub content: AegisUnitContent,
}

/// What a unit is.
pub enum AegisUnitContent {
    /// An agent.
    Agent {
        /// The manifest.
        agent: Arc<manifest::agent::AegisAgentManifest>,
        /// The names available in its prompt.
        names: AegisAgentNames,
        /// Its texts.
        texts: AegisTexts,
    },
    /// A workflow.
    Workflow {
        /// The manifest.
        workflow: Arc<manifest::workflow::AegisWorkflowManifest>,
        /// The names available in its texts.
        names: Arc<WorkflowNames>,
        /// Its texts.
        texts: AegisTexts,
    },
}

/// Compiles documents as the entries of a program.
pub fn compile_documents<'p>(
    project: &'p Project,
    entries: &[usize],
    found: CompileFindings,
) -> DialectCompilation<'p> {
    let mut lowering = AegisLowering::new(project);
    let mut flows = Vec::with_capacity(entries.len());
    for &document in entries {
        if let Some(flow) = entry(&mut lowering, project, document) {
            flows.push((document, flow));
        }
    }
    let mut reading =
        DocumentReading { project, found, files: HashMap::default(), units: Vec::new(), named: BTreeSet::new() };
    let mut aside = BTreeSet::new();
    while let Some(work) = lowering.next() {
        let flow = reading.unit(&mut lowering, &work);
        if let Some(document) = work.key.source_document().and_then(|at| project.documents.get(at)) {
            let files = if work.candidate { &mut aside } else { &mut reading.named };
            files.insert(document.file);
        }
        lowering.store_flow(&work, flow);
    }
    let DocumentReading { found, units: all, named, .. } = reading;
    let (directory, calls) = (lowering.directory.clone(), std::mem::take(&mut lowering.calls));
    let program = lowering.finish_program(&flows);
    let aside = aside.difference(&named).copied().collect();
    let units = CompiledUnits::Aegis(AegisUnits { project, directory, all, calls });
    DialectCompilation { units, program, entries: flows, env_files: Vec::new(), found, aside }
}

fn entry(lowering: &mut AegisLowering<'_>, project: &Project, document: usize) -> Option<FlowId> {
    let root = &project.documents.get(document)?.root;
    let key = match manifest::unit_kind(root) {
        Some(Sort::Workflow) => FlowKey::Workflow(document),
        // Any other file is read as the kind of unit that it resembles, to report mistakes in its header.
        None if manifest::looks_like(root) == Some(Sort::Workflow) => FlowKey::Workflow(document),
        Some(Sort::Agent) | None => FlowKey::Agent { document, intent: false },
    };
    Some(lowering.entry_flow(key))
}

/// The documents being read, each once, however it is called.
struct DocumentReading<'p> {
    project: &'p Project,
    found: CompileFindings,
    files: HashMap<(usize, Sort), Option<ReadUnit>>,
    units: Vec<AegisUnit>,
    named: BTreeSet<FileId>,
}

/// The result of reading a document.
#[derive(Clone)]
enum ReadUnit {
    Agent(Arc<manifest::agent::AegisAgentManifest>),
    Workflow(Arc<manifest::workflow::AegisWorkflowManifest>),
}

impl DocumentReading<'_> {
    fn unit(&mut self, lowering: &mut AegisLowering<'_>, work: &PendingFlow) -> Option<FlowDefinition> {
        let (at, sort, intent) = match &work.key {
            FlowKey::Missing(name) => return Some(lowering::missing_agent(lowering, name)),
            FlowKey::Agent { document, intent } => (*document, Sort::Agent, *intent),
            FlowKey::Workflow(document) => (*document, Sort::Workflow, false),
        };
        let project = self.project;
        let document = project.documents.get(at)?;
        let reader = ManifestReader::for_document(project, document, self.found.empty_copy());
        let known = self.files.get(&(at, sort)).cloned();
        let first = known.is_none();
        let read = match known {
            Some(known) => known,
            None => read(&reader, document, sort),
        };
        self.files.insert((at, sort), read.clone());
        let unit = read.map(|read| match read {
            ReadUnit::Agent(agent) => self::agent(lowering, &reader, (document, intent), agent),
            ReadUnit::Workflow(workflow) => self::workflow(lowering, &reader, document, workflow),
        });
        let (content, flow) = unit.unzip();
        let mut findings = reader.into_findings();
        if first {
            if let Some(content) = content {
                self.units.push(AegisUnit { document: at, content });
            }
        } else {
            // The document was already read; its texts have the same names in each role, so its findings are not
            // repeated.
            findings.diagnostics = Default::default();
        }
        if work.candidate {
            findings.facts = Default::default();
        }
        self.found.add_findings(findings);
        flow
    }
}

fn read(reader: &ManifestReader<'_>, document: &ManifestDocument, sort: Sort) -> Option<ReadUnit> {
    let mut fields = reader.read_mapping(&document.root, "an AEGIS manifest")?;
    manifest::read_header(&mut fields, sort);
    let read = match sort {
        Sort::Agent => ReadUnit::Agent(Arc::new(manifest::agent::read_agent(reader, &mut fields))),
        Sort::Workflow => ReadUnit::Workflow(Arc::new(manifest::workflow::read_workflow(reader, &mut fields))),
    };
    fields.finish_mapping();
    Some(read)
}

fn agent(
    lowering: &mut AegisLowering<'_>,
    reader: &ManifestReader<'_>,
    (document, intent): (&ManifestDocument, bool),
    agent: Arc<manifest::agent::AegisAgentManifest>,
) -> (AegisUnitContent, FlowDefinition) {
    declare_agent(reader, &agent);
    let names = AegisAgentNames::from_manifest(lowering.project, document, &agent, intent);
    let texts = AegisTexts::of_agent(document.file, &agent, &names.prompt);
    for text in texts.all_texts() {
        name_facts::record_text(reader, text);
    }
    record_mentions(reader, &AegisCallee::of_agent(&agent), &lowering.directory);
    let flow = lowering::agent(lowering, document.file, &agent, &names, &texts);
    (AegisUnitContent::Agent { agent, names, texts }, flow)
}

fn workflow(
    lowering: &mut AegisLowering<'_>,
    reader: &ManifestReader<'_>,
    document: &ManifestDocument,
    workflow: Arc<manifest::workflow::AegisWorkflowManifest>,
) -> (AegisUnitContent, FlowDefinition) {
    let mut slots = FlowSlots::default();
    let names = Arc::new(WorkflowNames::from_manifest(document.file, &workflow, &lowering.directory, &mut slots));
    declare_workflow(reader, &workflow, &names);
    let texts = AegisTexts::of_workflow(document.file, &workflow, &names);
    for text in texts.all_texts() {
        name_facts::record_text(reader, text);
    }
    record_mentions(reader, &AegisCallee::of_workflow(&workflow, &texts), &lowering.directory);
    mention_states(reader, &workflow, &names);
    let flow = lowering::workflow(lowering, document.file, &workflow, &names, &texts, slots);
    (AegisUnitContent::Workflow { workflow, names, texts }, flow)
}
