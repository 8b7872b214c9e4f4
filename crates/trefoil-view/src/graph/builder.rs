//! Builds the graph from the description.

use std::sync::Arc;

use trefoil_ir::{
    FlowDefinition, FlowId, GraphNode, IndexVec, MatchedOutcome, NodeId, Program, StateId, StateMachine,
    StateTransition, StepGraph as Nodes, StepKind, WorkflowState,
};
use trefoil_syntax::{Location, SourceFiles};

use super::{ArrowMeaning, BoxShape, GraphArrow, GraphBox, GraphFrame, GraphPicture, PlanLocation};
use crate::descriptions::{self, ProgramDescription, StepContent, StepNode as Described};

/// The maximum number of boxes; beyond it, flows are not expanded.
const LIMIT: usize = 600;

/// Draws the entry flow between a start and an end.
pub(super) fn build_graph(program: &Program, files: &SourceFiles) -> GraphPicture {
    let described = ProgramDescription::for_program(program, files);
    let mut drawing = GraphBuilder { described: &described, graph: GraphPicture::default() };
    let flow = program.entry_flow();
    drawing.graph.title = flow.name.to_string();
    let here = GraphContext { place: described.to_plan_location(flow.origin), ..GraphContext::default() };
    let start = drawing.node(BoxShape::Start, flow.name.to_string(), inputs(flow), &here);
    let body = drawing.step(described.flow_body(program.entry), &GraphContext::default());
    let end = drawing.node(BoxShape::End, "end".to_owned(), Vec::new(), &GraphContext::default());
    drawing.join(&[DrawnExit { node: start, label: None, line: ArrowMeaning::Then }], &body.entries);
    let exits = if body.entries.is_empty() {
        vec![DrawnExit { node: start, label: None, line: ArrowMeaning::Then }]
    } else {
        body.exits
    };
    drawing.join(&exits, &[end]);
    drawing.graph
}

fn inputs(flow: &FlowDefinition) -> Vec<String> {
    flow.intake.fields.iter().map(|f| f.name.to_string()).collect()
}

/// The context of a step.
#[derive(Clone, Default)]
struct GraphContext {
    /// The enclosing frame.
    cluster: Option<usize>,
    /// The name given by enclosing steps that only add a name.
    title: Option<Arc<str>>,
    /// Notes of those steps.
    notes: Vec<String>,
    /// Whether those steps may be skipped.
    optional: bool,
    /// The place in the manifest of that name.
    place: Option<PlanLocation>,
    /// The places of those steps in the manifest, outermost first.
    origins: Vec<Location>,
}

/// An exit of what was drawn.
#[derive(Clone)]
struct DrawnExit {
    node: usize,
    label: Option<String>,
    line: ArrowMeaning,
}

/// A drawn part: where arrows enter and leave. Both are empty if nothing was drawn.
#[derive(Default)]
struct DrawnPart {
    entries: Vec<usize>,
    exits: Vec<DrawnExit>,
}

struct GraphBuilder<'d, 'p> {
    described: &'d ProgramDescription<'p>,
    graph: GraphPicture,
}

impl<'d, 'p> GraphBuilder<'d, 'p> {
    fn node(&mut self, shape: BoxShape, title: String, notes: Vec<String>, around: &GraphContext) -> usize {
        let (cluster, optional, place) = (around.cluster, around.optional, around.place.clone());
        let origins = around.origins.clone();
        self.graph.nodes.push(GraphBox { shape, title, notes, cluster, optional, place, origins });
        self.graph.nodes.len() - 1
    }
    fn edge(&mut self, from: usize, to: usize, label: Option<String>, line: ArrowMeaning) {
        let edge = GraphArrow { from, to, label, line };
        if !self.graph.edges.contains(&edge) {
            self.graph.edges.push(edge);
        }
    }
    /// Connects all exits of one stage with all entries of the next. If both have several, the arrows go through one
    /// dot, because each entry waits for all exits.
    fn stage(&mut self, exits: &[DrawnExit], entries: &[usize], around: &GraphContext) {
        if exits.len() < 2 || entries.len() < 2 {
            return self.join(exits, entries);
        }
        let dot = self.dot(exits, around);
        self.join(&[dot], entries);
    }
    /// A dot to which all of these lead.
    fn dot(&mut self, exits: &[DrawnExit], around: &GraphContext) -> DrawnExit {
        let here = GraphContext { cluster: around.cluster, ..GraphContext::default() };
        let node = self.node(BoxShape::Join, String::new(), Vec::new(), &here);
        self.join(exits, &[node]);
        DrawnExit { node, label: None, line: ArrowMeaning::Then }
    }
    fn join(&mut self, exits: &[DrawnExit], entries: &[usize]) {
        for exit in exits {
            for entry in entries {
                self.edge(exit.node, *entry, exit.label.clone(), exit.line);
            }
        }
    }
    /// One box.
    fn leaf(&mut self, shape: BoxShape, fallback: &str, around: &GraphContext, notes: Vec<String>) -> DrawnPart {
        let title = around.title.as_deref().unwrap_or(fallback).to_owned();
        let mut all_notes = around.notes.clone();
        all_notes.extend(notes);
        let node = self.node(shape, title, all_notes, around);
        DrawnPart { entries: vec![node], exits: vec![DrawnExit { node, label: None, line: ArrowMeaning::Then }] }
    }
    /// Adds a frame; returns the context for the steps in it.
    fn frame(&mut self, around: &GraphContext, what: String) -> GraphContext {
        let (title, mut notes) = match &around.title {
            Some(title) => (title.to_string(), vec![what]),
            None => (what, Vec::new()),
        };
        notes.extend(around.notes.iter().cloned());
        let (place, origins) = (around.place.clone(), around.origins.clone());
        let cluster = GraphFrame { title, note: notes.join(", "), parent: around.cluster, place, origins };
        self.graph.clusters.push(cluster);
        GraphContext { cluster: Some(self.graph.clusters.len() - 1), ..GraphContext::default() }
    }

