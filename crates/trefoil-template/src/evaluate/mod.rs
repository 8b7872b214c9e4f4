//! Evaluation of expressions. A part that depends on a hole remains an expression: everything else is reduced, and the
//! result is a smaller, closed expression for the driver to answer.
//!
//! There are two sets of rules: Python's (SirenSpec `when`), in which a part can fail, and the others (agntz, AEGIS),
//! in which it cannot.

mod arithmetic;
mod compare;
mod function;
mod python;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use crate::error::{EvalError, Question};
use crate::expression::{Comparison, Expression, Function};
use crate::limits;
use crate::lookup::{Got, look_up};
use crate::policy::Policy;
use crate::scope::{Reference, Scope};
use crate::template::frame::{BlockFrame, Local};
use crate::value::{Masked, Piece, Value};
pub(crate) use compare::read_number;

/// The result of reducing an expression.
#[derive(Debug)]
pub(crate) enum Reduced<'a> {
    /// A value that is not masked text, although it may contain some.
    Known(Cow<'a, Value>),
    /// Null because the value is missing. Never with Python's rules.
    Missing,
    /// Depends on a hole.
    Open(Expression),
    /// Has no value. Only with Python's rules.
    Failed,
}

/// Everything that an expression can read.
pub(crate) struct Evaluator<'a> {
    scope: &'a dyn Scope,
    references: &'a [Reference],
    locals: &'a [Local],
    frame: Option<&'a BlockFrame<'a>>,
    policy: &'a Policy,
    work: Cell<u64>,
}

type Evaluated<'a> = Result<Reduced<'a>, EvalError>;

impl<'a> Evaluator<'a> {
    pub fn new(scope: &'a dyn Scope, references: &'a [Reference], policy: &'a Policy) -> Self {
        Evaluator { scope, references, locals: &[], frame: None, policy, work: Cell::new(0) }
    }

    /// Adds the loops of a template.
    pub fn within(mut self, locals: &'a [Local], frame: Option<&'a BlockFrame<'a>>) -> Self {
        self.locals = locals;
        self.frame = frame;
        self
    }

    /// The truth value of an expression. `Failed` is false.
    pub fn truth(&self, expression: &Expression) -> Result<bool, EvalError> {
        match self.reduce(expression)? {
            Reduced::Known(value) => Ok(value.truthy().unwrap_or(false)),
            Reduced::Missing | Reduced::Failed => Ok(false),
            Reduced::Open(open) => decide(self.scope, open, self.policy),
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

    pub fn reduce(&self, expression: &Expression) -> Evaluated<'a> {
        match expression {
            Expression::Literal(value, _) => Ok(owned(value.clone())),
            Expression::Reference(i) => Ok(match self.references.get(*i as usize) {
                Some(reference) => self.got(look_up(self.scope, reference, self.policy)),
                None => self.nothing(),
            }),
            Expression::Local(i) => Ok(match self.locals.get(*i as usize) {
                Some(local) => self.got(local.look_up(self.frame)),
                None => self.nothing(),
            }),
            Expression::List(items) => self.apply(items, Expression::List, |_, values| {
                Ok(owned(values.into_iter().map(Cow::into_owned).collect()))
            }),
            Expression::Not(e) => Ok(match self.reduce(e)? {
                Reduced::Known(value) => owned((!value.truthy().unwrap_or(false)).into()),
                Reduced::Missing => owned(true.into()),
                Reduced::Open(open) => Reduced::Open(Expression::Not(Box::new(open))),
                Reduced::Failed => Reduced::Failed,
            }),
            Expression::And(items) => self.junction(items, false, Expression::And),
            Expression::Or(items) => self.junction(items, true, Expression::Or),
            Expression::Compare(operands, comparisons) => self.compare(operands, comparisons),
            Expression::Arithmetic(op, a, b) => self.apply(
                [&**a, &**b],
                |parts| match <[Expression; 2]>::try_from(parts) {
                    Ok([a, b]) => Expression::Arithmetic(*op, Box::new(a), Box::new(b)),
                    Err(_) => failing(),
                },
                |this, values| match values.as_slice() {
                    [a, b] => this.arithmetic(*op, a, b),
                    _ => Ok(this.nothing()),
                },
            ),
            Expression::Negate(e) => self.apply(
                [&**e],
                |parts| parts.into_iter().next().map_or_else(failing, |e| Expression::Negate(Box::new(e))),
                |this, values| Ok(values.first().map_or_else(|| this.nothing(), |v| this.negate(v))),
            ),
            Expression::Index(a, b) => self.apply(
                [&**a, &**b],
                |parts| match <[Expression; 2]>::try_from(parts) {
                    Ok([a, b]) => Expression::Index(Box::new(a), Box::new(b)),
                    Err(_) => failing(),
                },
                |this, values| match values.as_slice() {
                    [a, b] => Ok(this.index(a, b)),
                    _ => Ok(this.nothing()),
                },
            ),
            Expression::Member(e, name) => self.apply(
                [&**e],
                |parts| {
                    parts.into_iter().next().map_or_else(failing, |e| Expression::Member(Box::new(e), name.clone()))
                },
                |this, values| {
                    let member = values.first().and_then(|v| v.as_object()?.get(&**name));
                    Ok(member.map_or_else(|| this.nothing(), |v| owned(v.clone())))
                },
            ),
            Expression::Call(Function::Default, arguments) => self.default(arguments),
            // Distinguishes missing from null.
            Expression::Call(Function::Json, arguments) => match self.reduce_first(arguments)? {
                Reduced::Missing => Ok(owned("".into())),
                // JSON of JSON doubles with every step, so its size is computed before it is created.
                Reduced::Known(value) if value.json_length() > limits::OUTPUT_BYTES => {
                    Err(EvalError::Limit(format!("a value is larger than {} bytes as JSON", limits::OUTPUT_BYTES)))
                }
                Reduced::Known(value) => Ok(function::json(&value)),
                Reduced::Open(open) => Ok(Reduced::Open(Expression::Call(Function::Json, vec![open]))),
                Reduced::Failed => Ok(Reduced::Failed),
            },
            Expression::Call(Function::Choose, arguments) => self.choose(arguments),
            Expression::Call(function, arguments) => self.apply(
                arguments,
                |arguments| Expression::Call(*function, arguments),
                |this, values| this.call(*function, &values),
            ),
        }
    }

    fn reduce_first(&self, arguments: &[Expression]) -> Evaluated<'a> {
        arguments.first().map_or_else(|| Ok(self.nothing()), |argument| self.reduce(argument))
    }

