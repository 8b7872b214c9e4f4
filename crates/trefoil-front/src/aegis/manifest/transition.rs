//! `transitions`: transitions between states, as written.

use trefoil_syntax::suggestions::NearMatch;
use trefoil_syntax::yaml::{YamlNode, YamlScalar, YamlText};
use trefoil_syntax::{Diagnostic, Span};

use super::{key_synonyms, take_spelled};
use crate::spelling_fixes::fix_spelling;
use crate::{ManifestReader, MappingReader};

/// A transition.
#[derive(Debug, Clone)]
pub struct AegisTransition {
    /// The condition; `None`: it is invalid (reported).
    pub condition: Option<TransitionCondition>,
    /// The target.
    pub target: Option<YamlText>,
    /// The template of `state.feedback` in the target.
    pub feedback: Option<YamlText>,
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
pub enum TransitionCondition {
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
    InputEquals(YamlText),
    InputEqualsYes,
    InputEqualsNo,
    Custom(YamlText),
}

impl TransitionCondition {
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
    pub fn display_text(&self) -> String {
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
pub fn leave_success_open(transitions: &[AegisTransition]) -> bool {
    let for_failure = |t: &AegisTransition| match &t.condition {
        Some(TransitionCondition::OnFailure | TransitionCondition::ExitCodeNonZero) => true,
        Some(TransitionCondition::ExitCode(code)) => *code != 0,
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
pub fn read_all(reader: &ManifestReader<'_>, node: &YamlNode) -> Vec<AegisTransition> {
    let items = reader.read_list(node, "transitions").unwrap_or_default();
    let transitions: Vec<AegisTransition> = items.iter().filter_map(|item| read(reader, item)).collect();
    // A transition for failures may follow one that matches every success.
    let of_success = |t: &&AegisTransition| {
        !matches!(t.condition, Some(TransitionCondition::OnFailure | TransitionCondition::Custom(_)) | None)
    };
    for (index, transition) in transitions.iter().enumerate() {
        if transition.unconditional
            && let Some(first) = transitions.iter().skip(index + 1).find(of_success)
        {
            let message = "a transition without `condition` is always taken, so the ones after it never are";
            let d = Diagnostic::new_warning("missing-key", reader.location_of(transition.at), message);
            reader.report_finding(
                d.with_label(reader.location_of(first.at), "never reached")
                    .with_help("add a `condition`, or move it to the end"),
            );
            break;
        }
    }
    transitions
}

/// Reads the word of a condition. Alternative words are checked first, because some are closer in spelling to another
/// condition.
fn read_word(reader: &ManifestReader<'_>, node: &YamlNode) -> Option<&'static str> {
    let words: Vec<_> = WORDS.iter().map(|w| (*w, *w)).collect();
    let Some(text) = node.as_string() else { return reader.read_word(node, "condition", &words) };
    let written = text.value.trim().to_lowercase().replace(['-', ' '], "_");
    let Some((_, meant)) = OTHERWISE.iter().find(|(others, _)| others.contains(&&*written)) else {
        return reader.read_word(node, "condition", &words);
    };
    let d = Diagnostic::new_error(
        "unknown-value",
        reader.location_of(node.span),
        format!("`condition` cannot be `{}`", text.value),
    )
    .with_help(format!("did you mean `{meant}`?"));
    reader.report_finding(fix_spelling(
        d,
        reader.location_of(node.span),
        text,
        NearMatch { name: meant, distance: 0, sure: false },
    ));
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

fn read(reader: &ManifestReader<'_>, node: &YamlNode) -> Option<AegisTransition> {
    let mut fields = reader.read_mapping(node, "a transition")?;
    fields.also_called(key_synonyms::TRANSITION);
    fields.set_deciding_keys(&[("condition", "the transition is always taken")]);
    if let Some(transition) = read_as_key(reader, &fields, node.span) {
        return Some(transition);
    }
    let target = read_target(&mut fields);
    let feedback = fields.read_text("feedback").cloned();
    let written = fields.take("condition");
    let (at, condition) = match written {
        None => (fields.head_span(), Some(TransitionCondition::Always)),
        Some(entry) => {
            let at = entry.value.span;
            let word = read_word(reader, &entry.value);
            (at, word.and_then(|word| read_condition(&mut fields, word, at)))
        }
    };
    for key in PARAMETERS {
        if !fields.is_known(key)
            && let Some(entry) = fields.take(key)
        {
            let d = Diagnostic::new_warning(
                "no-effect",
                reader.location_of(entry.key.span),
                match written.and_then(|entry| entry.value.as_string()) {
                    Some(word) => format!("`{key}` has no effect: the condition `{}` does not use it", word.value),
                    None => format!("`{key}` has no effect: a transition without `condition` is always taken"),
                },
            );
            reader.report_finding(if *key == "expression" { d.with_help("write `condition: custom`") } else { d });
        }
    }
    fields.finish_mapping();
    Some(AegisTransition { condition, target, feedback, span: node.span, at, unconditional: written.is_none() })
}

/// `on_success: NEXT`: the condition is written as the key, and the target as its value.
fn read_as_key(reader: &ManifestReader<'_>, fields: &MappingReader<'_, '_>, span: Span) -> Option<AegisTransition> {
    if fields.peek_entry("condition").is_some() || fields.peek_entry("target").is_some() {
        return None;
    }
    let word = WORDS.iter().find(|word| fields.peek_entry(word).is_some())?;
    let entry = fields.peek_entry(word)?;
    let target = entry.value.as_string()?;
    let message = format!("`{word}` is a condition, but it is used as a key");
    let d = Diagnostic::new_error("missing-key", reader.location_of(entry.key.span), message);
    reader.report_finding(d.with_help(format!("write `condition: {word}` and `target: {}`", target.value)));
    let condition = match *word {
        "always" => Some(TransitionCondition::Always),
        "on_success" => Some(TransitionCondition::OnSuccess),
        "on_failure" => Some(TransitionCondition::OnFailure),
        _ => None,
    };
    let at = entry.key.span;
    Some(AegisTransition { condition, target: Some(target.clone()), feedback: None, span, at, unconditional: false })
}

/// Reads the target. In older files, `target: ~` meant the end of the run; now a terminal state does.
fn read_target(fields: &mut MappingReader<'_, '_>) -> Option<YamlText> {
    if let Some(entry) = fields.take_nullable("target")
        && entry.value.is_null()
    {
        fields.reader.report_finding(
            Diagnostic::new_error("missing-key", fields.reader.location_of(entry.key.span), "`target` names no state")
                .with_help("to end the run here, point to a state with `transitions: []`"),
        );
        return None;
    }
    fields.require_text("target").cloned()
}

fn read_condition(fields: &mut MappingReader<'_, '_>, word: &'static str, at: Span) -> Option<TransitionCondition> {
    Some(match word {
        "always" => TransitionCondition::Always,
        "on_success" => TransitionCondition::OnSuccess,
        "on_failure" => TransitionCondition::OnFailure,
        "exit_code_zero" => TransitionCondition::ExitCodeZero,
        "exit_code_non_zero" => TransitionCondition::ExitCodeNonZero,
        "exit_code" => {
            let entry = fields.require_entry("value")?;
            TransitionCondition::ExitCode(fields.reader.read_integer(&entry.value, "value", -255..=255)?)
        }
        "score_above" => TransitionCondition::ScoreAbove(number(fields, word, "threshold", 0.0, at)?),
        "score_below" => TransitionCondition::ScoreBelow(number(fields, word, "threshold", 1.0, at)?),
        "score_between" => read_score_range(fields, word, at)?,
        "confidence_above" => TransitionCondition::ConfidenceAbove(number(fields, word, "threshold", 0.0, at)?),
        "score_and_confidence_above" => {
            let score = number(fields, word, "threshold", 0.0, at);
            let confidence = optional(fields, "confidence");
            let (score, confidence) = (score?, confidence?);
            TransitionCondition::ScoreAndConfidenceAbove(score, confidence.unwrap_or(score))
        }
        "consensus" => {
            let threshold = optional(fields, "threshold");
            let agreement = take_spelled(fields, "agreement", "min_agreement_confidence");
            let agreement = match agreement {
                Some(entry) => fields.reader.read_number(&entry.value, "agreement", 0.0..=1.0).map(Some),
                None => Some(None),
            };
            TransitionCondition::Consensus { threshold: threshold?, agreement: agreement? }
        }
        "all_approved" => TransitionCondition::AllApproved(optional(fields, "threshold")?.unwrap_or(0.8)),
        "any_rejected" => TransitionCondition::AnyRejected(optional(fields, "threshold")?.unwrap_or(0.8)),
        "input_equals" => {
            let entry = fields.require_entry("value")?;
            match entry.value.as_scalar() {
                Some((YamlScalar::Null, _)) | None => {
                    fields.reader.wrong_type(&entry.value, "value", "text");
                    return None;
                }
                Some((_, text)) => TransitionCondition::InputEquals(text.clone()),
            }
        }
        "input_equals_yes" | "approved" => TransitionCondition::InputEqualsYes,
        "input_equals_no" | "rejected" => TransitionCondition::InputEqualsNo,
        _ => TransitionCondition::Custom(fields.require_text("expression")?.clone()),
    })
}

fn read_score_range(fields: &mut MappingReader<'_, '_>, word: &str, at: Span) -> Option<TransitionCondition> {
    let (min, max) = (number(fields, word, "min", 0.0, at), number(fields, word, "max", 1.0, at));
    let (min, max) = (min?, max?);
    if min <= max {
        return Some(TransitionCondition::ScoreBetween(min, max));
    }
    let message = format!("`min` {min} is above `max` {max}");
    let reader = fields.reader;
    let error = |at: Span| Diagnostic::new_error("out-of-range", reader.location_of(at), message);
    reader.report_finding(match (fields.peek_entry("min"), fields.peek_entry("max")) {
        (Some(min), Some(max)) => {
            error(min.value.span).with_label(reader.location_of(max.value.span), "the upper bound")
        }
        (Some(only), None) | (None, Some(only)) => error(only.value.span),
        (None, None) => error(at),
    });
    None
}

/// An optional number from 0 to 1; outer `None`: it is invalid (reported).
fn optional(fields: &mut MappingReader<'_, '_>, key: &'static str) -> Option<Option<f64>> {
    let written = fields.peek_entry(key).is_some();
    let number = fields.read_number(key, 0.0..=1.0);
    if number.is_some() || !written { Some(number) } else { None }
}

/// A number for which the original system uses 0 or 1 by default, which is rarely intended. `None`: it is invalid
/// (reported).
fn number(fields: &mut MappingReader<'_, '_>, word: &str, key: &'static str, default: f64, at: Span) -> Option<f64> {
    if fields.take(key).is_none() {
        fields.reader.report_finding(
            Diagnostic::new_warning(
                "missing-key",
                fields.reader.location_of(at),
                format!("`{word}` without `{key}` compares with {default}"),
            )
            .with_help(format!("write `{key}`")),
        );
        return Some(default);
    }
    fields.read_number(key, 0.0..=1.0)
}
