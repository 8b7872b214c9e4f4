//! What stood in the place of each placeholder in the prompts of a stored run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::EntryKind;
use trefoil_machine::event::ShownMessage;
use trefoil_machine::provenance::From;
use trefoil_runtime::{Event, EventKind, EventSink};
use trefoil_store::{Content, Filter, Record, Store};
use trefoil_syntax::Location;

use super::bundle::{Whereabouts, whereabouts};
use super::{Stored, history};
use crate::door::real;
use crate::error::{Error, Findings, Result};
use crate::load::Target;

/// Runs that are searched for the last one of a target.
const RECENT: usize = 50;

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
        // Files that have changed since were read from the store, where they are named from their folder on.
        let in_store = loaded.how.options.door.memory().is_some();
        let one = |((at, path), value): ((Location, String), String)| {
            let name = Path::new(loaded.files.get(at.file)?.name());
            let file = if in_store { self.root.join(name) } else { std::path::absolute(name).ok()? };
            Some(Filled { file: real(&file), start: at.span.start, path, value })
        };
        Ok(all.into_iter().filter_map(one).collect())
    }
}

/// The newest run of a target whose content is kept: of the same path, and of the same id in it.
pub async fn last_of(store: &dyn Store, target: &Target) -> Option<LastRun> {
    let wanted = real(&target.path);
    newest(store, |run| real(&run.target.path) == wanted && run.target.id == target.id).await
}

/// The newest run whose flow is made of a file, among others.
pub async fn last_with(store: &dyn Store, file: &Path) -> Option<LastRun> {
    let wanted = real(file);
    newest(store, |run| run.files.iter().any(|file| real(file) == wanted)).await
}

/// The newest run with such files. Only the list of its files is read.
async fn newest(store: &dyn Store, is_wanted: impl Fn(&Whereabouts) -> bool) -> Option<LastRun> {
    let page = store.list(&Filter::default(), None, RECENT).await.ok()?;
    for Record { run, .. } in page.runs.into_iter().filter(|record| record.content != Content::Removed) {
        let first = store.entries(&run, 0).await.ok().and_then(|page| page.into_iter().next());
        let Some(EntryKind::Started(started)) = first.map(|entry| entry.kind) else { continue };
        match whereabouts(store, &run, &started.program).await {
            Ok(Some(found)) if is_wanted(&found) => {
                return Some(LastRun { run, target: found.target, root: found.root });
            }
            _ => {}
        }
    }
    None
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
