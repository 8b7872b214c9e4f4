//! How questions are answered that a client did not answer during its call.

use crate::command::RunOptions;
use crate::served_folder::ServedFolder;

/// How the questions of a run are answered after its call has ended, and what becomes of runs whose client has left.
pub enum AnswerRoute {
    /// With commands, which have these options.
    Commands(RunOptions),
    /// Not at all: runs are not stored.
    NotStored,
    /// With requests to the server, which also continues the run. Places in errors are inside the folder that it serves.
    Requests(ServedFolder),
}

impl AnswerRoute {
    /// Whether runs are stored.
    pub fn is_stored(&self) -> bool {
        !matches!(self, Self::NotStored)
    }

    /// The text of an error, for a client.
    pub fn error_text(&self, text: &str) -> String {
        match self {
            Self::Requests(folder) => folder.hide_folder(text),
            Self::Commands(_) | Self::NotStored => text.to_owned(),
        }
    }

    /// Whether a run of a client that has left is kept, for somebody to resume. A server cancels it.
    pub fn outlives_client(&self) -> bool {
        !matches!(self, Self::Requests(_))
    }
}
