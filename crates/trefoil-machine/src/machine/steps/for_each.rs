//! Fan-outs: a flow for every item. Instances are created when it is their turn, so a fan-out of any size has no more
//! frames than run concurrently.

use std::sync::Arc;

use trefoil_ir::{FanOutItems, ForEach, OnItemFailure, StepKind, ValueExpression};
use trefoil_template::Value;

use crate::error::RunError;
use crate::event::{EventKind, ItemTally};
use crate::machine::eval::{EvalContext, EvalStop};
use crate::machine::frame::{Frame, FrameId, FrameOutcome, FrameState, MachineTask, StepStart};
use crate::machine::progress::{CallTrails, ItemTrails, RunningFlow, RunningItems};
use crate::machine::trail::{self};
use crate::machine::turn::MachineTurn;
use crate::provenance::OriginKind;
use crate::text::{shorten_text, strip_fence};

/// The maximum number of instances of one fan-out.
const MAX_ITEMS: usize = 1_000_000;

/// Evaluates the items, and starts as many instances as may run.
pub fn start_fan_out(turn: &mut MachineTurn<'_>, f: FrameId, each: &ForEach) -> Result<StepStart, EvalStop> {
    let context = turn.eval_context(f, None, None);
    let (items, total) = match &each.items {
        FanOutItems::List(expr) => {
            let items = list(expr, context.eval_expr(expr)?)?;
            if items.len() > MAX_ITEMS {
                let message = format!("the list has {} items; the limit of a fan-out is {MAX_ITEMS}", items.len());
                return Err(RunError::new("LIMIT_EXCEEDED", message).into());
            }
            let total = items.len() as u32;
            (Some(items), total)
        }
        FanOutItems::Count(expr, limit) => (None, count(expr, &context.eval_expr(expr)?, *limit)?),
    };
    let captured = each.captures.iter().filter_map(|(slot, source)| Some((*slot, context.read_source(source)?)));
    let captured = captured.collect();
    let trails = if turn.core.traces { Some(Arc::new(fan_out_trails(&context, each))) } else { None };
    if total == 0 {
        // Whoever looks at the run must see why nothing happened here.
        turn.count_items(f, ItemTally::default());
        return Ok(StepStart::Done(Value::from(Vec::<Value>::new())));
    }
    if !turn.may_call_for(f, total, each.body) {
        return Ok(StepStart::Running);
    }
    if let Some(frame) = turn.core.frames.get_mut(f) {
        let results = vec![Value::Null; total as usize];
        frame.doing = FrameState::ForEach(Box::new(RunningItems {
            items,
            total,
            captured,
            trails,
            results,
            next: 0,
            running: 0,
            failed: 0,
            pumping: true,
        }));
    }
    turn.push_task(MachineTask::Pump(f));
    Ok(StepStart::Running)
}

fn fan_out_trails(context: &EvalContext<'_>, each: &ForEach) -> ItemTrails {
    let items = match &each.items {
        FanOutItems::List(expr) => context.expr_trail(expr),
        FanOutItems::Count(..) => None,
    };
    let captured = each.captures.iter().map(|(slot, source)| (*slot, context.source_trail(source)));
    ItemTrails { items, captured: captured.collect() }
}

/// Starts the next instance, if one may start.
pub fn start_next_item(turn: &mut MachineTurn<'_>, f: FrameId) -> Result<(), EvalStop> {
    let Some((_, step)) = turn.step_of(f) else { return Ok(()) };
    let StepKind::ForEach(each) = &step.kind else { return Ok(()) };
    let Some(frame) = turn.core.frames.get_mut(f) else { return Ok(()) };
    let caller = frame.activation;
    let FrameState::ForEach(running) = &mut frame.doing else { return Ok(()) };
    running.pumping = false;
    let index = running.next;
    if index >= running.total || running.running >= each.concurrency.unwrap_or(u32::MAX).max(1) {
        return Ok(());
    }
    running.next += 1;
    running.running += 1;
    running.pumping = true;
    let mut filled = Vec::with_capacity(3);
    let item = running.items.as_ref().map(|items| items.get(index as usize).cloned().unwrap_or_default());
    if let (Some(slot), Some(item)) = (each.item, &item) {
        filled.push((slot, item.clone()));
    }
    let total = running.total;
    filled.push((each.index, Value::from(index)));
    filled.push((each.total, Value::from(total)));
    let trails = running.trails.as_ref().map(|trails| Box::new(item_trails(each, trails, index)));
    let call = RunningFlow {
        filled,
        trails,
        captured: Some(running.captured.clone()),
        time_limit: each.timeout_ms,
        ..RunningFlow::default()
    };
    let key = turn.core.keys.build_key(&frame.key, |path| {
        path.push_item(index);
    });
    turn.emit_event(&key, step.origin, EventKind::ItemStarted { index, total, item });
    turn.push_task(MachineTask::Pump(f));
    turn.spawn_flow(Some(f), index, each.body, key, Some(caller), call)
}

fn item_trails(each: &ForEach, trails: &ItemTrails, index: u32) -> CallTrails {
    let mut marks = trails.captured.clone();
    if let Some(slot) = each.item {
        let item = trail::trail_member(&trails.items, &[index.to_string().into()]);
        marks.push((slot, trail::as_item(item)));
    }
    for slot in [each.index, each.total] {
        marks.push((slot, trail::from_origin_kind(OriginKind::Index)));
    }
    CallTrails { input: None, marks }
}

