//! `retry` and `on_failure` of agent nodes.

use std::sync::Arc;

use trefoil_ir::{Retry, RetryBackoff, RetryOn};
use trefoil_syntax::yaml::{YamlNode, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span, suggestions};

use super::scalar;
use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader};

/// What happens when an agent node still fails after its retries.
#[derive(Debug, Clone)]
pub enum NodeFailurePolicy<'n> {
    /// The run fails.
    Abort,
    /// Another node runs instead.
    Fallback(&'n YamlText),
    /// The run continues without its output.
    Skip,
    /// The run continues with this output.
    UseDefault(Arc<str>),
}

/// `retry` of an agent node.
pub fn read_retry(fields: &mut MappingReader<'_, '_>) -> Option<Retry> {
    let mut retry = fields.read_mapping("retry")?;
    retry.also_called(&[
        ("attempts", "max_attempts"),
        ("max_retries", "max_attempts"),
        ("times", "max_attempts"),
        ("delay", "base_delay"),
        ("strategy", "backoff"),
        ("on_status", "on"),
    ]);
    let attempts = scalar::read_count(&mut retry, "max_attempts", 1);
    let max_attempts = attempts.unwrap_or(1);
    let backoff = retry
        .read_word(
            "backoff",
            &[
                ("constant", RetryBackoff::Constant),
                ("linear", RetryBackoff::Linear),
                ("exponential", RetryBackoff::Exponential),
            ],
        )
        .unwrap_or(RetryBackoff::Constant);
    let base_delay_ms = scalar::read_seconds(&mut retry, "base_delay", true).unwrap_or(1000);
    let base_delay_at = value_span(&mut retry, "base_delay");
    let max_delay_at = value_span(&mut retry, "max_delay");
    let max_delay_ms = scalar::read_seconds(&mut retry, "max_delay", true).unwrap_or(30_000);
    check_delays(retry.reader, (base_delay_at, base_delay_ms), (max_delay_at, max_delay_ms));
    let jitter = scalar::read_flag(&mut retry, "jitter").unwrap_or(false);
    let mut on = Vec::new();
    match retry.read_list("on") {
        Some(items) => {
            for item in items {
                trigger(retry.reader, item, &mut on);
            }
        }
        None => on.extend([RetryOn::Status(429), RetryOn::Network, RetryOn::Timeout]),
    }
    if scalar::read_flag(&mut retry, "retry_on_guardrail").unwrap_or(false) && !on.contains(&RetryOn::Guardrail) {
        on.push(RetryOn::Guardrail);
    }
    once(&retry, attempts, &on);
    retry.finish_mapping();
    Some(Retry { max_attempts, backoff, base_delay_ms, max_delay_ms, jitter, on })
}

