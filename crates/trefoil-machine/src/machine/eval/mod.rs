//! Evaluates expressions, texts and conditions with the slots of an activation.
//!
//! Pure: what only the driver knows is returned as [`EvalStop::Ask`], and the whole evaluation is repeated when it is
//! answered. Recursive in the depth of one expression, which the nesting limit of manifests bounds.

mod scope;
mod text;
mod trail;

use std::cell::Cell;
use std::sync::Arc;

use trefoil_ir::{BoundCondition, BoundTemplate, JsonType, Source, ValueExpression};
use trefoil_syntax::Location;
use trefoil_template::{EvalError, HoleQuestion, Value, ValueObject, has_too_many_nodes, limits};

use super::activation::{Activation, ActivationId};
use super::arena::GenerationalArena;
use super::{consensus, verdict};
use crate::answer;
use crate::blocks;
use crate::content::QuestionContent;
use crate::error::RunError;
use crate::key::Key;
use crate::text::strip_fence;
use scope::EvalScope;
use text::MaskedTextBuilder;
pub use text::text_of;

/// A question for the driver.
#[derive(Debug)]
pub struct DriverQuestion {
    /// The question.
    pub question: HoleQuestion,
    /// The locations of the holes in it, by path as written.
    pub hole_locations: Vec<(String, Location)>,
}

/// A value that should be a score, but is not.
#[derive(Debug, PartialEq, Eq)]
pub struct MissingScore {
    /// `score` or `confidence`.
    pub what: Arc<str>,
    /// The path that is read.
    pub read: String,
    /// What is wrong with it, for the message.
    pub explanation: String,
}

/// Why an evaluation stopped.
#[derive(Debug)]
pub enum EvalStop {
    /// Ask the driver, then evaluate again.
    Ask(Box<DriverQuestion>),
    /// The evaluation failed.
    Fail(Box<RunError>),
}

impl From<HoleQuestion> for EvalStop {
    fn from(question: HoleQuestion) -> Self {
        Self::Ask(Box::new(DriverQuestion { question, hole_locations: Vec::new() }))
    }
}

impl From<RunError> for EvalStop {
    fn from(error: RunError) -> Self {
        Self::Fail(Box::new(error))
    }
}

/// The data that expressions read.
#[derive(Clone, Copy)]
pub struct EvalContext<'a> {
    /// All activations.
    pub activations: &'a GenerationalArena<Activation>,
    /// The activation whose slots are read.
    pub activation: ActivationId,
    /// [`Source::Result`].
    pub result: Option<&'a Value>,
    /// [`Source::Failure`].
    pub failure: Option<&'a str>,
    /// [`Source::RunId`].
    pub run: &'a Arc<str>,
    /// The answered questions.
    pub answered_questions: &'a [(QuestionContent, bool)],
    /// The step whose result or failure is read, for provenance.
    pub by: Option<&'a Key>,
    /// The total bytes of the values that the run has created.
    pub made: &'a Cell<u64>,
    /// Whether to use [the origins of slots](crate::machine::trail), which must not affect what a run does.
    pub trails: bool,
}

