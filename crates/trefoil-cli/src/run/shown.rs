//! Showing a run while it goes: a live tree on a terminal, lines where stderr goes to a file, nothing when asked for.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trefoil::Loaded;
use trefoil::ir::{Program, walk};
use trefoil::runtime::{Event, EventSink, RunOutcome};

use unicode_width::UnicodeWidthStr as _;

use super::header::Header;
use super::look::Look;
use super::plain::plain;
use super::progress::Progress;
use super::tree::{Size, lines};
use super::words::{safe, total};
use crate::output;

/// Between two pictures.
const FRAME: Duration = Duration::from_millis(80);
/// Lines of the tree that stays when the run has ended.
const LAST: usize = 400;

/// Shows a run.
pub struct Shown {
    inner: Arc<Inner>,
    drawer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Nothing,
    Lines,
    Live,
}

struct Inner {
    mode: Mode,
    look: Look,
    state: Mutex<View>,
    wake: Condvar,
}

#[derive(Default)]
struct View {
    progress: Progress,
    head: Header,
    began: Option<Instant>,
    /// Columns of each line of the last picture.
    drawn: Vec<usize>,
    /// Somebody else writes to the terminal.
    paused: bool,
    ended: bool,
}

impl Shown {
    /// For this run.
    pub fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let mode = match (quiet, terminal) {
            (true, _) => Mode::Nothing,
            (false, true) => Mode::Live,
            (false, false) => Mode::Lines,
        };
        let look = Look::of_terminal();
        let inner = Inner { mode, look, state: Mutex::default(), wake: Condvar::new() };
        Self { inner: Arc::new(inner), drawer: Mutex::default() }
    }
    /// The run is about to start.
    pub fn begin(&self, loaded: &Loaded, model: &str, seed: Option<u64>) {
        {
            let mut view = self.inner.view();
            view.head = Header::new(loaded, model, seed);
            view.progress.expected = expected(&loaded.program);
            view.began = Some(Instant::now());
        }
        if self.inner.mode == Mode::Live {
            let inner = self.inner.clone();
            let drawer = std::thread::Builder::new().name("drawing".to_owned()).spawn(move || inner.draw_along());
            *self.drawer.lock().unwrap_or_else(PoisonError::into_inner) = drawer.ok();
        }
    }
    /// The run has ended: the last picture stays.
    pub fn end(&self, outcome: &RunOutcome) {
        {
            let mut view = self.inner.view();
            view.ended = true;
            view.progress.stop();
            self.inner.wake.notify_all();
        }
        if let Some(drawer) = self.drawer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = drawer.join();
        }
        let mut view = self.inner.view();
        match self.inner.mode {
            Mode::Nothing => {}
            Mode::Lines => output::say(&self.inner.look.letters(&ending(&view.progress, outcome))),
            Mode::Live => {
                let size = Size { rows: LAST, columns: output::width() };
                let at = outcome.duration_ms;
                let mut picture = lines(&view.progress, &view.head.title, at, 0, size, self.inner.look);
                picture.push(self.inner.look.letters(&ending(&view.progress, outcome)));
                view.draw(&picture, size.columns);
                view.drawn.clear();
            }
        }
    }
    /// The beginning of the last answer of a step, by its key.
    pub fn answer(&self, key: &str) -> Option<String> {
        let view = self.inner.view();
        let node = view.progress.nodes.get(view.progress.nearest(key)?)?;
        (!node.answer.is_empty()).then(|| node.answer.clone())
    }
    /// Whether a person sees it as it goes.
    pub fn live(&self) -> bool {
        self.inner.mode == Mode::Live
    }
    /// Leaves the terminal to somebody else until the guard is dropped.
    pub fn pause(&self) -> Paused<'_> {
        let mut view = self.inner.view();
        view.paused = true;
        view.draw(&[], output::width());
        Paused(self)
    }
}

/// While this is there, nothing is drawn.
pub struct Paused<'s>(&'s Shown);

impl Drop for Paused<'_> {
    fn drop(&mut self) {
        self.0.inner.view().paused = false;
    }
}

impl EventSink for Shown {
    fn event(&self, event: &Event) {
        if self.inner.mode == Mode::Nothing {
            return;
        }
        let mut view = self.inner.view();
        let about = view.progress.take(event);
        if self.inner.mode == Mode::Lines
            && let Some(line) = plain(event, about.and_then(|i| view.progress.nodes.get(i)), self.inner.look)
        {
            output::say(&line);
        }
    }
}

impl Inner {
    fn view(&self) -> MutexGuard<'_, View> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Draws a picture every now and then until the run has ended.
    fn draw_along(&self) {
        let mut frame = 0;
        let mut view = self.view();
        while !view.ended {
            if !view.paused {
                let size = Size { rows: output::height().saturating_sub(1), columns: output::width() };
                let at = view.began.map_or(0, |b| b.elapsed().as_millis() as u64);
                let head = view.head.line(at, view.progress.calls, &view.progress.usage);
                let picture = lines(&view.progress, &head, at, frame, size, self.look);
                view.draw(&picture, size.columns);
            }
            frame += 1;
            view = self.wake.wait_timeout(view, FRAME).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl View {
    /// Puts a picture where the last one was, in one write: no flicker.
    fn draw(&mut self, picture: &[String], columns: usize) {
        let mut out = String::from("\x1b[?2026h\x1b[?25l");
        // A terminal that has become narrower has broken the long lines of the last picture into several.
        let above = rows(&self.drawn, columns);
        if above > 0 {
            out.push_str(&format!("\x1b[{above}A"));
        }
        out.push_str("\r\x1b[J");
        for line in picture {
            out.push_str(line);
            out.push_str("\r\n");
        }
        out.push_str("\x1b[?25h\x1b[?2026l");
        self.drawn = picture.iter().map(|line| anstream::adapter::strip_str(line).to_string().width()).collect();
        let mut err = std::io::stderr().lock();
        let _ = err.write_all(out.as_bytes()).and_then(|()| err.flush());
    }
}

/// How many rows lines of these widths fill.
fn rows(widths: &[usize], columns: usize) -> usize {
    widths.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum()
}

/// The last line: what it took, and what of it failed.
fn ending(progress: &Progress, outcome: &RunOutcome) -> String {
    let mut line = total(outcome.calls, &outcome.usage, outcome.duration_ms);
    for failed in progress.partly_failed() {
        line.push_str(" · ");
        line.push_str(&failed);
    }
    line
}

/// The outermost steps with a name, in the order of the manifest: what may still come.
fn expected(program: &Program) -> Vec<String> {
    let mut names = Vec::new();
    let Some(flow) = program.flow(program.entry) else { return names };
    let mut open = vec![flow.body];
    while let Some(step) = open.pop().and_then(|id| program.step(id)) {
        match &step.label {
            Some(label) if !names.iter().any(|name| *name == **label) => names.push(safe(label).into_owned()),
            Some(_) => {}
            None => open.extend(walk::children(step).into_iter().rev()),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_picture_on_a_narrower_terminal_fills_more_rows() {
        assert_eq!(rows(&[80, 0, 30], 80), 3);
        assert_eq!(rows(&[80, 0, 30], 79), 4);
        assert_eq!(rows(&[80, 0, 30], 25), 4 + 1 + 2);
    }
}
