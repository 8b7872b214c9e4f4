//! Shows a run in progress: a live tree on a terminal, lines if stderr is a file, nothing with `--quiet`.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use trefoil_ir::{Program, walk};
use trefoil_project::load::LoadedTarget;
use trefoil_runtime::{Event, EventKind, EventSink, Key, RunOutcome};
use trefoil_syntax::SourceFiles;
use trefoil_view::run_view::StepState;

use super::canvas::TerminalCanvas;
use super::event_lines::{event_line, is_kept, is_start, kept_line};
use super::header::RunHeader;
use super::line_style::LineStyle;
use super::progress::RunProgress;
use super::tree::{TerminalSize, TreeSort, tree_lines};
use super::{failures, notes};
use crate::output;
use crate::words::{escape_line, format_total};
use trefoil_runtime::locks::lock;

/// Time between frames.
const FRAME: Duration = Duration::from_millis(80);
/// How long it takes at most until it is known whether the result of a call is an earlier one.
const SOON: Duration = Duration::from_millis(300);
/// Maximum number of lines for the kept steps of a resumed run.
const KEPT: usize = 20;

/// Shows a run.
pub struct RunDisplay {
    inner: Arc<SharedDisplay>,
    drawer: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum DisplayMode {
    Nothing,
    Lines,
    Live,
}

struct SharedDisplay {
    mode: DisplayMode,
    look: LineStyle,
    state: Mutex<DisplayState>,
    wake: Condvar,
}

#[derive(Default)]
struct DisplayState {
    progress: RunProgress,
    /// The notes since the start or the resume, each with its step.
    notes: Vec<(Option<String>, String)>,
    head: RunHeader,
    /// The run's work clock, and when it was read.
    clock: Option<(u64, Instant)>,
    /// Whether events come from the journal of a run that is about to be resumed.
    past: bool,
    files: SourceFiles,
    canvas: TerminalCanvas,
    /// The line of a successful step that asked a person. It is printed later, unless a failure of the same step
    /// follows.
    held: Option<(Option<Key>, String)>,
    /// The lines of calls that have just started, each with its step: printed only if the result is not an earlier one, which is known
    /// at once.
    starts: Vec<(usize, Instant, String)>,
    /// Whether another part of the program uses the terminal.
    paused: bool,
    ended: bool,
}

impl RunDisplay {
    /// Creates the display for a run.
    pub fn new(quiet: bool) -> Self {
        let terminal = output::is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb");
        let mode = match (quiet, terminal) {
            (true, _) => DisplayMode::Nothing,
            (false, true) => DisplayMode::Live,
            (false, false) => DisplayMode::Lines,
        };
        let look = LineStyle::for_terminal();
        let inner = SharedDisplay { mode, look, state: Mutex::default(), wake: Condvar::new() };
        Self { inner: Arc::new(inner), drawer: Mutex::default() }
    }
    /// The run is resumed: its first events have happened before.
    pub fn set_resumed(&self) {
        self.inner.view().past = true;
    }
    /// Called before the run starts.
    pub fn show_start(&self, loaded: &LoadedTarget, model: &str, seed: Option<u64>) {
        {
            let mut view = self.inner.view();
            view.progress.expected = expected(&loaded.program);
            view.files = loaded.files.clone();
        }
        self.show_start_of(RunHeader::new(loaded, model, seed));
    }
    /// The same for a run whose files are elsewhere.
    pub fn show_start_of(&self, head: RunHeader) {
        {
            let mut view = self.inner.view();
            view.head = head;
            view.clock = Some((0, Instant::now()));
        }
        if self.inner.mode != DisplayMode::Nothing {
            let inner = self.inner.clone();
            let drawer = std::thread::Builder::new().name("drawing".to_owned()).spawn(move || inner.draw_along());
            *lock(&self.drawer) = drawer.ok();
        }
    }
    /// Called when the run has ended, or waits: draws the last picture.
    pub fn show_end(&self, outcome: &RunOutcome) {
        {
            let mut view = self.inner.view();
            match outcome.suspended {
                true => view.progress.view.rest_running_steps(StepState::Asking),
                false => view.progress.mark_stopped(outcome.result.is_ok()),
            }
        }
        self.show_last(outcome, "");
    }
    /// Called when a run that goes on is not followed any more: draws the last picture. What is in progress stays so.
    #[cfg(feature = "server")]
    pub fn show_cut(&self, outcome: &RunOutcome) {
        self.show_last(outcome, " so far");
    }
    /// The calls and the usage that were seen.
    #[cfg(feature = "server")]
    pub fn seen_figures(&self) -> (u64, trefoil_runtime::Usage) {
        let view = self.inner.view();
        (view.progress.view.calls, view.progress.view.usage)
    }
    /// Draws the last picture. `so_far`: the end of its last line.
    fn show_last(&self, outcome: &RunOutcome, so_far: &str) {
        self.inner.view().ended = true;
        self.inner.wake.notify_all();
        if let Some(drawer) = lock(&self.drawer).take() {
            let _ = drawer.join();
        }
        let mut view = self.inner.view();
        let look = self.inner.look;
        let failed = outcome.result.as_ref().err();
        match self.inner.mode {
            // Failed items of a successful run do not affect the exit code, so they are reported even with `--quiet`.
            DisplayMode::Nothing if failed.is_none() => {
                view.progress.partly_failed().iter().for_each(output::print_line);
            }
            DisplayMode::Nothing => {}
            DisplayMode::Lines => {
                view.say_starts(|_| true);
                view.say_held(None);
                let mut left: Vec<String> = Vec::new();
                if let Some(error) = failed
                    && outcome.is_refused()
                    && let Some(key) = &error.key
                {
                    left.push(escape_line(key.display_name()).into_owned());
                }
                let waits = outcome.suspended && left.is_empty();
                left.extend(view.progress.expected.iter().cloned());
                if !left.is_empty() && !waits {
                    output::print_line(look.replace_unsupported(&format!("did not run: {}", left.join(", "))));
                }
                let columns = output::terminal_width();
                failures::list_failures(&view.progress, &view.files, failed, columns, look)
                    .iter()
                    .for_each(output::print_line);
                output::print_line(look.replace_unsupported(&ending(&view.progress, outcome, so_far)));
            }
            DisplayMode::Live => {
                let size = screen();
                let head = view.head.title.clone();
                let mut picture =
                    tree_lines(&view.progress, &head, outcome.duration_ms, 0, (TreeSort::Last, size), look);
                picture.extend(notes::list_notes(&view.notes, notes::LAST, size.columns, look));
                picture.extend(failures::list_failures(&view.progress, &view.files, failed, size.columns, look));
                picture.push(look.replace_unsupported(&ending(&view.progress, outcome, so_far)).into());
                output::draw_picture(&view.canvas.draw_picture(&picture, size));
                view.canvas.leave_picture();
            }
        }
    }
    /// The start of the last answer of a step, by its key.
    pub fn last_answer(&self, key: &str) -> Option<String> {
        let view = self.inner.view();
        let node = view.progress.find_node(view.progress.view.step_around(key)?)?;
        let answer = &node.row.answer;
        if answer.is_empty() { None } else { Some(answer.clone()) }
    }
    /// The names of the fan-outs of which not all failed items were shown.
    pub fn more_failed(&self) -> Vec<String> {
        self.inner.view().progress.more_failed().map(|key| key.without_try().to_owned()).collect()
    }
    /// Whether the user sees a live picture.
    pub fn is_live(&self) -> bool {
        self.inner.mode == DisplayMode::Live
    }
    /// Stops drawing until the guard is dropped. Steps that have ended since the last time stay above.
    pub fn pause_drawing(&self) -> DisplayPause<'_> {
        let mut view = self.inner.view();
        view.paused = true;
        view.say_starts(|_| true);
        if self.inner.mode == DisplayMode::Live {
            let size = screen();
            let at = view.now();
            let head = view.head.title.clone();
            let picture = tree_lines(&view.progress, &head, at, 0, (TreeSort::Asking, size), self.inner.look);
            let picture = if view.progress.mark_shown() { picture } else { Vec::new() };
            output::draw_picture(&view.canvas.draw_picture(&picture, size));
            view.canvas.leave_picture();
        }
        DisplayPause(self)
    }
}

