//! The last run of an open file: the values of its placeholders, and the effect of an edit. Nothing is run, and the
//! store is not changed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Runtime;
use trefoil::internals::LoadOptions;
use trefoil::internals::door::real;
use trefoil::runs::{Edit, Fate, Filled, LastRun, Line, Preview, last_with, preview_with_its_models};
use trefoil::store::{Filter, Location, Options, Store};
use trefoil::{Engine, Flow, internals};

/// Longer journals are not read while the user is typing.
const LONGEST: u64 = 20_000;
/// Maximum length of a shown value in characters.
const SHOWN: usize = 600;

/// The last runs of files.
#[derive(Default)]
pub struct LastRuns {
    /// Whether the feature is disabled.
    off: bool,
    /// The location of the store; `None`: the user's default.
    place: Option<OsString>,
    /// The store, once it has been opened: opening it for each hover would be slow.
    open: Option<(Arc<dyn Store>, Runtime)>,
    /// For each file, the newest run of the store at the last lookup, and its result.
    known: HashMap<PathBuf, (Option<String>, Option<Arc<Known>>)>,
}

/// The data of a run.
pub struct Known {
    /// The run.
    pub run: LastRun,
    /// The values of its placeholders.
    filled: Vec<Filled>,
}

impl LastRuns {
    /// Applies the client's settings. `lastRun: false` disables the feature; `store` is the location of the store.
    pub fn configure(&mut self, settings: &serde_json::Value) {
        self.off = settings.get("lastRun").and_then(serde_json::Value::as_bool) == Some(false);
        self.place = settings.get("store").and_then(serde_json::Value::as_str).map(OsString::from);
        self.open = None;
        self.known.clear();
    }

    /// The last run that used a file.
    pub fn of(&mut self, file: &Path) -> Option<Arc<Known>> {
        if self.off {
            return None;
        }
        self.opened()?;
        let (store, runtime) = self.open.as_ref()?;
        let newest = runtime.block_on(store.list(&Filter::default(), None, 1)).ok()?.runs;
        let newest = newest.first().map(|record| format!("{} {}", record.run, record.entries));
        if let Some((_, known)) = self.known.get(file).filter(|(at, _)| *at == newest) {
            return known.clone();
        }
        let found = runtime.block_on(read(store.clone(), file)).map(Arc::new);
        self.known.insert(file.to_owned(), (newest, found.clone()));
        found
    }

    /// Opens the store, unless it is already open.
    fn opened(&mut self) -> Option<()> {
        if self.open.is_none() {
            let env = |name: &str| std::env::var_os(name);
            let location = match &self.place {
                Some(place) => Ok(Location::parse(place, env)),
                None => Location::of_user(env),
            };
            let store = location.and_then(|location| location.open_to_read(Options::default())).ok()?;
            let runtime = tokio::runtime::Builder::new_current_thread().build().ok()?;
            self.open = Some((store, runtime));
        }
        Some(())
    }

    /// Describes what the edit of a file would change in its last run, or why this cannot be determined.
    pub fn why(&mut self, file: &Path, options: &LoadOptions) -> Result<String, String> {
        let known = self.of(file).ok_or("there is no stored run of this file")?;
        let (store, runtime) = self.open.as_ref().ok_or("the store cannot be read")?;
        let LastRun { run, target, .. } = &known.run;
        let loaded = internals::load(target, options).map_err(|_| "the file has errors, so nothing can run")?;
        let engine = Engine::new().settings(internals::settings::find(&loaded.entry_file(), false).settings);
        let flow = Flow::from(loaded);
        let edit = Edit::default();
        let preview = runtime.block_on(preview_with_its_models(&engine, store.clone(), run, &flow, &edit));
        Ok(told(run, &preview.map_err(|error| error.to_string())?))
    }
}

async fn read(store: Arc<dyn Store>, file: &Path) -> Option<Known> {
    let run = last_with(&*store, file).await?;
    if store.record(&run.run).await.ok()?.entries > LONGEST {
        return None;
    }
    let filled = run.filled(store).await.unwrap_or_default();
    Some(Known { run, filled })
}

impl Known {
    /// The value of a placeholder in a file. The file may have been edited since, so this is the placeholder with the
    /// same path that is nearest to this offset.
    pub fn value(&self, file: &Path, path: &str, start: u32) -> Option<String> {
        let file = real(file);
        let same = self.filled.iter().filter(|one| one.path == path && one.file == file);
        let nearest = same.min_by_key(|one| one.start.abs_diff(start))?;
        let mut value: String = nearest.value.chars().take(SHOWN).collect();
        if value.len() < nearest.value.len() {
            value.push('…');
        }
        Some(value)
    }
}

/// Formats the preview as lines.
fn told(run: &str, preview: &Preview) -> String {
    let mut lines = Vec::new();
    let reasons = |line: &Line| line.reasons.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
    let kept = preview.lines.iter().filter(|line| line.fate.is_kept()).count();
    for line in preview.lines.iter().filter(|line| !line.fate.is_kept()) {
        let what = if matches!(line.fate, Fate::New) { "new" } else { "runs again" };
        let why = reasons(line);
        lines.push(if why.is_empty() { format!("{} {what}", line.key) } else { format!("{} {what}: {why}", line.key) });
    }
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
