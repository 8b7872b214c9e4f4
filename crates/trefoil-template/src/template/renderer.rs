//! Runs a program: one loop for all three outputs (a buffer, a value with holes, a value with provenance).

use std::sync::Arc;

use crate::error::EvalError;
use crate::evaluation::{ExpressionEvaluator, ReducedExpression, decide_question, with_default};
use crate::expression::{BuiltinFunction, ConditionExpression};
use crate::limits;
use crate::lookup::{LookupResult, borrow_value, look_up, reason_text};
use crate::policy::{NullText, UndefinedHandling};
use crate::scope::{MissingCause, Reference, ValueScope};
use crate::template::frame::{BlockFrame, BlockSubject, LocalStart};
use crate::template::program::{TemplateOperand, TemplateOperation, TemplateProgram};
use crate::template::{PartOrigin, ReferenceProvenance, RenderedPart};
use crate::value::{Hole, MaskedBuilder, TextTarget, Value, is_json};

/// The destination of rendered text.
pub(crate) trait RenderSink: TextTarget {
    /// Whether [`Self::record_reference`] does anything.
    const TRACES: bool = false;
    /// The number of bytes so far; a hole counts as its masked form.
    fn len(&self) -> usize;
    /// Records that the bytes since `start` came from a reference.
    fn record_reference(&mut self, start: usize, reference: u32) {
        let _ = (start, reference);
    }
    /// Whether [`Self::record_part`] does anything.
    const PARTS: bool = false;
    /// Records the origin of the bytes since the last part.
    fn record_part(&mut self, from: PartOrigin) {
        let _ = from;
    }
}

impl RenderSink for String {
    fn len(&self) -> usize {
        String::len(self)
    }
}

/// Text with its holes, and its length in masked form.
#[derive(Debug, Default)]
pub(crate) struct PieceSink<const TRACE: bool> {
    pieces: MaskedBuilder,
    len: usize,
    pub provenance: Vec<ReferenceProvenance>,
}

impl<const TRACE: bool> PieceSink<TRACE> {
    pub fn into_value(self) -> (Value, Vec<ReferenceProvenance>) {
        (self.pieces.into_value(), self.provenance)
    }
}

impl<const TRACE: bool> TextTarget for PieceSink<TRACE> {
    fn write_text(&mut self, text: &str) {
        self.len += text.len();
        self.pieces.write_text(text);
    }
    fn write_hole(&mut self, hole: &Hole) {
        self.len += crate::value::HIDDEN.len();
        self.pieces.write_hole(hole);
    }
}

impl<const TRACE: bool> RenderSink for PieceSink<TRACE> {
    const TRACES: bool = TRACE;
    fn len(&self) -> usize {
        self.len
    }
    fn record_reference(&mut self, start: usize, reference: u32) {
        if self.len > start {
            self.provenance.push(ReferenceProvenance { output: start as u32..self.len as u32, reference });
        }
    }
}

/// Text with its holes, and the origin of each part.
#[derive(Debug, Default)]
pub(crate) struct PartSink {
    text: PieceSink<false>,
    parts: Vec<RenderedPart>,
    /// The number of bytes covered by parts.
    done: usize,
}

impl PartSink {
    pub fn into_value(self) -> (Value, Vec<RenderedPart>) {
        (self.text.pieces.into_value(), self.parts)
    }
}

impl TextTarget for PartSink {
    fn write_text(&mut self, text: &str) {
        self.text.write_text(text);
    }
    fn write_hole(&mut self, hole: &Hole) {
        self.text.write_hole(hole);
    }
}

impl RenderSink for PartSink {
    const TRACES: bool = true;
    const PARTS: bool = true;
    fn len(&self) -> usize {
        self.text.len
    }
    fn record_part(&mut self, from: PartOrigin) {
        let len = self.text.len - self.done;
        if len > 0 {
            self.done = self.text.len;
            self.parts.push(RenderedPart { len: len as u32, from });
        }
    }
}

/// One rendering.
pub(crate) struct TemplateRenderer<'a, S> {
    pub program: &'a TemplateProgram,
    pub references: &'a [Reference],
    pub scope: &'a dyn ValueScope,
    pub out: &'a mut S,
    pub passes: u64,
}

