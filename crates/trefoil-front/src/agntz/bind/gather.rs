//! Finds the documents that can be reached from entries. Each is read once, and all references between them are
//! followed before any is bound. Uses a work list instead of recursion, because a folder may be one long chain.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use trefoil_syntax::hash::HashMap;

use trefoil_ir::FlowId;
use trefoil_syntax::yaml::{Node, Text};
use trefoil_syntax::{Location, Span};

use super::agent::MAX_DEPTH;
use super::index::Ids;
use crate::agntz::evidence;
use crate::agntz::ids::AgentRef;
use crate::agntz::manifest::{self, Agent, AgentPlace, Kind, Target, Tool};
use crate::agntz::signature::Link;
use crate::depths::Depths;
use crate::project::Project;
use crate::read::{Findings, Reader};

/// The documents that can be reached from entries.
pub struct Gathered<'p> {
    /// The documents, as read.
    pub documents: BTreeMap<usize, Opened<'p>>,
    /// The documents in an order in which callees come before their callers.
    pub order: Vec<usize>,
    /// References that close a cycle, by document and span, each with the cycle.
    pub rings: HashMap<(usize, Span), Vec<Link>>,
    /// The number of flows that they need.
    pub flows: u32,
}

/// A document that was read.
pub struct Opened<'p> {
    /// Its agent; `None`: it is not an agent (reported).
    pub agent: Option<Arc<Agent<'p>>>,
    /// The findings of reading.
    pub findings: Findings,
    /// The flows of its agents, in file order.
    pub flows: VecDeque<FlowId>,
    /// The depths at which it is called.
    pub depths: Depths,
    /// The documents that it calls, and the number of agents in the file that enclose each call.
    calls: Vec<(usize, usize)>,
    /// Whether some of the documents that it calls are not finished yet.
    open: bool,
}

/// The next item of the work list.
enum ToGather<'p> {
    /// A document.
    Document(usize),
    /// An agent, and its nesting depth in its document.
    Agent(Arc<Agent<'p>>, usize),
    /// A reference, and its nesting depth.
    Reference(&'p Text, usize),
    /// Everything that the innermost open document calls is finished.
    Done,
}

impl<'p> ToGather<'p> {
    fn of(target: &Target<'p>, inside: usize) -> Option<Self> {
        match target {
            Target::Ref(text) => Some(Self::Reference(text, inside)),
            Target::Inline(agent) => Some(Self::Agent(agent.clone(), inside + 1)),
            Target::Nobody => None,
        }
    }
}

/// Reads the documents that can be reached from entries.
pub fn gather<'p>(project: &'p Project, ids: &Ids<'_>, entries: &[usize], findings: &Findings) -> Gathered<'p> {
    let mut gathered = Gathered { documents: BTreeMap::new(), order: Vec::new(), rings: HashMap::default(), flows: 0 };
    let mut open: Vec<Link> = Vec::new();
    let mut next: Vec<ToGather<'p>> = entries.iter().rev().map(|entry| ToGather::Document(*entry)).collect();
    while let Some(at) = next.pop() {
        match at {
            ToGather::Document(document) => gathered.document(project, document, findings, &mut open, &mut next),
            ToGather::Agent(agent, inside) => gathered.agent(&agent, inside, &open, &mut next),
            ToGather::Reference(text, inside) => {
                gathered.reference((project, ids), (text, inside), &mut open, &mut next)
            }
            ToGather::Done => gathered.done(open.pop()),
        }
    }
    gathered.measure(entries);
    gathered
}

impl<'p> Gathered<'p> {
    fn document(
        &mut self,
        project: &'p Project,
        document: usize,
        findings: &Findings,
        open: &mut Vec<Link>,
        next: &mut Vec<ToGather<'p>>,
    ) {
        let Some(found) = project.documents.get(document).filter(|_| !self.documents.contains_key(&document)) else {
            return;
        };
        let reader = Reader::of(project, found, findings.apart());
        let agent = root(&reader, &found.root).map(Arc::new);
        let id = agent.as_ref().map(|a| a.name()).unwrap_or_default();
        open.push(Link { document, id: id.into(), leaves: None });
        next.push(ToGather::Done);
        next.extend(agent.clone().map(|agent| ToGather::Agent(agent, 0)));
        let opened = Opened {
            agent,
            findings: reader.into_findings(),
            flows: VecDeque::new(),
            depths: Depths::default(),
            calls: Vec::new(),
            open: true,
        };
        self.documents.insert(document, opened);
    }

    fn agent(&mut self, agent: &Agent<'p>, inside: usize, open: &[Link], next: &mut Vec<ToGather<'p>>) {
        if let Some(opened) = open.last().and_then(|link| self.documents.get_mut(&link.document)) {
            opened.flows.push_back(FlowId(self.flows));
            self.flows += 1;
        }
        if let Kind::Llm(llm) = &agent.kind {
            let tools = llm.tools.iter().rev().filter_map(|tool| match tool {
                Tool::Agent { target, .. } => Some(ToGather::Reference(target, inside)),
                _ => None,
            });
            next.extend(llm.spawnable.iter().rev().filter_map(|target| ToGather::of(target, inside)));
            return next.extend(tools);
        }
        let (Kind::Sequential(pipeline) | Kind::Parallel(pipeline)) = &agent.kind else { return };
        next.extend(pipeline.steps.iter().rev().filter_map(|step| ToGather::of(&step.target, inside)));
    }

    fn reference(
        &mut self,
        (project, ids): (&Project, &Ids<'_>),
        (text, inside): (&'p Text, usize),
        open: &mut [Link],
        next: &mut Vec<ToGather<'p>>,
    ) {
        let Some(from) = open.last().map(|link| link.document) else { return };
        let (Ok(reference), Some(found)) = (AgentRef::parse(&text.value), project.documents.get(from)) else { return };
        let Some((to, _)) = ids.find(from, reference.id).first().copied() else { return };
        let unfinished = self.documents.get(&to).is_some_and(|opened| opened.open);
        if let Some(start) = unfinished.then(|| open.iter().position(|link| link.document == to)).flatten() {
            self.rings.insert((from, text.span), open.get(start..).unwrap_or_default().to_vec());
            return;
        }
        if let Some(opened) = self.documents.get_mut(&from) {
            opened.calls.push((to, inside));
        }
        if let Some(link) = open.last_mut() {
            link.leaves = Some(Location::new(found.file, text.span));
        }
        next.push(ToGather::Document(to));
    }

    fn done(&mut self, link: Option<Link>) {
        let Some(document) = link.map(|link| link.document) else { return };
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
                opened.depths = Depths::ENTRY;
            }
        }
        for document in self.order.iter().rev() {
            let Some(opened) = self.documents.get(document) else { continue };
            let (depths, calls) = (opened.depths, opened.calls.clone());
            for (to, inside) in calls {
                if let Some(callee) = self.documents.get_mut(&to) {
                    callee.depths = callee.depths.and(depths.below(MAX_DEPTH.saturating_sub(inside)).down(inside + 1));
                }
            }
        }
    }
}

fn root<'p>(reader: &Reader<'_>, root: &'p Node) -> Option<Agent<'p>> {
    if let Some(what) = evidence::companion(root) {
        reader.error("not-an-agent", first_key(root), format!("this is {what}"));
        return None;
    }
    manifest::agent(reader, root, AgentPlace::File)
}

/// The span for a finding about a whole file.
fn first_key(root: &Node) -> Span {
    root.mapping().and_then(|m| m.entries.first()).map_or(root.span, |e| e.key.span)
}
