//! `trefoil runs show RUN`

use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde_json::json;
use trefoil::store::{Content, Status, Store as _};

use super::{past, print, print_json, record};
use crate::run::{Steps, arrived, money, time, tokens, waiting};
use crate::store::{StoreArgs, full_id, wait};

/// Show a run: its steps, tokens and cost, and what it is waiting for
#[derive(Args)]
pub struct Show {
    /// The run's id, or its first characters
    run: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    #[command(flatten)]
    store: StoreArgs,
}

/// How it is written.
#[derive(Clone, Copy, ValueEnum)]
pub enum Output {
    /// For people.
    Text,
    /// For programs.
    Json,
}

impl Output {
    /// Whether it is for programs.
    pub fn is_json(self) -> bool {
        matches!(self, Self::Json)
    }
}

pub fn run(args: &Show) -> Result<u8, u8> {
    let store = args.store.look_into()?;
    let record = wait(async { store.record(&full_id(&*store, &args.run).await?).await })?;
    let open = matches!(record.status, Status::Waiting | Status::Running | Status::Pending);
    let steps = Arc::new(Steps::default());
    let waiting = if open {
        past::seen(&store, &record, steps.clone())?
    } else {
        if !args.output.is_json() && record.content != Content::Removed {
            past::tell_if_known(&store, &record, steps.clone());
        }
        Vec::new()
    };
    let drafts = if open { wait(store.drafts(&record.run))? } else { Vec::new() };
    if args.output.is_json() {
        let mut json = record::json(&record);
        if let Some(members) = json.as_object_mut() {
            if !waiting.is_empty() {
                members.insert("waiting".to_owned(), json!(waiting));
            }
            if !drafts.is_empty() {
                let drafts = drafts.iter().map(|draft| json!({ "key": draft.key.as_str(), "text": draft.text }));
                members.insert("arrived".to_owned(), drafts.collect());
            }
        }
        return Ok(print_json(&[json]));
    }
    let mut lines = vec![
        format!("run      {}", record.run),
        format!("flow     {}", record.flow),
        format!("status   {}", record.status),
        format!("started  {}", record::time(record.started)),
    ];
    if let Some(ended) = record.ended {
        lines.push(format!("ended    {} (after {})", record::time(ended), time(ended.saturating_sub(record.started))));
    }
    if let Some(wake) = record.wake_at.filter(|_| open) {
        lines.push(format!("wakes    {}", record::time(wake)));
    }
    lines.push(format!(
        "used     {}, {}, {}",
        record::calls(record.spent.calls),
        tokens(&record.spent.usage),
        money(&record.spent.usage)
    ));
    for draft in &drafts {
        let characters = arrived(draft.text.chars().count());
        lines.push(format!("answer   {characters} for `{}`; `--output json` has them", draft.key));
    }
    if let Some((code, message)) = &record.error {
        lines.push(format!("error    {code}: {message}"));
    }
    lines.extend(record::content(&record).map(|content| format!("content  {content}")));
    for (key, value) in &record.labels {
        lines.push(format!("label    {key}={value}"));
    }
    let letters = if waiting.is_empty() { Vec::new() } else { wait(store.inbox(&record.run))? };
    if open && record.owner.is_none() && (waiting.is_empty() || !letters.is_empty()) {
        lines.push(format!("continue trefoil resume {}{}", record.run, args.store.option()));
    }
    let steps = steps.lines(!open);
    if !steps.is_empty() {
        lines.push("steps".to_owned());
        lines.extend(steps);
    }
    for one in &waiting {
        lines.push(format!("waiting  {}", waiting::line(one, &waiting)));
        if let Some(posted) = letters.iter().find(|posted| posted.letter.key == one.key.as_str()) {
            lines.push(format!("answered {}", posted.letter.value.to_text()));
        }
    }
    Ok(print(&lines))
}
