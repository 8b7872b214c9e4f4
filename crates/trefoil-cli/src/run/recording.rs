//! `--trace FILE`: the file is created before the run, so that an unwritable path is detected before any calls. It is
//! written once, when the run ends or is stopped.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use trefoil_project::written::PendingFile;
use trefoil_view::trace::{TraceSink, TraceSubject, page};

use crate::output;

/// A trace that is being recorded.
pub struct Recording {
    path: PathBuf,
    about: TraceSubject,
    tracer: Arc<TraceSink>,
    /// `None` if it was written or is being written.
    file: Mutex<Option<PendingFile>>,
}

impl Recording {
    /// Creates the file. Returns the exit code on failure.
    pub fn new(path: PathBuf, about: TraceSubject, tracer: Arc<TraceSink>) -> Result<Self, u8> {
        match PendingFile::create(&path) {
            Ok(file) => Ok(Self { path, about, tracer, file: Mutex::new(Some(file)) }),
            Err(error) => {
                Err(output::not_started(&format!("cannot write the trace to `{}`: {error}", path.display()), None))
            }
        }
    }

    /// Writes the trace so far, but only once. Returns why it could not be written.
    pub fn write(&self) -> Result<(), String> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(file) = file else { return Ok(()) };
        let json = self.tracer.trace().json(&self.about);
        let written = file.finish(&if is_page(&self.path) { page::html(&json) } else { format!("{json:#}\n") });
        written.map_err(|error| format!("cannot write the trace to `{}`: {error}", self.path.display()))
    }
}

/// Whether a trace in this file is a page to look at.
pub fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm"))
}
