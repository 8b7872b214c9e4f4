//! Names of the steps of a trace, with the pass, item or attempt that distinguishes repeated steps.

use std::collections::HashSet;

use serde_json::Value;
use trefoil_machine::key::{escape_label, own_label};

use super::words::{brief_text, fit_line, number_member, text_member};

/// Maximum width of an item's value.
const ITEM: usize = 30;

/// The marks of keys that are worth showing: `pass 1` is not, if there is no second pass.
pub struct KeyMarks {
    /// Prefixes of keys up to and including a mark that occurs with a number above 1.
    several: HashSet<String>,
}

/// A mark in a key: its kind, its number, and its position.
struct KeyMark {
    sign: u8,
    number: u64,
    at: usize,
}

fn marks(key: &str) -> Vec<KeyMark> {
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(rest) = key.get(from..)
        && let Some(offset) = rest.find(['@', '[', '#', '!'])
    {
        let at = from + offset;
        let after = key.get(at + 1..).unwrap_or_default();
        let digit_count = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let digits = after.get(..digit_count).unwrap_or_default();
        if let Ok(number) = digits.parse()
            && let Some(sign) = key.as_bytes().get(at)
        {
            all.push(KeyMark { sign: *sign, number, at });
        }
        from = at + 1 + digit_count;
    }
    all
}

impl KeyMarks {
    /// The marks of all steps of a trace.
    pub fn from_steps(steps: &[Value]) -> Self {
        let mut several = HashSet::new();
        for step in steps {
            let Some(key) = text_member(step, "key") else { continue };
            for mark in marks(key) {
                if mark.number > 1
                    && mark.sign != b'['
                    && let Some(stem) = key.get(..=mark.at)
                {
                    several.insert(stem.to_owned());
                }
            }
        }
        Self { several }
    }

    /// The name of a step relative to its parent: `draft pass 2`, `worker item 2/20 Lima`.
    pub fn step_name(&self, step: &Value, parent: Option<&Value>, most: usize) -> String {
        let key = text_member(step, "key").unwrap_or_default();
        let above = match parent {
            Some(parent) => text_member(parent, "key").unwrap_or_default(),
            None => "",
        };
        let name = fit_line(text_member(step, "label").unwrap_or(key), most);
        let from = if key.starts_with(above) { above.len() } else { 0 };
        // The steps inside a model step are calls by the model.
        let called = matches!(parent, Some(parent) if text_member(parent, "kind") == Some("agent"));
        let mut words = if called { calls(key, from) } else { self.number_words(step, key, from) };
        // Steps that are the same agent have its name.
        if !called
            && let Some(own) = own_label(key)
            && let Some(label) = text_member(step, "label")
            && escape_label(label) != own
        {
            words.insert(0, fit_line(own, most));
        }
        if words.is_empty() { name } else { format!("{name} {}", words.join(", ")) }
    }

    /// The numbers of a step below its parent: `pass 2`, `item 2/20 Lima`.
    fn number_words(&self, step: &Value, key: &str, from: usize) -> Vec<String> {
        let item = step.get("item");
        let mut below = marks(key);
        below.retain(|mark| mark.at >= from);
        let innermost = below.iter().rposition(|mark| mark.sign == b'[');
        let mut words = Vec::new();
        for (n, mark) in below.iter().enumerate() {
            if mark.sign == b'[' {
                match item {
                    // The trace has the value of the innermost item.
                    Some(item) if Some(n) == innermost => words.push(self::item(item)),
                    _ => words.push(format!("item {}", mark.number.saturating_add(1))),
                }
                continue;
            }
            if matches!(key.get(..=mark.at), Some(stem) if self.several.contains(stem)) {
                let word = match mark.sign {
                    b'@' => "pass",
                    b'#' => "attempt",
                    _ => "try",
                };
                words.push(format!("{word} {}", mark.number));
            }
        }
        words
    }
}

/// `turn 2, call 1`
fn calls(key: &str, from: usize) -> Vec<String> {
    let mut words = Vec::new();
    for mark in marks(key) {
        match mark.sign {
            _ if mark.at < from => {}
            b'@' => words.push(format!("turn {}", mark.number)),
            b'[' => words.push(format!("call {}", mark.number.saturating_add(1))),
            _ => {}
        }
    }
    words
}

/// `item 2/20 Lima`
fn item(item: &Value) -> String {
    let count = |key| number_member(item, key).unwrap_or_default();
    let value = match item.get("value") {
        Some(value) if !value.is_null() => fit_line(&brief_text(value), ITEM),
        _ => String::new(),
    };
    format!("item {}/{} {value}", count("number"), count("total")).trim_end().to_owned()
}

/// Normalizes a name for comparisons: separators between words are ignored.
pub fn normalize_name(name: &str) -> String {
    let words = name.split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '`' | '…'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ").to_lowercase()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_says_what_tells_a_step_from_its_copies_and_no_more() {
        let steps = [
            json!({"key": "a@1/x", "label": "x"}),
            json!({"key": "b@1/y", "label": "y"}),
            json!({"key": "b@2/y", "label": "y"}),
            json!({"key": "c[1]/w", "label": "w", "item": {"number": 2, "total": 20, "value": "Lima"}}),
            json!({"key": "c[1]/w", "label": "w"}),
        ];
        let names = KeyMarks::from_steps(&steps);
        let all: Vec<String> = steps.iter().map(|step| names.step_name(step, None, 40)).collect();
        assert_eq!(all, ["x", "y pass 1", "y pass 2", "w item 2/20 Lima", "w item 2"]);
    }
}
