//! What stood in the place of each placeholder in the prompts of a stored run.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::event::ShownMessage;
use trefoil_machine::provenance::From;
use trefoil_machine::{EntryKind, Identity};
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_store::{Content, Filter, Record, Store};
use trefoil_syntax::{FileId, Location};

use super::bundle::{Whereabouts, unpack, whereabouts};
use super::{Stored, history};
use crate::door::{is_folder, real};
use crate::error::{Error, Findings, Result};
use crate::load::{Loaded, Target};

/// The newest runs, that are searched where it is not known what a flow was called.
const RECENT: usize = 50;
/// Runs that are searched for the last one of a target, of those of its flow.
const MANY: usize = 1000;
/// Runs that are listed at a time.
const PAGE: usize = 100;

/// A placeholder, and what the run put there the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The file, by its real path.
    pub file: PathBuf,
    /// Where the placeholder begins there, in bytes.
    pub start: u32,
    /// The path in it, as written.
    pub path: String,
    /// Its value in the last prompt that has it. Secrets are masked.
    pub value: String,
}

/// A run, and where its files are.
#[derive(Debug, Clone)]
pub struct LastRun {
    /// Its id.
    pub run: String,
    /// What was run, by its absolute path.
    pub target: Target,
    /// The folder of its files.
    root: PathBuf,
}

impl LastRun {
    /// The placeholders of the run, with what its last prompts have in their places.
    ///
    /// # Errors
    ///
    /// [`Error::Store`](crate::Error::Store) if the run cannot be read, [`Error::NotStarted`](crate::Error::NotStarted) if this version
    /// would not do the same.
    pub async fn filled(&self, store: Arc<dyn Store>) -> Result<Vec<Filled>> {
        let stored = Stored::read(&*store, &self.run).await?;
        let prompts = Arc::new(Prompts::default());
        let told = history(store, &stored, prompts.clone()).await;
        told.map_err(|error| Error::NotStarted(Findings::of_run(&stored.flow, &error)))?;
        let all = std::mem::take(&mut *prompts.0.lock().unwrap_or_else(PoisonError::into_inner));
        let loaded = stored.flow.loaded();
        let one = |((at, path), value): ((Location, String), String)| {
            Some(Filled { file: place(loaded, &self.root, at.file)?, start: at.span.start, path, value })
        };
        Ok(all.into_iter().filter_map(one).collect())
    }
}

/// The newest run of a target whose content is kept: of the same path and id, or of the same entry however it was named.
/// `loaded` is the target as it is now, if it can be loaded.
pub async fn last_of(store: &dyn Store, target: &Target, loaded: Option<&Loaded>) -> Option<LastRun> {
    let path = real(&target.path);
    let entry = match loaded {
        Some(loaded) => place(loaded, Path::new(""), loaded.entry),
        None => Some(path.clone()).filter(|path| !is_folder(path)),
    };
    let wanted = Wanted::Target { path, id: target.id.clone(), entry };
    // What cannot be loaded has no name.
    let Some(loaded) = loaded else { return newest(store, &Filter::default(), MANY, &wanted).await };
    let named = Filter { flow: Some(loaded.program.name.to_string()), ..Filter::default() };
    match newest(store, &named, MANY, &wanted).await {
        // It may have had another name.
        None => newest(store, &Filter::default(), RECENT, &wanted).await,
        found => found,
    }
}

/// The newest run whose flow is made of a file, among others.
pub async fn last_with(store: &dyn Store, file: &Path) -> Option<LastRun> {
    newest(store, &Filter::default(), RECENT, &Wanted::With(real(file))).await
}

/// Which run is searched for. All paths are real ones.
enum Wanted {
    /// One of this path and id, or whose entry is in this file.
    Target { path: PathBuf, id: Option<String>, entry: Option<PathBuf> },
    /// One that this file is part of.
    With(PathBuf),
}

