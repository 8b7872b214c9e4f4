//! What a run has to say that is not the state of a step: warnings, and what guardrails and validators found.

use anstyle::{AnsiColor, Style};
use trefoil_machine::guard::VerdictRuling;
use trefoil_runtime::{Event, EventKind};

use super::line_style::LineStyle;
use super::progress::RunProgress;
use crate::terminal_text::TerminalText;
use crate::words::one_line;

/// Maximum number of notes in the picture that is redrawn, and in the one that stays.
pub const LIVE: usize = 3;
pub const LAST: usize = 50;

/// The note of an event, if it has one.
pub fn event_note(event: &Event, progress: &RunProgress) -> Option<String> {
    match &event.kind {
        EventKind::Verdict(verdict) => match verdict.ruling {
            VerdictRuling::Flagged => Some(one_line(&verdict.describe_finding())),
            VerdictRuling::Changed => Some(one_line(&verdict.to_string())),
            // The failed step says it.
            VerdictRuling::Passed | VerdictRuling::Refused => None,
        },
        // The line of the failed step contains the same message.
        EventKind::Warning { message } if progress.repeats_failure(message) => None,
        EventKind::Warning { message } => Some(one_line(message)),
        _ => None,
    }
}

/// The last notes, below the tree: each with its step.
pub fn list_notes(
    notes: &[(Option<String>, String)],
    most: usize,
    columns: usize,
    look: LineStyle,
) -> Vec<TerminalText> {
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    let left_off = notes.len().saturating_sub(most);
    let mut lines = Vec::new();
    if left_off > 0 {
        lines.push(format!("… {left_off} more"));
    }
    for (step, note) in notes.iter().skip(left_off) {
        lines.push(match step {
            Some(step) => format!("{step}: {note}"),
            None => note.clone(),
        });
    }
    lines.iter().map(|line| look.fit_parts(&[(yellow, "! "), (Style::new(), line)], columns)).collect()
}
