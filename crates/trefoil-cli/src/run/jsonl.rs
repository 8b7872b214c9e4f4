//! `--events jsonl`: writes each event of the run to stdout as one line of JSON, with its place in the manifest.

use std::sync::Mutex;

use trefoil_runtime::{Event, EventSink};
use trefoil_syntax::SourceFiles;
use trefoil_view::trace::event_json;

use crate::output;
use trefoil_runtime::locks::lock;

/// Writes events.
pub struct JsonlEventWriter {
    files: SourceFiles,
    /// Only events with a higher number.
    after: Option<u64>,
    /// The first failure to write an event.
    failure: Mutex<Option<std::io::Error>>,
}

impl JsonlEventWriter {
    /// Creates a writer for a program from these files.
    pub fn new(files: SourceFiles) -> Self {
        Self { files, after: None, failure: Mutex::new(None) }
    }
    /// Skips events up to this number.
    pub fn skip_through(self, after: Option<u64>) -> Self {
        Self { after, ..self }
    }
    /// Whether all events could be written.
    pub fn write_outcome(&self) -> std::io::Result<()> {
        match lock(&self.failure).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl EventSink for JsonlEventWriter {
    fn wants_provenance(&self) -> bool {
        true
    }
    fn receive_event(&self, event: &Event) {
        if matches!(self.after, Some(after) if event.seq <= after) {
            return;
        }
        // A closed pipe or a full disk does not stop a run, whose calls may have a cost.
        if let Err(error) = output::json_line(&event_json(event, &self.files)) {
            lock(&self.failure).get_or_insert(error);
        }
    }
}
