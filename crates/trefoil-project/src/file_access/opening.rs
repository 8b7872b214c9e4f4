//! Opens the file that a path leads to.
//!
//! On Unix, folder by folder, each through the handle of the previous one and without links, so that exchanging a
//! folder for a link in between causes an error. The opened file is checked again: it must be a regular file of an
//! ordinary file system.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AccessRefusal, AllowedFolders, MemoryFiles, PathSteps, ResolvedEntry, read_limited};

/// A resolved path, whether or not it exists. The file that is opened is the one that was checked.
#[derive(Debug)]
pub struct ResolvedPath {
    real: PathBuf,
    end: ResolvedSource,
}

#[derive(Debug)]
enum ResolvedSource {
    Memory(Arc<MemoryFiles>),
    Disk(ResolvedEntry<<steps::SystemPaths as PathSteps>::Folder>),
}

/// A regular file that is open, or a file in memory.
#[derive(Debug)]
pub struct OpenedFile(OpenedContent);

#[derive(Debug)]
enum OpenedContent {
    Memory(Arc<MemoryFiles>, PathBuf),
    Disk(File, u64),
}

impl ResolvedPath {
    /// The path with links resolved.
    pub fn real_path(&self) -> &Path {
        &self.real
    }
    /// Opens the regular file at the path.
    pub fn open(self) -> Result<OpenedFile, AccessRefusal> {
        match self.end {
            ResolvedSource::Memory(memory) if memory.is_file(&self.real) => {
                Ok(OpenedFile(OpenedContent::Memory(memory, self.real)))
            }
            ResolvedSource::Memory(_) => Err(AccessRefusal::NotThere),
            ResolvedSource::Disk(found) => {
                let file = steps::open_regular_file(&found)?;
                let meta = file.metadata().map_err(AccessRefusal::from_io)?;
                require_regular_file(&meta)?;
                Ok(OpenedFile(OpenedContent::Disk(file, meta.len())))
            }
        }
    }
}

impl OpenedFile {
    /// Its contents, up to a number of bytes.
    pub fn read_contents(self, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
        match self.0 {
            OpenedContent::Memory(memory, path) => memory.read_file(&path, limit),
            OpenedContent::Disk(_, size) if size > limit => Err(AccessRefusal::TooLarge { size, limit }),
            OpenedContent::Disk(file, size) => read_limited(file, size, limit),
        }
    }
}

impl AllowedFolders {
    /// Resolves a path; only says that it is inside.
    pub fn resolve_path(&self, path: &Path) -> Result<ResolvedPath, AccessRefusal> {
        if let Some(memory) = &self.memory {
            return Ok(ResolvedPath { real: memory.resolve_file(path)?, end: ResolvedSource::Memory(memory.clone()) });
        }
        let found = self.follow_path(&absolute(path)?, &mut steps::SystemPaths)?;
        Ok(ResolvedPath { real: found.real.clone(), end: ResolvedSource::Disk(found) })
    }
    /// Reads the file that a path leads to, up to a number of bytes.
    pub fn read_file(&self, path: &Path, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
        self.resolve_path(path)?.open()?.read_contents(limit)
    }
    /// Whether a path leads to an existing regular file.
    pub fn check_file(&self, path: &Path) -> Result<(), AccessRefusal> {
        self.resolve_path(path)?.open()?;
        Ok(())
    }
}

/// An absolute path. The links of its folder are followed, because the operator or the walk through a folder led there;
/// everything after it is checked.
fn absolute(path: &Path) -> Result<PathBuf, AccessRefusal> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    let here = std::env::current_dir().and_then(|dir| dir.canonicalize()).map_err(AccessRefusal::from_io)?;
    Ok(here.join(path))
}

fn require_regular_file(meta: &std::fs::Metadata) -> Result<(), AccessRefusal> {
    if meta.is_dir() {
        return Err(AccessRefusal::NotAFile("it is a folder"));
    }
    if !meta.is_file() {
        return Err(AccessRefusal::NotAFile("it is neither a file nor a folder"));
    }
    Ok(())
}

#[cfg(unix)]
mod steps {
    use std::ffi::OsStr;
    use std::io::Error;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::{AtFlags, FileType, Mode, OFlags};
    use rustix::io::Errno;

