//! Guardrails (SirenSpec): pure functions on texts, one file a kind.
//!
//! The input side looks at the user message and is applied by the machine, before the request has a content key. The
//! output side looks at the whole answer and is applied by the driver, before the journal sees it. A token cap goes by what
//! the run has spent, which only the machine knows.

pub mod cost_cap;
mod injection;
mod length;
mod pii;
mod schema;
pub mod token_cap;

use std::sync::Arc;

use trefoil_ir::{Guard, PiiAction};
use trefoil_template::{Masked, Piece, Value};

use crate::error::{Cause, RunError};
use crate::schemas::Schemas;

/// What replaces personal data, unless the guard says.
const HIDDEN: &str = "[hidden]";

/// A text that passed, perhaps changed, and what to say about it all the same.
#[derive(Debug, Clone, PartialEq)]
pub struct Passed<T> {
    /// The text.
    pub text: T,
    /// Findings that do not stop anything.
    pub flags: Vec<String>,
}

/// Which side of a call a text is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Answer,
}

impl Side {
    fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Answer => "answer",
        }
    }
}

/// Checks a user message. Of masked text only the known parts are looked at. A refusal has no cause: no retry policy
/// matches it, the next try would send the same message.
pub fn input(guards: &[Guard], message: Value) -> Result<Passed<Value>, RunError> {
    check_message(guards, message).map_err(|error| RunError { cause: None, ..error })
}

fn check_message(guards: &[Guard], message: Value) -> Result<Passed<Value>, RunError> {
    let mut flags = Vec::new();
    if guards.is_empty() {
        return Ok(Passed { text: message, flags });
    }
    let text = match &message {
        Value::Masked(masked) => {
            let pieces = masked.pieces.iter().map(|piece| {
                Ok(match piece {
                    Piece::Text(text) => Piece::Text(check_input(guards, text.clone(), &mut flags)?),
                    hole => hole.clone(),
                })
            });
            Masked { pieces: pieces.collect::<Result<_, RunError>>()? }.into_value()
        }
        other => Value::Str(check_input(guards, other.to_text(), &mut flags)?),
    };
    Ok(Passed { text, flags })
}

fn check_input(guards: &[Guard], mut text: Arc<str>, flags: &mut Vec<String>) -> Result<Arc<str>, RunError> {
    for guard in guards {
        match guard {
            Guard::Injection => injection::check(&text, Side::Input)?,
            Guard::Pii { entities, action, replacement } => {
                let found = pii::find(&text, entities);
                if let Some(changed) = pii::act(&text, &found, *action, replacement, Side::Input, flags)? {
                    text = changed.into();
                }
            }
            Guard::Length { .. } | Guard::Schema(_) | Guard::TokenCap { .. } | Guard::CostCap { .. } => {}
        }
    }
    Ok(text)
}

/// Checks an answer.
pub fn output(guards: &[Guard], mut text: String, schemas: &Schemas) -> Result<Passed<String>, RunError> {
    let mut flags = Vec::new();
    for guard in guards {
        match guard {
            Guard::Injection => injection::check(&text, Side::Answer)?,
            Guard::Length { max_chars, refuse } => text = length::check(text, *max_chars, *refuse)?,
            Guard::Pii { entities, action, replacement } => {
                let found = pii::find(&text, entities);
                if let Some(changed) = pii::act(&text, &found, *action, replacement, Side::Answer, &mut flags)? {
                    text = changed;
                }
            }
            Guard::Schema(schema) => schema::check(&text, *schema, schemas)?,
            Guard::TokenCap { .. } | Guard::CostCap { .. } => {}
        }
    }
    Ok(Passed { text, flags })
}

/// An answer that went no further, as it may be shown: without the personal data that a guard keeps from being seen.
pub fn hide(guards: &[Guard], mut text: String) -> String {
    for guard in guards.iter().filter(|guard| conceals(guard)) {
        if let Guard::Pii { entities, replacement, .. } = guard {
            let found = pii::find(&text, entities);
            let mark = if replacement.is_empty() { HIDDEN } else { replacement };
            text = pii::redact(&text, &found, mark);
        }
    }
    text
}

/// Whether a guard is there to keep what it finds from being seen: text is not even shown as provisional then.
pub fn conceals(guard: &Guard) -> bool {
    matches!(guard, Guard::Pii { action, .. } if *action != PiiAction::Flag)
}

/// Whether a guard can change or refuse an answer: the workflow sees none of its text until it is whole.
pub fn holds_back(guard: &Guard) -> bool {
    match guard {
        Guard::Injection | Guard::Length { .. } | Guard::Schema(_) => true,
        Guard::Pii { action, .. } => *action != PiiAction::Flag,
        Guard::TokenCap { warn, .. } | Guard::CostCap { warn, .. } => !warn,
    }
}

/// A refusal.
fn violation(message: String) -> RunError {
    RunError::new("GUARDRAIL_VIOLATION", message).cause(Cause::Guardrail)
}