impl<'a, S: RenderSink> TemplateRenderer<'a, S> {
    /// Runs the whole program.
    pub fn run_program(&mut self) -> Result<(), EvalError> {
        let limit = self.out.len().saturating_add(limits::OUTPUT_BYTES);
        self.run(0, self.program.ops.len(), limit, None)
    }

    fn run(&mut self, mut at: usize, to: usize, limit: usize, frame: Option<&BlockFrame<'_>>) -> Result<(), EvalError> {
        while at < to {
            let Some(op) = self.program.ops.get(at) else { break };
            at += 1;
            match op {
                TemplateOperation::Text { start, end } => {
                    self.out.write_text(self.program.text_range(*start, *end));
                    if S::PARTS {
                        self.out.record_part(PartOrigin::Literal(self.program.literal_index(*start)));
                    }
                }
                TemplateOperation::Print { operand, json } => self.print(*operand, *json, frame)?,
                TemplateOperation::If { test, negate, zero, otherwise, end } => {
                    let truth = self.truth(*test, *zero, frame)?;
                    let (from, until) = if truth != *negate { (at, *otherwise) } else { (*otherwise as usize, *end) };
                    self.run(from, until as usize, limit, frame)?;
                    at = *end as usize;
                }
                TemplateOperation::Each { operand, otherwise, end } => {
                    self.each(*operand, at, (*otherwise, *end), limit, frame)?;
                    at = *end as usize;
                }
                TemplateOperation::With { operand, otherwise, end } => {
                    let got = self.operand(*operand, frame)?;
                    match got.value() {
                        Some(this) if self.truth(*operand, false, frame)? => {
                            let inner = BlockFrame { parent: frame, this, index: None, key: None, last: false };
                            self.run(at, *otherwise as usize, limit, Some(&inner))?;
                        }
                        _ => self.run(*otherwise as usize, *end as usize, limit, frame)?,
                    }
                    at = *end as usize;
                }
            }
            if self.out.len() > limit {
                return Err(EvalError::Limit(format!("the text is larger than {} MB", limits::OUTPUT_BYTES >> 20)));
            }
        }
        Ok(())
    }

    fn each(
        &mut self,
        operand: TemplateOperand,
        body: usize,
        (otherwise, end): (u32, u32),
        limit: usize,
        frame: Option<&BlockFrame<'_>>,
    ) -> Result<(), EvalError> {
        let got = self.operand(operand, frame)?;
        let until = otherwise as usize;
        match got.value() {
            Some(Value::List(items)) if !items.is_empty() => {
                for (i, this) in items.iter().enumerate() {
                    self.pass()?;
                    let last = i + 1 == items.len();
                    let inner = BlockFrame { parent: frame, this, index: Some(i), key: None, last };
                    self.run(body, until, limit, Some(&inner))?;
                }
                Ok(())
            }
            Some(Value::Object(object)) if !object.is_empty() => {
                for (i, (key, this)) in object.iter().enumerate() {
                    self.pass()?;
                    let last = i + 1 == object.len();
                    let inner = BlockFrame { parent: frame, this, index: Some(i), key: Some(key), last };
                    self.run(body, until, limit, Some(&inner))?;
                }
                Ok(())
            }
            _ => self.run(until, end as usize, limit, frame),
        }
    }

    fn pass(&mut self) -> Result<(), EvalError> {
        self.passes += 1;
        if self.passes > limits::PASSES {
            return Err(EvalError::Limit(format!("the loops take more than {} iterations", limits::PASSES)));
        }
        Ok(())
    }

    #[inline]
    fn print(&mut self, operand: TemplateOperand, json: bool, frame: Option<&BlockFrame<'_>>) -> Result<(), EvalError> {
        if !S::TRACES {
            match self.plain(operand, frame) {
                Some(Value::Str(text)) if !json && !text.is_empty() => {
                    self.out.write_text(text);
                    return Ok(());
                }
                // No filter applies to these.
                Some(value @ (Value::Number(_) | Value::Bool(_))) => {
                    value.write_to(self.out);
                    return Ok(());
                }
                _ => {}
            }
        }
        self.print_any(operand, json, frame)
    }

