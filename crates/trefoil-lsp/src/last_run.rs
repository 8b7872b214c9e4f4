//! The last run of an open file: the values of its placeholders, and the effect of an edit. Nothing is run, and the
//! store is not changed.
//!
//! The store is read on another thread, because a server may take long to respond: a request that waits longer than its
//! budget is answered without the last run, and later ones find what was read meanwhile.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use trefoil::runs::{
    ActivityDecision, ChangeReason, EditPreview, LastRun, PromptedRun, ReuseDecision, ReuseRequest, TextReason,
    last_with, preview_with_its_models,
};
use trefoil::store::{RunFilter, Status, Store, StoreError, StoreLocation, StoreOptions};
use trefoil::{Engine, Flow};
use trefoil_host::command::{PrintedCommand, RunOptions, store_option};
use trefoil_host::durable::StoredRun;
use trefoil_project::file_access::path_exists;
use trefoil_project::load::LoadOptions;

/// Longer journals are not read while the user is typing.
const LONGEST: u64 = 20_000;
/// Maximum length of a shown value in characters.
const SHOWN: usize = 600;
/// How long a request waits for a server.
const SERVER: Duration = Duration::from_millis(300);
/// How long a request waits for a file.
const FILE: Duration = Duration::from_secs(10);
/// How long a command of the user waits.
const COMMAND: Duration = Duration::from_secs(15);
/// How long a store that could not be read is left alone.
const AFTER_FAILURE: Duration = Duration::from_secs(10);

/// The last runs of files.
#[derive(Default)]
pub struct LastRuns {
    /// Whether the feature is disabled.
    off: bool,
    /// The location of the store; `None`: the user's default.
    place: Option<OsString>,
    reader: Option<StoreReaderThread>,
}

/// The thread that reads the store.
struct StoreReaderThread {
    work: Sender<StoreLookupJob>,
    /// How long requests wait.
    budget: Duration,
    /// Something that took longer than its budget.
    late: Option<Receiver<()>>,
}

type StoreLookupJob = Box<dyn FnOnce(&mut LastRunLookup) + Send>;

/// The data of a run.
pub struct LastRunDetails {
    /// The run.
    pub run: LastRun,
    /// The options of commands that continue it: the store, and the permissions that it had.
    pub options: RunOptions,
    /// Its placeholders.
    prompted: PromptedRun,
}

impl LastRuns {
    /// Applies the client's settings. `lastRun: false` disables the feature; `store` is the location of the store.
    pub fn apply_settings(&mut self, settings: &serde_json::Value) {
        self.off = settings.get("lastRun").and_then(serde_json::Value::as_bool) == Some(false);
        self.place = match settings.get("store").and_then(serde_json::Value::as_str) {
            Some(place) if !place.is_empty() => Some(OsString::from(place)),
            _ => None,
        };
        self.reader = None;
    }

    /// The last run that used a file. `names` are the flows that probably contain it: see [`last_with`].
    pub fn find_run(&mut self, file: &Path, names: Vec<String>) -> Option<Arc<LastRunDetails>> {
        let file = file.to_owned();
        self.read(None, move |lookup| lookup.find_run(&file, &names))?
    }

    /// The options of printed commands that run something and keep it in the store of the client.
    pub fn store_options(&self) -> RunOptions {
        RunOptions::of_store(option_of(self.place.as_ref()))
    }

    /// Describes what the edit of a file would change in its last run, or why this cannot be determined.
    pub fn explain_edit(&mut self, file: &Path, names: Vec<String>, options: LoadOptions) -> Result<String, String> {
        let file = file.to_owned();
        match self.read(Some(COMMAND), move |lookup| lookup.why(&file, &names, &options)) {
            Some(explanation) => explanation,
            None => Err("the store does not respond".to_owned()),
        }
    }

    /// Runs something on the thread that reads the store. `None` if it takes too long; it then continues there.
    fn read<T: Send + 'static>(
        &mut self,
        budget: Option<Duration>,
        work: impl FnOnce(&mut LastRunLookup) -> T + Send + 'static,
    ) -> Option<T> {
        if self.off {
            return None;
        }
        if self.reader.is_none() {
            self.reader = StoreReaderThread::start(self.place.clone());
        }
        let reader = self.reader.as_mut()?;
        if let Some(late) = &reader.late {
            match (late.try_recv(), budget) {
                (Err(TryRecvError::Empty), None) => return None,
                (Err(TryRecvError::Empty), Some(_)) => {}
                _ => reader.late = None,
            }
        }
        let (result_sender, result_receiver) = channel();
        let (end_sender, end_receiver) = channel();
        let job: StoreLookupJob = Box::new(move |lookup| {
            let _ = result_sender.send(work(lookup));
            let _ = end_sender.send(());
        });
        if reader.work.send(job).is_err() {
            // The thread has ended, because of a panic.
            self.reader = None;
            return None;
        }
        match result_receiver.recv_timeout(budget.unwrap_or(reader.budget)) {
            Ok(done) => Some(done),
            Err(RecvTimeoutError::Timeout) => {
                reader.late = Some(end_receiver);
                None
            }
            Err(RecvTimeoutError::Disconnected) => {
                self.reader = None;
                None
            }
        }
    }
}

