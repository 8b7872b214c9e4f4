//! Thoughts before an answer, as reasoning models and their servers mark them in the text.

use super::pieces;

/// The names of the tags.
const NAMES: &[&str] =
    &["think", "thinking", "thought", "thoughts", "reasoning", "reflection", "scratchpad", "seed:think"];
/// What is around the name in an opening and in a closing tag.
const BRACKETS: &[[&str; 3]] = &[["<", "</", ">"], ["[", "[/", "]"], ["◁", "◁/", "▷"]];

/// The opening and the closing tags of which a text has the closing one.
fn tags(text: &str) -> Vec<(String, String)> {
    let mut tags = Vec::new();
    for [open, close, end] in BRACKETS {
        for name in NAMES {
            let closing = format!("{close}{name}{end}");
            if text.contains(&closing) {
                tags.push((format!("{open}{name}{end}"), closing));
            }
        }
    }
    tags
}

/// The length of the thoughts at the start of a text: tags with their contents, or everything before a closing tag that was
/// not opened, because some servers remove the opening one. A tag inside JSON is part of a value.
pub fn thoughts_length(text: &str) -> usize {
    // Lower case in ASCII only, so that places are the same.
    let lower = text.to_ascii_lowercase();
    let tags = tags(&lower);
    if tags.is_empty() {
        return 0;
    }
    let values = pieces::find_json_pieces(text);
    let closing = |close: &str, from: usize| {
        for (at, _) in lower.get(from..).unwrap_or_default().match_indices(close) {
            let start = from + at;
            if !values.iter().any(|value| (value.at..value.end).contains(&start)) {
                return Some(start + close.len());
            }
        }
        None
    };
    let mut length = 0;
    loop {
        let rest = lower.get(length..).unwrap_or_default();
        let start = lower.len() - rest.trim_start().len();
        let Some((open, close)) = tags.iter().find(|(open, _)| rest.trim_start().starts_with(open)) else { break };
        let Some(end) = closing(close, start + open.len()) else { break };
        length = end;
    }
    if length > 0 {
        return length;
    }
    tags.iter().filter_map(|(_, close)| closing(close, 0)).min().unwrap_or_default()
}
