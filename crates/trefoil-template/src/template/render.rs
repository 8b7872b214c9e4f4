//! Runs a program: one loop for all three outputs (a buffer, a value with holes, a value with provenance).

use std::sync::Arc;

use crate::error::EvalError;
use crate::evaluate::{Evaluator, Reduced, decide, with_default};
use crate::expression::{Expression, Function};
use crate::limits;
use crate::lookup::{Got, borrowed, look_up, reason};
use crate::policy::{NullText, Undefined};
use crate::scope::{Missing, Reference, Scope};
use crate::template::frame::{BlockFrame, Origin, Start};
use crate::template::program::{Op, Operand, Program};
use crate::template::{Part, Produced, Provenance};
use crate::value::{Hole, Pieces, Target, Value, is_json};

/// The destination of rendered text.
pub(crate) trait Sink: Target {
    /// Whether [`Self::produced`] does anything.
    const TRACES: bool = false;
    /// The number of bytes so far; a hole counts as its masked form.
    fn len(&self) -> usize;
    /// Records that the bytes since `start` came from a reference.
    fn produced(&mut self, start: usize, reference: u32) {
        let _ = (start, reference);
    }
    /// Whether [`Self::part`] does anything.
    const PARTS: bool = false;
    /// Records the origin of the bytes since the last part.
    fn part(&mut self, from: Produced) {
        let _ = from;
    }
}

impl Sink for String {
    fn len(&self) -> usize {
        String::len(self)
    }
}

/// Text with its holes, and its length in masked form.
#[derive(Debug, Default)]
pub(crate) struct Kept<const TRACE: bool> {
    pieces: Pieces,
    len: usize,
    pub provenance: Vec<Provenance>,
}

impl<const TRACE: bool> Kept<TRACE> {
    pub fn into_value(self) -> (Value, Vec<Provenance>) {
        (self.pieces.into_value(), self.provenance)
    }
}

impl<const TRACE: bool> Target for Kept<TRACE> {
    fn text(&mut self, text: &str) {
        self.len += text.len();
        self.pieces.text(text);
    }
    fn hole(&mut self, hole: &Hole) {
        self.len += crate::value::HIDDEN.len();
        self.pieces.hole(hole);
    }
}

impl<const TRACE: bool> Sink for Kept<TRACE> {
    const TRACES: bool = TRACE;
    fn len(&self) -> usize {
        self.len
    }
    fn produced(&mut self, start: usize, reference: u32) {
        if self.len > start {
            self.provenance.push(Provenance { output: start as u32..self.len as u32, reference });
        }
    }
}

/// Text with its holes, and the origin of each part.
#[derive(Debug, Default)]
pub(crate) struct Parts {
    text: Kept<false>,
    parts: Vec<Part>,
    /// The number of bytes covered by parts.
    done: usize,
}

impl Parts {
    pub fn into_value(self) -> (Value, Vec<Part>) {
        (self.text.pieces.into_value(), self.parts)
    }
}

impl Target for Parts {
    fn text(&mut self, text: &str) {
        self.text.text(text);
    }
    fn hole(&mut self, hole: &Hole) {
        self.text.hole(hole);
    }
}

impl Sink for Parts {
    const TRACES: bool = true;
    const PARTS: bool = true;
    fn len(&self) -> usize {
        self.text.len
    }
    fn part(&mut self, from: Produced) {
        let len = self.text.len - self.done;
        if len > 0 {
            self.done = self.text.len;
            self.parts.push(Part { len: len as u32, from });
        }
    }
}

/// One rendering.
pub(crate) struct Renderer<'a, S> {
    pub program: &'a Program,
    pub references: &'a [Reference],
    pub scope: &'a dyn Scope,
    pub out: &'a mut S,
    pub passes: u64,
}

impl<'a, S: Sink> Renderer<'a, S> {
    /// Runs the whole program.
    pub fn render(&mut self) -> Result<(), EvalError> {
        let limit = self.out.len().saturating_add(limits::OUTPUT_BYTES);
        self.run(0, self.program.ops.len(), limit, None)
    }

