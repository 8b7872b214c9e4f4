//! `--events jsonl`: every event of the run as one line of JSON on stdout, with its place in the manifest.

use std::io::Write as _;

use trefoil::runtime::{Event, EventSink};
use trefoil::syntax::Files;

/// Writes events.
pub struct Jsonl {
    files: Files,
}

impl Jsonl {
    /// For a program from these files.
    pub fn new(files: Files) -> Self {
        Self { files }
    }
}

impl EventSink for Jsonl {
    fn event(&self, event: &Event) {
        let Ok(mut json) = serde_json::to_value(event) else { return };
        if let (Some(all), Some(at)) = (json.as_object_mut(), event.location)
            && let Some(file) = self.files.get(at.file)
        {
            all.insert("file".to_owned(), file.name().into());
            all.insert("line".to_owned(), file.position(at.span.start).line.into());
        }
        let mut out = std::io::stdout().lock();
        // A reader that went away is no reason to stop a run that somebody pays for.
        let _ = writeln!(out, "{json}").and_then(|()| out.flush());
    }
}
