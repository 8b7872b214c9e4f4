//! Answers that depend only on the request, so that an edit changes those of all requests that it changes.

use std::collections::BTreeSet;

use trefoil_ir::ToolKind;
use trefoil_machine::request::{ModelRequest, ToolRequest};
use trefoil_machine::{ContentKey, FailureCause, MessageRole, Request, RunError};
use trefoil_template::Value;

use crate::machine;
use crate::memory_host::Answers;

/// Whether a call of a tool changes nothing.
pub fn only_reads(request: &ToolRequest) -> bool {
    request.kind == ToolKind::Http && request.arguments.get("method").is_some_and(|method| *method.to_text() == *"GET")
}

/// The answers of one run.
pub fn answers() -> Answers {
    let mut flaky = BTreeSet::new();
    Box::new(move |activity| {
        let (other, usage) = machine::answer(activity);
        let result = match &activity.request {
            Request::Model(request) => says(request, &mut flaky)
                .map_err(|status| RunError::new("MODEL_ERROR", "no").with_cause(FailureCause::Status(status))),
            Request::Command(_) => {
                let out = format!("out {:x}", digits(&activity.request));
                let members: [(&str, Value); 3] =
                    [("exit_code", 0.into()), ("stdout", out.into()), ("stderr", "".into())];
                Ok(members.into_iter().collect())
            }
            _ => other,
        };
        let usage = usage.filter(|_| result.is_ok());
        (result, usage)
    })
}

/// A number that depends on the request.
fn digits(request: &Request) -> u64 {
    u64::from_le_bytes(ContentKey::from_request(request).0[..8].try_into().unwrap())
}

fn digits_of(request: &ModelRequest) -> u64 {
    digits(&Request::Model(Box::new(request.clone())))
}

/// `flaky`: the requests that have already failed once.
fn says(request: &ModelRequest, flaky: &mut BTreeSet<u64>) -> Result<Value, u16> {
    let digits = digits_of(request);
    let last = request.messages.last().map(|m| m.content.canonical_text()).unwrap_or_default();
    let last = last.trim_matches('"');
    let text = match &*request.model {
        "bad" => return Err(500),
        "flaky" if flaky.insert(digits) => return Err(429),
        "talker" => return Ok(talk(request)),
        "judge" if last.contains("better") => "{\"score\": 0.9}".to_owned(),
        "judge" => "{\"score\": 0.1, \"reasoning\": \"thin\"}".to_owned(),
        "looping" if last.contains(':') => "stop".to_owned(),
        "state" if !last.contains("again after") && digits.is_multiple_of(2) => "back".to_owned(),
        "list" => "[1, \"two\", null]".to_owned(),
        "plain" if last.starts_with("why: ") && last.len() > 5 => format!("plain:{digits:x} better"),
        other => format!("{other}:{digits:x}"),
    };
    Ok(if request.schema.is_some() { format!("{{\"said\": {text:?}}}").into() } else { text.into() })
}

/// Calls some tools in the first turns.
fn talk(request: &ModelRequest) -> Value {
    let before = request.messages.iter().filter(|m| m.role == MessageRole::Assistant).count() as u64;
    let opening = request.messages.iter().take_while(|m| m.role != MessageRole::Assistant);
    let opening = ModelRequest { messages: opening.cloned().collect(), ..request.clone() };
    let seed = digits_of(&opening);
    if before >= seed % 4 {
        return format!("talker:{:x}", digits_of(request)).into();
    }
    machine::calls(request, before, |at| (seed >> 8).rotate_left(7 * (at as u32 + before as u32)))
}