impl EvalContext<'_> {
    /// The value of an expression. Its new parts count towards the limit of bytes that a run may create.
    pub fn eval_expr(&self, expr: &ValueExpression) -> Result<Value, EvalStop> {
        let value = self.value(expr)?;
        self.made.set(self.made.get().saturating_add(value.fresh_weight()));
        Ok(value)
    }

    /// The value of an expression for a request, which is freed with it; it is not counted here.
    pub fn eval_uncounted(&self, expr: &ValueExpression) -> Result<Value, EvalStop> {
        self.value(expr)
    }

    /// The value of an expression. reason: a table, one arm for each kind.
    fn value(&self, expr: &ValueExpression) -> Result<Value, EvalStop> {
        Ok(match expr {
            ValueExpression::Const(value) => value.clone(),
            ValueExpression::Template(text) => self.render_text(text)?,
            ValueExpression::Typed(text) => {
                let value = text.template.render_value(&self.text_scope(text)).map_err(|e| stop(e, text))?;
                self.present(value, text)?
            }
            ValueExpression::Read(source) => self.read_source(source).unwrap_or_default(),
            ValueExpression::Object(members) => {
                let members = members.iter().map(|(key, e)| Ok((key.clone(), self.value(e)?)));
                members.collect::<Result<ValueObject, EvalStop>>()?.into()
            }
            ValueExpression::List(items) => {
                items.iter().map(|e| self.value(e)).collect::<Result<Vec<_>, EvalStop>>()?.into()
            }
            ValueExpression::Concat(items) => {
                let mut all = MaskedTextBuilder::default();
                for item in items {
                    all.push_unless_null(&self.value(item)?);
                }
                all.into_value()
            }
            ValueExpression::Join { parts, separator, otherwise } => {
                let mut all = MaskedTextBuilder::default();
                let mut is_first = true;
                for part in parts {
                    let Some(value) = self.read_source(part) else { continue };
                    if value.is_null() {
                        continue;
                    }
                    if !std::mem::take(&mut is_first) {
                        all.push_text(separator);
                    }
                    all.push_unless_null(&value);
                }
                if is_first {
                    return self.value(otherwise);
                }
                all.into_value()
            }
            ValueExpression::Merge(layers) => {
                let mut merged = ValueObject::default();
                for layer in layers {
                    if let Value::Object(object) = self.value(layer)? {
                        merged.extend(object.iter().map(|(k, v)| (k.clone(), v.clone())));
                    }
                }
                merged.into()
            }
            ValueExpression::Lines(inner) => lines(self.value(inner)?),
            ValueExpression::AsText(inner) => text::text_of(&self.value(inner)?),
            ValueExpression::AsMessage(inner) => {
                let value = self.value(inner)?;
                if blocks::parse_blocks(&value).is_some() { value } else { text::text_of(&value) }
            }
            ValueExpression::If { source, then, otherwise } => {
                let truth = match self.read_source(source) {
                    Some(value) => self.truth(value)?,
                    None => false,
                };
                self.value(if truth { then } else { otherwise })?
            }
            ValueExpression::Structured(inner) => {
                let value = self.value(inner)?;
                is_bounded(&value)?;
                value.as_str().and_then(answer::find_structure).unwrap_or(value)
            }
            ValueExpression::Verdict(inner) => {
                let value = self.value(inner)?;
                is_bounded(&value)?;
                value.as_str().and_then(verdict::find_verdict).unwrap_or(value)
            }
            ValueExpression::Coerce(inner, kind) => {
                let value = self.value(inner)?;
                if matches!(kind, JsonType::Object | JsonType::List) {
                    is_bounded(&value)?;
                }
                coerce(value, *kind)
            }
            ValueExpression::Consensus { verdicts, consensus: rules } => {
                let mut ballots = Vec::new();
                for ballot in verdicts {
                    ballots.push(consensus::EvaluatedBallot {
                        by: &ballot.by,
                        value: self.value(&ballot.value)?,
                        weight: ballot.weight,
                        failed: self.cause(&ballot.value),
                    });
                }
                consensus::of_outputs(&ballots, rules)?
            }
        })
    }

    /// Why the step failed that should have filled the slot which an expression reads.
    fn cause(&self, expr: &ValueExpression) -> Option<Arc<str>> {
        let ValueExpression::Read(Source::Slot(slot)) = expr else { return None };
        let call = self.activations.flow_call(self.activation)?;
        let (_, why) = call.failures.iter().find(|(failed, _)| failed == slot)?;
        Some(why.clone())
    }

    /// A text in a text position.
    pub fn render_text(&self, text: &BoundTemplate) -> Result<Value, EvalStop> {
        let value = text.template.render_text(&self.text_scope(text)).map_err(|e| stop(e, text))?;
        self.present(value, text)
    }

    /// A text that is a web address, in which values are percent-encoded.
    pub fn render_address(&self, text: &BoundTemplate) -> Result<Value, EvalStop> {
        let value = text.template.render_url(&self.text_scope(text)).map_err(|e| stop(e, text))?;
        self.present(value, text)
    }

    /// Returns the value when it is known that every environment variable or secret that must be set is set, so that an
    /// unresolved one fails the evaluation instead of the effect. Holes in another step's result were checked there.
    fn present(&self, value: Value, text: &BoundTemplate) -> Result<Value, EvalStop> {
        let reads = |source: &Source| matches!(source, Source::Environment | Source::Secrets);
        if !matches!(value, Value::Masked(_)) || !text.sources.iter().any(reads) {
            return Ok(value);
        }
        let Some(question) = HoleQuestion::about_presence(&value) else { return Ok(value) };
        if self.decision(&question).is_some() {
            return Ok(value);
        }
        let file = text.origin.file;
        let mut hole_locations = Vec::new();
        for (reference, span) in text.template.references().iter().zip(&text.spans) {
            hole_locations.push((reference.dotted_path(), Location::new(file, *span)));
        }
        Err(EvalStop::Ask(Box::new(DriverQuestion { question, hole_locations })))
    }

    /// The truth of a condition.
    pub fn eval_condition(&self, cond: &BoundCondition) -> Result<bool, EvalStop> {
        let scope = EvalScope::new(self, &cond.sources, cond.condition.references());
        cond.condition.evaluate_in(&scope).map_err(|e| match e {
            EvalError::Undecided(question) => HoleQuestion { text: Some(cond.text.clone()), ..question }.into(),
            other => eval_failure(&other, cond.origin),
        })
    }

    /// The value of a source read as a whole; `None`: unset or missing.
    pub fn read_source(&self, source: &Source) -> Option<Value> {
        scope::found_value(scope::find_source(self, source, 0))
    }

    /// The names and values that a condition reads, formatted for messages: `review.score` is 0.4.
    pub fn describe_values(&self, cond: &BoundCondition) -> Vec<String> {
        let scope = EvalScope::new(self, &cond.sources, cond.condition.references());
        let mut seen: Vec<String> = Vec::new();
        for (reference, value) in cond.condition.evaluated_references(&scope) {
            let text = value.as_ref().map(Value::to_text);
            let shown = match text {
                None => "missing".to_owned(),
                Some(text) if text.is_empty() => "empty".to_owned(),
                Some(text) => crate::text::shorten_text(&text, 60),
            };
            let description = format!("`{}` is {shown}", reference.dotted_path());
            if !seen.contains(&description) {
                seen.push(description);
            }
        }
        seen
    }

    /// The values that a condition compares as scores although they are not scores.
    pub fn missing_scores(&self, cond: &BoundCondition) -> Vec<MissingScore> {
        let references = cond.condition.references();
        let scope = EvalScope::new(self, &cond.sources, references);
        let mut missing = Vec::new();
        for (at, value) in cond.condition.invalid_scores(&scope) {
            let Some(reference) = references.get(at) else { continue };
            let Some(last) = reference.path.last() else { continue };
            let read = reference.dotted_path();
            let explanation = match value {
                Some(Value::Str(text)) => {
                    format!(
                        "`{read}` is the text \"{}\", not a number from 0 to 1",
                        crate::text::shorten_text(&text, 60)
                    )
                }
                Some(value) if !value.is_null() => {
                    format!("`{read}` is {}, not a number from 0 to 1", crate::text::shorten_text(&value.to_text(), 60))
                }
                _ if self.is_in_text(cond.sources.get(reference.binding.source as usize)) => {
                    format!("`{read}` is missing, because the answer is text, not JSON")
                }
                _ => format!("`{read}` is missing"),
            };
            missing.push(MissingScore { what: last.name.clone(), read: format!("`{read}`"), explanation });
        }
        missing
    }

    /// Whether a source is a member of something that is a text.
    fn is_in_text(&self, source: Option<&Source>) -> bool {
        let Some(Source::Member(slot, path)) = source else { return false };
        let Some((_, around)) = path.split_last() else { return false };
        if around.is_empty() {
            return false;
        }
        let around = self.read_source(&Source::Member(*slot, around.to_vec()));
        matches!(around, Some(value) if value.as_str().is_some())
    }

    fn truth(&self, value: Value) -> Result<bool, EvalStop> {
        if let Some(truth) = value.truth_value() {
            return Ok(truth);
        }
        let question = HoleQuestion::about_truth(value);
        match self.decision(&question) {
            Some(answer) => Ok(answer),
            None => Err(question.into()),
        }
    }

    /// Whether a value that only the driver knows matches a schema.
    pub fn matches_schema(&self, value: Value, schema: Value) -> Result<bool, EvalStop> {
        let question = HoleQuestion::about_schema(value, schema);
        match self.decision(&question) {
            Some(answer) => Ok(answer),
            None => Err(question.into()),
        }
    }

    fn decision(&self, question: &HoleQuestion) -> Option<bool> {
        if self.answered_questions.is_empty() {
            return None;
        }
        let asked = QuestionContent::from_question(question);
        let (_, answer) = self.answered_questions.iter().find(|(known, _)| *known == asked)?;
        Some(*answer)
    }
}

