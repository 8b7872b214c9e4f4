//! Timeouts of single calls that are hours long, because milliseconds were meant.

use trefoil_syntax::{Diagnostic, Span};

use super::subject::{CheckedWorkflow, FindingList};
use trefoil_front::sirenspec::manifest::{NodeKind, ToolSettings};

/// Checks the timeouts of factories and requests.
pub fn check_timeouts(subject: &CheckedWorkflow<'_>, found: &mut FindingList) {
    for node in &subject.manifest.nodes {
        match &node.kind {
            NodeKind::Factory(factory) => {
                long(subject, "timeout_per_instance", factory.timeout_ms, factory.timeout_at, found);
            }
            NodeKind::Tool(tool) => {
                if let Some(ToolSettings::Http { timeout_ms, timeout_at, .. }) = &tool.settings {
                    long(subject, "timeout", *timeout_ms, *timeout_at, found);
                }
            }
            _ => {}
        }
    }
}

fn long(subject: &CheckedWorkflow<'_>, key: &str, ms: u64, at: Option<Span>, found: &mut FindingList) {
    let seconds = ms / 1000;
    let Some(at) = at.filter(|_| seconds >= 10_000) else { return };
    let message = format!("`{key}` is in seconds: {seconds} seconds are {} hours", seconds / 3600);
    let d = Diagnostic::new_warning("unlikely-timeout", subject.location_of(at), message);
    found.push(d.with_help(format!("if milliseconds were meant, write `{key}: {}`", (seconds / 1000).max(1))));
}
