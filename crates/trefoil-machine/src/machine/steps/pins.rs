//! Checks the parameters that a manifest pins, before the model is called: a pin that its tool does not have would leave the
//! real parameter to the model, and one without a value would fail in every call.

use trefoil_ir::{Conversation, Offer, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_template::Value;

use super::super::eval::EvalStop;
use super::super::frame::FrameId;
use super::super::turn::MachineTurn;
use super::offers;
use crate::error::RunError;
use crate::parameters::{required_parameters, unknown_parameter};
use crate::request::ToolSpec;

/// The arguments of an http tool that contain the values of its address, and its address.
const PARAMS: &str = "params";
const URL: &str = "url";

/// Fails if a pin cannot be used.
pub fn check_pins(
    turn: &MachineTurn<'_>,
    f: FrameId,
    it: &Conversation,
    listed: &[(ToolKind, Vec<ToolSpec>)],
) -> Result<(), EvalStop> {
    for offer in &it.offers {
        let StepKind::Tool(call) = &turn.program.steps[offer.step].kind else { continue };
        let tool = offers::listed_tools(listed, &call.kind).find(|tool| tool.name == call.name);
        let schema = tool.map(|tool| &tool.parameters);
        if let Some(schema) = schema {
            for name in &offer.pinned {
                if let Some(why) = unknown_parameter(schema, name) {
                    return Err(wrong(offer, format!("`{}` cannot be offered with this pin: {why}", call.name)));
                }
            }
        }
        if let Some(name) = empty(turn, f, call, schema) {
            let message = format!("`{}` cannot be called: its pinned parameter `{name}` has no value", call.name);
            return Err(wrong(offer, message));
        }
    }
    Ok(())
}

fn wrong(offer: &Offer, message: String) -> EvalStop {
    let error = RunError::new("TOOL_ERROR", message).at_step(None, Some(offer.origin));
    error.with_help("fix `params` of this entry of the agent's `tools`").into()
}

/// A pin that has no value although the tool needs one.
fn empty(turn: &MachineTurn<'_>, f: FrameId, call: &ToolCall, schema: Option<&Value>) -> Option<String> {
    let context = turn.eval_context(f, None, None);
    let (pins, address) = match &call.arguments {
        ValueExpression::Object(members) if call.kind == ToolKind::Http => {
            let member = |key: &str| {
                let (_, value) = members.iter().find(|(name, _)| **name == *key)?;
                Some(value)
            };
            let address = match member(URL)? {
                ValueExpression::Template(text) | ValueExpression::Typed(text) => context.render_address(text).ok()?,
                _ => return None,
            };
            (pinned_arguments(member(PARAMS)?), Some(address.to_text().to_string()))
        }
        arguments => (pinned_arguments(arguments), None),
    };
    let is_needed = |name: &str| match &address {
        Some(address) => address.contains(&format!("{{{name}}}")),
        None => matches!(schema, Some(schema) if required_parameters(schema).contains(&name)),
    };
    let is_empty = |value: &ValueExpression| matches!(context.eval_uncounted(value), Ok(value) if value.is_null());
    let (name, _) = pins.iter().find(|(name, value)| is_needed(name) && is_empty(value))?;
    Some(name.to_string())
}

/// What is merged into the model's arguments.
fn pinned_arguments(arguments: &ValueExpression) -> &[(std::sync::Arc<str>, ValueExpression)] {
    let ValueExpression::Merge(layers) = arguments else { return &[] };
    for layer in layers {
        if let ValueExpression::Object(pins) = layer {
            return pins;
        }
    }
    &[]
}
