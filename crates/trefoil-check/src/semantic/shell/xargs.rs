//! The arguments that `xargs` composes, and shell builtins, which it cannot start.

use super::options::{last_takes, value_letters};
use super::words::{ValueNames, WordValues};

/// Builtins that are only available in a shell.
pub(super) fn is_builtin(program: &str) -> bool {
    matches!(program, "." | "source" | "eval" | "alias" | "trap")
}

/// The arguments of `xargs` with its input at the marker; `None`: there is no marker.
pub(super) fn fill_arguments(operands: &[WordValues], input: &ValueNames) -> Option<Vec<WordValues>> {
    let mut mark = None;
    let mut words = Vec::new();
    let mut rest = operands.iter();
    while let Some(word) = rest.next() {
        words.push(word.clone());
        let Some(option) = word.lead.strip_prefix('-') else { break };
        if let Some(long) = option.strip_prefix("-replace") {
            mark = Some(long.strip_prefix('=').unwrap_or("{}"));
        } else if let Some(at) = option.find(['I', 'i']).filter(|_| !option.starts_with('-')) {
            let attached = option.get(at + 1..).filter(|m| !m.is_empty());
            let next = attached.is_none() && option.get(at..).is_some_and(|o| o.starts_with('I'));
            let behind = if next { rest.next() } else { None };
            words.extend(behind.cloned());
            mark = attached.or_else(|| behind?.whole.as_deref()).or(Some("{}"));
        } else if value_letters("xargs", "").is_some_and(|takes| last_takes(option, takes)) {
            words.extend(rest.next().cloned());
        }
    }
    let mark = mark?;
    let mut last = words.pop();
    last = last.map(|w| w.fill_marks(mark, input).unwrap_or(w));
    words.extend(last);
    words.extend(rest.map(|w| w.fill_marks(mark, input).unwrap_or_else(|| w.clone())));
    Some(words)
}