    /// Fast path: the value, if it can be reached by a walk through borrowed data, which is the common case.
    #[inline]
    fn plain<'v>(&self, operand: TemplateOperand, frame: Option<&'v BlockFrame<'v>>) -> Option<&'v Value>
    where
        'a: 'v,
    {
        match operand {
            TemplateOperand::Reference(index) => borrow_value(self.scope, self.references.get(index as usize)?),
            TemplateOperand::Local(index) => self.program.locals.get(index as usize)?.item_value(frame),
            TemplateOperand::Expression(_) => None,
        }
    }

    #[inline(never)]
    fn print_any(
        &mut self,
        operand: TemplateOperand,
        json: bool,
        frame: Option<&BlockFrame<'_>>,
    ) -> Result<(), EvalError> {
        let start = self.out.len();
        let shown = match self.filtered_value(operand, json, frame)? {
            PrintedValue::Value(got) => {
                match got.value() {
                    Some(Value::Str(text)) => self.out.write_text(text),
                    None | Some(Value::Null) if self.program.policy.null == NullText::Empty => {}
                    Some(value) => value.write_to(self.out),
                    None => {}
                }
                true
            }
            PrintedValue::Default(text) => {
                self.out.write_text(text);
                false
            }
        };
        if S::PARTS {
            let from = match (shown, operand) {
                (false, TemplateOperand::Reference(index)) => PartOrigin::Default(index),
                (_, operand) => self.part_of(operand, frame),
            };
            self.out.record_part(from);
        } else if S::TRACES
            && shown
            && let Some(reference) = self.producer(operand, frame)
        {
            self.out.record_reference(start, reference);
        }
        Ok(())
    }

    /// The value of a lone placeholder.
    pub fn lone_value(&self, operand: TemplateOperand, json: bool) -> Result<Value, EvalError> {
        Ok(match self.filtered_value(operand, json, None)? {
            PrintedValue::Value(LookupResult::Borrowed(value)) => value.clone(),
            PrintedValue::Value(LookupResult::Owned(value)) => value,
            PrintedValue::Value(LookupResult::Missing(_)) => Value::Null,
            PrintedValue::Default(text) => Value::from(text),
        })
    }

