//! Compares two texts word by word.

use std::ops::Range;

use similar::{DiffTag, TextDiff};

/// Above this number of words, texts are compared line by line, because a word diff would be unreadable.
const MANY: usize = 20_000;

/// Number of words shown around a change on one line.
const AROUND: usize = 4;
/// Number of characters shown at each end of a change on one line.
const ENDS: usize = 60;

/// The differences between two texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordDiff {
    /// The old text.
    pub before: String,
    /// The new text.
    pub now: String,
    /// The differing places, in order.
    pub hunks: Vec<TextHunk>,
}

/// A differing place: byte ranges in both texts. One of them may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextHunk {
    /// The range in the old text.
    pub before: Range<usize>,
    /// The range in the new text.
    pub now: Range<usize>,
}

/// A part of the combined texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiffPart {
    /// In both.
    Same(String),
    /// Only in the old text.
    Removed(String),
    /// Only in the new text.
    Added(String),
    /// Omitted text that is in both.
    Cut,
}

/// Whether words are in both texts, or only in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkedKind {
    /// In both.
    Same,
    /// Only in the old text.
    Removed,
    /// Only in the new text.
    Added,
}

impl WordDiff {
    /// The differences between two texts.
    pub fn between_texts(before: &str, now: &str) -> Self {
        let (old, new) = (tokens(before), tokens(now));
        let (old, new) = match old.len().saturating_add(new.len()) > MANY {
            true => (before.split_inclusive('\n').collect(), now.split_inclusive('\n').collect()),
            false => (old, new),
        };
        let diff = TextDiff::from_slices(&old, &new);
        let (starts, ends) = (places(&old), places(&new));
        let bytes = |places: &[usize], range: Range<usize>| {
            let at = |n: usize| places.get(n).or(places.last()).copied().unwrap_or(0);
            at(range.start)..at(range.end)
        };
        let mut hunks: Vec<TextHunk> = Vec::new();
        for op in diff.ops() {
            if op.tag() == DiffTag::Equal {
                continue;
            }
            let hunk = TextHunk { before: bytes(&starts, op.old_range()), now: bytes(&ends, op.new_range()) };
            match hunks.last_mut() {
                // Changed words that follow each other are one change.
                Some(last) if is_space(now.get(last.now.end..hunk.now.start)) => {
                    (last.before.end, last.now.end) = (hunk.before.end, hunk.now.end);
                }
                _ => hunks.push(hunk),
            }
        }
        Self { before: before.to_owned(), now: now.to_owned(), hunks }
    }

    /// Whether both texts are equal.
    pub fn is_same(&self) -> bool {
        self.hunks.is_empty()
    }

    /// The changes on one line, with some words around them: `two [-after-] {+before+} tea`.
    pub fn in_line(&self) -> String {
        let shown = |(kind, text): (MarkedKind, String)| match kind {
            MarkedKind::Same => text,
            MarkedKind::Removed => format!("[-{text}-]"),
            MarkedKind::Added => format!("{{+{text}+}}"),
        };
        self.marked_words(false, &|text| text.replace('\n', "⏎")).into_iter().map(shown).collect()
    }

    /// The changed words with some words around them. `whole`: long changes are not shortened. `line`: how a text is written on one line.
    pub fn marked_words(&self, whole: bool, line: &dyn Fn(&str) -> String) -> Vec<(MarkedKind, String)> {
        let mut all = Vec::new();
        for part in self.merged_parts(Some(AROUND)) {
            let (kind, text) = match part {
                DiffPart::Same(text) => (MarkedKind::Same, text),
                DiffPart::Cut => (MarkedKind::Same, "...".to_owned()),
                DiffPart::Removed(text) => (MarkedKind::Removed, text),
                DiffPart::Added(text) => (MarkedKind::Added, text),
            };
            let is_short = whole || kind == MarkedKind::Same;
            let mut text = line(&if is_short { text } else { ends(&text) });
            // A trailing space is not part of the marked text.
            let word = text.trim_end().len();
            let rest = if word > 0 && kind != MarkedKind::Same { text.split_off(word) } else { String::new() };
            all.push((kind, text));
            if !rest.is_empty() {
                all.push((MarkedKind::Same, rest));
            }
        }
        all
    }

