//! How scalars are written.

/// How a scalar was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum YamlStyle {
    /// No quotes.
    Plain,
    /// `'...'`
    Single,
    /// `"..."`
    Double,
    /// `|`
    Literal,
    /// `>`
    Folded,
}
