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

use crate::error::{BrokenText, EvalError, HoleQuestion, SyntaxError};
use crate::evaluation::ExpressionEvaluator;
use crate::expression::{BuiltinFunction, ConditionExpression};
use crate::limits;
use crate::lookup::{LookupResult, look_up};
use crate::policy::{ConditionGrammar, DialectWords, Policy};
use crate::scope::{Reference, ReferenceBinding, SourceValue, ValueScope};
use crate::template::builder::TemplateBuilder;
use crate::value::Value;

/// A parsed condition with its references.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    expression: Arc<ConditionExpression>,
    references: Vec<Reference>,
    written: Arc<[Range<u32>]>,
    policy: Policy,
}

impl Condition {
    /// Parses a text with the policy's grammar; reports all mistakes at once.
    pub fn parse(text: &str, policy: &Policy) -> Result<Condition, Vec<SyntaxError>> {
        Self::parse_or_broken(text, policy).map_err(|broken| broken.errors)
    }

    /// Like [`Self::parse`], but a text with mistakes also yields the references found in it, so that names can be
    /// checked in the same pass.
    pub fn parse_or_broken(text: &str, policy: &Policy) -> Result<Condition, BrokenText> {
        let mut builder = TemplateBuilder::new(text, policy);
        if text.len() > limits::CONDITION_BYTES {
            let message = format!("the condition is larger than {} KB", limits::CONDITION_BYTES >> 10);
            builder.mistakes.add_mistake("condition-too-large", 0..0, message);
            return Err(builder.into_broken());
        }
        if text.trim().is_empty() {
            builder
                .mistakes
                .add_mistake("condition-empty", 0..text.len(), "empty condition")
                .set_help("remove the key if there is no condition");
            return Err(builder.into_broken());
        }
        let expression = match policy.conditions {
            ConditionGrammar::Braced => braced::parse(&mut builder),
            ConditionGrammar::Handlebars => handlebars::parse(&mut builder),
            ConditionGrammar::Python => python::parse(&mut builder),
        };
        let (references, written) = builder.finish_condition()?;
        // A parser that returns nothing has reported a mistake, so the fallback is never used.
        let expression = Arc::new(expression.unwrap_or(ConditionExpression::from_value(false)));
        Ok(Condition { expression, references, written: written.into(), policy: *policy })
    }

    /// A condition made by lowering (for example AEGIS `score_above`), with already bound references.
    pub fn from_parts(expression: ConditionExpression, references: Vec<Reference>, policy: Policy) -> Condition {
        Condition { expression: Arc::new(expression), references, written: Arc::default(), policy }
    }

    /// A placeholder for a condition with mistakes, in a program that is only checked and never run. It has the
    /// references that could be read, and its value is that of the last reference, which is unknown.
    pub fn from_broken(broken: &BrokenText, policy: &Policy) -> Condition {
        let mut references = broken.references.clone();
        let expression = ConditionExpression::Reference(references.len() as u32);
        references.push(Reference::for_unreadable_path());
        Self::from_parts(expression, references, *policy)
    }

    /// A part of this condition as a separate condition with the same bound references.
    #[must_use]
    pub fn with_expression(&self, expression: ConditionExpression) -> Condition {
        Condition { expression: Arc::new(expression), ..self.clone() }
    }

    /// The expression tree.
    pub fn expression_tree(&self) -> &ConditionExpression {
        &self.expression
    }

    /// The references to the root, in the order of the text.
    pub fn references(&self) -> &[Reference] {
        &self.references
    }

    /// The spans of the literals in its text, including quotes. Empty for conditions made by lowering.
    pub fn literal_spans(&self) -> &[Range<u32>] {
        &self.written
    }

    /// The rules of its language.
    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Gives every reference its source.
    pub fn bind_references(&mut self, mut f: impl FnMut(&Reference) -> ReferenceBinding) {
        for r in &mut self.references {
            r.binding = f(r);
        }
    }