    /// Reduces the operands. Computes the result if all are known, otherwise rebuilds the expression.
    fn apply<'e>(
        &self,
        operands: impl IntoIterator<Item = &'e Expression>,
        rebuild: impl FnOnce(Vec<Expression>) -> Expression,
        compute: impl FnOnce(&Self, Vec<Cow<'a, Value>>) -> Evaluated<'a>,
    ) -> Evaluated<'a> {
        let mut reduced = Vec::new();
        let mut open = false;
        for operand in operands {
            let operand = self.reduce(operand)?;
            // Operands after a failure need not be evaluated, because operands have no side effects.
            if let Reduced::Failed = operand {
                return Ok(Reduced::Failed);
            }
            open |= matches!(operand, Reduced::Open(_));
            reduced.push(operand);
        }
        if open {
            return Ok(Reduced::Open(rebuild(reduced.into_iter().map(close).collect())));
        }
        compute(self, reduced.into_iter().map(known).collect())
    }

    /// `and` (deciding = false) and `or` (deciding = true): the first operand with that truth value, otherwise the last
    /// one.
    fn junction(
        &self,
        items: &[Expression],
        deciding: bool,
        rebuild: fn(Vec<Expression>) -> Expression,
    ) -> Evaluated<'a> {
        let mut open: Vec<Expression> = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let reduced = self.reduce(item)?;
            let ends = at + 1 == items.len()
                || match &reduced {
                    Reduced::Known(value) => value.truthy() == Some(deciding),
                    Reduced::Missing => !deciding,
                    Reduced::Open(_) => false,
                    Reduced::Failed => true,
                };
            match reduced {
                reduced if ends && open.is_empty() => return Ok(reduced),
                reduced if ends => {
                    open.push(close(reduced));
                    break;
                }
                Reduced::Open(e) => open.push(e),
                // The operand is known and not deciding, so it cannot change the result.
                _ => {}
            }
        }
        Ok(if open.is_empty() { self.nothing() } else { Reduced::Open(rebuild(open)) })
    }

    /// A chain as in Python: in `a < b < c`, `c` is evaluated only if `a < b` holds.
    fn compare(&self, operands: &[Expression], comparisons: &[Comparison]) -> Evaluated<'a> {
        if let ([a, b], [comparison]) = (operands, comparisons) {
            let (a, b) = (self.reduce(a)?, self.reduce(b)?);
            return match (as_value(&a), as_value(&b)) {
                _ if matches!((&a, &b), (Reduced::Failed, _) | (_, Reduced::Failed)) => Ok(Reduced::Failed),
                (Some(x), Some(y)) if !hides(*comparison, x, y) => {
                    Ok(self.compare_pair(*comparison, x, y)?.map_or(Reduced::Failed, |truth| owned(truth.into())))
                }
                _ => Ok(Reduced::Open(Expression::Compare(vec![close(a), close(b)], vec![*comparison]))),
            };
        }
        self.compare_chain(operands, comparisons)
    }

    fn compare_chain(&self, operands: &[Expression], comparisons: &[Comparison]) -> Evaluated<'a> {
        let mut reduced: Vec<Reduced<'a>> = Vec::with_capacity(operands.len());
        let mut open = false;
        for (at, operand) in operands.iter().enumerate() {
            let next = self.reduce(operand)?;
            if let Reduced::Failed = next {
                if !open {
                    return Ok(Reduced::Failed);
                }
                reduced.push(Reduced::Failed);
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
                    Some(false) => return Ok(owned(false.into())),
                    None => return Ok(Reduced::Failed),
                },
                None => open |= matches!(next, Reduced::Open(_)),
            }
            reduced.push(next);
        }
        if !open {
            return Ok(owned(true.into()));
        }
        let comparisons = comparisons.iter().copied().take(reduced.len().saturating_sub(1)).collect();
        Ok(Reduced::Open(Expression::Compare(reduced.into_iter().map(close).collect(), comparisons)))
    }

    /// `default a b`: `a`, or `b` if `a` is missing, null or empty text.
    fn default(&self, arguments: &[Expression]) -> Evaluated<'a> {
        let [first, second] = arguments else { return Ok(self.nothing()) };
        match self.reduce(first)? {
            Reduced::Missing => self.reduce(second),
            Reduced::Known(value) if value.is_null() || value.as_str() == Some("") => self.reduce(second),
            Reduced::Open(open) => {
                let second = self.reduce(second)?;
                if let (Expression::Literal(Value::Masked(masked), _), Reduced::Known(text)) = (&open, &second)
                    && let Some(masked) = with_default(masked, &text.to_text(), false)
                {
                    return Ok(Reduced::Open(Expression::value(masked.into_value())));
                }
                Ok(Reduced::Open(Expression::Call(Function::Default, vec![open, close(second)])))
            }
            other => Ok(other),
        }
    }

    /// `a if condition else b`: only the chosen value is evaluated.
    fn choose(&self, arguments: &[Expression]) -> Evaluated<'a> {
        let [condition, then, otherwise] = arguments else { return Ok(self.nothing()) };
        match self.reduce(condition)? {
            Reduced::Known(value) => self.reduce(if value.truthy().unwrap_or(false) { then } else { otherwise }),
            Reduced::Missing => self.reduce(otherwise),
            Reduced::Open(open) => {
                let (then, otherwise) = (close(self.reduce(then)?), close(self.reduce(otherwise)?));
                Ok(Reduced::Open(Expression::Call(Function::Choose, vec![open, then, otherwise])))
            }
            Reduced::Failed => Ok(Reduced::Failed),
        }
    }

    fn got(&self, got: Got<'a>) -> Reduced<'a> {
        match got {
            Got::Borrowed(Value::Masked(masked)) => Reduced::Open(Expression::value(Value::Masked(masked.clone()))),
            Got::Borrowed(value) => Reduced::Known(Cow::Borrowed(value)),
            Got::Owned(value) => owned(value),
            Got::Missing(_) => self.nothing(),
        }
    }

    /// No value: a failure in Python, otherwise null.
    fn nothing(&self) -> Reduced<'a> {
        if self.is_strict() { Reduced::Failed } else { Reduced::Missing }
    }
}