/// Nothing is drawn while this exists.
pub struct DisplayPause<'s>(&'s RunDisplay);

impl Drop for DisplayPause<'_> {
    fn drop(&mut self) {
        self.0.inner.view().paused = false;
    }
}

impl EventSink for RunDisplay {
    fn receive_event(&self, event: &Event) {
        let mut view = self.inner.view();
        let about = view.progress.apply_event(event);
        view.clock = Some((event.at_ms, Instant::now()));
        if self.inner.mode == DisplayMode::Live
            && !view.past
            && let Some(note) = notes::event_note(event, &view.progress)
        {
            let step = view.progress.step_title(event).map(str::to_owned);
            view.notes.push((step, note));
        }
        if self.inner.mode != DisplayMode::Lines || view.past {
            return;
        }
        if matches!(event.kind, EventKind::ModelFinished { reused_from: Some(_), .. }) {
            view.starts.retain(|(of, ..)| Some(*of) != about);
        }
        let node = about.and_then(|number| view.progress.find_node(number));
        let is_kept = matches!(node, Some(node) if is_kept(event, node));
        let Some(line) = event_line(event, node, &view.progress, self.inner.look) else {
            view.say_held(Some(event));
            return;
        };
        match about {
            Some(node) if is_start(event) => {
                view.starts.push((node, Instant::now(), line));
                return;
            }
            Some(node) if is_kept => view.starts.retain(|(of, ..)| *of != node),
            _ => view.say_starts(|_| true),
        }
        view.say_held(Some(event));
        let has_asked = match about {
            Some(number) => matches!(view.progress.find_node(number), Some(node) if node.has_asked),
            None => false,
        };
        if matches!(event.kind, EventKind::StepFinished { .. }) && has_asked {
            view.held = Some((event.key.clone(), line));
        } else {
            output::print_line(&line);
        }
    }
    fn caught_up(&self) {
        let mut view = self.inner.view();
        view.past = false;
        view.progress.caught_up();
        if self.inner.mode == DisplayMode::Lines {
            let all = view.progress.kept_count();
            for node in view.progress.kept_steps().take(KEPT) {
                output::print_line(self.inner.look.replace_unsupported(&kept_line(node)));
            }
            let more = all.saturating_sub(KEPT);
            if more > 0 {
                let line = format!("{:>9}  … {more} more", "kept");
                output::print_line(self.inner.look.replace_unsupported(&line));
            }
        }
    }
}