    /// The terms of its language.
    pub fn dialect_words(&self) -> &'static DialectWords {
        self.policy.words
    }

    /// The grammar, which determines how it compares.
    pub fn condition_grammar(&self) -> ConditionGrammar {
        self.policy.conditions
    }

    /// Whether it has no references.
    pub fn is_constant(&self) -> bool {
        self.references.is_empty()
    }

    /// Evaluates the condition. In SirenSpec, it is false if a part fails to evaluate or exceeds a work limit.
    /// `Undecided`, and in the other dialects `Limit`, are returned as errors.
    pub fn evaluate_in(&self, scope: &dyn ValueScope) -> Result<bool, EvalError> {
        match ExpressionEvaluator::new(scope, &self.references, &self.policy).evaluate_truth(&self.expression) {
            Err(EvalError::Limit(_)) if self.policy.conditions.is_strict() => Ok(false),
            truth => truth,
        }
    }

    /// The values that must be scores to be compared, and are not, each with its place in the references. Includes those that were
    /// skipped by short-circuiting.
    pub fn invalid_scores(&self, scope: &dyn ValueScope) -> Vec<(usize, Option<Value>)> {
        let mut stack = vec![&*self.expression];
        let mut found = Vec::new();
        while let Some(expression) = stack.pop() {
            match expression {
                ConditionExpression::Call(BuiltinFunction::Share, of) => {
                    let [ConditionExpression::Reference(at)] = of.as_slice() else { continue };
                    let at = *at as usize;
                    let Some(reference) = self.references.get(at) else { continue };
                    let value = match look_up(scope, reference, &self.policy) {
                        LookupResult::Borrowed(value) => Some(value.clone()),
                        LookupResult::Owned(value) => Some(value),
                        LookupResult::Missing(_) => None,
                    };
                    if value.as_ref().and_then(Value::as_share).is_none() {
                        found.push((at, value));
                    }
                }
                ConditionExpression::And(all) | ConditionExpression::Or(all) | ConditionExpression::Compare(all, _) => {
                    stack.extend(all.iter().rev())
                }
                _ => {}
            }
        }
        found
    }

    /// The references that an evaluation reads, in the order of the text, with their values (`None` if missing).
    /// References skipped by short-circuiting are not included.
    pub fn evaluated_references(&self, scope: &dyn ValueScope) -> Vec<(&Reference, Option<Value>)> {
        let watched = RecordingScope { scope, asked: RefCell::default() };
        // Only the reads are of interest here, not the result.
        let _ = self.evaluate_in(&watched);
        let asked = watched.asked.into_inner();
        let looked_at = self.references.iter().filter(|r| asked.contains(&r.binding.source));
        let find = |reference| match look_up(scope, reference, &self.policy) {
            LookupResult::Borrowed(value) => Some(value.clone()),
            LookupResult::Owned(value) => Some(value),
            LookupResult::Missing(_) => None,
        };
        looked_at.map(|reference| (reference, find(reference))).collect()
    }
}

/// A scope that records which sources were read.
struct RecordingScope<'s> {
    scope: &'s dyn ValueScope,
    asked: RefCell<BTreeSet<u32>>,
}

impl ValueScope for RecordingScope<'_> {
    fn source_value(&self, source: u32) -> SourceValue<'_> {
        self.asked.borrow_mut().insert(source);
        self.scope.source_value(source)
    }
    fn known_answer(&self, question: &HoleQuestion) -> Option<bool> {
        self.scope.known_answer(question)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::PathSegment;

    /// The results of a pipeline: the results of its steps are in a layer under its own result.
    struct Layers;

    impl ValueScope for Layers {
        fn source_value(&self, source: u32) -> SourceValue<'_> {
            let parse = |text: &str| Value::parse(text).unwrap_or_default();
            match source {
                0 => SourceValue::Layered {
                    top: parse(r#"{"draft": "text"}"#),
                    under: parse(r#"{"review": {"out": {"readers": "everyone"}, "in": null}}"#),
                },
                _ => SourceValue::Owned(parse("3")),
            }
        }
    }

    #[test]
    fn what_a_condition_saw_is_what_it_went_by() {
        let policy = Policy::AGNTZ;
        let seen = |text: &str| {
            let mut condition = Condition::parse(text, &policy).unwrap();
            let root = |r: &Reference| r.path.first().is_some_and(|PathSegment { name, .. }| &**name == "writing");
            condition.bind_references(|r| ReferenceBinding { source: u32::from(!root(r)), skip: 1 });
            let show = |(r, v): (&Reference, Option<Value>)| {
                format!("{}={}", r.dotted_path(), v.unwrap_or_default().to_text())
            };
            condition.evaluated_references(&Layers).into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(seen("{{writing.review.readers}} == experts"), ["writing.review.readers=everyone"]);
        // If the first part is false, the second is not evaluated.
        assert_eq!(seen("{{writing.draft}} == x && {{passes}} == 3"), ["writing.draft=text"]);
        assert_eq!(seen("{{writing.draft}} == x || {{passes}} == 3"), ["writing.draft=text", "passes=3"]);
    }
}
