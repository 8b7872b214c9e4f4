//! Validators (AEGIS): checks of an iteration's result. Judges are steps, and the machine combines their verdicts.

use trefoil_ir::pattern::LinearPattern;
use trefoil_ir::{Validator, ValidatorKind};
use trefoil_template::Value;

use super::{CheckSubject, Verdict, VerdictRuling};
use crate::answer::{find_structure, mismatch_message, not_json};
use crate::schemas::ProgramSchemas;
use crate::text::strip_fence;

/// The verdict of a validator without judges; `None`: it has judges. `pattern` is its compiled pattern.
pub fn check_result(
    validator: &Validator,
    result: &Value,
    pattern: Option<&LinearPattern>,
    schemas: &ProgramSchemas,
) -> Option<Verdict> {
    let checked = match &validator.kind {
        ValidatorKind::Judges { .. } => return None,
        ValidatorKind::ExitCode { expected } => match exit_code(result) {
            code if code == *expected => Ok(()),
            code => Err(format!("the exit code is {code}, not {expected}")),
        },
        ValidatorKind::JsonSchema(schema) => {
            let value = match checked_value(result) {
                Value::Str(text) => match find_structure(&text) {
                    Some(value) => Ok(value),
                    None => Value::parse(strip_fence(&text)).map_err(|e| not_json(&text, &e)),
                },
                value => Ok(value),
            };
            value.and_then(|value| schemas.check_value(*schema, &value).map_err(|why| mismatch_message(&why)))
        }
        ValidatorKind::Regex { pattern: written, stderr } => {
            let text = if *stderr { member(result, "stderr") } else { checked_value(result) };
            let text = if text.is_null() { "".into() } else { text.to_text() };
            match pattern {
                None => Err(format!("`{written}` is not a valid pattern")),
                Some(regex) if regex.is_match(&text) => Ok(()),
                Some(_) => Err(format!("`{written}` is not found in the answer")),
            }
        }
    };
    let score = f64::from(u8::from(checked.is_ok()));
    Some(weigh_scores(validator, score, 1.0, checked.err().unwrap_or_default()))
}

/// A verdict about a tool call instead of a result, as it is shown. What the model is told does not change.
pub fn of_call(validator: &Validator, verdict: Verdict) -> Verdict {
    let why = match &validator.kind {
        ValidatorKind::Regex { pattern, .. } if verdict.ruling == VerdictRuling::Refused => {
            format!("`{pattern}` is not found in the tool call")
        }
        _ => verdict.why,
    };
    Verdict { of: CheckSubject::Call, why, ..verdict }
}

/// Whether score and confidence are high enough, with the reason if they are not.
pub fn weigh_scores(validator: &Validator, score: f64, confidence: f64, reasoning: String) -> Verdict {
    let text = |n: f64| Value::from((n * 1000.0).round() / 1000.0).to_text();
    let mut short = Vec::new();
    if score < validator.min_score {
        short.push(format!("score {} is below {}", text(score), text(validator.min_score)));
    }
    if confidence < validator.min_confidence {
        short.push(format!("confidence {} is below {}", text(confidence), text(validator.min_confidence)));
    }
    let judged = matches!(validator.kind, ValidatorKind::Judges { .. });
    let confidence = judged.then_some(confidence);
    if short.is_empty() {
        // The reasoning of judges is kept if the result passes; other checks have none.
        let why = if judged { reasoning } else { String::new() };
        return Verdict {
            score: Some(score),
            confidence,
            why,
            ..Verdict::without_finding(validator.name.clone(), CheckSubject::Result)
        };
    }
    let why = match (judged, reasoning.as_str()) {
        (true, "") => short.join(" and "),
        (true, reasoning) => format!("{}: {reasoning}", short.join(" and ")),
        (false, _) => reasoning,
    };
    let verdict = Verdict::with_finding(validator.name.clone(), CheckSubject::Result, VerdictRuling::Refused, why);
    Verdict { score: Some(score), confidence, ..verdict }
}

/// The text or value that validators check; for a command's result, its stdout.
pub fn checked_value(result: &Value) -> Value {
    match result {
        Value::Object(object) if object.contains_key("stdout") => member(result, "stdout"),
        other => other.clone(),
    }
}

fn member(result: &Value, name: &str) -> Value {
    result.get(name).cloned().unwrap_or_default()
}

/// Whether the result is of a command that a signal ended: a shell and the process host report 128 plus its number. How much the command
/// did before is unknown.
pub fn is_ended_by_signal(result: &Value) -> bool {
    (129..=192).contains(&exit_code(result))
}

/// 0 for a model call, because without success there is no result.
pub fn exit_code(result: &Value) -> i64 {
    match result.get("exit_code") {
        Some(Value::Number(n)) => n.as_i64().unwrap_or(0),
        _ => 0,
    }
}
