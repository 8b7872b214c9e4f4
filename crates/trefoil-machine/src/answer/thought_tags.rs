//! Thoughts before an answer, as reasoning models and their servers mark them in the text.

use super::pieces;

/// The names of the tags.
const NAMES: &[&str] =
    &["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "seed:think"];
/// What is around the name in an opening and in a closing tag.
const BRACKETS: &[[&str; 3]] = &[["<", "</", ">"], ["[", "[/", "]"], ["◁", "◁/", "▷"]];

/// The opening and the closing tags.
fn tags() -> impl Iterator<Item = (String, String)> {
    BRACKETS.iter().flat_map(|[open, close, end]| {
        NAMES.iter().map(move |name| (format!("{open}{name}{end}"), format!("{close}{name}{end}")))
    })
}

/// The length of the thoughts at the start of a text: tags with their contents, or everything before a closing tag that was
/// not opened, because some servers remove the opening one. A tag inside JSON is part of a value.
pub fn thoughts_length(text: &str) -> usize {
    // Lower case in ASCII only, so that places are the same.
    let lower = text.to_ascii_lowercase();
    let tags: Vec<_> = tags().filter(|(_, close)| lower.contains(close)).collect();
    if tags.is_empty() {
        return 0;
    }
    let values = pieces::find_json_pieces(text);
    let closing = |close: &str, from: usize| {
        let all = lower.get(from..).unwrap_or_default().match_indices(close);
        let outside = |at: &usize| !values.iter().any(|value| (value.at..value.end).contains(at));
        all.map(|(at, _)| from + at).find(outside).map(|at| at + close.len())
    };
    let mut length = 0;
    loop {
        let rest = lower.get(length..).unwrap_or_default();
        let start = lower.len() - rest.trim_start().len();
        let opened = tags.iter().find(|(open, _)| rest.trim_start().starts_with(open));
        match opened.and_then(|(open, close)| closing(close, start + open.len())) {
            Some(end) => length = end,
            None => break,
        }
    }
    if length > 0 {
        return length;
    }
    tags.iter().filter_map(|(_, close)| closing(close, 0)).min().unwrap_or_default()
}
