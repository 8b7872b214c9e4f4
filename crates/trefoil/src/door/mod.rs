//! The one door through which files are read.
//!
//! There are two sorts of paths. What the *operator* names (a target, `--context FILE`) is the operator's word: it may be
//! anywhere, and only has to be a file of a sane size ([`named`]). What a *file* names (a manifest's `ref`, `env_file` or
//! `context`, a link in a folder) is a stranger's word: it is opened through [`Rooms`], the real folders that such a path
//! may lead into, which are the file's project and what the operator allows. Links are followed one step at a time, each
//! step within the folders, and what is opened is what was judged: nothing can be exchanged in between (on Unix; elsewhere
//! it is judged just before it is opened). Nobody is told anything about what is outside, not even whether it is there.
//!
//! Files that an embedder hands over in memory go through the same [`Door`], which then looks at nothing else.
//!
//! `cargo xtask tidy` sees to it that no other code reads files.

mod look;
mod memory;
mod open;
mod place;
mod shut;
mod way;

pub use look::{find_up, folder_real, is_file, is_folder, is_there, name_like, real, yaml_files};
pub use memory::Memory;
pub use open::{Opened, Way};
pub use place::Door;
pub use shut::{Shut, reason};
pub use way::{Rooms, Steps, WayEnd, clean};

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What marks the folder of a project (decision C10).
const MARKS: [&str; 2] = [crate::load::project::NAME, ".git"];

/// Reads a file that the operator named. At most `limit` bytes are ever read, whatever the file says about its size.
pub fn named(path: &Path, limit: u64) -> Result<Vec<u8>, Shut> {
    let meta = std::fs::metadata(path).map_err(Shut::of)?;
    if meta.is_dir() {
        return Err(Shut::NotAFile("it is a folder"));
    }
    if !meta.is_file() && !is_own(path) {
        return Err(Shut::NotAFile("it is neither a file nor a folder"));
    }
    if meta.len() > limit {
        return Err(Shut::TooLarge { size: meta.len(), limit });
    }
    bytes(std::fs::File::open(path).map_err(Shut::of)?, meta.len(), limit)
}

/// Everything of a reader that was opened, up to a limit. `size` is what it is thought to hold.
pub fn bytes(from: impl Read, size: u64, limit: u64) -> Result<Vec<u8>, Shut> {
    // Room for one more, so that nothing grows for the sake of seeing the end.
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(limit)).unwrap_or_default().saturating_add(1));
    from.take(limit.saturating_add(1)).read_to_end(&mut bytes).map_err(Shut::of)?;
    let size = bytes.len() as u64;
    if size > limit { Err(Shut::TooLarge { size, limit }) } else { Ok(bytes) }
}

/// Whether a path is an open file of this process, as a shell hands over what another command writes. Nobody may ever write
/// to any other pipe.
fn is_own(path: &Path) -> bool {
    ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|own| path.starts_with(own))
}

/// The folder of the project that the files of a real folder belong to: the nearest one with a mark; without one, the folder
/// that was named as a whole, if any; else the folder itself.
pub fn project_of(folder: &Path, whole: Option<&Path>) -> PathBuf {
    let whole = whole.filter(|whole| folder.starts_with(whole));
    folder.ancestors().find(|dir| is_project(dir)).or(whole).unwrap_or(folder).to_owned()
}

/// Whether a folder is a project of its own. A repository that is the home folder, or above it, is not one: everything that the
/// user owns would be one project. Nor is a folder that everybody may write to: anybody could have put the mark there.
pub fn is_project(folder: &Path) -> bool {
    let [own, repository] = MARKS.map(|mark| folder.join(mark).exists());
    let of_all = || etcetera::home_dir().is_ok_and(|home| real(&home).starts_with(folder));
    (own || repository && !of_all()) && !look::is_everybodys(folder)
}

/// A file that a manifest names, to be read when its content is needed, by the same rules as when it was found.
#[derive(Debug, Clone)]
pub struct Named {
    /// The path, for messages.
    pub path: PathBuf,
    at: PathBuf,
    rooms: Arc<Rooms>,
    limit: u64,
}

impl Named {
    /// A file that may be read up to a limit: its name in messages, and where it is.
    pub fn new(path: PathBuf, at: PathBuf, rooms: Arc<Rooms>, limit: u64) -> Self {
        Self { path, at, rooms, limit }
    }
    /// Its text.
    pub fn text(&self) -> Result<String, Shut> {
        let bytes = self.rooms.read(&self.at, self.limit)?;
        String::from_utf8(bytes).map_err(|_| Shut::NotAFile("it is not UTF-8 text"))
    }
}
