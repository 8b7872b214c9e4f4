//! Why a file is not opened.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Why a file is not opened.
#[derive(Debug)]
pub enum AccessRefusal {
    /// The path leads out of the allowed folders. Whether it exists was not checked.
    Outside {
        /// The target.
        to: PathBuf,
        /// The link in an allowed folder that leads there, if there is one.
        link: Option<PathBuf>,
    },
    /// The path does not exist.
    NotThere,
    /// The path leads to an allowed folder itself.
    Room(PathBuf),
    /// It is not a readable file; the words follow "cannot be read".
    NotAFile(&'static str),
    /// The file is larger than the limit.
    TooLarge {
        /// Its size in bytes, as far as known.
        size: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// An error of the operating system.
    System(std::io::Error),
}

impl AccessRefusal {
    /// The reason for an error of the operating system.
    pub fn from_io(error: std::io::Error) -> Self {
        if error.kind() == ErrorKind::NotFound { Self::NotThere } else { Self::System(error) }
    }
    /// The reason, worded to follow a colon.
    pub fn reason_text(&self) -> String {
        match self {
            Self::Outside { .. } => "it is outside the project".to_owned(),
            Self::Room(_) => "it is a folder".to_owned(),
            Self::NotThere => "no such file".to_owned(),
            Self::NotAFile(what) => (*what).to_owned(),
            Self::TooLarge { size, limit } => format!("it has at least {size} bytes; the limit is {limit}"),
            Self::System(error) => io_error_reason(error),
        }
    }
    /// Advice.
    pub fn help_text(&self) -> &'static str {
        match self {
            Self::System(error) if error.kind() == ErrorKind::PermissionDenied => "check its permissions",
            Self::TooLarge { .. } => "use a smaller file",
            _ => "use a regular file",
        }
    }
    /// The folder that an operator would have to allow.
    pub fn needed_folder(&self) -> Option<&Path> {
        match self {
            Self::Outside { to, .. } => to.parent().or(Some(to)),
            _ => None,
        }
    }
}

/// The operating system's message for an error, without the number.
pub fn io_error_reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    first.to_lowercase().chain(chars).collect()
}
