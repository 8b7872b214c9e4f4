//! Text compared as a number.

use trefoil_ir::types::ValueKind;
use trefoil_syntax::FindingSeverity;

use super::constant_comparisons::literal_text;
use crate::rule::{Rule, RuleContext, RuleGroup, RuleSource};
use crate::semantic::comparisons::{ComparisonSide, TypedComparison};

pub(super) const RULE: Rule = Rule {
    name: "text-as-number",
    group: RuleGroup::Types,
    level: Some(FindingSeverity::Warning),
    strict: Some(FindingSeverity::Error),
    page: include_str!("text_as_number.md"),
    run: RuleSource::Program(run),
};

fn run(cx: &mut RuleContext<'_>) {
    for compared in cx.model.typed_comparisons() {
        if !compared.is_ordering() {
            continue;
        }
        let (value, other) = (&compared.value, &compared.other);
        let fault = wrong(compared, value, other).or_else(|| wrong(compared, other, value));
        let Some((message, help)) = fault else { continue };
        let d = cx.new_finding(compared.at, message);
        cx.report_finding(d.with_help(help));
    }
}

/// Why comparing the order of this text and the other side is wrong.
fn wrong(compared: &TypedComparison, text: &ComparisonSide, other: &ComparisonSide) -> Option<(String, String)> {
    if !text.schema.is_kind(ValueKind::Text) {
        return None;
    }
    if compared.strict {
        return wrong_if_strict(compared, text, other);
    }
    let name = &text.words;
    if let Some(choices) = text.schema.allowed_values() {
        if choices.iter().any(|choice| matches!(choice.as_str(), Some(word) if reads_as_number(word))) {
            return None;
        }
        let help = "compare words with `==`; only numbers, and text that reads as a number, can be ordered";
        return Some((format!("`{name}` never reads as a number, so this can never be true"), help.to_owned()));
    }
    // A value from the environment is always text, and its type is not declared.
    if name.starts_with("env.") || name.starts_with("secrets.") {
        return None;
    }
    let has_form = text.schema.schema_keyword("pattern").is_some() || text.schema.schema_keyword("format").is_some();
    let open = text.schema.is_answer() || text.schema.json_content().is_some() || has_form;
    if open || !other.schema.is_kind(ValueKind::Number) {
        return None;
    }
    let message = format!("`{name}` is declared as text but compared as a number");
    let help = "declare it as a number; text that does not read as a number makes the comparison false";
    Some((message, help.to_owned()))
}

/// The same in a language that does not read text as a number.
fn wrong_if_strict(
    compared: &TypedComparison,
    text: &ComparisonSide,
    other: &ComparisonSide,
) -> Option<(String, String)> {
    let name = &text.words;
    if let Some(written) = literal_text(other)
        && reads_as_number(written)
        && !is_code(written)
    {
        let message = format!(
            "`{name}` and `{written}` are compared as text, character by character, so `9` is greater than `10`"
        );
        let number = compared.words.number?;
        return Some((message, format!("convert it to a number with `{number}`, and remove the quotes")));
    }
    if !other.schema.is_kind(ValueKind::Number) {
        return None;
    }
    let message = format!("`{name}` is text and cannot be compared with a number, so the condition is false");
    if matches!(literal_text(text), Some(text) if reads_as_number(text)) {
        return Some((message, format!("remove the quotes: write `{name}`")));
    }
    let number = compared.words.number?;
    Some((message, format!("convert it to a number with `{number}`")))
}

/// Whether digits are a year, a post code or another code, whose order as text is intended.
fn is_code(text: &str) -> bool {
    text.len() >= 4 && text.bytes().all(|b| b.is_ascii_digit())
        || text.len() > 1 && text.starts_with('0') && !text.contains('.')
}

/// The numbers in text that conditions accept (`[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`).
fn reads_as_number(text: &str) -> bool {
    let text = text.trim();
    text.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c)) && text.parse::<f64>().is_ok()
}