    fn step(&mut self, node: &'d Described<'p>, around: &GraphContext) -> DrawnPart {
        let mut around = around.clone();
        around.place = node.place.clone().or(around.place);
        around.origins.push(node.step.origin);
        if around.title.is_none() {
            around.title.clone_from(&node.step.label);
        }
        around.optional |= node.step.when.is_some();
        around.notes.extend(node.notes.iter().cloned());
        let around = &around;
        match &node.what {
            StepContent::Effect { title, says } => self.effect(&node.step.kind, title, says, around),
            StepContent::Value if around.title.is_none() => DrawnPart::default(),
            StepContent::Value => self.leaf(BoxShape::Plain, "value", around, Vec::new()),
            StepContent::Sequence(steps) => self.sequence(steps, around),
            StepContent::Parallel { width, skips, branches } => {
                let what = width.as_deref().unwrap_or("in parallel").to_owned();
                self.parallel(skipping(what, *skips), branches, around)
            }
            StepContent::Choice { arms, otherwise } => self.choice(arms, otherwise.as_deref(), around),
            StepContent::Loop { until, most, body } => self.repeated(format!("{until}, {most}"), body, around),
            StepContent::Each { items, width, skips, body, .. } => {
                let what = match width {
                    Some(width) => format!("{items}, {width}"),
                    None => items.clone(),
                };
                let inner = self.frame(around, skipping(what, *skips));
                self.flow(*body, None, &inner)
            }
            StepContent::Graph { graph, nodes } => self.nodes(graph, nodes, around),
            StepContent::States { machine, states } => self.states(machine, states, around),
            StepContent::Turns { notes, body, .. } => {
                let mut inner = around.clone();
                inner.notes.extend(notes.iter().cloned());
                self.step(body, &inner)
            }
            StepContent::Call(flow) => {
                let name = self.described.program.flows[*flow].name.clone();
                self.flow(*flow, Some(name), around)
            }
            StepContent::Named { name, flows } => {
                let mut notes = vec![name.clone()];
                if flows.len() <= 8 {
                    notes.push(format!("one of {}", flows.iter().map(|(n, _)| &**n).collect::<Vec<_>>().join(", ")));
                }
                self.leaf(BoxShape::Flow, "call", around, notes)
            }
        }
    }
    fn parallel(&mut self, what: String, branches: &'d [Described<'p>], around: &GraphContext) -> DrawnPart {
        let inner = self.frame(around, what);
        let mut all = DrawnPart::default();
        for branch in branches {
            let drawn = self.step(branch, &inner);
            all.entries.extend(drawn.entries);
            all.exits.extend(drawn.exits);
        }
        all
    }
    fn repeated(&mut self, what: String, body: &'d Described<'p>, around: &GraphContext) -> DrawnPart {
        let inner = self.frame(around, what);
        let mut body = self.step(body, &inner);
        if body.exits.len() > 1 && body.entries.len() > 1 {
            body.exits = vec![self.dot(&body.exits, &inner)];
        }
        for exit in &body.exits {
            for entry in &body.entries {
                self.edge(exit.node, *entry, Some("again".to_owned()), ArrowMeaning::Again);
            }
        }
        body
    }
    fn effect(&mut self, kind: &StepKind, title: &str, says: &str, around: &GraphContext) -> DrawnPart {
        let (shape, says) = match kind {
            StepKind::Model(_) => (BoxShape::Agent, says.to_owned()),
            StepKind::Tool(_) => (BoxShape::Tool, says.to_owned()),
            StepKind::Command(_) => (BoxShape::Command, says.to_owned()),
            StepKind::Human(_) => (BoxShape::Human, "human answer".to_owned()),
            StepKind::Wait { .. } => (BoxShape::Plain, format!("waits {says}")),
            _ => (BoxShape::Refused, says.to_owned()),
        };
        self.leaf(shape, title, around, vec![says])
    }
    fn sequence(&mut self, steps: &'d [Described<'p>], around: &GraphContext) -> DrawnPart {
        let drawn = steps.iter().filter(|s| draws(s)).count();
        let inner = match (&around.title, drawn) {
            (Some(_), 2..) => self.frame(around, "in order".to_owned()),
            (None, 2..) => GraphContext { notes: Vec::new(), ..around.clone() },
            _ => around.clone(),
        };
        let mut all = DrawnPart::default();
        for step in steps {
            // The name belongs to a step that is drawn, not to a computed value next to it.
            let next = if draws(step) {
                self.step(step, &inner)
            } else {
                self.step(step, &GraphContext { title: None, ..inner.clone() })
            };
            if next.entries.is_empty() {
                continue;
            }
            if all.entries.is_empty() {
                all = next;
            } else {
                self.stage(&all.exits, &next.entries, &inner);
                all.exits = next.exits;
            }
        }
        all
    }
    fn choice(
        &mut self,
        arms: &'d [(String, Described<'p>)],
        otherwise: Option<&'d Described<'p>>,
        around: &GraphContext,
    ) -> DrawnPart {
        let choice = self.leaf(BoxShape::Choice, "choose", around, Vec::new());
        let inner = GraphContext { cluster: around.cluster, ..GraphContext::default() };
        let mut exits = Vec::new();
        for (when, node) in arms {
            let arm = self.step(node, &inner);
            exits.extend(self.arm(&choice, when, arm));
        }
        let otherwise = match otherwise {
            Some(node) => self.step(node, &inner),
            None => DrawnPart::default(),
        };
        exits.extend(self.arm(&choice, "else", otherwise));
        DrawnPart { entries: choice.entries, exits }
    }
    /// Connects a choice with one of its arms; returns the exits.
    fn arm(&mut self, choice: &DrawnPart, label: &str, arm: DrawnPart) -> Vec<DrawnExit> {
        let mut exits = Vec::new();
        for from in &choice.exits {
            for entry in &arm.entries {
                self.edge(from.node, *entry, Some(label.to_owned()), ArrowMeaning::Then);
            }
            if arm.entries.is_empty() {
                exits.push(DrawnExit { label: Some(label.to_owned()), ..from.clone() });
            }
        }
        exits.extend(arm.exits);
        exits
    }
    fn nodes(&mut self, graph: &Nodes, nodes: &'d IndexVec<NodeId, Described<'p>>, around: &GraphContext) -> DrawnPart {
        let inner = match around.title {
            Some(_) => self.frame(around, "graph".to_owned()),
            None => around.clone(),
        };
        let drawn = nodes.map(|node| self.step(node, &inner));
        let mut ends = nodes.map(|_| true);
        for (id, node) in graph.nodes.entries() {
            for edge in &node.incoming {
                let label = edge.when.as_ref().map(|w| descriptions::short_text(&w.text));
                self.connect(&drawn[edge.from], &drawn[id], label.as_ref(), ArrowMeaning::Then);
                ends[edge.from] = false;
            }
            // The order that arrows do not show yet. What follows a fallback is what follows its node.
            let mut after: Vec<NodeId> = node.after.clone();
            for before in &node.after {
                after.extend(&graph.nodes[*before].fallback_of);
            }
            for before in &after {
                if !node.fallback_of.contains(before) && !is_implied(graph, node, *before, &after) {
                    self.connect(&drawn[*before], &drawn[id], None, ArrowMeaning::Then);
                    ends[*before] = false;
                }
            }
            for failed in &node.fallback_of {
                let label = "on failure".to_owned();
                self.connect(&drawn[*failed], &drawn[id], Some(&label), ArrowMeaning::Failure);
                ends[*failed] = false;
            }
        }
        let mut all = DrawnPart::default();
        for (id, node) in graph.nodes.entries() {
            if node.incoming.is_empty() && node.after.is_empty() && node.fallback_of.is_empty() {
                all.entries.extend(&drawn[id].entries);
            }
            // The fallback of a failed node is not its only exit.
            if ends[id] || node.fallback.is_some() && !graph.nodes.iter().any(|other| follows(other, id)) {
                all.exits.extend(drawn[id].exits.iter().cloned());
            }
        }
        all
    }
    /// Connects all exits of a node with all entries of another one.
    fn connect(&mut self, from: &DrawnPart, to: &DrawnPart, label: Option<&String>, line: ArrowMeaning) {
        for exit in &from.exits {
            for entry in &to.entries {
                self.edge(exit.node, *entry, label.or(exit.label.as_ref()).cloned(), line);
            }
        }
    }
    fn states(
        &mut self,
        machine: &StateMachine,
        nodes: &'d IndexVec<StateId, Described<'p>>,
        around: &GraphContext,
    ) -> DrawnPart {
        let inner = match around.title {
            Some(_) => self.frame(around, "states".to_owned()),
            None => around.clone(),
        };
        let drawn = machine.states.entries().map(|(id, state)| {
            let inner = GraphContext { title: Some(state.name.clone()), ..inner.clone() };
            let drawn = self.step(&nodes[id], &inner);
            if drawn.entries.is_empty() { self.leaf(BoxShape::Plain, &state.name, &inner, Vec::new()) } else { drawn }
        });
        let drawn: IndexVec<StateId, DrawnPart> = drawn.collect();
        let mut exits = Vec::new();
        for (id, state) in machine.states.entries() {
            let from = &drawn[id];
            if state.may_end() {
                exits.extend(from.exits.iter().cloned());
            }
            for transition in &state.transitions {
                let label = transition_label(state, transition);
                let line = if transition.takes == MatchedOutcome::Failure {
                    ArrowMeaning::Failure
                } else {
                    ArrowMeaning::Then
                };
                for exit in &from.exits {
                    for entry in &drawn[transition.target].entries {
                        self.edge(exit.node, *entry, label.clone(), line);
                    }
                }
            }
        }
        DrawnPart { entries: drawn[machine.initial].entries.clone(), exits }
    }
    fn flow(&mut self, id: FlowId, name: Option<Arc<str>>, around: &GraphContext) -> DrawnPart {
        let flow = &self.described.program.flows[id];
        let mut inner = around.clone();
        match (&inner.title, name) {
            (Some(title), Some(name)) if *title != name => inner.notes.push(format!("{} {name}", flow.sort)),
            (None, Some(name)) => inner.title = Some(name),
            _ => {}
        }
        if self.graph.nodes.len() >= LIMIT {
            return self.leaf(BoxShape::Flow, &flow.name, &inner, vec!["not expanded".to_owned()]);
        }
        self.step(self.described.flow_body(id), &inner)
    }
}

