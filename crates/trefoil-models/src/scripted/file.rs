//! Parses a script file. Errors name their place in the data (`answers.writer[1].delay_ms`).

use std::sync::Mutex;

use indexmap::IndexMap;
use serde_json::{Map, Value as Json};
use trefoil_runtime::{FinishReason, ModelErrorKind, ModelToolCall, Usage};
use trefoil_syntax::yaml::{self, YamlLimits, YamlNode, YamlNodeKind, YamlScalar};
use trefoil_syntax::{FileId, FindingSeverity, SourceFile, suggestions};
use trefoil_template::{Value, read_json};

use super::{ScriptTurns, Scripted, ScriptedAnswer, ScriptedFailure, ScriptedTurn};

type ScriptResult<T> = std::result::Result<T, String>;

/// Parses a script.
pub(super) fn parse(name: &str, text: &str) -> ScriptResult<Scripted> {
    let json = if name.to_ascii_lowercase().ends_with(".json") {
        read_json(text).map_err(|e| format!("invalid JSON: {e}"))?
    } else {
        from_yaml(name, text)?
    };
    let root = object(&json, "the script")?;
    check_known_keys(root, "the script", &["answers", "tools"])?;
    let mut scripted = Scripted::default();
    for (name, turns) in members(root, "answers")? {
        scripted.answers.insert(name.clone(), script(turns, &format!("answers.{name}"), &answer)?);
    }
    for (name, turns) in members(root, "tools")? {
        scripted.tools.insert(name.clone(), script(turns, &format!("tools.{name}"), &tool)?);
    }
    Ok(scripted)
}

fn script<T>(
    json: &Json,
    at: &str,
    read: &dyn Fn(&Json, &str) -> ScriptResult<ScriptedTurn<T>>,
) -> ScriptResult<ScriptTurns<T>> {
    let (turns, endless) = match json {
        Json::Array(all) if all.is_empty() => return Err(format!("`{at}` is an empty list")),
        Json::Array(all) => {
            let mut turns = Vec::new();
            for (i, turn) in all.iter().enumerate() {
                turns.push(read(turn, &format!("{at}[{i}]"))?);
            }
            (turns, false)
        }
        one => (vec![read(one, at)?], true),
    };
    Ok(ScriptTurns { turns, endless, used: Mutex::default() })
}

fn answer(json: &Json, at: &str) -> ScriptResult<ScriptedTurn<ScriptedAnswer>> {
    let Json::Object(map) = json else {
        if json.is_array() {
            return Err(format!("`{at}` is a list; use `json:` for an answer that is a list"));
        }
        let answer = ScriptedAnswer {
            text: Value::from_json(json.clone()).to_text().to_string(),
            calls: Vec::new(),
            usage: None,
            finish: None,
        };
        return Ok(ScriptedTurn { outcome: Ok(answer), delay_ms: 0 });
    };
    check_known_keys(map, at, &["text", "json", "calls", "error", "delay_ms", "usage", "finish"])?;
    let finish = match map.get("finish") {
        Some(json) => Some(finish(json, &format!("{at}.finish"))?),
        None => None,
    };
    let usage = match map.get("usage") {
        Some(json) => Some(usage(json, &format!("{at}.usage"))?),
        None => None,
    };
    let calls = match map.get("calls") {
        Some(json) => calls(json, &format!("{at}.calls"))?,
        None => Vec::new(),
    };
    let answer = |text: String, calls| ScriptedAnswer { text, calls, usage, finish };
    let outcome = match (map.get("text"), map.get("json"), map.get("error")) {
        (None, None, None) if !calls.is_empty() => Ok(answer(String::new(), calls)),
        (Some(Json::String(text)), None, None) => Ok(answer(text.clone(), calls)),
        (Some(_), None, None) => return Err(format!("`{at}.text` is not text")),
        (None, Some(json), None) => Ok(answer(json.to_string(), calls)),
        (None, None, Some(error)) => Err(failure(error, &format!("{at}.error"))?),
        _ => return Err(format!("`{at}` needs one of `text`, `json`, `calls` and `error`")),
    };
    Ok(ScriptedTurn { outcome, delay_ms: read_whole_number(map, at, "delay_ms")?.unwrap_or(0) })
}