/// The option that names a store; empty for the user's.
fn option_of(place: Option<&OsString>) -> String {
    if let Some(place) = place
        && let Ok(location) = StoreLocation::parse(place, |name| std::env::var_os(name))
    {
        return store_option(&location);
    }
    String::new()
}

impl StoreReaderThread {
    fn start(place: Option<OsString>) -> Option<Self> {
        let env = |name: &str| std::env::var_os(name);
        let named = option_of(place.as_ref());
        let location = match place {
            Some(place) => StoreLocation::parse(&place, env),
            None => StoreLocation::of_user(env),
        };
        let budget = if matches!(location, Ok(StoreLocation::Server(_))) { SERVER } else { FILE };
        let (work, jobs) = channel::<StoreLookupJob>();
        let reads = move || {
            let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
            let mut lookup =
                LastRunLookup { location, named, runtime, store: None, failed: None, known: HashMap::new() };
            while let Ok(job) = jobs.recv() {
                job(&mut lookup);
            }
        };
        std::thread::Builder::new().name("last-runs".to_owned()).spawn(reads).ok()?;
        Some(Self { work, budget, late: None })
    }
}

/// What is known of the store, on its thread.
struct LastRunLookup {
    location: Result<StoreLocation, StoreError>,
    /// The option of commands that names it.
    named: String,
    runtime: Runtime,
    /// The store, once it has been opened: opening it for each hover would be slow.
    store: Option<Arc<dyn Store>>,
    /// When it could not be read.
    failed: Option<Instant>,
    known: HashMap<PathBuf, CachedLastRun>,
}

/// The last run of a file at the last lookup.
struct CachedLastRun {
    /// The newest run of the store, which may be a newer one of this file.
    newest: Option<String>,
    /// How far the run of the file was.
    state: Option<(u64, Status)>,
    known: Option<Arc<LastRunDetails>>,
    /// When it was looked up.
    at: Instant,
}

impl LastRunLookup {
    /// The store, unless it could not be read a moment ago.
    fn store(&mut self) -> Option<Arc<dyn Store>> {
        if let Some(at) = self.failed
            && at.elapsed() < AFTER_FAILURE
        {
            return None;
        }
        self.failed = None;
        if self.store.is_none() {
            let opened = self.location.as_ref().ok()?.open_to_read(StoreOptions::default());
            match opened {
                Ok(store) => self.store = Some(store),
                // There may be one soon.
                Err(StoreError::Missing { .. }) => {}
                Err(_) => self.failed = Some(Instant::now()),
            }
        }
        self.store.clone()
    }

    /// Remembers that the store cannot be read.
    fn fails(&mut self) {
        (self.failed, self.store) = (Some(Instant::now()), None);
    }

    fn find_run(&mut self, file: &Path, names: &[String]) -> Option<Arc<LastRunDetails>> {
        let store = self.store()?;
        let Ok(newest) = self.runtime.block_on(store.list_runs(&RunFilter::default(), None, 1)) else {
            self.fails();
            return None;
        };
        let newest = newest.runs.into_iter().next().map(|record| record.run);
        // If nothing was found, that may be because the store failed.
        if let Some(seen) = self.known.get(file)
            && seen.newest == newest
            && (seen.known.is_some() || seen.at.elapsed() < AFTER_FAILURE)
        {
            let now = match &seen.known {
                Some(known) => self.runtime.block_on(state(&*store, &known.run.run)),
                None => None,
            };
            if now == seen.state {
                return seen.known.clone();
            }
        }
        let (state, known) = match self.runtime.block_on(read(store, &self.named, file, names)) {
            Some((known, state)) => (Some(state), Some(Arc::new(known))),
            None => (None, None),
        };
        self.known.insert(file.to_owned(), CachedLastRun { newest, state, known: known.clone(), at: Instant::now() });
        known
    }

