//! The text of answers as it arrives from models, for whoever watches a run that is in progress here. It is not in the journal before
//! the answer is complete.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trefoil_host::service::{FeedEvent, FeedReader, RunFeeds};
use trefoil_machine::event::EventKind;

use crate::state::AppState;

/// What has arrived of a call and is not sent yet.
#[derive(Default)]
struct ArrivedText {
    text: String,
    /// Whether the text begins with it.
    is_first: bool,
}

/// The texts of the calls in progress of a run.
pub struct ArrivingText {
    feeds: RunFeeds,
    run: String,
    reader: TextReader,
    parts: BTreeMap<String, ArrivedText>,
}

/// Where events of the run come from.
enum TextReader {
    /// From nowhere: the run is not in progress here.
    Away,
    /// It is, and its feed will be opened.
    Expected,
    Open(Box<FeedReader>),
}

impl ArrivingText {
    /// That of a run.
    pub fn new(state: &AppState, run: &str) -> Self {
        let feeds = state.local.run_feeds().clone();
        let mut new = Self { feeds, run: run.to_owned(), reader: TextReader::Away, parts: BTreeMap::new() };
        new.look_again(state, run);
        new
    }

    /// The run may have come here since.
    pub fn look_again(&mut self, state: &AppState, run: &str) {
        if matches!(self.reader, TextReader::Away) && state.local.drives_run(run) {
            self.reader = TextReader::Expected;
        }
    }

    /// Waits for text. Never ends without any.
    pub async fn await_text(&mut self) {
        loop {
            match &mut self.reader {
                TextReader::Away => std::future::pending::<()>().await,
                TextReader::Expected => match self.feeds.watch_run(&self.run, None).await {
                    Ok(reader) => self.reader = TextReader::Open(Box::new(reader)),
                    Err(_) => self.reader = TextReader::Away,
                },
                TextReader::Open(reader) => match reader.next_event().await {
                    Ok(Some(event)) => {
                        if self.take_event(&event) {
                            return;
                        }
                    }
                    Ok(None) | Err(_) => self.reader = TextReader::Away,
                },
            }
        }
    }

    /// Notes an event. Returns whether there is text to send.
    fn take_event(&mut self, event: &FeedEvent) -> bool {
        let event = event.event();
        let Some(key) = &event.key else { return false };
        match &event.kind {
            EventKind::ModelStarted { .. } => {
                self.parts.insert(key.to_string(), ArrivedText { is_first: true, ..ArrivedText::default() });
                false
            }
            EventKind::TextDelta { text, .. } => {
                self.parts.entry(key.to_string()).or_default().text.push_str(text);
                true
            }
            EventKind::ModelFinished { .. } | EventKind::ModelStopped { .. } | EventKind::EffectFailed { .. } => {
                self.parts.remove(&key.to_string());
                false
            }
            _ => false,
        }
    }

    /// What has arrived since the last time: `{key, text, first}`.
    pub fn take_parts(&mut self) -> Vec<Json> {
        let mut all = Vec::new();
        for (key, part) in &mut self.parts {
            if part.text.is_empty() {
                continue;
            }
            let part = std::mem::take(part);
            all.push(json!({ "key": key, "text": part.text, "first": part.is_first }));
        }
        all
    }
}