impl Wanted {
    /// Whether it is a run with such files.
    async fn is(&self, store: &dyn Store, run: &str, program: &Identity, found: &Whereabouts) -> bool {
        let has = |wanted: &Path| found.files.iter().any(|file| real(file) == wanted);
        match self {
            Self::With(file) => has(file),
            Self::Target { path, id, .. } if real(&found.target.path) == *path && found.target.id == *id => true,
            Self::Target { entry: Some(entry), .. } if has(entry) => {
                entry_of(store, run, program, found).await.is_some_and(|file| file == *entry)
            }
            Self::Target { .. } => false,
        }
    }
}

/// The file that the entry of a run is in. The one of a folder is only known to who loads it.
async fn entry_of(store: &dyn Store, run: &str, program: &Identity, found: &Whereabouts) -> Option<PathBuf> {
    if found.files.contains(&found.target.path) {
        return Some(real(&found.target.path));
    }
    let (flow, _) = unpack(store, run, program).await.ok()?;
    let loaded = flow.loaded();
    place(loaded, &found.root, loaded.entry)
}

/// Where a file of a flow is, by its real path.
fn place(loaded: &Loaded, root: &Path, file: FileId) -> Option<PathBuf> {
    let name = Path::new(loaded.files.get(file)?.name());
    // Files that have changed since were read from the store, where they are named from their folder on.
    let in_store = loaded.how.options.door.memory().is_some();
    let file = if in_store { root.join(name) } else { std::path::absolute(name).ok()? };
    Some(real(&file))
}

/// The newest of so many runs that is the one. As a rule, only the list of the files of each is read.
async fn newest(store: &dyn Store, filter: &Filter, most: usize, wanted: &Wanted) -> Option<LastRun> {
    let (mut after, mut left) = (None, most);
    // Lists of files that are not the ones: most runs of a flow have the same.
    let mut others: BTreeSet<String> = BTreeSet::new();
    loop {
        let page = store.list(filter, after, left.min(PAGE)).await.ok()?;
        left = left.saturating_sub(page.runs.len());
        for Record { run, .. } in page.runs.into_iter().filter(|record| record.content != Content::Removed) {
            let first = store.entries(&run, 0).await.ok().and_then(|page| page.into_iter().next());
            let Some(EntryKind::Started(started)) = first.map(|entry| entry.kind) else { continue };
            let program = started.program;
            if program.bundle.as_ref().is_some_and(|bundle| others.contains(bundle)) {
                continue;
            }
            if let Ok(Some(found)) = whereabouts(store, &run, &program).await
                && wanted.is(store, &run, &program, &found).await
            {
                return Some(LastRun { run, target: found.target, root: found.root });
            }
            others.extend(program.bundle);
        }
        after = page.next;
        if after.is_none() || left == 0 {
            return None;
        }
    }
}

/// Collects what placeholders stood for.
#[derive(Default)]
struct Prompts(Mutex<BTreeMap<(Location, String), String>>);

impl EventSink for Prompts {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn event(&self, event: &Event) {
        let EventKind::ModelStarted { messages, .. } = &event.kind else { return };
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for message in messages {
            all.extend(of_message(message));
        }
    }
}

/// Parts that one placeholder put there side by side are one value of it.
fn of_message(message: &ShownMessage) -> BTreeMap<(Location, String), String> {
    let mut found: BTreeMap<(Location, String), String> = BTreeMap::new();
    let characters: Vec<char> = message.content.chars().collect();
    for span in &message.spans {
        let text = characters.get(span.start as usize..span.end as usize).unwrap_or_default();
        let origin = &span.origin;
        let own = origin.place.zip(origin.path.as_deref()).filter(|_| !matches!(origin.from, From::Literal));
        for (place, path) in own.into_iter().chain(origin.via.iter().map(|via| (via.place, &*via.path))) {
            found.entry((place, path.to_owned())).or_default().extend(text);
        }
    }
    found
}
