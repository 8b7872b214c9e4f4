//! Graphs: a node runs when everything before it has ended and one of its incoming edges was taken.

use std::sync::Arc;

use trefoil_ir::{Graph, NodeId, StepId};
use trefoil_template::Value;

use super::branch::not_taken;
use crate::error::RunError;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{Doing, FrameId, Outcome, Task};
use crate::machine::lifecycle::{self, Started};
use crate::machine::turn::Turn;

/// Data computed once for a graph.
#[derive(Debug)]
pub struct Plan {
    /// For each node, the nodes that wait for it, without duplicates.
    waiting: Vec<Vec<u32>>,
    /// For each node, the number of nodes for which it waits.
    waits_for: Vec<u32>,
    /// For each node, its outgoing edges: the target, and the index among the target's incoming edges.
    outgoing: Vec<Vec<(u32, u32)>>,
}

impl Plan {
    /// Computes the data.
    pub fn of(graph: &Graph) -> Self {
        let count = graph.nodes.len();
        let mut plan =
            Self { waiting: vec![Vec::new(); count], waits_for: vec![0; count], outgoing: vec![Vec::new(); count] };
        for (at, node) in graph.nodes.iter().enumerate() {
            for (edge, incoming) in node.incoming.iter().enumerate() {
                if let Some(outgoing) = plan.outgoing.get_mut(incoming.from.index()) {
                    outgoing.push((at as u32, edge as u32));
                }
            }
            let mut before: Vec<NodeId> = node.incoming.iter().map(|e| e.from).collect();
            before.extend(node.after.iter().chain(&node.fallback_of));
            before.sort_unstable();
            before.dedup();
            for from in before {
                if let (Some(waiting), Some(count)) = (plan.waiting.get_mut(from.index()), plan.waits_for.get_mut(at)) {
                    waiting.push(at as u32);
                    *count += 1;
                }
            }
        }
        plan
    }
}

/// Nodes in progress.
#[derive(Debug)]
pub struct RunningNodes {
    plan: Arc<Plan>,
    nodes: Vec<RunningNode>,
    running: u32,
}

#[derive(Debug, Clone, Default)]
struct RunningNode {
    waits_for: u32,
    taken: bool,
    /// The values read by the conditions of its incoming edges that did not hold.
    saw: Vec<String>,
    failed: bool,
    ended: bool,
}

/// Starts the nodes that wait for nothing.
pub fn start(turn: &mut Turn<'_>, f: FrameId, id: StepId) -> Result<Started, EvalStop> {
    let Some(plan) = turn.prepared.graph(id) else { return Ok(Started::Done(Value::Null)) };
    let node = |&waits_for: &u32| RunningNode { waits_for, ..RunningNode::default() };
    let nodes: Vec<RunningNode> = plan.waits_for.iter().map(node).collect();
    let first: Vec<u32> = (0u32..).zip(&nodes).filter(|(_, n)| n.waits_for == 0).map(|(at, _)| at).collect();
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing = Doing::Graph(Box::new(RunningNodes { plan, nodes, running: 0 }));
    }
    let Some((_, step)) = turn.step_of(f) else { return Ok(Started::Running) };
    let trefoil_ir::StepKind::Graph(graph) = &step.kind else { return Ok(Started::Running) };
    advance(turn, f, graph, first)?;
    Ok(Started::Running)
}

