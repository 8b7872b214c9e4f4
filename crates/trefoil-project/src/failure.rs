//! Failures of runs as findings.

use trefoil_machine::FailureCause;
use trefoil_machine::error::RunError;
use trefoil_machine::key::without_try;
use trefoil_syntax::{Diagnostic, FindingSeverity};

use crate::codes::help;

/// A run's failure as a finding at its place.
pub fn explain_failure(rule: &'static str, error: &RunError) -> Diagnostic {
    let d = match error.location {
        Some(at) => Diagnostic::new_error(rule, at, error.message.clone()),
        None => Diagnostic::without_location(rule, FindingSeverity::Error, None, error.message.clone()),
    };
    match &error.help {
        Some(help) => d.with_help(help.clone()),
        None => d,
    }
}

/// A failed run as a finding: code, message, step, excerpt, cause, help.
pub fn failed_run(error: &RunError) -> Diagnostic {
    let mut d = explain_failure("run-failed", error);
    let step = match &error.key {
        Some(key) if !key.0.is_empty() => format!(" in `{}`", without_try(&key.0)),
        _ => String::new(),
    };
    let cause = match &error.cause {
        Some(FailureCause::Status(status)) if !error.message.contains(&status.to_string()) => {
            format!(" (status {status})")
        }
        Some(FailureCause::Network | FailureCause::Broken) => " (network error)".to_owned(),
        Some(
            FailureCause::Status(_)
            | FailureCause::Arguments
            | FailureCause::Guardrail
            | FailureCause::Timeout
            | FailureCause::Unusable,
        )
        | None => String::new(),
    };
    d.message = format!("{}{step}: {}{cause}", error.code, error.message);
    match help::find_help(error) {
        Some(help) if error.help.is_none() => d.with_help(help),
        _ => d,
    }
}
