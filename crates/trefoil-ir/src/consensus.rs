//! How the verdicts of several judges become one (AEGIS).

/// How verdicts combine: reference/aegis section 4, table "Consensus".
#[derive(Debug, Clone, PartialEq)]
pub struct Consensus {
    /// The formula.
    pub strategy: Strategy,
    /// A verdict is a pass from here on.
    pub threshold: f64,
    /// Fewer verdicts fail with `CONSENSUS_FAILED`.
    pub min_judges: u32,
    /// Best of how many; none: all.
    pub n: Option<u32>,
    /// Weight of agreement in the confidence.
    pub agreement_factor: f64,
    /// Weight of the judges' own confidence.
    pub confidence_factor: f64,
}

/// The formula.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the strategy of its name")]
pub enum Strategy {
    WeightedAverage,
    Majority,
    Unanimous,
    BestOfN,
}
