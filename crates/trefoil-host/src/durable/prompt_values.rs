//! The values that replaced each placeholder in the prompts of a stored run.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_machine::event::DisplayedMessage;
use trefoil_machine::provenance::OriginKind;
use trefoil_machine::{ProgramIdentity, RunStart};
use trefoil_store::{Record, RunFilter, Status, Store};
use trefoil_syntax::{FileId, Location};

use super::{StoredRun, called_runs, send_history, start_entry};
use crate::engine::AnswersFrom;
use trefoil_project::bundle::{RunFiles, find_run_files, load_run_program};
use trefoil_project::error::{Error, FoundErrors, Result};
use trefoil_project::file_access::{is_folder, resolve_links};
use trefoil_project::load::LoadedTarget;
use trefoil_project::target::LoadTarget;
use trefoil_view::diff::former_offset;
use trefoil_view::trace::TraceSink;

/// How many of the newest runs are searched if the former name of the flow is unknown.
const RECENT: usize = 300;
/// How many runs of a flow are searched for the last one of a target.
const MANY: usize = 1000;
/// The number of runs fetched at a time.
const PAGE: usize = 100;

/// A placeholder, and its last value in the run.
#[derive(Debug, Clone, PartialEq, Eq)]
struct FilledPlaceholder {
    /// The file, by its real path.
    file: PathBuf,
    /// The byte offset of the placeholder.
    start: u32,
    /// The path in the placeholder, as written.
    path: String,
    /// Its value in the last prompt that contains it. Secrets and environment values are masked.
    value: String,
}

/// A run, and the location of its files.
#[derive(Debug, Clone)]
pub struct LastRun {
    /// Its id.
    pub run: String,
    /// The target, by its absolute path.
    pub target: LoadTarget,
    /// The folder of its files.
    root: PathBuf,
    /// When it started.
    started: u64,
}

/// The placeholders of a run with their values, and the texts of its files.
#[derive(Debug, Clone, Default)]
pub struct PromptedRun {
    filled: Vec<FilledPlaceholder>,
    /// The texts with which the run started, by real path.
    texts: BTreeMap<PathBuf, String>,
}

impl PromptedRun {
    /// The last value of the placeholder with this path at an offset of the file, whose text now is `now`. `None` if no
    /// prompt of the run contained it at this place of the program, or if its place is new.
    pub fn value(&self, file: &Path, path: &str, now: &str, at: usize) -> Option<&str> {
        let old = self.texts.get(file)?;
        let at = former_offset(old, now, at)?;
        for placeholder in &self.filled {
            if placeholder.file != file || placeholder.path != path {
                continue;
            }
            let start = placeholder.start as usize;
            let between = old.get(at.min(start)..at.max(start)).unwrap_or("}}");
            // In the same placeholder of the text.
            if !between.contains("}}") {
                return Some(&placeholder.value);
            }
        }
        None
    }
}

impl LastRun {
    /// The placeholders of the run, with their values in the last prompts.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](trefoil_project::Error::Store) if the run cannot be read, [`Error::NotStarted`](trefoil_project::Error::NotStarted)
    /// if this version would not do the same.
    pub async fn read_prompts(&self, store: Arc<dyn Store>) -> Result<PromptedRun> {
        let stored = StoredRun::read_run(&*store, &self.run).await?;
        let tracer = Arc::new(TraceSink::default());
        let sent = send_history(store, &stored, tracer.clone()).await;
        sent.map_err(|error| Error::NotStarted(FoundErrors::of_run(&stored.flow.loaded_target().files, &error)))?;
        let view = tracer.trace().view;
        let mut calls = Vec::new();
        for (_, step) in view.numbered_steps() {
            calls.extend(&step.calls);
        }
        calls.sort_by_key(|call| call.started_ms);
        let mut values = BTreeMap::new();
        for call in calls {
            for message in &call.messages {
                values.extend(of_message(message));
            }
        }
        let loaded = stored.flow.loaded_target();
        let mut prompted = PromptedRun::default();
        for ((at, path), value) in values {
            if let Some(file) = real_file(loaded, &self.root, at.file) {
                prompted.filled.push(FilledPlaceholder { file, start: at.span.start, path, value });
            }
        }
        for id in loaded.program.file_ids() {
            if let Some(file) = real_file(loaded, &self.root, id)
                && let Some(source) = loaded.files.get(id)
            {
                prompted.texts.insert(file, source.text().to_string());
            }
        }
        Ok(prompted)
    }
}

