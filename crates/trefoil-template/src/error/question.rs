//! Conditions that only the driver can decide.

use std::sync::Arc;

use crate::expression::ConditionExpression;
use crate::policy::Policy;
use crate::value::{Hole, Masked, Value};

/// A condition on something only the driver knows: a closed expression whose operands are values, some of them masked.
/// Its boolean answer is journaled; the content of holes is not.
#[derive(Debug, Clone, PartialEq)]
pub struct HoleQuestion {
    /// The expression; contains no references.
    pub expression: Arc<ConditionExpression>,
    /// The rules by which it is evaluated.
    pub policy: Policy,
    /// The condition as written, if there is such a text. Not part of the question.
    pub text: Option<Arc<str>>,
    /// Asks only whether all holes can be filled: the answer is `true`, or the error of the first one that cannot be
    /// filled.
    pub presence: bool,
    /// Asks whether the value that the expression consists of matches this JSON schema.
    pub schema: Option<Value>,
}

impl HoleQuestion {
    /// Asks whether a value is truthy, if [`Value::truth_value`] does not know. The question is the same under every policy.
    pub fn about_truth(value: Value) -> Self {
        Self {
            expression: Arc::new(ConditionExpression::from_value(value)),
            policy: Policy::AGNTZ,
            text: None,
            presence: false,
            schema: None,
        }
    }

    /// Whether it decides nothing but whether the step fails, so that it needs no event.
    pub fn is_silent(&self) -> bool {
        self.presence || self.schema.is_some()
    }

    /// Asks whether a value matches a JSON schema.
    pub fn about_schema(value: Value, schema: Value) -> Self {
        Self { schema: Some(schema), ..Self::about_truth(value) }
    }

    /// Asks whether each strict hole without a default is set; `None` if there is no such hole.
    pub fn about_presence(value: &Value) -> Option<Self> {
        let mut strict: Vec<Hole> = Vec::new();
        let mut note = |hole: &Hole| {
            let hole = Hole { quoted: 0, ..hole.clone() };
            if hole.default.is_none() && !hole.lenient && !strict.contains(&hole) {
                strict.push(hole);
            }
            Ok::<_, std::convert::Infallible>(None)
        };
        let Ok(_) = value.replace_holes(&mut note);
        let holes: Vec<Value> = strict.into_iter().map(|hole| Masked::from_hole(hole).into_value()).collect();
        (!holes.is_empty()).then(|| Self { presence: true, ..Self::about_truth(Value::from(holes)) })
    }

    /// The text shown in events and traces: the condition as written, or else the names of the holes. Never the value
    /// of an operand, which together with the answer would reveal the content of the hole.
    pub fn display_text(&self) -> String {
        if let Some(text) = &self.text {
            return text.to_string();
        }
        let mut names: Vec<String> = Vec::new();
        let mut note = |hole: &Hole| {
            let name = format!("{}.{}", hole.kind.template_namespace(), hole.name);
            if !names.contains(&name) {
                names.push(name);
            }
            Ok::<_, std::convert::Infallible>(None::<String>)
        };
        let Ok(_) = self.expression.fill_holes(&mut note);
        names.join(", ")
    }

    /// If it asks about a schema: the value after every hole is filled, and the schema.
    ///
    /// # Errors
    ///
    /// The first error of `fill`.
    pub fn filled_with_schema<T: Into<Option<String>>, E>(
        &self,
        fill: &mut dyn FnMut(&Hole) -> Result<T, E>,
    ) -> Result<Option<(Value, &Value)>, E> {
        let (ConditionExpression::Literal(value, _), Some(schema)) = (&*self.expression, &self.schema) else {
            return Ok(None);
        };
        Ok(Some((value.fill_holes(fill)?, schema)))
    }
}