    /// The value after the placeholder's filter and the dialect's rule for missing values.
    fn filtered_value<'v>(
        &self,
        operand: TemplateOperand,
        json: bool,
        frame: Option<&'v BlockFrame<'v>>,
    ) -> Result<PrintedValue<'v, 'a>, EvalError>
    where
        'a: 'v,
    {
        let got = self.operand(operand, frame)?;
        let TemplateOperand::Reference(index) = operand else { return Ok(PrintedValue::Value(got)) };
        let Some(reference) = self.references.get(index as usize) else { return Ok(PrintedValue::Value(got)) };
        let Some(default) = &reference.default else {
            return match got {
                LookupResult::Missing(why) if self.program.policy.undefined == UndefinedHandling::Error => {
                    Err(undefined(reference, &why))
                }
                got => Ok(PrintedValue::Value(got)),
            };
        };
        Ok(match got.value() {
            None => PrintedValue::Default(default),
            Some(Value::Str(text)) if text.is_empty() || json && !is_json(text) => PrintedValue::Default(default),
            Some(Value::Masked(masked)) => match with_default(masked, default, json) {
                Some(masked) => PrintedValue::Value(LookupResult::Owned(masked.into_value())),
                None => PrintedValue::Value(got),
            },
            Some(_) => PrintedValue::Value(got),
        })
    }

    fn operand<'v>(
        &self,
        operand: TemplateOperand,
        frame: Option<&'v BlockFrame<'v>>,
    ) -> Result<LookupResult<'v>, EvalError>
    where
        'a: 'v,
    {
        Ok(match operand {
            TemplateOperand::Reference(index) => match self.references.get(index as usize) {
                Some(reference) => look_up(self.scope, reference, &self.program.policy),
                None => LookupResult::Missing(MissingCause::Key(0)),
            },
            TemplateOperand::Local(index) => match self.program.locals.get(index as usize) {
                Some(local) => local.look_up(frame),
                None => LookupResult::Missing(MissingCause::Key(0)),
            },
            TemplateOperand::Expression(index) => match self.program.expressions.get(index as usize) {
                Some(expression) => self.computed(expression, frame)?,
                None => LookupResult::Missing(MissingCause::Key(0)),
            },
        })
    }

    fn computed<'v>(
        &self,
        expression: &ConditionExpression,
        frame: Option<&'v BlockFrame<'v>>,
    ) -> Result<LookupResult<'v>, EvalError>
    where
        'a: 'v,
    {
        match self.evaluator(frame).reduce_expression(expression)? {
            ReducedExpression::Known(std::borrow::Cow::Borrowed(value)) => Ok(LookupResult::Borrowed(value)),
            ReducedExpression::Known(std::borrow::Cow::Owned(value)) => Ok(LookupResult::Owned(value)),
            ReducedExpression::Open(ConditionExpression::Literal(value, _)) => Ok(LookupResult::Owned(value)),
            // The driver can be asked about a helper that returns a boolean, but not about one that returns text,
            // because that would reveal the text.
            ReducedExpression::Open(open) if is_boolean(&open) => {
                Ok(LookupResult::Owned(decide_question(self.scope, open, &self.program.policy)?.into()))
            }
            ReducedExpression::Open(_) => Err(self.unknowable(expression)),
            ReducedExpression::Missing | ReducedExpression::Failed => Ok(LookupResult::Missing(MissingCause::Key(0))),
        }
    }

    #[cold]
    fn unknowable(&self, expression: &ConditionExpression) -> EvalError {
        let reference = mentions(expression).and_then(|index| self.references.get(index as usize));
        EvalError::Undefined {
            expression: reference.map_or_else(|| "env".into(), |r| r.dotted_path().into()),
            namespace: reference.and_then(|r| r.path.first()).map_or_else(|| "env".into(), |s| s.name.clone()),
            reason: "A helper cannot work on text from the environment or the secret store".to_owned(),
            span: reference.map_or(0..0, |r| r.span.clone()),
        }
    }

    fn evaluator<'v>(&self, frame: Option<&'v BlockFrame<'v>>) -> ExpressionEvaluator<'v>
    where
        'a: 'v,
    {
        ExpressionEvaluator::new(self.scope, self.references, &self.program.policy)
            .with_blocks(&self.program.locals, frame)
    }

    fn truth(&self, test: TemplateOperand, zero: bool, frame: Option<&BlockFrame<'_>>) -> Result<bool, EvalError> {
        if let TemplateOperand::Expression(index) = test
            && let Some(expression) = self.program.expressions.get(index as usize)
            && !zero
        {
            return self.evaluator(frame).evaluate_truth(expression);
        }
        match self.operand(test, frame)?.value() {
            None => Ok(false),
            Some(Value::Number(n)) if zero => Ok(!n.as_f64().is_nan()),
            Some(value) => match value.truth_value() {
                Some(truth) => Ok(truth),
                None => {
                    decide_question(self.scope, ConditionExpression::from_value(value.clone()), &self.program.policy)
                }
            },
        }
    }

    /// The reference that a printed value came from: for a local path, the one its loop iterates over; for a helper,
    /// the first in its arguments (for `default`, the one of the argument that it returned).
    fn producer(&self, operand: TemplateOperand, frame: Option<&BlockFrame<'_>>) -> Option<u32> {
        match operand {
            TemplateOperand::Reference(index) => Some(index),
            TemplateOperand::Local(index) => self.root_of(index),
            TemplateOperand::Expression(index) => {
                self.producer_of(self.program.expressions.get(index as usize)?, frame)
            }
        }
    }

    fn producer_of(&self, expression: &ConditionExpression, frame: Option<&BlockFrame<'_>>) -> Option<u32> {
        match expression {
            ConditionExpression::Reference(index) => Some(*index),
            ConditionExpression::Local(index) => self.root_of(*index),
            ConditionExpression::Call(BuiltinFunction::Default, arguments) => {
                let [first, second] = arguments.as_slice() else { return None };
                let taken = match self.evaluator(frame).reduce_expression(first) {
                    Ok(ReducedExpression::Known(value)) => !(value.is_null() || value.as_str() == Some("")),
                    Ok(ReducedExpression::Open(_)) => true,
                    _ => false,
                };
                self.producer_of(if taken { first } else { second }, frame)
            }
            ConditionExpression::Call(_, parts)
            | ConditionExpression::And(parts)
            | ConditionExpression::Or(parts)
            | ConditionExpression::Compare(parts, _) => parts.iter().find_map(|part| self.producer_of(part, frame)),
            ConditionExpression::Not(part) => self.producer_of(part, frame),
            _ => None,
        }
    }

    /// The origin of a printed value.
    fn part_of(&self, operand: TemplateOperand, frame: Option<&BlockFrame<'_>>) -> PartOrigin {
        match operand {
            TemplateOperand::Reference(index) => PartOrigin::Reference(index),
            TemplateOperand::Local(index) => match self.inside(index, frame) {
                Some((reference, path)) => PartOrigin::Inside { local: index, reference, path },
                None => PartOrigin::Computed(self.root_of(index)),
            },
            TemplateOperand::Expression(_) => PartOrigin::Computed(self.producer(operand, frame)),
        }
    }

    /// The reference over which a loop iterates, and the path from its value to what the local path finds in this
    /// iteration.
    fn inside(&self, local: u32, mut frame: Option<&BlockFrame<'_>>) -> Option<(u32, Vec<Arc<str>>)> {
        let local = self.program.locals.get(local as usize)?;
        for _ in 0..local.up {
            frame = frame?.parent;
        }
        let frame = frame?;
        // An origin precedes the paths that start in it, so this terminates.
        let (reference, mut path) = match local.origin {
            BlockSubject::Reference(index) => (index, Vec::new()),
            BlockSubject::Local(index) => self.inside(index, frame.parent)?,
            BlockSubject::Computed => return None,
        };
        if local.start != LocalStart::This {
            // The index or key of an item, which is not part of its value.
            return Some((reference, path)).filter(|_| local.start == LocalStart::Key && frame.key.is_some());
        }
        match (frame.key, frame.index) {
            (Some(key), _) => path.push(key.clone()),
            (None, Some(index)) => path.push(index.to_string().into()),
            (None, None) => {}
        }
        path.extend(local.path.iter().map(|s| s.name.clone()));
        Some((reference, path))
    }

    fn root_of(&self, local: u32) -> Option<u32> {
        // An origin precedes the paths that start in it, so this terminates.
        let mut local = self.program.locals.get(local as usize)?;
        loop {
            match local.origin {
                BlockSubject::Reference(index) => return Some(index),
                BlockSubject::Local(index) => local = self.program.locals.get(index as usize)?,
                BlockSubject::Computed => return None,
            }
        }
    }
}

/// What a placeholder prints.
enum PrintedValue<'v, 'd> {
    Value(LookupResult<'v>),
    /// The default text of its filter.
    Default(&'d str),
}

fn is_boolean(expression: &ConditionExpression) -> bool {
    matches!(
        expression,
        ConditionExpression::Not(_)
            | ConditionExpression::Compare(..)
            | ConditionExpression::Call(BuiltinFunction::Bool, _)
    )
}

/// The first reference in an expression.
fn mentions(expression: &ConditionExpression) -> Option<u32> {
    match expression {
        ConditionExpression::Reference(index) => Some(*index),
        ConditionExpression::Call(_, parts)
        | ConditionExpression::And(parts)
        | ConditionExpression::Or(parts)
        | ConditionExpression::Compare(parts, _) => parts.iter().find_map(mentions),
        ConditionExpression::Not(part) => mentions(part),
        _ => None,
    }
}

#[cold]
fn undefined(reference: &Reference, why: &MissingCause) -> EvalError {
    EvalError::Undefined {
        expression: reference.dotted_path().into(),
        namespace: reference.path.first().map_or_else(|| "".into(), |s| s.name.clone()),
        reason: reason_text(why, reference),
        span: reference.span.clone(),
    }
}
