//! A text with mistakes.

use super::mistake::SyntaxError;
use crate::scope::Reference;

/// A text that is not a valid template or condition: its mistakes, and the parts that could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct BrokenText {
    /// Every mistake, in the order of the text; never empty.
    pub errors: Vec<SyntaxError>,
    /// The references to the root in the readable parts. Those in a block with a mistake are left out, because they may
    /// be names of an item.
    pub references: Vec<Reference>,
}
