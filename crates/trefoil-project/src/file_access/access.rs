//! The location of a load's files: on disk, or in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AccessRefusal, AllowedFolders, MemoryFiles, path_state};

/// The location of a load's files.
#[derive(Debug, Clone, Default)]
pub enum FileAccess {
    /// On the disk.
    #[default]
    Disk,
    /// In memory. The disk is not accessed.
    Memory(Arc<MemoryFiles>),
}

impl FileAccess {
    /// The files in memory, if that is their location.
    pub fn memory_files(&self) -> Option<&MemoryFiles> {
        match self {
            Self::Disk => None,
            Self::Memory(memory) => Some(memory),
        }
    }
    /// Whether a path is a folder.
    pub fn is_folder(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path_state::is_folder(path),
            Self::Memory(memory) => memory.is_folder(&MemoryFiles::resolve_name(path)),
        }
    }
    /// Whether a path exists.
    pub fn path_exists(&self, path: &Path) -> bool {
        match self {
            Self::Disk => path_state::path_exists(path),
            Self::Memory(memory) => {
                let name = MemoryFiles::resolve_name(path);
                memory.is_file(&name) || memory.is_folder(&name)
            }
        }
    }
    /// A path with links resolved.
    pub fn resolve_links(&self, path: &Path) -> PathBuf {
        match self {
            Self::Disk => path_state::resolve_links(path),
            Self::Memory(_) => MemoryFiles::resolve_name(path),
        }
    }
    /// A folder with links resolved; the empty path is the current folder.
    pub fn folder_real(&self, folder: &Path) -> Option<PathBuf> {
        match self {
            Self::Disk => path_state::folder_real(folder),
            Self::Memory(_) => Some(MemoryFiles::resolve_name(folder)),
        }
    }
    /// The file with this name in a folder without links, or in the nearest one above it.
    pub fn find_up(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let Some(memory) = self.memory_files() else { return path_state::find_up(folder, name) };
        folder.ancestors().map(|dir| dir.join(name)).find(|path| memory.is_file(path))
    }
    /// The most similar name in the folder of a mistyped path.
    pub fn name_like(&self, path: &Path) -> Option<String> {
        let Some(memory) = self.memory_files() else { return path_state::name_like(path) };
        let names: Vec<String> =
            memory.files_below(MemoryFiles::root_folder()).map(|file| file.display().to_string()).collect();
        let near = trefoil_syntax::suggestions::nearest_name(path.to_str()?, names.iter().map(String::as_str))?;
        Some(near.to_owned())
    }
    /// Reads a file that the operator named.
    pub fn read_named_file(&self, path: &Path, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
        match self {
            Self::Disk => super::read_named_file(path, limit),
            Self::Memory(memory) => memory.read_file(path, limit),
        }
    }
    /// The project folder of the files in a real folder.
    pub fn project_of(&self, folder: &Path, whole: Option<&Path>) -> PathBuf {
        match self {
            Self::Disk => super::project_of(folder, whole),
            Self::Memory(_) => MemoryFiles::root_folder().to_owned(),
        }
    }
    /// The folders that paths in files may lead into.
    pub fn allowed_folders(&self, folders: impl IntoIterator<Item = PathBuf>) -> AllowedFolders {
        match self {
            Self::Disk => AllowedFolders::new(folders),
            Self::Memory(memory) => AllowedFolders::in_memory(memory.clone()),
        }
    }
}