fn value_span(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<Span> {
    Some(fields.take(key)?.value.span)
}

/// Reports delays that were probably meant in milliseconds, and a `base_delay` above `max_delay`.
fn check_delays(
    reader: &ManifestReader<'_>,
    (base_delay_at, base_delay_ms): (Option<Span>, u64),
    (max_delay_at, max_delay_ms): (Option<Span>, u64),
) {
    let mut long = false;
    for (key, at, ms) in [("base_delay", base_delay_at, base_delay_ms), ("max_delay", max_delay_at, max_delay_ms)] {
        if let Some(at) = at
            && ms >= 7_200_000
        {
            long = true;
            let (seconds, hours) = (ms / 1000, ms / 3_600_000);
            let message = format!("`{key}` is in seconds: {seconds} seconds are {hours} hours");
            let d = Diagnostic::new_warning("out-of-range", reader.location_of(at), message);
            reader
                .report_finding(d.with_help(format!("if milliseconds were meant, write `{key}: {}`", seconds / 1000)));
        }
    }
    if let (Some(at), None) = (base_delay_at, max_delay_at)
        && max_delay_ms < base_delay_ms
        && !long
    {
        let message = "`base_delay` is above `max_delay`, which is 30 by default, so every delay is 30 seconds";
        let d = Diagnostic::new_warning("no-effect", reader.location_of(at), message);
        reader.report_finding(d.with_help("both are in seconds; `max_delay` is the upper bound"));
    }
    if let Some(at) = max_delay_at
        && max_delay_ms < base_delay_ms
    {
        let message = "`max_delay` is below `base_delay`, so every delay is `max_delay`";
        let d = Diagnostic::new_warning("no-effect", reader.location_of(at), message);
        reader.report_finding(d.with_help("both are in seconds; `max_delay` is the upper bound"));
    }
}

/// Reports a configured `retry` that never retries.
fn once(retry: &MappingReader<'_, '_>, attempts: Option<u32>, on: &[RetryOn]) {
    let reader = retry.reader;
    let report_no_effect = |at, message: String, help: &str| {
        reader.report_finding(Diagnostic::new_warning("no-effect", reader.location_of(at), message).with_help(help));
    };
    match (attempts, retry.peek_entry("max_attempts")) {
        (None, None) => {
            // A misspelling is reported separately.
            let other = |key: &str| suggestions::find_near_match(key, ["max_attempts"]).is_some();
            if retry.written_as("max_attempts").is_none() && !retry.entries().iter().any(|e| other(&e.key.value)) {
                let message = "`retry` allows no retry: `max_attempts` is 1 by default".to_owned();
                report_no_effect(retry.owner_span(), message, "set the total number of attempts: `max_attempts: 3`");
            }
        }
        (Some(1), Some(_)) => {
            let how = ["backoff", "base_delay", "max_delay", "jitter", "on", "retry_on_guardrail"];
            if let Some(entry) = how.iter().find_map(|key| retry.peek_entry(key)) {
                let message = format!("`{}` has no effect: `max_attempts: 1` allows no retry", entry.key.value);
                report_no_effect(entry.key.span, message, "`max_attempts` includes the first attempt");
            }
        }
        _ => {
            if let Some(entry) = retry.peek_entry("on")
                && matches!(entry.value.as_sequence(), Some([]))
                && on.is_empty()
            {
                report_no_effect(
                    entry.value.span,
                    "`retry` has no effect: `on` is empty".to_owned(),
                    "remove `on` to use its default, `[429, network_error]`",
                );
            }
        }
    }
}

fn trigger(reader: &ManifestReader<'_>, node: &YamlNode, on: &mut Vec<RetryOn>) {
    let Some((scalar @ (YamlScalar::Str | YamlScalar::Int(_)), text)) = node.as_scalar() else {
        return reader.wrong_type(node, "on", "an HTTP status or a class of failures");
    };
    let found: &[RetryOn] = match &*text.value {
        // A call that timed out has no status either.
        "network_error" => &[RetryOn::Network, RetryOn::Timeout],
        "timeout" => &[RetryOn::Timeout],
        "guardrail_violation" => &[RetryOn::Guardrail],
        other => match other.parse::<u16>() {
            Ok(status) if (200..=299).contains(&status) => {
                let message = format!("`{status}` has no effect: it means success");
                return reader.report_warning("no-effect", node.span, message);
            }
            Ok(status) if (100..=599).contains(&status) => &[RetryOn::Status(status)],
            _ if scalar == YamlScalar::Str => {
                let words = ["network_error", "timeout", "guardrail_violation"];
                let mut d = Diagnostic::new_warning(
                    "no-effect",
                    reader.location_of(node.span),
                    format!("`{other}` has no effect: it is not a class of failures"),
                );
                d = match suggestions::find_near_match(other, words) {
                    Some(near) => fix_spelling(
                        d.with_help(format!("did you mean `{}`?", near.name)),
                        reader.location_of(node.span),
                        text,
                        near,
                    ),
                    None => d.with_help(format!("use an HTTP status, `{}`", words.join("`, `"))),
                };
                return reader.report_finding(d);
            }
            _ => {
                let message = format!("`on` must name HTTP statuses from 100 to 599, not {other}");
                return reader.report_error("out-of-range", node.span, message);
            }
        },
    };
    for class in found {
        if !on.contains(class) {
            on.push(class.clone());
        }
    }
}

/// `on_failure` of an agent node.
pub fn on_failure<'n>(fields: &mut MappingReader<'n, '_>) -> Option<NodeFailurePolicy<'n>> {
    #[derive(Clone, Copy, PartialEq)]
    enum FailureAction {
        Abort,
        Fallback,
        Skip,
        UseDefault,
    }
    if let Some(entry) = fields.peek_entry("on_failure")
        && let Some(word) = entry.value.as_string()
    {
        fields.take("on_failure");
        let message = "`on_failure` must be a mapping, not text";
        let d = Diagnostic::new_error("wrong-type", fields.reader.location_of(entry.value.span), message);
        fields.reader.report_finding(d.with_help(format!("write `on_failure: {{action: {}}}`", word.value)));
        return None;
    }
    let mut policy = fields.read_mapping("on_failure")?;
    policy.also_called(&[("fallback", "fallback_node"), ("node", "fallback_node"), ("default", "default_output")]);
    let read = policy.read_word(
        "action",
        &[
            ("abort", FailureAction::Abort),
            ("fallback", FailureAction::Fallback),
            ("skip", FailureAction::Skip),
            ("use_default", FailureAction::UseDefault),
        ],
    );
    let action = match read {
        Some(action) => action,
        None if policy.take("action").is_none() => FailureAction::Abort,
        // A misspelt action is reported; the other keys show which one was meant.
        None if policy.take("fallback_node").is_some() => FailureAction::Fallback,
        None if policy.take("default_output").is_some() => FailureAction::UseDefault,
        None => FailureAction::Abort,
    };
    let result = match action {
        FailureAction::Abort => Some(NodeFailurePolicy::Abort),
        FailureAction::Skip => Some(NodeFailurePolicy::Skip),
        FailureAction::Fallback => policy.require_text("fallback_node").map(NodeFailurePolicy::Fallback),
        FailureAction::UseDefault => Some(NodeFailurePolicy::UseDefault(default_output(&mut policy))),
    };
    if action != FailureAction::Fallback {
        policy.no_effect(&["fallback_node"], "`action` is not `fallback`");
    }
    if action != FailureAction::UseDefault {
        policy.no_effect(&["default_output"], "`action` is not `use_default`");
    }
    policy.finish_mapping();
    result
}

/// The text of `action: use_default`.
fn default_output(policy: &mut MappingReader<'_, '_>) -> Arc<str> {
    let text = scalar::read_plain_text(policy, "default_output");
    if policy.take("default_output").is_none() {
        let at = match policy.take("action") {
            Some(entry) => entry.value.span,
            None => policy.head_span(),
        };
        let message = "`action: use_default` without `default_output` returns an empty text";
        let d = Diagnostic::new_warning("missing-key", policy.reader.location_of(at), message);
        policy.reader.report_finding(d.with_help("set the text to use instead: `default_output: \"...\"`"));
        policy.take_nullable("default_output");
    }
    match text {
        Some(text) => text.value.clone(),
        None => "".into(),
    }
}
