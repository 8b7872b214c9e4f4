//! Byte ranges in a file. Lines and columns are computed only for display.

/// The id of a file in [`SourceFiles`](crate::SourceFiles).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct FileId(pub u32);

/// A half-open range of byte offsets in one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, serde::Serialize, serde::Deserialize)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The span `start..end`.
    pub const fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }
    /// The smallest span that covers both.
    pub fn cover_both(self, other: Self) -> Self {
        Self { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
    /// Length in bytes.
    pub const fn len(self) -> u32 {
        self.end.saturating_sub(self.start)
    }
    /// Whether the span covers no byte.
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }
}

/// A span and the file it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Location {
    /// The file.
    pub file: FileId,
    /// The bytes.
    pub span: Span,
}

impl Location {
    /// The location of `span` in `file`.
    pub const fn new(file: FileId, span: Span) -> Self {
        Self { file, span }
    }
}
