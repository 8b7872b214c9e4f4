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
    let labels: serde_json::Map<String, Json> =
        record.labels.iter().map(|(key, value)| (key.clone(), Json::from(value.as_str()))).collect();
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
    if let Some(members) = json.as_object_mut() {
        let error = record.error.as_ref().map(|(code, message)| json!({ "code": code, "message": message }));
        let known = [
            ("ended", record.ended.map(|at| rfc3339_ms(at).into())),
            ("content", (record.content != Content::All).then(|| record.content.name().into())),
            ("wake_at", record.wake_at.map(|at| rfc3339_ms(at).into())),
            ("error", error),
            ("items", record.items.map(|items| json!(items))),
            ("base", record.base.clone().map(Json::from)),
            ("parent", record.parent.clone().map(Json::from)),
            ("owner", record.owner.as_ref().map(|(owner, _)| owner.as_str().into())),
            ("taken_from", record.taken_from.clone().map(Json::from)),
            ("labels", (!labels.is_empty()).then_some(labels.into())),
        ];
        members.extend(known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    json
}
