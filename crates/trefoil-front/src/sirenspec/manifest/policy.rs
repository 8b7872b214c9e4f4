//! `retry` and `on_failure` of agent nodes.

use std::sync::Arc;

use trefoil_ir::{Backoff, Retry, RetryOn};
use trefoil_syntax::yaml::{Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, suggest};

use super::scalar;
use crate::mend::respelt;
use crate::{Fields, Reader};

/// What happens when an agent node still fails after its retries.
#[derive(Debug, Clone)]
pub enum OnFailure<'n> {
    /// The run fails.
    Abort,
    /// Another node runs instead.
    Fallback(&'n Text),
    /// The run continues without its output.
    Skip,
    /// The run continues with this output.
    UseDefault(Arc<str>),
}

/// `retry` of an agent node.
pub fn retry(fields: &mut Fields<'_, '_>) -> Option<Retry> {
    let mut retry = fields.fields("retry")?;
    retry.also_called(&[
        ("attempts", "max_attempts"),
        ("max_retries", "max_attempts"),
        ("times", "max_attempts"),
        ("delay", "base_delay"),
        ("strategy", "backoff"),
        ("on_status", "on"),
    ]);
    let attempts = scalar::count(&mut retry, "max_attempts", 1);
    let max_attempts = attempts.unwrap_or(1);
    let backoff = retry
        .word(
            "backoff",
            &[("constant", Backoff::Constant), ("linear", Backoff::Linear), ("exponential", Backoff::Exponential)],
        )
        .unwrap_or(Backoff::Constant);
    let base_delay_ms = scalar::seconds(&mut retry, "base_delay", true).unwrap_or(1000);
    let reader = retry.reader;
    let places = ["base_delay", "max_delay"].map(|key| (key, retry.take(key).map(|e| e.value.span)));
    let [(_, least), (_, most)] = places;
    let max_delay_ms = scalar::seconds(&mut retry, "max_delay", true).unwrap_or(30_000);
    let mut long = false;
    for ((key, at), ms) in places.into_iter().zip([base_delay_ms, max_delay_ms]) {
        if let Some(at) = at.filter(|_| ms >= 7_200_000) {
            long = true;
            let (seconds, hours) = (ms / 1000, ms / 3_600_000);
            let message = format!("`{key}` is in seconds: {seconds} seconds are {hours} hours");
            let d = Diagnostic::warning("out-of-range", reader.at(at), message);
            reader.report(d.help(format!("if milliseconds were meant, write `{key}: {}`", seconds / 1000)));
        }
    }
    if let Some(at) = least.filter(|_| most.is_none() && max_delay_ms < base_delay_ms && !long) {
        let message = "`base_delay` is above `max_delay`, which is 30 by default, so every delay is 30 seconds";
        let d = Diagnostic::warning("no-effect", reader.at(at), message);
        reader.report(d.help("both are in seconds; `max_delay` is the upper bound"));
    }
    if let Some(at) = most.filter(|_| max_delay_ms < base_delay_ms) {
        let message = "`max_delay` is below `base_delay`, so every delay is `max_delay`";
        let d = Diagnostic::warning("no-effect", retry.reader.at(at), message);
        retry.reader.report(d.help("both are in seconds; `max_delay` is the upper bound"));
    }
    let jitter = scalar::flag(&mut retry, "jitter").unwrap_or(false);
    let mut on = Vec::new();
    match retry.list("on") {
        Some(items) => items.iter().for_each(|item| trigger(retry.reader, item, &mut on)),
        None => on.extend([RetryOn::Status(429), RetryOn::Network, RetryOn::Timeout]),
    }
    if scalar::flag(&mut retry, "retry_on_guardrail").unwrap_or(false) && !on.contains(&RetryOn::Guardrail) {
        on.push(RetryOn::Guardrail);
    }
    once(&retry, attempts, &on);
    retry.finish();
    Some(Retry { max_attempts, backoff, base_delay_ms, max_delay_ms, jitter, on })
}

