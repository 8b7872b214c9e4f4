//! Places in manifests, as plans and comparisons name them.

use std::fmt;

use trefoil_syntax::{Location, SourceFiles};

/// A place in a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLocation {
    /// The file as named.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl PlanLocation {
    /// A place in these files.
    pub(crate) fn from_location(files: &SourceFiles, at: Location) -> Option<Self> {
        let file = files.get(at.file)?;
        Some(Self { file: file.name().to_owned(), line: file.line_column(at.span.start).line })
    }
}

/// `FILE:LINE`
impl fmt::Display for PlanLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
