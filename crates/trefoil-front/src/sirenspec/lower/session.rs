//! One lowering: the entry's file and every file that it calls.

use std::cell::RefCell;
use std::sync::Arc;
use trefoil_syntax::hash::{HashMap, HashSet};

use trefoil_ir::{Flow, FlowId, Position, Refused, StepKind};
use trefoil_syntax::{Diagnostic, FileId};

use super::flow::{Made, Slots, Workflow};
use super::inputs::{Inputs, Wanted};
use super::known::Known;
use super::links::Links;
use super::names::Names;
use super::scope::{Reading, Scope};
use super::shape::Shape;
use super::{graph, node, references};
use crate::build::plain;
use crate::learn::Members;
use crate::project::resolve_path;
use crate::sirenspec::manifest::{self, CallNode, Manifest, NodeKind, Root, Worker};
use crate::sirenspec::stem;
use crate::{Builder, Findings, Lowered, Project, Reader};

/// Deeper nesting is refused whatever `max_depth` says: nobody needs it, and it is paid for in stack.
const DEEPEST: u32 = 64;

/// One lowering.
pub struct Session<'p> {
    project: &'p Project,
    findings: &'p mut Findings,
    builder: Builder,
    /// The files being lowered, outermost first.
    stack: Vec<usize>,
    done: HashMap<Wish, Option<Child>>,
    files: Vec<FileId>,
    env_files: Vec<String>,
}

/// A file as one of its callers wants it: with these inputs, at this depth.
type Wish = (usize, Vec<Arc<str>>, u32);

/// A lowered workflow, as its callers see it.
#[derive(Debug, Clone)]
pub struct Child {
    /// Its flow.
    pub flow: FlowId,
    /// Its output tree.
    pub output: Shape,
    /// The output tree and, beneath it, the results of its nodes.
    pub readable: Shape,
    /// What it wants as input.
    pub wanted: Wanted,
    /// Its file.
    pub file: FileId,
    /// Where what callers read is declared.
    pub members: Members,
}

impl<'p> Session<'p> {
    /// Lowers a document as the entry of a program.
    pub fn run(project: &Project, document: usize, findings: &mut Findings) -> Option<Lowered> {
        let mut found = findings.apart();
        let lowered = Session::lowered(project, document, &mut found);
        // What others found before is no reason to give nothing back.
        let broken = found.diagnostics.has_errors();
        findings.absorb(found);
        findings.sound(lowered, broken)
    }

    fn lowered(project: &'p Project, document: usize, findings: &'p mut Findings) -> Option<Lowered> {
        let mut session = Self {
            project,
            findings,
            builder: Builder::default(),
            stack: Vec::new(),
            done: HashMap::default(),
            files: Vec::new(),
            env_files: Vec::new(),
        };
        let entry = session.workflow(document, Vec::new(), 0)?;
        let Self { builder, files, env_files, .. } = session;
        let texts = files.iter().filter_map(|file| project.files.get(*file)).map(|file| &**file.text());
        Some(Lowered { program: builder.finish(entry.flow, texts)?, env_files })
    }

    /// A document's flow; none when it is not a mapping.
    fn workflow(&mut self, document: usize, given: Vec<Arc<str>>, depth: u32) -> Option<Child> {
        let wish = (document, given, depth);
        if let Some(done) = self.done.get(&wish) {
            return done.clone();
        }
        let opened = self.project.documents.get(document)?;
        if !self.files.contains(&opened.file) {
            self.files.push(opened.file);
        }
        let found = RefCell::new(self.findings.apart());
        let text = self.project.files.get(opened.file).map(|f| &**f.text());
        let reader = Reader::new(opened.file, &found).with_text(text);
        self.stack.push(document);
        let child = manifest::read(&reader, &opened.root)
            .map(|manifest| self.lower(&reader, &manifest, document, &wish.1, depth));
        self.stack.pop();
        self.findings.absorb(found.into_inner());
        self.done.insert(wish, child.clone());
        child
    }

