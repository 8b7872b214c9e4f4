//! Errors at load time ([`SyntaxError`]) and at run time ([`EvalError`]).

mod broken_text;
mod mistake;
mod question;

use std::ops::Range;
use std::sync::Arc;

pub use broken_text::BrokenText;
pub use mistake::{NodeThroughWorking, SyntaxError};
pub(crate) use mistake::{SyntaxMistakes, sign_of};
pub use question::HoleQuestion;

/// An error of rendering or evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalError {
    /// `InterpolationError in '{{ expression }}' [namespace]: reason`.
    Undefined {
        /// The path, without braces and filter.
        expression: Arc<str>,
        /// Its first segment.
        namespace: Arc<str>,
        /// As SirenSpec words it: `Key 'x' not found`.
        reason: String,
        /// The bytes in the text.
        span: Range<u32>,
    },
    /// The driver must answer this question; then evaluate again.
    Undecided(HoleQuestion),
    /// A limit of size or work.
    Limit(String),
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Undefined { expression, namespace, reason, .. } => {
                write!(f, "InterpolationError in '{{{{ {expression} }}}}' [{namespace}]: {reason}")
            }
            Self::Undecided(_) => f.write_str("depends on the environment"),
            Self::Limit(what) => f.write_str(what),
        }
    }
}
impl std::error::Error for EvalError {}
