//! The content of a model's turn, as in the completion of its call.
//!
//! A turn without tool calls is its text. One with tool calls is an object `{text, calls}`, each call `{id, name,
//! arguments}`. Only requests that offer tools return this form.

use trefoil_template::{Value, ValueObject};

use crate::request::ModelToolCall;

/// The value of a turn.
pub fn turn_value(text: impl Into<Value>, calls: Vec<ModelToolCall>) -> Value {
    let text = text.into();
    if calls.is_empty() {
        return text;
    }
    let call = |call: ModelToolCall| {
        let members: [(&str, Value); 3] =
            [("id", Value::Str(call.id)), ("name", Value::Str(call.name)), ("arguments", call.arguments)];
        let sealed = call.sealed.map(|sealed| ("sealed", Value::Str(sealed)));
        members.into_iter().chain(sealed).collect::<Value>()
    };
    [("text", text), ("calls", calls.into_iter().map(call).collect())].into_iter().collect()
}

/// The text and the tool calls of a turn; `None`: it has no tool calls.
pub fn parse_tool_calls(value: &Value) -> Option<(Value, Vec<ModelToolCall>)> {
    let Value::Object(turn) = value else { return None };
    let Some(Value::List(calls)) = turn.get("calls") else { return None };
    Some((turn.get("text").cloned().unwrap_or_default(), calls.iter().filter_map(call).collect()))
}

/// A turn as shown in events and traces: without the opaque data of the provider.
pub fn visible_turn(turn: &Value) -> Value {
    match parse_tool_calls(turn) {
        Some((text, calls)) => {
            turn_value(text, calls.into_iter().map(|call| ModelToolCall { sealed: None, ..call }).collect())
        }
        None => turn.clone(),
    }
}

fn call(value: &Value) -> Option<ModelToolCall> {
    let Value::Object(call) = value else { return None };
    let (Some(Value::Str(id)), Some(Value::Str(name))) = (call.get("id"), call.get("name")) else { return None };
    let sealed = match call.get("sealed") {
        Some(Value::Str(sealed)) => Some(sealed.clone()),
        _ => None,
    };
    Some(ModelToolCall { id: id.clone(), name: name.clone(), arguments: arguments(call), sealed })
}

fn arguments(call: &ValueObject) -> Value {
    call.get("arguments").cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_comes_back_as_it_was() {
        let arguments: Value = [("q", Value::from("x"))].into_iter().collect();
        let all = vec![
            ModelToolCall { id: "1".into(), name: "search".into(), arguments, sealed: Some("x".into()) },
            ModelToolCall { id: "2".into(), name: "search".into(), arguments: "{".into(), sealed: None },
        ];
        assert_eq!(parse_tool_calls(&turn_value("Let me look.", all.clone())), Some(("Let me look.".into(), all)));
        assert_eq!(parse_tool_calls(&turn_value("{\"calls\": []}", Vec::new())), None);
    }
}
