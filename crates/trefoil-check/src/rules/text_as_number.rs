//! Text compared as a number.

use trefoil_ir::types::ValueKind;
use trefoil_syntax::FindingSeverity;
use trefoil_template::Value;

use crate::rule::{RuleContext, RuleGroup, Rule, RuleSource};
use crate::semantic::comparisons::{TypedComparison, ComparisonSide};

pub(super) const RULE: Rule = Rule {
    name: "text-as-number",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("text_as_number.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    let model = cx.model;
    for compared in model.typed_comparisons().iter().filter(|c| c.is_ordering()) {
        let sides = [(&compared.value, &compared.other), (&compared.other, &compared.value)];
        let Some((message, help)) = sides.into_iter().find_map(|(text, other)| wrong(compared, text, other)) else {
            continue;
        };
        let d = cx.new_finding(compared.at, message);
        cx.report_finding(d.with_help(help));
    }
}

/// Why comparing the order of this text and the other side is wrong.
fn wrong(compared: &TypedComparison, text: &ComparisonSide, other: &ComparisonSide) -> Option<(String, String)> {
    let is_number = other.schema.is_kind(ValueKind::Number);
    if !text.schema.is_kind(ValueKind::Text) {
        return None;
    }
    let name = &text.words;
    if compared.strict {
        if let Some(written) = other.literal.as_ref().and_then(Value::as_str).filter(|t| reads_as_number(t) && !is_code(t)) {
            let message = format!("`{name}` and `{written}` are compared as text, character by character, so `9` is greater than `10`");
            let number = compared.words.number?;
            return Some((message, format!("convert it to a number with `{number}`, and remove the quotes")));
        }
        let message = format!("`{name}` is text and cannot be compared with a number, so the condition is false");
        if text.literal.as_ref().and_then(Value::as_str).is_some_and(reads_as_number) && is_number {
            return Some((message, format!("remove the quotes: write `{name}`")));
        }
        let number = compared.words.number.filter(|_| is_number)?;
        return Some((message, format!("convert it to a number with `{number}`")));
    }
    if let Some(choices) = text.schema.allowed_values() {
        let words: Vec<&str> = choices.iter().filter_map(Value::as_str).collect();
        if words.iter().any(|w| reads_as_number(w)) {
            return None;
        }
        let help = "compare words with `==`; only numbers, and text that reads as a number, can be ordered";
        return Some((format!("`{name}` never reads as a number, so this can never be true"), help.to_owned()));
    }
    // A value from the environment is always text, and its type is not declared.
    if name.starts_with("env.") || name.starts_with("secrets.") {
        return None;
    }
    let open = text.schema.is_answer() || text.schema.json_content().is_some() || ["pattern", "format"].iter().any(|k| text.schema.schema_keyword(k).is_some());
    if open || !is_number {
        return None;
    }
    let message = format!("`{name}` is declared as text but compared as a number");
    let help = "declare it as a number; text that does not read as a number makes the comparison false";
    Some((message, help.to_owned()))
}

/// Whether digits are a year, a post code or another code, whose order as text is intended.
fn is_code(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit()) || text.len() > 1 && text.starts_with('0') && !text.contains('.')
}

/// The numbers in text that conditions accept (`[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`).
fn reads_as_number(text: &str) -> bool {
    let text = text.trim();
    text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) && text.parse::<f64>().is_ok()
}