    fn lower(
        &mut self,
        reader: &Reader<'_>,
        manifest: &Manifest<'_>,
        document: usize,
        given: &[Arc<str>],
        depth: u32,
    ) -> Child {
        let path = self.project.documents.get(document).map_or("", |d| d.path.as_str());
        if let Some(file) = manifest.env_file {
            let file = resolve_path(path, &file.value);
            if !self.env_files.contains(&file) {
                self.env_files.push(file);
            }
        }
        let children: Vec<Option<Child>> = manifest
            .nodes
            .iter()
            .map(|node| match &node.kind {
                NodeKind::Call(call) => self.child(reader, document, &node.id.value, call, depth),
                _ => None,
            })
            .collect();
        let mut slots = Slots::default();
        let input = slots.add("inputs");
        let entry = depth == 0;
        let offered = if entry { references::offered(self.project, document) } else { Vec::new() };
        let inputs = Inputs::new(reader, manifest, input, given, &offered);
        let names = Names::new(manifest, &children, &mut slots);
        for write in &names.writes {
            if let Some(node) = names.nodes.get(write.node) {
                slots.also_at(node.slot, format!("{}.{}", write.root.word(), write.path.join(".")));
            }
        }
        let links = Links::new(reader, manifest, &names);
        let whole = (stem(path), self.project.documents.get(document).map_or_else(Default::default, |d| d.root.span));
        let known = Arc::new(Known::new(reader, manifest, &names, &links, &children, &inputs, whole));
        let flow = Workflow { reader, manifest, names: &names, links: &links, inputs: &inputs, known: &known };
        let id = self.builder.reserve_flow();
        let mut made = Made::new(&mut self.builder, slots);
        let carried = flow.carried(&mut made);
        let steps: Vec<_> = (0..manifest.nodes.len())
            .map(|at| node::lower(&flow, &mut made, &carried, at, children.get(at).and_then(Option::as_ref)))
            .collect();
        unused_agents(&flow);
        taken_paths(&flow);
        replaced_seeds(&flow);
        if let Some(refusal) = manifest.budget.as_ref().and_then(|b| b.price.as_ref()) {
            made.refuse(refusal);
        }
        // A node that could not be lowered was reported; the rest is checked all the same.
        let blank = plain(StepKind::Sequence(Vec::new()), reader.at(Default::default()));
        let steps: Vec<_> =
            steps.into_iter().map(|step| step.unwrap_or_else(|| made.builder.step(blank.clone()))).collect();
        let origin = reader.at(manifest.nodes.first().map_or_else(Default::default, |n| n.id.span));
        let graph = graph::graph(&flow, &carried, &steps);
        let mut body = made.builder.step(plain(StepKind::Graph(graph), origin));
        if !made.refusals.is_empty() {
            let refused: Vec<_> = made
                .refusals
                .iter()
                .map(|r| {
                    plain(StepKind::Refused(Refused { feature: r.feature.clone(), message: r.message.clone() }), r.at)
                })
                .collect();
            let mut all: Vec<_> = refused.into_iter().map(|step| made.builder.step(step)).collect();
            all.push(body);
            body = made.builder.step(plain(StepKind::Sequence(all), origin));
        }
        let slots = made.slots.0;
        // Nobody reads what an entry leaves.
        let output = if entry { Shape::Any } else { names.tree(Root::Output) };
        let child = Child {
            flow: id,
            readable: readable(&output, &names),
            output,
            wanted: inputs.wanted(),
            file: reader.file,
            members: known.members(),
        };
        self.builder.set_flow(
            id,
            Flow {
                name: stem(path).into(),
                sort: "workflow",
                origin,
                slots,
                intake: inputs.intake(entry),
                init: Vec::new(),
                body,
                output: Some(graph::output(&flow)),
                exports: graph::exports(&flow),
                budget: manifest.budget.as_ref().and_then(|b| b.any()),
            },
        );
        child
    }