/// A value, or an open expression if it is masked text.
pub(crate) fn owned<'a>(value: Value) -> Reduced<'a> {
    match value {
        Value::Masked(_) => Reduced::Open(Expression::value(value)),
        value => Reduced::Known(Cow::Owned(value)),
    }
}

/// The answer to an open expression, if the scope has it.
#[cold]
pub(crate) fn decide(scope: &dyn Scope, open: Expression, policy: &Policy) -> Result<bool, EvalError> {
    let question = Question { expression: Arc::new(open), policy: *policy, text: None, presence: false, schema: None };
    scope.decided(&question).ok_or(EvalError::Undecided(question))
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
    Some(Masked { pieces: vec![Piece::Hole(hole)] })
}

fn known(reduced: Reduced<'_>) -> Cow<'_, Value> {
    match reduced {
        Reduced::Known(value) => value,
        _ => Cow::Owned(Value::Null),
    }
}

fn close(reduced: Reduced<'_>) -> Expression {
    match reduced {
        Reduced::Known(value) => Expression::value(value.into_owned()),
        Reduced::Missing => Expression::value(Value::Null),
        Reduced::Open(open) => open,
        Reduced::Failed => failing(),
    }
}

/// Whether a comparison depends on holes inside its operands. Only comparisons that look inside an operand do; a list
/// is compared with null without looking inside.
fn hides(comparison: Comparison, a: &Value, b: &Value) -> bool {
    match (comparison, a, b) {
        (Comparison::In | Comparison::NotIn, _, Value::List(_))
        | (_, Value::List(_), Value::List(_))
        | (_, Value::Object(_), Value::Object(_)) => a.is_masked() || b.is_masked(),
        _ => false,
    }
}

/// An expression that fails with Python's rules.
fn failing() -> Expression {
    Expression::Member(Box::new(Expression::value(Value::Null)), "missing".into())
}

fn as_value<'r>(reduced: &'r Reduced<'_>) -> Option<&'r Value> {
    match reduced {
        Reduced::Known(value) => Some(value),
        Reduced::Missing => Some(&Value::Null),
        _ => None,
    }
}
