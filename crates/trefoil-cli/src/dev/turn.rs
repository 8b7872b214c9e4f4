//! One turn of the loop: reads and checks the target, and brings the last run up to date.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trefoil::Flow;
use trefoil::runs::{ActivityDecision, NewResults};
use trefoil_host::durable::stopped;
use trefoil_machine::event::Waiting;
use trefoil_machine::{Key, PrivateValue};
use trefoil_project::door::{is_there, named};
use trefoil_project::folders::config_folder;
use trefoil_project::load::{CheckOptions, LoadOptions, LoadReport, LoadedTarget};
use trefoil_project::settings::{FoundSettings, Settings};
use trefoil_runtime::RunError;
use trefoil_syntax::{FileId, Files, SourceFile};
use trefoil_template::{Value, limits};
use trefoil_view::trace::{TraceSink, TraceSubject};

use super::edits::Changed;
use super::seen::{SeenSteps, seen_steps};
use super::stops::{called_repeats, reached_limit};
use super::{Loop, said, watch};
use crate::load::accept_settings;
use crate::output;
use crate::refusal::{cannot_start, did_not_start};
use crate::runs::past;
use crate::store::await_store;

/// What a turn should do.
#[derive(Debug, Default, Clone)]
pub struct Asked {
    /// Repeat this step and everything after it.
    pub from: Option<String>,
    /// Repeat everything.
    pub all: bool,
    /// The steps that may be repeated although that may not be safe.
    pub rerun: Vec<String>,
    /// Another input. `Some(None)`: no input.
    pub input: Option<Option<Value>>,
    /// Continue the same run, because it has been answered.
    pub resume: bool,
    /// Run even if nothing has changed, because the user pressed a key.
    pub anyway: bool,
}

/// What was read for a turn.
pub struct Read {
    /// The target's files and their findings.
    pub report: LoadReport,
    /// The texts of the settings, of the flows that the target calls as tools, and of the input, by file.
    others: BTreeMap<String, Arc<str>>,
}

impl Read {
    /// Whether the texts and the findings are the same.
    fn is_same(&self, now: &Self) -> bool {
        let (before, now_files) = (self.report.files.iter(), now.report.files.iter());
        let text = |(_, file): (FileId, &SourceFile)| (file.name().to_owned(), file.text().clone());
        before.map(text).eq(now_files.map(text))
            && self.report.diagnostics == now.report.diagnostics
            && self.others == now.others
    }

    /// Whether the file of the input, if there is one, is the same. `input`: the argument that names it.
    pub fn has_same_input(&self, now: &Self, input: Option<&str>) -> bool {
        let Some(file) = input.and_then(|argument| argument.strip_prefix('@')) else { return true };
        self.others.get(file) == now.others.get(file)
    }

    /// All texts by file.
    fn texts(&self) -> BTreeMap<String, Arc<str>> {
        let mut all = texts(&self.report.files);
        all.extend(self.others.clone());
        all
    }
}

fn texts(files: &Files) -> BTreeMap<String, Arc<str>> {
    files.iter().map(|(_, file)| (file.name().to_owned(), file.text().clone())).collect()
}

/// An answer that was typed while the files were saved.
pub struct Given {
    /// The question.
    pub to: Waiting,
    /// The typed line.
    pub line: String,
}

/// Where an answer went.
pub enum Taken {
    /// To the run.
    Posted,
    /// It is for the run that replaces that run.
    Later(Box<Given>),
}

/// The result of a turn.
pub enum Turn {
    /// There is nothing to say: nothing has changed, or the loop ends.
    Nothing,
    /// The turn has ended, and its result was printed.
    Done,
    /// The turn has ended, because of a save or an answer that was passed on. This turn is next.
    Next(Asked),
}

/// The result of reading the target.
enum ReadTurn {
    /// It has not changed.
    Same,
    /// It cannot be run.
    Faulty,
    /// It can be run.
    Ready(Flow, Box<Settings>),
}

