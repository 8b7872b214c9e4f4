//! Places in manifests, as plans name them.

use trefoil_syntax::{Files, Location};

/// A place in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file as named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl Place {
    /// A place in these files.
    pub(crate) fn of(files: &Files, at: Location) -> Option<Self> {
        let file = files.get(at.file)?;
        Some(Self { file: file.name().to_owned(), line: file.position(at.span.start).line })
    }
}
