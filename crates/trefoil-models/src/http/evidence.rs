//! Finds the error in a success response, or in an event of one, whatever the protocol.
//!
//! Gateways send errors of many providers in any protocol. So an error is known by what it says, not by its place in one
//! server's form.

use serde_json::Value as Json;

use super::members::list_member;

/// The error in a body or an event, if it is one or has one. `event`: the name of the event.
pub(super) fn find_error<'j>(event: &str, json: &'j Json) -> Option<&'j Json> {
    if let Some(error) = find_given(json, &["/error", "/delta/error", "/response/error", "/0/error"]) {
        return Some(error);
    }
    // Whichever of the choices has failed.
    for choice in list_member(json, "choices") {
        if let Some(error) = find_given(choice, &["/error", "/delta/error", "/message/error"]) {
            return Some(error);
        }
    }
    let is_named = is_error_word(event) || has_error_word(json, "type") || has_error_word(json, "object");
    if is_named || is_failure(json) { Some(json) } else { None }
}

/// The first error that is given at one of these places.
fn find_given<'j>(json: &'j Json, paths: &[&str]) -> Option<&'j Json> {
    for path in paths {
        if let Some(error) = json.pointer(path)
            && is_given(error)
        {
            return Some(error);
        }
    }
    None
}

fn is_given(error: &Json) -> bool {
    match error {
        Json::Null | Json::Bool(false) => false,
        Json::String(text) => !text.is_empty(),
        Json::Object(members) => !members.is_empty(),
        Json::Array(items) => !items.is_empty(),
        _ => true,
    }
}

fn has_text(json: &Json, name: &str) -> bool {
    matches!(json.get(name), Some(Json::String(text)) if !text.is_empty())
}

fn has_error_word(json: &Json, name: &str) -> bool {
    matches!(json.get(name), Some(Json::String(word)) if is_error_word(word))
}

/// Types and names such as `error`, `server_error`, `BadRequestError`, `ThrottlingException`.
fn is_error_word(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.contains("error") || word.ends_with("exception")
}

/// Whether an object says of itself that something failed.
fn is_failure(json: &Json) -> bool {
    let member = |names: &[&str], is_such: fn(&Json) -> bool| {
        names.iter().any(|name| matches!(json.get(name), Some(value) if is_such(value)))
    };
    let is_typed = has_text(json, "type");
    // Messages of answers are objects.
    // Some servers say that all is well in each event: `"code": 0, "message": "Success"`.
    let is_fine =
        member(&["code"], |code| !is_bad_code(code)) || member(&["success"], |well| *well == Json::Bool(true));
    let said = !is_typed && (has_text(json, "message") && !is_fine || member(&["detail"], is_given));
    let is_coded = (has_text(json, "message") || has_text(json, "msg")) && member(&["code"], is_bad_code);
    said || is_coded
        || member(&["errors"], is_given)
        || member(&["error_code", "errorCode", "err_code", "errcode"], is_bad_code)
        || member(&["error_msg", "error_message", "errorMessage", "errmsg"], is_bad_code)
        || member(&["success"], |success| *success == Json::Bool(false))
        || matches!(json.pointer("/base_resp/status_code"), Some(code) if is_bad_code(code))
        // Answers of the Responses API have a status of their own.
        || (json.get("output").is_none() && member(&["status"], is_failed_status))
}

/// A code or text that does not say that all is well.
fn is_bad_code(code: &Json) -> bool {
    match code {
        Json::Number(number) => {
            matches!(number.as_f64(), Some(number) if number != 0.0 && !(200.0..300.0).contains(&number))
        }
        Json::String(text) => !["", "0", "200", "ok", "success"].contains(&text.trim().to_ascii_lowercase().as_str()),
        _ => false,
    }
}

fn is_failed_status(status: &Json) -> bool {
    match status {
        Json::Number(number) => matches!(number.as_f64(), Some(number) if (400.0..600.0).contains(&number)),
        Json::String(text) => ["error", "failed", "failure"].contains(&text.to_ascii_lowercase().as_str()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_error_is_found_wherever_it_is() {
        let error = json!({"code": 503});
        for json in [
            json!({"error": error}),
            json!({"type": "message-end", "delta": {"error": error}}),
            json!({"type": "response.failed", "response": {"error": error}}),
            json!({"choices": [{"error": error, "finish_reason": "error"}]}),
            json!({"choices": [{"delta": {"error": error}}]}),
            json!({"choices": [{"message": {"error": error}}]}),
            json!({"choices": [{"delta": {}}, {"index": 1, "error": error}]}),
            json!([{"error": error}]),
        ] {
            assert_eq!(find_error("message", &json), Some(&error), "{json}");
        }
        for json in [
            json!({"type": "error", "code": 503}),
            json!({"type": "server_error", "message": "no", "code": 500}),
            json!({"type": "overloaded_error", "message": "no"}),
            json!({"type": "ThrottlingException"}),
            json!({"object": "error", "message": "no"}),
            json!({"message": "no"}),
            json!({"detail": "no"}),
            json!({"detail": [{"msg": "no"}]}),
            json!({"code": 500, "msg": "no"}),
            json!({"type": "notice", "code": 500, "msg": "no"}),
            json!({"code": "E42", "message": "no"}),
            json!({"error_code": 336_100, "error_msg": "no"}),
            json!({"errcode": 40_001, "errmsg": "no"}),
            json!({"base_resp": {"status_code": 1013, "status_msg": "no"}}),
            json!({"choices": [], "base_resp": {"status_code": 1013, "status_msg": "no"}}),
            json!({"success": false, "errors": [{"code": 7000, "message": "no"}]}),
            json!({"errors": ["no"]}),
            json!({"status": "failed"}),
            json!({"status": 500}),
        ] {
            assert_eq!(find_error("message", &json), Some(&json), "{json}");
        }
        for name in ["error", "stream_error", "Exception"] {
            assert!(find_error(name, &json!({})).is_some(), "the event says so");
        }
        for json in [
            json!({"error": null, "choices": []}),
            json!({"error": "", "choices": []}),
            json!({"error": {}, "choices": []}),
            json!({"error": false}),
            json!({"message": {"content": "x"}}),
            json!({"type": "ping", "message": "hi"}),
            json!({"type": "message", "content": [{"type": "text", "text": "error"}]}),
            json!({"type": "response.code_interpreter_call_code.done", "code": "import os"}),
            json!({"choices": [{"delta": {"content": "x", "error": null}}], "base_resp": {"status_code": 0, "status_msg": ""}}),
            json!({"choices": [], "code": 0, "msg": "success", "success": true}),
            json!({"choices": [], "errcode": 0, "errmsg": "ok", "errors": []}),
            json!({"code": 0, "message": "Success", "sid": "c", "choices": [{"delta": {"content": "x"}}]}),
            json!({"code": 200, "message": "success", "choices": []}),
            json!({"code": "200", "message": "OK", "choices": []}),
            json!({"success": true, "message": "ok", "choices": []}),
            json!({"id": "r", "status": "failed", "error": null, "output": []}),
            json!({}),
        ] {
            assert_eq!(find_error("message", &json), None, "{json}");
        }
    }
}
