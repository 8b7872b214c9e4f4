//! Maps the decoded text of a scalar to the bytes of the file.
//!
//! A map is built by reading the raw scalar again next to the text that the parser decoded from it. It does not decode
//! by itself: from the point where the two disagree, the rest of the text maps to the rest of the scalar as a whole.

mod block;
mod flow;

use std::ops::Range;
use std::sync::Arc;

use super::style::YamlStyle;
use crate::span::Span;

/// A run of decoded text and the bytes it came from. If both have the same length, they correspond byte for byte.
/// Otherwise the run is indivisible (an escape, a line break that became a space).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TextRun {
    /// The start of the run in the decoded text. It ends where the next run starts.
    at: u32,
    start: u32,
    end: u32,
}

/// Maps decoded byte offsets of one scalar to byte offsets in its file.
#[derive(Debug, Clone, Default)]
pub struct ScalarMap {
    /// The length of the decoded text in bytes.
    length: u32,
    /// The start of the text in the file, if the raw and decoded texts are identical.
    start: u32,
    /// The runs, if they are not.
    pieces: Option<Arc<[TextRun]>>,
}

impl ScalarMap {
    /// Aligns a decoded text with the raw slice it was read from, which includes quotes or block header and starts at
    /// `base` in the file.
    pub fn align_text(decoded: &str, raw: &str, base: u32, style: YamlStyle) -> Self {
        let length = decoded.len() as u32;
        let body = body(raw, style);
        let text = raw.get(body.clone()).unwrap_or_default();
        let base = base + body.start as u32;
        if text == decoded {
            return Self { length, start: base, pieces: None };
        }
        let mut pieces = TextRunList::default();
        match style {
            YamlStyle::Literal | YamlStyle::Folded => {
                block::align_block(decoded, text, base, style == YamlStyle::Folded, &mut pieces)
            }
            _ => flow::align_flow(decoded, text, base, style, &mut pieces),
        }
        pieces.rest(length, base + text.len() as u32);
        Self { length, start: base, pieces: Some(pieces.list.into()) }
    }
    /// The map of a text that is written in the file as is, starting at `start`.
    pub fn for_identical_text(length: u32, start: u32) -> Self {
        Self { length, start, pieces: None }
    }
    /// The map of a text that stands for a place in the file as a whole.
    pub fn for_whole_span(length: u32, at: Span) -> Self {
        let piece = TextRun { at: 0, start: at.start, end: at.end };
        Self { length, start: at.start, pieces: Some([piece].into()) }
    }
    /// The file offset of a decoded offset. Offsets at or past the length give the end of the text.
    pub fn file_offset(&self, decoded: u32) -> u32 {
        if decoded >= self.length && decoded > 0 {
            return self.end_of(self.length);
        }
        match self.piece(decoded) {
            None => self.start + decoded,
            Some((piece, length)) if piece.end - piece.start == length => piece.start + (decoded - piece.at),
            Some((piece, _)) => piece.start,
        }
    }
    /// The file bytes of a decoded range: from its first character to the end of its last one.
    pub fn file_span(&self, range: Range<u32>) -> Span {
        let start = self.file_offset(range.start);
        let end = if range.end <= range.start { start } else { self.end_of(range.end.min(self.length)) };
        Span::new(start, end.max(start))
    }
    /// The file offset after the last character before a decoded offset.
    fn end_of(&self, decoded: u32) -> u32 {
        let Some(last) = decoded.checked_sub(1) else { return self.start };
        match self.piece(last) {
            None => self.start + decoded,
            Some((piece, length)) if piece.end - piece.start == length => piece.start + (decoded - piece.at),
            Some((piece, _)) => piece.end,
        }
    }
    /// The run that contains a decoded offset, and its decoded length.
    fn piece(&self, decoded: u32) -> Option<(TextRun, u32)> {
        let pieces = self.pieces.as_deref()?;
        let index = pieces.partition_point(|p| p.at <= decoded).checked_sub(1)?;
        let piece = *pieces.get(index)?;
        let next = pieces.get(index + 1).map_or(self.length, |p| p.at);
        Some((piece, next - piece.at))
    }
}

/// The part of a raw scalar that is its text, without quotes or block header line.
fn body(raw: &str, style: YamlStyle) -> Range<usize> {
    match style {
        YamlStyle::Plain => 0..raw.len(),
        YamlStyle::Single | YamlStyle::Double => 1.min(raw.len())..raw.len().saturating_sub(1).max(1.min(raw.len())),
        YamlStyle::Literal | YamlStyle::Folded => {
            let header = memchr::memchr2(b'\n', b'\r', raw.as_bytes()).unwrap_or(raw.len());
            header + line_break(raw, header).unwrap_or(0)..raw.len()
        }
    }
}

/// The length of the line break at `at`, if any.
fn line_break(text: &str, at: usize) -> Option<usize> {
    match text.as_bytes().get(at..)? {
        [b'\r', b'\n', ..] => Some(2),
        [b'\r' | b'\n', ..] => Some(1),
        _ => None,
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Runs under construction, in text order.
#[derive(Debug, Default)]
struct TextRunList {
    list: Vec<TextRun>,
    /// The end of the decoded text placed so far.
    decoded: u32,
}

impl TextRunList {
    /// Places the next `length` decoded bytes at `start..end` of the file.
    fn push(&mut self, length: u32, start: u32, end: u32) {
        if length == 0 {
            return;
        }
        let in_step = end - start == length;
        if let Some(last) = self.list.last_mut() {
            let last_in_step = last.end - last.start == self.decoded - last.at;
            if in_step && last_in_step && last.end == start {
                last.end = end;
                self.decoded += length;
                return;
            }
        }
        self.list.push(TextRun { at: self.decoded, start, end });
        self.decoded += length;
    }
    /// Maps the rest of the decoded text, if any, to the rest of the raw text.
    fn rest(&mut self, length: u32, end: u32) {
        let start = self.list.last().map_or(end, |p| p.end).min(end);
        self.push(length.saturating_sub(self.decoded), start, end);
    }
}
