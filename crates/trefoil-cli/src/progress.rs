//! A progress line on the terminal, for checks that take longer than a moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trefoil_project::load::CheckStep;

use crate::output;
use crate::terminal_text::TerminalText;
use trefoil_runtime::locks::lock;

/// A check that ends within this time shows no progress.
const DISPLAY_DELAY: Duration = Duration::from_millis(700);
/// The minimum time between two updates of the line.
const UPDATE_INTERVAL: Duration = Duration::from_millis(100);

/// The escape sequence that clears the terminal line at the cursor.
const CLEAR_LINE: &str = "\r\x1b[2K";

/// Shows the progress of a check. Dropping it clears the progress line.
pub struct CheckProgressDisplay(Arc<ProgressLine>);

/// The state of the line. The callback for progress shares it with the display, and may be called from several threads.
struct ProgressLine {
    /// The line is not updated before this time.
    next_update: Mutex<Instant>,
    /// Whether the line has been shown, so that it must be cleared at the end.
    is_shown: AtomicBool,
}

impl CheckProgressDisplay {
    /// `None` if stderr is not a terminal.
    pub fn start_if_terminal() -> Option<Self> {
        if !output::is_terminal() {
            return None;
        }
        let next_update = Mutex::new(Instant::now() + DISPLAY_DELAY);
        Some(Self(Arc::new(ProgressLine { next_update, is_shown: AtomicBool::new(false) })))
    }
    /// The callback that a check calls at each step.
    pub fn progress_listener(&self) -> trefoil_project::load::CheckProgress {
        let line = self.0.clone();
        trefoil_project::load::CheckProgress(Arc::new(move |step| line.update(step)))
    }
}

impl ProgressLine {
    /// Shows a step, unless the last update was too recent.
    fn update(&self, step: CheckStep) {
        let mut next_update = lock(&self.next_update);
        let now = Instant::now();
        if now < *next_update {
            return;
        }
        *next_update = now + UPDATE_INTERVAL;
        self.is_shown.store(true, Ordering::Relaxed);
        let line = [TerminalText::from_constant(CLEAR_LINE), progress_text(step).into()];
        output::draw_picture(&TerminalText::from_iter(line));
    }
}

fn progress_text(step: CheckStep) -> String {
    match step {
        CheckStep::Looking(entries) => format!("looking for manifests: {entries} entries"),
        CheckStep::Reading(index, total) => format!("reading {index} of {total} files"),
        CheckStep::Checking(index, total) => format!("checking {index} of {total} files"),
    }
}

impl Drop for CheckProgressDisplay {
    fn drop(&mut self) {
        if self.0.is_shown.load(Ordering::Relaxed) {
            output::draw_picture(&TerminalText::from_constant(CLEAR_LINE));
        }
    }
}
