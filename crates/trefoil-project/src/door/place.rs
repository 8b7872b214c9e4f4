//! The location of a load's files: on disk, or in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AccessRefusal, AllowedFolders, MemoryFiles, look};

/// The location of a load's files.
#[derive(Debug, Clone, Default)]
pub enum Door {
    /// On the disk.
    #[default]
    Disk,
    /// In memory. The disk is not accessed.
    Memory(Arc<MemoryFiles>),
}

impl Door {
    /// The files in memory, if that is their location.
    pub fn memory(&self) -> Option<&MemoryFiles> {
        match self {
            Self::Disk => None,
            Self::Memory(memory) => Some(memory),
        }
    }
    /// Whether a path is a folder.
    pub fn is_folder(&self, path: &Path) -> bool {
        self.memory().map_or_else(|| look::is_folder(path), |memory| memory.is_folder(&MemoryFiles::real(path)))
    }
    /// Whether a path exists.
    pub fn is_there(&self, path: &Path) -> bool {
        self.memory().map_or_else(
            || look::is_there(path),
            |memory| memory.is_file(&MemoryFiles::real(path)) || memory.is_folder(&MemoryFiles::real(path)),
        )
    }
    /// A path with links resolved.
    pub fn real(&self, path: &Path) -> PathBuf {
        self.memory().map_or_else(|| look::real(path), |_| MemoryFiles::real(path))
    }
    /// A folder with links resolved; the empty path is the current folder.
    pub fn folder_real(&self, folder: &Path) -> Option<PathBuf> {
        self.memory().map_or_else(|| look::folder_real(folder), |_| Some(MemoryFiles::real(folder)))
    }
    /// The file with this name in a folder without links, or in the nearest one above it.
    pub fn find_up(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let Some(memory) = self.memory() else { return look::find_up(folder, name) };
        folder.ancestors().map(|dir| dir.join(name)).find(|path| memory.is_file(path))
    }
    /// The most similar name in the folder of a mistyped path.
    pub fn name_like(&self, path: &Path) -> Option<String> {
        let Some(memory) = self.memory() else { return look::name_like(path) };
        let names: Vec<String> = memory.below(MemoryFiles::room()).map(|file| file.display().to_string()).collect();
        trefoil_syntax::suggest::nearest(path.to_str()?, names.iter().map(String::as_str)).map(str::to_owned)
    }
    /// Reads a file that the operator named.
    pub fn named(&self, path: &Path, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
        self.memory().map_or_else(|| super::named(path, limit), |memory| memory.read(path, limit))
    }
    /// The project folder of the files in a real folder.
    pub fn project_of(&self, folder: &Path, whole: Option<&Path>) -> PathBuf {
        self.memory().map_or_else(|| super::project_of(folder, whole), |_| MemoryFiles::room().to_owned())
    }
    /// The folders that paths in files may lead into.
    pub fn rooms(&self, folders: impl IntoIterator<Item = PathBuf>) -> AllowedFolders {
        match self {
            Self::Disk => AllowedFolders::new(folders),
            Self::Memory(memory) => AllowedFolders::in_memory(memory.clone()),
        }
    }
}
