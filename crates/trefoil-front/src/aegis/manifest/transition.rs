//! `transitions`: transitions between states, as written.

use trefoil_syntax::suggest::Near;
use trefoil_syntax::yaml::{Node, Scalar, Text};
use trefoil_syntax::{Diagnostic, Span};

use super::{spelled, words};
use crate::mend::respelt;
use crate::{Fields, Reader};

/// A transition.
#[derive(Debug, Clone)]
pub struct Transition {
    /// The condition; `None`: it is invalid (reported).
    pub condition: Option<Condition>,
    /// The target.
    pub target: Option<Text>,
    /// The template of `state.feedback` in the target.
    pub feedback: Option<Text>,
    /// The span of the whole transition.
    pub span: Span,
    /// The span of the condition; without one, of the first key.
    pub at: Span,
    /// Whether no condition is written.
    pub unconditional: bool,
}

/// The condition of a transition, with its numbers.
#[derive(Debug, Clone)]
#[allow(missing_docs, reason = "each is the condition of its name; a missing number is as reference 2.5 has it")]
pub enum Condition {
    Always,
    OnSuccess,
    OnFailure,
    ExitCodeZero,
    ExitCodeNonZero,
    ExitCode(i64),
    ScoreAbove(f64),
    ScoreBelow(f64),
    ScoreBetween(f64, f64),
    ConfidenceAbove(f64),
    ScoreAndConfidenceAbove(f64, f64),
    Consensus { threshold: Option<f64>, agreement: Option<f64> },
    AllApproved(f64),
    AnyRejected(f64),
    InputEquals(Text),
    InputEqualsYes,
    InputEqualsNo,
    Custom(Text),
}

impl Condition {
    /// Whether it compares a score or a confidence of one answer.
    pub fn needs_score(&self) -> bool {
        matches!(
            self,
            Self::ScoreAbove(_)
                | Self::ScoreBelow(_)
                | Self::ScoreBetween(..)
                | Self::ConfidenceAbove(_)
                | Self::ScoreAndConfidenceAbove(..)
                | Self::Consensus { .. }
        )
    }
    /// The condition as shown to people.
    pub fn describe(&self) -> String {
        match self {
            Self::Always => "always".into(),
            Self::OnSuccess => "on_success".into(),
            Self::OnFailure => "on_failure".into(),
            Self::ExitCodeZero => "exit_code_zero".into(),
            Self::ExitCodeNonZero => "exit_code_non_zero".into(),
            Self::ExitCode(code) => format!("exit_code {code}"),
            Self::ScoreAbove(t) => format!("score_above {t}"),
            Self::ScoreBelow(t) => format!("score_below {t}"),
            Self::ScoreBetween(min, max) => format!("score_between {min} {max}"),
            Self::ConfidenceAbove(t) => format!("confidence_above {t}"),
            Self::ScoreAndConfidenceAbove(s, c) => format!("score_and_confidence_above {s} {c}"),
            Self::Consensus { .. } => "consensus".into(),
            Self::AllApproved(t) => format!("all_approved {t}"),
            Self::AnyRejected(t) => format!("any_rejected {t}"),
            Self::InputEquals(text) => format!("input_equals {}", text.value),
            Self::InputEqualsYes => "input_equals_yes".into(),
            Self::InputEqualsNo => "input_equals_no".into(),
            Self::Custom(text) => text.value.trim().to_owned(),
        }
    }
}

/// Answers that mean yes.
pub const YES: &[&str] = &["yes", "y", "1", "approve", "approved", "true"];
/// Answers that mean no.
pub const NO: &[&str] = &["no", "n", "0", "reject", "rejected", "false"];

/// Whether none of a state's transitions can match its success, so that the workflow ends there when it succeeds. A
/// condition that can never hold for this kind of state still counts as what it was meant for.
pub fn leave_success_open(transitions: &[Transition]) -> bool {
    let for_failure = |t: &Transition| match &t.condition {
        Some(Condition::OnFailure | Condition::ExitCodeNonZero) => true,
        Some(Condition::ExitCode(code)) => *code != 0,
        _ => false,
    };
    !transitions.is_empty() && transitions.iter().all(for_failure)
}

const WORDS: &[&str] = &[
    "always",
    "on_success",
    "on_failure",
    "exit_code_zero",
    "exit_code_non_zero",
    "exit_code",
    "score_above",
    "score_below",
    "score_between",
    "confidence_above",
    "score_and_confidence_above",
    "consensus",
    "all_approved",
    "any_rejected",
    "input_equals",
    "input_equals_yes",
    "input_equals_no",
    "approved",
    "rejected",
    "custom",
];

const PARAMETERS: &[&str] = &["threshold", "confidence", "min", "max", "value", "agreement", "expression"];

