//! How the verdicts of several judges are combined (AEGIS).

/// How verdicts are combined.
#[derive(Debug, Clone, PartialEq)]
pub struct ConsensusRule {
    /// The formula.
    pub strategy: ConsensusStrategy,
    /// The minimum score of a pass.
    pub threshold: f64,
    /// With fewer verdicts, the step fails with `CONSENSUS_FAILED`.
    pub min_judges: u32,
    /// The number of best verdicts to use; `None`: all.
    pub n: Option<u32>,
    /// Weight of the judges' agreement in the confidence.
    pub agreement_factor: f64,
    /// Weight of the judges' own confidence.
    pub confidence_factor: f64,
}

/// The formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the strategy of its name")]
pub enum ConsensusStrategy {
    WeightedAverage,
    Majority,
    Unanimous,
    BestOfN,
}
