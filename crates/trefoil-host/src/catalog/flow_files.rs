//! The files of the flows that are offered, for people who edit them without being on this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use trefoil_project::folder_files::{DiskState, FolderFiles};

use super::{CatalogFlow, CatalogSnapshot};

/// A file of a flow as it is now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowFile {
    /// Its path below the folder that is served; that of a flow that comes from no file, as it was named.
    pub path: String,
    /// Its text on the disk; that of the version that runs, if it is not there any more.
    pub text: String,
    /// The version of the text on the disk; `None`: it is not there.
    pub version: Option<String>,
    /// Whether it is the manifest of the flow.
    pub is_entry: bool,
}

impl CatalogFlow {
    /// Whether it comes from files of this machine.
    fn is_from_disk(&self) -> bool {
        self.flow.loaded_target().how.options.file_access.memory_files().is_none()
    }

    /// The texts of the version that runs, by the paths with which it was loaded.
    fn loaded_texts(&self) -> BTreeMap<PathBuf, Arc<str>> {
        let loaded = self.flow.loaded_target();
        let mut texts = loaded.texts.clone();
        for file in loaded.source_texts() {
            texts.insert(PathBuf::from(file.name()), file.text().clone());
        }
        texts
    }

    /// Whether it uses the file at this path below the folder.
    fn uses_file(&self, folder: &FolderFiles, path: &str) -> bool {
        self.is_from_disk() && self.loaded_texts().keys().any(|file| folder.path_below(file).as_deref() == Some(path))
    }

    /// Its files as they are now. Files outside the folder are not among them. Reads the disk.
    pub fn read_flow_files(&self, folder: &FolderFiles) -> Vec<FlowFile> {
        let entry = self.flow.loaded_target().entry_file();
        let mut files = Vec::new();
        for (file, text) in self.loaded_texts() {
            let is_entry = file == entry;
            if !self.is_from_disk() {
                let path = file.to_string_lossy().into_owned();
                files.push(FlowFile { path, text: text.to_string(), version: None, is_entry });
                continue;
            }
            let Some(path) = folder.path_below(&file) else { continue };
            let (text, version) = match folder.compare_text(&path, &text) {
                DiskState::Same(now) | DiskState::Changed(now) => {
                    (now.text.unwrap_or_else(|| text.to_string()), Some(now.version))
                }
                DiskState::Gone => (text.to_string(), None),
                DiskState::Elsewhere => continue,
            };
            files.push(FlowFile { path, text, version, is_entry });
        }
        files
    }
}

impl CatalogSnapshot {
    /// The flows that use the file at this path below the folder.
    pub fn flows_with_file(&self, folder: &FolderFiles, path: &str) -> Vec<&Arc<CatalogFlow>> {
        self.flows.iter().filter(|offered| offered.uses_file(folder, path)).collect()
    }
}

/// The files below a folder that some flows use. Only these are looked at for a run: what a store says of it must not make other files
/// readable.
#[derive(Debug)]
pub struct UsedFiles {
    folder: FolderFiles,
    paths: BTreeSet<String>,
}

impl UsedFiles {
    /// Those of these flows.
    pub fn of_flows(folder: FolderFiles, flows: &[Arc<CatalogFlow>]) -> Self {
        let mut paths = BTreeSet::new();
        for offered in flows {
            if offered.is_from_disk() {
                paths.extend(offered.loaded_texts().keys().filter_map(|file| folder.path_below(file)));
            }
        }
        Self { folder, paths }
    }

    /// How a text of a run compares with the file from which it came, and the path of that file below the folder.
    pub fn compare_with_disk(&self, place: Option<&Path>, text: &str) -> (Option<String>, DiskState) {
        let Some(path) = place.and_then(|place| self.folder.path_below(place)) else {
            return (None, DiskState::Elsewhere);
        };
        match self.folder.compare_text(&path, text) {
            DiskState::Elsewhere => (None, DiskState::Elsewhere),
            DiskState::Gone => (Some(path), DiskState::Gone),
            found if self.paths.contains(&path) => (Some(path), found),
            _ => (None, DiskState::Elsewhere),
        }
    }
}
