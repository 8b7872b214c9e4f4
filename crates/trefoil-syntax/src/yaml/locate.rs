//! Small helpers for positions in the raw text that parser events do not give: line ends, the start of the next value.

/// The start of the line that contains `at`.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    match before.iter().rposition(|b| matches!(b, b'\n' | b'\r')) {
        Some(line_break) => line_break + 1,
        None => 0,
    }
}

/// The end of the line that contains `at`, before its line break.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let after = text.as_bytes().get(at..).unwrap_or_default();
    at + after.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(after.len())
}

/// The start of the next line, or the end of the text.
pub(super) fn next_line(text: &str, at: usize) -> usize {
    let end = line_end(text, at);
    match text.as_bytes().get(end..).unwrap_or_default() {
        [b'\r', b'\n', ..] => end + 2,
        [_, ..] => end + 1,
        [] => end,
    }
}

/// Whether two offsets are on the same line.
pub(super) fn same_line(text: &str, a: usize, b: usize) -> bool {
    let between = text.as_bytes().get(a.min(b)..a.max(b)).unwrap_or_default();
    !between.iter().any(|b| matches!(b, b'\n' | b'\r'))
}

/// The end of the content of this line from `at` on, without comments and trailing blanks.
pub(super) fn content_end(text: &str, at: usize) -> usize {
    let line = text.get(at..line_end(text, at)).unwrap_or_default();
    for (hash, _) in line.match_indices('#') {
        let before = line.get(..hash).unwrap_or_default();
        if before.ends_with([' ', '\t']) {
            return at + before.trim_end().len();
        }
    }
    at + line.trim_end().len()
}

/// Whether the value at `at` continues on the next lines: the next line is indented further than the key.
pub(super) fn goes_on(text: &str, at: usize) -> bool {
    let start = line_start(text, at);
    let column = |line: &str, skip: &[char]| line.len() - line.trim_start_matches(skip).len();
    let key = column(text.get(start..line_end(text, at)).unwrap_or_default(), &[' ', '-']);
    let below = text.get(next_line(text, at)..).unwrap_or_default();
    let Some(next) = below.lines().find(|line| !line.trim().is_empty()) else { return false };
    !next.trim_start().starts_with('#') && column(next, &[' ']) > key
}

/// The start of the next value after the token that ends at `at`, after separators, comments, tags and anchors.
pub(super) fn value_start(text: &str, at: usize) -> usize {
    skip(text, at, true)
}

/// Like [`value_start`], but the `-` of a list item counts as the start of its list.
pub(super) fn list_start(text: &str, at: usize) -> usize {
    skip(text, at, false)
}

fn skip(text: &str, mut at: usize, items: bool) -> usize {
    let bytes = text.as_bytes();
    loop {
        let rest = bytes.get(at..).unwrap_or_default();
        // A byte order mark may precede every document, not only the first (YAML 1.2.2, 5.2); the parser skips several.
        let line_begins = || {
            let before = text.get(line_start(text, at)..at);
            matches!(before, Some(before) if before.trim_start_matches('\u{feff}').is_empty())
        };
        let before = bytes.get(..at).unwrap_or_default();
        let blank_before = || matches!(before, [.., b' ' | b'\t']) || line_begins();
        match rest {
            [b' ' | b'\t' | b'\n' | b'\r' | b':' | b',', ..] => at += 1,
            [b'-', b' ' | b'\t' | b'\n' | b'\r', ..] if !items => return at,
            [b'-' | b'?', b' ' | b'\t' | b'\n' | b'\r', ..] => at += 1,
            [b'-', b'-', b'-', ..] | [b'.', b'.', b'.', ..] if line_begins() => at += 3,
            [b'#', ..] if blank_before() => at = line_end(text, at),
            [b'%', ..] if line_begins() => at = line_end(text, at),
            [b'!', b'<', ..] => {
                at += match rest.iter().position(|b| *b == b'>') {
                    Some(end) => end + 1,
                    None => rest.len(),
                }
            }
            [b'!' | b'&', ..] => {
                let word =
                    rest.iter().position(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',')).unwrap_or(rest.len());
                at += word;
            }
            [0xEF, 0xBB, 0xBF, ..] if line_begins() => at += 3,
            _ => return at,
        }
    }
}

/// The end of the word at `at`. The word has at least one character, unless the line ends there.
pub(super) fn word_end(text: &str, at: usize) -> usize {
    let rest = text.get(at..line_end(text, at)).unwrap_or_default();
    let first = rest.chars().next().map_or(0, char::len_utf8);
    let word = rest.find(|c: char| c.is_whitespace() || matches!(c, ',' | '[' | ']' | '{' | '}' | ':' | '"' | '\''));
    at + word.unwrap_or(rest.len()).max(first)
}

/// The range, extended to whole characters.
pub(super) fn whole_characters(text: &str, start: usize, end: usize) -> (usize, usize) {
    let start = (0..=start.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let end = (end.max(start)..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    (start, end)
}
