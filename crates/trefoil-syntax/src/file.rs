//! The files of one load: their names and texts, and the line and column of each byte offset.
//!
//! Reads nothing from disk; the caller passes the bytes.

use std::sync::Arc;

use crate::span::{FileId, Location, Span};

/// The number of bytes between two recorded character counts. Bounds the cost of finding a column in a very long line.
const STRIDE: usize = 1024;

/// A place as shown to people and in JSON output. Both numbers count from 1; columns are Unicode scalar values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LineColumn {
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
    /// Byte offset of each line's first byte.
    line_starts: Arc<[u32]>,
    /// The number of characters before every `STRIDE`th byte.
    counts: Arc<[u32]>,
    not_utf8: Option<u32>,
}

impl SourceFile {
    /// A file with this display name and text.
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        let text = text.into();
        let mut starts = vec![0u32];
        let mut counts = Vec::with_capacity(text.len() / STRIDE + 1);
        let mut characters = 0u32;
        for block in text.as_bytes().chunks(STRIDE) {
            counts.push(characters);
            characters += match block.is_ascii() {
                true => block.len(),
                false => block.iter().filter(|b| starts_character(**b)).count(),
            } as u32;
        }
        starts.extend(memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at as u32 + 1));
        Self { name: name.into(), text, line_starts: starts.into(), counts: counts.into(), not_utf8: None }
    }
    /// A file with the bytes read from disk. Bytes that are not UTF-8 are replaced, so that the file can still be
    /// shown; [`not_utf8`](Self::not_utf8) says where, and the parsers report it.
    pub fn from_bytes(name: impl Into<Arc<str>>, bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::new(name, text),
            Err(error) => {
                let at = error.utf8_error().valid_up_to() as u32;
                Self { not_utf8: Some(at), ..Self::new(name, String::from_utf8_lossy(error.as_bytes())) }
            }
        }
    }
    /// The display name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The whole text.
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
    /// The offset of the first byte that was not UTF-8, if any.
    pub fn not_utf8(&self) -> Option<u32> {
        self.not_utf8
    }
    /// The number of lines. An empty file has one line, and so does the text after the last line break.
    pub fn line_count(&self) -> u32 {
        self.line_starts.len() as u32
    }
    /// The bytes of a line (from 1) without its line break; empty past the end.
    pub fn line_span(&self, line: u32) -> Span {
        let end = self.text.len() as u32;
        let index = line.saturating_sub(1) as usize;
        let start = self.line_starts.get(index).copied().unwrap_or(end);
        let next = self.line_starts.get(index + 1).copied().unwrap_or(end);
        let content = self.text.get(start as usize..next as usize).unwrap_or_default();
        let content = content.strip_suffix('\n').unwrap_or(content);
        let content = content.strip_suffix('\r').unwrap_or(content);
        Span::new(start, start + content.len() as u32)
    }
    /// Line and column of a byte offset; offsets past the end or inside a character are moved back to the nearest
    /// boundary. Lines end at `\n`; a byte order mark at the start of the file is not a character.
    pub fn line_column(&self, offset: u32) -> LineColumn {
        let mut at = (offset as usize).min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let line = self.line_number(at as u32) as usize;
        let start = self.line_starts.get(line - 1).copied().unwrap_or(0) as usize;
        let mut column = self.characters_before(at) - self.characters_before(start);
        if line == 1 && at > 0 && self.text.starts_with('\u{feff}') {
            column -= 1;
        }
        LineColumn { line: line as u32, column: column + 1 }
    }
    /// The line of a byte offset, from 1. Faster than `position`, because it counts no characters.
    pub fn line_number(&self, offset: u32) -> u32 {
        let at = offset.min(self.text.len() as u32);
        self.line_starts.partition_point(|&s| s <= at).max(1) as u32
    }
    fn characters_before(&self, at: usize) -> u32 {
        let block = at / STRIDE;
        let bytes = self.text.as_bytes().get(block * STRIDE..at).unwrap_or_default();
        let known = self.counts.get(block).copied().unwrap_or_else(|| {
            // `at` is the end of the text, which ends exactly at the end of a block.
            let last = self.text.as_bytes().get(self.text.len().saturating_sub(STRIDE)..).unwrap_or_default();
            self.counts.last().copied().unwrap_or(0) + last.iter().filter(|b| starts_character(**b)).count() as u32
        });
        known + bytes.iter().filter(|b| starts_character(**b)).count() as u32
    }
}

fn starts_character(byte: u8) -> bool {
    byte & 0xC0 != 0x80
}

/// All files of one load, by [`FileId`].
#[derive(Debug, Clone, Default)]
pub struct SourceFiles {
    files: Vec<SourceFile>,
}

impl SourceFiles {
    /// Adds a file and returns its id.
    pub fn add_file(&mut self, file: SourceFile) -> FileId {
        self.files.push(file);
        FileId(self.files.len() as u32 - 1)
    }
    /// The file with this id, if it exists.
    pub fn get(&self, id: FileId) -> Option<&SourceFile> {
        self.files.get(id.0 as usize)
    }
    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }
    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
    /// A location as `FILE:LINE:COLUMN`; `None`: its file is not among these.
    pub fn display_location(&self, location: Location) -> Option<String> {
        let file = self.get(location.file)?;
        let at = file.line_column(location.span.start);
        Some(format!("{}:{}:{}", file.name(), at.line, at.column))
    }
    /// All files with their ids, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, f)| (FileId(i as u32), f))
    }
}
