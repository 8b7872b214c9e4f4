//! A summary of a run, for people and as JSON.

use serde_json::{Value as Json, json};
use trefoil::store::{Content, Record, UNSEEN_MS};
use trefoil_host::command::RunOptions;
use trefoil_view::trace::rfc3339_ms;

pub use trefoil_view::trace::format_moment as time;

/// A note on how much of the run's prompts and answers is stored, if not all.
pub fn content_note(record: &Record, store: &str) -> Option<String> {
    let text = match record.content {
        Content::All => return None,
        Content::UntilEnd => "kept until the run is completed or cancelled (`--no-content`)".to_owned(),
        Content::Removed => "removed when the run ended (`--no-content`)".to_owned(),
        Content::Result => format!(
            "only the result, until {} (`--no-content`); `{}` prints it",
            time(record.ended.unwrap_or_default().saturating_add(UNSEEN_MS)),
            RunOptions::of_store(store.to_owned()).resume_command(&record.run, &[])
        ),
    };
    Some(text)
}

/// The record as in `runs list --output json` and `runs show --output json`.
pub fn record_json(record: &Record) -> Json {
    let usage = record.spent.usage;
    let mut json = json!({
        "run": record.run,
        "flow": record.flow,
        "status": record.status.name(),
        "started": rfc3339_ms(record.started),
        "calls": record.spent.calls,
        "usage": usage,
        "entries": record.entries,
        "program": record.program,
    });
    let Some(members) = json.as_object_mut() else { return json };
    let mut add = |name: &str, value: Json| {
        members.insert(name.to_owned(), value);
    };
    if let Some(ended) = record.ended {
        add("ended", rfc3339_ms(ended).into());
    }
    if record.content != Content::All {
        add("content", record.content.name().into());
    }
    if let Some(wake_at) = record.wake_at {
        add("wake_at", rfc3339_ms(wake_at).into());
    }
    if let Some((code, message)) = &record.error {
        add("error", json!({ "code": code, "message": message }));
    }
    if let Some(items) = record.items {
        add("items", json!(items));
    }
    if let Some(base) = &record.base {
        add("base", base.as_str().into());
    }
    if let Some(parent) = &record.parent {
        add("parent", parent.as_str().into());
    }
    if let Some((owner, _)) = &record.owner {
        add("owner", owner.as_str().into());
    }
    if let Some(owner) = &record.taken_from {
        add("taken_from", owner.as_str().into());
    }
    if !record.labels.is_empty() {
        let mut labels = serde_json::Map::new();
        for (key, value) in &record.labels {
            labels.insert(key.clone(), value.as_str().into());
        }
        add("labels", labels.into());
    }
    json
}
