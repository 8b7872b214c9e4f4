//! Files in memory, in a separate folder that is the whole project. The disk is not accessed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{AccessRefusal, clean_path};

/// The folder of the files. Its name is never shown: files have the names that were passed.
const ROOM: &str = "/memory";

/// Files by path, without links.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct MemoryFiles(BTreeMap<PathBuf, Arc<str>>);

impl MemoryFiles {
    /// The folder of all files.
    pub fn root_folder() -> &'static Path {
        Path::new(ROOM)
    }
    /// The path of a file from its name; it may lead out of the folder.
    pub fn resolve_name(path: &Path) -> PathBuf {
        clean_path(&Self::root_folder().join(path))
    }
    /// Adds a file. False: the name leads out of the folder, or already exists.
    pub fn add_file(&mut self, name: &Path, text: Arc<str>) -> bool {
        let real = Self::resolve_name(name);
        let inside = real.starts_with(ROOM) && real != Self::root_folder();
        inside && self.0.insert(real, text).is_none()
    }
    /// Whether a folder without links contains files.
    pub fn is_folder(&self, real: &Path) -> bool {
        real == Self::root_folder() || self.0.keys().any(|file| file != real && file.starts_with(real))
    }
    /// Whether a path without links is a file.
    pub fn is_file(&self, real: &Path) -> bool {
        self.0.contains_key(real)
    }
    /// The files below a folder without links, by path in the folder.
    pub fn files_below(&self, real: &Path) -> impl Iterator<Item = &Path> {
        self.0.keys().filter_map(move |file| file.strip_prefix(real).ok())
    }
    /// The resolved path, whether or not it exists.
    pub fn resolve_file(&self, path: &Path) -> Result<PathBuf, AccessRefusal> {
        let real = Self::resolve_name(path);
        if !real.starts_with(ROOM) {
            return Err(AccessRefusal::Outside { to: real, link: None });
        }
        if self.is_folder(&real) { Err(AccessRefusal::Room(real)) } else { Ok(real) }
    }
    /// The contents of a file, up to a number of bytes.
    pub fn read_file(&self, path: &Path, limit: u64) -> Result<Vec<u8>, AccessRefusal> {
        let text = self.0.get(&self.resolve_file(path)?).ok_or(AccessRefusal::NotThere)?;
        let size = text.len() as u64;
        if size > limit { Err(AccessRefusal::TooLarge { size, limit }) } else { Ok(text.as_bytes().to_vec()) }
    }
}
