//! The files of one load: names, texts, and the way from a byte offset to a line and column.

use std::sync::Arc;

/// Which file of a [`Files`] is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct FileId(pub u32);

/// A place as people and the JSON output name it: both count from 1, columns in Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

/// One file: its display name (path as given) and its text.
#[derive(Debug, Clone)]
pub struct SourceFile {
    name: Arc<str>,
    text: Arc<str>,
    line_starts: Arc<[u32]>,
}

impl SourceFile {
    /// A file with this display name and text.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let mut starts = vec![0u32];
        starts.extend(text.bytes().enumerate().filter(|&(_, b)| b == b'\n').map(|(i, _)| i as u32 + 1));
        Self { name: name.into(), text, line_starts: starts.into() }
    }
    /// The display name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The whole text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
    /// Line and column of a byte offset; offsets past the end or inside a character are moved back to the nearest boundary.
    pub fn position(&self, offset: u32) -> Position {
        let mut at = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.line_starts.partition_point(|&s| s as usize <= at).max(1);
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0) as usize;
        let column = self.text[start..at].chars().filter(|c| *c != '\u{feff}').count() as u32 + 1;
        Position { line: line as u32, column }
    }
}

/// All files of one load, by [`FileId`].
#[derive(Debug, Clone, Default)]
pub struct Files {
    files: Vec<SourceFile>,
}

impl Files {
    /// Adds a file and says which id it got.
    pub fn add(&mut self, file: SourceFile) -> FileId {
        self.files.push(file);
        FileId(self.files.len() as u32 - 1)
    }
    /// The file of this id, if it is one of ours.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }
    /// All files with their ids, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }
}
