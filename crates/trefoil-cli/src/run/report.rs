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
    d.message = match &error.key {
        Some(key) => format!("{} in `{key}`: {}", error.code, error.message),
        None => format!("{}: {}", error.code, error.message),
    };
    let cause = error.cause.as_ref().map(|cause| match cause {
        Cause::Status(status) => format!("the provider answered with status {status}"),
        Cause::Network => "there was no answer from the network".to_owned(),
        Cause::Guardrail => "a guardrail refused".to_owned(),
        Cause::Timeout => "a time limit was reached".to_owned(),
    });
    let help: Vec<String> = cause.into_iter().chain(d.help.take()).collect();
    if !help.is_empty() {
        d.help = Some(help.join("; "));
    }
    output::diagnostics(&[d], &loaded.files)
}
