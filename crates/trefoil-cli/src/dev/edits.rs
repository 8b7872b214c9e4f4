//! What a save changed in a file: the lines, with the changed words marked.

use std::sync::Arc;

use trefoil::runs::WordDiff;
use trefoil_view::diff::changed_lines;

use super::changes::{DiffLayout, INDENT};
use super::layout::{diff_spans, wrap_spans};
use crate::shown;
use crate::terminal_text::TerminalText;
use crate::words::count_of;

/// Maximum number of places shown.
const PLACES: usize = 4;
/// Maximum number of lines for each of them.
const LINES: usize = 2;

/// A file that was saved.
pub struct SavedFile {
    /// Its name.
    pub name: String,
    /// Its text in the last run; `None`: unknown.
    pub before: Option<Arc<str>>,
    /// Its text; `None`: it was deleted.
    pub now: Option<Arc<str>>,
}

/// Whether all places of an edit are shown.
pub fn is_shown(before: &str, now: &str) -> bool {
    find_line_changes(before, now).len() <= PLACES
}

/// The changed places of a text, with line numbers.
pub fn render_changes(before: &str, now: &str, look: DiffLayout) -> Vec<TerminalText> {
    let all = find_line_changes(before, now);
    let width = look.width.saturating_sub(INDENT + 4);
    let mut shown = Vec::new();
    for place in all.iter().take(PLACES) {
        let diff = WordDiff::between_texts(place.before.trim(), place.now.trim());
        let lines = wrap_spans(&diff_spans(&diff, false), width, look.color);
        let count = lines.len();
        for (n, line) in lines.into_iter().take(LINES).enumerate() {
            let number = if n == 0 { place.number.to_string() } else { String::new() };
            let rest = if n + 1 == LINES && count > LINES { " ..." } else { "" };
            shown.push(shown!("{}  {}{}", format!("{number:>6}"), line, rest));
        }
    }
    let more = all.len().saturating_sub(PLACES);
    if more > 0 {
        let more = count_of(more as u64, "more place");
        shown.push(format!("{:INDENT$}... {more}", "").into());
    }
    shown
}

/// Lines that differ.
struct LineChange {
    /// The number of the first line in the new text.
    number: usize,
    before: String,
    now: String,
}

/// Compares two texts line by line. Lines that replace the same number of lines are separate places.
fn find_line_changes(before: &str, now: &str) -> Vec<LineChange> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), now.lines().collect());
    let mut all = Vec::new();
    for (then, range) in changed_lines(before, now) {
        let (then, first) = (old.get(then).unwrap_or_default(), range.start + 1);
        let lines = new.get(range).unwrap_or_default();
        if then.len() == lines.len() {
            let pairs = then.iter().zip(lines).enumerate();
            all.extend(pairs.map(|(n, (before, now))| LineChange {
                number: first + n,
                before: (*before).to_owned(),
                now: (*now).to_owned(),
            }));
        } else {
            all.push(LineChange { number: first, before: then.join("\n"), now: lines.join("\n") });
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, now: &str) -> Vec<String> {
        render_changes(before, now, DiffLayout { color: false, width: 80, most: Some(6) })
            .iter()
            .map(|line| line.as_str().to_owned())
            .collect()
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
