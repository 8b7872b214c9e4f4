//! From the decoded text of a scalar back to the bytes of the file.

use std::ops::Range;

use crate::span::Span;

/// Breakpoints of a scalar: between two of them, decoded and file offsets run in step.
#[derive(Debug, Clone, Default)]
pub struct ScalarMap {
    breaks: std::sync::Arc<[(u32, u32)]>,
    end: u32,
}

impl ScalarMap {
    /// Aligns a decoded text with the raw slice it was read from, which starts at `base` in the file.
    pub fn align(_decoded: &str, _raw: &str, _base: u32, _style: super::Style) -> Self {
        todo!()
    }
    /// The file offset of a decoded offset.
    pub fn offset(&self, _decoded: u32) -> u32 {
        todo!()
    }
    /// The file bytes that a decoded range came from.
    pub fn span(&self, range: Range<u32>) -> Span {
        let _ = (&self.breaks, self.end, range);
        todo!()
    }
}
