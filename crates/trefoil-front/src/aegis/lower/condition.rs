//! Conditions that are not written as expressions: `score_above`, `input_equals_yes` and the like.

use std::sync::Arc;

use trefoil_ir::{Cond, Source};
use trefoil_syntax::Location;
use trefoil_template::{Binding, Comparison, Condition, Expression, Function, Policy, Reference, Segment, Value};

use crate::build::Sources;

/// A condition under construction: its references, named as a person would write them.
#[derive(Default)]
pub struct Test {
    sources: Sources,
    references: Vec<Reference>,
}

impl Test {
    /// A reference to a value, with the name shown in messages.
    pub fn value(&mut self, shown: &[&str], source: Source) -> Expression {
        let path: Vec<_> = shown.iter().map(|name| Segment { name: Arc::from(*name), span: 0..0 }).collect();
        let binding = Binding { skip: path.len() as u16, ..self.sources.bind((source, 0)) };
        self.references.push(Reference::guarded(path, 0..0, binding));
        Expression::Reference(self.references.len() as u32 - 1)
    }

    /// The finished condition.
    pub fn finish(self, expression: Expression, origin: Location, text: Arc<str>) -> Cond {
        let spans = self.references.iter().map(|_| origin.span).collect();
        let condition = Condition::from_parts(expression, self.references, Policy::AEGIS);
        Cond { condition, sources: self.sources.0, origin, text, spans, written: Vec::new() }
    }
}

/// `a OP b`.
pub fn compare(a: Expression, op: Comparison, b: impl Into<Value>) -> Expression {
    Expression::Compare(vec![a, Expression::value(b)], vec![op])
}

/// `low <= a <= high`.
pub fn between(low: f64, a: Expression, high: f64) -> Expression {
    let ends = [low, high].map(Expression::value);
    let [low, high] = ends;
    Expression::Compare(vec![low, a, high], vec![Comparison::LessEqual, Comparison::LessEqual])
}

/// Whether a text is one of some words, ignoring case and surrounding whitespace.
pub fn one_of(text: Expression, words: &[&str]) -> Expression {
    let text = Expression::Call(Function::Lower, vec![Expression::Call(Function::Trim, vec![text])]);
    let words = words.iter().map(|w| Expression::value(*w)).collect();
    Expression::Compare(vec![text, Expression::List(words)], vec![Comparison::In])
}

/// A score or a confidence; whatever else it is matches nothing.
pub fn share(value: Expression) -> Expression {
    Expression::Call(Function::Share, vec![value])
}

/// An expression that is always false.
pub fn never() -> Expression {
    Expression::value(false)
}