/// The tool calls of a turn.
fn calls(json: &Json, at: &str) -> ScriptResult<Vec<ModelToolCall>> {
    let Json::Array(all) = json else { return Err(format!("`{at}` is not a list")) };
    let mut calls = Vec::new();
    for (i, json) in all.iter().enumerate() {
        let at = format!("{at}[{i}]");
        let map = object(json, &at)?;
        check_known_keys(map, &at, &["name", "arguments"])?;
        let Some(Json::String(name)) = map.get("name") else { return Err(format!("`{at}.name` is not text")) };
        let arguments = map.get("arguments").cloned().unwrap_or_else(|| Json::Object(Map::new()));
        calls.push(ModelToolCall::new(format!("call_{}", i + 1), name.as_str(), Value::from_json(arguments)));
    }
    Ok(calls)
}

fn tool(json: &Json, at: &str) -> ScriptResult<ScriptedTurn<Value>> {
    let Json::Object(map) = json else {
        return Ok(ScriptedTurn { outcome: Ok(Value::from_json(json.clone())), delay_ms: 0 });
    };
    check_known_keys(map, at, &["value", "error", "delay_ms"])?;
    let outcome = match (map.get("value"), map.get("error")) {
        (Some(value), None) => Ok(Value::from_json(value.clone())),
        (None, Some(error)) => Err(failure(error, &format!("{at}.error"))?),
        _ => return Err(format!("`{at}` needs one of `value` and `error`")),
    };
    Ok(ScriptedTurn { outcome, delay_ms: read_whole_number(map, at, "delay_ms")?.unwrap_or(0) })
}

const KINDS: &[(&str, ModelErrorKind)] = &[
    ("network", ModelErrorKind::Network),
    ("timeout", ModelErrorKind::Timeout),
    ("protocol", ModelErrorKind::Protocol),
];

fn find_kind(name: &str) -> Option<ModelErrorKind> {
    let (_, kind) = KINDS.iter().find(|(known, _)| *known == name)?;
    Some(*kind)
}

/// A failure: `network`, `timeout`, `protocol`, another text (the message), or an object with `status` or `kind`,
/// `message` and `retry_after_ms`.
fn failure(json: &Json, at: &str) -> ScriptResult<ScriptedFailure> {
    let plain = |kind: ModelErrorKind, message: &str| ScriptedFailure {
        kind,
        message: message.to_owned(),
        retry_after_ms: None,
    };
    match json {
        Json::String(text) => Ok(match find_kind(text) {
            Some(kind) => plain(kind, &format!("scripted {text} error")),
            None => plain(ModelErrorKind::Status(500), text),
        }),
        Json::Object(map) => {
            check_known_keys(map, at, &["status", "kind", "message", "retry_after_ms"])?;
            let kind = match (read_whole_number(map, at, "status")?, map.get("kind")) {
                (Some(status), None) => match u16::try_from(status) {
                    Ok(status) if (100..600).contains(&status) => ModelErrorKind::Status(status),
                    _ => return Err(format!("`{at}.status` is not an HTTP status")),
                },
                (None, Some(kind)) => match kind.as_str().and_then(find_kind) {
                    Some(kind) => kind,
                    None => return Err(format!("`{at}.kind` is not one of `network`, `timeout`, `protocol`")),
                },
                (None, None) => ModelErrorKind::Status(500),
                (Some(_), Some(_)) => return Err(format!("`{at}` has both `status` and `kind`")),
            };
            let message = match map.get("message") {
                Some(Json::String(text)) => text.clone(),
                Some(_) => return Err(format!("`{at}.message` is not text")),
                None => match kind {
                    ModelErrorKind::Status(status) => format!("scripted error with status {status}"),
                    _ => "scripted error".to_owned(),
                },
            };
            Ok(ScriptedFailure { kind, message, retry_after_ms: read_whole_number(map, at, "retry_after_ms")? })
        }
        _ => Err(format!("`{at}` is neither text nor a mapping")),
    }
}

const FINISHES: &[(&str, FinishReason)] = &[
    ("stop", FinishReason::Stop),
    ("length", FinishReason::Length),
    ("refused", FinishReason::Refused),
    ("filtered", FinishReason::Filtered),
];