/// The run to bring up to date next.
pub struct Last {
    /// Its id.
    pub run: String,
    /// What ran.
    pub flow: Flow,
    /// Its input.
    pub input: Option<Value>,
    /// Its recorded steps.
    pub steps: SeenSteps,
    /// Its result, or that of the last run before it that has one.
    pub result: Option<Value>,
    /// What happened to each activity, and what was made, if it reused results.
    pub reuse: (Vec<ActivityDecision>, NewResults),
    /// What it waits for.
    pub waiting: Vec<Waiting>,
    /// If it, or a run that it has called, stopped because a step would be repeated: the turn that allows this.
    pub repeats: Option<Asked>,
    /// If it, or a run that it has called, stopped at a limit: the error.
    pub limit: Option<RunError>,
    /// Whether it has not ended.
    pub is_open: bool,
    /// Its trace.
    pub trace: Option<(Arc<TraceSink>, TraceSubject)>,
}

impl Loop<'_> {
    /// Performs a turn.
    pub(super) fn turn(&mut self, asked: &Asked) -> Result<Turn, u8> {
        let since = Instant::now();
        self.thought = Duration::ZERO;
        let (flow, settings) = match self.load(asked)? {
            ReadTurn::Same => return Ok(Turn::Nothing),
            ReadTurn::Faulty => return Ok(Turn::Done),
            ReadTurn::Ready(flow, settings) => (flow, settings),
        };
        // A run of older files does not continue: a run of the current files replaces it, without the permissions given for the old
        // one.
        let again = Asked { anyway: true, ..Asked::default() };
        let asked = if asked.resume && !self.is_current { &again } else { asked };
        let started = match asked.resume {
            true => self.resume(since, &settings, asked),
            false => self.start(since, &flow, &settings, asked),
        };
        // The next save may fix whatever prevents the start.
        match started {
            Ok(under_way) => self.follow(under_way, asked),
            Err(_) => Ok(Turn::Done),
        }
    }

    /// Reads and checks the target. Returns what was read, and the target if it can be run.
    pub(super) fn look(&self, operator: &FoundSettings) -> (Read, Option<LoadedTarget>) {
        let (args, settings) = (self.args, &operator.settings);
        let options = LoadOptions {
            context: args.texts.context.clone(),
            skills: args.texts.skills.clone(),
            checks: Some(CheckOptions::default()),
            ..args.target.options_with(settings)
        };
        let mut others = texts(&operator.files);
        let input = args.input_json.as_deref().and_then(|argument| argument.strip_prefix('@'));
        let text = |file: &str| String::from_utf8(named(Path::new(file), limits::INPUT_BYTES).ok()?).ok();
        if let Some((file, text)) = input.and_then(|file| Some((file, text(file)?))) {
            others.insert(file.to_owned(), text.into());
        }
        match trefoil_project::load::load(&args.target.target(), &options) {
            Ok(loaded) => {
                let engine = self.args.host.without_people(self.engine.clone(), settings);
                for flow in engine.called(&loaded.program) {
                    others.extend(texts(&flow.files));
                }
                let LoadedTarget { files, diagnostics, .. } = &loaded;
                let report =
                    LoadReport { files: files.clone(), diagnostics: diagnostics.clone(), ..LoadReport::default() };
                (Read { report, others }, Some(loaded))
            }
            Err(report) => (Read { report, others }, None),
        }
    }

    /// Whether the target has changed since it was read last.
    pub(super) fn has_changed(&self) -> bool {
        let now = self.look(&self.args.target.settings()).0;
        !self.read.as_ref().is_some_and(|before| before.is_same(&now))
    }

    /// Reads the target, and prints its findings.
    fn load(&mut self, asked: &Asked) -> Result<ReadTurn, u8> {
        let operator = self.args.target.settings();
        let (read, loaded) = self.look(&operator);
        // A called flow that does not load is watched, too.
        let called = operator.settings.flows.iter().map(|tool| tool.flow.path.clone());
        let files = loaded.iter().flat_map(watch::files).chain(read.others.keys().map(PathBuf::from)).chain(called);
        let mut files: Vec<PathBuf> = files.filter(|path| is_there(path)).collect();
        // Somebody may trust the settings, from anywhere.
        files.extend(config_folder().filter(|_| !operator.findings.is_empty()).map(|folder| folder.join("trusted")));
        self.watch.also(files).map_err(|error| cannot_start(&error))?;
        let Ok(settings) = accept_settings(operator) else { return Ok(ReadTurn::Faulty) };
        let same = self.read.as_ref().is_some_and(|before| before.is_same(&read));
        let first = self.read.is_none();
        if !same || (asked.anyway && loaded.is_none()) {
            let changed = self.changed(&read);
            self.edited = said::saved(&changed);
            let before = self.read.as_ref().map(|before| &before.report);
            said::findings(before, &read.report, loaded.is_none());
            if loaded.is_none() {
                output::refuse("nothing runs until this is corrected", None);
            }
        } else {
            self.edited.clear();
        }
        self.read = Some(read);
        self.is_current &= same;
        // The save did not concern the target.
        if same && !asked.anyway && !first {
            return Ok(ReadTurn::Same);
        }
        let Some(loaded) = loaded else { return Ok(ReadTurn::Faulty) };
        let flow = Flow::from(loaded);
        self.flow = Some(flow.clone());
        Ok(ReadTurn::Ready(flow, Box::new(settings)))
    }

    /// The files that have changed since they were read last, each with its text in the last run.
    pub(super) fn changed(&self, now: &Read) -> Vec<Changed> {
        let Some(before) = &self.read else { return Vec::new() };
        let (then, now) = (before.texts(), now.texts());
        let ran = self.last.as_ref().map(|last| texts(&last.flow.loaded().files)).unwrap_or_default();
        let mut all = Vec::new();
        for (name, text) in &now {
            let (read, ran) = (then.get(name), ran.get(name));
            // A file of a target that did not load was not read.
            if read != Some(text) && (read.is_some() || ran != Some(text)) {
                all.push(Changed { name: name.clone(), before: ran.or(read).cloned(), now: Some(text.clone()) });
            }
        }
        let gone = then.keys().filter(|name| !now.contains_key(*name) && !is_there(&PathBuf::from(name)));
        all.extend(gone.map(|name| Changed { name: name.clone(), before: None, now: None }));
        all
    }

    /// Reads a stored run.
    pub(super) fn last_of(&self, run: &str) -> Result<Last, u8> {
        let stored = past::read(&self.store, run)?;
        let record = await_store(self.store.record(run))?;
        let tracer = Arc::new(TraceSink::default());
        let waiting = past::seen(&self.store, &record, tracer.clone())?;
        let view = tracer.trace().view;
        let stopped = self.runtime.block_on(stopped(&*self.store, &record)).map_err(|error| did_not_start(&error))?;
        Ok(Last {
            run: run.to_owned(),
            flow: stored.flow.clone(),
            input: stored.started.input.clone().map(PrivateValue::into_exact),
            steps: seen_steps(&view),
            result: view.end.and_then(|end| end.output),
            reuse: Default::default(),
            repeats: allowing(stopped.as_ref(), &waiting),
            limit: reached_limit(stopped.as_ref(), &waiting),
            waiting,
            is_open: !record.status.is_end(),
            trace: None,
        })
    }
}

/// What lets a run repeat the steps that it, or a run that it has called, stopped before.
pub fn allowing(error: Option<&RunError>, waiting: &[Waiting]) -> Option<Asked> {
    let own = error.into_iter().flat_map(RunError::repeated_steps).map(Key::to_string);
    let called = waiting.iter().flat_map(called_repeats);
    let mut rerun: Vec<String> = own.chain(called).collect();
    rerun.dedup();
    (!rerun.is_empty()).then(|| Asked { rerun, resume: true, anyway: true, ..Asked::default() })
}

/// Whether a flow has a step with this name.
pub fn has_step(flow: &Flow, label: &str) -> bool {
    let program = &flow.loaded().program;
    *program.name == *label || program.steps.iter().any(|step| step.label.as_deref() == Some(label))
}