/// The newest run of a target whose content is still stored: with the same path and id, or with the same entry under
/// another name. `loaded` is the current target, if it can be loaded.
pub async fn last_of(store: &dyn Store, target: &LoadTarget, loaded: Option<&LoadedTarget>) -> Option<LastRun> {
    let path = resolve_links(&target.path);
    let entry = match loaded {
        Some(loaded) => real_file(loaded, Path::new(""), loaded.entry),
        None if is_folder(&path) => None,
        None => Some(path.clone()),
    };
    let wanted = RunSearch::Target { path, id: target.id.clone(), entry };
    // If it cannot be loaded, its name is unknown.
    let Some(loaded) = loaded else { return newest(store, &RunFilter::default(), MANY, &wanted, 0).await };
    let named = RunFilter { flow: Some(loaded.program.name.to_string()), ..RunFilter::default() };
    match newest(store, &named, MANY, &wanted, 0).await {
        // It may have had another name.
        None => newest(store, &RunFilter::default(), RECENT, &wanted, 0).await,
        found => found,
    }
}

/// The newest run whose flow includes a file. `names` are the names of the flows that probably do: their runs are found
/// however many runs of others are newer. The file may also be a part of the newest runs of flows that have other names.
pub async fn last_with(store: &dyn Store, file: &Path, names: &[String]) -> Option<LastRun> {
    let wanted = RunSearch::With(resolve_links(file));
    let (mut found, mut since) = (None, 0);
    for name in names {
        let named = RunFilter { flow: Some(name.clone()), ..RunFilter::default() };
        if let Some(newer) = newest(store, &named, MANY, &wanted, since).await {
            since = newer.started;
            found = Some(newer);
        }
    }
    newest(store, &RunFilter::default(), RECENT, &wanted, since).await.or(found)
}

/// The target that a run started with; `None` if its files were in memory.
pub async fn target_of(store: &dyn Store, run: &str) -> Option<LoadTarget> {
    let begun = start_entry(store, run).await?;
    Some(find_run_files(store, run, &begun.program).await.ok()??.target)
}

/// The target that a run started with, if this file is another one that it calls, also as a tool.
pub async fn caller_in(store: &dyn Store, run: &str, file: &Path) -> Option<LoadTarget> {
    let file = resolve_links(file);
    let begun = start_entry(store, run).await?;
    let found = find_run_files(store, run, &begun.program).await.ok()??;
    if entry_of(store, run, &begun.program, &found).await.as_ref() == Some(&file) {
        return None;
    }
    let has = |found: &RunFiles| found.files.iter().any(|one| resolve_links(one) == file);
    if has(&found) {
        return Some(found.target);
    }
    // The runs of its tools, and those of the runs that it has kept calls of.
    let (mut left, mut met) = (vec![run.to_owned()], HashSet::new());
    while let Some(run) = left.pop() {
        if met.len() >= MANY {
            break;
        }
        if !met.insert(run.clone()) {
            continue;
        }
        if let Some(started) = start_entry(store, &run).await
            && let Some(basis) = &started.basis
            && let Some(earlier) = basis.earlier_run()
        {
            left.push(earlier.to_owned());
        }
        for called in called_runs(store, &run).await {
            let Some(begun) = start_entry(store, &called).await else { continue };
            if let Ok(Some(called_files)) = find_run_files(store, &called, &begun.program).await
                && has(&called_files)
            {
                return Some(found.target);
            }
            left.push(called);
        }
    }
    None
}

/// The run to search for. All paths are real paths.
enum RunSearch {
    /// A run with this path and id, or with its entry in this file.
    Target { path: PathBuf, id: Option<String>, entry: Option<PathBuf> },
    /// A run that uses this file.
    With(PathBuf),
}

impl RunSearch {
    /// Whether a run with such files matches.
    async fn is(&self, store: &dyn Store, run: &str, program: &ProgramIdentity, found: &RunFiles) -> bool {
        let has = |wanted: &Path| found.files.iter().any(|file| resolve_links(file) == wanted);
        match self {
            Self::With(file) => has(file),
            Self::Target { path, id, .. } if resolve_links(&found.target.path) == *path && found.target.id == *id => {
                true
            }
            Self::Target { entry: Some(entry), .. } if has(entry) => {
                entry_of(store, run, program, found).await.as_ref() == Some(entry)
            }
            Self::Target { .. } => false,
        }
    }
}

/// The file of a run's entry. For a folder, it is known only after loading.
async fn entry_of(store: &dyn Store, run: &str, program: &ProgramIdentity, found: &RunFiles) -> Option<PathBuf> {
    if found.files.contains(&found.target.path) {
        return Some(resolve_links(&found.target.path));
    }
    let (loaded, _) = load_run_program(store, run, program).await.ok()?;
    real_file(&loaded, &found.root, loaded.entry)
}

