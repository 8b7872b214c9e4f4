//! From the decoded text of a scalar back to the bytes of the file.
//!
//! A map is built by reading the raw scalar a second time beside the text that the parser made of it. It never decodes
//! by itself: where the two disagree, the rest of the text maps to the rest of the scalar as a whole.

mod block;
mod flow;

use std::ops::Range;
use std::sync::Arc;

use super::tree::Style;
use crate::span::Span;

/// A run of decoded text and the bytes it came from. In step when both are of one length, else one indivisible whole
/// (an escape, a line break that became a space).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TextRun {
    /// Where the run begins in the decoded text; it ends where the next one begins.
    at: u32,
    start: u32,
    end: u32,
}

/// The way from decoded byte offsets of one scalar to byte offsets of its file.
#[derive(Debug, Clone, Default)]
pub struct ScalarMap {
    /// Bytes of decoded text.
    length: u32,
    /// Where the text begins in the file, when it stands there as it is.
    start: u32,
    /// What it is made of, when it does not.
    pieces: Option<Arc<[TextRun]>>,
}

impl ScalarMap {
    /// Aligns a decoded text with the raw slice it was read from, quotes or block header included, which starts at
    /// `base` in the file.
    pub fn align(decoded: &str, raw: &str, base: u32, style: Style) -> Self {
        let length = decoded.len() as u32;
        let body = body(raw, style);
        let text = raw.get(body.clone()).unwrap_or_default();
        let base = base + body.start as u32;
        if text == decoded {
            return Self { length, start: base, pieces: None };
        }
        let mut pieces = Pieces::default();
        match style {
            Style::Literal | Style::Folded => block::align(decoded, text, base, style == Style::Folded, &mut pieces),
            _ => flow::align(decoded, text, base, style, &mut pieces),
        }
        pieces.rest(length, base + text.len() as u32);
        Self { length, start: base, pieces: Some(pieces.list.into()) }
    }
    /// The map of a text that stands in the file as it is, from `start`.
    pub fn straight(length: u32, start: u32) -> Self {
        Self { length, start, pieces: None }
    }
    /// The file offset of a decoded offset; of the length or more, the end of the text.
    pub fn offset(&self, decoded: u32) -> u32 {
        if decoded >= self.length && decoded > 0 {
            return self.end_of(self.length);
        }
        match self.piece(decoded) {
            None => self.start + decoded,
            Some((piece, length)) if piece.end - piece.start == length => piece.start + (decoded - piece.at),
            Some((piece, _)) => piece.start,
        }
    }
    /// The file bytes that a decoded range came from: from its first character to the end of its last one.
    pub fn span(&self, range: Range<u32>) -> Span {
        let start = self.offset(range.start);
        let end = if range.end <= range.start { start } else { self.end_of(range.end.min(self.length)) };
        Span::new(start, end.max(start))
    }
    /// The file offset right behind the last character before a decoded offset.
    fn end_of(&self, decoded: u32) -> u32 {
        let Some(last) = decoded.checked_sub(1) else { return self.start };
        match self.piece(last) {
            None => self.start + decoded,
            Some((piece, length)) if piece.end - piece.start == length => piece.start + (decoded - piece.at),
            Some((piece, _)) => piece.end,
        }
    }
    /// The piece that holds a decoded offset, and its decoded length.
    fn piece(&self, decoded: u32) -> Option<(TextRun, u32)> {
        let pieces = self.pieces.as_deref()?;
        let index = pieces.partition_point(|p| p.at <= decoded).checked_sub(1)?;
        let piece = *pieces.get(index)?;
        let next = pieces.get(index + 1).map_or(self.length, |p| p.at);
        Some((piece, next - piece.at))
    }
}

/// The part of a raw scalar that is its text: without the quotes, without the header line of a block.
fn body(raw: &str, style: Style) -> Range<usize> {
    match style {
        Style::Plain => 0..raw.len(),
        Style::Single | Style::Double => 1.min(raw.len())..raw.len().saturating_sub(1).max(1.min(raw.len())),
        Style::Literal | Style::Folded => {
            let header = memchr::memchr2(b'\n', b'\r', raw.as_bytes()).unwrap_or(raw.len());
            header + line_break(raw, header).unwrap_or(0)..raw.len()
        }
    }
}

/// The length of the line break at `at`, if there is one.
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

/// Pieces under construction, in the order of both texts.
#[derive(Debug, Default)]
struct Pieces {
    list: Vec<TextRun>,
    /// End of what has been placed so far in the decoded text.
    decoded: u32,
}

impl Pieces {
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
    /// Places what is left of the decoded text, if anything, on what is left of the raw one.
    fn rest(&mut self, length: u32, end: u32) {
        let start = self.list.last().map_or(end, |p| p.end).min(end);
        self.push(length.saturating_sub(self.decoded), start, end);
    }
}
