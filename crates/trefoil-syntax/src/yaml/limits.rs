//! Limits of one file.

/// Resource limits for untrusted files.
#[derive(Debug, Clone, Copy)]
pub struct YamlLimits {
    /// Bytes of a file.
    pub bytes: usize,
    /// Nesting of collections; at most 1,000.
    pub depth: usize,
    /// Nodes after alias expansion.
    pub nodes: usize,
    /// Bytes of text that the aliases of a file expand to. Each expansion is parsed as if it were written there.
    pub aliased: usize,
}

impl Default for YamlLimits {
    fn default() -> Self {
        Self { bytes: 16 << 20, depth: 128, nodes: 1_000_000, aliased: 1 << 20 }
    }
}