/// The real path of a flow's file.
fn real_file(loaded: &LoadedTarget, root: &Path, file: FileId) -> Option<PathBuf> {
    let name = Path::new(loaded.files.get(file)?.name());
    // Files that have changed since were read from the store, where paths are relative to their folder.
    let in_store = loaded.how.options.file_access.memory_files().is_some();
    let file = if in_store { root.join(name) } else { std::path::absolute(name).ok()? };
    Some(resolve_links(&file))
}

/// The newest matching run among a number of runs that started after a time. Usually only the list of each run's files is
/// read.
async fn newest(store: &dyn Store, filter: &RunFilter, most: usize, wanted: &RunSearch, since: u64) -> Option<LastRun> {
    let mut found = matching(store, filter, most, wanted, since, 1, |record, _| Some(record)).await;
    let (record, files) = found.pop()?;
    Some(LastRun { run: record.run, target: files.target, root: files.root, started: record.started })
}

/// What the newest completed runs of a target cost: in micro-dollars, at most as many as are wanted. Only runs whose whole cost is known,
/// that reused nothing, and whose answers came from the same source.
pub async fn spent_before(store: &dyn Store, loaded: &LoadedTarget, answers: &AnswersFrom, most: usize) -> Vec<u64> {
    let target = &loaded.how.target;
    let entry = real_file(loaded, Path::new(""), loaded.entry);
    let wanted = RunSearch::Target { path: resolve_links(&target.path), id: target.id.clone(), entry };
    let filter = RunFilter {
        flow: Some(loaded.program.name.to_string()),
        status: vec![Status::Completed],
        ..RunFilter::default()
    };
    let found = matching(store, &filter, RECENT, &wanted, 0, most, |record, started| {
        let usage = &record.spent.usage;
        let whole = usage.unpriced_calls == 0 && usage.unknown_calls == 0 && started.basis.is_none();
        let is_comparable = whole && AnswersFrom::of_stored(&started.answers) == *answers;
        if is_comparable { Some(usage.cost_micro) } else { None }
    });
    found.await.into_iter().map(|(cost, _)| cost).collect()
}

/// The newest matching runs of which something is wanted, as many as are wanted.
async fn matching<T>(
    store: &dyn Store,
    filter: &RunFilter,
    most: usize,
    wanted: &RunSearch,
    since: u64,
    enough: usize,
    of: impl Fn(Record, &RunStart) -> Option<T>,
) -> Vec<(T, RunFiles)> {
    let mut all = Vec::new();
    let (mut after, mut left) = (None, most);
    // Lists of files that do not match, because most runs of a flow have the same.
    let mut others: BTreeSet<String> = BTreeSet::new();
    loop {
        let Ok(page) = store.list_runs(filter, after, left.min(PAGE)).await else { return all };
        left = left.saturating_sub(page.runs.len());
        for record in page.runs {
            if record.started < since {
                return all;
            }
            if !record.content.keeps_prompts() {
                continue;
            }
            let run = record.run.clone();
            let Some(started) = start_entry(store, &run).await else { continue };
            let Some(wanted_part) = of(record, &started) else { continue };
            let program = started.program;
            if let Some(bundle) = &program.bundle
                && others.contains(bundle)
            {
                continue;
            }
            if let Ok(Some(found)) = find_run_files(store, &run, &program).await
                && wanted.is(store, &run, &program, &found).await
            {
                all.push((wanted_part, found));
                if all.len() >= enough {
                    return all;
                }
                continue;
            }
            others.extend(program.bundle);
        }
        after = page.next;
        if after.is_none() || left == 0 {
            return all;
        }
    }
}

/// The values of placeholders. Adjacent parts from one placeholder are a single value.
fn of_message(message: &DisplayedMessage) -> BTreeMap<(Location, String), String> {
    let mut found: BTreeMap<(Location, String), String> = BTreeMap::new();
    let characters: Vec<char> = message.content.chars().collect();
    for span in &message.spans {
        let text = characters.get(span.start as usize..span.end as usize).unwrap_or_default();
        let origin = &span.origin;
        if let Some(place) = origin.place
            && let Some(path) = &origin.path
            && !matches!(origin.from, OriginKind::Literal)
        {
            found.entry((place, path.to_string())).or_default().extend(text);
        }
        for via in &origin.via {
            found.entry((via.place, via.path.to_string())).or_default().extend(text);
        }
    }
    found
}
