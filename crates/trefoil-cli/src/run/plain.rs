//! A run as lines: for log files and for whoever cannot move the cursor.

use trefoil::runtime::{Event, EventKind};

use super::progress::{Node, State};
use super::tree::time;

/// The line for an event, if it deserves one.
pub fn plain(event: &Event, node: Option<&Node>) -> Option<String> {
    let at = time(event.at_ms);
    let name = node.map_or("", |n| n.label.as_str());
    let text = node.map_or("", |n| n.text.as_str());
    let line = match &event.kind {
        EventKind::ModelStarted { model, .. } => format!("… {name}  {model}"),
        EventKind::StepFinished { .. } | EventKind::StepFailed { .. } | EventKind::StepSkipped { .. } => {
            let node = node?;
            let took = time(node.ended_ms.unwrap_or(event.at_ms).saturating_sub(node.started_ms));
            match node.state {
                State::Failed => format!("✗ {name}  {took}  {text}"),
                State::Skipped => format!("– {name}  skipped: {text}"),
                _ if node.tokens > 0 => format!("✓ {name}  {took}, {} tokens", node.tokens),
                _ => format!("✓ {name}  {took}"),
            }
        }
        EventKind::RetryScheduled { .. } => format!("↻ {name}  {text}"),
        // The attempts of an agent that is run by itself belong to no step with a name.
        EventKind::ValidationFailed { iteration, reason } if node.is_none() => {
            format!("↻ attempt {iteration} did not pass: {reason}")
        }
        EventKind::ValidationFailed { .. } => format!("↻ {name}  {text}"),
        EventKind::SignalWanted { label, prompt, .. } => format!("? {label}  {prompt}"),
        EventKind::Warning { message } => format!("! {message}"),
        _ => return None,
    };
    Some(format!("{at:>9}  {line}"))
}
