//! Validators and judges (AEGIS).

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::consensus::Consensus;
use crate::expr::Expr;
use crate::ids::{FlowId, SchemaId};

/// A check on the result of an iteration. Passes when score and confidence reach their minimum.
#[derive(Debug, Clone)]
pub struct Validator {
    /// What is checked.
    pub kind: ValidatorKind,
    /// 0 to 1.
    pub min_score: f64,
    /// 0 to 1.
    pub min_confidence: f64,
    /// Where it is declared.
    pub origin: Location,
    /// As a message names it: `regex`, `semantic`.
    pub name: Arc<str>,
}

/// The kinds of validator.
#[derive(Debug, Clone)]
pub enum ValidatorKind {
    /// The body's exit code (0 for a model call that succeeded).
    ExitCode {
        /// Expected.
        expected: i64,
    },
    /// The answer is JSON that fits (one code fence is stripped).
    JsonSchema(SchemaId),
    /// The pattern is found in the answer (`stderr`: always empty for a model call).
    Regex {
        /// The pattern.
        pattern: Arc<str>,
        /// Look at stderr instead of stdout.
        stderr: bool,
    },
    /// Judges answer with a verdict `{score, confidence, reasoning}`.
    Judges {
        /// Called at the same time.
        judges: Vec<Judge>,
        /// How their verdicts combine.
        consensus: Consensus,
    },
}

/// A judge: an agent called with an input that holds what is judged ([`crate::Source::Result`]).
#[derive(Debug, Clone)]
pub struct Judge {
    /// Its name.
    pub name: Arc<str>,
    /// Its flow.
    pub flow: FlowId,
    /// Its input.
    pub input: Expr,
    /// Weight in the consensus.
    pub weight: f64,
    /// Milliseconds.
    pub timeout_ms: Option<u64>,
}
