//! Files that are in memory only: a folder of its own, which is the whole project. Nothing on the disk is looked at.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Shut, clean};

/// The folder that the files are in. Its name shows nowhere: files are named as they were given.
const ROOM: &str = "/memory";

/// Files by their paths, without links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Memory(BTreeMap<PathBuf, Arc<str>>);

impl Memory {
    /// The folder of all files.
    pub fn room() -> &'static Path {
        Path::new(ROOM)
    }
    /// A path among the files, from its name; it may lead out of the folder.
    pub fn real(path: &Path) -> PathBuf {
        clean(&Self::room().join(path))
    }
    /// Adds a file. False: the name leads out of the folder, or is taken.
    pub fn add(&mut self, name: &Path, text: Arc<str>) -> bool {
        let real = Self::real(name);
        let inside = real.starts_with(ROOM) && real != Self::room();
        inside && self.0.insert(real, text).is_none()
    }
    /// Whether a folder without links has files in it.
    pub fn is_folder(&self, real: &Path) -> bool {
        real == Self::room() || self.0.keys().any(|file| file != real && file.starts_with(real))
    }
    /// Whether there is a file at a path without links.
    pub fn is_file(&self, real: &Path) -> bool {
        self.0.contains_key(real)
    }
    /// The files below a folder without links, by their paths in it.
    pub fn below(&self, real: &Path) -> impl Iterator<Item = &Path> {
        self.0.keys().filter_map(move |file| file.strip_prefix(real).ok())
    }
    /// Where a path leads, whether or not anything is there.
    pub fn place(&self, path: &Path) -> Result<PathBuf, Shut> {
        let real = Self::real(path);
        if !real.starts_with(ROOM) {
            return Err(Shut::Outside { to: real, link: None });
        }
        if self.is_folder(&real) { Err(Shut::Room(real)) } else { Ok(real) }
    }
    /// The text of a file, at most so many bytes.
    pub fn read(&self, path: &Path, limit: u64) -> Result<Vec<u8>, Shut> {
        let text = self.0.get(&self.place(path)?).ok_or(Shut::NotThere)?;
        let size = text.len() as u64;
        if size > limit { Err(Shut::TooLarge { size, limit }) } else { Ok(text.as_bytes().to_vec()) }
    }
}
