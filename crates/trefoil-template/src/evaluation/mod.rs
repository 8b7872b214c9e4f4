//! Evaluation of expressions. A part that depends on a hole remains an expression: everything else is reduced, and the
//! result is a smaller, closed expression for the driver to answer.
//!
//! There are two sets of rules: Python's (SirenSpec `when`), in which a part can fail, and the others (agntz, AEGIS),
//! in which it cannot.

mod arithmetic;
mod comparison;
mod function;
mod python;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use crate::error::{EvalError, HoleQuestion};
use crate::expression::{BuiltinFunction, ComparisonOperator, ConditionExpression};
use crate::limits;
use crate::lookup::{LookupResult, look_up};
use crate::policy::Policy;
use crate::scope::{Reference, ValueScope};
use crate::template::frame::{BlockFrame, LocalPath};
use crate::value::{Masked, MaskedPiece, Value};
pub(crate) use comparison::read_number;

/// The result of reducing an expression.
#[derive(Debug)]
pub(crate) enum ReducedExpression<'a> {
    /// A value that is not masked text, although it may contain some.
    Known(Cow<'a, Value>),
    /// Null because the value is missing. Never with Python's rules.
    Missing,
    /// Depends on a hole.
    Open(ConditionExpression),
    /// Has no value. Only with Python's rules.
    Failed,
}

/// Everything that an expression can read.
pub(crate) struct ExpressionEvaluator<'a> {
    scope: &'a dyn ValueScope,
    references: &'a [Reference],
    locals: &'a [LocalPath],
    frame: Option<&'a BlockFrame<'a>>,
    policy: &'a Policy,
    work: Cell<u64>,
}

type ReduceResult<'a> = Result<ReducedExpression<'a>, EvalError>;

impl<'a> ExpressionEvaluator<'a> {
    pub fn new(scope: &'a dyn ValueScope, references: &'a [Reference], policy: &'a Policy) -> Self {
        ExpressionEvaluator { scope, references, locals: &[], frame: None, policy, work: Cell::new(0) }
    }

    /// Adds the loops of a template.
    pub fn with_blocks(mut self, locals: &'a [LocalPath], frame: Option<&'a BlockFrame<'a>>) -> Self {
        self.locals = locals;
        self.frame = frame;
        self
    }

    /// The truth value of an expression. `ReducedExpression::Failed` is false.
    pub fn evaluate_truth(&self, expression: &ConditionExpression) -> Result<bool, EvalError> {
        match self.reduce_expression(expression)? {
            ReducedExpression::Known(value) => Ok(value.truth_value().unwrap_or(false)),
            ReducedExpression::Missing | ReducedExpression::Failed => Ok(false),
            ReducedExpression::Open(open) => decide_question(self.scope, open, self.policy),
        }
    }

    fn is_strict(&self) -> bool {
        self.policy.conditions.is_strict()
    }

    /// Counts the bytes or items created.
    fn charge(&self, amount: usize) -> Result<(), EvalError> {
        let work = self.work.get().saturating_add(amount as u64);
        self.work.set(work);
        if work > limits::WORK {
            return Err(EvalError::Limit("the expression is too expensive to evaluate".to_owned()));
        }
        Ok(())
    }

