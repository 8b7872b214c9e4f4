//! A progress line on the terminal, for checks that take longer than a moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trefoil_project::load::CheckStep;

use crate::locks::lock;
use crate::output;
use crate::terminal_text::TerminalText;

/// The line is not shown before this time.
const PATIENCE: Duration = Duration::from_millis(700);
/// Time between updates.
const PACE: Duration = Duration::from_millis(100);

/// Empties the line of the cursor.
const CLEAR: &str = "\r\x1b[2K";

/// The progress line. Dropping this removes it.
pub struct CheckProgressDisplay(Arc<ProgressLine>);

struct ProgressLine {
    next: Mutex<Instant>,
    shown: AtomicBool,
}

impl CheckProgressDisplay {
    /// `None` if stderr is not a terminal.
    pub fn start_if_terminal() -> Option<Self> {
        let line = ProgressLine { next: Mutex::new(Instant::now() + PATIENCE), shown: AtomicBool::new(false) };
        output::is_terminal().then(|| Self(Arc::new(line)))
    }
    /// The callback for progress.
    pub fn progress_listener(&self) -> trefoil_project::load::CheckProgress {
        let line = self.0.clone();
        trefoil_project::load::CheckProgress(Arc::new(move |step| line.tell(step)))
    }
}

impl ProgressLine {
    fn tell(&self, step: CheckStep) {
        let mut next = lock(&self.next);
        let now = Instant::now();
        if now < *next {
            return;
        }
        *next = now + PACE;
        self.shown.store(true, Ordering::Relaxed);
        output::draw_picture(&TerminalText::from_iter([TerminalText::from_constant(CLEAR), said(step).into()]));
    }
}

fn said(step: CheckStep) -> String {
    match step {
        CheckStep::Looking(entries) => format!("looking for manifests: {entries} entries"),
        CheckStep::Reading(at, all) => format!("reading {at} of {all} files"),
        CheckStep::Checking(at, all) => format!("checking {at} of {all} files"),
    }
}

impl Drop for CheckProgressDisplay {
    fn drop(&mut self) {
        if self.0.shown.load(Ordering::Relaxed) {
            output::draw_picture(&TerminalText::from_constant(CLEAR));
        }
    }
}
