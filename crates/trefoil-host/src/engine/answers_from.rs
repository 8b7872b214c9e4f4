//! Where the answers of a run's models come from.

use std::path::PathBuf;

/// What answers model calls.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswersFrom {
    /// The embedded model.
    Embedded,
    /// This script.
    Script(PathBuf),
    /// This model, every call.
    One(String),
    /// The manifest's models.
    AsWritten,
    /// The embedder's provider.
    Provider,
}

impl AnswersFrom {
    /// The form in journals.
    pub(crate) fn journal_form(&self) -> String {
        match self {
            Self::Embedded => "embedded".to_owned(),
            Self::Script(path) => format!("scripted={}", path.display()),
            Self::One(model) => model.clone(),
            Self::AsWritten => "manifest".to_owned(),
            Self::Provider => "host".to_owned(),
        }
    }

    /// Reads the form in journals.
    pub fn of_stored(stored: &str) -> Self {
        match stored {
            "embedded" => Self::Embedded,
            "manifest" => Self::AsWritten,
            "host" | "" => Self::Provider,
            one => one.strip_prefix("scripted=").map_or(Self::One(one.to_owned()), |path| Self::Script(path.into())),
        }
    }
}

impl std::fmt::Display for AnswersFrom {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Embedded => f.write_str("embedded model"),
            Self::Script(path) => write!(f, "answers from {}", path.display()),
            Self::One(model) => f.write_str(model),
            Self::AsWritten => f.write_str("models from the manifest"),
            Self::Provider => f.write_str("custom model provider"),
        }
    }
}
