//! Conditions that are not written as expressions: `score_above`, `input_equals_yes` and the like.

use std::sync::Arc;

use trefoil_ir::{BoundCondition, Source};
use trefoil_syntax::Location;
use trefoil_template::{
    BuiltinFunction, ComparisonOperator, Condition, ConditionExpression, PathSegment, Policy, Reference,
    ReferenceBinding, Value,
};

use crate::program_builder::TemplateSources;

/// A condition under construction: its references, named as a person would write them.
#[derive(Default)]
pub struct ConditionBuilder {
    sources: TemplateSources,
    references: Vec<Reference>,
}

impl ConditionBuilder {
    /// A reference to a value, with the name shown in messages.
    pub fn add_reference(&mut self, shown: &[&str], source: Source) -> ConditionExpression {
        let path: Vec<_> = shown.iter().map(|name| PathSegment { name: Arc::from(*name), span: 0..0 }).collect();
        let binding = ReferenceBinding { skip: path.len() as u16, ..self.sources.bind_source((source, 0)) };
        self.references.push(Reference::from_path(path, 0..0, binding));
        ConditionExpression::Reference(self.references.len() as u32 - 1)
    }

    /// The finished condition.
    pub fn into_condition(self, expression: ConditionExpression, origin: Location, text: Arc<str>) -> BoundCondition {
        let spans = self.references.iter().map(|_| origin.span).collect();
        let condition = Condition::from_parts(expression, self.references, Policy::AEGIS);
        BoundCondition { condition, sources: self.sources.0, origin, text, spans, written: Vec::new() }
    }
}

/// `a OP b`.
pub fn compare_expression(a: ConditionExpression, op: ComparisonOperator, b: impl Into<Value>) -> ConditionExpression {
    ConditionExpression::Compare(vec![a, ConditionExpression::from_value(b)], vec![op])
}

/// `low <= a <= high`.
pub fn between_expression(low: f64, a: ConditionExpression, high: f64) -> ConditionExpression {
    let (low, high) = (ConditionExpression::from_value(low), ConditionExpression::from_value(high));
    ConditionExpression::Compare(vec![low, a, high], vec![ComparisonOperator::LessEqual, ComparisonOperator::LessEqual])
}

/// Whether a text is one of some words, ignoring case and surrounding whitespace.
pub fn one_of(text: ConditionExpression, words: &[&str]) -> ConditionExpression {
    let text = ConditionExpression::Call(
        BuiltinFunction::Lower,
        vec![ConditionExpression::Call(BuiltinFunction::Trim, vec![text])],
    );
    let words = words.iter().map(|word| ConditionExpression::from_value(*word)).collect();
    ConditionExpression::Compare(vec![text, ConditionExpression::List(words)], vec![ComparisonOperator::In])
}

/// A score or a confidence; whatever else it is matches nothing.
pub fn share_expression(value: ConditionExpression) -> ConditionExpression {
    ConditionExpression::Call(BuiltinFunction::Share, vec![value])
}

/// An expression that is always false.
pub fn never_expression() -> ConditionExpression {
    ConditionExpression::from_value(false)
}
