//! Watches the files of a target, however an editor saves them, and whatever else replaces them or their folders.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ignore::WalkBuilder;
use notify::event::{EventKind, ModifyKind};
use notify::{Config, Event, PollWatcher, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedSender;
use trefoil_project::file_access::{is_folder, path_identity, resolve_links};
use trefoil_project::load::LoadedTarget;

use super::DevEvent;
use trefoil_runtime::locks::lock;

/// How often files are polled if the system does not report changes.
const LOOK: Duration = Duration::from_millis(500);
/// Extensions of other files that may become part of the target.
const MANIFESTS: [&str; 3] = ["yaml", "yml", "toml"];
/// Maximum number of folders watched because a file may be created there, and how deep they may be.
const FOLDERS: usize = 500;
const DEPTH: usize = 5;

/// What a folder is on the disk. Another folder of the same name is a different one.
type FolderIdentity = Option<(u64, u64)>;

/// Watches folders instead of files, because editors replace files when they save.
pub struct TargetWatcher {
    watcher: Box<dyn Watcher>,
    /// Whether the system reports changes.
    is_told: bool,
    /// The project: folders above it are not watched.
    project: PathBuf,
    folders: BTreeMap<PathBuf, FolderIdentity>,
    files: Arc<Mutex<BTreeSet<PathBuf>>>,
    /// Whether there may be new folders in the project.
    grown: Arc<AtomicBool>,
}

impl TargetWatcher {
    /// Watches nothing yet. Saves are sent to `saved`.
    pub fn new(target: &Path, saved: UnboundedSender<DevEvent>) -> Result<Self, notify::Error> {
        let target = std::path::absolute(target).unwrap_or_else(|_| target.to_owned());
        let project = if is_folder(&target) { target } else { target.parent().unwrap_or(Path::new("")).to_owned() };
        let files: Arc<Mutex<BTreeSet<PathBuf>>> = Arc::default();
        let grown = Arc::new(AtomicBool::new(true));
        let (known, grows, within) = (files.clone(), grown.clone(), project.clone());
        // Others write to the same folders, such as the store. What is above a known file concerns it, too.
        let concerns = move |path: &PathBuf| {
            let known = lock(&known);
            let from = known.range::<Path, _>((Bound::Included(path.as_path()), Bound::Unbounded)).next();
            is_manifest(path) || matches!(from, Some(known) if known.starts_with(path))
        };
        let tell = move |event: Result<Event, notify::Error>| {
            let Ok(event) = event else { return };
            let is_new = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
            let is_folder = is_new && event.paths.iter().any(|path| path.starts_with(&within) && is_folder(path));
            // Events were lost, so anything may have changed.
            let anything = event.need_rescan();
            if is_folder || anything {
                grows.store(true, Ordering::SeqCst);
            }
            let metadata = matches!(event.kind, EventKind::Modify(ModifyKind::Metadata(_)));
            let is_change = !matches!(event.kind, EventKind::Access(_)) && !metadata;
            if anything || is_change && (is_folder || event.paths.iter().any(&concerns)) {
                let _ = saved.send(DevEvent::Saved);
            }
        };
        let (watcher, is_told): (Box<dyn Watcher>, bool) =
            match RecommendedWatcher::new(tell.clone(), Config::default()) {
                Ok(watcher) => (Box::new(watcher), true),
                Err(_) => (Box::new(PollWatcher::new(tell, Config::default().with_poll_interval(LOOK))?), false),
            };
        Ok(Self { watcher, is_told, project, folders: BTreeMap::new(), files, grown })
    }

    /// Adds files and their folders. Earlier files stay watched, because an unreadable file may be one of them. Folders that were
    /// replaced since are watched again.
    pub fn add_files(&mut self, files: impl IntoIterator<Item = PathBuf>) -> Result<(), notify::Error> {
        for file in files {
            let Ok(file) = std::path::absolute(file) else { continue };
            // What a link leads to is saved where it is.
            let real = resolve_links(&file);
            let mut known = lock(&self.files);
            if real != file {
                known.insert(real);
            }
            known.insert(file);
        }
        let known: Vec<PathBuf> = lock(&self.files).iter().cloned().collect();
        let mut wanted: BTreeSet<PathBuf> = BTreeSet::new();
        for file in &known {
            wanted.extend(self.above(file));
        }
        for folder in &wanted {
            self.watch(folder)?;
        }
        if self.is_told && self.grown.swap(false, Ordering::SeqCst) {
            let walk = WalkBuilder::new(&self.project).max_depth(Some(DEPTH)).filter_entry(is_searched).build();
            for entry in walk.flatten().take(FOLDERS) {
                // The files of the target are watched anyway.
                let _ = self.watch(entry.path());
            }
        }
        Ok(())
    }

    /// The folders to watch for a file: its own, and those above it that may be replaced.
    fn above(&self, file: &Path) -> Vec<PathBuf> {
        let Some(first) = file.ancestors().find(|folder| is_folder(folder)) else { return Vec::new() };
        let mut folders = vec![first.to_owned()];
        for (n, folder) in first.ancestors().skip(1).enumerate() {
            // The parent of the outermost folder reports that this folder was replaced.
            if n > 0 && !folder.starts_with(&self.project) {
                break;
            }
            if folder.parent().is_some() {
                folders.push(folder.to_owned());
            }
        }
        folders
    }

    fn watch(&mut self, folder: &Path) -> Result<(), notify::Error> {
        let now = path_identity(folder);
        match self.folders.get(folder) {
            Some(known) if *known == now => return Ok(()),
            // If the folder was deleted, it is not watched any more.
            Some(_) => drop(self.watcher.unwatch(folder)),
            None => {}
        }
        // A parent that cannot be read cannot be watched.
        match self.watcher.watch(folder, RecursiveMode::NonRecursive) {
            Err(error) if self.folders.is_empty() => return Err(error),
            Err(_) => {}
            Ok(()) => drop(self.folders.insert(folder.to_owned(), now)),
        }
        Ok(())
    }
}

/// Whether a file may become part of the target.
fn is_manifest(path: &Path) -> bool {
    let Some(extension) = path.extension() else { return false };
    matches!(extension.to_str(), Some(extension) if MANIFESTS.contains(&extension))
}

/// Whether a folder is one in which manifests are looked for.
fn is_searched(entry: &ignore::DirEntry) -> bool {
    is_folder(entry.path()) && entry.file_name() != "node_modules" && entry.file_name() != "target"
}

/// The files of a target.
pub fn target_files(loaded: &LoadedTarget) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for (_, file) in loaded.files.iter() {
        files.push(PathBuf::from(file.name()));
    }
    files.extend(loaded.texts.keys().cloned());
    for file in &loaded.env_files {
        files.push(file.path.clone());
    }
    files
}
