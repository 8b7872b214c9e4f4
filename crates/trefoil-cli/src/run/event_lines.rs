//! Shows a run as lines, for log files and terminals without cursor control.

use trefoil_runtime::{Event, EventKind};
use trefoil_view::run_view::ItemCounts;

use super::line_style::LineStyle;
use super::nodes::{ProgressNode, SOME, StepState};
use super::notes::event_note;
use super::progress::{RunProgress, delay_text};
use super::row::NO_ITEMS;
use crate::words::{escape_line, format_cost, format_time, group_digits, one_line, received_length};

/// The line for an event, if it has one.
pub fn event_line(
    event: &Event,
    node: Option<ProgressNode<'_>>,
    progress: &RunProgress,
    look: LineStyle,
) -> Option<String> {
    let at = format_time(event.at_ms);
    let name = match node {
        Some(node) => node.row.title.as_str(),
        None => "",
    };
    if let Some(node) = node
        && let Some(all) = progress.large_around(node)
        && let Some(counts) = all.counts
        && is_counted(event, counts)
    {
        let line = format!("{at:>9}  … {}  {}", all.row.title, counted(event, counts)?);
        return Some(look.replace_unsupported(&line));
    }
    let line = match &event.kind {
        EventKind::ModelStarted { model, .. } => format!("… {name}  {model}"),
        EventKind::ModelWaiting { provider, delay_ms, why, .. } => {
            format!("… {name}  {}", delay_text(provider, *delay_ms, why.as_deref()))
        }
        EventKind::StepFinished { .. } | EventKind::StepFailed { .. } | EventKind::StepSkipped { .. } => {
            end_line(node?, event.at_ms)
        }
        // If an item has a single step, that step's line is enough.
        EventKind::ItemFinished { .. } if matches!(progress.only_step(node?), Some(step) if !step.is_inferred) => {
            return None;
        }
        EventKind::ItemFinished { .. } => end_line(node?, event.at_ms),
        EventKind::RetryScheduled { attempt, delay_ms, error } => {
            format!("↻ {name}  try {attempt} in {}: {}", format_time(*delay_ms), one_line(&error.to_string()))
        }
        // The attempts of an agent that is run directly do not belong to a named step.
        EventKind::ValidationFailed { iteration, reason } if node.is_none() => {
            format!("↻ attempt {iteration} did not pass: {}", one_line(reason))
        }
        EventKind::ValidationFailed { .. } => format!("↻ {name}  {}", node?.state_text()),
        EventKind::ModelStopped { partial: Some(_), .. } => format!("⊘ {name}  {}", received_length(node?.row.arrived)),
        EventKind::RunResumed { .. } => "↻ resumed".to_owned(),
        EventKind::SignalWanted { label, prompt, .. } => format!("? {}  {}", escape_line(label), one_line(prompt)),
        _ => format!("! {}", event_note(event, progress)?),
    };
    Some(look.replace_unsupported(&format!("{at:>9}  {line}")))
}

/// Whether an item of a large fan-out has no line for this event: of such items, only the first failures have lines.
fn is_counted(event: &Event, counts: ItemCounts) -> bool {
    match &event.kind {
        EventKind::ModelStarted { .. } | EventKind::StepFinished { .. } | EventKind::StepSkipped { .. } => true,
        EventKind::StepFailed { .. } => counts.failed as usize >= SOME,
        EventKind::ItemFinished { error } => error.is_none() || counts.failed as usize > SOME || is_tenth(counts),
        _ => false,
    }
}

/// `60 of 200 items, 2 failed`, after each tenth of them.
fn counted(event: &Event, counts: ItemCounts) -> Option<String> {
    let ItemCounts { total, ended, failed } = counts;
    let is_told = matches!(event.kind, EventKind::ItemFinished { .. }) && is_tenth(counts) && ended < total;
    let failed = if failed > 0 { format!(", {failed} failed") } else { String::new() };
    if is_told { Some(format!("{ended} of {total} items{failed}")) } else { None }
}

/// Whether another tenth of the items has ended.
fn is_tenth(counts: ItemCounts) -> bool {
    let tenths = |ended: u32| u64::from(ended) * 10 / u64::from(counts.total.max(1));
    tenths(counts.ended) > tenths(counts.ended.saturating_sub(1))
}

/// The line of a step that had ended before the run was resumed.
pub fn kept_line(node: ProgressNode<'_>) -> String {
    format!("{:>9}  {}", "kept", outcome_line(node, node.started_ms))
}

/// Whether an event is the start of a call, which says nothing if the result turns out to be an earlier one.
pub fn is_start(event: &Event) -> bool {
    matches!(event.kind, EventKind::ModelStarted { .. })
}

/// Whether the line for an event says that the step has its result from an earlier run.
pub fn is_kept(event: &Event, node: ProgressNode<'_>) -> bool {
    let ends = matches!(event.kind, EventKind::StepFinished { .. } | EventKind::ItemFinished { .. });
    ends && node.kept && node.display_state() == StepState::Done
}

fn end_line(node: ProgressNode<'_>, now: u64) -> String {
    if node.kept && node.display_state() == StepState::Done {
        format!("✓ {}  kept", node.row.title)
    } else {
        outcome_line(node, now)
    }
}

/// A step's result and duration.
fn outcome_line(node: ProgressNode<'_>, now: u64) -> String {
    let (name, text) = (&node.row.title, node.state_text());
    let took = format_time(node.ended_ms.unwrap_or(now).saturating_sub(node.started_ms));
    let tries = node.started_tries();
    let tries = if tries > 1 { format!(", {tries} tries") } else { String::new() };
    match node.display_state() {
        StepState::Failed => format!("✗ {name}  {took}{tries}  {text}"),
        state if state.is_stopped() => format!("⊘ {name}  {took}{tries}  {text}"),
        StepState::Skipped => format!("– {name}  skipped: {text}"),
        StepState::Partly => {
            let how = match node.counts {
                Some(items) => format!("{} of {} failed", items.failed, items.total),
                None => text.to_owned(),
            };
            format!("! {name}  {took}{tries}  {how}")
        }
        _ if node.usage.total_tokens() > 0 => {
            let cost =
                if node.usage.cost_micro > 0 { format!(", {}", format_cost(&node.usage)) } else { String::new() };
            format!("✓ {name}  {took}{tries}, {} tokens{cost}", group_digits(node.usage.total_tokens()))
        }
        _ if matches!(node.counts, Some(items) if items.total == 0) => format!("✓ {name}  {took}{tries}, {NO_ITEMS}"),
        _ => format!("✓ {name}  {took}{tries}"),
    }
}
