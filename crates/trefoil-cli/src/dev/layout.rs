//! Lays out differences between texts in lines of a terminal: wrapped between words, with the changed words marked.

use trefoil::runs::WordDiff;
use trefoil_view::diff::MarkedKind as Kind;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use crate::run::reuse_reasons::format_marked_words;
use crate::terminal_text::{TerminalText, escape_line};

/// A text with fewer words is never shown as rewritten.
const FEW: usize = 12;
/// The width of the marks around a changed word without colours.
const MARKS: usize = 4;

/// Words of one kind.
pub type DiffSpan = (Kind, String);

/// Text without changes.
pub fn plain_span(text: &str) -> DiffSpan {
    (Kind::Same, line(text))
}

/// A text on one line, without the indentation of its lines.
fn line(text: &str) -> String {
    let mut lines = text.split('\n');
    let mut all = lines.next().unwrap_or_default().to_owned();
    for next in lines {
        all.push_str("⏎ ");
        all.push_str(next.trim_start());
    }
    escape_line(&all).into_owned()
}

/// The changed words with some words around them. `whole`: long changes are not shortened.
pub fn diff_spans(diff: &WordDiff, whole: bool) -> Vec<DiffSpan> {
    diff.marked_words(whole, &line)
}

/// Whether more than half of the words are different, so that both texts are easier to read one after the other.
pub fn is_rewritten(diff: &WordDiff) -> bool {
    let words = |text: &str| text.split_whitespace().count();
    let words_in = |text: &str, range: &std::ops::Range<usize>| match text.get(range.clone()) {
        Some(text) => words(text),
        None => 0,
    };
    let all = words(&diff.before) + words(&diff.now);
    let mut changed = 0;
    for hunk in &diff.hunks {
        changed += words_in(&diff.before, &hunk.before) + words_in(&diff.now, &hunk.now);
    }
    let is_replaced = !diff.before.trim().is_empty() && !diff.now.trim().is_empty();
    is_replaced && all > FEW && changed * 2 > all
}

/// Words that are not separated by a space, so that no line ends between them.
#[derive(Default)]
struct LayoutWord {
    parts: Vec<DiffSpan>,
    /// Whether a space comes before it.
    spaced: bool,
}

/// Wraps a text between words.
pub fn wrap_spans(all: &[DiffSpan], width: usize, color: bool) -> Vec<TerminalText> {
    let width = width.max(20);
    let mut lines: Vec<Vec<DiffSpan>> = vec![Vec::new()];
    let mut used = 0;
    for word in words(all, width.saturating_sub(MARKS)) {
        let wide = cost(&word.parts, None, color);
        let Some(line) = lines.last_mut() else { break };
        let last = line.last().map(|(kind, _)| *kind);
        let room = usize::from(word.spaced) + cost(&word.parts, last, color);
        if used > 0 && used + room > width {
            used = wide;
            lines.push(word.parts);
            continue;
        }
        if word.spaced && used > 0 {
            // A space within a change belongs to it.
            let kind = match (word.parts.first(), last) {
                (Some((first, _)), Some(last)) if *first == last => last,
                _ => Kind::Same,
            };
            line.push((kind, " ".to_owned()));
        }
        used += if used > 0 { room } else { wide };
        line.extend(word.parts);
    }
    lines.retain(|line| !line.is_empty());
    lines.iter().map(|line| rendered(line, color)).collect()
}

/// The columns of some words after a word of another kind.
fn cost(parts: &[DiffSpan], last: Option<Kind>, color: bool) -> usize {
    let mut last = last;
    let mut all = 0;
    for (kind, text) in parts {
        let opens = !color && *kind != Kind::Same && last != Some(*kind);
        all += text.width() + if opens { MARKS } else { 0 };
        last = Some(*kind);
    }
    all
}

/// Splits at spaces, before words that replace others, and within words that are wider than a line.
fn words(all: &[DiffSpan], most: usize) -> Vec<LayoutWord> {
    let mut words: Vec<LayoutWord> = Vec::new();
    let mut open = LayoutWord::default();
    for (kind, text) in all {
        let replaces = *kind == Kind::Added && matches!(open.parts.last(), Some((Kind::Removed, _)));
        if replaces {
            words.push(std::mem::take(&mut open));
        }
        for (number, piece) in text.split(' ').enumerate() {
            if number > 0 {
                let done = std::mem::replace(&mut open, LayoutWord { parts: Vec::new(), spaced: true });
                words.push(done);
            }
            for c in piece.chars() {
                let width: usize = open.parts.iter().map(|(_, text)| text.width()).sum();
                if width + c.width().unwrap_or(0) > most {
                    words.push(std::mem::take(&mut open));
                }
                match open.parts.last_mut() {
                    Some((last, text)) if last == kind => text.push(c),
                    _ => open.parts.push((*kind, c.to_string())),
                }
            }
        }
    }
    words.push(open);
    words.retain(|word| !word.parts.is_empty());
    words
}

fn rendered(line: &[DiffSpan], color: bool) -> TerminalText {
    let mut out = TerminalText::default();
    for run in line.chunk_by(|(a, _), (b, _)| a == b) {
        let text: String = run.iter().map(|(_, text)| text.as_str()).collect();
        let kind = match run.first() {
            Some((kind, _)) => *kind,
            None => Kind::Same,
        };
        out.push(format_marked_words(kind, &text, color));
    }
    out.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, now: &str, width: usize) -> Vec<String> {
        wrap_spans(&diff_spans(&WordDiff::between_texts(before, now), true), width, false)
            .iter()
            .map(|line| line.as_str().to_owned())
            .collect()
    }

    #[test]
    fn lines_end_between_words_and_each_marks_its_own() {
        assert_eq!(shown("say one", "say two", 80), ["say [-one-]{+two+}"]);
        assert_eq!(shown("two after x", "two well after x", 80), ["two {+well+} after x"]);
        let added = "red green blue white black brown";
        assert_eq!(
            shown("the colours", &format!("the colours {added}."), 24),
            ["the colours {+red+}", "{+green blue white+}", "{+black brown.+}"]
        );
        let long = format!("{{+{}+}}", "x".repeat(20));
        assert_eq!(shown("", &"x".repeat(40), 24), [long.clone(), long]);
        assert_eq!(shown("a\n  b", "a\n  c", 80), ["a⏎ [-b-]{+c+}"]);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        let (before, now) = ("one two three four five six seven ".repeat(9), "one too three for five sick ".repeat(9));
        for width in [20, 33, 80] {
            assert!(shown(&before, &now, width).iter().all(|line| line.width() <= width));
        }
    }

    #[test]
    fn only_long_texts_count_as_rewritten() {
        let rewritten = |before: &str, now: &str| is_rewritten(&WordDiff::between_texts(before, now));
        assert!(!rewritten("yes", "no"));
        let (one, other) = ("a b c d e f g h i j", "k l m n o p q r s t");
        assert!(rewritten(one, other));
        assert!(!rewritten(one, "a b c d e f g h i k"));
        assert!(!rewritten("", one));
    }
}
