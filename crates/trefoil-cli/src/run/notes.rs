//! What a run has to say that is not the state of a step: warnings, and what guardrails and validators found.

use anstyle::{AnsiColor, Style};
use trefoil_machine::guard::Ruling;
use trefoil_runtime::{Event, EventKind};

use super::look::LineLook;
use super::progress::Progress;
use crate::harmless::TerminalText;
use crate::words::line;

/// Maximum number of notes in the picture that is redrawn, and in the one that stays.
pub const LIVE: usize = 3;
pub const LAST: usize = 50;

/// The note of an event, if it has one.
pub fn note(event: &Event, progress: &Progress) -> Option<String> {
    match &event.kind {
        EventKind::Verdict(verdict) => match verdict.ruling {
            Ruling::Flagged => Some(line(&verdict.finding())),
            Ruling::Changed => Some(line(&verdict.to_string())),
            // The failed step says it.
            Ruling::Passed | Ruling::Refused => None,
        },
        // The line of the failed step contains the same message.
        EventKind::Warning { message } if progress.repeats_failure(message) => None,
        EventKind::Warning { message } => Some(line(message)),
        _ => None,
    }
}

/// The last notes, below the tree: each with its step.
pub fn list(notes: &[(Option<String>, String)], most: usize, columns: usize, look: LineLook) -> Vec<TerminalText> {
    let yellow = Style::new().fg_color(Some(AnsiColor::Yellow.into()));
    let left_off = notes.len().saturating_sub(most);
    let more = (left_off > 0).then(|| format!("… {left_off} more"));
    let shown = notes.iter().skip(left_off).map(|(step, note)| match step {
        Some(step) => format!("{step}: {note}"),
        None => note.clone(),
    });
    more.into_iter().chain(shown).map(|note| look.fit(&[(yellow, "! "), (Style::new(), &note)], columns)).collect()
}