fn stop(error: EvalError, text: &BoundTemplate) -> EvalStop {
    match error {
        EvalError::Undecided(question) => question.into(),
        EvalError::Undefined { ref span, .. } => {
            let mut references = text.template.references().iter().zip(&text.spans);
            let origin = match references.find(|(reference, _)| reference.span == *span) {
                Some((_, place)) => Location::new(text.origin.file, *place),
                None => text.origin,
            };
            eval_failure(&error, origin)
        }
        other => eval_failure(&other, text.origin),
    }
}

fn eval_failure(error: &EvalError, origin: Location) -> EvalStop {
    let mut failure = match error {
        EvalError::Undefined { expression, namespace, reason, .. } => {
            RunError::for_placeholder(expression, namespace, reason.as_str())
        }
        EvalError::Undecided(_) => RunError::new("INTERPOLATION_ERROR", error.to_string()),
        EvalError::Limit(_) => RunError::new("LIMIT_EXCEEDED", error.to_string()),
    };
    failure.location = Some(origin);
    failure.into()
}

fn coerce(value: Value, kind: JsonType) -> Value {
    let Some(text) = value.as_str() else {
        return match (kind, &value) {
            (JsonType::Boolean, Value::Bool(_)) | (JsonType::Number, Value::Number(_)) => value,
            (JsonType::Object, Value::Object(_)) | (JsonType::List, Value::List(_)) => value,
            (JsonType::Integer, Value::Number(n)) if n.as_i64().is_some() => value,
            _ => Value::Null,
        };
    };
    let text = text.trim();
    match kind {
        JsonType::Integer => text.parse::<i64>().ok().into(),
        JsonType::Number => parse_number(text),
        JsonType::Boolean => (text == "true").into(),
        JsonType::Object | JsonType::List => match (kind, Value::parse(strip_fence(text)).unwrap_or_default()) {
            (JsonType::Object, value @ Value::Object(_)) | (JsonType::List, value @ Value::List(_)) => value,
            _ => Value::Null,
        },
    }
}

