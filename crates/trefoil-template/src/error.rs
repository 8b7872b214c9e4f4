//! What can go wrong: at load ([`SyntaxError`]) and at run ([`EvalError`]).

use std::ops::Range;
use std::sync::Arc;

use crate::condition::Expression;
use crate::policy::Policy;
use crate::value::Hole;

/// A mistake in the text of a template or condition (decision C5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// Kebab-case rule name: `template-unclosed`, `template-bad-path`, `template-unknown-block`, `condition-syntax`, ...
    pub code: &'static str,
    /// Lower case, no full stop, user text in backticks.
    pub message: String,
    /// Bytes of the text.
    pub span: Range<u32>,
    /// What to write instead.
    pub help: Option<String>,
}

/// A condition on something only the driver knows (decision C8): a closed expression whose operands are values, some of
/// them masked. Its boolean answer is journaled; the hole's content is not.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The expression; contains no references.
    pub expression: Arc<Expression>,
    /// By whose rules it is evaluated.
    pub policy: Policy,
}

impl Question {
    /// Text that is the same for the same question; holes by name. The key under which the answer is kept.
    pub fn canonical(&self) -> String {
        todo!()
    }
    /// The answer, once every hole is filled, as in [`Value::fill`]. An error of `fill` ends it.
    pub fn answer<T: Into<Option<String>>, E>(&self, _fill: &mut dyn FnMut(&Hole) -> Result<T, E>) -> Result<bool, E> {
        todo!()
    }
}

/// What stops a rendering or evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum EvalError {
    /// `InterpolationError in '{{ expression }}' [namespace]: reason` (decision S2).
    Undefined {
        /// The path, without braces and filter.
        expression: Arc<str>,
        /// Its first segment.
        namespace: Arc<str>,
        /// In the words of decision S2.
        reason: String,
        /// Bytes of the text.
        span: Range<u32>,
    },
    /// Ask the driver and evaluate again.
    Undecided(Question),
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