    use super::{AccessRefusal, File, ResolvedEntry};
    use crate::file_access::PathSteps;

    /// Uses the handles of folders.
    pub struct SystemPaths;

    /// A folder that is only used to look up names.
    #[cfg(target_os = "linux")]
    const FOLDER: OFlags = OFlags::PATH;
    #[cfg(not(target_os = "linux"))]
    const FOLDER: OFlags = OFlags::RDONLY;

    impl PathSteps for SystemPaths {
        type Folder = OwnedFd;
        fn open_root(&mut self, room: &Path) -> Result<OwnedFd, Error> {
            Ok(rustix::fs::open(room, FOLDER | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
        }
        fn link_target(&mut self, folder: &OwnedFd, name: &OsStr) -> Result<Option<PathBuf>, Error> {
            match rustix::fs::readlinkat(folder, name, Vec::new()) {
                Ok(target) => Ok(Some(std::ffi::OsString::from_vec(target.into_bytes()).into())),
                // It exists and is not a link.
                Err(Errno::INVAL) => Ok(None),
                Err(other) => Err(other.into()),
            }
        }
        fn open_folder(&mut self, folder: &OwnedFd, name: &OsStr) -> Result<OwnedFd, Error> {
            let flags = FOLDER | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
        }
    }

    /// Opens only a regular file, because opening a pipe would block, and opening a device may have side effects.
    pub fn open_regular_file(found: &ResolvedEntry<OwnedFd>) -> Result<File, AccessRefusal> {
        let of = |e: Errno| AccessRefusal::from_io(e.into());
        let stat = rustix::fs::statat(&found.folder, &found.name, AtFlags::SYMLINK_NOFOLLOW).map_err(of)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(AccessRefusal::NotAFile("it is a folder")),
            _ => return Err(AccessRefusal::NotAFile("it is neither a file nor a folder")),
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file: File = rustix::fs::openat(&found.folder, &found.name, flags, Mode::empty()).map_err(of)?.into();
        if is_made_up(&file) {
            return Err(AccessRefusal::NotAFile("it is a system file"));
        }
        Ok(file)
    }

    /// Whether the system generates the file (such as in `/proc`), wherever it is mounted.
    #[cfg(target_os = "linux")]
    fn is_made_up(file: &File) -> bool {
        const PROC: u64 = 0x9fa0;
        const SYS: u64 = 0x6265_6572;
        let Ok(system) = rustix::fs::fstatfs(file) else { return false };
        matches!(u64::try_from(system.f_type), Ok(sort) if [PROC, SYS].contains(&sort))
    }
    #[cfg(not(target_os = "linux"))]
    fn is_made_up(_file: &File) -> bool {
        false
    }
}

#[cfg(not(unix))]
mod steps {
    use std::ffi::OsStr;
    use std::io::Error;
    use std::path::{Path, PathBuf};

    use super::{AccessRefusal, File, ResolvedEntry, require_regular_file};
    use crate::file_access::PathSteps;

    /// Uses paths.
    pub struct SystemPaths;

    impl PathSteps for SystemPaths {
        type Folder = PathBuf;
        fn open_root(&mut self, room: &Path) -> Result<PathBuf, Error> {
            Ok(room.to_owned())
        }
        fn link_target(&mut self, folder: &PathBuf, name: &OsStr) -> Result<Option<PathBuf>, Error> {
            let path = folder.join(name);
            let is_link = std::fs::symlink_metadata(&path)?.is_symlink();
            if is_link { Ok(Some(std::fs::read_link(&path)?)) } else { Ok(None) }
        }
        fn open_folder(&mut self, folder: &PathBuf, name: &OsStr) -> Result<PathBuf, Error> {
            let path = folder.join(name);
            // `is_dir` is false for a link, wherever it leads.
            let is_folder = std::fs::symlink_metadata(&path)?.is_dir();
            if is_folder { Ok(path) } else { Err(std::io::ErrorKind::NotADirectory.into()) }
        }
    }

    /// Opens only a regular file.
    pub fn open_regular_file(found: &ResolvedEntry<PathBuf>) -> Result<File, AccessRefusal> {
        require_regular_file(&std::fs::symlink_metadata(&found.real).map_err(AccessRefusal::from_io)?)?;
        File::open(&found.real).map_err(AccessRefusal::from_io)
    }
}