/// An instance ended.
pub fn end_item(
    turn: &mut MachineTurn<'_>,
    f: FrameId,
    each: &ForEach,
    child_index: u32,
    outcome: &FrameOutcome,
) -> Result<(), EvalStop> {
    let Some(Frame { doing: FrameState::ForEach(running), .. }) = turn.core.frames.get_mut(f) else { return Ok(()) };
    running.running -= 1;
    let (result, failed) = match outcome {
        FrameOutcome::Done(value) => (value.clone(), None),
        FrameOutcome::Failed(error) if each.on_failure == OnItemFailure::Continue => (each.failed.clone(), Some(error)),
        FrameOutcome::Failed(_) => {
            turn.push_task(MachineTask::Settle(f, outcome.clone()));
            return Ok(());
        }
    };
    if let Some(slot) = running.results.get_mut(child_index as usize) {
        *slot = result;
    }
    running.failed += u32::from(failed.is_some());
    if running.next < running.total {
        if !std::mem::replace(&mut running.pumping, true) {
            turn.push_task(MachineTask::Pump(f));
        }
    } else if running.running == 0 {
        let results = std::mem::take(&mut running.results);
        let items = ItemTally { total: running.total, failed: running.failed };
        turn.count_items(f, items);
        turn.succeed_try(f, Value::from(results));
    }
    note_ended(turn, f, child_index, failed.map(|e| &**e));
    Ok(())
}

/// Reports that an item has ended; if the step tolerates its failure, as a warning.
fn note_ended(turn: &mut MachineTurn<'_>, f: FrameId, child_index: u32, error: Option<&RunError>) {
    let (Some((_, step)), Some(frame)) = (turn.step_of(f), turn.core.frames.get(f)) else { return };
    let key = turn.core.keys.build_key(&frame.key, |path| {
        path.push_item(child_index);
    });
    if let Some(error) = error {
        turn.emit_event(
            &key,
            step.origin,
            EventKind::Warning { message: format!("item {} failed: {error}", u64::from(child_index) + 1) },
        );
    }
    turn.emit_event(&key, step.origin, EventKind::ItemFinished { error: error.cloned() });
}

fn list(expr: &ValueExpression, value: Value) -> Result<Arc<Vec<Value>>, EvalStop> {
    let parsed = match value {
        Value::List(items) => return Ok(items),
        Value::Str(text) => {
            parse_fenced(&text).map_err(|error| no_list(expr, format!("Result is not valid JSON: {error}")))?
        }
        other => other,
    };
    match parsed {
        Value::List(items) => Ok(items),
        Value::Str(_) => Err(no_list(expr, "Expected a JSON list but got a string".to_owned()).into()),
        other => Err(no_list(expr, format!("Expected a JSON list but got {}", other.kind_description())).into()),
    }
}

/// JSON, perhaps in a code fence. The error is that of the whole text.
fn parse_fenced(text: &str) -> Result<Value, serde_json::Error> {
    match Value::parse(text) {
        Ok(value) => Ok(value),
        Err(error) => Value::parse(strip_fence(text)).map_err(|_| error),
    }
}

fn count(expr: &ValueExpression, value: &Value, limit: u32) -> Result<u32, EvalStop> {
    let number = match value {
        Value::Number(n) => n.as_i64(),
        Value::Str(text) => text.trim().parse::<i64>().ok(),
        _ => None,
    };
    let reason = match number {
        Some(n) if n < 1 => format!("swarm_size resolved to {n}; must be >= 1"),
        Some(n) if n > i64::from(limit) => format!("swarm_size resolved to {n}; exceeds MAX_SWARM_SIZE={limit}"),
        Some(n) => return Ok(n as u32),
        None => format!("Template resolved to non-integer value: '{}'", shorten_text(&value.to_text(), 60)),
    };
    let help = format!("make it a whole number from 1 to {limit}");
    Err(unresolved(expr, Some("swarm_size"), reason).with_help(help).into())
}

fn no_list(expr: &ValueExpression, reason: String) -> RunError {
    let help = "make it a JSON list; ask a model for a JSON list and nothing else";
    unresolved(expr, None, reason).with_help(help)
}

/// Worded as in SirenSpec, where fan-outs come from. The namespace is the first segment of the path, as for every
/// placeholder, unless the position has its own.
fn unresolved(expr: &ValueExpression, namespace: Option<&str>, reason: String) -> RunError {
    let (references, location) = match expr {
        ValueExpression::Typed(text) | ValueExpression::Template(text) => {
            (text.template.references(), Some(text.origin))
        }
        _ => (&[][..], None),
    };
    let mut namespace = namespace;
    if let [only] = references
        && let Some(segment) = only.path.first()
    {
        namespace = namespace.or(Some(&*segment.name));
    }
    let namespace = namespace.unwrap_or("for_each");
    let expression = match references {
        [only] => only.dotted_path(),
        _ => namespace.to_owned(),
    };
    RunError::for_placeholder(&expression, namespace, reason).at_step(None, location)
}
