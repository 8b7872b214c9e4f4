//! Conditions: one expression tree, three small parsers (agntz `when`/`until`, AEGIS `custom`, SirenSpec `when`).

mod answer;
mod braced;
mod handlebars;
pub(crate) mod literal;
mod python;

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::error::{Broken, EvalError, Question, SyntaxError};
use crate::evaluate::Evaluator;
use crate::expression::{Expression, Function};
use crate::limits;
use crate::lookup::{Got, look_up};
use crate::policy::{ConditionGrammar, Policy, Words};
use crate::scope::{Binding, Found, Reference, Scope};
use crate::template::build::TemplateBuilder;
use crate::value::Value;

/// A parsed condition with its references.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    expression: Arc<Expression>,
    references: Vec<Reference>,
    written: Arc<[Range<u32>]>,
    policy: Policy,
}

impl Condition {
    /// Parses a text with the policy's grammar; reports all mistakes at once.
    pub fn parse(text: &str, policy: &Policy) -> Result<Condition, Vec<SyntaxError>> {
        Self::examine(text, policy).map_err(|broken| broken.errors)
    }

    /// Like [`Self::parse`], but a text with mistakes also yields the references found in it, so that names can be
    /// checked in the same pass.
    pub fn examine(text: &str, policy: &Policy) -> Result<Condition, Broken> {
        let mut builder = TemplateBuilder::new(text, policy);
        if text.len() > limits::CONDITION_BYTES {
            let message = format!("the condition is larger than {} KB", limits::CONDITION_BYTES >> 10);
            builder.mistakes.add("condition-too-large", 0..0, message);
            return Err(builder.broken());
        }
        if text.trim().is_empty() {
            builder
                .mistakes
                .add("condition-empty", 0..text.len(), "empty condition")
                .help("remove the key if there is no condition");
            return Err(builder.broken());
        }
        let expression = match policy.conditions {
            ConditionGrammar::Braced => braced::parse(&mut builder),
            ConditionGrammar::Handlebars => handlebars::parse(&mut builder),
            ConditionGrammar::Python => python::parse(&mut builder),
        };
        let (references, written) = builder.finish_condition()?;
        // A parser that returns nothing has reported a mistake, so the fallback is never used.
        let expression = Arc::new(expression.unwrap_or(Expression::value(false)));
        Ok(Condition { expression, references, written: written.into(), policy: *policy })
    }

    /// A condition made by lowering (for example AEGIS `score_above`), with already bound references.
    pub fn from_parts(expression: Expression, references: Vec<Reference>, policy: Policy) -> Condition {
        Condition { expression: Arc::new(expression), references, written: Arc::default(), policy }
    }

    /// A placeholder for a condition with mistakes, in a program that is only checked and never run. It has the
    /// references that could be read, and its value is that of the last reference, which is unknown.
    pub fn unknown(broken: &Broken, policy: &Policy) -> Condition {
        let mut references = broken.references.clone();
        let expression = Expression::Reference(references.len() as u32);
        references.push(Reference::unknown());
        Self::from_parts(expression, references, *policy)
    }

    /// A part of this condition as a separate condition with the same bound references.
    #[must_use]
    pub fn with(&self, expression: Expression) -> Condition {
        Condition { expression: Arc::new(expression), ..self.clone() }
    }

    /// The expression tree.
    pub fn expression(&self) -> &Expression {
        &self.expression
    }

    /// The references to the root, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The spans of the literals in its text, including quotes. Empty for conditions made by lowering.
    pub fn written(&self) -> &[Range<u32>] {
        &self.written
    }

    /// The rules of its language.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Gives every reference its source.
    pub fn bind(&mut self, mut f: impl FnMut(&Reference) -> Binding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }

    /// The terms of its language.
    pub fn words(&self) -> &'static Words {
        self.policy.words
    }

    /// The grammar, which determines how it compares.
    pub fn grammar(&self) -> ConditionGrammar {
        self.policy.conditions
    }

    /// Whether it has no references.
    pub fn is_constant(&self) -> bool {
        self.references.is_empty()
    }

    /// Evaluates the condition. In SirenSpec, it is false if a part fails to evaluate or exceeds a work limit.
    /// `Undecided`, and in the other dialects `Limit`, are returned as errors.
    pub fn evaluate(&self, scope: &dyn Scope) -> Result<bool, EvalError> {
        match Evaluator::new(scope, &self.references, &self.policy).truth(&self.expression) {
            Err(EvalError::Limit(_)) if self.policy.conditions.is_strict() => Ok(false),
            truth => truth,
        }
    }

    /// The values that must be scores to be compared, and are not, each with its place in the references. Includes those that were
    /// skipped by short-circuiting.
    pub fn unscored(&self, scope: &dyn Scope) -> Vec<(usize, Option<Value>)> {
        let mut stack = vec![&*self.expression];
        let mut found = Vec::new();
        while let Some(expression) = stack.pop() {
            match expression {
                Expression::Call(Function::Share, of) => {
                    let [Expression::Reference(at)] = of.as_slice() else { continue };
                    let at = *at as usize;
                    let Some(reference) = self.references.get(at) else { continue };
                    let value = match look_up(scope, reference, &self.policy) {
                        Got::Borrowed(value) => Some(value.clone()),
                        Got::Owned(value) => Some(value),
                        Got::Missing(_) => None,
                    };
                    if value.as_ref().and_then(Value::as_share).is_none() {
                        found.push((at, value));
                    }
                }
                Expression::And(all) | Expression::Or(all) | Expression::Compare(all, _) => {
                    stack.extend(all.iter().rev())
                }
                _ => {}
            }
        }
        found
    }

    /// The references that an evaluation reads, in the order of the text, with their values (`None` if missing).
    /// References skipped by short-circuiting are not included.
    pub fn seen(&self, scope: &dyn Scope) -> Vec<(&Reference, Option<Value>)> {
        let watched = Watched { scope, asked: RefCell::default() };
        // Only the reads are of interest here, not the result.
        let _ = self.evaluate(&watched);
        let asked = watched.asked.into_inner();
        let looked_at = self.references.iter().filter(|r| asked.contains(&r.binding.source));
        let find = |reference| match look_up(scope, reference, &self.policy) {
            Got::Borrowed(value) => Some(value.clone()),
            Got::Owned(value) => Some(value),
            Got::Missing(_) => None,
        };
        looked_at.map(|reference| (reference, find(reference))).collect()
    }
}

/// A scope that records which sources were read.
struct Watched<'s> {
    scope: &'s dyn Scope,
    asked: RefCell<BTreeSet<u32>>,
}

impl Scope for Watched<'_> {
    fn source(&self, source: u32) -> Found<'_> {
        self.asked.borrow_mut().insert(source);
        self.scope.source(source)
    }
    fn decided(&self, question: &Question) -> Option<bool> {
        self.scope.decided(question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::Segment;

    /// The results of a pipeline: the results of its steps are in a layer under its own result.
    struct Layers;

    impl Scope for Layers {
        fn source(&self, source: u32) -> Found<'_> {
            let parse = |text: &str| Value::parse(text).unwrap_or_default();
            match source {
                0 => Found::Layered {
                    top: parse(r#"{"draft": "text"}"#),
                    under: parse(r#"{"review": {"out": {"readers": "everyone"}, "in": null}}"#),
                },
                _ => Found::Owned(parse("3")),
            }
        }
    }

    #[test]
    fn what_a_condition_saw_is_what_it_went_by() {
        let policy = Policy::AGNTZ;
        let seen = |text: &str| {
            let mut condition = Condition::parse(text, &policy).unwrap();
            let root = |r: &Reference| r.path.first().is_some_and(|Segment { name, .. }| &**name == "writing");
            condition.bind(|r| Binding { source: u32::from(!root(r)), skip: 1 });
            let show =
                |(r, v): (&Reference, Option<Value>)| format!("{}={}", r.dotted(), v.unwrap_or_default().to_text());
            condition.seen(&Layers).into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(seen("{{writing.review.readers}} == experts"), ["writing.review.readers=everyone"]);
        // If the first part is false, the second is not evaluated.
        assert_eq!(seen("{{writing.draft}} == x && {{passes}} == 3"), ["writing.draft=text"]);
        assert_eq!(seen("{{writing.draft}} == x || {{passes}} == 3"), ["writing.draft=text", "passes=3"]);
    }
}
