//! The origins of a text: each part with the step, input or line of a manifest that it came from.
//!
//! Plain data for events and traces. The machine computes it (`machine/trail`) only on request: see
//! [`crate::Machine::with_provenance`]. It has no effect on what a run does.

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::key::Key;

/// The origin of a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginKind {
    /// Literal text of a manifest.
    Literal,
    /// Text that is not written in a manifest: a separator, a default, an instruction that the format adds.
    Const,
    /// The run's input.
    Input,
    /// A step's result.
    Step(Key),
    /// The environment variable with this name.
    Env(Arc<str>),
    /// The secret with this name.
    Secret(Arc<str>),
    /// The item of a fan-out, and the step that made the list.
    Item(Option<Key>),
    /// The number of an item, a pass, a visit, an iteration.
    Index,
    /// The text of a failure, and the step that failed.
    Failure(Option<Key>),
    /// The run itself: its id or its usage.
    Run,
    /// A value composed of the results of several steps.
    Several(Vec<Key>),
    /// Changed in between, or unknown.
    Other,
}

/// A placeholder through which a text was passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginPlaceholder {
    /// Its path, as written.
    pub path: Arc<str>,
    /// Its place.
    pub place: Location,
}

/// The origin of a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// What put it there.
    pub from: OriginKind,
    /// The path inside its source: a step's result, the run's input.
    pub member: Vec<Arc<str>>,
    /// The path of the placeholder, as written.
    pub path: Option<Arc<str>>,
    /// The place of the literal text, or of the placeholder nearest to the source.
    pub place: Option<Location>,
    /// The further placeholders through which it was passed, outermost first.
    pub via: Vec<OriginPlaceholder>,
}

impl Origin {
    /// An origin without further data.
    pub fn from_kind(from: OriginKind) -> Self {
        Self { from, member: Vec::new(), path: None, place: None, via: Vec::new() }
    }
}

/// A part of a text as the machine knows it: holes are `***`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextPart {
    /// The length in bytes.
    pub len: u32,
    /// Its origin.
    pub origin: Origin,
}

/// A part of a displayed text. The spans of a text are in order and cover it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginSpan {
    /// Its first character (a Unicode scalar value, from 0).
    pub start: u32,
    /// The end, exclusive.
    pub end: u32,
    /// Its origin.
    pub origin: Origin,
}

/// The parts of a text that is not written in a manifest.
pub(crate) fn constant_parts(text: &str) -> Vec<TextPart> {
    single_part(text.len(), Origin::from_kind(OriginKind::Const))
}

/// The number of bytes that parts cover.
pub(crate) fn covered_len(parts: &[TextPart]) -> usize {
    parts.iter().map(|p| p.len as usize).sum()
}

/// The parts of a text that was changed: the common start and end keep their origins.
pub fn realign_parts(parts: Vec<TextPart>, before: &str, after: &str) -> Vec<TextPart> {
    if before == after || covered_len(&parts) != before.len() {
        return if covered_len(&parts) == after.len() {
            parts
        } else {
            single_part(after.len(), Origin::from_kind(OriginKind::Other))
        };
    }
    let mut head = 0;
    for (old, new) in before.chars().zip(after.chars()) {
        if old != new {
            break;
        }
        head += old.len_utf8();
    }
    let room = before.len().min(after.len()) - head;
    let mut tail = 0;
    for (old, new) in before.chars().rev().zip(after.chars().rev()) {
        if old != new || tail + old.len_utf8() > room {
            break;
        }
        tail += old.len_utf8();
    }
    let mut kept = cut(&parts, 0, head);
    kept.extend(single_part(after.len() - head - tail, Origin::from_kind(OriginKind::Other)));
    kept.extend(cut(&parts, before.len() - tail, before.len()));
    kept
}

/// The parts of a text in which ranges, in order and not overlapping, were replaced by `len` bytes each.
pub(crate) fn replace_parts(parts: &[TextPart], ranges: &[std::ops::Range<usize>], len: usize) -> Vec<TextPart> {
    let mut kept = Vec::new();
    let mut at = 0;
    for range in ranges {
        kept.extend(cut(parts, at, range.start));
        kept.extend(single_part(len, Origin::from_kind(OriginKind::Other)));
        at = range.end;
    }
    kept.extend(cut(parts, at, covered_len(parts)));
    kept
}

fn single_part(len: usize, origin: Origin) -> Vec<TextPart> {
    if len == 0 { Vec::new() } else { vec![TextPart { len: len as u32, origin }] }
}

/// The parts between two offsets.
fn cut(parts: &[TextPart], from: usize, to: usize) -> Vec<TextPart> {
    let mut at = 0;
    let mut kept = Vec::new();
    for part in parts {
        let end = at + part.len as usize;
        let len = end.min(to).saturating_sub(at.max(from));
        kept.extend(single_part(len, part.origin.clone()));
        at = end;
    }
    kept
}

/// The parts of a text as spans in characters. Bytes that no part covers become one span of unknown origin.
pub fn text_spans(parts: &[TextPart], text: &str) -> Vec<OriginSpan> {
    let mut spans: Vec<OriginSpan> = Vec::with_capacity(parts.len());
    let (mut byte, mut character) = (0usize, 0u32);
    let mut add = |len: usize, origin: &Origin| {
        let Some(part) = text.get(byte..byte + len).filter(|part| !part.is_empty()) else { return };
        let end = character + part.chars().count() as u32;
        match spans.last_mut() {
            Some(last) if last.origin == *origin => last.end = end,
            _ => spans.push(OriginSpan { start: character, end, origin: origin.clone() }),
        }
        byte += len;
        character = end;
    };
    for part in parts {
        add(part.len as usize, &part.origin);
    }
    let done = spans.last().map_or(0, |s| s.end);
    let all = text.chars().count() as u32;
    if done < all {
        spans.push(OriginSpan { start: done, end: all, origin: Origin::from_kind(OriginKind::Other) });
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(len: u32, name: &str) -> TextPart {
        TextPart { len, origin: Origin::from_kind(OriginKind::Env(name.into())) }
    }

    fn shown(parts: &[TextPart]) -> String {
        let name = |p: &TextPart| match &p.origin.from {
            OriginKind::Env(name) => format!("{name}{}", p.len),
            _ => format!("?{}", p.len),
        };
        parts.iter().map(name).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_a_change_leaves_alone_keeps_its_origin() {
        let parts = || vec![part(3, "a"), part(4, "b"), part(3, "c")];
        assert_eq!(shown(&realign_parts(parts(), "aaabbbbccc", "aaabXXbccc")), "a3 b1 ?2 b1 c3");
        assert_eq!(shown(&realign_parts(parts(), "aaabbbbccc", "aaabb")), "a3 b2");
        assert_eq!(shown(&realign_parts(parts(), "aaabbbbccc", "aaabbbbccc")), "a3 b4 c3");
        assert_eq!(shown(&realign_parts(parts(), "something else", "xyz")), "?3");
        assert_eq!(covered_len(&realign_parts(parts(), "aaabbbbccc", "aaabbbbcccc")), 11);
    }

    #[test]
    fn spans_count_characters_join_neighbours_and_cover_the_text() {
        let found = text_spans(&[part(4, "a"), part(2, "a"), part(1, "b")], "äöü!x");
        let ends: Vec<_> = found.iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(ends, [(0, 3), (3, 4), (4, 5)]);
        assert_eq!(found.last().map(|s| &s.origin.from), Some(&OriginKind::Other));
        assert!(text_spans(&[], "").is_empty());
    }
}
