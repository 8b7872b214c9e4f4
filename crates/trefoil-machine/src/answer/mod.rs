//! How a model's answer is interpreted.

mod pieces;
mod thought_tags;

use serde_json::error::Category;
use trefoil_ir::AnswerFormat;
use trefoil_template::{Value, json_text};

use crate::error::RunError;
use crate::schemas::ProgramSchemas;
use crate::text::strip_fence;

/// Reads an answer. The failure is `STRUCTURED_OUTPUT_INVALID`.
pub fn parse_answer(format: &AnswerFormat, answer: &Value, schemas: &ProgramSchemas) -> Result<Value, RunError> {
    let Some(text) = answer.as_str() else { return Ok(answer.clone()) };
    match format {
        AnswerFormat::Text => Ok(answer.clone()),
        AnswerFormat::JsonOrText => match find_structure(text) {
            Some(structure) => Ok(structure),
            None => Ok(answer.clone()),
        },
        AnswerFormat::Json(schema) => find_json(text, &|value: &Value| schemas.check_value(*schema, value))
            .map_err(|why| RunError::new("STRUCTURED_OUTPUT_INVALID", why)),
    }
}

/// Whether a value is wanted; the error says why not.
type AnswerCheck<'f> = &'f dyn Fn(&Value) -> Result<(), String>;

/// The JSON in an answer that may have other things in it: thoughts before it, prose, code fences. A text that is JSON as it
/// is, is not searched, so values may contain all of these. The error says why there is none, for the model.
///
/// In this order: the whole text; what follows the thoughts; JSON in code fences; JSON outside of them; JSON anywhere. The
/// first place that has a value that fits decides. Two different ones in it are not an answer.
pub fn find_json(text: &str, fits: AnswerCheck<'_>) -> Result<Value, String> {
    let text = json_text(text);
    if let Ok(value) = Value::parse(text) {
        return check_unquoted(value, fits).map_err(|why| mismatch_message(&why));
    }
    let thought = thought_tags::thoughts_length(text);
    let answer = json_text(text.get(thought..).unwrap_or_default());
    if answer.is_empty() && thought > 0 {
        return Err("the answer has only thoughts".to_owned());
    }
    let error = match Value::parse(answer) {
        Ok(value) => return check_unquoted(value, fits).map_err(|why| mismatch_message(&why)),
        Err(error) => error,
    };
    let fences = pieces::find_fences(answer);
    let mut fenced = Vec::new();
    for fence in &fences {
        if let Some(inside) = answer.get(fence.inside.clone())
            && let Ok(value) = Value::parse(json_text(inside))
        {
            fenced.push(value);
        }
    }
    let (mut outside, mut all) = (Vec::new(), Vec::new());
    for piece in pieces::find_json_pieces(answer) {
        if !fences.iter().any(|fence| fence.whole.contains(&piece.at)) {
            outside.push(piece.value.clone());
        }
        all.push(piece.value);
    }
    let several = if fenced.is_empty() { all.len() } else { fenced.len() } > 1;
    let mut misfits = Vec::new();
    for (place, values) in
        [(mismatch_message as fn(&str) -> String, fenced), (misfit_in_prose, outside), (misfit_in_prose, all)]
    {
        let mut found: Option<Value> = None;
        for value in values {
            match check_unquoted(value, fits) {
                Ok(value) if matches!(&found, Some(other) if *other != value) => {
                    return Err("the answer has several pieces of JSON that match the schema".to_owned());
                }
                Ok(value) => found = Some(value),
                Err(why) => misfits.push(place(&why)),
            }
        }
        if let Some(value) = found {
            return Ok(value);
        }
    }
    Err(match misfits.into_iter().next() {
        None => not_json(answer, &error),
        Some(_) if several => "the answer has several pieces of JSON, and none matches the schema".to_owned(),
        Some(why) => why,
    })
}

/// A value that fits, or that is the text of one, because some models encode their answer twice.
fn check_unquoted(value: Value, fits: AnswerCheck<'_>) -> Result<Value, String> {
    let Err(why) = fits(&value) else { return Ok(value) };
    match value.as_str().and_then(find_structure) {
        Some(inner) if fits(&inner).is_ok() => Ok(inner),
        _ => Err(why),
    }
}

