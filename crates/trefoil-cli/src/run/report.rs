//! The end of a run, for a person.

use trefoil::Loaded;
use trefoil::engine::explain;
use trefoil::runtime::{Cause, RunError};
use trefoil::template::Value;

use crate::output;

/// A result as text: text as it is, anything else as JSON.
pub fn text(value: &Value) -> String {
    match value {
        Value::Str(text) => text.to_string(),
        Value::List(_) | Value::Object(_) => format!("{:#}", value.to_json()),
        other => other.to_text().to_string(),
    }
}

/// Why a run failed: code, message, step, excerpt, cause, what to do.
pub fn failure(loaded: &Loaded, error: &RunError) -> String {
    let mut d = explain("run-failed", error);
    let step = error.key.as_ref().filter(|key| !key.0.is_empty()).map(|key| format!(" in `{key}`")).unwrap_or_default();
    let cause = match &error.cause {
        Some(Cause::Status(status)) if !error.message.contains(&status.to_string()) => format!(" (status {status})"),
        Some(Cause::Network) => " (network error)".to_owned(),
        Some(Cause::Status(_) | Cause::Guardrail | Cause::Timeout) | None => String::new(),
    };
    d.message = format!("{}{step}: {}{cause}", error.code, error.message);
    output::diagnostics(&[d], &loaded.files)
}
