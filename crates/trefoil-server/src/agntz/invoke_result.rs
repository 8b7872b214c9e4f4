//! `InvokeResult`: what agntz says of a run that has ended.

use serde_json::{Map, Value as Json, json};
use trefoil_runtime::Usage;

use super::flow_shape::common_model;
use super::run_part::{PartEnd, RunPart};

/// A value as text: objects as JSON.
pub fn text_of(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The result of a run or of an agent inside it. Its output is a text.
pub fn invoke_result(part: &RunPart, warnings: &[String]) -> Json {
    let output = match &part.end {
        Some(PartEnd::Completed(output)) => text_of(output),
        _ => String::new(),
    };
    let model = common_model(&part.models);
    let mut usage = json!({
        "promptTokens": part.usage.input_tokens,
        "completionTokens": part.usage.output_tokens,
        "totalTokens": part.usage.total_tokens(),
        "model": model,
    });
    if let (Some(usd), Some(members)) = (known_cost(&part.usage), usage.as_object_mut()) {
        members.insert("cost".to_owned(), json!(usd));
    }
    let mut result = json!({
        "output": output,
        "invocationId": part.id,
        "sessionId": part.id,
        "toolCalls": part.tool_calls,
        "usage": usage,
        "duration": part.ended.unwrap_or(part.started).saturating_sub(part.started),
        "model": model,
    });
    if let Some(members) = result.as_object_mut() {
        add_answer(members, part);
        if !warnings.is_empty() {
            members.insert("warnings".to_owned(), json!(warnings));
        }
    }
    result
}

/// What the last answer of a single model said of itself.
pub fn add_answer(members: &mut Map<String, Json>, part: &RunPart) {
    let [model] = part.models.as_slice() else { return };
    if let Some((provider, _)) = model.split_once('/') {
        members.insert("provider".to_owned(), provider.into());
    }
    let (finish, response) = &part.last_answer;
    if let Some(finish) = finish {
        members.insert("finishReason".to_owned(), finish.as_str().into());
    }
    if let Some(response) = response {
        members.insert("responseId".to_owned(), response.as_str().into());
    }
}

/// The cost in US dollars; `None`: a part of it is unknown.
pub fn known_cost(usage: &Usage) -> Option<f64> {
    if usage.unpriced_calls == 0 { Some(usage.cost_micro as f64 / 1e6) } else { None }
}
