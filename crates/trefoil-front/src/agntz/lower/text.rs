//! The expressions of an agent's texts. A text with a mistake (reported) becomes null.

use trefoil_ir::{Cond, Expr};
use trefoil_syntax::yaml::Text;
use trefoil_template::Value;

use crate::agntz::bind::BoundAgent;
use crate::agntz::names::At;

/// A text sent to a model.
pub fn prompt(agent: &BoundAgent<'_>, source: &Text) -> Expr {
    let expr = agent.texts.get(source, At::End).and_then(|bound| bound.prompt_expr());
    expr.unwrap_or(Expr::Const(Value::Null))
}

/// A text in a typed position: a lone placeholder keeps its type.
pub fn typed(agent: &BoundAgent<'_>, source: &Text, at: At) -> Expr {
    agent.texts.get(source, at).and_then(|bound| bound.typed_expr()).unwrap_or(Expr::Const(Value::Null))
}

/// A condition.
pub fn condition(agent: &BoundAgent<'_>, source: &Text, at: At) -> Option<Cond> {
    agent.texts.get(source, at)?.cond()
}
