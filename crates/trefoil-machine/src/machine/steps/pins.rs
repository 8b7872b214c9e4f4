//! Checks the parameters that a manifest pins, before the model is called: a pin that its tool does not have would leave the
//! real parameter to the model, and one without a value would fail in every call.

use trefoil_ir::{Conversation, Offer, StepKind, ToolCall, ToolKind, ValueExpression};
use trefoil_template::Value;

use super::super::eval::EvalStop;
use super::super::frame::FrameId;
use super::super::turn::MachineTurn;
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
        let tools = listed.iter().filter(|(kind, _)| *kind == call.kind).flat_map(|(_, tools)| tools);
        let schema = tools.into_iter().find(|tool| tool.name == call.name).map(|tool| &tool.parameters);
        if let Some(why) = offer.pinned.iter().find_map(|name| unknown_parameter(schema?, name)) {
            return Err(wrong(offer, format!("`{}` cannot be offered with this pin: {why}", call.name)));
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
            let member = |key: &str| members.iter().find(|(name, _)| **name == *key).map(|(_, value)| value);
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
        None => schema.is_some_and(|schema| required_parameters(schema).contains(&name)),
    };
    let is_empty = |value: &ValueExpression| context.eval_uncounted(value).is_ok_and(|value| value.is_null());
    pins.iter().find(|(name, value)| is_needed(name) && is_empty(value)).map(|(name, _)| name.to_string())
}

/// What is merged into the model's arguments.
fn pinned_arguments(arguments: &ValueExpression) -> &[(std::sync::Arc<str>, ValueExpression)] {
    match arguments {
        ValueExpression::Merge(layers) => layers.iter().find_map(|layer| match layer {
            ValueExpression::Object(pins) => Some(pins.as_slice()),
            _ => None,
        }),
        _ => None,
    }
    .unwrap_or_default()
}