fn parse_number(text: &str) -> Value {
    match (text.parse::<f64>(), text.parse::<i64>()) {
        (Ok(number), Ok(whole)) if number.is_finite() => whole.into(),
        (Ok(number), Err(_)) if number.is_finite() => number.into(),
        _ => Value::Null,
    }
}

/// Fails for a text that would be read as JSON and has too many values. Without the limit, a workflow that joins such texts
/// doubles its state with each step; and the text must not silently stay one.
fn is_bounded(value: &Value) -> Result<(), EvalStop> {
    let Some(text) = value.as_str() else { return Ok(()) };
    let reads_as_json = strip_fence(text).starts_with(['{', '[']);
    if reads_as_json && has_too_many_nodes(text.as_bytes()) {
        let message = format!("the text has more than {} values, too many for JSON", limits::ANSWER_NODES);
        return Err(RunError::new("LIMIT_EXCEEDED", message).into());
    }
    Ok(())
}

/// One line for each member of an object, `key: value`, or for each non-empty item of a list.
fn lines(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut all = MaskedTextBuilder::default();
            for (at, (key, value)) in object.iter().enumerate() {
                if at > 0 {
                    all.push_text("\n");
                }
                all.push_text(key);
                all.push_text(": ");
                all.push(value);
            }
            all.into_value()
        }
        Value::List(items) => {
            let mut all = MaskedTextBuilder::default();
            let mut first = true;
            for item in items.iter() {
                if text::is_empty(item) {
                    continue;
                }
                if !std::mem::take(&mut first) {
                    all.push_text("\n");
                }
                all.push(item);
            }
            all.into_value()
        }
        other => text::text_of(&other),
    }
}
