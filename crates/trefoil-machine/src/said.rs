//! The content of a model's turn, as in the completion of its call.
//!
//! A turn without tool calls is its text. One with tool calls is an object `{text, calls}`, each call `{id, name,
//! arguments}`. Only requests that offer tools return this form.

use trefoil_template::{Object, Value};

use crate::request::ToolUse;

/// The value of a turn.
pub fn value(text: impl Into<Value>, calls: Vec<ToolUse>) -> Value {
    let text = text.into();
    if calls.is_empty() {
        return text;
    }
    let call = |call: ToolUse| {
        let members: [(&str, Value); 3] =
            [("id", Value::Str(call.id)), ("name", Value::Str(call.name)), ("arguments", call.arguments)];
        let sealed = call.sealed.map(|sealed| ("sealed", Value::Str(sealed)));
        members.into_iter().chain(sealed).collect::<Value>()
    };
    [("text", text), ("calls", calls.into_iter().map(call).collect())].into_iter().collect()
}

/// The text and the tool calls of a turn; `None`: it has no tool calls.
pub fn calls(value: &Value) -> Option<(Value, Vec<ToolUse>)> {
    let Value::Object(turn) = value else { return None };
    let Some(Value::List(calls)) = turn.get("calls") else { return None };
    Some((turn.get("text").cloned().unwrap_or_default(), calls.iter().filter_map(call).collect()))
}

/// A turn as shown in events and traces: without the opaque data of the provider.
pub fn shown(turn: &Value) -> Value {
    match calls(turn) {
        Some((text, calls)) => value(text, calls.into_iter().map(|call| ToolUse { sealed: None, ..call }).collect()),
        None => turn.clone(),
    }
}

fn call(value: &Value) -> Option<ToolUse> {
    let Value::Object(call) = value else { return None };
    let (Some(Value::Str(id)), Some(Value::Str(name))) = (call.get("id"), call.get("name")) else { return None };
    let sealed = match call.get("sealed") {
        Some(Value::Str(sealed)) => Some(sealed.clone()),
        _ => None,
    };
    Some(ToolUse { id: id.clone(), name: name.clone(), arguments: arguments(call), sealed })
}

fn arguments(call: &Object) -> Value {
    call.get("arguments").cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_comes_back_as_it_was() {
        let arguments: Value = [("q", Value::from("x"))].into_iter().collect();
        let all = vec![
            ToolUse { id: "1".into(), name: "search".into(), arguments, sealed: Some("x".into()) },
            ToolUse { id: "2".into(), name: "search".into(), arguments: "{".into(), sealed: None },
        ];
        assert_eq!(calls(&value("Let me look.", all.clone())), Some(("Let me look.".into(), all)));
        assert_eq!(calls(&value("{\"calls\": []}", Vec::new())), None);
    }
}