    fn why(&mut self, file: &Path, names: &[String], options: &LoadOptions) -> Result<String, String> {
        let known = self.find_run(file, names).ok_or("there is no stored run of this file")?;
        let store = self.store().ok_or("the store cannot be read")?;
        let LastRun { run, target, .. } = &known.run;
        let loaded = trefoil_project::load::load_target(target, options)
            .map_err(|_| "the file has errors, so nothing can run")?;
        let engine =
            Engine::new().settings(trefoil_project::settings::find_settings(&loaded.entry_file(), false).settings);
        let flow = Flow::from(loaded);
        let request = ReuseRequest::for_whole_run(run);
        let preview = self.runtime.block_on(preview_with_its_models(&engine, store, &flow, &request));
        Ok(format_preview(run, &preview.map_err(|error| error.to_string())?))
    }
}

/// How far a run is.
async fn state(store: &dyn Store, run: &str) -> Option<(u64, Status)> {
    let record = store.record(run).await.ok()?;
    Some((record.entries, record.status))
}

/// `named`: the option that names the store.
async fn read(
    store: Arc<dyn Store>,
    named: &str,
    file: &Path,
    names: &[String],
) -> Option<(LastRunDetails, (u64, Status))> {
    let run = last_with(&*store, file, names).await?;
    let state = state(&*store, &run.run).await?;
    if state.0 > LONGEST {
        return None;
    }
    let options = match StoredRun::read_run(&*store, &run.run).await {
        Ok(stored) => RunOptions::of_stored(named.to_owned(), &stored),
        Err(_) => RunOptions::of_store(named.to_owned()),
    };
    let prompted = run.read_prompts(store).await.unwrap_or_default();
    Some((LastRunDetails { run, options, prompted }, state))
}

impl LastRunDetails {
    /// The value of the placeholder at an offset of a file, whose text now is `now`.
    pub fn placeholder_value(&self, file: &Path, path: &str, now: &str, start: u32) -> Option<String> {
        let found = self.prompted.value(file, path, now, start as usize)?;
        let mut value: String = found.chars().take(SHOWN).collect();
        if value.len() < found.len() {
            value.push('…');
        }
        Some(value)
    }

    /// The command that resumes the run with the edited files.
    pub fn resume_command(&self, file: &Path) -> String {
        let target = self.run_target(file);
        self.options.render_command(PrintedCommand::Edited { run: &self.run.run, target: &target })
    }

    /// What to pass to `trefoil resume --with`: the target of the run, which may call the open file. If it was moved, the
    /// open file.
    pub fn run_target(&self, file: &Path) -> String {
        let target = &self.run.target;
        if path_exists(&target.path) { target.to_string() } else { file.display().to_string() }
    }
}

/// A reason with the changed words.
fn reason(reason: &ChangeReason) -> String {
    match reason {
        ChangeReason::Text(TextReason { diff, .. }) => format!("{reason}: {}", diff.in_line()),
        reason => reason.to_string(),
    }
}

/// Adds a line for each step that would not keep its result, with those of the flow that it calls below it.
fn repeated(all: &[ActivityDecision], indent: &str, lines: &mut Vec<String>) {
    for line in all {
        if line.fate.is_kept() {
            continue;
        }
        let what = match line.fate {
            ReuseDecision::New => "new",
            ReuseDecision::Later => "depends on the new results",
            _ => "runs again",
        };
        let why = line.reasons.iter().map(reason).collect::<Vec<_>>().join("; ");
        let why = if why.is_empty() { why } else { format!(": {why}") };
        lines.push(format!("{indent}{} {what}{why}", line.key));
        repeated(&line.called, &format!("{indent}  "), lines);
    }
}

/// Formats the preview as lines.
fn format_preview(run: &str, preview: &EditPreview) -> String {
    let mut lines = Vec::new();
    let mut kept = 0;
    for line in &preview.lines {
        kept += line.and_called().filter(|line| line.fate.is_kept()).count();
    }
    repeated(&preview.lines, "", &mut lines);
    if let Some(error) = &preview.error {
        lines.push(error.to_string());
    }
    if preview.is_up_to_date() {
        return format!("no step would run again: all {kept} results of run {run} are kept");
    }
    if !preview.later.is_empty() {
        let later: Vec<&str> = preview.later.iter().map(|line| line.key.as_str()).collect();
        let what =
            if lines.is_empty() { "it depends on new results" } else { "after that, it depends on the new results" };
        lines.push(format!("{what}: {}", later.join(", ")));
    }
    lines.push(format!("kept: {kept} of run {run}"));
    lines.join("\n")
}
