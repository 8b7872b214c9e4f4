//! Showing a run while it goes: a live tree on a terminal, lines where stderr goes to a file, nothing when asked for.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trefoil::Loaded;
use trefoil::runtime::{Event, EventSink, RunOutcome};

use super::plain::plain;
use super::progress::Progress;
use super::tree::{Look, Size, lines, total};
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
    head: String,
    began: Option<Instant>,
    /// Lines of the last picture.
    drawn: usize,
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
        let look = Look { color: output::colored() };
        let inner = Inner { mode, look, state: Mutex::default(), wake: Condvar::new() };
        Self { inner: Arc::new(inner), drawer: Mutex::default() }
    }
    /// The run is about to start.
    pub fn begin(&self, loaded: &Loaded, model: &str, seed: Option<u64>) {
        let seed = seed.map(|s| format!(", seed {s}")).unwrap_or_default();
        {
            let mut view = self.inner.view();
            view.head = format!("{}  {model}{seed}", loaded.program.name);
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
            Mode::Lines => {
                output::say(&total(outcome.calls, outcome.usage.total(), outcome.duration_ms));
            }
            Mode::Live => {
                let size = Size { rows: LAST, columns: output::width() };
                let (head, at) = (view.head.clone(), outcome.duration_ms);
                let mut picture = lines(&view.progress, &head, at, 0, size, self.inner.look);
                picture.push(total(outcome.calls, outcome.usage.total(), outcome.duration_ms));
                view.draw(&picture);
                view.drawn = 0;
            }
        }
    }
    /// Leaves the terminal to somebody else until the guard is dropped.
    pub fn pause(&self) -> Paused<'_> {
        let mut view = self.inner.view();
        view.paused = true;
        view.draw(&[]);
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
            && let Some(line) = plain(event, about.and_then(|i| view.progress.nodes.get(i)))
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
                let head = view.head.clone();
                let picture = lines(&view.progress, &head, at, frame, size, self.look);
                view.draw(&picture);
            }
            frame += 1;
            view = self.wake.wait_timeout(view, FRAME).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl View {
    /// Puts a picture in the place of the last one, in one write: no flicker.
    fn draw(&mut self, picture: &[String]) {
        let mut out = String::from("\x1b[?2026h\x1b[?25l");
        if self.drawn > 0 {
            out.push_str(&format!("\x1b[{}A", self.drawn));
        }
        out.push_str("\r\x1b[J");
        for line in picture {
            out.push_str(line);
            out.push_str("\r\n");
        }
        out.push_str("\x1b[?25h\x1b[?2026l");
        self.drawn = picture.len();
        let mut err = std::io::stderr().lock();
        let _ = err.write_all(out.as_bytes()).and_then(|()| err.flush());
    }
}