/// A node ended.
pub fn ended(turn: &mut Turn<'_>, f: FrameId, graph: &Graph, place: u32, outcome: &Outcome) -> Result<(), EvalStop> {
    let Some(node) = graph.nodes.get(place as usize) else { return Ok(()) };
    let Some(Doing::Graph(running)) = turn.core.frames.get(f).map(|f| &f.doing) else { return Ok(()) };
    let plan = running.plan.clone();
    let (mut taken, mut carried, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    match outcome {
        Outcome::Done(value) => {
            let context = turn.context_of(f, place, Some(value), None);
            for &(target, edge) in plan.outgoing.get(place as usize).into_iter().flatten() {
                let edge = graph.nodes.get(target as usize).and_then(|n| n.incoming.get(edge as usize));
                let holds = match edge.and_then(|e| e.when.as_ref()) {
                    Some(when) => {
                        let holds = context.cond(when)?;
                        if !holds {
                            refused.push((target, context.seen(when)));
                        }
                        holds
                    }
                    None => true,
                };
                if holds {
                    taken.push(target);
                    let carry = edge.and_then(|e| e.carry.as_ref());
                    let from = |source| if turn.core.traces { context.source_trail(source) } else { None };
                    carried.extend(carry.and_then(|(slot, source)| Some((*slot, context.read(source)?, from(source)))));
                }
            }
        }
        Outcome::Failed(error) if node.fallback.is_none() || goes_up(turn, node.step, error) => {
            turn.push(Task::Settle(f, outcome.clone()));
            return Ok(());
        }
        Outcome::Failed(_) => {}
    }
    let Some(Doing::Graph(running)) = turn.core.frames.get_mut(f).map(|f| &mut f.doing) else { return Ok(()) };
    running.running -= 1;
    for target in taken {
        if let Some(target) = running.nodes.get_mut(target as usize) {
            target.taken = true;
        }
    }
    for (target, saw) in refused {
        if let Some(target) = running.nodes.get_mut(target as usize) {
            target.saw.extend(saw);
        }
    }
    if let Some(node) = running.nodes.get_mut(place as usize) {
        node.failed = matches!(outcome, Outcome::Failed(_));
        node.ended = true;
    }
    let mut ready = Vec::new();
    running.release(place, &mut ready);
    for (slot, value, from) in carried {
        turn.write(f, slot, Some(value));
        turn.mark(f, slot, |_| from);
    }
    advance(turn, f, graph, ready)
}

/// A guardrail's rejection that no fallback may handle.
fn goes_up(turn: &Turn<'_>, step: StepId, error: &RunError) -> bool {
    turn.program.step(step).is_some_and(|step| lifecycle::goes_up(step, error))
}

impl RunningNodes {
    /// Notifies the nodes that wait for a node that it has ended.
    fn release(&mut self, place: u32, ready: &mut Vec<u32>) {
        for &waiting in self.plan.waiting.get(place as usize).into_iter().flatten() {
            if let Some(node) = self.nodes.get_mut(waiting as usize) {
                node.waits_for = node.waits_for.saturating_sub(1);
                if node.waits_for == 0 {
                    ready.push(waiting);
                }
            }
        }
    }

    fn failed(&self, node: NodeId) -> bool {
        self.nodes.get(node.index()).is_some_and(|n| n.failed)
    }
}

/// Decides about nodes that have nothing left to wait for, and about those that become ready because of this.
fn advance(turn: &mut Turn<'_>, f: FrameId, graph: &Graph, mut ready: Vec<u32>) -> Result<(), EvalStop> {
    let skips = turn.skips_remaining(f);
    let mut starting = Vec::new();
    while let Some(place) = ready.pop() {
        let Some(node) = graph.nodes.get(place as usize) else { continue };
        let Some(Doing::Graph(running)) = turn.core.frames.get_mut(f).map(|f| &mut f.doing) else { return Ok(()) };
        let taken = running.nodes.get(place as usize).is_some_and(|n| n.taken);
        let runs = match (&*node.fallback_of, &*node.incoming) {
            ([], []) => true,
            ([], _) => taken,
            (of, _) => of.iter().any(|n| running.failed(*n)),
        };
        if runs && !skips {
            running.running += 1;
            starting.push((place, node.step));
            continue;
        }
        let mut saw = Vec::new();
        if let Some(node) = running.nodes.get_mut(place as usize) {
            node.ended = true;
            saw = std::mem::take(&mut node.saw);
        }
        running.release(place, &mut ready);
        let reason = match (runs, &*node.fallback_of) {
            (true, _) => "budget".to_owned(),
            (false, []) => not_taken(&lifecycle::joined(saw)),
            (false, _) => "not needed: the node it replaces did not fail".to_owned(),
        };
        turn.note_passed_over(f, node.step, &reason);
    }
    let Some(Doing::Graph(running)) = turn.core.frames.get(f).map(|f| &f.doing) else { return Ok(()) };
    if running.running == 0 {
        if running.nodes.iter().all(|n| n.ended) {
            turn.done(f, Value::Null);
            return Ok(());
        }
        // A cycle: the front end reports it at load.
        return Err(RunError::new("LIMIT_EXCEEDED", "the nodes of the graph wait for each other").into());
    }
    // Pushed in reverse, so that the first declared node is on top of the stack.
    starting.sort_unstable_by_key(|(place, _)| std::cmp::Reverse(*place));
    for (place, step) in starting {
        turn.spawn_step(f, place, step, None, |_| {})?;
    }
    Ok(())
}