    pub fn reduce_expression(&self, expression: &ConditionExpression) -> ReduceResult<'a> {
        match expression {
            ConditionExpression::Literal(value, _) => Ok(reduced_from_value(value.clone())),
            ConditionExpression::Reference(i) => Ok(match self.references.get(*i as usize) {
                Some(reference) => self.reduce_lookup(look_up(self.scope, reference, self.policy)),
                None => self.nothing(),
            }),
            ConditionExpression::Local(i) => Ok(match self.locals.get(*i as usize) {
                Some(local) => self.reduce_lookup(local.look_up(self.frame)),
                None => self.nothing(),
            }),
            ConditionExpression::List(items) => self.apply(items, ConditionExpression::List, |_, values| {
                Ok(reduced_from_value(values.into_iter().map(Cow::into_owned).collect()))
            }),
            ConditionExpression::Not(e) => Ok(match self.reduce_expression(e)? {
                ReducedExpression::Known(value) => reduced_from_value((!value.truth_value().unwrap_or(false)).into()),
                ReducedExpression::Missing => reduced_from_value(true.into()),
                ReducedExpression::Open(open) => ReducedExpression::Open(ConditionExpression::Not(Box::new(open))),
                ReducedExpression::Failed => ReducedExpression::Failed,
            }),
            ConditionExpression::And(items) => self.junction(items, false, ConditionExpression::And),
            ConditionExpression::Or(items) => self.junction(items, true, ConditionExpression::Or),
            ConditionExpression::Compare(operands, comparisons) => self.compare(operands, comparisons),
            ConditionExpression::Arithmetic(op, a, b) => self.apply(
                [&**a, &**b],
                |parts| match <[ConditionExpression; 2]>::try_from(parts) {
                    Ok([a, b]) => ConditionExpression::Arithmetic(*op, Box::new(a), Box::new(b)),
                    Err(_) => failing(),
                },
                |this, values| match values.as_slice() {
                    [a, b] => this.compute_arithmetic(*op, a, b),
                    _ => Ok(this.nothing()),
                },
            ),
            ConditionExpression::Negate(e) => self.apply(
                [&**e],
                |parts| parts.into_iter().next().map_or_else(failing, |e| ConditionExpression::Negate(Box::new(e))),
                |this, values| Ok(values.first().map_or_else(|| this.nothing(), |v| this.negate_number(v))),
            ),
            ConditionExpression::Index(a, b) => self.apply(
                [&**a, &**b],
                |parts| match <[ConditionExpression; 2]>::try_from(parts) {
                    Ok([a, b]) => ConditionExpression::Index(Box::new(a), Box::new(b)),
                    Err(_) => failing(),
                },
                |this, values| match values.as_slice() {
                    [a, b] => Ok(this.index_value(a, b)),
                    _ => Ok(this.nothing()),
                },
            ),
            ConditionExpression::Member(e, name) => self.apply(
                [&**e],
                |parts| {
                    parts
                        .into_iter()
                        .next()
                        .map_or_else(failing, |e| ConditionExpression::Member(Box::new(e), name.clone()))
                },
                |this, values| {
                    let member = values.first().and_then(|v| v.as_object()?.get(&**name));
                    Ok(member.map_or_else(|| this.nothing(), |v| reduced_from_value(v.clone())))
                },
            ),
            ConditionExpression::Call(BuiltinFunction::Default, arguments) => self.default(arguments),
            ConditionExpression::Call(BuiltinFunction::Json, arguments) => self.reduce_json_call(arguments),
            ConditionExpression::Call(BuiltinFunction::Choose, arguments) => self.choose(arguments),
            ConditionExpression::Call(function, arguments) => self.apply(
                arguments,
                |arguments| ConditionExpression::Call(*function, arguments),
                |this, values| this.call_function(*function, &values),
            ),
        }
    }

    /// The JSON of a value. Distinguishes missing from null.
    fn reduce_json_call(&self, arguments: &[ConditionExpression]) -> ReduceResult<'a> {
        match self.reduce_first(arguments)? {
            ReducedExpression::Missing => Ok(reduced_from_value("".into())),
            // JSON of JSON doubles with every step, so its size is computed before it is created.
            ReducedExpression::Known(value) if value.json_length() > limits::OUTPUT_BYTES => {
                Err(EvalError::Limit(format!("a value is larger than {} bytes as JSON", limits::OUTPUT_BYTES)))
            }
            ReducedExpression::Known(value) => Ok(function::reduce_to_json(&value)),
            ReducedExpression::Open(open) => {
                Ok(ReducedExpression::Open(ConditionExpression::Call(BuiltinFunction::Json, vec![open])))
            }
            ReducedExpression::Failed => Ok(ReducedExpression::Failed),
        }
    }

    fn reduce_first(&self, arguments: &[ConditionExpression]) -> ReduceResult<'a> {
        arguments.first().map_or_else(|| Ok(self.nothing()), |argument| self.reduce_expression(argument))
    }

    /// Reduces the operands. Computes the result if all are known, otherwise rebuilds the expression.
    fn apply<'e>(
        &self,
        operands: impl IntoIterator<Item = &'e ConditionExpression>,
        rebuild: impl FnOnce(Vec<ConditionExpression>) -> ConditionExpression,
        compute: impl FnOnce(&Self, Vec<Cow<'a, Value>>) -> ReduceResult<'a>,
    ) -> ReduceResult<'a> {
        let mut reduced = Vec::new();
        let mut open = false;
        for operand in operands {
            let operand = self.reduce_expression(operand)?;
            // Operands after a failure need not be evaluated, because operands have no side effects.
            if let ReducedExpression::Failed = operand {
                return Ok(ReducedExpression::Failed);
            }
            open |= matches!(operand, ReducedExpression::Open(_));
            reduced.push(operand);
        }
        if open {
            return Ok(ReducedExpression::Open(rebuild(reduced.into_iter().map(close).collect())));
        }
        compute(self, reduced.into_iter().map(known).collect())
    }

    /// `and` (deciding = false) and `or` (deciding = true): the first operand with that truth value, otherwise the last
    /// one.
    fn junction(
        &self,
        items: &[ConditionExpression],
        deciding: bool,
        rebuild: fn(Vec<ConditionExpression>) -> ConditionExpression,
    ) -> ReduceResult<'a> {
        let mut open: Vec<ConditionExpression> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let reduced = self.reduce_expression(item)?;
            let ends = at + 1 == items.len()
                || match &reduced {
                    ReducedExpression::Known(value) => value.truth_value() == Some(deciding),
                    ReducedExpression::Missing => !deciding,
                    ReducedExpression::Open(_) => false,
                    ReducedExpression::Failed => true,
                };
            match reduced {
                reduced if ends && open.is_empty() => return Ok(reduced),
                reduced if ends => {
                    open.push(close(reduced));
                    break;
                }
                ReducedExpression::Open(e) => open.push(e),
                // The operand is known and not deciding, so it cannot change the result.
                _ => {}
            }
        }
        Ok(if open.is_empty() { self.nothing() } else { ReducedExpression::Open(rebuild(open)) })
    }

    /// A chain as in Python: in `a < b < c`, `c` is evaluated only if `a < b` holds.
    fn compare(&self, operands: &[ConditionExpression], comparisons: &[ComparisonOperator]) -> ReduceResult<'a> {
        if let ([a, b], [comparison]) = (operands, comparisons) {
            let (a, b) = (self.reduce_expression(a)?, self.reduce_expression(b)?);
            return match (as_value(&a), as_value(&b)) {
                _ if matches!((&a, &b), (ReducedExpression::Failed, _) | (_, ReducedExpression::Failed)) => {
                    Ok(ReducedExpression::Failed)
                }
                (Some(x), Some(y)) if !hides(*comparison, x, y) => Ok(self
                    .compare_pair(*comparison, x, y)?
                    .map_or(ReducedExpression::Failed, |truth| reduced_from_value(truth.into()))),
                _ => Ok(ReducedExpression::Open(ConditionExpression::Compare(
                    vec![close(a), close(b)],
                    vec![*comparison],
                ))),
            };
        }
        self.compare_chain(operands, comparisons)
    }

    fn compare_chain(&self, operands: &[ConditionExpression], comparisons: &[ComparisonOperator]) -> ReduceResult<'a> {
        let mut reduced: Vec<ReducedExpression<'a>> = Vec::with_capacity(operands.len());
        let mut open = false;
        for (at, operand) in operands.iter().enumerate() {
            let next = self.reduce_expression(operand)?;
            if let ReducedExpression::Failed = next {
                if !open {
                    return Ok(ReducedExpression::Failed);
                }
                reduced.push(ReducedExpression::Failed);
                break;
            }
            let comparison = at.checked_sub(1).and_then(|at| comparisons.get(at));
            let pair =
                comparison.zip(reduced.last()).and_then(|(c, last)| Some((c, as_value(last)?, as_value(&next)?)));
            match pair {
                Some((c, a, b)) if hides(*c, a, b) => open = true,
                Some((c, a, b)) => match self.compare_pair(*c, a, b)? {
                    Some(true) => {}
                    _ if open => {
                        // An earlier comparison is open, but this one is known and ends the chain.
                        reduced.push(next);
                        break;
                    }
                    Some(false) => return Ok(reduced_from_value(false.into())),
                    None => return Ok(ReducedExpression::Failed),
                },
                None => open |= matches!(next, ReducedExpression::Open(_)),
            }
            reduced.push(next);
        }
        if !open {
            return Ok(reduced_from_value(true.into()));
        }
        let comparisons = comparisons.iter().copied().take(reduced.len().saturating_sub(1)).collect();
        Ok(ReducedExpression::Open(ConditionExpression::Compare(reduced.into_iter().map(close).collect(), comparisons)))
    }

    /// `default a b`: `a`, or `b` if `a` is missing, null or empty text.
    fn default(&self, arguments: &[ConditionExpression]) -> ReduceResult<'a> {
        let [first, second] = arguments else { return Ok(self.nothing()) };
        match self.reduce_expression(first)? {
            ReducedExpression::Missing => self.reduce_expression(second),
            ReducedExpression::Known(value) if value.is_null() || value.as_str() == Some("") => {
                self.reduce_expression(second)
            }
            ReducedExpression::Open(open) => {
                let second = self.reduce_expression(second)?;
                if let (ConditionExpression::Literal(Value::Masked(masked), _), ReducedExpression::Known(text)) =
                    (&open, &second)
                    && let Some(masked) = with_default(masked, &text.to_text(), false)
                {
                    return Ok(ReducedExpression::Open(ConditionExpression::from_value(masked.into_value())));
                }
                Ok(ReducedExpression::Open(ConditionExpression::Call(
                    BuiltinFunction::Default,
                    vec![open, close(second)],
                )))
            }
            other => Ok(other),
        }
    }

    /// `a if condition else b`: only the chosen value is evaluated.
    fn choose(&self, arguments: &[ConditionExpression]) -> ReduceResult<'a> {
        let [condition, then, otherwise] = arguments else { return Ok(self.nothing()) };
        match self.reduce_expression(condition)? {
            ReducedExpression::Known(value) => {
                self.reduce_expression(if value.truth_value().unwrap_or(false) { then } else { otherwise })
            }
            ReducedExpression::Missing => self.reduce_expression(otherwise),
            ReducedExpression::Open(open) => {
                let (then, otherwise) =
                    (close(self.reduce_expression(then)?), close(self.reduce_expression(otherwise)?));
                Ok(ReducedExpression::Open(ConditionExpression::Call(
                    BuiltinFunction::Choose,
                    vec![open, then, otherwise],
                )))
            }
            ReducedExpression::Failed => Ok(ReducedExpression::Failed),
        }
    }

    fn reduce_lookup(&self, got: LookupResult<'a>) -> ReducedExpression<'a> {
        match got {
            LookupResult::Borrowed(Value::Masked(masked)) => {
                ReducedExpression::Open(ConditionExpression::from_value(Value::Masked(masked.clone())))
            }
            LookupResult::Borrowed(value) => ReducedExpression::Known(Cow::Borrowed(value)),
            LookupResult::Owned(value) => reduced_from_value(value),
            LookupResult::Missing(_) => self.nothing(),
        }
    }

    /// No value: a failure in Python, otherwise null.
    fn nothing(&self) -> ReducedExpression<'a> {
        if self.is_strict() { ReducedExpression::Failed } else { ReducedExpression::Missing }
    }
}

