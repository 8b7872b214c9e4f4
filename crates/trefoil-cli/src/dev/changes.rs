//! The differences between two outputs: by field if they are objects, and as two texts if most words are different.

use serde_json::Value as Json;
use trefoil::runs::WordDiff;
use trefoil_template::Value;
use trefoil_view::diff::{ValueChange, changed_values};

use super::layout::{DiffSpan, diff_spans, is_rewritten, plain_span, wrap_spans};
use crate::shown;
use crate::terminal_text::TerminalText;
use crate::words::{count_of, parse_structured};

/// The column at which texts of a step start.
pub const INDENT: usize = 8;

/// How to lay it out.
#[derive(Clone, Copy)]
pub struct DiffLayout {
    /// Whether changed words are coloured.
    pub color: bool,
    /// The columns.
    pub width: usize,
    /// Maximum number of lines; `None`: everything.
    pub most: Option<usize>,
}

/// A field that differs: its path, empty for a text alone, and the texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChange {
    pub path: String,
    pub before: String,
    pub now: String,
}

/// The fields that differ between two outputs.
pub fn changed_fields(before: &Value, now: &Value) -> Vec<FieldChange> {
    // Some formats keep the answer of a step as text, even if it is JSON.
    let read = |json: &Json| Some(parse_structured(json.as_str()?)?.to_json());
    let text = |json: Option<Json>| match json {
        Some(json) => Value::from_json(json).to_text().to_string(),
        None => String::new(),
    };
    let field = |one: ValueChange| FieldChange { path: one.path, before: text(one.before), now: text(one.now) };
    changed_values(Some(&before.to_json()), Some(&now.to_json()), &read).into_iter().map(field).collect()
}

/// The lines of some fields, indented.
pub fn render_fields(fields: &[FieldChange], look: DiffLayout) -> Vec<TerminalText> {
    // A line that is cut ends with ` ...`.
    let width = look.width.saturating_sub(INDENT + 4);
    let mut blocks: Vec<(&str, Vec<TerminalText>)> = Vec::new();
    for FieldChange { path, before, now } in fields {
        let diff = WordDiff::between_texts(before, now);
        let block = |text: Vec<DiffSpan>| {
            let mut spans = Vec::new();
            if !path.is_empty() {
                spans.push(plain_span(&format!("{path}: ")));
            }
            spans.extend(text);
            wrap_spans(&spans, width, look.color)
        };
        match is_rewritten(&diff) {
            true => {
                blocks.push(("was", block(vec![plain_span(before)])));
                blocks.push(("now", block(vec![plain_span(now)])));
            }
            false => blocks.push(("now", block(diff_spans(&diff, look.most.is_none())))),
        }
    }
    let all: usize = blocks.iter().map(|(_, lines)| lines.len()).sum();
    let mut left = look.most.unwrap_or(all).max(1);
    let mut shown = Vec::new();
    let count = blocks.len();
    for (number, (word, lines)) in blocks.into_iter().enumerate() {
        // What one text does not need is for the following ones.
        let share = (left / (count - number)).max(usize::from(left > 0)).min(left);
        let most = share.min(lines.len());
        left -= most;
        let is_cut = most < lines.len();
        for (n, line) in lines.into_iter().take(most).enumerate() {
            let word = if n == 0 { word } else { "" };
            let rest = if is_cut && n + 1 == most { " ..." } else { "" };
            shown.push(shown!("{}  {}{}", format!("{word:>6}"), line, rest));
        }
    }
    let more = all.saturating_sub(shown.len());
    if more > 0 {
        let more = count_of(more as u64, "more line");
        shown.push(format!("{:INDENT$}... {more} (d: show all)", "").into());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(json: &str) -> Value {
        Value::parse(json).unwrap()
    }

    fn shown(before: &Value, now: &Value, most: Option<usize>) -> Vec<String> {
        render_fields(&changed_fields(before, now), DiffLayout { color: false, width: 60, most })
            .iter()
            .map(|line| line.as_str().to_owned())
            .collect()
    }

    #[test]
    fn objects_are_compared_by_field() {
        let (before, now) =
            (value(r#"{"a": "x", "b": {"c": 1, "d": 2}}"#), value(r#"{"a": "x", "b": {"c": 3, "e": 2}}"#));
        assert_eq!(shown(&before, &now, None), ["   now  b.c: [-1-]{+3+}", "   now  b.d: [-2-]", "   now  b.e: {+2+}"]);
        // Also if they are texts.
        let text = |value: &Value| Value::from(value.to_json().to_string());
        assert_eq!(shown(&text(&before), &text(&now), None), shown(&before, &now, None));
    }

    #[test]
    fn rewritten_texts_are_shown_one_after_the_other_in_a_few_lines() {
        let prose = |word: &str| Value::from((0..60).map(|n| format!("{word}{n}")).collect::<Vec<_>>().join(" "));
        let all = shown(&prose("then"), &prose("now"), Some(6));
        assert_eq!(all.len(), 7, "{all:#?}");
        assert!(all[0].starts_with("   was  then0 ") && all[3].starts_with("   now  now0 "), "{all:#?}");
        assert!(all[2].ends_with(" ...") && all[6].ends_with("more lines (d: show all)"), "{all:#?}");
        assert!(shown(&prose("then"), &prose("now"), None).len() > 12);
    }
}
