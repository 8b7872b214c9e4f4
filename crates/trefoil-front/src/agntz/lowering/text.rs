//! The expressions of an agent's texts. A text with a mistake (reported) becomes null.

use trefoil_ir::{BoundCondition, ValueExpression};
use trefoil_syntax::yaml::YamlText;
use trefoil_template::Value;

use crate::agntz::binding::BoundAgent;
use crate::agntz::names::PipelinePosition;

/// A text sent to a model.
pub fn prompt_expression(agent: &BoundAgent<'_>, source: &YamlText) -> ValueExpression {
    let expr = agent.texts.get(source, PipelinePosition::End).and_then(|bound| bound.prompt_expr());
    expr.unwrap_or(ValueExpression::Const(Value::Null))
}

/// A text in a typed position: a lone placeholder keeps its type.
pub fn typed_expression(agent: &BoundAgent<'_>, source: &YamlText, at: PipelinePosition) -> ValueExpression {
    agent.texts.get(source, at).and_then(|bound| bound.typed_expr()).unwrap_or(ValueExpression::Const(Value::Null))
}

/// A condition.
pub fn bound_condition(agent: &BoundAgent<'_>, source: &YamlText, at: PipelinePosition) -> Option<BoundCondition> {
    agent.texts.get(source, at)?.to_condition()
}
