//! `--events jsonl`: every event of the run as one line of JSON on stdout, with its place in the manifest.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use trefoil::internals::trace::event_json;
use trefoil_runtime::{Event, EventSink};
use trefoil_syntax::Files;

use crate::harmless::json;

/// Writes events.
pub struct Jsonl {
    files: Files,
    /// Only events with a higher number.
    after: Option<u64>,
    /// Why an event could not be written, the first time.
    failure: Mutex<Option<std::io::Error>>,
}

impl Jsonl {
    /// For a program from these files.
    pub fn new(files: Files) -> Self {
        Self { files, after: None, failure: Mutex::new(None) }
    }
    /// Only events with a higher number than this.
    pub fn after(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }
    /// Whether all could be written.
    pub fn written(&self) -> std::io::Result<()> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take().map_or(Ok(()), Err)
    }
}

impl EventSink for Jsonl {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn event(&self, event: &Event) {
        if self.after.is_some_and(|after| event.seq <= after) {
            return;
        }
        let json = json(&event_json(event, &self.files));
        let mut out = std::io::stdout().lock();
        // A reader that went away is no reason to stop a run that somebody pays for, nor is a full disk.
        if let Err(error) = writeln!(out, "{json}").and_then(|()| out.flush()) {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
    }
}
