//! The failure of a run that another run has called: the cause of its own.

use std::sync::Arc;

use trefoil_ir::Program;
use trefoil_runtime::RunError;
use trefoil_syntax::SourceFiles;

/// Why a called run failed, with the files in which its place is.
#[derive(Debug, Clone)]
pub struct CalledFailure {
    /// The called run.
    pub run: String,
    /// Why it failed.
    pub error: RunError,
    /// Its program.
    pub program: Arc<Program>,
    /// The files of the program.
    pub files: SourceFiles,
}

impl CalledFailure {
    /// `a` of `ship`
    pub fn step_phrase(&self) -> String {
        match &self.error.key {
            Some(key) if !key.0.is_empty() => format!("`{}` of `{}`", key.display_name(), self.program.name),
            _ => format!("`{}`", self.program.name),
        }
    }

    /// `ship.yaml:5:6`
    pub fn display_location(&self) -> Option<String> {
        self.files.display_location(self.error.location?)
    }
}
