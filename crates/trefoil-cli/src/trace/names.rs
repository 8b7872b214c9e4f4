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
    while let Some(at) = key.get(from..).and_then(|rest| rest.find(['@', '[', '#', '!'])).map(|at| from + at) {
        let rest = key.get(at + 1..).unwrap_or_default();
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest.get(..digits).and_then(|digits| digits.parse().ok());
        if let (Some(number), Some(sign)) = (number, key.as_bytes().get(at).copied()) {
            all.push(KeyMark { sign, number, at });
        }
        from = at + 1 + digits;
    }
    all
}

impl KeyMarks {
    /// The marks of all steps of a trace.
    pub fn from_steps(steps: &[Value]) -> Self {
        let mut several = HashSet::new();
        for key in steps.iter().filter_map(|step| text_member(step, "key")) {
            let again = marks(key).into_iter().filter(|mark| mark.number > 1 && mark.sign != b'[');
            several.extend(again.filter_map(|mark| Some(key.get(..=mark.at)?.to_owned())));
        }
        Self { several }
    }

    /// The name of a step relative to its parent: `draft pass 2`, `worker item 2/20 Lima`.
    pub fn step_name(&self, step: &Value, parent: Option<&Value>, most: usize) -> String {
        let key = text_member(step, "key").unwrap_or_default();
        let above = parent.and_then(|p| text_member(p, "key")).unwrap_or_default();
        let name = fit_line(text_member(step, "label").unwrap_or(key), most);
        let from = if key.starts_with(above) { above.len() } else { 0 };
        // The steps inside a model step are calls by the model.
        let called = parent.and_then(|p| text_member(p, "kind")) == Some("agent");
        let label = text_member(step, "label").map(escape_label);
        // Steps that are the same agent have its name.
        let other = own_label(key).filter(|own| !called && label.is_some_and(|label| label != *own));
        let mut said = if called { calls(key, from) } else { self.said(step, key, from) };
        said.splice(0..0, other.map(|own| fit_line(own, most)));
        if said.is_empty() { name } else { format!("{name} {}", said.join(", ")) }
    }

    fn said(&self, step: &Value, key: &str, from: usize) -> Vec<String> {
        let mut item = step.get("item");
        let below: Vec<KeyMark> = marks(key).into_iter().filter(|mark| mark.at >= from).collect();
        let last = below.iter().rposition(|mark| mark.sign == b'[');
        let word = |(n, mark): (usize, KeyMark)| match mark.sign {
            // The trace has the value of the innermost item.
            b'[' if Some(n) == last && item.is_some() => item.take().map(self::item),
            b'[' => Some(format!("item {}", mark.number.saturating_add(1))),
            sign => {
                let known = key.get(..=mark.at).is_some_and(|stem| self.several.contains(stem));
                let word = match sign {
                    b'@' => "pass",
                    b'#' => "attempt",
                    _ => "try",
                };
                known.then(|| format!("{word} {}", mark.number))
            }
        };
        below.into_iter().enumerate().filter_map(word).collect()
    }
}

/// `turn 2, call 1`
fn calls(key: &str, from: usize) -> Vec<String> {
    let word = |mark: KeyMark| match mark.sign {
        b'@' => Some(format!("turn {}", mark.number)),
        b'[' => Some(format!("call {}", mark.number.saturating_add(1))),
        _ => None,
    };
    marks(key).into_iter().filter(|mark| mark.at >= from).filter_map(word).collect()
}

/// `item 2/20 Lima`
fn item(item: &Value) -> String {
    let count = |key| number_member(item, key).unwrap_or_default();
    let value = item.get("value").filter(|v| !v.is_null()).map(|v| fit_line(&brief_text(v), ITEM)).unwrap_or_default();
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
