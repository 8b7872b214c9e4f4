//! Places in manifests, as plans and comparisons name them.

use std::fmt;

use trefoil_syntax::{Files, Location};

/// A place in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanPlace {
    /// The file as named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl PlanPlace {
    /// A place in these files.
    pub(crate) fn from_location(files: &Files, at: Location) -> Option<Self> {
        let file = files.get(at.file)?;
        Some(Self { file: file.name().to_owned(), line: file.position(at.span.start).line })
    }
}

/// `FILE:LINE`
impl fmt::Display for PlanPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