    /// Both texts combined. With `context`, only this number of equal words is kept around each change.
    pub fn merged_parts(&self, context: Option<usize>) -> Vec<DiffPart> {
        let mut parts = Vec::new();
        let mut at = 0;
        for (n, hunk) in self.hunks.iter().enumerate() {
            let same = self.now.get(at..hunk.now.start).unwrap_or_default();
            shorten(same, context, (n > 0, true), &mut parts);
            let removed = self.before.get(hunk.before.clone()).unwrap_or_default();
            if !removed.is_empty() {
                parts.push(DiffPart::Removed(removed.to_owned()));
            }
            let added = self.now.get(hunk.now.clone()).unwrap_or_default();
            if !added.is_empty() {
                parts.push(DiffPart::Added(added.to_owned()));
            }
            at = hunk.now.end;
        }
        let last = self.now.get(at..).unwrap_or_default();
        shorten(last, context, (!self.hunks.is_empty(), false), &mut parts);
        parts
    }
}

/// The share of equal words of two texts, between 0 and 1. Of long texts, only the beginning counts.
pub fn text_similarity(before: &str, now: &str) -> f32 {
    let cut = |text: &str| text.chars().take(MANY).collect::<String>();
    TextDiff::from_words(&*cut(before), &*cut(now)).ratio()
}

/// The lines that differ: their numbers in both texts, from 0. One of the ranges may be empty.
pub fn changed_lines(before: &str, now: &str) -> Vec<(Range<usize>, Range<usize>)> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let diff = TextDiff::from_slices(&old, &new);
    let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
    changed.map(|op| (op.old_range(), op.new_range())).collect()
}

/// A text without its middle, if it is long.
fn ends(text: &str) -> String {
    let count = text.chars().count();
    if count <= ENDS * 2 + 3 {
        return text.to_owned();
    }
    let (head, tail): (String, String) = (text.chars().take(ENDS).collect(), text.chars().skip(count - ENDS).collect());
    format!("{head}...{tail}")
}

/// The byte offset in the old text of a file that an offset in its new text had; `None` if the place was added or
/// changed. Unchanged lines decide first: words repeat too often to tell which step they belong to.
pub fn former_offset(old: &str, new: &str, at: usize) -> Option<usize> {
    let diff = TextDiff::from_lines(old, new);
    let (before, now): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let (olds, news) = (places(&before), places(&now));
    let start = |places: &[usize], line: usize| places.get(line).or(places.last()).copied().unwrap_or(0);
    let op = diff.ops().iter().find(|op| {
        let lines = op.new_range();
        (start(&news, lines.start)..start(&news, lines.end)).contains(&at)
    })?;
    let (was, is) = (start(&olds, op.old_range().start), start(&news, op.new_range().start));
    if op.tag() == DiffTag::Equal {
        return Some(was + (at - is));
    }
    let was_end = start(&olds, op.old_range().end);
    let is_end = start(&news, op.new_range().end);
    let words = WordDiff::between_texts(old.get(was..was_end)?, new.get(is..is_end)?);
    let at = at - is;
    let mut former = at;
    for hunk in &words.hunks {
        if hunk.now.start > at {
            break;
        }
        if at < hunk.now.end {
            return None;
        }
        former = hunk.before.end + (at - hunk.now.end);
    }
    Some(was + former)
}

/// Equal text, shortened to this number of words next to changes.
fn shorten(text: &str, context: Option<usize>, (after, before): (bool, bool), parts: &mut Vec<DiffPart>) {
    let Some(words) = context else { return push_same(text, parts) };
    let all = tokens(text);
    let keep = words.saturating_mul(2);
    let head = if after { keep.min(all.len()) } else { 0 };
    let tail = if before { all.len().saturating_sub(keep) } else { all.len() };
    if tail <= head.saturating_add(2) && (after || head == 0) && (before || tail == head) {
        return push_same(text, parts);
    }
    push_same(&all.get(0..head).unwrap_or_default().concat(), parts);
    parts.push(DiffPart::Cut);
    push_same(&all.get(tail.max(head)..).unwrap_or_default().concat(), parts);
}

fn push_same(text: &str, parts: &mut Vec<DiffPart>) {
    if !text.is_empty() {
        parts.push(DiffPart::Same(text.to_owned()));
    }
}

fn is_space(text: Option<&str>) -> bool {
    matches!(text, Some(text) if !text.contains('\n') && text.trim().is_empty())
}

