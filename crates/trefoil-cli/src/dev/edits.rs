//! What a save changed in a file: the lines, with the changed words marked.

use std::ops::Range;
use std::sync::Arc;

use trefoil::runs::WordDiff;

use super::changes::{INDENT, Look};
use super::layout::{spans, wrap};

/// Maximum number of places shown.
const PLACES: usize = 4;
/// Maximum number of lines for each of them.
const LINES: usize = 2;

/// A file that was saved.
pub struct Changed {
    /// Its name.
    pub name: String,
    /// Its text in the last run; `None`: unknown.
    pub before: Option<Arc<str>>,
    /// Its text; `None`: it was deleted.
    pub now: Option<Arc<str>>,
}

/// Whether all places of an edit are shown.
pub fn is_shown(before: &str, now: &str) -> bool {
    places(before, now).len() <= PLACES
}

/// The changed places of a text, with line numbers.
pub fn of(before: &str, now: &str, look: Look) -> Vec<String> {
    let all = places(before, now);
    let width = look.width.saturating_sub(INDENT + 4);
    let mut shown = Vec::new();
    for place in all.iter().take(PLACES) {
        let number = now.get(..place.now.start).unwrap_or_default().matches('\n').count() + 1;
        let text = |text: &str, range: &Range<usize>| text.get(range.clone()).unwrap_or_default().trim().to_owned();
        let diff = WordDiff::of(&text(before, &place.before), &text(now, &place.now));
        let lines = wrap(&spans(&diff, false), width, look.color);
        let count = lines.len();
        for (n, line) in lines.into_iter().take(LINES).enumerate() {
            let number = if n == 0 { number.to_string() } else { String::new() };
            let rest = if n + 1 == LINES && count > LINES { " ..." } else { "" };
            shown.push(format!("{number:>6}  {line}{rest}"));
        }
    }
    match all.len().saturating_sub(PLACES) {
        0 => {}
        1 => shown.push(format!("{:INDENT$}... 1 more place", "")),
        more => shown.push(format!("{:INDENT$}... {more} more places", "")),
    }
    shown
}

/// Byte ranges of whole lines in both texts.
struct Place {
    before: Range<usize>,
    now: Range<usize>,
}

fn places(before: &str, now: &str) -> Vec<Place> {
    let mut all: Vec<Place> = Vec::new();
    for hunk in WordDiff::of(before, now).hunks {
        // The texts around a change are the same in both files.
        let head = now.get(..hunk.now.start).unwrap_or_default();
        let start = head.len() - head.rfind('\n').map_or(0, |at| at + 1);
        let tail = now.get(hunk.now.end..).unwrap_or_default();
        let ends = |text: &str, range: &Range<usize>| text.get(range.clone()).is_some_and(|text| text.ends_with('\n'));
        let is_whole = start == 0 && (ends(before, &hunk.before) || ends(now, &hunk.now));
        let end = if is_whole { 0 } else { tail.find('\n').unwrap_or(tail.len()) };
        let place = Place {
            before: hunk.before.start.saturating_sub(start)..hunk.before.end + end,
            now: hunk.now.start - start..hunk.now.end + end,
        };
        match all.last_mut() {
            Some(last) if place.now.start <= last.now.end || place.before.start <= last.before.end => {
                (last.before.end, last.now.end) = (place.before.end, place.now.end);
            }
            _ => all.push(place),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, now: &str) -> Vec<String> {
        of(before, now, Look { color: false, width: 80, most: Some(6) })
    }

    #[test]
    fn an_edit_is_the_lines_that_changed() {
        let text = "a:\n  - one two\n  - three\n";
        assert_eq!(shown(text, &text.replace("two", "2")), ["     2  - one [-two-]{+2+}"]);
        assert_eq!(shown(text, &text.replace("one two", "1 2")), ["     2  - [-one two-]{+1 2+}"]);
        assert_eq!(shown(text, "a:\n  - one two\n  - more\n  - three\n"), ["     3  {+- more+}"]);
        assert_eq!(shown(text, "a:\n  - three\n"), ["     2  [-- one two-]"]);
        assert_eq!(
            shown(text, &text.replace("one", "1").replace("three", "3")),
            ["     2  - [-one-]{+1+} two", "     3  - [-three-]{+3+}"]
        );
        assert!(shown(text, text).is_empty());
    }

    #[test]
    fn many_edits_are_counted() {
        let text: String = (0..9).map(|n| format!("same\nword{n}\n")).collect();
        let all = shown(&text, &text.replace("word", "term"));
        assert_eq!(all.len(), 5);
        assert_eq!(all[4], "        ... 5 more places");
    }
}
