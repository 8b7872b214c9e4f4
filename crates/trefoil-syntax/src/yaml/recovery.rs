//! Recovery after a syntax error: the unreadable part is masked, byte for byte, and the text is read again.
//!
//! A mask does not move anything, so every span of the second reading is valid in the file.

use super::locate;
use crate::span::Span;

/// How often one file may be read again.
const READINGS: usize = 16;
/// How many bytes may be read again in total.
const BYTES: usize = 32 << 20;

/// Bytes hidden from the parser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecoveryMask {
    /// A value that needs quotes: the parser sees a word; the tree gets the text.
    Quote(Span),
    /// Unreadable text: the parser sees nothing.
    Skip(Span),
    /// Text that is not part of the YAML: the parser sees nothing, and the tree is still complete.
    Foreign(Span),
}

impl RecoveryMask {
    pub(super) fn span(self) -> Span {
        match self {
            Self::Quote(span) | Self::Skip(span) | Self::Foreign(span) => span,
        }
    }
}

/// The masks of one file.
#[derive(Debug, Default)]
pub(super) struct RecoveryMasks {
    masks: Vec<RecoveryMask>,
    /// Their spans, in file order.
    pub(super) spans: Vec<Span>,
}

impl RecoveryMasks {
    /// Adds a mask, unless it overlaps an existing one or the file was read often enough.
    pub(super) fn add_mask(&mut self, mask: RecoveryMask, text: &str) -> bool {
        let span = mask.span();
        let known = self.masks.iter().any(|m| m.span().start < span.end && span.start < m.span().end);
        if span.is_empty() || known || self.masks.len() >= READINGS || (self.masks.len() + 1) * text.len() > BYTES {
            return false;
        }
        self.masks.push(mask);
        self.spans.push(span);
        self.spans.sort();
        true
    }
    pub(super) fn is_empty(&self) -> bool {
        self.masks.is_empty()
    }
    /// Whether a place is after the last mask. Errors before its end may be caused by the mask.
    pub(super) fn are_before(&self, at: Option<Span>) -> bool {
        match (self.masks.last(), at) {
            (None, _) => true,
            (Some(last), Some(at)) => at.start >= last.span().end,
            (Some(_), None) => false,
        }
    }
    /// Whether parts of the text were skipped.
    pub(super) fn has_skips(&self) -> bool {
        self.masks.iter().any(|m| matches!(m, RecoveryMask::Skip(_)))
    }
    /// The text with the masks applied.
    pub(super) fn apply_masks(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for mask in &self.masks {
            let span = mask.span();
            let mut line_begins = locate::line_start(text, span.start as usize) == span.start as usize;
            for byte in bytes.iter_mut().take(span.end as usize).skip(span.start as usize) {
                *byte = match (mask, *byte) {
                    (RecoveryMask::Quote(_), _) => b'x',
                    (RecoveryMask::Skip(_) | RecoveryMask::Foreign(_), b'\n' | b'\r') => {
                        line_begins = true;
                        continue;
                    }
                    // A comment, so that it ends a block scalar above it.
                    (RecoveryMask::Skip(_) | RecoveryMask::Foreign(_), _) if line_begins => b'#',
                    (RecoveryMask::Skip(_) | RecoveryMask::Foreign(_), _) => b' ',
                };
                line_begins = false;
            }
        }
        // Whole characters are masked, so this cannot fail.
        String::from_utf8(bytes).unwrap_or_default()
    }
}

/// From `start` to the next line that starts with a key or an item at the left margin, or to the end.
pub(super) fn to_next_key(text: &str, start: usize) -> Span {
    let whole = start == 0;
    let mut at = locate::next_line(text, start);
    while at < text.len() && (whole || !begins_key(text.get(at..locate::line_end(text, at)).unwrap_or_default())) {
        at = locate::next_line(text, at);
    }
    Span::new(start as u32, at as u32)
}

/// Whether a line looks like a key or an item.
pub(super) fn begins_key(line: &str) -> bool {
    let mut chars = line.chars();
    let key = matches!(chars.next(), Some(c) if c.is_alphanumeric() || matches!(c, '_' | '"' | '\''));
    let colon = line.match_indices(':').any(|(i, _)| matches!(line.as_bytes().get(i + 1), None | Some(b' ' | b'\t')));
    (key && colon) || line.starts_with("- ")
}
