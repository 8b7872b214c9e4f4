//! Prompts at the terminal: for an input, an answer, a step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use trefoil_machine::AnswerSender;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::step_path::{RunPath, describe_alternatives};
use trefoil_project::input::{self, MissingInput};
use trefoil_project::output_file::write_page;
use trefoil_template::Value;
use trefoil_view::trace::{TraceSink, TraceSubject, page};

use super::keyboard::PromptResult;
use super::run_start::report_missing_input;
use super::step_outputs::LabelledOutput;
use super::turn::{AnswerDestination, PendingAnswer, TurnRequest, has_step};
use super::{DevEvent, DevLoop, turn_output};
use crate::os_user::user_sender;
use crate::output;
use crate::runs::answer;
use crate::terminal_text::{TerminalText, escape_line};
use trefoil_host::waiting_messages::waiting_line;

impl DevLoop<'_> {
    /// Reads a line. `None`: the prompt was cancelled, or stdin has ended. Other events are handled later.
    fn line(&mut self, question: &str) -> Option<String> {
        let since = Instant::now();
        self.keyboard.want_line(question);
        let mut later = Vec::new();
        let line = loop {
            let (receiver, signals) = (&mut self.event_receiver, &mut self.signals);
            match self.runtime.block_on(super::receive_event(receiver, signals)) {
                DevEvent::Line(typed) => {
                    self.keyboard.finish_request();
                    break match typed {
                        PromptResult::Line(line) => Some(line),
                        PromptResult::Cancelled => {
                            output::print_note("cancelled");
                            None
                        }
                        PromptResult::Ended => None,
                    };
                }
                DevEvent::Stop => {
                    later.push(DevEvent::Stop);
                    break None;
                }
                other => later.push(other),
            }
        };
        self.pending_events.extend(later);
        self.prompt_time += since.elapsed();
        line
    }

    /// Prompts for a property of the input until the value is valid.
    pub(super) fn one_input(&mut self, one: &MissingInput) -> Result<Option<Value>, u8> {
        loop {
            let empty = if one.may_be_empty() { ", may be empty" } else { "" };
            let question = format!("{} ({}{empty})> ", escape_line(&one.name), one.kind);
            let Some(line) = self.line(&question) else { return Err(report_missing_input(one)) };
            if line.is_empty() && one.may_be_empty() {
                return Ok(None);
            }
            match one.value(&line) {
                Ok(value) if !line.is_empty() => return Ok(Some(value)),
                Ok(_) => output::print_warning(format!("{} is required and cannot be empty", one.name)),
                Err(error) => output::print_warning(&error.message),
            }
        }
    }

    /// `i`: runs with another input.
    pub(super) fn other_input(&mut self) -> Option<TurnRequest> {
        let Some(flow) = self.flow.clone() else {
            output::print_note("the files do not load, so their input is unknown");
            return None;
        };
        let before = self.last_run.as_ref().and_then(|last| last.input.clone());
        output::print_line(format!(
            "input: {}",
            turn_output::format_input(&flow.loaded_target().program, before.as_ref())
        ));
        let line = self.line("new input (text, JSON, or key=value)> ")?;
        if line.trim().is_empty() {
            return None;
        }
        let before = before.filter(|before| matches!(before, Value::Object(_)));
        let given = match super::parse_typed_value(&line) {
            object @ Value::Object(_) => Ok(Some(object)),
            _ => input::parse_typed_input(&flow.loaded_target().program, &[line], before),
        };
        match given {
            Ok(given) => Some(TurnRequest { input: Some(given), anyway: true, ..TurnRequest::default() }),
            Err(error) => {
                output::print_error(&error.message, error.help.as_deref());
                None
            }
        }
    }

    /// `f`: repeats a step and everything after it.
    pub(super) fn again_from(&mut self) -> Option<TurnRequest> {
        let Some(last) = self.last_run.as_ref() else {
            output::print_note("nothing has run yet");
            return None;
        };
        // The files may have been saved since the run.
        let is_there = |step: &LabelledOutput| match &self.flow {
            Some(flow) => has_step(flow, &step.label),
            None => true,
        };
        let mut all: Vec<(&String, &LabelledOutput)> = Vec::new();
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        for (key, step) in &last.steps {
            if is_there(step) {
                all.push((key, step));
                *labels.entry(&step.label).or_default() += 1;
            }
        }
        let (mut keys, mut steps): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for (key, step) in all {
            keys.push(key.clone());
            steps.push(match labels.get(step.label.as_str()) {
                Some(1) => step.label.clone(),
                _ => key.clone(),
            });
        }
        for (number, step) in steps.iter().enumerate() {
            output::print_line(format!("  {}  {}", number + 1, escape_line(step)));
        }
        let line = self.line("again from which step (number or name)> ")?;
        let line = line.trim();
        let mut chosen = None;
        if let Ok(number) = line.parse::<usize>()
            && let Some(index) = number.checked_sub(1)
        {
            chosen = steps.get(index).cloned();
        }
        // `CALL/STEP` is a step of the flow that a step calls as a tool. Whether it exists is known only to the run.
        let paths = || keys.iter().map(|key| RunPath::from_text(key));
        let is_of = |path: RunPath<'_>| path.find_named(line).is_some() || path.names_inside(line).next().is_some();
        if chosen.is_none() && (steps.iter().any(|step| step == line) || paths().any(is_of)) {
            chosen = Some(line.to_owned());
        }
        if chosen.is_none() && !line.is_empty() {
            output::print_error(&format!("the run has no step `{line}`"), Some(&describe_alternatives(line, paths())));
        }
        Some(TurnRequest { from: Some(chosen?), anyway: true, ..TurnRequest::default() })
    }

    /// `a`: answers a question of the last run.
    pub(super) fn answer_question(&mut self) -> Option<TurnRequest> {
        let (run, waiting) = match &self.last_run {
            Some(last) => (last.run.clone(), last.waiting.clone()),
            None => Default::default(),
        };
        match self.take_answer(&run, &waiting)? {
            AnswerDestination::Later(given) => {
                self.pending_answer = Some(*given);
                Some(TurnRequest { anyway: true, ..TurnRequest::default() })
            }
            AnswerDestination::Posted => Some(TurnRequest { resume: true, anyway: true, ..TurnRequest::default() }),
        }
    }

    /// Prompts for an answer, and sends it to the run. If the files have changed since the run, the answer is returned instead, for
    /// the run that replaces it. `None`: there is no answer, or the run does not accept it.
    pub(super) fn take_answer(&mut self, run: &str, all: &[AwaitedActivity]) -> Option<AnswerDestination> {
        let Some(one) = all.iter().find(|one| one.sort != "run") else {
            output::print_note("nothing waits for an answer");
            return None;
        };
        output::print_line(TerminalText::from_line(&waiting_line(one, all)));
        let choices = match (one.accepts.as_slice(), one.choices.as_slice()) {
            ([], []) => String::new(),
            ([], some) => format!("({}, or another answer) ", some.join("/")),
            (all, _) => format!("({}) ", all.join("/")),
        };
        let choices = if one.is_unknown() { "(retry/fail/done) ".to_owned() } else { choices };
        let line = self.line(&format!("{choices}> "))?;
        if line.is_empty() {
            return None;
        }
        if !self.is_current || self.has_changed() {
            self.wait_until_saved();
            return Some(AnswerDestination::Later(Box::new(PendingAnswer { to: one.clone(), line })));
        }
        let sender = user_sender(AnswerSender::TERMINAL);
        answer::send_answer(&self.store, run, one, (&line, None, sender), self.args.store.store_option()).ok()?;
        Some(AnswerDestination::Posted)
    }

    /// Sends the last run the answer that was typed for the previous one, if it asks the same question.
    pub(super) fn pass_on(&mut self) -> Option<TurnRequest> {
        let PendingAnswer { to, line } = self.pending_answer.take()?;
        let last = self.last_run.as_ref()?;
        // The same question, although there is more time to answer it, and the run of a called flow is another one.
        let is_same = |one: &&AwaitedActivity| {
            AwaitedActivity { deadline: to.deadline.clone(), run: to.run.clone(), ..(*one).clone() } == to
        };
        let Some(one) = last.waiting.iter().find(is_same) else {
            output::print_note(format!("the answer to `{}` was not used: that is not asked as before", to.step));
            return None;
        };
        let sender = user_sender(AnswerSender::TERMINAL);
        answer::send_answer(&self.store, &last.run, one, (&line, None, sender), self.args.store.store_option()).ok()?;
        output::print_note(format!("`{}` is asked as before, so it has the answer", to.step));
        Some(TurnRequest { resume: true, anyway: true, ..TurnRequest::default() })
    }

    /// `y`: allows the step that the run would repeat.
    pub(super) fn allow_repeat(&mut self) -> Option<TurnRequest> {
        let repeats = self.last_run.as_ref().and_then(|last| last.repeats.clone());
        if repeats.is_none() {
            output::print_note("no step waits to be allowed");
        }
        repeats
    }

    /// `t`: writes the trace page of the last run.
    pub(super) fn show_last_trace(&self) {
        show_trace_page(self.last_run.as_ref().and_then(|last| last.trace.as_ref()));
    }
}

/// Writes a trace page and opens it.
pub fn show_trace_page(trace: Option<&(Arc<TraceSink>, TraceSubject)>) {
    let Some((tracer, about)) = trace else {
        return output::print_note("no run yet, so there is no trace to show");
    };
    let html = page::render_html(&tracer.trace().to_json(about));
    match write_page(&html) {
        Ok(path) => {
            output::print_line(format!("trace page: file://{}", path.display()));
            super::browser::open(&path);
        }
        Err(error) => output::print_error(&format!("cannot write the page: {error}"), None),
    }
}
