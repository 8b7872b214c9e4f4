//! `--trace FILE`: the file is created before the run, so that an unwritable path is detected before any calls. It is
//! written once, when the run ends or is stopped.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use trefoil_project::output_file::PendingFile;
use trefoil_view::trace::{TraceSink, TraceSubject, page};

use crate::output;
use trefoil_runtime::locks::lock;

/// A trace that is being recorded.
pub struct TraceRecording {
    path: PathBuf,
    about: TraceSubject,
    tracer: Arc<TraceSink>,
    /// `None` if it was written or is being written.
    file: Mutex<Option<PendingFile>>,
}

impl TraceRecording {
    /// Creates the file. Returns the exit code on failure.
    pub fn new(path: PathBuf, about: TraceSubject, tracer: Arc<TraceSink>) -> Result<Self, u8> {
        match PendingFile::create_pending(&path) {
            Ok(file) => Ok(Self { path, about, tracer, file: Mutex::new(Some(file)) }),
            Err(error) => Err(output::report_not_started(
                &format!("cannot write the trace to `{}`: {error}", path.display()),
                None,
            )),
        }
    }

    /// Writes the trace so far, but only once. Returns why it could not be written.
    pub fn write_trace(&self) -> Result<(), String> {
        let file = lock(&self.file).take();
        let Some(file) = file else { return Ok(()) };
        let json = self.tracer.trace().to_json(&self.about);
        let written =
            file.write_text(&if is_page(&self.path) { page::render_html(&json) } else { format!("{json:#}\n") });
        written.map_err(|error| format!("cannot write the trace to `{}`: {error}", self.path.display()))
    }
}

/// Whether a trace in this file is a page to look at.
pub fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"))
}
