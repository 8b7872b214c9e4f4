//! One turn of the loop: reads and checks the target, and brings the last run up to date.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use trefoil::Flow;
use trefoil::runs::{ActivityDecision, NewResults};
use trefoil_host::durable::suspension_reason;
use trefoil_machine::event::AwaitedActivity;
use trefoil_machine::{Key, PrivateValue};
use trefoil_project::file_access::{path_exists, read_named_file};
use trefoil_project::folders::config_folder;
use trefoil_project::load::{CheckOptions, LoadOptions, LoadReport, LoadedTarget};
use trefoil_project::settings::{FoundSettings, Settings};
use trefoil_runtime::RunError;
use trefoil_syntax::{FileId, SourceFile, SourceFiles};
use trefoil_template::{Value, limits};
use trefoil_view::trace::{TraceSink, TraceSubject};

use super::edits::SavedFile;
use super::step_outputs::{StepOutputs, collect_step_outputs};
use super::stop_reasons::{called_repeats, reached_limit};
use super::{DevLoop, turn_output, watcher};
use crate::loading::accept_settings;
use crate::output;
use crate::refusal::{cannot_start, did_not_start};
use crate::runs::run_history;
use crate::store::await_store;

/// What a turn should do.
#[derive(Debug, Default, Clone)]
pub struct TurnRequest {
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
pub struct TargetSnapshot {
    /// The target's files and their findings.
    pub report: LoadReport,
    /// The texts of the settings, of the flows that the target calls as tools, and of the input, by file.
    others: BTreeMap<String, Arc<str>>,
}

impl TargetSnapshot {
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
        let Some(file) = input_file(input) else { return true };
        self.others.get(file) == now.others.get(file)
    }

    /// All texts by file.
    fn texts(&self) -> BTreeMap<String, Arc<str>> {
        let mut all = texts(&self.report.files);
        all.extend(self.others.clone());
        all
    }
}

/// The file that an argument for the input names.
pub fn input_file(argument: Option<&str>) -> Option<&str> {
    argument?.strip_prefix('@')
}

fn texts(files: &SourceFiles) -> BTreeMap<String, Arc<str>> {
    files.iter().map(|(_, file)| (file.name().to_owned(), file.text().clone())).collect()
}

/// An answer that was typed while the files were saved.
pub struct PendingAnswer {
    /// The question.
    pub to: AwaitedActivity,
    /// The typed line.
    pub line: String,
}

/// Where an answer went.
pub enum AnswerDestination {
    /// To the run.
    Posted,
    /// It is for the run that replaces that run.
    Later(Box<PendingAnswer>),
}

/// The result of a turn.
pub enum TurnResult {
    /// There is nothing to say: nothing has changed, or the loop ends.
    Nothing,
    /// The turn has ended, and its result was printed.
    Done,
    /// The turn has ended, because of a save or an answer that was passed on. This turn is next.
    Next(TurnRequest),
}

/// The result of reading the target.
enum TargetReading {
    /// It has not changed.
    Same,
    /// It cannot be run.
    Faulty,
    /// It can be run.
    Ready(Flow, Box<Settings>),
}

/// The run to bring up to date next.
pub struct PreviousRun {
    /// Its id.
    pub run: String,
    /// What ran.
    pub flow: Flow,
    /// Its input.
    pub input: Option<Value>,
    /// Its recorded steps.
    pub steps: StepOutputs,
    /// Its result, or that of the last run before it that has one.
    pub result: Option<Value>,
    /// What happened to each activity, and what was made, if it reused results.
    pub reuse: (Vec<ActivityDecision>, NewResults),
    /// What it waits for.
    pub waiting: Vec<AwaitedActivity>,
    /// If it, or a run that it has called, stopped because a step would be repeated: the turn that allows this.
    pub repeats: Option<TurnRequest>,
    /// If it, or a run that it has called, stopped at a limit: the error.
    pub limit: Option<RunError>,
    /// Whether it has not ended.
    pub is_open: bool,
    /// Its trace.
    pub trace: Option<(Arc<TraceSink>, TraceSubject)>,
}

