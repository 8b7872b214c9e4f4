//! From the program to the graph.

use std::sync::Arc;

use trefoil_ir::{
    Attempts, Callee, Flow, FlowId, ForEach, Graph as Nodes, OnItemFailure, Program, Refused, StateMachine, Step,
    StepId, StepKind, Takes, ValidatorKind,
};
use trefoil_syntax::{Files, Location};

use super::{Cluster, Edge, Graph, Line, Node, Place, Shape};
use crate::describe;

/// Boxes of a picture; beyond, flows are not expanded any more.
const LIMIT: usize = 600;

/// Draws the entry flow between a start and an end.
pub(super) fn build(program: &Program, files: &Files) -> Graph {
    let mut drawing = Drawing { program, files, graph: Graph::default() };
    let Some(flow) = program.flow(program.entry) else { return drawing.graph };
    drawing.graph.title = flow.name.to_string();
    let here = Around { place: drawing.place(flow.origin), ..Around::default() };
    let start = drawing.node(Shape::Start, flow.name.to_string(), inputs(flow), &here);
    let body = drawing.step(flow.body, &Around { flow: Some(flow), ..Around::default() });
    let end = drawing.node(Shape::End, "end".to_owned(), Vec::new(), &Around::default());
    drawing.join(&[Exit { node: start, label: None, line: Line::Then }], &body.entries);
    let exits =
        if body.entries.is_empty() { vec![Exit { node: start, label: None, line: Line::Then }] } else { body.exits };
    drawing.join(&exits, &[end]);
    drawing.graph
}

fn inputs(flow: &Flow) -> Vec<String> {
    flow.intake.fields.iter().map(|f| f.name.to_string()).collect()
}

/// Where a step stands.
#[derive(Clone, Default)]
struct Around<'p> {
    /// Its flow.
    flow: Option<&'p Flow>,
    /// The frame it is drawn in.
    cluster: Option<usize>,
    /// What it is called by the steps around it that are nothing but a name for it.
    title: Option<Arc<str>>,
    /// What they have to say about it.
    notes: Vec<String>,
    /// They may be passed over.
    optional: bool,
    /// Where the manifest says so.
    place: Option<Place>,
    /// Their places in the manifest, the outermost first.
    origins: Vec<Location>,
}

/// A way out of what was drawn.
#[derive(Clone)]
struct Exit {
    node: usize,
    label: Option<String>,
    line: Line,
}

/// What was drawn: where arrows lead in and out. Nothing drawn: nothing in either.
#[derive(Default)]
struct Fragment {
    entries: Vec<usize>,
    exits: Vec<Exit>,
}

struct Drawing<'p> {
    program: &'p Program,
    files: &'p Files,
    graph: Graph,
}