    fn run(&mut self, mut at: usize, to: usize, limit: usize, frame: Option<&BlockFrame<'_>>) -> Result<(), EvalError> {
        while at < to {
            let Some(op) = self.program.ops.get(at) else { break };
            at += 1;
            match op {
                Op::Text { start, end } => {
                    self.out.text(self.program.text(*start, *end));
                    if S::PARTS {
                        self.out.part(Produced::Literal(self.program.literal(*start)));
                    }
                }
                Op::Print { operand, json } => self.print(*operand, *json, frame)?,
                Op::If { test, negate, zero, otherwise, end } => {
                    let truth = self.truth(*test, *zero, frame)?;
                    let (from, until) = if truth != *negate { (at, *otherwise) } else { (*otherwise as usize, *end) };
                    self.run(from, until as usize, limit, frame)?;
                    at = *end as usize;
                }
                Op::Each { operand, otherwise, end } => {
                    self.each(*operand, at, (*otherwise, *end), limit, frame)?;
                    at = *end as usize;
                }
                Op::With { operand, otherwise, end } => {
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
        operand: Operand,
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
    fn print(&mut self, operand: Operand, json: bool, frame: Option<&BlockFrame<'_>>) -> Result<(), EvalError> {
        if !S::TRACES {
            match self.plain(operand, frame) {
                Some(Value::Str(text)) if !json && !text.is_empty() => {
                    self.out.text(text);
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
    fn plain<'v>(&self, operand: Operand, frame: Option<&'v BlockFrame<'v>>) -> Option<&'v Value>
    where
        'a: 'v,
    {
        match operand {
            Operand::Reference(index) => borrowed(self.scope, self.references.get(index as usize)?),
            Operand::Local(index) => self.program.locals.get(index as usize)?.this(frame),
            Operand::Expression(_) => None,
        }
    }

    #[inline(never)]
    fn print_any(&mut self, operand: Operand, json: bool, frame: Option<&BlockFrame<'_>>) -> Result<(), EvalError> {
        let start = self.out.len();
        let shown = match self.filtered(operand, json, frame)? {
            Shown::Value(got) => {
                match got.value() {
                    Some(Value::Str(text)) => self.out.text(text),
                    None | Some(Value::Null) if self.program.policy.null == NullText::Empty => {}
                    Some(value) => value.write_to(self.out),
                    None => {}
                }
                true
            }
            Shown::Default(text) => {
                self.out.text(text);
                false
            }
        };
        if S::PARTS {
            let from = match (shown, operand) {
                (false, Operand::Reference(index)) => Produced::Default(index),
                (_, operand) => self.part_of(operand, frame),
            };
            self.out.part(from);
        } else if S::TRACES
            && shown
            && let Some(reference) = self.producer(operand, frame)
        {
            self.out.produced(start, reference);
        }
        Ok(())
    }

    /// The value of a lone placeholder.
    pub fn value(&self, operand: Operand, json: bool) -> Result<Value, EvalError> {
        Ok(match self.filtered(operand, json, None)? {
            Shown::Value(Got::Borrowed(value)) => value.clone(),
            Shown::Value(Got::Owned(value)) => value,
            Shown::Value(Got::Missing(_)) => Value::Null,
            Shown::Default(text) => Value::from(text),
        })
    }

    /// The value after the placeholder's filter and the dialect's rule for missing values.
    fn filtered<'v>(
        &self,
        operand: Operand,
        json: bool,
        frame: Option<&'v BlockFrame<'v>>,
    ) -> Result<Shown<'v, 'a>, EvalError>
    where
        'a: 'v,
    {
        let got = self.operand(operand, frame)?;
        let Operand::Reference(index) = operand else { return Ok(Shown::Value(got)) };
        let Some(reference) = self.references.get(index as usize) else { return Ok(Shown::Value(got)) };
        let Some(default) = &reference.default else {
            return match got {
                Got::Missing(why) if self.program.policy.undefined == Undefined::Error => {
                    Err(undefined(reference, &why))
                }
                got => Ok(Shown::Value(got)),
            };
        };
        Ok(match got.value() {
            None => Shown::Default(default),
            Some(Value::Str(text)) if text.is_empty() || json && !is_json(text) => Shown::Default(default),
            Some(Value::Masked(masked)) => match with_default(masked, default, json) {
                Some(masked) => Shown::Value(Got::Owned(masked.into_value())),
                None => Shown::Value(got),
            },
            Some(_) => Shown::Value(got),
        })
    }

    fn operand<'v>(&self, operand: Operand, frame: Option<&'v BlockFrame<'v>>) -> Result<Got<'v>, EvalError>
    where
        'a: 'v,
    {
        Ok(match operand {
            Operand::Reference(index) => match self.references.get(index as usize) {
                Some(reference) => look_up(self.scope, reference, &self.program.policy),
                None => Got::Missing(Missing::Key(0)),
            },
            Operand::Local(index) => match self.program.locals.get(index as usize) {
                Some(local) => local.look_up(frame),
                None => Got::Missing(Missing::Key(0)),
            },
            Operand::Expression(index) => match self.program.expressions.get(index as usize) {
                Some(expression) => self.computed(expression, frame)?,
                None => Got::Missing(Missing::Key(0)),
            },
        })
    }

    fn computed<'v>(&self, expression: &Expression, frame: Option<&'v BlockFrame<'v>>) -> Result<Got<'v>, EvalError>
    where
        'a: 'v,
    {
        match self.evaluator(frame).reduce(expression)? {
            Reduced::Known(std::borrow::Cow::Borrowed(value)) => Ok(Got::Borrowed(value)),
            Reduced::Known(std::borrow::Cow::Owned(value)) => Ok(Got::Owned(value)),
            Reduced::Open(Expression::Literal(value, _)) => Ok(Got::Owned(value)),
            // The driver can be asked about a helper that returns a boolean, but not about one that returns text,
            // because that would reveal the text.
            Reduced::Open(open) if is_boolean(&open) => {
                Ok(Got::Owned(decide(self.scope, open, &self.program.policy)?.into()))
            }
            Reduced::Open(_) => Err(self.unknowable(expression)),
            Reduced::Missing | Reduced::Failed => Ok(Got::Missing(Missing::Key(0))),
        }
    }

    #[cold]
    fn unknowable(&self, expression: &Expression) -> EvalError {
        let reference = mentions(expression).and_then(|index| self.references.get(index as usize));
        EvalError::Undefined {
            expression: reference.map_or_else(|| "env".into(), |r| r.dotted().into()),
            namespace: reference.and_then(|r| r.path.first()).map_or_else(|| "env".into(), |s| s.name.clone()),
            reason: "A helper cannot work on text from the environment or the secret store".to_owned(),
            span: reference.map_or(0..0, |r| r.span.clone()),
        }
    }

    fn evaluator<'v>(&self, frame: Option<&'v BlockFrame<'v>>) -> Evaluator<'v>
    where
        'a: 'v,
    {
        Evaluator::new(self.scope, self.references, &self.program.policy).within(&self.program.locals, frame)
    }

    fn truth(&self, test: Operand, zero: bool, frame: Option<&BlockFrame<'_>>) -> Result<bool, EvalError> {
        if let Operand::Expression(index) = test
            && let Some(expression) = self.program.expressions.get(index as usize)
            && !zero
        {
            return self.evaluator(frame).truth(expression);
        }
        match self.operand(test, frame)?.value() {
            None => Ok(false),
            Some(Value::Number(n)) if zero => Ok(!n.as_f64().is_nan()),
            Some(value) => match value.truthy() {
                Some(truth) => Ok(truth),
                None => decide(self.scope, Expression::value(value.clone()), &self.program.policy),
            },
        }
    }

    /// The reference that a printed value came from: for a local path, the one its loop iterates over; for a helper,
    /// the first in its arguments (for `default`, the one of the argument that it returned).
    fn producer(&self, operand: Operand, frame: Option<&BlockFrame<'_>>) -> Option<u32> {
        match operand {
            Operand::Reference(index) => Some(index),
            Operand::Local(index) => self.root_of(index),
            Operand::Expression(index) => self.producer_of(self.program.expressions.get(index as usize)?, frame),
        }
    }

    fn producer_of(&self, expression: &Expression, frame: Option<&BlockFrame<'_>>) -> Option<u32> {
        match expression {
            Expression::Reference(index) => Some(*index),
            Expression::Local(index) => self.root_of(*index),
            Expression::Call(Function::Default, arguments) => {
                let [first, second] = arguments.as_slice() else { return None };
                let taken = match self.evaluator(frame).reduce(first) {
                    Ok(Reduced::Known(value)) => !(value.is_null() || value.as_str() == Some("")),
                    Ok(Reduced::Open(_)) => true,
                    _ => false,
                };
                self.producer_of(if taken { first } else { second }, frame)
            }
            Expression::Call(_, parts)
            | Expression::And(parts)
            | Expression::Or(parts)
            | Expression::Compare(parts, _) => parts.iter().find_map(|part| self.producer_of(part, frame)),
            Expression::Not(part) => self.producer_of(part, frame),
            _ => None,
        }
    }

    /// The origin of a printed value.
    fn part_of(&self, operand: Operand, frame: Option<&BlockFrame<'_>>) -> Produced {
        match operand {
            Operand::Reference(index) => Produced::Reference(index),
            Operand::Local(index) => match self.inside(index, frame) {
                Some((reference, path)) => Produced::Inside { local: index, reference, path },
                None => Produced::Computed(self.root_of(index)),
            },
            Operand::Expression(_) => Produced::Computed(self.producer(operand, frame)),
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
            Origin::Reference(index) => (index, Vec::new()),
            Origin::Local(index) => self.inside(index, frame.parent)?,
            Origin::Computed => return None,
        };
        if local.start != Start::This {
            // The index or key of an item, which is not part of its value.
            return Some((reference, path)).filter(|_| local.start == Start::Key && frame.key.is_some());
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
                Origin::Reference(index) => return Some(index),
                Origin::Local(index) => local = self.program.locals.get(index as usize)?,
                Origin::Computed => return None,
            }
        }
    }
}

/// What a placeholder prints.
enum Shown<'v, 'd> {
    Value(Got<'v>),
    /// The default text of its filter.
    Default(&'d str),
}

fn is_boolean(expression: &Expression) -> bool {
    matches!(expression, Expression::Not(_) | Expression::Compare(..) | Expression::Call(Function::Bool, _))
}

/// The first reference in an expression.
fn mentions(expression: &Expression) -> Option<u32> {
    match expression {
        Expression::Reference(index) => Some(*index),
        Expression::Call(_, parts) | Expression::And(parts) | Expression::Or(parts) | Expression::Compare(parts, _) => {
            parts.iter().find_map(mentions)
        }
        Expression::Not(part) => mentions(part),
        _ => None,
    }
}

#[cold]
fn undefined(reference: &Reference, why: &Missing) -> EvalError {
    EvalError::Undefined {
        expression: reference.dotted().into(),
        namespace: reference.path.first().map_or_else(|| "".into(), |s| s.name.clone()),
        reason: reason(why, reference),
        span: reference.span.clone(),
    }
}