/// Whether a step is drawn.
fn draws(node: &Described<'_>) -> bool {
    match &node.what {
        StepContent::Value => node.step.label.is_some(),
        StepContent::Sequence(steps) => steps.iter().any(draws),
        _ => true,
    }
}

/// The text at the arrow of a transition; `None` if it says nothing.
fn transition_label(state: &WorkflowState, transition: &StateTransition) -> Option<String> {
    let always = transition.when.is_none() && transition.takes != MatchedOutcome::Failure;
    if always && &*transition.text == "always" {
        return None;
    }
    let label = descriptions::short_text(&transition.text);
    let is_needless = label == "always" && state.transitions.len() <= 1;
    if label.is_empty() || is_needless { None } else { Some(label) }
}

/// Whether a node directly follows another one.
fn follows(node: &GraphNode, before: NodeId) -> bool {
    node.after.contains(&before) || node.incoming.iter().any(|edge| edge.from == before)
}

/// Whether other arrows to a node already show that it comes after this one. `after`: all those that it comes after.
fn is_implied(graph: &Nodes, node: &GraphNode, before: NodeId, after: &[NodeId]) -> bool {
    for edge in &node.incoming {
        if edge.from == before || reaches(graph, before, edge.from) {
            return true;
        }
    }
    for other in after {
        let is_usual = graph.nodes[*other].fallback_of.is_empty();
        if *other != before && is_usual && reaches(graph, before, *other) {
            return true;
        }
    }
    false
}

/// The note of a frame, and whether failures are skipped in it.
fn skipping(what: String, skips: bool) -> String {
    if skips { what + ", failures are skipped" } else { what }
}

/// Whether a node precedes another one through edges and order.
fn reaches(graph: &Nodes, from: NodeId, to: NodeId) -> bool {
    let mut seen = graph.nodes.map(|_| false);
    let mut stack = vec![to];
    while let Some(id) = stack.pop() {
        let node = &graph.nodes[id];
        for before in node.incoming.iter().map(|e| e.from).chain(node.after.iter().copied()) {
            if before == from {
                return true;
            }
            // A node that only runs on failure does not connect two nodes.
            let always = graph.nodes[before].fallback_of.is_empty();
            if always && !std::mem::replace(&mut seen[before], true) {
                stack.push(before);
            }
        }
    }
    false
}