    /// The sub-workflow of a node.
    fn child(
        &mut self,
        reader: &Reader<'_>,
        document: usize,
        id: &str,
        call: &CallNode<'_>,
        depth: u32,
    ) -> Option<Child> {
        let reference = call.reference?;
        let at = references::find(reader, self.project, document, reference)?;
        if let Some(from) = self.stack.iter().position(|d| *d == at) {
            let ring = self.stack.iter().skip(from).chain([&at]).filter_map(|d| self.project.documents.get(*d));
            let ring: Vec<String> = ring.map(|d| format!("`{}`", d.path)).collect();
            reader.report(
                Diagnostic::error(
                    "reference-cycle",
                    reader.at(reference.span),
                    format!("workflows call each other in a circle: {}", ring.join(" -> ")),
                )
                .help("a workflow cannot contain itself"),
            );
            return None;
        }
        let deepest = call.max_depth.min(DEEPEST);
        if depth >= deepest {
            let message = format!("node `{id}` nests workflows deeper than its `max_depth` of {deepest}");
            reader.error("out-of-range", reference.span, message);
            return None;
        }
        let mut given: Vec<Arc<str>> = call.inputs.iter().map(|e| e.key.value.clone()).collect();
        given.sort_unstable();
        self.workflow(at, given, depth + 1)
    }
}

/// The output tree with the nodes' results beneath it: a name that the tree has wins.
fn readable(output: &Shape, names: &Names<'_>) -> Shape {
    let Shape::Keys(keys) = output else { return output.clone() };
    let mut all = keys.clone();
    for node in &names.nodes {
        let result = node.output.iter().try_fold(&node.shape, |shape, key| match shape {
            Shape::Keys(keys) => keys.iter().find(|(k, _)| k == key).map(|(_, inner)| inner),
            other => Some(other),
        });
        if !all.iter().any(|(key, _)| *key == node.id.value) {
            all.push((node.id.value.clone(), result.cloned().unwrap_or(Shape::Any)));
        }
    }
    Shape::Keys(all)
}

/// Nodes that write where another node leaves its result, which templates then no longer read (decision S4). One that
/// stands in for the other does so on purpose.
fn taken_paths(flow: &Workflow<'_, '_>) {
    for (write, owner) in flow.names.taken() {
        let stands_in = flow.links.fallback_of.get(write.node).is_some_and(|mains| mains.contains(&owner));
        let text = flow.manifest.nodes.get(write.node).and_then(|node| node.kind.writes()).and_then(|w| w.text);
        let (Some(text), false, Some(node)) = (text, stands_in, flow.names.nodes.get(write.node)) else { continue };
        let Some(other) = flow.names.nodes.get(owner) else { continue };
        let (path, own, id) = (write.path.join("."), &node.id.value, &other.id.value);
        let message =
            format!("`{own}` writes where `{id}` leaves its result: from then on `{path}` is what `{own}` wrote");
        let d = Diagnostic::warning("write-conflict", flow.reader.at(text.span), message);
        let help = format!("write `working.{own}.{}`, or another path of its own", node.output.join("."));
        flow.reader.report(d.label(flow.reader.at(other.id.span), "this node").help(help));
    }
}

/// Nodes that write beneath a text that is there from the start, of which nothing is left then.
fn replaced_seeds(flow: &Workflow<'_, '_>) {
    for (write, depth) in flow.names.beneath_seeds() {
        let text = flow.manifest.nodes.get(write.node).and_then(|node| node.kind.writes()).and_then(|w| w.text);
        let Some(text) = text else { continue };
        let root = write.root.word();
        let seed = write.path.get(..depth).unwrap_or_default().join(".");
        let message = format!("writing here replaces the seeded value `{root}.{seed}`");
        let d = Diagnostic::warning("write-conflict", flow.reader.at(text.span), message);
        flow.reader.report(d.help("write to a path that is not beneath a text"));
    }
}

/// Agents that no node names: their templates are read for mistakes all the same.
fn unused_agents(flow: &Workflow<'_, '_>) {
    let named = flow.manifest.nodes.iter().filter_map(|node| match &node.kind {
        NodeKind::Agent(kind) => kind.agent,
        NodeKind::Factory(kind) => match &kind.worker {
            Some(Worker::Agent(agent)) => Some(*agent),
            _ => None,
        },
        _ => None,
    });
    let used: HashSet<&str> = named.map(|text| &*text.value).collect();
    for agent in flow.manifest.agents.iter().filter(|agent| !used.contains(&*agent.id.value)) {
        let message = format!("agent `{}` is never used", agent.id.value);
        flow.reader.warning("no-effect", agent.id.span, message);
        if let Some(text) = agent.system {
            flow.text(&Scope::new(flow, Reading::Nobody), Position::System, text);
        }
    }
}
