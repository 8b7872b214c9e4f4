//! Why a stored run cannot be read.

use trefoil_runtime::RunError;
use trefoil_store::StoreError;
use trefoil_syntax::SourceFiles;

use crate::durable::StoredRun;
use trefoil_project::error::{Error, FoundErrors};

/// Why a stored run cannot be read.
#[derive(Debug)]
pub enum UnreadableRun {
    /// The store, or the files of the run.
    Error(Error),
    /// Its journal: `JOURNAL_ERROR` if it cannot be read, `NONDETERMINISM` if this version would not do the same.
    Journal(Box<RunError>, SourceFiles),
}

impl UnreadableRun {
    /// What is wrong with the journal of a run.
    pub(super) fn of_journal(error: RunError, stored: &StoredRun) -> Self {
        Self::Journal(Box::new(error), stored.flow.loaded_target().files.clone())
    }
}

impl From<Error> for UnreadableRun {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<StoreError> for UnreadableRun {
    fn from(error: StoreError) -> Self {
        Self::Error(error.into())
    }
}

impl From<UnreadableRun> for Error {
    fn from(why: UnreadableRun) -> Self {
        match why {
            UnreadableRun::Error(error) => error,
            UnreadableRun::Journal(error, files) => Self::NotStarted(FoundErrors::of_run(&files, &error)),
        }
    }
}
