//! The parts of an answer that may be JSON.

use std::ops::Range;

use serde::de::IgnoredAny;
use trefoil_template::Value;

/// The maximum number of places in a prose answer where JSON is searched. Each attempt may read the whole text.
const MAX_LOOKS: usize = 32;
/// The maximum length in bytes of a prose answer that is searched.
const MAX_PROSE: usize = 1 << 20;

/// A JSON object or list in a text.
pub struct JsonPiece {
    /// Where it starts.
    pub at: usize,
    /// Where it ends.
    pub end: usize,
    pub value: Value,
}

/// The JSON objects and lists in a prose text, except nested ones.
pub fn find_json_pieces(text: &str) -> Vec<JsonPiece> {
    let mut found = Vec::new();
    let mut from = if text.len() <= MAX_PROSE { 0 } else { text.len() };
    for _ in 0..MAX_LOOKS {
        let rest = text.get(from..).unwrap_or_default();
        let Some(start) = rest.find(['{', '[']) else { break };
        let at = from + start;
        match read_start(text.get(at..).unwrap_or_default()) {
            Some((value, length)) => {
                from = at + length;
                found.push(JsonPiece { at, end: from, value });
            }
            None => from = at + 1,
        }
    }
    found
}

/// The JSON at the start of a text, and its length.
fn read_start(text: &str) -> Option<(Value, usize)> {
    // Any JSON ends where it would end without halves of surrogate pairs.
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<IgnoredAny>();
    values.next()?.ok()?;
    let length = values.byte_offset();
    let value = Value::parse(text.get(..length)?).ok()?;
    Some((value, length))
}

/// A code fence.
pub struct CodeFence {
    /// With its marks.
    pub whole: Range<usize>,
    pub inside: Range<usize>,
}

/// The code fences in a text. Marks count only at the start of a line; elsewhere they may be part of a value.
pub fn find_fences(text: &str) -> Vec<CodeFence> {
    let mut found = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        match (line.trim().strip_prefix("```"), open) {
            // The rest of the opening line may name a language.
            (Some(language), None) if !language.contains('`') => open = Some((at, end)),
            (Some(""), Some((start, inside))) => {
                found.push(CodeFence { whole: start..end, inside: inside..at });
                open = None;
            }
            _ => {}
        }
        at = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_in_prose_is_found_and_other_braces_are_skipped() {
        let found = |text: &str| {
            find_json_pieces(text).iter().map(|piece| piece.value.to_json().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(found("Sure! {\"a\": [1]} is it."), ["{\"a\":[1]}"]);
        assert_eq!(found("{x} and {\"a\": 1}, see [1]"), ["{\"a\":1}", "[1]"]);
        assert_eq!(found("cut {\"a\": \"\\ud83c\"}!"), ["{\"a\":\"\u{fffd}\"}"]);
        assert_eq!(found("a { b [ c"), Vec::<String>::new());
        assert_eq!(found(&"[".repeat(100_000)), Vec::<String>::new());
    }

    #[test]
    fn fences_are_found_at_the_start_of_lines() {
        let found = |text: &'static str| {
            find_fences(text).into_iter().map(|fence| text[fence.inside].trim()).collect::<Vec<_>>()
        };
        assert_eq!(found("Here:\n```json\n{}\n```\nDone."), ["{}"]);
        assert_eq!(found("  ```\n[1]\n  ```"), ["[1]"]);
        assert_eq!(found("```\n1\n```\nor\n```\n2\n```"), ["1", "2"]);
        assert_eq!(found("```\n1\n```x\n```"), ["1\n```x"]);
        assert_eq!(found("{\"code\": \"```\"}"), [""; 0]);
        assert_eq!(found("```\nopen"), [""; 0]);
    }
}