/// A value, or an open expression if it is masked text.
pub(crate) fn reduced_from_value<'a>(value: Value) -> ReducedExpression<'a> {
    match value {
        Value::Masked(_) => ReducedExpression::Open(ConditionExpression::from_value(value)),
        value => ReducedExpression::Known(Cow::Owned(value)),
    }
}

/// The answer to an open expression, if the scope has it.
#[cold]
pub(crate) fn decide_question(
    scope: &dyn ValueScope,
    open: ConditionExpression,
    policy: &Policy,
) -> Result<bool, EvalError> {
    let question =
        HoleQuestion { expression: Arc::new(open), policy: *policy, text: None, presence: false, schema: None };
    scope.known_answer(&question).ok_or(EvalError::Undecided(question))
}

/// The masked text with a default for its hole, if it is a single hole without a default.
pub(crate) fn with_default(masked: &Masked, default: &str, json: bool) -> Option<Masked> {
    let hole = masked.as_lone()?;
    if hole.default.is_some() {
        return None;
    }
    let mut hole = hole.clone();
    hole.default = Some(default.into());
    hole.json = json;
    Some(Masked { pieces: vec![MaskedPiece::Hole(hole)] })
}

fn known(reduced: ReducedExpression<'_>) -> Cow<'_, Value> {
    match reduced {
        ReducedExpression::Known(value) => value,
        _ => Cow::Owned(Value::Null),
    }
}

fn close(reduced: ReducedExpression<'_>) -> ConditionExpression {
    match reduced {
        ReducedExpression::Known(value) => ConditionExpression::from_value(value.into_owned()),
        ReducedExpression::Missing => ConditionExpression::from_value(Value::Null),
        ReducedExpression::Open(open) => open,
        ReducedExpression::Failed => failing(),
    }
}

/// Whether a comparison depends on holes inside its operands. Only comparisons that look inside an operand do; a list
/// is compared with null without looking inside.
fn hides(comparison: ComparisonOperator, a: &Value, b: &Value) -> bool {
    match (comparison, a, b) {
        (ComparisonOperator::In | ComparisonOperator::NotIn, _, Value::List(_))
        | (_, Value::List(_), Value::List(_))
        | (_, Value::Object(_), Value::Object(_)) => a.is_masked() || b.is_masked(),
        _ => false,
    }
}

/// An expression that fails with Python's rules.
fn failing() -> ConditionExpression {
    ConditionExpression::Member(Box::new(ConditionExpression::from_value(Value::Null)), "missing".into())
}

fn as_value<'r>(reduced: &'r ReducedExpression<'_>) -> Option<&'r Value> {
    match reduced {
        ReducedExpression::Known(value) => Some(value),
        ReducedExpression::Missing => Some(&Value::Null),
        _ => None,
    }
}