/// The error message for an answer that does not match its schema.
pub fn mismatch_message(why: &str) -> String {
    format!("the answer does not match the schema: {why}")
}

/// The same for JSON in prose.
fn misfit_in_prose(why: &str) -> String {
    format!("the JSON in the answer does not match the schema: {why}")
}

/// The error message for an answer that is not JSON.
pub fn not_json(text: &str, error: &serde_json::Error) -> String {
    let begins = strip_fence(text).starts_with(['{', '[', '"']);
    match error.classify() {
        _ if text.trim().is_empty() => "the answer is empty".to_owned(),
        // The syntax is valid, but the data is not.
        Category::Data => format!("the answer is not readable JSON: {error}"),
        Category::Eof if begins => "the JSON in the answer is incomplete".to_owned(),
        Category::Syntax if begins => {
            format!("the answer is not valid JSON: line {}, column {}", error.line(), error.column())
        }
        _ => "the answer is text, not JSON".to_owned(),
    }
}

/// The JSON object or list in a text, without a surrounding code fence.
pub fn find_structure(text: &str) -> Option<Value> {
    let inner = strip_fence(text);
    if !inner.starts_with(['{', '[']) {
        return None;
    }
    Value::parse(inner).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use std::fmt::Write as _;

    /// Wants an object with a `grade` of text.
    fn graded(value: &Value) -> Result<(), String> {
        match value.get("grade") {
            Some(Value::Str(_)) => Ok(()),
            _ => Err("no grade".to_owned()),
        }
    }

    /// Answers with other things around their JSON, all of which mean `{"grade": "good"}`.
    const TAKEN: &[&str] = &[
        r#"{"grade": "good"}"#,
        "\u{feff}{\"grade\": \"good\"}",
        // Thoughts.
        "<thinking>{\"grade\": \"bad\"}</thinking>\n{\"grade\": \"good\"}",
        "<think>\nIs it {\"grade\": \"bad\"}? No.\n</think>\n\nIt is {\"grade\": \"good\"}.",
        "  <THINK>a</THINK><thought>{\"grade\": \"bad\"}</thought>{\"grade\": \"good\"}",
        "First I thought of {\"grade\": \"bad\"}.\n</think>\n{\"grade\": \"good\"}",
        "[THINK]{\"grade\": \"bad\"}[/THINK]{\"grade\": \"good\"}",
        "◁think▷{\"grade\": \"bad\"}◁/think▷{\"grade\": \"good\"}",
        "<think>{\"grade\": \"bad </think> {}\"}</think>{\"grade\": \"good\"}",
        "<think>{\"grade\": \"bad\"}</think>\n```json\n{\"grade\": \"good\"}\n```",
        "\u{feff}<think>a</think>\u{feff}{\"grade\": \"good\"}",
        "<scratchpad>[1, 2]</scratchpad> {\"grade\": \"good\"}",
        "<think></think>{\"grade\": \"good\"}",
        "<think>it never ends: {\"grade\": \"good\"}",
        // Fences.
        "```json\n{\"grade\": \"good\"}\n```",
        "```\n{\"grade\": \"good\"}\n```\nDone.",
        "Run this:\n```bash\nls -l\n```\n{\"grade\": \"good\"}",
        "Run this:\n```bash\necho ${x}\n```\nThen:\n```json\n{\"grade\": \"good\"}\n```",
        "```python\nx = {\"grade\": \"bad\"}\n```\nSo: {\"grade\": \"good\"}",
        "```json\n{\"input\": 1}\n```\ngives\n```json\n{\"grade\": \"good\"}\n```",
        "```json\n{\"input\": 1}\n```\ngives {\"grade\": \"good\"}",
        "{\"grade\": \"bad\"} would be wrong:\n```json\n{\"grade\": \"good\"}\n```",
        "```\nThe answer: {\"grade\": \"good\"}\n```",
        "```json\n{\"grade\": \"good\"}",
        // Prose.
        "Sure! {\"grade\": \"good\"} it is, see [1] and {x}.",
        "{\"grade\": \"good\"}\nAgain: {\"grade\": \"good\"}",
        "<answer>{\"grade\": \"good\"}</answer>",
        // Encoded twice.
        "\"{\\\"grade\\\": \\\"good\\\"}\"",
        "```json\n\"{\\\"grade\\\": \\\"good\\\"}\"\n```",
        "\"```json\\n{\\\"grade\\\": \\\"good\\\"}\\n```\"",
        "<think>a</think>\"{\\\"grade\\\": \\\"good\\\"}\"",
    ];

    #[test]
    fn json_among_other_things_is_taken() {
        for text in TAKEN {
            let found = find_json(text, &graded).unwrap_or_else(|why| panic!("{text}: {why}"));
            assert_eq!(found.to_json(), serde_json::json!({"grade": "good"}), "{text}");
        }
    }

    #[test]
    fn values_that_contain_tags_fences_or_json_stay_as_they_are() {
        let texts = [
            "a </think> b",
            "<think>a</think>{\"grade\": \"bad\"}",
            "```json\n{\"grade\": \"bad\"}\n```",
            "{\"grade\": \"bad\"}",
            "\u{feff}x",
        ];
        for text in texts {
            let value: Value = [("grade", Value::from(text))].into_iter().collect();
            let json = value.to_json().to_string();
            for answer in [
                json.clone(),
                format!("```json\n{json}\n```"),
                format!("Here: {json} is it."),
                format!("<think>{{}}</think>{json}"),
                format!("hm\n</think>\n{json}"),
            ] {
                assert_eq!(find_json(&answer, &graded), Ok(value.clone()), "{answer}");
            }
            // A text is wanted: what is in it does not matter.
            let any = |_: &Value| Ok(());
            let json = Value::from(text).to_json().to_string();
            assert_eq!(find_json(&json, &any), Ok(text.into()));
        }
    }

    #[test]
    fn what_is_not_one_answer_has_its_reason() {
        let mut told = String::new();
        for text in [
            "",
            "no",
            "{\"grade\": 1}",
            "{\"grade\": \"go",
            "{\"grade\" \"good\"}",
            "\"good\"",
            "\"{\\\"grade\\\": 1}\"",
            "Here: {\"grade\": 1}",
            "```json\n{\"grade\": 1}\n```",
            "{\"a\": 1} or {\"b\": 2}",
            "{\"grade\": \"good\"} or {\"grade\": \"bad\"}",
            "```json\n{\"grade\": \"good\"}\n```\n```json\n{\"grade\": \"bad\"}\n```",
            "<think>{\"grade\": \"good\"}</think>",
            "<think>{\"grade\": \"good\"}</think> good",
            "{\"grade\": \"good\"}\n</think>\n",
            "```bash\nls\n```",
        ] {
            let _ = writeln!(told, "{}: {}", text.replace('\n', " "), find_json(text, &graded).unwrap_err());
        }
        expect![[r#"
            : the answer is empty
            no: the answer is text, not JSON
            {"grade": 1}: the answer does not match the schema: no grade
            {"grade": "go: the JSON in the answer is incomplete
            {"grade" "good"}: the answer is not valid JSON: line 1, column 10
            "good": the answer does not match the schema: no grade
            "{\"grade\": 1}": the answer does not match the schema: no grade
            Here: {"grade": 1}: the JSON in the answer does not match the schema: no grade
            ```json {"grade": 1} ```: the answer does not match the schema: no grade
            {"a": 1} or {"b": 2}: the answer has several pieces of JSON, and none matches the schema
            {"grade": "good"} or {"grade": "bad"}: the answer has several pieces of JSON that match the schema
            ```json {"grade": "good"} ``` ```json {"grade": "bad"} ```: the answer has several pieces of JSON that match the schema
            <think>{"grade": "good"}</think>: the answer has only thoughts
            <think>{"grade": "good"}</think> good: the answer is text, not JSON
            {"grade": "good"} </think> : the answer has only thoughts
            ```bash ls ```: the answer is text, not JSON
        "#]].assert_eq(&told);
    }
}