impl DevLoop<'_> {
    /// Performs a turn.
    pub(super) fn perform_turn(&mut self, request: &TurnRequest) -> Result<TurnResult, u8> {
        let since = Instant::now();
        self.prompt_time = Duration::ZERO;
        let (flow, settings) = match self.load(request)? {
            TargetReading::Same => return Ok(TurnResult::Nothing),
            TargetReading::Faulty => return Ok(TurnResult::Done),
            TargetReading::Ready(flow, settings) => (flow, settings),
        };
        // A run of older files does not continue: a run of the current files replaces it, without the permissions given for the old
        // one.
        let again = TurnRequest { anyway: true, ..TurnRequest::default() };
        let request = if request.resume && !self.is_current { &again } else { request };
        let started = match request.resume {
            true => self.resume_run(since, &settings, request),
            false => self.start_run(since, &flow, &settings, request),
        };
        // The next save may fix whatever prevents the start.
        match started {
            Ok(under_way) => self.follow_run(under_way, request),
            Err(_) => Ok(TurnResult::Done),
        }
    }

    /// Reads and checks the target. Returns what was read, and the target if it can be run.
    pub(super) fn read_target(&self, operator: &FoundSettings) -> (TargetSnapshot, Option<LoadedTarget>) {
        let (args, settings) = (self.args, &operator.settings);
        let options = LoadOptions {
            context: args.texts.context.clone(),
            skills: args.texts.skills.clone(),
            checks: Some(CheckOptions::default()),
            ..args.target.load_options_with(settings)
        };
        let mut others = texts(&operator.files);
        if let Some(file) = input_file(args.input_json.as_deref())
            && let Ok(bytes) = read_named_file(Path::new(file), limits::INPUT_BYTES)
            && let Ok(text) = String::from_utf8(bytes)
        {
            others.insert(file.to_owned(), text.into());
        }
        match trefoil_project::load::load_target(&args.target.parse_target(), &options) {
            Ok(loaded) => {
                let engine = self.args.host.without_people(self.engine.clone(), settings);
                for flow in engine.callable_flows(&loaded.program) {
                    others.extend(texts(&flow.files));
                }
                let LoadedTarget { files, diagnostics, .. } = &loaded;
                let report =
                    LoadReport { files: files.clone(), diagnostics: diagnostics.clone(), ..LoadReport::default() };
                (TargetSnapshot { report, others }, Some(loaded))
            }
            Err(report) => (TargetSnapshot { report, others }, None),
        }
    }

    /// Whether the target has changed since it was read last.
    pub(super) fn has_changed(&self) -> bool {
        let now = self.read_target(&self.args.target.find_settings()).0;
        match &self.snapshot {
            Some(before) => !before.is_same(&now),
            None => true,
        }
    }

    /// Reads the target, and prints its findings.
    fn load(&mut self, request: &TurnRequest) -> Result<TargetReading, u8> {
        let operator = self.args.target.find_settings();
        let (read, loaded) = self.read_target(&operator);
        let mut files: Vec<PathBuf> = Vec::new();
        if let Some(loaded) = &loaded {
            files.extend(watcher::target_files(loaded));
        }
        files.extend(read.others.keys().map(PathBuf::from));
        // A called flow that does not load is watched, too.
        for tool in &operator.settings.flows {
            files.push(tool.flow.path.clone());
        }
        files.retain(|path| path_exists(path));
        // Somebody may trust the settings, from anywhere.
        if !operator.findings.is_empty()
            && let Some(folder) = config_folder()
        {
            files.push(folder.join("trusted"));
        }
        self.watcher.add_files(files).map_err(|error| cannot_start(&error))?;
        let Ok(settings) = accept_settings(operator) else { return Ok(TargetReading::Faulty) };
        let same = matches!(&self.snapshot, Some(before) if before.is_same(&read));
        let first = self.snapshot.is_none();
        if !same || (request.anyway && loaded.is_none()) {
            let changed = self.changed_files(&read);
            self.edited_files = turn_output::print_saved(&changed);
            let before = self.snapshot.as_ref().map(|before| &before.report);
            turn_output::print_findings(before, &read.report, loaded.is_none());
            if loaded.is_none() {
                output::print_error("nothing runs until this is corrected", None);
            }
        } else {
            self.edited_files.clear();
        }
        self.snapshot = Some(read);
        self.is_current &= same;
        // The save did not concern the target.
        if same && !request.anyway && !first {
            return Ok(TargetReading::Same);
        }
        let Some(loaded) = loaded else { return Ok(TargetReading::Faulty) };
        let flow = Flow::from(loaded);
        self.flow = Some(flow.clone());
        Ok(TargetReading::Ready(flow, Box::new(settings)))
    }

    /// The files that have changed since they were read last, each with its text in the last run.
    pub(super) fn changed_files(&self, now: &TargetSnapshot) -> Vec<SavedFile> {
        let Some(before) = &self.snapshot else { return Vec::new() };
        let (then, now) = (before.texts(), now.texts());
        let ran = match &self.last_run {
            Some(last) => texts(&last.flow.loaded_target().files),
            None => BTreeMap::new(),
        };
        let mut all = Vec::new();
        for (name, text) in &now {
            let (read, ran) = (then.get(name), ran.get(name));
            // A file of a target that did not load was not read.
            if read != Some(text) && (read.is_some() || ran != Some(text)) {
                all.push(SavedFile { name: name.clone(), before: ran.or(read).cloned(), now: Some(text.clone()) });
            }
        }
        for name in then.keys() {
            if !now.contains_key(name) && !path_exists(&PathBuf::from(name)) {
                all.push(SavedFile { name: name.clone(), before: None, now: None });
            }
        }
        all
    }

    /// Reads a stored run.
    pub(super) fn read_last_run(&self, run: &str) -> Result<PreviousRun, u8> {
        let stored = run_history::read_run(&self.store, run)?;
        let record = await_store(self.store.record(run))?;
        let tracer = Arc::new(TraceSink::default());
        let waiting = run_history::waiting_with_events(&self.store, &record, tracer.clone())?;
        let view = tracer.trace().view;
        let stopped =
            self.runtime.block_on(suspension_reason(&*self.store, &record)).map_err(|error| did_not_start(&error))?;
        Ok(PreviousRun {
            run: run.to_owned(),
            flow: stored.flow.clone(),
            input: stored.started.input.clone().map(PrivateValue::into_exact),
            steps: collect_step_outputs(&view),
            result: view.end.and_then(|end| end.output),
            reuse: Default::default(),
            repeats: repeat_request(stopped.as_ref(), &waiting),
            limit: reached_limit(stopped.as_ref(), &waiting),
            waiting,
            is_open: !record.status.is_end(),
            trace: None,
        })
    }
}

/// What lets a run repeat the steps that it, or a run that it has called, stopped before.
pub fn repeat_request(error: Option<&RunError>, waiting: &[AwaitedActivity]) -> Option<TurnRequest> {
    let mut rerun: Vec<String> = Vec::new();
    if let Some(error) = error {
        rerun.extend(error.repeated_steps().map(Key::to_string));
    }
    for activity in waiting {
        rerun.extend(called_repeats(activity));
    }
    rerun.dedup();
    if rerun.is_empty() {
        return None;
    }
    Some(TurnRequest { rerun, resume: true, anyway: true, ..TurnRequest::default() })
}

/// Whether a flow has a step with this name.
pub fn has_step(flow: &Flow, label: &str) -> bool {
    let program = &flow.loaded_target().program;
    *program.name == *label || program.steps.iter().any(|step| step.label.as_deref() == Some(label))
}
