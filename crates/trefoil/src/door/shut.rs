//! Why a file is not opened.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file is not opened.
#[derive(Debug)]
pub enum Shut {
    /// The path leads out of the folders that it may lead into; whether anything is there was not looked at.
    Outside {
        /// Where it leads.
        to: PathBuf,
        /// The link in a folder of ours that leads there, if it was one.
        link: Option<PathBuf>,
    },
    /// There is nothing at the path.
    NotThere,
    /// The path leads to a folder that paths may lead into, and no further.
    Room(PathBuf),
    /// What is there is not a file to read, in words that follow "cannot be read".
    NotAFile(&'static str),
    /// The file is larger than what may be read.
    TooLarge {
        /// Its bytes, as far as known.
        size: u64,
        /// Bytes that may be read.
        limit: u64,
    },
    /// What the system said.
    System(std::io::Error),
}

impl Shut {
    /// Of an error of the system.
    pub fn of(error: std::io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::NotThere } else { Self::System(error) }
    }
    /// The reason, in words that follow a colon.
    pub fn reason(&self) -> String {
        match self {
            Self::Outside { .. } => "it is outside the project".to_owned(),
            Self::Room(_) => "it is a folder".to_owned(),
            Self::NotThere => "no such file".to_owned(),
            Self::NotAFile(what) => (*what).to_owned(),
            Self::TooLarge { size, limit } => format!("it has at least {size} bytes; the limit is {limit}"),
            Self::System(error) => reason(error),
        }
    }
    /// What helps against it.
    pub fn help(&self) -> &'static str {
        match self {
            Self::System(error) if error.kind() == ErrorKind::PermissionDenied => "check its permissions",
            Self::TooLarge { .. } => "use a smaller file",
            _ => "use a regular file",
        }
    }
    /// The folder that an operator would have to allow.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::Outside { to, .. } => to.parent().or(Some(to)),
            _ => None,
        }
    }
}

/// The system's words for an error, without the number.
pub fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map(|c| c.to_lowercase().chain(chars).collect()).unwrap_or_default()
}
