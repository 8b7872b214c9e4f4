//! Helpers for the tree and the step: members of the JSON, figures, escaped text.

use serde_json::Value;
use trefoil_ir::prices::DollarAmount;
use trefoil_machine::AnswerSender;

use crate::terminal_text::escape_lines;
use crate::words::{exit_line, fit_start, format_time, group_digits, preview_value};

/// A member that is text.
pub fn text_member<'v>(value: &'v Value, key: &str) -> Option<&'v str> {
    value.get(key)?.as_str()
}

/// A member that is a number.
pub fn number_member(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// A member that is a list; empty if it is missing.
pub fn list_member<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    match value.get(key) {
        Some(Value::Array(items)) => items,
        _ => &[],
    }
}

/// Escapes text for a terminal, except line breaks and tabs.
pub fn escape_text(text: &str) -> String {
    escape_lines(text).into_owned()
}

/// Escapes text for one line of at most this width.
pub fn fit_line(text: &str, most: usize) -> String {
    // Every character needs at least one column, except those without a width.
    let some = text.chars().take(most.saturating_mul(4).saturating_add(16));
    let flat: String = some.map(|c| if c == '\n' || c == '\t' { ' ' } else { c }).collect();
    fit_start(&escape_text(&flat), most, "…")
}

/// A value on one line, without the object around its text.
pub fn brief_text(value: &Value) -> String {
    preview_value(&trefoil_template::Value::from_json(value.clone()))
}

/// A value as text: text as it is, anything else as JSON.
pub fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => format!("{value:#}"),
        other => other.to_string(),
    }
}

/// `1.2 s`; `?` if it is unknown.
pub fn duration_text(value: &Value) -> String {
    match number_member(value, "duration_ms") {
        Some(ms) => format_time(ms),
        None => "?".to_owned(),
    }
}

/// `flow.yaml:12:9`
pub fn location_text(value: &Value) -> Option<String> {
    let file = escape_text(text_member(value, "file")?);
    let at = match (number_member(value, "line")?, number_member(value, "column")) {
        (line, Some(column)) => format!("{file}:{line}:{column}"),
        (line, None) => format!("{file}:{line}"),
    };
    Some(at)
}

/// Who gave an answer: `by ada, 2026-03-01T09:05:00.250Z, from terminal`
pub fn receipt_text(call: &Value) -> Option<String> {
    let receipt = call.get("given_by")?;
    let part = |name| fit_line(text_member(receipt, name).unwrap_or_default(), 200);
    let (name, at, origin) = (part("name"), part("at"), part("origin"));
    let name = if name.is_empty() { name } else { format!("by {name}, ") };
    Some(match origin.as_str() {
        "" => format!("{name}{at}"),
        AnswerSender::BEFORE_RUN => format!("{name}{at}, {origin}"),
        _ => format!("{name}{at}, from {origin}"),
    })
}

/// `CODE: message`
pub fn failure_text(error: &Value) -> String {
    let message = text_member(error, "message").unwrap_or_default();
    match text_member(error, "code") {
        Some(code) => format!("{}: {}", escape_text(code), escape_text(message)),
        None => escape_text(message),
    }
}

/// The tokens of all calls of a step; `None` if it called no model, or if no provider accepted its calls.
pub fn step_usage_text(step: &Value) -> Option<String> {
    let mut usages: Vec<&Value> = Vec::new();
    for call in list_member(step, "calls") {
        if text_member(call, "effect") == Some("model") {
            usages.extend(call_usage(call));
        }
    }
    if usages.is_empty() { None } else { Some(usage_text(&usages)) }
}

/// The usage of a call. `None` if it was rejected and used nothing; null if the usage is unknown.
pub fn call_usage(call: &Value) -> Option<&Value> {
    match call.get("usage") {
        None if call.get("error").is_some() => None,
        usage => Some(usage.unwrap_or(&Value::Null)),
    }
}

/// The help for an error: its own, otherwise that of its code.
pub fn error_advice(error: &Value) -> Option<String> {
    if let Some(help) = text_member(error, "help") {
        return Some(escape_text(help));
    }
    // What a called run failed for has to be fixed first.
    if let Some(called) = error.get("called")
        && let Some(help) = error_advice(called)
    {
        return Some(help);
    }
    let cause = error.get("cause").and_then(|cause| serde_json::from_value(cause.clone()).ok());
    let advice = trefoil_project::codes::help::find_advice(
        text_member(error, "code")?,
        cause.as_ref(),
        text_member(error, "namespace"),
    )?;
    Some(advice.to_owned())
}

/// `171 tokens`, `at least 171 tokens`, or `? tokens` if providers did not report the usage.
pub fn usage_text(usages: &[&Value]) -> String {
    let known = sum_of(usages, "input_tokens").saturating_add(sum_of(usages, "output_tokens"));
    let unknown = usages.iter().any(|usage| usage.is_null() || number_member(usage, "unknown_calls").unwrap_or(0) > 0);
    let tokens = match (known, unknown) {
        (0, true) => "? tokens".to_owned(),
        (n, true) => format!("at least {} tokens", group_digits(n)),
        (n, false) => format!("{} tokens", group_digits(n)),
    };
    match money(usages) {
        Some(money) => format!("{tokens}, {money}"),
        None => tokens,
    }
}

/// The sum of a member of all usages that have it.
fn sum_of(usages: &[&Value], key: &str) -> u64 {
    let mut sum = 0u64;
    for usage in usages {
        sum = sum.saturating_add(number_member(usage, key).unwrap_or(0));
    }
    sum
}

/// `$0.0123`, `at least $0.0123`, `$?`; `None` if it was free.
fn money(usages: &[&Value]) -> Option<String> {
    match (sum_of(usages, "cost_micro"), sum_of(usages, "unpriced_calls")) {
        (0, 0) => None,
        (0, _) => Some("$?".to_owned()),
        (n, 0) => Some(DollarAmount(n).to_string()),
        (n, _) => Some(format!("at least {}", DollarAmount(n))),
    }
}

/// `exit 1  ls: no such file`, if the last call of a step is a command that has failed.
pub fn command_failure(step: &Value) -> Option<String> {
    let call = list_member(step, "calls").last()?;
    let answer = call.get("answer")?;
    if text_member(call, "effect") != Some("command") || text_member(answer, "status") != Some("failed") {
        return None;
    }
    let (code, stderr) = (answer.get("exit_code")?, text_member(answer, "stderr").unwrap_or_default());
    Some(exit_line(code, stderr))
}

/// Whether a step was stopped, because a step around it or the run ended.
pub fn is_stopped(step: &Value) -> bool {
    matches!(text_member(step, "status"), Some("stopped" | "cancelled" | "interrupted"))
        || text_member(step, "handled_as") == Some("cancel")
}

/// How the run handled a failure; `None` if it was not handled.
pub fn handling_text(step: &Value) -> Option<String> {
    Some(match text_member(step, "handled_as")? {
        "fail" | "cancel" => return None,
        "default" => "its default is used".to_owned(),
        "skip" => "the run continues without it".to_owned(),
        "fallback" => "its fallback is used".to_owned(),
        "retry" => "it is retried".to_owned(),
        "told" => "it is reported to the model".to_owned(),
        "transition" => "a transition handles it".to_owned(),
        other => fit_line(other, 30),
    })
}
