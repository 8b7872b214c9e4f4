//! Finds the documents that can be reached from entries. Each is read once, and all references between them are
//! followed before any is bound. Uses a work list instead of recursion, because a folder may be one long chain.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::FlowId;
use trefoil_syntax::yaml::{YamlNode, YamlText};
use trefoil_syntax::{Location, Span};

use super::agent::MAX_DEPTH;
use super::id_index::AgntzIdIndex;
use crate::agntz::evidence;
use crate::agntz::ids::AgentRef;
use crate::agntz::manifest::{self, AgentPlace, AgntzAgentKind, AgntzAgentManifest, LlmTool, StepTarget};
use crate::agntz::signature::CycleLink;
use crate::call_depths::CallDepths;
use crate::project::Project;
use crate::yaml_reader::{CompileFindings, ManifestReader};

/// The documents that can be reached from entries.
pub struct ReachableDocuments<'p> {
    /// The documents, as read.
    pub documents: BTreeMap<usize, OpenedDocument<'p>>,
    /// The documents in an order in which callees come before their callers.
    pub order: Vec<usize>,
    /// References that close a cycle, by document and span, each with the cycle.
    pub rings: HashMap<(usize, Span), Vec<CycleLink>>,
    /// The number of flows that they need.
    pub flows: u32,
}

/// A document that was read.
pub struct OpenedDocument<'p> {
    /// Its agent; `None`: it is not an agent (reported).
    pub agent: Option<Arc<AgntzAgentManifest<'p>>>,
    /// The findings of reading.
    pub findings: CompileFindings,
    /// The flows of its agents, in file order.
    pub flows: VecDeque<FlowId>,
    /// The depths at which it is called.
    pub depths: CallDepths,
    /// The documents that it calls, and the number of agents in the file that enclose each call.
    calls: Vec<(usize, usize)>,
    /// Whether some of the documents that it calls are not finished yet.
    open: bool,
}

/// The next item of the work list.
enum GatherTask<'p> {
    /// A document.
    Document(usize),
    /// An agent, and its nesting depth in its document.
    Agent(Arc<AgntzAgentManifest<'p>>, usize),
    /// A reference, and its nesting depth.
    Reference(&'p YamlText, usize),
    /// Everything that the innermost open document calls is finished.
    Done,
}

impl<'p> GatherTask<'p> {
    fn for_target(target: &StepTarget<'p>, inside: usize) -> Option<Self> {
        match target {
            StepTarget::Ref(text) => Some(Self::Reference(text, inside)),
            StepTarget::Inline(agent) => Some(Self::Agent(agent.clone(), inside + 1)),
            StepTarget::Nobody => None,
        }
    }
}

/// Reads the documents that can be reached from entries.
pub fn gather_documents<'p>(
    project: &'p Project,
    ids: &AgntzIdIndex<'_>,
    entries: &[usize],
    findings: &CompileFindings,
) -> ReachableDocuments<'p> {
    let mut gathered =
        ReachableDocuments { documents: BTreeMap::new(), order: Vec::new(), rings: HashMap::default(), flows: 0 };
    let mut open: Vec<CycleLink> = Vec::new();
    let mut next: Vec<GatherTask<'p>> = entries.iter().rev().map(|entry| GatherTask::Document(*entry)).collect();
    while let Some(at) = next.pop() {
        match at {
            GatherTask::Document(document) => gathered.document(project, document, findings, &mut open, &mut next),
            GatherTask::Agent(agent, inside) => gathered.agent(&agent, inside, &open, &mut next),
            GatherTask::Reference(text, inside) => {
                gathered.reference((project, ids), (text, inside), &mut open, &mut next)
            }
            GatherTask::Done => gathered.done(open.pop()),
        }
    }
    gathered.measure(entries);
    gathered
}

impl<'p> ReachableDocuments<'p> {
    fn document(
        &mut self,
        project: &'p Project,
        document: usize,
        findings: &CompileFindings,
        open: &mut Vec<CycleLink>,
        next: &mut Vec<GatherTask<'p>>,
    ) {
        if self.documents.contains_key(&document) {
            return;
        }
        let Some(found) = project.documents.get(document) else { return };
        let reader = ManifestReader::for_document(project, found, findings.empty_copy());
        let agent = root(&reader, &found.root).map(Arc::new);
        let id = match &agent {
            Some(agent) => agent.name(),
            None => "",
        };
        open.push(CycleLink { document, id: id.into(), leaves: None });
        next.push(GatherTask::Done);
        if let Some(agent) = &agent {
            next.push(GatherTask::Agent(agent.clone(), 0));
        }
        let opened = OpenedDocument {
            agent,
            findings: reader.into_findings(),
            flows: VecDeque::new(),
            depths: CallDepths::default(),
            calls: Vec::new(),
            open: true,
        };
        self.documents.insert(document, opened);
    }

