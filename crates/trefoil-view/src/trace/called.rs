//! The failure of a run that another run has called: the cause of its own.

use std::sync::Arc;

use serde_json::Value;
use trefoil_ir::Program;
use trefoil_runtime::RunError;
use trefoil_syntax::Files;

use super::json;

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
    pub files: Files,
}

impl CalledFailure {
    /// `a` of `ship`
    pub fn step(&self) -> String {
        let step = self.error.key.as_ref().filter(|key| !key.0.is_empty());
        let step = step.map(|key| format!("`{}` of ", key.named())).unwrap_or_default();
        format!("{step}`{}`", self.program.name)
    }

    /// `ship.yaml:5:6`
    pub fn place(&self) -> Option<String> {
        self.files.place(self.error.location?)
    }

    /// As a member of the error that it caused.
    pub fn json(&self) -> Value {
        let mut all = json::error(&self.error, &self.files);
        if let Some(members) = all.as_object_mut() {
            members.shift_insert(0, "run".to_owned(), self.run.as_str().into());
            members.shift_insert(1, "flow".to_owned(), (&*self.program.name).into());
        }
        all
    }
}
