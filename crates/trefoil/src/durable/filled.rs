//! What stood in the place of each placeholder in the prompts of a stored run.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_machine::event::ShownMessage;
use trefoil_machine::provenance::From;
use trefoil_runtime::{Event, EventKind, EventSink, RunError};
use trefoil_store::{Content, Filter, Store};
use trefoil_syntax::Location;

use super::{Stored, history};
use crate::load::Target;

/// Runs that are looked at for the last one of a target.
const RECENT: usize = 50;

/// A placeholder, and what the run put there the last time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filled {
    /// The file, as the run's flow names it.
    pub file: PathBuf,
    /// Where the placeholder begins there, in bytes.
    pub start: u32,
    /// The path in it, as written.
    pub path: String,
    /// Its value in the last prompt that has it. Secrets are masked.
    pub value: String,
}

/// The placeholders of a run, with what its last prompts have in their places.
///
/// # Errors
///
/// `JOURNAL_ERROR` if the journal cannot be read; `NONDETERMINISM` if this version would not do the same.
pub async fn filled(store: Arc<dyn Store>, stored: &Stored) -> Result<Vec<Filled>, RunError> {
    let prompts = Arc::new(Prompts::default());
    history(store, stored, prompts.clone()).await?;
    let all = std::mem::take(&mut *prompts.0.lock().unwrap_or_else(PoisonError::into_inner));
    let files = &stored.flow.loaded().files;
    let one = |((at, path), value): ((Location, String), String)| {
        let file = PathBuf::from(files.get(at.file)?.name());
        Some(Filled { file, start: at.span.start, path, value })
    };
    Ok(all.into_iter().filter_map(one).collect())
}

/// The newest run of a target whose content is kept: of the same path, and of the same id in it.
pub async fn last_of(store: &dyn Store, target: &Target) -> Option<Stored> {
    let wanted = real(&target.path);
    let page = store.list(&Filter::default(), None, RECENT).await.ok()?;
    for record in page.runs.into_iter().filter(|record| record.content != Content::Removed) {
        let Ok(stored) = Stored::read(store, &record.run).await else { continue };
        let own = &stored.flow.loaded().how.target;
        if real(&own.path) == wanted && own.id == target.id {
            return Some(stored);
        }
    }
    None
}

/// The newest run whose flow is made of a file, among others.
pub async fn last_with(store: &dyn Store, file: &Path) -> Option<Stored> {
    let wanted = real(file);
    let page = store.list(&Filter::default(), None, RECENT).await.ok()?;
    for record in page.runs.into_iter().filter(|record| record.content != Content::Removed) {
        let Ok(stored) = Stored::read(store, &record.run).await else { continue };
        if stored.flow.loaded().source_texts().any(|file| real(Path::new(file.name())) == wanted) {
            return Some(stored);
        }
    }
    None
}

fn real(path: &Path) -> PathBuf {
    crate::door::real(path)
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
