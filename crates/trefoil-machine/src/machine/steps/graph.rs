//! Graphs: a node runs when everything before it has ended and one of its incoming edges was taken.

use trefoil_ir::{Graph, StepId};
use trefoil_template::Value;

use super::branch::not_taken;
use crate::error::RunError;
use crate::machine::eval::EvalStop;
use crate::machine::frame::{Doing, FrameId, Outcome, Started, Task};
use crate::machine::policy;
use crate::machine::progress::{RunningNode, RunningNodes};
use crate::machine::turn::Turn;
use crate::text::joined;

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
    turn.program.step(step).is_some_and(|step| policy::goes_up(step, error))
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
            (false, []) => not_taken(&joined(saw)),
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
