//! Prompts at the terminal: for an input, an answer, a step.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use trefoil_machine::event::Waiting;
use trefoil_machine::step_path::{RunPath, instead};
use trefoil_project::input::{self, MissingInput};
use trefoil_project::written::write_page;
use trefoil_template::Value;
use trefoil_view::trace::{TraceSink, TraceSubject, page};

use super::keyboard::Typed;
use super::seen::SeenStep;
use super::start::lacks;
use super::turn::{Asked, Given, Taken, has_step};
use super::{Happening, Loop, said};
use crate::harmless::{TerminalText, safe};
use crate::output;
use crate::runs::answer;
use trefoil_host::waiting::waiting_line;

impl Loop<'_> {
    /// Reads a line. `None`: the prompt was cancelled, or stdin has ended. Other events are handled later.
    fn line(&mut self, question: &str) -> Option<String> {
        let since = Instant::now();
        self.keyboard.want_line(question);
        let mut later = Vec::new();
        let line = loop {
            let (happenings, signals) = (&mut self.happenings, &mut self.signals);
            match self.runtime.block_on(super::next(happenings, signals)) {
                Happening::Line(typed) => {
                    self.keyboard.came();
                    break match typed {
                        Typed::Line(line) => Some(line),
                        Typed::Cancelled => {
                            output::note("cancelled");
                            None
                        }
                        Typed::Ended => None,
                    };
                }
                Happening::Stop => {
                    later.push(Happening::Stop);
                    break None;
                }
                other => later.push(other),
            }
        };
        self.later.extend(later);
        self.thought += since.elapsed();
        line
    }

    /// Prompts for a property of the input until the value is valid.
    pub(super) fn one_input(&mut self, one: &MissingInput) -> Result<Option<Value>, u8> {
        loop {
            let empty = if one.may_be_empty() { ", may be empty" } else { "" };
            let question = format!("{} ({}{empty})> ", safe(&one.name), one.kind);
            let Some(line) = self.line(&question) else { return Err(lacks(one)) };
            if line.is_empty() && one.may_be_empty() {
                return Ok(None);
            }
            match one.value(&line) {
                Ok(value) if !line.is_empty() => return Ok(Some(value)),
                Ok(_) => output::warning(format!("{} is required and cannot be empty", one.name)),
                Err(error) => output::warning(&error.message),
            }
        }
    }

    /// `i`: runs with another input.
    pub(super) fn other_input(&mut self) -> Option<Asked> {
        let Some(flow) = self.flow.clone() else {
            output::note("the files do not load, so their input is unknown");
            return None;
        };
        let before = self.last.as_ref().and_then(|last| last.input.clone());
        output::say(format!("input: {}", said::input(&flow.loaded().program, before.as_ref())));
        let line = self.line("new input (text, JSON, or key=value)> ").filter(|line| !line.trim().is_empty())?;
        let before = before.filter(|before| matches!(before, Value::Object(_)));
        let given = match super::typed(&line) {
            object @ Value::Object(_) => Ok(Some(object)),
            _ => input::typed(&flow.loaded().program, &[line], before),
        };
        match given {
            Ok(given) => Some(Asked { input: Some(given), anyway: true, ..Asked::default() }),
            Err(error) => {
                output::refuse(&error.message, error.help.as_deref());
                None
            }
        }
    }

    /// `f`: repeats a step and everything after it.
    pub(super) fn again_from(&mut self) -> Option<Asked> {
        let Some(last) = self.last.as_ref() else {
            output::note("nothing has run yet");
            return None;
        };
        // The files may have been saved since the run.
        let is_there = |step: &SeenStep| self.flow.as_ref().is_none_or(|flow| has_step(flow, &step.label));
        let all: Vec<_> = last.steps.iter().filter(|(_, step)| is_there(step)).collect();
        let mut labels: BTreeMap<&str, usize> = BTreeMap::new();
        all.iter().for_each(|(_, step)| *labels.entry(&step.label).or_default() += 1);
        let name = |(key, step): (&String, &SeenStep)| match labels.get(step.label.as_str()) {
            Some(1) => step.label.clone(),
            _ => key.clone(),
        };
        let keys: Vec<String> = all.iter().map(|(key, _)| (*key).clone()).collect();
        let steps: Vec<String> = all.into_iter().map(name).collect();
        for (number, step) in steps.iter().enumerate() {
            output::say(format!("  {}  {}", number + 1, safe(step)));
        }
        let line = self.line("again from which step (number or name)> ")?;
        let line = line.trim();
        let chosen = line.parse::<usize>().ok().and_then(|number| steps.get(number.checked_sub(1)?).cloned());
        // `CALL/STEP` is a step of the flow that a step calls as a tool. Whether it exists is known only to the run.
        let paths = || keys.iter().map(|key| RunPath::of_text(key));
        let is_of = |path: RunPath<'_>| path.around(line).is_some() || path.names_inside(line).next().is_some();
        let is_known = || steps.iter().any(|step| step == line) || paths().any(is_of);
        let chosen = chosen.or_else(|| is_known().then(|| line.to_owned()));
        if chosen.is_none() && !line.is_empty() {
            output::refuse(&format!("the run has no step `{line}`"), Some(&instead(line, paths())));
        }
        chosen.map(|step| Asked { from: Some(step), anyway: true, ..Asked::default() })
    }

    /// `a`: answers a question of the last run.
    pub(super) fn answer(&mut self) -> Option<Asked> {
        let last = self.last.as_ref();
        let (run, waiting) = last.map(|last| (last.run.clone(), last.waiting.clone())).unwrap_or_default();
        match self.take_answer(&run, &waiting)? {
            Taken::Later(given) => {
                self.given = Some(*given);
                Some(Asked { anyway: true, ..Asked::default() })
            }
            Taken::Posted => Some(Asked { resume: true, anyway: true, ..Asked::default() }),
        }
    }

    /// Prompts for an answer, and sends it to the run. If the files have changed since the run, the answer is returned instead, for
    /// the run that replaces it. `None`: there is no answer, or the run does not accept it.
    pub(super) fn take_answer(&mut self, run: &str, all: &[Waiting]) -> Option<Taken> {
        let Some(one) = all.iter().find(|one| one.sort != "run") else {
            output::note("nothing waits for an answer");
            return None;
        };
        output::say(TerminalText::line(&waiting_line(one, all)));
        let choices = match (one.accepts.as_slice(), one.choices.as_slice()) {
            ([], []) => String::new(),
            ([], some) => format!("({}, or another answer) ", some.join("/")),
            (all, _) => format!("({}) ", all.join("/")),
        };
        let choices = if one.is_unknown() { "(retry/fail/done) ".to_owned() } else { choices };
        let line = self.line(&format!("{choices}> ")).filter(|line| !line.is_empty())?;
        if !self.is_current || self.has_changed() {
            self.settle();
            return Some(Taken::Later(Box::new(Given { to: one.clone(), line })));
        }
        answer::post(&self.store, run, one, (&line, None), self.args.store.option()).is_ok().then_some(Taken::Posted)
    }

    /// Sends the last run the answer that was typed for the previous one, if it asks the same question.
    pub(super) fn pass_on(&mut self) -> Option<Asked> {
        let Given { to, line } = self.given.take()?;
        let last = self.last.as_ref()?;
        // The same question, although there is more time to answer it, and the run of a called flow is another one.
        let is_same =
            |one: &&Waiting| Waiting { deadline: to.deadline.clone(), run: to.run.clone(), ..(*one).clone() } == to;
        let Some(one) = last.waiting.iter().find(is_same) else {
            output::note(format!("the answer to `{}` was not used: that is not asked as before", to.step));
            return None;
        };
        answer::post(&self.store, &last.run, one, (&line, None), self.args.store.option()).ok()?;
        output::note(format!("`{}` is asked as before, so it has the answer", to.step));
        Some(Asked { resume: true, anyway: true, ..Asked::default() })
    }

    /// `y`: allows the step that the run would repeat.
    pub(super) fn allowed(&mut self) -> Option<Asked> {
        let repeats = self.last.as_ref().and_then(|last| last.repeats.clone());
        if repeats.is_none() {
            output::note("no step waits to be allowed");
        }
        repeats
    }

    /// `t`: writes the trace page of the last run.
    pub(super) fn page(&self) {
        page(self.last.as_ref().and_then(|last| last.trace.as_ref()));
    }
}

/// Writes a trace page and opens it.
pub fn page(trace: Option<&(Arc<TraceSink>, TraceSubject)>) {
    let Some((tracer, about)) = trace else {
        return output::note("no run yet, so there is no trace to show");
    };
    let html = page::html(&tracer.trace().json(about));
    match write_page(&html) {
        Ok(path) => {
            output::say(format!("trace page: file://{}", path.display()));
            super::browser::open(&path);
        }
        Err(error) => output::refuse(&format!("cannot write the page: {error}"), None),
    }
}
