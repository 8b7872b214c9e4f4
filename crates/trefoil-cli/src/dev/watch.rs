//! Watches the files of a target, however an editor saves them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedSender;
use trefoil::internals::Loaded;
use trefoil::internals::door::is_folder;

use super::Happening;

/// How often files are polled if the system does not report changes.
const LOOK: Duration = Duration::from_millis(500);
/// Extensions of other files that may become part of the target.
const MANIFESTS: [&str; 3] = ["yaml", "yml", "toml"];

/// Watches folders instead of files, because editors replace files when they save.
pub struct Watch {
    watcher: Box<dyn Watcher>,
    folders: BTreeSet<PathBuf>,
    files: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Watch {
    /// Watches nothing yet. Saves are sent to `saved`.
    pub fn new(saved: UnboundedSender<Happening>) -> Result<Self, notify::Error> {
        let files: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let known = files.clone();
        // Others write to the same folders, such as the store.
        let concerns = move |path: &PathBuf| {
            let manifest = path.extension().and_then(|e| e.to_str()).is_some_and(|e| MANIFESTS.contains(&e));
            manifest || known.lock().unwrap_or_else(PoisonError::into_inner).contains(path)
        };
        let tell = move |event: Result<Event, notify::Error>| {
            let Ok(event) = event else { return };
            let metadata = matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
            if !matches!(event.kind, EventKind::Access(_)) && !metadata && event.paths.iter().any(&concerns) {
                let _ = saved.send(Happening::Saved);
            }
        };
        let watcher: Box<dyn Watcher> = match RecommendedWatcher::new(tell.clone(), Config::default()) {
            Ok(watcher) => Box::new(watcher),
            Err(_) => Box::new(PollWatcher::new(tell, Config::default().with_poll_interval(LOOK))?),
        };
        Ok(Self { watcher, folders: BTreeSet::new(), files })
    }

    /// Adds files and their folders. Earlier files stay watched, because an unreadable file may be one of them.
    pub fn also(&mut self, files: impl IntoIterator<Item = PathBuf>) -> Result<(), notify::Error> {
        for file in files {
            let Ok(file) = std::path::absolute(file) else { continue };
            let folder = if is_folder(&file) { Some(file.as_path()) } else { file.parent() };
            if let Some(folder) = folder.filter(|folder| !self.folders.contains(*folder)) {
                self.watcher.watch(folder, RecursiveMode::NonRecursive)?;
                self.folders.insert(folder.to_owned());
            }
            self.files.lock().unwrap_or_else(PoisonError::into_inner).insert(file);
        }
        Ok(())
    }
}

/// The files of a target.
pub fn files(loaded: &Loaded) -> Vec<PathBuf> {
    let sources = loaded.files.iter().map(|(_, file)| PathBuf::from(file.name()));
    let named = loaded.env_files.iter().map(|file| file.path.clone());
    sources.chain(loaded.texts.keys().cloned()).chain(named).collect()
}