    fn agent(
        &mut self,
        agent: &AgntzAgentManifest<'p>,
        inside: usize,
        open: &[CycleLink],
        next: &mut Vec<GatherTask<'p>>,
    ) {
        if let Some(link) = open.last()
            && let Some(opened) = self.documents.get_mut(&link.document)
        {
            opened.flows.push_back(FlowId(self.flows));
            self.flows += 1;
        }
        match &agent.kind {
            AgntzAgentKind::Llm(llm) => {
                for target in llm.spawnable.iter().rev() {
                    next.extend(GatherTask::for_target(target, inside));
                }
                for tool in llm.tools.iter().rev() {
                    if let LlmTool::Agent { target, .. } = tool {
                        next.push(GatherTask::Reference(target, inside));
                    }
                }
            }
            AgntzAgentKind::Sequential(pipeline) | AgntzAgentKind::Parallel(pipeline) => {
                for step in pipeline.steps.iter().rev() {
                    next.extend(GatherTask::for_target(&step.target, inside));
                }
            }
            AgntzAgentKind::Tool(_) | AgntzAgentKind::Hosted(_) | AgntzAgentKind::Unknown => {}
        }
    }

    fn reference(
        &mut self,
        (project, ids): (&Project, &AgntzIdIndex<'_>),
        (text, inside): (&'p YamlText, usize),
        open: &mut [CycleLink],
        next: &mut Vec<GatherTask<'p>>,
    ) {
        let Some(CycleLink { document: from, .. }) = open.last() else { return };
        let from = *from;
        let (Ok(reference), Some(found)) = (AgentRef::parse(&text.value), project.documents.get(from)) else { return };
        let Some((to, _)) = ids.find_documents(from, reference.id).first().copied() else { return };
        let is_unfinished = matches!(self.documents.get(&to), Some(opened) if opened.open);
        if is_unfinished && let Some(start) = open.iter().position(|link| link.document == to) {
            self.rings.insert((from, text.span), open.get(start..).unwrap_or_default().to_vec());
            return;
        }
        if let Some(opened) = self.documents.get_mut(&from) {
            opened.calls.push((to, inside));
        }
        if let Some(link) = open.last_mut() {
            link.leaves = Some(Location::new(found.file, text.span));
        }
        next.push(GatherTask::Document(to));
    }

    fn done(&mut self, link: Option<CycleLink>) {
        let Some(CycleLink { document, .. }) = link else { return };
        self.order.push(document);
        if let Some(opened) = self.documents.get_mut(&document) {
            opened.open = false;
        }
    }

    /// Computes the depths at which each document is called. Visits callers first, so that every path to a document is
    /// known.
    fn measure(&mut self, entries: &[usize]) {
        for entry in entries {
            if let Some(opened) = self.documents.get_mut(entry) {
                opened.depths = CallDepths::ENTRY;
            }
        }
        for document in self.order.iter().rev() {
            let Some(opened) = self.documents.get(document) else { continue };
            let (depths, calls) = (opened.depths, opened.calls.clone());
            for (to, inside) in calls {
                if let Some(callee) = self.documents.get_mut(&to) {
                    callee.depths = callee
                        .depths
                        .union_with(depths.limited_to(MAX_DEPTH.saturating_sub(inside)).deepened_by(inside + 1));
                }
            }
        }
    }
}

fn root<'p>(reader: &ManifestReader<'_>, root: &'p YamlNode) -> Option<AgntzAgentManifest<'p>> {
    if let Some(what) = evidence::companion_kind(root) {
        reader.report_error("not-an-agent", first_key(root), format!("this is {what}"));
        return None;
    }
    manifest::read_agent(reader, root, AgentPlace::File)
}

/// The span for a finding about a whole file.
fn first_key(root: &YamlNode) -> Span {
    if let Some(mapping) = root.as_mapping()
        && let Some(entry) = mapping.entries.first()
    {
        return entry.key.span;
    }
    root.span
}
