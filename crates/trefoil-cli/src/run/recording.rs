//! `--trace FILE`: the file is made before the run, so that a path that cannot be written costs nothing, and written once,
//! at the run's end or when the run is cut off.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use trefoil::internals::trace::{About, Pending, Tracer};

use crate::{exit, output};

/// A trace being recorded.
pub struct Recording {
    path: PathBuf,
    about: About,
    tracer: Arc<Tracer>,
    /// None: written, or being written.
    file: Mutex<Option<Pending>>,
}

impl Recording {
    /// Makes the file. An error is the exit code.
    pub fn new(path: PathBuf, about: About, tracer: Arc<Tracer>) -> Result<Self, u8> {
        match Pending::create(&path) {
            Ok(file) => Ok(Self { path, about, tracer, file: Mutex::new(Some(file)) }),
            Err(error) => {
                output::refuse(&format!("cannot write the trace to `{}`: {error}", path.display()), None);
                Err(exit::NOT_STARTED)
            }
        }
    }

    /// Writes what happened so far, once. The error says why it could not be written.
    pub fn write(&self) -> Result<(), String> {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(file) = file else { return Ok(()) };
        let json = format!("{:#}\n", self.tracer.trace().json(&self.about));
        let written = file.finish(&json);
        written.map_err(|error| format!("cannot write the trace to `{}`: {error}", self.path.display()))
    }
}
