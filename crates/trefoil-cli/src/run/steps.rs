//! The steps of a stored run, in the same form as at the end of a run.

use std::sync::Mutex;

use serde_json::{Value as Json, json};
use trefoil::store::Status;
use trefoil_machine::guard::VerdictRuling;
use trefoil_machine::text::shorten_text;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_syntax::SourceFiles;
use trefoil_view::run_view::StepState;

use super::line_style::LineStyle;
use super::progress::RunProgress;
use super::tree::{TerminalSize, TreeSort, tree_lines};
use crate::output;
use crate::terminal_text::TerminalText;
use crate::words::{count_of, one_line};
use trefoil_runtime::locks::lock;

/// Maximum number of characters of an answer in the line about it.
const ANSWER: usize = 80;

/// Collects the steps, the verdicts of guardrails and validators, and who answered questions, from events.
#[derive(Default)]
pub struct StepCollector(Mutex<RunProgress>, Mutex<CollectedNotes>);

#[derive(Default)]
struct CollectedNotes {
    /// One line for each answer and each decision of which it is known who gave it.
    answers: Vec<String>,
    /// All of them, as JSON.
    all: Vec<Json>,
    /// One line for each that found something.
    lines: Vec<String>,
    /// How many found nothing.
    passed: u64,
}

impl StepCollector {
    /// The run stands like this: if no process works on it, no step is in progress.
    pub fn apply_status(&self, status: Status) {
        let mut progress = lock(&self.0);
        match status {
            Status::Interrupted => {
                progress.view.end_open(StepState::Interrupted, |step| step.state == StepState::Running);
            }
            Status::Pending => progress.view.rest_running_steps(StepState::Expected),
            Status::Waiting => progress.view.rest_running_steps(StepState::Asking),
            _ => {}
        }
    }
    /// For how long the run has been worked on, if events tell.
    pub fn worked_ms(&self) -> Option<u64> {
        let ms = lock(&self.0).view.at_ms;
        if ms > 0 { Some(ms) } else { None }
    }
    /// The step that made the run fail, and its place: `call`, flow.yaml:3:1
    pub fn failed_at(&self, files: &SourceFiles) -> Option<String> {
        let progress = lock(&self.0);
        let error = progress.view.end.as_ref()?.error.as_ref()?;
        let mut parts = Vec::new();
        if let Some(key) = &error.key
            && !key.0.is_empty()
        {
            parts.push(format!("`{}`", key.display_name()));
        }
        parts.extend(files.display_location(error.location?));
        if parts.is_empty() { None } else { Some(parts.join(", ")) }
    }
    /// The own advice of the failure of the run.
    pub fn failure_advice(&self) -> Option<String> {
        let progress = lock(&self.0);
        progress.view.end.as_ref()?.error.as_ref()?.help.clone()
    }
    /// The verdicts, as lines. That checks have passed is said only next to one that found something.
    pub fn verdict_lines(&self) -> Vec<String> {
        let verdicts = lock(&self.1);
        let mut lines = verdicts.lines.clone();
        if verdicts.passed > 0 && !lines.is_empty() {
            lines.push(format!("verdict  {} passed", count_of(verdicts.passed, "check")));
        }
        lines
    }
    /// Who answered questions and decided about unknown outcomes, as lines.
    pub fn answer_lines(&self) -> Vec<String> {
        lock(&self.1).answers.clone()
    }
    /// All verdicts, each as the event `verdict`.
    pub fn verdicts_json(&self) -> Vec<Json> {
        lock(&self.1).all.clone()
    }
    /// One line for each known step. `ended`: no step is running any more.
    pub fn step_lines(&self, ended: bool) -> Vec<TerminalText> {
        let mut progress = lock(&self.0);
        if ended {
            progress.mark_stopped(true);
        }
        let size = TerminalSize { rows: usize::MAX, columns: output::terminal_width() };
        let sort = (TreeSort::Last, size);
        let lines = tree_lines(&progress, "", progress.view.at_ms, 0, sort, LineStyle::default());
        // The first line is the header, which is not needed here.
        lines.iter().skip(1).map(TerminalText::trim_end).collect()
    }
}

impl EventSink for StepCollector {
    fn receive_event(&self, event: &Event) {
        let mut progress = lock(&self.0);
        progress.apply_event(event);
        if let Some(line) = answer_line(event, &progress) {
            lock(&self.1).answers.push(line);
        }
        let EventKind::Verdict(verdict) = &event.kind else { return };
        let mut verdicts = lock(&self.1);
        let mut json = json!({ "key": event.key.as_ref().map(|key| key.as_str()), "at_ms": event.at_ms });
        if let (Some(members), Json::Object(details)) = (json.as_object_mut(), json!(verdict)) {
            members.extend(details);
        }
        verdicts.all.push(json);
        if verdict.ruling == VerdictRuling::Passed {
            verdicts.passed += 1;
            return;
        }
        let step = match progress.step_title(event) {
            Some(title) => format!("{title}: "),
            None => String::new(),
        };
        verdicts.lines.push(format!("verdict  {step}{}", one_line(&verdict.to_string())));
    }
}

/// `answered approve: yes (by ada, 2026-03-01 09:05:00Z, from terminal)`
fn answer_line(event: &Event, progress: &RunProgress) -> Option<String> {
    let (receipt, verb, text) = match &event.kind {
        EventKind::EffectStarted { given_by: Some(receipt), .. } => (receipt, "decided", "run again".to_owned()),
        EventKind::EffectFailed { given_by: Some(receipt), .. } => (receipt, "decided", "failed".to_owned()),
        EventKind::EffectFinished { given_by: Some(receipt), value, .. } if progress.has_asked(event) => {
            (receipt, "answered", shorten_text(&value.to_text(), ANSWER))
        }
        EventKind::EffectFinished { given_by: Some(receipt), .. } => (receipt, "decided", "done".to_owned()),
        _ => return None,
    };
    let title = progress.step_title(event).unwrap_or_default();
    Some(format!("{verb:<8} {}", one_line(&format!("{title}: {text} ({receipt})"))))
}
