//! The behaviour of the three languages, tested through the public interface.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says when it skips"
)]

mod address;
mod aegis;
mod agntz;
mod limits;
mod masked;
mod mistakes;
mod properties;
mod python;
mod references;
mod sirenspec;
mod values;
mod vectors;

use serde_json::json;
use trefoil_template::state::{RenderFailure, TextKind, evaluate_text};
use trefoil_template::{Policy, Value};

/// The result of a text, or the first words of the error.
fn result(policy: &Policy, kind: TextKind, text: &str, state: &serde_json::Value) -> serde_json::Value {
    match evaluate_text(policy, kind, text, &Value::from_json(state.clone())) {
        Ok(value) => value.to_json(),
        Err(RenderFailure::Load(errors)) => json!(format!("load error: {}", errors[0].error.code)),
        Err(RenderFailure::Run(error)) => json!(error.to_string()),
    }
}

/// Checks lines of `text => result`, each result as JSON, against one state.
fn table(policy: &Policy, kind: TextKind, state: &serde_json::Value, cases: &[(&str, serde_json::Value)]) {
    let wrong: Vec<String> = cases
        .iter()
        .map(|(text, expected)| (text, expected, result(policy, kind, text, state)))
        .filter(|(_, expected, got)| Value::from_json((*expected).clone()) != Value::from_json(got.clone()))
        .map(|(text, expected, got)| format!("{text:?}: expected {expected}, got {got}"))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// As [`table`], for texts.
fn texts(policy: &Policy, state: &serde_json::Value, cases: &[(&str, &str)]) {
    let cases: Vec<_> = cases.iter().map(|(text, expected)| (*text, json!(expected))).collect();
    table(policy, TextKind::Template, state, &cases);
}

/// Checks which conditions hold.
fn truths(policy: &Policy, state: &serde_json::Value, hold: &[&str], fail: &[&str]) {
    let cases: Vec<_> =
        hold.iter().map(|text| (*text, json!(true))).chain(fail.iter().map(|text| (*text, json!(false)))).collect();
    table(policy, TextKind::Condition, state, &cases);
}