impl<'p> Drawing<'p> {
    fn place(&self, at: Location) -> Option<Place> {
        let file = self.files.get(at.file)?;
        Some(Place { file: file.name().to_owned(), line: file.position(at.span.start).line })
    }
    fn node(&mut self, shape: Shape, title: String, notes: Vec<String>, around: &Around<'p>) -> usize {
        let (cluster, optional, place) = (around.cluster, around.optional, around.place.clone());
        let origins = around.origins.clone();
        self.graph.nodes.push(Node { shape, title, notes, cluster, optional, place, origins });
        self.graph.nodes.len() - 1
    }
    fn edge(&mut self, from: usize, to: usize, label: Option<String>, line: Line) {
        let edge = Edge { from, to, label, line };
        if !self.graph.edges.contains(&edge) {
            self.graph.edges.push(edge);
        }
    }
    /// Leads from all of one stage to all of the next; where both have several, through one dot, since every one of the
    /// next waits for all of the one before.
    fn stage(&mut self, exits: &[Exit], entries: &[usize], around: &Around<'p>) {
        if exits.len() < 2 || entries.len() < 2 {
            return self.join(exits, entries);
        }
        let dot = self.dot(exits, around);
        self.join(&[dot], entries);
    }
    /// A dot that all of these lead to.
    fn dot(&mut self, exits: &[Exit], around: &Around<'p>) -> Exit {
        let here = Around { cluster: around.cluster, ..Around::default() };
        let node = self.node(Shape::Join, String::new(), Vec::new(), &here);
        self.join(exits, &[node]);
        Exit { node, label: None, line: Line::Then }
    }
    fn join(&mut self, exits: &[Exit], entries: &[usize]) {
        for exit in exits {
            for entry in entries {
                self.edge(exit.node, *entry, exit.label.clone(), exit.line);
            }
        }
    }
    /// One box.
    fn leaf(&mut self, shape: Shape, fallback: &str, around: &Around<'p>, notes: Vec<String>) -> Fragment {
        let title = around.title.as_deref().unwrap_or(fallback).to_owned();
        let notes = around.notes.iter().cloned().chain(notes).collect();
        let node = self.node(shape, title, notes, around);
        Fragment { entries: vec![node], exits: vec![Exit { node, label: None, line: Line::Then }] }
    }
    /// A frame, and what stands around the steps in it.
    fn frame(&mut self, around: &Around<'p>, what: String) -> Around<'p> {
        let (title, mut notes) = match &around.title {
            Some(title) => (title.to_string(), vec![what]),
            None => (what, Vec::new()),
        };
        notes.extend(around.notes.iter().cloned());
        let (place, origins) = (around.place.clone(), around.origins.clone());
        let cluster = Cluster { title, note: notes.join(", "), parent: around.cluster, place, origins };
        self.graph.clusters.push(cluster);
        Around { flow: around.flow, cluster: Some(self.graph.clusters.len() - 1), ..Around::default() }
    }

    fn step(&mut self, id: StepId, around: &Around<'p>) -> Fragment {
        let Some(step) = self.program.step(id) else { return Fragment::default() };
        let mut around = around.clone();
        around.place = self.place(step.origin).or(around.place);
        around.origins.push(step.origin);
        if around.title.is_none()
            && let Some(label) = &step.label
        {
            around.title = Some(label.clone());
        }
        if let Some(when) = &step.when {
            around.notes.push(format!("when {}", describe::short(&when.text)));
            around.optional = true;
        }
        around.notes.extend(describe::policies(step));
        self.kind(step, &around)
    }
    fn kind(&mut self, step: &'p Step, around: &Around<'p>) -> Fragment {
        match &step.kind {
            StepKind::Model(call) => self.leaf(Shape::Agent, &call.speaker, around, vec![describe::model(&call.model)]),
            StepKind::Tool(call) => self.leaf(
                Shape::Tool,
                &call.name,
                around,
                vec![format!("{} {}", describe::tool(&call.kind), call.name)],
            ),
            StepKind::Command(call) => {
                let notes = vec![describe::command(self.files, around.flow, call)];
                self.leaf(Shape::Command, "command", around, notes)
            }
            StepKind::Human(_) => self.leaf(Shape::Human, "human", around, vec!["human answer".to_owned()]),
            StepKind::Wait { ms } => {
                self.leaf(Shape::Plain, "wait", around, vec![format!("waits {}", describe::duration(*ms))])
            }
            StepKind::Compute(_) if around.title.is_none() => Fragment::default(),
            StepKind::Compute(_) => self.leaf(Shape::Plain, "value", around, Vec::new()),
            StepKind::Refused(Refused { feature, .. }) => {
                self.leaf(Shape::Refused, feature, around, vec![format!("not run: {feature}")])
            }
            StepKind::Sequence(steps) => self.sequence(steps, around),
            StepKind::Parallel(parallel) => {
                let mut what = "in parallel".to_owned();
                if let Some(n) = parallel.concurrency {
                    what = format!("{n} at a time");
                }
                if parallel.on_failure == OnItemFailure::Continue {
                    what.push_str(", failures are skipped");
                }
                let inner = self.frame(around, what);
                let mut all = Fragment::default();
                for branch in &parallel.branches {
                    let one = self.step(*branch, &inner);
                    all.entries.extend(one.entries);
                    all.exits.extend(one.exits);
                }
                all
            }
            StepKind::Branch { arms, otherwise } => self.branch(arms, *otherwise, around),
            StepKind::Loop(it) => {
                let until = describe::short(&it.until.text);
                let inner = self.frame(around, format!("until {until}, at most {} iterations", it.max));
                let mut body = self.step(it.body, &inner);
                if body.exits.len() > 1 && body.entries.len() > 1 {
                    body.exits = vec![self.dot(&body.exits, &inner)];
                }
                for exit in body.exits.clone() {
                    for entry in body.entries.clone() {
                        self.edge(exit.node, entry, Some("again".to_owned()), Line::Again);
                    }
                }
                body
            }
            StepKind::ForEach(each) => self.for_each(each, around),
            StepKind::Graph(nodes) => self.nodes(nodes, around),
            StepKind::StateMachine(machine) => self.states(machine, around),
            StepKind::Attempts(attempts) => self.attempts(attempts, around),
            StepKind::Call(call) => self.call(&call.callee, around),
        }
    }
    fn sequence(&mut self, steps: &[StepId], around: &Around<'p>) -> Fragment {
        let drawn = steps.iter().filter(|s| self.draws(**s)).count();
        let inner = match (&around.title, drawn) {
            (Some(_), 2..) => self.frame(around, "in order".to_owned()),
            (None, 2..) => Around { notes: Vec::new(), ..around.clone() },
            _ => around.clone(),
        };
        let mut all = Fragment::default();
        for step in steps {
            // The name is for what is drawn, not for a value worked out beside it.
            let next = if self.draws(*step) {
                self.step(*step, &inner)
            } else {
                self.step(*step, &Around { title: None, ..inner.clone() })
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
    /// Whether anything is drawn for a step.
    fn draws(&self, id: StepId) -> bool {
        self.program.step(id).is_some_and(|s| match &s.kind {
            StepKind::Compute(_) => s.label.is_some(),
            StepKind::Sequence(steps) => steps.iter().any(|s| self.draws(*s)),
            _ => true,
        })
    }
    fn branch(&mut self, arms: &'p [trefoil_ir::Arm], otherwise: Option<StepId>, around: &Around<'p>) -> Fragment {
        let choice = self.leaf(Shape::Choice, "choose", around, Vec::new());
        let inner = Around { flow: around.flow, cluster: around.cluster, ..Around::default() };
        let mut exits = Vec::new();
        let arms = arms.iter().map(|a| (describe::short(&a.when.text), Some(a.step)));
        for (label, step) in arms.chain([("else".to_owned(), otherwise)]) {
            let arm = step.map(|s| self.step(s, &inner)).unwrap_or_default();
            for from in &choice.exits {
                for entry in &arm.entries {
                    self.edge(from.node, *entry, Some(label.clone()), Line::Then);
                }
                if arm.entries.is_empty() {
                    exits.push(Exit { label: Some(label.clone()), ..from.clone() });
                }
            }
            exits.extend(arm.exits);
        }
        Fragment { entries: choice.entries, exits }
    }
    fn for_each(&mut self, each: &'p ForEach, around: &Around<'p>) -> Fragment {
        let mut what = describe::items(self.files, around.flow, &each.items);
        if let Some(n) = each.concurrency {
            what.push_str(&format!(", {n} at a time"));
        }
        if each.on_failure == OnItemFailure::Continue {
            what.push_str(", failures are skipped");
        }
        let inner = self.frame(around, what);
        self.flow(each.body, None, &inner)
    }
    fn nodes(&mut self, graph: &'p Nodes, around: &Around<'p>) -> Fragment {
        let inner = match around.title {
            Some(_) => self.frame(around, "graph".to_owned()),
            None => around.clone(),
        };
        let drawn: Vec<Fragment> = graph.nodes.iter().map(|n| self.step(n.step, &inner)).collect();
        let mut ends = vec![true; drawn.len()];
        for (index, node) in graph.nodes.iter().enumerate() {
            let Some(to) = drawn.get(index) else { continue };
            let to = to.entries.clone();
            let mut connect = |this: &mut Self, from: usize, label: Option<String>, line: Line| {
                if let Some(fragment) = drawn.get(from) {
                    for exit in &fragment.exits {
                        for entry in &to {
                            let label = label.clone().or_else(|| exit.label.clone());
                            this.edge(exit.node, *entry, label, line);
                        }
                    }
                }
                if let Some(end) = ends.get_mut(from) {
                    *end = false;
                }
            };
            for edge in &node.incoming {
                let label = edge.when.as_ref().map(|w| describe::short(&w.text));
                connect(self, edge.from.index(), label, Line::Then);
            }
            // Order that arrows do not show already. Behind a fallback comes what comes behind the node it stands in for.
            let stand_ins = node.after.iter().filter_map(|n| graph.nodes.get(n.index())).flat_map(|n| &n.fallback_of);
            let after: Vec<usize> = node.after.iter().chain(stand_ins).map(|n| n.index()).collect();
            let usual = |n: &usize| graph.nodes.get(*n).is_some_and(|n| n.fallback_of.is_empty());
            let direct: Vec<usize> = node.incoming.iter().map(|e| e.from.index()).collect();
            for before in &after {
                let known = direct.iter().chain(after.iter().filter(|n| *n != before && usual(n)));
                let implied = known.into_iter().any(|n| n == before || reaches(graph, *before, *n));
                if !node.fallback_of.iter().any(|n| n.index() == *before) && !implied {
                    connect(self, *before, None, Line::Then);
                }
            }
            for failed in &node.fallback_of {
                connect(self, failed.index(), Some("on failure".to_owned()), Line::Failure);
            }
        }
        // A failed node's fallback is not the only way on from it.
        for (index, node) in graph.nodes.iter().enumerate() {
            let leads_on = graph.nodes.iter().any(|n| {
                n.incoming.iter().any(|e| e.from.index() == index) || n.after.iter().any(|a| a.index() == index)
            });
            if node.fallback.is_some()
                && !leads_on
                && let Some(end) = ends.get_mut(index)
            {
                *end = true;
            }
        }
        let first = |n: &trefoil_ir::GraphNode| n.incoming.is_empty() && n.after.is_empty() && n.fallback_of.is_empty();
        let entries = graph.nodes.iter().zip(&drawn).filter(|(n, _)| first(n)).flat_map(|(_, f)| f.entries.clone());
        let exits = ends.iter().zip(&drawn).filter(|(end, _)| **end).flat_map(|(_, f)| f.exits.clone());
        Fragment { entries: entries.collect(), exits: exits.collect() }
    }
    fn states(&mut self, machine: &'p StateMachine, around: &Around<'p>) -> Fragment {
        let inner = match around.title {
            Some(_) => self.frame(around, "states".to_owned()),
            None => around.clone(),
        };
        let drawn: Vec<Fragment> = machine
            .states
            .iter()
            .map(|state| {
                let inner = Around { title: Some(state.name.clone()), ..inner.clone() };
                let drawn = self.step(state.step, &inner);
                if drawn.entries.is_empty() { self.leaf(Shape::Plain, &state.name, &inner, Vec::new()) } else { drawn }
            })
            .collect();
        let mut exits = Vec::new();
        for (from, state) in drawn.iter().zip(&machine.states) {
            if state.may_end() {
                exits.extend(from.exits.iter().cloned());
            }
            for transition in &state.transitions {
                let Some(to) = drawn.get(transition.target.index()) else { continue };
                let always = transition.when.is_none() && transition.takes != Takes::Failure;
                let label = (!always || &*transition.text != "always")
                    .then(|| describe::short(&transition.text))
                    .filter(|l| !l.is_empty() && (l != "always" || state.transitions.len() > 1));
                let line = if transition.takes == Takes::Failure { Line::Failure } else { Line::Then };
                for exit in &from.exits {
                    for entry in &to.entries {
                        self.edge(exit.node, *entry, label.clone(), line);
                    }
                }
            }
        }
        let entries = drawn.get(machine.initial.index()).map(|f| f.entries.clone()).unwrap_or_default();
        Fragment { entries, exits }
    }
    fn attempts(&mut self, attempts: &'p Attempts, around: &Around<'p>) -> Fragment {
        let mut notes = Vec::new();
        if attempts.max > 1 {
            notes.push(format!("up to {} attempts", attempts.max));
        }
        for validator in &attempts.validators {
            notes.push(match &validator.kind {
                ValidatorKind::Judges { judges, .. } => {
                    let names: Vec<_> = judges.iter().map(|j| &*j.name).collect();
                    format!("judged by {}", names.join(", "))
                }
                _ => format!("checked by {}", validator.name),
            });
        }
        let mut inner = around.clone();
        inner.notes.extend(notes);
        self.step(attempts.body, &inner)
    }
    fn call(&mut self, callee: &'p Callee, around: &Around<'p>) -> Fragment {
        match callee {
            Callee::Flow(flow) => {
                let name = self.program.flow(*flow).map(|f| f.name.clone());
                self.flow(*flow, name, around)
            }
            Callee::Named { name, flows } => {
                let mut notes = vec![format!("agent {}", describe::written(self.files, name))];
                if flows.len() <= 8 {
                    notes.push(format!("one of {}", flows.iter().map(|(n, _)| &**n).collect::<Vec<_>>().join(", ")));
                }
                self.leaf(Shape::Flow, "call", around, notes)
            }
        }
    }
    fn flow(&mut self, id: FlowId, name: Option<Arc<str>>, around: &Around<'p>) -> Fragment {
        let Some(flow) = self.program.flow(id) else { return Fragment::default() };
        let mut inner = around.clone();
        inner.flow = Some(flow);
        match (&inner.title, name) {
            (Some(title), Some(name)) if *title != name => inner.notes.push(format!("{} {name}", flow.sort)),
            (None, Some(name)) => inner.title = Some(name),
            _ => {}
        }
        if self.graph.nodes.len() >= LIMIT {
            return self.leaf(Shape::Flow, &flow.name, &inner, vec!["not expanded".to_owned()]);
        }
        self.step(flow.body, &inner)
    }
}

/// Whether a node comes before another by edges and order.
fn reaches(graph: &Nodes, from: usize, to: usize) -> bool {
    let mut seen = vec![false; graph.nodes.len()];
    let mut stack = vec![to];
    while let Some(at) = stack.pop() {
        let Some(node) = graph.nodes.get(at) else { continue };
        for before in node.incoming.iter().map(|e| e.from.index()).chain(node.after.iter().map(|n| n.index())) {
            if before == from {
                return true;
            }
            // What runs only on failure is no way from one node to the next.
            let always = graph.nodes.get(before).is_some_and(|n| n.fallback_of.is_empty());
            if let Some(s) = seen.get_mut(before)
                && always
                && !*s
            {
                *s = true;
                stack.push(before);
            }
        }
    }
    false
}