/// Reads the list of transitions.
pub fn read_all(reader: &Reader<'_>, node: &Node) -> Vec<Transition> {
    let items = reader.list(node, "transitions").unwrap_or_default();
    let transitions: Vec<Transition> = items.iter().filter_map(|item| read(reader, item)).collect();
    // A transition for failures may follow one that matches every success.
    let of_success = |t: &&Transition| !matches!(t.condition, Some(Condition::OnFailure | Condition::Custom(_)) | None);
    for (i, transition) in transitions.iter().enumerate().filter(|(_, t)| t.unconditional) {
        let mut dead = transitions.iter().skip(i + 1).filter(of_success);
        if let Some(first) = dead.next() {
            let message = "a transition without `condition` is always taken, so the ones after it never are";
            let d = Diagnostic::warning("missing-key", reader.at(transition.at), message);
            reader
                .report(d.label(reader.at(first.at), "never reached").help("add a `condition`, or move it to the end"));
            break;
        }
    }
    transitions
}

/// Reads the word of a condition. Alternative words are checked first, because some are closer in spelling to another
/// condition.
fn read_word(reader: &Reader<'_>, node: &Node) -> Option<&'static str> {
    let words: Vec<_> = WORDS.iter().map(|w| (*w, *w)).collect();
    let Some(text) = node.string() else { return reader.word(node, "condition", &words) };
    let written = text.value.trim().to_lowercase().replace(['-', ' '], "_");
    let Some((_, meant)) = OTHERWISE.iter().find(|(others, _)| others.contains(&&*written)) else {
        return reader.word(node, "condition", &words);
    };
    let d = Diagnostic::error("unknown-value", reader.at(node.span), format!("`condition` cannot be `{}`", text.value))
        .help(format!("did you mean `{meant}`?"));
    reader.report(respelt(d, reader.at(node.span), text, Near { name: meant, distance: 0, sure: false }));
    None
}

/// Alternative words for conditions, from other systems or common usage.
const OTHERWISE: &[(&[&str], &str)] = &[
    (&["default", "else", "otherwise", "true", "any", "unconditional"], "always"),
    (&["success", "succeeded", "ok", "passed", "completed", "on_complete", "on_ok", "on_pass"], "on_success"),
    (&["failure", "failed", "error", "errored", "on_error", "on_fail", "on_failed"], "on_failure"),
    (&["exit_zero", "exit_0", "exit_code_0", "exit_code_is_zero", "exit_code_success"], "exit_code_zero"),
    (
        &["exit_non_zero", "exit_nonzero", "exit_not_zero", "exit_code_not_zero", "exit_code_failure", "non_zero"],
        "exit_code_non_zero",
    ),
    (&["score_over", "score_gt", "score_greater_than", "score_at_least", "score_gte", "above"], "score_above"),
    (&["score_under", "score_lt", "score_less_than", "score_at_most", "score_lte", "below"], "score_below"),
    (&["score_range", "score_in", "score_within", "between"], "score_between"),
    (&["yes", "input_yes", "approve", "human_approved", "on_approve", "accepted", "accept"], "input_equals_yes"),
    (&["no", "input_no", "reject", "human_rejected", "on_reject", "denied", "deny"], "input_equals_no"),
    (&["expression", "expr", "if", "when"], "custom"),
];

fn read(reader: &Reader<'_>, node: &Node) -> Option<Transition> {
    let mut fields = reader.fields(node, "a transition")?;
    fields.also_called(words::TRANSITION);
    fields.deciding(&[("condition", "the transition is always taken")]);
    if let Some(transition) = read_as_key(reader, &fields, node.span) {
        return Some(transition);
    }
    let target = read_target(&mut fields);
    let feedback = fields.text("feedback").cloned();
    let written = fields.take("condition");
    let at = written.map_or(fields.head(), |e| e.value.span);
    let condition = match written {
        None => Some(Condition::Always),
        Some(entry) => {
            let word = read_word(reader, &entry.value);
            word.and_then(|word| read_condition(&mut fields, word, at))
        }
    };
    for key in PARAMETERS {
        if !fields.is_known(key)
            && let Some(entry) = fields.take(key)
        {
            let d = Diagnostic::warning(
                "no-effect",
                reader.at(entry.key.span),
                match written.and_then(|w| w.value.string()) {
                    Some(word) => format!("`{key}` has no effect: the condition `{}` does not use it", word.value),
                    None => format!("`{key}` has no effect: a transition without `condition` is always taken"),
                },
            );
            reader.report(if *key == "expression" { d.help("write `condition: custom`") } else { d });
        }
    }
    fields.finish();
    Some(Transition { condition, target, feedback, span: node.span, at, unconditional: written.is_none() })
}

/// `on_success: NEXT`: the condition is written as the key, and the target as its value.
fn read_as_key(reader: &Reader<'_>, fields: &Fields<'_, '_>, span: Span) -> Option<Transition> {
    if fields.entry("condition").is_some() || fields.entry("target").is_some() {
        return None;
    }
    let word = WORDS.iter().find(|word| fields.entry(word).is_some())?;
    let entry = fields.entry(word)?;
    let target = entry.value.string()?;
    let message = format!("`{word}` is a condition, but it is used as a key");
    let d = Diagnostic::error("missing-key", reader.at(entry.key.span), message);
    reader.report(d.help(format!("write `condition: {word}` and `target: {}`", target.value)));
    let condition = match *word {
        "always" => Some(Condition::Always),
        "on_success" => Some(Condition::OnSuccess),
        "on_failure" => Some(Condition::OnFailure),
        _ => None,
    };
    let at = entry.key.span;
    Some(Transition { condition, target: Some(target.clone()), feedback: None, span, at, unconditional: false })
}

/// Reads the target. In older files, `target: ~` meant the end of the run; now a terminal state does.
fn read_target(fields: &mut Fields<'_, '_>) -> Option<Text> {
    if let Some(entry) = fields.take_nullable("target")
        && entry.value.is_null()
    {
        fields.reader.report(
            Diagnostic::error("missing-key", fields.reader.at(entry.key.span), "`target` names no state")
                .help("to end the run here, point to a state with `transitions: []`"),
        );
        return None;
    }
    fields.require_text("target").cloned()
}

fn read_condition(fields: &mut Fields<'_, '_>, word: &'static str, at: Span) -> Option<Condition> {
    Some(match word {
        "always" => Condition::Always,
        "on_success" => Condition::OnSuccess,
        "on_failure" => Condition::OnFailure,
        "exit_code_zero" => Condition::ExitCodeZero,
        "exit_code_non_zero" => Condition::ExitCodeNonZero,
        "exit_code" => {
            let entry = fields.require("value")?;
            Condition::ExitCode(fields.reader.integer(&entry.value, "value", -255..=255)?)
        }
        "score_above" => Condition::ScoreAbove(number(fields, word, "threshold", 0.0, at)?),
        "score_below" => Condition::ScoreBelow(number(fields, word, "threshold", 1.0, at)?),
        "score_between" => {
            let (min, max) = (number(fields, word, "min", 0.0, at), number(fields, word, "max", 1.0, at));
            let (min, max) = min.zip(max)?;
            if min > max {
                let place = |key: &str| fields.entries().iter().find(|e| &*e.key.value == key).map(|e| e.value.span);
                let (min_at, max_at) = (place("min"), place("max"));
                let d = Diagnostic::error(
                    "out-of-range",
                    fields.reader.at(min_at.or(max_at).unwrap_or(at)),
                    format!("`min` {min} is above `max` {max}"),
                );
                fields.reader.report(match max_at.filter(|_| min_at.is_some()) {
                    Some(max_at) => d.label(fields.reader.at(max_at), "the upper bound"),
                    None => d,
                });
                return None;
            }
            Condition::ScoreBetween(min, max)
        }
        "confidence_above" => Condition::ConfidenceAbove(number(fields, word, "threshold", 0.0, at)?),
        "score_and_confidence_above" => {
            let score = number(fields, word, "threshold", 0.0, at);
            let confidence = optional(fields, "confidence");
            let (score, confidence) = score.zip(confidence)?;
            Condition::ScoreAndConfidenceAbove(score, confidence.unwrap_or(score))
        }
        "consensus" => {
            let threshold = optional(fields, "threshold");
            let agreement = spelled(fields, "agreement", "min_agreement_confidence");
            let agreement = match agreement {
                Some(e) => fields.reader.number(&e.value, "agreement", 0.0..=1.0).map(Some),
                None => Some(None),
            };
            let (threshold, agreement) = threshold.zip(agreement)?;
            Condition::Consensus { threshold, agreement }
        }
        "all_approved" => Condition::AllApproved(optional(fields, "threshold")?.unwrap_or(0.8)),
        "any_rejected" => Condition::AnyRejected(optional(fields, "threshold")?.unwrap_or(0.8)),
        "input_equals" => {
            let entry = fields.require("value")?;
            match entry.value.scalar() {
                Some((Scalar::Null, _)) | None => {
                    fields.reader.wrong_type(&entry.value, "value", "text");
                    return None;
                }
                Some((_, text)) => Condition::InputEquals(text.clone()),
            }
        }
        "input_equals_yes" | "approved" => Condition::InputEqualsYes,
        "input_equals_no" | "rejected" => Condition::InputEqualsNo,
        _ => Condition::Custom(fields.require_text("expression")?.clone()),
    })
}

/// An optional number from 0 to 1; outer `None`: it is invalid (reported).
fn optional(fields: &mut Fields<'_, '_>, key: &'static str) -> Option<Option<f64>> {
    let written = fields.entry(key).is_some();
    let number = fields.number(key, 0.0..=1.0);
    (number.is_some() || !written).then_some(number)
}

/// A number for which the original system uses 0 or 1 by default, which is rarely intended. `None`: it is invalid
/// (reported).
fn number(fields: &mut Fields<'_, '_>, word: &str, key: &'static str, default: f64, at: Span) -> Option<f64> {
    if fields.take(key).is_none() {
        fields.reader.report(
            Diagnostic::warning(
                "missing-key",
                fields.reader.at(at),
                format!("`{word}` without `{key}` compares with {default}"),
            )
            .help(format!("write `{key}`")),
        );
        return Some(default);
    }
    fields.number(key, 0.0..=1.0)
}