impl SharedDisplay {
    fn view(&self) -> MutexGuard<'_, DisplayState> {
        lock(&self.state)
    }
    /// Draws a frame regularly until the run has ended.
    fn draw_along(&self) {
        let mut frame = 0;
        let mut view = self.view();
        while !view.ended {
            if self.mode == DisplayMode::Lines && !view.paused {
                view.say_starts(|since| since.elapsed() >= SOON);
            } else if self.mode == DisplayMode::Live && !view.paused && !view.past {
                let size = screen();
                let at = view.now();
                let head = view.head.format_line(at, view.progress.view.calls, &view.progress.view.usage);
                let notes = notes::list_notes(&view.notes, notes::LIVE, size.columns, self.look);
                let above = TerminalSize { rows: size.rows.saturating_sub(notes.len()), ..size };
                let mut picture = tree_lines(&view.progress, &head, at, frame, (TreeSort::Live, above), self.look);
                picture.extend(notes);
                output::draw_picture(&view.canvas.draw_picture(&picture, size));
            }
            frame += 1;
            view = self.wake.wait_timeout(view, FRAME).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl DisplayState {
    /// The current time on the run's work clock.
    fn now(&self) -> u64 {
        match self.clock {
            Some((at, since)) => at.saturating_add(since.elapsed().as_millis() as u64),
            None => 0,
        }
    }
    /// Prints the lines of calls that started at such a time.
    fn say_starts(&mut self, is_due: impl Fn(&Instant) -> bool) {
        let mut due = Vec::new();
        for start in std::mem::take(&mut self.starts) {
            if is_due(&start.1) {
                due.push(start);
            } else {
                self.starts.push(start);
            }
        }
        for (.., line) in &due {
            output::print_line(line);
        }
    }
    /// Prints the held line, unless this event is a failure of the same step.
    fn say_held(&mut self, event: Option<&Event>) {
        let Some((key, line)) = self.held.take() else { return };
        let has_failed =
            matches!(event, Some(event) if matches!(event.kind, EventKind::StepFailed { .. }) && event.key == key);
        if !has_failed {
            output::print_line(&line);
        }
    }
}

/// The size of the drawing area. The last row is for the cursor.
fn screen() -> TerminalSize {
    let (rows, columns) = output::screen_size();
    TerminalSize { rows: rows.saturating_sub(1), columns }
}

/// The last line: usage, duration and failed items.
fn ending(progress: &RunProgress, outcome: &RunOutcome, so_far: &str) -> String {
    let mut line = format_total(outcome.calls, &outcome.usage, outcome.duration_ms);
    line.push_str(so_far);
    for failed in progress.partly_failed() {
        line.push_str(" · ");
        line.push_str(&failed);
    }
    line
}

/// The names of the outermost steps, in the order of the manifest.
fn expected(program: &Program) -> Vec<String> {
    let mut names = Vec::new();
    let mut open = vec![program.entry_flow().body];
    while let Some(id) = open.pop() {
        let step = &program.steps[id];
        match &step.label {
            Some(label) if !names.iter().any(|name| *name == **label) => names.push(escape_line(label).into_owned()),
            Some(_) => {}
            None => open.extend(walk::children_of(step).into_iter().rev()),
        }
    }
    names
}
