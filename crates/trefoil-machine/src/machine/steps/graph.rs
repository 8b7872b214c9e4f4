//! Graphs: a node runs when everything before it has ended and one of its incoming edges was taken.

use trefoil_ir::{IndexVec, NodeId, StepGraph, StepId};
use trefoil_template::Value;

use super::branch::not_taken;
use crate::error::RunError;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{Frame, FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::policy::is_final_rejection;
use crate::machine::progress::{RunningNode, RunningNodes};
use crate::machine::turn::MachineTurn;
use crate::text::join_distinct;

/// Starts the nodes that wait for nothing.
pub fn start_graph(turn: &mut MachineTurn<'_>, f: FrameId, id: StepId) -> Result<StepStart, EvalStop> {
    let Some(plan) = turn.prepared.graph_plan(id) else { return Ok(StepStart::Done(Value::Null)) };
    let node = |&waits_for: &u32| RunningNode { waits_for, ..RunningNode::default() };
    let nodes: IndexVec<NodeId, RunningNode> = plan.waits_for.iter().map(node).collect();
    let first: Vec<NodeId> = nodes.element_ids().filter(|at| nodes[*at].waits_for == 0).collect();
    if let Some(frame) = turn.core.frames.get_mut(f) {
        frame.doing = FrameState::Graph(Box::new(RunningNodes { plan, nodes, running: 0 }));
    }
    let Some((_, step)) = turn.step_of(f) else { return Ok(StepStart::Running) };
    let trefoil_ir::StepKind::Graph(graph) = &step.kind else { return Ok(StepStart::Running) };
    advance(turn, f, graph, first)?;
    Ok(StepStart::Running)
}

/// A node ended.
pub fn end_node(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    graph: &StepGraph,
    child_index: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let id = NodeId(child_index);
    let node = &graph.nodes[id];
    let Some(Frame { doing: FrameState::Graph(running), .. }) = turn.core.frames.get(f) else { return Ok(()) };
    let plan = running.plan.clone();
    let (mut taken, mut carried, mut refused) = (Vec::new(), Vec::new(), Vec::new());
    match outcome {
        FrameOutcome::Done(value) => {
            let context = turn.context_of(f, child_index, Some(value), None);
            for &(target, edge) in &plan.outgoing[id] {
                let edge = graph.nodes[target].incoming.get(edge);
                if let Some(edge) = edge
                    && let Some(when) = &edge.when
                    && !context.eval_condition(when)?
                {
                    refused.push((target, context.describe_values(when)));
                    continue;
                }
                taken.push(target);
                if let Some(edge) = edge
                    && let Some((slot, source)) = &edge.carry
                    && let Some(value) = context.read_source(source)
                {
                    let from = if turn.core.traces { context.source_trail(source) } else { None };
                    carried.push((*slot, value, from));
                }
            }
        }
        FrameOutcome::Failed(error)
            if node.fallback.is_none() || is_final_rejection(&turn.program.steps[node.step], error) =>
        {
            turn.push_task(MachineTask::Settle(f, outcome.clone()));
            return Ok(());
        }
        FrameOutcome::Failed(_) => {}
    }
    let Some(Frame { doing: FrameState::Graph(running), .. }) = turn.core.frames.get_mut(f) else { return Ok(()) };
    running.running -= 1;
    for target in taken {
        running.nodes[target].taken = true;
    }
    for (target, saw) in refused {
        running.nodes[target].saw.extend(saw);
    }
    running.nodes[id].failed = matches!(outcome, FrameOutcome::Failed(_));
    running.nodes[id].ended = true;
    let mut ready = Vec::new();
    running.release_waiting(id, &mut ready);
    for (slot, value, from) in carried {
        turn.write_slot(f, slot, Some(value));
        turn.set_slot_trail(f, slot, |_| from);
    }
    advance(turn, f, graph, ready)
}

/// Decides about nodes that have nothing left to wait for, and about those that become ready because of this.
fn advance(turn: &mut MachineTurn<'_>, f: FrameId, graph: &StepGraph, mut ready: Vec<NodeId>) -> Result<(), EvalStop> {
    let skips = turn.skips_remaining(f);
    let mut starting = Vec::new();
    while let Some(id) = ready.pop() {
        let node = &graph.nodes[id];
        let Some(Frame { doing: FrameState::Graph(running), .. }) = turn.core.frames.get_mut(f) else { return Ok(()) };
        let runs = match (&*node.fallback_of, &*node.incoming) {
            ([], []) => true,
            ([], _) => running.nodes[id].taken,
            (of, _) => of.iter().any(|n| running.has_failed(*n)),
        };
        if runs && !skips {
            running.running += 1;
            starting.push((id, node.step));
            continue;
        }
        running.nodes[id].ended = true;
        let saw = std::mem::take(&mut running.nodes[id].saw);
        running.release_waiting(id, &mut ready);
        let reason = match (runs, &*node.fallback_of) {
            (true, _) => "budget".to_owned(),
            (false, []) => not_taken(&join_distinct(saw)),
            (false, _) => "not needed: the node it replaces did not fail".to_owned(),
        };
        turn.note_passed_over(f, node.step, &reason);
    }
    let Some(Frame { doing: FrameState::Graph(running), .. }) = turn.core.frames.get(f) else { return Ok(()) };
    if running.running == 0 {
        if running.nodes.iter().all(|n| n.ended) {
            turn.succeed_try(f, Value::Null);
            return Ok(());
        }
        // A cycle: no program has one.
        return Err(RunError::new("LIMIT_EXCEEDED", "the nodes of the graph wait for each other").into());
    }
    // Pushed in reverse, so that the first declared node is on top of the stack.
    starting.sort_unstable_by_key(|(id, _)| std::cmp::Reverse(*id));
    for (id, step) in starting {
        turn.spawn_step(f, id.0, step, None, |_| {})?;
    }
    Ok(())
}
