//! A summary of a run, for people and as JSON.

use std::time::{Duration, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use trefoil::store::{Content, Record};

/// `2026-03-01 09:05:00Z`.
pub fn time(ms: u64) -> String {
    let text = humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_millis(ms)).to_string();
    text.replace('T', " ")
}

/// `1 call`, `3 calls`.
pub fn calls(calls: u64) -> String {
    if calls == 1 { "1 call".to_owned() } else { format!("{calls} calls") }
}

/// A note on how much of the run's prompts and answers is stored, if not all.
pub fn content(record: &Record) -> Option<&'static str> {
    match record.content {
        Content::All => None,
        Content::UntilEnd => Some("kept until the run is completed or cancelled (`--no-content`)"),
        Content::Removed => Some("removed when the run ended (`--no-content`)"),
    }
}

fn stamp(ms: u64) -> String {
    humantime::format_rfc3339_millis(UNIX_EPOCH + Duration::from_millis(ms)).to_string()
}

/// The record as in `runs list --output json` and `runs show --output json`.
pub fn json(record: &Record) -> Json {
    let usage = record.spent.usage;
    let labels: serde_json::Map<String, Json> =
        record.labels.iter().map(|(key, value)| (key.clone(), Json::from(value.as_str()))).collect();
    let mut json = json!({
        "run": record.run,
        "flow": record.flow,
        "status": record.status.name(),
        "started": stamp(record.started),
        "calls": record.spent.calls,
        "usage": usage,
        "entries": record.entries,
        "program": record.program,
    });
    if let Some(members) = json.as_object_mut() {
        let mut add = |name: &str, value: Option<Json>| {
            if let Some(value) = value {
                members.insert(name.to_owned(), value);
            }
        };
        add("ended", record.ended.map(|at| stamp(at).into()));
        add("content", (record.content != Content::All).then(|| record.content.name().into()));
        add("wake_at", record.wake_at.map(|at| stamp(at).into()));
        add("error", record.error.as_ref().map(|(code, message)| json!({ "code": code, "message": message })));
        add("parent", record.parent.as_ref().map(|parent| parent.as_str().into()));
        add("owner", record.owner.as_ref().map(|(owner, _)| owner.as_str().into()));
        add("labels", (!labels.is_empty()).then_some(labels.into()));
    }
    json
}