fn finish(json: &Json, at: &str) -> ScriptResult<FinishReason> {
    let word = json.as_str().unwrap_or_default();
    match FINISHES.iter().find(|(name, _)| *name == word) {
        Some((_, finish)) => Ok(*finish),
        None => Err(format!("`{at}` must be one of `stop`, `length`, `refused`, `filtered`")),
    }
}

fn usage(json: &Json, at: &str) -> ScriptResult<Usage> {
    let map = object(json, at)?;
    check_known_keys(map, at, &["input_tokens", "output_tokens", "cached_tokens"])?;
    let mut usage = Usage::default();
    let numbers = [
        ("input_tokens", &mut usage.input_tokens),
        ("output_tokens", &mut usage.output_tokens),
        ("cached_tokens", &mut usage.cached_tokens),
    ];
    for (name, number) in numbers {
        match map.get(name).and_then(Json::as_f64) {
            // As from a provider: what no call can have used is unknown.
            Some(told) if told < 0.0 || told > u64::MAX as f64 => usage.unknown_calls = 1,
            _ => *number = read_whole_number(map, at, name)?.unwrap_or_default(),
        }
    }
    Ok(usage.without_impossible())
}

fn members<'a>(root: &'a Map<String, Json>, name: &str) -> ScriptResult<Vec<(&'a String, &'a Json)>> {
    match root.get(name) {
        None | Some(Json::Null) => Ok(Vec::new()),
        Some(json) => Ok(object(json, name)?.iter().collect()),
    }
}

fn object<'a>(json: &'a Json, at: &str) -> ScriptResult<&'a Map<String, Json>> {
    match json {
        Json::Object(members) => Ok(members),
        _ if at.contains(' ') => Err(format!("{at} is not a mapping")),
        _ => Err(format!("`{at}` is not a mapping")),
    }
}

fn read_whole_number(map: &Map<String, Json>, at: &str, name: &str) -> ScriptResult<Option<u64>> {
    let Some(json) = map.get(name) else { return Ok(None) };
    match json.as_u64() {
        Some(number) => Ok(Some(number)),
        None => Err(format!("`{at}.{name}` is not a whole number")),
    }
}

fn check_known_keys(map: &Map<String, Json>, at: &str, names: &[&str]) -> ScriptResult<()> {
    let Some(strange) = map.keys().find(|k| !names.contains(&k.as_str())) else { return Ok(()) };
    let place = if at.contains(' ') { at.to_owned() } else { format!("`{at}`") };
    let hint = match suggestions::nearest_name(strange, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.contains(&"json") => "use `json:` for an answer that is an object".to_owned(),
        None => format!("the keys are `{}`", names.join("`, `")),
    };
    Err(format!("unknown key `{strange}` in {place}; {hint}"))
}

fn from_yaml(name: &str, text: &str) -> ScriptResult<Json> {
    let file = SourceFile::new(name, text);
    let parsed = yaml::parse(FileId(0), &file, &YamlLimits::default());
    if let Some(error) = parsed.diagnostics.iter().find(|d| d.severity == FindingSeverity::Error) {
        let Some(span) = error.span else { return Err(error.message.to_string()) };
        let place = file.line_column(span.start);
        return Err(format!("line {}, column {}: {}", place.line, place.column, error.message));
    }
    match &parsed.root {
        Some(root) => Ok(json_of(root)),
        None => Err("the script is empty".to_owned()),
    }
}

fn json_of(node: &YamlNode) -> Json {
    match &*node.kind {
        YamlNodeKind::Scalar(scalar, text) => match scalar {
            YamlScalar::Null => Json::Null,
            YamlScalar::Bool(b) => Json::from(*b),
            YamlScalar::Int(n) => Json::from(*n),
            YamlScalar::UInt(n) => Json::from(*n),
            YamlScalar::Float(n) => Json::from(*n),
            YamlScalar::Str => Json::from(&*text.value),
        },
        YamlNodeKind::Sequence(items) => items.iter().map(json_of).collect(),
        YamlNodeKind::Mapping(mapping) => {
            let members: IndexMap<_, _> =
                mapping.entries.iter().map(|e| (e.key.value.to_string(), json_of(&e.value))).collect();
            members.into_iter().collect()
        }
    }
}
