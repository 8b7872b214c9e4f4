//! The differences between two texts, word by word, and between two values, by path.

mod values;
mod words;

pub use values::{ValueChange, changed_values};
pub use words::{DiffPart, MarkedKind, TextHunk, WordDiff, changed_lines, former_offset, text_similarity};