/// Words, whitespace, and all other characters one by one.
fn tokens(text: &str) -> Vec<&str> {
    let sort = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '\'' => 0,
        c if c.is_whitespace() && c != '\n' => 1,
        _ => 2,
    };
    let mut all = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let of = sort(first);
        let end = match of {
            2 => first.len_utf8(),
            _ => rest.find(|c| sort(c) != of).unwrap_or(rest.len()),
        };
        let (token, next) = rest.split_at(end);
        all.push(token);
        rest = next;
    }
    all
}

/// The offset of each token, and the end of the last one.
fn places(tokens: &[&str]) -> Vec<usize> {
    let mut at = 0;
    let mut all = vec![0];
    for token in tokens {
        at += token.len();
        all.push(at);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_of_a_file_is_found_again_after_an_edit() {
        let old = "a:\n  say: one {{x}}\nb:\n  say: one {{x}}\n";
        let first = old.find("{{x").unwrap();
        let second = old.rfind("{{x").unwrap();
        let same = |new: &str, at: usize| former_offset(old, new, at);
        assert_eq!(same(old, second), Some(second));
        // A step with the same prompt was added between the two: it has no former place.
        let new = "a:\n  say: one {{x}}\nnew:\n  say: one {{x}}\nb:\n  say: one {{x}}\n";
        let all: Vec<usize> = new.match_indices("{{x").map(|(at, _)| at).collect();
        assert_eq!(all.iter().map(|at| same(new, *at)).collect::<Vec<_>>(), [Some(first), None, Some(second)]);
        // Words of its line were edited.
        let new = "a:\n  say: one or two {{x}}\nb:\n  say: {{x}}, one {{x}}\n";
        let all: Vec<usize> = new.match_indices("{{x").map(|(at, _)| at).collect();
        assert_eq!(all.iter().map(|at| same(new, *at)).collect::<Vec<_>>(), [Some(first), None, Some(second)]);
        assert_eq!(former_offset("", "a", 0), None);
    }

    #[test]
    fn changes_are_shown_on_one_line() {
        assert_eq!(WordDiff::between_texts("say one\nthing", "say two\nthing").in_line(), "say [-one-]{+two+}⏎thing");
    }

    fn shown(before: &str, now: &str, context: Option<usize>) -> String {
        let part = |part: DiffPart| match part {
            DiffPart::Same(text) => text,
            DiffPart::Removed(text) => format!("[-{text}-]"),
            DiffPart::Added(text) => format!("{{+{text}+}}"),
            DiffPart::Cut => "...".to_owned(),
        };
        WordDiff::between_texts(before, now).merged_parts(context).into_iter().map(part).collect()
    }

    #[test]
    fn words_are_compared_and_not_letters() {
        assert_eq!(shown("Say one thing.", "Say two things.", None), "Say [-one thing-]{+two things+}.");
        assert_eq!(shown("two after x", "two well after x", None), "two {+well +}after x");
        assert_eq!(shown("", "new", None), "{+new+}");
        assert_eq!(shown("gone", "", None), "[-gone-]");
        assert_eq!(shown("same", "same", None), "same");
        assert_eq!(shown("naïve größe", "naïve Größe", None), "naïve [-größe-]{+Größe+}");
    }

    #[test]
    fn what_is_the_same_is_cut_between_changes_and_at_both_ends() {
        let long = "a b c d e f g h";
        assert_eq!(
            shown(&format!("{long} X {long}"), &format!("{long} Y {long}"), Some(2)),
            "...g h [-X-]{+Y+} a b..."
        );
        let both = |x: &str, y: &str| format!("{x} {long} {y}");
        assert_eq!(shown(&both("1", "2"), &both("3", "4"), Some(1)), "[-1-]{+3+} a...h [-2-]{+4+}");
        assert_eq!(shown("a b 1 c d", "a b 2 c d", Some(2)), "a b [-1-]{+2+} c d");
    }

    #[test]
    fn the_parts_are_the_text_as_it_is() {
        for (before, now) in [("a b c", "a x c d"), ("x\ny\n", "x\nz\ny\n"), ("", "q"), ("ö 1", "ö 2")] {
            let now_of = |part: DiffPart| match part {
                DiffPart::Same(text) | DiffPart::Added(text) => text,
                _ => String::new(),
            };
            let then_of = |part: DiffPart| match part {
                DiffPart::Same(text) | DiffPart::Removed(text) => text,
                _ => String::new(),
            };
            let parts = WordDiff::between_texts(before, now).merged_parts(None);
            assert_eq!(parts.clone().into_iter().map(now_of).collect::<String>(), now);
            assert_eq!(parts.into_iter().map(then_of).collect::<String>(), before);
        }
    }
}
