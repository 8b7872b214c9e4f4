//! Validators and judges (AEGIS).

use std::sync::Arc;

use trefoil_syntax::Location;

use crate::consensus::ConsensusRule;
use crate::expr::ValueExpression;
use crate::ids::{FlowId, SchemaId};

/// A check of the result of an iteration. It passes if score and confidence reach their minimum.
#[derive(Debug, Clone)]
pub struct Validator {
    /// The kind of check.
    pub kind: ValidatorKind,
    /// The minimum score, 0 to 1.
    pub min_score: f64,
    /// The minimum confidence, 0 to 1.
    pub min_confidence: f64,
    /// Where it is declared.
    pub origin: Location,
    /// The name in messages: `regex`, `semantic`.
    pub name: Arc<str>,
}

/// The kinds of validator.
#[derive(Debug, Clone)]
pub enum ValidatorKind {
    /// The body's exit code (0 for a successful model call).
    ExitCode {
        /// The expected code.
        expected: i64,
    },
    /// The answer is JSON that matches the schema (one code fence is stripped).
    JsonSchema(SchemaId),
    /// The pattern occurs in the answer (`stderr` of a model call is always empty).
    Regex {
        /// The pattern.
        pattern: Arc<str>,
        /// Search stderr instead of stdout.
        stderr: bool,
    },
    /// Judges answer with a verdict `{score, confidence, reasoning}`.
    Judges {
        /// The judges, called concurrently.
        judges: Vec<Judge>,
        /// How their verdicts are combined.
        consensus: ConsensusRule,
    },
}

/// A judge: an agent whose input contains what is judged ([`crate::Source::Result`]).
#[derive(Debug, Clone)]
pub struct Judge {
    /// Its name.
    pub name: Arc<str>,
    /// Its flow.
    pub flow: FlowId,
    /// Its input.
    pub input: ValueExpression,
    /// Weight in the consensus.
    pub weight: f64,
    /// The timeout in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Where that is declared.
    pub timeout_at: Option<Location>,
}