/// Reports a configured `retry` that never retries.
fn once(retry: &Fields<'_, '_>, attempts: Option<u32>, on: &[RetryOn]) {
    let reader = retry.reader;
    let empty = || retry.entry("on").filter(|e| e.value.sequence().is_some_and(<[Node]>::is_empty));
    let told = |at, message: String, help: &str| {
        reader.report(Diagnostic::warning("no-effect", reader.at(at), message).help(help));
    };
    match (attempts, retry.entry("max_attempts")) {
        (None, None) => {
            // A misspelling is reported separately.
            let other = |key: &str| suggest::near(key, ["max_attempts"]).is_some();
            if retry.written_as("max_attempts").is_none() && !retry.entries().iter().any(|e| other(&e.key.value)) {
                let message = "`retry` allows no retry: `max_attempts` is 1 by default".to_owned();
                told(retry.owner(), message, "set the total number of attempts: `max_attempts: 3`");
            }
        }
        (Some(1), Some(_)) => {
            let how = ["backoff", "base_delay", "max_delay", "jitter", "on", "retry_on_guardrail"];
            if let Some(entry) = how.iter().find_map(|key| retry.entry(key)) {
                let message = format!("`{}` has no effect: `max_attempts: 1` allows no retry", entry.key.value);
                told(entry.key.span, message, "`max_attempts` includes the first attempt");
            }
        }
        _ => {
            if let Some(entry) = empty().filter(|_| on.is_empty()) {
                told(
                    entry.value.span,
                    "`retry` has no effect: `on` is empty".to_owned(),
                    "remove `on` to use its default, `[429, network_error]`",
                );
            }
        }
    }
}

fn trigger(reader: &Reader<'_>, node: &Node, on: &mut Vec<RetryOn>) {
    let Some((scalar @ (Scalar::Str | Scalar::Int(_)), text)) = node.scalar() else {
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
                return reader.warning("no-effect", node.span, message);
            }
            Ok(status) if (100..=599).contains(&status) => &[RetryOn::Status(status)],
            _ if scalar == Scalar::Str => {
                let words = ["network_error", "timeout", "guardrail_violation"];
                let mut d = Diagnostic::warning(
                    "no-effect",
                    reader.at(node.span),
                    format!("`{other}` has no effect: it is not a class of failures"),
                );
                d = match suggest::near(other, words) {
                    Some(near) => {
                        respelt(d.help(format!("did you mean `{}`?", near.name)), reader.at(node.span), text, near)
                    }
                    None => d.help(format!("use an HTTP status, `{}`", words.join("`, `"))),
                };
                return reader.report(d);
            }
            _ => {
                let message = format!("`on` must name HTTP statuses from 100 to 599, not {other}");
                return reader.error("out-of-range", node.span, message);
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
pub fn on_failure<'n>(fields: &mut Fields<'n, '_>) -> Option<OnFailure<'n>> {
    #[derive(Clone, Copy, PartialEq)]
    enum Action {
        Abort,
        Fallback,
        Skip,
        UseDefault,
    }
    if let Some((entry, word)) = fields.entry("on_failure").and_then(|e| Some((e, e.value.string()?))) {
        fields.take("on_failure");
        let message = "`on_failure` must be a mapping, not text";
        let d = Diagnostic::error("wrong-type", fields.reader.at(entry.value.span), message);
        fields.reader.report(d.help(format!("write `on_failure: {{action: {}}}`", word.value)));
        return None;
    }
    let mut policy = fields.fields("on_failure")?;
    policy.also_called(&[("fallback", "fallback_node"), ("node", "fallback_node"), ("default", "default_output")]);
    let read = policy.word(
        "action",
        &[
            ("abort", Action::Abort),
            ("fallback", Action::Fallback),
            ("skip", Action::Skip),
            ("use_default", Action::UseDefault),
        ],
    );
    // A misspelt action is reported; the other keys show which one was meant.
    let unreadable = read.is_none() && policy.take("action").is_some();
    let meant = [("fallback_node", Action::Fallback), ("default_output", Action::UseDefault)];
    let meant = meant.into_iter().find(|(key, _)| unreadable && policy.take(key).is_some());
    let action = read.or(meant.map(|(_, action)| action)).unwrap_or(Action::Abort);
    let result = match action {
        Action::Abort => Some(OnFailure::Abort),
        Action::Skip => Some(OnFailure::Skip),
        Action::Fallback => policy.require_text("fallback_node").map(OnFailure::Fallback),
        Action::UseDefault => {
            let text = scalar::plain(&mut policy, "default_output");
            if policy.take("default_output").is_none() {
                let at = policy.take("action").map_or(policy.head(), |e| e.value.span);
                let message = "`action: use_default` without `default_output` returns an empty text";
                let d = Diagnostic::warning("missing-key", policy.reader.at(at), message);
                policy.reader.report(d.help("set the text to use instead: `default_output: \"...\"`"));
                policy.take_nullable("default_output");
            }
            Some(OnFailure::UseDefault(text.map_or_else(|| "".into(), |t| t.value.clone())))
        }
    };
    if action != Action::Fallback {
        policy.no_effect(&["fallback_node"], "`action` is not `fallback`");
    }
    if action != Action::UseDefault {
        policy.no_effect(&["default_output"], "`action` is not `use_default`");
    }
    policy.finish();
    result
}
